//! The error of an action on a process.

use rustix::io::Errno;

/// The reason why an action was not performed on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActError {
    /// The snapshot's `/proc` belongs to another machine or pid namespace.
    #[error("these processes are not this machine's: there is nothing to act on")]
    ForeignProc,
    /// Process 1. If it ends, so does the machine or the container.
    #[error("process 1 is not to be touched")]
    Init,
    /// zmtop itself.
    #[error("this is zmtop itself")]
    OwnProcess,
    /// A kernel thread.
    #[error("it is a thread of the kernel")]
    KernelThread,
    /// The process has exited and was reaped.
    #[error("the process has ended")]
    Gone,
    /// The process has exited but was not reaped yet.
    #[error("the process has ended and waits to be reaped by its parent")]
    Zombie,
    /// The process has exited and its pid was reused.
    #[error("the process has ended, and another has its pid now")]
    PidReused,
    /// EPERM or EACCES.
    #[error("permission denied")]
    Denied,
    /// The kernel has no pidfds (before Linux 5.3).
    #[error("this kernel cannot pin a process (Linux 5.3 is needed)")]
    Unsupported,
    /// The kernel has no `clear_refs`: it was built without `CONFIG_PROC_PAGE_MONITOR`.
    #[error("this kernel does not record which memory is touched (no clear_refs)")]
    NoReferencedBits,
    /// A value is outside the kernel's range: the value, the minimum and the maximum.
    #[error("{0} is out of range: {1} to {2}")]
    OutOfRange(i32, i32, i32),
    /// The limit on open files allows no more pinned processes. zmtop reserves part of the limit for pinning.
    #[error("zmtop may not open enough files to hold one more process (see ulimit -n)")]
    TooMany,
    /// The kernel still works on too many earlier requests of this kind.
    #[error("too many processes are being waited for")]
    Busy,
    /// A file of `/proc` does not have the documented format.
    #[error("/proc cannot be understood")]
    Malformed,
    /// Any other error of the kernel.
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
