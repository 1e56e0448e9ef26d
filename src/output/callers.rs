//! The report of the kernel's allocation call sites.
//!
//! ```text
//! ALLOC    REQ  WASTE   HITS  HIT/S  REQSZ  SIZE     NET  CALLER
//!  6.1M   6.1M   5.2K  61204  12.2K    104   104     -2K  __alloc_object+0x41
//!  1.6M   801K   799K    200   40.0   4104  8192   +1.6M  example_open+0x1c [example]
//!  7.7M   6.9M   804K  61404  12.3K    119   131   +1.6M  2 call sites
//! Net +1.6M: 7.7M allocated, 6.1M freed. 10.2 % is internal fragmentation. 12 of 61204 frees were on another CPU
//! Traced for 5.0s: 122608 events, none lost; reading them took 0.3 % of a core, and their buffers 2.8M
//! ```

use std::io::{self, Write};

use super::Report;
use super::data::{DataTable, Document, Object};
use super::report_layout::{ReportLayout, totals_label};
use crate::columns::callers::{CallSites, CallerRow, cost, own, summary, unnamed};
use crate::filter::Filter;
use crate::model::callers::Callers;
use crate::units::counted;

/// The call sites that are wanted.
#[derive(Debug)]
pub struct CallersReport<'a> {
    callers: &'a Callers,
    by_symbol: bool,
    layout: ReportLayout<CallSites>,
    /// The rows shown, in order.
    rows: Vec<CallerRow<'a>>,
    /// The number of rows that pass the filter, and their sums.
    passing: usize,
    total: CallerRow<'a>,
}

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-callers/1";

/// The width that the name of a call site has at the least, on a terminal that is too narrow.
const LEAST_NAME: usize = 12;

impl<'a> CallersReport<'a> {
    /// Chooses and sorts the call sites; where `by_symbol`, those of one function are one row.
    pub fn new(callers: &'a Callers, by_symbol: bool, filter: &Filter, layout: ReportLayout<CallSites>) -> Self {
        let rows = CallerRow::of(callers, by_symbol).into_iter();
        let passing: Vec<_> = rows.filter(|row| filter.matches(row)).collect();
        let rows = layout.shown(&passing).into_iter().map(|at| passing[at]).collect();
        Self {
            callers,
            by_symbol,
            layout,
            rows,
            passing: passing.len(),
            total: CallerRow::total(&passing, callers.trace.time.as_secs_f64()),
        }
    }

    fn label(&self) -> String {
        let what = if self.by_symbol { "function" } else { "call site" };
        totals_label(what, self.passing, self.rows.len(), None)
    }

    /// Returns what is to be known of the trace, a line each.
    fn notes(&self) -> Vec<String> {
        let trace = &self.callers.trace;
        let mut notes = vec![cost(trace, self.layout.style.units)];
        notes.extend(own(trace, self.layout.style.units));
        let mut note = |count: u64, what: &str, rest: &str| {
            if count > 0 {
                notes.push(format!("{}{rest}", counted(count, what)));
            }
        };
        note(trace.older_frees, "free", " of what was allocated before");
        note(
            trace.unseen_frees,
            "allocation",
            " took memory again that the kernel had not reported as freed",
        );
        note(
            trace.unfollowed,
            "allocation",
            " not followed to the free, as too many were alive: NET and FREES are without them",
        );
        note(trace.failed, "allocation", " failed");
        note(
            trace.torn,
            "page",
            " of the buffers could not be understood, and is left out",
        );
        notes.extend(self.callers.symbols.err().map(unnamed));
        notes
    }
}

impl Report for CallersReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut table = self.layout.growing(LEAST_NAME);
        self.rows.iter().for_each(|row| table.push(&self.layout.cells(row)));
        table.push_totals(&self.layout.cells(&self.total), self.label());
        table.write(out, &self.layout.style)?;
        writeln!(out, "{}", summary(&self.total.figures, self.layout.style.units))?;
        self.notes().iter().try_for_each(|note| writeln!(out, "{note}"))
    }

    fn document(&self) -> Document<'_> {
        let callers: Vec<_> = self.rows.iter().map(|row| self.layout.object(row)).collect();
        let trace = &self.callers.trace;
        Document::Object(
            Object::default()
                .put("schema", SCHEMA)
                .put("time_s", trace.time.as_secs_f64())
                .put("events", trace.events)
                .put("lost", trace.lost)
                .put("torn", trace.torn)
                .put("failed", trace.failed)
                .put("older_frees", trace.older_frees)
                .put("unseen_frees", trace.unseen_frees)
                .put("unfollowed", trace.unfollowed)
                .put(
                    "own",
                    Object::default()
                        .put("hits", trace.own.hits)
                        .put("allocated", trace.own.allocated)
                        .put("freed", trace.own.freed),
                )
                .put("cpu_s", trace.cpu.as_secs_f64())
                .put("buffers", trace.buffers)
                .put("callers", callers)
                .put("totals", self.layout.sums(&self.total))
                .put("unread", self.callers.symbols.err().map(unnamed)),
        )
    }

    fn table(&self) -> DataTable<'_> {
        self.layout.table(self.rows.iter())
    }
}
