//! Chooses the processes to glance at in a tick, as [`activity`] says.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use super::process::Process;
use super::{Table, batches};
use crate::model::Identity;
use crate::proc::clock;
use crate::proc::system::PageEvents;
use crate::sampler::activity::{FOCUS_GLANCE, Pace, RECENT, Round, Unexplained};
use crate::sampler::job::Job;
use crate::sampler::rotation::part;

/// The ways to glance at processes in a tick.
pub(in crate::sampler) struct GlanceOptions<'a> {
    pub(in crate::sampler) now: Duration,
    pub(in crate::sampler) focus: &'a HashSet<Identity>,
    pub(in crate::sampler) oom_score: bool,
    /// Glances in one job: those behind one that never returns wait with it.
    pub(in crate::sampler) batch: usize,
    /// Processes can be asked for their CPU time. Otherwise all are glanced at.
    pub(in crate::sampler) has_clocks: bool,
    /// The machine's, as last read.
    pub(in crate::sampler) page_events: PageEvents,
    /// The tasks of the machine, where that is known.
    pub(in crate::sampler) tasks: Option<u64>,
    pub(in crate::sampler) pace: Pace,
}

/// The processes that are to be glanced at.
#[derive(Default)]
pub(super) struct Glances {
    round: Round,
    unexplained: Unexplained,
    /// The faults of all processes as last glanced at; it wraps around.
    shown: u64,
    /// Their threads, and of these the threads of processes found gone in this tick.
    threads: u64,
    gone: u64,
    /// The processes asked in every tick, and until when: only their files are held open.
    recent: BTreeMap<u32, Duration>,
    /// The processes glanced at in the next tick, whatever their clock says: new ones, and pids that may be another's by now.
    pub(super) unseen: Vec<u32>,
    /// The processes of which a glance was asked for since the last snapshot.
    pub(super) asked: Vec<u32>,
    /// The processes that ended, of which the children have another parent.
    pub(super) ended: Vec<u32>,
    /// The processes whose turn came in this tick and that ran since their last one: their own facts may have changed.
    pub(super) ran: Vec<u32>,
    /// The processes whose link to the program's file is to be checked in this tick.
    pub(super) links: Vec<u32>,
}

impl Glances {
    /// Notes that a process has changed, so that it probably goes on to.
    pub(super) fn set_recent(&mut self, pid: u32, now: Duration) {
        self.recent.insert(pid, now + RECENT);
    }

    /// Notes that a process had faults, and has more, or ended.
    pub(super) const fn set_faults(&mut self, before: u64, after: u64) {
        self.shown = self.shown.wrapping_sub(before).wrapping_add(after);
    }

    /// Notes that a process had threads, and has more, or ended.
    pub(super) const fn set_threads(&mut self, before: u32, after: u32) {
        self.threads = self.threads.wrapping_sub(before as u64).wrapping_add(after as u64);
    }

    /// Returns those asked in every tick.
    pub(super) fn recent(&self) -> impl Iterator<Item = u32> {
        self.recent.keys().copied()
    }
}

impl Table {
    /// Returns how many processes are listed.
    pub(in crate::sampler) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns jobs to glance at those processes that may have changed. A glance that has not returned is not repeated.
    pub(in crate::sampler) fn glance_jobs(&mut self, options: &GlanceOptions<'_>) -> Vec<Job> {
        let mut wanted = std::mem::take(&mut self.glances.unseen);
        self.glances.ran.clear();
        self.glances.links.clear();
        if options.has_clocks {
            self.start_turns(&wanted, options.now);
            self.add_orphans(&mut wanted);
            self.ask_recent(options, &mut wanted);
            self.ask_round(options, &mut wanted);
        } else {
            self.glances = Glances::default();
        }
        if options.pace.all || !options.has_clocks {
            wanted = self.pids();
        }
        wanted.sort_unstable();
        wanted.dedup();
        let (entries, swap_use) = (&mut self.entries, self.swap_use);
        let Glances { recent, asked, .. } = &mut self.glances;
        let requests = wanted.iter().filter_map(|pid| {
            let entry = entries.get_mut(pid)?;
            if std::mem::replace(&mut entry.is_glancing, true) {
                return None;
            }
            asked.push(*pid);
            entry.glanced_at = options.now;
            let holds = !options.has_clocks || recent.contains_key(pid);
            Some(Process::glance_request(
                *pid,
                entry.serial,
                entry.process.as_deref(),
                swap_use,
                holds,
            ))
        });
        let jobs = batches(requests, options.batch).map(|of| Job::Glances {
            of,
            oom_score: options.oom_score,
        });
        jobs.collect()
    }

