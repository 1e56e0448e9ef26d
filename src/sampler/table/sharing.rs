//! Tells those that may share memory of each other.

use super::Table;
use super::process::Process;
use crate::model::{Reading, Stat, Walk};
use crate::sampler::estimate::{Others, shift};
use crate::sampler::sharing::Sharing;

/// Pages of files that a fork's child lacks at least when it is seen, beside its parent.
const LEFT_BEHIND: u64 = 64 << 10;

impl Table {
    /// Puts a new process among those that it was forked from. One that looks as if it had its parent's address space waits
    /// for the next tick, by when it is known to, or has become another program.
    pub(super) fn adopt(&mut self, pid: u32, is_new: bool, is_initial: bool) {
        let process = |pid| self.entries.get(&pid).and_then(|e| e.process.as_deref());
        let Some(child) = process(pid).filter(|p| p.is_unadopted) else {
            return;
        };
        let (stat, has_twin) = (child.stat, child.shared_mm.is_some());
        let parent = process(stat.ppid).filter(|p| p.stat.image == stat.image && stat.image != 0);
        if is_new && !is_initial && parent.is_some_and(|p| may_be_one(&stat, &p.stat)) {
            self.unadopted[0].push(pid);
            return;
        }
        let has_parent = parent.is_some();
        // A walk of the child goes through what one of the parent does.
        let cost = parent.and_then(|p| p.cost);
        let Some(child) = self.entries.get_mut(&pid).and_then(|e| e.process.as_deref_mut()) else {
            return;
        };
        child.is_unadopted = false;
        child.cost = child.cost.or(cost);
        if has_twin || stat.lacks_memory().is_some() {
            return;
        }
        let mut sharer = std::mem::take(&mut child.sharing);
        sharer.join(stat.image, &mut self.sharing);
        if !is_initial && sharer.has_relatives(&self.sharing) {
            self.touch(stat.ppid);
            let parent = self.entries.get_mut(&stat.ppid).and_then(|e| e.process.as_deref_mut());
            let parent = parent.filter(|_| has_parent).map(|parent| {
                parent.forked();
                &mut parent.sharing
            });
            sharer.forked(parent, stat.rss, &mut self.sharing);
        }
        if let Some(child) = self.entries.get_mut(&pid).and_then(|e| e.process.as_deref_mut()) {
            child.sharing = sharer;
        }
    }

    /// Takes in what a tick has told of processes that share memory, and how much swap the machine uses, if that is known.
    pub(in crate::sampler) fn relate(&mut self, swap_used: Option<u64>) {
        for pid in std::mem::take(&mut self.unadopted[1]) {
            self.adopt(pid, false, false);
        }
        self.unadopted.swap(0, 1);
        if let Some(used) = swap_used {
            self.sharing.set_swap_used(used);
        }
    }
}

impl Process {
    /// Takes in what others have done to it; returns true if that changes its bound.
    pub(super) fn look_at_sharers(&mut self, sharing: &Sharing) -> bool {
        let external = self.sharing.external(sharing);
        std::mem::replace(&mut self.external, external) != external
    }

    /// Returns the upper bound on the error of its figures, but for what asks for no walk.
    pub(super) fn error(&self) -> u64 {
        let others = self.estimates.bound_of(&self.others());
        self.own_error.map_or(0, |error| {
            error.saturating_add(others).saturating_add(self.external.swap)
        })
    }

    /// Returns what others have done since the last walk.
    pub(super) fn others(&self) -> Others {
        let external = &self.external;
        Others {
            bound: external.footprint - external.drift,
            drift: external.drift,
            shift: external.shifts[0] + external.shifts[1],
        }
    }

    /// Returns its figures as they are shown.
    pub(super) fn shown(&self) -> Reading<Walk> {
        let mut walk = self.walk()?;
        shift(&mut walk.memory, self.external.shifts);
        walk.error = self.error();
        // Small files do not ask for a walk: what they may be wrong by makes no figure uncertain.
        let room = walk.tolerance().saturating_sub(walk.error);
        walk.error = walk.error.saturating_add(self.external.small.min(room));
        Ok(walk)
    }
}

/// Returns true if a child and its parent may have one address space, made by `vfork` or `clone` with `CLONE_VM`: a fork
/// leaves the pages of files behind.
const fn may_be_one(child: &Stat, parent: &Stat) -> bool {
    child.vsize == parent.vsize && child.rss + LEFT_BEHIND > parent.rss
}
