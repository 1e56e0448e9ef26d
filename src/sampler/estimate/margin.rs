//! The error of a process's estimates that its counters do not explain, learnt from its walks.

use super::{AROUND, Estimate, PAGE, Unexplained};

/// The error that walks have shown of a process's estimates, beyond what its counters explain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margin {
    /// The part of what the ratios of a walk may err that they do err.
    of_ratios: Part,
    /// The part of what others may have changed little by little that the estimate of it errs.
    of_drift: Part,
    /// Bytes for each fault without a new page, and the most such faults before a walk which showed how much they did.
    per_fault: f32,
    faults: u64,
    /// Bytes for each clock tick of CPU time.
    per_tick: f32,
}

/// A part of what could be wrong that was.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    part: f32,
    /// The most bytes that could be wrong at a walk which showed how much was.
    proven: u64,
}

/// The part for a process of which nothing is known: each page had the fewest or the most sharers.
const INITIAL_PART: f32 = 1.0;
/// The least part, however much alike its pages were.
const MIN_PART: f32 = 0.0625;
/// Bytes for each fault of a process of which nothing is known, and of more faults than proved harmless before: some of the
/// pages of a file that the kernel maps around it, or a copy of one.
const INITIAL_PER_FAULT: f32 = 2.0 * PAGE as f32;
/// Most bytes of a fault.
const MAX_PER_FAULT: f32 = AROUND as f32;
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
            of_ratios: Part::INITIAL,
            of_drift: Part::INITIAL,
            per_fault: INITIAL_PER_FAULT,
            faults: 0,
            per_tick: INITIAL_PER_TICK,
        }
    }
}

impl Part {
    const INITIAL: Self = Self {
        part: INITIAL_PART,
        proven: 0,
    };

    /// Returns what is wrong where so many bytes could be. Nothing is known of what is beyond twice the most that was seen.
    fn of(self, bytes: u64) -> u64 {
        let known = bytes.min(self.proven.saturating_mul(2));
        let rest = (bytes - known) as f64 * f64::from(INITIAL_PART);
        (known as f64 * f64::from(self.part) + rest) as u64
    }

    /// Learns from an error that they have made at most.
    fn learn(&mut self, could: &Unexplained, error: u64) {
        learn(&mut self.part, could, error, INITIAL_PART);
        self.part = self.part.max(MIN_PART);
        if could.bound >= PROOF {
            self.proven = self.proven.max(could.events);
        }
    }
}

impl Margin {
    /// Returns what ratios err that may err by so many bytes. A change far larger than any seen, such as a file mapped, may
    /// be of another kind: nothing is known of all of it.
    pub(super) fn of_ratios(&self, bytes: u64) -> u64 {
        let is_known = bytes <= self.of_ratios.proven.saturating_mul(2);
        let part = if is_known { self.of_ratios } else { Part::INITIAL };
        part.of(bytes)
    }

    /// Returns what the estimate errs of what others did little by little, which may have changed so many bytes.
    pub(super) fn of_drift(&self, bytes: u64) -> u64 {
        self.of_drift.of(bytes)
    }

    /// Returns what so many faults without a new page may have changed.
    pub(super) fn of_faults(&self, faults: u64) -> u64 {
        let rest = self.unproven(faults);
        let known = faults - rest;
        let rest = rest as f64 * f64::from(INITIAL_PER_FAULT.max(self.per_fault));
        (known as f64 * f64::from(self.per_fault) + rest) as u64
    }

    /// Returns by how much so many faults are more than those of which a walk showed how much they did.
    pub(super) const fn unproven(&self, faults: u64) -> u64 {
        faults.saturating_sub(self.faults.saturating_mul(2))
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
        self.of_ratios.learn(ratios, rest);
        let rest = rest.saturating_sub(self.of_ratios(ratios.events));
        let before = self.per_fault;
        learn(&mut self.per_fault, faults, rest, MAX_PER_FAULT);
        if self.per_fault > before && rest >= PROOF {
            // However few prove harmless after that, as many need not be.
            self.faults = 0;
        } else if faults.events.saturating_mul(AROUND).min(estimated.mutable) >= PROOF {
            self.faults = self.faults.max(faults.events);
        }
        let rest = rest.saturating_sub(self.of_faults(faults.events));
        learn(&mut self.per_tick, ticks, rest, MAX_PER_TICK);
    }

    /// Learns from a walk by how much the estimate of what others did little by little was off at most, which may have
    /// changed so many bytes.
    pub(super) fn learn_of_drift(&mut self, changed: u64, error: u64) {
        let could = Unexplained {
            events: changed,
            bound: self.of_drift(changed),
        };
        self.of_drift.learn(&could, error);
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
