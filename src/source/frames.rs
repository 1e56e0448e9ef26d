//! Splits a stream of bytes into JSON objects.

use std::io::{self, BufRead, ErrorKind, Read};

use crate::source::blank_lines;
use crate::source::error::{Fault, reason};

/// The longest text of one snapshot, in bytes: far more than 100,000 processes need.
pub const LONGEST: usize = 256 << 20;

/// The beginning of an object that zmtop wrote. If a line begins with it, the previous object has ended, complete or not.
pub(super) const BEGINNING: &[u8] = b"{\"schema\"";

/// The bytes from one object's beginning to its end.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) text: &'a [u8],
    /// The first line, from 1.
    pub(super) line: u64,
    /// The last line.
    pub(super) end: u64,
    /// The stream ends within it.
    pub(super) last: bool,
    /// It is longer than allowed; `text` is incomplete.
    pub(super) too_long: bool,
}

/// A stream of objects, each on one line (NDJSON) or over several. An object ends where its brackets close, or before a
/// line that begins as zmtop's objects do. For other writers, the first complete object on one line shows that every
/// object is on one line, so that a damaged one ends with its line.
pub(super) struct Frames {
    input: Box<dyn BufRead + Send>,
    compressed: bool,
    buffer: Vec<u8>,
    /// The maximum length of a frame.
    pub(super) longest: usize,
    /// The last line read.
    line: u64,
    /// Each object is on one line.
    is_by_line: bool,
    /// If the last frame is complete, it shows that each object is on one line.
    is_evidence: bool,
    /// Bytes at the end of the buffer that belong to the next frame.
    next_len: usize,
    /// Only blanks were read so far.
    pub(super) is_empty: bool,
}

/// The result of reading a line.
enum Line {
    Whole,
    TooLong,
    End,
}

impl Frames {
    pub(super) fn new(input: Box<dyn BufRead + Send>, compressed: bool) -> Self {
        Self {
            input,
            compressed,
            buffer: Vec::new(),
            longest: LONGEST,
            line: 0,
            is_by_line: false,
            is_evidence: false,
            next_len: 0,
            is_empty: true,
        }
    }

    /// Records that the last frame was a complete object.
    pub(super) const fn confirm(&mut self) {
        self.is_by_line |= self.is_evidence;
    }

    pub(super) fn next(&mut self) -> Result<Option<Frame<'_>>, Fault> {
        let held = std::mem::take(&mut self.next_len);
        self.buffer.drain(..self.buffer.len() - held);
        // Do not keep the memory of a long line.
        if self.buffer.capacity() > 4 << 20 && held == 0 {
            self.buffer.shrink_to(1 << 20);
        }
        let mut scan = Scan::default();
        let mut first = (held > 0).then_some(self.line);
        scan.feed(&self.buffer);
        let mut read = Line::Whole;
        while matches!(read, Line::Whole) && (first.is_none() || !(self.is_by_line || scan.ended)) {
            if !scan.in_string {
                self.read_blank_lines(first.is_some())
                    .map_err(|error| self.broken(&error))?;
            }
            let from = self.buffer.len();
            read = self.read_line().map_err(|error| self.broken(&error))?;
            let line = &self.buffer[from..];
            if first.is_none() {
                if !matches!(read, Line::TooLong) && line.iter().all(u8::is_ascii_whitespace) {
                    self.buffer.clear();
                    continue;
                }
                self.is_empty = false;
                first = Some(self.line);
            } else if line.starts_with(BEGINNING) {
                self.next_len = line.len();
                break;
            }
            if !self.is_by_line {
                scan.feed(line);
            }
        }
        let Some(line) = first else { return Ok(None) };
        let text = &self.buffer[..self.buffer.len() - self.next_len];
        self.is_evidence = self.line == line && self.next_len == 0 && !text.starts_with(BEGINNING);
        Ok(Some(Frame {
            text,
            line,
            end: self.line - u64::from(self.next_len > 0),
            last: matches!(read, Line::End),
            too_long: matches!(read, Line::TooLong),
        }))
    }

    /// Appends one line to the buffer, up to the maximum length of a frame.
    fn read_line(&mut self) -> io::Result<Line> {
        let before = self.buffer.len();
        let room = (self.longest - before.min(self.longest)) as u64 + 1;
        let n = (&mut self.input).take(room).read_until(b'\n', &mut self.buffer)?;
        self.line += u64::from(n > 0);
        if self.buffer.ends_with(b"\n") && n > 0 {
            return Ok(Line::Whole);
        }
        if (n as u64) < room {
            return Ok(Line::End);
        }
        self.buffer.truncate(before);
        self.skip_line()?;
        Ok(Line::TooLong)
    }

    /// Reads the blank lines that follow. Appends them to the buffer if they belong to an object, as far as it has room for them.
    fn read_blank_lines(&mut self, is_in_object: bool) -> io::Result<()> {
        loop {
            let chunk = self.input.fill_buf()?;
            let mut n = blank_lines(chunk);
            if is_in_object {
                let room = self.longest.saturating_sub(self.buffer.len());
                n = blank_lines(&chunk[..n.min(room)]);
                self.buffer.extend_from_slice(&chunk[..n]);
            }
            if n == 0 {
                return Ok(());
            }
            self.line += chunk[..n].iter().map(|byte| u64::from(*byte == b'\n')).sum::<u64>();
            self.input.consume(n);
        }
    }

    /// Fails if the line goes on for [`LONGEST`] bytes: a sparse file may be one line of terabytes.
    fn skip_line(&mut self) -> io::Result<()> {
        let mut room = LONGEST;
        while room > 0 {
            let chunk = self.input.fill_buf()?;
            let chunk = &chunk[..chunk.len().min(room)];
            let end = chunk.iter().position(|b| *b == b'\n');
            let n = end.map_or(chunk.len(), |at| at + 1);
            self.input.consume(n);
            if end.is_some() || n == 0 {
                return Ok(());
            }
            room -= n;
        }
        let line = self.line;
        Err(io::Error::other(format!("line {line} is longer than {LONGEST} bytes")))
    }

    fn broken(&self, error: &io::Error) -> Fault {
        match (self.compressed, error.kind()) {
            (true, ErrorKind::UnexpectedEof) => Fault::Cut(self.line + 1),
            (true, _) => Fault::Corrupt {
                line: self.line,
                why: reason(error),
            },
            (false, _) => Fault::unreadable(error),
        }
    }
}

/// Finds the end of an object by its brackets.
#[derive(Debug, Default)]
struct Scan {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The last bracket is closed, or the text cannot be JSON.
    ended: bool,
}

impl Scan {
    fn feed(&mut self, bytes: &[u8]) {
        for b in bytes {
            match (self.in_string, b) {
                _ if self.escaped => self.escaped = false,
                // No string has a newline.
                (true, b'\n') => self.ended = true,
                (true, b'\\') => self.escaped = true,
                (_, b'"') => self.in_string = !self.in_string,
                (false, b'{' | b'[') => self.depth = self.depth.saturating_add(1),
                (false, b'}' | b']') => {
                    self.depth = self.depth.saturating_sub(1);
                    self.ended |= self.depth == 0;
                }
                _ => {}
            }
        }
        // Text that begins without a bracket is no object.
        self.ended |= self.depth == 0 && !bytes.is_empty();
    }
}
