//! The mappings of processes, as tables or as data.
//!
//! ```text
//! AREAS   SIZE  SWPSS  SWAP  DIRTY    USS    PSS    RSS  MAPPING
//!     1   132K      0     0  96.0K  96.0K  96.0K  96.0K  [heap]
//!     5   1.9M      0     0  20.0K  20.0K  35.0K   1.5M  /usr/lib/libc.so.6
//!    14   3.4M      0     0   180K   180K   215K   2.1M  2 mappings
//! ```

use std::io::{self, Write};

use super::csv::Sheet;
use super::grid::{Grid, Kind, Paper, word};
use super::json;
use super::node::{Map, Node};
use crate::columns::mapping::{MapRow, Mappings};
use crate::columns::{Cell, CellStyle, Column, DataValue, Label, Value, cell, order};
use crate::group::mapping::total;
use crate::model::mapping::Extent;
use crate::model::{Memory, Missing, Reading};
use crate::text::safe;
use crate::units::Units;

/// What is written, and how.
#[derive(Clone, Debug)]
pub struct MapsOptions {
    /// The columns, from left to right.
    pub columns: Vec<&'static Column<Mappings>>,
    /// The column sorted by; what is unknown comes last.
    pub sort: &'static Column<Mappings>,
    /// Greatest first.
    pub descending: bool,
    /// No more rows of a process than that; its totals are of all.
    pub top: Option<usize>,
    /// How bytes are written in tables.
    pub units: Units,
    /// The terminal's columns: no line of a table is longer.
    pub width: Option<usize>,
    /// With escape sequences for bold and dim.
    pub color: bool,
}

/// One process and its mappings.
#[derive(Clone, Debug)]
pub struct Maps<'a> {
    /// Its id.
    pub pid: u32,
    /// When it started; why nothing of it could be read.
    pub read: Reading<u64>,
    /// Its short name, raw.
    pub comm: &'a [u8],
    /// Its areas or its mappings.
    pub rows: Vec<MapRow<'a>>,
    /// What a row is, for the totals: `area` or `mapping`.
    pub noun: &'static str,
}

struct Sums {
    areas: u64,
    memory: Reading<Memory>,
    extent: Extent,
    unread: usize,
}

impl Sums {
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

impl<'a> Maps<'a> {
    /// The rows in order, no more than are wanted.
    fn sorted(&self, options: &MapsOptions) -> Vec<&MapRow<'a>> {
        let keys: Vec<_> = self.rows.iter().map(|r| options.sort.sort_key(r)).collect();
        let mut sorted = order(&keys, options.descending);
        sorted.truncate(options.top.unwrap_or(usize::MAX));
        sorted.into_iter().map(|at| &self.rows[at]).collect()
    }

    fn sums(&self) -> Sums {
        let (areas, memory, extent) = total(self.rows.iter().map(|r| (r.areas, r.memory, r.extent)));
        let unread = self.rows.iter().filter(|r| r.memory.is_err()).count();
        Sums {
            areas,
            memory,
            extent,
            unread,
        }
    }

