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

mod pinned;
pub mod signals;
mod worker;

use std::ops::RangeInclusive;
use std::time::Duration;

pub use pinned::Pinned;
use rustix::io::Errno;
use rustix::process::Signal;
pub use worker::Worker;

use crate::model::Identity;

/// Maximum number of processes that one request may pin. Fewer are pinned if the limit on open files is low.
pub const MAX_PROCESSES: usize = 1000;

/// Estimates how long the kernel takes to clear the referenced bits of `rss` bytes; page faults of the process wait
/// meanwhile. Measured on a virtual machine for 200 MiB: 6 to 10 ms with small pages, 0.1 ms with huge ones.
pub const fn time_to_clear(rss: u64) -> Duration {
    Duration::from_micros((rss >> 20).saturating_mul(40))
}

/// A number, chosen by the caller, that links commands and replies.
pub type RequestId = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessAction {
    Signal(Signal),
    Set(Tunable, i32),
    /// Adds to a tunable, separately for each process; the result is clamped to the tunable's range.
    Step(Tunable, i32),
    /// Clears the referenced bits of the memory: see [`Pinned::clear_referenced`]. Ends the request, and runs on its
    /// own thread, since it may never return.
    ClearReferenced,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Pins these processes and watches whether they exit. Answered by [`Reply::Pinned`].
    Pin(RequestId, Vec<Identity>),
    /// Performs an action on the processes that the request pinned. Answered by [`Reply::Performed`]. A signal or
    /// clearing ends the request: pin again for further actions.
    Perform(RequestId, ProcessAction),
    Release(RequestId),
}

/// A reply of the worker. Results are in the order of the command's processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The tunables of each pinned process, or the reason why it was not pinned.
    Pinned(RequestId, Vec<Result<TunableValues, ActError>>),
    /// All pinned processes that have exited.
    Exited(RequestId, Vec<Identity>),
    /// The result of an action for each process: its new value, the number of the signal sent, or 0.
    Performed(RequestId, ProcessAction, Vec<Result<i32, ActError>>),
    /// The outcome of a signal, sent once all processes that received it have exited or the worker's timeout has expired.
    Outcome {
        request: RequestId,
        signal: Signal,
        /// Number of processes that received the signal and have exited.
        exited: usize,
        /// Number of processes that received the signal and still run.
        running: usize,
    },
}

/// A setting of a process. [`Pinned`] reads and writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunable {
    /// `oom_score_adj`: an offset, in thousandths of the memory, to the score by which the kernel chooses its victim
    /// when memory runs out. At −1000 the process is never chosen. Lowering it below the value it was last raised to
    /// requires `CAP_SYS_RESOURCE`.
    OomScoreAdj,
    /// The niceness of all threads.
    Nice,
}

/// The texts and limits of a tunable.
#[derive(Debug)]
pub struct TunableSpec {
    /// The name in messages and in front of the input line.
    pub name: &'static str,
    /// The values that the kernel accepts.
    pub range: RangeInclusive<i32>,
    /// The title of the dialog.
    pub title: &'static str,
    /// The meaning of the lowest and the highest value.
    pub hint: &'static str,
}

impl Tunable {
    pub const ALL: [Self; 2] = [Self::OomScoreAdj, Self::Nice];

    pub const fn spec(self) -> TunableSpec {
        match self {
            Self::OomScoreAdj => TunableSpec {
                name: "oom_score_adj",
                range: -1000..=1000,
                title: " Set oom_score_adj ",
                hint: "-1000 (never killed) to 1000 (killed first)",
            },
            Self::Nice => TunableSpec {
                name: "nice",
                range: -20..=19,
                title: " Set the niceness ",
                hint: "-20 (highest priority) to 19 (lowest priority)",
            },
        }
    }

    /// Checks that a value is in range.
    pub fn check(self, value: i32) -> Result<(), ActError> {
        let range = self.spec().range;
        if range.contains(&value) {
            Ok(())
        } else {
            Err(ActError::OutOfRange(value, *range.start(), *range.end()))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunableValues([Result<i32, ActError>; Tunable::ALL.len()]);

impl TunableValues {
    pub fn new(read: impl FnMut(Tunable) -> Result<i32, ActError>) -> Self {
        Self(Tunable::ALL.map(read))
    }

    pub const fn get(&self, tunable: Tunable) -> Result<i32, ActError> {
        self.0[tunable as usize]
    }
}

/// The reason why an action was not performed on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// The snapshot's `/proc` belongs to another machine or pid namespace.
    #[error("these processes are not on this machine: they cannot be changed")]
    ForeignProc,
    /// Process 1. If it ends, so does the machine or the container.
    #[error("process 1 must not be changed")]
    Init,
    #[error("this is zmtop itself")]
    OwnProcess,
    #[error("it is a kernel thread")]
    KernelThread,
    #[error("the process has ended")]
    Gone,
    #[error("the process has ended and waits to be reaped by its parent")]
    Zombie,
    #[error("the process has ended, and another process has its pid now")]
    PidReused,
    /// The row has no start time, because its `stat` was not read yet.
    #[error("it is not read yet: try again")]
    Unread,
    /// EPERM or EACCES.
    #[error("permission denied")]
    Denied,
    /// The kernel has no pidfds (before Linux 5.3).
    #[error("this kernel cannot pin a process (Linux 5.3 is needed)")]
    Unsupported,
    /// The kernel has no `clear_refs`: it was built without `CONFIG_PROC_PAGE_MONITOR`.
    #[error("this kernel does not record which memory is touched (no clear_refs)")]
    NoReferencedBits,
    /// The value, the minimum and the maximum.
    #[error("{0} is out of range: {1} to {2}")]
    OutOfRange(i32, i32, i32),
    /// zmtop reserves part of the limit on open files for pinning.
    #[error("zmtop may not open enough files to hold one more process (see ulimit -n)")]
    TooMany,
    #[error("zmtop already waits for the end of too many processes")]
    Busy,
    /// A file of `/proc` does not have the documented format.
    #[error("/proc cannot be parsed")]
    Malformed,
    #[error("{0}")]
    Kernel(Errno),
}

impl ActError {
    /// Returns a short form that follows a count: `2 denied`.
    pub const fn short(self) -> &'static str {
        match self {
            Self::ForeignProc => "not of this machine",
            Self::Init => "is process 1",
            Self::OwnProcess => "is zmtop itself",
            Self::KernelThread => "of the kernel",
            Self::Gone | Self::Zombie | Self::PidReused => "ended",
            Self::Unread => "not read yet",
            Self::Denied => "denied",
            Self::Unsupported | Self::NoReferencedBits => "unsupported",
            Self::OutOfRange(..) => "out of range",
            Self::TooMany => "beyond the limit on open files",
            Self::Busy => "too many at once",
            Self::Malformed => "not understood",
            Self::Kernel(_) => "failed",
        }
    }
}

impl From<Errno> for ActError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::SRCH | Errno::NOENT => Self::Gone,
            Errno::PERM | Errno::ACCESS => Self::Denied,
            Errno::NOSYS => Self::Unsupported,
            Errno::MFILE | Errno::NFILE => Self::TooMany,
            other => Self::Kernel(other),
        }
    }
}
