//! The facts of one process, and when to read them: at first, after a sign of change, and in rotation.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use super::{Process, Table, batches, process_mut};
use crate::model::{Container, Facts, Missing, Owner, Reading, Stat};
use crate::proc::accounts::{self, Account, set_account};
use crate::proc::cgroup::{Mounts, Version, above};
use crate::proc::containers::Tree;
use crate::proc::pid;
use crate::sampler::containers::Lookup;
use crate::sampler::policy::rotation::{FOCUS_PERIOD, PERIOD, list_period};
use crate::sampler::reading::ProcessRef;
use crate::sampler::reading::facts::{self, CgroupMembership, ExeFile, FactsRequest, FactsResult};
use crate::sampler::scanner::job::{Job, JobKey, job};

/// Time for which an old fact is still shown while it is being reread. It equals the time within which a change must
/// be seen. So a row does not flicker if a reader waits for a moment.
const HOLDS: Duration = Duration::from_secs(10);

pub(super) struct FactsCache {
    pub(super) facts: Arc<Facts>,
    /// When it was first seen or ran exec; `None` if it existed at the first scan.
    pub(super) born: Option<Duration>,
    /// Its CPU time when the facts that it can change itself were read.
    pub(super) ran: Option<Duration>,
    /// Its facts must be read in this tick: it is in focus, or its turn is overdue.
    pub(super) is_near: bool,
    /// All facts may have changed and must be read.
    is_dirty: bool,
    /// Since when they are being read.
    pending: Option<Duration>,
    starter: Option<Starter>,
    line: LineState,
    exe: ExeWatch,
}

/// The state of the command line. It is read separately, and only after the CPU time: otherwise, a title written
/// between the two reads would never be seen.
#[derive(Clone, Copy, Default)]
struct LineState {
    /// It may have changed and must be read.
    is_dirty: bool,
    /// Since when it is being read.
    pending: Option<Duration>,
    /// The last read was empty, although earlier ones were not. The same happens while a process exits.
    was_empty: bool,
}

/// The user who started a program that has the set-user-ID bit.
struct Starter {
    uid: u32,
    /// The same as the owner of the process.
    owner: Arc<Owner>,
    /// The effective user of the program. It is no longer such a program if that changes.
    effective: u32,
}

#[derive(Clone, Copy, Default)]
struct ExeWatch {
    /// The digest of its text.
    digest: u64,
    /// Its text was marked as deleted.
    is_marked: bool,
    is_read: bool,
    is_pending: bool,
}

impl FactsCache {
    /// Creates facts with only the comm known.
    pub(super) fn new(comm: &[u8], born: Option<Duration>) -> Self {
        Self {
            facts: Arc::new(Facts::pending(comm)),
            born,
            ran: None,
            is_near: false,
            is_dirty: true,
            pending: None,
            starter: None,
            line: LineState::default(),
            exe: ExeWatch::default(),
        }
    }

    /// Resets everything except the comm after an exec.
    pub(super) fn reset(&mut self, now: Duration) {
        self.facts = Arc::new(Facts::pending(&self.facts.comm));
        self.born = Some(now);
        self.is_dirty = true;
    }

    /// Applies the changes that a glance shows.
    pub(super) fn glanced(&mut self, comm: Option<Box<[u8]>>, before: &Stat, now: &Stat) {
        if let Some(comm) = comm {
            Arc::make_mut(&mut self.facts).comm = comm;
            // The comm of a kernel thread changes with every piece of work, and nothing else does.
            self.is_dirty |= !now.is_kernel_thread();
        }
        // An exiting process has no arguments any more. The former ones are still shown.
        self.is_dirty |= now.argv != before.argv && now.argv != 0;
    }

    /// Returns true if a read is outstanding whose delay a row would show.
    pub(super) const fn waits(&self) -> bool {
        self.pending.is_some() || self.line.pending.is_some()
    }

    /// Requests a read of facts that were marked as timed out, although the read that has returned did not read them.
    fn reread_timed_out(&mut self, user: bool, cgroup: bool) {
        let facts = &*self.facts;
        let is_out = |why: Option<&Missing>| why == Some(&Missing::TimedOut);
        self.is_dirty |= (user && is_out(facts.uid.as_ref().err())) || (cgroup && is_out(facts.cgroup.as_ref().err()));
    }

