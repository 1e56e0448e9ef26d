//! Threads that read the `smaps` of many processes, and who looks after them.
//!
//! A read may block for ever, so nobody waits for a thread: one that gives nothing for a deadline while it
//! does not run is left where it is, and another takes its place, up to a cap. When the crew is dropped the
//! rest end as they come back.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Found;
use crate::model::{Missing, Reading};
use crate::proc::own;
use crate::sampler::Options;
use crate::sampler::pool::is_on_cpu;
use crate::sampler::target::{Budget, Target};
use crate::sampler::walk::{self, Collect};

/// What one read gives at the most: the kernel gives a page or a few.
const BUFFER: usize = 64 << 10;
const STACK: usize = 256 << 10;
/// How often it is looked whether threads are stuck.
const POLL: Duration = Duration::from_millis(20);
/// A read that runs all the time is given so many deadlines: the kernel walks one huge area in one go.
const RUNNING: u32 = 60;
/// Descriptors for all else: three a thread, and what the program has open.
const RESERVE: usize = 64;

/// A process to read, and which one it must be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    pub(super) pid: u32,
    pub(super) starttime: Option<u64>,
}

#[derive(Debug)]
struct Working {
    number: usize,
    index: usize,
    tid: rustix::thread::Pid,
    /// When it last had something.
    since: Duration,
    /// Nobody waits for it any more.
    left: bool,
}

#[derive(Debug, Default)]
struct State {
    queue: VecDeque<(usize, Ask)>,
    working: Vec<Working>,
    alive: usize,
    closed: bool,
}

#[derive(Debug)]
struct Shared {
    options: Options,
    budget: Arc<Budget>,
    state: Mutex<State>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a thread sends: which was asked, and what came of it.
type Answer<T> = (usize, Reading<Found<T>>);

struct Crew<T> {
    shared: Arc<Shared>,
    sender: Sender<Answer<T>>,
    started: usize,
}

impl<T> Drop for Crew<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.closed = true;
        state.queue.clear();
    }
}

/// Reads all that is asked and gives each to `took`, with its place in `asks`, as it comes. Every one is
/// given once, unless `took` breaks off: then nothing more is waited for.
pub(super) fn read<T: Collect>(
    options: &Options,
    asks: &[Ask],
    mut took: impl FnMut(usize, Reading<Found<T>>) -> ControlFlow<()>,
) {
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let threads = threads.min(asks.len());
    let (sender, answers) = mpsc::channel();
    let mut crew = Crew {
        shared: Arc::new(Shared {
            options: options.clone(),
            budget: Arc::new(Budget::new(&options.proc_root, RESERVE + threads + options.max_stuck)),
            state: Mutex::new(State {
                queue: asks.iter().copied().enumerate().collect(),
                ..State::default()
            }),
        }),
        sender,
        started: 0,
    };
    crew.start(threads);
    let mut open = vec![true; asks.len()];
    let _ = crew.wait(&answers, threads, &mut open, &mut took);
}

