//! Finds processes that share one address space (the kernel's `mm_struct`): those created by `clone` with `CLONE_VM`,
//! or by `vfork` and before an exec.
//!
//! Each new process is compared with all others: see [`spaces`]. That takes some 10 µs, after an exec, too. But a process can run exec
//! unnoticed: the same program, at the same addresses. So all are compared again at intervals, at a µs each.
//!
//! # Twins
//! The kernel may not show whether a process shares its parent's address space: `kcmp` and the
//! addresses in `stat` require `CAP_SYS_PTRACE`, while `CAP_PERFMON` suffices to read figures.
//!
//! If the address spaces of both end at the same address and have the same size, they are either one, or a copy made
//! by a fork. Only what cannot be true of a copy counts as proof, because a sum that lacks a process is worse than
//! one that counts it twice and says so.

use std::collections::HashSet;
use std::time::Duration;

use super::{Process, Table, process_mut, process_of};
use crate::model::Stat;
use crate::sampler::reading::spaces::{self, Compared, Peer, Peers};
use crate::sampler::scanner::job::{Job, JobKey, job};

/// Minimum time between two comparisons of all processes.
const RECHECK: Duration = Duration::from_secs(5);
/// The reciprocal of the maximum share of a core that they take.
const MAX_SHARE: u32 = 1000;

/// The comparisons of address spaces.
#[derive(Default)]
pub(super) struct Comparisons {
    /// The processes that were compared, in the kernel's order of their address spaces. Empty during a comparison.
    known: Vec<Peer>,
    is_running: bool,
    /// When all were last compared, and its CPU time.
    verified: Duration,
    cost: Duration,
}

impl Table {
    /// Returns the job that finds processes with the same address space, in procfs. It compares all of them if they
    /// `may_take_long`.
    pub(crate) fn shared_mm_job(&mut self, now: Duration, may_take_long: bool) -> Option<Job> {
        let (comparisons, sharing) = (&self.comparisons, &self.buffers.sharing);
        let rest = RECHECK.max(comparisons.cost * MAX_SHARE);
        let is_due = self.has_new_programs || !sharing.is_empty();
        let verify = is_due && (may_take_long || now.saturating_sub(comparisons.verified) >= rest);
        if !self.is_procfs || comparisons.is_running || !(verify || self.has_new_programs) {
            return None;
        }
        self.has_new_programs = false;
        self.comparisons.is_running = true;
        let mut known = std::mem::take(&mut self.comparisons.known);
        if verify {
            self.comparisons.verified = now;
            known.retain(|peer| {
                let process = process_of(&self.entries, peer.pid);
                process.is_some_and(|p| (p.serial, p.exec) == (peer.serial, peer.exec) && may_share(&p.stat))
            });
        }
        let is_known: HashSet<u64> = known.iter().filter(|_| verify).map(|peer| peer.serial).collect();
        let mut new = Vec::new();
        for process in self
            .entries
            .values_mut()
            .filter_map(|entry| entry.process.as_deref_mut())
        {
            let is_asked = !process.is_compared || (verify && !is_known.contains(&process.serial));
            if is_asked && may_share(&process.stat) {
                process.is_compared = true;
                new.push(Peer::from(&process.reference()));
            }
        }
        // Those that ran exec have a new place.
        let moved: HashSet<u64> = new.iter().filter(|p| p.exec > 0).map(|peer| peer.serial).collect();
        if !moved.is_empty() {
            known.retain(|peer| !moved.contains(&peer.serial));
        }
        Some(comparison_job(Peers { known, new, verify }))
    }

    /// Records which processes share an address space, unless they have run exec since.
    fn set_compared(&mut self, compared: Compared) {
        self.comparisons.is_running = false;
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

    /// Records that two processes share an address space, unless one of them has run exec since.
    fn set_shared_mm(&mut self, pair: [Peer; 2]) {
        let current = |peer: Peer| {
            let process = process_of(&self.entries, peer.pid)?;
            ((process.serial, process.exec) == (peer.serial, peer.exec)).then_some(process.shared_mm)
        };
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

fn comparison_job(peers: Peers) -> Job {
    let known = peers.known.len() * usize::from(peers.verify);
    job(
        JobKey::AddressSpaces,
        (2 * known + 20 * peers.new.len()) as u64,
        move |context, reader| {
            let mut peers = peers;
            if !context.has_own_pids {
                // To kcmp, the pids of another tree are other processes.
                peers.new.clear();
            }
            spaces::compare(peers, &context.roots.proc, reader)
        },
        |scanner, compared| scanner.table.set_compared(compared),
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
