//! The retention policy: how much a history stores, so that it stays within its memory bound.

use std::cmp::Reverse;
use std::time::Duration;

use crate::history::evaluation::RowNumber;
use crate::history::row::RowHistory;
use crate::history::time_series::Retention;

/// Minimum time before storing more again, to avoid oscillation.
const RAISE_DELAY: Duration = Duration::from_secs(60);
/// Inverse share of the bound that is freed when rows lose their past, so that not every snapshot has to do it.
const MARGIN: usize = 10;
/// Inverse share of the bound that stays free when rows get a past, as the others still grow.
const RESERVE: usize = 5;
/// Assumed memory of a row's past at the least retention, in bytes: an hour of changes by the second in both series.
const PAST: usize = 5000;
/// A row replaces the past of another row if it is worth this many times as much.
const CLEARLY_MORE: u64 = 2;
/// Maximum number of rows replaced at once.
const MAX_SWAPS: usize = 100;

/// Data missing from a history because memory or time ran out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortfall {
    /// Processes without a past: they have figures and changes, but no growth, chart or verdict.
    pub processes: usize,
    pub groups: usize,
    /// The retention of all other rows.
    pub retention: Retention,
    /// Bytes beyond the bound, which is too low for so many processes even without any past.
    pub excess: usize,
    /// Rows with an overdue judgement.
    pub waiting: usize,
    /// The time for which the first of them has been due.
    pub longest_wait: Duration,
}

impl Shortfall {
    /// Returns the rows without a past as text, `1200 processes, 31 groups`; `None` if there are none.
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
    /// In bytes.
    pub(super) max: usize,
    pub(super) retention: Retention,
    changed_at: Duration,
    /// Not all rows have a past. A row that never changed gets none when it does.
    pub(super) is_short: bool,
}

impl RetentionPolicy {
    pub(super) fn new(max: u64) -> Self {
        Self {
            max: usize::try_from(max).unwrap_or(usize::MAX),
            retention: Retention::default(),
            changed_at: Duration::ZERO,
            is_short: false,
        }
    }

    pub(super) const fn is_exceeded(&self, bytes: usize) -> bool {
        bytes > self.max
    }

    /// Returns a new retention to apply, or `None`: less if the bound is exceeded, more if less than a third is in use,
    /// so that twice as much fits.
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

    /// Returns true if it is time to choose again which rows have a past.
    pub(super) fn is_choice_due(&self, now: Duration) -> bool {
        self.is_short && now.saturating_sub(self.changed_at) >= RAISE_DELAY
    }

    /// Drops the past of the least valuable rows if even the least retention exceeds the bound. They get no past until
    /// [`Self::choose`], so that they do not lose it repeatedly.
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

    /// Chooses again which rows have a past: those without one get one if there is room, or if they are worth clearly
    /// more than some that have one.
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
