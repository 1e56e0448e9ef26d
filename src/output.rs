//! Reports: what the one-shot commands write to standard output.
//!
//! A [`Report`] is text for people, a document of named values, and a table of values. A [`Format`] makes one of
//! them into bytes, so every report can be written in every format and neither knows the other.
//!
//! For `run` alone. Nothing here reads the machine, and no byte that it did not make safe reaches a terminal.

pub mod by_process;
pub mod callers;
pub mod changes;
pub mod csv;
pub mod data;
pub mod held;
pub mod json;
pub mod leaks;
pub mod maps;
pub mod mem;
pub mod prove;
pub mod report_layout;
pub mod row_table;
pub mod sites;
pub mod slab;
pub mod table;
pub mod text_table;

use std::io::{self, Write};

use clap::ValueEnum;
use data::{DataTable, Document};

use crate::units::Units;

/// A format that every report can be written in: one file with its writer, and one arm of [`write`](fn@write).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// A single object. Without --columns that of processes is a snapshot, which --from reads.
    Json,
    /// The same on one line; with --every one line each time.
    Ndjson,
    /// RFC 4180, safe for spreadsheets.
    Csv,
}

/// The style of text for people.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputStyle {
    /// The units of bytes.
    pub units: Units,
    /// The terminal's columns: no line is longer.
    pub width: Option<usize>,
    /// With escape sequences for bold and dim.
    pub color: bool,
    /// Guides and bars in nothing but ASCII.
    pub ascii: bool,
}

/// A report that can be written in every format.
pub trait Report {
    /// Writes the report as text for people, all of it safe to print.
    ///
    /// # Errors
    /// Errors of `out`.
    fn text(&self, out: &mut dyn Write) -> io::Result<()>;

    /// Returns the report as one document; its schema comes first.
    fn document(&self) -> Document<'_>;

    /// Returns the report as documents for a line each.
    fn lines(&self) -> Vec<Document<'_>> {
        vec![self.document()]
    }

    /// Returns the report as a table of values.
    fn table(&self) -> DataTable<'_>;
}

/// Writes a report in a format.
///
/// # Errors
/// Errors of `out`.
pub fn write(out: &mut dyn Write, report: &dyn Report, format: Format) -> io::Result<()> {
    match format {
        Format::Table => report.text(out),
        Format::Json => json::document(out, &report.document()),
        Format::Ndjson => report.lines().iter().try_for_each(|line| json::line(out, line)),
        Format::Csv => csv::write(out, report.table()),
    }
}
