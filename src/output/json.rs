//! JSON that is safe to look at, and exact.
//!
//! Foreign bytes are text by [`text::lossless`]. Beside what JSON itself demands, control (C1, DEL),
//! invisible and reordering characters are written as `\uXXXX`, and marks beyond the fourth on one
//! character: a reader of JSON gets the same string, and a terminal nothing that moves.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::ser::Formatter;

use super::Line;
use crate::columns::{Column, Row, Value};
use crate::model::{Missing, Snapshot};
use crate::record::Record;
use crate::{record, text};

/// Writes a value on one line: a line of NDJSON.
///
/// # Errors
/// Those of `out`, or of the value.
pub fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    write(out, value, false)
}

/// Writes a value as one document in which each element of the lists at its top has a line of its own, so
/// that it can be read, searched by line and compared, without being blown up by indentation.
///
/// # Errors
/// Those of `out`, or of the value.
pub fn document(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    write(out, value, true)
}

/// Writes a whole snapshot as a [`document`] of schema `zmtop/1`. On one line: [`line()`] of [`Record::new`].
///
/// # Errors
/// Those of `out`.
pub fn snapshot(out: &mut dyn Write, snapshot: &Snapshot) -> io::Result<()> {
    document(out, &Record::new(snapshot))
}

fn write(out: &mut dyn Write, value: &impl Serialize, lines: bool) -> io::Result<()> {
    let careful = Careful {
        lines,
        depth: 0,
        filled: false,
    };
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, careful))?;
    out.write_all(b"\n")
}

/// Chosen columns of chosen rows, as one object:
///
/// ```text
/// {"schema":"zmtop-table/1","time":"2026-11-20T23:51:00.123Z","host":"db1","by":"command","rows":[
///  {"group":"postgres","count":100,"pss":2147483648,"unread":null},
///  {"group":"cron","count":1,"pss":null,"unread":"permission denied"}
/// ],"totals":{"group":null,"count":101,"pss":2147483648,"unread":null}}
/// ```
///
/// Values are named by their column's id and are in its plain unit: see [`DataValue`](crate::columns::DataValue). `unread` is the one
/// reason of all that is unknown in a row, or an object of reasons by column.
#[derive(Debug)]
pub struct Table<'a> {
    /// Whose time and host it bears.
    pub snapshot: &'a Snapshot,
    /// What the rows are groups by; `None` where they are processes.
    pub by: Option<&'a str>,
    /// The columns; of one that is named twice only the first counts.
    pub columns: &'a [&'static Column],
    /// The rows in their order.
    pub rows: &'a [Line<'a>],
    /// Their sums.
    pub totals: Option<Row<'a>>,
}

/// The reasons stand in every row, whether the column of that name is asked for or not.
const UNREAD: &str = "unread";

/// The schema of [`Table`].
pub const TABLE_SCHEMA: &str = "zmtop-table/1";

impl Serialize for Table<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut columns: Vec<&Column> = Vec::with_capacity(self.columns.len());
        for column in self.columns {
            if column.id != UNREAD && !columns.iter().any(|c| c.id == column.id) {
                columns.push(column);
            }
        }
        let columns = columns.as_slice();
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("schema", TABLE_SCHEMA)?;
        map.serialize_entry("time", &record::time_text(self.snapshot.time))?;
        map.serialize_entry("host", &text::lossless(&self.snapshot.host))?;
        map.serialize_entry("by", &self.by)?;
        map.serialize_entry(
            "rows",
            &Objects {
                columns,
                lines: self.rows,
            },
        )?;
        let totals = self.totals.map(Line::from);
        let totals = totals.as_ref().map(|line| Object { columns, line });
        map.serialize_entry("totals", &totals)?;
        map.end()
    }
}

struct Objects<'a> {
    columns: &'a [&'a Column],
    lines: &'a [Line<'a>],
}

impl Serialize for Objects<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let columns = self.columns;
        to.collect_seq(self.lines.iter().map(|line| Object { columns, line }))
    }
}

struct Object<'a> {
    columns: &'a [&'a Column],
    line: &'a Line<'a>,
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        for (name, value) in &self.line.before {
            map.serialize_entry(name, value)?;
        }
        let mut missing: Vec<(&str, Missing)> = Vec::new();
        for column in self.columns {
            let value = (column.value)(&self.line.row);
            if let Value::Missing(why) = value {
                missing.push((column.id, why));
            }
            map.serialize_entry(column.id, &value.into_data())?;
        }
        match missing.as_slice() {
            [] => map.serialize_entry(UNREAD, &())?,
            [(_, first), rest @ ..] if rest.iter().all(|(_, why)| why == first) => {
                map.serialize_entry(UNREAD, &first.to_string())?;
            }
            all => {
                let by_column: BTreeMap<_, _> = all.iter().map(|(id, why)| (id, why.to_string())).collect();
                map.serialize_entry(UNREAD, &by_column)?;
            }
        }
        map.end()
    }
}

/// Compact JSON in which nothing can harm a terminal.
struct Careful {
    /// Each element of the lists at the top on a line of its own.
    lines: bool,
    /// How many objects and lists are open.
    depth: usize,
    /// Something stands in the list at the top.
    filled: bool,
}

impl Careful {
    /// Whether the innermost that is open is a list in the object at the top.
    const fn at_top(&self) -> bool {
        self.lines && self.depth == 2
    }
}

impl Formatter for Careful {
    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        out.write_all(b"}")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        self.filled &= !self.at_top();
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let close: &[u8] = if self.at_top() && self.filled { b"\n]" } else { b"]" };
        self.depth -= 1;
        out.write_all(close)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if self.at_top() {
            self.filled = true;
            out.write_all(b"\n ")?;
        }
        Ok(())
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let (run, Some(c)) = text::harmless(rest) {
            out.write_all(run.as_bytes())?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = &rest[run.len() + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}
