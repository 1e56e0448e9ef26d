//! Acts on processes: sends signals, sets niceness and `oom_score_adj`, clears referenced bits.
//!
//! A caller starts one [`Worker`] and sends it [`Command`]s; the answers come back as [`Reply`]s through a
//! callback. This module knows no screen and no settings, and it never acts on a process by its pid alone: a pid
//! is reused, a [`Pinned`] process is not.
//!
//! ```text
//! Pin ──► Pinned ─┬─ Exited, as they exit
//!                 └─ Perform ──► Performed ──► (after a signal) Outcome
//! ```

mod error;
mod pinned;
pub mod signals;
mod tunable;
mod worker;

use std::time::Duration;

pub use error::ActError;
pub use pinned::Pinned;
use rustix::process::Signal;
pub use tunable::{Tunable, TunableValues};
pub use worker::Worker;

use crate::model::Identity;

/// Maximum number of processes that one request may pin. Where the limit on open files is low, fewer are pinned.
pub const MAX_PROCESSES: usize = 1000;

/// Returns about how long the kernel takes to clear the referenced bits of so many resident bytes, while page faults of
/// the process wait: 6 to 10 ms for 200 MiB in small pages were measured on a virtual machine, 0.1 ms in huge ones.
pub const fn time_to_clear(rss: u64) -> Duration {
    Duration::from_micros((rss >> 20).saturating_mul(40))
}

/// A number, chosen by the caller, that joins commands and replies about the same processes.
pub type RequestId = u64;

/// An action on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessAction {
    /// Sends a signal.
    Signal(Signal),
    /// Sets a tunable to a value.
    Set(Tunable, i32),
    /// Adds to a tunable, separately for each process; the result is clamped to the tunable's range.
    Step(Tunable, i32),
    /// Clears the referenced bits of the memory: see [`Pinned::clear_referenced`]. As it may wait for ever, it ends the
    /// request and keeps nothing else waiting.
    ClearReferenced,
}

/// A command to the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Pins these processes and watches whether they exit. Answered by [`Reply::Pinned`].
    Pin(RequestId, Vec<Identity>),
    /// Performs an action on the processes that the request pinned. Answered by [`Reply::Performed`]. A signal
    /// ends the request, as clearing does: to do more, pin again.
    Perform(RequestId, ProcessAction),
    /// Unpins the request's processes.
    Release(RequestId),
}

/// A reply of the worker. The results stand in the order in which the processes were named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The tunables of each pinned process, or the reason why it was not pinned.
    Pinned(RequestId, Vec<Result<TunableValues, ActError>>),
    /// All pinned processes that have exited so far.
    Exited(RequestId, Vec<Identity>),
    /// The result of an action on each process: its new value, the number of the signal sent, or 0.
    Performed(RequestId, ProcessAction, Vec<Result<i32, ActError>>),
    /// The outcome of a signal, once all processes it reached have exited or the worker's timeout is over.
    Outcome {
        /// The request that sent the signal.
        request: RequestId,
        /// The signal sent.
        signal: Signal,
        /// Number of processes that received the signal and have exited.
        exited: usize,
        /// Number of processes that received the signal and still run.
        running: usize,
    },
}
