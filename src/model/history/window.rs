//! Fixed-size stores of recent values: the window a change is taken over, and the buckets of a sparkline.

use std::time::Duration;

/// A value that is not known, in a store of KiB.
const NONE: u32 = u32::MAX;

fn to_kib(bytes: Option<u64>) -> u32 {
    bytes.map_or(NONE, |b| u32::try_from(b >> 10).unwrap_or(NONE - 1).min(NONE - 1))
}

fn from_kib(kib: u32) -> Option<u64> {
    (kib != NONE).then(|| u64::from(kib) << 10)
}

/// A counter's rate a second; `None` where it ran backwards or no time passed.
pub fn rate(before: u64, now: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0 && now >= before).then(|| (now - before) as f64 / seconds)
}

/// The values of the last few seconds, in ten slots, to take a change over.
#[derive(Clone, Debug)]
pub struct Window {
    slot: Duration,
    slots: [u32; Self::SLOTS],
    /// The number of the newest slot, counted from the clock's zero.
    newest: u64,
    last: Option<u64>,
    started: bool,
}

impl Window {
    const SLOTS: usize = 10;

    /// An empty window of that length (at least 10 ms).
    pub fn new(length: Duration) -> Self {
        let slot = (length / Self::SLOTS as u32).max(Duration::from_millis(1));
        Self {
            slot,
            slots: [NONE; Self::SLOTS],
            newest: 0,
            last: None,
            started: false,
        }
    }

    /// Takes in the value at `now`.
    pub fn push(&mut self, now: Duration, value: Option<u64>) {
        let at = (now.as_nanos() / self.slot.as_nanos()) as u64;
        if !self.started {
            self.started = true;
            self.newest = at;
        }
        let ahead = at.saturating_sub(self.newest);
        for step in 1..=ahead.min(Self::SLOTS as u64) {
            self.slots[((self.newest + step) % Self::SLOTS as u64) as usize] = NONE;
        }
        self.newest += ahead;
        let cell = &mut self.slots[(self.newest % Self::SLOTS as u64) as usize];
        // The first value of a slot stays: a change reaches back to the slot's beginning.
        if *cell == NONE {
            *cell = to_kib(value);
        }
        self.last = value;
    }

    /// The newest value less the oldest one known in the window.
    pub fn change(&self) -> Option<i64> {
        let now = self.last?;
        let old = (1..=Self::SLOTS as u64)
            .find_map(|step| from_kib(self.slots[((self.newest + step) % Self::SLOTS as u64) as usize]))?;
        Some(
            i64::try_from(now)
                .unwrap_or(i64::MAX)
                .saturating_sub(i64::try_from(old).unwrap_or(i64::MAX)),
        )
    }
}

/// Sixty buckets of five seconds: what a sparkline of five minutes is drawn from, and a slope taken over.
#[derive(Clone, Debug)]
pub struct Spark {
    buckets: Box<[u32; Self::BUCKETS]>,
    newest: u64,
    last_at: Duration,
    started: bool,
}

impl Default for Spark {
    fn default() -> Self {
        Self {
            buckets: Box::new([NONE; Self::BUCKETS]),
            newest: 0,
            last_at: Duration::ZERO,
            started: false,
        }
    }
}

impl Spark {
    /// How many buckets there are.
    pub const BUCKETS: usize = 60;
    /// How long each is, in seconds.
    pub const SECONDS: u64 = 5;

    /// Takes in the value at `now`; the last of a bucket stays.
    pub fn push(&mut self, now: Duration, value: Option<u64>) {
        let at = now.as_secs() / Self::SECONDS;
        if !self.started {
            self.started = true;
            self.newest = at;
        }
        let ahead = at.saturating_sub(self.newest);
        for step in 1..=ahead.min(Self::BUCKETS as u64) {
            self.buckets[((self.newest + step) % Self::BUCKETS as u64) as usize] = NONE;
        }
        self.newest += ahead;
        if value.is_some() || ahead > 0 {
            self.buckets[(self.newest % Self::BUCKETS as u64) as usize] = to_kib(value);
        }
        self.last_at = now;
    }

    /// The values from oldest to newest, in bytes; `None` where nothing was known.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = Option<u64>> + '_ {
        (1..=Self::BUCKETS)
            .map(|step| from_kib(self.buckets[((self.newest + step as u64) % Self::BUCKETS as u64) as usize]))
    }

    /// `width` values from oldest to newest, each the last known of its share of the buckets; the newest
    /// is always the last.
    pub fn resampled(&self, width: usize) -> Vec<Option<u64>> {
        let values: Vec<_> = self.values().collect();
        (0..width)
            .map(|i| {
                let from = i * values.len() / width.max(1);
                let to = ((i + 1) * values.len() / width.max(1)).max(from + 1).min(values.len());
                values[from..to].iter().rev().find_map(|v| *v)
            })
            .collect()
    }

    /// The slope in bytes a second: least squares over the known buckets. `None` under two of them.
    pub fn slope(&self) -> Option<f64> {
        let (mut n, mut sx, mut sy, mut sxx, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        let newest = self.last_at.as_secs_f64();
        let bucket = Self::SECONDS as f64;
        for (back, value) in self.values().rev().enumerate() {
            let Some(y) = value else { continue };
            // The newest bucket ends now; an older one where the next begins.
            let x = if back == 0 {
                0.0
            } else {
                ((self.newest + 1 - back as u64) as f64).mul_add(bucket, -newest)
            };
            let y = y as f64;
            n += 1.0;
            sx += x;
            sy += y;
            sxx += x * x;
            sxy += x * y;
        }
        let spread = f64::mul_add(n, sxx, -(sx * sx));
        (n >= 2.0 && spread > 0.0).then(|| f64::mul_add(n, sxy, -(sx * sy)) / spread)
    }
}
