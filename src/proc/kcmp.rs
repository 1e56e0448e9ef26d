//! Compares the address spaces of two processes.

use rustix::io::Errno;

/// `KCMP_VM` of `include/uapi/linux/kcmp.h`.
const KCMP_VM: libc::c_int = 1;

/// Returns true if the processes `a` and `b`, of zmtop's own pid namespace, share an address space, by `kcmp(2)`.
/// Must not be called for kernel threads and zombies: they have none, which the kernel reports as a shared one.
///
/// # Errors
/// EPERM if either may not be examined, ENOSYS if the kernel was built without it, ESRCH if one is gone. May
/// block while one of them executes another program.
pub fn same_memory(a: u32, b: u32) -> Result<bool, Errno> {
    let pid = |pid: u32| i32::try_from(pid).map_err(|_| Errno::SRCH);
    #[expect(unsafe_code, reason = "no library offers kcmp(2)")]
    // SAFETY: kcmp takes five numbers, of which KCMP_VM leaves the last two unread, and writes to no memory.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, pid(a)?, pid(b)?, KCMP_VM, 0_u64, 0_u64) };
    match order {
        0 => Ok(true),
        1.. => Ok(false),
        _ => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}
