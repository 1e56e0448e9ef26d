//! Programs of a fleet that grow on many hosts at once.

use std::collections::HashMap;
use std::sync::Arc;

use super::Suspect;
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::history::History;
use crate::model::snapshot::Snapshot;
use crate::trend::{HostVerdict, Judgement, agree};

/// Adds the programs that grow on more hosts than chance explains; what they explain of single hosts is left out.
pub(super) fn find_programs(history: &History, snapshot: &Snapshot, found: &mut Vec<Suspect>) {
    let mut programs: HashMap<Arc<[u8]>, Vec<HostVerdict>> = HashMap::new();
    for suspect in found.iter() {
        let Some(name) = &suspect.command else { continue };
        let Judgement {
            verdict, slope, since, ..
        } = suspect.judgement;
        let said = HostVerdict { verdict, slope, since };
        programs.entry(Arc::clone(name)).or_default().push(said);
    }
    for (name, said) in programs {
        let all = history.members(GroupBy::Command, Some(&name));
        let Some(agreed) = agree(said, all, snapshot.monotonic) else {
            continue;
        };
        found.retain(|s| s.command.as_ref() != Some(&name) || s.judgement.verdict > agreed.verdict);
        let by = GroupBy::Command;
        let key = GroupKey {
            by,
            name: Some(Arc::clone(&name)),
        };
        let Some(row) = history.group(&key) else { continue };
        found.push(Suspect {
            count: all,
            hosts: Some((agreed.hosts, all)),
            judgement: Judgement {
                verdict: agreed.verdict,
                slope: agreed.slope,
                since: agreed.since,
                confidence: agreed.confidence,
                ..Judgement::NONE
            },
            ..Suspect::new(RowKey::Group(key), Some(name), row)
        });
    }
}
