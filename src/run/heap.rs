//! The allocator of programs that run for long.

/// Bytes from which on an allocation has pages of its own, which go back to the kernel when it is freed. It is what glibc
/// begins with, and raises after the first large one that is freed; set, it stays.
#[cfg(target_env = "gnu")]
const OWN_PAGES: libc::c_int = 128 << 10;

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
