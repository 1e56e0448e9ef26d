//! How much is kept, so that all of it stays within the memory there is for it.

use std::time::Duration;

use crate::history::row::RowHistory;
use crate::history::time_series::Retention;

/// How often it is looked at while there is room; near the bound at every snapshot.
const EVERY: Duration = Duration::from_secs(5);
/// From one change for the better to the next.
const PATIENCE: Duration = Duration::from_secs(60);

/// The bound, and how detailed what is kept may be for it.
#[derive(Debug)]
pub(super) struct Thrift {
    max: usize,
    detail: Retention,
    looked: Option<Duration>,
    /// More than three quarters were taken at the last look.
    near: bool,
    changed: Duration,
}

impl Thrift {
    pub(super) fn new(max: u64) -> Self {
        Self {
            max: usize::try_from(max).unwrap_or(usize::MAX),
            detail: Retention::default(),
            looked: None,
            near: false,
            changed: Duration::ZERO,
        }
    }

    pub(super) const fn detail(&self) -> Retention {
        self.detail
    }

    pub(super) const fn max(&self) -> usize {
        self.max
    }

    pub(super) const fn exceeds(&self, bytes: usize) -> bool {
        bytes > self.max
    }

    /// So much was taken at this look.
    pub(super) const fn saw(&mut self, bytes: usize) {
        self.near = bytes > self.max / 4 * 3;
    }

    /// Whether to look, which costs a look at every series.
    pub(super) fn is_due(&mut self, now: Duration) -> bool {
        let due = self.near || self.looked.is_none_or(|at| now.saturating_sub(at) >= EVERY);
        if due {
            self.looked = Some(now);
        }
        due
    }

    /// Another detail to keep from now on: less where there is too much, more where there is room for twice
    /// what there is, and some. `None` where it stays.
    pub(super) fn change(&mut self, bytes: usize, now: Duration) -> Option<Retention> {
        let detail = if self.exceeds(bytes) {
            self.detail.less()
        } else if bytes < self.max / 3 && now.saturating_sub(self.changed) >= PATIENCE {
            self.detail.more()
        } else {
            self.detail
        };
        (detail != self.detail).then(|| {
            self.detail = detail;
            self.changed = now;
            detail
        })
    }
}

/// Where even the least of all is too much: forgets what was, of the least suspect first, of those the
/// smallest, until a tenth of the bound is free.
pub(super) fn forget<'a>(all: impl Iterator<Item = &'a mut RowHistory>, mut bytes: usize, max: usize) {
    let mut all: Vec<_> = all.filter(|series| !series.footprint_series().is_flat()).collect();
    all.sort_by_cached_key(|series| {
        let footprint = series.footprint_series().newest().map_or(0, |(_, bytes)| bytes);
        (series.trend().verdict, footprint)
    });
    for series in all {
        if bytes <= max - max / 10 {
            return;
        }
        let before = series.bytes();
        series.forget();
        bytes = bytes.saturating_sub(before - series.bytes());
    }
}
