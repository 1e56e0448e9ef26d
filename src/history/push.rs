//! Adds a snapshot to a history, in steps so that others need not wait for all of it: the rows that changed, those at which
//! time changes something, what ended, what is due to be judged, and last the memory bound.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::group::GroupNames;
use crate::history::History;
use crate::history::evaluation::{RowNumber, Turn};
use crate::history::groups::{GroupHistories, GroupNumbers, Membership};
use crate::history::marks::Origin;
use crate::history::process::{Ended, ProcessHistory, start_time};
use crate::history::retention::Shortfall;
use crate::history::row::{Clock, RowHistory, Tick};
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;

/// Maximum time between two samples of a host whose difference is a change: a Prometheus forgets a sample after as long.
const FLEET_REACH: Duration = Duration::from_secs(300);

impl History {
    /// Takes in one snapshot. A process that made an exec starts anew. One that is no longer listed has ended; where
    /// `/proc` could not be listed none ends. Everything starts anew where the snapshot is of another boot or host than
    /// the one before, or earlier.
    pub fn push(&mut self, snapshot: &Snapshot) {
        self.take_in(snapshot, true, |_| Some(true));
    }

    /// Takes in the processes of a snapshot that are chosen: others have no history, and are in no group. One that was
    /// chosen stays so until it ends or makes an exec: it must not look like growth that it no longer is what was asked
    /// for, and then is again. `None` says that it cannot be told yet; such a process is in no group so far.
    pub fn push_chosen(&mut self, snapshot: &Snapshot, choose: impl Fn(&ProcessSample) -> Option<bool>) {
        self.take_in(snapshot, false, choose);
    }

    fn take_in(&mut self, snapshot: &Snapshot, may_rest: bool, choose: impl Fn(&ProcessSample) -> Option<bool>) {
        let mut push = self.start(snapshot, may_rest);
        self.push_rows(&mut push, usize::MAX, choose);
        self.finish(push);
    }

    /// Returns the places of the processes to push; `None` for all.
    pub(super) fn places(&mut self, snapshot: &Snapshot, tick: Tick) -> Option<Vec<u32>> {
        let now = self.scheduler.now();
        let mut awake = Vec::new();
        for (id, due) in self.wakeups.take(now) {
            let Some(due) = due else {
                awake.push(id);
                continue;
            };
            // Others have been put down for another second since, or are others.
            if let Some(process) = self.processes.get_mut(&id).filter(|process| process.wakes_at == due) {
                process.wakes_at = 0;
                awake.push(id);
            }
        }
        let changes = snapshot.changes_since(self.wakeups.tick?)?;
        let rested = self.wakeups.clock.now;
        let is_steady = tick.now > rested && tick.now.saturating_sub(rested) <= tick.reach;
        if self.wakeups.is_whole || !is_steady || self.groups.may_start(tick.now) {
            return None;
        }
        let rows = snapshot.rows();
        if changes.rows.last().is_some_and(|at| *at as usize >= rows.len()) {
            return None;
        }
        let mut places = changes.rows.clone();
        for id in awake {
            places.extend(snapshot.place(id).map(|at| at as u32));
        }
        places.extend(self.held.awake(now).filter_map(|id| Some(snapshot.place(id)? as u32)));
        // Their counters may have changed.
        places.extend(snapshot.jvms.keys().filter_map(|id| Some(snapshot.place(*id)? as u32)));
        // Families depend on others of them.
        let changed = changes.rows.iter().map(|at| &rows[*at as usize]);
        let moved = changed.filter(|row| self.processes.get(&row.id).is_none_or(|known| known.is_outdated(row)));
        let moved = moved.map(|row| row.id.pid);
        let removed = changes.removed.iter().map(|id| id.pid);
        places.extend(self.groups.affected(rows, moved.chain(removed)));
        places.sort_unstable();
        places.dedup();
        Some(places)
    }

