//! The upkeep of a history, at the end of each snapshot: judging in turn, and keeping within the memory bound.

use std::collections::HashMap;

use crate::history::History;
use crate::history::evaluation::{RowNumber, Turn};
use crate::history::figures::{Clock, Tick};
use crate::history::groups::GroupHistories;
use crate::history::process::ProcessHistory;
use crate::history::retention::Shortfall;
use crate::history::row::RowHistory;
use crate::model::process::Identity;

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
                RowNumber::Part(number) => self.parts.judge(number, &mut self.scheduler),
                RowNumber::Slab(number) => self.kernel.slab.judge(number, &mut self.scheduler),
                RowNumber::Site(number) => self.kernel.sites.judge(number, &mut self.scheduler),
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
        self.parts.judge_all(&mut self.scheduler);
        self.kernel.judge_all(&mut self.scheduler);
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
