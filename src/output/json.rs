//! Writes JSON that is safe to view in a terminal, and exact.
//!
//! Raw bytes become text by [`text::lossless`]. In addition to what JSON requires, control (C1, DEL), invisible and
//! reordering characters are written as `\uXXXX`, and so are zero-width marks after the fourth on one character. A JSON
//! reader gets the same string, and a terminal gets nothing that moves the cursor.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::text;

/// Writes a value on one line: a line of NDJSON.
pub fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    write(out, value, false)
}

/// Writes a value as one document. Each element of its top-level lists is on its own line, so that the document can be
/// read, searched by line and compared without the bulk of indentation.
pub fn document(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    write(out, value, true)
}

fn write(out: &mut dyn Write, value: &impl Serialize, lines: bool) -> io::Result<()> {
    let formatter = SafeFormatter {
        lines,
        depth: 0,
        filled: false,
    };
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut *out, formatter))?;
    out.write_all(b"\n")
}

/// A formatter for compact JSON that cannot harm a terminal.
struct SafeFormatter {
    /// True to put each element of the top-level lists on its own line.
    lines: bool,
    depth: usize,
    /// True if the top-level list has an element.
    filled: bool,
}

impl SafeFormatter {
    /// Returns true if the innermost open container is a list in the top-level object.
    const fn in_top_list(&self) -> bool {
        self.lines && self.depth == 2
    }
}

impl Formatter for SafeFormatter {
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
        self.filled &= !self.in_top_list();
        out.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let close: &[u8] = if self.in_top_list() && self.filled {
            b"\n]"
        } else {
            b"]"
        };
        self.depth -= 1;
        out.write_all(close)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if self.in_top_list() {
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
