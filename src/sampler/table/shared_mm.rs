//! Finds processes that share one address space (the kernel's `mm_struct`): made by `clone` with `CLONE_VM`,
//! or by `vfork` and not yet another program.
//!
//! The kernel is asked once for each new process, and again when it has become another program: by then it
//! shares with nobody. What a glance shows tells nearly all apart first. Two that share have their program,
//! arguments, and the size of their address space in the same places; and the other one is nearly always the
//! parent. Only where the parent is another program altogether, so that the maker may have ended, a few
//! processes started just before are asked about. So an idle worker of a thousand alike costs nothing,
//! once it is seen that its parent's memory has another size.

use super::Table;
use super::process::Process;
use super::twins::Twin;
use crate::model::Stat;
use crate::sampler::job::{Job, MmCandidate, ProcessRef};

/// Processes verified in one job, at some 2 µs each.
const BATCH: usize = 32;
/// Processes before it, in order of pid, that are compared where the parent is another program.
const NEAR: usize = 32;

impl Table {
    /// Returns jobs to verify what the new processes share. Not to be called for a tree that is no procfs.
    pub(in crate::sampler) fn shared_mm_jobs(&mut self) -> Vec<Job> {
        if !std::mem::take(&mut self.has_new_programs) {
            return Vec::new();
        }
        let is_new = |p: &Process| p.mm_attempts > 0;
        let entries = self.entries.iter();
        let new = entries.filter(|(_, e)| e.process.as_deref().is_some_and(is_new));
        let new: Vec<u32> = new.map(|(pid, _)| *pid).collect();
        let mut candidates = Vec::new();
        for pid in new {
            let others = self.likely_peers(pid);
            let Some(process) = self.entries.get_mut(&pid).and_then(|e| e.process.as_deref_mut()) else {
                continue;
            };
            if others.iter().all(Option::is_none) {
                process.mm_attempts -= 1;
                self.has_new_programs |= process.mm_attempts > 0;
                continue;
            }
            process.mm_attempts = 0;
            let process = process.reference(process.exec);
            candidates.push(MmCandidate { process, others });
        }
        super::batches(candidates.into_iter(), BATCH)
            .map(Job::SharedMm)
            .collect()
    }

    /// Returns those that may have the address space of process `pid`, the likeliest first.
    fn likely_peers(&self, pid: u32) -> [Option<ProcessRef>; 2] {
        let process = |pid: &u32| self.entries.get(pid)?.process.as_deref();
        let Some(one) = process(&pid).filter(|p| may_share(&p.stat)) else {
            return [None, None];
        };
        let parent = process(&one.stat.ppid).filter(|p| is_same_program(&p.stat, &one.stat));
        if let Some(parent) = parent {
            let is_same_size = parent.stat.vsize == one.stat.vsize;
            return [is_same_size.then(|| parent.reference(parent.exec)), None];
        }
        let near = self.entries.range(..pid).rev().take(NEAR);
        let mut alike = near.filter_map(|(_, e)| e.process.as_deref()).filter(|p| {
            let (a, b) = (&p.stat, &one.stat);
            is_same_program(a, b) && a.vsize == b.vsize && a.rss == b.rss
        });
        std::array::from_fn(|_| alike.next().map(|p| p.reference(p.exec)))
    }

    /// Judges those that may share their parent's address space where the kernel does not tell; returns how many stay
    /// in doubt.
    pub(in crate::sampler) fn judge_twins(&mut self) -> usize {
        let process = |pid: &u32| self.entries.get(pid)?.process.as_deref();
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
            is_like.then(|| {
                (
                    child.reference(child.exec),
                    parent.reference(parent.exec),
                    parent.stat,
                    parent.shared_mm,
                )
            })
        });
        let pairs: Vec<_> = pairs.collect();
        let mut doubtful = 0;
        for (child, parent, stat, mm) in pairs {
            let Some(known) = self.process(child.pid, child.serial) else {
                continue;
            };
            let is_shared = mm.is_some() && known.shared_mm == mm;
            match known.twin.look([&known.stat, &stat]) {
                Twin::Apart => known.shared_mm = known.shared_mm.filter(|_| !is_shared),
                Twin::Same if !is_shared => self.set_shared_mm([&child, &parent]),
                Twin::Doubtful if !is_shared => doubtful += 1,
                Twin::Same | Twin::Doubtful | Twin::Unequal => {}
            }
        }
        doubtful
    }

    /// Takes in that these two share an address space, unless either is another program by now.
    pub(super) fn set_shared_mm(&mut self, pair: [&ProcessRef; 2]) {
        let current = |table: &mut Self, peer: &ProcessRef| {
            let process = table.process(peer.pid, peer.serial);
            process.filter(|p| p.exec == peer.version).map(|p| p.shared_mm)
        };
        let [Some(mine), Some(theirs)] = pair.map(|peer| current(self, peer)) else {
            return;
        };
        let mm = theirs.or(mine).unwrap_or_else(|| {
            self.serial += 1;
            self.serial
        });
        for peer in pair {
            if let Some(process) = self.process(peer.pid, peer.serial) {
                process.shared_mm = Some(mm);
                self.buffers.sharing.insert(peer.pid);
            }
        }
    }
}

/// Returns true if it has an address space, and one that may be looked at.
const fn may_share(stat: &Stat) -> bool {
    stat.image != 0 && !stat.is_zombie() && !stat.is_kernel_thread()
}

/// Returns true if two have their program and arguments in the same places, as those do that have the same memory.
const fn is_same_program(a: &Stat, b: &Stat) -> bool {
    may_share(a) && a.image == b.image && a.argv == b.argv
}
