//! The window a change is taken over.

use std::time::Duration;

/// A counter's rate a second; `None` where it ran backwards or no time passed.
pub fn rate(before: u64, now: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0 && now >= before).then(|| (now - before) as f64 / seconds)
}

/// The values of the last while, in slots of a tenth of it, to take a change over.
#[derive(Clone, Debug)]
pub struct ChangeWindow {
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

impl ChangeWindow {
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
