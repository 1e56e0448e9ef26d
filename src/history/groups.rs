//! The histories of groups, kept while their members come and go.
//!
//! Every group there is by program, user, unit, container and cgroup has one at all times, so that whoever
//! turns to groups sees what they did. Each process remembers its groups, which are looked for again only
//! where its facts change; a snapshot then costs five sums a process, and a series a group.

mod membership;
mod table;

use std::sync::Arc;
use std::time::Duration;

pub(super) use membership::Member;
use membership::NOWHERE;
use table::Slots;

use crate::group::{GroupBy, GroupKey, GroupNames};
use crate::history::evaluation::Judge;
use crate::history::row::{MemorySample, Rates, RowHistory, Tick};
use crate::model::process::{Identity, ProcessSample};
use crate::model::reading::Missing;

/// How long a group without members is remembered: what runs every night is known the next one.
const KEPT: Duration = Duration::from_secs(26 * 3600);
/// The longest that the processes there were in the beginning are waited for.
const START: Duration = Duration::from_secs(30);

/// The histories of all groups.
#[derive(Debug)]
pub(super) struct Groups {
    slots: Slots,
    /// When the history began.
    began: Option<Duration>,
    /// Some process that was there in the beginning is not known well enough yet to be in its groups.
    starting: bool,
    /// Address spaces with more than one process, and the groups they are counted in.
    shared: Vec<(Identity, u32)>,
}

/// What one snapshot says of one group.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    members: u32,
    /// Of how many the memory is known.
    known: u32,
    /// How many that the group began with wait for their first walk.
    waiting: u32,
    /// When the first of them started.
    born: Option<Duration>,
    figures: MemorySample,
    rates: Rates,
}

impl Groups {
    /// None yet; changes are taken over `window`.
    pub(super) fn new(window: Duration) -> Self {
        Self {
            slots: Slots::new(window),
            began: None,
            starting: false,
            shared: Vec::new(),
        }
    }

    /// Begins a snapshot; whether it is the first.
    pub(super) fn begin(&mut self, now: Duration) -> bool {
        self.slots.clear();
        self.shared.clear();
        self.starting = false;
        let first = self.began.is_none();
        self.began.get_or_insert(now);
        first
    }

    /// Takes changes over another length of time from now on.
    pub(super) fn set_window(&mut self, window: Duration) {
        self.slots.set_window(window);
    }

    /// Counts a process in its groups. `first` is the process whose address space it shares, if it shares
    /// one, and the groups that one is counted in.
    pub(super) fn add(
        &mut self,
        sample: &ProcessSample,
        member: &mut Member,
        born: Option<Duration>,
        rates: &Rates,
        names: &GroupNames<'_>,
        first: Option<(Identity, [u32; GroupBy::OF_PROCESSES.len()])>,
    ) {
        self.starting |= !member.place(sample, names, &mut self.slots);
        let pending = sample.walk.is_err_and(|why| why == Missing::Pending);
        let figures = member.figures(sample);
        for (kind, &slot) in member.slots().iter().enumerate() {
            if slot == NOWHERE {
                continue;
            }
            let sums = self.slots.sums(slot);
            sums.members += 1;
            sums.born = match (sums.born, born) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            };
            sums.waiting += u32::from(pending && member.founded(kind));
            sums.rates.add(rates);
            let Some(figures) = &figures else { continue };
            sums.known += 1;
            if let Some((space, others)) = &first {
                if others[kind] == slot || self.shared.contains(&(*space, slot)) {
                    continue;
                }
                self.shared.push((*space, slot));
            }
            sums.figures.add(figures);
        }
    }

    /// Ends a snapshot: every group takes in its sums, and is judged by them if that is due.
    pub(super) fn end(&mut self, tick: Tick, judge: &mut Judge) {
        let waited = tick.now.saturating_sub(self.began.unwrap_or(tick.now));
        let starting = self.starting && waited < START;
        self.slots.end(tick, starting, judge);
    }

    /// Judges all of them now.
    pub(super) fn judge_all(&mut self, judge: &mut Judge) {
        self.slots.judge_all(judge);
    }

    /// Forgets those without members; what that frees, in bytes.
    pub(super) fn drop_empty(&mut self) -> usize {
        self.slots.drop_empty()
    }

    /// The name of the group by command that a process is in.
    pub(super) fn command(&self, member: &Member) -> Option<Arc<[u8]>> {
        let at = GroupBy::OF_PROCESSES.iter().position(|by| *by == GroupBy::Command)?;
        self.slots.name(member.slots()[at])
    }

    /// Those of that kind, by name.
    pub(super) fn iter(&self, by: GroupBy) -> impl Iterator<Item = (Option<&Arc<[u8]>>, &RowHistory)> {
        self.slots.iter(by)
    }

    /// Every group's, to be changed.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut RowHistory> {
        self.slots.all()
    }

    /// The bytes they take.
    pub(super) fn bytes(&self) -> usize {
        self.slots.bytes()
    }

    /// The history of one group.
    pub(super) fn get(&self, key: &GroupKey) -> Option<&RowHistory> {
        self.slots.get(key.by, key.name.as_deref())
    }

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.slots.len()
    }
}

impl Rates {
    /// Adds another process's; what is unknown counts as nothing.
    fn add(&mut self, other: &Self) {
        let sum = |a: &mut Option<f64>, b: Option<f64>| {
            if let Some(b) = b {
                *a = Some(a.unwrap_or(0.0) + b);
            }
        };
        sum(&mut self.minflt, other.minflt);
        sum(&mut self.majflt, other.majflt);
        sum(&mut self.cpu, other.cpu);
    }
}
