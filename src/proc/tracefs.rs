//! Tracefs: where it is mounted, the layout of its events, and the raw pages of its ring buffers.
//!
//! Pure: [`sampler::callers`](crate::sampler::callers) reads the files. The running kernel describes all layouts
//! itself: the `format` file of an event and `events/header_page` give the offset and size of each field.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use super::parse::{mount_lines, number, unescape_octal};

/// Returns the directories in which tracefs is mounted according to a `mountinfo`: its own mounts, then those below
/// debugfs.
pub fn mounts(mountinfo: &[u8]) -> Vec<PathBuf> {
    let points = |kind: &'static [u8]| {
        let mounts = mount_lines(mountinfo).filter(move |line| line.kind == kind && line.root == b"/");
        mounts.map(|line| PathBuf::from(OsString::from_vec(unescape_octal(line.point))))
    };
    let below_debugfs = points(b"debugfs").map(|point| point.join("tracing"));
    points(b"tracefs").chain(below_debugfs).collect()
}

/// Returns the number of lost events in a `per_cpu/cpuN/stats`: overwritten before they were read, dropped for lack of
/// space, or raised while another was being written. Returns `None` if the file counts none of these.
pub fn lost(stats: &[u8]) -> Option<u64> {
    let figure = |line: &[u8]| {
        let at = line.iter().position(|b| *b == b':')?;
        let counts = [&b"overrun"[..], b"commit overrun", b"dropped events"].contains(&&line[..at]);
        counts.then(|| number(line[at + 1..].trim_ascii())).flatten()
    };
    let mut figures = stats.split(|b| *b == b'\n').filter_map(figure).peekable();
    figures.peek()?;
    Some(figures.fold(0, u64::saturating_add))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub offset: usize,
    pub size: usize,
    pub signed: bool,
}

impl Field {
    /// Returns the field as an unsigned number, or `None` if the record ends before it.
    pub fn get(self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut eight = [0; 8];
        eight.get_mut(..self.size)?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(eight))
    }
}

/// A layout that cannot be used. The text states the reason and contains no foreign bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    #[error("has no field `{0}`")]
    Absent(&'static str),
    /// The size is not supported.
    #[error("has a field `{0}` of {1} bytes, which is not understood")]
    Size(&'static str, usize),
    #[error("has no ID")]
    Id,
}

/// The fields in a `format` file, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    id: Option<u16>,
    fields: Vec<(Box<[u8]>, Field)>,
}

impl Format {
    /// Parses a `format` file or a `header_page`. Unrecognized lines are skipped, so their fields are absent.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut format = Self::default();
        for line in bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii) {
            if let Some(id) = line.strip_prefix(b"ID:") {
                format.id = number(id.trim_ascii()).and_then(|id| u16::try_from(id).ok());
            }
            format.fields.extend(field(line));
        }
        format
    }

    /// Returns the number that records use for the event.
    pub fn id(&self) -> Result<u16, FormatError> {
        self.id.ok_or(FormatError::Id)
    }

    pub fn number(&self, name: &'static str) -> Result<Field, FormatError> {
        let field = self.any(name)?;
        match field.size {
            1 | 2 | 4 | 8 => Ok(field),
            other => Err(FormatError::Size(name, other)),
        }
    }

    pub fn any(&self, name: &'static str) -> Result<Field, FormatError> {
        let found = self.fields.iter().find(|(known, _)| **known == *name.as_bytes());
        found.map(|(_, field)| *field).ok_or(FormatError::Absent(name))
    }
}

/// Parses `field:TYPE NAME; offset:N; size:N; signed:N;`, with tabs. For an array, the length follows the name.
fn field(line: &[u8]) -> Option<(Box<[u8]>, Field)> {
    let mut parts = line
        .strip_prefix(b"field:")?
        .split(|b| *b == b';')
        .map(<[u8]>::trim_ascii);
    let declaration = parts.next()?;
    let name = declaration.rsplit(|b| b" *".contains(b)).next()?;
    let name = name.split(|b| *b == b'[').next().filter(|name| !name.is_empty())?;
    let mut figure = |key: &[u8]| number(parts.next()?.strip_prefix(key)?);
    let (offset, size, signed) = (figure(b"offset:")?, figure(b"size:")?, figure(b"signed:")?);
    let field = Field {
        offset: usize::try_from(offset).ok()?,
        size: usize::try_from(size).ok()?,
        signed: signed != 0,
    };
    Some((name.into(), field))
}

/// The names of the events below `events/kmem`, and true for allocations. Kernels before 6.1 have separate events for
/// allocations on a node.
pub const EVENTS: [(&str, bool); 6] = [
    ("kfree", false),
    ("kmem_cache_free", false),
    ("kmalloc", true),
    ("kmalloc_node", true),
    ("kmem_cache_alloc", true),
    ("kmem_cache_alloc_node", true),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Alloc {
        site: u64,
        /// The address of the memory, or 0 if the allocation failed.
        pointer: u64,
        requested: u64,
        allocated: u64,
        /// The id of the requesting thread in the initial PID namespace. `None` in an interrupt, whose allocations do
        /// not belong to the interrupted thread.
        by: Option<u32>,
    },
    Free {
        /// The address of the memory, or 0 if there was none to free.
        pointer: u64,
    },
}

