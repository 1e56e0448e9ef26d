//! Applies lists of processes to the table, and chooses the processes to glance at in a tick, as defined in
//! [`activity`](crate::sampler::policy::activity).

use std::collections::{BTreeMap, btree_map};
use std::sync::Arc;
use std::time::Duration;

use super::{Entry, Process, Table, batches};
use crate::model::{Missing, SystemSample, Walk};
use crate::proc::clock;
use crate::proc::pids::PidList;
use crate::proc::system::PageEvents;
use crate::sampler::policy::activity::{FOCUS_GLANCE, Pace, RECENT, Round, Unexplained};
use crate::sampler::policy::rotation::part;
use crate::sampler::reading::counters::KnownCounters;
use crate::sampler::reading::glance::{Extras, GlanceRequest, KnownPeak, glance};
use crate::sampler::scanner::job::{Job, JobKey, job};

/// Glances in one job, at some 4 µs each, if none of them can block. If one never returns, the rest of its job never
/// runs.
const BATCH: usize = 16;
/// The page tables of the large processes are read while those of the machine exceed one part in so many of its memory.
const MANY_TABLES: u64 = 100;
/// Minimum address space of a large process, in bytes. A page of page tables maps 512 pages, so that a smaller process has no
/// more than 1 MiB of them.
const LARGE_SPACE: u64 = 512 << 20;
/// The size of a page of page tables, in bytes.
const TABLE: u64 = 4096;
/// Time between two reads of the page tables of a large process, unless its faults may have added many; and maximum number of
/// such reads in a tick, at some 15 µs each.
const TABLES_INTERVAL: Duration = Duration::from_secs(30);
const MOST_TABLES: usize = 500;

/// The processes whose page tables are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TableReads {
    #[default]
    None,
    /// Processes with much address space, now and then.
    Large,
    /// All, with each glance.
    All,
}

#[derive(Default)]
pub(super) struct Glances {
    round: Round,
    unexplained: Unexplained,
    /// The faults of all processes as last glanced at. The sum wraps around.
    shown: u64,
    /// Their threads, and how many of these belong to processes found gone in this tick.
    threads: u64,
    gone: u64,
    /// The processes checked in every tick, and until when. Only their files are held open.
    pub(super) recent: BTreeMap<u32, Duration>,
    /// Processes to glance at in the next tick, whatever their clock says: new ones, and pids that may have been
    /// reused.
    pub(super) unseen: Vec<u32>,
    /// Processes for which a glance was requested since the last snapshot.
    pub(super) asked: Vec<u32>,
    /// Processes that ended, so that their children have another parent.
    pub(super) ended: Vec<u32>,
    /// Processes whose turn came in this tick and that ran since the one before, so that they may have changed their
    /// facts.
    pub(super) ran: Vec<u32>,
    /// Processes whose link to the executable must be checked in this tick.
    pub(super) links: Vec<u32>,
}

impl Glances {
    pub(super) fn set_recent(&mut self, pid: u32, now: Duration) {
        self.recent.insert(pid, now + RECENT);
    }

    /// Records the fault counts of a process before and after a glance; 0 after its end.
    pub(super) const fn set_faults(&mut self, before: u64, after: u64) {
        self.shown = self.shown.wrapping_sub(before).wrapping_add(after);
    }

    /// Records the thread counts of a process before and after a glance; 0 after its end.
    pub(super) const fn set_threads(&mut self, before: u32, after: u32) {
        self.threads = self.threads.wrapping_sub(before as u64).wrapping_add(after as u64);
    }
}

