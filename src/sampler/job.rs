//! The scanner's kinds of reads, and the result of each.
//!
//! To add one, add a variant to [`Job`], [`JobKey`] and [`Outcome`], and the arms that the compiler then demands in
//! `impl Work for Job`. Submit the job and handle its outcome, both in `table.rs` for reads of processes. A file that
//! is read once per program is one more line in `job/facts.rs`.

mod close_look;
mod facts;
mod glance;
mod held;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

pub(super) use close_look::{CloseLook, CloseRead, CloseResult};
pub(super) use facts::{CgroupList, CgroupMembership, ExeFile, FactsRequest, FactsResult, MmCandidate};
pub(super) use glance::{Glance, GlanceRequest, GlanceResult};
pub(super) use held::{HeldResult, ObjectKey, OwnObject};

use super::births::{Births, Listing, Signs};
use super::counters::CounterReader;
use super::estimate::Anchor;
use super::kernel::{KernelFile, KernelJob, KernelTable};
use super::plan::Purpose;
use super::pool::{Pool, Priority, Work, Worker};
use super::sharing::LastMaps;
use super::target::{OpenFiles, Target};
use super::walk::{self, Walked};
use crate::model::snapshot::OomVictim;
use crate::model::{CgroupFigures, Identity, Reading};
use crate::proc::accounting::{self, Held, MemoryFs};
use crate::proc::accounting::{AccountingFile, InputUpdate};
use crate::proc::cgroup::Mounts;
use crate::proc::cgroup::figures;
use crate::proc::cgroup::scope::{Place, ScopeReading};
use crate::proc::files::Roots;
use crate::proc::maps::Objects;
use crate::proc::pids::{self, PidList};
use crate::proc::system::{MachineUpdate, SystemFile};
use crate::proc::{clock, pid};

/// CPU time of a walk from which on the additional read of `maps` is so cheap in comparison that the first scan does
/// it too.
const SMALL_BESIDE: Duration = Duration::from_millis(1);

/// Identifies a read. A process is identified by its serial number in the table, so that a result is never assigned
/// to another process; a batch, by its first process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum JobKey {
    List,
    System(SystemFile),
    Scope,
    Accounting(AccountingFile),
    MemoryMounts,
    /// The device.
    MemoryMount(u64),
    Kernel(KernelFile),
    OomKills,
    Glances(u64),
    Walk(u64),
    Facts(u64),
    /// The first pid.
    Members(u32),
    Cmdline(u64),
    Exe(u64),
    ExeLinks(u64),
    SharedMm(u64),
    User(u32),
    Mounts,
    /// The number of the job.
    Cgroups(u64),
    /// The pid.
    CloseLook(u32),
    Held(u64),
    DescriptorCounts(u64),
}

/// A process to read, in its state at the time of the request.
#[derive(Clone)]
pub(super) struct ProcessRef {
    pub(super) pid: u32,
    pub(super) serial: u64,
    pub(super) starttime: u64,
    /// The state of the process that is read. The result is dropped if the version has changed since.
    pub(super) version: u32,
    pub(super) target: Arc<Target>,
}

pub(super) enum Job {
    /// The part of the process list that is needed.
    List {
        births: Births,
        /// The number of known processes.
        known: usize,
    },
    System(SystemFile),
    /// The memory of the cgroup that stands for the machine. If none is given, the cgroup of zmtop's container, if any.
    Scope(Option<Place>),
    Accounting(AccountingFile),
    MemoryMounts,
    /// The bytes that such a file system holds. Its mount point may be below one that never answers.
    MemoryMount(MemoryFs),
    Kernel(KernelJob),
    /// The kernel's log, for processes killed for lack of memory.
    OomKills,
    /// `stat` of some processes; never empty.
    Glances {
        of: Vec<GlanceRequest>,
        /// Read `oom_score` as well.
        oom_score: bool,
    },
    /// `smaps_rollup`.
    Walk {
        process: ProcessRef,
        purpose: Purpose,
        /// The CPU time that the planner has reserved.
        expected: Duration,
        /// A walk of it has returned before.
        is_known: bool,
        /// The state of the process when its `maps` was last read.
        last_maps: LastMaps,
    },
    /// The facts of some processes, except their command lines; never empty.
    Facts(Vec<FactsRequest>),
    /// Compares the processes that were in a cgroup, in ascending order, with its list.
    Members {
        pids: Vec<u32>,
        list: CgroupList,
    },
    /// `cmdline`, which lies in the process's memory, so that reading it may block.
    Cmdline(ProcessRef),
    /// The file behind `exe`, looked up in the file system.
    Exe(ProcessRef),
    /// Checks whether `exe` of some processes has changed, by the digest of the link's text.
    ExeLinks(Vec<(ProcessRef, u64)>),
    /// Checks whether some processes share an address space with others.
    SharedMm(Vec<MmCandidate>),
    User(u32),
    Mounts,
    Cgroups {
        number: u64,
        mounts: Arc<Mounts>,
        paths: Vec<Arc<[u8]>>,
    },
    /// A read made for few processes only.
    CloseLook(CloseLook),
    /// Memory that a process holds through its descriptors, with the expected CPU time.
    Held(ProcessRef, Duration),
    /// The number of descriptors of some processes, each with the number before; never empty.
    DescriptorCounts(Vec<(ProcessRef, u64)>),
}

