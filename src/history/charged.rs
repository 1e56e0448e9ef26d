//! Memory that cgroups are charged for and that is in none of their processes: shared memory and tmpfs that nobody maps, kernel memory,
//! memory of processes that moved to another cgroup, and pages that nobody maps, such as those in pipes.
//!
//! If it fills a cgroup, no process has grown. The figures of cgroups with a limit are remembered for an hour, so that an OOM kill is
//! not put down to a process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::account::SHMEM;
use crate::account::headroom::with_ancestors;
use crate::group::PartKey;
use crate::history::most::fullest;
use crate::history::victims::AFTER_KILL;
use crate::model::process::ProcessSample;
use crate::model::snapshot::Snapshot;
use crate::model::{CgroupFigures, Missing};

/// Ages of values, and the time between two values up to that age.
const STEPS: [(Duration, Duration); 3] = [
    (Duration::from_secs(20), Duration::from_secs(2)),
    (Duration::from_secs(600), Duration::from_secs(20)),
    (Duration::from_secs(4200), Duration::from_secs(120)),
];
/// Maximum number of values of a cgroup. Some 70 are needed.
const MAX_VALUES: usize = 96;
/// Maximum number of cgroups, those with the largest share of their limit; of more, maximum number of one owner.
const MAX_CGROUPS: usize = 1024;
const MAX_OF_OWNER: usize = 64;
/// Time for which a removed cgroup is remembered.
const REMOVED: Duration = Duration::from_secs(60);
/// Time within which the memory of a victim counts that is gone: the kernel's log may be read late.
const GONE: Duration = Duration::from_secs(3);

/// The kinds of such memory.
pub static KINDS: [PartKey; 4] = [
    PartKey::whole(SHMEM, "shared memory and tmpfs"),
    PartKey::whole("kernel_unreclaimable", "kernel memory"),
    PartKey::whole(OUTSIDE, "memory of processes outside of it"),
    PartKey::whole(UNMAPPED, "memory that no process maps"),
];
/// The key of the growth of a cgroup, if neither its processes nor one of [`KINDS`] explain it.
pub static UNEXPLAINED: PartKey = PartKey::whole("unexplained", "memory of no known process");
const OUTSIDE: &str = "anon_outside";
const UNMAPPED: &str = "unmapped";

/// Returns true if a victim may be the process that has or holds such memory. It may have been in the cgroup only for a moment.
pub fn may_be_of_victim(part: &PartKey) -> bool {
    [SHMEM, OUTSIDE, UNMAPPED, UNEXPLAINED.id].contains(&part.id)
}

/// The figures of a cgroup at a time, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub at: Duration,
    shmem: u64,
    /// The part of it that processes of the cgroup map, at most.
    mapped: u64,
    kernel: u64,
    anon: u64,
    /// The anonymous memory is known.
    pub is_whole: bool,
    /// The part of it that is in processes of the cgroup, at most.
    inside: u64,
    unmapped: u64,
    swap: u64,
    /// What else it is charged for: page cache, page tables and reclaimable slab; and the part of it that reclaim does not free first.
    rest: u64,
    kept: u64,
}

impl Value {
    /// Returns `None` unless the figures are known. Processes of the cgroup have at most so much.
    fn of(figures: &CgroupFigures, most: Inside, at: Duration) -> Option<Self> {
        let anon = figures.anon.unwrap_or(0);
        let mut value = Self {
            at,
            shmem: figures.shmem.ok()?,
            // Also pages of files, and what processes of other cgroups map.
            mapped: figures.file_mapped.ok()?.min(most.shmem),
            kernel: figures.kernel.unwrap_or(0),
            anon,
            is_whole: figures.anon.is_ok(),
            inside: anon.min(most.anon.saturating_add(most.shared)),
            unmapped: figures.unmapped.unwrap_or(0),
            swap: figures.swap.unwrap_or(0),
            rest: 0,
            kept: 0,
        };
        value.rest = figures.current.unwrap_or(0).saturating_sub(value.in_ram());
        value.kept = figures.stays().unwrap_or(0).saturating_sub(value.in_ram());
        Some(value)
    }

