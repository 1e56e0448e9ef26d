//! Acts on processes: sends signals, sets niceness and `oom_score_adj`.
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

pub use error::ActError;
pub use pinned::Pinned;
use rustix::process::Signal;
pub use tunable::{Tunable, TunableValues};
pub use worker::Worker;

use crate::model::Identity;

/// Maximum number of processes that one request may pin. Where the limit on open files is low, fewer are pinned.
pub const MAX_PROCESSES: usize = 1000;

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
}

/// A command to the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Pins these processes and watches whether they exit. Answered by [`Reply::Pinned`].
    Pin(RequestId, Vec<Identity>),
    /// Performs an action on the processes that the request pinned. Answered by [`Reply::Performed`]. A signal
    /// ends the request: to send another, pin again.
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
    /// The result of an action on each process: its new value, or the number of the signal sent.
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
