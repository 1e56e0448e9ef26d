//! Adds a snapshot to a history, in steps, so that other work is not delayed by all of it: rows that changed or that change as
//! time passes, ended processes, due judgements, and last the memory bound.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::group::GroupNames;
use crate::history::History;
use crate::history::evaluation::{RowNumber, Turn};
use crate::history::groups::{GroupHistories, GroupNumbers, Membership};
use crate::history::marks::Origin;
use crate::history::process::{Ended, ProcessHistory, image, start_time};
use crate::history::retention::Shortfall;
use crate::history::row::{Clock, RowHistory, Tick};
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;

/// Maximum time between two samples of a fleet that are compared: Prometheus drops a sample after as long.
const FLEET_REACH: Duration = Duration::from_secs(300);
/// Rows judged per step. Judging one takes as long as pushing many.
const JUDGED_AT_ONCE: usize = 8;

/// A snapshot that is being added.
#[derive(Debug)]
struct Pass<'a> {
    snapshot: &'a Snapshot,
    names: GroupNames<'a>,
    tick: Tick,
    /// The time of the snapshot before.
    rested: Clock,
    is_first: bool,
    /// All processes are pushed.
    is_whole: bool,
    /// The indices of the processes to push, unless all are; and the number pushed so far.
    places: Option<Vec<u32>>,
    pushed: usize,
    /// The indices of those that were not pushed merely to be judged.
    moved: Vec<u32>,
    /// The rows to judge, once all are pushed; and the number judged so far.
    queue: Option<Vec<Turn>>,
    judged: usize,
}

/// A snapshot that is added in steps; `None` if its processes could not be listed.
#[derive(Debug)]
pub(crate) struct Push<'a>(Option<Pass<'a>>);

impl Pass<'_> {
    /// Returns the processes that are known to have ended since the snapshot before.
    fn removed(&self) -> &[Identity] {
        self.snapshot.changes.as_ref().map_or(&[], |changes| &changes.removed)
    }
}

impl History {
    /// Adds a snapshot. A process's history restarts when it execs, and ends when the process is not listed. If `/proc` could
    /// not be listed, no process ends. All history restarts if the snapshot is of another boot or host, or earlier than the
    /// last one.
    pub fn push(&mut self, snapshot: &Snapshot) {
        self.push_at_once(snapshot, true, |_| Some(true));
    }

    /// Adds a snapshot, but only processes that `choose` matches; others have no history and are in no group. `None` means that
    /// the result is pending; the process is then in no group yet. A matching process stays chosen until it ends or execs, so
    /// that leaving and coming back does not look like growth.
    pub fn push_chosen(&mut self, snapshot: &Snapshot, choose: impl Fn(&ProcessSample) -> Option<bool>) {
        self.push_at_once(snapshot, false, choose);
    }

    fn push_at_once(&mut self, snapshot: &Snapshot, may_rest: bool, choose: impl Fn(&ProcessSample) -> Option<bool>) {
        let mut push = self.start(snapshot, may_rest);
        self.push_rows(&mut push, usize::MAX, choose);
        self.finish(push);
    }

