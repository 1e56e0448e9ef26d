//! Finds the processes that may be walked, without a look at each in every tick.
//!
//! A process is *near* when its turn has come or something of it changed: the planner gets these alone. The rest wait in
//! order of the time at which their turn comes. A bound also changes by what others do: after any such event all are looked
//! at once, a part in each tick, those in focus always.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use super::Table;
use super::process::Process;
use crate::model::{Identity, Memory, Walk};
use crate::sampler::plan::{self, Candidate, Policy, Purpose};

/// Time on the clock above which a walk is slow: its memory lock is contended, or it is huge.
const SLOW: Duration = Duration::from_millis(100);
/// Multiple of a slow walk's time for which the process is left alone, so that the lock is held a tenth of
/// the time at most.
const SLOW_REST: u32 = 10;
/// Ticks over which all are looked at after an event, and the least that are in one tick.
const SWEEP_TICKS: usize = 4;
const MIN_SWEEP: usize = 256;
/// Idle processes of one kind, those with the earliest turns, that the planner chooses from in a tick. Their shares pay for
/// fewer.
const MAX_RIPE: usize = 128;

/// A time to come, with the process that it is a turn of, by pid and serial.
type Key = (Duration, u32, u64);
/// The kinds of turns: idle processes by what a walk costs, so that those for which there is nothing left do not stand
/// before others; and due ones.
const KINDS: usize = Purpose::IDLE_KINDS + 1;
const DUE: usize = KINDS - 1;

/// The turns of all processes.
#[derive(Default)]
pub(super) struct Turns {
    /// Processes to be looked at in the next tick.
    near: BTreeSet<u32>,
    /// The turns to come, of each kind.
    later: [BTreeSet<Key>; KINDS],
    /// The count of events at which the last look at all began, the pid that it has got to, and true until it is through.
    events: u64,
    next: u32,
    is_sweeping: bool,
}

impl Turns {
    /// Puts a process on the list of a kind at a time, or on none, in place of where it is.
    fn put(&mut self, process: &mut Process, place: Option<(usize, Duration)>) {
        if process.turn == place {
            return;
        }
        let key = |at: Duration| (at, process.id.pid, process.serial);
        if let Some((kind, at)) = process.turn {
            self.later[kind].remove(&key(at));
        }
        if let Some((kind, at)) = place {
            self.later[kind].insert(key(at));
        }
        process.turn = place;
    }

    /// Adds to the near ones those whose turn has come.
    fn ripen(&mut self, now: Duration) {
        for (kind, later) in self.later.iter().enumerate() {
            let count = if kind == DUE { usize::MAX } else { MAX_RIPE };
            let ripe = later.iter().take_while(|(at, ..)| *at <= now).take(count);
            self.near.extend(ripe.map(|(_, pid, _)| *pid));
        }
    }
}

impl Table {
    /// Returns what the policy may know of each process whose turn may have come, beside its pid; in order of pid.
    pub(in crate::sampler) fn candidates(
        &mut self,
        now: Duration,
        focus: &HashSet<Identity>,
        policy: &Policy,
    ) -> (Vec<u32>, Vec<Candidate>) {
        let mut turns = std::mem::take(&mut self.turns);
        if policy.budget.is_none() {
            turns.near.extend(self.entries.keys());
        }
        // All that changes what the policy knows of a process touches it; what was touched since the last choice and
        // before the last snapshot is in the second.
        turns.near.extend(&self.buffers.touched);
        turns.near.extend(&self.buffers.touched_before);
        turns.near.extend(focus.iter().map(|id| id.pid));
        self.sweep(&mut turns);
        self.forget_ended(&mut turns);
        turns.ripen(now);

        let (mut pids, mut candidates) = (Vec::new(), Vec::new());
        let mut near = std::mem::take(&mut turns.near);
        near.retain(|pid| {
            let Some(entry) = self.entries.get_mut(pid) else {
                return false;
            };
            let Some(process) = &mut entry.process else {
                return false;
            };
            let has_news = process.look_at_sharers(&self.sharing);
            let c = process.candidate(entry.fault.is_none(), now, focus);
            let turn = policy.turn(&c);
            let age = c.age.unwrap_or_default();
            let is_able = c.walkable && !c.outstanding;
            let is_near = is_able && (age >= turn.from || policy.budget.is_none());
            let waits = is_able && (!is_near || turn.purpose == Purpose::Idle);
            let at = now.saturating_sub(age).saturating_add(turn.from);
            turns.put(
                process,
                waits.then(|| (turn.purpose.idle_kind(c.cost).unwrap_or(DUE), at)),
            );
            if has_news {
                entry.touch(*pid, &mut self.buffers.touched);
            }
            if is_near {
                pids.push(*pid);
                candidates.push(c);
            }
            is_near
        });
        turns.near = near;
        self.turns = turns;
        (pids, candidates)
    }

