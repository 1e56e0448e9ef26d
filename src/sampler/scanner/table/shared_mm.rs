//! Finds processes that share one address space (the kernel's `mm_struct`): those created by `clone` with `CLONE_VM`,
//! or by `vfork` and before an exec.
//!
//! The kernel is asked once for each new process, and again after an exec, when it shares with no other process. The
//! figures of a glance exclude nearly all candidates first. Two processes that share have the same addresses of
//! program and arguments, and the same size of the address space, and the other one is nearly always the parent. If
//! the parent runs another program, the creator may have ended. Only then are a few processes started just before
//! checked. So an idle worker among 1000 equal ones costs nothing once the size of its parent's memory is seen to
//! differ.
//!
//! A process can run exec unnoticed: the same program, at the same addresses. So pairs are verified again at intervals.
//!
//! # Twins
//! The kernel may not show whether a process shares its parent's address space: `kcmp` and the
//! addresses in `stat` require `CAP_SYS_PTRACE`, while `CAP_PERFMON` suffices to read figures.
//!
//! If the address spaces of both end at the same address and have the same size, they are either one, or a copy made
//! by a fork. Only what cannot be true of a copy counts as proof, because a sum that lacks a process is worse than
//! one that counts it twice and says so.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

use super::{MM_ATTEMPTS, Process, Table, batches, process_mut, process_of};
use crate::model::Stat;
use crate::sampler::reading::ProcessRef;
use crate::sampler::reading::facts::{MmCandidate, separated, verify_shared_mm};
use crate::sampler::scanner::job::{Job, JobKey, job};

/// Processes verified in one job, at some 2 µs each.
const BATCH: usize = 32;
/// Time after which known pairs are verified again.
const RECHECK: Duration = Duration::from_secs(5);
/// Number of preceding processes, in order of pid, that are compared if the parent runs another program.
const NEAR: usize = 32;

impl Table {
    /// Returns jobs to verify which processes share with the new ones, in procfs.
    pub(crate) fn shared_mm_jobs(&mut self) -> Vec<Job> {
        if !self.is_procfs || !std::mem::take(&mut self.has_new_programs) {
            return Vec::new();
        }
        let is_new = |p: &Process| p.mm_attempts > 0;
        let entries = self.entries.iter();
        let new = entries.filter(|(_, e)| e.process.as_deref().is_some_and(is_new));
        let new: Vec<u32> = new.map(|(pid, _)| *pid).collect();
        let mut candidates = Vec::new();
        for pid in new {
            let others = self.likely_peers(pid);
            let Some(process) = process_mut(&mut self.entries, pid) else {
                continue;
            };
            if others.iter().all(Option::is_none) {
                process.mm_attempts -= 1;
                self.has_new_programs |= process.mm_attempts > 0;
                continue;
            }
            process.mm_attempts = 0;
            let process = process.reference();
            candidates.push((process, others));
        }
        batches(candidates.into_iter(), BATCH).map(verify_job).collect()
    }

    /// Returns jobs to verify, at intervals, that processes still share an address space. One that does not is treated as new.
    pub(crate) fn separation_jobs(&mut self, now: Duration) -> Vec<Job> {
        if !self.is_procfs || now.saturating_sub(self.shared_checked_at) < RECHECK {
            return Vec::new();
        }
        self.shared_checked_at = now;
        let mut first: HashMap<u64, ProcessRef> = HashMap::new();
        let mut pairs = Vec::new();
        for pid in &self.buffers.sharing {
            let process = process_of(&self.entries, *pid).filter(|p| may_share(&p.stat));
            let Some((process, mm)) = process.and_then(|p| Some((p.reference(), p.shared_mm?))) else {
                continue;
            };
            match first.entry(mm) {
                Entry::Occupied(first) => pairs.push((process, first.get().clone())),
                Entry::Vacant(place) => {
                    place.insert(process);
                }
            }
        }
        batches(pairs.into_iter(), BATCH).map(separation_job).collect()
    }

    /// Records that a process shares no address space, and that others must be searched.
    fn separate(&mut self, process: &ProcessRef) {
        let pid = process.pid;
        if let Some(process) = self.process(process) {
            (process.shared_mm, process.mm_attempts) = (None, MM_ATTEMPTS);
            self.has_new_programs = true;
            self.touch(pid);
        }
    }

    /// Returns the processes that may share the address space of `pid`, the likeliest first.
    fn likely_peers(&self, pid: u32) -> [Option<ProcessRef>; 2] {
        let process = |pid: &u32| process_of(&self.entries, *pid);
        let Some(one) = process(&pid).filter(|p| may_share(&p.stat)) else {
            return [None, None];
        };
        let parent = process(&one.stat.ppid).filter(|p| is_same_program(&p.stat, &one.stat));
        if let Some(parent) = parent {
            let is_same_size = parent.stat.vsize == one.stat.vsize;
            return [is_same_size.then(|| parent.reference()), None];
        }
        let near = self.entries.range(..pid).rev().take(NEAR);
        let mut alike = near.filter_map(|(_, e)| e.process.as_deref()).filter(|p| {
            let (a, b) = (&p.stat, &one.stat);
            is_same_program(a, b) && a.vsize == b.vsize && a.rss == b.rss
        });
        std::array::from_fn(|_| alike.next().map(Process::reference))
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

fn verify_job(candidates: Vec<MmCandidate>) -> Job {
    job(
        JobKey::SharedMm(candidates[0].0.serial),
        2 * candidates.len() as u64,
        |context, reader| verify_shared_mm(candidates, &context.roots.proc, reader.buf),
        |scanner, pairs| {
            for (one, other) in &pairs {
                scanner.table.set_shared_mm([one, other]);
            }
        },
    )
}

fn separation_job(pairs: Vec<(ProcessRef, ProcessRef)>) -> Job {
    job(
        JobKey::SharedMm(pairs[0].0.serial),
        2 * pairs.len() as u64,
        |_, _| separated(pairs),
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

/// Returns true if the addresses of program and arguments are equal, as they are for processes that share an address
/// space.
const fn is_same_program(a: &Stat, b: &Stat) -> bool {
    may_share(a) && a.image == b.image && a.argv == b.argv
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