impl<T: Collect> Crew<T> {
    fn wait(
        &mut self,
        answers: &Receiver<Answer<T>>,
        threads: usize,
        open: &mut [bool],
        took: &mut impl FnMut(usize, Reading<Found<T>>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut left = open.len();
        let mut looked = own::monotonic();
        while left > 0 {
            match answers.recv_timeout(POLL) {
                // What was given up may come after all; it has been answered.
                Ok((index, found)) if std::mem::take(&mut open[index]) => {
                    left -= 1;
                    took(index, found)?;
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if own::monotonic().saturating_sub(looked) < POLL {
                continue;
            }
            looked = own::monotonic();
            for index in self.overdue(looked) {
                if std::mem::take(&mut open[index]) {
                    left -= 1;
                    took(index, Err(Missing::TimedOut))?;
                }
            }
            if !self.replace(threads) {
                break;
            }
        }
        // No thread can be had for these.
        for (index, _) in open.iter().enumerate().filter(|(_, open)| **open) {
            took(index, Err(Missing::Pending))?;
        }
        ControlFlow::Continue(())
    }

    /// Those whose threads are taken for stuck.
    fn overdue(&self, now: Duration) -> Vec<usize> {
        let deadline = self.shared.options.deadline;
        let mut state = self.shared.lock();
        let late = |w: &&mut Working| {
            let quiet = now.saturating_sub(w.since);
            !w.left && quiet > deadline && (quiet > deadline * RUNNING || !is_on_cpu(w.tid))
        };
        let late = state.working.iter_mut().filter(late);
        late.map(|w| {
            w.left = true;
            w.index
        })
        .collect()
    }

    /// Starts threads in place of those left; false where there is work and nobody to do it.
    fn replace(&mut self, threads: usize) -> bool {
        let (alive, stuck, waiting) = {
            let state = self.shared.lock();
            let stuck = state.working.iter().filter(|w| w.left).count();
            (state.alive, stuck, state.queue.len())
        };
        if waiting == 0 {
            return true;
        }
        let room = (threads + self.shared.options.max_stuck).saturating_sub(alive);
        let wanted = (threads + stuck).saturating_sub(alive).min(room).min(waiting);
        self.start(wanted);
        self.shared.lock().alive > stuck
    }

    fn start(&mut self, wanted: usize) {
        for _ in 0..wanted {
            self.started += 1;
            let number = self.started;
            let (shared, sender) = (Arc::clone(&self.shared), self.sender.clone());
            self.shared.lock().alive += 1;
            let thread = std::thread::Builder::new()
                .name(format!("zmtop-map-{number}"))
                .stack_size(STACK)
                .spawn(move || work(&shared, number, &sender));
            if let Err(e) = thread {
                tracing::warn!(%e, "no reader thread");
                self.shared.lock().alive -= 1;
                return;
            }
        }
    }
}

/// The life of a thread.
fn work<T: Collect>(shared: &Shared, number: usize, sender: &Sender<Answer<T>>) {
    if shared.options.nice > 0 {
        // Of this thread alone. Who may not be nicer goes on as before.
        let _ = rustix::process::setpriority_process(None, shared.options.nice.into());
    }
    let tid = rustix::thread::gettid();
    let mut buf = vec![0; BUFFER];
    while let Some((index, ask)) = next(shared, number, tid) {
        let found = one(shared, number, ask, &mut buf);
        if sender.send((index, found)).is_err() {
            return;
        }
    }
}

/// The next to read; `None` where there is no more need of this thread.
fn next(shared: &Shared, number: usize, tid: rustix::thread::Pid) -> Option<(usize, Ask)> {
    let mut state = shared.lock();
    let was_left = match state.working.iter().position(|w| w.number == number) {
        Some(at) => state.working.swap_remove(at).left,
        None => false,
    };
    // Another has taken the place of one that was left.
    let next = if was_left || state.closed {
        None
    } else {
        state.queue.pop_front()
    };
    match next {
        Some((index, _)) => state.working.push(Working {
            number,
            index,
            tid,
            since: own::monotonic(),
            left: false,
        }),
        None => state.alive -= 1,
    }
    next
}

fn one<T: Collect>(shared: &Shared, number: usize, ask: Ask, buf: &mut [u8]) -> Reading<Found<T>> {
    let beat = || {
        let now = own::monotonic();
        if let Some(w) = shared.lock().working.iter_mut().find(|w| w.number == number) {
            w.since = now;
        }
    };
    let proc = &*shared.options.proc_root;
    let (target, _) = Target::new(ask.pid, proc, &shared.budget, buf).map_err(crate::proc::files::reason)?;
    let (what, starttime, comm) = walk::areas(&target, ask.starttime, proc, buf, beat)?;
    Ok(Found {
        pid: ask.pid,
        starttime,
        comm,
        what,
    })
}
