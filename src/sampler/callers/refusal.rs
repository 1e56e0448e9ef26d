//! The reasons why call sites cannot be traced, and what would grant it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::proc::tracefs::format::FormatError;
use crate::text::safe;

/// The reason why call sites cannot be traced; its text is safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The kernel has no such file system.
    NoTracefs,
    /// It is mounted nowhere.
    NotMounted,
    /// Only root may use it.
    Denied(PathBuf),
    /// The kernel is locked down.
    LockedDown,
    /// The kernel has no events of its allocator, which would be here.
    NoEvents(PathBuf),
    /// A file that tells a layout does not tell what is needed.
    Format(PathBuf, FormatError),
    /// There is an instance of that name, which is in use.
    InUse(PathBuf),
    /// The kernel says no, by number.
    File(PathBuf, Errno),
    /// The layout of this machine's numbers is not understood.
    BigEndian,
    /// The program is about to end.
    Ended,
}

impl Refusal {
    /// Returns the reason that a file of tracefs could not be used.
    pub(super) fn file(path: &Path, errno: Errno) -> Self {
        match errno {
            Errno::ACCESS | Errno::PERM => Self::Denied(path.into()),
            Errno::EXIST => Self::InUse(path.into()),
            errno => Self::File(path.into(), errno),
        }
    }

    /// Returns the same of an error of the standard library.
    pub(super) fn io(path: &Path, error: &io::Error) -> Self {
        Self::file(path, Errno::from_io_error(error).unwrap_or(Errno::IO))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &Path| safe(path.as_os_str().as_encoded_bytes()).into_owned();
        match self {
            Self::NoTracefs => f.write_str("this kernel has no tracefs (CONFIG_EVENT_TRACING)"),
            Self::NotMounted => {
                f.write_str("tracefs is not mounted; root can do it: mount -t tracefs nodev /sys/kernel/tracing")
            }
            Self::Denied(path) => write!(f, "only root may trace the kernel: {} is denied", shown(path)),
            Self::LockedDown => f.write_str(
                "the kernel is locked down for confidentiality, and so forbids tracing: /sys/kernel/security/lockdown",
            ),
            Self::NoEvents(path) => write!(f, "this kernel has no events of its allocator: {}", shown(path)),
            Self::Format(path, error) => write!(f, "{} {error}", shown(path)),
            Self::InUse(path) => write!(f, "{} is in use by another zmtop", shown(path)),
            Self::File(path, errno) => write!(f, "{}: {}", shown(path), io::Error::from(*errno)),
            Self::BigEndian => f.write_str("the kernel's trace buffers are read on little-endian machines alone"),
            Self::Ended => f.write_str("ended meanwhile"),
        }
    }
}
