//! The report of mappings of processes.
//!
//! ```text
//! AREAS   SIZE   SWAP SWPSS  DIRTY    USS    PSS    RSS  MAPPING
//!     1   132K      0     0  96.0K  96.0K  96.0K  96.0K  [heap]
//!     5   1.9M      0     0  20.0K  20.0K  35.0K   1.5M  /usr/lib/libc.so.6
//!    14   3.4M      0     0   180K   180K   215K   2.1M  2 mappings
//! ```

use super::by_process::{self, OfProcess, ProcessRows, ReportByProcess};
use super::data::{Node, Object, described_object, of_columns};
use super::report_layout::{ReportLayout, totals_label};
use crate::columns::mapping::{COLUMNS, MapRow, Mappings};
use crate::columns::{Cell, Column, Label, Unit, Value};
use crate::group::mapping::total;
use crate::model::mapping::Extent;
use crate::model::{Memory, Missing, Reading};
use crate::proc::files;
use crate::schema::{Field, Schema};

pub type MapsReport<'a> = ReportByProcess<ProcessMappings<'a>>;

#[derive(Clone, Debug)]
pub struct ProcessMappings<'a> {
    pub pid: u32,
    /// Its start time, or the reason why it could not be read.
    pub read: Reading<u64>,
    /// Its short name, raw.
    pub comm: &'a [u8],
    pub rows: Vec<MapRow<'a>>,
    /// The word for a row in the label of the totals: `area` or `mapping`.
    pub noun: &'static str,
}

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

impl ProcessRows for ProcessMappings<'_> {
    type Kind = Mappings;
    const SCHEMA: &'static str = "zmtop-maps/1";
    const ROWS: &'static str = "mappings";

    fn process(&self) -> OfProcess<'_, MapRow<'_>> {
        OfProcess {
            pid: self.pid,
            start: self.read.ok().map(|starttime| (starttime, self.comm)),
            unread: self.read.err(),
            rows: &self.rows,
        }
    }

    fn cells<'p>(&self, layout: &ReportLayout<Mappings>, row: &'p MapRow<'p>) -> Vec<Cell> {
        let mut cells = layout.cells(row);
        if row.name.is_some_and(|name| name.deleted) {
            let named = cells.iter_mut().zip(&layout.columns);
            let named = named.filter(|(_, column)| column.label == Label::Group);
            named.for_each(|(cell, _)| cell.text += " [deleted]");
        }
        cells
    }

    fn totals(&self, layout: &ReportLayout<Mappings>, shown: usize) -> (Vec<Cell>, String) {
        let totals = MappingTotals::new(&self.rows);
        let unreadable = (totals.unreadable, "unreadable");
        let label = totals_label(self.noun, self.rows.len(), shown, Some(unreadable));
        (layout.cells(&totals.row()), label)
    }

    fn put_totals<'p>(&'p self, layout: &ReportLayout<Mappings>, object: Object<'p>) -> Object<'p> {
        let totals = MappingTotals::new(&self.rows);
        let summed = layout
            .columns
            .iter()
            .filter(|c| self.read.is_ok() && c.label != Label::Group);
        let sums = summed.fold(Object::default(), |sums, c| match (c.value)(&totals.row()) {
            Value::Bytes(n) | Value::Count(n) => sums.put(c.id, n),
            Value::Missing(why) => sums.put(c.id, Node::Unknown(why)),
            _ => sums,
        });
        object.extend(summed_up(sums, totals.unreadable > 0 || self.read.is_err()))
    }

    fn totals_fields() -> Vec<Field> {
        summed_up_fields()
    }
}

described_object! {
    fn summed_up, summed_up_fields<'p>(sums: Object<'p>, is_partial: bool) -> Object<'p> {
        /// Sums over all mappings.
        "totals": object(of_columns(COLUMNS.iter().filter(|column| is_summed(column)))) => sums,
        /// True if some could not be read: the sums are too small.
        "partial": switch() => is_partial,
    }
}

fn is_summed(column: &Column<Mappings>) -> bool {
    column.label != Label::Group && matches!(column.unit, Unit::Bytes | Unit::Count)
}

pub fn schema() -> Schema {
    let help = "The mappings of processes. Written by `zmtop maps`.";
    by_process::schema::<ProcessMappings<'_>>(COLUMNS, help, "The mappings, or the areas, in the requested order.")
}

/// Explains why a process has no mappings to show.
pub fn reason(pid: u32, why: Missing) -> String {
    match why {
        Missing::Gone => format!("{pid}: no such process"),
        Missing::KernelThread => format!("{pid} is a kernel thread, which has no memory of its own"),
        Missing::Zombie => format!("{pid} is a zombie, which has freed its memory"),
        Missing::Denied => format!("{pid}: {}", files::advice(files::memory_capability())),
        Missing::Unsupported => format!("{pid}: there is no smaps"),
        other => format!("{pid}: {other}"),
    }
}
