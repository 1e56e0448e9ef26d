//! The long history of one series: finer for what is near, and next to nothing where nothing changes.

use std::collections::VecDeque;
use std::time::Duration;

use crate::model::trend::Point;

/// One resolution: how long its buckets are, in seconds, and how many of them are kept.
#[derive(Clone, Copy, Debug)]
struct Level {
    step: u32,
    keep: u32,
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
const FINE: u64 = 32;

/// One bucket, or a run of buckets over which the value was the same. Values in KiB, as the kernel gives them.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The number of its first bucket, from the clock's zero.
    first: u32,
    /// How many buckets it is long; only a run of one value is longer than 1.
    len: u32,
    min: u32,
    last: u32,
    max: u32,
}

impl Run {
    const fn newest(&self) -> u32 {
        self.first + self.len - 1
    }

    const fn one(at: u32, kib: u32) -> Self {
        Self {
            first: at,
            len: 1,
            min: kib,
            last: kib,
            max: kib,
        }
    }

    fn is_flat(&self) -> bool {
        self.min == self.max
    }

    fn point(&self, step: u32) -> Point {
        let second = |bucket: u32| Duration::from_secs(u64::from(bucket) * u64::from(step));
        let bytes = |kib: u32| u64::from(kib) * 1024;
        Point {
            from: second(self.first),
            to: second(self.first + self.len).saturating_sub(Duration::from_millis(1)),
            min: bytes(self.min),
            last: bytes(self.last),
            max: bytes(self.max),
        }
    }
}

/// What a series did, for a month: the lowest, the last and the highest value of each bucket at five
/// resolutions.
///
/// A value that stays takes no more room the longer it does: some 0.2 KB for a process that is idle, 70 KB at
/// most for one that changed every second of a month.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    rings: [VecDeque<Run>; LEVELS.len()],
}

impl Levels {
    /// How many resolutions there are.
    pub const COUNT: usize = LEVELS.len();

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

    /// Takes in the value at `now`, in bytes, kept to the KiB below. `None` leaves a gap. A time before the
    /// last one counts as the last one.
    pub fn push(&mut self, now: Duration, bytes: Option<u64>) {
        let Some(bytes) = bytes else { return };
        let kib = u32::try_from(bytes / 1024).unwrap_or(u32::MAX);
        for (ring, level) in self.rings.iter_mut().zip(LEVELS) {
            // The last half of what is kept is taken at once, not doubled.
            let keep = level.keep as usize + 1;
            if ring.len() == ring.capacity() && ring.len() * 2 > keep {
                ring.reserve_exact(keep.saturating_sub(ring.len()));
            }
            let at = u32::try_from(now.as_secs() / u64::from(level.step)).unwrap_or(u32::MAX - 1);
            enter(ring, at, kib);
            let newest = ring.back().map_or(at, Run::newest);
            while ring.front().is_some_and(|run| newest - run.newest() >= level.keep) {
                ring.pop_front();
            }
        }
    }

    /// The buckets of one resolution, oldest first. A run of equal ones is one point.
    pub fn points(&self, level: usize) -> impl DoubleEndedIterator<Item = Point> + '_ {
        let step = LEVELS.get(level).map_or(1, |level| level.step);
        let runs = self.rings.get(level).into_iter().flatten();
        runs.map(move |run| run.point(step))
    }

    /// What a judge wants to see, oldest first, into `points`, which is cleared: each age at the coarsest
    /// resolution that still has some 30 buckets to it.
    pub fn to_judge(&self, points: &mut Vec<Point>) {
        points.clear();
        let Some(newest) = self.rings[0].back() else { return };
        let now = u64::from(newest.newest()) * u64::from(LEVELS[0].step);
        // The time before which the next resolution is fine enough; finer ones stop there.
        let mut until = 0;
        for (i, (ring, level)) in self.rings.iter().zip(LEVELS).enumerate().rev() {
            let step = u64::from(level.step);
            let seam = i.checked_sub(1).map_or(u64::MAX, |finer| {
                let finer = LEVELS[finer];
                // One bucket less, as this one's do not end where that one's do.
                let kept = u64::from(finer.keep) * u64::from(finer.step) - step;
                now.saturating_sub(kept.min(FINE * step))
            });
            for run in ring {
                let begin = u64::from(run.first) * step;
                let end = u64::from(run.first + run.len) * step;
                if end <= until || begin >= seam {
                    continue;
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
    pub fn bytes(&self) -> usize {
        let runs: usize = self.rings.iter().map(VecDeque::capacity).sum();
        size_of::<Self>() + runs * size_of::<Run>()
    }

    /// Forgets the detail of what is older than `span` ago, so that it takes less room; the coarsest
    /// resolution stays.
    pub fn thin(&mut self, span: Duration) {
        for (ring, level) in self.rings.iter_mut().zip(LEVELS).take(LEVELS.len() - 1) {
            let keep = span.as_secs() / u64::from(level.step);
            let Some(newest) = ring.back().map(Run::newest) else {
                continue;
            };
            while ring.front().is_some_and(|run| u64::from(newest - run.newest()) > keep) {
                ring.pop_front();
            }
            ring.shrink_to_fit();
        }
    }
}

/// Enters a value in the bucket of that number.
fn enter(ring: &mut VecDeque<Run>, at: u32, kib: u32) {
    let Some(run) = ring.back_mut() else {
        ring.push_back(Run::one(at, kib));
        return;
    };
    let newest = run.newest();
    if at > newest {
        if at == newest + 1 && run.is_flat() && run.last == kib {
            run.len += 1;
        } else {
            ring.push_back(Run::one(at, kib));
        }
        return;
    }
    if run.len > 1 && run.last != kib {
        // The newest bucket was as the run before it, and is no longer.
        run.len -= 1;
        let before = run.last;
        ring.push_back(Run::one(newest, before));
    }
    if let Some(run) = ring.back_mut() {
        run.min = run.min.min(kib);
        run.max = run.max.max(kib);
        run.last = kib;
    }
}
