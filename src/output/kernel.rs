//! The reports of the kernel's own memory: one table of slab caches, allocation sites or call sites, with notes below it.
//!
//! ```text
//!  SIZE   USED  WASTE   OBJ%   ACTIVE     OBJS  OBJSZ   SLABS  CACHE
//!  319M   306M  12.9M   99.6   284643   285867   1.1K   20423  ext4_inode_cache
//! 92.6M  91.2M   1.4M  100.0   497994   497994   192B   23714  dentry
//!  1.0G   997M  70.3M   91.0  3680943  4044953         144512  235 caches, 2 shown
//! Slab 1.0G by meminfo: 700M reclaimable, 374M not
//! ```

use super::data::{Object, described_object};
use super::report_layout::ReportLayout;
use super::table_report::{TableReport, table_fields};
use super::text_table::word;
use crate::columns::callers::{self, CallSites, CallerRow, cost, own, summary, unnamed};
use crate::columns::sites::{self, SiteRow, Sites};
use crate::columns::slab::{self, Slab, SlabRow, sums};
use crate::model::kernel::{AllocSites, CallFigures, Callers, SlabCaches};
use crate::model::{Reading, SystemSample};
use crate::schema::Schema;
use crate::units::counted;

/// Minimum width of a call site's name, on a terminal that is too narrow.
const LEAST_NAME: usize = 12;

// Fields of these schemas are never removed or renamed, only added.
const SLAB: &str = "zmtop-slab/1";
const SITES: &str = "zmtop-sites/1";
const CALLERS: &str = "zmtop-callers/1";

/// Reports slab caches. If they could not be read, only the sums from `meminfo`.
pub fn slab_report<'r>(
    caches: Reading<&'r SlabCaches>,
    system: &'r SystemSample,
    rows: (&'r [SlabRow<'r>], &'r SlabRow<'r>),
    layout: ReportLayout<Slab>,
) -> TableReport<'r, Slab> {
    let malformed = caches.map_or(0, |found| found.malformed);
    let notes = sums(system, caches, layout.style.units).into_iter().collect();
    let parts = (slab_before(system), "caches", slab_after(caches));
    let mut report = TableReport::new(layout, rows, ("cache", Some((malformed, "malformed"))), parts);
    (report.is_read, report.notes) = (caches.is_ok(), notes);
    report
}

pub fn sites_report<'r>(
    found: &'r AllocSites,
    rows: (&'r [SiteRow<'r>], &'r SiteRow<'r>),
    layout: ReportLayout<Sites>,
) -> TableReport<'r, Sites> {
    let parts = (sites_before(found), "sites", sites_after(found));
    let mut report = TableReport::new(layout, rows, ("site", Some((found.malformed, "malformed"))), parts);
    report.least_name = Some(0);
    // Of a sum, only additive figures mean anything.
    for (cell, column) in report.totals.0.iter_mut().zip(&report.layout.columns) {
        if !column.additive {
            *cell = word("");
        }
    }
    report
}

/// Reports call sites, or functions if `by_symbol`.
pub fn callers_report<'r>(
    callers: &'r Callers,
    by_symbol: bool,
    rows: (&'r [CallerRow<'r>], &'r CallerRow<'r>),
    layout: ReportLayout<CallSites>,
) -> TableReport<'r, CallSites> {
    let noun = if by_symbol { "function" } else { "call site" };
    let notes = notes(callers, &rows.1.figures, &layout);
    let parts = (callers_before(callers), "callers", callers_after(callers));
    let mut report = TableReport::new(layout, rows, (noun, None), parts);
    (report.least_name, report.notes) = (Some(LEAST_NAME), notes);
    report
}

/// Returns the sums in words, and notes on the trace, one line each.
fn notes(callers: &Callers, sums: &CallFigures, layout: &ReportLayout<CallSites>) -> Vec<String> {
    let (trace, units) = (&callers.trace, layout.style.units);
    let mut notes = vec![summary(sums, units), cost(trace, units)];
    notes.extend(own(trace, units));
    let unusual = [
        (trace.older_frees, "free", " of what was allocated before"),
        (
            trace.unseen_frees,
            "allocation",
            " reused memory that the kernel had not reported as freed",
        ),
        (
            trace.unfollowed,
            "allocation",
            " could not be matched to their frees, because too many were alive: NET and FREES do not include them",
        ),
        (trace.failed, "allocation", " failed"),
        (
            trace.torn,
            "page",
            " of the buffers could not be parsed, so the figures are incomplete",
        ),
    ];
    let unusual = unusual.into_iter().filter(|(count, ..)| *count > 0);
    notes.extend(unusual.map(|(count, what, rest)| format!("{}{rest}", counted(count, what))));
    notes.extend(callers.symbols.err().map(unnamed));
    notes
}

