//! The queues, and which thread reads what. All under one lock, held for moments.

use std::collections::VecDeque;
use std::time::Duration;

use super::is_on_cpu;
use super::work::{Priority, Scope, Work};

/// Deadlines that a read may take in [`super::Pool::collect`] as long as it runs: the kernel walks one huge area
/// in one go, at some 10 GB a second.
const DEADLINES_WHILE_RUNNING: u32 = 60;

/// Jobs for which a queue keeps room while it is empty: the first tick queues several for each process.
pub(super) const IDLE_CAPACITY: usize = 1024;

/// A read under way.
#[derive(Clone, Copy)]
pub(super) struct Running<K> {
    /// The thread's number in the pool, and its id in the kernel.
    number: usize,
    pub(super) tid: rustix::thread::Pid,
    pub(super) key: K,
    priority: Priority,
    /// When it began or last made progress, on the monotonic clock.
    pub(super) since: Duration,
    /// Somebody still waits for it.
    is_awaited: bool,
    /// It was answered for; what it gives is dropped.
    is_abandoned: bool,
}

/// The queues and the threads.
pub(super) struct State<W: Work> {
    queues: [VecDeque<W>; Priority::COUNT],
    pub(super) running: Vec<Running<W::Key>>,
    pub(super) outputs: Vec<W::Output>,
    pub(super) idle: usize,
    alive: usize,
    started: usize,
    /// The most threads that may be alive.
    cap: usize,
    /// The most reads under way that may never return.
    max_untried: usize,
    /// A counter of the jobs taken that were not urgent.
    turns: usize,
    pub(super) closed: bool,
}

impl<W: Work> State<W> {
    pub(super) fn new(threads: usize, max_stuck: usize) -> Self {
        Self {
            queues: std::array::from_fn(|_| VecDeque::new()),
            running: Vec::new(),
            outputs: Vec::new(),
            idle: 0,
            alive: 0,
            started: 0,
            cap: threads + max_stuck,
            max_untried: max_stuck.max(1),
            turns: 0,
            closed: false,
        }
    }

    /// Queues a job and returns about how long it takes.
    pub(super) fn queue(&mut self, job: W) -> Duration {
        let (priority, expected) = job.profile();
        self.queues[priority as usize].push_back(job);
        expected
    }

    pub(super) const fn alive(&self) -> usize {
        self.alive
    }

    /// Counts a thread in and returns its number; `None` where there may be no more.
    pub(super) fn add_thread(&mut self) -> Option<usize> {
        if self.closed || self.alive >= self.cap {
            return None;
        }
        self.alive += 1;
        self.started += 1;
        Some(self.started)
    }

    /// Counts a thread out.
    pub(super) fn remove_thread(&mut self, number: usize) {
        self.running.retain(|r| r.number != number);
        self.alive = self.alive.saturating_sub(1);
    }

