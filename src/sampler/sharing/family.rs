//! Anonymous memory, in RAM and in swap, of a process among those forked from one another.

use super::Sharing;
use super::effect::{Shared, effect};
use super::held::{Held, Kind};
use super::signed;

/// A process as a member of its family.
#[derive(Clone, Debug, Default)]
pub(super) struct Kin {
    family: Option<u32>,
    heap: Held,
    swap: Held,
    /// Anonymous pages and swap at its last walk, and the shared part of both.
    anonymous: Kind,
    swapped: Kind,
    shared_heap: Shared,
    shared_swap: Shared,
    /// The forks of it that were seen.
    forks: u32,
    /// The doings of the others by its last walk, and by when the next was asked for.
    seen: Moment,
    asked: Moment,
}

/// The doings of a family.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    heap: i64,
    swap: i64,
    /// Forks of its own, and those whose parent is not known.
    forks: u32,
}

impl Kin {
    pub(super) fn join(&mut self, image: u64, sharing: &mut Sharing) {
        let Some(family) = (image != 0).then(|| sharing.join(image)) else {
            return;
        };
        self.family = Some(family);
        self.seen = self.others(family, sharing);
        self.asked = self.seen;
    }

    /// Takes in that it was forked by `parent`, which has been walked if `is_known`.
    pub(super) fn forked(&mut self, parent: Option<(&mut Self, bool)>, rss: u64, sharing: &mut Sharing) {
        let Some(family) = self.family else { return };
        let (heap, swap) = if let Some((parent, is_known)) = parent {
            parent.forks += 1;
            let most = if is_known { parent.anonymous.whole } else { rss };
            (rss.min(most), parent.swapped.whole)
        } else {
            sharing.groups[family as usize].orphans += 1;
            (rss, 0)
        };
        (self.heap, self.swap) = (Held::come(heap), Held::come(swap));
        sharing.post(family, signed(heap), signed(swap));
    }

    pub(super) fn leave(&mut self, sharing: &mut Sharing) {
        let Some(family) = self.family else { return };
        // What a parent had alone before it forked, it leaves to its children.
        if self.others(family, sharing).forks != self.seen.forks {
            self.heap.bytes = self.anonymous.whole;
            self.swap.bytes = self.swapped.whole;
        }
        sharing.post(family, self.heap.left(), self.swap.left());
        sharing.leave(family);
        *self = Self::default();
    }

    pub(super) fn has_relatives(&self, sharing: &Sharing) -> bool {
        self.family.is_some_and(|family| sharing.group(family).members > 1)
    }

    /// Takes in that less is swapped out.
    pub(super) fn swapped_in(&mut self, less: u64, sharing: &mut Sharing) {
        let Some(family) = self.family else { return };
        let less = less.min(self.swap.bytes);
        self.swap.bytes -= less;
        self.swap.posted -= signed(less);
        sharing.post(family, 0, -signed(less));
    }

    pub(super) fn asked(&mut self, sharing: &Sharing) {
        if let Some(family) = self.family {
            self.asked = self.others(family, sharing);
        }
    }

    /// Returns what the others have come and gone with so far.
    fn others(&self, family: u32, sharing: &Sharing) -> Moment {
        let group = sharing.group(family);
        Moment {
            heap: group.level - self.heap.posted,
            swap: group.swap - self.swap.posted,
            forks: self.forks.wrapping_add(group.orphans),
        }
    }

    /// Takes in a walk that found so much, of which `shared` may be shared at most. `own_change` bounds what the process has
    /// changed itself: that, the others must hear of.
    pub(super) fn walked(&mut self, found: [Kind; 2], shared: u64, own_change: u64, sharing: &mut Sharing) {
        [self.anonymous, self.swapped] = found;
        // One just forked may be walked before it is put into its family.
        let members = self.family.map_or(0, |family| sharing.group(family).members);
        self.shared_heap = Shared::estimate(self.anonymous.gain(), shared, members);
        self.shared_swap = Shared::estimate(self.swapped.gain(), self.swapped.whole, members);
        let Some(family) = self.family else { return };
        let limit = signed(own_change);
        let change = signed(self.shared_heap.bytes) - signed(self.heap.bytes);
        let change = change.clamp(-limit, limit);
        self.heap.bytes = self.shared_heap.bytes;
        self.heap.posted += change;
        self.swap.bytes = self.shared_swap.bytes;
        self.seen = self.asked;
        sharing.post(family, change, 0);
    }

    /// Bounds what the others have changed.
    pub(super) fn bound(&self, sharing: &Sharing) -> u64 {
        let Some(family) = self.family else { return 0 };
        let now = self.others(family, sharing);
        let (heap, swap) = (now.heap - self.seen.heap, now.swap - self.seen.swap);
        if now.forks == self.seen.forks {
            return self.shared_heap.effect(heap) + self.shared_swap.effect(swap);
        }
        // A child shares what was its own.
        let of = |kind: Kind, change| effect(kind.whole, kind.sharers(u32::MAX), change);
        of(self.anonymous, heap) + of(self.swapped, swap)
    }
}
