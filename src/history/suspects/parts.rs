//! Parts of the RAM that leak.

use super::{Suspect, held, is_suspect};
use crate::account::headroom::machine_headroom;
use crate::group::RowKey;
use crate::history::History;
use crate::model::snapshot::Snapshot;
use crate::trend::Verdict;

/// Finds the parts of the RAM that may leak. One that only slows down is no news, nor is one that grows by what is held
/// through descriptors where that is told.
pub(super) fn find_parts(
    history: &History,
    snapshot: &Snapshot,
    least: Verdict,
    told: &[Suspect],
    found: &mut Vec<Suspect>,
) {
    let least = least.max(Verdict::Growing);
    let parts = history.parts().that_may_leak();
    found.extend(
        parts
            .filter(|(_, row)| is_suspect(row, least))
            .filter(|(key, row)| !held::explain(told, key.id, row.trend()))
            .map(|(key, row)| Suspect {
                eta: row.trend().eta(machine_headroom(snapshot)),
                ..Suspect::new(RowKey::Part(key), None, row)
            }),
    );
}
