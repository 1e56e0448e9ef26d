//! The async runtime of a command, and its progress on stderr.

use std::io::{self, IsTerminal, Write};

use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::process::{self, Heaps};
use crate::own::GiveBack;

/// Maximum number of threads for slow work of a fleet. One parses answers; the other looks up hosts, and makes snapshots and the history
/// of the past.
const BLOCKING: usize = 2;

/// Returns a runtime builder for sampling, signals and timers. They run beside the main thread, which may be stuck in a
/// write. Threads that have started by then keep a heap of their own.
pub fn runtime() -> tokio::runtime::Builder {
    process::share_heaps(Heaps::One);
    builder()
}

/// Returns the same builder for a program whose threads share their heaps already.
pub(super) fn builder() -> tokio::runtime::Builder {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).thread_name("zmtop-runtime").enable_all();
    // Tokio gives work to all idle threads in turn, so that none is idle for long enough to end. Each keeps some freed memory.
    builder.max_blocking_threads(BLOCKING);
    builder
}

/// Runs a task on a new [`runtime`]. Does not wait for reads of `/proc`, which may be stuck for ever.
pub(super) fn on_runtime<T, E: From<String>>(task: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    run_on(&mut runtime(), task)
}

pub(super) fn run_on<T, E: From<String>>(
    builder: &mut tokio::runtime::Builder,
    task: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let runtime = builder.build().map_err(|error| not_started(&error))?;
    let _handled = prepare(&runtime).map_err(|error| not_started(&error))?;
    let done = runtime.block_on(task);
    runtime.shutdown_background();
    done
}

/// Returns freed memory to the kernel, and handles SIGXFSZ from now on: a write beyond the limit of file sizes then fails instead of
/// ending the program.
pub(super) fn prepare(runtime: &Runtime) -> io::Result<Signal> {
    let _entered = runtime.enter();
    runtime.spawn(GiveBack::default().run());
    signal(SignalKind::from_raw(libc::SIGXFSZ))
}

/// Returns the stream of a signal from now on. To be called on a runtime.
pub(super) fn signals(kind: SignalKind) -> Result<Signal, String> {
    signal(kind).map_err(|error| not_started(&error))
}

fn not_started(error: &io::Error) -> String {
    format!("cannot start the runtime: {error}")
}

/// A line on stderr that is rewritten in place, and cleared when dropped. Shown only if stderr is a terminal.
pub(super) struct Progress {
    is_interactive: bool,
    is_shown: bool,
}

impl Progress {
    pub(super) fn new() -> Self {
        Self {
            is_interactive: io::stderr().is_terminal(),
            is_shown: false,
        }
    }

    /// Prints the expected duration once, where no line can be rewritten.
    #[cfg(feature = "code")]
    pub(super) fn announce(&self, line: impl FnOnce() -> String) {
        if !self.is_interactive {
            super::complain(&line());
        }
    }

    pub(super) fn show(&mut self, line: impl FnOnce() -> String) {
        if self.is_interactive {
            self.is_shown = true;
            let _ = write!(io::stderr(), "\r\x1b[K{}", line());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
