//! The scanner's kinds of reads, and what each gives.
//!
//! To add one: a variant of [`Job`], of [`JobKey`] and of [`Outcome`]; the arms that the compiler then demands
//! in `impl Work for Job`; a place that submits it and one that takes in its outcome, both in `table.rs` for
//! what is read of processes. A file that is read once per program is one more line in `job/facts.rs`.

mod close_look;
mod exe;
mod facts;
mod files;
mod glance;
mod held;
mod kernel;
mod running;
mod shared_mm;

use std::sync::Arc;
use std::time::Duration;

pub(super) use close_look::{CloseLook, CloseRead, CloseResult};
pub(super) use exe::ExeFile;
pub(super) use facts::{CgroupList, CgroupMembership, FactsRequest, FactsResult};
pub(super) use glance::{Glance, GlanceRequest, GlanceResult};
pub(super) use held::{HeldResult, ObjectKey, OwnObject};
pub(super) use kernel::{KernelFile, KernelJob, KernelTable};
pub(super) use running::RunningReads;
pub(super) use shared_mm::MmCandidate;

use super::births::{Births, Listing, Signs};
use super::counters::CounterReader;
use super::estimate::Anchor;
use super::plan::Purpose;
use super::pool::{Priority, Work, Worker};
use super::sharing::LastMaps;
use super::target::{OpenFiles, Target};
use super::walk::{self, Walked};
use crate::model::oom::OomVictim;
use crate::model::{CgroupFigures, Identity, Reading};
use crate::proc::cgroup::figures;
use crate::proc::cgroup::mounts::Mounts;
use crate::proc::files::Roots;
use crate::proc::objects::Objects;
use crate::proc::pids::{self, PidList};
use crate::proc::system::accounting::{AccountingFile, InputUpdate};
use crate::proc::system::memory_mounts::{self, Held, MemoryFs};
use crate::proc::system::{MachineUpdate, SystemFile};
use crate::proc::{clock, cmdline, kmsg, users};

/// Processor time of a walk beside which reading `maps` costs little, so that it is read at the first scan already.
const SMALL_BESIDE: Duration = Duration::from_millis(1);

/// Names a read. A process goes by its serial number in the table, so that nothing of one is taken
/// for another's; a batch goes by its first process.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum JobKey {
    List,
    System(SystemFile),
    Accounting(AccountingFile),
    MemoryMounts,
    /// Goes by the device.
    MemoryMount(u64),
    Kernel(KernelFile),
    OomKills,
    Glances(u64),
    Walk(u64),
    Facts(u64),
    /// Goes by the first pid.
    Members(u32),
    Cmdline(u64),
    Exe(u64),
    ExeLinks(u64),
    SharedMm(u64),
    User(u32),
    Mounts,
    /// Goes by the number of the job.
    Cgroups(u64),
    /// Goes by the pid.
    CloseLook(u32),
    Held(u64),
    DescriptorCounts(u64),
}

/// A process to read, as it was when that was asked for.
#[derive(Clone)]
pub(super) struct ProcessRef {
    pub(super) pid: u32,
    pub(super) serial: u64,
    pub(super) starttime: u64,
    /// The state of the process that is asked about; an answer about an older one is dropped.
    pub(super) version: u32,
    pub(super) target: Arc<Target>,
}

/// A read of the scanner's.
pub(super) enum Job {
    /// The list of processes, as far as it is to be read.
    List {
        births: Births,
        /// The number of processes known.
        known: usize,
    },
    /// A file of the system's.
    System(SystemFile),
    /// An input of the account of the system.
    Accounting(AccountingFile),
    /// The list of file systems in memory.
    MemoryMounts,
    /// The bytes that one of them holds; its place may be below one that never answers.
    MemoryMount(MemoryFs),
    /// A table of the kernel's own memory.
    Kernel(KernelJob),
    /// The kernel's log, for the processes that it killed.
    OomKills,
    /// `stat` of some processes; never empty.
    Glances {
        of: Vec<GlanceRequest>,
        /// True if `oom_score` is read as well.
        oom_score: bool,
    },
    /// `smaps_rollup`.
    Walk {
        process: ProcessRef,
        purpose: Purpose,
        /// The processor time that the planner has reserved for it.
        expected: Duration,
        /// True if a walk of it has ever come back.
        is_known: bool,
        /// The state it was in when its `maps` was last read.
        last_maps: LastMaps,
    },
    /// The facts of some processes, but for the command line; never empty.
    Facts(Vec<FactsRequest>),
    /// A comparison of the processes that were in a cgroup, in order, with its list.
    Members { pids: Vec<u32>, list: CgroupList },
    /// `cmdline`, which is in the process's memory and may keep the reader waiting.
    Cmdline(ProcessRef),
    /// The file behind `exe`, looked up in the file system.
    Exe(ProcessRef),
    /// A comparison of `exe` of some processes with what it was, by the digest of its text.
    ExeLinks(Vec<(ProcessRef, u64)>),
    /// A check whether some processes share an address space with others.
    SharedMm(Vec<MmCandidate>),
    /// A user's name.
    User(u32),
    /// The places where cgroups are mounted.
    Mounts,
    /// The memory figures of cgroups.
    Cgroups {
        number: u64,
        mounts: Arc<Mounts>,
        paths: Vec<Arc<[u8]>>,
    },
    /// A read that is made of few processes only.
    CloseLook(CloseLook),
    /// Memory that a process holds through its descriptors, at the processor time that is expected.
    Held(ProcessRef, Duration),
    /// The number of descriptors of some processes, and what it was; never empty.
    DescriptorCounts(Vec<(ProcessRef, u64)>),
}

