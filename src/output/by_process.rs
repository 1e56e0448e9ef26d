//! A report of the processes on the command line, with a table of rows for each.

use std::io::{self, Write};
use std::iter;

use super::Report;
use super::data::{DataTable, Document, Node, Object, described_object, of_columns};
use super::report_layout::ReportLayout;
use crate::columns::{Cell, Column, DataValue, TableKind};
use crate::model::Missing;
use crate::schema::{self, Field, Schema};
use crate::text::safe;

/// A process and its rows.
#[derive(Debug)]
pub struct OfProcess<'p, R> {
    pub pid: u32,
    /// The start time and the raw short name, if known.
    pub start: Option<(u64, &'p [u8])>,
    /// Why the rows are unknown, if they are.
    pub unread: Option<Missing>,
    pub rows: &'p [R],
}

pub trait ProcessRows {
    type Kind: TableKind;
    /// The schema's name. Fields are never removed or renamed, only added.
    const SCHEMA: &'static str;
    /// The name of the rows in JSON.
    const ROWS: &'static str;

    fn process(&self) -> OfProcess<'_, <Self::Kind as TableKind>::Row<'_>>;

    fn cells<'p>(&self, layout: &ReportLayout<Self::Kind>, row: &'p <Self::Kind as TableKind>::Row<'p>) -> Vec<Cell> {
        layout.cells(row)
    }

    /// Returns the cells of the totals and a label. `shown` rows are listed above.
    fn totals(&self, layout: &ReportLayout<Self::Kind>, shown: usize) -> (Vec<Cell>, String);

    /// Adds the totals to the process's JSON object.
    fn put_totals<'p>(&'p self, layout: &ReportLayout<Self::Kind>, object: Object<'p>) -> Object<'p>;

    fn totals_fields() -> Vec<Field>;
}

#[derive(Debug)]
pub struct ReportByProcess<P: ProcessRows> {
    /// The processes, in the requested order.
    pub processes: Vec<P>,
    pub layout: ReportLayout<P::Kind>,
}

impl<P: ProcessRows> ReportByProcess<P> {
    /// Returns the rows of a process in order, up to the maximum.
    fn sorted<'p>(&self, process: &'p P) -> impl ExactSizeIterator<Item = &'p <P::Kind as TableKind>::Row<'p>> {
        let rows = process.process().rows;
        self.layout.shown(rows).into_iter().map(move |at| &rows[at])
    }

    fn write_table(&self, out: &mut dyn Write, process: &P) -> io::Result<()> {
        let mut table = self.layout.text_table(None);
        let rows = self.sorted(process);
        let shown = rows.len();
        rows.for_each(|row| table.push(&process.cells(&self.layout, row)));
        let (totals, label) = process.totals(&self.layout, shown);
        self.layout.push_totals(&mut table, &totals, &label, false);
        table.write(out, &self.layout.style)
    }

    fn object<'p>(&self, process: &'p P) -> Object<'p> {
        let rows = self.sorted(process).map(|row| self.layout.object(row).with_unread());
        let OfProcess { pid, start, unread, .. } = process.process();
        let object = identity(pid, start).put(P::ROWS, rows.collect::<Vec<_>>());
        let object = process.put_totals(&self.layout, object);
        object.extend(reason(unread))
    }
}

described_object! {
    fn identity, identity_fields<'p>(pid: u32, start: Option<(u64, &'p [u8])>) -> Object<'p> {
        /// Its pid.
        "pid": id() => pid,
        /// When it started, in ticks since boot.
        "starttime": id().null("it could not be read") => start.map(|(time, _)| time),
        /// Its short name.
        "comm": foreign().null("it could not be read") => start.map(|(_, comm)| Node::bytes(comm)),
    }

    fn reason, reason_fields(why: Option<Missing>) -> Object<'static> {
        /// Why the rows could not be read.
        "unread": text().null("they could be read") => why.map(|why| why.to_string()),
    }
}

/// Returns the description of the document: `help` describes the whole, `rows` its rows.
pub(super) fn schema<P: ProcessRows>(columns: &[Column<P::Kind>], help: &'static str, rows: &str) -> Schema {
    let mut row = of_columns(columns);
    row.push(Field::new("unread", "Why values are null.", schema::unread()));
    let mut process = identity_fields();
    process.push(Field::new(P::ROWS, rows, schema::list(schema::object(row))));
    process.extend(P::totals_fields());
    process.extend(reason_fields());
    let process = schema::object(process);
    Schema {
        name: P::SCHEMA,
        help,
        fields: vec![
            Field::new("schema", "The name of this schema.", schema::text()),
            Field::new(
                "processes",
                "The processes, in the requested order.",
                schema::list(process.clone()).absent("in ndjson, which has one process a line"),
            ),
            Field::new(
                "process",
                "The process.",
                process.absent("in json, which has all processes in one document"),
            ),
        ],
    }
}

impl<P: ProcessRows> Report for ReportByProcess<P> {
    /// Writes a table for each process that could be read. If several were requested, each table has a heading with pid
    /// and name.
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let all = self.processes.iter().map(|process| (process, process.process()));
        let readable = all.filter(|(_, found)| found.unread.is_none());
        for (at, (process, found)) in readable.enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            if self.processes.len() > 1 {
                let comm = found.start.map(|(_, comm)| safe(comm)).unwrap_or_default();
                writeln!(out, "{} {comm}", found.pid)?;
            }
            self.write_table(out, process)?;
        }
        Ok(())
    }

    fn document(&self) -> Document<'_> {
        let processes: Vec<_> = self.processes.iter().map(|process| self.object(process)).collect();
        Document::Object(Object::default().put("schema", P::SCHEMA).put("processes", processes))
    }

    fn lines(&self) -> Vec<Document<'_>> {
        let line = |p| {
            Document::Object(
                Object::default()
                    .put("schema", P::SCHEMA)
                    .put("process", self.object(p)),
            )
        };
        self.processes.iter().map(line).collect()
    }

    /// Returns a line for each row, beginning with the pid. A process that could not be read has no lines.
    fn table(&self) -> DataTable<'_> {
        let rows = self.processes.iter().flat_map(move |process| {
            let pid = DataValue::Integer(process.process().pid.into());
            let values = move |row| iter::once(pid.clone()).chain(self.layout.values(row)).collect();
            self.sorted(process).map(values)
        });
        DataTable {
            names: Some(iter::once("pid").chain(self.layout.names()).collect()),
            rows: Box::new(rows),
        }
    }
}
