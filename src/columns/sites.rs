//! The columns of the kernel's allocation sites.

use std::borrow::Cow;

use crate::columns::kernel_table::{KernelRow, KernelTable, over_time};
use crate::columns::{Column, Label, TableKind, Unit, Value};
use crate::history::kernel::site_name;
use crate::model::Missing;
use crate::model::kernel::{AllocFigures, AllocSite};

/// An allocation site, or a sum of sites.
pub type SiteRow<'a> = KernelRow<'a, Sites>;

#[derive(Clone, Copy, Debug)]
pub enum Sites {}

impl TableKind for Sites {
    type Row<'a> = SiteRow<'a>;

    const COLUMNS: &'static [Column<Self>] = COLUMNS;
}

impl KernelTable for Sites {
    type Line = AllocSite;
    type Figures = AllocFigures;

    fn figures(site: &AllocSite) -> AllocFigures {
        site.figures
    }

    fn size(figures: &AllocFigures) -> u64 {
        figures.size
    }

    fn key(site: &AllocSite) -> Cow<'_, [u8]> {
        site_name(site).into()
    }

    fn names(site: &AllocSite) -> Cow<'_, [u8]> {
        let module = site.module.as_deref().unwrap_or_default();
        [&*site.function, &*site.place, module].join(&b' ').into()
    }
}

fn text<'a>(row: &SiteRow<'a>, text: fn(&'a AllocSite) -> &'a [u8]) -> Value<'a> {
    row.of_line(|site| Value::text(Ok(text(site))))
}

type Entry = Column<Sites>;

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
    .help("Average bytes of one allocation. Formula: SIZE ÷ CALLS."),
    Entry::text("accurate", "EXACT", 5, |r| {
        text(r, |site| if site.inaccurate { b"no" } else { b"" })
    })
    .help("`no` if the kernel itself marks the figures as inaccurate. Kernel: accurate:no in allocinfo."),
    Entry::text("module", "MODULE", 8, |r| {
        text(r, |site| site.module.as_deref().unwrap_or_default())
    })
    .help("The kernel module that contains the line."),
    Entry::text("function", "FUNCTION", 12, |r| text(r, |site| &site.function))
        .help("The function that contains the line."),
    Entry::text("site", "SITE", 12, |r| text(r, |site| &site.place))
        .help("The file and the line of the kernel's source.")
        .label(Label::Group),
];

/// The columns that only the monitor has.
pub static OVER_TIME: &[Entry] = &over_time(
    "SIZE over the time that x and X choose, for sites of 64K or more. It is read while the page shows it.",
    "Its trend, and how fast its lowest values change, judged like processes: △ it grows; ~ it warms up; ▽ it falls. \
     None is reported as a leak, because the kernel does not report which part of it can be reclaimed.",
);

/// The message for counting that was stopped.
pub const STOPPED: &str = "memory allocation profiling is off, so current allocations are missing: sysctl vm.mem_profiling=1 \
                           switches it on";

/// Returns why there are no allocation sites to show, and how to get them.
pub fn unread(why: Missing) -> String {
    match why {
        Missing::Denied => "only root can read the allocation sites".into(),
        Missing::Unsupported => "no /proc/allocinfo: the kernel must be 6.10 or later, built with \
                                 CONFIG_MEM_ALLOC_PROFILING, and booted with sysctl.vm.mem_profiling=1; if it was booted \
                                 with 0, sysctl vm.mem_profiling=1 switches it on"
            .into(),
        other => format!("the allocation sites cannot be read: {other}"),
    }
}
