//! The need of each unit, container, pod and cgroup in the recorded time, its limit, and the limit to set.
//!
//! [`Limits`] is pushed snapshots in order and returns a [`Finding`] for each cgroup. It reads nothing itself and keeps no
//! values: a [histogram](Histogram) and a series at several resolutions for each cgroup.
//!
//! # The figure
//! The need is what must stay: memory that reclaim does not free first, and what was swapped out of it. File cache is no
//! need: the kernel frees it before it kills. Without figures of the cgroup, the need is the sum of the footprints of its
//! processes ([`Basis::Processes`]), which lacks kernel memory and files in memory. A process that could not be read counts
//! with its RSS, which is not lower.
//!
//! Each value counts for the time until the next snapshot, so that snapshots at uneven times do not bend the median. A gap
//! counts as one interval. If `memory.peak` rose between two snapshots above what both of them show, all that it rose by
//! counts as need.
//!
//! # The rule
//! - request = the 99th percentile of the need;
//! - limit = the peak + a margin + the growth of as much time as was recorded, if it grows;
//! - soft limit = the same with half the margin.
//!
//! The margin is 15 % of the peak after a week, 25 % after a day, 50 % after an hour, before that 100 %; at least 16 MiB. So
//! no limit is below what was needed in the recorded time. A limit at which it was killed counts as its peak, since nobody
//! knows how much it wanted.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::account::headroom::{is_within, with_ancestors};
use crate::group::GroupBy;
use crate::history::time_series::{Retention, TimeSeries};
use crate::model::cgroup::Count;
use crate::model::unit::owned_path;
use crate::model::{CgroupFigures, Container, Missing, ProcessSample, Reading, Snapshot, unit};
use crate::text::named;
use crate::trend::{Judgement, Params, Verdict, judge};
use crate::units::{self, Units};

/// Maximum number of cgroups that are followed: some 10 KB each at most. Others are counted.
const MAX_FOLLOWED: usize = 4096;
/// Minimum number of ended cgroups of one owner that are forgotten to make room.
const MANY_OF_OWNER: usize = 64;
/// Time between two judgements of a series.
const JUDGE_INTERVAL: Duration = Duration::from_secs(600);
/// Maximum time of sums of processes that the kernel's figures replace.
const MAX_REPLACED: Duration = Duration::from_secs(60);
/// A step between snapshots that is longer than this many intervals is a gap.
const GAP: u32 = 4;
/// The minimum margin.
const LEAST_MARGIN: u64 = 16 << 20;
/// The share of its limit from which on something counts as held back by it.
const NEAR: f64 = 0.9;

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);
const WEEK: Duration = Duration::from_secs(7 * 86_400);

named! {
    /// The source of the need.
    pub enum Basis {
        /// The kernel's figures of the cgroup.
        Cgroup = "cgroup",
        /// The sum of the footprints of its processes.
        Processes = "processes",
    }
}

named! {
    /// The certainty of the proposed limit. The first that applies.
    pub enum Certainty {
        /// Some of its processes could not be read, so it needs more than is known. There is no line.
        Partial = "partial",
        /// Processes of it were killed for lack of memory: it may need more than it had.
        Killed = "killed",
        /// It grows or leaks: it will reach any limit.
        Grows = "grows",
        /// It was held back by its limit: it may need more than it had.
        Held = "held-back",
        /// Less than a day of it was recorded.
        Short = "short",
        /// None of these.
        Sure = "sure",
    }
}

/// The time for which values were held, by size. A bucket is at most 1/64 as wide as its values.
#[derive(Clone, Debug, Default)]
pub struct Histogram(BTreeMap<u16, u64>);

impl Histogram {
    const BITS: u32 = 6;

    pub fn add(&mut self, value: u64, weight: u64) {
        let time = self.0.entry(Self::bucket(value)).or_default();
        *time = time.saturating_add(weight);
    }

