//! The small files of a process.

use std::path::Path;

use rustix::io::Errno;

use super::{Place, Subject};
use crate::model::{Missing, Reading};
use crate::proc::{cgroup, files, stat};
use crate::sampler::target::Target;

/// The whole of one of the process's files, as much as `buf` holds. Opened by path it must have been the
/// same process all along.
pub(super) fn record<'a>(subject: &Subject, proc: &Path, name: &[u8], buf: &'a mut [u8]) -> Reading<&'a [u8]> {
    let target = &*subject.target;
    let len = target
        .open(proc, name)
        .and_then(|fd| files::read_all(fd, buf))
        .map_err(|e| absent(e, target, proc))?;
    same(subject, proc)?;
    Ok(&buf[..len])
}

/// That what was reached by path was the process's: it still is the one asked about.
pub(super) fn same(subject: &Subject, proc: &Path) -> Reading<()> {
    let target = &*subject.target;
    if target.is_bound() {
        return Ok(());
    }
    let mut again = [0; 1024];
    target
        .stat(proc, &mut again)
        .is_ok_and(|len| stat::parse(&again[..len], 1).is_ok_and(|g| g.starttime == subject.starttime))
        .then_some(())
        .ok_or(Missing::Gone)
}

/// Why a file could not be read: one that is not there while its process is, is not offered.
pub(super) fn absent(errno: Errno, target: &Target, proc: &Path) -> Missing {
    match files::reason(errno) {
        Missing::Gone if target.stat(proc, &mut [0; 1024]).is_ok() => Missing::Unsupported,
        other => other,
    }
}

pub(super) fn place(bytes: &[u8]) -> Reading<Place> {
    let place = cgroup::parse(bytes)?;
    Ok(Place {
        path: place.path.into(),
        unit: place.unit.map(Into::into),
        container: place.container.map(Into::into),
    })
}
