//! A pool of reader threads with deadlines, for every kind of read.
//!
//! A read under `/proc` may block for ever: on a memory lock that is never released, or on a page that never arrives.
//! So nothing ever waits for a particular thread. The pool uses as many threads as there are cores. If a read does
//! not return, another thread takes over, up to a cap. A blocked thread that returns ends if enough others are idle.
//! Threads are detached. Idle ones end when the pool is dropped.
//!
//! A kind of work implements [`Work`]. The scanner submits jobs and awaits [`Pool::arrival`]. Callers that need every
//! result before they continue use [`Pool::collect`], which blocks.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::Options;
use crate::model::Missing;
use crate::proc::{clock, files};

/// Size of a reader's buffer, in bytes: larger than any single record of `/proc` that zmtop reads.
const BUFFER: usize = 64 << 10;
/// Stack size of a reader, in bytes: enough for a name service's own code. Untouched stack costs no memory.
const STACK: usize = 256 << 10;
/// Expected work that justifies waking one more thread: far above the cost of waking, some 50 µs.
const WORK_PER_THREAD: Duration = Duration::from_millis(5);
/// A read that takes longer and does not run on a CPU counts as blocked. Most reads take well below 1 ms.
const BLOCKED: Duration = Duration::from_millis(25);
/// A read that takes longer counts as blocked even if it runs: others must not wait for a huge process.
const LONG: Duration = Duration::from_millis(200);
/// Time between checks of [`Pool::collect`] for blocked threads: a little below [`BLOCKED`].
const POLL: Duration = Duration::from_millis(20);

/// A read, as the pool sees it.
pub(super) trait Work: Sized + Send + 'static {
    /// Data shared by all reads of a pool.
    type Context: Send + Sync + 'static;
    /// Identifies what is read. The caller never submits two reads with the same key at the same time.
    type Key: Copy + Eq + Hash + Send + 'static;
    type Output: Send + 'static;

    /// Returns what is read.
    fn key(&self) -> Self::Key;

    /// Returns the queue of the job and its expected time, which determines how many threads to wake.
    fn profile(&self) -> (Priority, Duration);

    /// Returns true if [`Pool::arrival`] must return as soon as this is done, even if other reads are in progress.
    fn is_announced(&self) -> bool {
        false
    }

    /// Performs the read, and reports progress to the `worker`.
    fn run(self, context: &Self::Context, buf: &mut [u8], worker: &Worker<'_, Self>) -> Self::Output;
}

/// The queue of a job, by how its read may affect others. The first queue comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Priority {
    /// Required for any result. One thread is always kept free for them.
    Urgent,
    /// Reads that are known to return.
    Known,
    /// Reads that were never tried and may never return.
    New,
    /// Reads that take longest or may block: command lines, the name service.
    Background,
}

impl Priority {
    const COUNT: usize = Self::Background as usize + 1;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Only [`Priority::Urgent`].
    Urgent,
    All,
}

impl Scope {
    /// Returns true if a read of that priority is awaited.
    fn covers(self, priority: Priority) -> bool {
        self == Self::All || priority == Priority::Urgent
    }
}

pub(super) struct Pool<W: Work> {
    shared: Arc<Shared<W>>,
}

struct Shared<W: Work> {
    context: W::Context,
    threads: usize,
    nice: u8,
    state: Mutex<State<W>>,
    /// Signals work to idle threads.
    work: Condvar,
    /// Signal that all awaited reads are done: to async callers, and to blocking ones.
    arrival: Notify,
    settled: Condvar,
}

/// The thread that performs a read, as the read sees it.
pub(super) struct Worker<'a, W: Work> {
    shared: &'a Shared<W>,
    number: usize,
}

impl<W: Work> Worker<'_, W> {
    /// Reports progress: the deadline of the read restarts.
    pub(super) fn progress(&self) {
        let now = clock::monotonic();
        self.shared.lock().progress(self.number, now);
    }
}

impl<W: Work> Pool<W> {
    /// Creates a pool of up to `threads` threads, plus some to replace stuck ones. They start with the first job.
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