    /// Returns the bytes of one of [`KINDS`].
    pub const fn bytes(&self, kind: usize) -> u64 {
        match kind {
            0 => self.shmem.saturating_sub(self.mapped),
            1 => self.kernel,
            2 => self.anon.saturating_sub(self.inside),
            _ => self.unmapped,
        }
    }

    /// Returns the bytes of all kinds, in processes and in none, and in swap.
    pub fn total(&self) -> u64 {
        let known = [self.shmem, self.kernel, self.anon, self.unmapped, self.swap];
        known.into_iter().fold(0, u64::saturating_add)
    }

    /// Returns [`Self::total`] without swap.
    pub fn in_ram(&self) -> u64 {
        self.total() - self.swap
    }

    /// Returns the bytes of one of [`KINDS`] and of the like in processes.
    const fn whole(&self, kind: usize) -> u64 {
        match kind {
            0 => self.shmem,
            2 => self.anon,
            _ => self.bytes(kind),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let (at, rest, kept) = (self.at, self.rest, self.kept);
        Self {
            at,
            rest,
            kept,
            ..*other
        } == *self
    }

    /// Returns the value at a time between two, as if it had changed evenly.
    fn between(older: &Self, newer: &Self, at: Duration) -> Self {
        let share = share(
            at.saturating_sub(older.at).as_nanos(),
            newer.at.saturating_sub(older.at).as_nanos(),
        );
        let mix = |older: u64, newer: u64| (older as f64 + (newer as f64 - older as f64) * share) as u64;
        Self {
            at,
            shmem: mix(older.shmem, newer.shmem),
            mapped: mix(older.mapped, newer.mapped),
            kernel: mix(older.kernel, newer.kernel),
            anon: mix(older.anon, newer.anon),
            is_whole: older.is_whole && newer.is_whole,
            inside: mix(older.inside, newer.inside),
            unmapped: mix(older.unmapped, newer.unmapped),
            swap: mix(older.swap, newer.swap),
            rest: mix(older.rest, newer.rest),
            kept: mix(older.kept, newer.kept),
        }
    }
}

fn share(part: u128, whole: u128) -> f64 {
    (part as f64 / whole.max(1) as f64).min(1.0)
}

/// The past of one cgroup.
#[derive(Clone, Debug, Default)]
struct Series {
    /// The oldest first.
    values: Vec<Value>,
    /// The used share of its limit.
    used: f64,
    /// The anonymous memory outside of its processes in the last snapshot.
    outside: Option<u64>,
}

impl Series {
    fn push(&mut self, mut value: Value) {
        // A process may start or end while the figures are read.
        let outside = value.anon - value.inside;
        let before = self.outside.replace(outside).unwrap_or(outside);
        value.inside = value.anon - outside.min(before);
        // Equal values need only the first and the last.
        let mut newest = self.values.iter().rev();
        let is_same = newest.by_ref().take(2).filter(|last| last.is_same(&value)).count() == 2;
        if is_same && let Some(last) = self.values.last_mut() {
            *last = value;
            return;
        }
        self.values.push(value);
        if self.values.len() > MAX_VALUES {
            self.thin_out(value.at);
        }
    }

