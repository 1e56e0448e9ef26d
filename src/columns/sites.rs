//! The columns of the kernel's allocation sites.

use std::borrow::Cow;

use super::{Column, Label, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::model::Missing;
use crate::model::allocinfo::{AllocFigures, AllocSite};

/// An allocation site, or the sum of some.
#[derive(Clone, Copy, Debug)]
pub struct SiteRow<'a> {
    /// The site; a sum has none.
    pub site: Option<&'a AllocSite>,
    /// Its figures.
    pub figures: AllocFigures,
    /// Its change since the mark in bytes, where there is one.
    pub since_mark: Option<i64>,
}

impl<'a> SiteRow<'a> {
    /// Returns the row of a site.
    pub const fn new(site: &'a AllocSite) -> Self {
        Self {
            site: Some(site),
            figures: site.figures,
            since_mark: None,
        }
    }

    /// Returns the sum of rows.
    pub fn total(rows: &[SiteRow<'_>]) -> Self {
        let changes = || rows.iter().filter_map(|row| row.since_mark);
        Self {
            site: None,
            figures: rows.iter().map(|row| row.figures).sum(),
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

/// The column that only the monitor has.
pub static OVER_TIME: &[Entry] = &[Entry::figure("since_mark", "ΔMARK", Unit::Delta, 6, |r| {
    r.since_mark.map_or(Value::Blank, Value::Delta)
})
.help("The change of SIZE since the mark that b sets.")
.additive(true)];

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