    /// Starts all threads now, for a caller that has work for all.
    pub(super) fn start(&self) {
        self.shared.start(self.shared.threads);
    }

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
        // A thread woken for little work costs more than it saves. If one is blocked, `supervise` wakes the others.
        let wanted = (expected.as_nanos() / WORK_PER_THREAD.as_nanos()) as usize + 1;
        let wanted = wanted.min(self.shared.threads);
        self.shared.start(wanted.saturating_sub(alive));
        if wanted < self.shared.threads {
            (0..wanted).for_each(|_| self.shared.work.notify_one());
        } else {
            self.shared.work.notify_all();
        }
    }

    /// Moves the results since the last call into `outputs`, which must be empty.
    pub(super) fn drain(&self, outputs: &mut Vec<W::Output>) {
        outputs.shrink_to(IDLE_CAPACITY);
        std::mem::swap(&mut self.shared.lock().outputs, outputs);
    }

    /// Returns when an awaited result may have come. A result that came before the call counts too.
    pub(super) async fn arrival(&self) {
        self.shared.arrival.notified().await;
    }

    /// Returns true if there is nothing left to wait for: all reads are done, or the others have been silent for
    /// `stall` and no more can be started.
    pub(super) fn is_settled(&self, scope: Scope, stall: Duration) -> bool {
        self.shared.lock().is_settled(scope, clock::monotonic(), stall)
    }

    /// Stops waiting for reads that have been silent for `stall`. Their results are still delivered.
    pub(super) fn stop_waiting(&self, stall: Duration) {
        self.shared.lock().stop_waiting(clock::monotonic(), stall);
    }

    /// Returns the reads in progress, each with the time of its last progress.
    pub(super) fn running(&self) -> HashMap<W::Key, Duration> {
        self.shared.lock().running.iter().map(|r| (r.key, r.since)).collect()
    }

    pub(super) fn threads(&self) -> usize {
        self.shared.lock().alive()
    }

    /// Starts threads to replace blocked ones, if there is work for them.
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
            // All are blocked. Start a full set, because many more blocking reads may be queued.
            0 => self.shared.threads.max(blocked),
            n => self.shared.threads.saturating_sub(n),
        };
        self.shared.start(wanted);
        // A limit on reads that may block may no longer apply.
        self.shared.work.notify_all();
    }

    /// Waits for all jobs and passes every output to `each` as it comes. `each` may break. A read that is silent for
    /// longer than `deadline` is abandoned with its thread, but one that runs on a CPU gets 60 times as long. For an
    /// abandoned job, or one that no thread could be started for, `each` gets the result of `unread` with the key and
    /// the reason.
    pub(super) fn collect(
        &self,
        deadline: Duration,
        unread: impl Fn(W::Key, Missing) -> W::Output,
        mut each: impl FnMut(W::Output) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut outputs = Vec::new();
        loop {
            // Check before draining the outputs, so that none is missed if this is true.
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

    /// Starts up to `wanted` threads, within the cap. If the system refuses one, the pool continues with those it
    /// has, and tries again later.
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

    fn run_thread(&self, number: usize) {
        if self.nice > 0 {
            // Sets the niceness of this thread alone. An error is ignored.
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

    /// Delivers the last output and takes the next job; returns `None` if this thread must end.
    fn next(&self, number: usize, tid: rustix::thread::Pid, done: Option<(W::Output, bool)>) -> Option<W> {
        // Read the clock before taking the lock, which others may hold for a moment.
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

    /// Waits until there is nothing left to wait for, or until the next check for blocked threads; returns true in
    /// the first case. The caller abandons silent reads itself.
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

/// Returns true if a thread of this process runs or is runnable.
fn is_on_cpu(tid: rustix::thread::Pid) -> bool {
    let path = format!("/proc/self/task/{}/stat", tid.as_raw_nonzero());
    let mut buf = [0; 512];
    files::slurp(path.as_bytes(), &mut buf)
        .ok()
        .and_then(|bytes| crate::proc::pid::stat(bytes, 1).ok())
        .is_some_and(|glance| glance.stat.state == b'R')
}

/// Number of deadlines that a running read may take in [`Pool::collect`]. The kernel walks a huge area in one
/// go, at some 10 GB/s.
const DEADLINES_WHILE_RUNNING: u32 = 60;

/// Capacity that an empty queue keeps, in jobs. The first tick queues several per process.
const IDLE_CAPACITY: usize = 1024;

#[derive(Clone, Copy)]
struct Running<K> {
    /// The thread's number in the pool, and its kernel id.
    number: usize,
    tid: rustix::thread::Pid,
    key: K,
    priority: Priority,
    /// When it started or last made progress, on the monotonic clock.
    since: Duration,
    /// A caller still waits for it.
    is_awaited: bool,
    /// A replacement was delivered for it; its own output will be dropped.
    is_abandoned: bool,
}

/// The queues and the reads in progress, all under one lock, which is only held for moments.
struct State<W: Work> {
    queues: [VecDeque<W>; Priority::COUNT],
    running: Vec<Running<W::Key>>,
    outputs: Vec<W::Output>,
    idle: usize,
    alive: usize,
    started: usize,
    /// Maximum number of live threads.
    cap: usize,
    /// Maximum number of reads in progress that may never return.
    max_untried: usize,
    /// The number of non-urgent jobs taken so far.
    turns: usize,
    closed: bool,
}

impl<W: Work> State<W> {
    fn new(threads: usize, max_stuck: usize) -> Self {
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

    /// Queues a job, and returns its expected time.
    fn queue(&mut self, job: W) -> Duration {
        let (priority, expected) = job.profile();
        self.queues[priority as usize].push_back(job);
        expected
    }

    const fn alive(&self) -> usize {
        self.alive
    }

    /// Counts a new thread, and returns its number; `None` if there may be no more.
    fn add_thread(&mut self) -> Option<usize> {
        if self.closed || self.alive >= self.cap {
            return None;
        }
        self.alive += 1;
        self.started += 1;
        Some(self.started)
    }

    fn remove_thread(&mut self, number: usize) {
        self.running.retain(|r| r.number != number);
        self.alive = self.alive.saturating_sub(1);
    }

    /// Drops all queued jobs and accepts no more threads. Each thread ends when its read returns.
    fn close(&mut self) {
        self.closed = true;
        self.clear();
    }

    /// Empties the queues and returns their jobs.
    fn clear(&mut self) -> Vec<W> {
        self.queues.iter_mut().flat_map(std::mem::take).collect()
    }

    /// Returns the queue to take from, if one of its jobs may start. Known reads come first, except in every fourth
    /// turn: otherwise, if they took longer than the interval, a new process would never be walked or have a command
    /// line.
    fn next_queue(&self) -> Option<usize> {
        let ready = |priority: Priority| !self.queues[priority as usize].is_empty();
        if ready(Priority::Urgent) {
            return Some(Priority::Urgent as usize);
        }
        let others = self.running.iter().filter(|r| r.priority != Priority::Urgent).count();
        // Keep one thread free for urgent reads.
        if others + 1 >= self.cap.max(2) {
            return None;
        }
        let untried = |r: &&Running<W::Key>| matches!(r.priority, Priority::New | Priority::Background);
        // Keep the other threads free for reads that are known to return.
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

    /// Returns true if a new thread would find a job.
    fn has_work(&self) -> bool {
        self.next_queue().is_some()
    }

    fn take(&mut self, number: usize, tid: rustix::thread::Pid, now: Duration) -> Option<W> {
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
    fn progress(&mut self, number: usize, now: Duration) {
        if let Some(running) = self.running.iter_mut().find(|r| r.number == number) {
            running.since = now;
        }
    }

    /// Stores the output of a thread's job; returns true if it was the last awaited one.
    fn finish(&mut self, number: usize, output: W::Output) -> bool {
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

    /// See [`Pool::is_settled`].
    fn is_settled(&self, scope: Scope, now: Duration, stall: Duration) -> bool {
        if self.is_done(scope) {
            return true;
        }
        let may_come = |r: &Running<W::Key>| r.is_awaited && now.saturating_sub(r.since) < stall;
        if self.running.iter().any(may_come) {
            return false;
        }
        let startable = self.queued(scope).any(|q| !q.is_empty()) && self.has_work();
        // If every thread is stuck and no more are allowed, queued jobs cannot start.
        !startable || (self.alive >= self.cap && self.running.len() >= self.alive)
    }

    /// See [`Pool::stop_waiting`].
    fn stop_waiting(&mut self, now: Duration, stall: Duration) {
        for queue in &mut self.queues {
            if queue.capacity() > IDLE_CAPACITY && queue.is_empty() {
                *queue = VecDeque::new();
            }
        }
        for r in &mut self.running {
            r.is_awaited &= now.saturating_sub(r.since) < stall;
        }
    }

    /// Abandons reads that are silent for longer than `deadline` and do not run; returns their keys.
    fn abandon(&mut self, now: Duration, deadline: Duration) -> Vec<W::Key> {
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
