//! Acts on processes: sends signals, sets niceness and `oom_score_adj`, clears referenced bits.
//!
//! A caller starts one [`Worker`] and sends it [`Command`]s. The answers come back as [`Reply`]s through a callback.
//! This module knows neither screen nor settings. It never acts on a process by its pid alone: a pid may be reused, but
//! a [`Pinned`] process stays the same.
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

/// Maximum number of processes that one request may pin. Fewer are pinned if the limit on open files is low.
pub const MAX_PROCESSES: usize = 1000;

/// Estimates how long the kernel takes to clear the referenced bits of `rss` bytes; page faults of the process wait
/// meanwhile. Measured on a virtual machine for 200 MiB: 6 to 10 ms with small pages, 0.1 ms with huge ones.
pub const fn time_to_clear(rss: u64) -> Duration {
    Duration::from_micros((rss >> 20).saturating_mul(40))
}

/// A number, chosen by the caller, that connects commands and replies about the same processes.
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
    /// Clears the referenced bits of the memory: see [`Pinned::clear_referenced`]. Ends the request, and runs on its
    /// own thread, since it may never return.
    ClearReferenced,
}

/// A command to the worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Pins these processes and watches whether they exit. Answered by [`Reply::Pinned`].
    Pin(RequestId, Vec<Identity>),
    /// Performs an action on the processes that the request pinned. Answered by [`Reply::Performed`]. A signal or
    /// clearing ends the request: pin again for further actions.
    Perform(RequestId, ProcessAction),
    /// Unpins the request's processes.
    Release(RequestId),
}

/// A reply of the worker. Results are in the order in which the command listed the processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The tunables of each pinned process, or the reason why it was not pinned.
    Pinned(RequestId, Vec<Result<TunableValues, ActError>>),
    /// All pinned processes that have exited.
    Exited(RequestId, Vec<Identity>),
    /// The result of an action for each process: its new value, the number of the signal sent, or 0.
    Performed(RequestId, ProcessAction, Vec<Result<i32, ActError>>),
    /// The outcome of a signal. Sent once all processes that received it have exited, or the worker's timeout expires.
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
