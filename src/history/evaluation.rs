//! The evaluation scheduler: judges each series in turn, so that no snapshot pays for all.

use std::time::Duration;

use crate::history::time_series::TimeSeries;
use crate::trend::{Judgement, Metric, Params, Point, Verdict, judge};

/// Seconds between evaluations of a series that changes.
const INTERVAL: u32 = 10;
/// Seconds between evaluations of one that does not, or that has been known for [`LONG_KNOWN`]: each evaluation is a
/// chance of a false alarm.
const LONG_INTERVAL: u32 = 30;
/// Seconds after which a series counts as long known.
const LONG_KNOWN: u32 = 3600;

/// The cost of an evaluation beside that of its points, in points; a benchmark measures it.
pub const EVALUATION_OVERHEAD: usize = 50;

/// Points evaluated per second, so that a snapshot of many changing processes takes some milliseconds at most. Series
/// that are left out come first at the next snapshot.
pub const POINTS_PER_SECOND: usize = 150_000;

/// The last judgement of a series, and when the next is due.
#[derive(Clone, Debug, Default)]
pub(super) struct Evaluation {
    latest: Judgement,
    /// The second from which on it is due; 0 before it was first scheduled.
    due: u32,
    /// The series changed since the last evaluation.
    changed: bool,
}

impl Evaluation {
    /// Returns the last judgement.
    pub(super) const fn latest(&self) -> &Judgement {
        &self.latest
    }

    /// Notes that the series changed.
    pub(super) const fn mark_changed(&mut self) {
        self.changed = true;
    }
}

/// The scheduler of all evaluations.
#[derive(Debug, Default)]
pub(super) struct EvaluationScheduler {
    params: Params,
    /// The second of this snapshot.
    now: u32,
    /// Points that may still be evaluated in this snapshot.
    budget: usize,
    /// A buffer that all evaluations share.
    points: Vec<Point>,
}

impl EvaluationScheduler {
    /// Creates a scheduler that judges by these parameters.
    pub(super) fn new(params: Params) -> Self {
        Self {
            params,
            ..Self::default()
        }
    }

    /// Starts a snapshot; the next follows after `interval`.
    pub(super) fn start_snapshot(&mut self, now: Duration, interval: Duration) {
        self.now = u32::try_from(now.as_secs()).unwrap_or(u32::MAX);
        self.budget = POINTS_PER_SECOND.saturating_mul(interval.as_secs().clamp(1, 3600) as usize);
    }

    /// Judges a series if it is due. `stagger` is any number that differs from series to series.
    pub(super) fn evaluate_if_due(
        &mut self,
        evaluation: &mut Evaluation,
        footprint: &TimeSeries,
        anonymous: &TimeSeries,
        started_at: Option<Duration>,
        stagger: u32,
    ) {
        if evaluation.due > self.now {
            return;
        }
        if evaluation.due == 0 {
            // Else all series of the first snapshot would be due at once.
            evaluation.due = self.now.saturating_add(1 + stagger % INTERVAL);
            return;
        }
        if self.budget == 0 {
            return;
        }
        // A series that never changed is judged once, to be called steady.
        if footprint.is_constant() && anonymous.is_constant() && evaluation.latest.verdict == Verdict::Steady {
            evaluation.due = self.now.saturating_add(LONG_INTERVAL);
            return;
        }
        self.evaluate(evaluation, footprint, anonymous, started_at);
        let moves = evaluation.changed || evaluation.latest.verdict >= Verdict::Warming;
        let start = footprint.start().map_or(0, |start| start.as_secs() as u32);
        let is_recent = self.now.saturating_sub(start) < LONG_KNOWN;
        let wait = if moves && is_recent { INTERVAL } else { LONG_INTERVAL };
        evaluation.due = self.now.saturating_add(wait);
        evaluation.changed = false;
    }

    /// Judges a series now.
    pub(super) fn evaluate(
        &mut self,
        evaluation: &mut Evaluation,
        footprint: &TimeSeries,
        anonymous: &TimeSeries,
        started_at: Option<Duration>,
    ) {
        let mut judgement = self.judge(footprint, started_at);
        // If the footprint shows no leak, judge anonymous memory alone: changes in sharing can mask it.
        if judgement.verdict != Verdict::Leaking && !anonymous.is_constant() {
            let alone = self.judge(anonymous, started_at);
            if alone.verdict.is_growth() && alone.verdict > judgement.verdict {
                judgement = alone;
                judgement.metric = Metric::Anonymous;
            }
        }
        evaluation.latest = judgement.with_hysteresis(&evaluation.latest);
    }

    fn judge(&mut self, series: &TimeSeries, started_at: Option<Duration>) -> Judgement {
        series.collect_points(&mut self.points);
        self.budget = self.budget.saturating_sub(self.points.len() + EVALUATION_OVERHEAD);
        judge(&self.points, started_at, &self.params)
    }
}
