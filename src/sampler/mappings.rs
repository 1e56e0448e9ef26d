//! Reads mappings: the whole `smaps` of one process or of many. Expensive: the kernel writes some twenty lines
//! an area.
//!
//! All of this blocks the caller, but no longer than reads go on: each is bound by [`Options::deadline`],
//! and one that is stuck is left behind.

use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::pool::{Pool, Priority, Work, Worker};
use super::target::{OpenFiles, Target};
use super::{Options, walk};
use crate::group::mapping::MappingMerge;
use crate::group::{Group, GroupBy, GroupKey, Totals};
use crate::model::mapping::{Area, Mapping};
use crate::model::{Identity, Missing, Reading};
use crate::proc::files;

/// Reads that did not return in time, by process, as long as they go on. Each keeps a thread, so a process is not
/// read again before, and nothing is read while there are more than [`Options::max_stuck`] of them.
static STUCK: Mutex<Vec<StuckRead>> = Mutex::new(Vec::new());

/// The tree and the process that a read is of, and what lasts as long as it does.
type StuckRead = (PathBuf, u32, Weak<()>);

/// Descriptors left for all else: three a thread, and what the program has open.
const RESERVE: usize = 64;

/// A process that was read.
#[derive(Clone, Debug)]
pub struct Found<T> {
    /// Its id.
    pub pid: u32,
    /// Field 22 of `stat`.
    pub starttime: u64,
    /// The kernel's short name, raw.
    pub comm: Box<[u8]>,
    /// Its areas, or its mappings.
    pub what: T,
}

/// Reads the areas of these processes, one by one, in the order asked; or why one's could not be read.
pub fn areas(options: &Options, pids: &[u32]) -> Vec<Reading<Found<Vec<Area>>>> {
    read_all(options, pids)
}

/// Reads the mappings of these processes, areas of one name put together, in the order asked; or why one's
/// could not be read.
pub fn merged(options: &Options, pids: &[u32]) -> Vec<Reading<Found<Vec<Mapping>>>> {
    let found = read_all::<MappingMerge>(options, pids).into_iter();
    let finish = |f: Found<MappingMerge>| Found {
        pid: f.pid,
        starttime: f.starttime,
        comm: f.comm,
        what: f.what.finish(),
    };
    found.map(|found| found.map(finish)).collect()
}

/// A collection of areas.
trait Areas: Default + Extend<Area> + Send + 'static {}

impl<T: Default + Extend<Area> + Send + 'static> Areas for T {}

fn read_all<T: Areas>(options: &Options, pids: &[u32]) -> Vec<Reading<Found<T>>> {
    let mut all: Vec<Reading<Found<T>>> = pids.iter().map(|_| Err(Missing::Pending)).collect();
    read_each(options, pids.iter().map(|pid| (*pid, None)), |at, found| {
        all[at] = found;
        ControlFlow::Continue(())
    });
    all
}

/// A mapping over many processes.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The sums over all of them.
    pub mapping: Mapping,
    /// The processes that have it: their places among those asked for, in order.
    pub members: Vec<usize>,
}

impl Shared {
    /// Converts it to a row: a group of areas, named by what is mapped.
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

/// The mappings of many processes.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    /// Each mapping, in no order.
    pub shared: Vec<Shared>,
    /// The number of processes that were read.
    pub read: usize,
    /// Processes that have memory and could not be read, by their places among those asked for, and why. The
    /// sums lack them.
    pub missing: Vec<(usize, Missing)>,
    /// True if it was broken off before all were read.
    pub broken_off: bool,
}

/// Reads the mappings of these processes and puts those of one name together. `progress` is told how many
/// are done, of how many, and may break off: then what was read so far is the result.
///
/// The sum of PSS over all mappings is that over the processes, but for what the kernel cuts off below a
/// kibibyte in each area.
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
                for mapping in found.what.finish() {
                    merge.mapping(&mapping);
                    let slot = merge.last().unwrap_or_default();
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
        .finish()
        .into_iter()
        .zip(members)
        .map(|(mapping, mut members)| {
            members.sort_unstable();
            Shared { mapping, members }
        })
        .collect();
    result
}

/// Reads what is asked, pids and the start times they must have, and gives each to `each` with its place, as
/// it comes. Every one is given once, unless `each` breaks off: then nothing more is waited for.
fn read_each<T: Areas>(
    options: &Options,
    asked: impl ExactSizeIterator<Item = (u32, Option<u64>)>,
    mut each: impl FnMut(usize, Reading<Found<T>>) -> ControlFlow<()>,
) {
    let threads = options.reader_threads().min(asked.len());
    let open_files = OpenFiles::new(&options.proc_root, RESERVE + threads + options.max_stuck);
    let context = Context {
        proc: options.proc_root.clone(),
        open_files: Arc::new(open_files),
    };
    let stuck = stuck(&options.proc_root);
    let may_read = |pid: u32| stuck.len() <= options.max_stuck && !stuck.contains(&pid);
    let pool = Pool::<Job<T>>::new(options, threads, context);
    let mut jobs = Vec::with_capacity(asked.len());
    let mut under_way = Vec::with_capacity(asked.len());
    for (place, (pid, starttime)) in asked.enumerate() {
        let token = Arc::new(());
        under_way.push((pid, Arc::downgrade(&token)));
        if may_read(pid) {
            jobs.push(Job {
                place,
                pid,
                starttime,
                areas: PhantomData,
                _token: token,
            });
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

struct Context {
    proc: PathBuf,
    open_files: Arc<OpenFiles>,
}

/// A process whose `smaps` is to be read.
struct Job<T> {
    place: usize,
    pid: u32,
    /// When it must have started, where that is known.
    starttime: Option<u64>,
    areas: PhantomData<T>,
    /// Tells as long as the read goes on, or waits.
    _token: Arc<()>,
}

impl<T: Areas> Work for Job<T> {
    type Context = Context;
    type Key = usize;
    type Output = (usize, Reading<Found<T>>);

    fn key(&self) -> usize {
        self.place
    }

    fn profile(&self) -> (Priority, Duration) {
        // A process of a hundred areas; what counts is that every thread gets work.
        (Priority::Urgent, Duration::from_millis(5))
    }

    fn run(self, context: &Context, buf: &mut [u8], worker: &Worker<'_, Self>) -> Self::Output {
        let read = |buf: &mut [u8]| {
            let (target, _) =
                Target::new(self.pid, &context.proc, &context.open_files, true, buf).map_err(files::reason)?;
            let progress = || worker.progress();
            let (what, starttime, comm) = walk::areas(&target, self.starttime, &context.proc, buf, progress)?;
            Ok(Found {
                pid: self.pid,
                starttime,
                comm,
                what,
            })
        };
        (self.place, read(buf))
    }
}
