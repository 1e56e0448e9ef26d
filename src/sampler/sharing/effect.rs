//! The arithmetic of sharers.

/// Factor on the effect at an even spread of sharers.
const MARGIN: f64 = 2.0;

/// Bounds how far the PSS of `whole` bytes, which `sharers` have on average, changes when others map `change` bytes of
/// them more, or fewer.
pub(super) fn effect(whole: u64, sharers: f64, change: i64) -> u64 {
    if whole == 0 || change == 0 {
        return 0;
    }
    let whole = whole as f64;
    let after = (sharers + change as f64 / whole).max(1.0);
    let even = whole * (1.0 / sharers - 1.0 / after).abs();
    // All of it becomes its own, or nobody's in particular.
    let most = if change < 0 {
        whole - whole / sharers
    } else {
        whole / sharers
    };
    (MARGIN * even).min(most).min(change.unsigned_abs() as f64 / 2.0) as u64
}

/// Estimates how the PSS of `whole` bytes changes when others touch `change` bytes more, anywhere in an object of `size`.
pub(super) fn shift(whole: u64, sharers: f64, change: i64, size: u64) -> i64 {
    if whole == 0 || change == 0 {
        return 0;
    }
    let after = sharers + change as f64 / size.max(whole) as f64;
    (whole as f64 * (1.0 / after.max(1.0) - 1.0 / sharers)) as i64
}

/// Bytes of one kind that are shared, and among how many.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shared {
    pub(super) bytes: u64,
    pub(super) sharers: f32,
}

impl Shared {
    /// Estimates what is shared of memory that would have `gain` bytes of PSS more if its owner had it alone. `most` is
    /// an upper bound on what is shared, and `members` those known that may share it.
    pub(super) fn estimate(gain: u64, most: u64, members: u32) -> Self {
        if gain == 0 {
            return Self::default();
        }
        let (gain, most) = (gain as f64, most as f64);
        // Nothing is shared by fewer than two.
        let least = (most / (most - gain).max(1.0)).max(2.0);
        let sharers = match f64::from(members) {
            known if known < 2.0 => least,
            known => (least.min(known) * known).sqrt(),
        };
        Self {
            bytes: (gain * sharers / (sharers - 1.0)) as u64,
            sharers: sharers as f32,
        }
    }

    /// Bounds the change of its PSS.
    pub(super) fn effect(self, change: i64) -> u64 {
        effect(self.bytes, f64::from(self.sharers), change)
    }
}