    fn set_user(&mut self, uid: Reading<u32>, account: Reading<Account>) {
        self.is_dirty |= uid.is_err_and(is_passing);
        // It is about to leave the list, or the read did not return. Its former user is still valid.
        let is_kept = uid.is_err_and(|why| why == Missing::Gone || is_passing(why)) && self.facts.uid.is_ok();
        if !is_kept {
            let facts = self.with_account(uid, account);
            self.set(facts);
        }
    }

    fn set_cgroup(&mut self, cgroup: Reading<CgroupMembership>, container: Option<Arc<Container>>) {
        self.is_dirty |= cgroup.as_ref().is_err_and(|why| is_passing(*why));
        if matches!(cgroup, Err(Missing::Gone)) && self.facts.cgroup.is_ok() {
            return;
        }
        let (path, unit) = match cgroup {
            Ok(found) => (Ok(found.path), found.unit),
            Err(why) => (Err(why), None),
        };
        let known = &*self.facts;
        if known.cgroup != path || known.unit != unit || known.container != container {
            let facts = Arc::make_mut(&mut self.facts);
            (facts.cgroup, facts.unit, facts.container) = (path, unit, container);
        }
    }

    fn set_cmdline(&mut self, cmdline: Reading<Box<[u8]>>) {
        self.line.is_dirty |= cmdline.as_ref().is_err_and(|why| is_passing(*why));
        let is_known = self.facts.cmdline.as_ref().is_ok_and(|line| !line.is_empty());
        let is_empty = cmdline.as_ref().is_ok_and(|line| line.is_empty());
        // The process may be exiting. An empty command line is accepted if a second read confirms it.
        let is_doubtful = is_known && is_empty && !self.line.was_empty;
        self.line.was_empty = is_empty;
        self.line.is_dirty |= is_doubtful;
        let is_kept = is_known
            && cmdline
                .as_ref()
                .is_err_and(|why| *why == Missing::Gone || is_passing(*why));
        if !is_doubtful && !is_kept && self.facts.cmdline != cmdline {
            Arc::make_mut(&mut self.facts).cmdline = cmdline;
        }
    }

    /// Stores the account of a user, if this process has that user; returns true if the account has changed.
    fn set_account(&mut self, uid: u32, account: &Reading<Account>) -> bool {
        let is_of_it = self.facts.uid == Ok(uid);
        let starter = self.starter.as_mut().filter(|starter| starter.uid == uid);
        if !is_of_it && starter.is_none() {
            return false;
        }
        if let (Some(starter), Ok(account)) = (starter, account) {
            starter.owner = account.as_owner(uid);
        }
        let account = if is_of_it { account.clone() } else { self.account() };
        let facts = self.with_account(self.facts.uid, account);
        self.set(facts)
    }

    /// Returns the account of its user, as far as it is known.
    fn account(&self) -> Reading<Account> {
        let owner = self.facts.owner.clone();
        self.facts.user.clone().map(|name| Account { name, owner })
    }

    /// Returns the user, its name and its owner.
    fn with_account(&self, uid: Reading<u32>, account: Reading<Account>) -> UserFacts {
        let starter = self
            .starter
            .as_ref()
            .filter(|starter| uid == Ok(starter.effective))
            .map(|starter| Arc::clone(&starter.owner));
        let owner = starter.or_else(|| account.as_ref().ok()?.owner.clone());
        (uid, account.map(|account| account.name), owner)
    }

    /// Stores them; returns true if any of them has changed.
    fn set(&mut self, (uid, user, owner): UserFacts) -> bool {
        let known = &*self.facts;
        let is_news = known.uid != uid || known.user != user || known.owner != owner;
        if is_news {
            let facts = Arc::make_mut(&mut self.facts);
            (facts.uid, facts.user, facts.owner) = (uid, user, owner);
        }
        is_news
    }

    fn set_exe(&mut self, exe: Reading<ExeFile>, stat: &Stat) {
        let exe = match exe {
            Ok(found) => found,
            // An exiting process has no executable any more. The former one is still valid.
            Err(_) if self.facts.exe.is_ok() => return,
            Err(why) => {
                Arc::make_mut(&mut self.facts).exe = Err(stat.lacks_memory().unwrap_or(why));
                return;
            }
        };
        (self.exe.digest, self.exe.is_marked, self.exe.is_read) = (exe.digest, exe.is_marked, true);
        if self.facts.exe.as_ref() != Ok(&exe.path) || self.facts.replaced != exe.replaced {
            let facts = Arc::make_mut(&mut self.facts);
            (facts.exe, facts.replaced) = (Ok(exe.path), exe.replaced);
        }
    }