    /// Writes a table of it; under its pid and name if `titled`.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn table(&self, out: &mut dyn Write, options: &MapsOptions, titled: bool) -> io::Result<()> {
        if titled {
            writeln!(out, "{} {}", self.pid, safe(self.comm))?;
        }
        let mut grid = Grid::new(options.columns.iter().map(|c| (c.title, c.align)));
        let shown = self.sorted(options);
        for row in &shown {
            grid.push(
                Kind::Row,
                options.columns.iter().map(|c| text(c, row, options.units)).collect(),
            );
        }
        let sums = self.sums();
        let totals = sums.row();
        let label = self.label(shown.len(), &sums);
        let cells = options.columns.iter().map(|c| match c.label {
            Label::Group => word(label.clone()),
            _ => text(c, &totals, options.units),
        });
        grid.push(Kind::Totals, cells.collect());
        let paper = Paper {
            width: options.width,
            color: options.color,
        };
        grid.write(out, paper)
    }

    /// `41 mappings, 10 shown, partial: 1 malformed`.
    fn label(&self, shown: usize, sums: &Sums) -> String {
        let plural = if self.rows.len() == 1 { "" } else { "s" };
        let mut parts = vec![format!("{} {}{plural}", self.rows.len(), self.noun)];
        if shown < self.rows.len() {
            parts.push(format!("{shown} shown"));
        }
        if sums.unread > 0 {
            parts.push(format!("partial: {} unreadable", sums.unread));
        }
        parts.join(", ")
    }

    /// Its values by column; why it has none, where it has not.
    fn map(&self, options: &MapsOptions) -> Map<'_> {
        let head = Map::default()
            .put("pid", u64::from(self.pid))
            .put("starttime", self.read);
        let head = match self.read {
            Ok(_) => head.put("comm", Node::bytes(self.comm)),
            Err(_) => head.put("comm", Node::Known(DataValue::Null)),
        };
        let object = |row| {
            let columns = options.columns.iter();
            let map = columns.fold(Map::default(), |map, column| map.put(column.id, (column.value)(row)));
            map.with_unread()
        };
        let rows: Vec<_> = self.sorted(options).into_iter().map(object).collect();
        let sums = self.sums();
        let mut totals = Map::default();
        for column in options
            .columns
            .iter()
            .filter(|c| self.read.is_ok() && c.label != Label::Group)
        {
            let value: Node<'_> = match (column.value)(&sums.row()) {
                Value::Bytes(n) | Value::Count(n) => n.into(),
                Value::Missing(why) => Node::Unknown(why),
                _ => continue,
            };
            totals = totals.put(column.id, value);
        }
        head.put("mappings", rows)
            .put("totals", totals)
            .put("partial", sums.unread > 0 || self.read.is_err())
            .put("unread", self.read.err().map(|why| why.to_string()))
    }
}

fn text(column: &Column<Mappings>, row: &MapRow<'_>, units: Units) -> Cell {
    let value = (column.value)(row);
    let mut cell = cell(&value, units, usize::MAX);
    if cell.style == CellStyle::Missing {
        "-".clone_into(&mut cell.text);
    }
    if column.label == Label::Group && row.name.is_some_and(|n| n.deleted) {
        cell.text += " [deleted]";
    }
    cell
}

/// Writes these processes as one JSON document.
///
/// # Errors
/// Those of `out`.
pub fn json(out: &mut dyn Write, all: &[Maps<'_>], options: &MapsOptions) -> io::Result<()> {
    let processes: Vec<_> = all.iter().map(|p| p.map(options)).collect();
    json::document(out, &Map::default().put("schema", SCHEMA).put("processes", processes))
}

/// Writes each of these processes as one line of JSON.
///
/// # Errors
/// Those of `out`.
pub fn ndjson(out: &mut dyn Write, all: &[Maps<'_>], options: &MapsOptions) -> io::Result<()> {
    for process in all {
        let map = Map::default()
            .put("schema", SCHEMA)
            .put("process", process.map(options));
        json::line(out, &map)?;
    }
    Ok(())
}

/// The schema's name. Fields are only ever added.
const SCHEMA: &str = "zmtop-maps/1";

/// Writes a line for each mapping of these processes, the pid first. Of a process that could not be read
/// there is none.
///
/// # Errors
/// Those of `out`.
pub fn csv(out: &mut dyn Write, all: &[Maps<'_>], options: &MapsOptions) -> io::Result<()> {
    let mut sheet = Sheet::new(out);
    sheet.heading(["pid"].into_iter().chain(options.columns.iter().map(|c| c.id)))?;
    for process in all {
        for row in process.sorted(options) {
            let values = options.columns.iter().map(|c| (c.value)(row).into_data());
            sheet.row([DataValue::Integer(process.pid.into())].into_iter().chain(values))?;
        }
    }
    sheet.finish()
}

/// Why a process has no mappings to show, in words.
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
