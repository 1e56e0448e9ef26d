//! Fixed-size stores of recent values: the window a change is taken over, and the buckets of a sparkline.

use std::time::Duration;

/// A counter's rate a second; `None` where it ran backwards or no time passed.
pub fn rate(before: u64, now: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0 && now >= before).then(|| (now - before) as f64 / seconds)
}

/// The values of the last while, in slots of a tenth of it, to take a change over.
#[derive(Clone, Debug)]
pub struct Window {
    slot: Duration,
    /// [`NONE`] where nothing is known.
    slots: [u64; Self::SLOTS],
    /// The number of the newest slot, counted from the clock's zero.
    newest: Option<u64>,
    last: Option<u64>,
    /// The newest slot holds nothing but the last value.
    fresh: bool,
}

/// An unknown value in a slot.
const NONE: u64 = u64::MAX;

impl Window {
    /// The newest slot and the ten before it: a change over ten seconds takes in the value of ten seconds ago.
    const SLOTS: usize = 11;

    /// An empty window of that length (at least 10 ms).
    pub fn new(length: Duration) -> Self {
        Self {
            slot: (length / 10).max(Duration::from_millis(1)),
            slots: [NONE; Self::SLOTS],
            newest: None,
            last: None,
            fresh: false,
        }
    }

    /// Takes in the value at `now`.
    pub fn push(&mut self, now: Duration, value: Option<u64>) {
        let at = (now.as_nanos() / self.slot.as_nanos()).min(u128::from(u64::MAX / 2)) as u64;
        let before = self.newest.unwrap_or(at);
        let newest = at.max(before);
        for step in 1..=(newest - before).min(Self::SLOTS as u64) {
            self.slots[index(before + step, Self::SLOTS)] = NONE;
        }
        self.newest = Some(newest);
        let cell = &mut self.slots[index(newest, Self::SLOTS)];
        // The first value of a slot stays: a change reaches back to the slot's beginning.
        self.fresh = *cell == NONE;
        if self.fresh {
            *cell = value.map_or(NONE, |value| value.min(NONE - 1));
        }
        self.last = value;
    }

    /// The newest value less the oldest one known in the window; `None` where there is no older one.
    pub fn change(&self) -> Option<i64> {
        let now = self.last?;
        let newest = self.newest?;
        let older = Self::SLOTS - usize::from(self.fresh);
        let slots = (1..=older).map(|step| self.slots[index(newest + step as u64, Self::SLOTS)]);
        let old = slots.into_iter().find(|slot| *slot != NONE)?;
        let bytes = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Some(bytes(now) - bytes(old))
    }
}

/// Where the slot of that number lies in a ring.
const fn index(number: u64, len: usize) -> usize {
    (number % len as u64) as usize
}

/// Sixty buckets of five seconds: what a sparkline of five minutes is drawn from, and a slope taken over.
#[derive(Clone, Debug)]
pub struct Spark {
    ring: Box<Ring>,
    /// The number of the newest bucket, counted from the clock's zero.
    newest: Option<u64>,
    /// How many buckets the last two values went ahead.
    strides: [u64; 2],
}

/// Values in KiB, exact to 16 GiB, NaN for unknown; and when in its bucket each was seen.
#[derive(Clone, Debug)]
struct Ring {
    kib: [f32; Spark::BUCKETS],
    seen: [u8; Spark::BUCKETS],
}

/// Parts of a second in which [`Ring::seen`] counts: 5 s of them fit in a byte.
const PARTS: f64 = 50.0;

impl Default for Spark {
    fn default() -> Self {
        Self {
            ring: Box::new(Ring {
                kib: [f32::NAN; Self::BUCKETS],
                seen: [0; Self::BUCKETS],
            }),
            newest: None,
            strides: [0; 2],
        }
    }
}

impl Spark {
    /// How many buckets there are.
    pub const BUCKETS: usize = 60;
    /// How long each is, in seconds.
    pub const SECONDS: u64 = 5;

    /// Takes in the value at `now`; the last known one of a bucket stays.
    pub fn push(&mut self, now: Duration, value: Option<u64>) {
        let before = self.newest.unwrap_or(now.as_secs() / Self::SECONDS);
        let newest = before.max(now.as_secs() / Self::SECONDS);
        for step in 1..=(newest - before).min(Self::BUCKETS as u64) {
            self.ring.kib[index(before + step, Self::BUCKETS)] = f32::NAN;
        }
        self.newest = Some(newest);
        self.strides = [self.strides[1], newest - before];
        if let Some(value) = value {
            let at = index(newest, Self::BUCKETS);
            let into = now.as_secs_f64() - (newest * Self::SECONDS) as f64;
            self.ring.kib[at] = (value as f64 / 1024.0) as f32;
            self.ring.seen[at] = (into * PARTS).clamp(0.0, 255.0) as u8;
        }
    }

    /// The values from oldest to newest, in bytes; `None` where nothing was known.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = Option<u64>> + '_ {
        self.points().map(|p| p.map(|(_, bytes)| bytes as u64))
    }

    /// Seconds after the newest bucket's beginning, and bytes, from oldest to newest.
    fn points(&self) -> impl DoubleEndedIterator<Item = Option<(f64, f64)>> + '_ {
        (1..=Self::BUCKETS).map(|step| {
            let at = index(self.newest? + step as u64, Self::BUCKETS);
            let kib = f64::from(self.ring.kib[at]);
            let begin = (step as f64 - Self::BUCKETS as f64) * Self::SECONDS as f64;
            (!kib.is_nan()).then(|| (begin + f64::from(self.ring.seen[at]) / PARTS, kib * 1024.0))
        })
    }

    /// `width` values from oldest to newest, each the last known of its share of the buckets; the newest
    /// is always the last. Where values come less often than there are buckets, each holds until the next;
    /// a gap in the usual rhythm stays a gap.
    pub fn resampled(&self, width: usize) -> Vec<Option<u64>> {
        let rhythm = self.strides[0].min(self.strides[1]);
        let mut held = None;
        let mut age = 0;
        let values: Vec<_> = self
            .values()
            .map(|value| {
                age = if value.is_some() { 0 } else { age + 1 };
                held = value.or(held);
                held.filter(|_| age == 0 || age < rhythm)
            })
            .collect();
        (0..width)
            .map(|i| {
                let from = i * values.len() / width;
                let to = ((i + 1) * values.len() / width).max(from + 1).min(values.len());
                values[from..to].iter().rev().find_map(|v| *v)
            })
            .collect()
    }

    /// The slope in bytes a second: least squares over the known buckets, each at the time it was seen.
    /// `None` where those span less than a bucket's length.
    pub fn slope(&self) -> Option<f64> {
        let (mut n, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let mut span = (f64::MAX, f64::MIN);
        let (_, base) = self.points().flatten().next()?;
        for (x, y) in self.points().flatten() {
            // So that a steady value gives nothing, not a rounding error that rows would be sorted by.
            let y = y - base;
            span = (span.0.min(x), span.1.max(x));
            n += 1.0;
            sx += x;
            sy += y;
            sxx += x * x;
            sxy += x * y;
        }
        let spread = f64::mul_add(n, sxx, -(sx * sx));
        let long = span.1 - span.0 >= Self::SECONDS as f64;
        (long && spread > 0.0).then(|| f64::mul_add(n, sxy, -(sx * sy)) / spread)
    }
}
