//! The columns of the kernel's allocation sites.

use std::borrow::Cow;
use std::time::Duration;

use super::{Column, Label, Needs, Priority, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::history::RowHistory;
use crate::model::Missing;
use crate::model::allocinfo::{AllocFigures, AllocSite};

/// An allocation site, or the sum of some.
#[derive(Clone, Copy, Debug)]
pub struct SiteRow<'a> {
    /// The site; a sum has none.
    pub site: Option<&'a AllocSite>,
    /// Its figures.
    pub figures: AllocFigures,
    /// Its past, as far as it is kept.
    pub history: Option<&'a RowHistory>,
    /// The time that its sparkline spans.
    pub span: Duration,
    /// Its change since the mark in bytes, where there is one.
    pub since_mark: Option<i64>,
}

impl<'a> SiteRow<'a> {
    /// Returns the row of a site.
    pub const fn new(site: &'a AllocSite) -> Self {
        Self {
            site: Some(site),
            figures: site.figures,
            history: None,
            span: Duration::ZERO,
            since_mark: None,
        }
    }

    /// Returns the sum of rows.
    pub fn total(rows: &[SiteRow<'_>]) -> Self {
        let changes = || rows.iter().filter_map(|row| row.since_mark);
        Self {
            site: None,
            figures: rows.iter().map(|row| row.figures).sum(),
            history: None,
            span: Duration::ZERO,
            since_mark: changes().next().map(|_| changes().fold(0, i64::saturating_add)),
        }
    }

    fn text(&self, text: fn(&'a AllocSite) -> &'a [u8]) -> Value<'a> {
        self.site.map_or(Value::Blank, |site| Value::text(Ok(text(site))))
    }
}

/// The allocation sites.
#[derive(Clone, Copy, Debug)]
pub enum Sites {}

impl TableKind for Sites {
    type Row<'a> = SiteRow<'a>;
}

type Entry = Column<Sites>;

/// Every column there is.
pub static COLUMNS: &[Entry] = &[
    Entry::bytes("size", "SIZE", |r| Value::Bytes(r.figures.size)).help(
        "Memory allocated by this line of the kernel's source and not freed. Kernel: the first figure in allocinfo.",
    ),
    Entry::figure("calls", "CALLS", Unit::Count, 5, |r| Value::Count(r.figures.calls))
        .help("Allocations by this line that are not freed. Kernel: the second figure in allocinfo.")
        .additive(true),
    Entry::figure("each", "EACH", Unit::Count, 5, |r| {
        r.figures
            .size
            .checked_div(r.figures.calls)
            .map_or(Value::Blank, Value::Count)
    })
    .help("Bytes of an allocation, on average. Formula: SIZE ÷ CALLS."),
    Entry::text("accurate", "EXACT", 5, |r| {
        r.text(|site| if site.inaccurate { b"no" } else { b"" })
    })
    .help("`no` where the kernel itself marks the figures as inaccurate. Kernel: accurate:no in allocinfo."),
    Entry::text("module", "MODULE", 8, |r| {
        r.text(|site| site.module.as_deref().unwrap_or_default())
    })
    .help("The module of the kernel that it is in."),
    Entry::text("function", "FUNCTION", 12, |r| r.text(|site| &site.function))
        .help("The function that the line is in."),
    Entry::text("site", "SITE", 12, |r| r.text(|site| &site.place))
        .help("The file and the line of the kernel's source.")
        .label(Label::Group),
];

/// The columns that only the monitor has, as they are of more than one moment.
pub static OVER_TIME: &[Entry] = &[
    Entry::figure("change", "Δ", Unit::Delta, 6, |r| {
        let change = r.history.and_then(|history| history.change().pss);
        change.map_or(Value::Blank, Value::Delta)
    })
    .timed()
    .help("The change of SIZE over the time that ΔPSS is taken over (ui.delta).")
    .priority(Priority::High),
    Entry::figure("since_mark", "ΔMARK", Unit::Delta, 6, |r| {
        r.since_mark.map_or(Value::Blank, Value::Delta)
    })
    .help("The change of SIZE since the mark that b sets.")
    .additive(true)
    .needs(Needs::MARK)
    .priority(Priority::High),
    Entry::figure("history", "5 MIN", Unit::Chart, 10, |r| {
        r.history.map_or(Value::Blank, |history| {
            Value::Chart(history.footprint().over(r.span), history.change().growth)
        })
    })
    .help("SIZE over the time that x and X choose, of what holds 64K or more. It is read while the page shows it.")
    .priority(Priority::Low),
    Entry::figure("trend", "TREND", Unit::Trend, 16, |r| {
        r.history.map_or(Value::Blank, |history| Value::Trend(*history.trend(), history.change().pss))
    })
    .help(
        "What it does, and how fast its lowest values move, judged as processes are: △ it grows; ~ it warms up; ▽ it falls. None is \
         called a leak, as the kernel does not say what of it would be taken back.",
    ),
];

/// The message where the account does not go on.
pub const STOPPED: &str = "memory allocation profiling is off, so what is allocated now is missing: sysctl \
                           vm.mem_profiling=1 switches it on";

/// Returns why there are no allocation sites to show, and what would grant them.
pub fn unread(why: Missing) -> String {
    match why {
        Missing::Denied => "the allocation sites can be read by root alone".into(),
        Missing::Unsupported => "no /proc/allocinfo: the kernel must be 6.10 or later, built with \
                                 CONFIG_MEM_ALLOC_PROFILING, and booted with sysctl.vm.mem_profiling=1; if it was booted \
                                 with 0, sysctl vm.mem_profiling=1"
            .into(),
        other => format!("the allocation sites cannot be read: {other}"),
    }
}

/// A site has names and figures.
impl Filterable for SiteRow<'_> {
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        let is_name = matches!(field, TextField::CommandLine | TextField::Comm | TextField::Group);
        let site = self.site.filter(|_| is_name)?;
        let names = [
            &*site.function,
            &*site.place,
            site.module.as_deref().unwrap_or_default(),
        ];
        Some(names.join(&b' ').into())
    }

    fn pid(&self) -> Option<u32> {
        None
    }

    fn number(&self, column: usize) -> Option<f64> {
        (COLUMNS.get(column)?.value)(self).number()
    }
}
