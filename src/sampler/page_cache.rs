//! Finds the files that fill the page cache: files that processes have open or mapped, and files and directories by path.
//!
//! It lists the files, then measures the largest ones. Every read is a job with a deadline, because a file on a
//! server that does not answer blocks for ever. The thread of a stuck read is left behind.

use std::collections::HashMap;
use std::fmt;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::Options;
use super::kernel::meminfo;
use super::reading::cached::{FileReader, Looked, Output, Seen, Way, Work};
use super::reading::pool::{Job, Pool, Priority};
use super::reading::target::OpenFiles;
use crate::model::page_cache::{CachedFile, PageCache};
use crate::model::{Missing, Reading};
use crate::order;
use crate::proc::cgroup::scope::Place;
use crate::proc::maps::FileId;
use crate::proc::{files, pids};
use crate::units::counted;

/// Descriptors left for other uses.
const RESERVE: usize = 64;
/// Tokens of reads that did not return in time, which live until they do. Nothing is read while there are more of them
/// than [`Options::max_stuck`].
static STUCK: Mutex<Vec<Weak<()>>> = Mutex::new(Vec::new());

/// Expected times: of a process with some dozens of files, of a directory, of a file that is cached in part.
const OF_PROCESS: Duration = Duration::from_micros(200);
const OF_DIRECTORY: Duration = Duration::from_micros(100);
const OF_FILE: Duration = Duration::from_micros(20);
/// Bytes of a list of processes read at once.
const LIST_PIECE: usize = 32 << 10;
/// Default number of files to measure: takes a fraction of a second.
pub const MAX_FILES: u32 = 50_000;
/// Number of paths that are kept to one file, because a process may close it before it is measured.
const MAX_WAYS: usize = 3;

/// The scope of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// The files that this process has open or mapped.
    Process(u32),
    /// The same, of each process in this cgroup and below it.
    Cgroup(Place),
    /// This file, or each in this directory and below it, on one file system. Symbolic links are not followed, except
    /// this path itself.
    Path(PathBuf),
}

/// The progress of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The number of listed processes and directories, the number of known ones, and the number of files found.
    Listing(usize, usize, u64),
    /// The number of measured files, and the number of files to measure.
    Looking(usize, usize),
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Listing(done, all, found) => write!(f, "{} found, {done} of {all} listed", counted(found, "file")),
            Self::Looking(done, all) => write!(f, "{done} of {} examined", counted(all as u64, "file")),
        }
    }
}

/// Reads the named files or, if none are named, the files of all processes or of [`Options::cgroup`]. Reads at most the
/// `max_files` largest ones. Also finds the other processes that have a named path open. `progress` may interrupt; the result then
/// has the files read so far.
///
/// # Errors
/// The processes could not be listed, or the tree is not the kernel's: in another one, links lead to files of this
/// machine that no process of that tree has open.
pub fn read(
    options: &Options,
    named: &[Named],
    max_files: usize,
    mut progress: impl FnMut(Progress) -> ControlFlow<()>,
) -> Reading<PageCache> {
    let paths = named.iter().filter_map(|one| match one {
        Named::Path(path) => Some(Work::Path(path.clone())),
        _ => None,
    });
    let paths: Vec<_> = paths.collect();
    let pids = if named.is_empty() || paths.len() < named.len() {
        pids(options, named)?
    } else {
        Vec::new()
    };
    // Each thread holds the directory of a process, another one, and a file both pinned and open.
    let by_threads = 4 * (options.reader_threads() + options.max_stuck);
    let open_files = OpenFiles::new(&options.proc_root, RESERVE + by_threads);
    if !pids.is_empty() && !open_files.is_procfs {
        return Err(Missing::Unsupported);
    }
    // Those that may have a named path open.
    let holders = if paths.is_empty() {
        Ok(Vec::new())
    } else if !open_files.is_procfs {
        Err(Missing::Unsupported)
    } else {
        pids::all(options.proc_root.as_os_str().as_bytes()).map(|all| all.pids)
    };
    let reader = FileReader::new(options.roots(), open_files);
    let page = reader.page;
    let pool = Pool::new(options, options.reader_threads(), move |request: Request, lent| {
        (request.place, reader.read(request.work, lent))
    });
    let machine = meminfo(options);
    let mut search = Search::new(options, max_files);
    // If it is interrupted, there is nothing to measure.
    let _ = search
        .list_processes(&pool, &pids, named, &mut progress)
        .is_continue()
        .then(|| search.list_paths(&pool, paths, &mut progress))
        .filter(ControlFlow::is_continue)
        .map(|_| search.list_holders(&pool, holders, &pids, &mut progress))
        .filter(ControlFlow::is_continue)
        .map(|_| search.look(&pool, &mut progress));
    Ok(PageCache {
        is_of_all: named.is_empty() && options.cgroup.is_none(),
        files: search.finish(),
        left_out: search.left_out,
        unread_processes: search.unread_processes,
        unread_paths: search.unread_paths,
        machine: machine.cached.and_then(|n| Ok(n.saturating_sub(machine.shmem?))),
        page,
    })
}