    /// Marks facts as timed out: those never known, if their read is late, and known ones, if a read has been
    /// outstanding for too long to show them. `late` returns whether the reads of the facts and of the command line
    /// are late.
    pub(super) fn time_out(&mut self, now: Duration, late: impl FnOnce() -> (bool, bool)) {
        if self.pending.is_none() && self.line.pending.is_none() {
            return;
        }
        let (facts_late, line_late) = late();
        let is_old = |pending: Option<Duration>| pending.is_some_and(|since| now.saturating_sub(since) > HOLDS);
        let (facts_old, line_old) = (is_old(self.pending), is_old(self.line.pending));
        let is_out = |why: Option<&Missing>, is_late: bool, is_old: bool| match why {
            Some(Missing::Pending) => is_late || is_old,
            Some(_) => false,
            None => is_old,
        };
        let f = &*self.facts;
        let line = is_out(f.cmdline.as_ref().err(), line_late, line_old);
        let uid = is_out(f.uid.as_ref().err(), facts_late, facts_old);
        let cgroup = is_out(f.cgroup.as_ref().err(), facts_late, facts_old);
        // Avoid copying the facts in every tick.
        if !line && !uid && !cgroup {
            return;
        }
        let facts = Arc::make_mut(&mut self.facts);
        if line {
            facts.cmdline = Err(Missing::TimedOut);
        }
        if uid {
            facts.uid = Err(Missing::TimedOut);
            set_account(facts, Err(Missing::TimedOut));
        }
        if cgroup {
            (facts.cgroup, facts.unit, facts.container) = (Err(Missing::TimedOut), None, None);
        }
        if facts_late && facts.exe == Err(Missing::Pending) {
            facts.exe = Err(Missing::TimedOut);
        }
    }
}

/// The uid of a process, its name, and its owner.
type UserFacts = (Reading<u32>, Reading<Arc<[u8]>>, Option<Arc<Owner>>);

/// Returns true if another attempt may succeed.
const fn is_passing(why: Missing) -> bool {
    matches!(why, Missing::Gone | Missing::Errno(_))
}

/// Links to executables read in one job, at some 2 µs each.
const EXE_LINKS_BATCH: usize = 64;
/// Processes read in one job, at some 15 µs each for the first read.
const BATCH: usize = 16;
/// Number of lines of a cgroup's list that cost as much as one read of a process's cgroup.
const LINES_PER_READ: u64 = 15;

struct Turns {
    /// The lists of cgroups can be read.
    can_list: bool,
    /// The turn of the lists of all cgroups.
    lists: bool,
    /// The turn of all rows in focus.
    focus: bool,
    /// The processes to check, in ascending order.
    pids: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct Wants {
    /// All facts that it can change itself.
    own: bool,
    cgroup: bool,
    /// Reading the list of its former cgroup suffices for that.
    by_list: bool,
}

impl Table {
    /// Returns the cgroups of all processes, as far as they are known. Consecutive duplicates are omitted.
    pub(crate) fn cgroups(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        let mut last = None;
        let processes = self.entries.values().filter_map(|e| e.process.as_deref());
        let all = processes.filter_map(|p| p.facts.facts.cgroup.as_ref().ok());
        all.filter(move |path| last.replace(*path) != Some(*path))
    }

    /// Returns the cgroups of the processes that changed in this tick, as far as they are known, and their ancestors.
    pub(crate) fn touched_cgroups(&self) -> HashSet<&[u8]> {
        let entries = self.buffers.touched.iter().filter_map(|pid| self.entries.get(pid));
        let processes = entries.filter_map(|entry| entry.process.as_deref());
        let paths = processes.filter_map(|process| process.facts.facts.cgroup.as_deref().ok());
        let levels = paths.flat_map(|path| std::iter::successors(Some(path), |path| above(path)));
        levels.collect()
    }

