//! Growth before a moment, of each process, program, user, part of the kernel's memory, and memory in no process: its size and its
//! start.
//!
//! Growth is measured over four windows, from a minute to a day. Recent growth matters more: a program that grew by 2 GB in the
//! last 20 seconds is named before one that took 3 GB ten hours ago and has rested since.
//!
//! No snapshot has what a victim took after the last one. The kernel's log has it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::explanation::{Grower, MadeOf, Place, Rise};
use crate::account::SLAB;
use crate::group::{GroupBy, GroupKey, PartKey, RowKey};
use crate::history::charged::{self, KINDS, UNEXPLAINED, Value};
use crate::history::kills::Kill;
use crate::history::most::{LimitOf, own_memory};
use crate::history::row::MemorySample;
use crate::history::view::Band;
use crate::history::{History, RowHistory, SeriesView};
use crate::model::kill::OomVictim;
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::snapshot::Snapshot;
use crate::model::system::SystemSample;
use crate::order;
use crate::trend::Verdict;

/// The windows over which growth is measured, and the weight of each.
const WINDOWS: [(Duration, f64); 4] = [
    (Duration::from_secs(60), 1.0),
    (Duration::from_secs(600), 0.8),
    (Duration::from_secs(3600), 0.5),
    (Duration::from_secs(86_400), 0.25),
];
/// The columns of each window: its resolution.
const COLUMNS: usize = 60;
/// Shares of the growth below which it has not begun, and above which it is over.
const ONSET: f64 = 0.05;
const DONE: f64 = 0.95;
/// Minimum weight of growth after which a row rested.
const RESTED: f64 = 0.1;
/// Minimum growth to be named, as a share of the limit, and of the largest growth.
const MIN_SHARE: f64 = 0.02;
const MIN_OF_FIRST: f64 = 0.2;
/// Multiple of the growth of one process by which a program, or a part of the kernel's memory, must have grown to be named
/// instead; for a user, of the growth of all of its rows that would be named.
const WHOLE_FACTOR: f64 = 1.5;
/// Minimum share of the growth of a cgroup that known rows must explain, if the cgroup grew by that share of its limit.
const EXPLAINED: f64 = 0.25;
/// Maximum number of growers.
const MAX_GROWERS: usize = 3;
/// Minimum share of one kind of memory in a process for that kind to be named.
const NEARLY_ALL: f64 = 0.8;
/// Processes that ended longer ago are not considered.
const ENDED_FOR: Duration = Duration::from_secs(600);
const TICKS_PER_SECOND: f64 = 100.0;

/// A moment, with the data known about it.
#[derive(Clone, Copy)]
pub(super) struct Moment<'a> {
    pub(super) history: &'a History,
    pub(super) snapshot: &'a Snapshot,
    pub(super) limit_of: LimitOf<'a>,
    /// The limit, in bytes.
    pub(super) size: u64,
    /// The kills that are explained.
    pub(super) kills: &'a [Kill],
}

/// Growth after the moment: its bytes, and the time that it took at most.
type Late = (u64, Duration);

struct Candidate {
    key: RowKey,
    rise: Rise,
    score: f64,
    facts: Option<Arc<Facts>>,
    verdict: Verdict,
    ended: Option<Duration>,
    /// The processes of a program or a user.
    members: Vec<Identity>,
}

impl Candidate {
    const fn of_part(key: PartKey, rise: Rise, score: f64, verdict: Verdict) -> Self {
        Self {
            key: RowKey::Part(key),
            rise,
            score,
            facts: None,
            verdict,
            ended: None,
            members: Vec::new(),
        }
    }
}

