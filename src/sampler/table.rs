//! What is known of each process, from one tick to the next.

mod kin;
mod process;
mod sharing;
mod users;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use process::Process;
pub(super) use process::Sparing;
use sharing::Event;
use users::Users;

use super::job::{Glance, Glanced, Job, Outcome, Program, Token};
use super::plan::{Candidate, Purpose};
use super::target::Target;
use crate::model::{Facts, Identity, Missing, ProcessSample, Reading, Stat};

/// Since when each read under way has been so.
pub(super) type RunningReads = HashMap<Token, Duration>;

/// How many links to programs' files are looked at in one job.
const LINKS: usize = 64;

/// Everything listed.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// In order of pid: that is the order of rows, and processes made one after another lie near each other
    /// in the kernel's memory too, so that walking them so costs it less.
    entries: BTreeMap<u32, Entry>,
    users: Users,
    serial: u64,
    list: u64,
    /// Some process is new, or another program.
    newcomers: bool,
    /// The program's file that was taken in last: what is started together mostly runs the same.
    program: Arc<[u8]>,
    /// What processes did to one another, not yet told to all.
    events: Vec<Event>,
    /// Walks taken in since they were last counted, and what they cost.
    walks: usize,
    walked: Duration,
}

/// One listed pid.
#[derive(Debug)]
struct Entry {
    serial: u64,
    /// The list it was last on.
    list: u64,
    glancing: bool,
    /// Why the last glance failed.
    fault: Option<Missing>,
    process: Option<Process>,
}

impl Table {
    /// Takes in the list of processes and asks for a glance at each, except where the last has not
    /// returned. What is listed no more is forgotten. A job takes up to `batch` glances: those behind one
    /// that never returns wait with it. With `sparing`, those that have long been quiet and that nobody looks
    /// at are glanced at every other time.
    pub(super) fn list(&mut self, pids: &[u32], oom: bool, batch: usize, sparing: Option<&Sparing<'_>>) -> Vec<Job> {
        self.list += 1;
        let mut jobs: Vec<Job> = Vec::with_capacity(pids.len() / batch + 1);
        let mut at = Vec::with_capacity(batch);
        for pid in pids {
            let entry = self.entries.entry(*pid).or_insert_with(|| {
                self.serial += 1;
                Entry {
                    serial: self.serial,
                    list: 0,
                    glancing: false,
                    fault: None,
                    process: None,
                }
            });
            entry.list = self.list;
            let other = (u64::from(*pid) + self.list).is_multiple_of(2);
            let spared = |s: &Sparing<'_>| other && entry.process.as_ref().is_some_and(|p| p.may_be_spared(s));
            if entry.glancing || sparing.is_some_and(spared) {
                continue;
            }
            entry.glancing = true;
            at.push(Glance {
                pid: *pid,
                serial: entry.serial,
                target: entry.process.as_ref().map(|p| Arc::clone(&p.target)),
                comm: entry.process.as_ref().map_or(0, |p| p.comm),
                swapped: entry.process.as_ref().is_some_and(Process::is_swapped),
            });
            if at.len() == batch {
                let at = std::mem::replace(&mut at, Vec::with_capacity(batch));
                jobs.push(Job::Glance { at, oom });
            }
        }
        if !at.is_empty() {
            jobs.push(Job::Glance { at, oom });
        }
        let (list, events) = (self.list, &mut self.events);
        self.entries.retain(|_, entry| {
            let listed = entry.list == list;
            if !listed {
                events.extend(entry.process.as_ref().and_then(Process::left).filter(Event::matters));
            }
            listed
        });
        jobs
    }

    /// The pids known, in order.
    pub(super) fn pids(&self) -> Vec<u32> {
        self.entries.keys().copied().collect()
    }

    /// Gives back the files held for processes, where fewer may be held than are.
    pub(super) fn shed(&mut self, exceeded: impl Fn() -> bool) {
        for process in self.entries.values_mut().filter_map(|e| e.process.as_mut()) {
            if !exceeded() {
                return;
            }
            if process.target.holds() {
                process.target = Arc::new(Target::bare(process.id.pid));
            }
        }
    }

