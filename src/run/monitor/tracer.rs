//! Traces the call sites of the kernel's allocator while the screen shows them.

use std::sync::mpsc::{Sender, SyncSender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::Input;
use crate::proc::files::Roots;
use crate::run::callers::on_thread;
use crate::sampler::callers::{self, Refusal};
use crate::tui::Event;

/// Held while one is traced: the instance of one must be gone before the next makes its own.
static TRACING: Mutex<()> = Mutex::new(());
/// Time that a trace has to end in before the program stops or ends: the kernel may hold it up.
const PATIENCE: Duration = Duration::from_millis(500);

/// A thread that traces, if one is wanted.
pub(super) struct Tracer {
    roots: Roots,
    /// The number of the trace, and what ends it when it is dropped.
    current: Option<(u64, Sender<()>)>,
}

impl Tracer {
    /// Creates one that traces nothing yet. What a run before left behind, which still traces, is removed beside it: another
    /// tool may hold the kernel's lock.
    pub(super) fn new(roots: Roots) -> Self {
        let left = roots.clone();
        if left.is_own() {
            // Where there is no thread, the next trace does it.
            let _ = std::thread::Builder::new().spawn(move || {
                let _tracing = TRACING.lock().unwrap_or_else(PoisonError::into_inner);
                callers::remove_leftovers(&left);
            });
        }
        Self { roots, current: None }
    }

    /// Traces from now on, and reports by that number; or no more.
    pub(super) fn turn_to(&mut self, number: Option<u64>, send: &SyncSender<Input>) {
        self.current = None;
        let Some(number) = number else { return };
        let (stop, stopped) = channel();
        let (roots, to) = (self.roots.clone(), send.clone());
        let started = on_thread(move || {
            let _tracing = TRACING.lock().unwrap_or_else(PoisonError::into_inner);
            if stopped.try_recv() == Err(TryRecvError::Disconnected) {
                return;
            }
            let mut report = |found| {
                // One that finds the queue full is followed by another.
                let _ = to.try_send(Input::Event(Event::Traced(number, Arc::new(found))));
            };
            let ended = callers::trace(&roots, Duration::MAX, &stopped, Some(&mut report));
            // It was ended from here, by a signal to stop.
            if let Some(why) = ended.err().filter(|why| *why != Refusal::Ended) {
                let _ = to.send(Input::Event(Event::TraceRefused(number, why.to_string())));
            }
        });
        match started {
            Ok(()) => self.current = Some((number, stop)),
            Err(error) => {
                let text = format!("cannot start a thread: {error}");
                let _ = send.try_send(Input::Event(Event::TraceRefused(number, text)));
            }
        }
    }

    /// Ends it at once, since the program stops or ends; returns the number, with which it may go on.
    pub(super) fn halt(&mut self) -> Option<u64> {
        let current = self.current.take().map(|(number, _)| number);
        remove();
        current
    }
}

/// Removes what a trace left that was told to end, also where that is just being set up, and is not known yet.
pub(super) fn remove() {
    callers::remove();
    let until = Instant::now() + PATIENCE;
    while matches!(TRACING.try_lock(), Err(TryLockError::WouldBlock)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    callers::remove();
}
