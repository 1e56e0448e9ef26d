//! The history of what one process or group holds through its descriptors.

use std::time::Duration;

use crate::history::evaluation::{EvaluationScheduler, RowNumber};
use crate::history::figures::{Clock, MemorySample, Rates, Tick};
use crate::history::members::MemberCounts;
use crate::history::row::RowHistory;
use crate::model::held::{HeldFigures, HeldKind};

/// The history of what a process or a group holds.
#[derive(Debug, Default)]
pub struct HeldHistory {
    /// The figures last known.
    pub(super) figures: HeldFigures,
    /// The figures of when it did not grow yet.
    before: HeldFigures,
    /// It is known in this snapshot.
    pub(super) is_known: bool,
    /// Nothing but time changes at it while it is the same.
    is_resting: bool,
    row: RowHistory,
}

impl HeldHistory {
    /// Begins with these figures.
    pub(super) fn new(figures: HeldFigures) -> Self {
        Self {
            figures,
            before: figures,
            is_known: true,
            ..Self::default()
        }
    }

    /// Goes on from a past that was kept.
    pub(super) fn resumed(row: RowHistory) -> Self {
        Self { row, ..Self::default() }
    }

    /// Returns its history.
    pub const fn row(&self) -> &RowHistory {
        &self.row
    }

    /// Returns the kind that grew most, since it began to grow; where none did, that of which most is held.
    pub fn kind(&self) -> HeldKind {
        let grown = |kind: HeldKind| self.figures.of(kind).saturating_sub(self.before.of(kind));
        let most = |of: &dyn Fn(HeldKind) -> u64| HeldKind::ALL.into_iter().rev().max_by_key(|kind| of(*kind));
        let grew = most(&grown).filter(|kind| grown(*kind) > 0);
        grew.or_else(|| most(&|kind| self.figures.of(kind)))
            .unwrap_or(HeldKind::Memfd)
    }

    /// Takes in the figures of this snapshot; where nothing changed since it came to rest, only time passes.
    pub(super) fn push(&mut self, tick: Tick, rested: Clock, cpu: f64) {
        let bytes = self.figures.total();
        let sample = self.is_known.then_some(MemorySample {
            pss: bytes,
            swap: 0,
            footprint: bytes,
            held: 0,
            // Of most kinds what is asked for is taken at once.
            asked: bytes,
        });
        if self.is_resting && sample == self.row.known {
            return;
        }
        if self.is_resting {
            self.row.rest_until(rested);
        }
        let cpu = Some(cpu).filter(|_| self.row.trend().verdict.is_growth());
        let rates = Rates {
            cpu: cpu.or(Rates::RESTING.cpu),
            ..Rates::RESTING
        };
        self.row.push(tick, sample, &rates);
        self.is_resting = self.is_known && self.row.is_resting();
    }

    /// Lets time pass in it until then, if it rests.
    pub(super) fn rest_until(&self, clock: Clock) {
        if self.is_resting {
            self.row.rest_until(clock);
        }
    }

    /// Judges it now; a group by its `members`.
    pub(super) fn judge(
        &mut self,
        clock: Clock,
        scheduler: &mut EvaluationScheduler,
        members: Option<&MemberCounts>,
        started_at: Option<Duration>,
    ) {
        self.rest_until(clock);
        self.row.evaluate_descriptors(scheduler, members, started_at);
        if !self.row.trend().verdict.is_growth() {
            self.before = self.figures;
        }
    }

    /// Puts it in the queue of what is judged, if it is due.
    pub(super) fn queue(&mut self, clock: Clock, scheduler: &mut EvaluationScheduler, number: RowNumber) {
        if self.is_due(scheduler.now()) || !self.is_resting {
            self.rest_until(clock);
            self.row.queue(scheduler, number);
        }
    }

    pub(super) fn is_due(&self, now: u32) -> bool {
        self.row.due().is_some_and(|due| due <= now)
    }

    pub(super) const fn is_resting(&self) -> bool {
        self.is_resting
    }

    pub(super) const fn row_mut(&mut self) -> &mut RowHistory {
        &mut self.row
    }

    pub(super) const fn bytes(&self) -> usize {
        size_of::<Self>() - size_of::<RowHistory>() + self.row.bytes()
    }
}
