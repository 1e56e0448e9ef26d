//! The long history of one series: finer for what is near, and nothing where nothing changes.

use std::collections::VecDeque;
use std::time::Duration;

use crate::history::runs::{Held, Run, enter};
use crate::trend::Point;

/// One resolution: how long its buckets are, in seconds, and how many of them are kept.
#[derive(Clone, Copy, Debug)]
struct Level {
    step: u32,
    keep: u32,
}

impl Level {
    /// How many are kept at that detail.
    fn keep(self, detail: Retention) -> u32 {
        (self.keep >> detail.0).max(FINE + 2).min(self.keep)
    }
}

/// Five minutes by the second, an hour by 10 s, a day by the minute, a week by 10 min, a month by 2 h.
const LEVELS: [Level; 5] = [
    Level { step: 1, keep: 300 },
    Level { step: 10, keep: 360 },
    Level { step: 60, keep: 1440 },
    Level { step: 600, keep: 1008 },
    Level { step: 7200, keep: 372 },
];

/// How many buckets to the age of a bucket are fine enough to judge by.
const FINE: u32 = 32;

/// By how much a value may move, in KiB, and count as what it was.
const fn slack(kib: u32) -> u32 {
    if kib < 16_384 { 4 } else { kib / 4096 }
}

/// Lets go of what lies further back than so many buckets.
fn trim(ring: &mut VecDeque<Run>, keep: u32) {
    let newest = ring.back().map_or(0, Run::newest);
    while ring.front().is_some_and(|run| newest - run.newest() >= keep) {
        ring.pop_front();
    }
}

type Rings = [VecDeque<Run>; LEVELS.len()];

/// How much of what could be kept is kept: all of it, a half, a quarter or an eighth, where memory is short.
/// Verdicts are then based on coarser spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Retention(u8);

impl Retention {
    /// Half as much; the same where there is no less.
    #[must_use]
    pub fn less(self) -> Self {
        Self((self.0 + 1).min(3))
    }

    /// Twice as much, up to all.
    #[must_use]
    pub const fn more(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// The share of what could be kept, as 1 : 2 to the power of this.
    pub const fn halvings(self) -> u8 {
        self.0
    }
}

/// What a series did, for a month: the lowest, the last and the highest value of each bucket at five
/// resolutions.
///
/// A value that stays takes no more room the longer it does: none for a process that never changed, some
/// hundreds of bytes for one that is idle, 70 KB at most for one that changed every second of a month.
#[derive(Clone, Debug, Default)]
pub struct TimeSeries {
    /// The newest value, while it stays what it is.
    held: Option<Held>,
    /// The second of the first value.
    first: u32,
    /// A value was unknown since.
    gap: bool,
    /// How much of what was is there.
    detail: Retention,
    /// What it weighs beside itself, in bytes.
    heap: u32,
    /// What was before, once there is something.
    rings: Option<Box<Rings>>,
}

impl TimeSeries {
    /// How many resolutions there are.
    pub const RESOLUTIONS: usize = LEVELS.len();

    /// How long a bucket of that resolution is, and how far back they reach; the finest is 0.
    ///
    /// # Panics
    /// Where there is no such resolution.
    pub const fn resolution(level: usize) -> (Duration, Duration) {
        let Level { step, keep } = LEVELS[level];
        (
            Duration::from_secs(step as u64),
            Duration::from_secs(step as u64 * keep as u64),
        )
    }

    /// Takes in the value at `now`, in bytes, kept to 4 KiB or a four-thousandth: what moves by less is taken to have
    /// stayed, as PSS trembles with all who share in it; and so is the time between two that are equal. `None`
    /// leaves a gap. A time before the last one counts as the last one. Whether something
    /// changed.
    pub fn push(&mut self, now: Duration, bytes: Option<u64>, detail: Retention) -> bool {
        let Some(bytes) = bytes else {
            self.gap = true;
            return false;
        };
        let kib = u32::try_from(bytes / 1024).unwrap_or(u32::MAX);
        let now = u32::try_from(now.as_secs()).unwrap_or(u32::MAX - 1).min(u32::MAX - 1);
        match &mut self.held {
            Some(held) if held.kib.abs_diff(kib) <= slack(held.kib) && !self.gap => {
                held.to = held.to.max(now);
                false
            }
            Some(held) => {
                let before = *held;
                let from = now.max(before.to);
                *held = Held { kib, from, to: from };
                self.gap = false;
                self.enter(before, detail);
                true
            }
            None => {
                self.gap = false;
                self.first = now;
                self.held = Some(Held {
                    kib,
                    from: now,
                    to: now,
                });
                true
            }
        }
    }

    fn enter(&mut self, held: Held, detail: Retention) {
        self.detail = detail;
        let rings = self.rings.get_or_insert_default();
        let mut heap = size_of::<Rings>();
        for (ring, level) in rings.iter_mut().zip(LEVELS) {
            let keep = level.keep(detail);
            for run in enter(ring.pop_back(), held, level.step).into_iter().flatten() {
                // The last half of what is kept is taken at once, not doubled.
                if ring.len() == ring.capacity() && ring.len() * 2 > keep as usize {
                    ring.reserve_exact((keep as usize + 1).saturating_sub(ring.len()).max(1));
                }
                ring.push_back(run);
            }
            trim(ring, keep);
            if ring.capacity() > 2 * keep as usize {
                ring.shrink_to(keep as usize + 1);
            }
            heap += ring.capacity() * size_of::<Run>();
        }
        self.heap = heap as u32;
    }