    /// Tells every process what the others did.
    pub(super) fn spread(&mut self) {
        let events = std::mem::take(&mut self.events);
        if events.is_empty() {
            return;
        }
        for process in self.entries.values_mut().filter_map(|e| e.process.as_mut()) {
            for event in &events {
                process.hear(event);
            }
        }
    }

    /// What the policy needs to know of each, beside its pid; in order of pid.
    pub(super) fn candidates(&self, now: Duration, focus: &HashSet<Identity>) -> (Vec<u32>, Vec<Candidate>) {
        self.entries
            .iter()
            .filter_map(|(pid, entry)| Some((pid, entry, entry.process.as_ref()?)))
            .map(|(pid, entry, process)| (pid, process.candidate(entry.fault.is_none(), now, focus)))
            .unzip()
    }

    /// The walk of a process that the policy chose.
    pub(super) fn walk(&mut self, pid: u32, purpose: Purpose) -> Option<Job> {
        self.entries.get_mut(&pid)?.process.as_mut()?.ask_walk(purpose)
    }

    /// The facts that are to be read, and the names of users. The file that a process runs is looked at
    /// `again` so long after the last time.
    pub(super) fn facts(&mut self, now: Duration, again: Duration) -> Vec<Job> {
        let mut jobs = Vec::new();
        let mut known = Vec::new();
        for process in self.entries.values_mut().filter_map(|e| e.process.as_mut()) {
            jobs.extend(process.ask_facts());
            match process.ask_program(now, again) {
                Some(Ok(one)) => known.push(one),
                Some(Err(job)) => jobs.push(job),
                None => {}
            }
            if known.len() == LINKS {
                jobs.push(Job::Links(std::mem::take(&mut known)));
            }
        }
        if !known.is_empty() {
            jobs.push(Job::Links(known));
        }
        jobs.extend(self.users.ask_again(now));
        jobs
    }

    /// The cgroups of all, as far as they are known; those of neighbours once.
    pub(super) fn cgroups(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        let mut last = None;
        let all = self.entries.values().filter_map(|e| e.process.as_ref()?.cgroup());
        all.filter(move |path| last.replace(*path) != Some(*path))
    }

    /// Takes in what a reader found; adds to `more` what is to be read because of it.
    pub(super) fn take_in(&mut self, outcome: Outcome, now: Duration, more: &mut Vec<Job>) {
        match outcome {
            Outcome::List(..) | Outcome::Part(..) | Outcome::Mounts(_) | Outcome::Cgroups(..) => {}
            Outcome::Glance(glances) => glances.into_iter().for_each(|g| self.glanced(g, now)),
            Outcome::Walk {
                subject, purpose, done, ..
            } => {
                self.walked += done.cost;
                let Some(process) = self.process(subject.pid, subject.serial) else {
                    return;
                };
                let event = process.walked(&subject, &done, purpose);
                self.walks += usize::from(event.is_some());
                self.events.extend(event.filter(Event::matters));
            }
            Outcome::Place {
                subject,
                uid,
                place,
                program,
            } => {
                let user = uid.and_then(|uid| {
                    let (name, job) = self.users.name(uid);
                    more.extend(job);
                    name
                });
                let program = self.shared(program);
                if let Some(process) = self.process(subject.pid, subject.serial) {
                    more.extend(process.placed(&subject, (uid, user), place, program));
                }
            }
            Outcome::Program { subject, program } => {
                let program = self.shared(program);
                if let Some(process) = self.process(subject.pid, subject.serial) {
                    process.looked_up(&subject, program);
                }
            }
            Outcome::Links(changed) => {
                for (pid, serial) in changed {
                    more.extend(self.process(pid, serial).and_then(Process::relinked));
                }
            }
            Outcome::Kin(pairs) => {
                for (one, other) in pairs {
                    self.share(&one, &other);
                }
            }
            Outcome::Cmdline { subject, cmdline } => {
                if let Some(process) = self.process(subject.pid, subject.serial) {
                    process.titled(&subject, cmdline);
                }
            }
            Outcome::User(uid, name) => {
                if self.users.named(uid, Ok(Arc::clone(&name)), now) {
                    self.rename(uid, &Ok(name));
                }
            }
        }
    }

