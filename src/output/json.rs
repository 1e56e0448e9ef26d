//! JSON that is safe to look at, and exact.
//!
//! Foreign bytes are text by [`text::lossless`]. Beside what JSON itself demands, control (C1, DEL),
//! invisible and reordering characters are written as `\uXXXX`, and marks beyond the fourth on one
//! character: a reader of JSON gets the same string, and a terminal nothing that moves.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::text;

/// Writes a value on one line: a line of NDJSON.
///
/// # Errors
/// Errors of `out`, or of the value.
pub fn line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    write(out, value, false)
}

/// Writes a value as one document in which each element of the lists at its top has a line of its own, so
/// that it can be read, searched by line and compared, without being blown up by indentation.
///
/// # Errors
/// Errors of `out`, or of the value.
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

/// A formatter of compact JSON in which nothing can harm a terminal.
struct SafeFormatter {
    /// Each element of the lists at the top gets a line of its own.
    lines: bool,
    /// Number of objects and lists that are open.
    depth: usize,
    /// The list at the top has an element.
    filled: bool,
}

impl SafeFormatter {
    /// Returns true if the innermost that is open is a list in the object at the top.
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
