//! Performs commands on a thread.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::act::pinned::has_exited;
use crate::act::{ActError, Command, Pinned, ProcessAction, Reply, RequestId, TunableValues};
use crate::model::Identity;
use crate::proc::files::{self, Roots};

/// Interval at which pinned processes are checked for having exited. It is short enough for "has ended" to follow a
/// signal without a noticeable delay.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Maximum number of queued commands, not counting those that release processes. A key that repeats must not fill the
/// memory while the thread is blocked.
const MAX_QUEUED: usize = 256;

/// Maximum number of requests whose referenced bits are being cleared. Each needs a thread, and may never return.
const MAX_CLEARING: usize = 4;

type OnReply = Arc<dyn Fn(Reply) + Send + Sync>;

/// A handle to a thread that performs commands one at a time. It is separate from the caller's thread because every
/// file of `/proc` may block. Once the handle is dropped, no further command is performed.
pub struct Worker {
    roots: Roots,
    timeout: Duration,
    on_reply: OnReply,
    /// The thread's queue. The first command starts the thread: most sessions never act on a process.
    commands: OnceLock<Sender<Command>>,
    queued: Arc<AtomicUsize>,
}

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("roots", &self.roots)
            .finish_non_exhaustive()
    }
}

impl Worker {
    /// Creates a worker for the processes of the tree at `roots`. `on_reply` is called on the worker's thread.
    /// The outcome of a signal is reported within `timeout`.
    pub fn new(roots: Roots, timeout: Duration, on_reply: impl Fn(Reply) + Send + Sync + 'static) -> Self {
        Self {
            roots,
            timeout,
            on_reply: Arc::new(on_reply),
            commands: OnceLock::new(),
            queued: Arc::default(),
        }
    }