impl Moment<'_> {
    const fn at(&self) -> Duration {
        self.snapshot.monotonic
    }

    pub(super) fn is_below(&self, facts: &Facts) -> bool {
        self.limit_of.covers(&facts.cgroup)
    }

    /// Returns the age of a process at the moment, since its last exec if that was seen: an exec frees all memory.
    fn age(&self, id: Identity) -> Option<Duration> {
        let has_execed = self.snapshot.row(id).is_some_and(|sample| sample.exec > 0);
        if has_execed && let Some(exec) = self.row(id).and_then(|row| row.footprint().start()) {
            return Some(self.at().saturating_sub(exec));
        }
        let started = id.starttime as f64 / TICKS_PER_SECOND;
        let age = self.snapshot.system.uptime.ok()? - started;
        Duration::try_from_secs_f64(age).ok()
    }

    /// Returns the history of a process, also if it ended since.
    fn row(&self, id: Identity) -> Option<&RowHistory> {
        let ended = || self.history.ended(id).map(|ended| &ended.history);
        self.history.get(id).or_else(ended)
    }

    /// Returns the time from the first snapshot to the moment.
    fn recorded(&self) -> Option<Duration> {
        self.history.since().map(|since| self.at().saturating_sub(since))
    }

    /// Returns true if a process of that age at the moment started during the recording, or just before it.
    fn is_recorded(&self, age: Duration) -> bool {
        self.recorded()
            .is_some_and(|recorded| age <= recorded + self.snapshot.interval * 2)
    }

    /// Returns the growth of a series in a window before the moment. The row started `age` before, if that is known.
    fn rise_of(&self, view: SeriesView<'_>, age: Option<Duration>, window: Duration) -> Option<Rise> {
        let bands = view.bands(self.at(), window, COLUMNS);
        let known = bands.iter().flatten();
        let last = known.clone().next_back()?;
        let recorded = self.recorded()?;
        let seen = self.at().saturating_sub(view.start()?);
        let slack = self.snapshot.interval * 2;
        let is_new = match age {
            Some(age) => age <= window && self.is_recorded(age),
            None => seen + slack < recorded && seen < window,
        };
        let from = if is_new { 0 } else { known.map(|band| band.min).min()? };
        let seen = if is_new { age.unwrap_or(seen) } else { seen };
        let since = |bytes| self.last_below(view, bytes, window);
        Some(self.rise_between([from, last.last], window, seen, is_new, since))
    }

    /// Returns the growth from and to these bytes in a window. The row was `seen` for so long; if it `is_new`, it is that old. `since` returns the
    /// time since the last value of at most so many bytes.
    fn rise_between(
        &self,
        [from, to]: [u64; 2],
        window: Duration,
        seen: Duration,
        is_new: bool,
        since: impl Fn(u64) -> Option<Duration>,
    ) -> Rise {
        let recorded = self.recorded().unwrap_or_default();
        let slack = self.snapshot.interval * 2;
        let grown = to.saturating_sub(from) as f64;
        let since = |share: f64| since((from as f64 + grown * share) as u64);
        let onset = since(ONSET).unwrap_or(window);
        let all = if is_new { seen } else { onset.min(seen) };
        let rest = since(DONE).unwrap_or(all).min(all);
        // Even growth is nearly done for a while, too, and rest of an interval may be none.
        let rest = if rest <= (all / 8).max(self.snapshot.interval) {
            Duration::ZERO
        } else {
            rest
        };
        Rise {
            from,
            to,
            over: all.saturating_sub(rest).max(self.snapshot.interval),
            after: Duration::ZERO,
            rest,
            is_cut: !is_new && onset >= recorded.saturating_sub(slack) && recorded < window,
            is_new,
        }
    }

    /// Returns the time from the last value of at most `bytes` to the moment, within `most`, at the resolution of the series.
    fn last_below(&self, view: SeriesView<'_>, bytes: u64, most: Duration) -> Option<Duration> {
        let windows = WINDOWS
            .iter()
            .map(|(window, _)| *window)
            .filter(|window| *window <= most);
        windows.into_iter().find_map(|window| {
            let bands = view.bands(self.at(), window, COLUMNS);
            let is_below = |band: &Option<Band>| band.is_some_and(|band| band.min <= bytes);
            let last = bands.iter().rposition(is_below)?;
            Some(window / COLUMNS as u32 * (COLUMNS - 1 - last) as u32)
        })
    }

    /// Returns the growth of a series over the window with the highest weight, and that weight.
    fn best(&self, view: SeriesView<'_>, age: Option<Duration>) -> Option<(Rise, f64)> {
        best(|window| self.rise_of(view, age, window))
    }

    /// Returns the growth of memory of the cgroup at `path`, and its weight. `ends` returns its bytes before and after, `passed` the last time
    /// at which it was at most so many; the newest value comes first.
    fn charged_rise(
        &self,
        path: &[u8],
        ends: impl Fn(&[Value]) -> Option<[u64; 2]>,
        passed: impl Fn(&[Value], u64) -> Option<Duration>,
    ) -> Option<(Rise, f64)> {
        best(|window| {
            let values = self.history.charged().values(path, self.at(), window);
            let since = |time| self.at().saturating_sub(time);
            let passed = |bytes| passed(&values, bytes).map(since);
            Some(self.rise_between(ends(&values)?, window, since(values.last()?.at), false, passed))
        })
    }

    /// Returns the memory in no process of the cgroup at `path`.
    fn in_no_process(&self, path: &[u8]) -> Vec<Candidate> {
        let candidates = KINDS.iter().enumerate().filter_map(|(kind, key)| {
            let ends = |values: &[Value]| {
                let last = values.first()?;
                Some([charged::growth(kind, last, values)?, last.bytes(kind)])
            };
            let (rise, score) = self.charged_rise(path, ends, |values, bytes| charged::passed(kind, bytes, values))?;
            Some(Candidate::of_part(key.clone(), rise, score, Verdict::Steady))
        });
        candidates.collect()
    }

    /// Returns the growth of all memory of the cgroup at `path` that stays, if it is large, and the growth of `all` since explains little
    /// of it.
    fn unexplained(&self, path: &[u8], all: &[Candidate]) -> Option<Candidate> {
        let ends = |values: &[Value]| Some([values.iter().map(Value::total).min()?, values.first()?.total()]);
        let passed = |values: &[Value], bytes| {
            let value = values.iter().find(|value| value.total() <= bytes);
            value.map(|value| value.at)
        };
        let (rise, score) = with_late(self.charged_rise(path, ends, passed)?, self.late_of_cgroup(path));
        let living = all.iter().filter(|one| one.ended.is_none());
        let known = living.map(|one| {
            let within = (rise.rest + rise.over).saturating_sub(one.rise.rest);
            let share = within.as_secs_f64() / one.rise.over.as_secs_f64().max(f64::MIN_POSITIVE);
            one.rise.bytes() as f64 * share.min(1.0)
        });
        let known: f64 = known.sum();
        let grown = rise.bytes() as f64;
        let is_unexplained = grown >= self.size as f64 * EXPLAINED && known < grown * EXPLAINED;
        is_unexplained.then(|| Candidate::of_part(UNEXPLAINED.clone(), rise, score, Verdict::Steady))
    }

    /// Returns what the cgroup at `path` took after the moment, by the kernel's log, unless that is little.
    fn late_of_cgroup(&self, path: &[u8]) -> Option<Late> {
        let limits = self
            .kills
            .iter()
            .filter_map(|kill| Some((kill, logged(kill)?.limit.as_ref()?)));
        let (kill, limit) = limits.into_iter().find(|(_, limit)| *limit.cgroup == *path)?;
        // With version 1, it may be the limit of memory and swap.
        let of_memory = self.snapshot.cgroups.get(path).and_then(|figures| figures.limit.ok()?);
        let usage = limit
            .usage
            .filter(|usage| of_memory.is_some_and(|most| *usage <= most))?;
        let values = self.history.charged().values(path, self.at(), WINDOWS[0].0);
        let before = values.first().filter(|value| value.is_whole)?.in_ram();
        let grown = charged::at_kill(&values, usage, limit.files).saturating_sub(before);
        (grown >= self.least()).then(|| (grown, self.time_to(kill)))
    }

    /// Returns the kill of a process by the kernel, and the log's figures.
    fn kill_of(&self, id: Identity) -> Option<(&Kill, &OomVictim)> {
        let is_its = |kill: &&Kill| kill.known.as_ref().is_some_and(|known| known.id == id);
        let kill = self.kills.iter().find(is_its)?;
        Some((kill, logged(kill)?))
    }

    /// Returns the maximum time from the moment to a kill.
    fn time_to(&self, kill: &Kill) -> Duration {
        kill.at.saturating_sub(self.at()).max(self.snapshot.interval)
    }

    /// Returns the least growth that matters, in bytes.
    fn least(&self) -> u64 {
        (self.size as f64 * MIN_SHARE).max(1024.0 * 1024.0) as u64
    }

    /// Returns what a victim took after the moment, by the kernel's log, unless that is little.
    fn late(&self, sample: &ProcessSample) -> Option<Late> {
        let (kill, victim) = self.kill_of(sample.id)?;
        let parts = victim.parts.as_ref();
        let (rss, held) = match sample.memory() {
            Ok(memory) => {
                let shmem = memory.pss_shmem.unwrap_or(0);
                let held = memory.pss_anon.ok().map(|anon| anon.saturating_add(shmem));
                // If it maps shared memory of others, most that it came to map may be theirs, too.
                let mapped = shmem.saturating_add(memory.pss_file.unwrap_or(0));
                let of_others = memory.rss.saturating_sub(memory.pss);
                let share = if shmem == 0 {
                    1.0
                } else {
                    mapped as f64 / mapped.saturating_add(of_others) as f64
                };
                let at_kill = parts.map(|parts| parts.anon.saturating_add((parts.shmem as f64 * share) as u64));
                (memory.rss, at_kill.zip(held))
            }
            Err(_) => (
                sample.counted_rss()?,
                parts.map(|parts| parts.anon).zip(sample.counted_anon()),
            ),
        };
        // Shared pages are in both RSS, and pages of files are no growth.
        let grown = victim.rss.saturating_sub(rss);
        let grown = held.map_or(grown, |(at_kill, before)| at_kill.saturating_sub(before).min(grown));
        // Some of it may have been read from swap, or been freed just before, as the victim was ending.
        let grown = self.row(sample.id).map_or(grown, |row| {
            let at_kill = row.whole_held().map_or(victim.rss, |_| own_of(victim));
            let bands = measured(row).bands(self.at(), WINDOWS[0].0, COLUMNS);
            let highest = bands.iter().flatten().map(|band| band.max).max().unwrap_or(0);
            grown.min(at_kill.saturating_sub(highest))
        });
        (grown >= self.least()).then(|| (grown, self.time_to(kill)))
    }

    /// Returns all memory of a victim that no snapshot has, which may be new, unless that is little.
    pub(super) fn rise_of_unseen(&self, kill: &Kill) -> Option<Rise> {
        let victim = logged(kill).filter(|_| kill.known.is_none() && self.at() < kill.at)?;
        let is_new = self.snapshot.rows().iter().all(|row| row.id.pid != victim.pid);
        let over = self.time_to(kill);
        let rise = new_rise(own_of(victim), over, over);
        (is_new && rise.bytes() >= self.least()).then_some(rise)
    }

    /// Returns the RSS of the parent of a fork that was not read yet, which shares that memory, in bytes; 0 of any other process.
    fn of_parent(&self, sample: &ProcessSample) -> u64 {
        let image = sample.stat.image;
        let is_fork = |parent: &&ProcessSample| parent.stat.image == image && image != 0 && sample.memory().is_err();
        self.snapshot
            .parent(sample)
            .filter(is_fork)
            .map_or(0, |parent| parent.stat.rss)
    }

    /// Returns the growth of a process of the snapshot, and its weight.
    fn risen(&self, sample: &ProcessSample) -> Option<(Rise, f64)> {
        let age = self.age(sample.id);
        let used = Used::of(sample, &self.snapshot.system);
        let held = sample.memory().map_or(0, |memory| MemorySample::new(memory, None).held);
        let unseen = || {
            // It ended too soon to be remembered, or was killed before it was read. Memory from before the recording is no growth.
            let is_short = |age: &Duration| *age < WINDOWS[0].0 && self.is_recorded(*age);
            let age = age.filter(is_short)?;
            let rise = if let Some(used) = used {
                let most = if held > 0 { held } else { u64::MAX };
                let own = used.bytes().min(most).saturating_sub(self.of_parent(sample));
                new_rise(own, age, Duration::ZERO)
            } else {
                let (kill, victim) = self.kill_of(sample.id)?;
                let after = self.time_to(kill);
                let own = own_of(victim).saturating_sub(self.of_parent(sample));
                new_rise(own, age + after, after)
            };
            Some((rise, rise.bytes() as f64))
        };
        let row = self.row(sample.id);
        let (mut rise, mut score) = row.and_then(|row| self.best(measured(row), age)).or_else(unseen)?;
        // The series may have the values of several seconds in one, and some are later.
        let now = match used {
            Some(Used::Known(_)) if row.is_some_and(|row| row.whole_held().is_some()) => held,
            Some(Used::Known(footprint)) => footprint,
            _ => u64::MAX,
        };
        // What a fork shares with an older process is not new.
        let is_short = |age: &Duration| *age < WINDOWS[0].0;
        let parent = self
            .snapshot
            .parent(sample)
            .filter(|parent| parent.facts.comm == sample.facts.comm);
        let is_of_older = parent.is_some_and(|parent| !self.age(parent.id).as_ref().is_some_and(is_short));
        let is_fork = rise.is_new && age.as_ref().is_some_and(is_short) && is_of_older;
        let now = if is_fork {
            now.min(own_memory(sample, self.snapshot))
        } else {
            now
        };
        if now < rise.to {
            let grown = rise.bytes();
            rise.to = now.max(rise.from);
            score *= rise.bytes() as f64 / grown.max(1) as f64;
        }
        Some(with_late((rise, score), self.late(sample)))
    }

    fn candidate(&self, sample: &ProcessSample) -> Option<Candidate> {
        let (rise, score) = self.risen(sample)?;
        Some(Candidate {
            key: RowKey::Process(sample.id),
            rise,
            score,
            facts: Some(Arc::clone(&sample.facts)),
            verdict: self.row(sample.id).map_or(Verdict::Steady, |row| row.trend().verdict),
            ended: None,
            members: Vec::new(),
        })
    }

    /// Returns the processes of the moment, and those that ended before.
    fn processes(&self) -> Vec<Candidate> {
        let rows = self.snapshot.rows().iter();
        let living = rows.filter(|sample| self.is_below(&sample.facts));
        let mut all: Vec<_> = living.filter_map(|sample| self.candidate(sample)).collect();
        let is_past = |at: Duration| at <= self.at() && self.at().saturating_sub(at) <= ENDED_FOR;
        let ended = self.history.all_ended();
        let ended = ended.filter(|ended| is_past(ended.at) && self.snapshot.row(ended.id).is_none());
        for ended in ended.filter(|ended| self.is_below(&ended.facts)) {
            if let Some((rise, score)) = self.best(measured(&ended.history), self.age(ended.id)) {
                all.push(Candidate {
                    key: RowKey::Process(ended.id),
                    rise,
                    // Its memory is free again.
                    score: score / 2.0,
                    facts: Some(Arc::clone(&ended.facts)),
                    verdict: ended.history.trend().verdict,
                    ended: Some(self.at().saturating_sub(ended.at)),
                    members: Vec::new(),
                });
            }
        }
        all
    }

    /// Returns the programs, or the users, that grew far more below the limit than their rows in `known`: a program than any single
    /// one, a user than all that would be named. Of one that also has processes elsewhere, the growth of those below is summed.
    fn groups(&self, by: GroupBy, known: &[Candidate]) -> Vec<Candidate> {
        let rows = self.snapshot.rows().iter();
        let mut members: HashMap<Arc<[u8]>, (HashSet<Identity>, bool)> = HashMap::new();
        for sample in rows.filter(|sample| !sample.stat.is_kernel_thread()) {
            if let Some(name) = self.group_of(sample.id, by) {
                let (all, is_whole) = members.entry(name).or_insert_with(|| (HashSet::new(), true));
                if self.is_below(&sample.facts) {
                    all.insert(sample.id);
                } else {
                    *is_whole = false;
                }
            }
        }
        let several = members.into_iter().filter(|(_, (all, _))| all.len() > 1);
        let candidates = several.filter_map(|(name, (all, is_whole))| {
            let key = GroupKey { by, name: Some(name) };
            let row = self.history.group(&key)?;
            // Of a member with a heap, the held memory of the group has only what is in use.
            let has_heap = all.iter().any(|id| self.row(*id).is_some_and(RowHistory::has_heap));
            let view = if has_heap { row.footprint() } else { measured(row) };
            let is_member = |one: &&Candidate| one.key.process().is_some_and(|id| all.contains(&id));
            let (rise, score) = if is_whole {
                let late = all.iter().filter_map(|id| self.late(self.snapshot.row(*id)?));
                let late = late.reduce(|sum, one| (sum.0.saturating_add(one.0), sum.1.max(one.1)));
                with_late(self.best(view, None)?, late)
            } else {
                sum_of(known.iter().filter(is_member))?
            };
            let is_of_it = |one: &&Candidate| match one.key.process() {
                Some(id) => all.contains(&id),
                None => one.members.iter().any(|id| all.contains(id)),
            };
            let of_it = known.iter().filter(is_of_it);
            let is_more = if by == GroupBy::User {
                // By bytes, because a row that rested has a low score.
                let mut grown: Vec<u64> = of_it.map(|one| one.rise.bytes()).collect();
                grown.sort_unstable_by(|a, b| b.cmp(a));
                let named: u64 = grown.iter().take(MAX_GROWERS).sum();
                rise.bytes() as f64 > named as f64 * WHOLE_FACTOR
            } else {
                score > of_it.map(|one| one.score).fold(0.0, f64::max) * WHOLE_FACTOR
            };
            is_more.then(|| Candidate {
                key: RowKey::Group(key),
                rise,
                score,
                facts: None,
                verdict: row.trend().verdict,
                ended: None,
                members: all.into_iter().collect(),
            })
        });
        candidates.collect()
    }

    /// Returns the name of the program, or of the user, of a process.
    pub(super) fn group_of(&self, id: Identity, by: GroupBy) -> Option<Arc<[u8]>> {
        let ended = || self.history.ended(id);
        match (by, self.snapshot.row(id)) {
            (GroupBy::User, Some(sample)) => sample.facts.owner_name().ok().cloned(),
            (GroupBy::User, None) => ended()?.facts.owner_name().ok().cloned(),
            _ => self.history.command(id).or_else(|| ended()?.command.clone()),
        }
    }

    /// Returns the rows that grew most below the limit, the largest growth first. Unless it `is_exact`, the limit may be the one of a cgroup
    /// above.
    pub(super) fn growers(&self, is_exact: bool) -> Vec<Grower> {
        let mut all = self.processes();
        for by in [GroupBy::Command, GroupBy::User] {
            let groups = self.groups(by, &all);
            let together: HashSet<_> = groups.iter().flat_map(|one| one.members.iter().copied()).collect();
            all.retain(|one| match one.key.process() {
                Some(id) => !together.contains(&id),
                None => one.members.iter().any(|id| !together.contains(id)),
            });
            all.extend(groups);
        }
        if self.limit_of == LimitOf::Machine {
            let most = all.iter().map(|one| one.score).fold(0.0, f64::max);
            let parts = self.history.parts().taking();
            let parts = parts.filter_map(|(key, row): (PartKey, _)| {
                let (rise, score) = self.best(measured(row), None)?;
                (score > most * WHOLE_FACTOR).then(|| Candidate::of_part(key, rise, score, row.trend().verdict))
            });
            all.extend(parts.collect::<Vec<_>>());
        }
        if let LimitOf::Cgroup(path) = self.limit_of {
            let charged = self.history.charged();
            let path = if is_exact { Some(path) } else { charged.limited(path) };
            all.extend(path.into_iter().flat_map(|path| self.in_no_process(path)));
            let unexplained = path.and_then(|path| self.unexplained(path, &all));
            all.extend(unexplained);
        }
        order::sort_by(&mut all, |a, b| {
            b.score.total_cmp(&a.score).then_with(|| a.key.cmp(&b.key))
        });
        let first = all.first().map_or(0.0, |one| one.score);
        all.retain(|one| one.rise.bytes() >= self.least() && one.score >= first * MIN_OF_FIRST);
        all.truncate(MAX_GROWERS);
        let grower = |one: Candidate| Grower {
            name: match (&one.key, &one.facts) {
                (RowKey::Group(key), _) => key.label().into(),
                (RowKey::Part(key), _) => key.label.as_bytes().into(),
                (RowKey::Process(_), facts) => facts.as_ref().map_or_else(Box::default, |facts| facts.comm.clone()),
            },
            count: match &one.key {
                RowKey::Part(_) => 0,
                _ => one.members.len().max(1),
            },
            cache: match &one.key {
                RowKey::Part(key) if key.id == SLAB => self.cache(&one.rise),
                _ => None,
            },
            made_of: one.key.process().and_then(|id| self.made_of(id)),
            place: one.facts.as_ref().and_then(|facts| self.place(facts, &one.rise)),
            key: one.key,
            facts: one.facts,
            rise: one.rise,
            verdict: one.verdict,
            ended: one.ended,
        };
        all.into_iter().map(grower).collect()
    }

    /// Returns the kind of nearly all memory of a process that lived. Pages of files are none of the growth if the rest is known.
    fn made_of(&self, id: Identity) -> Option<MadeOf> {
        let is_known = self.row(id).is_some_and(|row| row.whole_held().is_some());
        made_of(self.snapshot.row(id)?).filter(|kind| *kind != MadeOf::Files || !is_known)
    }

    /// Returns the slab cache that grew most during a rise, since its first read, if its growth is a large part of the rise.
    fn cache(&self, rise: &Rise) -> Option<(Box<[u8]>, u64)> {
        let all = WINDOWS.map(|(window, _)| window).into_iter();
        let window = all.clone().find(|window| rise.over + rise.rest <= *window);
        let window = window.or(all.last())?;
        let grown = self.history.slab().all().filter_map(|(name, row)| {
            let bands = row.footprint().bands(self.at(), window, COLUMNS);
            let mut known = bands.iter().flatten();
            let (first, last) = (known.clone().next()?.min, known.next_back()?.last);
            Some((name, last.saturating_sub(first)))
        });
        let (name, bytes) = grown.max_by_key(|(_, bytes)| *bytes)?;
        (bytes as f64 >= rise.bytes() as f64 * MIN_OF_FIRST).then(|| ((**name).into(), bytes))
    }

    /// Returns the container, the unit or the cgroup of a process, and its growth in about the same time.
    fn place(&self, facts: &Facts, rise: &Rise) -> Option<Place> {
        let container = facts.container.as_deref();
        let cgroup = facts.cgroup.as_deref().ok().filter(|path| *path != b"/");
        let (by, name): (_, &[u8]) = match (container, &facts.unit, cgroup) {
            (Some(container), ..) => (GroupBy::Container, container.name()),
            (None, Some(unit), _) => (GroupBy::Unit, unit),
            (None, None, path) => (GroupBy::Cgroup, path?),
        };
        let key = GroupKey {
            by,
            name: Some(name.into()),
        };
        let row = self.history.group(&key);
        let window = WINDOWS
            .iter()
            .map(|(window, _)| *window)
            .find(|window| rise.over <= *window);
        Some(Place {
            by,
            name: name.into(),
            rise: row.and_then(|row| self.rise_of(row.footprint(), None, window?)),
        })
    }

    /// Returns the growth of a process over the window with the highest weight.
    pub(super) fn rise(&self, id: Identity) -> Option<Rise> {
        let (rise, _) = match self.snapshot.row(id) {
            Some(sample) => self.risen(sample)?,
            None => self.best(measured(self.row(id)?), self.age(id))?,
        };
        Some(rise)
    }

    /// Returns the growth of a process within `span`, in bytes; `None` if it was not recorded for that long, or its memory is not known.
    pub(super) fn grown(&self, sample: &ProcessSample, span: Duration) -> Option<i64> {
        let used = Used::of(sample, &self.snapshot.system)?;
        let now = (!used.is_bound()).then(|| used.bytes().cast_signed())?;
        if self.age(sample.id).is_some_and(|age| age < span) {
            return Some(now);
        }
        let bands = self.row(sample.id)?.footprint().bands(self.at(), span, COLUMNS);
        let before = bands.iter().take(2).flatten().next()?.min;
        Some(now - before.cast_signed())
    }
}

