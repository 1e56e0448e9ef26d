//! A member's part of the level of a group.

use super::signed;

/// Bytes that it would leave to a group.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    /// The bytes held now.
    pub(super) bytes: u64,
    /// Its part of the group's level.
    pub(super) posted: i64,
}

impl Held {
    /// Returns what came as an event.
    pub(super) fn come(bytes: u64) -> Self {
        Self {
            bytes,
            posted: signed(bytes),
        }
    }

    /// Returns the change of the level when it leaves. Who came as an event goes as the same one, so that the two are none
    /// together.
    pub(super) fn left(self) -> i64 {
        -signed(self.bytes).max(self.posted)
    }
}

/// Memory of one kind at a walk.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Kind {
    pub(super) whole: u64,
    pub(super) pss: u64,
}

impl Kind {
    /// Returns how many share it on average, of so many members.
    pub(super) fn sharers(self, members: u32) -> f64 {
        let told = self.whole as f64 / self.pss.max(1) as f64;
        told.clamp(1.0, f64::from(members.max(1)))
    }

    /// Returns the bytes of PSS that it would have more if nobody shared it.
    pub(super) const fn gain(self) -> u64 {
        self.whole.saturating_sub(self.pss)
    }
}