    /// Returns the number of buckets in use, of at most 3776.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value that was not exceeded in that share of the time, at most 1.6 % too high; `None` without values.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let total: u64 = self.0.values().fold(0, |sum, time| sum.saturating_add(*time));
        let wanted = total as f64 * share;
        let mut sum = 0.0;
        for (bucket, time) in &self.0 {
            sum += *time as f64;
            if sum >= wanted {
                return Some(Self::highest(*bucket));
            }
        }
        self.0.keys().next_back().map(|bucket| Self::highest(*bucket))
    }

    fn bucket(value: u64) -> u16 {
        let shift = (u64::BITS - value.leading_zeros()).saturating_sub(Self::BITS + 1);
        // The leading bits, from 64 to 127 if anything was shifted out.
        let leading = value >> shift;
        u16::try_from((u64::from(shift) << Self::BITS) + leading).unwrap_or(u16::MAX)
    }

    /// Returns the highest value of a bucket.
    fn highest(bucket: u16) -> u64 {
        let shift = (u32::from(bucket) >> Self::BITS).saturating_sub(1);
        let leading = u64::from(bucket) - (u64::from(shift) << Self::BITS);
        ((leading + 1) << shift).wrapping_sub(1)
    }
}

/// The identity of a unit, container or cgroup. A container that was started again keeps its identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    host: Arc<[u8]>,
    by: GroupBy,
    /// The name of a container or a pod; else the path of the cgroup.
    id: Arc<[u8]>,
}

/// A figure at a snapshot.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    need: u64,
    current: u64,
    /// The kernel's peak; `None` if unknown.
    peak: Option<u64>,
    tick: u64,
    interval: Duration,
}

/// The number of events, by a counter of the kernel that begins again with the cgroup.
#[derive(Clone, Copy, Debug)]
struct Events {
    last: Option<u64>,
    sum: Reading<u64>,
}

impl Events {
    const UNKNOWN: Self = Self {
        last: None,
        sum: Err(Missing::Unsupported),
    };

    /// Counts on. Returns true if it happened since the last snapshot. `is_new` is true if the cgroup was created since then.
    fn push(&mut self, reading: Reading<Count>, is_new: bool) -> bool {
        let now = match reading {
            Ok(Count(now)) => now,
            Err(why) => {
                if self.sum.is_err() {
                    self.sum = Err(why);
                }
                return false;
            }
        };
        let before = self.last.replace(now).filter(|_| !is_new);
        let before = before.unwrap_or(if is_new { 0 } else { now });
        let more = if now >= before { now - before } else { now };
        self.sum = Ok(self.sum.unwrap_or(0).saturating_add(more));
        more > 0
    }
}

/// The limits that apply to a cgroup.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The lowest limit, its own or of one above it; `None` if there is none.
    pub bytes: Reading<Option<u64>>,
    /// The cgroup above whose limit that is; `None` for its own.
    pub of: Option<Arc<[u8]>>,
    /// The lowest soft limit.
    pub high: Reading<Option<u64>>,
}

#[derive(Clone, Debug)]
struct Followed {
    name: Arc<[u8]>,
    path: Arc<[u8]>,
    basis: Basis,
    is_partial: bool,
    histogram: Histogram,
    observed: Duration,
    last: Option<Sample>,
    peak: u64,
    /// The highest limit at which it was killed.
    killed_at: u64,
    near: Option<f64>,
    kernel_peak: Reading<u64>,
    limit: Limit,
    throttled: Events,
    limit_hits: Events,
    kills: Events,
    /// Kills in the kernel's log.
    logged_kills: u64,
    series: TimeSeries,
    judgement: Judgement,
    judged_at: Duration,
}

/// The figures of one cgroup in one snapshot.
struct Seen<'a> {
    figures: Option<&'a CgroupFigures>,
    footprint: u64,
    is_partial: bool,
}

/// The host and the time of the last snapshot.
#[derive(Clone, Debug)]
struct Previous {
    host: Arc<[u8]>,
    boot_id: Reading<Arc<str>>,
    monotonic: Duration,
    interval: Duration,
}

/// Follows cgroups through the snapshots of a record.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    followed: HashMap<Key, Followed>,
    /// The recorded time.
    clock: Duration,
    tick: u64,
    last: Option<Previous>,
    first: Option<SystemTime>,
    newest_kill: Option<SystemTime>,
    left_out: u64,
    /// Number of cgroups that were followed and made room for others.
    forgotten: u64,
    snapshots: u64,
}

