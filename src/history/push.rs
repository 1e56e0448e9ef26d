//! Takes in snapshots: every process, or those at which something changes.

use std::collections::hash_map::Entry;

use crate::history::History;
use crate::history::ended::Ended;
use crate::history::evaluation::RowNumber;
use crate::history::figures::Tick;
use crate::history::groups::{GroupNumbers, Membership};
use crate::history::origin::Origin;
use crate::history::process::{ProcessHistory, start_time};
use crate::history::steps::Pass;
use crate::history::upkeep::all_rows;
use crate::history::window::ChangeWindow;
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;

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
        let is_steady = tick.now > rested && ChangeWindow::reaches(tick.window, rested, tick.now);
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
            let started_at = start_time(sample, pass.snapshot);
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
        process.push(sample, tick, self.number, pass.rested.now, unjudged);
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
        // A quarter more than the interval, as a snapshot may be late: a window must hold the one before.
        let window = self.config.window.max(snapshot.interval.saturating_mul(5) / 4);
        if window != self.window {
            self.window = window;
            all_rows(&mut self.processes, &mut self.groups, self.wakeups.clock).for_each(|(_, row)| row.clear_window());
            self.held.clear_windows();
        }
        self.scheduler.start_snapshot(now, interval);
        Tick {
            now,
            interval,
            window,
            retention: self.retention.retention(),
            has_room: self.retention.has_room(),
        }
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