/// Returns the series that the growth of a row is measured by: the memory without pages of files, which the kernel can reclaim, or all of
/// it if they are not known.
fn measured(row: &RowHistory) -> SeriesView<'_> {
    row.whole_held().unwrap_or_else(|| row.footprint())
}

/// Returns the sum of the growth of processes and of its weight; `None` of none.
fn sum_of<'a>(processes: impl Iterator<Item = &'a Candidate>) -> Option<(Rise, f64)> {
    let all = processes.map(|one| (one.rise, one.score));
    all.reduce(|(sum, weight), (one, score)| {
        let rise = Rise {
            from: sum.from.saturating_add(one.from),
            to: sum.to.saturating_add(one.to),
            over: sum.over.max(one.over),
            after: sum.after.max(one.after),
            rest: sum.rest.min(one.rest),
            is_cut: sum.is_cut || one.is_cut,
            is_new: sum.is_new && one.is_new,
        };
        (rise, weight + score)
    })
}

/// Returns the growth of a process that started `over` before its end, `after` of it after the moment.
const fn new_rise(to: u64, over: Duration, after: Duration) -> Rise {
    Rise {
        from: 0,
        to,
        over,
        after,
        rest: Duration::ZERO,
        is_cut: false,
        is_new: true,
    }
}

/// Returns the kernel's log of a victim.
fn logged(kill: &Kill) -> Option<&OomVictim> {
    let victim = kill.event.victim.as_ref().ok();
    victim.filter(|_| kill.event.daemon.is_none())
}