impl Limits {
    /// Pushes the next snapshot of a record.
    pub fn push(&mut self, snapshot: &Snapshot) {
        let step = self.step(snapshot);
        self.clock += step;
        self.tick += 1;
        self.snapshots += 1;
        let is_first = self.tick == 1;
        let names = names(snapshot.rows());
        let mut done = HashSet::new();
        let mut left_out = 0;
        let all = seen(snapshot);
        if self.followed.len() >= MAX_FOLLOWED {
            self.make_room(|path| all.contains_key(path));
        }
        for (path, seen) in all {
            let (by, name, id) = identity(&path, &names);
            let mut key = Key {
                host: Arc::clone(&snapshot.host),
                by,
                id,
            };
            if !done.insert(key.clone()) {
                // Two containers of one name at once: the path distinguishes them.
                key.id = Arc::clone(&path);
            }
            let is_known = self.followed.contains_key(&key);
            if !is_known && self.followed.len() >= MAX_FOLLOWED {
                left_out += 1;
                continue;
            }
            let (tick, clock) = (self.tick, self.clock);
            let followed = self.followed.entry(key).or_insert_with(|| Followed::new(name, &path));
            let is_new = !is_known && !is_first || *followed.path != *path;
            followed.path = Arc::clone(&path);
            let limit = limit_of(&path, snapshot);
            followed.push(&seen, limit, is_new, (tick, clock, step, snapshot.interval));
        }
        self.left_out = self.left_out.max(left_out);
        self.count_kills(snapshot);
        self.first.get_or_insert(snapshot.time);
    }

    /// Forgets half of the cgroups that are gone of the owner with most of these, those that needed least. A user may create any number.
    fn make_room(&mut self, is_present: impl Fn(&[u8]) -> bool) {
        let mut of_owners: BTreeMap<&[u8], Vec<&Followed>> = BTreeMap::new();
        for followed in self.followed.values().filter(|followed| !is_present(&followed.path)) {
            of_owners.entry(owned_path(&followed.path)).or_default().push(followed);
        }
        let most = of_owners.into_values().max_by_key(Vec::len);
        let Some(mut most) = most.filter(|most| most.len() >= MANY_OF_OWNER) else {
            return;
        };
        most.sort_unstable_by(|a, b| (a.peak, &a.path).cmp(&(b.peak, &b.path)));
        let least = most
            .iter()
            .take(most.len() / 2)
            .map(|followed| Arc::clone(&followed.path));
        let least: HashSet<Arc<[u8]>> = least.collect();
        self.followed.retain(|_, followed| !least.contains(&followed.path));
        self.forgotten += least.len() as u64;
    }

    /// Returns the recorded time since the last snapshot: an interval, if there is a gap.
    fn step(&mut self, snapshot: &Snapshot) -> Duration {
        let own = Previous {
            host: Arc::clone(&snapshot.host),
            boot_id: snapshot.boot_id.clone(),
            monotonic: snapshot.monotonic,
            interval: snapshot.interval,
        };
        let Some(last) = self.last.replace(own) else {
            return Duration::ZERO;
        };
        let interval = last.interval;
        let longest = interval.max(snapshot.interval).max(Duration::from_secs(1)) * GAP;
        let is_same = last.host == snapshot.host && last.boot_id == snapshot.boot_id;
        let since = snapshot.monotonic.checked_sub(last.monotonic).filter(|_| is_same);
        since.filter(|since| *since <= longest).unwrap_or(interval)
    }

    /// Counts kills that the kernel logged since the last snapshot. The log has more than counters have: the victim's memory,
    /// and kills in cgroups that are gone.
    fn count_kills(&mut self, snapshot: &Snapshot) {
        let since = self.newest_kill.or(self.first).unwrap_or(snapshot.time);
        for kill in snapshot.oom_kills.iter().filter(|kill| kill.time > since) {
            self.newest_kill = self.newest_kill.max(Some(kill.time));
            let Ok(victim) = &kill.victim else { continue };
            let Some(path) = &victim.cgroup else { continue };
            let own_host = self.followed.iter_mut().filter(|(key, _)| key.host == snapshot.host);
            for (_, followed) in own_host.filter(|(_, followed)| is_within(path, &followed.path)) {
                followed.logged_kills += 1;
                followed.peak = followed.peak.max(victim.rss);
                let limit = victim.limit.as_ref().filter(|limit| *limit.cgroup == *followed.path);
                if let Some(size) = limit.and_then(|limit| limit.size) {
                    followed.killed_at = followed.killed_at.max(size);
                }
            }
        }
    }

    /// Returns the number of cgroups that were not followed because there were too many: the highest of a snapshot.
    pub const fn left_out(&self) -> u64 {
        self.left_out + self.forgotten
    }

