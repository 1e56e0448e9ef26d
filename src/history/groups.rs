//! The histories of groups, which go on while their members come and go.
//!
//! Every group by program, user, unit, container, cgroup and family has a history at all times, so that it is there
//! when somebody looks. A process remembers its groups; they are looked up again only where its facts change. A snapshot
//! then costs six sums for each process, and one row for each group. A family of one process has none: its history is
//! the process's.

mod membership;
mod sums;
mod table;

use std::sync::Arc;
use std::time::Duration;

use membership::Changed;
pub(super) use membership::{Contribution, Membership};
pub(super) use table::{GroupDigest, GroupNumbers, GroupPast};
use table::{GroupTable, NO_GROUP};

use crate::group::{GroupBy, GroupKey, GroupNames};
use crate::history::evaluation::EvaluationScheduler;
use crate::history::figures::{Clock, Rates, Tick};
use crate::history::row::RowHistory;
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

    /// Returns the places of the processes whose families may change in the snapshot that comes next, where those of these
    /// pids are other ones or have other facts.
    pub(super) fn affected(&self, rows: &[ProcessSample], changed: impl Iterator<Item = u32>) -> Vec<u32> {
        self.changed.affected(rows, changed)
    }

    /// Returns true if some process of the first snapshot may still be waited for: until then each is looked at in every
    /// snapshot.
    pub(super) fn may_start(&self, now: Duration) -> bool {
        self.began_at
            .is_none_or(|began| now.saturating_sub(began) < MAX_STARTING)
    }

    /// Starts a snapshot; returns true if it is the first. If it `is_whole`, every process is added anew; else only those
    /// that changed are, and what they contributed is [subtracted](Self::subtract) before.
    pub(super) fn start_snapshot(&mut self, now: Duration, is_whole: bool) -> bool {
        if is_whole {
            self.table.clear_sums();
        } else {
            self.table.clear_rates();
        }
        self.shared.clear();
        self.changed.advance();
        self.is_starting = false;
        let is_first = self.began_at.is_none();
        self.began_at.get_or_insert(now);
        is_first
    }

    /// Leaves out a process of which it cannot be told yet if it is in any group.
    pub(super) fn leave_out(&mut self, membership: &mut Membership) {
        self.is_starting |= membership.is_initial();
        membership.set_counted(None);
    }

    /// Counts a process in its groups. `before` was subtracted of it; `shared` is the process whose address space it
    /// shares, if it shares one, and the groups that one is counted in.
    #[expect(clippy::too_many_arguments, reason = "parts of one process, borrowed apart")]
    pub(super) fn add(
        &mut self,
        sample: &ProcessSample,
        membership: &mut Membership,
        started_at: Option<Duration>,
        row: &RowHistory,
        names: &GroupNames<'_>,
        shared: Option<(Identity, GroupNumbers)>,
        before: Option<&Contribution>,
    ) {
        self.is_starting |= !membership.update(sample, names, &mut self.table, &mut self.changed);
        let is_pending = sample.walk.is_err_and(|why| why == Missing::Pending);
        let rates = Rates::from(row.change());
        let (mut memory_in, mut waiting_in) = (0, 0);
        for (kind, &number) in membership.groups().iter().enumerate() {
            if number == NO_GROUP {
                continue;
            }
            let sums = self.table.sums(number);
            sums.members += 1;
            sums.pushed += 1;
            if before.is_some_and(|b| b.groups[kind] == number && b.started_at == started_at)
                && sums.started_at == started_at
            {
                sums.starts_lost -= 1;
            }
            sums.add_start(started_at);
            if is_pending && membership.is_founder(kind) {
                waiting_in |= 1 << kind;
                sums.waiting += 1;
            }
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
            memory_in |= 1 << kind;
            for (sum, figure) in sums.memory.iter_mut().zip(memory.figures()) {
                *sum += u128::from(figure);
            }
        }
        membership.set_counted(Some([memory_in, waiting_in]));
    }

    /// Takes a process out of the sums, which may be [added](Self::add) anew then.
    pub(super) fn subtract(&mut self, contribution: &Contribution) {
        let figures = contribution.memory.map(|memory| memory.figures());
        for (kind, &number) in contribution.groups.iter().enumerate() {
            if number == NO_GROUP {
                continue;
            }
            let sums = self.table.sums(number);
            sums.is_touched = true;
            sums.members -= 1;
            sums.waiting -= u32::from(contribution.waiting_in & (1 << kind) != 0);
            sums.known -= u32::from(figures.is_some());
            // The oldest of the others may have to be looked for.
            sums.starts_lost += u32::from(sums.started_at == contribution.started_at);
            if contribution.memory_in & (1 << kind) != 0 {
                for (sum, figure) in sums.memory.iter_mut().zip(figures.unwrap_or_default()) {
                    *sum -= u128::from(figure);
                }
            }
        }
    }

    /// Finds the start of the oldest process of the groups that need it and may have lost theirs.
    pub(super) fn find_starts(&mut self, all: impl Iterator<Item = Contribution>) {
        if !self.table.lack_starts() {
            return;
        }
        for part in all {
            for number in part.groups.into_iter().filter(|number| *number != NO_GROUP) {
                self.table.sums(number).add_start(part.started_at);
            }
        }
    }

    /// Finishes a snapshot: every group takes in its sums, and queues up to be judged if due.
    /// Those at which nothing changed have `rested` up to the snapshot before.
    pub(super) fn finish_snapshot(&mut self, tick: Tick, rested: Clock, scheduler: &mut EvaluationScheduler) {
        let waited = tick.now.saturating_sub(self.began_at.unwrap_or(tick.now));
        let is_starting = self.is_starting && waited < MAX_STARTING;
        self.table.push_sums(tick, is_starting, rested, scheduler);
    }

    /// Returns true if the process is in a family with others.
    pub(super) fn has_family(membership: &Membership) -> bool {
        membership.groups()[GroupBy::Family as usize] != NO_GROUP
    }

    /// Returns how many processes a group has.
    pub(super) fn members(&self, by: GroupBy, name: Option<&[u8]>) -> usize {
        self.table.members(self.table.find(by, name)) as usize
    }

    /// Returns the name of the group by command that a process is in.
    pub(super) fn command(&self, membership: &Membership) -> Option<Arc<[u8]>> {
        let at = GroupBy::OF_PROCESSES.iter().position(|by| *by == GroupBy::Command)?;
        self.key(membership.groups()[at])?.name
    }

    /// Returns the number of a group.
    pub(super) fn number(&self, key: &GroupKey) -> Option<u32> {
        Some(self.table.find(key.by, key.name.as_deref())).filter(|number| *number != NO_GROUP)
    }

    /// Returns the group of that number.
    pub(super) fn key(&self, number: u32) -> Option<GroupKey> {
        self.table.key(number)
    }
}