pub(super) struct WalkResult {
    pub(super) walked: Reading<Walked>,
    /// The walk with the counters around it; `None` if the process has ended.
    pub(super) anchor: Option<Anchor>,
    /// When it began.
    pub(super) at: Duration,
    /// CPU time.
    pub(super) cost: Duration,
    /// Elapsed time.
    pub(super) took: Duration,
    /// Its files and shmem, if they were read, and the CPU time of that read.
    pub(super) objects: Option<Objects>,
    pub(super) extra: Duration,
}

pub(super) enum Outcome {
    List {
        /// `None` if no process was born.
        list: Option<Reading<PidList>>,
        signs: Option<Signs>,
    },
    System(SystemFile, MachineUpdate),
    Scope(Option<ScopeReading>),
    Accounting(AccountingFile, InputUpdate),
    MemoryMounts(Reading<Vec<MemoryFs>>),
    MemoryMount(u64, Held),
    Kernel(KernelTable),
    OomKills(Reading<Vec<(u64, OomVictim)>>),
    Glances(Vec<GlanceResult>),
    Walk {
        process: ProcessRef,
        purpose: Purpose,
        expected: Duration,
        result: Box<WalkResult>,
    },
    Facts(Vec<FactsResult>),
    /// The pids that are in another cgroup now.
    Strays(Vec<u32>),
    Cmdline {
        process: ProcessRef,
        cmdline: Reading<Box<[u8]>>,
    },
    Exe {
        process: ProcessRef,
        exe: Reading<ExeFile>,
    },
    /// Pid and serial number of the processes whose file must be looked up again.
    ExeLinks(Vec<(u32, u64)>),
    /// Pairs of processes that share an address space.
    SharedMm(Vec<(ProcessRef, ProcessRef)>),
    User(u32, Arc<[u8]>),
    Mounts(Reading<Arc<Mounts>>),
    Cgroups(u64, Vec<(Arc<[u8]>, CgroupFigures)>),
    CloseLook(Identity, CloseResult),
    Held(ProcessRef, HeldResult),
    /// Pid and serial number of the processes whose number of descriptors has changed.
    DescriptorCounts(Vec<(u32, u64)>),
}

pub(super) struct ReaderContext {
    pub(super) roots: Roots,
    /// The cgroup whose processes are listed; if `None`, all processes are.
    pub(super) cgroup: Option<Place>,
    pub(super) open_files: Arc<OpenFiles>,
    /// The tree has the same pids as this program's system calls.
    pub(super) has_own_pids: bool,
    /// The page size in bytes.
    pub(super) page: u64,
    pub(super) counters: CounterReader,
}

impl Work for Job {
    type Context = ReaderContext;
    type Key = JobKey;
    type Output = Outcome;

