//! Changes over a sliding window, and rates of counters.

use std::time::Duration;

/// Returns a counter's rate per second; `None` where it ran backwards or no time passed.
pub fn rate(before: u64, now: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0 && now >= before).then(|| (now - before) as f64 / seconds)
}

/// The values of a sliding window, in slots of a tenth of it: ten values instead of one for each snapshot.
#[derive(Clone, Debug)]
pub struct ChangeWindow {
    /// The length of a slot, in nanoseconds.
    slot: u64,
    /// A ring; [`UNKNOWN`] where nothing is known.
    slots: [u64; Self::SLOTS],
    /// The number of the newest slot, counted from the clock's zero; [`UNKNOWN`] where there is none.
    newest: u64,
    /// The last value, or [`UNKNOWN`].
    last: u64,
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
            slot: slot_of(length),
            slots: [UNKNOWN; Self::SLOTS],
            newest: UNKNOWN,
            last: UNKNOWN,
            is_fresh: false,
        }
    }

    /// Returns true if a window of that length at `now` has the slot of the moment `then` in it.
    pub fn reaches(length: Duration, then: Duration, now: Duration) -> bool {
        let slot = slot_of(length);
        number(now, slot).saturating_sub(number(then, slot)) < Self::SLOTS as u64
    }

    /// Takes in the value at `now`.
    pub fn push(&mut self, now: Duration, value: Option<u64>) {
        let at = number(now, self.slot);
        let before = if self.newest == UNKNOWN { at } else { self.newest };
        let newest = at.max(before);
        for step in 1..=(newest - before).min(Self::SLOTS as u64) {
            self.slots[index(before + step)] = UNKNOWN;
        }
        self.newest = newest;
        let value = value.map_or(UNKNOWN, |value| value.min(UNKNOWN - 1));
        let slot = &mut self.slots[index(newest)];
        // The first value of a slot stays, so that a change reaches back to the slot's start.
        self.is_fresh = *slot == UNKNOWN;
        if self.is_fresh {
            *slot = value;
        }
        self.last = value;
    }

    /// Returns the newest value less the oldest one known in the window; `None` where there is no older one.
    pub fn change(&self) -> Option<i64> {
        if self.last == UNKNOWN {
            return None;
        }
        let older = Self::SLOTS - usize::from(self.is_fresh);
        let slots = (1..=older).map(|step| self.slots[index(self.newest + step as u64)]);
        let old = slots.into_iter().find(|slot| *slot != UNKNOWN)?;
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        Some(signed(self.last) - signed(old))
    }

    /// Returns true if every value that it knows is the same: then it need not be kept.
    pub fn is_flat(&self) -> bool {
        let mut known = self.slots.iter().chain([&self.last]).filter(|value| **value != UNKNOWN);
        let first = known.next();
        known.all(|value| Some(value) == first)
    }
}

/// Returns the length of a slot of a window, in nanoseconds.
fn slot_of(length: Duration) -> u64 {
    u64::try_from(length.as_nanos() / 10).unwrap_or(u64::MAX).max(1_000_000)
}

/// Returns the number of the slot that a moment is in.
fn number(at: Duration, slot: u64) -> u64 {
    (at.as_nanos() / u128::from(slot)).min(u128::from(u64::MAX / 2)) as u64
}

/// Returns the place of the slot of that number in the ring.
const fn index(number: u64) -> usize {
    (number % ChangeWindow::SLOTS as u64) as usize
}
