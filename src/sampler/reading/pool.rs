//! A pool of reader threads with deadlines, for every kind of read.
//!
//! A read under `/proc` may block for ever: on a memory lock that is never released, or on a page that never arrives.
//! So nothing ever waits for a particular thread. The pool uses as many threads as there are cores. If a read does
//! not return, another thread takes over, up to a cap. A blocked thread that returns ends if enough others are idle.
//! Threads are detached. Idle ones end when the pool is dropped.
//!
//! The scanner submits jobs and awaits [`Pool::arrival`]. Callers that need every result before they continue use
//! [`Pool::collect`], which blocks.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::thread::Pid;
use tokio::sync::Notify;

use crate::model::Missing;
use crate::proc::{clock, files};
use crate::sampler::Options;

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
/// Number of deadlines for which [`Pool::collect`] waits for a running read. The kernel walks a huge area in one go, at some 10
/// GB/s.
const DEADLINES_WHILE_RUNNING: u32 = 60;
/// Capacity that an empty queue keeps, in jobs. The first tick queues several per process.
const IDLE_CAPACITY: usize = 1024;

pub(crate) struct Job<K, W> {
    /// Identifies the read. The caller never submits two reads with the same key at the same time.
    pub(crate) key: K,
    pub(crate) priority: Priority,
    /// Determines how many threads to wake.
    pub(crate) expected: Duration,
    /// [`Pool::arrival`] must return as soon as this is done, even if other reads are in progress.
    pub(crate) is_announced: bool,
    pub(crate) work: W,
}

impl<K, W> Job<K, W> {
    pub(crate) const fn new(key: K, priority: Priority, expected: Duration, work: W) -> Self {
        Self {
            key,
            priority,
            expected,
            is_announced: false,
            work,
        }
    }

    pub(crate) fn urgent(mut self) -> Self {
        self.priority = Priority::Urgent;
        self
    }
}

/// The queue of a job, by how its read may affect others. The first queue comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    /// Required for any result. One thread is always kept free for them.
    Urgent,
    /// Reads that no process can hold up: of the kernel's own files, and of those of a process that need no lock of its memory. Reads
    /// that may never return do not keep them waiting.
    Kernel,
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
pub(crate) enum Scope {
    Urgent,
    All,
}

/// Resources that a thread of the pool lends to a read.
pub(crate) struct Reader<'a> {
    pub(crate) buf: &'a mut [u8],
    /// Reports progress: the deadline of the read restarts.
    pub(crate) progress: &'a dyn Fn(),
}

/// A pool for jobs with keys `K` and work `W`, each of which yields an `O`.
pub(crate) struct Pool<K, W, O>(Arc<Shared<K, W, O>>);

