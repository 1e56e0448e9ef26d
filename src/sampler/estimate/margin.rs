//! The error of a process's estimates that its counters do not explain, learnt from its walks.

use super::{Estimate, PAGE, Unexplained};

/// The error that walks have shown of a process's estimates, beyond what its counters explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// The part of what the ratios of a walk may err that they do err.
    of_ratios: f32,
    /// The most bytes that the ratios could err at a walk which showed how much they did.
    proven: u64,
    /// Bytes for each fault without a new page.
    per_fault: f32,
    /// Bytes for each clock tick of CPU time.
    per_tick: f32,
}

/// The part for a process of which nothing is known: each page had the fewest or the most sharers.
const INITIAL_OF_RATIOS: f32 = 1.0;
/// The least part, however much alike its pages were.
const MIN_OF_RATIOS: f32 = 0.125;
/// Bytes for each fault of a process of which nothing is known: each copies a whole page.
const INITIAL_PER_FAULT: f32 = PAGE as f32;
/// Most bytes of a fault: the kernel maps up to 64 KiB of a file around it.
const MAX_PER_FAULT: f32 = 16.0 * PAGE as f32;
/// Bytes for each tick of such a process: with 1 MiB of shared pages it is walked after a twentieth of a second of CPU
/// time, after a fifth when that walk shows nothing, and so on.
const INITIAL_PER_TICK: f32 = 200.0 * 1024.0;
/// Most bytes of a tick: 10 ms of unmapping and mapping without a fault.
const MAX_PER_TICK: f32 = 64.0 * 1024.0 * 1024.0;
/// Factor on the error that a walk shows, as the next may be larger.
const FACTOR: f32 = 2.0;
/// Part of a margin that stays when a walk shows less.
const DECAY: f32 = 0.25;
/// The bound from which a walk that shows no error proves something.
const PROOF: u64 = 64 << 10;

impl Default for Margin {
    fn default() -> Self {
        Self {
            of_ratios: INITIAL_OF_RATIOS,
            proven: 0,
            per_fault: INITIAL_PER_FAULT,
            per_tick: INITIAL_PER_TICK,
        }
    }
}

impl Margin {
    /// Returns what ratios err that may err by so many bytes. A change far larger than any seen, such as a file mapped, may
    /// be of another kind: nothing is known of what is beyond.
    pub(super) fn of_ratios(&self, bytes: u64) -> u64 {
        let known = bytes.min(self.proven.saturating_mul(2));
        let rest = (bytes - known) as f64 * f64::from(INITIAL_OF_RATIOS);
        (known as f64 * f64::from(self.of_ratios) + rest) as u64
    }

    /// Returns what so many faults without a new page may have changed.
    pub(super) fn of_faults(&self, faults: u64) -> u64 {
        (faults as f64 * f64::from(self.per_fault)) as u64
    }

    /// Returns what so many ticks of CPU time may have changed.
    pub(super) fn of_ticks(&self, ticks: u64) -> u64 {
        (ticks as f64 * f64::from(self.per_tick)) as u64
    }

    /// Learns from a walk: what was `estimated` for its moment, and the error of that as far as others have not made it.
    pub fn learn(&mut self, estimated: &Estimate, error: u64) {
        let Estimate {
            ratios, faults, ticks, ..
        } = estimated;
        let unexplained = ratios.bound.saturating_add(faults.bound).saturating_add(ticks.bound);
        let rest = error.saturating_sub(estimated.bound.saturating_sub(unexplained));
        learn(&mut self.of_ratios, ratios, rest, INITIAL_OF_RATIOS);
        self.of_ratios = self.of_ratios.max(MIN_OF_RATIOS);
        if ratios.bound >= PROOF {
            self.proven = self.proven.max(ratios.events);
        }
        let rest = rest.saturating_sub(self.of_ratios(ratios.events));
        learn(&mut self.per_fault, faults, rest, MAX_PER_FAULT);
        let rest = rest.saturating_sub(self.of_faults(faults.events));
        learn(&mut self.per_tick, ticks, rest, MAX_PER_TICK);
    }
}

/// Learns from the error that so many events have made at most. Where they had little to show, nothing is proved.
fn learn(margin: &mut f32, events: &Unexplained, error: u64, max: f32) {
    if events.events > 0 {
        let shown = error as f32 / events.events as f32 * FACTOR;
        let decay = if events.bound >= PROOF { DECAY } else { 1.0 };
        *margin = shown.max(*margin * decay).min(max);
    }
}
