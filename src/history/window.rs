//! Changes over a sliding window, and rates of counters.

use std::time::Duration;

/// Returns a counter's rate per second; `None` where it ran backwards or no time passed.
pub fn rate(before: u64, now: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0 && now >= before).then(|| (now - before) as f64 / seconds)
}

/// The values of a sliding window, in slots of a tenth of it: ten values instead of one for each snapshot.
#[derive(Clone, Debug)]
pub struct ChangeWindow {
    slot: Duration,
    /// A ring; [`UNKNOWN`] where nothing is known.
    slots: [u64; Self::SLOTS],
    /// The number of the newest slot, counted from the clock's zero.
    newest: Option<u64>,
    last: Option<u64>,
    /// The newest slot holds nothing but the last value.
    is_fresh: bool,
}

/// An unknown value in a slot.
const UNKNOWN: u64 = u64::MAX;

impl ChangeWindow {
    /// The newest slot and the ten before it: a change over ten seconds includes the value of ten seconds ago.
    const SLOTS: usize = 11;

    /// Creates an empty window of that length (at least 10 ms).
    pub fn new(length: Duration) -> Self {
        Self {
            slot: (length / 10).max(Duration::from_millis(1)),
            slots: [UNKNOWN; Self::SLOTS],
            newest: None,
            last: None,
            is_fresh: false,
        }
    }

    /// Takes in the value at `now`.
    pub fn push(&mut self, now: Duration, value: Option<u64>) {
        let at = (now.as_nanos() / self.slot.as_nanos()).min(u128::from(u64::MAX / 2)) as u64;
        let before = self.newest.unwrap_or(at);
        let newest = at.max(before);
        for step in 1..=(newest - before).min(Self::SLOTS as u64) {
            self.slots[index(before + step)] = UNKNOWN;
        }
        self.newest = Some(newest);
        let slot = &mut self.slots[index(newest)];
        // The first value of a slot stays, so that a change reaches back to the slot's start.
        self.is_fresh = *slot == UNKNOWN;
        if self.is_fresh {
            *slot = value.map_or(UNKNOWN, |value| value.min(UNKNOWN - 1));
        }
        self.last = value;
    }

    /// Returns the newest value less the oldest one known in the window; `None` where there is no older one.
    pub fn change(&self) -> Option<i64> {
        let now = self.last?;
        let newest = self.newest?;
        let older = Self::SLOTS - usize::from(self.is_fresh);
        let slots = (1..=older).map(|step| self.slots[index(newest + step as u64)]);
        let old = slots.into_iter().find(|slot| *slot != UNKNOWN)?;
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Some(signed(now) - signed(old))
    }
}

/// Returns the place of the slot of that number in the ring.
const fn index(number: u64) -> usize {
    (number % ChangeWindow::SLOTS as u64) as usize
}
