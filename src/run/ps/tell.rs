//! Chosen rows in the format asked for.

use std::io::{self, Write};

use super::mapping;
use super::plan::Plan;
use crate::cli::Format;
use crate::columns::{Column, DataValue, Value, layout};
use crate::group::GroupBy;
use crate::history::History;
use crate::model::{ProcessSample, Snapshot};
use crate::output::changes::Changes;
use crate::output::rows::{Item, Rows, View};
use crate::output::{Line, csv, json, table};
use crate::record::{Record, time_text};
use crate::run::complain;
use crate::units;

/// Says one snapshot after another.
#[derive(Debug)]
pub(super) struct Teller<'a> {
    plan: &'a Plan,
    changes: Option<Changes>,
    tables: u64,
}

impl<'a> Teller<'a> {
    pub(super) const fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            changes: None,
            tables: 0,
        }
    }

    /// Writes what is asked for of the next snapshot; changes and rates are taken from `history`.
    pub(super) fn tell(
        &mut self,
        out: &mut dyn Write,
        snapshot: &Snapshot,
        history: Option<&History>,
    ) -> io::Result<()> {
        let plan = self.plan;
        self.tables += 1;
        let rows = match plan.view {
            View::Groups(GroupBy::Mapping) => mapping::rows(plan, snapshot),
            View::Groups(_) | View::Processes | View::Tree => Rows::select(snapshot, history, &plan.query()),
        };
        if plan.total_only {
            return total(out, plan, &rows);
        }
        match plan.format {
            Format::Table => self.table(out, &rows),
            Format::Csv => self.csv(out, &rows),
            Format::Json | Format::Ndjson => self.json(out, &rows),
        }
    }

    fn table(&mut self, out: &mut dyn Write, rows: &Rows<'_>) -> io::Result<()> {
        let plan = self.plan;
        let mut options = plan.table(rows);
        if plan.every.is_some() {
            if self.tables > 1 {
                writeln!(out)?;
            }
            options.caption = Some(crate::run::clock::local(rows.snapshot().time));
            let query = plan.query();
            if let Some(changes) = &mut self.changes {
                return changes.write(out, rows, &query, &options);
            }
            // A tree is whole each time.
            if plan.view != View::Tree {
                self.changes = Some(Changes::since(rows, &query, &options, plan.all));
            }
        }
        table::write(out, rows, &options)
    }

    fn csv(&self, out: &mut dyn Write, rows: &Rows<'_>) -> io::Result<()> {
        let plan = self.plan;
        let columns: Vec<&Column> = plan.options.columns.iter().map(|id| id.get()).collect();
        let time = plan.every.map(|_| time_text(rows.snapshot().time));
        let before: Vec<&'static str> = time
            .iter()
            .map(|_| "time")
            .chain(depth(plan).map(|()| "depth"))
            .collect();
        let mut sheet = csv::Sheet::new(out);
        if plan.options.heading && self.tables == 1 {
            sheet.heading(before.into_iter().chain(columns.iter().map(|c| c.id)))?;
        }
        for item in rows.items() {
            let mut line = line(plan, &item);
            if let Some(time) = &time {
                line.before.insert(0, ("time", DataValue::Text(time.as_bytes().into())));
            }
            sheet.line(&columns, line)?;
        }
        sheet.finish()
    }

    /// Processes as a snapshot that can be read back, unless certain columns are wanted of them.
    fn json(&self, out: &mut dyn Write, rows: &Rows<'_>) -> io::Result<()> {
        let plan = self.plan;
        let snapshot = rows.snapshot();
        if plan.view == View::Processes && !plan.chosen_columns {
            let samples: Vec<&ProcessSample> = rows.items().filter_map(|item| item.row.sample).collect();
            let record = Record::selected(snapshot, samples);
            return match plan.format {
                Format::Ndjson => json::line(out, &record),
                _ => json::document(out, &record),
            };
        }
        let mut columns: Vec<&'static Column> = plan.options.columns.iter().map(|id| id.get()).collect();
        if plan.view == View::Tree && !plan.chosen_columns {
            columns.insert(1, layout::PPID.get());
        }
        let lines: Vec<Line<'_>> = rows.items().map(|item| line(plan, &item)).collect();
        let table = json::Table {
            snapshot,
            by: match plan.view {
                View::Groups(by) => Some(by.id()),
                View::Processes | View::Tree => None,
            },
            columns: &columns,
            rows: &lines,
            totals: plan.options.totals.then(|| rows.total()),
        };
        match plan.format {
            Format::Ndjson => json::line(out, &table),
            _ => json::document(out, &table),
        }
    }
}

/// Whether rows have a depth.
fn depth(plan: &Plan) -> Option<()> {
    (plan.view == View::Tree).then_some(())
}

fn line<'r>(plan: &Plan, item: &Item<'r>) -> Line<'r> {
    let before = depth(plan).map(|()| ("depth", DataValue::Integer(item.depth as u64)));
    Line {
        before: before.into_iter().collect(),
        row: item.row,
    }
}

/// Nothing but a sum; why it is too small goes elsewhere, so that a script can count on one number.
fn total(out: &mut dyn Write, plan: &Plan, rows: &Rows<'_>) -> io::Result<()> {
    let partial = rows.partial();
    if let Some(why) = &partial {
        complain(why);
    }
    match (plan.sort.get().value)(&rows.total()) {
        Value::Bytes(sum) => writeln!(out, "{}", units::bytes(sum, plan.options.units)),
        // Of nothing; what could not be read is not nothing.
        _ if partial.is_none() => writeln!(out, "0"),
        _ => writeln!(out, "-"),
    }
}
