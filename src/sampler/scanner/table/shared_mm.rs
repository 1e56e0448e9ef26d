//! Finds processes that share one address space (the kernel's `mm_struct`): those created by `clone` with `CLONE_VM`,
//! or by `vfork` and before an exec.
//!
//! Each new process is compared with all others: see [`spaces`]. That takes some 10 µs, after an exec, too. But a process may end or run
//! exec unnoticed, and then misleads the search. So all are compared again, at a µs each, in each tick with new programs, or less often
//! if there are thousands of them.
//!
//! `kcmp` waits for an exec that is in progress, which a file system in user space can delay for ever. Then the two processes that were
//! being compared are left out, and the comparison starts again in another thread.
//!
//! # Twins
//! The kernel may not show whether a process shares its parent's address space: `kcmp` and the
//! addresses in `stat` require `CAP_SYS_PTRACE`, while `CAP_PERFMON` suffices to read figures.
//!
//! If the address spaces of both end at the same address and have the same size, they are either one, or a copy made
//! by a fork. Only what cannot be true of a copy counts as proof, because a sum that lacks a process is worse than
//! one that counts it twice and says so.

use std::collections::HashSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Process, Table, process_mut, process_of};
use crate::model::Stat;
use crate::sampler::scanner::job::{Job, JobKey, job};
use crate::sampler::spaces::{self, Compared, Current, Peer, Peers};

/// The reciprocal of the maximum share of a core that comparisons of all processes take.
const MAX_SHARE: u32 = 200;

/// The comparisons of address spaces.
#[derive(Default)]
pub(super) struct Comparisons {
    /// The processes that were compared, in the kernel's order of their address spaces. Empty during a comparison.
    known: Vec<Peer>,
    running: Option<Arc<Current>>,
    /// The number of the comparison, and when it started.
    number: u32,
    began: Duration,
    /// The processes that were left out.
    left_out: Vec<Peer>,
    /// When all were last compared, and its CPU time.
    verified: Duration,
    cost: Duration,
}

impl Table {
    /// Returns the job that finds processes with the same address space, in procfs. It compares all of them if they
    /// `may_take_long`.
    pub(crate) fn shared_mm_job(&mut self, now: Duration, may_take_long: bool) -> Option<Job> {
        let (comparisons, sharing) = (&self.comparisons, &self.buffers.sharing);
        let rest = comparisons.cost * MAX_SHARE;
        let is_due = self.has_new_programs || !sharing.is_empty();
        let verify = is_due && (may_take_long || now.saturating_sub(comparisons.verified) >= rest);
        if !self.is_procfs || comparisons.running.is_some() || !(verify || self.has_new_programs) {
            return None;
        }
        self.has_new_programs = false;
        let mut known = std::mem::take(&mut self.comparisons.known);
        if verify {
            self.comparisons.verified = now;
        }
        known.retain(|peer| self.current(peer).is_some_and(|process| may_share(&process.stat)));
        let is_known: HashSet<u64> = known.iter().filter(|_| verify).map(|peer| peer.serial).collect();
        let mut new = Vec::new();
        for process in self
            .entries
            .values_mut()
            .filter_map(|entry| entry.process.as_deref_mut())
        {
            let is_asked = !process.is_compared || (verify && !is_known.contains(&process.serial));
            if is_asked && may_share(&process.stat) {
                let peer = Peer::from(&process.reference());
                process.is_compared = true;
                if !self.comparisons.left_out.iter().any(|other| other.is_same(&peer)) {
                    new.push(peer);
                }
            }
        }
        let current = Arc::<Current>::default();
        self.comparisons.running = Some(Arc::clone(&current));
        self.comparisons.number += 1;
        self.comparisons.began = now;
        Some(comparison_job(
            self.comparisons.number,
            Peers { known, new, verify },
            current,
        ))
    }