/// Returns the memory of a victim without pages of files, by the kernel's log; all of its RSS if the parts are not known.
fn own_of(victim: &OomVictim) -> u64 {
    let parts = victim.parts.as_ref();
    parts.map_or(victim.rss, |parts| parts.anon.saturating_add(parts.shmem))
}

/// Adds growth after the moment to a growth and its weight. If the row had rested, or had grown less before, that is a growth of its own.
fn with_late((rise, score): (Rise, f64), late: Option<Late>) -> (Rise, f64) {
    let Some((bytes, after)) = late else {
        return (rise, score);
    };
    let to = rise.to.saturating_add(bytes);
    let (has_rested, own) = (!rise.rest.is_zero(), bytes as f64);
    if has_rested && own < score {
        return (rise, score);
    }
    if has_rested || (bytes > rise.bytes() && !rise.is_new) {
        let new = new_rise(to, after, after);
        let from = rise.to;
        return (
            Rise {
                from,
                is_new: false,
                ..new
            },
            own,
        );
    }
    let over = rise.over + after;
    (
        Rise {
            to,
            over,
            after,
            ..rise
        },
        score + own,
    )
}

/// Returns the growth over the window with the highest weight, and that weight.
fn best(rise: impl Fn(Duration) -> Option<Rise>) -> Option<(Rise, f64)> {
    let all = WINDOWS.into_iter().filter_map(|(window, weight)| {
        let rise = rise(window)?;
        // A row that rested for most of the time did not use the last memory.
        let rested = rise.rest.as_secs_f64() / (rise.over + rise.rest).as_secs_f64();
        Some((rise, rise.bytes() as f64 * weight * (1.0 - rested).max(RESTED)))
    });
    all.reduce(|best, one| if one.1 > best.1 { one } else { best })
}

