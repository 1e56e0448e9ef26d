//! A process among those it may share memory with.

use super::Sharing;
use super::family::Kin;
use super::held::Kind;
use super::mapped::{Found, LastMaps, Mapped};
use crate::model::Memory;
use crate::proc::objects::Objects;

/// The result of a walk, as far as it matters for what is shared.
#[derive(Clone, Copy, Debug)]
pub struct Walked<'a> {
    /// The figures.
    pub memory: &'a Memory,
    /// Anonymous pages, whole; `None` where the kernel does not tell.
    pub anonymous: Option<u64>,
    /// `VmSwap`, where it is known.
    pub swap: Option<u64>,
    /// The size of the address space.
    pub vsize: u64,
    /// The objects mapped, where they were read.
    pub objects: Option<&'a Objects>,
    /// Upper bound on the bytes that the process has changed since its walk before.
    pub own_change: u64,
    /// It was there at the first scan, so that what it has is news to nobody.
    pub is_initial: bool,
}

/// Bounds on what others have changed since a walk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExternalBound {
    /// The bound on PSS and `SwapPss` together.
    pub footprint: u64,
    /// The part of it that is of pages of files and shmem touched little by little.
    pub drift: u64,
    /// Estimates of what that changes of the PSS of files, and of shmem.
    pub shifts: [i64; 2],
    /// The bound on the change of files too small to be told of.
    pub small: u64,
    /// The bound on `Swap`, where that is not the same change.
    pub swap: u64,
}

/// The estimator of one process.
#[derive(Clone, Debug, Default)]
pub struct Sharer {
    kin: Kin,
    mapped: Mapped,
    /// Swapped-out shmem, and the machine's use of swap at its last walk, and when the next was asked for.
    swapped_shmem: u64,
    seen_swap: u64,
    asked_swap: u64,
    is_walked: bool,
    /// The last bound, and the count of events it is of.
    last: ExternalBound,
    events: u64,
}

impl Sharer {
    /// Joins the family of `image`, the digest of where its program lies; none where that is hidden, as 0.
    pub fn join(&mut self, image: u64, sharing: &mut Sharing) {
        self.kin.join(image, sharing);
    }

    /// Takes in that it was forked, by `parent` if that is known, and that neither has run another program since. `rss` is
    /// its own.
    pub fn forked(&mut self, parent: Option<&mut Self>, rss: u64, sharing: &mut Sharing) {
        let parent = parent.map(|parent| {
            self.mapped.inherit(&parent.mapped, sharing);
            (&mut parent.kin, parent.is_walked)
        });
        self.kin.forked(parent, rss, sharing);
    }

    /// Leaves all groups: it has ended, or runs another program.
    pub fn leave(&mut self, sharing: &mut Sharing) {
        self.kin.leave(sharing);
        self.mapped.leave(sharing);
        *self = Self::default();
    }

    /// Leaves its family: it has one address space with another of its members.
    pub fn leave_family(&mut self, sharing: &mut Sharing) {
        self.kin.leave(sharing);
    }

    /// Returns true if others of its family live.
    pub fn has_relatives(&self, sharing: &Sharing) -> bool {
        self.kin.has_relatives(sharing)
    }

    /// Takes in its swap of a glance, from its swap of the glance before: what it read back it leaves to its family.
    pub fn swapped(&mut self, before: u64, now: u64, sharing: &mut Sharing) {
        if now < before {
            self.kin.swapped_in(before - now, sharing);
        }
    }

    /// Takes in by how much its files and shmem have grown or shrunk from one glance to the next: the others hear of it.
    pub fn resized(&mut self, change: i64, sharing: &mut Sharing) {
        self.mapped.resized(change, sharing);
    }

    /// Remembers what the others have done by now, since a walk is asked for: what they do from here on it may miss.
    pub fn asked(&mut self, sharing: &Sharing) {
        self.kin.asked(sharing);
        self.mapped.asked(sharing);
        self.asked_swap = sharing.swap_used;
    }

    /// Returns what it had when its `maps` was last read, by which a walk decides to read it again.
    pub fn last_maps(&self) -> LastMaps {
        self.mapped.last_maps()
    }

    /// Takes in a walk.
    pub fn walked(&mut self, walked: &Walked<'_>, sharing: &mut Sharing) {
        let memory = walked.memory;
        let anonymous = walked
            .anonymous
            .unwrap_or_else(|| memory.pss_anon.unwrap_or(memory.pss));
        let files = memory.rss.saturating_sub(anonymous);
        // Before Linux 5.4, nothing splits a PSS.
        let share = |part: u64| (part as f64 * (memory.pss as f64 / memory.rss.max(1) as f64)) as u64;
        let pss = match (memory.pss_file, memory.pss_shmem) {
            (Ok(file), Ok(shmem)) => [file, shmem],
            _ => [share(files), 0],
        };
        let found = Found {
            files,
            pss,
            vsize: walked.vsize,
            objects: walked.objects,
            own_change: walked.own_change,
            is_first: !self.is_walked,
            is_initial: walked.is_initial,
        };
        self.mapped.walked(&found, sharing);
        // Of what is private, files have no more than their PSS.
        let own = memory.uss().saturating_sub(pss[0].saturating_add(pss[1]));
        let shared = anonymous.saturating_sub(own).min(memory.shared());
        let anonymous = Kind {
            whole: anonymous,
            pss: memory.pss_anon.unwrap_or_else(|_| share(anonymous)),
        };
        let swapped = walked.swap.unwrap_or(memory.swap).min(memory.swap);
        let swap = Kind {
            whole: swapped,
            pss: memory.swap_pss.unwrap_or(swapped),
        };
        let own_change = if walked.is_initial { 0 } else { walked.own_change };
        self.kin.walked([anonymous, swap], shared, own_change, sharing);
        self.swapped_shmem = memory.swap - swapped;
        self.seen_swap = self.asked_swap;
        self.is_walked = true;
        self.last = self.bound(sharing);
    }

    /// Bounds what others have changed since the last walk.
    pub fn external(&mut self, sharing: &Sharing) -> ExternalBound {
        if self.events != sharing.events {
            self.last = self.bound(sharing);
        }
        self.last
    }

    fn bound(&mut self, sharing: &Sharing) -> ExternalBound {
        self.events = sharing.events;
        if !self.is_walked {
            return ExternalBound::default();
        }
        let outside = self.mapped.outside(sharing);
        ExternalBound {
            footprint: self.kin.bound(sharing) + outside.bound + outside.drift,
            drift: outside.drift,
            shifts: outside.shifts,
            small: outside.small,
            swap: sharing.swap_used.abs_diff(self.seen_swap).min(self.swapped_shmem),
        }
    }
}