    pub const fn snapshots(&self) -> u64 {
        self.snapshots
    }

    /// Returns the recorded time, without gaps. The last snapshot counts for an interval.
    pub fn recorded(&self) -> Duration {
        let last = self.last.as_ref().map_or(Duration::ZERO, |last| last.interval);
        self.clock + last
    }

    /// Returns the findings, in order of host and cgroup.
    pub fn findings(mut self) -> Vec<Finding> {
        let mut keys: Vec<_> = self.followed.keys().cloned().collect();
        keys.sort_unstable();
        let clock = self.clock;
        let finding = |key: Key| Some(self.followed.remove(&key)?.finish(key, clock));
        keys.into_iter().filter_map(finding).collect()
    }
}

impl Followed {
    fn new(name: Arc<[u8]>, path: &Arc<[u8]>) -> Self {
        Self {
            name,
            path: Arc::clone(path),
            basis: Basis::Processes,
            is_partial: false,
            histogram: Histogram::default(),
            observed: Duration::ZERO,
            last: None,
            peak: 0,
            killed_at: 0,
            near: None,
            kernel_peak: Err(Missing::Unsupported),
            limit: Limit {
                bytes: Err(Missing::Unsupported),
                of: None,
                high: Err(Missing::Unsupported),
            },
            throttled: Events::UNKNOWN,
            limit_hits: Events::UNKNOWN,
            kills: Events::UNKNOWN,
            logged_kills: 0,
            series: TimeSeries::default(),
            judgement: Judgement::default(),
            judged_at: Duration::ZERO,
        }
    }

    fn push(
        &mut self,
        seen: &Seen<'_>,
        limit: Option<Limit>,
        is_new: bool,
        (tick, clock, step, interval): (u64, Duration, Duration, Duration),
    ) {
        let figures = seen.figures;
        let stays = figures.map_or(Err(Missing::Unsupported), CgroupFigures::stays);
        if stays.is_ok() && self.basis == Basis::Processes && self.observed < MAX_REPLACED {
            // The kernel's figures replace the sums, if only the first snapshots were made of these. A recording that has the
            // figures for a few seconds, such as after a kill, keeps the sums.
            *self = Self {
                basis: Basis::Cgroup,
                logged_kills: self.logged_kills,
                ..Self::new(Arc::clone(&self.name), &self.path)
            };
        }
        if let Some(limit) = limit {
            self.limit = limit;
        }
        let before = self.last.filter(|last| last.tick + 1 == tick && !is_new);
        self.hold(before.map(|_| step));
        let sample = match (self.basis, stays) {
            (Basis::Cgroup, Err(_)) => return,
            (Basis::Cgroup, Ok(stays)) => Sample {
                // Swap that is not accounted holds nothing.
                need: stays.saturating_add(figures.map_or(0, |figures| figures.swap.unwrap_or(0))),
                current: figures.map_or(0, |figures| figures.current.unwrap_or(0)),
                peak: figures.and_then(|figures| figures.peak.ok()),
                tick,
                interval,
            },
            (Basis::Processes, _) => {
                self.is_partial |= seen.is_partial;
                Sample {
                    need: seen.footprint,
                    current: seen.footprint,
                    peak: None,
                    tick,
                    interval,
                }
            }
        };
        let between = between(before.or(is_new.then(Sample::default)), &sample);
        self.peak = self.peak.max(sample.need).max(between);
        self.last = Some(sample);
        if let Ok(Some(limit @ 1..)) = self.limit.bytes {
            // The limit does not count pages that were swapped out.
            let near = stays.unwrap_or(sample.need) as f64 / limit as f64;
            self.near = Some(self.near.map_or(near, |before| before.max(near)));
        }
        if let Some(figures) = figures {
            self.kernel_peak = figures.peak;
            self.throttled.push(figures.throttled, is_new);
            let is_hit = self.limit_hits.push(figures.limit_hits, is_new) || figures.limit_hits.is_err();
            let is_killed = self.kills.push(figures.oom_kills, is_new);
            if let (true, true, Ok(Some(limit))) = (is_killed, is_hit, self.limit.bytes) {
                self.killed_at = self.killed_at.max(limit);
            }
        }
        self.series.push(clock, Some(sample.need), Retention::LEAST);
        if clock.saturating_sub(self.judged_at) >= JUDGE_INTERVAL {
            self.judge(clock);
        }
    }