    /// Queues a command.
    ///
    /// # Errors
    /// The thread cannot be started or has panicked, or too many commands are queued.
    pub fn send(&self, command: Command) -> io::Result<()> {
        let is_release = matches!(command, Command::Release(_));
        if self.queued.load(Ordering::Relaxed) >= MAX_QUEUED && !is_release {
            return Err(io::Error::new(
                io::ErrorKind::WouldBlock,
                "too many actions are in progress",
            ));
        }
        let commands = if let Some(commands) = self.commands.get() {
            commands
        } else {
            let (commands, queue) = channel();
            let state = State {
                roots: self.roots.clone(),
                timeout: self.timeout,
                on_reply: Arc::clone(&self.on_reply),
                requests: HashMap::new(),
                signalled: Vec::new(),
                clearing: Arc::default(),
                queued: Arc::clone(&self.queued),
            };
            std::thread::Builder::new()
                .name("zmtop-act".into())
                .stack_size(256 << 10)
                .spawn(move || state.run(&queue))?;
            self.commands.get_or_init(|| commands)
        };
        self.queued.fetch_add(1, Ordering::Relaxed);
        commands.send(command).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}

struct Request {
    processes: Vec<Result<Pinned, ActError>>,
    /// Number of processes already reported as exited.
    exited: usize,
}

/// Descriptors of one pinned process.
const PER_PROCESS: usize = 2;

/// The processes that received a signal, until its outcome is known.
struct Signalled {
    request: RequestId,
    signal: Signal,
    pidfds: Vec<OwnedFd>,
    deadline: Instant,
}

struct State {
    roots: Roots,
    timeout: Duration,
    on_reply: OnReply,
    requests: HashMap<RequestId, Request>,
    signalled: Vec<Signalled>,
    /// Held by each thread that clears referenced bits.
    clearing: Arc<()>,
    queued: Arc<AtomicUsize>,
}

impl State {
    /// Performs commands until the worker is dropped.
    fn run(mut self, queue: &Receiver<Command>) {
        loop {
            // If there is nothing to watch, the thread sleeps until the next command.
            let command = if self.requests.is_empty() && self.signalled.is_empty() {
                queue.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                queue.recv_timeout(POLL_INTERVAL)
            };
            if command.is_ok() {
                self.queued.fetch_sub(1, Ordering::Relaxed);
            }
            match command {
                Ok(Command::Pin(request, ids)) => self.pin(request, ids),
                Ok(Command::Perform(request, action)) => self.perform(request, action),
                Ok(Command::Release(request)) => {
                    self.requests.remove(&request);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            self.report_exits();
            self.report_outcomes();
        }
    }

    fn pin(&mut self, request: RequestId, ids: Vec<Identity>) {
        let mut room = files::for_acting().saturating_sub(self.held()) / PER_PROCESS;
        let pin = |id| {
            let pinned = if room > 0 {
                Pinned::new(&self.roots, id)
            } else {
                Err(ActError::TooMany)
            };
            room -= usize::from(pinned.is_ok());
            pinned
        };
        let processes: Vec<_> = ids.into_iter().map(pin).collect();
        let values = processes.iter().map(|process| {
            let process = process.as_ref().map_err(|e| *e)?;
            Ok(TunableValues::new(|tunable| process.get(tunable)))
        });
        (self.on_reply)(Reply::Pinned(request, values.collect()));
        self.requests.insert(request, Request { processes, exited: 0 });
    }

    /// Returns the number of held descriptors.
    fn held(&self) -> usize {
        let pinned = self.requests.values().map(|r| r.processes.iter().flatten().count());
        let watched = self.signalled.iter().map(|sent| sent.pidfds.len());
        pinned.sum::<usize>() * PER_PROCESS + watched.sum::<usize>()
    }

    /// Clears referenced bits on a separate thread, so that signals still work: it waits for the lock of an address
    /// space, which the lock's owner may hold for ever.
    fn clear_referenced(&mut self, request: RequestId) {
        let Some(Request { processes, .. }) = self.requests.remove(&request) else {
            return;
        };
        let action = ProcessAction::ClearReferenced;
        let all = processes.len();
        let (on_reply, token) = (Arc::clone(&self.on_reply), Arc::clone(&self.clearing));
        let clear = move || {
            let results = processes.iter();
            let results = results.map(|process| perform(process.as_ref().map_err(|e| *e)?, action));
            on_reply(Reply::Performed(request, action, results.collect()));
            drop(token);
        };
        let thread = std::thread::Builder::new()
            .name("zmtop-clear".into())
            .stack_size(256 << 10);
        // Two more references exist: this thread's, and the one for the thread to be started.
        let is_free = Arc::strong_count(&self.clearing) <= MAX_CLEARING + 1;
        if !is_free || thread.spawn(clear).is_err() {
            (self.on_reply)(Reply::Performed(request, action, vec![Err(ActError::Busy); all]));
        }
    }

    fn perform(&mut self, request: RequestId, action: ProcessAction) {
        if action == ProcessAction::ClearReferenced {
            return self.clear_referenced(request);
        }
        let Some(Request { processes, .. }) = self.requests.get(&request) else {
            return;
        };
        let results: Vec<_> = processes
            .iter()
            .map(|process| perform(process.as_ref().map_err(|e| *e)?, action))
            .collect();
        if let ProcessAction::Signal(signal) = action
            && let Some(Request { processes, .. }) = self.requests.remove(&request)
        {
            let reached = processes.into_iter().zip(&results).filter(|(_, result)| result.is_ok());
            let reached = reached.filter_map(|(process, _)| process.ok());
            let pidfds: Vec<_> = reached.map(Pinned::into_pidfd).collect();
            if !pidfds.is_empty() {
                self.signalled.push(Signalled {
                    request,
                    signal,
                    pidfds,
                    deadline: Instant::now() + self.timeout,
                });
            }
        }
        (self.on_reply)(Reply::Performed(request, action, results));
    }

    fn report_exits(&mut self) {
        for (id, request) in &mut self.requests {
            let pinned = request.processes.iter().flatten();
            let exited: Vec<Identity> = pinned.filter(|p| p.has_exited()).map(|p| p.id).collect();
            if exited.len() != request.exited {
                request.exited = exited.len();
                (self.on_reply)(Reply::Exited(*id, exited));
            }
        }
    }

    fn report_outcomes(&mut self) {
        let now = Instant::now();
        let on_reply = &self.on_reply;
        self.signalled.retain(|sent| {
            let exited = sent.pidfds.iter().filter(|pidfd| has_exited(pidfd)).count();
            let running = sent.pidfds.len() - exited;
            let pending = running > 0 && now < sent.deadline;
            if !pending {
                on_reply(Reply::Outcome {
                    request: sent.request,
                    signal: sent.signal,
                    exited,
                    running,
                });
            }
            pending
        });
    }
}

/// Performs an action on one process. Returns its new value, the number of the signal, or 0.
fn perform(process: &Pinned, action: ProcessAction) -> Result<i32, ActError> {
    match action {
        ProcessAction::Signal(signal) => process.signal(signal).map(|()| signal.as_raw()),
        ProcessAction::ClearReferenced => process.clear_referenced().map(|()| 0),
        ProcessAction::Set(tunable, value) => process.set(tunable, value).map(|()| value),
        ProcessAction::Step(tunable, step) => {
            let range = tunable.spec().range;
            let value = process.get(tunable)?.saturating_add(step);
            let value = value.clamp(*range.start(), *range.end());
            process.set(tunable, value).map(|()| value)
        }
    }
}
