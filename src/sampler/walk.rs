//! One walk: `smaps_rollup`, or `smaps` summed up where the kernel has none.

use std::path::Path;

use rustix::io::Errno;

use super::target::Target;
use crate::model::{Memory, Missing, Reading};
use crate::proc::{files, smaps, stat};

/// Walks the process behind `target`, which started at `starttime`.
///
/// ESRCH on opening is what a kernel thread and a zombie give too, so `stat` is asked what it was. A read
/// of nothing at all may be an exec under way: it is tried once more. A file that is not there while the
/// process is means that the kernel, or the tree, has none.
pub(super) fn walk(target: &Target, starttime: u64, proc: &Path, buf: &mut [u8]) -> Reading<Memory> {
    for _ in 0..2 {
        let result = rollup(target, proc, buf).or_else(|e| match e {
            Errno::NOENT => sum(target, proc, buf),
            other => Err(other),
        });
        let reading = match result {
            Ok(Some(reading)) => reading,
            Ok(None) => continue,
            Err(e @ (Errno::NOENT | Errno::SRCH)) => return Err(absent(target, starttime, proc, buf, e)),
            Err(e) => return Err(files::reason(e)),
        };
        // Opened by path, the file may have been another's if the pid was given away in between.
        if !target.is_bound() && !is_same(target, starttime, proc, buf) {
            return Err(Missing::Gone);
        }
        return reading;
    }
    Err(absent(target, starttime, proc, buf, Errno::SRCH))
}

/// The rollup; `None` where it is empty.
fn rollup(target: &Target, proc: &Path, buf: &mut [u8]) -> Result<Option<Reading<Memory>>, Errno> {
    let fd = target.open(proc, b"smaps_rollup")?;
    let len = files::read_record(fd, buf)?;
    Ok((len > 0).then(|| smaps::rollup(&buf[..len])))
}

/// The sum over `smaps`; `None` where it is empty.
fn sum(target: &Target, proc: &Path, buf: &mut [u8]) -> Result<Option<Reading<Memory>>, Errno> {
    let fd = target.open(proc, b"smaps")?;
    let mut sums = smaps::Smaps::default();
    let mut any = false;
    loop {
        match files::read_once(&fd, buf)? {
            0 => return Ok(any.then(|| sums.finish())),
            n => sums.feed(&buf[..n]),
        }
        any = true;
    }
}

fn is_same(target: &Target, starttime: u64, proc: &Path, buf: &mut [u8]) -> bool {
    target
        .stat(proc, buf)
        .is_ok_and(|len| stat::parse(&buf[..len], 1).is_ok_and(|g| g.starttime == starttime))
}

/// Why a process has nothing to walk.
fn absent(target: &Target, starttime: u64, proc: &Path, buf: &mut [u8], why: Errno) -> Missing {
    let Ok(len) = target.stat(proc, buf) else {
        return Missing::Gone;
    };
    match stat::parse(&buf[..len], 1) {
        Ok(g) if g.starttime != starttime => Missing::Gone,
        Ok(g) if g.stat.is_kernel_thread() => Missing::KernelThread,
        Ok(g) if g.stat.is_zombie() => Missing::Zombie,
        Ok(_) if why == Errno::NOENT => Missing::Unsupported,
        // It is on its way out: its memory is given back already.
        Ok(_) => Missing::Gone,
        Err(e) => e,
    }
}