/// The memory of a process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Used {
    /// PSS and swap.
    Known(u64),
    /// At most as much, by the figures that every user may read; and the part that cannot be mapped again and again.
    AtMost { bytes: u64, own: u64 },
}

impl Used {
    /// Returns the memory of a process of a machine; `None` if not even its RSS is known.
    pub(super) fn of(sample: &ProcessSample, system: &SystemSample) -> Option<Self> {
        if let Ok(memory) = sample.memory() {
            return Some(Self::Known(memory.footprint().unwrap_or(memory.pss)));
        }
        let rss = sample.counted_rss()?;
        let swap = sample.counted.swap().unwrap_or(0);
        let most = system.mem_total.unwrap_or(u64::MAX);
        let Some(anon) = sample.counted_anon().map(|anon| anon.min(rss)) else {
            return Some(Self::AtMost {
                bytes: rss.min(most).saturating_add(swap),
                own: rss,
            });
        };
        // A page of a file or of shared memory counts as often as it is mapped, but all of them are in the page cache. A container may map
        // pages that another cgroup is charged for.
        let cached = system.cached.ok().filter(|_| system.scope.is_none());
        let mapped = (rss - anon).min(cached.unwrap_or(u64::MAX));
        Some(Self::AtMost {
            bytes: anon.saturating_add(mapped).min(most).saturating_add(swap),
            own: anon.saturating_add(swap),
        })
    }

