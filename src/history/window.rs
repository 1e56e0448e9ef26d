//! Changes over a sliding window, and rates of counters.

use std::time::Duration;

/// Returns the rate of a counter per second; `None` if it decreased or no time passed.
pub fn rate(before: u64, now: u64, seconds: f64) -> Option<f64> {
    (seconds > 0.0 && now >= before).then(|| (now - before) as f64 / seconds)
}

/// The change of a value over a window. If values are rarer than the window, it is scaled to its length: 6 MiB in a
/// minute are 1 MiB in ten seconds.
///
/// Values are stored in slots of a tenth of the window, to need less memory than one value per snapshot.
#[derive(Clone, Debug)]
pub struct ChangeWindow {
    /// In nanoseconds.
    slot: u64,
    /// Maximum time between two values that are compared, in milliseconds.
    reach: u32,
    /// The first value of each slot, or [`UNKNOWN`], and its time: a ring.
    slots: [u64; Self::SLOTS],
    times: [u32; Self::SLOTS],
    /// The number of the newest slot since the clock's zero; [`UNKNOWN`] if there is none.
    newest: u64,
    /// The last value, or [`UNKNOWN`], and its time.
    last: u64,
    last_at: u32,
    /// The newest value that is no longer in the slots, or [`UNKNOWN`], and its time.
    before: u64,
    before_at: u32,
    /// The newest slot contains only the last value.
    is_fresh: bool,
}

const UNKNOWN: u64 = u64::MAX;

impl ChangeWindow {
    /// The newest slot and the ten before it, so that a change over ten seconds includes the value of ten seconds ago.
    const SLOTS: usize = 11;

    /// Creates an empty window of at least 10 ms. Values further apart than `reach` are not compared.
    pub fn new(length: Duration, reach: Duration) -> Self {
        Self {
            slot: u64::try_from(length.as_nanos() / 10).unwrap_or(u64::MAX).max(1_000_000),
            reach: long_millis(reach),
            slots: [UNKNOWN; Self::SLOTS],
            times: [0; Self::SLOTS],
            newest: UNKNOWN,
            last: UNKNOWN,
            last_at: 0,
            before: UNKNOWN,
            before_at: 0,
            is_fresh: false,
        }
    }

    pub fn set_reach(&mut self, reach: Duration) {
        self.reach = long_millis(reach);
    }

    pub fn push(&mut self, now: Duration, value: Option<u64>) {
        let at = number(now, self.slot);
        let before = if self.newest == UNKNOWN { at } else { self.newest };
        let newest = at.max(before);
        for step in 1..=(newest - before).min(Self::SLOTS as u64) {
            let place = index(before + step);
            self.leave(self.slots[place], self.times[place]);
            self.slots[place] = UNKNOWN;
        }
        if newest - before >= Self::SLOTS as u64 {
            // The last value is later than the first of its slot.
            self.leave(self.last, self.last_at);
        }
        self.newest = newest;
        let value = value.map_or(UNKNOWN, |value| value.min(UNKNOWN - 1));
        let place = index(newest);
        // Keep the first value of a slot, so that a change reaches back to the start of the slot.
        self.is_fresh = self.slots[place] == UNKNOWN;
        if self.is_fresh {
            (self.slots[place], self.times[place]) = (value, millis(now));
        }
        (self.last, self.last_at) = (value, millis(now));
    }

    const fn leave(&mut self, value: u64, at: u32) {
        if value != UNKNOWN {
            (self.before, self.before_at) = (value, at);
        }
    }

    /// Returns the newest value less the oldest in the window; `None` if there is no older one. If the slots do not
    /// span the window, the value before them is used, and the change is scaled to the length of the window.
    pub fn change(&self) -> Option<i64> {
        if self.last == UNKNOWN {
            return None;
        }
        let oldest = self.oldest();
        if let Some((before, age)) = self
            .before()
            .filter(|_| !oldest.is_some_and(|(_, age)| self.spans(age)))
        {
            let window = i128::from(self.slot) * 10 / 1_000_000;
            let change = (i128::from(self.last) - i128::from(before)) * window / i128::from(age.max(1));
            return Some(i64::try_from(change).unwrap_or(if change < 0 { i64::MIN } else { i64::MAX }));
        }
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        oldest.map(|(old, _)| signed(self.last) - signed(old))
    }

    /// Returns the oldest value in the slots, except the last value, and its age in milliseconds.
    fn oldest(&self) -> Option<(u64, u32)> {
        let older = Self::SLOTS - usize::from(self.is_fresh);
        let places = (1..=older).map(|step| index(self.newest + step as u64));
        let place = places.into_iter().find(|place| self.slots[*place] != UNKNOWN)?;
        Some((self.slots[place], self.last_at.wrapping_sub(self.times[place])))
    }

    /// Returns the value before the slots, if it is within reach, and its age in milliseconds.
    fn before(&self) -> Option<(u64, u32)> {
        let age = self.last_at.wrapping_sub(self.before_at);
        (self.before != UNKNOWN && age <= self.reach).then_some((self.before, age))
    }

    /// Returns true if an age in milliseconds is at least the window, less a slot.
    fn spans(&self, age: u32) -> bool {
        u64::from(age) * 1_000_000 >= self.slot * 9
    }

    /// Returns true if all values that a change depends on are equal: the window is then not needed.
    pub fn is_flat(&self) -> bool {
        let before = self.before().map_or(UNKNOWN, |(value, _)| value);
        let values = self.slots.iter().chain([&self.last, &before]);
        let mut known = values.filter(|value| **value != UNKNOWN);
        let first = known.next();
        known.all(|value| Some(value) == first)
    }
}

/// Wraps around after 49 days, which is fine for differences of minutes.
fn millis(at: Duration) -> u32 {
    at.as_millis() as u32
}

fn long_millis(length: Duration) -> u32 {
    u32::try_from(length.as_millis()).unwrap_or(u32::MAX)
}

fn number(at: Duration, slot: u64) -> u64 {
    (at.as_nanos() / u128::from(slot)).min(u128::from(u64::MAX / 2)) as u64
}

const fn index(number: u64) -> usize {
    (number % ChangeWindow::SLOTS as u64) as usize
}
