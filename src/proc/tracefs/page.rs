//! A page of a ring buffer, as `trace_pipe_raw` gives it: a header, and records one behind the other.
//!
//! The header's layout is told by `events/header_page`. The records' is that of `include/linux/ring_buffer.h` of the kernel:
//! 5 bits of type or length and 27 bits of time since the record before, then a length where these bits had no room for it.

use super::format::{Field, Format, FormatError};

/// The layout of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    time: Field,
    commit: Field,
    data: Field,
}

/// The bits of `commit` that count bytes: those above are flags.
const LENGTH: u64 = (1 << 27) - 1;
/// Records were lost before this page.
const MISSED: u64 = 1 << 31;
/// Their number stands behind the last record.
const MISSED_STORED: u64 = 1 << 30;

/// The greatest page that is believed: the kernel's own limit is 128 pages of 64 KiB at most.
const MAX_PAGE: usize = 8 << 20;

impl PageLayout {
    /// Parses `events/header_page`.
    pub fn parse(header_page: &[u8]) -> Result<Self, FormatError> {
        let format = Format::parse(header_page);
        let (time, commit, data) = (
            format.number("timestamp")?,
            format.number("commit")?,
            format.any("data")?,
        );
        if time.size != 8 {
            return Err(FormatError::Size("timestamp", time.size));
        }
        if commit.size < 4 {
            return Err(FormatError::Size("commit", commit.size));
        }
        let end = data.offset.checked_add(data.size);
        if data.size < RECORD || end.is_none_or(|end| end > MAX_PAGE) {
            return Err(FormatError::Size("data", data.size));
        }
        Ok(Self { time, commit, data })
    }

    /// Returns the size of a whole page.
    pub const fn size(&self) -> usize {
        self.data.offset + self.data.size
    }

    /// Opens a page; `None` if it is torn: shorter than its header says, or than the header itself.
    pub fn open<'a>(&self, page: &'a [u8]) -> Option<Page<'a>> {
        let commit = self.commit.get(page)?;
        let length = usize::try_from(commit & LENGTH).ok()?;
        let data = page.get(self.data.offset..)?;
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => Missed::None,
            (true, false) => Missed::Some,
            // As long as `commit` itself: a `long`.
            (true, true) => Missed::Count(
                Field {
                    offset: length,
                    ..self.commit
                }
                .get(data)?,
            ),
        };
        Some(Page {
            missed,
            records: Records {
                time: self.time.get(page)?,
                rest: data.get(..length)?,
            },
        })
    }
}

/// The records that were lost before a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// None.
    None,
    /// Some: the kernel does not say how many.
    Some,
    /// So many.
    Count(u64),
}

/// A page.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// The records that were lost before it.
    pub missed: Missed,
    /// Its records.
    pub records: Records<'a>,
}

/// The records of a page, from the oldest on. After one that is torn there are no more.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    /// The time of the record before.
    time: u64,
    rest: &'a [u8],
}

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// When it was written, by the buffer's clock.
    pub time: u64,
    /// The event.
    pub payload: &'a [u8],
}

/// A record that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn;

/// Size of a record's head, of the length behind it, and the unit of lengths.
const RECORD: usize = 4;
/// The type of what is skipped: the rest of a page, or a record that was taken back.
const PADDING: u32 = 29;
/// The type of a longer time since the record before.
const TIME_EXTEND: u32 = 30;
/// The type of an absolute time.
const TIME_STAMP: u32 = 31;
/// The bits of a time that an absolute one does not hold.
const TIME_TOP: u64 = 0xf8 << 56;

impl<'a> Records<'a> {
    /// Takes a number of four bytes.
    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk::<RECORD>()?;
        self.rest = rest;
        Some(u32::from_le_bytes(*word))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    /// Takes as many bytes as the next number says, itself included.
    fn take_counted(&mut self) -> Option<&'a [u8]> {
        let length = (self.word()? as usize).checked_sub(RECORD)?;
        self.take(length)
    }

    /// Returns the next event; `None` after the last one.
    fn step(&mut self) -> Result<Option<Record<'a>>, Torn> {
        while !self.rest.is_empty() {
            let head = self.word().ok_or(Torn)?;
            let (kind, delta) = (head & 31, u64::from(head >> 5));
            let payload = match kind {
                PADDING if delta == 0 => {
                    self.rest = &[];
                    continue;
                }
                PADDING => {
                    self.take_counted().ok_or(Torn)?;
                    // One tick may stand for none, so that this is not the end of the page.
                    self.time = self.time.wrapping_add(if delta == 1 { 0 } else { delta });
                    continue;
                }
                TIME_EXTEND => {
                    let more = u64::from(self.word().ok_or(Torn)?) << 27;
                    self.time = self.time.wrapping_add(more | delta);
                    continue;
                }
                TIME_STAMP => {
                    let more = u64::from(self.word().ok_or(Torn)?) << 27;
                    self.time = self.time & TIME_TOP | more | delta;
                    continue;
                }
                0 => self.take_counted().ok_or(Torn)?,
                words => self.take(words as usize * RECORD).ok_or(Torn)?,
            };
            self.time = self.time.wrapping_add(delta);
            return Ok(Some(Record {
                time: self.time,
                payload,
            }));
        }
        Ok(None)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Torn>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.step();
        if found.is_err() {
            self.rest = &[];
        }
        found.transpose()
    }
}
