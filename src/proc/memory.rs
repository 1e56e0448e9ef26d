//! Many short reads of the memory of another process in one system call: `process_vm_readv(2)`.

use rustix::io::Errno;

/// Maximum number of pieces of one call: `IOV_MAX`.
const MAX_PIECES: usize = 1024;

/// Reads four words at each address in a process, given by its pid in zmtop's own pid namespace. Returns the number of addresses
/// read, in order: fewer than all if one cannot be read.
///
/// # Errors
/// EPERM if the process may not be examined, ESRCH if it is gone, EFAULT if the first address cannot be read, ENOSYS if the kernel
/// was built without the call.
pub fn read_each(pid: u32, addresses: &[u64], into: &mut [[u64; 4]]) -> Result<usize, Errno> {
    let pid = i32::try_from(pid).map_err(|_| Errno::SRCH)?;
    let count = addresses.len().min(into.len()).min(MAX_PIECES);
    let pieces: Vec<_> = addresses[..count]
        .iter()
        .map(|address| libc::iovec {
            iov_base: std::ptr::without_provenance_mut(*address as usize),
            iov_len: size_of::<[u64; 4]>(),
        })
        .collect();
    let bytes = into[..count].as_flattened_mut();
    let (len, start) = (size_of_val(bytes), bytes.as_mut_ptr().cast());
    let own = libc::iovec {
        iov_base: start,
        iov_len: len,
    };
    #[expect(unsafe_code, reason = "no library offers process_vm_readv(2)")]
    // SAFETY: the kernel writes at most `len` bytes to `into`, which is borrowed exclusively and may hold any bytes. It reads `count`
    // pieces, and checks their addresses, which are never followed here.
    let read = unsafe { libc::process_vm_readv(pid, &raw const own, 1, pieces.as_ptr(), count as libc::c_ulong, 0) };
    match usize::try_from(read) {
        Ok(read) => Ok(read / size_of::<[u64; 4]>()),
        Err(_) => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)),
    }
}
