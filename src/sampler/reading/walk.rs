//! Walks a process: reads `smaps_rollup`, or sums `smaps` if the kernel has none. Also reads every area of `smaps`,
//! for mappings.

use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;

use super::target::{self, Target};
use super::{Context, ProcessRef};
use crate::model::mapping::Area;
use crate::model::{Memory, Missing, Reading, Stat};
use crate::proc::maps::{MAX_MAPS, Objects};
use crate::proc::smaps::Areas;
use crate::proc::{clock, files, pid, smaps};
use crate::sampler::estimate::Anchor;
use crate::sampler::policy::plan::Purpose;
use crate::sampler::sharing::LastMaps;

/// CPU time of a walk from which on the additional read of `maps` is so cheap in comparison that the first scan does
/// it too.
const SMALL_BESIDE: Duration = Duration::from_millis(1);

pub(crate) struct WalkRequest {
    pub(crate) process: ProcessRef,
    pub(crate) purpose: Purpose,
    /// The CPU time that the planner has reserved.
    pub(crate) expected: Duration,
    /// The state of the process when its `maps` was last read.
    pub(crate) last_maps: LastMaps,
}

pub(crate) struct WalkResult {
    pub(crate) walked: Reading<Walked>,
    /// The walk with the counters around it; `None` if the process has ended.
    pub(crate) anchor: Option<Anchor>,
    pub(crate) at: Duration,
    /// CPU time.
    pub(crate) cost: Duration,
    /// Elapsed time.
    pub(crate) took: Duration,
    /// Its files and shmem, if they were read, and the CPU time of that read.
    pub(crate) objects: Option<Objects>,
    pub(crate) extra: Duration,
}

