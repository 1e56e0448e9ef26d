//! Memory that cgroups are charged for and that is in no process: shared memory and tmpfs that nobody maps, and kernel memory.
//!
//! If it fills a cgroup, no process has grown. The figures of cgroups with a limit are remembered for ten minutes, so that an OOM
//! kill is not put down to a process.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::account::SHMEM;
use crate::group::PartKey;
use crate::model::CgroupFigures;
use crate::model::snapshot::Snapshot;

/// Time for which figures are remembered, and for which most of them are.
const SPAN: Duration = Duration::from_secs(600);
const FINE_SPAN: Duration = Duration::from_secs(20);
/// Time between two values within [`FINE_SPAN`], and before.
const FINE_STEP: Duration = Duration::from_secs(2);
const COARSE_STEP: Duration = Duration::from_secs(20);
/// Maximum number of values of a cgroup. Some 40 are needed.
const MAX_VALUES: usize = 64;
/// Maximum number of cgroups, those with the largest share of their limit.
const MAX_CGROUPS: usize = 4096;
/// Time for which a removed cgroup is remembered.
const REMOVED: Duration = Duration::from_secs(60);
/// Inverse of the share of the growth of shared memory that processes may map.
const MAPPED_SHARE: u64 = 4;

/// The kinds of such memory.
pub static KINDS: [PartKey; 2] = [
    PartKey::whole(SHMEM, "shared memory and tmpfs"),
    PartKey::whole("kernel_unreclaimable", "kernel memory"),
];

/// The figures of a cgroup at a time, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    pub at: Duration,
    /// Of each of [`KINDS`].
    bytes: [u64; 2],
    /// File pages and shared memory that processes map.
    mapped: u64,
}

impl Value {
    /// Returns `None` unless the figures are known.
    fn of(figures: &CgroupFigures, at: Duration) -> Option<Self> {
        Some(Self {
            at,
            bytes: [figures.shmem.ok()?, figures.kernel.unwrap_or(0)],
            mapped: figures.file_mapped.ok()?,
        })
    }

    /// Returns the bytes of a kind.
    pub const fn bytes(&self, kind: usize) -> u64 {
        self.bytes[kind]
    }

    const fn is_same(&self, other: &Self) -> bool {
        self.bytes[0] == other.bytes[0] && self.bytes[1] == other.bytes[1] && self.mapped == other.mapped
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
            bytes: [0, 1].map(|kind| mix(older.bytes[kind], newer.bytes[kind])),
            mapped: mix(older.mapped, newer.mapped),
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
    values: VecDeque<Value>,
    /// The used share of its limit.
    used: f64,
}

impl Series {
    fn push(&mut self, value: Value) {
        // Equal values need only the first and the last.
        let mut newest = self.values.iter().rev();
        let is_same = newest.by_ref().take(2).filter(|last| last.is_same(&value)).count() == 2;
        if is_same && let Some(last) = self.values.back_mut() {
            *last = value;
            return;
        }
        self.values.push_back(value);
        if self.values.len() > MAX_VALUES {
            self.thin_out(value.at);
        }
    }

    fn thin_out(&mut self, now: Duration) {
        let all = std::mem::take(&mut self.values);
        for (place, value) in all.iter().enumerate() {
            let age = now.saturating_sub(value.at);
            let step = if age <= FINE_SPAN { FINE_STEP } else { COARSE_STEP };
            let next = all.get(place + 1).map_or(Duration::MAX, |next| next.at);
            let is_needed = |last: &Value| next.saturating_sub(last.at) >= step;
            if age <= SPAN && self.values.back().is_none_or(is_needed) {
                self.values.push_back(*value);
            }
        }
    }
}

/// The memory of limited cgroups that may be in no process, over the last ten minutes.
#[derive(Clone, Debug, Default)]
pub struct Charged {
    cgroups: HashMap<Arc<[u8]>, Series>,
}

impl Charged {
    pub(super) fn push(&mut self, snapshot: &Snapshot) {
        let now = snapshot.monotonic;
        for (path, figures) in snapshot.cgroups.iter() {
            if let Some((limit, _)) = figures.ceiling()
                && let Some(value) = Value::of(figures, now)
            {
                let series = self.cgroups.entry(Arc::clone(path)).or_default();
                series.used = figures.current.unwrap_or(0) as f64 / limit.max(1) as f64;
                series.push(value);
            }
        }
        self.cgroups.retain(|_, series| {
            series
                .values
                .back()
                .is_some_and(|last| now.saturating_sub(last.at) <= REMOVED)
        });
        if self.cgroups.len() > MAX_CGROUPS {
            let used = self
                .cgroups
                .iter()
                .map(|(path, series)| (series.used, Arc::clone(path)));
            let mut used: Vec<_> = used.collect();
            used.sort_unstable_by(|(a, path), (b, other)| b.total_cmp(a).then_with(|| path.cmp(other)));
            for (_, path) in used.drain(MAX_CGROUPS..) {
                self.cgroups.remove(&path);
            }
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
    pub fn limited<'a>(&self, mut path: &'a [u8]) -> Option<&'a [u8]> {
        while !self.cgroups.contains_key(path) {
            let end = path.iter().rposition(|byte| *byte == b'/').filter(|end| *end > 0)?;
            path = &path[..end];
        }
        Some(path)
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

    /// Returns the growth of each of [`KINDS`] within `span` before this snapshot, in bytes. What the cgroup had in the snapshot before
    /// counts, too: the memory of a process that was killed is gone.
    pub(super) fn growth(&self, snapshot: &Snapshot, path: &[u8], span: Duration) -> [u64; 2] {
        let grown = || {
            let (path, now) = (self.limited(path)?, snapshot.monotonic);
            let mut values = self.values(path, now, span);
            let figures = snapshot.cgroups.get(path);
            values.splice(..0, figures.and_then(|figures| Value::of(figures, now)));
            Some([0, 1].map(|kind| {
                let grown = |place: usize| {
                    let (last, earlier) = values.get(place..)?.split_first()?;
                    Some(last.bytes(kind) - growth(kind, last, earlier)?)
                };
                grown(0).max(grown(1)).unwrap_or(0)
            }))
        };
        grown().unwrap_or_default()
    }
}

/// Returns the least bytes of a kind among earlier values, from which it grew to `last`; `None` if processes map the growth.
pub fn growth(kind: usize, last: &Value, earlier: &[Value]) -> Option<u64> {
    let least = earlier.iter().min_by_key(|value| value.bytes(kind))?;
    let grown = last.bytes(kind).checked_sub(least.bytes(kind))?;
    let mapped = last.mapped.saturating_sub(least.mapped);
    (kind > 0 || mapped <= grown / MAPPED_SHARE).then_some(least.bytes(kind))
}

/// Returns the time at which a kind grew beyond `bytes` for the last time, as if it had changed evenly between two values.
pub fn passed(kind: usize, bytes: u64, values: &[Value]) -> Option<Duration> {
    let last = values.iter().position(|value| value.bytes(kind) <= bytes)?;
    let (older, newer) = (&values[last], &values[last.saturating_sub(1)]);
    let grown = newer.bytes(kind).saturating_sub(older.bytes(kind));
    let share = share((bytes - older.bytes(kind)).into(), grown.into());
    Some(older.at + newer.at.saturating_sub(older.at).mul_f64(share))
}
