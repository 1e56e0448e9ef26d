//! Processes that share one address space: made by `clone` with `CLONE_VM`, or by `vfork` and not yet another
//! program.
//!
//! Whether two do is asked of the kernel once for each new process, and again when it has become another
//! program: by then it shares with nobody. What is seen for nothing tells nearly all apart first. Two that
//! share have their program, arguments, and the size of their address space in the same places; and whom it
//! shares with is nearly always its parent. Only where that is another program altogether, so that whoever
//! made it may have ended, a few started just before it are asked about. So an idle worker of a thousand alike
//! costs nothing, once it is seen that its parent's memory has another size.

use super::Table;
use super::process::Process;
use crate::model::Stat;
use crate::sampler::job::{Job, Party, Suspect};

/// How many processes are judged in one job.
const BATCH: usize = 32;
/// How many processes before it, in order of pid, are looked at where its parent is another program.
const NEAR: usize = 32;
/// In how many ticks a process is looked at until there is someone to ask about: sizes may have moved from one
/// glance to the next.
const TRIES: u8 = 2;

/// What is known of a process's address space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kin {
    tries: u8,
    /// What the address space goes by, where it is shared.
    pub(super) space: Option<u64>,
}

impl Default for Kin {
    fn default() -> Self {
        Self {
            tries: TRIES,
            space: None,
        }
    }
}

impl Table {
    /// Jobs to find out whom the new processes share with. Not to be called for a tree that is no procfs.
    pub(in crate::sampler) fn kin(&mut self) -> Vec<Job> {
        if !std::mem::take(&mut self.newcomers) {
            return Vec::new();
        }
        let new: Vec<u32> = self
            .entries
            .iter()
            .filter(|(_, e)| e.process.as_ref().is_some_and(|p| p.kin.tries > 0))
            .map(|(pid, _)| *pid)
            .collect();
        let mut jobs = Vec::new();
        let mut suspects = Vec::new();
        for pid in new {
            let others = self.others(pid);
            let Some(process) = self.entries.get_mut(&pid).and_then(|e| e.process.as_mut()) else {
                continue;
            };
            if others.iter().all(Option::is_none) {
                process.kin.tries -= 1;
                self.newcomers |= process.kin.tries > 0;
                continue;
            }
            process.kin.tries = 0;
            let one = process.party();
            suspects.push(Suspect { one, others });
            if suspects.len() == BATCH {
                jobs.push(Job::Kin(std::mem::take(&mut suspects)));
            }
        }
        if !suspects.is_empty() {
            jobs.push(Job::Kin(suspects));
        }
        jobs
    }

    /// Who may have the address space of process `pid`.
    fn others(&self, pid: u32) -> [Option<Party>; 2] {
        let at = |pid: &u32| self.entries.get(pid)?.process.as_ref();
        let Some(one) = at(&pid).filter(|p| may_share(&p.stat)) else {
            return [None; 2];
        };
        let parent = at(&one.stat.ppid).filter(|p| is_same_program(&p.stat, &one.stat));
        if let Some(parent) = parent {
            let same_size = parent.stat.vsize == one.stat.vsize;
            return [same_size.then(|| parent.party()), None];
        }
        let near = self.entries.range(..pid).rev().take(NEAR);
        let mut alike = near.filter_map(|(_, e)| e.process.as_ref()).filter(|p| {
            let (a, b) = (&p.stat, &one.stat);
            is_same_program(a, b) && a.vsize == b.vsize && a.rss == b.rss
        });
        std::array::from_fn(|_| alike.next().map(Process::party))
    }

    /// Takes in that these two share one, unless either is another program by now.
    pub(super) fn share(&mut self, one: &Party, other: &Party) {
        let mut space = |party: &Party| {
            self.process(party.pid, party.serial)
                .filter(|p| p.exec == party.exec)
                .map(|p| p.kin.space)
        };
        let (Some(mine), Some(theirs)) = (space(one), space(other)) else {
            return;
        };
        let space = theirs.or(mine).unwrap_or_else(|| {
            self.serial += 1;
            self.serial
        });
        for party in [one, other] {
            if let Some(process) = self.process(party.pid, party.serial) {
                process.kin.space = Some(space);
            }
        }
    }
}

/// Whether it has an address space, and may be looked at.
const fn may_share(stat: &Stat) -> bool {
    stat.image != 0 && !stat.is_zombie() && !stat.is_kernel_thread()
}

/// Whether two have their program and arguments in the same places, as those do that have the same memory.
const fn is_same_program(a: &Stat, b: &Stat) -> bool {
    may_share(a) && a.image == b.image && a.argv == b.argv
}