impl WalkRequest {
    /// Walks the process, reads the counters before and after, and its `maps` if the walk shows that it changed.
    pub(crate) fn walk(&self, context: &Context, buf: &mut [u8]) -> WalkResult {
        let (proc, target) = (context.roots.proc.as_path(), &*self.process.target);
        let (at, began) = (clock::monotonic(), clock::thread_time());
        let before = context.counters.of_stat(target, proc, buf);
        let walked = walk(target, self.process.starttime, proc, buf);
        let anchor = |walked: &Walked| context.counters.anchor(walked, before, target, proc, buf);
        let anchor = walked.as_ref().ok().and_then(anchor);
        let (took, done) = (clock::monotonic().saturating_sub(at), clock::thread_time());
        let cost = done.saturating_sub(began);
        let may_read = self.purpose != Purpose::Initial || cost > SMALL_BESIDE;
        let vsize = anchor.map(|anchor| anchor.counters.vsize);
        let objects = match &walked {
            Ok(walked) if may_read && self.last_maps.asks(vsize, walked.files()) => objects(target, proc, buf),
            _ => None,
        };
        WalkResult {
            walked,
            anchor,
            at,
            cost,
            took,
            objects,
            extra: clock::thread_time().saturating_sub(done),
        }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Walked {
    pub(crate) memory: Memory,
    /// The end of its address space, if the kernel reports it.
    pub(crate) end: Option<u64>,
    /// Anonymous memory, shared or not, if the kernel reports it.
    pub(crate) anonymous: Option<u64>,
}

impl Walked {
    /// Returns the size of files and shmem, in bytes.
    fn files(&self) -> u64 {
        let rss = self.memory.rss;
        rss.saturating_sub(self.anonymous.unwrap_or(rss))
    }
}

/// Walks the process behind `target`, which started at `starttime`.
///
/// Opening the file of a kernel thread or a zombie also fails with ESRCH, so `stat` decides what it was. An empty read may mean
/// that an exec is in progress, so it is repeated once. If the file is missing while the process exists, the kernel or the tree
/// does not have it. If the thread that was read has ended, another one is read.
fn walk(target: &Target, starttime: u64, proc: &Path, buf: &mut [u8]) -> Reading<Walked> {
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
        // If the file was opened by path, the pid may have been reused in between.
        if !target.is_bound() && !target.is_same(starttime, proc, buf) {
            return Err(Missing::Gone);
        }
        return reading;
    }
    Err(absent(target, starttime, proc, buf, Errno::SRCH))
}

/// Reads `smaps_rollup`; `None` if it is empty.
pub(crate) fn rollup(target: &Target, proc: &Path, buf: &mut [u8]) -> Result<Option<Reading<Walked>>, Errno> {
    let len = target.record(proc, b"smaps_rollup", buf)?;
    let bytes = &buf[..len];
    let walked = |memory| Walked {
        memory,
        end: smaps::end(bytes),
        anonymous: smaps::anonymous(bytes),
    };
    Ok((len > 0).then(|| smaps::rollup(bytes).map(walked)))
}

/// Sums `smaps`; `None` if it is empty.
fn sum(target: &Target, proc: &Path, buf: &mut [u8]) -> Result<Option<Reading<Walked>>, Errno> {
    let mut sums = smaps::SmapsSum::default();
    let any = target.pieces(proc, b"smaps", buf, |piece| {
        sums.feed(piece);
        Ok(())
    })?;
    let walked = |memory| Walked {
        memory,
        end: None,
        anonymous: None,
    };
    Ok(any.then(|| sums.finish().map(walked)))
}

/// Reads the mappings of a process from `maps`; `None` if that fails.
fn objects(target: &Target, proc: &Path, buf: &mut [u8]) -> Option<Objects> {
    let mut objects = Objects::default();
    let mut left = MAX_MAPS;
    let feed = |piece: &[u8]| {
        objects.feed(piece);
        left = left.checked_sub(piece.len()).ok_or(Missing::TimedOut)?;
        Ok(())
    };
    target.pieces(proc, b"maps", buf, feed).ok()?;
    objects.finish();
    Some(objects)
}

/// Returns why a process has nothing to walk.
fn absent(target: &Target, starttime: u64, proc: &Path, buf: &mut [u8], why: Errno) -> Missing {
    match glance(target, proc, buf) {
        Ok((started, ..)) if started != starttime => Missing::Gone,
        Ok((_, stat, _)) => match stat.lacks_memory() {
            Some(reason) => reason,
            None if why == Errno::NOENT => target
                .captured_reason(proc, &[b"smaps_rollup", b"smaps"], buf)
                .unwrap_or(Missing::Unsupported),
            // The process is exiting and has already released its memory.
            None => Missing::Gone,
        },
        Err(Missing::Malformed) => Missing::Malformed,
        Err(_) => Missing::Gone,
    }
}

/// Reads every area of the process behind `target`, which must have started at `starttime`, if given. Also returns
/// its start time and its comm. Calls `progress` before every read that may block, with the bytes read since the last call. Fails once
/// it does.
///
/// The kernel lists areas a page at a time, and the process runs in between. If it execs meanwhile, the list mixes
/// both programs, so it is read once more.
pub(crate) fn areas<T: Default + Extend<Area>>(
    target: &Target,
    starttime: Option<u64>,
    proc: &Path,
    buf: &mut [u8],
    mut progress: impl FnMut(usize) -> Reading<()>,
) -> Reading<(T, u64, Box<[u8]>)> {
    let mut last = Missing::Gone;
    for _ in 0..2 {
        progress(0)?;
        let (started, before, comm) = glance(target, proc, buf)?;
        if starttime.is_some_and(|t| t != started) {
            return Err(Missing::Gone);
        }
        let areas = match read_areas::<T>(target, proc, buf, &mut progress) {
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

/// Reads `smaps`; `None` if it is empty.
fn read_areas<T: Default + Extend<Area>>(
    target: &Target,
    proc: &Path,
    buf: &mut [u8],
    progress: &mut impl FnMut(usize) -> Reading<()>,
) -> Result<Option<Reading<T>>, Errno> {
    let mut found = T::default();
    let mut areas = Areas::new(|area| found.extend([area]));
    let any = target.pieces(proc, b"smaps", buf, |piece| {
        areas.feed(piece);
        progress(piece.len())
    })?;
    let whole = areas.finish();
    Ok(any.then(|| whole.map(|_| found)))
}

/// Reads the start time of a process, its `stat` and its comm.
fn glance(target: &Target, proc: &Path, buf: &mut [u8]) -> Reading<(u64, Stat, Box<[u8]>)> {
    let len = target.stat(proc, buf).map_err(files::reason)?;
    let mut glance = pid::stat(&buf[..len], 1)?;
    target::complete_stat(&mut glance.stat, target, proc, 1)?;
    Ok((glance.starttime, glance.stat, glance.comm.into()))
}
