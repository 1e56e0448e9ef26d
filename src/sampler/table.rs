//! All processes, as they are known from one tick to the next.

mod facts;
mod glances;
mod held;
mod held_watch;
mod list;
mod looks;
mod paths;
mod process;
mod rows;
mod shared_facts;
mod shared_mm;
mod sharing;
mod turns;
mod twins;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use glances::Glances;
use held::HeldReads;
use paths::SharedPaths;
use process::Process;
use rows::RowBuffers;
use shared_facts::SharedFacts;
use turns::Turns;

pub(super) use glances::GlanceOptions;
pub(super) use looks::LookOptions;

use super::activity::is_news;
use super::counters::SwapUse;
use super::job::{ExeFile, FactsResult, GlanceResult, Job, Outcome};
use super::plan::Purpose;
use super::rotation::Rotation;
use super::sharing::Sharing;
use super::users::Users;
use crate::model::{Missing, Reading};

/// The table of processes.
#[derive(Default)]
pub(super) struct Table {
    /// In order of pid: that is the order of rows, and processes made one after another lie near each other
    /// in the kernel's memory too, so that walking them so costs it less.
    entries: BTreeMap<u32, Entry>,
    users: Users,
    /// The processes that are to be glanced at.
    glances: Glances,
    /// The turns at which facts are looked at again.
    rotation: Rotation,
    /// When the rows in focus were last looked at.
    focus_looked_at: Duration,
    /// The threads in each cgroup when the lists were last read.
    threads: HashMap<Arc<[u8]>, u64>,
    /// The paths of cgroups.
    paths: SharedPaths,
    /// The last serial number given out.
    serial: u64,
    /// A counter of the lists taken in.
    list: u64,
    /// Some process is new, or another program.
    has_new_programs: bool,
    /// Jobs that check links to programs' files and have not come back.
    link_jobs: usize,
    /// The path of the program that was taken in last: what is started together mostly runs the same.
    last_exe: Arc<[u8]>,
    shared_facts: SharedFacts,
    /// The groups of those that may share memory.
    sharing: Sharing,
    /// New processes that have yet to be put among their relatives: those of this tick, and of the one before.
    unadopted: [Vec<u32>; 2],
    /// Walks taken in since they were last counted, and their CPU time.
    walks: usize,
    walk_time: Duration,
    buffers: RowBuffers,
    turns: Turns,
    held: HeldReads,
    /// Use of swap on the machine.
    pub(super) swap_use: SwapUse,
}

/// A listed pid.
struct Entry {
    serial: u64,
    /// A glance is asked for and has not come.
    is_glancing: bool,
    /// The last snapshot says that it had not come.
    is_late: bool,
    /// The reason why the last glance failed.
    fault: Option<Missing>,
    /// By itself: the nodes of the table, filled in order of pid, stay half empty.
    process: Option<Box<Process>>,
    /// It is among those whose rows may change.
    is_touched: bool,
    /// Its CPU time before the last glance, where it was asked.
    clock: Option<Duration>,
    /// When it was last glanced at.
    glanced_at: Duration,
    /// Its faults then, and those of the children it waited for; its threads; and its parent.
    faults: u64,
    threads: u32,
    ppid: u32,
}