    /// Returns jobs for the facts that are due, and for user names. `mounts` are given if the lists of cgroups there
    /// contain the pids of this tree.
    pub(crate) fn facts_jobs(&mut self, now: Duration, mounts: Option<&Arc<Mounts>>) -> Vec<Job> {
        let turns = self.turns(now, mounts.is_some());
        let (mut jobs, mut links, mut single) = (Vec::new(), Vec::new(), Vec::new());
        // The processes of each cgroup to compare with its list, and the number of their threads.
        let mut cgroups: HashMap<Arc<[u8]>, (u64, Vec<u32>)> = HashMap::new();
        // If readers are stuck, at most two checks of all processes are queued.
        let checks_links = self.link_jobs <= self.entries.len() / EXE_LINKS_BATCH * 2 + 1;
        for pid in &turns.pids {
            let checks_link = checks_links && self.is_link_turn(*pid);
            let wants = self.wants(*pid, &turns);
            let Some(process) = process_mut(&mut self.entries, *pid) else {
                continue;
            };
            let before = jobs.len() + single.len();
            jobs.extend(process.line_job(now));
            match process.facts.facts.cgroup.as_ref() {
                Ok(path) if wants.by_list && !process.facts.is_dirty => {
                    let (threads, members) = cgroups.entry(Arc::clone(path)).or_default();
                    *threads += process.stat.threads;
                    members.push(*pid);
                    let own = Wants { cgroup: false, ..wants };
                    single.extend(process.facts_request(now, own));
                }
                _ => single.extend(process.facts_request(now, wants)),
            }
            let exe = process.facts.exe;
            if checks_link && !process.stat.is_zombie() && exe.is_read && !exe.is_pending {
                if exe.is_marked {
                    jobs.extend(process.exe_job());
                } else {
                    links.push((process.reference(), exe.digest));
                }
            }
            if jobs.len() + single.len() > before {
                self.touch(*pid);
            }
        }
        if turns.lists {
            self.threads = cgroups
                .iter()
                .map(|(path, (threads, _))| (Arc::clone(path), *threads))
                .collect();
        }
        for (path, (_, pids)) in cgroups {
            let threads = self.threads.get(&path).copied();
            match mounts {
                Some(mounts) if threads.is_some_and(|n| is_worth_listing(mounts, &path, n, pids.len())) => {
                    jobs.push(strays_job(pids, Arc::clone(mounts), path));
                }
                _ => single.extend(pids.iter().filter_map(|pid| self.cgroup_request(*pid, now))),
            }
        }
        let batch = if self.is_procfs { BATCH } else { 1 };
        jobs.extend(batches(single.into_iter(), batch).map(facts_job));
        let before = jobs.len();
        jobs.extend(batches(links.into_iter(), EXE_LINKS_BATCH).map(links_job));
        self.link_jobs += jobs.len() - before;
        let processes = self.entries.values().filter_map(|e| e.process.as_deref());
        let users = |p: &Process| {
            [
                p.facts.facts.uid.ok(),
                p.facts.starter.as_ref().map(|starter| starter.uid),
            ]
        };
        let in_use = || processes.flat_map(users).flatten().collect();
        jobs.extend(self.users.renew(now, in_use).into_iter().map(user_job));
        jobs.extend(self.containers.lookups(now).into_iter().map(containers_job));
        jobs
    }

    /// Returns the reads that are due. If the clocks are known, only processes that changed, are new, ran or are in focus are
    /// checked. All are checked when the lists are read.
    fn turns(&mut self, now: Duration, can_list: bool) -> Turns {
        self.rotation.advance(now);
        let lists = self.rotation.is_due(0, list_period(self.entries.len()));
        let focus = now.saturating_sub(self.focus_looked_at) >= FOCUS_PERIOD;
        if focus {
            self.focus_looked_at = now;
        }
        let pids = if lists || !self.has_clocks || !can_list {
            self.pids()
        } else {
            let mut pids = self.buffers.touched.clone();
            // Events after the last requests may require a read: a walk that shows an exec, or a failed read to
            // repeat.
            pids.extend_from_slice(&self.buffers.touched_before);
            pids.extend(self.glances.recent.keys());
            pids.extend_from_slice(&self.glances.ran);
            pids.extend_from_slice(&self.glances.links);
            pids.extend(self.focus.iter().map(|id| id.pid));
            pids.sort_unstable();
            pids.dedup();
            pids
        };
        self.glances.ran.sort_unstable();
        self.glances.links.sort_unstable();
        Turns {
            can_list,
            lists,
            focus,
            pids,
        }
    }

    fn is_link_turn(&self, pid: u32) -> bool {
        if self.has_clocks {
            self.glances.links.binary_search(&pid).is_ok()
        } else {
            self.rotation.is_due(pid.into(), self.exe_check_interval)
        }
    }