    fn key(&self) -> JobKey {
        match self {
            Self::List { .. } => JobKey::List,
            Self::System(file) => JobKey::System(*file),
            Self::Scope(_) => JobKey::Scope,
            Self::Accounting(file) => JobKey::Accounting(*file),
            Self::MemoryMounts => JobKey::MemoryMounts,
            Self::MemoryMount(fs) => JobKey::MemoryMount(fs.device),
            Self::Kernel(job) => JobKey::Kernel(job.file()),
            Self::OomKills => JobKey::OomKills,
            Self::Glances { of, .. } => JobKey::Glances(of.first().map_or(0, |g| g.serial)),
            Self::Walk { process, .. } => JobKey::Walk(process.serial),
            Self::Facts(of) => JobKey::Facts(of.first().map_or(0, |r| r.process.serial)),
            Self::Members { pids, .. } => JobKey::Members(pids.first().copied().unwrap_or(0)),
            Self::Cmdline(process) => JobKey::Cmdline(process.serial),
            Self::Exe(process) => JobKey::Exe(process.serial),
            Self::ExeLinks(links) => JobKey::ExeLinks(links.first().map_or(0, |(p, _)| p.serial)),
            Self::SharedMm(candidates) => JobKey::SharedMm(candidates.first().map_or(0, |c| c.process.serial)),
            Self::User(uid) => JobKey::User(*uid),
            Self::Mounts => JobKey::Mounts,
            Self::Cgroups { number, .. } => JobKey::Cgroups(*number),
            Self::CloseLook(look) => JobKey::CloseLook(look.id.pid),
            Self::Held(process, _) => JobKey::Held(process.serial),
            Self::DescriptorCounts(of) => JobKey::DescriptorCounts(of.first().map_or(0, |(p, _)| p.serial)),
        }
    }

    /// Returns the queue and the expected time, as measured on a laptop. The times only determine how many threads to
    /// wake.
    fn profile(&self) -> (Priority, Duration) {
        use Priority::{Background, Known, New, Urgent};
        let each = |micros, count: usize| Duration::from_micros(micros) * count as u32;
        match self {
            Self::List { .. } => (Urgent, each(500, 1)),
            Self::System(_) => (Urgent, each(30, 1)),
            Self::Scope(place) => (Urgent, each(if place.is_some() { 100 } else { 30 }, 1)),
            Self::Glances { of, .. } => (Urgent, each(4, of.len())),
            Self::Walk { expected, is_known, .. } => {
                let priority = if *is_known { Known } else { New };
                (priority, (*expected).max(each(50, 1)))
            }
            Self::Members { pids, .. } => (Background, each(1, pids.len())),
            Self::Facts(of) => {
                let full = of.iter().filter(|r| r.is_full).count();
                (Background, each(15, full) + each(1, of.len()))
            }
            Self::Cmdline(_) => (Background, each(8, 1)),
            Self::Exe(_) | Self::User(_) | Self::Mounts | Self::MemoryMounts => (Background, each(50, 1)),
            Self::MemoryMount(_) => (Background, each(5, 1)),
            Self::OomKills => (Background, each(2000, 1)),
            Self::Kernel(_) => (Background, each(5000, 1)),
            Self::ExeLinks(links) => (Background, each(2, links.len())),
            Self::SharedMm(candidates) => (Background, each(2, candidates.len())),
            Self::Cgroups { paths, .. } => (Background, each(15, paths.len())),
            Self::CloseLook(_) | Self::Accounting(_) => (Background, each(60, 1)),
            Self::Held(_, expected) => (Background, *expected),
            Self::DescriptorCounts(of) => (Background, each(2, of.len())),
        }
    }

    fn is_announced(&self) -> bool {
        // Glances are submitted because of the list while files of the system are still being read.
        matches!(self, Self::List { .. })
    }

