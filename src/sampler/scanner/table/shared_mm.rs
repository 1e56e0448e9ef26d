//! Finds processes that share one address space (the kernel's `mm_struct`): those created by `clone` with `CLONE_VM`,
//! or by `vfork` and before an exec.
//!
//! If there are new programs, all processes are compared with one another: see [`spaces`]. That takes a µs for each process, and
//! some 10 µs for a new one. Thousands are not compared in every tick: see [`MAX_SHARE`]. Until they are, those that ran exec are
//! compared with those with which they shared. A process can run exec unnoticed: the same program, at the same addresses. So all
//! are compared at intervals, too, if any of them share.
//!
//! # Twins
//! The kernel may not show whether a process shares its parent's address space: `kcmp` and the
//! addresses in `stat` require `CAP_SYS_PTRACE`, while `CAP_PERFMON` suffices to read figures.
//!
//! If the address spaces of both end at the same address and have the same size, they are either one, or a copy made
//! by a fork. Only what cannot be true of a copy counts as proof, because a sum that lacks a process is worse than
//! one that counts it twice and says so.

use std::collections::HashMap;
use std::time::Duration;

use super::{Process, Table, batches, process_mut, process_of};
use crate::model::Stat;
use crate::sampler::reading::ProcessRef;
use crate::sampler::reading::spaces::{self, Compared};
use crate::sampler::scanner::job::{Job, JobKey, job};

/// Pairs verified in one job, at some 2 µs each.
const BATCH: usize = 32;
/// Time after which processes that share are compared again.
const RECHECK: Duration = Duration::from_secs(5);
/// The reciprocal of the maximum share of a core that comparisons of all processes take.
const MAX_SHARE: u32 = 1000;

/// The comparisons of all processes.
#[derive(Default)]
pub(super) struct Comparisons {
    is_running: bool,
    /// When the last one began, and its CPU time.
    at: Duration,
    cost: Duration,
}

impl Table {
    /// Returns jobs that find processes with the same address space, in procfs. All are compared at once if they `may_take_long`.
    pub(crate) fn shared_mm_jobs(&mut self, now: Duration, may_take_long: bool) -> Vec<Job> {
        let elapsed = now.saturating_sub(self.comparisons.at);
        let is_due = self.has_new_programs || (!self.buffers.sharing.is_empty() && elapsed >= RECHECK);
        if !self.is_procfs || !is_due {
            return Vec::new();
        }
        let is_early = !may_take_long && elapsed < self.comparisons.cost * MAX_SHARE;
        if self.comparisons.is_running || is_early {
            return self.separation_jobs();
        }
        self.has_new_programs = false;
        (self.comparisons.is_running, self.comparisons.at) = (true, now);
        let processes = self.entries.values().filter_map(|entry| entry.process.as_deref());
        let mut processes: Vec<&Process> = processes.filter(|p| may_share(&p.stat)).collect();
        processes.sort_by_key(|process| process.mm_order.unwrap_or(u32::MAX));
        let sorted = processes.partition_point(|process| process.mm_order.is_some());
        vec![comparison_job(
            processes.into_iter().map(Process::reference).collect(),
            sorted,
        )]
    }

    /// Returns jobs to verify that processes that have run exec, or seem to, still share an address space.
    fn separation_jobs(&self) -> Vec<Job> {
        let members = self.buffers.sharing.iter().filter_map(|pid| {
            let process = process_of(&self.entries, *pid).filter(|p| may_share(&p.stat))?;
            Some((process.shared_mm?, process))
        });
        let (compared, others): (Vec<_>, Vec<_>) = members.partition(|(_, process)| process.mm_order.is_some());
        let mut known: HashMap<u64, &Process> = HashMap::new();
        let mut pairs = Vec::new();
        // One that was compared is known to share, if there is one.
        for (mm, process) in compared.into_iter().chain(others) {
            let first = *known.entry(mm).or_insert(process);
            if process.mm_order.is_none() && first.serial != process.serial {
                pairs.push((process.reference(), first.reference()));
            }
        }
        batches(pairs.into_iter(), BATCH).map(separation_job).collect()
    }

    /// Records that a process shares no address space, and that others must be searched.
    fn separate(&mut self, process: &ProcessRef) {
        if let Some(process) = self.process(process) {
            process.shared_mm = None;
            self.has_new_programs = true;
        }
    }

    /// Records which processes share, unless they have run exec since.
    fn set_compared(&mut self, compared: &Compared) {
        (self.comparisons.is_running, self.comparisons.cost) = (false, compared.cost);
        let mut members: HashMap<u32, u32> = HashMap::new();
        for (_, space) in &compared.found {
            *members.entry(*space).or_default() += 1;
        }
        let serial = self.serial;
        for (asked, space) in &compared.found {
            let process = process_mut(&mut self.entries, asked.pid);
            let Some(process) = process.filter(|p| (p.serial, p.exec) == (asked.serial, asked.exec)) else {
                continue;
            };
            process.mm_order = Some(*space);
            let shared = (members[space] > 1).then(|| serial + 1 + u64::from(*space));
            self.serial = self.serial.max(shared.unwrap_or_default());
            let before = std::mem::replace(&mut process.shared_mm, shared);
            if shared.is_some() {
                self.buffers.sharing.insert(asked.pid);
            }
            if shared.is_some() || before.is_some() {
                self.touch(asked.pid);
            }
        }
    }