    /// Looks what others did to a part of the processes, and adds to the near ones those to which that matters.
    fn sweep(&mut self, turns: &mut Turns) {
        if !turns.is_sweeping && turns.events != self.sharing.events() {
            turns.events = self.sharing.events();
            turns.next = 0;
            turns.is_sweeping = true;
        }
        if !turns.is_sweeping {
            return;
        }
        let count = (self.entries.len() / SWEEP_TICKS + 1).max(MIN_SWEEP);
        turns.is_sweeping = self.entries.range(turns.next..).nth(count).is_some();
        for (pid, entry) in self.entries.range_mut(turns.next..).take(count) {
            let process = entry.process.as_deref_mut();
            if process.is_some_and(|p| p.look_at_sharers(&self.sharing)) {
                entry.touch(*pid, &mut self.buffers.touched);
                turns.near.insert(*pid);
            }
            turns.next = pid.saturating_add(1);
        }
    }

    /// Takes the turns of processes that have ended off the lists, once they are many.
    fn forget_ended(&self, turns: &mut Turns) {
        let count: usize = turns.later.iter().map(BTreeSet::len).sum();
        if count > 2 * self.entries.len() + MIN_SWEEP {
            let is_there = |(_, pid, serial): &Key| {
                let process = self.entries.get(pid).and_then(|e| e.process.as_deref());
                process.is_some_and(|p| p.serial == *serial)
            };
            turns.later.iter_mut().for_each(|later| later.retain(is_there));
        }
    }
}

impl Process {
    /// Returns what the policy may know. `is_glanced` is false where the last glance failed.
    pub(super) fn candidate(&self, is_glanced: bool, now: Duration, focus: &HashSet<Identity>) -> Candidate {
        let walk = self.walk().ok();
        let tolerance = walk.map_or(Walk::TOLERATED, |w| w.tolerance());
        let in_focus = focus.contains(&self.id);
        let estimate = in_focus.then(|| self.estimates.estimate()).flatten();
        let walked_at = walk.map(|w| w.at);
        Candidate {
            walkable: is_glanced && self.stat.lacks_memory().is_none(),
            outstanding: self.is_walking,
            // Asked in vain it is no new process any more.
            age: walked_at.or(self.attempted_at).map(|at| now.saturating_sub(at)),
            waited: now.saturating_sub(self.known_since),
            cost: self.expected_cost(),
            rest: if self.took > SLOW {
                self.took * SLOW_REST
            } else {
                Duration::ZERO
            },
            bound: if self.is_program_doubtful() {
                // However small it is: its names are another's too.
                u64::MAX
            } else {
                self.error()
            },
            ran: self.estimates.ran_unseen(),
            faulted: estimate.is_some_and(|e| e.faulted > tolerance),
            proven: estimate.is_some_and(|e| e.unproven <= tolerance),
            tolerance,
            externally_mutable: match (&walk, self.estimates.anchor()) {
                (Some(walk), anchor) if !anchor.is_some_and(|a| a.may_merge) => externally_mutable(&walk.memory),
                _ => u64::MAX,
            },
            focus: in_focus,
            was_idle: self.was_idle,
            place: self.serial,
        }
    }

    /// Returns the CPU time that its next walk is expected to take.
    pub(super) fn expected_cost(&self) -> Duration {
        self.cost.unwrap_or_else(|| plan::first_cost(self.stat.rss))
    }
}

/// Returns an upper bound on a PSS change caused by one process that comes or goes unseen, in bytes: the part that is
/// shared now, which at most doubles when a sharer leaves, or the file-backed and shmem pages that others may yet map,
/// whichever is more. Private anonymous pages stay private unless the process forks. `u64::MAX` where the kernel does not
/// split PSS (before Linux 5.4).
fn externally_mutable(memory: &Memory) -> u64 {
    match (memory.pss_file, memory.pss_shmem) {
        (Ok(file), Ok(shmem)) => memory.pss.saturating_sub(memory.uss()).max(file.saturating_add(shmem)),
        _ => u64::MAX,
    }
}
