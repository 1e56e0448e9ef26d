//! Reads mappings: the whole `smaps` of one process or of many. This is expensive: the kernel writes some 20 lines
//! per area.
//!
//! All functions block, but each read at most for [`Options::deadline`] without progress. The thread of a stuck read
//! is left behind.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::Options;
use super::reading::pool::{Job, Pool, Priority, Reader};
use super::reading::spending::Spending;
use super::reading::target::{OpenFiles, Target};
use super::reading::walk;
use crate::group::mapping::MappingMerge;
use crate::group::{Group, GroupBy, GroupKey, Totals};
use crate::model::mapping::{Area, Mapping};
use crate::model::{Identity, Missing, Reading};
use crate::proc::files::{self, Roots};

/// Reads that did not return in time, by process, until they return. Each occupies a thread, so its process is not
/// read again before. Nothing is read while there are more than [`Options::max_stuck`] of them.
static STUCK: Mutex<Vec<StuckRead>> = Mutex::new(Vec::new());

/// The tree and the process of a read, and a token that lives as long as the read.
type StuckRead = (PathBuf, u32, Weak<()>);

/// Expected time of a read: about a process with 100 areas, and high enough that every thread gets work.
const EXPECTED: Duration = Duration::from_millis(5);
/// Descriptors left for other uses: 3 per thread, and those that the program has open.
const RESERVE: usize = 64;

#[derive(Clone, Debug)]
pub struct Found<T> {
    pub pid: u32,
    /// Field 22 of `stat`, in clock ticks since boot.
    pub starttime: u64,
    /// The kernel's short name (comm), as raw bytes.
    pub comm: Box<[u8]>,
    pub what: T,
}

/// Reads the areas of these processes separately. The results are in the order of `pids`, each with the reason if it
/// could not be read.
pub fn areas(options: &Options, pids: &[u32]) -> Vec<Reading<Found<Vec<Area>>>> {
    read_all(options, pids, |areas: Vec<Area>| areas)
}

/// Reads the mappings of these processes, each a sum of areas with the same name. The results are in the order of
/// `pids`, each with the reason if it could not be read.
pub fn merged(options: &Options, pids: &[u32]) -> Vec<Reading<Found<Vec<Mapping>>>> {
    read_all(options, pids, |merge: MappingMerge| merge.mappings)
}

fn read_all<T: Default + Extend<Area> + Send + 'static, U>(
    options: &Options,
    pids: &[u32],
    finish: impl Fn(T) -> U,
) -> Vec<Reading<Found<U>>> {
    let mut all: Vec<_> = pids.iter().map(|_| Err(Missing::Pending)).collect();
    read_each(
        options,
        pids.iter().map(|pid| (*pid, None)),
        |at, found: Reading<Found<T>>| {
            all[at] = found.map(|found| Found {
                pid: found.pid,
                starttime: found.starttime,
                comm: found.comm,
                what: finish(found.what),
            });
            ControlFlow::Continue(())
        },
    );
    all
}

/// A mapping summed over many processes.
#[derive(Clone, Debug)]
pub struct Shared {
    pub mapping: Mapping,
    /// The processes that have it, as ascending indices into the requested processes.
    pub members: Vec<usize>,
}

impl Shared {
    /// Converts it to a row: a group of areas, named after the mapped object.
    pub fn into_group(self) -> Group {
        let mut name = self.mapping.name.bytes;
        if self.mapping.name.deleted {
            name = [&*name, b" (deleted)"].concat().into();
        }
        let mut group = Group::new(GroupKey {
            by: GroupBy::Mapping,
            name: Some(name),
        });
        group.readable = self.members.len();
        group.totals = Totals {
            count: self.members.len(),
            memory: self.mapping.memory,
            ..Totals::default()
        };
        group
    }
}

#[derive(Clone, Debug, Default)]
pub struct Mappings {
    /// Each mapping, in no particular order.
    pub shared: Vec<Shared>,
    pub read: usize,
    /// Indices of processes that have memory but could not be read, and why. The sums lack them.
    pub missing: Vec<(usize, Missing)>,
    /// True if the scan was interrupted before all were read.
    pub broken_off: bool,
}