    fn wants(&self, pid: u32, turns: &Turns) -> Wants {
        let Some(entry) = self.entries.get(&pid) else {
            return Wants::default();
        };
        // A zombie's facts do not change.
        let Some(process) = entry.process.as_deref().filter(|p| !p.stat.is_zombie()) else {
            return Wants::default();
        };
        let is_near = process.facts.is_near || process.facts.born.is_some_and(|born| self.rotation.is_young(born));
        let can_list = turns.can_list;
        let turn = self.rotation.is_due(pid.into(), PERIOD);
        let own = if self.has_clocks {
            self.glances.ran.binary_search(&pid).is_ok()
        } else {
            turn
        };
        let cgroup = if self.has_clocks && can_list { turns.lists } else { turn };
        let in_focus = turns.focus && self.focus.contains(&process.id);
        // Its clock was read in this tick.
        let has_run = !self.has_clocks || process.facts.ran != entry.clock;
        Wants {
            own: (is_near || own || (in_focus && has_run)) && !process.stat.is_kernel_thread(),
            cgroup: is_near || cgroup || in_focus,
            by_list: can_list && !is_near && (cgroup || in_focus),
        }
    }

    pub(super) fn cgroup_request(&mut self, pid: u32, now: Duration) -> Option<FactsRequest> {
        let wants = Wants {
            cgroup: true,
            ..Wants::default()
        };
        let request = process_mut(&mut self.entries, pid)?.facts_request(now, wants)?;
        self.touch(pid);
        Some(request)
    }
}

fn facts_job(of: Vec<FactsRequest>) -> Job {
    let full = of.iter().filter(|r| r.is_full).count();
    job(
        JobKey::Facts(of[0].process.serial),
        (15 * full + of.len()) as u64,
        |context, reader| {
            let read = |request| facts::read_facts(request, context, reader.buf);
            of.into_iter().map(read).collect::<Vec<_>>()
        },
        |scanner, results| {
            for result in results {
                scanner.table.set_facts(result, scanner.now, &mut scanner.jobs);
            }
        },
    )
}

/// Returns the job to read the cgroups of those processes that are missing from the list of their former cgroup.
fn strays_job(pids: Vec<u32>, mounts: Arc<Mounts>, path: Arc<[u8]>) -> Job {
    job(
        JobKey::Members(pids[0]),
        pids.len() as u64,
        move |_, reader| facts::strays(&pids, &mounts, &path, reader.buf),
        |scanner, strays| {
            for pid in strays {
                let request = scanner.table.cgroup_request(pid, scanner.now);
                scanner.jobs.extend(request.map(|request| facts_job(vec![request])));
            }
        },
    )
}

/// Returns the job to check whether these links have changed.
fn links_job(links: Vec<(ProcessRef, u64)>) -> Job {
    job(
        JobKey::ExeLinks(links[0].0.serial),
        2 * links.len() as u64,
        |context, reader| facts::changed_links(links, &context.roots.proc, reader.buf),
        |scanner, changed| {
            let table = &mut scanner.table;
            table.link_jobs = table.link_jobs.saturating_sub(1);
            for process in changed {
                scanner.jobs.extend(table.process(&process).and_then(Process::exe_job));
            }
        },
    )
}

fn user_job(uid: u32) -> Job {
    job(
        JobKey::User(uid),
        50,
        move |context, _| Ok(accounts::account(uid, &context.roots)),
        move |scanner, account| {
            if scanner.table.users.set(uid, account.clone(), scanner.now) {
                scanner.table.set_user(uid, &account);
            }
        },
    )
}

fn containers_job(mut lookup: Lookup) -> Job {
    job(
        JobKey::Containers(lookup.owner),
        20 * lookup.wanted.len() as u64 + 100,
        |context, reader| {
            let found = Tree::open(&context.roots, lookup.owner)
                .map(|tree| lookup.finder.find(&tree, &lookup.wanted, reader.progress));
            (lookup, found)
        },
        |scanner, (lookup, found)| {
            let (table, now) = (&mut scanner.table, scanner.now);
            let changed = table.containers.found(lookup, found, now);
            table.set_containers(&changed);
            // Those that became known meanwhile.
            scanner
                .jobs
                .extend(table.containers.lookups(now).into_iter().map(containers_job));
        },
    )
}

impl Table {
    fn set_facts(&mut self, result: FactsResult, now: Duration, jobs: &mut Vec<Job>) {
        let process = result.process;
        let owner = result.uid.map(|uid| {
            let account = uid.and_then(|uid| {
                let (account, is_new) = self.users.account(uid);
                jobs.extend(is_new.then(|| user_job(uid)));
                account
            });
            (uid, account)
        });
        let starter = result.starter.map(|(effective, uid)| {
            let (account, is_new) = self.users.account(uid);
            jobs.extend(is_new.then(|| user_job(uid)));
            let unnamed = || Account {
                name: uid.to_string().into_bytes().into(),
                owner: None,
            };
            let owner = account.unwrap_or_else(|_| unnamed()).as_owner(uid);
            Starter { uid, owner, effective }
        });
        let (mut cgroup, mut exe) = (result.cgroup, result.exe);
        if let Some(Ok(found)) = &mut cgroup {
            self.paths.keep(&mut found.path);
        }
        if let Some(Ok(found)) = &mut exe {
            self.paths.keep(&mut found.path);
        }
        let place = cgroup.as_mut().and_then(|found| found.as_mut().ok()?.container.take());
        let container = place.map(|place| self.containers.at(place, now));
        if container.as_ref().is_some_and(|container| container.is_pending()) {
            jobs.extend(self.containers.lookups(now).into_iter().map(containers_job));
        }
        let Some(known) = self.process(&process) else { return };
        known.facts.pending = None;
        if known.exec != process.exec {
            return;
        }
        known.facts.ran = result.ran;
        known.facts.reread_timed_out(owner.is_none(), cgroup.is_none());
        if result.is_full {
            known.facts.starter = starter;
        }
        if let Some((uid, account)) = owner {
            known.facts.set_user(uid, account);
            known.facts.line.is_dirty = true;
            jobs.extend(known.line_job(now));
        }
        if let Some(cgroup) = cgroup {
            known.facts.set_cgroup(cgroup, container);
        }
        if let Some(exe) = exe {
            known.facts.set_exe(exe, &known.stat);
            if known.facts.exe.is_marked {
                jobs.extend(known.exe_job());
            }
        }
        self.share_facts(process.pid);
    }