    /// Takes in the process at that place; returns false if it rested and still does.
    pub(super) fn push_row(
        &mut self,
        at: usize,
        pass: &Pass<'_>,
        choose: impl Fn(&ProcessSample) -> Option<bool>,
    ) -> bool {
        let (sample, tick) = (&pass.snapshot.rows()[at], pass.tick);
        let shared = sample.shares_mm.map(|id| (id, self.counted_in(id, sample, pass)));
        let kept = self.kept_of(sample.id);
        if let Some(held) = self.held_kept_of(sample) {
            self.held.resume(sample.id, held);
        }
        let entry = self.processes.entry(sample.id);
        let is_chosen = |known: &ProcessHistory| known.is_chosen && known.exec == sample.exec;
        let choice = match &entry {
            Entry::Occupied(known) if is_chosen(known.get()) => Some(true),
            _ => choose(sample),
        };
        if choice == Some(false) {
            if let Entry::Occupied(known) = entry {
                known.remove();
            }
            self.held.remove(sample.id);
            return true;
        }
        let process = entry.or_insert_with(|| {
            let started_at = start_time(sample, pass.snapshot, &self.suspends);
            let mut process = Box::new(ProcessHistory::new(sample, started_at, pass.is_first));
            if let Some(past) = kept {
                process.resume(past, sample);
                if process.row.trend().verdict.is_growth() {
                    self.growing.insert(sample.id);
                }
            }
            process
        });
        let mut before = None;
        if !pass.is_whole {
            before = process.contribution();
            if let Some(before) = &before {
                self.groups.subtract(before);
            }
            self.process_bytes -= process.counted_bytes as usize;
            self.without_past -= usize::from(process.is_counted_without_past);
        }
        let rested = process.is_resting;
        process.rested(pass.rested);
        if process.exec != sample.exec {
            **process = ProcessHistory::new(sample, Some(tick.now), false);
            self.held.remove(sample.id);
        }
        self.held.take_in(sample);
        process.is_chosen = choice.is_some();
        if let Some(Ok(heap)) = pass.snapshot.jvms.get(&sample.id) {
            process.push_heap(heap, tick.now);
        }
        let own = self.config.own_pid == Some(sample.id.pid);
        let unjudged = if own { self.own_bytes } else { 0 };
        let taken = match (&pass.snapshot.fleet, sample.walk) {
            (Some(_), Ok(walk)) => walk.at,
            _ => tick.now,
        };
        process.push(sample, Tick { taken, ..tick }, self.number, pass.rested.now, unjudged);
        if let Some(fleet) = &pass.snapshot.fleet {
            let told = fleet.rows.get(at).and_then(|row| row.verdict.as_ref());
            if process.row.take_told(told) {
                self.growing.insert(sample.id);
            } else {
                self.growing.remove(&sample.id);
            }
        } else {
            process.row.queue(&mut self.scheduler, RowNumber::Process(sample.id));
        }
        // Kernel threads have no memory, and nobody looks for them among the programs.
        if !process.is_chosen {
            self.groups.leave_out(&mut process.membership);
        } else if !sample.stat.is_kernel_thread() {
            self.groups.add(
                sample,
                &mut process.membership,
                process.started_at,
                &process.row,
                &pass.names,
                shared,
                before.as_ref(),
            );
        }
        process.counted_bytes = u32::try_from(process.bytes()).unwrap_or(u32::MAX);
        process.is_counted_without_past = process.row.is_without_past();
        self.process_bytes += process.counted_bytes as usize;
        self.without_past += usize::from(process.is_counted_without_past);
        self.wakeups.pushed(sample, process, self.scheduler.now());
        !(rested && process.is_resting)
    }

    /// Puts a history of the time before its first snapshot before it, of so many rows at most, which it takes out of that one;
    /// returns true if more are left. Rows that are not in this history are dropped.
    pub fn put_before(&mut self, earlier: &mut Self, rows: usize) -> bool {
        let Some(tick) = self.last_tick else { return false };
        let ids: Vec<_> = earlier.processes.keys().copied().take(rows).collect();
        for id in &ids {
            let before = earlier.processes.remove(id);
            if let (Some(before), Some(process)) = (before, self.processes.get_mut(id)) {
                process.row.put_before(&before.row, tick);
            }
        }
        if !ids.is_empty() {
            return true;
        }
        self.groups.table.put_before(&earlier.groups.table, tick);
        self.first = self.first.min(earlier.first).or(self.first);
        false
    }

    pub(super) fn start_tick(&mut self, snapshot: &Snapshot) -> Tick {
        let now = snapshot.monotonic;
        if let Some(last) = &self.last {
            self.intervals = [self.intervals[1], now.saturating_sub(last.monotonic)];
        }
        // A single pause, or a manual refresh, must not change the detected interval.
        let interval = self.intervals[0].min(self.intervals[1]).max(snapshot.interval);
        self.last = Some(Origin::of(snapshot));
        self.first.get_or_insert(now);
        self.number += 1;
        let window = self.config.window;
        // A quarter more than the interval, as a snapshot may be late: the one before must be in reach.
        let reach = match &snapshot.fleet {
            Some(_) => FLEET_REACH,
            None => window.saturating_add(snapshot.interval.saturating_mul(5) / 4),
        };
        if reach != self.reach {
            self.reach = reach;
            all_rows(&mut self.processes, &mut self.groups, self.wakeups.clock).for_each(|(_, row)| row.clear_window());
            self.held.clear_windows();
        }
        self.scheduler.start_snapshot(now, interval);
        let tick = Tick {
            now,
            interval,
            is_fleet: snapshot.fleet.is_some(),
            taken: now,
            window,
            reach,
            changes: None,
            retention: self.retention.retention(),
            has_room: self.retention.has_room(),
        };
        self.last_tick = Some(tick);
        tick
    }

