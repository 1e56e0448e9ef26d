//! zmtop's own process: its standard output at the start, its privileges, its job control and its heap.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::{getegid, geteuid, getgid, getpid, getuid};

use crate::proc::files;
use crate::text;
use crate::tui::app::Privilege;

static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns true if standard output was closed when the program started.
///
/// The standard library opens `/dev/null` in place of a closed descriptor 0, 1 or 2 before `main`. Output written there
/// is silently lost. It cannot be distinguished later from a `/dev/null` opened by the caller, since Python and Node.js
/// also open theirs for reading and writing. So the check runs earlier, when the program is loaded.
pub(super) fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}

#[used]
#[expect(
    unsafe_code,
    reason = "nothing else runs before the standard library opens the descriptor"
)]
// SAFETY: the section is the list of functions that the C library calls before `main`. It passes arguments, which a function of the
// C calling convention may ignore. This one makes one system call and stores its result: it needs nothing that is set up in `main`.
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = check_stdout;

extern "C" fn check_stdout() {
    let is_closed = rustix::io::fcntl_getfd(rustix::stdio::stdout()) == Err(rustix::io::Errno::BADF);
    WAS_CLOSED.store(is_closed, Ordering::Relaxed);
}

/// `AT_SECURE` of `include/uapi/linux/auxvec.h`.
const AT_SECURE: usize = 23;

/// Returns true if the program is setuid or setgid for its user.
pub(super) fn is_setuid() -> bool {
    getuid() != geteuid() || getgid() != getegid()
}

/// Returns true if the program has rights that its user lacks, such as file capabilities.
///
/// The kernel's own verdict is in the auxiliary vector. A process with such rights may not even be allowed to read its
/// own vector, so a denial also means true.
pub(super) fn is_elevated() -> bool {
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

/// Returns the user's privilege, for the advice in the header.
pub(super) fn privilege() -> Privilege {
    Privilege {
        root: geteuid().is_root(),
        capability: files::memory_capability(),
        program: std::env::current_exe()
            .map_or_else(|_| "zmtop".into(), |path| text::shell_word(path.as_os_str().as_bytes())),
    }
}

/// The job-control facts of a process.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// The parent's pid. 0 if it is not visible here, as for the group and the session.
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    /// True if it ignores SIGTSTP, as an interactive shell does.
    pub ignores_stop: bool,
}

/// Returns true if the process group of this process can be stopped and resumed.
pub fn can_stop() -> bool {
    resumes(getpid().as_raw_nonzero().get(), find)
}

/// Returns true if the process group of `pid` can be stopped and resumed. `find` looks up processes. A shell with job
/// control runs a job in a separate process group and waits outside of it. In `$(…)` the shell is in the same group and
/// waits for output. Without such a shell the group is orphaned.
pub fn resumes(pid: i32, find: impl Fn(i32) -> Option<Process>) -> bool {
    let Some(own) = find(pid) else {
        return false;
    };
    let mut parent = own.parent;
    while let Some(process) = find(parent) {
        if process.group != own.group {
            return process.session == own.session;
        }
        // A shell in `$(…)`, or a script started with stops ignored. Neither stops with its group.
        if process.ignores_stop {
            return false;
        }
        parent = process.parent;
    }
    false
}

/// Finds a process of this system. If `/proc` hides it, its parent counts as none. A parent, process group or session
/// outside of this pid namespace is 0, which rustix's `getpgid` and `getsid` do not allow for.
fn find(pid: i32) -> Option<Process> {
    let stat = procfs::process::Process::new(pid)
        .and_then(|process| process.stat())
        .ok()?;
    Some(Process {
        parent: stat.ppid,
        group: stat.pgrp,
        session: stat.session,
        ignores_stop: stat.sigignore >> (libc::SIGTSTP - 1) & 1 == 1,
    })
}

/// Size in bytes from which an allocation gets its own pages, which return to the kernel when it is freed. This is the
/// initial value of glibc, which raises it after the first large free. Setting it explicitly keeps it fixed.
#[cfg(target_env = "gnu")]
const OWN_PAGES: libc::c_int = 128 << 10;

/// The heaps that all threads share.
#[derive(Clone, Copy, Debug)]
pub(super) enum Heaps {
    /// By default, each thread of glibc has its own, and memory freed in one cannot be reused by another. With 10 000 processes
    /// this wasted a fifth of all memory.
    One = 1,
    /// For the screen of a fleet, the engine and the threads that parse responses. While they do, a single heap would be
    /// locked most of the time and the screen would wait for it.
    Fleet = 8,
}

/// Makes all threads share these heaps. Threads that have started keep a heap of their own.
pub(super) fn share_heaps(heaps: Heaps) {
    #[cfg(not(target_env = "gnu"))]
    let _ = heaps;
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "no library offers mallopt(3)")]
    // SAFETY: it takes two numbers, and changes only how later memory is allocated. The monitor calls it before other threads
    // start; in commands where some have, glibc changes the numbers under the lock of its first heap, and threads read each once.
    unsafe {
        // If refused, zmtop only uses more memory.
        libc::mallopt(libc::M_ARENA_MAX, heaps as libc::c_int);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_PAGES);
    }
}
