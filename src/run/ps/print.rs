//! Prints chosen rows of one snapshot after another, in the format asked for.

use std::cell::OnceCell;
use std::io::{self, Write};

use super::mapping;
use super::plan::Plan;
use crate::columns::{Column, DataValue, Value, layout};
use crate::group::GroupBy;
use crate::history::History;
use crate::model::Snapshot;
use crate::output::changes::ChangeTracker;
use crate::output::data::{DataTable, Document};
use crate::output::row_table::{DataRow, RowTable};
use crate::output::table::{self, TableOptions, partial_label};
use crate::output::{self, Format, Report};
use crate::query::{Rows, ShownRow};
use crate::record::{Record, time_text};
use crate::run::complain;
use crate::run::snapshot::local_time;
use crate::units;

/// Prints one table after another.
#[derive(Debug)]
pub(super) struct Printer<'a> {
    plan: &'a Plan,
    changes: Option<ChangeTracker>,
    /// Tables printed, this one included.
    tables: u64,
}

impl<'a> Printer<'a> {
    pub(super) const fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            changes: None,
            tables: 0,
        }
    }

    /// Writes what is asked for of the next snapshot; changes and rates are taken from `history`.
    ///
    /// # Errors
    /// Errors of `out`.
    pub(super) fn print(
        &mut self,
        out: &mut dyn Write,
        snapshot: &Snapshot,
        history: Option<&History>,
    ) -> io::Result<()> {
        let plan = self.plan;
        self.tables += 1;
        let rows = match plan.by {
            Some(GroupBy::Mapping) => mapping::rows(plan, snapshot),
            _ => Rows::select(snapshot, history, &plan.query()),
        };
        if plan.total_only {
            return print_total(out, plan, &rows);
        }
        let mut options = plan.table(&rows);
        if plan.format == Format::Table && plan.every.is_some() {
            if self.tables > 1 {
                writeln!(out)?;
            }
            options.caption = Some(local_time(snapshot.time));
            if let Some(changes) = &mut self.changes {
                return changes.write(out, &rows, &plan.query(), &options);
            }
            // A tree is whole each time.
            if !plan.tree {
                self.changes = Some(ChangeTracker::new(&rows, &plan.query(), &options, plan.all));
            }
        }
        let report = PsReport {
            plan,
            rows: &rows,
            options,
            first: self.tables == 1,
            data: OnceCell::new(),
        };
        output::write(out, &report, plan.format)
    }
}

/// The rows of one snapshot.
struct PsReport<'a> {
    plan: &'a Plan,
    rows: &'a Rows<'a>,
    options: TableOptions,
    /// No table was printed before.
    first: bool,
    /// The rows as data, once a format asks for them.
    data: OnceCell<RowTable<'a>>,
}

impl<'a> PsReport<'a> {
    /// Returns the rows as data; in a tree their depth comes first.
    fn row_table(&self) -> &RowTable<'a> {
        let depth = |shown: &ShownRow<'_>| self.plan.tree.then_some(DataValue::Integer(shown.depth as u64));
        let row = |shown: ShownRow<'a>| DataRow {
            before: depth(&shown).into_iter().collect(),
            row: shown.row,
        };
        self.data.get_or_init(|| RowTable {
            snapshot: self.rows.snapshot(),
            by: self.plan.by.map(GroupBy::id),
            before: self.plan.tree.then_some("depth").into_iter().collect(),
            rows: self.rows.shown().map(row).collect(),
            totals: self.options.totals.then(|| self.rows.total()),
        })
    }

    /// Returns the columns of data: the reasons that a wide terminal shows are not among them.
    fn columns(&self) -> Vec<&'static Column> {
        self.plan.options.columns.iter().map(|id| id.get()).collect()
    }
}

impl Report for PsReport<'_> {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        table::write(out, self.rows, &self.options)
    }

    /// Returns processes as a snapshot that can be read back, unless certain columns are wanted of them.
    fn document(&self) -> Document<'_> {
        let plan = self.plan;
        if plan.by.is_none() && !plan.tree && !plan.chosen_columns {
            let samples = self.rows.shown().filter_map(|shown| shown.row.sample).collect();
            return Document::Snapshot(Record::selected(self.rows.snapshot(), samples));
        }
        let mut columns = self.columns();
        if plan.tree && !plan.chosen_columns {
            columns.insert(1, layout::PPID.get());
        }
        Document::Object(self.row_table().document(&columns))
    }

    /// Returns a table of values. Where tables follow each other, each row begins with its time, and only the
    /// first table has names.
    fn table(&self) -> DataTable<'_> {
        let DataTable { mut names, mut rows } = self.row_table().table(self.columns());
        if self.plan.every.is_some() {
            if let Some(names) = &mut names {
                names.insert(0, "time");
            }
            let time = time_text(self.rows.snapshot().time).into_bytes();
            rows = Box::new(rows.map(move |mut row| {
                row.insert(0, DataValue::Text(time.clone().into()));
                row
            }));
        }
        DataTable {
            names: names.filter(|_| self.options.heading && self.first),
            rows,
        }
    }
}

/// Writes nothing but a sum; why it is too small goes to stderr, so that a script can count on one number.
fn print_total(out: &mut dyn Write, plan: &Plan, rows: &Rows<'_>) -> io::Result<()> {
    let partial = partial_label(rows);
    if let Some(why) = &partial {
        complain(why);
    }
    match (plan.sort.get().value)(&rows.total()) {
        Value::Bytes(sum) => writeln!(out, "{}", units::bytes(sum, plan.options.style.units)),
        // Of nothing; what could not be read is not nothing.
        _ if partial.is_none() => writeln!(out, "0"),
        _ => writeln!(out, "-"),
    }
}
