//! The history of the cgroup that the user inspects. Selecting another cgroup starts a new history.

use std::sync::Arc;

use crate::account::headroom::is_within;
use crate::account::{Account, ProcessTotals, REST, explained};
use crate::history::evaluation::{EvaluationScheduler, RowNumber};
use crate::history::kernel::PartHistories;
use crate::history::row::Tick;
use crate::model::process::ProcessSample;
use crate::model::snapshot::Snapshot;

#[derive(Debug)]
pub struct InspectedHistory {
    path: Arc<[u8]>,
    /// Its account in the last snapshot, or `None` if it could not be read.
    pub account: Option<Account>,
    /// The sums over its processes.
    pub processes: ProcessTotals,
    pub parts: PartHistories,
}

/// At most one cgroup's history.
#[derive(Debug, Default)]
pub(super) struct InspectedHistories(Option<Box<InspectedHistory>>);

impl InspectedHistories {
    pub(super) fn of(&self, path: &[u8]) -> Option<&InspectedHistory> {
        self.0.as_deref().filter(|history| *history.path == *path)
    }

    pub(super) fn push(&mut self, snapshot: &Snapshot, tick: Tick) {
        let Some(inspected) = &snapshot.inspected else { return };
        let is_in = |row: &ProcessSample| {
            let path = row.facts.cgroup.as_ref();
            path.is_ok_and(|path| is_within(path, &inspected.path))
        };
        let processes = ProcessTotals::of_those(snapshot, is_in);
        let system = inspected.system.as_ref().ok();
        let account = system.and_then(|system| explained(system, &processes));
        let earlier = self.0.take().filter(|history| history.path == inspected.path);
        let mut parts = earlier.map_or_else(PartHistories::default, |history| history.parts);
        if let Some(account) = &account {
            let tick = Tick { has_room: true, ..tick };
            parts.push_parts(account, tick);
            let rest = account.rest.ok().map(|rest| u64::try_from(rest).unwrap_or(0));
            parts.push_part(REST, rest, 0, tick);
        }
        self.0 = Some(Box::new(InspectedHistory {
            path: Arc::clone(&inspected.path),
            account,
            processes,
            parts,
        }));
    }

    pub(super) fn queue(&mut self, scheduler: &mut EvaluationScheduler) {
        if let Some(history) = &mut self.0 {
            history.parts.queue_as(scheduler, RowNumber::Inspected);
        }
    }

    pub(super) fn judge(&mut self, number: u32, scheduler: &mut EvaluationScheduler) {
        if let Some(history) = &mut self.0 {
            history.parts.judge_alone(number, scheduler);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.0.as_ref().map_or(0, |history| history.parts.bytes())
    }
}