impl Table {
    /// Returns jobs to glance at the processes that may have changed. A glance that has not returned is not repeated.
    /// `events` and `tasks` are the machine's counts. If `all` is true, returns a job for each process.
    pub(crate) fn glance_jobs(&mut self, now: Duration, events: PageEvents, tasks: Option<u64>, all: bool) -> Vec<Job> {
        let mut wanted = std::mem::take(&mut self.glances.unseen);
        self.glances.ran.clear();
        self.glances.links.clear();
        if self.has_clocks {
            self.start_turns(&wanted, now);
            self.add_orphans(&mut wanted);
            self.check_recent(now, &mut wanted);
            self.check_round(now, events, tasks, all, &mut wanted);
        } else {
            self.glances = Glances::default();
        }
        if all || !self.has_clocks {
            wanted = self.pids();
        }
        let reads = self.reads_tables;
        if reads > TableReads::None {
            wanted.extend(self.lacking_tables(now));
        }
        wanted.sort_unstable();
        wanted.dedup();
        let entries = &mut self.entries;
        let Glances { recent, asked, .. } = &mut self.glances;
        let requests = wanted.iter().filter_map(|pid| {
            let entry = entries.get_mut(pid)?;
            if std::mem::replace(&mut entry.is_glancing, true) {
                return None;
            }
            asked.push(*pid);
            entry.glanced_at = now;
            let holds = !self.has_clocks || recent.contains_key(pid);
            let known = entry.process.as_deref();
            let walked = known.filter(|p| p.estimates.anchor.is_some() || p.is_denied());
            Some(GlanceRequest {
                pid: *pid,
                serial: entry.serial,
                target: known.map(|p| Arc::clone(&p.target)),
                comm: known.map_or(0, |p| p.comm),
                known: walked.map(|p| KnownCounters {
                    counters: p.estimates.counters,
                    swap_use: self.swap_use,
                    is_denied: p.is_denied(),
                }),
                holds,
                peak: known.and_then(|p| {
                    Some(KnownPeak {
                        bytes: p.peak.ok()?,
                        starttime: p.id.starttime,
                        stat: p.stat,
                    })
                }),
                page_tables: known.is_some_and(|p| p.lacks_tables(now, reads)),
            })
        });
        // Only a forged tree can block a glance.
        let batch = if self.is_procfs { BATCH } else { 1 };
        batches(requests, batch).map(|of| glance_job(of, self.extras)).collect()
    }

    /// Decides whose page tables are read from now on: those of every process, or of the large ones while the machine has many.
    pub(crate) fn choose_table_reads(&mut self, machine: &SystemSample) {
        // Not switched off and on by each small change.
        let share = if self.has_many_tables { 2 } else { 1 } * MANY_TABLES;
        self.has_many_tables = matches!((machine.page_tables, machine.mem_total),
            (Ok(tables), Ok(total)) if total > 0 && tables >= total / share);
        let reads = if self.extras.page_tables {
            TableReads::All
        } else if self.wants_tables || self.has_many_tables {
            TableReads::Large
        } else {
            TableReads::None
        };
        let before = std::mem::replace(&mut self.reads_tables, reads);
        if reads >= before {
            return;
        }
        // Figures that are no longer read would become wrong.
        for (pid, entry) in &mut self.entries {
            let Some(process) = &mut entry.process else { continue };
            process.page_tables = Err(Missing::Pending);
            entry.touch(*pid, &mut self.buffers.touched);
        }
    }

    /// Returns the processes whose page tables must be read: not too many at once.
    fn lacking_tables(&self, now: Duration) -> impl Iterator<Item = u32> {
        let lacks = move |entry: &Entry| {
            let process = entry.process.as_deref();
            process.is_some_and(|process| process.lacks_tables(now, self.reads_tables))
        };
        let pids = self
            .entries
            .iter()
            .filter(move |(_, entry)| lacks(entry))
            .map(|(pid, _)| *pid);
        pids.take(MOST_TABLES)
    }

    /// Reads the clocks of new processes for the first time.
    fn start_turns(&mut self, pids: &[u32], now: Duration) {
        // Processes older than zmtop are released at different times, to spread out the work.
        let is_initial = self.list <= 1;
        self.glances.round.reserve(pids.len());
        for pid in pids {
            let Some(entry) = self.entries.get_mut(pid) else {
                continue;
            };
            let share = if is_initial { part(u64::from(*pid)) } else { 1.0 };
            self.glances.recent.insert(*pid, now + RECENT.mul_f64(share));
            // A pid that may have been reused is in the round already.
            if entry.clock.is_none() {
                entry.clock = clock::process_time(*pid);
                self.glances.round.add(*pid, entry.serial, entry.clock, now);
            }
        }
    }

    /// Adds the children of ended processes. They have a new parent, although they did nothing themselves.
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

