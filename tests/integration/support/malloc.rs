//! The memory of the test process. Every zmtop that tests run on this machine walks its pages, so that they cost more than what
//! the tests do with them.

/// Runs before `main`: glibc then gives back what tests free. Else it keeps hundreds of megabytes, a part in the arena of each
/// thread.
#[cfg(target_env = "gnu")]
#[used]
#[expect(unsafe_code, reason = "the test harness calls nothing before the tests")]
// SAFETY: the section holds pointers to functions, which the C library calls once.
#[unsafe(link_section = ".init_array")]
static GIVE_BACK: extern "C" fn() = give_back;

#[cfg(target_env = "gnu")]
extern "C" fn give_back() {
    // As many as tests compute at once.
    let arenas = 2;
    let threshold = 1 << 20;
    #[expect(unsafe_code, reason = "no library offers mallopt(3)")]
    // SAFETY: there is one thread yet, and these options may be set at any time.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, arenas);
        libc::mallopt(libc::M_TRIM_THRESHOLD, threshold);
        libc::mallopt(libc::M_MMAP_THRESHOLD, threshold);
    }
}
