//! Takes the verdicts that the hosts of a fleet made themselves, of all of their figures, over those on the few that are here.

use crate::history::History;
use crate::history::evaluation::Evaluation;
use crate::model::fleet::ToldVerdict;
use crate::model::snapshot::Snapshot;
use crate::trend::{Judgement, Metric, Verdict};

impl History {
    /// Takes in the verdicts on the rows of a fleet; a row of which none was told has none.
    pub(super) fn take_told(&mut self, snapshot: &Snapshot) {
        let Some(fleet) = &snapshot.fleet else { return };
        self.growing.clear();
        for (sample, row) in snapshot.rows().iter().zip(&fleet.rows) {
            let Some(process) = self.processes.get_mut(&sample.id) else {
                continue;
            };
            let judgement = row.verdict.as_ref().and_then(judgement);
            if judgement.is_some_and(|judgement| judgement.verdict.is_growth()) {
                self.growing.insert(sample.id);
            }
            process.row.evaluation = judgement.map_or_else(Evaluation::default, Evaluation::told);
        }
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