/// Returns the pids of the processes whose files are listed, ascending.
fn pids(options: &Options, named: &[Named]) -> Reading<Vec<u32>> {
    let of_cgroup = |place: &Place| {
        let has_own_pids = files::has_own_pids(&options.proc_root);
        place.processes(&options.roots(), has_own_pids, &mut vec![0; LIST_PIECE])
    };
    if named.is_empty() {
        let all = || pids::all(options.proc_root.as_os_str().as_bytes());
        return Ok(options.cgroup.as_ref().map_or_else(all, of_cgroup)?.pids);
    }
    let mut pids = Vec::new();
    for one in named {
        match one {
            Named::Process(pid) => pids.push(*pid),
            Named::Cgroup(place) => pids.extend(of_cgroup(place)?.pids),
            Named::Path(_) => {}
        }
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// A read, and a token that lives as long as it.
struct Request {
    place: usize,
    work: Work,
    _token: Arc<()>,
}

/// A file that was found.
struct Candidate {
    seen: Seen,
    ways: Vec<Way>,
    processes: u32,
    first: Option<(u32, Box<[u8]>)>,
    looked: Option<Reading<Looked>>,
}

type Reads = Pool<usize, Request, (usize, Reading<Output>)>;

struct Search {
    deadline: Duration,
    max_stuck: usize,
    max_files: usize,
    /// The number of reads so far.
    next: usize,
    all: Vec<Candidate>,
    places: HashMap<FileId, usize>,
    left_out: (u64, u64),
    unread_processes: Vec<(u32, Missing)>,
    unread_paths: Vec<(Box<[u8]>, Missing)>,
    /// Why a file that no known process has open may be open; `None` if all processes were read.
    hidden: Option<Missing>,
    /// No more files are added.
    is_complete: bool,
}

impl Search {
    fn new(options: &Options, max_files: usize) -> Self {
        Self {
            deadline: options.deadline,
            max_stuck: options.max_stuck,
            max_files: max_files.max(1),
            next: 0,
            all: Vec::new(),
            places: HashMap::new(),
            left_out: (0, 0),
            unread_processes: Vec::new(),
            unread_paths: Vec::new(),
            hidden: None,
            is_complete: false,
        }
    }

    /// Performs these reads, and passes each result to `each` with its index.
    fn read_each(
        &mut self,
        pool: &Reads,
        works: Vec<Work>,
        expected: Duration,
        mut each: impl FnMut(&mut Self, usize, Reading<Output>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if stuck().len() > self.max_stuck {
            let mut all = 0..works.len();
            return all.try_for_each(|at| each(self, at, Err(Missing::TimedOut)));
        }
        let first = self.next;
        self.next += works.len();
        let mut tokens = Vec::with_capacity(works.len());
        let jobs = works.into_iter().zip(first..).map(|(work, place)| {
            let token = Arc::new(());
            tokens.push(Arc::downgrade(&token));
            let request = Request {
                place,
                work,
                _token: token,
            };
            Job::new(place, Priority::Urgent, expected, request)
        });
        pool.submit(jobs.collect::<Vec<_>>());
        let unread = |place: usize, why| {
            if why == Missing::TimedOut {
                stuck().push(tokens[place - first].clone());
            }
            (place, Err(why))
        };
        pool.collect(self.deadline, unread, |(place, output)| {
            each(self, place - first, output)
        })
    }

    fn list_processes(
        &mut self,
        pool: &Reads,
        pids: &[u32],
        named: &[Named],
        progress: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let works = pids.iter().map(|pid| Work::Process(*pid)).collect();
        let mut done = 0;
        self.read_each(pool, works, OF_PROCESS, |search, at, output| {
            match output {
                Ok(Output::Process(comm, files)) => {
                    for seen in files {
                        search.add(seen, Some((pids[at], &comm)));
                    }
                }
                Err(why) if why.hides_memory() || named.contains(&Named::Process(pids[at])) => {
                    search.unread_processes.push((pids[at], why));
                }
                _ => {}
            }
            done += 1;
            progress(Progress::Listing(done, pids.len(), search.all.len() as u64))
        })
    }

    /// Lists files and directories, and all directories in them.
    fn list_paths(
        &mut self,
        pool: &Reads,
        mut works: Vec<Work>,
        progress: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (mut done, mut known) = (0, works.len());
        while !works.is_empty() {
            let names = works.iter().map(|work| match work {
                Work::Path(path) => path.as_os_str().as_bytes().into(),
                Work::Directory(directory) => directory.path.as_slice().into(),
                Work::Process(_) | Work::File(..) => Box::default(),
            });
            let names: Vec<Box<[u8]>> = names.collect();
            let mut below = Vec::new();
            self.read_each(pool, works, OF_DIRECTORY, |search, at, output| {
                match output {
                    Ok(Output::Listing(files, directories)) => {
                        for seen in files {
                            search.add(seen, None);
                        }
                        known += directories.len();
                        below.extend(directories.into_iter().map(Work::Directory));
                    }
                    // It was removed meanwhile.
                    Err(Missing::Gone) | Ok(_) => {}
                    Err(why) => search.unread_paths.push((names[at].clone(), why)),
                }
                if search.all.len() > search.max_files.saturating_mul(3) / 2 {
                    search.keep_largest();
                }
                done += 1;
                let found = search.all.len() as u64 + search.left_out.0;
                progress(Progress::Listing(done, known, found))
            })?;
            works = below;
        }
        ControlFlow::Continue(())
    }

    /// Finds the processes, besides those `listed`, that have the files found open.
    fn list_holders(
        &mut self,
        pool: &Reads,
        holders: Reading<Vec<u32>>,
        listed: &[u32],
        progress: &mut impl FnMut(Progress) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let pids: Vec<_> = match holders {
            Ok(all) => all
                .into_iter()
                .filter(|pid| listed.binary_search(pid).is_err())
                .collect(),
            Err(why) => {
                self.hidden = Some(why);
                return ControlFlow::Continue(());
            }
        };
        // An interrupted read leaves the rest unknown.
        self.hidden = (!pids.is_empty()).then_some(Missing::Pending);
        self.is_complete = true;
        self.list_processes(pool, &pids, &[], progress)?;
        self.hidden = self.unread_processes.first().map(|(_, why)| *why);
        ControlFlow::Continue(())
    }

    /// Adds a file that a process or a directory has.
    fn add(&mut self, mut seen: Seen, process: Option<(u32, &[u8])>) {
        if self.is_complete && !self.places.contains_key(&seen.id) {
            return;
        }
        let way = seen.way.take();
        let place = *self.places.entry(seen.id).or_insert_with(|| {
            self.all.push(Candidate {
                seen,
                ways: Vec::new(),
                processes: 0,
                first: None,
                looked: None,
            });
            self.all.len() - 1
        });
        let found = &mut self.all[place];
        if found.ways.len() < MAX_WAYS {
            found.ways.extend(way);
        }
        if let Some((pid, comm)) = process {
            found.processes += 1;
            if found.first.as_ref().is_none_or(|(first, _)| pid < *first) {
                found.first = Some((pid, comm.into()));
            }
        }
    }

    /// Keeps only the largest files.
    fn keep_largest(&mut self) {
        order::sort_by_key(&mut self.all, |found| std::cmp::Reverse(found.seen.size.unwrap_or(0)));
        let rest = self.all.drain(self.max_files.min(self.all.len())..);
        for found in rest {
            self.left_out.0 += 1;
            self.left_out.1 = self.left_out.1.saturating_add(found.seen.size.unwrap_or(0));
        }
        let places = self.all.iter().enumerate().map(|(at, found)| (found.seen.id, at));
        self.places = places.collect();
    }

    /// Measures the files found.
    fn look(&mut self, pool: &Reads, progress: &mut impl FnMut(Progress) -> ControlFlow<()>) -> ControlFlow<()> {
        self.keep_largest();
        let works = self.all.iter_mut().map(|found| {
            let ways = std::mem::take(&mut found.ways);
            Work::File(ways, found.seen.id, found.seen.file_system)
        });
        let works: Vec<_> = works.collect();
        let (mut done, all) = (0, works.len());
        self.read_each(pool, works, OF_FILE, |search, at, output| {
            search.all[at].looked = match output {
                Ok(Output::File(looked)) => Some(Ok(looked)),
                Ok(_) => None,
                Err(why) => Some(Err(why)),
            };
            done += 1;
            progress(Progress::Looking(done, all))
        })
    }

    /// Returns the measured files that still exist.
    fn finish(&mut self) -> Vec<CachedFile> {
        let mut files: Vec<CachedFile> = Vec::new();
        // Containers have the files of their images in common: each has an overlay of its own over the same file.
        let mut in_overlays = HashMap::new();
        for Candidate {
            seen,
            processes,
            first,
            looked,
            ..
        } in self.all.drain(..)
        {
            let (figures, size) = match looked {
                // No process has it open any more, or it was removed.
                None | Some(Err(Missing::Gone)) => continue,
                Some(Err(why)) => (Err(why), seen.size),
                Some(Ok(looked)) => {
                    let key = (seen.id.1, looked.size, looked.changed);
                    let place = files.len();
                    if seen.file_system.is_overlay
                        && let known = *in_overlays.entry(key).or_insert(place)
                        && known < place
                    {
                        let known: &mut CachedFile = &mut files[known];
                        known.processes = known.processes.map(|known| known + processes);
                        known.first = known.first.take().into_iter().chain(first).min();
                        continue;
                    }
                    (looked.figures, Ok(looked.size))
                }
            };
            files.push(CachedFile {
                path: seen.path,
                is_deleted: seen.is_deleted,
                kind: seen.file_system.kind,
                size,
                figures,
                processes: Ok(processes),
                first,
            });
        }
        if let Some(why) = self.hidden {
            for file in files.iter_mut().filter(|file| file.processes == Ok(0)) {
                file.processes = Err(why);
            }
        }
        files
    }
}

fn stuck() -> MutexGuard<'static, Vec<Weak<()>>> {
    let mut stuck = STUCK.lock().unwrap_or_else(PoisonError::into_inner);
    stuck.retain(|token| token.strong_count() > 0);
    stuck
}