described_object! {
    fn slab_before, slab_before_fields<'s>(system: &'s SystemSample) -> Object<'s> {
        /// The name of this schema.
        "schema": text() => SLAB,
        /// `Slab` of meminfo: all caches together.
        "slab": bytes().null("unknown") => system.slab,
        /// `SReclaimable`: the part that the kernel frees when memory is needed.
        "sreclaimable": bytes().null("unknown") => system.sreclaimable,
        /// `SUnreclaim`: the part that stays.
        "sunreclaim": bytes().null("unknown") => system.sunreclaim,
    }

    fn slab_after, slab_after_fields(caches: Reading<&SlabCaches>) -> Object<'static> {
        /// Number of lines of slabinfo that could not be parsed.
        "malformed": count() => caches.map_or(0, |found| found.malformed as u64),
        /// Why the caches could not be read.
        "unread": text().null("they could be read") => caches.err().map(|why| why.to_string()),
    }

    fn sites_before, sites_before_fields(found: &AllocSites) -> Object<'static> {
        /// The name of this schema.
        "schema": text() => SITES,
        /// True if the kernel counts now. Otherwise the figures are from the time before it was stopped.
        "running": switch() => found.running,
    }

    fn sites_after, sites_after_fields(found: &AllocSites) -> Object<'static> {
        /// Number of lines of allocinfo that could not be parsed.
        "malformed": count() => found.malformed,
    }

    fn of_zmtop, own_fields(own: &CallFigures) -> Object<'static> {
        /// Events of zmtop itself, which no other figure includes.
        "hits": count() => own.hits,
        /// Bytes that zmtop allocated.
        "allocated": bytes() => own.allocated,
        /// Bytes that zmtop freed.
        "freed": bytes() => own.freed,
    }

    fn callers_before, callers_before_fields(callers: &Callers) -> Object<'static> {
        /// The name of this schema.
        "schema": text() => CALLERS,
        /// Duration of the trace.
        "time_s": seconds() => callers.trace.time.as_secs_f64(),
        /// Number of allocations and frees seen.
        "events": count() => callers.trace.events,
        /// Number of events that the kernel dropped because its buffers were full.
        "lost": count().null("not reported by this kernel") => callers.trace.lost,
        /// Number of pages of the buffers that could not be parsed.
        "torn": count() => callers.trace.torn,
        /// Number of allocations that failed.
        "failed": count() => callers.trace.failed,
        /// Number of frees of memory allocated before the trace.
        "older_frees": count() => callers.trace.older_frees,
        /// Number of allocations that reused memory which the kernel had not reported as freed.
        "unseen_frees": count() => callers.trace.unseen_frees,
        /// Number of allocations not followed to the free because too many were alive.
        "unfollowed": count() => callers.trace.unfollowed,
        /// The events of zmtop itself, which no other figure includes.
        "own": object(own_fields()) => of_zmtop(&callers.trace.own),
        /// CPU time that zmtop used.
        "cpu_s": seconds() => callers.trace.cpu.as_secs_f64(),
        /// Size of the kernel's buffers.
        "buffers": bytes().null("not reported by this kernel") => callers.trace.buffers,
    }

    fn callers_after, callers_after_fields(callers: &Callers) -> Object<'static> {
        /// Why the call sites have no names.
        "unread": text().null("they have names") => callers.symbols.err().map(unnamed),
    }
}

pub fn slab_schema() -> Schema {
    let rows = ("caches", "The caches, in the requested order.");
    let sums = "Sums over all caches that pass the filter.";
    let table = table_fields(slab::COLUMNS, rows, sums, |sums| {
        sums.null("the caches could not be read")
    });
    Schema {
        name: SLAB,
        help: "The slab caches of the kernel. Written by `zmtop kernel slab`.",
        fields: [slab_before_fields(), table, slab_after_fields()].concat(),
    }
}

pub fn sites_schema() -> Schema {
    let rows = ("sites", "The allocation sites, in the requested order.");
    let sums = "Sums over all sites that pass the filter.";
    let table = table_fields(sites::COLUMNS, rows, sums, |sums| sums);
    Schema {
        name: SITES,
        help: "The memory allocated by each line of the kernel's source. Written by `zmtop kernel sites`.",
        fields: [sites_before_fields(), table, sites_after_fields()].concat(),
    }
}

pub fn callers_schema() -> Schema {
    let rows = ("callers", "The call sites, or the functions, in the requested order.");
    let table = table_fields(callers::COLUMNS, rows, "Sums over all that pass the filter.", |sums| {
        sums
    });
    Schema {
        name: CALLERS,
        help: "The code in the kernel that allocates and frees memory. Written by `zmtop kernel callers`.",
        fields: [callers_before_fields(), table, callers_after_fields()].concat(),
    }
}
