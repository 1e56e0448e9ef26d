//! A report of processes that were named, with a table of rows for each.

use std::io::{self, Write};
use std::iter;

use super::Report;
use super::data::{DataTable, Document, Node, Object};
use super::report_layout::ReportLayout;
use crate::columns::{Cell, DataValue, TableKind};
use crate::model::Missing;
use crate::text::safe;

/// A process of a report, with its rows.
pub trait ProcessRows {
    /// The kind of its rows.
    type Kind: TableKind;
    /// The schema's name. Fields are only ever added.
    const SCHEMA: &'static str;
    /// The name of the rows in data.
    const ROWS: &'static str;

    /// Returns its id.
    fn pid(&self) -> u32;

    /// Returns when it started, and its short name, raw, as far as that is known.
    fn start(&self) -> Option<(u64, &[u8])>;

    /// Returns why its rows are not known.
    fn unread(&self) -> Option<Missing>;

    /// Returns its rows; none where they are not known.
    fn rows(&self) -> &[<Self::Kind as TableKind>::Row<'_>];

    /// Returns the cells of a row.
    fn cells<'p>(&self, layout: &ReportLayout<Self::Kind>, row: &'p <Self::Kind as TableKind>::Row<'p>) -> Vec<Cell> {
        layout.cells(row)
    }

    /// Returns the cells of its totals, with a label; `shown` rows stand above.
    fn totals(&self, layout: &ReportLayout<Self::Kind>, shown: usize) -> Vec<Cell>;

    /// Puts its totals into the object that it is as data.
    fn put_totals<'p>(&'p self, layout: &ReportLayout<Self::Kind>, object: Object<'p>) -> Object<'p>;
}

/// Processes, and what is wanted of their rows.
#[derive(Debug)]
pub struct ReportByProcess<P: ProcessRows> {
    /// The processes, in the order asked for.
    pub processes: Vec<P>,
    /// The columns, the order and the look.
    pub layout: ReportLayout<P::Kind>,
}

impl<P: ProcessRows> ReportByProcess<P> {
    /// Returns the rows of a process in order, no more than are wanted.
    fn sorted<'p>(&self, process: &'p P) -> impl ExactSizeIterator<Item = &'p <P::Kind as TableKind>::Row<'p>> {
        let rows = process.rows();
        self.layout.shown(rows).into_iter().map(move |at| &rows[at])
    }

    fn write_table(&self, out: &mut dyn Write, process: &P) -> io::Result<()> {
        let mut table = self.layout.titled();
        let rows = self.sorted(process);
        let shown = rows.len();
        rows.for_each(|row| table.push(&process.cells(&self.layout, row)));
        table.push_totals(&process.totals(&self.layout, shown), "");
        table.write(out, &self.layout.style)
    }

    fn object<'p>(&self, process: &'p P) -> Object<'p> {
        let rows = self.sorted(process).map(|row| self.layout.object(row).with_unread());
        let start = process.start();
        let object = Object::default()
            .put("pid", process.pid())
            .put("starttime", start.map(|(time, _)| time))
            .put("comm", start.map(|(_, comm)| Node::bytes(comm)))
            .put(P::ROWS, rows.collect::<Vec<_>>());
        process
            .put_totals(&self.layout, object)
            .put("unread", process.unread().map(|why| why.to_string()))
    }
}

impl<P: ProcessRows> Report for ReportByProcess<P> {
    /// Writes a table for each process that could be read; under its pid and name where several were asked for.
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let readable = self.processes.iter().filter(|process| process.unread().is_none());
        for (at, process) in readable.enumerate() {
            if at > 0 {
                writeln!(out)?;
            }
            if self.processes.len() > 1 {
                let comm = process.start().map(|(_, comm)| safe(comm)).unwrap_or_default();
                writeln!(out, "{} {comm}", process.pid())?;
            }
            self.write_table(out, process)?;
        }
        Ok(())
    }

    fn document(&self) -> Document<'_> {
        let processes: Vec<_> = self.processes.iter().map(|process| self.object(process)).collect();
        Document::Object(Object::default().put("schema", P::SCHEMA).put("processes", processes))
    }

    /// Returns a document for each process.
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

    /// Returns a line for each row, the pid first. Of a process that could not be read there is none.
    fn table(&self) -> DataTable<'_> {
        let rows = self.processes.iter().flat_map(move |process| {
            let pid = DataValue::Integer(process.pid().into());
            let values = move |row| iter::once(pid.clone()).chain(self.layout.values(row)).collect();
            self.sorted(process).map(values)
        });
        DataTable {
            names: Some(iter::once("pid").chain(self.layout.names()).collect()),
            rows: Box::new(rows),
        }
    }
}
