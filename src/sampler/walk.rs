//! One walk: `smaps_rollup`, or `smaps` summed up where the kernel has none. And the whole of `smaps`, area
//! by area, for who asks for mappings.

use std::path::Path;

use rustix::io::Errno;

use super::target::Target;
use crate::group::mapping::MappingMerge;
use crate::model::mapping::Area;
use crate::model::{Memory, Missing, Reading, Stat};
use crate::proc::areas::Areas;
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
    let mut sums = smaps::SmapsSum::default();
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

/// What the areas of one process are put into.
pub(super) trait Collect: Default + Send + 'static {
    /// Takes in the next.
    fn area(&mut self, area: Area);
}

impl Collect for Vec<Area> {
    fn area(&mut self, area: Area) {
        self.push(area);
    }
}

impl Collect for MappingMerge {
    fn area(&mut self, area: Area) {
        Self::area(self, &area);
    }
}

/// Reads every area of the process behind `target`, which is `starttime`'s where that is known; also when it
/// started and what it is called. `beat` is called before every read that may keep it waiting.
///
/// The kernel lists areas a page at a time and lets the process run in between: an exec in the midst leaves
/// a list of two halves, so that it is read once more.
pub(super) fn areas<T: Collect>(
    target: &Target,
    starttime: Option<u64>,
    proc: &Path,
    buf: &mut [u8],
    beat: impl Fn(),
) -> Reading<(T, u64, Box<[u8]>)> {
    let mut last = Missing::Gone;
    for _ in 0..2 {
        beat();
        let (started, before, comm) = seen(target, proc, buf)?;
        if starttime.is_some_and(|t| t != started) {
            return Err(Missing::Gone);
        }
        let (areas, any) = match listed::<T>(target, proc, buf, &beat) {
            Ok(read) => read,
            Err(e @ (Errno::NOENT | Errno::SRCH)) => return Err(absent(target, started, proc, buf, e)),
            Err(e) => return Err(files::reason(e)),
        };
        if !any {
            last = absent(target, started, proc, buf, Errno::SRCH);
            continue;
        }
        let (again, after, _) = seen(target, proc, buf)?;
        if again != started || after.is_zombie() {
            return Err(Missing::Gone);
        }
        if after.image == before.image {
            return areas.map(|areas| (areas, started, comm));
        }
    }
    Err(last)
}

/// The areas, and whether there was anything at all.
fn listed<T: Collect>(
    target: &Target,
    proc: &Path,
    buf: &mut [u8],
    beat: &impl Fn(),
) -> Result<(Reading<T>, bool), Errno> {
    let fd = target.open(proc, b"smaps")?;
    let mut found = T::default();
    let mut areas = Areas::new(|area| found.area(area));
    let mut any = false;
    loop {
        beat();
        match files::read_once(&fd, buf)? {
            0 => break,
            n => areas.feed(&buf[..n]),
        }
        any = true;
    }
    let whole = areas.finish();
    Ok((whole.map(|_| found), any))
}

fn seen(target: &Target, proc: &Path, buf: &mut [u8]) -> Reading<(u64, Stat, Box<[u8]>)> {
    let len = target.stat(proc, buf).map_err(files::reason)?;
    stat::parse(&buf[..len], 1).map(|g| (g.starttime, g.stat, g.comm.into()))
}
