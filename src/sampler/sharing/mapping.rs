//! An object that a process maps, in the group of all that map it.

use super::effect::{effect, shift};
use super::held::Held;
use super::{Sharing, signed};

/// Bytes that one process touches between two glances which are little.
const MAX_DRIFT: i64 = 4 << 20;

/// An object that it maps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mapping {
    pub(super) group: u32,
    /// The most members since its last walk; 0 before.
    pub(super) members: u32,
    pub(super) is_shmem: bool,
    /// Sharers of what it has mapped, at the last walk.
    pub(super) sharers: f32,
    /// The size of all its areas.
    pub(super) size: u64,
    pub(super) held: Held,
    /// Its part of the drift of the group.
    pub(super) drifted: i64,
    /// The doings of the others at its last walk, and when the next was asked for.
    pub(super) seen: Doings,
    pub(super) asked: Doings,
}

/// The doings of the others in a group, as running sums.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Doings {
    /// Bytes that came and went at once.
    level: i64,
    /// Bytes touched little by little.
    drift: i64,
    /// Bytes in place of others.
    replaced: u64,
}

/// The effect of the others' doings on a PSS.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effect {
    /// The bound on what came and went at once, and in place of others.
    pub(super) bound: u64,
    /// The bound on what was touched little by little.
    pub(super) drift: u64,
    /// An estimate of that.
    pub(super) shift: i64,
}

impl Mapping {
    pub(super) fn join(&self, group: u32) -> Self {
        Self {
            group,
            held: Held::default(),
            drifted: 0,
            ..*self
        }
    }

    /// Leaves its group: it was unmapped, or its process has ended.
    pub(super) fn leave(&self, sharing: &mut Sharing) {
        let whole = Held {
            posted: self.held.posted + self.drifted,
            ..self.held
        };
        sharing.post(self.group, whole.left(), 0);
    }

    /// Returns the doings of the others so far.
    pub(super) fn others(&self, sharing: &Sharing) -> Doings {
        let group = sharing.group(self.group);
        Doings {
            level: group.level - self.held.posted,
            drift: group.drift - self.drifted,
            replaced: group.replaced,
        }
    }

    /// Takes in by how much it has grown, or shrunk.
    pub(super) fn resize(&mut self, change: i64, sharing: &mut Sharing) {
        self.held.bytes = self.held.bytes.saturating_add_signed(change);
        // Who is alone has nobody to tell.
        if sharing.group(self.group).members < 2 {
            return;
        }
        if (0..=MAX_DRIFT).contains(&change) {
            self.drifted += change;
            sharing.post_drift(self.group, change);
        } else {
            self.held.posted += change;
            sharing.post(self.group, change, 0);
        }
    }

    /// Takes in that it has mapped so many bytes in place of others, of which only the others need to hear.
    pub(super) fn replace(&mut self, bytes: u64, sharing: &mut Sharing) {
        let bytes = bytes.min(self.size);
        if bytes > 0 && self.members > 1 {
            sharing.replace(self.group, bytes);
            self.seen.replaced += bytes;
        }
    }

    /// Returns what the others' doings since the last walk have done to the PSS.
    pub(super) fn effect(&mut self, sharing: &Sharing) -> Effect {
        let group = sharing.group(self.group);
        let now = self.others(sharing);
        let (level, drift) = (now.level - self.seen.level, now.drift - self.seen.drift);
        // One that left may have come since this was last looked at.
        self.members = self.members.max(group.members + u32::from(level < 0));
        // As many share its kind on average, but this object had at least the one that left.
        let least = if level < 0 && self.members > 1 { 2.0 } else { 1.0 };
        let sharers = f64::from(self.sharers).min(f64::from(self.members)).max(least);
        let of = |change| effect(self.held.bytes, sharers, change);
        let replaced = signed(now.replaced.saturating_sub(self.seen.replaced));
        Effect {
            bound: of(level) + of(replaced).max(of(-replaced)),
            drift: of(drift),
            // Pages touched little by little lie anywhere in the object.
            shift: shift(self.held.bytes, sharers, drift, self.size),
        }
    }
}
