//! The columns of the parts of the RAM.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::account::{Account, Bound, Growth, Part, PartKind, REST, SHMEM};
use crate::columns::kernel_table::{change_of, chart_of};
use crate::columns::{Column, Label, Priority, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::group::PartKey;
use crate::history::RowHistory;
use crate::history::kernel::{PartHistories, TableHistories};
use crate::model::{Missing, Reading};

#[derive(Clone, Copy, Debug)]
pub enum Parts {}

/// A part of the RAM at one snapshot.
#[derive(Clone, Copy, Debug)]
pub struct PartRow<'a> {
    pub id: &'static str,
    pub title: &'static str,
    /// Its source and formula.
    pub help: &'static str,
    /// Its size. Negative if the parts exceed the whole.
    pub bytes: Reading<i64>,
    /// The direction in which the true size may differ; `None` if the size is exact.
    pub bound: Option<Bound>,
    /// True for a part of the part above it.
    pub is_within: bool,
    /// The whole RAM.
    pub total: Reading<u64>,
    pub history: Option<&'a RowHistory>,
    /// The time span of its sparkline.
    pub span: Duration,
    /// The raw name of the slab cache that grows in it.
    pub cache: Option<&'a [u8]>,
    /// The memory into which it may still grow.
    pub room: Option<u64>,
    /// The mount point, if it is one file system of shared memory.
    pub mount: Option<&'a Arc<[u8]>>,
}

impl<'a> PartRow<'a> {
    /// Returns the rows of an account: each part followed by its own parts, and the unaccounted rest last.
    pub fn of_account(account: &Account, histories: &'a PartHistories, room: Option<u64>, span: Duration) -> Vec<Self> {
        let row = |id, title, help, bytes| Self {
            id,
            title,
            help,
            bytes,
            bound: None,
            is_within: false,
            total: account.total,
            history: histories.get(id),
            span,
            cache: None,
            room,
            mount: None,
        };
        let of_part = |part: &Part, is_within| Self {
            bound: part.bound,
            is_within,
            ..row(
                part.id,
                part.title,
                part.help,
                part.bytes.map(|n| i64::try_from(n).unwrap_or(i64::MAX)),
            )
        };
        let mut rows = Vec::new();
        for part in &account.parts {
            rows.push(of_part(part, false));
            rows.extend(part.within.iter().map(|inner| of_part(inner, true)));
        }
        rows.push(row(REST, "not accounted for", account.rest_help, account.rest));
        rows
    }

    /// Returns the rows of the file systems in memory, beside the `parts` of an account.
    pub fn of_mounts(parts: &[Self], mounts: &'a TableHistories) -> Vec<Self> {
        let Some(whole) = parts.iter().find(|part| part.id == SHMEM) else {
            return Vec::new();
        };
        let rows = mounts.all().map(|(path, history)| Self {
            bytes: history
                .footprint()
                .last()
                .map_or(Err(Missing::Pending), |n| Ok(i64::try_from(n).unwrap_or(i64::MAX))),
            bound: None,
            is_within: false,
            history: Some(history),
            mount: Some(path),
            ..*whole
        });
        rows.collect()
    }

    pub fn key(&self) -> PartKey {
        PartKey {
            id: self.id,
            label: PartKind::find(self.id).map_or(self.title, |kind| kind.label),
            mount: self.mount.cloned(),
        }
    }

    /// Returns true if this kernel does not report it, or if it was empty for the whole span of its sparkline.
    pub fn is_idle(&self) -> bool {
        let was_more = || {
            let bands = self.history?.footprint().over(self.span).recent(1);
            Some(bands.iter().flatten().any(|band| band.max > MIN_SEEN))
        };
        let is_empty = || self.bytes == Ok(0) && was_more() != Some(true);
        self.id != REST && (self.bytes == Err(Missing::Unsupported) || is_empty())
    }

    /// Returns the seconds until it fills the memory at its pace; `None` if its growth cannot do so.
    pub fn eta(&self) -> Option<f64> {
        let may = matches!(Growth::of(self.id), Growth::Leak | Growth::Processes);
        let history = self.history.filter(|_| may && !self.is_within)?;
        history.trend().eta(self.room)
    }

