//! Finds the processes that may be walked, without checking every process in every tick.
//!
//! A process is *near* if its turn has come or it has changed. Only near processes are passed to the planner. The
//! others wait in order of the time of their next turn. Changes by other processes also change a bound. After any
//! such event, all processes are checked: a part in each tick, and those in focus in every tick.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{Process, Table, process_of};
use crate::model::{Memory, Walk};
use crate::sampler::policy::plan::{self, Candidate, Policy, Purpose};

/// Elapsed time above which a walk is slow: its memory lock is contended, or the process is huge.
const SLOW: Duration = Duration::from_millis(100);
/// Multiple of a slow walk's time for which the process is left alone, so that the lock is held at most a tenth of
/// the time.
const SLOW_REST: u32 = 10;
/// Number of ticks over which all processes are checked after an event, and the minimum number checked per tick.
const SWEEP_TICKS: usize = 4;
const MIN_SWEEP: usize = 256;
/// Maximum number of idle processes of one kind, those with the earliest turns, from which the planner chooses in a
/// tick. Their shares pay for fewer.
const MAX_RIPE: usize = 128;

/// The time of a turn, with the pid and serial number of its process.
type Key = (Duration, u32, u64);
/// The kinds of turns: one for due processes, and several for idle ones, by the cost of a walk. So idle processes
/// whose budget is used up do not block others.
const KINDS: usize = Purpose::IDLE_KINDS + 1;
const DUE: usize = KINDS - 1;

#[derive(Default)]
pub(super) struct Turns {
    near: BTreeSet<u32>,
    later: [BTreeSet<Key>; KINDS],
    /// The event count when the last check of all processes started, the next pid to check, and true until the check
    /// ends.
    events: u64,
    next: u32,
    is_sweeping: bool,
    /// KSM merges pages of equal content, also of processes that were walked before it did.
    is_merging: bool,
}

impl Turns {
    /// Moves a process to the list of a kind at a time, or removes it from its list.
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

    /// Marks the processes whose turn has come as near.
    fn ripen(&mut self, now: Duration) {
        for (kind, later) in self.later.iter().enumerate() {
            let count = if kind == DUE { usize::MAX } else { MAX_RIPE };
            let ripe = later.iter().take_while(|(at, ..)| *at <= now).take(count);
            self.near.extend(ripe.map(|(_, pid, _)| *pid));
        }
    }
}

impl Table {
    /// Returns the pids of the processes whose turn may have come, in ascending order, each with its candidate for
    /// the policy. KSM runs if it `is_merging`.
    pub(crate) fn candidates(
        &mut self,
        now: Duration,
        policy: &Policy,
        is_merging: bool,
    ) -> (Vec<u32>, Vec<Candidate>) {
        let mut turns = std::mem::take(&mut self.turns);
        let changed = std::mem::replace(&mut turns.is_merging, is_merging) != is_merging;
        if changed || policy.budget.is_none() {
            turns.near.extend(self.entries.keys());
        }
        // Every change that affects the policy touches the process. `touched_before` holds those touched after the
        // last choice and before the last snapshot.
        turns.near.extend(&self.buffers.touched);
        turns.near.extend(&self.buffers.touched_before);
        turns.near.extend(self.focus.iter().map(|id| id.pid));
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
            let has_news = process.update_external(&self.sharing);
            let in_focus = self.focus.contains(&process.id);
            let c = process.candidate(entry.fault.is_none(), now, in_focus, is_merging);
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

    /// Updates the bounds on changes by others for a part of the processes. Those whose bound changed become near.
    fn sweep(&mut self, turns: &mut Turns) {
        if !turns.is_sweeping && turns.events != self.sharing.events {
            turns.events = self.sharing.events;
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
            if process.is_some_and(|p| p.update_external(&self.sharing)) {
                entry.touch(*pid, &mut self.buffers.touched);
                turns.near.insert(*pid);
            }
            turns.next = pid.saturating_add(1);
        }
    }

    /// Removes the turns of ended processes, once there are many.
    fn forget_ended(&self, turns: &mut Turns) {
        let count: usize = turns.later.iter().map(BTreeSet::len).sum();
        if count > 2 * self.entries.len() + MIN_SWEEP {
            let is_there =
                |(_, pid, serial): &Key| process_of(&self.entries, *pid).is_some_and(|p| p.serial == *serial);
            turns.later.iter_mut().for_each(|later| later.retain(is_there));
        }
    }
}

impl Process {
    /// Returns the state for the policy. `is_glanced` is false if the last glance failed.
    fn candidate(&self, is_glanced: bool, now: Duration, in_focus: bool, is_merging: bool) -> Candidate {
        let walk = self.walk().ok();
        let tolerance = walk.map_or(Walk::TOLERATED, |w| w.tolerance());
        let estimate = in_focus.then(|| self.estimates.estimate()).flatten();
        let walked_at = walk.map(|w| w.at);
        let has_lazy = |rss| walk.is_some_and(|walk| plan::is_much_lazy(walk.memory.lazy_alone(), rss));
        let may_merge = is_merging || self.estimates.anchor.as_ref().is_some_and(|a| a.may_merge);
        Candidate {
            walkable: is_glanced && self.stat.lacks_memory().is_none(),
            outstanding: self.is_walking,
            // After a failed walk, it is no longer a new process.
            age: walked_at.or(self.attempted_at).map(|at| now.saturating_sub(at)),
            waited: now.saturating_sub(self.known_since),
            grown: self.stat.rss.saturating_sub(self.first_rss),
            cost: self.expected_cost(),
            rest: if self.took > SLOW {
                self.took * SLOW_REST
            } else {
                Duration::ZERO
            },
            bound: if self.is_program_doubtful() {
                // Walk it however small it is, because its names may be outdated too.
                u64::MAX
            } else {
                self.error()
            },
            ran: self.estimates.ran_unseen(has_lazy(0)),
            lazy: has_lazy(self.stat.rss),
            faulted: estimate.is_some_and(|e| e.faulted > tolerance),
            proven: estimate.is_some_and(|e| e.unproven <= tolerance),
            tolerance,
            externally_mutable: walk
                .filter(|_| !may_merge)
                .map_or(u64::MAX, |walk| externally_mutable(&walk.memory)),
            focus: in_focus,
            was_idle: self.was_idle,
            place: self.serial,
            user: self.facts.facts.owner_uid().ok(),
        }
    }

    pub(super) fn expected_cost(&self) -> Duration {
        self.cost.unwrap_or_else(|| plan::first_cost(self.stat.rss))
    }
}

/// Returns an upper bound on a PSS change caused by one process that comes or goes unseen, in bytes. It is the larger
/// of two values: the part that is shared now, which at most doubles when a sharer leaves, and the files and shmem
/// that others may yet map. Private anonymous pages stay private unless the process forks. `u64::MAX` if the kernel
/// does not split PSS (before Linux 5.4).
fn externally_mutable(memory: &Memory) -> u64 {
    match (memory.pss_file, memory.pss_shmem) {
        (Ok(file), Ok(shmem)) => memory.pss.saturating_sub(memory.uss()).max(file.saturating_add(shmem)),
        _ => u64::MAX,
    }
}