    pub(super) const fn bytes(self) -> u64 {
        let (Self::Known(bytes) | Self::AtMost { bytes, .. }) = self;
        bytes
    }

    /// Returns the bytes by which the largest process is found. Anybody can map the same pages again and again.
    pub(super) const fn rank(self) -> u64 {
        let (Self::Known(bytes) | Self::AtMost { own: bytes, .. }) = self;
        bytes
    }

    pub(super) const fn is_bound(self) -> bool {
        matches!(self, Self::AtMost { .. })
    }
}

/// Returns the kind of nearly all of a process's memory, if there is one.
fn made_of(sample: &ProcessSample) -> Option<MadeOf> {
    let memory = sample.memory().ok()?;
    let swapped = memory.swap_pss.unwrap_or(0);
    let anon = memory.pss_anon.ok()?.saturating_add(swapped);
    let kinds = [
        (MadeOf::Anonymous, Ok(anon)),
        (MadeOf::Shared, memory.pss_shmem),
        (MadeOf::Files, memory.pss_file),
    ];
    let least = memory.footprint().unwrap_or(memory.pss) as f64 * NEARLY_ALL;
    let kind = kinds
        .into_iter()
        .find(|(_, bytes)| bytes.is_ok_and(|bytes| bytes as f64 >= least));
    kind.map(|(kind, _)| kind)
}
