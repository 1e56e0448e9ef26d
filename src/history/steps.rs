//! Takes in a snapshot step by step, so that others need not wait for all of it.

use crate::group::GroupNames;
use crate::history::History;
use crate::history::evaluation::Turn;
use crate::history::figures::{Clock, Tick};
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;

/// A snapshot that is being taken in.
#[derive(Debug)]
pub(super) struct Pass<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) names: GroupNames<'a>,
    pub(super) tick: Tick,
    /// The time of the snapshot before.
    pub(super) rested: Clock,
    pub(super) is_first: bool,
    /// Every process is pushed.
    pub(super) is_whole: bool,
    /// The places of those to push, where not all are; and how many of them were.
    places: Option<Vec<u32>>,
    pushed: usize,
    /// The places of those among them that do not merely come to be judged.
    moved: Vec<u32>,
    /// The rows to judge, once all are pushed; and how many of them were.
    queue: Option<Vec<Turn>>,
    judged: usize,
}

/// A snapshot that is taken in step by step; nothing where its processes could not be listed.
#[derive(Debug)]
pub(crate) struct Push<'a>(Option<Pass<'a>>);

/// Rows that are judged at a time where a snapshot is taken in step by step: each takes as long as many take to be pushed.
const JUDGED_AT_ONCE: usize = 8;

impl Pass<'_> {
    /// Returns the processes that are known to have ended since the snapshot before.
    pub(super) fn removed(&self) -> &[Identity] {
        self.snapshot.changes.as_ref().map_or(&[], |changes| &changes.removed)
    }
}

impl History {
    /// Begins to take in a snapshot, as [`Self::push`] does at once.
    pub(crate) fn begin<'a>(&mut self, snapshot: &'a Snapshot) -> Push<'a> {
        self.start(snapshot, true)
    }

    /// Does the next step, with so many rows at most; returns false once only [the last](Self::finish) is left. Until then
    /// each row and group is of this snapshot or of the one before.
    pub(crate) fn advance(&mut self, push: &mut Push<'_>, rows: usize) -> bool {
        if self.push_rows(push, rows, |_| Some(true)) {
            return true;
        }
        let Some(pass) = &mut push.0 else { return false };
        if pass.queue.is_none() {
            self.end_rows(pass);
            return true;
        }
        self.judge_some(pass, JUDGED_AT_ONCE)
    }

    pub(super) fn start<'a>(&mut self, snapshot: &'a Snapshot, may_rest: bool) -> Push<'a> {
        if self.last.as_ref().is_some_and(|last| !last.precedes(snapshot)) {
            *self = Self::with_config(self.config);
        }
        self.check_kept(snapshot);
        let tick = self.start_tick(snapshot);
        self.system.push(snapshot, tick);
        self.parts.push(snapshot, tick);
        self.kernel.push(snapshot, tick);
        let Ok(processes) = &snapshot.processes else {
            return Push(None);
        };
        let places = self.places(snapshot, tick).filter(|_| may_rest);
        let is_whole = places.is_none();
        let pass = Pass {
            snapshot,
            names: GroupNames::new(processes),
            tick,
            rested: self.wakeups.clock,
            is_first: self.groups.start_snapshot(tick.now, is_whole),
            is_whole,
            places,
            pushed: 0,
            moved: Vec::new(),
            queue: None,
            judged: 0,
        };
        self.wakeups.tick = Some(snapshot.tick);
        self.wakeups.is_whole = false;
        if is_whole {
            (self.process_bytes, self.without_past) = (0, 0);
            // At once, rather than growing step by step: what that leaves behind is used by nobody.
            self.processes
                .reserve(processes.len().saturating_sub(self.processes.len()));
        }
        Push(Some(pass))
    }

    pub(super) fn push_rows(
        &mut self,
        push: &mut Push<'_>,
        most: usize,
        choose: impl Fn(&ProcessSample) -> Option<bool>,
    ) -> bool {
        let Some(pass) = &mut push.0 else { return false };
        let (snapshot, places) = (pass.snapshot, pass.places.take());
        let rows = snapshot.rows();
        let all = places.as_ref().map_or(rows.len(), Vec::len);
        let until = pass.pushed.saturating_add(most).min(all);
        let changed = snapshot.changes.as_ref().map_or(&[][..], |changes| &changes.rows);
        for nth in pass.pushed..until {
            let at = places.as_ref().map_or(nth, |places| places[nth] as usize);
            let is_moved = self.push_row(at, pass, &choose) || self.held.is_awake(rows[at].id);
            let at = at as u32;
            if places.is_some() && (is_moved || changed.binary_search(&at).is_ok()) {
                pass.moved.push(at);
            }
        }
        (pass.pushed, pass.places) = (until, places);
        until < all
    }

    /// Does what comes after all rows were pushed: the processes that ended, groups, and what is due to be judged.
    fn end_rows(&mut self, pass: &mut Pass<'_>) {
        (self.pushed, self.moved) = (pass.places.take(), std::mem::take(&mut pass.moved));
        if pass.is_whole {
            self.end_unseen(pass);
        } else {
            self.end(pass.removed().to_vec(), pass);
        }
        let parts = self.processes.values().filter_map(|process| process.contribution());
        self.groups.find_starts(parts);
        self.groups.finish_snapshot(pass.tick, pass.rested, &mut self.scheduler);
        let about = |id| {
            let process = self.processes.get(&id)?;
            Some((*process.membership.groups(), process.row.change().cpu.unwrap_or(0.0)))
        };
        self.held.finish(pass.tick, &self.groups, about, &mut self.scheduler);
        self.wakeups.clock = pass.tick.into();
        self.parts.queue(&mut self.scheduler);
        self.kernel.queue(&mut self.scheduler);
        pass.queue = Some(self.scheduler.take_queue());
    }

    /// Judges so many further rows that are due, as far as the budget of the snapshot goes; returns false once it has.
    fn judge_some(&mut self, pass: &mut Pass<'_>, most: usize) -> bool {
        let queue = pass.queue.as_deref().unwrap_or_default();
        let left = &queue[pass.judged..];
        let now = &left[..left.len().min(most)];
        let judged = self.judge_due(now);
        pass.judged += judged;
        judged == now.len() && pass.judged < queue.len()
    }

    /// Does the last step, and those before it that were not done.
    pub(crate) fn finish(&mut self, push: Push<'_>) {
        let Some(mut pass) = push.0 else { return };
        if pass.queue.is_none() {
            self.end_rows(&mut pass);
        }
        self.judge_some(&mut pass, usize::MAX);
        self.scheduler
            .give_back(pass.queue.take().unwrap_or_default(), pass.judged);
        self.held.suspect(&self.parts);
        if pass.snapshot.fleet.is_none() {
            self.find_dangers(pass.snapshot);
        }
        self.shortfall.processes = self.without_past;
        let bytes = self.process_bytes + self.bytes_without_processes();
        self.own_bytes = bytes as u64;
        self.bound_memory(pass.tick, bytes);
    }
}