    /// Keeps no more than that of what was.
    pub fn thin(&mut self, detail: Retention) {
        self.detail = detail;
        let Some(rings) = &mut self.rings else { return };
        let mut heap = size_of::<Rings>();
        for (ring, level) in rings.iter_mut().zip(LEVELS) {
            let keep = level.keep(detail);
            trim(ring, keep);
            ring.shrink_to_fit();
            heap += ring.capacity() * size_of::<Run>();
        }
        self.heap = heap as u32;
    }

    /// Forgets all but the newest value.
    pub fn forget(&mut self) {
        self.rings = None;
        self.heap = 0;
        if let Some(held) = &mut self.held {
            held.from = held.to;
            self.first = held.to;
        }
    }

    /// The newest value in bytes, and the second in which it was last seen.
    pub fn newest(&self) -> Option<(Duration, u64)> {
        self.held
            .map(|held| (Duration::from_secs(held.to.into()), u64::from(held.kib) * 1024))
    }

    /// When the first value was taken that anything is still known of.
    pub fn begin(&self) -> Option<Duration> {
        let first = Duration::from_secs(self.first.into());
        self.held.map(|_| first.max(self.covers(Self::RESOLUTIONS - 1)))
    }

    /// Since when the newest value has been what it is.
    pub fn still_since(&self) -> Option<Duration> {
        self.held.map(|held| Duration::from_secs(held.from.into()))
    }

    /// The value was never another.
    pub const fn is_flat(&self) -> bool {
        self.rings.is_none()
    }

    /// From when on everything that was seen is in the buckets of that resolution.
    pub fn covers(&self, level: usize) -> Duration {
        let level = LEVELS[level.min(LEVELS.len() - 1)];
        let newest = self.held.map_or(0, |held| held.to / level.step);
        let oldest = (newest + 1).saturating_sub(level.keep(self.detail));
        Duration::from_secs(u64::from(oldest) * u64::from(level.step))
    }

    /// The runs of one resolution that end after the second `since`, oldest first.
    fn runs(&self, level: usize, since: u64) -> impl DoubleEndedIterator<Item = Run> + '_ {
        let step = LEVELS.get(level).map_or(1, |level| level.step);
        let ring = self.rings.as_ref().and_then(|rings| rings.get(level));
        let back = ring.and_then(VecDeque::back).copied();
        let tail = self.held.map_or([back, None, None], |held| enter(back, held, step));
        let end = move |run: &Run| (u64::from(run.first) + u64::from(run.len)) * u64::from(step);
        let before = ring.map(|ring| {
            let until = ring.len().saturating_sub(1);
            let from = ring.partition_point(|run| end(run) <= since).min(until);
            ring.range(from..until)
        });
        let tail = tail.into_iter().flatten().filter(move |run| end(run) > since);
        before.into_iter().flatten().copied().chain(tail)
    }

    /// The buckets of one resolution, oldest first. A run of equal ones is one point.
    pub fn points(&self, level: usize) -> impl DoubleEndedIterator<Item = Point> + '_ {
        self.points_since(level, Duration::ZERO)
    }

    /// Those that end after `since`.
    pub fn points_since(&self, level: usize, since: Duration) -> impl DoubleEndedIterator<Item = Point> + '_ {
        let level = level.min(LEVELS.len() - 1);
        let step = LEVELS[level].step;
        // What is held may have been for longer than anything is kept.
        let oldest = (self.covers(level).as_secs() / u64::from(step)) as u32;
        let runs = self.runs(level, since.as_secs());
        runs.filter(move |run| run.newest() >= oldest).map(move |mut run| {
            let cut = oldest.saturating_sub(run.first);
            run.first += cut;
            run.len -= cut;
            run.point(step)
        })
    }

    /// What a judge wants to see, oldest first, into `points`, which is cleared: each age at the coarsest
    /// resolution that still has some 30 buckets to it.
    pub fn collect_points(&self, points: &mut Vec<Point>) {
        points.clear();
        let Some(held) = self.held else { return };
        let now = u64::from(held.to);
        // The time before which the next resolution is fine enough; finer ones stop there.
        let mut until = 0;
        for (i, level) in LEVELS.iter().enumerate().rev() {
            let step = u64::from(level.step);
            let seam = i.checked_sub(1).map_or(u64::MAX, |finer| {
                let finer = LEVELS[finer];
                // One bucket less, as this one's do not end where that one's do.
                let kept = (u64::from(finer.keep(self.detail)) * u64::from(finer.step)).saturating_sub(step);
                now.saturating_sub(kept.min(u64::from(FINE) * step))
            });
            for run in self.runs(i, until) {
                let begin = u64::from(run.first) * step;
                let end = (u64::from(run.first) + u64::from(run.len)) * step;
                if begin >= seam {
                    break;
                }
                let mut point = run.point(level.step);
                point.from = point.from.max(Duration::from_secs(until));
                if run.len > 1 && end > seam {
                    point.to = Duration::from_secs(seam).saturating_sub(Duration::from_millis(1));
                }
                points.push(point);
            }
            // A bucket that straddles the seam belongs to the coarser side.
            until = points.last().map_or(until, |p| until.max(p.to.as_secs() + 1));
        }
    }

    /// The bytes it takes, allocated ones included.
    pub const fn bytes(&self) -> usize {
        size_of::<Self>() + self.heap as usize
    }
}
