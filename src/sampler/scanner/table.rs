//! The table of all processes, which persists from tick to tick, and the state of each.

mod facts;
mod glances;
mod held;
mod rows;
mod shared_mm;
mod turns;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

pub(super) use facts::SharedPaths;
use facts::{FactsCache, SharedFacts};
use glances::{Glances, TableReads};
use held::{HeldReads, HeldWatch};
use rows::RowBuffers;
use shared_mm::{Comparisons, TwinWatch};
use turns::Turns;

use super::job::{Job, JobKey, Read};
use crate::model::{Counted, Identity, Memory, Missing, Reading, Stat, Walk};
use crate::sampler::containers::Containers;
use crate::sampler::estimate::{Counters, Others, Tracker, shift};
use crate::sampler::policy::activity::is_news;
use crate::sampler::policy::plan::{self, Purpose};
use crate::sampler::policy::rotation::Rotation;
use crate::sampler::reading::ProcessRef;
use crate::sampler::reading::counters::SwapUse;
use crate::sampler::reading::glance::{Extras, Glance, GlanceResult};
use crate::sampler::reading::pool::Priority;
use crate::sampler::reading::target::Target;
use crate::sampler::reading::walk::{WalkRequest, WalkResult};
use crate::sampler::sharing::{ExternalBound, Sharer, Sharing, Walked};
use crate::sampler::users::Users;

#[derive(Default)]
pub(super) struct Table {
    /// In ascending order of pid. Rows have this order too, and processes created one after another are near each
    /// other in the kernel's memory, so that walking them in this order is cheaper.
    entries: Entries,
    users: Users,
    containers: Containers,
    glances: Glances,
    rotation: Rotation,
    focus_looked_at: Duration,
    /// The threads in each cgroup when the lists were last read.
    threads: HashMap<Arc<[u8]>, u64>,
    paths: SharedPaths,
    serial: u64,
    /// The number of lists processed.
    list: u64,
    has_new_programs: bool,
    comparisons: Comparisons,
    /// Number of outstanding jobs that check links to executables.
    link_jobs: usize,
    shared_facts: SharedFacts,
    sharing: Sharing,
    /// New processes that have not joined their family yet: from this tick, and from the one before.
    unadopted: [Vec<u32>; 2],
    /// The number of walks since the last snapshot, and their CPU time.
    pub(super) walks: usize,
    pub(super) walk_time: Duration,
    buffers: RowBuffers,
    turns: Turns,
    held: HeldReads,
    pub(super) swap_use: SwapUse,
    pub(super) focus: HashSet<Identity>,
    pub(super) extras: Extras,
    /// The page tables of some processes are needed.
    pub(super) wants_tables: bool,
    reads_tables: TableReads,
    has_many_tables: bool,
    /// The CPU time of processes can be read, so it is known which ones ran. Otherwise all are glanced at.
    has_clocks: bool,
    /// The tree is procfs, where only the command line can block a reader.
    is_procfs: bool,
    /// Time between two checks of a link to an executable.
    exe_check_interval: Duration,
}

type Entries = BTreeMap<u32, Entry>;

/// A listed pid.
#[derive(Default)]
struct Entry {
    serial: u64,
    is_glancing: bool,
    /// The last snapshot reported that the glance is late.
    is_late: bool,
    /// The reason why the last glance failed.
    fault: Option<Missing>,
    /// Boxed, because the nodes of a table filled in order of pid stay half empty.
    process: Option<Box<Process>>,
    /// It is in the list of touched processes, whose rows may change.
    is_touched: bool,
    /// Its CPU time before the last glance, if it was read.
    clock: Option<Duration>,
    glanced_at: Duration,
    /// As of the last glance: its faults, including the children it waited for; its threads; and its parent.
    faults: u64,
    threads: u32,
    ppid: u32,
}

fn process_of(entries: &Entries, pid: u32) -> Option<&Process> {
    entries.get(&pid)?.process.as_deref()
}

fn process_mut(entries: &mut Entries, pid: u32) -> Option<&mut Process> {
    entries.get_mut(&pid)?.process.as_deref_mut()
}