    /// Returns a value of the history; blank if the part is not judged.
    fn judged(&self, value: impl FnOnce(&'a RowHistory) -> Value<'a>) -> Value<'a> {
        match self.history {
            Some(history) if Growth::of(self.id).is_judged() && !self.is_within => value(history),
            _ => Value::Blank,
        }
    }
}

impl TableKind for Parts {
    type Row<'a> = PartRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;
}

type Entry = Column<Parts>;

/// The largest size at which a part still counts as unused: figures that are read one after another differ by this much.
const MIN_SEEN: u64 = 1 << 20;

pub static COLUMNS: &[Entry] = &[
    Entry::text("part", "PART", 31, |r| Value::Text(Cow::Borrowed(r.title.as_bytes())))
        .help("The part of the RAM; its own parts are listed below it and need not sum to it.")
        .label(Label::Group)
        .priority(Priority::Highest),
    Entry::figure("bytes", "BYTES", Unit::Bytes, 6, |r| {
        Value::bytes(r.bytes.map(i64::unsigned_abs))
    })
    .help("Its size. The parts, including unaccounted memory, sum to MemTotal.")
    .priority(Priority::Highest),
    Entry::figure("share", "%", Unit::Share, 5, |r| {
        Value::share(r.bytes.map(|n| n as f64), r.total)
    })
    .help("Its share of the RAM. Formula: BYTES ÷ MemTotal. Filter: share>10%.")
    .priority(Priority::High),
    // Drawn by the page.
    Entry::text("bar", "", 8, |_| Value::Blank)
        .help("Its share, drawn as a bar on page 2.")
        .grows()
        .priority(Priority::Normal),
    Entry::figure("change", "Δ", Unit::Delta, 6, |r| {
        change_of(r.history, r.bytes.unwrap_or(0).unsigned_abs())
    })
    .timed()
    .help("Its change over the same period as ΔPSS (ui.delta).")
    .priority(Priority::High),
    Entry::figure("history", "5 MIN", Unit::Chart, 10, |r| chart_of(r.history, r.span))
        .help("Its size over the time span that x and X choose. In a filter, its growth: history>1M/min.")
        .priority(Priority::Normal),
    Entry::figure("trend", "TREND", Unit::Trend, 16, |r| {
        r.judged(|history| Value::trend(history.trend(), history.change().pss, None))
    })
    .help(
        "Its trend, and how fast its lowest values change, judged like processes: ▲ it leaks; △ it grows; ~ it warms \
         up; ▽ it falls. Memory that the kernel reclaims on demand is never reported as a leak. Filter: trend>1M/min.",
    )
    .priority(Priority::High),
    Entry::figure("verdict", "VERDICT", Unit::Verdict, 9, |r| {
        r.judged(|history| Value::Verdict(history.trend().verdict))
    })
    .help("The verdict: leaking, growing, warming, steady or shrinking. Filter: verdict:leaking.")
    .priority(Priority::Low),
    Entry::figure("eta", "FULL IN", Unit::Seconds, 7, |r| {
        r.eta().map_or(Value::Blank, Value::Forecast)
    })
    .help(
        "How long until growth at this rate uses up all memory. Formula: room ÷ rate. Room is mem_available + \
         free swap. Free swap is SwapFree + SwapCached, minus the memory that zswap may still use; SwapFree on zram counts × \
         (1 − 1 ÷ compression). In a cgroup, room is the memory that is left below its limits.",
    )
    .priority(Priority::Normal),
];

impl Filterable for PartRow<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        match field {
            TextField::CommandLine | TextField::Group if self.mount.is_some() => {
                Some(self.key().name().into_owned().into())
            }
            TextField::CommandLine | TextField::Group => Some(Cow::Borrowed(self.id.as_bytes())),
            TextField::Comm => Some(Cow::Borrowed(self.title.as_bytes())),
            _ => None,
        }
    }

    fn cause(&self) -> Option<Cow<'_, [u8]>> {
        Some([b"slab ", self.cache?].concat().into())
    }

    fn number(&self, column: usize) -> Option<f64> {
        (COLUMNS.get(column)?.value)(self).number()
    }
}