    /// Asks new processes for the first time.
    fn start_turns(&mut self, pids: &[u32], now: Duration) {
        // What was there before zmtop is let go at different times, so that nothing is done for all at once.
        let is_initial = self.list <= 1;
        self.glances.round.reserve(pids.len());
        for pid in pids {
            let Some(entry) = self.entries.get_mut(pid) else {
                continue;
            };
            let until = if is_initial {
                RECENT.mul_f64(part(u64::from(*pid)))
            } else {
                RECENT
            };
            self.glances.recent.insert(*pid, now + until);
            // A pid that may be another's has its turns already.
            if entry.clock.is_none() {
                entry.clock = clock::process_time(*pid);
                self.glances.round.add(*pid, entry.serial, entry.clock, now);
            }
        }
    }

    /// Adds the children of those that ended: they have another parent, without having done anything.
    fn add_orphans(&mut self, wanted: &mut Vec<u32>) {
        let mut ended = std::mem::take(&mut self.glances.ended);
        if ended.is_empty() {
            return;
        }
        ended.sort_unstable();
        let orphans = self
            .entries
            .iter()
            .filter(|(_, e)| ended.binary_search(&e.ppid).is_ok());
        wanted.extend(orphans.map(|(pid, _)| *pid));
    }

    /// Asks those in focus, and those that changed of late; lets go of the files of those that do no more.
    fn ask_recent(&mut self, options: &GlanceOptions<'_>, wanted: &mut Vec<u32>) {
        let now = options.now;
        let mut recent = std::mem::take(&mut self.glances.recent);
        self.glances.gone = 0;
        for id in options.focus {
            let entry = self.entries.get(&id.pid);
            let Some(entry) = entry.filter(|e| e.process.as_deref().is_some_and(|p| p.id == *id)) else {
                continue;
            };
            let until = recent.entry(id.pid).or_insert(now);
            *until = now.max(*until);
            if now.saturating_sub(entry.glanced_at) >= FOCUS_GLANCE {
                wanted.push(id.pid);
            }
        }
        recent.retain(|pid, until| {
            let Some(entry) = self.entries.get_mut(pid) else {
                return false;
            };
            if *until < now {
                entry.process.as_deref_mut().into_iter().for_each(Process::close_files);
                return false;
            }
            let clock = clock::process_time(*pid);
            self.glances.gone += if clock.is_none() { u64::from(entry.threads) } else { 0 };
            if clock.is_none() || clock != entry.clock || entry.fault.is_some() || entry.process.is_none() {
                wanted.push(*pid);
            }
            entry.clock = clock;
            true
        });
        self.glances.recent = recent;
    }

    /// Asks those whose turn has come.
    fn ask_round(&mut self, options: &GlanceOptions<'_>, wanted: &mut Vec<u32>) {
        let (entries, glances) = (&self.entries, &mut self.glances);
        let (events, shown, mut pace) = (options.page_events, glances.shown, options.pace);
        let seeks = events
            .faults
            .is_some_and(|counted| glances.unexplained.seeks(options.now, counted, shown));
        let seeks_ended = options.tasks.is_some_and(|tasks| {
            let threads = glances.threads.wrapping_sub(glances.gone);
            glances.unexplained.seeks_ended(options.now, threads, tasks)
        });
        pace.all |= seeks || seeks_ended;
        pace.has_taken = events.faults.is_some() && glances.unexplained.has_taken(events.taken);
        let (ran, links) = (&mut glances.ran, &mut glances.links);
        let round = &mut glances.round;
        round.advance(options.now, &pace, clock::process_time, |due| {
            if entries.get(&due.pid).is_none_or(|e| e.serial != due.serial) {
                return false;
            }
            wanted.extend(due.glances.then_some(due.pid));
            ran.extend(due.has_run.then_some(due.pid));
            links.extend(due.checks_link.then_some(due.pid));
            true
        });
    }
}