/// A walk that was made.
pub(super) struct WalkResult {
    pub(super) walked: Reading<Walked>,
    /// The walk with the counters around it; none where the process has ended.
    pub(super) anchor: Option<Anchor>,
    /// When it began.
    pub(super) at: Duration,
    /// Processor time.
    pub(super) cost: Duration,
    /// Time on the clock.
    pub(super) took: Duration,
    /// Its files and shmem, where they were read, and the processor time of that.
    pub(super) objects: Option<Objects>,
    pub(super) extra: Duration,
}

/// The result of a job.
pub(super) enum Outcome {
    List {
        /// `None` where nobody came.
        list: Option<Reading<PidList>>,
        signs: Option<Signs>,
    },
    System(SystemFile, MachineUpdate),
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
    /// The pids that are in another cgroup by now.
    Strays(Vec<u32>),
    Cmdline {
        process: ProcessRef,
        cmdline: Reading<Box<[u8]>>,
    },
    Exe {
        process: ProcessRef,
        exe: Reading<ExeFile>,
    },
    /// Pid and serial number of the processes whose file is to be looked up again.
    ExeLinks(Vec<(u32, u64)>),
    /// Pairs that share an address space.
    SharedMm(Vec<(ProcessRef, ProcessRef)>),
    User(u32, Arc<[u8]>),
    Mounts(Reading<Arc<Mounts>>),
    Cgroups(u64, Vec<(Arc<[u8]>, CgroupFigures)>),
    CloseLook(Identity, CloseResult),
    Held(ProcessRef, HeldResult),
    /// Pid and serial number of the processes that have another number of descriptors than they had.
    DescriptorCounts(Vec<(u32, u64)>),
}

/// Data that all reads share.
pub(super) struct ReaderContext {
    pub(super) roots: Roots,
    pub(super) open_files: Arc<OpenFiles>,
    /// The tree numbers processes as this one's system calls do.
    pub(super) has_own_pids: bool,
    /// Bytes in a page.
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

    /// The times were measured on a laptop; they need only be right enough to tell how many threads to wake.
    fn profile(&self) -> (Priority, Duration) {
        use Priority::{Background, Known, New, Urgent};
        let each = |micros, count: usize| Duration::from_micros(micros) * count as u32;
        match self {
            Self::List { .. } => (Urgent, each(500, 1)),
            Self::System(_) => (Urgent, each(30, 1)),
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
        // Glances are submitted by it, while files of the system's are still being read.
        matches!(self, Self::List { .. })
    }

    fn run(self, context: &ReaderContext, buf: &mut [u8], worker: &Worker<'_, Self>) -> Outcome {
        let proc = context.roots.proc.as_path();
        match self {
            Self::List { births, known } => {
                // Before the list: what comes in between is then seen the next time.
                let signs = glance::signs(context, buf);
                let proc = proc.as_os_str().as_encoded_bytes();
                let list = match births.listing(clock::monotonic(), known, signs) {
                    Listing::Nothing => None,
                    Listing::Born(range, base) => Some(pids::within(proc, range, base)),
                    Listing::All => Some(pids::all(proc)),
                };
                Outcome::List { list, signs }
            }
            Self::System(file) => Outcome::System(file, file.read(&context.roots, buf)),
            Self::Accounting(file) => Outcome::Accounting(file, file.read(&context.roots)),
            Self::MemoryMounts => Outcome::MemoryMounts(memory_mounts::list(&context.roots)),
            Self::MemoryMount(fs) => Outcome::MemoryMount(fs.device, memory_mounts::held(&fs, &context.roots)),
            Self::Kernel(job) => Outcome::Kernel(job.run(&context.roots)),
            Self::OomKills => Outcome::OomKills(kmsg::kills(&context.roots, buf)),
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
                let cmdline = files::read(&process, proc, b"cmdline", buf).map(cmdline::kept);
                Outcome::Cmdline { process, cmdline }
            }
            Self::Exe(process) => {
                let exe = exe::look_up(&process, context, buf);
                Outcome::Exe { process, exe }
            }
            Self::ExeLinks(links) => Outcome::ExeLinks(exe::changed(&links, proc, buf)),
            Self::SharedMm(candidates) => Outcome::SharedMm(shared_mm::verify(candidates, proc, buf)),
            Self::User(uid) => Outcome::User(uid, users::name(uid, &context.roots)),
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