    fn thin_out(&mut self, now: Duration) {
        let all = std::mem::take(&mut self.values);
        for (place, value) in all.iter().enumerate() {
            let age = now.saturating_sub(value.at);
            let Some((_, step)) = STEPS.iter().find(|(most, _)| age <= *most) else {
                continue;
            };
            let next = all.get(place + 1).map_or(Duration::MAX, |next| next.at);
            let is_needed = |last: &Value| next.saturating_sub(last.at) >= *step;
            let is_recent = place + AFTER_KILL + 1 >= all.len();
            if is_recent || self.values.last().is_none_or(is_needed) {
                self.values.push(*value);
            }
        }
    }
}

/// The memory of limited cgroups that may be in no process, over the last hour.
#[derive(Clone, Debug, Default)]
pub struct Charged {
    cgroups: HashMap<Arc<[u8]>, Series>,
}

impl Charged {
    pub(super) fn push(&mut self, snapshot: &Snapshot) {
        let now = snapshot.monotonic;
        let inside = inside(snapshot);
        for (path, figures) in snapshot.cgroups.iter() {
            if let Some((limit, _)) = figures.ceiling()
                && let Some(value) = Value::of(figures, inside.get(&**path).copied().unwrap_or_default(), now)
            {
                let series = self.cgroups.entry(Arc::clone(path)).or_default();
                series.used = share(figures.current.unwrap_or(0).into(), limit.into());
                series.push(value);
            }
        }
        self.cgroups.retain(|_, series| {
            series
                .values
                .last()
                .is_some_and(|last| now.saturating_sub(last.at) <= REMOVED)
        });
        if self.cgroups.len() > MAX_CGROUPS {
            let used = self.cgroups.iter().map(|(path, series)| (path, series.used));
            let kept = fullest(used, MAX_CGROUPS, MAX_OF_OWNER);
            self.cgroups.retain(|path, _| kept.contains(path));
        }
    }

    /// Returns the memory that it needs, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let entry = size_of::<(Arc<[u8]>, Series)>();
        let of_each = self
            .cgroups
            .iter()
            .map(|(path, series)| entry + path.len() + series.values.capacity() * size_of::<Value>());
        of_each.sum()
    }

    /// Returns the cgroup at `path`, or else the closest one above it that has a limit.
    pub fn limited<'a>(&self, path: &'a [u8]) -> Option<&'a [u8]> {
        with_ancestors(path).find(|path| self.cgroups.contains_key(*path))
    }

    /// Returns the values of a cgroup in the time `span` before `at`, the newest first, with one for the beginning of that time.
    pub fn values(&self, path: &[u8], at: Duration, span: Duration) -> Vec<Value> {
        let begin = at.saturating_sub(span);
        let mut found: Vec<Value> = Vec::new();
        let all = self.cgroups.get(path).map(|series| series.values.iter().rev());
        for value in all.into_iter().flatten().filter(|value| value.at <= at) {
            if value.at < begin {
                found.extend(found.last().copied().map(|newer| Value::between(value, &newer, begin)));
                break;
            }
            found.push(*value);
        }
        found
    }

    /// Returns the growth of each of [`KINDS`] within `span` before `now`, in bytes. What the cgroup had just before counts, too: the
    /// memory of a process that was killed is gone.
    pub(super) fn growth(&self, path: &[u8], now: Duration, span: Duration) -> [u64; KINDS.len()] {
        let values = self.values(path, now, span);
        std::array::from_fn(|kind| {
            let recent = values.iter().take_while(|value| now.saturating_sub(value.at) <= GONE);
            let grown = |(place, last): (usize, &Value)| {
                let from = growth(kind, last, &values[place..])?;
                Some(last.bytes(kind).saturating_sub(from))
            };
            recent.enumerate().filter_map(grown).max().unwrap_or(0)
        })
    }

    /// Returns the growth of all memory of a cgroup that stays, in bytes, from its least within `span` before `now`: up to the highest value
    /// just before a kill, as the memory of the victim is gone; and up to the kill, at which the kernel's log has the usage, and that
    /// of page cache. Returns `None` if a value may be missing: a kill is found up to two snapshots later. Also if anonymous memory is unknown.
    pub(super) fn growth_of_all(
        &self,
        path: &[u8],
        now: Duration,
        span: Duration,
        logged: Option<(u64, Option<u64>)>,
    ) -> Option<[u64; 2]> {
        let values = self.values(path, now, span);
        if !values.iter().all(|value| value.is_whole) {
            return None;
        }
        let is_recent = |(place, value): &(usize, &Value)| *place <= AFTER_KILL || now.saturating_sub(value.at) <= GONE;
        let recent = values.iter().enumerate().take_while(is_recent);
        let (last, highest) = recent.max_by_key(|(place, value)| (value.total(), *place))?;
        let least = values[last..].iter().map(Value::total).min()?;
        if values.len() <= AFTER_KILL {
            return None;
        }
        let at_kill = logged.map_or(0, |(usage, files)| {
            at_kill(&values, usage, files).saturating_add(highest.swap)
        });
        Some([highest.total(), at_kill.max(highest.total())].map(|bytes| bytes.saturating_sub(least)))
    }
}

