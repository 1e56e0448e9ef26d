//! Writes CSV by RFC 4180 that is safe in a terminal and in a spreadsheet.
//!
//! Lines end in CR LF. Sizes and counts are integers, changes signed integers, and rates, shares and times decimals.
//! Unknown values and charts are empty cells. Text is encoded by [`text::lossless`], and anything that could harm a
//! terminal is escaped as in the tables (`\n`, `\t`, `\r`, `\x1b`, `\u{202e}`). Text that begins with `=`, `+`, `-` or
//! `@` gets a leading `'`, since a spreadsheet would treat it as a formula. So CSV is exact for figures and ordinary
//! names, and JSON is exact for everything.

use std::io::{self, Write};

use ::csv::{ErrorKind, Terminator, WriterBuilder};

use super::data::DataTable;
use crate::columns::DataValue;
use crate::text;

/// Writes a table: its column names, if any, and its rows.
///
/// # Errors
/// Errors of `out`, or a row with a different number of values than the previous rows.
pub fn write(out: impl Write, table: DataTable<'_>) -> io::Result<()> {
    let mut writer = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
    if let Some(names) = table.names {
        writer.write_record(names).map_err(io_error)?;
    }
    for row in table.rows {
        for value in &row {
            writer.write_field(cell(value)).map_err(io_error)?;
        }
        writer.write_record(None::<&[u8]>).map_err(io_error)?;
    }
    writer.flush()
}

/// Returns the output's own error, so that a closed pipe is recognized.
fn io_error(error: ::csv::Error) -> io::Error {
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
        DataValue::Text(bytes) => harmless_text(bytes),
    }
}

/// Returns text that is harmless in any program that opens it.
fn harmless_text(bytes: &[u8]) -> String {
    let text = text::lossless(bytes);
    let mut out = String::with_capacity(text.len() + 1);
    // Some readers skip blanks before they look for a formula, and some treat the full-width forms as operators.
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