#[derive(Clone, Copy, Debug)]
enum Fields {
    Alloc {
        site: Field,
        pointer: Field,
        requested: Field,
        allocated: Field,
        /// `common_pid` and `common_flags`.
        context: Option<(Field, Field)>,
    },
    Free {
        pointer: Field,
    },
}

/// The flags of an event in an interrupt: `TRACE_FLAG_HARDIRQ` and `TRACE_FLAG_SOFTIRQ` of
/// `include/linux/trace_events.h`.
const INTERRUPT: u64 = 0x08 | 0x10;

/// Decodes events by the formats of the running kernel.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// For each kind: its number, the field of a record that names it, and its other fields.
    kinds: Vec<(u16, Field, Fields)>,
}

impl Decoder {
    /// Adds the `format` file of a kind of event. `taken` is true for allocations.
    pub fn add(&mut self, taken: bool, file: &[u8]) -> Result<(), FormatError> {
        let format = Format::parse(file);
        let kind = format.number("common_type")?;
        let fields = if taken {
            Fields::Alloc {
                site: format.number("call_site")?,
                pointer: format.number("ptr")?,
                requested: format.number("bytes_req")?,
                allocated: format.number("bytes_alloc")?,
                context: format.number("common_pid").ok().zip(format.number("common_flags").ok()),
            }
        } else {
            Fields::Free {
                pointer: format.number("ptr")?,
            }
        };
        self.kinds.push((format.id()?, kind, fields));
        Ok(())
    }

    /// Returns the event in a record. Returns `None` if it is of another kind or too short.
    pub fn decode(&self, payload: &[u8]) -> Option<Event> {
        let is_of = |(id, kind, _): &&(u16, Field, Fields)| kind.get(payload) == Some(u64::from(*id));
        let (_, _, fields) = self.kinds.iter().find(is_of)?;
        Some(match fields {
            Fields::Alloc {
                site,
                pointer,
                requested,
                allocated,
                context,
            } => Event::Alloc {
                site: site.get(payload)?,
                pointer: pointer.get(payload)?,
                requested: requested.get(payload)?,
                allocated: allocated.get(payload)?,
                by: context.and_then(|(thread, flags)| {
                    let is_interrupt = flags.get(payload)? & INTERRUPT != 0;
                    thread.get(payload).filter(|_| !is_interrupt)?.try_into().ok()
                }),
            },
            Fields::Free { pointer } => Event::Free {
                pointer: pointer.get(payload)?,
            },
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLayout {
    time: Field,
    commit: Field,
    data: Field,
}

/// The bits of `commit` that count bytes. The bits above are flags.
const LENGTH: u64 = (1 << 27) - 1;
/// Flag: records were lost before this page.
const MISSED: u64 = 1 << 31;
/// Flag: the number of lost records follows the last record.
const MISSED_STORED: u64 = 1 << 30;

/// Maximum accepted page size. The kernel's own limit is 128 pages of up to 64 KiB.
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

    pub const fn size(&self) -> usize {
        self.data.offset + self.data.size
    }

    /// Opens a page. Returns `None` if it is shorter than its header, or than the header says.
    pub fn open<'a>(&self, page: &'a [u8]) -> Option<Page<'a>> {
        let commit = self.commit.get(page)?;
        let length = usize::try_from(commit & LENGTH).ok()?;
        let data = page.get(self.data.offset..)?;
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => Missed::None,
            (true, false) => Missed::Some,
            // The count has the size of `commit`, a `long`.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    None,
    /// Some, but the kernel does not report how many.
    Some,
    Count(u64),
}

#[derive(Clone, Debug)]
pub struct Page<'a> {
    pub missed: Missed,
    pub records: Records<'a>,
}

/// The records of a page, oldest first. Iteration ends after a torn record.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    /// The time of the previous record.
    time: u64,
    rest: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The time it was written, by the buffer's clock.
    pub time: u64,
    pub payload: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn;

/// Size in bytes of a record's head and of the length after it, and the unit of lengths.
const RECORD: usize = 4;
/// The type of records to skip: the rest of a page, or a discarded record.
const PADDING: u32 = 29;
/// The type of a long time delta.
const TIME_EXTEND: u32 = 30;
/// The type of an absolute time.
const TIME_STAMP: u32 = 31;
/// The upper bits of a time, which an absolute time does not hold.
const TIME_TOP: u64 = 0xf8 << 56;

impl<'a> Records<'a> {
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

    /// Reads a block whose first number is its length in bytes, including that number.
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
                    // Padding must not look like the end of the page, so a delta of 1 stands for 0.
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