    /// Counts the time for which the last value was held: until the next one, or an interval if it is not followed by one.
    fn hold(&mut self, step: Option<Duration>) {
        if let Some(last) = self.last.take() {
            let time = step.unwrap_or(last.interval).max(Duration::from_millis(1));
            self.observed += time;
            self.histogram
                .add(last.need, u64::try_from(time.as_millis()).unwrap_or(u64::MAX));
        }
    }

    fn judge(&mut self, clock: Duration) {
        let mut points = Vec::new();
        self.series.collect_points(&mut points);
        self.judgement = judge(&points, &[], None, &Params::default(), &self.judgement);
        self.judged_at = clock;
    }

    fn finish(mut self, key: Key, clock: Duration) -> Finding {
        self.hold(None);
        self.judge(clock);
        let quantile = |share| self.histogram.quantile(share).unwrap_or(0).min(self.peak);
        let kills = self
            .kills
            .sum
            .map_or(self.logged_kills, |counted| counted.max(self.logged_kills));
        let mut finding = Finding {
            by: key.by,
            host: key.host,
            median: quantile(0.5),
            p99: quantile(0.99),
            peak: self.peak.max(self.killed_at),
            name: self.name,
            is_kubernetes: key.by == GroupBy::Pod || self.path.windows(8).any(|part| part == b"kubepods"),
            path: self.path,
            basis: self.basis,
            near: self.near,
            kernel_peak: self.kernel_peak,
            limit: self.limit,
            throttled: self.throttled.sum,
            limit_hits: self.limit_hits.sum,
            kills: match (self.kills.sum, kills) {
                (Err(why), 0) => Err(why),
                (_, kills) => Ok(kills),
            },
            observed: self.observed,
            judgement: self.judgement,
            certainty: Certainty::Sure,
        };
        finding.certainty = finding.judge_certainty(self.is_partial);
        finding
    }
}

/// Returns the most that was needed between two snapshots, as far as the kernel's peak shows it: all that the peak rose by
/// above both of them counts as need.
fn between(before: Option<Sample>, now: &Sample) -> u64 {
    let (Some(before), Some(peak)) = (before, now.peak) else {
        return 0;
    };
    if before.peak.is_some_and(|before| peak <= before) {
        return 0;
    }
    let excess = peak.saturating_sub(before.current.max(now.current));
    before.need.max(now.need).saturating_add(excess)
}

/// The findings on one unit, container, pod or cgroup. In bytes unless stated otherwise.
#[derive(Clone, Debug)]
pub struct Finding {
    pub by: GroupBy,
    /// Raw, like all names here.
    pub host: Arc<[u8]>,
    pub name: Arc<[u8]>,
    /// The path of its last cgroup.
    pub path: Arc<[u8]>,
    pub is_kubernetes: bool,
    pub basis: Basis,
    /// The quantiles and the highest value of what must stay.
    pub median: u64,
    pub p99: u64,
    pub peak: u64,
    /// The highest share of the limit that must stay; `None` without a limit.
    pub near: Option<f64>,
    /// The kernel's own peak, with file cache, since the cgroup was created.
    pub kernel_peak: Reading<u64>,
    pub limit: Limit,
    /// Numbers of events in the recorded time.
    pub throttled: Reading<u64>,
    pub limit_hits: Reading<u64>,
    pub kills: Reading<u64>,
    /// The recorded time in which it was there.
    pub observed: Duration,
    pub judgement: Judgement,
    pub certainty: Certainty,
}

/// The limits to set, in bytes: whole mebibytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The memory to reserve.
    pub request: u64,
    /// The soft limit.
    pub high: u64,
    pub max: u64,
}

impl Finding {
    fn judge_certainty(&self, is_partial: bool) -> Certainty {
        let soft = self.limit.high.ok().flatten();
        let is_slowed =
            self.throttled.is_ok_and(|n| n > 0) && soft.is_some_and(|soft| self.peak as f64 >= NEAR * soft as f64);
        let is_full = self.limit_hits.is_ok_and(|n| n > 0) && self.near.is_some_and(|near| near >= NEAR);
        if is_partial {
            Certainty::Partial
        } else if self.kills.is_ok_and(|kills| kills > 0) {
            Certainty::Killed
        } else if self.grows() {
            Certainty::Grows
        } else if is_slowed || is_full {
            Certainty::Held
        } else if self.observed < DAY {
            Certainty::Short
        } else {
            Certainty::Sure
        }
    }

