//! Cuts a stream of bytes into JSON objects.

use std::io::{self, BufRead, ErrorKind, Read};

use crate::source::error::{Fault, reason};

/// The longest text of one snapshot, in bytes: far more than a hundred thousand processes take.
pub const LONGEST: usize = 256 << 20;

/// The beginning of an object that zmtop wrote: where a line begins so, the one before it has ended, whole or not.
pub(super) const BEGINNING: &[u8] = b"{\"schema\"";

/// The bytes from one object's beginning to its end.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) text: &'a [u8],
    /// The line it begins in, from 1.
    pub(super) line: u64,
    /// The line it ends in.
    pub(super) end: u64,
    /// The stream ends in it.
    pub(super) last: bool,
    /// There is more of it than may be; `text` is not all.
    pub(super) too_long: bool,
}

/// A stream of objects, each on one line (NDJSON) or over several. One ends where its brackets close, and
/// where a line begins as zmtop's objects begin. Where others wrote them, the first that is whole and stands
/// on one line says that each does, so that a damaged one ends with its line.
pub(super) struct Frames {
    input: Box<dyn BufRead + Send>,
    compressed: bool,
    buffer: Vec<u8>,
    /// The longest length of a frame.
    longest: usize,
    /// The last line read.
    line: u64,
    /// Each object stands on one line.
    is_by_line: bool,
    /// The last frame shows that each object stands on one line, if it is whole.
    is_evidence: bool,
    /// Bytes at the end of the buffer that belong to the next frame.
    next_len: usize,
    /// There was nothing but blanks.
    is_empty: bool,
}

impl std::fmt::Debug for Frames {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frames")
            .field("line", &self.line)
            .field("is_by_line", &self.is_by_line)
            .finish_non_exhaustive()
    }
}

/// The way in which a line came out of the stream.
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

    /// Returns true if there was nothing in it at all.
    pub(super) const fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Sets the longest length of a frame.
    pub(super) const fn set_longest(&mut self, bytes: usize) {
        self.longest = bytes;
    }

    /// Returns the longest length of a frame.
    pub(super) const fn longest(&self) -> usize {
        self.longest
    }

    /// Confirms that the last frame was a whole object.
    pub(super) const fn confirm(&mut self) {
        self.is_by_line |= self.is_evidence;
    }

    /// Returns the next frame, or `None` at the end.
    ///
    /// # Errors
    /// The stream cannot be read further.
    pub(super) fn next(&mut self) -> Result<Option<Frame<'_>>, Fault> {
        let held = std::mem::take(&mut self.next_len);
        self.buffer.drain(..self.buffer.len() - held);
        // One line of 256 MiB is no reason to hold as much for ever.
        if self.buffer.capacity() > 4 << 20 && held == 0 {
            self.buffer.shrink_to(1 << 20);
        }
        let mut scan = Scan::default();
        let mut first = (held > 0).then_some(self.line);
        scan.feed(&self.buffer);
        let mut read = Line::Whole;
        while matches!(read, Line::Whole) && (first.is_none() || !(self.is_by_line || scan.ended)) {
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
            // Where each line is an object, nobody asks where it ends.
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

    /// Appends one line to the buffer, but no more than the longest frame may have.
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

    /// Reads to the end of the line and keeps nothing of it.
    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let chunk = self.input.fill_buf()?;
            let end = chunk.iter().position(|b| *b == b'\n');
            let n = end.map_or(chunk.len(), |at| at + 1);
            self.input.consume(n);
            if end.is_some() || n == 0 {
                return Ok(());
            }
        }
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

/// A search for the end of an object, by its brackets.
#[derive(Debug, Default)]
struct Scan {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// Its last bracket has closed, or it cannot be JSON.
    ended: bool,
}

impl Scan {
    fn feed(&mut self, bytes: &[u8]) {
        for b in bytes {
            match (self.in_string, b) {
                _ if self.escaped => self.escaped = false,
                // A string does not go over a line.
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
        // What begins with no bracket is no object.
        self.ended |= self.depth == 0 && !bytes.is_empty();
    }
}