/// Returns the memory of a cgroup that stayed at a kill, in bytes, by its usage and its page cache in the kernel's log.
pub fn at_kill(values: &[Value], usage: u64, files: Option<u64>) -> u64 {
    let least_of = |part: fn(&Value) -> u64| values.iter().map(part).min().unwrap_or(0);
    // Page cache may be gone at the kill, and back soon after it.
    let rest = files.map_or_else(
        || least_of(|value| value.rest),
        |files| files.saturating_add(least_of(|value| value.kept)),
    );
    usage.saturating_sub(rest)
}

/// Memory of processes, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Inside {
    shmem: u64,
    anon: u64,
    /// The most that one has of pages that it shares since a fork. The other process may be elsewhere, or may have ended since the walk.
    /// The pages of many forks are the same.
    shared: u64,
}

impl Inside {
    /// Returns what a process has, by walks that may be older.
    fn of(row: &ProcessSample) -> Self {
        match row.memory() {
            Ok(memory) => {
                let grown = row.stat.rss.saturating_sub(memory.rss);
                Self {
                    shmem: memory.pss_shmem.unwrap_or(memory.pss),
                    anon: memory.pss_anon.unwrap_or(memory.rss).saturating_add(grown),
                    shared: memory.shared_dirty,
                }
            }
            Err(Missing::Pending) => Self {
                anon: row.stat.rss,
                ..Self::default()
            },
            Err(_) => Self {
                shmem: row.stat.rss,
                anon: row.stat.rss,
                shared: 0,
            },
        }
    }

    fn add(&mut self, other: Self) {
        self.shmem = self.shmem.saturating_add(other.shmem);
        self.anon = self.anon.saturating_add(other.anon);
        self.shared = self.shared.max(other.shared);
    }
}

/// Returns the memory of the processes below each cgroup with a limit.
fn inside(snapshot: &Snapshot) -> HashMap<&[u8], Inside> {
    let cgroups = snapshot.cgroups.iter();
    let limited = cgroups.filter(|(_, figures)| figures.ceiling().is_some() && figures.shmem.is_ok());
    let mut sums: HashMap<&[u8], Inside> = limited.map(|(path, _)| (&**path, Inside::default())).collect();
    if sums.is_empty() {
        return sums;
    }
    let mut of_paths: HashMap<&[u8], Inside> = HashMap::new();
    for row in snapshot.rows().iter().filter(|row| row.shares_mm.is_none()) {
        if let Ok(path) = &row.facts.cgroup {
            of_paths.entry(path).or_default().add(Inside::of(row));
        }
    }
    for (path, memory) in of_paths {
        for above in with_ancestors(path) {
            if let Some(sum) = sums.get_mut(above) {
                sum.add(memory);
            }
        }
    }
    sums
}

/// Returns the bytes of a kind from which it grew to `last`, as of the least value in `all`. If processes unmap shared memory, or end or
/// move, it has not grown.
pub fn growth(kind: usize, last: &Value, all: &[Value]) -> Option<u64> {
    let least = all.iter().min_by_key(|value| value.bytes(kind))?;
    let grown = last.bytes(kind).saturating_sub(least.bytes(kind));
    let whole = last.whole(kind).saturating_sub(least.whole(kind));
    Some(last.bytes(kind) - grown.min(whole))
}

/// Returns the time at which a kind grew beyond `bytes` for the last time, as if it had changed evenly between two values.
pub fn passed(kind: usize, bytes: u64, values: &[Value]) -> Option<Duration> {
    let last = values.iter().position(|value| value.bytes(kind) <= bytes)?;
    let (older, newer) = (&values[last], &values[last.saturating_sub(1)]);
    let grown = newer.bytes(kind).saturating_sub(older.bytes(kind));
    let share = share((bytes - older.bytes(kind)).into(), grown.into());
    Some(older.at + newer.at.saturating_sub(older.at).mul_f64(share))
}