    /// Returns true if it grows, other than in the beginning.
    fn grows(&self) -> bool {
        matches!(self.judgement.verdict, Verdict::Growing | Verdict::Leaking) && self.judgement.slope > 0.0
    }

    /// Returns the margin above the peak in percent, by how long it was observed.
    pub fn margin(&self) -> u64 {
        match self.observed {
            long if long >= WEEK => 15,
            day if day >= DAY => 25,
            hour if hour >= HOUR => 50,
            _ => 100,
        }
    }

    /// Returns how much it would grow in as much time as was recorded.
    fn growth(&self) -> u64 {
        let growth = self.judgement.slope.max(0.0) * self.observed.as_secs_f64();
        if self.grows() { growth as u64 } else { 0 }
    }

    /// Returns the limits to set; `None` if some of it is unknown, so that any limit might be too low.
    pub fn proposal(&self) -> Option<Proposal> {
        let margin = (self.peak / 100).saturating_mul(self.margin()).max(LEAST_MARGIN);
        let base = self.peak.saturating_add(self.growth());
        (self.certainty != Certainty::Partial).then(|| Proposal {
            request: whole(self.p99.max(1)),
            high: whole(base.saturating_add(margin / 2)),
            max: whole(base.saturating_add(margin)),
        })
    }

    /// Returns the line to paste, in the syntax of its manager.
    pub fn line(&self) -> Option<String> {
        let Proposal { request, high, max } = self.proposal()?;
        let [request, high, max] = [request, high, max].map(|bytes| bytes >> 20);
        Some(match self.by {
            GroupBy::Container | GroupBy::Pod if self.is_kubernetes => {
                format!("resources: {{requests: {{memory: {request}Mi}}, limits: {{memory: {max}Mi}}}}")
            }
            GroupBy::Container | GroupBy::Pod => format!("--memory={max}m"),
            GroupBy::Unit => format!("MemoryHigh={high}M MemoryMax={max}M"),
            _ => format!("memory.high={high}M memory.max={max}M"),
        })
    }

    /// Returns the rule that made the line.
    pub fn rule(&self, units: Units) -> String {
        let bytes = |n| units::bytes(n, units);
        let growth = match self.growth() {
            0 => String::new(),
            growth => format!(" + growth {}", bytes(growth)),
        };
        let (peak, margin, time) = (bytes(self.peak), self.margin(), units::span(self.observed));
        format!("peak {peak}{growth} + {margin}% for a recording of {time}")
    }

    /// Returns why the line is uncertain; `None` if it is not.
    pub fn doubt(&self) -> Option<Cow<'static, str>> {
        Some(match self.certainty {
            Certainty::Sure => return None,
            Certainty::Short => "less than a day was recorded: not yet certain".into(),
            Certainty::Held => "its limit held it back, so it may need more".into(),
            Certainty::Killed => "one of its processes was killed for lack of memory, so it may need more".into(),
            Certainty::Partial => "some of its processes could not be read: no limit can be proposed".into(),
            Certainty::Grows => {
                let left = self
                    .proposal()
                    .map_or(0, |proposal| proposal.max.saturating_sub(self.peak));
                let time = Duration::try_from_secs_f64(left as f64 / self.judgement.slope).unwrap_or(Duration::MAX);
                let pace = units::pace(self.judgement.slope);
                format!("it grows by {pace} and would reach this limit in {}", units::span(time)).into()
            }
        })
    }
}

/// Rounds up to a whole mebibyte.
const fn whole(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20).saturating_mul(1 << 20)
}

