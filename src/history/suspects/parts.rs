//! Parts of the RAM that leak; of unreclaimable slab with the cache that grows.

use crate::account::headroom::machine_headroom;
use crate::account::{PartKind, SLAB};
use crate::group::{PartKey, RowKey};
use crate::history::History;
use crate::history::suspects::{Cause, Suspect, held, is_suspect};
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
    let cache = history.slab().grower();
    let cause = cache.map(|(name, _)| Cause::Slab(name.into()));
    let before = found.len();
    let suspects = parts.filter(|(_, row)| is_suspect(row, least));
    found.extend(
        suspects
            .filter(|(key, row)| !held::explain(told, key.id, row.trend()))
            .map(|(key, row)| Suspect {
                eta: row.trend().eta(machine_headroom(snapshot)),
                cause: cause.clone().filter(|_| key.id == SLAB),
                ..Suspect::new(RowKey::Part(key), None, row)
            }),
    );
    // Others that shrink may hide the growth of one.
    let is_told = found[before..].iter().any(|s| s.cause.is_some());
    if let (Some((_, row)), Some(PartKind { id, label, .. }), false) = (cache, PartKind::find(SLAB), is_told)
        && row.trend().verdict == Verdict::Leaking
    {
        found.push(Suspect {
            eta: row.trend().eta(machine_headroom(snapshot)),
            cause,
            ..Suspect::new(RowKey::Part(PartKey { id, label }), None, row)
        });
    }
}