    /// Drops the work there is and takes no more: threads end as they come back.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.clear();
    }

    /// Empties the queues and returns what was in them.
    pub(super) fn clear(&mut self) -> Vec<W> {
        self.queues.iter_mut().flat_map(std::mem::take).collect()
    }

    /// Returns the queue whose turn it is, if a job of it may be started. Known reads go first, but for every
    /// fourth turn: where they take longer than the interval there is always another, and a new process would
    /// never be walked or have a command line.
    fn next_queue(&self) -> Option<usize> {
        let ready = |priority: Priority| !self.queues[priority as usize].is_empty();
        if ready(Priority::Urgent) {
            return Some(Priority::Urgent as usize);
        }
        let others = self.running.iter().filter(|r| r.priority != Priority::Urgent).count();
        // One thread is always left for what is urgent.
        if others + 1 >= self.cap.max(2) {
            return None;
        }
        let untried = |r: &&Running<W::Key>| matches!(r.priority, Priority::New | Priority::Background);
        // The other threads are left for reads that are known to return.
        let full = self.running.iter().filter(untried).count() >= self.max_untried;
        let order = match self.turns % 8 {
            3 => [Priority::New, Priority::Background, Priority::Known],
            7 => [Priority::Background, Priority::New, Priority::Known],
            _ => [Priority::Known, Priority::New, Priority::Background],
        };
        let next = order
            .into_iter()
            .find(|p| ready(*p) && (*p == Priority::Known || !full));
        next.map(|priority| priority as usize)
    }

    /// Returns true if a thread that came now would find something to do.
    pub(super) fn has_work(&self) -> bool {
        self.next_queue().is_some()
    }

    /// Takes the next job.
    pub(super) fn take(&mut self, number: usize, tid: rustix::thread::Pid, now: Duration) -> Option<W> {
        let at = self.next_queue()?;
        let job = self.queues[at].pop_front()?;
        if at != Priority::Urgent as usize {
            self.turns = self.turns.wrapping_add(1);
        }
        self.running.push(Running {
            number,
            tid,
            key: job.key(),
            priority: job.profile().0,
            since: now,
            is_awaited: true,
            is_abandoned: false,
        });
        Some(job)
    }

    /// Restarts the deadline of a thread's read.
    pub(super) fn progress(&mut self, number: usize, now: Duration) {
        if let Some(running) = self.running.iter_mut().find(|r| r.number == number) {
            running.since = now;
        }
    }

    /// Takes in what a thread's job gave; returns true if that was the last of those waited for.
    pub(super) fn finish(&mut self, number: usize, output: W::Output) -> bool {
        let Some(at) = self.running.iter().position(|r| r.number == number) else {
            return false;
        };
        let done = self.running.swap_remove(at);
        if !done.is_abandoned {
            self.outputs.push(output);
        }
        let is_last = |scope| self.is_done(scope);
        done.is_awaited && (is_last(Scope::All) || (done.priority == Priority::Urgent && is_last(Scope::Urgent)))
    }

    fn is_done(&self, scope: Scope) -> bool {
        self.queued(scope).all(VecDeque::is_empty)
            && !self.running.iter().any(|r| r.is_awaited && scope.covers(r.priority))
    }

    fn queued(&self, scope: Scope) -> impl Iterator<Item = &VecDeque<W>> {
        self.queues.iter().take(match scope {
            Scope::Urgent => 1,
            Scope::All => Priority::COUNT,
        })
    }

    /// See [`super::Pool::is_settled`].
    pub(super) fn is_settled(&self, scope: Scope, now: Duration, stall: Duration) -> bool {
        if self.is_done(scope) {
            return true;
        }
        let may_come = |r: &Running<W::Key>| r.is_awaited && now.saturating_sub(r.since) < stall;
        if self.running.iter().any(may_come) {
            return false;
        }
        let startable = self.queued(scope).any(|q| !q.is_empty()) && self.has_work();
        // With every thread stuck and no other allowed, what is queued must wait.
        !startable || (self.alive >= self.cap && self.running.len() >= self.alive)
    }

    /// See [`super::Pool::stop_waiting`].
    pub(super) fn stop_waiting(&mut self, now: Duration, stall: Duration) {
        for queue in &mut self.queues {
            if queue.capacity() > IDLE_CAPACITY && queue.is_empty() {
                *queue = VecDeque::new();
            }
        }
        for r in &mut self.running {
            r.is_awaited &= now.saturating_sub(r.since) < stall;
        }
    }

    /// Abandons reads that are silent for longer than `deadline` and do not run, and returns their keys.
    pub(super) fn abandon(&mut self, now: Duration, deadline: Duration) -> Vec<W::Key> {
        let is_stuck = |r: &&mut Running<W::Key>| {
            let silent = now.saturating_sub(r.since);
            let runs = || silent <= deadline * DEADLINES_WHILE_RUNNING && is_on_cpu(r.tid);
            !r.is_abandoned && silent > deadline && !runs()
        };
        let stuck = self.running.iter_mut().filter(is_stuck);
        stuck
            .map(|r| {
                (r.is_awaited, r.is_abandoned) = (false, true);
                r.key
            })
            .collect()
    }
}
