//! Processes that share one address space: made by `clone` with `CLONE_VM`, or by `vfork` and not yet another
//! program.
//!
//! Whether two do is asked of the kernel once for each new process, and again when it has become another
//! program: by then it shares with nobody. What is seen for nothing tells nearly all apart first. Two that
//! share have their program, arguments, and the size of their address space in the same places; and whom it
//! shares with is nearly always its parent, or a process started just before it by the same hand. So an
//! idle worker of a thousand alike costs two or three questions, once.

use super::Table;
use super::process::Process;
use crate::model::Stat;
use crate::sampler::job::{Job, Party, Suspect};

/// How many processes are judged in one job.
const BATCH: usize = 32;
/// How many processes before it, in order of pid, are looked at beside its parent; and how many of them are
/// asked about at most.
const NEAR: usize = 32;
const ASKED: usize = 2;
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
        let mut suspects = Vec::new();
        let new: Vec<u32> = self
            .entries
            .iter()
            .filter(|(_, e)| e.process.as_ref().is_some_and(|p| p.kin.tries > 0))
            .map(|(pid, _)| *pid)
            .collect();
        for pid in new {
            let others = self.others(pid);
            let Some(process) = self.entries.get_mut(&pid).and_then(|e| e.process.as_mut()) else {
                continue;
            };
            if others.is_empty() {
                process.kin.tries -= 1;
                self.newcomers |= process.kin.tries > 0;
            } else {
                process.kin.tries = 0;
                suspects.push(Suspect {
                    one: process.party(),
                    others,
                });
            }
        }
        let mut jobs = Vec::with_capacity(suspects.len() / BATCH + 1);
        while !suspects.is_empty() {
            let rest = suspects.split_off(suspects.len().min(BATCH));
            jobs.push(Job::Kin(std::mem::replace(&mut suspects, rest)));
        }
        jobs
    }

    /// Who may have the address space of process `pid`.
    fn others(&self, pid: u32) -> Vec<Party> {
        let at = |pid: &u32| self.entries.get(pid)?.process.as_ref();
        let Some(one) = at(&pid).filter(|p| may_share(&p.stat)) else {
            return Vec::new();
        };
        let parent = at(&one.stat.ppid).filter(|p| is_alike(&p.stat, &one.stat));
        let near = self.entries.range(..pid).rev().take(NEAR);
        let siblings = near
            .filter_map(|(_, e)| e.process.as_ref())
            .filter(|p| p.id.pid != one.stat.ppid && is_alike(&p.stat, &one.stat) && p.stat.rss == one.stat.rss);
        parent
            .into_iter()
            .chain(siblings.take(ASKED))
            .map(Process::party)
            .collect()
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

/// Whether two have everything in the same places, as those do that have the same memory.
const fn is_alike(a: &Stat, b: &Stat) -> bool {
    may_share(a) && a.image == b.image && a.argv == b.argv && a.vsize == b.vsize
}
