//! Asks for the facts of those processes whose turn it is.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::process::Process;
use super::{Table, batches};
use crate::model::Identity;
use crate::proc::cgroup::mounts::{Mounts, Version};
use crate::sampler::job::{CgroupList, FactsRequest, Job};
use crate::sampler::rotation::{FOCUS_PERIOD, PERIOD, list_period};

/// Links to programs' files read in one job, at some 2 µs each.
const EXE_LINKS_BATCH: usize = 64;
/// Processes looked at in one job, at some 15 µs each at first.
const BATCH: usize = 16;
/// Lines of the list of a cgroup that cost as much as to read where a process is.
const LINES_PER_READ: u64 = 15;

/// The ways to look at processes in a tick.
pub(in crate::sampler) struct LookOptions<'a> {
    pub(in crate::sampler) now: Duration,
    pub(in crate::sampler) focus: &'a HashSet<Identity>,
    /// Processes were asked for their CPU time, so that it is known which ran.
    pub(in crate::sampler) has_clocks: bool,
    /// Time between two checks of a link to a program's file, where no clock gives the turns.
    pub(in crate::sampler) exe_check_interval: Duration,
    /// Nothing but the command line can keep a reader waiting.
    pub(in crate::sampler) is_procfs: bool,
    /// The places of cgroups' lists, where those name the processes of this tree.
    pub(in crate::sampler) mounts: Option<Arc<Mounts>>,
}

/// The turns that have come in this tick.
struct Turns {
    /// The turn of the lists of all cgroups.
    lists: bool,
    /// The turn of all rows in focus.
    focus: bool,
    /// The processes to go through, in order.
    pids: Vec<u32>,
}

/// The facts of a process to look at.
#[derive(Clone, Copy, Default)]
struct Wants {
    /// All that it can change itself.
    own: bool,
    /// The cgroup that it is in.
    place: bool,
    /// The list of the cgroup it was in may tell that.
    by_list: bool,
}

/// The processes of one cgroup that its list is to be compared with.
#[derive(Default)]
struct Members {
    threads: u64,
    pids: Vec<u32>,
}

impl Table {
    /// Returns the cgroups of all processes, as far as they are known; those of neighbours once.
    pub(in crate::sampler) fn cgroups(&self) -> impl Iterator<Item = &Arc<[u8]>> {
        let mut last = None;
        let processes = self.entries.values().filter_map(|e| e.process.as_deref());
        let all = processes.filter_map(|p| p.facts.facts.cgroup.as_ref().ok());
        all.filter(move |path| last.replace(*path) != Some(*path))
    }

    /// Returns jobs for the facts that are to be read, and the names of users.
    pub(in crate::sampler) fn facts_jobs(&mut self, options: &LookOptions<'_>) -> Vec<Job> {
        let now = options.now;
        let turns = self.turns(options);
        let (mut jobs, mut links, mut single) = (Vec::new(), Vec::new(), Vec::new());
        let mut cgroups: HashMap<Arc<[u8]>, Members> = HashMap::new();
        // Where readers are stuck, no more wait than two checks of all.
        let checks_links = self.link_jobs <= self.entries.len() / EXE_LINKS_BATCH * 2 + 1;
        for pid in &turns.pids {
            let checks_link = checks_links && self.is_link_turn(*pid, options);
            let wants = self.wants(*pid, &turns, options);
            let Some(process) = self.entries.get_mut(pid).and_then(|e| e.process.as_deref_mut()) else {
                continue;
            };
            let before = jobs.len() + single.len();
            jobs.extend(process.line_job(now));
            match process.facts.facts.cgroup.as_ref() {
                Ok(path) if wants.by_list && !process.facts.is_dirty() => {
                    let members = cgroups.entry(Arc::clone(path)).or_default();
                    members.threads += process.stat.threads;
                    members.pids.push(*pid);
                    let own = Wants { place: false, ..wants };
                    single.extend(process.facts_request(now, own));
                }
                _ => single.extend(process.facts_request(now, wants)),
            }
            match checks_link.then(|| process.exe_check()).flatten() {
                Some(Ok(link)) => links.push(link),
                Some(Err(job)) => jobs.push(job),
                None => {}
            }
            if jobs.len() + single.len() > before {
                self.touch(*pid);
            }
        }
        if turns.lists {
            self.threads = cgroups
                .iter()
                .map(|(path, members)| (Arc::clone(path), members.threads))
                .collect();
        }
        for (path, members) in cgroups {
            let threads = self.threads.get(&path).copied();
            match &options.mounts {
                Some(mounts) if threads.is_some_and(|n| is_worth_listing(mounts, &path, n, members.pids.len())) => {
                    jobs.push(Job::Members {
                        pids: members.pids,
                        list: CgroupList {
                            mounts: Arc::clone(mounts),
                            path,
                        },
                    });
                }
                _ => single.extend(members.pids.iter().filter_map(|pid| self.place_request(*pid, now))),
            }
        }
        let batch = if options.is_procfs { BATCH } else { 1 };
        jobs.extend(batches(single.into_iter(), batch).map(Job::Facts));
        let before = jobs.len();
        jobs.extend(batches(links.into_iter(), EXE_LINKS_BATCH).map(Job::ExeLinks));
        self.link_jobs += jobs.len() - before;
        let processes = self.entries.values().filter_map(|e| e.process.as_deref());
        let in_use = || processes.filter_map(|p| p.facts.facts.uid.ok()).collect();
        jobs.extend(self.users.renew(now, in_use).into_iter().map(Job::User));
        jobs
    }

