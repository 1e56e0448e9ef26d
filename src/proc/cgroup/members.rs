//! The threads in a cgroup.

use rustix::io::Errno;

use super::mounts::{Mounts, Version};
use crate::proc::files;

/// Calls `each` with the id of every thread in the cgroup at `path`, of zmtop's own pid namespace; a process is where its
/// main thread is, whose id is the pid.
pub fn each_thread(mounts: &Mounts, path: &[u8], buf: &mut [u8], mut each: impl FnMut(u32)) -> Result<(), Errno> {
    let mut file = mounts.directory(path).ok_or(Errno::NOENT)?;
    file.extend_from_slice(match mounts.version {
        Version::V1 => b"/tasks",
        Version::V2 => b"/cgroup.threads",
    });
    let fd = files::open(&file)?;
    // A number may go on in the next piece.
    let mut id = 0_u32;
    loop {
        let len = files::read_once(&fd, buf)?;
        if len == 0 {
            return Ok(());
        }
        for byte in &buf[..len] {
            match byte {
                b'0'..=b'9' => id = id.wrapping_mul(10).wrapping_add(u32::from(byte - b'0')),
                _ => each(std::mem::take(&mut id)),
            }
        }
    }
}
