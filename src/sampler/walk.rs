//! Walks a process: reads `smaps_rollup`, or sums `smaps` up where the kernel has none. Also reads the whole of
//! `smaps`, area by area, for mappings.

use std::path::Path;

use rustix::io::Errno;

use super::target::Target;
use super::thread;
use crate::model::mapping::Area;
use crate::model::{Memory, Missing, Reading, Stat};
use crate::proc::areas::Areas;
use crate::proc::objects::Objects;
use crate::proc::{files, smaps, stat};

/// A walk of a process.
#[derive(Clone, Copy)]
pub(super) struct Walked {
    pub(super) memory: Memory,
    /// Where its address space ends, if that is told.
    pub(super) end: Option<u64>,
    /// Anonymous pages, whole, if that is told.
    pub(super) anonymous: Option<u64>,
}

impl Walked {
    /// Returns the pages of files and shmem, whole.
    pub(super) fn files(&self) -> u64 {
        self.memory
            .rss
            .saturating_sub(self.anonymous.unwrap_or(self.memory.rss))
    }
}

/// Walks the process behind `target`, which started at `starttime`.
///
/// ESRCH on opening is what a kernel thread and a zombie give too, so `stat` is asked what it was. A read
/// of nothing at all may be an exec under way: it is tried once more. A file that is not there while the
/// process is means that the kernel, or the tree, has none. Where the thread that was read has ended, another
/// is read.
pub(super) fn walk(target: &Target, starttime: u64, proc: &Path, buf: &mut [u8]) -> Reading<Walked> {
    for _ in 0..2 {
        let result = rollup(target, proc, buf).or_else(|e| match e {
            Errno::NOENT => sum(target, proc, buf),
            other => Err(other),
        });
        let reading = match result {
            Ok(Some(reading)) => reading,
            Ok(None) => continue,
            Err(e @ (Errno::NOENT | Errno::SRCH)) => {
                let read = target.thread();
                let why = absent(target, starttime, proc, buf, e);
                if target.thread() == read {
                    return Err(why);
                }
                continue;
            }
            Err(e) => return Err(files::reason(e)),
        };
        // Opened by path, the file may have been another's if the pid was given away in between.
        if !target.is_bound() && !target.is_same(starttime, proc, buf) {
            return Err(Missing::Gone);
        }
        return reading;
    }
    Err(absent(target, starttime, proc, buf, Errno::SRCH))
}

/// Reads `smaps_rollup`; `None` where it is empty.
pub(super) fn rollup(target: &Target, proc: &Path, buf: &mut [u8]) -> Result<Option<Reading<Walked>>, Errno> {
    let fd = target.open(proc, b"smaps_rollup")?;
    let len = files::read_record(fd, buf)?;
    let bytes = &buf[..len];
    let walked = |memory| Walked {
        memory,
        end: smaps::end(bytes),
        anonymous: smaps::anonymous(bytes),
    };
    Ok((len > 0).then(|| smaps::rollup(bytes).map(walked)))
}

/// Sums `smaps` up; `None` where it is empty.
fn sum(target: &Target, proc: &Path, buf: &mut [u8]) -> Result<Option<Reading<Walked>>, Errno> {
    let fd = target.open(proc, b"smaps")?;
    let mut sums = smaps::SmapsSum::default();
    let mut any = false;
    loop {
        match files::read_once(&fd, buf)? {
            0 => {
                return Ok(any.then(|| {
                    sums.finish().map(|memory| Walked {
                        memory,
                        end: None,
                        anonymous: None,
                    })
                }));
            }
            n => sums.feed(&buf[..n]),
        }
        any = true;
    }
}

/// Reads what a process maps, from `maps`; `None` where that cannot be read.
pub(super) fn objects(target: &Target, proc: &Path, buf: &mut [u8]) -> Option<Objects> {
    let fd = target.open(proc, b"maps").ok()?;
    let mut objects = Objects::default();
    loop {
        match files::read_once(&fd, buf).ok()? {
            0 => break,
            n => objects.feed(&buf[..n]),
        }
    }
    objects.finish();
    Some(objects)
}

/// Returns why a process has nothing to walk.
fn absent(target: &Target, starttime: u64, proc: &Path, buf: &mut [u8], why: Errno) -> Missing {
    match glance(target, proc, buf) {
        Ok((started, ..)) if started != starttime => Missing::Gone,
        Ok((_, stat, _)) => match stat.lacks_memory() {
            Some(reason) => reason,
            None if why == Errno::NOENT => Missing::Unsupported,
            // It is on its way out: its memory is given back already.
            None => Missing::Gone,
        },
        Err(Missing::Malformed) => Missing::Malformed,
        Err(_) => Missing::Gone,
    }
}

/// Reads every area of the process behind `target`, which is `starttime`'s where that is known; also when it
/// started and what it is called. `progress` is called before every read that may keep it waiting.
///
/// The kernel lists areas a page at a time and lets the process run in between: an exec in the midst leaves
/// a list of two halves, so that it is read once more.
pub(super) fn areas<T: Default + Extend<Area>>(
    target: &Target,
    starttime: Option<u64>,
    proc: &Path,
    buf: &mut [u8],
    progress: impl Fn(),
) -> Reading<(T, u64, Box<[u8]>)> {
    let mut last = Missing::Gone;
    for _ in 0..2 {
        progress();
        let (started, before, comm) = glance(target, proc, buf)?;
        if starttime.is_some_and(|t| t != started) {
            return Err(Missing::Gone);
        }
        let areas = match read_areas::<T>(target, proc, buf, &progress) {
            Ok(Some(areas)) => areas,
            Ok(None) => {
                last = absent(target, started, proc, buf, Errno::SRCH);
                continue;
            }
            Err(e @ (Errno::NOENT | Errno::SRCH)) => {
                let read = target.thread();
                last = absent(target, started, proc, buf, e);
                if target.thread() == read {
                    return Err(last);
                }
                continue;
            }
            Err(e) => return Err(files::reason(e)),
        };
        let (again, after, _) = glance(target, proc, buf)?;
        if again != started || after.is_zombie() {
            return Err(Missing::Gone);
        }
        if after.image == before.image {
            return areas.map(|areas| (areas, started, comm));
        }
    }
    Err(last)
}

/// Reads `smaps`; `None` where it is empty.
fn read_areas<T: Default + Extend<Area>>(
    target: &Target,
    proc: &Path,
    buf: &mut [u8],
    progress: &impl Fn(),
) -> Result<Option<Reading<T>>, Errno> {
    let fd = target.open(proc, b"smaps")?;
    let mut found = T::default();
    let mut areas = Areas::new(|area| found.extend([area]));
    let mut any = false;
    loop {
        progress();
        match files::read_once(&fd, buf)? {
            0 => break,
            n => areas.feed(&buf[..n]),
        }
        any = true;
    }
    let whole = areas.finish();
    Ok(any.then(|| whole.map(|_| found)))
}

/// Reads when a process started, its `stat` and its comm.
fn glance(target: &Target, proc: &Path, buf: &mut [u8]) -> Reading<(u64, Stat, Box<[u8]>)> {
    let len = target.stat(proc, buf).map_err(files::reason)?;
    let mut glance = stat::parse(&buf[..len], 1)?;
    thread::complete(&mut glance.stat, target, proc, 1)?;
    Ok((glance.starttime, glance.stat, glance.comm.into()))
}
