//! Buckets that were alike, as one.

use std::time::Duration;

use crate::trend::Point;

/// One bucket, or a run of buckets over which the value was the same. Values in KiB, as the kernel gives them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The number of its first bucket, from the clock's zero.
    pub(super) first: u32,
    /// How many buckets it is long; only a run of one value is longer than 1.
    pub(super) len: u32,
    pub(super) min: u32,
    pub(super) last: u32,
    pub(super) max: u32,
}

impl Run {
    /// The number of its last bucket.
    pub(super) const fn newest(&self) -> u32 {
        self.first + self.len - 1
    }

    /// One value, in the buckets `first` to `newest`.
    pub(super) const fn flat(first: u32, newest: u32, kib: u32) -> Self {
        Self {
            first,
            len: newest - first + 1,
            min: kib,
            last: kib,
            max: kib,
        }
    }

    const fn is_flat(&self, kib: u32) -> bool {
        self.min == kib && self.max == kib
    }

    pub(super) fn point(&self, step: u32) -> Point {
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

/// A value that has stayed for so long, in seconds of the clock; not in any bucket yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) kib: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// What becomes of the newest run once the value held is entered after it: up to three runs, which take its
/// place.
pub(super) fn enter(back: Option<Run>, held: Held, step: u32) -> [Option<Run>; 3] {
    let kib = held.kib;
    let (from, to) = (held.from / step, held.to / step);
    let Some(mut back) = back else {
        return [Some(Run::flat(from, to, kib)), None, None];
    };
    // A time before the newest bucket counts as in it.
    let (newest, to) = (back.newest(), to.max(back.newest()));
    if back.is_flat(kib) && from <= newest + 1 {
        back.len = to - back.first + 1;
        return [Some(back), None, None];
    }
    if from > newest {
        return [Some(back), Some(Run::flat(from, to, kib)), None];
    }
    // The newest bucket was as the run before it, and is no longer.
    let before = (back.len > 1).then(|| Run {
        len: back.len - 1,
        ..back
    });
    let bucket = Run {
        first: newest,
        len: 1,
        min: back.min.min(kib),
        last: kib,
        max: back.max.max(kib),
    };
    let after = (to > newest).then(|| Run::flat(newest + 1, to, kib));
    [before, Some(bucket), after]
}
