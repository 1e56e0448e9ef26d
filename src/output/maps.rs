//! The report of mappings of processes.
//!
//! ```text
//! AREAS   SIZE   SWAP SWPSS  DIRTY    USS    PSS    RSS  MAPPING
//!     1   132K      0     0  96.0K  96.0K  96.0K  96.0K  [heap]
//!     5   1.9M      0     0  20.0K  20.0K  35.0K   1.5M  /usr/lib/libc.so.6
//!    14   3.4M      0     0   180K   180K   215K   2.1M  2 mappings
//! ```

use std::io::{self, Write};

use super::data::{DataTable, Document, Node, Object};
use super::text_table::{TextTable, value_cell, word};
use super::{OutputStyle, Report};
use crate::columns::mapping::{MapRow, Mappings};
use crate::columns::{Cell, Column, DataValue, Label, Value, order};
use crate::group::mapping::total;
use crate::model::mapping::Extent;
use crate::model::{Memory, Missing, Reading};
use crate::text::safe;

/// The mappings of some processes, and what is wanted of them.
#[derive(Clone, Debug)]
pub struct MapsReport<'a> {
    /// The processes, in the order asked for.
    pub processes: Vec<ProcessMappings<'a>>,
    /// The columns, from left to right.
    pub columns: Vec<&'static Column<Mappings>>,
    /// The column sorted by; unknown values come last.
    pub sort: &'static Column<Mappings>,
    /// Greatest first.
    pub descending: bool,
    /// Maximum number of rows of a process; its totals are of all.
    pub top: Option<usize>,
    /// Style of the text.
    pub style: OutputStyle,
}

/// A process and its mappings.
#[derive(Clone, Debug)]
pub struct ProcessMappings<'a> {
    /// Its id.
    pub pid: u32,
    /// When it started; why nothing of it could be read.
    pub read: Reading<u64>,
    /// Its short name, raw.
    pub comm: &'a [u8],
    /// Its areas or its mappings.
    pub rows: Vec<MapRow<'a>>,
    /// The word for a row in the label of the totals: `area` or `mapping`.
    pub noun: &'static str,
}

/// The sums over all mappings of a process.
struct MappingTotals {
    areas: u64,
    memory: Reading<Memory>,
    extent: Extent,
    unreadable: usize,
}

impl MappingTotals {
    fn new(rows: &[MapRow<'_>]) -> Self {
        let (areas, memory, extent) = total(rows.iter().map(|r| (r.areas, r.memory, r.extent)));
        Self {
            areas,
            memory,
            extent,
            unreadable: rows.iter().filter(|r| r.memory.is_err()).count(),
        }
    }

    fn row(&self) -> MapRow<'_> {
        MapRow {
            name: None,
            areas: self.areas,
            memory: self.memory.as_ref().map_err(|e| *e),
            extent: Ok(&self.extent),
            area: None,
        }
    }
}

