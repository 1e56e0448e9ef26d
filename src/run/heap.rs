//! The allocator of programs that run for long.

use std::time::Duration;

/// Bytes from which on an allocation has pages of its own, which go back to the kernel when it is freed. It is what glibc
/// begins with, and raises after the first large one that is freed; set, it stays.
#[cfg(target_env = "gnu")]
const OWN_PAGES: libc::c_int = 128 << 10;

/// Heaps of a monitor of a fleet: of the screen, the engine, and the threads that read answers.
#[cfg(target_env = "gnu")]
const HEAPS: libc::c_int = 8;

/// Makes all threads allocate from one heap. glibc gives each its own, and what is freed in one is of no use to another: of
/// 10 000 processes that was a fifth of all memory. To be called before the second thread starts.
pub(super) fn share() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "no library offers mallopt(3)")]
    // SAFETY: it takes two numbers, and changes where memory is taken from later.
    unsafe {
        // Where it is refused, more memory is used.
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_PAGES);
    }
}

/// Lets threads allocate from heaps of their own again. While the answers about a fleet are read its one heap would be locked
/// most of the time, and the screen would wait for it. To be called before the second thread starts.
pub(super) fn part() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "no library offers mallopt(3)")]
    // SAFETY: it takes two numbers, and changes where memory is taken from later.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
    }
}

/// Gives memory back to the kernel once most processes have ended: what was freed lies between what is still used, and the
/// allocator keeps it.
#[derive(Debug, Default)]
pub struct GiveBack {
    /// The most processes since it was given back last.
    most: usize,
    due: Option<Duration>,
}

/// The least number of processes for which that is done: some kilobytes each.
const MANY: usize = 1000;
/// Time after which it is done: snapshots that are still held, and ends that follow, are through by then.
const PAUSE: Duration = Duration::from_secs(10);

impl GiveBack {
    /// Takes in how many processes there are `now`; returns true if memory was given back.
    pub fn count(&mut self, processes: usize, now: Duration) -> bool {
        self.most = self.most.max(processes);
        if self.most < MANY || processes > self.most / 2 {
            self.due = None;
            return false;
        }
        if now < *self.due.get_or_insert(now + PAUSE) {
            return false;
        }
        *self = Self {
            most: processes,
            due: None,
        };
        trim();
        true
    }
}

fn trim() {
    #[cfg(target_env = "gnu")]
    #[expect(unsafe_code, reason = "no library offers malloc_trim(3)")]
    // SAFETY: it takes a number, and leaves alone what is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}
