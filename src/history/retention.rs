//! The retention policy: how much is kept, so that a history stays within its memory bound.

use std::time::Duration;

use crate::history::row::RowHistory;
use crate::history::time_series::Retention;

/// Time between checks while there is room. Near the bound every snapshot is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum time before more is kept again, so that the retention does not swing.
const RAISE_DELAY: Duration = Duration::from_secs(60);

/// The memory bound, and the retention that keeps it.
#[derive(Debug)]
pub(super) struct RetentionPolicy {
    max: usize,
    retention: Retention,
    checked_at: Option<Duration>,
    /// More than three quarters were in use at the last check.
    is_near: bool,
    changed_at: Duration,
}

impl RetentionPolicy {
    /// Creates a policy with a bound in bytes.
    pub(super) fn new(max: u64) -> Self {
        Self {
            max: usize::try_from(max).unwrap_or(usize::MAX),
            retention: Retention::default(),
            checked_at: None,
            is_near: false,
            changed_at: Duration::ZERO,
        }
    }

    pub(super) const fn retention(&self) -> Retention {
        self.retention
    }

    pub(super) const fn is_exceeded(&self, bytes: usize) -> bool {
        bytes > self.max
    }

    /// Takes the memory in use at a check.
    pub(super) const fn observe(&mut self, bytes: usize) {
        self.is_near = bytes > self.max / 4 * 3;
    }

    /// Returns true if the memory in use is to be checked now. A check costs a pass over all series.
    pub(super) fn is_due(&mut self, now: Duration) -> bool {
        let due = self.is_near
            || self
                .checked_at
                .is_none_or(|at| now.saturating_sub(at) >= CHECK_INTERVAL);
        if due {
            self.checked_at = Some(now);
        }
        due
    }

    /// Returns another retention to apply: less where the bound is exceeded, more where less than a third is in use,
    /// so that twice as much has room. `None` where it stays.
    pub(super) fn adjust(&mut self, bytes: usize, now: Duration) -> Option<Retention> {
        let retention = if self.is_exceeded(bytes) {
            self.retention.halved()
        } else if bytes < self.max / 3 && now.saturating_sub(self.changed_at) >= RAISE_DELAY {
            self.retention.doubled()
        } else {
            self.retention
        };
        (retention != self.retention).then(|| {
            self.retention = retention;
            self.changed_at = now;
            retention
        })
    }

    /// Clears the past of rows, where the least retention still exceeds the bound: those with the least alarming
    /// verdict first, of these the smallest, until a tenth of the bound is free.
    pub(super) fn clear_least_alarming<'a>(&self, rows: impl Iterator<Item = &'a mut RowHistory>, mut bytes: usize) {
        let mut rows: Vec<_> = rows.filter(|row| !row.footprint_series().is_constant()).collect();
        rows.sort_by_cached_key(|row| (row.trend().verdict, row.newest_footprint()));
        for row in rows {
            if bytes <= self.max - self.max / 10 {
                return;
            }
            let before = row.bytes();
            row.clear_past();
            bytes = bytes.saturating_sub(before - row.bytes());
        }
    }
}
