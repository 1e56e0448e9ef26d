//! Reader threads and their queues.
//!
//! As many threads read as there are cores. One whose read does not return is left where it is and another
//! takes its place, up to a cap; one that comes back to find enough others waiting ends. Nobody ever waits
//! for a thread: they are detached, and those that wait for work end when the pool is dropped.
//!
//! Reads of what was never read before may be stuck at most `max_stuck` at a time, so that the other
//! threads are left for what is known to answer; and one thread is always left for glances.

mod state;

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use state::{Running, State};
use tokio::sync::Notify;

use super::job::{Ground, Job, Outcome, Token};
use crate::proc::{files, own};

/// What a reader's buffer holds: any one record of `/proc` that zmtop reads.
const BUFFER: usize = 64 << 10;
/// Enough for a name service's own code; only what is touched costs memory.
const STACK: usize = 256 << 10;
/// Work that is worth a thread of its own.
const SHARE: Duration = Duration::from_millis(5);
/// A read that takes longer than this and does not run on a processor is taken for blocked.
const BLOCKED: Duration = Duration::from_millis(25);
/// A read that takes longer than this is taken for blocked even if it runs.
const LONG: Duration = Duration::from_millis(200);

/// Which jobs to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Those of class `Urgent`.
    Urgent,
    /// All.
    All,
}

/// The threads and their queues.
#[derive(Debug)]
pub(super) struct Pool {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    ground: Ground,
    threads: usize,
    nice: u8,
    state: Mutex<State>,
    work: Condvar,
    done: Notify,
}

impl Pool {
    /// A pool whose threads start with the first job.
    pub(super) fn new(ground: Ground, threads: usize, max_stuck: usize, nice: u8) -> Self {
        Self {
            shared: Arc::new(Shared {
                ground,
                threads,
                nice,
                state: Mutex::new(State::new(threads, max_stuck)),
                work: Condvar::new(),
                done: Notify::new(),
            }),
        }
    }

    /// Queues jobs.
    pub(super) fn submit(&self, jobs: impl IntoIterator<Item = Job>) {
        let mut state = self.shared.lock();
        let mut expected = Duration::ZERO;
        for job in jobs {
            expected += job.expected();
            state.queue(job);
        }
        let alive = state.alive();
        drop(state);
        if expected.is_zero() {
            return;
        }
        // A thread woken for a moment's work costs more than it saves. Should one be blocked, `supervise`
        // wakes the rest.
        let wanted = (expected.as_nanos() / SHARE.as_nanos()) as usize + 1;
        let wanted = wanted.min(self.shared.threads);
        self.shared.start(wanted.saturating_sub(alive));
        if wanted < self.shared.threads {
            (0..wanted).for_each(|_| self.shared.work.notify_one());
        } else {
            self.shared.work.notify_all();
        }
    }

    /// What came since the last call.
    pub(super) fn drain(&self, into: &mut Vec<Outcome>) {
        std::mem::swap(&mut self.shared.lock().outcomes, into);
    }

    /// Returns when something waited for may have come; never before it was called.
    pub(super) async fn came(&self) {
        self.shared.done.notified().await;
    }

    /// Whether there is nothing left to wait for: all is done, or what is not has been stuck for `patience`
    /// and nothing else can be started.
    pub(super) fn settled(&self, wait: Wait, patience: Duration) -> bool {
        self.shared.lock().settled(wait, own::monotonic(), patience)
    }

    /// Waits no longer for reads that have taken longer than `patience`; what they give is still taken in.
    pub(super) fn give_up(&self, patience: Duration) {
        self.shared.lock().give_up(own::monotonic(), patience);
    }

    /// Since when each read under way has been so.
    pub(super) fn running(&self) -> HashMap<Token, Duration> {
        self.shared.lock().running.iter().map(|r| (r.token, r.since)).collect()
    }

    /// How many threads there are.
    pub(super) fn threads(&self) -> usize {
        self.shared.lock().alive()
    }

    /// Starts threads in place of those that are blocked, if there is work for them.
    pub(super) fn supervise(&self) {
        let now = own::monotonic();
        let suspects: Vec<Running> = {
            let state = self.shared.lock();
            if !state.has_work() {
                return;
            }
            let taking = |r: &&Running| now.saturating_sub(r.since) > BLOCKED;
            state.running.iter().filter(taking).copied().collect()
        };
        let blocked = suspects
            .iter()
            .filter(|r| now.saturating_sub(r.since) > LONG || !is_on_cpu(r.tid))
            .count();
        let free = self.shared.lock().alive().saturating_sub(blocked);
        let wanted = match free {
            // Nobody is left: where some are stuck there may be many more behind them.
            0 => self.shared.threads.max(blocked),
            n => self.shared.threads.saturating_sub(n),
        };
        self.shared.start(wanted);
        // A limit that kept threads waiting may be lifted by now.
        self.shared.work.notify_all();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.lock().close();
        self.shared.work.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts up to `wanted` threads, within the cap. Where the system gives none the pool goes on with
    /// those it has and tries again.
    fn start(self: &Arc<Self>, wanted: usize) {
        for _ in 0..wanted {
            let Some(number) = self.lock().enter() else { return };
            let shared = Arc::clone(self);
            let started = std::thread::Builder::new()
                .name(format!("zmtop-read-{number}"))
                .stack_size(STACK)
                .spawn(move || shared.read(number));
            if let Err(e) = started {
                tracing::warn!(%e, "no reader thread");
                self.lock().leave(number);
                return;
            }
        }
    }

    /// The life of a reader.
    fn read(&self, number: usize) {
        if self.nice > 0 {
            // Of this thread alone. Who may not be nicer goes on as before.
            let _ = rustix::process::setpriority_process(None, self.nice.into());
        }
        let mut buf = vec![0; BUFFER];
        let tid = rustix::thread::gettid();
        let mut finished = None;
        while let Some(job) = self.next(number, tid, finished.take()) {
            let outcome = job.run(&self.ground, &mut buf, |early| self.lock().outcomes.push(early));
            finished = Some(outcome);
        }
    }

    /// Hands in what was found and takes the next job; `None` where there is no more need of this thread.
    fn next(&self, number: usize, tid: rustix::thread::Pid, finished: Option<Outcome>) -> Option<Job> {
        let now = own::monotonic();
        let mut state = self.lock();
        if let Some(outcome) = finished {
            let wakes = matches!(outcome, Outcome::List(..));
            state.outcomes.push(outcome);
            if state.finish(number) || wakes {
                self.done.notify_one();
            }
        }
        let mut now = Some(now);
        loop {
            if let Some(job) = state.take(number, tid, now.take().unwrap_or_else(own::monotonic)) {
                return Some(job);
            }
            if state.closed || state.idle >= self.threads {
                state.leave(number);
                return None;
            }
            state.idle += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }
}

/// Whether a thread of this process runs or waits for a processor, rather than for something else.
pub(super) fn is_on_cpu(tid: rustix::thread::Pid) -> bool {
    let path = format!("/proc/self/task/{}/stat", tid.as_raw_nonzero());
    let mut buf = [0; 512];
    files::slurp(path.as_bytes(), &mut buf)
        .ok()
        .and_then(|bytes| crate::proc::stat::parse(bytes, 1).ok())
        .is_some_and(|glance| glance.stat.state == b'R')
}