    fn run(self, context: &ReaderContext, buf: &mut [u8], worker: &Worker<'_, Self>) -> Outcome {
        let proc = context.roots.proc.as_path();
        match self {
            Self::List { births, known } => list(births, known, context, buf),
            Self::System(file) => Outcome::System(file, file.read(&context.roots, buf)),
            Self::Scope(place) => {
                let place = place.or_else(|| Place::of_container(&context.roots));
                Outcome::Scope(place.map(|place| place.read()))
            }
            Self::Accounting(file) => Outcome::Accounting(file, file.read(&context.roots)),
            Self::MemoryMounts => Outcome::MemoryMounts(accounting::list(&context.roots)),
            Self::MemoryMount(fs) => Outcome::MemoryMount(fs.device, accounting::held(&fs, &context.roots)),
            Self::Kernel(job) => Outcome::Kernel(job.run(&context.roots)),
            Self::OomKills => Outcome::OomKills(crate::proc::kernel::kills(&context.roots, buf)),
            Self::Glances { of, oom_score } => {
                let glances = of.iter().map(|one| glance::glance(one, oom_score, context, buf));
                Outcome::Glances(glances.collect())
            }
            Self::Walk {
                process,
                purpose,
                expected,
                last_maps,
                ..
            } => {
                let (at, began) = (clock::monotonic(), clock::thread_time());
                let before = context.counters.of_stat(&process.target, proc, buf);
                let walked = walk::walk(&process.target, process.starttime, proc, buf);
                let anchor = |walked: &Walked| context.counters.anchor(walked, before, &process.target, proc, buf);
                let anchor = walked.as_ref().ok().and_then(anchor);
                let (took, done) = (clock::monotonic().saturating_sub(at), clock::thread_time());
                let cost = done.saturating_sub(began);
                let may_read = purpose != Purpose::Initial || cost > SMALL_BESIDE;
                let vsize = anchor.map(|anchor| anchor.counters.vsize);
                let asks = |walked: &Walked| may_read && last_maps.asks(vsize, walked.files());
                let objects = match &walked {
                    Ok(walked) if asks(walked) => walk::objects(&process.target, proc, buf),
                    _ => None,
                };
                let result = Box::new(WalkResult {
                    walked,
                    anchor,
                    at,
                    cost,
                    took,
                    objects,
                    extra: clock::thread_time().saturating_sub(done),
                });
                Outcome::Walk {
                    process,
                    purpose,
                    expected,
                    result,
                }
            }
            Self::Facts(of) => Outcome::Facts(of.into_iter().map(|one| facts::look(one, context, buf)).collect()),
            Self::Members { pids, list } => Outcome::Strays(facts::strays(&pids, &list, buf)),
            Self::Cmdline(process) => {
                let cmdline = facts::read(&process, proc, b"cmdline", buf).map(pid::cmdline);
                Outcome::Cmdline { process, cmdline }
            }
            Self::Exe(process) => {
                let exe = facts::look_up_exe(&process, context, buf);
                Outcome::Exe { process, exe }
            }
            Self::ExeLinks(links) => Outcome::ExeLinks(facts::changed_links(&links, proc, buf)),
            Self::SharedMm(candidates) => Outcome::SharedMm(facts::verify_shared_mm(candidates, proc, buf)),
            Self::User(uid) => Outcome::User(uid, super::users::name(uid, &context.roots)),
            Self::Mounts => Outcome::Mounts(figures::mounts(&context.roots).map(Arc::new)),
            Self::Cgroups { number, mounts, paths } => {
                let figures = paths.into_iter().map(|path| {
                    let figures = figures::read(&mounts, &path);
                    (path, figures)
                });
                Outcome::Cgroups(number, figures.collect())
            }
            Self::CloseLook(look) => {
                let (id, result) = close_look::look(look, context, buf);
                Outcome::CloseLook(id, result)
            }
            Self::Held(process, _) => {
                let result = held::read(&process, proc, buf, || worker.progress());
                Outcome::Held(process, result)
            }
            Self::DescriptorCounts(of) => {
                let is_other = |(process, before): &&_| held::count(process, proc).is_some_and(|now| now != *before);
                let changed = of.iter().filter(is_other);
                Outcome::DescriptorCounts(changed.map(|(process, _)| (process.pid, process.serial)).collect())
            }
        }
    }
}

/// Lists the processes, as far as they are to be read.
fn list(births: Births, known: usize, context: &ReaderContext, buf: &mut [u8]) -> Outcome {
    // Before the list: what comes in between is then seen the next time.
    let signs = glance::signs(context, buf);
    if let Some(place) = &context.cgroup {
        // A process that was born long ago may be moved there at any time.
        let list = Some(place.processes(&context.roots, context.has_own_pids, buf));
        return Outcome::List { list, signs };
    }
    let proc = context.roots.proc.as_os_str().as_encoded_bytes();
    let list = match births.listing(clock::monotonic(), known, signs) {
        Listing::Nothing => None,
        Listing::Born(range, base) => Some(pids::within(proc, range, base)),
        Listing::All => Some(pids::all(proc)),
    };
    Outcome::List { list, signs }
}

/// The reads in progress at one moment.
pub(super) struct RunningReads {
    /// When each last made progress.
    since: HashMap<JobKey, Duration>,
    pub(super) now: Duration,
}

impl RunningReads {
    pub(super) fn new(pool: &Pool<Job>, now: Duration) -> Self {
        Self {
            since: pool.running(),
            now,
        }
    }

    /// Returns true if a read is in progress and has been silent for longer than `allowed`.
    pub(super) fn is_late(&self, key: JobKey, allowed: Duration) -> bool {
        let since = self.since.get(&key);
        since.is_some_and(|since| self.now.saturating_sub(*since) > allowed)
    }

    /// Returns how many reads have been silent for longer than `allowed`.
    pub(super) fn count_late(&self, allowed: Duration) -> usize {
        let silent = self.since.values().map(|since| self.now.saturating_sub(*since));
        silent.filter(|silent| *silent > allowed).count()
    }
}
