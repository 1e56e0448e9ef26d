//! The areas of a `/proc/<pid>/smaps`, one after another as it is read.
//!
//! ```text
//! 7f12c8000000-7f12c8021000 rw-p 00000000 fd:01 1312      /usr/lib/libc.so.6
//! Size:                132 kB
//! …
//! VmFlags: rd wr mr mw me nr sd
//! ```
//!
//! A file may have tens of megabytes. Only the line being read is held, and of that at most [`MAX_LINE`] bytes.

use super::smaps::Sums;
use crate::model::mapping::{Area, Extent, MappingKind, MappingName};
use crate::model::{Missing, Reading};
use crate::proc::parse::{self, LineBuffer};

/// The number of bytes kept of a line. A path has at most 4096 bytes, each written as four in the worst case.
pub const MAX_LINE: usize = 20 << 10;

/// The number of bytes kept of `VmFlags`: a kernel has about forty flags of three bytes.
const MAX_FLAGS: usize = 256;

/// The header line of an area: a line of `maps`.
#[derive(Debug)]
pub(super) struct Head<N> {
    pub(super) range: (u64, u64),
    perms: [u8; 4],
    offset: u64,
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
    pub(super) name: N,
}

impl Head<&[u8]> {
    fn keep(self) -> Head<Vec<u8>> {
        let Self {
            range,
            perms,
            offset,
            device,
            inode,
            name,
        } = self;
        Head {
            range,
            perms,
            offset,
            device,
            inode,
            name: name.to_vec(),
        }
    }
}

/// A figure in kibibytes that an area has at most once.
#[derive(Clone, Copy, Debug, Default)]
enum Once {
    #[default]
    Absent,
    Bytes(u64),
    Bad,
}

impl Once {
    fn set(&mut self, value: &[u8]) {
        *self = match (&self, parse::kib(value)) {
            (Self::Absent, Some(bytes)) => Self::Bytes(bytes),
            _ => Self::Bad,
        };
    }

    const fn reading(self) -> Reading<u64> {
        match self {
            Self::Absent => Err(Missing::Unsupported),
            Self::Bytes(n) => Ok(n),
            Self::Bad => Err(Missing::Malformed),
        }
    }
}

/// The figures of the area being read.
#[derive(Debug, Default)]
struct Body {
    sums: Sums,
    size: Once,
    locked: Once,
    huge: Once,
    referenced: Once,
    flags: Vec<u8>,
}

/// Gives each area of a `smaps` to a closure, as the bytes come, in pieces of any size.
///
/// Unknown lines are skipped. An area with a value that is not a size, or without a figure that every kernel
/// writes, is given with [`Missing::Malformed`] in its place; after a malformed header [`Areas::finish`] fails.
#[derive(Debug)]
pub struct Areas<F> {
    buffer: LineBuffer<MAX_LINE>,
    parser: Parser<F>,
}

impl<F: FnMut(Area)> Areas<F> {
    /// Creates a reader that calls `each` with every area.
    pub fn new(each: F) -> Self {
        let parser = Parser {
            each,
            head: None,
            body: Body::default(),
            name: None,
            malformed: false,
            count: 0,
        };
        Self {
            buffer: LineBuffer::default(),
            parser,
        }
    }

    /// Reads the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        self.buffer.feed(piece, |line| self.parser.read_line(line));
    }

    /// Gives the last area and returns the number of areas.
    ///
    /// # Errors
    /// [`Missing::Malformed`] if a header was malformed; the areas that were not have been given.
    pub fn finish(mut self) -> Reading<u64> {
        self.buffer.finish(|line| self.parser.read_line(line));
        self.parser.give();
        if self.parser.malformed {
            return Err(Missing::Malformed);
        }
        Ok(self.parser.count)
    }
}

/// A parser of the lines of a `smaps`.
#[derive(Debug)]
struct Parser<F> {
    each: F,
    head: Option<Head<Vec<u8>>>,
    body: Body,
    /// The previous area's name, since areas of one file follow each other.
    name: Option<(Vec<u8>, MappingName)>,
    malformed: bool,
    count: u64,
}

impl<F: FnMut(Area)> Parser<F> {
    fn read_line(&mut self, line: &[u8]) {
        if !line.first().is_some_and(u8::is_ascii_uppercase) {
            if !line.is_empty() {
                self.give();
                self.head = head(line).map(Head::keep);
                self.malformed |= self.head.is_none();
            }
            return;
        }
        let Some(colon) = line.iter().position(|b| *b == b':') else {
            return;
        };
        let value = &line[colon + 1..];
        let body = &mut self.body;
        match &line[..colon] {
            b"Size" => body.size.set(value),
            b"Locked" => body.locked.set(value),
            b"AnonHugePages" => body.huge.set(value),
            b"Referenced" => body.referenced.set(value),
            b"VmFlags" => body.flags = value.trim_ascii()[..value.trim_ascii().len().min(MAX_FLAGS)].into(),
            _ => body.sums.add_line(line),
        }
    }

    /// Gives the area whose lines have all been read.
    fn give(&mut self) {
        let body = std::mem::take(&mut self.body);
        let Some(head) = self.head.take() else { return };
        let hugetlb = parse::words(&body.flags).any(|flag| flag == b"ht");
        let name = match &self.name {
            Some((written, name)) if *written == head.name && (name.kind == MappingKind::Hugetlb) == hugetlb => {
                name.clone()
            }
            _ => {
                let name = MappingName::parse(&head.name, hugetlb);
                self.name = Some((head.name, name.clone()));
                name
            }
        };
        self.count += 1;
        (self.each)(Area {
            start: head.range.0,
            end: head.range.1,
            perms: head.perms,
            offset: head.offset,
            device: head.device,
            inode: head.inode,
            name,
            memory: body.sums.finish(Some(1)),
            extent: body.size.reading().map_err(|_| Missing::Malformed).map(|size| Extent {
                size,
                locked: body.locked.reading(),
                huge: body.huge.reading(),
                referenced: body.referenced.reading(),
            }),
            flags: body.flags.into(),
        });
    }
}

/// Parses `55d0c8a00000-55d0c8a2e000 r--p 00000000 fd:01 1312      /usr/bin/worker`; the name is everything
/// after the blanks behind the inode.
pub(super) fn head(line: &[u8]) -> Option<Head<&[u8]>> {
    let (range, rest) = word(line)?;
    let dash = range.iter().position(|b| *b == b'-')?;
    let (perms, rest) = word(rest)?;
    let (offset, rest) = word(rest)?;
    let (device, rest) = word(rest)?;
    let colon = device.iter().position(|b| *b == b':')?;
    let (inode, rest) = word(rest)?;
    let range = (hex(&range[..dash])?, hex(&range[dash + 1..])?);
    let blank = rest.iter().take_while(|b| **b == b' ').count();
    (range.0 <= range.1).then_some(())?;
    Some(Head {
        range,
        perms: perms.try_into().ok().filter(|p: &[u8; 4]| p.is_ascii())?,
        offset: hex(offset)?,
        device: (
            u32::try_from(hex(&device[..colon])?).ok()?,
            u32::try_from(hex(&device[colon + 1..])?).ok()?,
        ),
        inode: parse::number(inode)?,
        name: &rest[blank..],
    })
}

/// Splits a line into its first word and the rest after one blank.
fn word(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|b| *b == b' ').unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    (!word.is_empty()).then(|| (word, rest.get(1..).unwrap_or_default()))
}

fn hex(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}
