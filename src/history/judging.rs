//! Judges a row: as a process or a group, as a part of the kernel's memory, or as what is held through descriptors.

use std::time::Duration;

use crate::history::evaluation::{EvaluationScheduler, JudgedSeries, RowNumber};
use crate::history::members::MemberCounts;
use crate::history::row::RowHistory;
use crate::trend::Metric;

impl RowHistory {
    /// Returns the figure that is held, and what grows beside it: pages of files, or what the next collection may free.
    const fn metrics(&self) -> [Metric; 2] {
        match (self.is_live_set, self.is_counted) {
            (true, _) => [Metric::LiveSet, Metric::Heap],
            (false, true) => [Metric::Rss, Metric::File],
            (false, false) => [Metric::Held, Metric::File],
        }
    }

    /// Judges the row now, due or not; a group by its `members`.
    pub(super) fn evaluate(
        &mut self,
        scheduler: &mut EvaluationScheduler,
        members: Option<&MemberCounts>,
        started_at: Option<Duration>,
    ) {
        if !self.is_without_past() {
            let series = JudgedSeries {
                footprint: &self.footprint,
                held: &self.held,
                asked: self.known.map_or(0, |known| known.asked),
                metrics: self.metrics(),
                members,
            };
            scheduler.evaluate(&mut self.evaluation, &series, started_at);
        }
    }

    /// Judges it now as a part of the kernel's memory: the kernel has run since the clock began, and what work it did for it
    /// is not known. Where it may not leak, it is called growing.
    pub(super) fn evaluate_of_kernel(&mut self, scheduler: &mut EvaluationScheduler, may_leak: bool) {
        self.evaluate(scheduler, None, Some(Duration::ZERO));
        let Some(latest) = &mut self.evaluation.latest else {
            return;
        };
        let judgement = &mut latest.judgement;
        judgement.reasons = judgement.reasons.map(|reasons| reasons.at_load(None));
        if !may_leak {
            judgement.call_growing();
        }
    }

    /// Puts the row, which has that number, in the queue of those to judge if it is due.
    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler, number: RowNumber) {
        if !self.is_without_past() {
            scheduler.queue(&mut self.evaluation, &self.footprint, &self.held, number);
        }
    }

    /// Judges it now as what is held through descriptors.
    pub(super) fn evaluate_descriptors(
        &mut self,
        scheduler: &mut EvaluationScheduler,
        members: Option<&MemberCounts>,
        started_at: Option<Duration>,
    ) {
        self.evaluate(scheduler, members, started_at);
        if let Some(latest) = &mut self.evaluation.latest {
            latest.judgement.metric = Metric::Descriptors;
        }
    }
}
