//! Whether two processes have one address space.

use rustix::io::Errno;

/// `KCMP_VM` of `include/uapi/linux/kcmp.h`.
const KCMP_VM: libc::c_int = 1;

/// Whether the processes `a` and `b`, of zmtop's own pid namespace, have one address space, by `kcmp(2)`.
/// Kernel threads and zombies have none, which the kernel takes for one they share: not to be asked of.
///
/// # Errors
/// EPERM where either may not be looked at, ENOSYS where the kernel was built without it, ESRCH where one
/// is gone. May wait while one of them executes another program.
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
