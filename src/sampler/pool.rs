//! A pool of reader threads with deadlines, for every kind of read.
//!
//! A read under `/proc` may block for ever: on a memory lock that is never let go, or on a page that never
//! arrives. So nobody ever waits for a thread. As many threads read as there are cores; one whose read
//! does not return is left where it is and another takes its place, up to a cap; one that comes back to
//! find enough others waiting ends. Threads are detached, and the idle ones end when the pool is dropped.
//!
//! A kind of work implements [`Work`]. The scanner submits jobs and awaits [`Pool::arrival`]; who needs
//! every answer before going on calls [`Pool::collect`], which blocks.

mod state;
mod work;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use state::{Running, State};
use tokio::sync::Notify;
pub(super) use work::{Priority, Scope, Work};

use super::Options;
use crate::model::Missing;
use crate::proc::{clock, files};

/// Bytes in a reader's buffer: any one record of `/proc` that zmtop reads fits.
const BUFFER: usize = 64 << 10;
/// Bytes of a reader's stack: enough for a name service's own code. Only what is touched costs memory.
const STACK: usize = 256 << 10;
/// Expected work for which it pays to wake one more thread: far above what waking costs, some 50 µs.
const WORK_PER_THREAD: Duration = Duration::from_millis(5);
/// A read that takes longer and does not run on a processor counts as blocked. Most take well below 1 ms.
const BLOCKED: Duration = Duration::from_millis(25);
/// A read that takes longer counts as blocked even if it runs: others must not wait for a huge process.
const LONG: Duration = Duration::from_millis(200);
/// Time between checks of [`Pool::collect`] for blocked threads: a little below [`BLOCKED`].
const POLL: Duration = Duration::from_millis(20);
/// A pool of threads and their queues.
pub(super) struct Pool<W: Work> {
    shared: Arc<Shared<W>>,
}

struct Shared<W: Work> {
    context: W::Context,
    threads: usize,
    nice: u8,
    state: Mutex<State<W>>,
    /// There is work for idle threads.
    work: Condvar,
    /// All that is waited for is done: for those who await it, and for those who block.
    arrival: Notify,
    settled: Condvar,
}

/// The thread that performs a read, as the read sees it.
pub(super) struct Worker<'a, W: Work> {
    shared: &'a Shared<W>,
    number: usize,
}

impl<W: Work> Worker<'_, W> {
    /// Tells that the read goes on: its deadline starts anew.
    pub(super) fn progress(&self) {
        let now = clock::monotonic();
        self.shared.lock().progress(self.number, now);
    }
}

impl<W: Work> Pool<W> {
    /// Creates a pool of up to `threads` threads, and some more for reads that are stuck. They start with the
    /// first job.
    pub(super) fn new(options: &Options, threads: usize, context: W::Context) -> Self {
        Self {
            shared: Arc::new(Shared {
                context,
                threads,
                nice: options.nice,
                state: Mutex::new(State::new(threads, options.max_stuck)),
                work: Condvar::new(),
                arrival: Notify::new(),
                settled: Condvar::new(),
            }),
        }
    }

    /// Starts all threads now, for who knows that there is work for all.
    pub(super) fn start(&self) {
        self.shared.start(self.shared.threads);
    }

    /// Queues jobs.
    pub(super) fn submit(&self, jobs: impl IntoIterator<Item = W>) {
        let mut state = self.shared.lock();
        let mut expected = Duration::ZERO;
        for job in jobs {
            expected += state.queue(job);
        }
        let alive = state.alive();
        drop(state);
        if expected.is_zero() {
            return;
        }
        // A thread woken for a moment's work costs more than it saves. Should one be blocked, `supervise`
        // wakes the rest.
        let wanted = (expected.as_nanos() / WORK_PER_THREAD.as_nanos()) as usize + 1;
        let wanted = wanted.min(self.shared.threads);
        self.shared.start(wanted.saturating_sub(alive));
        if wanted < self.shared.threads {
            (0..wanted).for_each(|_| self.shared.work.notify_one());
        } else {
            self.shared.work.notify_all();
        }
    }

    /// Moves what has come since the last call into `outputs`, which must be empty.
    pub(super) fn drain(&self, outputs: &mut Vec<W::Output>) {
        outputs.shrink_to(state::IDLE_CAPACITY);
        std::mem::swap(&mut self.shared.lock().outputs, outputs);
    }

    /// Returns when something that is waited for may have come, but never before it was called.
    pub(super) async fn arrival(&self) {
        self.shared.arrival.notified().await;
    }

    /// Returns true if there is nothing left to wait for: all is done, or what is not has been silent for
    /// `stall` and nothing else can be started.
    pub(super) fn is_settled(&self, scope: Scope, stall: Duration) -> bool {
        self.shared.lock().is_settled(scope, clock::monotonic(), stall)
    }

    /// Stops waiting for reads that have been silent for `stall`; what they give is still handed in.
    pub(super) fn stop_waiting(&self, stall: Duration) {
        self.shared.lock().stop_waiting(clock::monotonic(), stall);
    }

    /// Returns the reads under way, with the time each last made progress.
    pub(super) fn running(&self) -> HashMap<W::Key, Duration> {
        self.shared.lock().running.iter().map(|r| (r.key, r.since)).collect()
    }