    /// Checks the processes in focus and those that changed recently. Closes the files of those that no longer
    /// change.
    fn check_recent(&mut self, now: Duration, wanted: &mut Vec<u32>) {
        let mut recent = std::mem::take(&mut self.glances.recent);
        self.glances.gone = 0;
        for id in &self.focus {
            let entry = self.entries.get(&id.pid);
            let Some(entry) = entry.filter(|e| e.process.as_ref().is_some_and(|p| p.id == *id)) else {
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

    fn check_round(&mut self, now: Duration, events: PageEvents, tasks: Option<u64>, all: bool, wanted: &mut Vec<u32>) {
        let (entries, glances) = (&self.entries, &mut self.glances);
        let (unexplained, shown) = (&mut glances.unexplained, glances.shown);
        let threads = glances.threads.wrapping_sub(glances.gone);
        let seeks = events
            .faults
            .is_some_and(|counted| unexplained.seeks(now, counted, shown));
        let seeks_ended = tasks.is_some_and(|tasks| unexplained.seeks_ended(now, threads, tasks));
        let pace = Pace {
            all: all || seeks || seeks_ended,
            has_taken: events.faults.is_some() && unexplained.has_taken(events.taken),
            link_interval: self.exe_check_interval,
        };
        let (ran, links) = (&mut glances.ran, &mut glances.links);
        glances.round.advance(now, &pace, clock::process_time, |due| {
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

impl Table {
    /// Applies a list of processes. Removes those that are missing from the range that it covers. `reused` returns
    /// true for pids that may have been reused since the list before.
    pub(crate) fn set_list(&mut self, list: &PidList, reused: impl Fn(u32) -> bool) {
        self.list += 1;
        for pid in &list.pids {
            match self.entries.entry(*pid) {
                btree_map::Entry::Occupied(_) if !reused(*pid) => continue,
                btree_map::Entry::Occupied(_) => {}
                btree_map::Entry::Vacant(slot) => {
                    self.serial += 1;
                    self.buffers.touched.push(*pid);
                    self.glances.set_threads(0, 1);
                    slot.insert(Entry {
                        serial: self.serial,
                        is_touched: true,
                        // It has at least one thread.
                        threads: 1,
                        ..Entry::default()
                    });
                }
            }
            self.glances.unseen.push(*pid);
        }
        if self.list == 1 {
            // If filled one by one in order of pid, its nodes stay half empty.
            self.entries = std::mem::take(&mut self.entries).into_iter().collect();
        }
        let known = self.entries.range(list.range.clone()).map(|(pid, _)| *pid);
        let gone: Vec<u32> = known.filter(|pid| list.pids.binary_search(pid).is_err()).collect();
        for pid in gone {
            self.forget(pid);
        }
    }

    pub(super) fn forget(&mut self, pid: u32) {
        let Some(entry) = self.entries.remove(&pid) else { return };
        self.glances.set_faults(entry.faults, 0);
        self.glances.set_threads(entry.threads, 0);
        self.glances.ended.push(pid);
        self.buffers.touched.push(pid);
        if let Some(mut process) = entry.process {
            process.sharing.leave(&mut self.sharing);
        }
    }

    pub(super) fn pids(&self) -> Vec<u32> {
        self.entries.keys().copied().collect()
    }
}

impl Process {
    /// Returns true if its page tables must be read although it may not have run.
    fn lacks_tables(&self, now: Duration, reads: TableReads) -> bool {
        let (at, faults) = self.tables_at;
        // A fault adds a page of them at most, as a rule.
        let may_have_grown = || {
            let added = self.stat.minflt.saturating_sub(faults).saturating_mul(TABLE);
            added >= (self.page_tables.unwrap_or(0) / 4).max(Walk::TOLERATED)
        };
        let is_old = || now.saturating_sub(at) >= TABLES_INTERVAL || may_have_grown();
        let is_unread = self.page_tables == Err(Missing::Pending);
        let is_chosen = match reads {
            TableReads::None => false,
            TableReads::Large if is_unread => self.stat.vsize >= LARGE_SPACE,
            TableReads::Large => is_old(),
            TableReads::All => is_unread,
        };
        is_chosen && self.stat.lacks_memory().is_none()
    }
}

/// Returns the job to glance at some processes.
fn glance_job(of: Vec<GlanceRequest>, extras: Extras) -> Job {
    job(
        JobKey::Glances(of[0].serial),
        4 * of.len() as u64,
        move |context, reader| {
            let glances = of.iter().map(|one| glance(one, extras, context, reader.buf));
            glances.collect::<Vec<_>>()
        },
        |scanner, glances| {
            for glance in glances {
                scanner.table.glanced(glance, scanner.now);
            }
        },
    )
    .urgent()
}