impl MapsReport<'_> {
    /// Returns the rows of a process in order, no more than are wanted.
    fn sorted<'p, 'a>(&self, process: &'p ProcessMappings<'a>) -> Vec<&'p MapRow<'a>> {
        let keys: Vec<_> = process.rows.iter().map(|r| self.sort.order_key(r)).collect();
        let mut sorted = order(&keys, self.descending);
        sorted.truncate(self.top.unwrap_or(usize::MAX));
        sorted.into_iter().map(|at| &process.rows[at]).collect()
    }

    fn write_table(&self, out: &mut dyn Write, process: &ProcessMappings<'_>) -> io::Result<()> {
        let mut table = TextTable::titled(self.columns.iter().map(|c| (c.title, c.align())));
        let shown = self.sorted(process);
        for row in &shown {
            let cells: Vec<Cell> = self.columns.iter().map(|c| self.cell(c, row)).collect();
            table.push(&cells);
        }
        let totals = MappingTotals::new(&process.rows);
        let cells = self.columns.iter().map(|c| match c.label {
            Label::Group => word(totals_label(process, shown.len(), &totals)),
            _ => self.cell(c, &totals.row()),
        });
        table.push_totals(&cells.collect::<Vec<_>>(), "");
        table.write(out, &self.style)
    }

    fn cell(&self, column: &Column<Mappings>, row: &MapRow<'_>) -> Cell {
        let mut cell = value_cell(&(column.value)(row), self.style.units, usize::MAX);
        if column.label == Label::Group && row.name.is_some_and(|n| n.deleted) {
            cell.text += " [deleted]";
        }
        cell
    }

    fn values<'r>(&self, pid: u32, row: &'r MapRow<'r>) -> Vec<DataValue<'r>> {
        let values = self.columns.iter().map(|c| (c.value)(row).into_data());
        [DataValue::Integer(pid.into())].into_iter().chain(values).collect()
    }

    fn object<'s>(&'s self, process: &'s ProcessMappings<'_>) -> Object<'s> {
        let row = |row: &'s MapRow<'s>| {
            let put = |object: Object<'s>, c: &&Column<Mappings>| object.put(c.id, (c.value)(row));
            self.columns.iter().fold(Object::default(), put).with_unread()
        };
        let totals = MappingTotals::new(&process.rows);
        let summed = self
            .columns
            .iter()
            .filter(|c| process.read.is_ok() && c.label != Label::Group);
        let sums = summed.fold(Object::default(), |sums, c| match (c.value)(&totals.row()) {
            Value::Bytes(n) | Value::Count(n) => sums.put(c.id, n),
            Value::Missing(why) => sums.put(c.id, Node::Unknown(why)),
            _ => sums,
        });
        Object::default()
            .put("pid", process.pid)
            .put("starttime", process.read)
            .put("comm", process.read.ok().map(|_| Node::bytes(process.comm)))
            .put(
                "mappings",
                self.sorted(process).into_iter().map(row).collect::<Vec<_>>(),
            )
            .put("totals", sums)
            .put("partial", totals.unreadable > 0 || process.read.is_err())
            .put("unread", process.read.err().map(|why| why.to_string()))
    }
}

/// Returns what the totals are the sums of: `41 mappings, 10 shown, partial: 1 unreadable`.
fn totals_label(process: &ProcessMappings<'_>, shown: usize, totals: &MappingTotals) -> String {
    let all = process.rows.len();
    let plural = if all == 1 { "" } else { "s" };
    let mut parts = vec![format!("{all} {}{plural}", process.noun)];
    if shown < all {
        parts.push(format!("{shown} shown"));
    }
    if totals.unreadable > 0 {
        parts.push(format!("partial: {} unreadable", totals.unreadable));
    }
    parts.join(", ")
}

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-maps/1";

impl Report for MapsReport<'_> {
    /// Writes a table for each process that could be read; under its pid and name where several were asked for.
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let readable = self.processes.iter().filter(|process| process.read.is_ok());
        for (i, process) in readable.enumerate() {
            if i > 0 {
                writeln!(out)?;
            }
            if self.processes.len() > 1 {
                writeln!(out, "{} {}", process.pid, safe(process.comm))?;
            }
            self.write_table(out, process)?;
        }
        Ok(())
    }

    fn document(&self) -> Document<'_> {
        let processes: Vec<_> = self.processes.iter().map(|p| self.object(p)).collect();
        Document::Object(Object::default().put("schema", SCHEMA).put("processes", processes))
    }

    /// Returns a document for each process.
    fn lines(&self) -> Vec<Document<'_>> {
        let line = |p| Document::Object(Object::default().put("schema", SCHEMA).put("process", self.object(p)));
        self.processes.iter().map(line).collect()
    }

    /// Returns a row for each mapping, the pid first. Of a process that could not be read there is none.
    fn table(&self) -> DataTable<'_> {
        let rows = self.processes.iter().flat_map(move |process| {
            let values = move |row| self.values(process.pid, row);
            self.sorted(process).into_iter().map(values)
        });
        DataTable {
            names: Some(["pid"].into_iter().chain(self.columns.iter().map(|c| c.id)).collect()),
            rows: Box::new(rows),
        }
    }
}

/// Returns why a process has no mappings to show, in words.
pub fn reason(pid: u32, why: Missing) -> String {
    match why {
        Missing::Gone => format!("{pid}: no such process"),
        Missing::KernelThread => format!("{pid} is a kernel thread, which has no memory of its own"),
        Missing::Zombie => format!("{pid} is a zombie, which has given its memory back"),
        Missing::Denied => format!(
            "{pid}: permission denied; run as root or as its user, or grant CAP_PERFMON (CAP_SYS_PTRACE before Linux 6.15)"
        ),
        Missing::Unsupported => format!("{pid}: there is no smaps"),
        other => format!("{pid}: {other}"),
    }
}