    /// Moves the processes that were not in this snapshot to those that ended.
    pub(super) fn end_unseen(&mut self, pass: &Pass<'_>) {
        let number = self.number;
        let unseen = self.processes.iter().filter(|(_, process)| process.seen_in != number);
        let unseen: Vec<_> = unseen.map(|(id, _)| *id).collect();
        self.end(unseen, pass);
    }

    /// Moves processes to those that ended.
    pub(super) fn end(&mut self, mut ids: Vec<Identity>, pass: &Pass<'_>) {
        // The order of a hash table differs from run to run; a history must not.
        ids.sort_unstable();
        for id in ids {
            let Some(process) = self.processes.remove(&id) else {
                continue;
            };
            self.growing.remove(&id);
            self.held.remove(id);
            process.rested(pass.rested);
            if !pass.is_whole {
                process
                    .contribution()
                    .iter()
                    .for_each(|part| self.groups.subtract(part));
                self.process_bytes -= process.counted_bytes as usize;
                self.without_past -= usize::from(process.is_counted_without_past);
            }
            if process.is_memorable() {
                let command = self.groups.command(&process.membership);
                self.ended.push(Box::new(Ended {
                    id,
                    facts: process.facts,
                    command,
                    at: pass.tick.now,
                    history: process.row,
                }));
            }
        }
        if self.processes.capacity() > 4 * self.processes.len() + 1024 {
            self.processes.shrink_to_fit();
        }
    }

    /// Returns the groups in which the memory of a process, which comes earlier in this snapshot, is counted.
    fn counted_in(&self, id: Identity, than: &ProcessSample, pass: &Pass<'_>) -> GroupNumbers {
        let is_earlier = |process: &ProcessHistory| {
            let rests = || !pass.is_whole && id.pid < than.id.pid && !pass.removed().contains(&id);
            process.seen_in == self.number || rests()
        };
        match self.processes.get(&id) {
            Some(process) if is_earlier(process) => process.counted_in(),
            _ => Membership::NONE,
        }
    }
}

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
        self.suspends.push(snapshot);
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

impl History {
    /// Judges rows that are due, as far as the budget of this snapshot goes; returns how many it did.
    pub(super) fn judge_due(&mut self, queue: &[Turn]) -> usize {
        let mut judged = 0;
        for turn in queue {
            if !self.scheduler.has_budget() {
                break;
            }
            judged += 1;
            match turn.row {
                RowNumber::Part(number) => self.parts.judge(number, &mut self.scheduler, &self.kernel.slab),
                RowNumber::Slab(number) => self
                    .kernel
                    .slab
                    .judge(number, &mut self.scheduler, self.parts.resident()),
                RowNumber::Site(number) => self.kernel.sites.judge(number, &mut self.scheduler, None),
                RowNumber::Group(number) => self.groups.table.judge(number, &mut self.scheduler),
                RowNumber::Held(_) | RowNumber::HeldGroup(_) => self.judge_held(turn.row),
                RowNumber::Process(id) => {
                    if let Some(process) = self.processes.get_mut(&id) {
                        process.judge(self.wakeups.clock, &mut self.scheduler);
                        // What is noted of growth is counted with the rest, or the bound would be found too late.
                        let counted = process.bytes() as u32;
                        self.process_bytes += counted as usize;
                        self.process_bytes -= std::mem::replace(&mut process.counted_bytes, counted) as usize;
                        if process.row.trend().verdict.is_growth() {
                            self.growing.insert(id);
                        } else {
                            self.growing.remove(&id);
                        }
                    }
                }
            }
        }
        judged
    }

    /// Judges what a process or a group holds through its descriptors.
    fn judge_held(&mut self, number: RowNumber) {
        match number {
            RowNumber::Held(id) => {
                let started_at = self.processes.get(&id).and_then(|process| process.started_at);
                self.held.judge(id, &mut self.scheduler, started_at);
            }
            RowNumber::HeldGroup(number) => self.held.judge_group(number, &mut self.scheduler),
            _ => {}
        }
    }

