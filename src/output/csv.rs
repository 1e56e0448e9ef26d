//! CSV by RFC 4180 that is safe in a terminal and in a spreadsheet.
//!
//! Lines end in CR LF. Sizes and counts are integers, changes signed integers, rates, shares and times
//! decimals; what is unknown is an empty cell, and so is a chart. Text is that of [`text::lossless`], in which
//! what could harm a terminal is written as in the tables (`\n`, `\t`, `\r`, `\x1b`, `\u{202e}`); and a
//! text that a spreadsheet would take for a formula, since it begins with `=`, `+`, `-` or `@`, has a `'`
//! before it. So CSV is exact for figures and for ordinary names; JSON is exact for all.

use std::io::{self, Write};

use ::csv::{ErrorKind, Terminator, WriterBuilder};

use super::Line;
use crate::columns::{Column, DataValue};
use crate::text;

/// Writes the headings, which are the columns' ids, and the rows.
///
/// # Errors
/// Those of `out`.
pub fn rows<'a>(
    out: impl Write,
    columns: &[&Column],
    rows: impl IntoIterator<Item = impl Into<Line<'a>>>,
) -> io::Result<()> {
    let mut sheet = Sheet::new(out);
    let mut rows = rows.into_iter().map(Into::into).peekable();
    let before = rows.peek().map(|line| line.before.as_slice()).unwrap_or_default();
    let names = before.iter().map(|(name, _)| *name);
    sheet.heading(names.chain(columns.iter().map(|column| column.id)))?;
    for line in rows {
        sheet.line(columns, line)?;
    }
    sheet.finish()
}

/// CSV, line by line: for tables that are written one after another, and for those that are none of the
/// column table's.
pub struct Sheet<W: Write>(::csv::Writer<W>);

impl<W: Write> std::fmt::Debug for Sheet<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sheet").finish_non_exhaustive()
    }
}

impl<W: Write> Sheet<W> {
    /// An empty one.
    pub fn new(out: W) -> Self {
        let mut options = WriterBuilder::new();
        Self(options.terminator(Terminator::CRLF).from_writer(out))
    }

    /// Writes a line of names; they are zmtop's own.
    ///
    /// # Errors
    /// Those of the output.
    pub fn heading(&mut self, names: impl IntoIterator<Item = &'static str>) -> io::Result<()> {
        self.0.write_record(names).map_err(reason)
    }

    /// Writes a row of the column table.
    ///
    /// # Errors
    /// Those of the output; a line of another number of cells than those before it.
    pub fn line(&mut self, columns: &[&Column], line: Line<'_>) -> io::Result<()> {
        let row = line.row;
        let before = line.before.into_iter().map(|(_, value)| value);
        self.row(before.chain(columns.iter().map(|column| (column.value)(&row).into_data())))
    }

    /// Writes a line of values.
    ///
    /// # Errors
    /// Those of the output; a line of another number of cells than those before it.
    pub fn row<'a>(&mut self, values: impl IntoIterator<Item = DataValue<'a>>) -> io::Result<()> {
        for value in values {
            self.0.write_field(cell(&value)).map_err(reason)?;
        }
        self.0.write_record(None::<&[u8]>).map_err(reason)
    }

    /// Hands on what is still held back.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The output's own error, so that a closed pipe is known as one.
fn reason(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn cell(value: &DataValue<'_>) -> String {
    match value {
        DataValue::Null | DataValue::Series(_) => String::new(),
        DataValue::Integer(n) => n.to_string(),
        DataValue::Signed(n) => n.to_string(),
        DataValue::Float(x) => x.to_string(),
        DataValue::Text(bytes) => word(bytes),
    }
}

/// Text that does nothing wherever it is opened.
fn word(bytes: &[u8]) -> String {
    let text = text::lossless(bytes);
    let mut out = String::with_capacity(text.len() + 1);
    // Some readers pass over blanks before they look for a formula; the wide forms are signs to some.
    let first = text.trim_start().chars().next();
    if first.is_some_and(|c| "=+-@＝＋－＠".contains(c)) {
        out.push('\'');
    }
    let mut rest = &*text;
    while let (run, Some(c)) = text::harmless(rest) {
        out.push_str(run);
        out.push_str(&text::escaped(c));
        rest = &rest[run.len() + c.len_utf8()..];
    }
    out.push_str(rest);
    out
}
