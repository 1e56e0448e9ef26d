//! Takes the verdicts that the hosts of a fleet made themselves, of all of their figures, over those on the few that are here.

use crate::history::evaluation::Evaluation;
use crate::history::row::RowHistory;
use crate::model::fleet::ToldVerdict;
use crate::trend::{Judgement, Metric, Verdict};

impl RowHistory {
    /// Takes in the verdict that was told, if one was: else it has none. Returns true if it grows by that.
    pub(super) fn take_told(&mut self, told: Option<&ToldVerdict>) -> bool {
        let judgement = told.and_then(judgement);
        self.evaluation = judgement.map_or_else(Evaluation::default, Evaluation::told);
        judgement.is_some_and(|judgement| judgement.verdict.is_growth())
    }
}

/// Returns the judgement that was told; `None` for a rank that is none.
fn judgement(told: &ToldVerdict) -> Option<Judgement> {
    Some(Judgement {
        verdict: Verdict::from_rank(told.rank)?,
        metric: Metric::Held,
        slope: told.slope,
        confidence: told.confidence,
        since: told.since,
        ..Judgement::NONE
    })
}