    /// Returns the indices of the processes to push; `None` for all.
    fn places(&mut self, snapshot: &Snapshot, tick: Tick) -> Option<Vec<u32>> {
        let now = self.scheduler.now;
        let mut awake = Vec::new();
        for (id, due) in self.wakeups.take(now) {
            let Some(due) = due else {
                awake.push(id);
                continue;
            };
            // Skip processes that were rescheduled or are gone.
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
        // The counters of a Java virtual machine may have changed.
        places.extend(snapshot.jvms.keys().filter_map(|id| Some(snapshot.place(*id)? as u32)));
        let read = snapshot.heaps.iter().filter(|(_, heap)| heap.at > rested);
        places.extend(read.filter_map(|(id, _)| Some(snapshot.place(*id)? as u32)));
        // Families depend on other processes.
        let changed = changes.rows.iter().map(|at| &rows[*at as usize]);
        let moved = changed.filter(|row| self.processes.get(&row.id).is_none_or(|known| known.is_outdated(row)));
        let moved = moved.map(|row| row.id.pid);
        let removed = changes.removed.iter().map(|id| id.pid);
        places.extend(self.groups.changed.affected(rows, moved.chain(removed)));
        places.sort_unstable();
        places.dedup();
        Some(places)
    }

    /// Pushes the process at that index; returns false if it rested and still does.
    fn push_row(&mut self, at: usize, pass: &Pass<'_>, choose: impl Fn(&ProcessSample) -> Option<bool>) -> bool {
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
            // After an exec, the saved history belongs to another program.
            if let Some(past) = kept.filter(|past| past.image == image(sample)) {
                (process.row, process.live_set, process.malloc) = (past.row, past.live_set, past.malloc);
                if process.row.is_growing() {
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
        let rested = process.row.evaluation.is_resting;
        process.row.rested(pass.rested);
        if process.exec != sample.exec {
            if process.has_kept_its_memory(sample) || process.restarts_too_often(tick.now) {
                process.go_on(sample.exec);
            } else {
                process.start_again(sample, tick.now);
                self.held.remove(sample.id);
            }
        }
        if process.continue_after_exec(sample, tick.now) && process.row.is_growing() {
            self.growing.insert(sample.id);
        }
        self.held.record(sample);
        process.is_chosen = choice.is_some();
        if let Some(Ok(heap)) = pass.snapshot.jvms.get(&sample.id) {
            process.push_heap(heap, tick.now);
        }
        if let Some(heap) = pass.snapshot.heaps.get(&sample.id) {
            process.push_malloc(heap);
        }
        let own = self.config.own_pid == Some(sample.id.pid);
        let unjudged = if own { self.own_bytes } else { 0 };
        let taken = match (&pass.snapshot.fleet, sample.walk) {
            (Some(_), Ok(walk)) => walk.at,
            _ => tick.now,
        };
        process.push(sample, Tick { taken, ..tick }, self.number, pass.rested.now, unjudged);
        if let Some(fleet) = &pass.snapshot.fleet {
            let scraped = fleet.rows.get(at).and_then(|row| row.verdict.as_ref());
            if process.row.set_scraped(scraped) {
                self.growing.insert(sample.id);
            } else {
                self.growing.remove(&sample.id);
            }
        } else {
            process.row.queue(&mut self.scheduler, RowNumber::Process(sample.id));
        }
        // Kernel threads have no memory and are in no group.
        if !process.is_chosen {
            self.groups.is_starting |= process.membership.is_initial;
            process.membership.set_counted(None);
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
        self.wakeups.pushed(sample, process, self.scheduler.now);
        !(rested && process.row.evaluation.is_resting)
    }

    /// Prepends up to `rows` rows of a history of an earlier time, and removes them there; returns true if more are left. Rows
    /// that are missing in this history are dropped.
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
        self.groups.put_before(&earlier.groups, tick);
        self.first = self.first.min(earlier.first).or(self.first);
        false
    }

    fn start_tick(&mut self, snapshot: &Snapshot) -> Tick {
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
        // A quarter more than the interval, so that the snapshot before is in reach of a late one.
        let reach = match &snapshot.fleet {
            Some(_) => FLEET_REACH,
            None => window.saturating_add(snapshot.interval.saturating_mul(5) / 4),
        };
        if reach != self.reach {
            self.reach = reach;
            let rows = all_rows(&mut self.processes, &mut self.groups, self.wakeups.clock);
            rows.chain(self.held.rows_mut())
                .for_each(|(_, row)| row.set_reach(reach));
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
            retention: self.retention.retention,
            has_room: !self.retention.is_short,
            is_doubtful: false,
        };
        self.last_tick = Some(tick);
        tick
    }

    /// Moves processes to the ended ones.
    fn end(&mut self, mut ids: Vec<Identity>, pass: &Pass<'_>) {
        // Hash tables iterate in random order, but histories must be reproducible.
        ids.sort_unstable();
        for id in ids {
            let Some(process) = self.processes.remove(&id) else {
                continue;
            };
            self.growing.remove(&id);
            self.held.remove(id);
            process.row.rested(pass.rested);
            if !pass.is_whole {
                process
                    .contribution()
                    .iter()
                    .for_each(|part| self.groups.subtract(part));
                self.process_bytes -= process.counted_bytes as usize;
                self.without_past -= usize::from(process.is_counted_without_past);
            }
            let is_memorable = process.is_memorable(pass.snapshot.system.mem_total.ok());
            let command = self.groups.command(&process.membership);
            if pass.snapshot.fleet.is_none() {
                let (command, first) = (command.clone(), self.first);
                let seen = [pass.rested.now, pass.tick.now];
                self.kill_watch
                    .process_ended(id, &process, command, is_memorable, first, seen);
            }
            if is_memorable {
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

    /// Returns the groups that count the memory of a process, if it precedes `than` in this snapshot.
    fn counted_in(&self, id: Identity, than: &ProcessSample, pass: &Pass<'_>) -> GroupNumbers {
        let is_earlier = |process: &ProcessHistory| {
            let rests = || !pass.is_whole && id.pid < than.id.pid && !pass.removed().contains(&id);
            process.seen_in == self.number || rests()
        };
        match self.processes.get(&id) {
            Some(process) if is_earlier(process) && process.row.known().is_some() => process.membership.groups,
            _ => Membership::NONE,
        }
    }

    /// Starts to add a snapshot in steps. [`Self::push`] does all steps at once.
    pub(crate) fn begin<'a>(&mut self, snapshot: &'a Snapshot) -> Push<'a> {
        self.start(snapshot, true)
    }

    /// Does the next step, with at most `rows` rows; returns false once only [the last](Self::finish) is left. Until then each
    /// row and group is of this snapshot or of the one before.
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

    fn start<'a>(&mut self, snapshot: &'a Snapshot, may_rest: bool) -> Push<'a> {
        if self.last.as_ref().is_some_and(|last| !last.precedes(snapshot)) {
            *self = Self::with_config(self.config);
        }
        self.check_kept(snapshot);
        self.suspends.push(snapshot);
        let tick = self.start_tick(snapshot);
        self.system.push(snapshot, tick);
        self.parts.push(snapshot, tick);
        self.inspected.push(snapshot, tick);
        self.kernel.push(snapshot, tick);
        let Ok(processes) = &snapshot.processes else {
            return Push(None);
        };
        if self.groups.has_room_again() {
            let all = self.processes.values_mut();
            all.for_each(|process| process.membership.is_found = false);
            self.wakeups.is_whole = true;
        }
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
            // Reserve at once, as growing step by step fragments the heap.
            self.processes
                .reserve(processes.len().saturating_sub(self.processes.len()));
        }
        Push(Some(pass))
    }

    /// Pushes at most `most` processes; returns true if more are left.
    fn push_rows(&mut self, push: &mut Push<'_>, most: usize, choose: impl Fn(&ProcessSample) -> Option<bool>) -> bool {
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

    /// Does the steps after all processes are pushed: ends processes, pushes groups, and starts the queue of due rows.
    fn end_rows(&mut self, pass: &mut Pass<'_>) {
        (self.pushed, self.moved) = (pass.places.take(), std::mem::take(&mut pass.moved));
        let ended = if pass.is_whole {
            let all = self.processes.iter();
            let unseen = all.filter(|(_, process)| process.seen_in != self.number);
            unseen.map(|(id, _)| *id).collect()
        } else {
            pass.removed().to_vec()
        };
        self.end(ended, pass);
        let parts = self.processes.values().filter_map(|process| process.contribution());
        self.groups.find_starts(parts);
        self.groups.finish_snapshot(pass.tick, pass.rested, &mut self.scheduler);
        let about = |id| {
            let process = self.processes.get(&id)?;
            Some((process.membership.groups, process.row.change().cpu.unwrap_or(0.0)))
        };
        self.held.finish(pass.tick, &self.groups, about, &mut self.scheduler);
        self.wakeups.clock = pass.tick.into();
        self.parts.queue(&mut self.scheduler);
        self.inspected.queue(&mut self.scheduler);
        self.kernel.queue(&mut self.scheduler);
        pass.queue = Some(self.scheduler.take_queue());
    }

    /// Judges at most `most` more due rows within the budget; returns false once it is used up or no row is left.
    fn judge_some(&mut self, pass: &mut Pass<'_>, most: usize) -> bool {
        let queue = pass.queue.as_deref().unwrap_or_default();
        let until = pass.judged.saturating_add(most).min(queue.len());
        while pass.judged < until && self.scheduler.budget > 0 {
            self.judge(queue[pass.judged].row);
            pass.judged += 1;
        }
        pass.judged == until && until < queue.len()
    }

    /// Does the remaining steps.
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
            self.page_table_holders.push(pass.snapshot, &self.parts);
            self.push_charged(pass.snapshot);
            self.find_dangers(pass.snapshot);
            self.find_stalls(pass.snapshot);
            self.find_kills(pass.snapshot);
        }
        self.shortfall.processes = self.without_past;
        let bytes = self.process_bytes + self.bytes_without_processes();
        self.own_bytes = bytes as u64;
        self.bound_memory(pass.tick, bytes);
    }