    /// Stores containers whose names have changed in the facts of their processes.
    pub(super) fn set_containers(&mut self, changed: &[Arc<Container>]) {
        if changed.is_empty() {
            return;
        }
        let changed: HashMap<&[u8], _> = changed.iter().map(|container| (&*container.id, container)).collect();
        for (pid, entry) in &mut self.entries {
            let Some(process) = entry.process.as_deref_mut() else {
                continue;
            };
            let own = process.facts.facts.container.as_ref();
            let Some(news) = own.and_then(|own| changed.get(&*own.id)) else {
                continue;
            };
            Arc::make_mut(&mut process.facts.facts).container = Some(Arc::clone(news));
            self.shared_facts.share(&mut process.facts.facts);
            entry.touch(*pid, &mut self.buffers.touched);
        }
    }

    pub(super) fn set_user(&mut self, uid: u32, account: &Reading<Account>) {
        for (pid, entry) in &mut self.entries {
            let process = entry.process.as_deref_mut();
            if process.is_some_and(|p| p.facts.set_account(uid, account)) {
                entry.touch(*pid, &mut self.buffers.touched);
            }
        }
    }
}

/// Returns true if one read of a list with this number of threads costs less than `reads` single reads. In the root
/// of version 1, the list says nothing about the other hierarchies, which then determine the cgroup and the unit.
fn is_worth_listing(mounts: &Mounts, path: &[u8], threads: u64, reads: usize) -> bool {
    let says_all = mounts.version == Version::V2 || path != b"/";
    says_all && threads + LINES_PER_READ < reads as u64 * LINES_PER_READ
}

impl Process {
    /// Returns the request to read the wanted facts, or all facts if they may have changed. A pending request is not
    /// repeated.
    fn facts_request(&mut self, now: Duration, wants: Wants) -> Option<FactsRequest> {
        let is_due = wants.own || wants.cgroup;
        if self.facts.pending.is_some() {
            // Its turn comes as soon as the pending read has returned.
            self.facts.is_near |= is_due;
            return None;
        }
        self.facts.is_near = false;
        let is_full = std::mem::take(&mut self.facts.is_dirty);
        if !is_full && !is_due {
            return None;
        }
        self.facts.pending = Some(now);
        Some(FactsRequest {
            is_full,
            reads_own: wants.own,
            ran: self.facts.ran,
            reads_cgroup: wants.cgroup,
            process: self.reference(),
        })
    }