    /// Returns the turns that have come. Where the clocks are known, only those processes are gone through that changed,
    /// are new, ran or are in focus; all of them when the lists are read.
    fn turns(&mut self, options: &LookOptions<'_>) -> Turns {
        self.rotation.advance(options.now);
        let lists = self.rotation.is_due(0, list_period(self.entries.len()));
        let focus = options.now.saturating_sub(self.focus_looked_at) >= FOCUS_PERIOD;
        if focus {
            self.focus_looked_at = options.now;
        }
        let pids = if lists || !options.has_clocks || options.mounts.is_none() {
            self.pids()
        } else {
            let mut pids = self.buffers.touched.clone();
            // What came after the last looks may ask for one: a walk that shows an exec, a read to be repeated.
            pids.extend_from_slice(&self.buffers.touched_before);
            pids.extend(self.glances.recent());
            pids.extend_from_slice(&self.glances.ran);
            pids.extend_from_slice(&self.glances.links);
            pids.extend(options.focus.iter().map(|id| id.pid));
            pids.sort_unstable();
            pids.dedup();
            pids
        };
        self.glances.ran.sort_unstable();
        self.glances.links.sort_unstable();
        Turns { lists, focus, pids }
    }

    fn is_link_turn(&self, pid: u32, options: &LookOptions<'_>) -> bool {
        if options.has_clocks {
            self.glances.links.binary_search(&pid).is_ok()
        } else {
            self.rotation.is_due(pid.into(), options.exe_check_interval)
        }
    }

    fn wants(&self, pid: u32, turns: &Turns, options: &LookOptions<'_>) -> Wants {
        let Some(entry) = self.entries.get(&pid) else {
            return Wants::default();
        };
        // What has ended is where it was, and what it was.
        let Some(process) = entry.process.as_deref().filter(|p| !p.stat.is_zombie()) else {
            return Wants::default();
        };
        let is_near = process.facts.is_near || process.facts.born.is_some_and(|born| self.rotation.is_young(born));
        let can_list = options.mounts.is_some();
        let turn = self.rotation.is_due(pid.into(), PERIOD);
        let own = if options.has_clocks {
            self.glances.ran.binary_search(&pid).is_ok()
        } else {
            turn
        };
        let place = if options.has_clocks && can_list {
            turns.lists
        } else {
            turn
        };
        let in_focus = turns.focus && options.focus.contains(&process.id);
        // Its clock was read in this tick.
        let has_run = !options.has_clocks || process.facts.ran != entry.clock;
        Wants {
            own: (is_near || own || (in_focus && has_run)) && !process.stat.is_kernel_thread(),
            place: is_near || place || in_focus,
            by_list: can_list && !is_near && (place || in_focus),
        }
    }

    /// Returns the request to read the cgroup of a process.
    pub(super) fn place_request(&mut self, pid: u32, now: Duration) -> Option<FactsRequest> {
        let process = self.entries.get_mut(&pid)?.process.as_deref_mut()?;
        let request = process.facts_request(
            now,
            Wants {
                place: true,
                ..Wants::default()
            },
        );
        if request.is_some() {
            self.touch(pid);
        }
        request
    }
}

/// Returns true if one read of the list, of so many threads, costs less than so many `reads`. In the root of version 1
/// the list says nothing of the other hierarchies, of which the cgroup and the unit are then taken.
fn is_worth_listing(mounts: &Mounts, path: &[u8], threads: u64, reads: usize) -> bool {
    let says_all = mounts.version == Version::V2 || path != b"/";
    says_all && threads + LINES_PER_READ < reads as u64 * LINES_PER_READ
}

impl Process {
    /// Returns the request to look at what is wanted, or at everything where that may have changed. One that is pending is
    /// not asked for again.
    fn facts_request(&mut self, now: Duration, wants: Wants) -> Option<FactsRequest> {
        let is_due = wants.own || wants.place;
        if self.facts.is_pending() {
            // Its turn comes as soon as the last has been answered.
            self.facts.is_near |= is_due;
            return None;
        }
        self.facts.is_near = false;
        let is_full = self.facts.take_dirty();
        if !is_full && !is_due {
            return None;
        }
        self.facts.start_read(now);
        Some(FactsRequest {
            is_full,
            reads_own: wants.own,
            ran: self.facts.ran,
            reads_cgroup: wants.place,
            process: self.reference(self.facts.version),
        })
    }

    /// Returns the job to read its command line, where it may have changed and is not being read.
    pub(super) fn line_job(&mut self, now: Duration) -> Option<Job> {
        // One that has ended has none any more.
        let is_over = self.stat.is_zombie() && self.facts.facts.cmdline.is_ok();
        (!is_over && self.facts.start_line(now)).then(|| Job::Cmdline(self.reference(self.facts.version)))
    }
}