impl Table {
    pub(super) fn new(has_clocks: bool, is_procfs: bool, exe_check_interval: Duration) -> Self {
        Self {
            has_clocks,
            is_procfs,
            exe_check_interval,
            ..Self::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns true if the process is in the table and has not ended.
    pub(super) fn is_running(&self, id: Identity) -> bool {
        let process = process_of(&self.entries, id.pid);
        process.is_some_and(|process| process.id == id && !process.stat.is_zombie())
    }

    /// Returns the identity, the number of execs and the last counters of each process.
    pub(crate) fn stats(&self) -> impl Iterator<Item = (Identity, u32, &Stat)> {
        let processes = self.entries.values().filter_map(|entry| entry.process.as_deref());
        processes.map(|process| (process.id, process.exec, &process.stat))
    }

    /// Returns a process for modification, unless another one has its pid now. Touches it, because its row may change.
    fn process(&mut self, asked: &ProcessRef) -> Option<&mut Process> {
        self.touch(asked.pid);
        process_mut(&mut self.entries, asked.pid).filter(|p| p.serial == asked.serial)
    }

    /// Closes files held for processes while there `are_too_many`.
    pub(super) fn close_files(&mut self, are_too_many: impl Fn() -> bool) {
        let processes = self.entries.values_mut().filter_map(|e| e.process.as_deref_mut());
        processes.take_while(|_| are_too_many()).for_each(Process::close_files);
    }

    /// Returns the job for a walk that the policy chose; `None` if another walk is outstanding.
    pub(super) fn walk_job(&mut self, pid: u32, purpose: Purpose) -> Option<Job> {
        self.touch(pid);
        let process = process_mut(&mut self.entries, pid)?;
        if std::mem::replace(&mut process.is_walking, true) {
            return None;
        }
        process.sharing.asked(&self.sharing);
        let expected = process.expected_cost();
        let (known, new) = (Priority::Known, Priority::New);
        let priority = if process.has_answered { known } else { new };
        let read = Read::Walk(WalkRequest {
            process: process.reference(),
            purpose,
            expected,
            last_maps: process.sharing.last_maps(),
        });
        let expected = expected.max(Duration::from_micros(50));
        Some(Job::new(JobKey::Walk(process.serial), priority, expected, read))
    }

    /// Ends a walk that was not started, so that the policy may choose it again.
    pub(super) fn put_off(&mut self, asked: &ProcessRef) {
        if let Some(process) = self.process(asked) {
            process.is_walking = false;
        }
    }

    pub(super) fn walked(&mut self, request: &WalkRequest, result: &WalkResult) {
        let asked = &request.process;
        self.walk_time += result.cost;
        self.touch(asked.pid);
        let process = process_mut(&mut self.entries, asked.pid);
        if let Some(process) = process.filter(|p| p.serial == asked.serial) {
            let exec = process.exec;
            let is_current = process.walked(asked.exec, result, request.purpose, &mut self.sharing);
            self.has_new_programs |= process.exec != exec;
            self.walks += usize::from(is_current);
        }
    }

    pub(super) fn glanced(&mut self, result: GlanceResult, now: Duration) {
        let pid = result.pid;
        let Some(entry) = self.entries.get_mut(&pid).filter(|e| e.serial == result.serial) else {
            return;
        };
        entry.is_glancing = false;
        let fault = result.glance.as_ref().err().copied();
        if std::mem::replace(&mut entry.fault, fault) != fault || std::mem::take(&mut entry.is_late) {
            entry.touch(pid, &mut self.buffers.touched);
        }
        let glance = match result.glance {
            Ok(glance) => glance,
            Err(Missing::Gone) => {
                self.forget(pid);
                return;
            }
            // Nothing shows that it is another process. Its row shows the fault.
            Err(_) => {
                self.glances.set_recent(pid, now);
                return;
            }
        };
        let threads = u32::try_from(glance.stat.threads).unwrap_or(u32::MAX);
        self.glances.set_faults(entry.faults, glance.faults);
        self.glances.set_threads(entry.threads, threads);
        (entry.faults, entry.threads, entry.ppid) = (glance.faults, threads, glance.stat.ppid);
        match &mut entry.process {
            Some(process) if process.id.starttime == glance.starttime => {
                let (exec, before, stat) = (process.exec, process.glance_state(), process.stat);
                process.glanced(result.target, glance, now, &mut self.sharing);
                self.has_new_programs |= process.exec != exec;
                if is_news(&stat, &process.stat) {
                    self.glances.set_recent(pid, now);
                }
                if process.stat.is_zombie() && !stat.is_zombie() {
                    self.glances.ended.push(pid);
                }
                if process.glance_state() != before {
                    entry.touch(pid, &mut self.buffers.touched);
                }
            }
            slot => {
                self.has_new_programs = true;
                let mut old = slot.take();
                let is_initial = self.list <= 1 && old.is_none();
                if let Some(old) = &mut old {
                    old.sharing.leave(&mut self.sharing);
                    self.glances.ended.push(pid);
                }
                self.serial += 1;
                let old = old.as_deref();
                let new = Process::new(self.serial, pid, result.target, &glance, old, now, is_initial);
                *slot = Some(Box::new(new));
                entry.touch(pid, &mut self.buffers.touched);
                self.share_facts(pid);
                self.adopt(pid, true, is_initial);
            }
        }
    }
}

impl Entry {
    /// Records that its row may change: see [`Table::touch`].
    fn touch(&mut self, pid: u32, touched: &mut Vec<u32>) {
        if !std::mem::replace(&mut self.is_touched, true) {
            touched.push(pid);
        }
    }
}

/// Groups items into batches of up to `size`.
fn batches<T>(mut items: impl Iterator<Item = T>, size: usize) -> impl Iterator<Item = Vec<T>> {
    std::iter::from_fn(move || {
        let first = items.next()?;
        let mut batch = Vec::with_capacity(size);
        batch.push(first);
        batch.extend(items.by_ref().take(size - 1));
        Some(batch)
    })
}

struct Process {
    serial: u64,
    id: Identity,
    target: Arc<Target>,
    /// The digest of its comm.
    comm: u64,
    /// The number of its execs.
    exec: u32,
    /// The last image digest that was not hidden.
    image: u64,
    /// The end of its address space at the last walk, if the kernel reported it.
    space_end: Option<u64>,
    stat: Stat,
    /// Its RSS when it, or its program, was first seen.
    first_rss: u64,
    /// Its counters and its last walk, from which `walk` is estimated.
    estimates: Tracker,
    oom_score: Reading<u32>,
    peak: Reading<u64>,
    /// Its page tables, and when and after how many faults they were last read.
    page_tables: Reading<u64>,
    tables_at: (Duration, u64),
    /// The bound on the error due to its own changes since the last walk, or the reason why there are no figures.
    own_error: Reading<u64>,
    /// The figures, if they differ from the anchor's. For most processes they do not.
    figures: Option<Box<Memory>>,
    is_walking: bool,
    /// A walk of it has returned before.
    has_answered: bool,
    /// When a walk of it last failed or succeeded.
    attempted_at: Option<Duration>,
    /// CPU time of its last walk, or of its parent's before the fork; and the elapsed time.
    cost: Option<Duration>,
    took: Duration,
    /// Its last walk was one of an idle process.
    was_idle: bool,
    /// When it was first seen, or ran exec.
    known_since: Duration,
    /// The kind and time of its entry in the list of turns.
    turn: Option<(usize, Duration)>,
    sharing: Sharer,
    /// The bound on changes by others since the last walk.
    external: ExternalBound,
    is_unadopted: bool,
    facts: FactsCache,
    /// It was compared with all others, after its last exec.
    is_compared: bool,
    /// The number of its address space, if that is shared.
    shared_mm: Option<u64>,
    twin: TwinWatch,
    /// Memory that it holds through its descriptors, while that is needed.
    held: Option<Box<HeldWatch>>,
}

impl Process {
    /// Creates a process seen for the first time. `old` had the same pid before, and the same comm if the glance
    /// omits the comm. `is_initial` is true if the process existed at the first scan.
    fn new(
        serial: u64,
        pid: u32,
        target: Option<Arc<Target>>,
        glance: &Glance,
        old: Option<&Self>,
        now: Duration,
        is_initial: bool,
    ) -> Self {
        let comm = glance.comm.as_deref();
        let comm = comm.or(old.map(|o| &*o.facts.facts.comm)).unwrap_or(b"?");
        Self {
            serial,
            id: Identity {
                pid,
                starttime: glance.starttime,
            },
            target: target.unwrap_or_else(|| Arc::new(Target::bare(pid))),
            comm: glance.digest,
            exec: 0,
            image: glance.stat.image,
            space_end: None,
            first_rss: glance.stat.rss,
            stat: glance.stat,
            estimates: Tracker::new(Counters::new(&glance.stat)),
            oom_score: glance.oom_score,
            peak: glance.peak,
            page_tables: glance.page_tables.unwrap_or(Err(Missing::Pending)),
            tables_at: (now, glance.stat.minflt),
            own_error: Err(Missing::Pending),
            figures: None,
            is_walking: false,
            has_answered: false,
            attempted_at: None,
            cost: None,
            took: Duration::ZERO,
            was_idle: false,
            known_since: now,
            turn: None,
            sharing: Sharer::default(),
            external: ExternalBound::default(),
            is_unadopted: true,
            facts: FactsCache::new(comm, (!is_initial).then_some(now)),
            is_compared: false,
            shared_mm: None,
            twin: TwinWatch::default(),
            held: None,
        }
    }

    /// Returns true if its memory figures are not readable.
    fn is_denied(&self) -> bool {
        self.own_error == Err(Missing::Denied)
    }

    /// Returns the figures that the kernel shows to every user, if its memory figures are not readable.
    fn counted(&self) -> Counted {
        if !self.is_denied() {
            return Counted::default();
        }
        let counters = &self.estimates.counters;
        Counted::new(counters.resident.map(|resident| resident.anon), counters.swap)
    }

    /// Records a glance at the same process. After an exec, or at its end as a zombie, others no longer share with
    /// it.
    fn glanced(&mut self, target: Option<Arc<Target>>, glance: Glance, now: Duration, sharing: &mut Sharing) {
        if let Some(target) = target {
            self.target = target;
        }
        (self.oom_score, self.peak) = (glance.oom_score, glance.peak);
        let is_hidden = glance.stat.image == 0;
        if !is_hidden && self.image != 0 && glance.stat.image != self.image {
            self.own_error = Err(Missing::Pending);
            self.figures = None;
            self.estimates = Tracker::default();
            self.attempted_at = None;
            self.space_end = None;
            self.page_tables = Err(Missing::Pending);
            self.start_program(glance.stat.image, now, sharing);
        }
        if let Some(found) = glance.page_tables {
            (self.page_tables, self.tables_at) = (found, (now, glance.stat.minflt));
        }
        if glance.stat.is_zombie() && !self.stat.is_zombie() {
            self.sharing.leave(sharing);
            self.page_tables = self.page_tables.and(Err(Missing::Zombie));
        }
        if let (Some(before), Some(after)) = (self.estimates.counters.swap, glance.counters.swap) {
            self.sharing.swapped(before, after, sharing);
        }
        if !is_hidden {
            self.image = glance.stat.image;
        }
        self.comm = glance.digest;
        self.facts.glanced(glance.comm, &self.stat, &glance.stat);
        // A process whose memory figures are not readable is no known sharer.
        let before = self.estimates.counters.resident.filter(|_| !self.is_denied());
        if let (Some(before), Some(after)) = (before, glance.counters.resident) {
            let change = after.shared.cast_signed() - before.shared.cast_signed();
            self.sharing.resized(change, sharing);
        }
        let has_changed = self.estimates.glanced(glance.counters);
        self.stat = glance.stat;
        if has_changed {
            self.set_estimate();
        }
    }

    /// Resets the facts about the former program.
    fn start_program(&mut self, image: u64, now: Duration, sharing: &mut Sharing) {
        self.exec = self.exec.wrapping_add(1);
        self.cost = None;
        (self.known_since, self.first_rss) = (now, self.stat.rss);
        self.sharing.leave(sharing);
        self.sharing.join(image, sharing);
        self.is_unadopted = false;
        self.is_compared = false;
        self.shared_mm = None;
        self.twin = TwinWatch::default();
        self.facts.reset(now);
    }

    /// Returns true if it was walked, although the kernel hides the addresses of its program.
    fn is_space_hidden(&self) -> bool {
        self.stat.image == 0 && self.own_error.is_ok() && self.stat.lacks_memory().is_none()
    }

    /// Closes its files. Until they are opened again, they are read by path.
    fn close_files(&mut self) {
        if self.target.holds_any() {
            let bare = Target::bare(self.id.pid);
            bare.set_thread(self.target.thread());
            self.target = Arc::new(bare);
        }
    }

    fn set_estimate(&mut self) {
        let mapped = self.newly_mapped();
        if let (Ok(error), Some(estimate)) = (&mut self.own_error, self.estimates.estimate()) {
            *error = estimate.bound.max(mapped);
            self.set_figures(estimate.memory);
        }
        if self.is_program_doubtful()
            && let Ok(walk) = self.walk()
        {
            self.own_error = Ok(walk.error.max(walk.memory.rss));
        }
    }

    fn set_figures(&mut self, memory: Memory) {
        let anchor = self.estimates.anchor.as_ref();
        let is_anchored = anchor.is_some_and(|anchor| anchor.memory == memory);
        self.figures = (!is_anchored).then(|| Box::new(memory));
    }

    /// Returns its memory, estimated from the last walk and the counters since, with the bound due to its own
    /// changes.
    fn walk(&self) -> Reading<Walk> {
        let error = self.own_error?;
        let anchored = self.estimates.anchor.as_ref().map(|anchor| &anchor.memory);
        let memory = self.figures.as_deref().or(anchored).ok_or(Missing::Pending)?;
        Ok(Walk {
            memory: *memory,
            error,
            at: self.attempted_at.unwrap_or_default(),
            cost: self.took,
        })
    }

    /// Returns the change of its files and shmem since the walk, if so much of its address space has changed too that
    /// it has probably mapped other objects. Their sharers are unknown, so nothing learnt is valid.
    fn newly_mapped(&self) -> u64 {
        let anchor = self.estimates.anchor.as_ref();
        let then = anchor.and_then(|anchor| anchor.counters.resident);
        let Some((then, now)) = then.zip(self.estimates.counters.resident) else {
            return 0;
        };
        let asks = self.sharing.last_maps().asks(Some(self.stat.vsize), now.shared);
        if asks { now.shared.abs_diff(then.shared) } else { 0 }
    }

    /// Returns true if it may run another program, and only a walk can show this.
    fn is_program_doubtful(&self) -> bool {
        let anchor = self.estimates.anchor.as_ref();
        self.is_space_hidden() && anchor.is_some_and(|a| a.counters.vsize != self.stat.vsize)
    }

    fn reference(&self) -> ProcessRef {
        ProcessRef {
            pid: self.id.pid,
            serial: self.serial,
            starttime: self.id.starttime,
            exec: self.exec,
            target: Arc::clone(&self.target),
        }
    }

    /// Records a walk; returns true if it was a successful walk of the current program.
    fn walked(&mut self, exec: u32, result: &WalkResult, purpose: Purpose, sharing: &mut Sharing) -> bool {
        self.is_walking = false;
        self.has_answered |= result.walked.is_ok();
        if exec != self.exec {
            return false;
        }
        let own_change = self.estimates.walked(result.anchor, &self.others());
        let estimate = self.estimates.estimate();
        self.own_error = result.walked.map(|_| estimate.map_or(0, |estimate| estimate.bound));
        self.figures = None;
        if let Ok(walked) = result.walked {
            self.set_figures(walked.memory);
        }
        self.cost = Some(result.cost);
        self.took = result.took;
        self.was_idle = purpose == Purpose::Idle;
        self.attempted_at = Some(result.at);
        let Ok(walked) = result.walked else {
            return false;
        };
        let seen = Walked {
            memory: &walked.memory,
            anonymous: walked.anonymous,
            swap: self.estimates.counters.swap,
            vsize: self.estimates.counters.vsize,
            objects: result.objects.as_ref(),
            own_change,
            is_initial: purpose == Purpose::Initial,
        };
        self.sharing.walked(&seen, sharing);
        self.external = self.sharing.external(sharing);
        let before = self.space_end;
        self.space_end = walked.end.or(before);
        // Another end of the address space shows another program. Glances show it sooner if the kernel does not hide the
        // addresses in `stat` (`CAP_PERFMON` alone does not reveal them).
        if self.image == 0 && before.zip(walked.end).is_some_and(|(before, end)| before != end) {
            self.start_program(self.image, result.at, sharing);
        }
        true
    }
}

/// Minimum size of the file pages that a forked child lacks, compared to its parent, when it is first seen.
const LEFT_BEHIND: u64 = 64 << 10;

impl Table {
    /// Adds a new process to its family. If it looks as if it shared its parent's address space, it waits for the
    /// next tick: by then, that is known, or it has run exec.
    fn adopt(&mut self, pid: u32, is_new: bool, is_initial: bool) {
        let process = |pid| process_of(&self.entries, pid);
        let Some(child) = process(pid).filter(|p| p.is_unadopted) else {
            return;
        };
        let (stat, has_twin) = (child.stat, child.shared_mm.is_some());
        let parent = process(stat.ppid).filter(|p| p.stat.image == stat.image && stat.image != 0);
        if is_new && !is_initial && parent.is_some_and(|p| may_be_one(&stat, &p.stat)) {
            self.unadopted[0].push(pid);
            return;
        }
        let has_parent = parent.is_some();
        // A walk of the child covers the same areas as one of the parent, as far as the child has pages there.
        let cost = parent.and_then(|p| p.cost);
        let cost = cost.map(|cost| cost.min(plan::first_cost(stat.rss)));
        let Some(child) = process_mut(&mut self.entries, pid) else {
            return;
        };
        child.is_unadopted = false;
        child.cost = child.cost.or(cost);
        if has_twin || stat.lacks_memory().is_some() {
            return;
        }
        let mut sharer = std::mem::take(&mut child.sharing);
        sharer.join(stat.image, &mut self.sharing);
        if !is_initial && sharer.has_relatives(&self.sharing) {
            self.touch(stat.ppid);
            let parent = process_mut(&mut self.entries, stat.ppid);
            let parent = parent.filter(|_| has_parent).map(|parent| {
                parent.estimates.forked();
                parent.set_estimate();
                &mut parent.sharing
            });
            sharer.forked(parent, stat.rss, &mut self.sharing);
        }
        if let Some(child) = process_mut(&mut self.entries, pid) {
            child.sharing = sharer;
        }
    }

    /// Updates the sharing groups with the results of a tick and the machine's use of swap, if that is known.
    pub(super) fn relate(&mut self, swap_used: Option<u64>) {
        for pid in std::mem::take(&mut self.unadopted[1]) {
            self.adopt(pid, false, false);
        }
        self.unadopted.swap(0, 1);
        if let Some(used) = swap_used {
            self.sharing.set_swap_used(used);
        }
    }
}

impl Process {
    /// Updates the bound on changes by others; returns true if it has changed.
    fn update_external(&mut self, sharing: &Sharing) -> bool {
        let external = self.sharing.external(sharing);
        std::mem::replace(&mut self.external, external) != external
    }

    /// Returns the upper bound on the error of its figures, without the part that causes no walk.
    fn error(&self) -> u64 {
        let others = self.estimates.bound_of(&self.others());
        self.own_error.map_or(0, |error| {
            error.saturating_add(others).saturating_add(self.external.swap)
        })
    }

    fn others(&self) -> Others {
        let external = &self.external;
        Others {
            bound: external.footprint - external.drift,
            drift: external.drift,
            shift: external.shifts[0] + external.shifts[1],
        }
    }

    fn shown(&self) -> Reading<Walk> {
        let mut walk = self.walk()?;
        shift(&mut walk.memory, self.external.shifts);
        walk.error = self.error();
        // Small files cause no walk, so their possible error must not make a figure uncertain.
        let room = walk.tolerance().saturating_sub(walk.error);
        walk.error = walk.error.saturating_add(self.external.small.min(room));
        Ok(walk)
    }
}

/// Returns true if a child and its parent may share an address space, created by `vfork` or `clone` with `CLONE_VM`.
/// A forked child would lack the file pages.
const fn may_be_one(child: &Stat, parent: &Stat) -> bool {
    child.vsize == parent.vsize && child.rss + LEFT_BEHIND > parent.rss
}
