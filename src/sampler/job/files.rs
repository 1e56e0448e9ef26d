//! Reads the small files of a process.

use std::path::Path;

use rustix::io::Errno;

use super::ProcessRef;
use crate::model::{Missing, Reading};
use crate::proc::files;
use crate::sampler::target::Target;

/// Reads one of the process's files, as much as `buf` holds. Opened by path, it must have been the same process
/// all along.
pub(super) fn read<'a>(process: &ProcessRef, proc: &Path, name: &[u8], buf: &'a mut [u8]) -> Reading<&'a [u8]> {
    let target = &*process.target;
    let len = target
        .open(proc, name)
        .and_then(|fd| files::read_all(fd, buf))
        .map_err(|e| absent(e, target, proc))?;
    check_same(process, proc)?;
    Ok(&buf[..len])
}

/// Checks that what was reached by path was the process's: it still is the one asked about.
pub(super) fn check_same(process: &ProcessRef, proc: &Path) -> Reading<()> {
    let is_same = process.target.is_bound() || process.target.is_same(process.starttime, proc, &mut [0; 1024]);
    is_same.then_some(()).ok_or(Missing::Gone)
}

/// Returns why a file could not be read: one that is not there while its process is, is not offered.
pub(super) fn absent(errno: Errno, target: &Target, proc: &Path) -> Missing {
    match files::reason(errno) {
        Missing::Gone if target.stat(proc, &mut [0; 1024]).is_ok() => Missing::Unsupported,
        other => other,
    }
}
