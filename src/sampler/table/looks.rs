//! Asks for the facts of those processes whose turn it is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::process::Process;
use super::{Table, batches};
use crate::model::Identity;
use crate::proc::cgroup::mounts::{Mounts, Version};
use crate::sampler::job::{CgroupList, FactsRequest, Job};
use crate::sampler::rotation::{FOCUS_PERIOD, PERIOD, Rotation};

/// Links to programs' files read in one job, at some 2 µs each.
const EXE_LINKS_BATCH: usize = 64;
/// Processes looked at in one job, at some 15 µs each at first.
const BATCH: usize = 16;
/// Lines of the list of a cgroup that cost as much as to read where a process is.
const LINES_PER_READ: u64 = 20;

/// The ways to look at processes in a tick.
pub(in crate::sampler) struct LookOptions<'a> {
    pub(in crate::sampler) now: Duration,
    pub(in crate::sampler) focus: &'a HashSet<Identity>,
    /// Time between two checks of a link to a program's file.
    pub(in crate::sampler) exe_check_interval: Duration,
    /// Nothing but the command line can keep a reader waiting.
    pub(in crate::sampler) is_procfs: bool,
    /// The places of cgroups' lists, where those name the processes of this tree.
    pub(in crate::sampler) mounts: Option<Arc<Mounts>>,
}

/// The processes of one cgroup.
#[derive(Default)]
struct Members {
    threads: u64,
    requests: Vec<FactsRequest>,
}

impl Table {
    /// Returns jobs for the facts that are to be read, and the names of users.
    pub(in crate::sampler) fn facts_jobs(&mut self, options: &LookOptions<'_>) -> Vec<Job> {
        let now = options.now;
        self.rotation.advance(now);
        let rotation = self.rotation;
        for id in options.focus {
            let known = self.entries.get_mut(&id.pid).and_then(|e| e.process.as_mut());
            if let Some(process) = known.filter(|p| p.id == *id) {
                process.facts.is_near |= rotation.is_due(id.pid.into(), FOCUS_PERIOD);
            }
        }
        let (mut jobs, mut links, mut single) = (Vec::new(), Vec::new(), Vec::new());
        let mut asked = Vec::new();
        let mut cgroups: HashMap<Arc<[u8]>, Members> = HashMap::new();
        // Where readers are stuck, no more wait than two checks of all.
        let checks_links = self.link_jobs <= self.entries.len() / EXE_LINKS_BATCH * 2 + 1;
        for process in self.processes() {
            let line = process.line_job(now);
            asked.extend(line.is_some().then_some(process.id.pid));
            jobs.extend(line);
            if checks_links {
                match process.exe_check(now, options.exe_check_interval) {
                    Some(Ok(link)) => links.push(link),
                    Some(Err(job)) => jobs.push(job),
                    None => {}
                }
            }
            let Some((request, is_listed)) = process.facts_request(now, &rotation, options.mounts.is_some()) else {
                continue;
            };
            asked.push(process.id.pid);
            match process.facts.facts.cgroup.as_ref() {
                Ok(path) if is_listed && options.mounts.is_some() => {
                    let members = cgroups.entry(Arc::clone(path)).or_default();
                    members.threads += process.stat.threads;
                    members.requests.push(request);
                }
                _ => single.push(request),
            }
        }
        asked.into_iter().for_each(|pid| self.touch(pid));
        for (path, members) in cgroups {
            match &options.mounts {
                Some(mounts) if is_worth_listing(mounts, &path, &members) => jobs.push(Job::Facts {
                    of: members.requests,
                    list: Some(CgroupList {
                        mounts: Arc::clone(mounts),
                        path,
                    }),
                }),
                _ => single.extend(members.requests),
            }
        }
        let batch = if options.is_procfs { BATCH } else { 1 };
        jobs.extend(batches(single.into_iter(), batch).map(|of| Job::Facts { of, list: None }));
        let before = jobs.len();
        jobs.extend(batches(links.into_iter(), EXE_LINKS_BATCH).map(Job::ExeLinks));
        self.link_jobs += jobs.len() - before;
        let processes = self.entries.values().filter_map(|e| e.process.as_ref());
        let in_use = || processes.filter_map(|p| p.facts.facts.uid.ok()).collect();
        jobs.extend(self.users.renew(now, in_use).into_iter().map(Job::User));
        jobs
    }
}

/// Returns true if one read of the list costs less than a read for each member. In the root of version 1 the list says
/// nothing of the other hierarchies, of which the cgroup and the unit are then taken.
fn is_worth_listing(mounts: &Mounts, path: &[u8], members: &Members) -> bool {
    let reads = members.requests.len() as u64;
    let says_all = mounts.version == Version::V2 || path != b"/";
    says_all && members.threads + LINES_PER_READ < reads * LINES_PER_READ
}

impl Process {
    /// Returns the request to look at it, where that is to be done, and true if the list of its cgroup may tell where
    /// it is, if any `can_list`. One that is pending is not asked for again.
    fn facts_request(&mut self, now: Duration, rotation: &Rotation, can_list: bool) -> Option<(FactsRequest, bool)> {
        // What has ended is where it was, and what it was.
        let is_alive = !self.stat.is_zombie();
        let is_near = std::mem::take(&mut self.facts.is_near);
        let is_near = is_alive && (is_near || self.facts.born.is_some_and(|born| rotation.is_young(born)));
        // All lists are read in one tick, so that the sums of cgroups are those of one moment.
        let place = if can_list { 0 } else { self.id.pid.into() };
        let reads_own = is_near || (is_alive && rotation.is_due(self.id.pid.into(), PERIOD));
        let is_turn = is_alive && rotation.is_due(place, PERIOD);
        let reads_own = reads_own && !self.stat.is_kernel_thread();
        let is_due = reads_own || is_near || is_turn;
        if self.facts.is_pending() {
            // Its turn comes as soon as the last has been answered.
            self.facts.is_near = is_due;
            return None;
        }
        let is_full = self.facts.take_dirty();
        if !is_full && !is_due {
            return None;
        }
        self.facts.start_read(now);
        let request = FactsRequest {
            is_full,
            reads_own,
            ran: self.facts.ran,
            reads_cgroup: is_near || is_turn,
            process: self.reference(self.facts.version),
        };
        Some((request, is_turn && !is_full))
    }

    /// Returns the job to read its command line, where it may have changed and is not being read.
    pub(super) fn line_job(&mut self, now: Duration) -> Option<Job> {
        // One that has ended has none any more.
        let is_over = self.stat.is_zombie() && self.facts.facts.cmdline.is_ok();
        (!is_over && self.facts.start_line(now)).then(|| Job::Cmdline(self.reference(self.facts.version)))
    }
}
