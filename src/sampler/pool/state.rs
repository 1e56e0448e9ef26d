//! The queues, and who is at what. All under one lock, held for moments.

use std::collections::VecDeque;
use std::time::Duration;

use super::Wait;
use crate::sampler::job::{CLASSES, Class, Job, Outcome, Token};

/// A read under way.
#[derive(Clone, Copy, Debug)]
pub(in crate::sampler) struct Running {
    number: usize,
    pub(super) tid: rustix::thread::Pid,
    pub(super) token: Token,
    class: Class,
    /// On the monotonic clock.
    pub(super) since: Duration,
    /// Whether anyone still waits for it.
    awaited: bool,
}

/// The queues and the threads.
pub(super) struct State {
    queues: [VecDeque<Job>; CLASSES],
    pub(super) running: Vec<Running>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) idle: usize,
    alive: usize,
    started: usize,
    cap: usize,
    max_new: usize,
    /// How many jobs that are not urgent were taken.
    turns: usize,
    pub(super) closed: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("queued", &self.queued())
            .field("running", &self.running)
            .field("alive", &self.alive)
            .finish_non_exhaustive()
    }
}

impl State {
    pub(super) fn new(threads: usize, max_stuck: usize) -> Self {
        Self {
            queues: Default::default(),
            running: Vec::new(),
            outcomes: Vec::new(),
            idle: 0,
            alive: 0,
            started: 0,
            cap: threads + max_stuck,
            max_new: max_stuck.max(1),
            turns: 0,
            closed: false,
        }
    }

    pub(super) fn queue(&mut self, job: Job) {
        self.queues[job.class() as usize].push_back(job);
    }

    pub(super) fn queued(&self) -> usize {
        self.queues.iter().map(VecDeque::len).sum()
    }

    pub(super) const fn alive(&self) -> usize {
        self.alive
    }

    /// Counts a thread in and numbers it; `None` where there may be no more.
    pub(super) fn enter(&mut self) -> Option<usize> {
        if self.closed || self.alive >= self.cap {
            return None;
        }
        self.alive += 1;
        self.started += 1;
        Some(self.started)
    }

    /// Counts a thread out.
    pub(super) fn leave(&mut self, number: usize) {
        self.running.retain(|r| r.number != number);
        self.alive = self.alive.saturating_sub(1);
    }

    /// No more work: threads end as they come back.
    pub(super) fn close(&mut self) {
        self.closed = true;
        for queue in &mut self.queues {
            queue.clear();
        }
    }

    /// The class whose turn it is, if one may be started. Known walks go first, but for every fourth turn:
    /// where they take longer than the interval there is always another, and who is new would never be
    /// walked or have a command line.
    fn turn(&self) -> Option<usize> {
        let ready = |class: Class| !self.queues[class as usize].is_empty();
        if ready(Class::Urgent) {
            return Some(Class::Urgent as usize);
        }
        let heavy = self.running.iter().filter(|r| r.class != Class::Urgent).count();
        if heavy + 1 >= self.cap.max(2) {
            return None;
        }
        let untried = |r: &&Running| matches!(r.class, Class::New | Class::Facts);
        let full = self.running.iter().filter(untried).count() >= self.max_new;
        let order = match self.turns % 8 {
            3 => [Class::New, Class::Facts, Class::Known],
            7 => [Class::Facts, Class::New, Class::Known],
            _ => [Class::Known, Class::New, Class::Facts],
        };
        let next = order.into_iter().find(|c| ready(*c) && (*c == Class::Known || !full));
        next.map(|class| class as usize)
    }

    /// Whether a thread that came now would find something to do.
    pub(super) fn has_work(&self) -> bool {
        self.turn().is_some()
    }

    /// Takes the next job.
    pub(super) fn take(&mut self, number: usize, tid: rustix::thread::Pid, now: Duration) -> Option<Job> {
        let at = self.turn()?;
        let job = self.queues[at].pop_front()?;
        if at != Class::Urgent as usize {
            self.turns = self.turns.wrapping_add(1);
        }
        self.running.push(Running {
            number,
            tid,
            token: job.token(),
            class: job.class(),
            since: now,
            awaited: true,
        });
        Some(job)
    }

    /// Notes that a thread's job is done; says whether that was the last of those waited for.
    pub(super) fn finish(&mut self, number: usize) -> bool {
        let Some(at) = self.running.iter().position(|r| r.number == number) else {
            return false;
        };
        let done = self.running.swap_remove(at);
        done.awaited && (self.none_left(Wait::All) || (done.class == Class::Urgent && self.none_left(Wait::Urgent)))
    }

    fn none_left(&self, wait: Wait) -> bool {
        self.waiting(wait).all(VecDeque::is_empty) && !self.running.iter().any(|r| r.awaited && wait.covers(r.class))
    }

    fn waiting(&self, wait: Wait) -> impl Iterator<Item = &VecDeque<Job>> {
        self.queues.iter().take(match wait {
            Wait::Urgent => 1,
            Wait::All => CLASSES,
        })
    }

    /// See [`super::Pool::settled`].
    pub(super) fn settled(&self, wait: Wait, now: Duration, patience: Duration) -> bool {
        if self.none_left(wait) {
            return true;
        }
        let hopeful = |r: &Running| r.awaited && now.saturating_sub(r.since) < patience;
        if self.running.iter().any(hopeful) {
            return false;
        }
        let startable = self.waiting(wait).any(|q| !q.is_empty()) && self.has_work();
        // With every thread stuck and no other allowed, what is queued must wait.
        !startable || (self.alive >= self.cap && self.running.len() >= self.alive)
    }

    /// See [`super::Pool::give_up`].
    pub(super) fn give_up(&mut self, now: Duration, patience: Duration) {
        for r in &mut self.running {
            if now.saturating_sub(r.since) >= patience {
                r.awaited = false;
            }
        }
    }
}

impl Wait {
    fn covers(self, class: Class) -> bool {
        self == Self::All || class == Class::Urgent
    }
}
