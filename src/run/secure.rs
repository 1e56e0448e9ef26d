//! The rights that the program runs with.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;

use rustix::process::{getegid, geteuid, getgid, getuid};

use crate::text;
use crate::tui::app::Privilege;

/// `AT_SECURE` of `include/uapi/linux/auxvec.h`.
const AT_SECURE: usize = 23;

/// Returns true if the program is setuid or setgid, or has file capabilities, for a user who lacks them.
///
/// The kernel's own verdict is in the auxiliary vector. A process that was given such rights may not even
/// read its own vector: being denied is an answer too. Without a `/proc` the ids alone tell.
pub(crate) fn elevated() -> bool {
    if getuid() != geteuid() || getgid() != getegid() {
        return true;
    }
    match std::fs::read("/proc/self/auxv") {
        Ok(vector) => has_secure_flag(&vector),
        Err(error) => error.kind() == ErrorKind::PermissionDenied,
    }
}

fn has_secure_flag(vector: &[u8]) -> bool {
    let words: Vec<usize> = vector
        .chunks_exact(size_of::<usize>())
        .filter_map(|w| Some(usize::from_ne_bytes(w.try_into().ok()?)))
        .collect();
    words.chunks_exact(2).any(|pair| pair[0] == AT_SECURE && pair[1] != 0)
}

/// Returns the privilege of the user, for the header's advice.
pub(super) fn privilege() -> Privilege {
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy().into_owned();
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map_while(|n| n.parse::<u32>().ok());
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    Privilege {
        root: geteuid().is_root(),
        capability: if version >= (6, 15) {
            "CAP_PERFMON"
        } else {
            "CAP_SYS_PTRACE"
        },
        program: std::env::current_exe()
            .map_or_else(|_| "zmtop".into(), |path| shell_word(path.as_os_str().as_bytes())),
    }
}

/// Returns a path as one word of a shell, safe to print.
fn shell_word(path: &[u8]) -> String {
    let path = text::safe(path);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    if path.chars().all(is_plain) {
        path.into_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}
