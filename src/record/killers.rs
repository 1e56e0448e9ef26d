//! The counts of OOM kills and the daemons that kill, in `zmtop/1`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::kill::{KILLERS, KillCause, OomCounts};
use crate::model::{Missing, Reading};

/// The state of a daemon whose signals are seen; of the others, the reason.
const WATCHED: &str = "watched";

/// Returns the counts that are not 0.
pub(super) fn counts(of: &OomCounts) -> BTreeMap<&'static str, u64> {
    let all = KillCause::ALL.into_iter().map(|cause| (cause.id(), of.get(cause)));
    all.filter(|(_, kills)| *kills > 0).collect()
}

pub(super) fn read_counts(from: &BTreeMap<String, u64>) -> OomCounts {
    let mut counts = OomCounts::default();
    for (cause, kills) in from {
        if let Some(cause) = KillCause::from_id(cause) {
            counts.add(cause, *kills);
        }
    }
    counts
}

/// Returns the state of each daemon.
pub(super) fn killers(of: &[(&'static str, Reading<()>)]) -> BTreeMap<&'static str, String> {
    let state = |state: &Reading<()>| state.map_or_else(|why| why.to_string(), |()| WATCHED.into());
    of.iter().map(|(name, seen)| (*name, state(seen))).collect()
}

/// Reads the states of daemons that this version knows.
pub(super) fn read_killers(from: &BTreeMap<String, String>) -> Arc<[(&'static str, Reading<()>)]> {
    let state = |text: &str| match text {
        WATCHED => Ok(()),
        why => Err(Missing::parse(why).unwrap_or(Missing::Unsupported)),
    };
    let known = KILLERS.iter().filter_map(|name| Some((*name, state(from.get(*name)?))));
    known.collect()
}