    /// Decides whether processes share their parent's address space if the kernel does not show it; returns the
    /// number of doubtful cases.
    pub(crate) fn judge_twins(&mut self) -> usize {
        let process = |pid: &u32| process_of(&self.entries, *pid);
        let buffers = &mut self.buffers;
        for pid in &buffers.touched {
            if process(pid).is_some_and(Process::is_space_hidden) {
                buffers.hidden.insert(*pid);
            } else {
                buffers.hidden.remove(pid);
            }
        }
        let pairs = buffers.hidden.iter().filter_map(|pid| {
            let child = process(pid)?;
            let parent = process(&child.stat.ppid).filter(|p| p.is_space_hidden())?;
            let is_like = child.space_end.is_some() && child.space_end == parent.space_end;
            is_like.then(|| (child.reference(), parent.reference(), parent.stat, parent.shared_mm))
        });
        let pairs: Vec<_> = pairs.collect();
        let mut doubtful = 0;
        for (child, parent, stat, mm) in pairs {
            let Some(known) = self.process(&child) else { continue };
            let is_shared = mm.is_some() && known.shared_mm == mm;
            match known.twin.compare([&known.stat, &stat]) {
                Twin::Apart => known.shared_mm = known.shared_mm.filter(|_| !is_shared),
                Twin::Same if !is_shared => self.set_shared_mm([&child, &parent]),
                Twin::Doubtful if !is_shared => doubtful += 1,
                Twin::Same | Twin::Doubtful | Twin::Unequal => {}
            }
        }
        doubtful
    }

    /// Records that two processes share an address space, unless one of them has run exec since.
    fn set_shared_mm(&mut self, pair: [&ProcessRef; 2]) {
        let current = |table: &mut Self, peer: &ProcessRef| {
            table.process(peer).filter(|p| p.exec == peer.exec).map(|p| p.shared_mm)
        };
        let [Some(mine), Some(theirs)] = pair.map(|peer| current(self, peer)) else {
            return;
        };
        let mm = theirs.or(mine).unwrap_or_else(|| {
            self.serial += 1;
            self.serial
        });
        for peer in pair {
            if let Some(process) = self.process(peer) {
                process.shared_mm = Some(mm);
                self.buffers.sharing.insert(peer.pid);
            }
        }
    }
}

fn comparison_job(processes: Vec<ProcessRef>, sorted: usize) -> Job {
    let micros = 2 * sorted + 20 * (processes.len() - sorted);
    job(
        JobKey::AddressSpaces,
        micros as u64,
        move |context, reader| {
            // Pids of another tree mean other processes to kcmp.
            let processes = if context.has_own_pids { processes } else { Vec::new() };
            spaces::compare(processes, sorted, &context.roots.proc, reader)
        },
        |scanner, compared| scanner.table.set_compared(&compared),
    )
}

fn separation_job(pairs: Vec<(ProcessRef, ProcessRef)>) -> Job {
    job(
        JobKey::SharedMm(pairs[0].0.serial),
        2 * pairs.len() as u64,
        |_, _| spaces::separated(pairs),
        |scanner, found| {
            for process in &found {
                scanner.table.separate(process);
            }
        },
    )
}

/// Returns true if it has an address space whose addresses are not hidden.
const fn may_share(stat: &Stat) -> bool {
    stat.image != 0 && !stat.is_zombie() && !stat.is_kernel_thread()
}

/// Growth that counts as proof, in bytes. The kernel may count a few pages late.
const GROWTH: u64 = 64 << 10;
/// Number of consecutive checks with different sizes after which the proof is dropped. A process that maps memory
/// between the two glances of one check makes them differ once.
const MAX_UNEQUAL: u8 = 5;

#[derive(Default)]
pub(super) struct TwinWatch {
    /// Both of them, when they had the same size. Nearly no process has any.
    base: Option<Box<[Stat; 2]>>,
    unequal: u8,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Twin {
    Apart,
    /// Their sizes differed in this check.
    Unequal,
    /// There is no proof for one or two address spaces.
    Doubtful,
    Same,
}

impl TwinWatch {
    pub(super) fn compare(&mut self, now: [&Stat; 2]) -> Twin {
        let [own, parent] = now;
        if own.vsize != parent.vsize || own.rss != parent.rss {
            self.base = None;
            self.unequal = self.unequal.saturating_add(1);
            return if self.unequal < MAX_UNEQUAL {
                Twin::Unequal
            } else {
                Twin::Apart
            };
        }
        self.unequal = 0;
        if parent.state == b'D' {
            // It waits for the child of a `vfork`. The child of a fork would lack the parent's file pages until it
            // uses them, so their sizes would differ.
            return Twin::Same;
        }
        let base = self.base.get_or_insert_with(|| Box::new([*own, *parent]));
        if own.rss < base[0].rss + GROWTH {
            return Twin::Doubtful;
        }
        let faulted = [(own, &base[0]), (parent, &base[1])].map(|(now, then)| faults(now) != faults(then));
        if faulted[0] != faulted[1] {
            // One has grown by the pages that only the other has touched.
            return Twin::Same;
        }
        **base = [*own, *parent];
        Twin::Doubtful
    }
}

const fn faults(stat: &Stat) -> u64 {
    stat.minflt.wrapping_add(stat.majflt)
}