impl Table {
    fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        self.entries.values_mut().filter_map(|e| e.process.as_deref_mut())
    }

    /// Returns a process to change; its row may change with it.
    fn process(&mut self, pid: u32, serial: u64) -> Option<&mut Process> {
        let entry = self.entries.get_mut(&pid)?;
        entry.touch(pid, &mut self.buffers.touched);
        entry.process.as_deref_mut().filter(|p| p.serial == serial)
    }

    /// Closes files held for processes while there `are_too_many`.
    pub(super) fn close_files(&mut self, are_too_many: impl Fn() -> bool) {
        for process in self.processes().take_while(|_| are_too_many()) {
            process.close_files();
        }
    }

    /// Returns the job to walk a process that the policy chose.
    pub(super) fn walk_job(&mut self, pid: u32, purpose: Purpose) -> Option<Job> {
        self.touch(pid);
        let process = self.entries.get_mut(&pid)?.process.as_deref_mut()?;
        process.walk_job(purpose, &self.sharing)
    }

    /// Takes in what a read gave; adds to `jobs` what is to be read because of it.
    pub(super) fn take_in(&mut self, outcome: Outcome, now: Duration, jobs: &mut Vec<Job>) {
        match outcome {
            Outcome::List { .. }
            | Outcome::System(..)
            | Outcome::Accounting(..)
            | Outcome::MemoryMounts(_)
            | Outcome::MemoryMount(..)
            | Outcome::Kernel(_)
            | Outcome::OomKills(_)
            | Outcome::Mounts(_)
            | Outcome::Cgroups(..)
            | Outcome::CloseLook(..) => {}
            Outcome::Held(process, result) => {
                self.set_held_by(process.pid, process.serial, process.version, result);
            }
            Outcome::DescriptorCounts(changed) => self.descriptors_changed(&changed, now, jobs),
            Outcome::Glances(glances) => glances.into_iter().for_each(|g| self.glanced(g, now)),
            Outcome::Walk {
                process,
                purpose,
                result,
                ..
            } => {
                self.walk_time += result.cost;
                self.touch(process.pid);
                let known = self
                    .entries
                    .get_mut(&process.pid)
                    .and_then(|e| e.process.as_deref_mut());
                if let Some(known) = known.filter(|p| p.serial == process.serial) {
                    let exec = known.exec;
                    let is_current = known.walked(process.version, &result, purpose, &mut self.sharing);
                    self.has_new_programs |= known.exec != exec;
                    self.walks += usize::from(is_current);
                }
            }
            Outcome::Strays(pids) => {
                let requests = pids.into_iter().filter_map(|pid| self.place_request(pid, now));
                jobs.extend(requests.map(|request| Job::Facts(vec![request])));
            }
            Outcome::Facts(results) => results.into_iter().for_each(|result| self.looked(result, now, jobs)),
            Outcome::Exe { process, exe } => {
                let exe = self.keep_path(exe);
                if let Some(known) = self.process(process.pid, process.serial) {
                    known.facts.exe.looked_up();
                    if known.facts.version == process.version {
                        known.facts.set_exe(exe, &known.stat);
                    }
                }
                self.share_facts(process.pid);
            }
            Outcome::ExeLinks(changed) => {
                self.link_jobs = self.link_jobs.saturating_sub(1);
                for (pid, serial) in changed {
                    jobs.extend(self.process(pid, serial).and_then(Process::exe_job));
                }
            }
            Outcome::SharedMm(pairs) => pairs.iter().for_each(|(one, other)| self.set_shared_mm([one, other])),
            Outcome::Cmdline { process, cmdline } => {
                if let Some(known) = self.process(process.pid, process.serial) {
                    known.facts.set_cmdline(process.version, cmdline);
                }
                self.share_facts(process.pid);
            }
            Outcome::User(uid, name) => {
                if self.users.set_name(uid, Ok(Arc::clone(&name)), now) {
                    self.set_user(uid, &Ok(name));
                }
            }
        }
    }

    /// Takes in a look at a process.
    fn looked(&mut self, result: FactsResult, now: Duration, jobs: &mut Vec<Job>) {
        let process = result.process;
        let owner = result.uid.map(|uid| {
            let name = uid.and_then(|uid| {
                let (name, is_new) = self.users.name(uid);
                jobs.extend(is_new.then_some(Job::User(uid)));
                name
            });
            (uid, name)
        });
        let cgroup = result.cgroup.map(|found| self.paths.keep(found));
        let exe = result.exe.map(|exe| self.keep_path(exe));
        let Some(known) = self.process(process.pid, process.serial) else {
            return;
        };
        known.facts.answered();
        if known.facts.version != process.version {
            return;
        }
        known.facts.ran = result.ran;
        if let Some((uid, user)) = owner {
            known.facts.set_user(uid, user);
            known.facts.set_line_dirty();
            jobs.extend(known.line_job(now));
        }
        if let Some(cgroup) = cgroup {
            known.facts.set_cgroup(cgroup);
        }
        if let Some(exe) = exe {
            known.facts.set_exe(exe, &known.stat);
            if known.facts.exe.is_marked {
                jobs.extend(known.exe_job());
            }
        }
        self.share_facts(process.pid);
    }

    /// Returns a program with its path as it is kept: once for those that come one after another.
    fn keep_path(&mut self, exe: Reading<ExeFile>) -> Reading<(ExeFile, Arc<[u8]>)> {
        let exe = exe?;
        if *self.last_exe != *exe.path {
            self.last_exe = (&*exe.path).into();
        }
        Ok((exe, Arc::clone(&self.last_exe)))
    }

    fn set_user(&mut self, uid: u32, name: &Reading<Arc<[u8]>>) {
        for (pid, entry) in &mut self.entries {
            if entry
                .process
                .as_deref_mut()
                .is_some_and(|p| p.facts.set_name(uid, name))
            {
                entry.touch(*pid, &mut self.buffers.touched);
            }
        }
    }

    fn glanced(&mut self, result: GlanceResult, now: Duration) {
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
            // Still the same process as far as anyone can tell; its row says why it is not read.
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
                let new = Process::new(
                    self.serial,
                    pid,
                    result.target,
                    &glance,
                    old.as_deref(),
                    now,
                    is_initial,
                );
                *slot = Some(Box::new(new));
                entry.touch(pid, &mut self.buffers.touched);
                self.share_facts(pid);
                self.adopt(pid, true, is_initial);
            }
        }
    }

    /// Returns how many walks were taken in since the last call, and their CPU time.
    pub(super) const fn count_walks(&mut self) -> (usize, Duration) {
        (
            std::mem::replace(&mut self.walks, 0),
            std::mem::replace(&mut self.walk_time, Duration::ZERO),
        )
    }
}

impl Entry {
    /// Notes that its row may change: see [`Table::touch`].
    fn touch(&mut self, pid: u32, touched: &mut Vec<u32>) {
        if !std::mem::replace(&mut self.is_touched, true) {
            touched.push(pid);
        }
    }
}

/// Puts items together, up to `size` in each batch.
fn batches<T>(mut items: impl Iterator<Item = T>, size: usize) -> impl Iterator<Item = Vec<T>> {
    std::iter::from_fn(move || {
        let first = items.next()?;
        let mut batch = Vec::with_capacity(size);
        batch.push(first);
        batch.extend(items.by_ref().take(size - 1));
        Some(batch)
    })
}