type Run<W, O> = Box<dyn Fn(W, &mut Reader<'_>) -> O + Send + Sync>;

struct Shared<K, W, O> {
    run: Run<W, O>,
    threads: usize,
    nice: u8,
    state: Mutex<State<K, W, O>>,
    work: Condvar,
    /// Signal that all awaited reads are done: to async callers, and to blocking ones.
    arrival: Notify,
    settled: Condvar,
}

impl<K: Copy + Eq + Hash + Send + 'static, W: Send + 'static, O: Send + 'static> Pool<K, W, O> {
    /// Creates a pool of up to `threads` threads, plus some to replace stuck ones, which `run` the work. They start
    /// with the first job.
    pub(crate) fn new(
        options: &Options,
        threads: usize,
        run: impl Fn(W, &mut Reader<'_>) -> O + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Shared {
            run: Box::new(run),
            threads,
            nice: options.nice,
            state: Mutex::new(State {
                queues: std::array::from_fn(|_| VecDeque::new()),
                running: Vec::new(),
                outputs: Vec::new(),
                idle: 0,
                alive: 0,
                started: 0,
                cap: threads + options.max_stuck,
                max_untried: options.max_stuck.max(1),
                turns: 0,
                closed: false,
            }),
            work: Condvar::new(),
            arrival: Notify::new(),
            settled: Condvar::new(),
        }))
    }

    /// Starts all threads now, for a caller that has work for all.
    pub(crate) fn start(&self) {
        self.0.start(self.0.threads);
    }

    pub(crate) fn submit(&self, jobs: impl IntoIterator<Item = Job<K, W>>) {
        let mut state = self.0.lock();
        let mut expected = Duration::ZERO;
        for job in jobs {
            expected += job.expected;
            state.queues[job.priority as usize].push_back(job);
        }
        let alive = state.alive;
        drop(state);
        if expected.is_zero() {
            return;
        }
        // A thread woken for little work costs more than it saves. If one is blocked, `supervise` wakes the others.
        let wanted = (expected.as_nanos() / WORK_PER_THREAD.as_nanos()) as usize + 1;
        let wanted = wanted.min(self.0.threads);
        self.0.start(wanted.saturating_sub(alive));
        if wanted < self.0.threads {
            (0..wanted).for_each(|_| self.0.work.notify_one());
        } else {
            self.0.work.notify_all();
        }
    }

    /// Moves the results since the last call into `outputs`, which must be empty.
    pub(crate) fn drain(&self, outputs: &mut Vec<O>) {
        outputs.shrink_to(IDLE_CAPACITY);
        std::mem::swap(&mut self.0.lock().outputs, outputs);
    }

    /// Returns when an awaited result may have come. A result that came before the call counts too.
    pub(crate) async fn arrival(&self) {
        self.0.arrival.notified().await;
    }

    /// Returns true if there is nothing left to wait for: all reads are done, or the others have been silent for
    /// `stall` and no more can be started.
    pub(crate) fn is_settled(&self, scope: Scope, stall: Duration) -> bool {
        self.0.lock().is_settled(scope, clock::monotonic(), stall)
    }

    /// Stops waiting for reads that have been silent for `stall`. Their results are still delivered.
    pub(crate) fn stop_waiting(&self, stall: Duration) {
        let now = clock::monotonic();
        let mut state = self.0.lock();
        for queue in &mut state.queues {
            if queue.capacity() > IDLE_CAPACITY && queue.is_empty() {
                *queue = VecDeque::new();
            }
        }
        for r in &mut state.running {
            r.is_awaited &= now.saturating_sub(r.since) < stall;
        }
    }

    /// Returns the reads in progress, each with the time of its last progress.
    pub(crate) fn running(&self) -> HashMap<K, Duration> {
        self.0.lock().running.iter().map(|r| (r.key, r.since)).collect()
    }

    /// Returns true if any thread with a read runs or is runnable.
    pub(crate) fn runs(&self) -> bool {
        let running: Vec<Pid> = self.0.lock().running.iter().map(|r| r.tid).collect();
        running.into_iter().any(is_on_cpu)
    }

    pub(crate) fn threads(&self) -> usize {
        self.0.lock().alive
    }

    pub(crate) fn supervise(&self) {
        let now = clock::monotonic();
        let suspects: Vec<Running<K>> = {
            let state = self.0.lock();
            if state.next_queue().is_none() {
                return;
            }
            let is_slow = |r: &&Running<K>| now.saturating_sub(r.since) > BLOCKED;
            state.running.iter().filter(is_slow).copied().collect()
        };
        let blocked = suspects
            .iter()
            .filter(|r| now.saturating_sub(r.since) > LONG || !is_on_cpu(r.tid))
            .count();
        let wanted = match self.threads().saturating_sub(blocked) {
            // All are blocked. Start a full set, because many more blocking reads may be queued.
            0 => self.0.threads.max(blocked),
            free => self.0.threads.saturating_sub(free),
        };
        self.0.start(wanted);
        // A limit on reads that may block may no longer apply.
        self.0.work.notify_all();
    }

    /// Waits for all jobs and passes every output to `each` as it comes. `each` may break. A read that is silent for
    /// longer than `deadline` is abandoned with its thread, but one that runs on a CPU gets 60 times as long. For an
    /// abandoned job, or one that no thread could be started for, `each` gets the result of `unread` with the key and
    /// the reason.
    pub(crate) fn collect(
        &self,
        deadline: Duration,
        unread: impl Fn(K, Missing) -> O,
        mut each: impl FnMut(O) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut outputs = Vec::new();
        loop {
            // Check before draining the outputs, so that none is missed if this is true.
            let settled = self.0.wait_settled() || self.threads() == 0;
            self.drain(&mut outputs);
            let mut state = self.0.lock();
            let late = state.abandon(clock::monotonic(), deadline).into_iter();
            outputs.extend(late.map(|key| unread(key, Missing::TimedOut)));
            if settled {
                let left = state.queues.iter_mut().flat_map(std::mem::take);
                outputs.extend(left.map(|job| unread(job.key, Missing::Pending)));
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

/// Drops all queued jobs and starts no more threads. Each thread ends when its read returns.
impl<K, W, O> Drop for Pool<K, W, O> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.closed = true;
        state.queues.iter_mut().for_each(VecDeque::clear);
        drop(state);
        self.0.work.notify_all();
    }
}

impl<K, W, O> Shared<K, W, O> {
    fn lock(&self) -> MutexGuard<'_, State<K, W, O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Copy + Send + 'static, W: Send + 'static, O: Send + 'static> Shared<K, W, O> {
    /// Starts up to `wanted` threads, within the cap. If the system refuses one, the pool continues with those it
    /// has, and tries again later.
    fn start(self: &Arc<Self>, wanted: usize) {
        for _ in 0..wanted {
            let number = {
                let mut state = self.lock();
                if state.closed || state.alive >= state.cap {
                    return;
                }
                state.alive += 1;
                state.started += 1;
                state.started
            };
            let shared = Arc::clone(self);
            let started = std::thread::Builder::new()
                .name(format!("zmtop-read-{number}"))
                .stack_size(STACK)
                .spawn(move || shared.run_thread(number));
            if let Err(e) = started {
                tracing::warn!(%e, "no reader thread");
                self.lock().alive -= 1;
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
        let progress = || {
            let now = clock::monotonic();
            if let Some(running) = self.lock().running.iter_mut().find(|r| r.number == number) {
                running.since = now;
            }
        };
        let mut done = None;
        while let Some(work) = self.next(number, tid, done.take()) {
            let mut reader = Reader {
                buf: &mut buf,
                progress: &progress,
            };
            done = Some((self.run)(work, &mut reader));
        }
    }

    /// Delivers the last output and takes the next job; returns `None` if this thread must end.
    fn next(&self, number: usize, tid: Pid, done: Option<O>) -> Option<W> {
        // Read the clock before taking the lock, which others may hold for a moment.
        let now = clock::monotonic();
        let mut state = self.lock();
        if done.is_some_and(|output| state.finish(number, output)) {
            self.arrival.notify_one();
            self.settled.notify_one();
        }
        let mut now = Some(now);
        loop {
            if let Some(work) = state.take(number, tid, now.take().unwrap_or_else(clock::monotonic)) {
                return Some(work);
            }
            if state.closed || state.idle >= self.threads {
                state.alive -= 1;
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
        let is_settled = |state: &State<K, W, O>| state.is_settled(Scope::All, clock::monotonic(), Duration::MAX);
        let state = self.lock();
        if is_settled(&state) {
            return true;
        }
        let waited = self.settled.wait_timeout(state, POLL);
        is_settled(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

/// Returns true if a thread of this process runs or is runnable.
fn is_on_cpu(tid: Pid) -> bool {
    let path = format!("/proc/self/task/{}/stat", tid.as_raw_nonzero());
    let mut buf = [0; 512];
    files::slurp(path.as_bytes(), &mut buf)
        .ok()
        .and_then(|bytes| crate::proc::pid::stat(bytes, 1).ok())
        .is_some_and(|glance| glance.stat.state == b'R')
}

#[derive(Clone, Copy)]
struct Running<K> {
    /// The thread's number in the pool, and its kernel id.
    number: usize,
    tid: Pid,
    key: K,
    priority: Priority,
    is_announced: bool,
    /// When it started or last made progress, on the monotonic clock.
    since: Duration,
    /// A caller still waits for it.
    is_awaited: bool,
    /// A replacement was delivered for it; its own output will be dropped.
    is_abandoned: bool,
}

/// The queues and the reads in progress, all under one lock, which is only held for moments.
struct State<K, W, O> {
    queues: [VecDeque<Job<K, W>>; Priority::COUNT],
    running: Vec<Running<K>>,
    outputs: Vec<O>,
    idle: usize,
    alive: usize,
    started: usize,
    cap: usize,
    /// Maximum number of reads in progress that may never return.
    max_untried: usize,
    /// The number of non-urgent jobs started so far.
    turns: usize,
    closed: bool,
}

impl<K: Copy, W, O> State<K, W, O> {
    /// Returns the queue to take from, if one of its jobs may start. Known reads come first, except in every fourth
    /// turn: otherwise, if they took longer than the interval, a new process would never be walked or have a command
    /// line.
    fn next_queue(&self) -> Option<Priority> {
        let ready = |priority: Priority| !self.queues[priority as usize].is_empty();
        if ready(Priority::Urgent) {
            return Some(Priority::Urgent);
        }
        let of_kernel = self.running.iter().filter(|r| r.priority == Priority::Kernel).count();
        let of_processes = |r: &&Running<K>| !matches!(r.priority, Priority::Urgent | Priority::Kernel);
        // Keep one thread free for urgent reads, and for those of the kernel's files, which return soon.
        if self.running.iter().filter(of_processes).count() + 1 >= self.cap.max(2) {
            return (ready(Priority::Kernel) && of_kernel == 0).then_some(Priority::Kernel);
        }
        let untried = |r: &&Running<K>| matches!(r.priority, Priority::New | Priority::Background);
        // Keep the other threads free for reads that are known to return.
        let full = self.running.iter().filter(untried).count() >= self.max_untried;
        let order = match self.turns % 8 {
            3 => [Priority::New, Priority::Kernel, Priority::Background, Priority::Known],
            7 => [Priority::Kernel, Priority::Background, Priority::New, Priority::Known],
            _ => [Priority::Known, Priority::New, Priority::Kernel, Priority::Background],
        };
        let may_start = |p: &Priority| match p {
            Priority::Known => true,
            Priority::Kernel => of_kernel < self.cap.div_ceil(2),
            _ => !full,
        };
        order.into_iter().find(|p| ready(*p) && may_start(p))
    }

    fn take(&mut self, number: usize, tid: Pid, now: Duration) -> Option<W> {
        let job = self.queues[self.next_queue()? as usize].pop_front()?;
        if job.priority != Priority::Urgent {
            self.turns = self.turns.wrapping_add(1);
        }
        self.running.push(Running {
            number,
            tid,
            key: job.key,
            priority: job.priority,
            is_announced: job.is_announced,
            since: now,
            is_awaited: true,
            is_abandoned: false,
        });
        Some(job.work)
    }

    /// Stores the output of a thread's job; returns true if the caller must be notified: it was the last awaited one,
    /// or is announced.
    fn finish(&mut self, number: usize, output: O) -> bool {
        let Some(at) = self.running.iter().position(|r| r.number == number) else {
            return false;
        };
        let done = self.running.swap_remove(at);
        if !done.is_abandoned {
            self.outputs.push(output);
        }
        let is_last = |scope| self.is_done(scope);
        done.is_announced
            || (done.is_awaited
                && (is_last(Scope::All) || (done.priority == Priority::Urgent && is_last(Scope::Urgent))))
    }

    /// Returns true if no job of the scope is queued or awaited.
    fn is_done(&self, scope: Scope) -> bool {
        let is_awaited = |r: &Running<K>| r.is_awaited && (scope == Scope::All || r.priority == Priority::Urgent);
        self.queued(scope).all(VecDeque::is_empty) && !self.running.iter().any(is_awaited)
    }

    fn queued(&self, scope: Scope) -> impl Iterator<Item = &VecDeque<Job<K, W>>> {
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
        let may_come = |r: &Running<K>| r.is_awaited && now.saturating_sub(r.since) < stall;
        if self.running.iter().any(may_come) {
            return false;
        }
        let startable = self.queued(scope).any(|q| !q.is_empty()) && self.next_queue().is_some();
        // If every thread is stuck and no more are allowed, queued jobs cannot start.
        !startable || (self.alive >= self.cap && self.running.len() >= self.alive)
    }

    /// Abandons reads that are silent for longer than `deadline` and do not run; returns their keys.
    fn abandon(&mut self, now: Duration, deadline: Duration) -> Vec<K> {
        let is_stuck = |r: &&mut Running<K>| {
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