/// Returns each cgroup of a snapshot with its figures and the footprint of its processes, without the root.
fn seen(snapshot: &Snapshot) -> BTreeMap<Arc<[u8]>, Seen<'_>> {
    let mut all: BTreeMap<Arc<[u8]>, Seen<'_>> = BTreeMap::new();
    for (path, figures) in snapshot.cgroups.iter() {
        all.insert(Arc::clone(path), Seen::of(Some(figures)));
    }
    // Sum the processes of each cgroup first: there are far fewer cgroups than processes.
    let mut own: HashMap<&Arc<[u8]>, (u64, bool)> = HashMap::new();
    for row in snapshot.rows() {
        if let Ok(path) = &row.facts.cgroup {
            let (footprint, is_partial) = own.entry(path).or_default();
            match footprint_of(row) {
                Ok(bytes) => *footprint = footprint.saturating_add(bytes),
                Err(why) => *is_partial |= !matches!(why, Missing::KernelThread | Missing::Zombie | Missing::Gone),
            }
        }
    }
    for (path, (footprint, is_partial)) in own {
        for at in with_ancestors(path) {
            let seen = match all.get_mut(at) {
                Some(seen) => seen,
                None => all.entry(at.into()).or_insert_with(|| Seen::of(None)),
            };
            seen.footprint = seen.footprint.saturating_add(footprint);
            seen.is_partial |= is_partial;
        }
    }
    all.remove(&b"/"[..]);
    all
}

impl<'a> Seen<'a> {
    const fn of(figures: Option<&'a CgroupFigures>) -> Self {
        Self {
            figures,
            footprint: 0,
            is_partial: false,
        }
    }
}

/// Returns the footprint of a process. A process with the address space of another has none of its own. If it could not be
/// read, its RSS and swap count, which are not lower.
fn footprint_of(row: &ProcessSample) -> Reading<u64> {
    if row.shares_mm.is_some() {
        return Ok(0);
    }
    if let Some(why) = row.stat.lacks_memory() {
        return Err(why);
    }
    let Ok(memory) = row.memory() else {
        let swap = row.counted.swap().unwrap_or(0);
        return (!row.is_unseen())
            .then(|| row.stat.rss.saturating_add(swap))
            .ok_or(Missing::Denied);
    };
    Ok(memory.pss.saturating_add(memory.swap_pss.unwrap_or(memory.swap)))
}

/// Returns the limits of a cgroup, and whose they are.
fn limit_of(path: &Arc<[u8]>, snapshot: &Snapshot) -> Option<Limit> {
    let figures = snapshot.cgroups.get(path)?;
    let limit = figures.limit.ok().flatten();
    let is_same = |above: &&[u8]| {
        let figures = snapshot.cgroups.get(*above);
        limit.is_some() && figures.is_some_and(|figures| figures.limit.ok().flatten() == limit)
    };
    Some(Limit {
        bytes: figures.limit,
        of: with_ancestors(path).skip(1).take_while(is_same).last().map(Into::into),
        high: figures.high,
    })
}

/// The names of containers and pods, by the paths of their cgroups.
type Names = BTreeMap<Vec<u8>, (GroupBy, Arc<[u8]>)>;

fn names(rows: &[ProcessSample]) -> Names {
    let mut names = Names::new();
    let mut done = HashSet::new();
    for row in rows {
        let (Ok(path), Some(container)) = (&row.facts.cgroup, &row.facts.container) else {
            continue;
        };
        if !done.insert(path) {
            continue;
        }
        let Some(root) = container_root(path, container) else {
            continue;
        };
        names.insert(root.to_vec(), (GroupBy::Container, container.name().into()));
        let pod = container.pod();
        if let (Some(pod), Some(above)) = (pod, with_ancestors(root).nth(1)) {
            names.insert(above.to_vec(), (GroupBy::Pod, (&*pod).into()));
        }
    }
    names
}

/// Returns the path of a container's cgroup: the first level whose name contains the id.
fn container_root<'a>(path: &'a [u8], container: &Container) -> Option<&'a [u8]> {
    let id = container.id_in_path();
    let at = path.windows(id.len().max(1)).position(|part| part == id)?;
    let end = path[at..].iter().position(|b| *b == b'/');
    Some(&path[..end.map_or(path.len(), |len| at + len)])
}

/// Returns the kind of a cgroup, its name, and its identity.
fn identity(path: &Arc<[u8]>, names: &Names) -> (GroupBy, Arc<[u8]>, Arc<[u8]>) {
    if let Some((by, name)) = names.get(&**path) {
        return (*by, Arc::clone(name), Arc::clone(name));
    }
    let name = path.rsplit(|b| *b == b'/').next().unwrap_or_default();
    if unit::is_name(name) {
        let of_owner = unit::below_owner(path).map(|(owner, _)| unit::name_of_owner(owner, name));
        return (
            GroupBy::Unit,
            of_owner.map_or(name.into(), Into::into),
            Arc::clone(path),
        );
    }
    (GroupBy::Cgroup, Arc::clone(path), Arc::clone(path))
}
