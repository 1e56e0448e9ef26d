//! Traces the call sites of the kernel's allocator while the screen shows them.

use std::sync::mpsc::{Sender, SyncSender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::Input;
use crate::proc::files::Roots;
use crate::run::kernel::on_thread;
use crate::sampler::callers::{self, Refusal};
use crate::tui::Event;

/// Held during a trace. The next trace may create its instance only after the previous one is removed.
static TRACING: Mutex<()> = Mutex::new(());
/// Maximum wait for a trace to end before the program is suspended or ends. The kernel may delay it.
const PATIENCE: Duration = Duration::from_millis(500);

pub(super) struct Tracer {
    roots: Roots,
    /// The number of the trace, and a sender that ends it when dropped.
    current: Option<(u64, Sender<()>)>,
}

impl Tracer {
    /// Creates an idle tracer. A separate thread removes the leftovers of a previous run, which still trace. It may
    /// have to wait, because another tool may hold the kernel's lock.
    pub(super) fn new(roots: Roots) -> Self {
        let left = roots.clone();
        if left.is_own() {
            // If no thread can be started, the next trace removes them.
            let _ = std::thread::Builder::new().spawn(move || {
                let _tracing = TRACING.lock().unwrap_or_else(PoisonError::into_inner);
                callers::remove_leftovers(&left);
            });
        }
        Self { roots, current: None }
    }

    /// Starts a trace that reports with this number, or ends tracing.
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
                // If the queue is full, drop the report. Another follows.
                let _ = to.try_send(Input::Event(Event::Traced(number, Arc::new(found))));
            };
            let ended = callers::trace(&roots, Duration::MAX, &stopped, Some(&mut report));
            // [`Refusal::Ended`] means that this program ended the trace, because of a signal to stop.
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

    /// Ends the trace at once because the program stops or ends. Returns its number, so that tracing can resume.
    pub(super) fn halt(&mut self) -> Option<u64> {
        let current = self.current.take().map(|(number, _)| number);
        remove();
        current
    }
}

/// Removes the instance of a trace that must end, even if it is only just being set up.
pub(super) fn remove() {
    callers::remove();
    let until = Instant::now() + PATIENCE;
    while matches!(TRACING.try_lock(), Err(TryLockError::WouldBlock)) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    callers::remove();
}
