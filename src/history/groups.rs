//! The histories of groups, which go on while their members come and go.
//!
//! Every group by program, user, unit, container, cgroup and family has a history at all times, so that it is there
//! when somebody looks. A process remembers its groups; they are looked up again only where its facts change. A snapshot
//! then costs six sums for each process, and one row for each group. A family of one process has none: its history is
//! the process's.

mod membership;
mod table;

use std::sync::Arc;
use std::time::Duration;

use membership::Changed;
pub(super) use membership::Membership;
pub(super) use table::GroupNumbers;
use table::{GroupTable, NO_GROUP};

use crate::group::{GroupBy, GroupNames};
use crate::history::evaluation::EvaluationScheduler;
use crate::history::row::{Rates, RowHistory, Tick};
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::Missing;

/// Maximum time that the processes of the first snapshot are waited for, until their groups are complete: reading all
/// their facts and memory takes some ticks.
const MAX_STARTING: Duration = Duration::from_secs(30);

/// The histories of all groups.
#[derive(Debug)]
pub(super) struct GroupHistories {
    pub(super) table: GroupTable,
    /// When the history began.
    began_at: Option<Duration>,
    /// Some process of the first snapshot is not known well enough yet to be in its groups.
    is_starting: bool,
    /// Address spaces with more than one process, and the groups they are counted in.
    shared: Vec<(Identity, u32)>,
    changed: Changed,
}

impl GroupHistories {
    /// Creates an empty set.
    pub(super) fn new() -> Self {
        Self {
            table: GroupTable::default(),
            began_at: None,
            is_starting: false,
            shared: Vec::new(),
            changed: Changed::new(),
        }
    }

    /// Starts a snapshot; returns true if it is the first.
    pub(super) fn start_snapshot(&mut self, now: Duration) -> bool {
        self.table.clear_sums();
        self.shared.clear();
        self.changed.advance();
        self.is_starting = false;
        let is_first = self.began_at.is_none();
        self.began_at.get_or_insert(now);
        is_first
    }

    /// Notes a process of which it cannot be told yet if it is in any group.
    pub(super) const fn wait_for(&mut self, membership: &Membership) {
        self.is_starting |= membership.is_initial();
    }

    /// Counts a process in its groups. `shared` is the process whose address space it shares, if it shares one, and
    /// the groups that one is counted in.
    pub(super) fn add(
        &mut self,
        sample: &ProcessSample,
        membership: &mut Membership,
        started_at: Option<Duration>,
        row: &RowHistory,
        names: &GroupNames<'_>,
        shared: Option<(Identity, GroupNumbers)>,
    ) {
        self.is_starting |= !membership.update(sample, names, &mut self.table, &mut self.changed);
        let is_pending = sample.walk.is_err_and(|why| why == Missing::Pending);
        let rates = Rates::from(row.change());
        for (kind, &number) in membership.groups().iter().enumerate() {
            if number == NO_GROUP {
                continue;
            }
            let sums = self.table.sums(number);
            sums.members += 1;
            sums.started_at = match (sums.started_at, started_at) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            sums.waiting += u32::from(is_pending && membership.is_founder(kind));
            sums.rates.add(&rates);
            // The last known, where the read failed this time: else a late walk would look like freed memory.
            let Some(memory) = row.known() else { continue };
            sums.known += 1;
            // An address space that several members have counts once.
            if let Some((space, counted_in)) = &shared {
                if counted_in[kind] == number || self.shared.contains(&(*space, number)) {
                    continue;
                }
                self.shared.push((*space, number));
            }
            sums.memory.add(memory);
        }
    }

    /// Finishes a snapshot: every group takes in its sums, and queues up to be judged if due.
    pub(super) fn finish_snapshot(&mut self, tick: Tick, scheduler: &mut EvaluationScheduler) {
        let waited = tick.now.saturating_sub(self.began_at.unwrap_or(tick.now));
        let is_starting = self.is_starting && waited < MAX_STARTING;
        self.table.push_sums(tick, is_starting, scheduler);
    }

    /// Returns true if the process is in a family with others.
    pub(super) fn has_family(membership: &Membership) -> bool {
        membership.groups()[GroupBy::Family as usize] != NO_GROUP
    }

    /// Returns the name of the group by command that a process is in.
    pub(super) fn command(&self, membership: &Membership) -> Option<Arc<[u8]>> {
        let at = GroupBy::OF_PROCESSES.iter().position(|by| *by == GroupBy::Command)?;
        self.table.name(membership.groups()[at])
    }
}