    /// Returns how many threads there are.
    pub(super) fn threads(&self) -> usize {
        self.shared.lock().alive()
    }

    /// Starts threads in place of those that are blocked, if there is work for them.
    pub(super) fn supervise(&self) {
        let now = clock::monotonic();
        let suspects: Vec<Running<W::Key>> = {
            let state = self.shared.lock();
            if !state.has_work() {
                return;
            }
            let is_slow = |r: &&Running<W::Key>| now.saturating_sub(r.since) > BLOCKED;
            state.running.iter().filter(is_slow).copied().collect()
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

    /// Waits for all jobs and calls `each` with every output as it comes; `each` may break off. A read that
    /// is silent for longer than `deadline` is abandoned with its thread, though one that runs on a processor
    /// gets sixty times as long. In place of its output, and of those that no thread can be had for, `each`
    /// gets what `unread` makes of the key and the reason.
    pub(super) fn collect(
        &self,
        deadline: Duration,
        unread: impl Fn(W::Key, Missing) -> W::Output,
        mut each: impl FnMut(W::Output) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut outputs = Vec::new();
        loop {
            // Before the outputs are drained, so that none is missed when it is true.
            let settled = self.shared.wait_settled() || self.threads() == 0;
            self.drain(&mut outputs);
            let mut state = self.shared.lock();
            let late = state.abandon(clock::monotonic(), deadline).into_iter();
            outputs.extend(late.map(|key| unread(key, Missing::TimedOut)));
            if settled {
                let left = state.clear().into_iter();
                outputs.extend(left.map(|job| unread(job.key(), Missing::Pending)));
            }
            drop(state);
            for output in outputs.drain(..) {
                each(output)?;
            }
            if settled {
                return ControlFlow::Continue(());
            }
            self.supervise();
        }
    }
}

impl<W: Work> Drop for Pool<W> {
    fn drop(&mut self) {
        self.shared.lock().close();
        self.shared.work.notify_all();
    }
}

impl<W: Work> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts up to `wanted` threads, within the cap. Where the system gives none, the pool goes on with
    /// those it has and tries again.
    fn start(self: &Arc<Self>, wanted: usize) {
        for _ in 0..wanted {
            let Some(number) = self.lock().add_thread() else { return };
            let shared = Arc::clone(self);
            let started = std::thread::Builder::new()
                .name(format!("zmtop-read-{number}"))
                .stack_size(STACK)
                .spawn(move || shared.run_thread(number));
            if let Err(e) = started {
                tracing::warn!(%e, "no reader thread");
                self.lock().remove_thread(number);
                return;
            }
        }
    }

    /// Performs jobs until there is no more need of this thread.
    fn run_thread(&self, number: usize) {
        if self.nice > 0 {
            // Of this thread alone. Who may not be nicer goes on as before.
            let _ = rustix::process::setpriority_process(None, self.nice.into());
        }
        let mut buf = vec![0; BUFFER];
        let tid = rustix::thread::gettid();
        let worker = Worker { shared: self, number };
        let mut done = None;
        while let Some(job) = self.next(number, tid, done.take()) {
            let is_announced = job.is_announced();
            done = Some((job.run(&self.context, &mut buf, &worker), is_announced));
        }
    }

    /// Hands in what the last job gave and takes the next; `None` where this thread is to end.
    fn next(&self, number: usize, tid: rustix::thread::Pid, done: Option<(W::Output, bool)>) -> Option<W> {
        // Before the lock is taken, since others may hold it for a moment.
        let now = clock::monotonic();
        let mut state = self.lock();
        if let Some((output, is_announced)) = done
            && (state.finish(number, output) || is_announced)
        {
            self.arrival.notify_one();
            self.settled.notify_one();
        }
        let mut now = Some(now);
        loop {
            if let Some(job) = state.take(number, tid, now.take().unwrap_or_else(clock::monotonic)) {
                return Some(job);
            }
            if state.closed || state.idle >= self.threads {
                state.remove_thread(number);
                return None;
            }
            state.idle += 1;
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
        }
    }

    /// Waits until there is nothing left to wait for, but no longer than until blocked threads are to be looked
    /// for; returns true if there is nothing. Who calls this abandons silent reads itself.
    fn wait_settled(&self) -> bool {
        let is_settled = |state: &State<W>| state.is_settled(Scope::All, clock::monotonic(), Duration::MAX);
        let state = self.lock();
        if is_settled(&state) {
            return true;
        }
        let (state, _) = self
            .settled
            .wait_timeout(state, POLL)
            .unwrap_or_else(PoisonError::into_inner);
        is_settled(&state)
    }
}

/// Returns true if a thread of this process runs or waits for a processor, rather than for something else.
fn is_on_cpu(tid: rustix::thread::Pid) -> bool {
    let path = format!("/proc/self/task/{}/stat", tid.as_raw_nonzero());
    let mut buf = [0; 512];
    files::slurp(path.as_bytes(), &mut buf)
        .ok()
        .and_then(|bytes| crate::proc::stat::parse(bytes, 1).ok())
        .is_some_and(|glance| glance.stat.state == b'R')
}