    /// Gives up a comparison that has been silent for longer than `allowed`, and leaves out the two processes that it last compared.
    /// `since` returns when a read in progress last made progress. Returns true if a comparison was given up.
    pub(crate) fn leave_out_stuck(
        &mut self,
        now: Duration,
        allowed: Duration,
        since: impl FnOnce(JobKey) -> Option<Duration>,
    ) -> bool {
        let comparisons = &mut self.comparisons;
        let Some(current) = comparisons
            .running
            .as_ref()
            .filter(|_| now.saturating_sub(comparisons.began) >= allowed)
        else {
            return false;
        };
        let pair = *current.lock().unwrap_or_else(PoisonError::into_inner);
        let since = since(JobKey::AddressSpaces(comparisons.number));
        let Some(pair) = pair.filter(|_| since.is_some_and(|since| now.saturating_sub(since) >= allowed)) else {
            return false;
        };
        comparisons.running = None;
        let mut left_out = std::mem::take(&mut comparisons.left_out);
        left_out.extend(pair);
        left_out.retain(|peer| self.current(peer).is_some());
        self.comparisons.left_out = left_out;
        // The order is lost, too.
        let processes = self
            .entries
            .values_mut()
            .filter_map(|entry| entry.process.as_deref_mut());
        processes.for_each(|process| process.is_compared = false);
        self.has_new_programs = true;
        true
    }

    /// Records which processes share an address space, unless they have run exec since.
    fn set_compared(&mut self, number: u32, compared: Compared) {
        if self.comparisons.number != number || self.comparisons.running.take().is_none() {
            // It was given up.
            return;
        }
        self.comparisons.known = compared.known;
        self.comparisons.cost = compared.cost.unwrap_or(self.comparisons.cost);
        for peer in &compared.asked {
            let process = process_mut(&mut self.entries, peer.pid);
            let sharing = process.filter(|p| p.serial == peer.serial && p.shared_mm.is_some());
            if let Some(process) = sharing {
                process.shared_mm = None;
                self.touch(peer.pid);
            }
        }
        for (one, other) in compared.pairs {
            self.set_shared_mm([one, other]);
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
                Twin::Same if !is_shared => self.set_shared_mm([&child, &parent].map(Peer::from)),
                Twin::Doubtful if !is_shared => doubtful += 1,
                Twin::Same | Twin::Doubtful | Twin::Unequal => {}
            }
        }
        doubtful
    }

    /// Returns a process, unless it has ended or run exec since.
    fn current(&self, peer: &Peer) -> Option<&Process> {
        process_of(&self.entries, peer.pid).filter(|process| (process.serial, process.exec) == (peer.serial, peer.exec))
    }

    /// Records that two processes share an address space, unless one of them has run exec since.
    fn set_shared_mm(&mut self, pair: [Peer; 2]) {
        let current = |peer: Peer| self.current(&peer).map(|process| process.shared_mm);
        let [Some(mine), Some(theirs)] = pair.map(current) else {
            return;
        };
        let mm = theirs.or(mine).unwrap_or_else(|| {
            self.serial += 1;
            self.serial
        });
        for peer in pair {
            self.touch(peer.pid);
            if let Some(process) = process_mut(&mut self.entries, peer.pid) {
                process.shared_mm = Some(mm);
                self.buffers.sharing.insert(peer.pid);
            }
        }
    }
}

fn comparison_job(number: u32, peers: Peers, current: Arc<Current>) -> Job {
    let known = peers.known.len() * usize::from(peers.verify);
    job(
        JobKey::AddressSpaces(number),
        (2 * known + 20 * peers.new.len()) as u64,
        move |context, reader| {
            let mut peers = peers;
            if !context.has_own_pids {
                // To kcmp, the pids of another tree are other processes.
                peers.new.clear();
            }
            spaces::compare(peers, &current, &context.roots.proc, reader)
        },
        move |scanner, compared| scanner.table.set_compared(number, compared),
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