    /// Returns the job to read its command line, if that may have changed and is not being read. The command line lies
    /// in the process's memory, so that reading it may block.
    fn line_job(&mut self, now: Duration) -> Option<Job> {
        let line = &mut self.facts.line;
        // A zombie has no command line any more.
        let is_over = self.stat.is_zombie() && self.facts.facts.cmdline.is_ok();
        if is_over || !line.is_dirty || line.pending.is_some() {
            return None;
        }
        (line.is_dirty, line.pending) = (false, Some(now));
        let process = self.reference();
        Some(job(
            JobKey::Cmdline(self.serial),
            8,
            |context, reader| {
                let share = context.shares.begin(&process.target, &context.roots);
                let line = share.map(|_share| {
                    let line = facts::read(&process, &context.roots.proc, b"cmdline", reader.buf);
                    line.map(pid::cmdline)
                });
                (process, line)
            },
            |scanner, (process, line)| {
                if let Some(known) = scanner.table.process(&process) {
                    known.facts.line.pending = None;
                    match line {
                        Some(line) if known.exec == process.exec => known.facts.set_cmdline(line),
                        Some(_) => {}
                        None => known.facts.line.is_dirty = true,
                    }
                }
                scanner.table.share_facts(process.pid);
            },
        ))
    }

    /// Returns the job to look up its executable, which may block; `None` if another one is outstanding.
    fn exe_job(&mut self) -> Option<Job> {
        if std::mem::replace(&mut self.facts.exe.is_pending, true) {
            return None;
        }
        let process = self.reference();
        Some(job(
            JobKey::Exe(self.serial),
            50,
            |context, reader| {
                let exe = facts::look_up_exe(&process, context, reader.buf);
                (process, exe)
            },
            |scanner, (process, mut exe)| {
                if let Ok(found) = &mut exe {
                    scanner.table.paths.keep(&mut found.path);
                }
                if let Some(known) = scanner.table.process(&process) {
                    known.facts.exe.is_pending = false;
                    if known.exec == process.exec {
                        known.facts.set_exe(exe, &known.stat);
                    }
                }
                scanner.table.share_facts(process.pid);
            },
        ))
    }
}

pub(super) struct SharedFacts {
    recent: [Option<Arc<Facts>>; Self::SLOTS],
    hasher: RandomState,
}

impl Default for SharedFacts {
    fn default() -> Self {
        Self {
            recent: [const { None }; Self::SLOTS],
            hasher: RandomState::new(),
        }
    }
}

impl SharedFacts {
    /// More than the number of kinds of workers started at the same time.
    const SLOTS: usize = 64;

    /// Replaces `facts` with equal ones stored recently, if there are any.
    pub(super) fn share(&mut self, facts: &mut Arc<Facts>) {
        let slot = self.hasher.hash_one(&**facts) as usize % Self::SLOTS;
        match &mut self.recent[slot] {
            Some(known) if *known == *facts => *facts = Arc::clone(known),
            other => *other = Some(Arc::clone(facts)),
        }
    }
}

impl Table {
    /// Shares the facts of a process, which may have changed, with processes that have equal ones.
    pub(super) fn share_facts(&mut self, pid: u32) {
        if let Some(process) = process_mut(&mut self.entries, pid) {
            self.shared_facts.share(&mut process.facts.facts);
        }
    }
}

/// The paths in use, and at most about as many unused ones.
#[derive(Default)]
pub(in crate::sampler::scanner) struct SharedPaths {
    all: HashSet<Arc<[u8]>>,
    /// The number of paths at which unused ones are dropped.
    limit: usize,
}

impl SharedPaths {
    /// Minimum number of paths at which unused ones are searched for.
    const LEAST: usize = 64;

    /// Replaces `path` with an equal one that is in use, if there is any.
    pub(in crate::sampler::scanner) fn keep(&mut self, path: &mut Arc<[u8]>) {
        if let Some(known) = self.all.get(path) {
            *path = Arc::clone(known);
            return;
        }
        if self.all.len() >= self.limit {
            self.all.retain(|path| Arc::strong_count(path) > 1);
            self.limit = self.all.len() * 2 + Self::LEAST;
        }
        self.all.insert(Arc::clone(path));
    }
}
