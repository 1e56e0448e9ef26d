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

use std::collections::HashMap;
use std::io::{self, Write};

use super::Report;
use super::data::{DataTable, Document, Object};
use super::report_layout::{ReportLayout, counted, totals_label};
use super::text_table::{TextColumn, TextTable, value_cell, word};
use crate::columns::callers::{CallSites, CallerRow, Place};
use crate::columns::{Cell, Column, Label};
use crate::filter::Filter;
use crate::model::Missing;
use crate::model::callers::{CallFigures, Callers};
use crate::units::{bytes, delta};

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
        let seconds = callers.trace.time.as_secs_f64();
        let rows = if by_symbol {
            functions(callers)
        } else {
            let row = |site| (Place::Site(site), site.figures);
            callers.sites.iter().map(row).collect()
        };
        let row = |(place, figures)| CallerRow {
            place,
            figures,
            seconds,
        };
        let passing: Vec<_> = rows.into_iter().map(row).filter(|row| filter.matches(row)).collect();
        let keys: Vec<_> = passing.iter().map(|row| layout.sort.order_key(row)).collect();
        let rows = layout.shown(&keys).into_iter().map(|at| passing[at]).collect();
        Self {
            callers,
            by_symbol,
            layout,
            rows,
            passing: passing.len(),
            total: row((Place::Total, passing.iter().map(|row| row.figures).sum())),
        }
    }

    fn cells(&self, row: &CallerRow<'_>) -> Vec<Cell> {
        let units = self.layout.style.units;
        let cell = |column: &&Column<CallSites>| value_cell(&(column.value)(row), units, usize::MAX);
        self.layout.columns.iter().map(cell).collect()
    }

    fn label(&self) -> String {
        let what = if self.by_symbol { "function" } else { "call site" };
        totals_label(what, self.passing, self.rows.len(), 0)
    }

    /// Returns the sums in words.
    fn summary(&self) -> String {
        let (sums, units) = (self.total.figures, self.layout.style.units);
        let share = sums.wasted() as f64 / (sums.allocated.max(1)) as f64 * 100.0;
        format!(
            "Net {}: {} allocated, {} freed. {share:.1} % is internal fragmentation. {} of {} on another CPU",
            delta(sums.growth(), units),
            bytes(sums.allocated, units),
            bytes(sums.freed, units),
            sums.cross_cpu,
            if sums.frees == 1 {
                "1 free was".into()
            } else {
                format!("{} frees were", sums.frees)
            },
        )
    }

    /// Returns what is to be known of the trace, a line each.
    fn notes(&self) -> Vec<String> {
        let (trace, units) = (&self.callers.trace, self.layout.style.units);
        let seconds = trace.time.as_secs_f64();
        let lost = match trace.lost {
            Some(0) => "none lost".into(),
            Some(lost) => format!("{lost} more lost, so the figures are too low"),
            None => "how many were lost is not known".into(),
        };
        let cost = trace.cpu.as_secs_f64() / seconds.max(1e-3) * 100.0;
        let mut first = format!(
            "Traced for {seconds:.1}s: {}, {lost}; reading them took {cost:.1} % of a core",
            counted(trace.events, "event")
        );
        if let Some(size) = trace.buffers {
            first = format!("{first}, and their buffers {}", bytes(size, units));
        }
        let mut notes = vec![first];
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

/// Returns why the call sites have no names, and what would grant them.
fn unnamed(why: Missing) -> String {
    match why {
        Missing::Denied => {
            "No names: /proc/kallsyms hides its addresses. As root, sysctl kernel.kptr_restrict=1 shows them".into()
        }
        Missing::Unsupported => "No names: this kernel has no /proc/kallsyms".into(),
        other => format!("No names: /proc/kallsyms cannot be read: {other}"),
    }
}

/// Returns the sums of each function's call sites; what is in no known one stays by itself.
fn functions(callers: &Callers) -> Vec<(Place<'_>, CallFigures)> {
    let mut rows: Vec<(Place<'_>, CallFigures)> = Vec::new();
    let mut places = HashMap::new();
    for site in &callers.sites {
        let place = rows.len();
        let known = site
            .symbol
            .as_ref()
            .map(|symbol| *places.entry(symbol).or_insert(place));
        match known.and_then(|at| rows.get_mut(at)) {
            Some((_, sums)) => *sums = [*sums, site.figures].into_iter().sum(),
            None => rows.push((Place::Function(site), site.figures)),
        }
    }
    rows
}

fn object<'r>(columns: &[&'static Column<CallSites>], row: &'r CallerRow<'r>) -> Object<'r> {
    let put = |object: Object<'r>, c: &&Column<CallSites>| object.put(c.id, (c.value)(row));
    columns.iter().fold(Object::default(), put)
}

impl Report for CallersReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let columns = &self.layout.columns;
        let text_columns = columns.iter().map(|column| TextColumn {
            grows: column.label == Label::Group,
            min: LEAST_NAME,
            ..TextColumn::new(column.align())
        });
        let mut table = TextTable::new(text_columns, 2);
        table.push_heading(&columns.iter().map(|column| word(column.title)).collect::<Vec<_>>());
        self.rows.iter().for_each(|row| table.push(&self.cells(row)));
        table.push_totals(&self.cells(&self.total), self.label());
        table.write(out, &self.layout.style)?;
        writeln!(out, "{}", self.summary())?;
        self.notes().iter().try_for_each(|note| writeln!(out, "{note}"))
    }

    fn document(&self) -> Document<'_> {
        let columns = &self.layout.columns;
        let callers: Vec<_> = self.rows.iter().map(|row| object(columns, row)).collect();
        let summed: Vec<_> = columns.iter().copied().filter(|c| c.additive).collect();
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
                .put("cpu_s", trace.cpu.as_secs_f64())
                .put("buffers", trace.buffers)
                .put("callers", callers)
                .put("totals", object(&summed, &self.total))
                .put("unread", self.callers.symbols.err().map(unnamed)),
        )
    }

    fn table(&self) -> DataTable<'_> {
        let columns = &self.layout.columns;
        let values = move |row| columns.iter().map(|c| (c.value)(row).into_data()).collect();
        DataTable {
            names: Some(columns.iter().map(|c| c.id).collect()),
            rows: Box::new(self.rows.iter().map(values)),
        }
    }
}