/// Reads the mappings of these processes and sums those with the same name. Calls `progress` with the number of
/// processes done and the total. `progress` may interrupt the scan; the result is then what was read so far.
///
/// The sum of PSS over all mappings equals the sum over the processes, except that the kernel rounds each area down
/// to whole KiB.
pub fn scan(
    options: &Options,
    processes: &[Identity],
    mut progress: impl FnMut(usize, usize) -> ControlFlow<()>,
) -> Mappings {
    let mut result = Mappings::default();
    let mut merge = MappingMerge::default();
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut done = 0;
    let asked = processes.iter().map(|id| (id.pid, Some(id.starttime)));
    read_each::<MappingMerge>(options, asked, |at, found| {
        match found {
            Ok(found) => {
                result.read += 1;
                for mapping in found.what.mappings {
                    merge.mapping(&mapping);
                    let slot = merge.last.unwrap_or_default();
                    members.resize_with(members.len().max(slot + 1), Vec::new);
                    members[slot].push(at);
                }
            }
            Err(why) if why.hides_memory() => result.missing.push((at, why)),
            Err(_) => {}
        }
        done += 1;
        let go = progress(done, processes.len());
        result.broken_off = go.is_break() && done < processes.len();
        go
    });
    result.missing.sort_unstable();
    result.shared = merge
        .mappings
        .into_iter()
        .zip(members)
        .map(|(mapping, mut members)| {
            members.sort_unstable();
            Shared { mapping, members }
        })
        .collect();
    result
}

/// Reads the given pids, optionally with the start times that they must have, and passes each result to `each` with
/// its index, in order of completion. Each index is passed once, unless `each` breaks: then the rest is not waited
/// for.
fn read_each<T: Default + Extend<Area> + Send + 'static>(
    options: &Options,
    asked: impl ExactSizeIterator<Item = (u32, Option<u64>)>,
    mut each: impl FnMut(usize, Reading<Found<T>>) -> ControlFlow<()>,
) {
    let threads = options.reader_threads().min(asked.len());
    let open_files = OpenFiles::new(&options.proc_root, RESERVE + threads + options.max_stuck);
    let (roots, open_files, spending) = (options.roots(), Arc::new(open_files), Spending::default());
    let stuck = stuck(&roots.proc);
    let may_read = |pid: u32| stuck.len() <= options.max_stuck && !stuck.contains(&pid);
    let pool = Pool::new(options, threads, move |request: Request, reader| {
        (request.place, read(&request, &roots, &open_files, &spending, reader))
    });
    let mut jobs = Vec::with_capacity(asked.len());
    let mut under_way = Vec::with_capacity(asked.len());
    for (place, (pid, starttime)) in asked.enumerate() {
        let token = Arc::new(());
        under_way.push((pid, Arc::downgrade(&token)));
        if may_read(pid) {
            let request = Request {
                place,
                pid,
                starttime,
                _token: token,
            };
            jobs.push(Job::new(place, Priority::Urgent, EXPECTED, request));
        } else if each(place, Err(Missing::TimedOut)).is_break() {
            return;
        }
    }
    pool.submit(jobs);
    let unread = |place: usize, why| {
        if why == Missing::TimedOut {
            let mut stuck = STUCK.lock().unwrap_or_else(PoisonError::into_inner);
            let (pid, token) = &under_way[place];
            stuck.push((options.proc_root.clone(), *pid, token.clone()));
        }
        (place, Err(why))
    };
    let _ = pool.collect(options.deadline, unread, |(place, found)| each(place, found));
}

/// Returns the processes of the tree at `proc` whose reads are stuck.
fn stuck(proc: &Path) -> Vec<u32> {
    let mut stuck = STUCK.lock().unwrap_or_else(PoisonError::into_inner);
    stuck.retain(|(.., token)| token.strong_count() > 0);
    let of_tree = stuck.iter().filter(|(root, ..)| root == proc);
    of_tree.map(|(_, pid, _)| *pid).collect()
}

struct Request {
    place: usize,
    pid: u32,
    /// The start time that it must have, if known.
    starttime: Option<u64>,
    /// Lives as long as the request is queued or served.
    _token: Arc<()>,
}

fn read<T: Default + Extend<Area>>(
    request: &Request,
    roots: &Roots,
    open_files: &Arc<OpenFiles>,
    spending: &Spending,
    reader: &mut Reader<'_>,
) -> Reading<Found<T>> {
    let Request { pid, starttime, .. } = *request;
    let proc = roots.proc.as_path();
    let (target, _) = Target::new(pid, proc, open_files, true, reader.buf).map_err(files::reason)?;
    let spender = spending.begin(&target, roots);
    let progress = |bytes| {
        (reader.progress)();
        spender.charge_areas(bytes)
    };
    let (what, starttime, comm) = walk::areas(&target, starttime, proc, reader.buf, progress)?;
    Ok(Found {
        pid,
        starttime,
        comm,
        what,
    })
}
