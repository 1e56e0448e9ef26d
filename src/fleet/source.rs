//! The rows and hosts of a fleet, from one round of answers to the next.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::DEFAULT_LABEL;
use super::answer::{Answer, Labels, slope, time, whole};
use super::clock::{Clock, Clocks};
use super::query::Field;
use crate::group::GroupBy;
use crate::model::system::Pressure;
use crate::model::{
    Container, Facts, Fleet, FleetHost, FleetRow, Identity, Memory, Missing, ProcessSample, Reading, ScrapedVerdict,
    SelfCost, Snapshot, Stat, SystemSample, Walk,
};
use crate::order;
use crate::text;

/// Time for which a host that is no longer scraped keeps its rows.
pub const KEPT: Duration = Duration::from_secs(300);
/// Number of rounds for which a group that ended keeps its number, in case it comes back.
const REMEMBERED: u64 = 120;
/// Maximum number of groups of all hosts. Further ones are left out, with a remark.
const MAX_ROWS: usize = 250_000;
/// Maximum number of hosts, with those that were scraped in the last [`KEPT`].
const MAX_HOSTS: usize = 20_000;
/// Maximum length of a name, in columns.
const MAX_NAME: usize = 200;

/// Metric, figure.
type Sum = (&'static str, fn(&mut SystemSample) -> &mut Reading<u64>);

/// The sums of the hosts' own figures.
const SUMS: [Sum; 9] = [
    ("zmtop_system_memory_total_bytes", |s| &mut s.mem_total),
    ("zmtop_system_memory_free_bytes", |s| &mut s.mem_free),
    ("zmtop_system_memory_available_bytes", |s| &mut s.mem_available),
    ("zmtop_system_anon_bytes", |s| &mut s.anon_pages),
    ("zmtop_system_cached_bytes", |s| &mut s.cached),
    ("zmtop_system_shmem_bytes", |s| &mut s.shmem),
    ("zmtop_system_slab_bytes", |s| &mut s.slab),
    ("zmtop_system_swap_total_bytes", |s| &mut s.swap_total),
    ("zmtop_system_swap_free_bytes", |s| &mut s.swap_free),
];

/// Makes snapshots of rounds of answers.
pub struct FleetSource {
    /// Identifies hosts.
    label: String,
    /// The name of the Prometheus.
    name: Arc<[u8]>,
    hosts: HashMap<Box<str>, Host>,
    /// Number of groups of all hosts, and the number of the next new one.
    pub(super) rows: usize,
    next: u32,
    next_host: u32,
    /// The number of this round, from 1, and of the round in which each figure was last answered.
    round: u64,
    answered: [u64; Field::OF_GROUPS],
    seen_answered: u64,
    clocks: Clocks,
    /// The time of this round, by the clock of the snapshots; `None` until its PSS is known.
    now: Option<Duration>,
    system: SystemSample,
    doubles: usize,
    left_out: usize,
    hosts_left_out: bool,
    untimed: usize,
    pub(super) last: Option<Arc<Snapshot>>,
}

#[derive(Default)]
struct Host {
    /// Its name for itself.
    own_name: Option<Box<str>>,
    shown: Arc<[u8]>,
    number: u32,
    /// The time of its newest sample, by the clock of the snapshots.
    seen: Duration,
    seen_in: u64,
    /// The same by the server's clock; `None` if it is not exported.
    sampled: Option<Duration>,
    /// By the kind of group, and name.
    groups: [HashMap<Box<str>, GroupRow>; GroupBy::OF_PROCESSES.len()],
}

impl FleetSource {
    /// Creates the source of a Prometheus with that name. The label identifies hosts.
    pub fn new(name: &str, label: &str) -> Self {
        Self {
            label: label.to_owned(),
            name: name.as_bytes().into(),
            hosts: HashMap::new(),
            rows: 0,
            next: 1,
            next_host: 0,
            round: 0,
            answered: [0; Field::OF_GROUPS],
            seen_answered: 0,
            clocks: Clocks::default(),
            now: None,
            system: SystemSample::missing(Missing::NotExported),
            doubles: 0,
            left_out: 0,
            hosts_left_out: false,
            untimed: 0,
            last: None,
        }
    }

    /// Begins a round. Figures that are not answered in it stay as they are.
    pub fn begin(&mut self) {
        self.round += 1;
        (self.doubles, self.left_out, self.untimed, self.now) = (0, 0, 0, None);
        self.hosts_left_out = false;
    }

    /// Adds the answer to a query that was sent at this time (`CLOCK_BOOTTIME`).
    pub fn take(&mut self, field: Field, answer: &Answer<'_>, asked: Duration) {
        let clock = answer.evaluated.map(|evaluated| self.clocks.hear(evaluated, asked));
        let now = self.clocks.now(asked);
        self.untimed += answer.untimed;
        match field {
            Field::System => {
                self.system = SystemSample {
                    psi: self.system.psi,
                    ..SystemSample::missing(Missing::NotExported)
                }
            }
            Field::Pressure => self.system.psi = Err(Missing::NotExported),
            Field::Seen => self.seen_answered = self.round,
            Field::Name => {}
            of_group => self.answered[of_group as usize] = self.round,
        }
        if field == Field::Pss {
            self.now = now;
        }
        for series in &answer.series {
            let Some(value) = series.now() else { continue };
            match field {
                Field::System | Field::Pressure => {
                    take_sum(&mut self.system, series.labels.get("__name__"), value);
                }
                Field::Seen => {
                    let (Some(clock), Some(sampled)) = (clock, time(value)) else {
                        self.untimed += 1;
                        continue;
                    };
                    let seen = clock.place(sampled).min(now.unwrap_or_default());
                    let round = self.round;
                    let Some(host) = self.host(&series.labels) else {
                        continue;
                    };
                    host.seen_in = round;
                    // A known sample keeps its time, however long the answer took.
                    let is_new = host.sampled != Some(sampled) && seen > host.seen;
                    if is_new || host.sampled.is_none() {
                        (host.seen, host.sampled) = (seen, Some(sampled));
                    }
                }
                Field::Name => {
                    if let Some(host) = self.host(&series.labels) {
                        host.own_name = series.labels.get("nodename").map(shortened);
                    }
                }
                field => self.take_figure(field as usize, &series.labels, value),
            }
        }
    }

    fn take_figure(&mut self, field: usize, labels: &Labels<'_>, value: f64) {
        let (round, next, is_full) = (self.round, self.next, self.rows >= MAX_ROWS);
        let Some(name) = labels.get("group") else { return };
        let by = kind(labels);
        let Some(host) = self.host(labels) else { return };
        let shown = Arc::clone(&host.shown);
        let Some(groups) = host.groups.get_mut(by as usize) else {
            return;
        };
        if let Some(row) = groups.get_mut(name) {
            if row.figures[field].0 == round {
                self.doubles += 1;
            } else {
                row.figures[field] = (round, value);
            }
        } else if is_full {
            self.left_out += 1;
        } else {
            let mut row = GroupRow::new(next, by, name, shown);
            row.figures[field] = (round, value);
            groups.insert(name.into(), row);
            self.rows += 1;
            self.next += 1;
        }
    }

    /// Returns the number of a series' host, and of its row if there is one; `None` if the host is unknown.
    pub(super) fn numbers_of(&self, labels: &Labels<'_>) -> Option<(u32, Option<u32>)> {
        let host = self.hosts.get(self.key(labels))?;
        let groups = host.groups.get(kind(labels) as usize);
        let row = groups
            .zip(labels.get("group"))
            .and_then(|(groups, name)| groups.get(name));
        Some((host.number, row.map(|row| row.number)))
    }

    /// Returns the clock of the times of day and of the past; `None` before the first answer.
    pub fn clock(&self) -> Option<Clock> {
        self.clocks.chief(self.last.as_ref()?.monotonic)
    }

    fn key<'l>(&self, labels: &'l Labels<'_>) -> &'l str {
        let found = labels.get(&self.label).or_else(|| labels.get(DEFAULT_LABEL));
        found.unwrap_or("(no host)")
    }

    /// Returns the host of a series; `None` if there are too many.
    fn host(&mut self, labels: &Labels<'_>) -> Option<&mut Host> {
        let key = self.key(labels);
        if !self.hosts.contains_key(key) {
            if self.hosts.len() >= MAX_HOSTS {
                self.hosts_left_out = true;
                return None;
            }
            let shown = shortened(key).as_bytes().into();
            self.next_host += 1;
            let host = Host {
                shown,
                number: self.next_host,
                ..Host::default()
            };
            self.hosts.insert(key.into(), host);
        }
        self.hosts.get_mut(key)
    }

    /// Ends the round and makes its snapshot; `None` if its PSS was not answered, no time is known yet, or no time has
    /// passed since the last snapshot.
    pub fn finish(&mut self, interval: Duration, own: Reading<SelfCost>) -> Option<Arc<Snapshot>> {
        let now = self.now.filter(|_| self.answered[Field::Pss as usize] == self.round)?;
        if self.last.as_ref().is_some_and(|last| last.monotonic >= now) {
            return None;
        }
        self.name_hosts();
        let mut rows = Vec::with_capacity(self.rows);
        let mut hosts = Vec::with_capacity(self.hosts.len());
        let (answered, round, last) = (self.answered, self.round, self.last.take());
        let is_seen_known = self.seen_answered == round;
        // Only PSS was ever answered.
        let is_partial = [Field::Uss, Field::Rss, Field::Swap]
            .iter()
            .all(|field| answered[*field as usize] == 0);
        self.hosts.retain(|_, host| {
            let before = rows.len();
            // If the times of samples are not exported, the time of the answer is the best known.
            let is_answered = |row: &GroupRow| row.figures[Field::Pss as usize].0 == round;
            if host.sampled.is_none() && host.rows().any(is_answered) {
                host.seen = now;
            }
            for row in host.groups.iter_mut().flat_map(HashMap::values_mut) {
                if let Some(made) = row.make(&answered, is_partial, host.seen, now) {
                    row.present_in = round;
                    rows.push(made);
                }
            }
            let is_gone = rows.len() == before && (!is_seen_known || host.seen_in != round);
            if is_gone && now.saturating_sub(host.seen) >= KEPT {
                return false;
            }
            if is_gone {
                rows.extend(last.iter().flat_map(|last| host.last_rows(last)));
            } else {
                for groups in &mut host.groups {
                    groups.retain(|_, row| row.present_in + REMEMBERED >= round);
                }
            }
            hosts.push(FleetHost {
                name: Arc::clone(&host.shown),
                seen: host.seen,
                is_gone,
            });
            true
        });
        self.rows = self.hosts.values().map(|host| host.rows().count()).sum();
        order::sort_by(&mut hosts, |a, b| a.name.cmp(&b.name));
        rows.sort_unstable_by_key(|(sample, _)| sample.id.pid);
        let (processes, rows) = rows.into_iter().unzip();
        let mut snapshot = self.snapshot_at(now, processes, interval);
        (snapshot.own, snapshot.tick) = (own, round);
        snapshot.fleet = Some(Arc::new(Fleet {
            hosts,
            rows,
            is_partial,
        }));
        let snapshot = Arc::new(snapshot);
        self.last = Some(Arc::clone(&snapshot));
        Some(snapshot)
    }

    /// Makes the snapshot of the first round again, with the answers that came after it.
    pub fn complete(&mut self) -> Option<Arc<Snapshot>> {
        let first = self.last.take()?;
        self.now = Some(first.monotonic);
        self.finish(first.interval, first.own)
    }

    /// Returns a snapshot of these rows and the last sums of the hosts.
    pub(super) fn snapshot_at(&self, now: Duration, processes: Vec<ProcessSample>, interval: Duration) -> Snapshot {
        let theirs = self.clocks.chief(now).map_or(now, |clock| clock.theirs(now));
        Snapshot {
            time: UNIX_EPOCH.checked_add(theirs).unwrap_or(UNIX_EPOCH),
            host: Arc::clone(&self.name),
            system: self.system.clone(),
            processes: Ok(processes),
            fleet: Some(Arc::default()),
            ..Snapshot::missing(now, interval, Missing::NotExported)
        }
    }

    /// Returns remarks on the round, safe to print.
    pub fn remarks(&self) -> Vec<String> {
        let doubles = (self.doubles > 0).then(|| {
            format!(
                "{} series of the same host and group were left out: --host-label names the label that tells hosts apart",
                self.doubles
            )
        });
        let left_out = (self.left_out > 0).then(|| format!("more than {MAX_ROWS} groups: --match chooses some"));
        let hosts = self
            .hosts_left_out
            .then(|| format!("more than {MAX_HOSTS} hosts: --match chooses some"));
        let untimed = (self.untimed > 0).then(|| format!("{} values with an invalid time were left out", self.untimed));
        let clocks = self.now.and_then(|now| self.clocks.remark(now));
        let all = [clocks, untimed, doubles, left_out, hosts];
        all.into_iter().flatten().collect()
    }

    /// Names each host by its name for itself, unless another host has the same.
    fn name_hosts(&mut self) {
        let mut names: HashMap<Box<str>, usize> = HashMap::new();
        for name in self.hosts.values().filter_map(|host| host.own_name.clone()) {
            *names.entry(name).or_default() += 1;
        }
        let is_default = self.label == DEFAULT_LABEL;
        for (key, host) in &mut self.hosts {
            let own = host.own_name.as_ref();
            let own = own.filter(|name| is_default && names.get(*name) == Some(&1));
            let shown = own.map_or_else(|| shortened(key), Clone::clone);
            if *shown.as_bytes() != *host.shown {
                host.shown = shown.as_bytes().into();
                for row in host.groups.iter_mut().flat_map(HashMap::values_mut) {
                    Arc::make_mut(&mut row.facts).host = Some(Arc::clone(&host.shown));
                }
            }
        }
    }
}

impl Host {
    fn rows(&self) -> impl Iterator<Item = &GroupRow> {
        self.groups.iter().flat_map(HashMap::values)
    }

    /// Returns the rows that it had in the last snapshot, for a host that is no longer scraped.
    fn last_rows(&self, last: &Snapshot) -> impl Iterator<Item = (ProcessSample, FleetRow)> {
        self.rows().filter_map(|row| {
            let place = last.place(row.id())?;
            let mut sample = last.rows()[place].clone();
            sample.stale = true;
            let known = last.fleet_row(place).copied().unwrap_or_default();
            Some((sample, FleetRow { verdict: None, ..known }))
        })
    }
}

/// A group of processes on a host.
struct GroupRow {
    number: u32,
    facts: Arc<Facts>,
    /// The figures, each with the round in which it was answered; round 0 for never.
    figures: [(u64, f64); Field::OF_GROUPS],
    /// The last round in which it was there.
    present_in: u64,
}

impl GroupRow {
    fn new(number: u32, by: GroupBy, name: &str, host: Arc<[u8]>) -> Self {
        let name: Arc<[u8]> = shortened(name).as_bytes().into();
        let mut facts = Facts::unread(&name, Missing::NotExported);
        facts.cmdline = Ok((*name).into());
        facts.host = Some(host);
        match by {
            GroupBy::User => facts.user = Ok(name),
            GroupBy::Unit => facts.unit = Some(name),
            GroupBy::Container => facts.container = Some(Container::named(&*name)),
            GroupBy::Pod => facts.container = Some(Container::of_pod(&name)),
            GroupBy::Cgroup => facts.cgroup = Ok(name),
            GroupBy::Command | GroupBy::Family | GroupBy::Host | GroupBy::Siblings | GroupBy::Mapping => {}
        }
        Self {
            number,
            facts: Arc::new(facts),
            figures: [(0, 0.0); Field::OF_GROUPS],
            present_in: 0,
        }
    }

    const fn id(&self) -> Identity {
        let (pid, starttime) = (self.number, 0);
        Identity { pid, starttime }
    }

    /// Returns the row; `None` if the last answer about its memory does not contain it.
    fn make(
        &self,
        answered: &[u64; Field::OF_GROUPS],
        is_partial: bool,
        at: Duration,
        now: Duration,
    ) -> Option<(ProcessSample, FleetRow)> {
        let get = |field: Field| {
            let (round, value) = self.figures[field as usize];
            (round > 0 && round == answered[field as usize]).then_some(value)
        };
        let bytes = |field| get(field).and_then(whole);
        let why = [Missing::NotExported, Missing::Pending][usize::from(is_partial)];
        let reading = |field| bytes(field).ok_or(why);
        let is_asked_later = answered[Field::Rss as usize] < answered[Field::Pss as usize];
        if bytes(Field::Pss).is_none() && (is_asked_later || bytes(Field::Rss).is_none()) {
            return None;
        }
        let mut sample = ProcessSample::unread(self.id(), Arc::clone(&self.facts), Missing::NotExported);
        sample.stat = Stat {
            state: b'-',
            rss: bytes(Field::Rss).unwrap_or(0),
            ..Stat::default()
        };
        let after_pss = |field| if is_partial { Some(0) } else { bytes(field) };
        let memory = (bytes(Field::Pss), after_pss(Field::Uss), after_pss(Field::Rss));
        sample.walk = if let (Some(pss), Some(uss), Some(rss)) = memory {
            let swap = bytes(Field::Swap).unwrap_or(0);
            let memory = Memory {
                rss,
                pss,
                pss_anon: reading(Field::Anon),
                pss_file: reading(Field::File),
                pss_shmem: reading(Field::Shmem),
                private_dirty: uss,
                shared_dirty: rss.saturating_sub(uss),
                swap,
                swap_pss: match swap {
                    0 if !is_partial => Ok(0),
                    _ => reading(Field::SwapPss),
                },
                ..Memory::missing(Missing::NotExported)
            };
            Ok(Walk {
                memory,
                error: 0,
                at: if at.is_zero() { now } else { at },
                cost: Duration::ZERO,
            })
        } else {
            // The other figures of a new group come with the next round.
            let is_new = self.figures[Field::Uss as usize].0 == 0 && self.figures[Field::Rss as usize].0 == 0;
            Err(if is_new && is_asked_later {
                Missing::Pending
            } else {
                why
            })
        };
        let growing_for = get(Field::GrowingFor).and_then(time);
        let rank = get(Field::Verdict).or_else(|| get(Field::Steady));
        let verdict = rank.map(|rank| ScrapedVerdict {
            rank,
            slope: get(Field::Slope).and_then(slope).unwrap_or(0.0),
            confidence: get(Field::Confidence).unwrap_or(0.0).clamp(0.0, 1.0),
            since: growing_for.and_then(|long| now.checked_sub(long)),
        });
        let processes = bytes(Field::Processes);
        Some((sample, FleetRow { processes, verdict }))
    }
}

/// Returns a label's value, safe to print and limited in length.
fn shortened(label: &str) -> Box<str> {
    text::safe_prefix(label.as_bytes(), MAX_NAME).into()
}

fn kind(labels: &Labels<'_>) -> GroupBy {
    labels.get("by").and_then(GroupBy::from_id).unwrap_or(GroupBy::Command)
}

/// Sets a figure of all hosts together, by its metric: a sum, or the highest pressure.
fn take_sum(system: &mut SystemSample, metric: Option<&str>, value: f64) {
    if let Some((_, figure)) = SUMS.iter().find(|(name, _)| Some(*name) == metric) {
        *figure(system) = whole(value).ok_or(Missing::Malformed);
        return;
    }
    let mut psi = system.psi.unwrap_or(Pressure {
        some: [0.0],
        full: [0.0],
    });
    let percent = (value.clamp(0.0, 1.0) * 100.0) as f32;
    match metric {
        Some("zmtop_system_stalled_some_ratio") => psi.some = [percent],
        Some("zmtop_system_stalled_full_ratio") => psi.full = [percent],
        _ => return,
    }
    system.psi = Ok(psi);
}
