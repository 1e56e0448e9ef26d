//! The retention policy: how much is kept, so that a history stays within its memory bound.

use std::cmp::Reverse;
use std::time::Duration;

use crate::history::evaluation::RowNumber;
use crate::history::row::RowHistory;
use crate::history::time_series::Retention;

/// Minimum time before more is kept again, so that what is kept does not swing.
const RAISE_DELAY: Duration = Duration::from_secs(60);
/// Share of the bound, as its inverse, that is made free where rows lose their past: so it is not done at every snapshot.
const MARGIN: usize = 10;
/// Share of the bound, as its inverse, that stays free where rows get one: those that have one still grow.
const RESERVE: usize = 5;
/// Memory that the past of a row is taken to need at the least retention, in bytes: that of an hour of changes by the
/// second in both of its series.
const PAST: usize = 5000;
/// Multiple of the worth of a row with a past that one without must have to take its place.
const CLEARLY_MORE: u64 = 2;
/// Maximum number of rows that change places at once.
const MAX_SWAPS: usize = 100;

/// Something that a history does not keep, or has not done yet, for want of memory or time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortfall {
    /// Processes without a past: they have figures and changes, but no growth, chart or verdict.
    pub processes: usize,
    /// Groups without a past.
    pub groups: usize,
    /// The share of the buckets that the other rows keep.
    pub retention: Retention,
    /// Bytes beyond the bound: even without any past, so many processes need that much.
    pub excess: usize,
    /// Rows that are due to be judged.
    pub waiting: usize,
    /// The time that the first of them has been due for.
    pub longest_wait: Duration,
}

impl Shortfall {
    /// Returns the rows without a past in words, `1200 processes, 31 groups`; `None` where there is none.
    pub fn rows_text(&self) -> Option<String> {
        let count = |n: usize, one: &str, more: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {more}")),
        };
        let processes = count(self.processes, "process", "processes");
        let groups = count(self.groups, "group", "groups");
        let words: Vec<String> = processes.into_iter().chain(groups).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// The memory bound, and what is kept within it.
#[derive(Debug)]
pub(super) struct RetentionPolicy {
    max: usize,
    retention: Retention,
    changed_at: Duration,
    /// Not every row has a past.
    is_short: bool,
}

impl RetentionPolicy {
    /// Creates a policy with a bound in bytes.
    pub(super) fn new(max: u64) -> Self {
        Self {
            max: usize::try_from(max).unwrap_or(usize::MAX),
            retention: Retention::default(),
            changed_at: Duration::ZERO,
            is_short: false,
        }
    }

    pub(super) const fn retention(&self) -> Retention {
        self.retention
    }

    /// Returns true if a row that never changed may have a past when it does.
    pub(super) const fn has_room(&self) -> bool {
        !self.is_short
    }

    pub(super) const fn is_exceeded(&self, bytes: usize) -> bool {
        bytes > self.max
    }

    /// Returns the bytes beyond the bound.
    pub(super) const fn excess(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.max)
    }

    /// Returns another retention to apply: less where the bound is exceeded, more where less than a third is in use,
    /// so that twice as much has room. `None` where it stays.
    pub(super) fn adjust(&mut self, bytes: usize, now: Duration) -> Option<Retention> {
        let retention = if self.is_exceeded(bytes) {
            self.retention.halved()
        } else if !self.is_short && bytes < self.max / 3 && now.saturating_sub(self.changed_at) >= RAISE_DELAY {
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

    /// Returns true if it is time to choose anew which rows have a past: not all of them have.
    pub(super) fn is_choice_due(&self, now: Duration) -> bool {
        self.is_short && now.saturating_sub(self.changed_at) >= RAISE_DELAY
    }

    /// Takes the past of the rows that are worth least, where the least retention still exceeds the bound. They are
    /// without one from then on, rather than losing it again and again.
    pub(super) fn cut<'a>(
        &mut self,
        rows: impl Iterator<Item = (RowNumber, &'a mut RowHistory)>,
        mut bytes: usize,
        now: Duration,
    ) {
        let mut rows: Vec<_> = rows.filter(|(_, row)| !row.is_constant()).collect();
        rows.sort_by_cached_key(|(number, row)| (row.worth(), Reverse(*number)));
        for (_, row) in rows {
            if bytes <= self.max - self.max / MARGIN {
                break;
            }
            let before = row.bytes();
            row.cut();
            bytes = bytes.saturating_sub(before - row.bytes());
        }
        self.is_short = true;
        self.changed_at = now;
    }

    /// Chooses anew which rows have a past. Rows without one get one where there is room, or where they are clearly
    /// worth more than some that have.
    pub(super) fn choose<'a>(
        &mut self,
        rows: impl Iterator<Item = (RowNumber, &'a mut RowHistory)>,
        bytes: usize,
        now: Duration,
    ) {
        self.changed_at = now;
        let rows = rows.filter(|(_, row)| !row.is_constant() || row.is_without_past());
        let (mut without, mut with): (Vec<_>, Vec<_>) = rows.partition(|(_, row)| row.is_without_past());
        without.sort_by_cached_key(|(number, row)| (Reverse(row.worth()), *number));
        with.sort_by_cached_key(|(number, row)| (row.worth(), Reverse(*number)));
        let room = (self.max - self.max / RESERVE).saturating_sub(bytes) / PAST;
        self.is_short = without.len() > room;
        let mut waiting = without.into_iter();
        for (_, row) in waiting.by_ref().take(room) {
            row.admit();
        }
        for ((_, row), (_, other)) in waiting.zip(with).take(MAX_SWAPS) {
            let ((grows, worth), (other_grows, other_worth)) = (row.worth(), other.worth());
            if (other_grows && !grows) || worth / CLEARLY_MORE <= other_worth {
                break;
            }
            row.admit();
            other.cut();
        }
    }
}