    /// A program with its path as it is kept: once for those that come one after another.
    fn shared(&mut self, program: Reading<Program>) -> Reading<(Program, Arc<[u8]>)> {
        let program = program?;
        if *self.program != *program.path {
            self.program = (&*program.path).into();
        }
        Ok((program, Arc::clone(&self.program)))
    }

    fn process(&mut self, pid: u32, serial: u64) -> Option<&mut Process> {
        self.entries
            .get_mut(&pid)?
            .process
            .as_mut()
            .filter(|p| p.serial == serial)
    }

    fn rename(&mut self, uid: u32, name: &Reading<Arc<[u8]>>) {
        for process in self.entries.values_mut().filter_map(|e| e.process.as_mut()) {
            process.rename(uid, name);
        }
    }

    fn glanced(&mut self, glanced: Glanced, now: Duration) {
        let Glanced {
            pid,
            serial,
            target,
            seen,
        } = glanced;
        let Some(entry) = self.entries.get_mut(&pid).filter(|e| e.serial == serial) else {
            return;
        };
        entry.glancing = false;
        entry.fault = seen.as_ref().err().copied();
        let seen = match seen {
            Ok(seen) => seen,
            Err(Missing::Gone) => {
                let gone = self.entries.remove(&pid);
                self.events.extend(gone.and_then(|e| e.process?.left()));
                return;
            }
            // Still the same process as far as anyone can tell; its row says why it is not read.
            Err(_) => return,
        };
        match &mut entry.process {
            Some(process) if process.id.starttime == seen.starttime => {
                let exec = process.exec;
                self.events.extend(process.glanced(target, seen, now));
                self.newcomers |= process.exec != exec;
            }
            slot => {
                self.newcomers = true;
                let old = slot.take();
                self.events.extend(old.as_ref().and_then(Process::left));
                self.serial += 1;
                *slot = Some(Process::new(self.serial, pid, target, &seen, old.as_ref(), now));
            }
        }
    }

    /// How many walks were taken in since the last call, and the processor time they took.
    pub(super) const fn count_walks(&mut self) -> (usize, Duration) {
        (
            std::mem::replace(&mut self.walks, 0),
            std::mem::replace(&mut self.walked, Duration::ZERO),
        )
    }

    /// A row for every process, in order of pid. A read that has been under way for longer than
    /// `deadline` makes its figures say so.
    pub(super) fn rows(&mut self, running: &RunningReads, now: Duration, deadline: Duration) -> Vec<ProcessSample> {
        let overdue = |token: Token, allowed: Duration| {
            running
                .get(&token)
                .is_some_and(|since| now.saturating_sub(*since) > allowed)
        };
        for uid in self.users.overdue(|uid| overdue(Token::User(uid), deadline)) {
            self.rename(uid, &Err(Missing::TimedOut));
        }
        // Rows come in order of pid: the first of an address space is the one the others are said to share with.
        let mut spaces = HashMap::new();
        self.entries
            .iter_mut()
            .map(|(pid, entry)| {
                if let Some(process) = &mut entry.process {
                    let mut row = process.row(entry.fault, deadline, overdue);
                    // A zombie has given its own back.
                    if let Some(space) = process.kin.space.filter(|_| !row.stat.is_zombie()) {
                        let first = *spaces.entry(space).or_insert(row.id);
                        row.shares_mm = Some(first).filter(|id| *id != row.id);
                    }
                    return row;
                }
                let late = overdue(Token::Glance(entry.serial), deadline);
                let pending = if late { Missing::TimedOut } else { Missing::Pending };
                unseen(*pid, entry.fault.unwrap_or(pending))
            })
            .collect()
    }
}

/// The row of a pid that is listed and cannot be glanced at: nothing is known of it but why.
fn unseen(pid: u32, why: Missing) -> ProcessSample {
    ProcessSample {
        id: Identity { pid, starttime: 0 },
        exec: 0,
        stat: Stat {
            state: b'?',
            ..Stat::default()
        },
        facts: Arc::new(Facts {
            comm: (*b"?").into(),
            cmdline: Err(why),
            uid: Err(why),
            user: Err(why),
            cgroup: Err(why),
            unit: None,
            container: None,
            exe: Err(why),
            replaced: None,
        }),
        walk: Err(why),
        stale: false,
        oom_score: Err(why),
        shares_mm: None,
    }
}
