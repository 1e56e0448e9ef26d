//! Reports: the output of the one-shot commands.
//!
//! A [`Report`] provides text for people, a document of named values, and a table of values. A [`Format`] turns one of
//! these into bytes. Every report can therefore be written in every format, and neither knows the other.
//!
//! Only `run` uses this module. It reads nothing from the machine, and makes every byte safe before it reaches a
//! terminal.

pub mod by_process;
pub mod cache;
#[cfg(feature = "code")]
pub mod callers;
pub mod changes;
pub mod csv;
pub mod data;
pub mod heap;
pub mod held;
pub mod json;
pub mod kernel;
pub mod leaks;
pub mod limits;
pub mod maps;
pub mod mem;
pub mod prove;
pub mod report_layout;
pub mod schema;
pub mod sentences;
pub mod table;
pub mod table_report;
pub mod text_table;
pub mod why;

use std::io::{self, Write};

use clap::ValueEnum;
use data::{DataTable, Document, Object};

use crate::units::Units;

/// A format that every report can be written in: one file with its writer, and one arm of [`write`](fn@write).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Human-readable.
    #[default]
    #[value(alias = "text")]
    Table,
    /// One object.
    Json,
    /// One object per row, such as a process, each on one line, as for jq .pid.
    Rows,
    /// One object per snapshot, each on one line; --from reads those of `ps` without --columns, --by and --tree.
    Ndjson,
    /// RFC 4180, safe for spreadsheets.
    Csv,
}

impl Format {
    /// Returns true if `ps` writes a table in it. The other format holds the whole snapshot.
    pub const fn is_table(self) -> bool {
        match self {
            Self::Table | Self::Json | Self::Rows | Self::Csv => true,
            Self::Ndjson => false,
        }
    }

    /// Returns true if rows are objects, of which a program picks the values that it wants.
    pub const fn has_objects(self) -> bool {
        matches!(self, Self::Json | Self::Rows)
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct OutputStyle {
    pub units: Units,
    /// Maximum line length: the terminal's columns.
    pub width: Option<usize>,
    /// True to write escape sequences for bold and dim.
    pub color: bool,
    /// True to draw guides and bars in ASCII only.
    pub ascii: bool,
}

pub trait Report {
    /// Writes the report as text for people. All of it is safe to print.
    fn text(&self, out: &mut dyn Write) -> io::Result<()>;

    /// Returns the report as one document, with its schema first.
    fn document(&self) -> Document<'_>;

    /// Returns the report as documents for one line each.
    fn lines(&self) -> Vec<Document<'_>> {
        vec![self.document()]
    }

    /// Returns the rows as objects.
    fn rows(&self) -> Vec<Object<'_>> {
        self.table().into_objects()
    }

    fn table(&self) -> DataTable<'_>;
}

/// Writes a report in a format.
pub fn write(out: &mut dyn Write, report: &dyn Report, format: Format) -> io::Result<()> {
    match format {
        Format::Table => report.text(out),
        Format::Json => json::document(out, &report.document()),
        Format::Ndjson => report.lines().iter().try_for_each(|line| json::line(out, line)),
        Format::Rows => report.rows().iter().try_for_each(|row| json::line(out, row)),
        Format::Csv => csv::write(out, report.table()),
    }
}