    /// Judges one row, even if it is not due.
    fn judge(&mut self, row: RowNumber) {
        let scheduler = &mut self.scheduler;
        match row {
            RowNumber::Part(number) => self.parts.judge(number, scheduler, &self.kernel.slab),
            RowNumber::Inspected(number) => self.inspected.judge(number, scheduler),
            RowNumber::Mount(number) => self.kernel.mounts.judge(number, scheduler, None),
            RowNumber::Slab(number) => self.kernel.slab.judge(number, scheduler, self.parts.resident()),
            RowNumber::Site(number) => self.kernel.sites.judge(number, scheduler, None),
            RowNumber::Group(number) => self.groups.judge(number, scheduler),
            RowNumber::Population(number) => self.groups.judge_number(number, scheduler),
            RowNumber::HeldGroup(number) => self.held.judge_group(number, scheduler),
            RowNumber::Held(id) => {
                let started_at = self.processes.get(&id).and_then(|process| process.started_at);
                self.held.judge(id, scheduler, started_at);
            }
            RowNumber::Process(id) => {
                let Some(process) = self.processes.get_mut(&id) else {
                    return;
                };
                process.row.rested(self.wakeups.clock);
                process.row.evaluate(scheduler, None, process.started_at);
                // Count the log of growth at once, or the memory bound would be noticed too late.
                let counted = process.bytes() as u32;
                self.process_bytes += counted as usize;
                self.process_bytes -= std::mem::replace(&mut process.counted_bytes, counted) as usize;
                if process.row.is_growing() {
                    self.growing.insert(id);
                } else {
                    self.growing.remove(&id);
                }
            }
        }
    }

