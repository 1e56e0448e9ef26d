//! Run-length encoding of the buckets of a time series.

use std::time::Duration;

use crate::trend::Point;

/// A bucket, or a run of buckets over which the value was the same. Values are in KiB, as the kernel gives them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// The number of its first bucket, from the clock's zero.
    pub(super) first: u32,
    /// The number of buckets; only a run of one value is longer than 1.
    pub(super) len: u32,
    pub(super) min: u32,
    pub(super) last: u32,
    pub(super) max: u32,
}

impl Run {
    /// Returns the number of its last bucket.
    pub(super) const fn newest(&self) -> u32 {
        self.first + self.len - 1
    }

    /// Returns the second at which it ends, for buckets of `step` seconds.
    pub(super) fn end(&self, step: u32) -> u64 {
        (u64::from(self.first) + u64::from(self.len)) * u64::from(step)
    }

    /// Returns a run of one value in the buckets `first` to `newest`.
    const fn constant(first: u32, newest: u32, kib: u32) -> Self {
        Self {
            first,
            len: newest - first + 1,
            min: kib,
            last: kib,
            max: kib,
        }
    }

    /// Converts it to a point, for buckets of `step` seconds.
    pub(super) fn point(&self, step: u32) -> Point {
        let bytes = |kib: u32| u64::from(kib) * 1024;
        Point {
            from: Duration::from_secs(u64::from(self.first) * u64::from(step)),
            // A millisecond less: the end belongs to the next bucket.
            to: Duration::from_secs(u64::from(self.first + self.len) * u64::from(step))
                .saturating_sub(Duration::from_millis(1)),
            min: bytes(self.min),
            last: bytes(self.last),
            max: bytes(self.max),
        }
    }
}

/// The newest value and for how long it has stayed, in seconds of the clock. It is in no bucket yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct CurrentValue {
    pub(super) kib: u32,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Appends a value to the newest run, if any; returns the up to three runs that take its place.
pub(super) fn append(newest: Option<Run>, value: CurrentValue, step: u32) -> [Option<Run>; 3] {
    let kib = value.kib;
    let (from, to) = (value.from / step, value.to / step);
    let Some(mut run) = newest else {
        return [Some(Run::constant(from, to, kib)), None, None];
    };
    // A time before the newest bucket counts as in it.
    let (newest, to) = (run.newest(), to.max(run.newest()));
    if run.min == kib && run.max == kib && from <= newest + 1 {
        run.len = to - run.first + 1;
        return [Some(run), None, None];
    }
    if from > newest {
        return [Some(run), Some(Run::constant(from, to, kib)), None];
    }
    // The newest bucket was like the run before it, and no longer is: split it off.
    let before = (run.len > 1).then(|| Run {
        len: run.len - 1,
        ..run
    });
    let bucket = Run {
        first: newest,
        len: 1,
        min: run.min.min(kib),
        last: kib,
        max: run.max.max(kib),
    };
    let after = (to > newest).then(|| Run::constant(newest + 1, to, kib));
    [before, Some(bucket), after]
}