    /// Judges every row now, rather than in turns: for a history that gets no further snapshots.
    pub fn judge_all(&mut self) {
        for (id, process) in &mut self.processes {
            process.judge(self.wakeups.clock, &mut self.scheduler);
            if process.row.trend().verdict.is_growth() {
                self.growing.insert(*id);
            }
        }
        self.groups.table.judge_all(&mut self.scheduler);
        self.parts.judge_all(&mut self.scheduler, &self.kernel.slab);
        self.kernel.judge_all(&mut self.scheduler, self.parts.resident());
        for number in self.held.numbers() {
            self.judge_held(number);
        }
    }

    /// Keeps within the memory bound. What costs least to lose goes first.
    pub(super) fn bound_memory(&mut self, tick: Tick, mut bytes: usize) {
        while self.retention.is_exceeded(bytes)
            && let Some(freed) = self.ended.drop_oldest()
        {
            bytes -= freed.min(bytes);
        }
        if self.retention.is_exceeded(bytes) {
            bytes -= self.groups.table.drop_empty().min(bytes);
        }
        while let Some(retention) = self.retention.adjust(bytes, tick.now) {
            all_rows(&mut self.processes, &mut self.groups, self.wakeups.clock)
                .for_each(|(_, row)| row.set_retention(retention));
            self.parts.set_retention(retention);
            self.kernel.set_retention(retention);
            self.held.set_retention(retention);
            bytes = self.bytes();
            self.wakeups.is_whole = true;
        }
        let is_exceeded = self.retention.is_exceeded(bytes);
        if is_exceeded || self.retention.is_choice_due(tick.now) {
            let rows = all_rows(&mut self.processes, &mut self.groups, self.wakeups.clock);
            if is_exceeded {
                self.retention.cut(rows, bytes, tick.now);
            } else {
                self.retention.choose(rows, bytes, tick.now);
            }
            bytes = self.bytes();
            self.wakeups.is_whole = true;
            let without_past = self.processes.values().filter(|process| process.row.is_without_past());
            self.shortfall.processes = without_past.count();
        }
        let (waiting, longest_wait) = self.scheduler.waiting();
        self.shortfall = Shortfall {
            processes: self.shortfall.processes,
            groups: self.groups.table.without_past(),
            retention: self.retention.retention(),
            excess: self.retention.excess(bytes),
            waiting,
            longest_wait,
        };
    }
}

/// Returns the histories of all processes and groups.
pub(super) fn all_rows<'a>(
    processes: &'a mut HashMap<Identity, Box<ProcessHistory>>,
    groups: &'a mut GroupHistories,
    clock: Clock,
) -> impl Iterator<Item = (RowNumber, &'a mut RowHistory)> {
    let processes = processes.iter_mut();
    let processes = processes.map(move |(id, process)| {
        process.rested(clock);
        (RowNumber::Process(*id), &mut process.row)
    });
    let groups = groups.table.rows_mut();
    processes.chain(groups.map(|(number, row)| (RowNumber::Group(number), row)))
}

/// The processes to push with the next snapshot.
#[derive(Debug, Default)]
pub(super) struct Wakeups {
    /// The number that its source gave the last snapshot with processes.
    pub(super) tick: Option<u64>,
    /// The time of that snapshot.
    pub(super) clock: Clock,
    /// Every process is to be pushed: something was done to all.
    pub(super) is_whole: bool,
    /// The processes that do not rest.
    active: Vec<Identity>,
    /// The others, by the second at which they are due to be judged.
    due: BTreeMap<u32, Vec<Identity>>,
}

impl Wakeups {
    /// The memory that a process takes here, in bytes: it is in one list, with room to grow.
    pub(super) const BYTES_PER_PROCESS: usize = 2 * size_of::<Identity>();

    /// Returns the processes that do not rest, or are due by `now`.
    pub(super) fn take(&mut self, now: u32) -> impl Iterator<Item = (Identity, Option<u32>)> + use<> {
        let active = std::mem::take(&mut self.active).into_iter().map(|id| (id, None));
        let later = self.due.split_off(&now.saturating_add(1));
        let due = std::mem::replace(&mut self.due, later).into_iter();
        active.chain(due.flat_map(|(due, ids)| ids.into_iter().map(move |id| (id, Some(due)))))
    }

    /// Takes in a process that was pushed in the second `now`.
    pub(super) fn pushed(&mut self, sample: &ProcessSample, process: &mut ProcessHistory, now: u32) {
        // What counts of a shared address space depends on others.
        process.is_resting = process.is_chosen && sample.shares_mm.is_none() && process.row.is_resting();
        if !process.is_resting {
            self.active.push(sample.id);
        } else if let Some(due) = process.row.due() {
            // One that is due now may be left out, and has to queue up again.
            let due = due.max(now);
            if std::mem::replace(&mut process.wakes_at, due) != due {
                self.due.entry(due).or_default().push(sample.id);
            }
        }
    }
}
