//! The columns of the parts of the RAM, of which the account of the system is made.

use std::borrow::Cow;
use std::time::Duration;

use crate::account::headroom::machine_headroom;
use crate::account::{Account, Bound, Growth, Part, PartKind, REST};
use crate::columns::{Column, Label, Priority, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::group::PartKey;
use crate::history::RowHistory;
use crate::history::kernel::PartHistories;
use crate::model::{Missing, Reading, Snapshot};

#[derive(Clone, Copy, Debug)]
pub enum Parts {}

/// A part of the RAM at one snapshot.
#[derive(Clone, Copy, Debug)]
pub struct PartRow<'a> {
    /// Its name in filters, JSON and CSV.
    pub id: &'static str,
    /// Its name on the screen.
    pub title: &'static str,
    /// Its source and formula.
    pub help: &'static str,
    /// Its size; below zero where more was counted than there is.
    pub bytes: Reading<i64>,
    /// The side on which its true size is, where that is not known.
    pub bound: Option<Bound>,
    /// It is a part of the part above it.
    pub is_within: bool,
    /// The whole RAM.
    pub total: Reading<u64>,
    /// Its past, as far as it is kept.
    pub history: Option<&'a RowHistory>,
    /// The time that its sparkline spans.
    pub span: Duration,
    /// The slab cache that grows in it, by its raw name.
    pub cache: Option<&'a [u8]>,
    pub snapshot: &'a Snapshot,
}

impl<'a> PartRow<'a> {
    /// Returns the rows of an account, each part followed by the parts of it; what is not accounted for is the last.
    pub fn of_account(
        account: &Account,
        histories: &'a PartHistories,
        snapshot: &'a Snapshot,
        span: Duration,
    ) -> Vec<Self> {
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
            snapshot,
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

    pub fn key(&self) -> PartKey {
        PartKey {
            id: self.id,
            label: PartKind::find(self.id).map_or(self.title, |kind| kind.label),
        }
    }

    /// Returns true if this kernel does not tell of it, or it is empty and was so all the time that its sparkline spans.
    pub fn is_idle(&self) -> bool {
        let was_more = || {
            let bands = self.history?.footprint().over(self.span).recent(1);
            Some(bands.iter().flatten().any(|band| band.max > MIN_SEEN))
        };
        let is_empty = || self.bytes == Ok(0) && was_more() != Some(true);
        self.id != REST && (self.bytes == Err(Missing::Unsupported) || is_empty())
    }

    /// Returns the seconds until it has taken all memory at its pace; `None` where it is no part that does.
    pub fn eta(&self) -> Option<f64> {
        let may = matches!(Growth::of(self.id), Growth::Leak | Growth::Processes);
        let history = self.history.filter(|_| may && !self.is_within)?;
        history.trend().eta(machine_headroom(self.snapshot))
    }

    /// Takes a value from what is judged of it; nothing where it is not judged.
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

/// Bytes up to which an empty part counts as never used: figures that are read one after another differ by so much.
const MIN_SEEN: u64 = 1 << 20;

fn share<'a>(row: &'a PartRow<'a>) -> Value<'a> {
    match (row.bytes, row.total) {
        (Ok(_), Ok(0)) => Value::Blank,
        (Ok(bytes), Ok(total)) => Value::Share(bytes as f64 / total as f64),
        (Err(why), _) | (_, Err(why)) => Value::Missing(why),
    }
}

/// Every column, from left to right.
pub static COLUMNS: &[Entry] = &[
    Entry::text("part", "PART", 31, |r| Value::Text(Cow::Borrowed(r.title.as_bytes())))
        .help("The part of the RAM; parts of a part stand below it, and need not sum to it.")
        .label(Label::Group)
        .priority(Priority::Highest),
    Entry::figure("bytes", "BYTES", Unit::Bytes, 6, |r| match r.bytes {
        Ok(bytes) => Value::Bytes(bytes.unsigned_abs()),
        Err(why) => Value::Missing(why),
    })
    .help("Its size. All parts, with what is not accounted for, sum to MemTotal.")
    .priority(Priority::Highest),
    Entry::figure("share", "%", Unit::Share, 5, share)
        .help("Its share of the RAM. Formula: BYTES ÷ MemTotal. Filter: share>10%.")
        .priority(Priority::High),
    // The page draws it.
    Entry::text("bar", "", 8, |_| Value::Blank)
        .help("Its share as a bar, on the page.")
        .grows()
        .priority(Priority::Normal),
    Entry::figure("change", "Δ", Unit::Delta, 6, |r| {
        let change = r.history.and_then(|history| history.change().pss);
        change.map_or(Value::Blank, |by| Value::Delta(by, r.bytes.unwrap_or(0).unsigned_abs()))
    })
    .timed()
    .help("Its change over the time that ΔPSS is taken over (ui.delta).")
    .priority(Priority::High),
    Entry::figure("history", "5 MIN", Unit::Chart, 10, |r| {
        r.history.map_or(Value::Blank, |history| {
            Value::Chart(history.footprint().over(r.span), history.change().growth)
        })
    })
    .help("Its size over the time that x and X choose. As a number, its growth: history>1M/min.")
    .priority(Priority::Normal),
    Entry::figure("trend", "TREND", Unit::Trend, 16, |r| {
        r.judged(|history| Value::Trend(*history.trend(), history.change().pss))
    })
    .help(
        "What it does, and how fast its lowest values move, judged as processes are: ▲ it leaks; △ it grows; ~ it warms up; \
         ▽ it falls. What the kernel takes back when memory is needed is never called a leak. Filter: trend>1M/min.",
    )
    .priority(Priority::High),
    Entry::figure("verdict", "VERDICT", Unit::Verdict, 9, |r| {
        r.judged(|history| Value::Verdict(history.trend().verdict))
    })
    .help("The word of that: leaking, growing, warming, steady or shrinking. Filter: verdict:leaking.")
    .priority(Priority::Low),
    Entry::figure("eta", "FULL IN", Unit::Seconds, 7, |r| r.eta().map_or(Value::Blank, Value::Forecast))
        .help(
            "How long until growth at this pace has taken all memory there is, of what grows. Formula: room ÷ pace, room \
             being mem_available + SwapFree (of what is on zram × (1 − 1 ÷ compression), less what zswap may still take); in a cgroup, what its limits leave.",
        )
        .priority(Priority::Normal),
];

/// A part has a name, by its id and as shown, and figures.
impl Filterable for PartRow<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        match field {
            TextField::CommandLine | TextField::Group => Some(Cow::Borrowed(self.id.as_bytes())),
            TextField::Comm => Some(Cow::Borrowed(self.title.as_bytes())),
            _ => None,
        }
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn cause(&self) -> Option<Cow<'_, [u8]>> {
        Some([b"slab ", self.cache?].concat().into())
    }

    fn number(&self, column: usize) -> Option<f64> {
        (COLUMNS.get(column)?.value)(self).number()
    }
}