    /// Judges every row now, rather than in turns: for a history that gets no more snapshots.
    pub fn judge_all(&mut self) {
        let all: Vec<_> = self.rows_mut().map(|(row, _)| row).collect();
        for row in all {
            self.judge(row);
        }
        for number in self.groups.changing() {
            self.judge(RowNumber::Population(number));
        }
    }

    /// Returns the rows of all kinds.
    fn rows_mut(&mut self) -> impl Iterator<Item = (RowNumber, &mut RowHistory)> {
        all_rows(&mut self.processes, &mut self.groups, self.wakeups.clock)
            .chain(self.parts.rows_mut())
            .chain(self.kernel.rows_mut())
            .chain(self.held.rows_mut())
    }

    /// Keeps within the memory bound. Drops the least important data first.
    fn bound_memory(&mut self, tick: Tick, mut bytes: usize) {
        while self.retention.is_exceeded(bytes)
            && let Some(freed) = self.ended.drop_oldest()
        {
            bytes -= freed.min(bytes);
        }
        if self.retention.is_exceeded(bytes) {
            bytes -= self.groups.drop_empty().min(bytes);
        }
        while let Some(retention) = self.retention.adjust(bytes, tick.now) {
            self.rows_mut().for_each(|(_, row)| row.set_retention(retention));
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
        self.shortfall = Shortfall {
            processes: self.shortfall.processes,
            groups: self.groups.without_past(),
            retention: self.retention.retention,
            excess: bytes.saturating_sub(self.retention.max),
            waiting: self.scheduler.waiting,
            longest_wait: Duration::from_secs(self.scheduler.longest_wait.into()),
        };
    }
}

/// Returns the rows of all processes and groups.
fn all_rows<'a>(
    processes: &'a mut HashMap<Identity, Box<ProcessHistory>>,
    groups: &'a mut GroupHistories,
    clock: Clock,
) -> impl Iterator<Item = (RowNumber, &'a mut RowHistory)> {
    let processes = processes.iter_mut();
    let processes = processes.map(move |(id, process)| {
        process.row.rested(clock);
        (RowNumber::Process(*id), &mut process.row)
    });
    let groups = groups.rows_mut();
    processes.chain(groups.map(|(number, row)| (RowNumber::Group(number), row)))
}

/// The processes to push with the next snapshot.
#[derive(Debug, Default)]
pub(super) struct Wakeups {
    /// [`Snapshot::tick`] of the last snapshot with processes.
    tick: Option<u64>,
    /// The time of that snapshot.
    pub(super) clock: Clock,
    /// All processes are to be pushed, as all were modified.
    is_whole: bool,
    /// The processes that do not rest.
    active: Vec<Identity>,
    /// The others, by the second at which their judgement is due.
    due: BTreeMap<u32, Vec<Identity>>,
}

impl Wakeups {
    /// The memory per process, in bytes: one list entry and spare capacity.
    pub(super) const BYTES_PER_PROCESS: usize = 2 * size_of::<Identity>();

    /// Removes and returns the processes that do not rest, and those due by `now`, with the second at which they are due.
    fn take(&mut self, now: u32) -> impl Iterator<Item = (Identity, Option<u32>)> + use<> {
        let active = std::mem::take(&mut self.active).into_iter().map(|id| (id, None));
        let later = self.due.split_off(&now.saturating_add(1));
        let due = std::mem::replace(&mut self.due, later).into_iter();
        active.chain(due.flat_map(|(due, ids)| ids.into_iter().map(move |id| (id, Some(due)))))
    }

    /// Schedules a process that was pushed in the second `now`.
    fn pushed(&mut self, sample: &ProcessSample, process: &mut ProcessHistory, now: u32) {
        // The contribution of a process with a shared address space depends on other processes.
        process.row.evaluation.is_resting = process.is_chosen && sample.shares_mm.is_none() && process.row.can_rest();
        if !process.row.evaluation.is_resting {
            self.active.push(sample.id);
        } else if let Some(due) = process.row.evaluation.due() {
            // The budget may leave out a process that is due now, which then has to be queued again.
            let due = due.max(now);
            if std::mem::replace(&mut process.wakes_at, due) != due {
                self.due.entry(due).or_default().push(sample.id);
            }
        }
    }
}
