//! Refuses rights that are not the user's own.

use std::io::ErrorKind;

use rustix::process::{getegid, geteuid, getgid, getuid};

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
