//! `/proc/<pid>/smaps_rollup` and `smaps`: the figures of a process, or of each of its areas.
//!
//! Both consist of lines `Name:   123 kB` under header lines. A rollup has one header, `smaps` has one for each
//! mapping. A header begins with a lower-case hexadecimal address, a figure with an upper-case letter. The kernel
//! writes a newline in a path as `\012`, so no path can pass for a figure.

use super::parse::{self, LineBuffer, kib};
use crate::model::mapping::{Area, Extent, MappingKind, MappingName};
use crate::model::memory::{Memory, MemoryFigure, memory_figures};
use crate::model::{Missing, Reading};

/// Maximum number of bytes kept of a line. Figures are much shorter, and headers are not needed.
const MAX_LINE: usize = 96;

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    bytes: u64,
    seen: u32,
}

macro_rules! define_sums {
    ($($(#[$doc:meta])* $figure:ident: $type:ty = $line:literal,)*) => {
        #[derive(Debug, Default)]
        struct Sums {
            $($figure: Sum,)*
            malformed: bool,
        }

        impl Sums {
            fn sum(&mut self, name: &[u8]) -> Option<&mut Sum> {
                // This runs for every line of every process. The compiler turns the match into comparisons of lengths
                // and bytes, which is faster than any table.
                Some(match name {
                    $($line => &mut self.$figure,)*
                    _ => return None,
                })
            }

            fn memory(&self, mappings: u32) -> Reading<Memory> {
                Ok(Memory {
                    $($figure: MemoryFigure::from_reading(self.$figure.reading(mappings))?,)*
                })
            }
        }
    };
}

memory_figures!(define_sums);

impl Sum {
    /// Adds a value in kibibytes. Returns false if it is malformed, and then the sum is, too.
    fn add(&mut self, value: &[u8]) -> bool {
        let sum = kib(value).and_then(|bytes| self.bytes.checked_add(bytes));
        self.bytes = sum.unwrap_or(self.bytes);
        self.seen = sum.map_or(u32::MAX, |_| self.seen.saturating_add(1));
        sum.is_some()
    }

    /// Returns the sum if all of `mappings` mappings have the figure.
    const fn reading(self, mappings: u32) -> Reading<u64> {
        match self {
            Self { bytes, seen } if seen == mappings => Ok(bytes),
            Self { seen: 0, .. } => Err(Missing::Unsupported),
            Self { .. } => Err(Missing::Malformed),
        }
    }
}

impl Sums {
    /// Adds one line without its newline. Skips headers and unknown names.
    fn add_line(&mut self, line: &[u8]) {
        if !line.first().is_some_and(u8::is_ascii_uppercase) {
            return;
        }
        let Some(colon) = line.iter().position(|b| *b == b':') else {
            return;
        };
        let Some(sum) = self.sum(&line[..colon]) else {
            return;
        };
        let is_valid = sum.add(&line[colon + 1..]);
        self.malformed |= !is_valid;
    }

    /// Returns the figures over `mappings` mappings, by default over as many as were read.
    fn finish(&self, mappings: Option<u32>) -> Reading<Memory> {
        let mappings = mappings.unwrap_or(self.rss.seen);
        if self.malformed || mappings == 0 {
            return Err(Missing::Malformed);
        }
        self.memory(mappings).map_err(|_| Missing::Malformed)
    }
}

/// Parses a `smaps_rollup`, in bytes. Allocates nothing.
///
/// A figure that the kernel lacks is [`Missing::Unsupported`]. A rollup is [`Missing::Malformed`] if it lacks a figure
/// that every kernel writes, has one twice, or has a value that is not a size. An empty one is malformed too: only the
/// caller can know the cause.
pub fn rollup(bytes: &[u8]) -> Reading<Memory> {
    let mut sums = Sums::default();
    for line in bytes.split(|b| *b == b'\n') {
        sums.add_line(line);
    }
    sums.finish(Some(1))
}

/// Returns the end of a rollup's address space: the second address of its header. The kernel randomizes it for every
/// program (unless `randomize_va_space` is 0), and it stays the same until the next exec.
pub fn end(rollup: &[u8]) -> Option<u64> {
    let addresses = rollup.split(|b| *b == b' ').next()?;
    let dash = addresses.iter().position(|b| *b == b'-')?;
    u64::from_str_radix(str::from_utf8(&addresses[dash + 1..]).ok()?, 16).ok()
}

/// Returns the bytes of the anonymous pages in a rollup, not divided by sharers.
pub fn anonymous(rollup: &[u8]) -> Option<u64> {
    rollup
        .split(|b| *b == b'\n')
        .find_map(|line| kib(line.strip_prefix(b"Anonymous:")?))
}

/// Sums up a `smaps` while it is read in pieces of any size. Pieces may split a line.
#[derive(Debug, Default)]
pub struct SmapsSum {
    sums: Sums,
    buffer: LineBuffer<MAX_LINE>,
}

impl SmapsSum {
    pub fn feed(&mut self, piece: &[u8]) {
        self.buffer.feed(piece, |line| self.sums.add_line(line));
    }

    /// Returns the sums, in bytes. The rules of [`rollup`] apply, and a figure that only some mappings have is
    /// [`Missing::Malformed`]. The kernel rounds each mapping's Pss down to whole kibibytes, so the sum is less than
    /// the rollup's, by under 1 KiB per mapping.
    pub fn finish(mut self) -> Reading<Memory> {
        self.buffer.finish(|line| self.sums.add_line(line));
        self.sums.finish(None)
    }
}

pub fn smaps(bytes: &[u8]) -> Reading<Memory> {
    let mut sum = SmapsSum::default();
    sum.feed(bytes);
    sum.finish()
}

/// Maximum number of bytes kept of a line of an area. A path has at most 4096 bytes; escaped, each takes up to 4.
pub const MAX_AREA_LINE: usize = 20 << 10;

/// Maximum number of bytes kept of `VmFlags`. A kernel has about 40 flags of 3 bytes each.
const MAX_FLAGS: usize = 256;

/// The header line of an area, a line of `maps`, without the name.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) range: (u64, u64),
    pub(super) perms: [u8; 4],
    pub(super) offset: u64,
    pub(super) device: (u32, u32),
    pub(super) inode: u64,
}

#[derive(Debug, Default)]
struct Body {
    sums: Sums,
    size: Sum,
    locked: Sum,
    huge: Sum,
    referenced: Sum,
    flags: Vec<u8>,
}

/// Passes each area of a `smaps` to a closure while the file arrives in pieces of any size:
///
/// ```text
/// 7f12c8000000-7f12c8021000 rw-p 00000000 fd:01 1312      /usr/lib/libc.so.6
/// Size:                132 kB
/// …
/// VmFlags: rd wr mr mw me nr sd
/// ```
///
/// A file may have tens of megabytes. Only the current line is kept, and at most [`MAX_AREA_LINE`] bytes of it.
///
/// Unknown lines are skipped. If a value is not a size, or a figure that every kernel writes is absent, the area is
/// passed with [`Missing::Malformed`] instead of the figures. After a malformed header, [`Areas::finish`] fails.
#[derive(Debug)]
pub struct Areas<F> {
    buffer: LineBuffer<MAX_AREA_LINE>,
    parser: Parser<F>,
}

impl<F: FnMut(Area)> Areas<F> {
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

    pub fn feed(&mut self, piece: &[u8]) {
        self.buffer.feed(piece, |line| self.parser.read_line(line));
    }

    /// Passes on the last area and returns the number of areas.
    pub fn finish(mut self) -> Reading<u64> {
        self.buffer.finish(|line| self.parser.read_line(line));
        self.parser.give();
        if self.parser.malformed {
            return Err(Missing::Malformed);
        }
        Ok(self.parser.count)
    }
}

#[derive(Debug)]
struct Parser<F> {
    each: F,
    /// The current area's header and name.
    head: Option<(Head, Vec<u8>)>,
    body: Body,
    /// The previous area's name, kept because adjacent areas often map the same file.
    name: Option<(Vec<u8>, MappingName)>,
    malformed: bool,
    count: u64,
}

impl<F: FnMut(Area)> Parser<F> {
    fn read_line(&mut self, line: &[u8]) {
        if !line.first().is_some_and(u8::is_ascii_uppercase) {
            if !line.is_empty() {
                self.give();
                self.head = head(line).map(|(head, name)| (head, name.to_vec()));
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
            b"Size" => _ = body.size.add(value),
            b"Locked" => _ = body.locked.add(value),
            b"AnonHugePages" => _ = body.huge.add(value),
            b"Referenced" => _ = body.referenced.add(value),
            b"VmFlags" => body.flags = value.trim_ascii()[..value.trim_ascii().len().min(MAX_FLAGS)].into(),
            _ => {}
        }
        body.sums.add_line(line);
    }

    /// Passes on the area whose lines have all been read.
    fn give(&mut self) {
        let body = std::mem::take(&mut self.body);
        let Some((head, written)) = self.head.take() else {
            return;
        };
        let hugetlb = parse::words(&body.flags).any(|flag| flag == b"ht");
        let name = match &self.name {
            Some((last, name)) if *last == written && (name.kind == MappingKind::Hugetlb) == hugetlb => name.clone(),
            _ => {
                let name = MappingName::parse(&written, hugetlb);
                self.name = Some((written, name.clone()));
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
            extent: body.size.reading(1).map_err(|_| Missing::Malformed).map(|size| Extent {
                size,
                locked: body.locked.reading(1),
                huge: body.huge.reading(1),
                referenced: body.referenced.reading(1),
            }),
            flags: body.flags.into(),
        });
    }
}

/// Parses `55d0c8a00000-55d0c8a2e000 r--p 00000000 fd:01 1312      /usr/bin/worker`. The name is everything after the
/// blanks that follow the inode.
pub(super) fn head(line: &[u8]) -> Option<(Head, &[u8])> {
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
    let head = Head {
        range,
        perms: perms.try_into().ok().filter(|p: &[u8; 4]| p.is_ascii())?,
        offset: hex(offset)?,
        device: (
            u32::try_from(hex(&device[..colon])?).ok()?,
            u32::try_from(hex(&device[colon + 1..])?).ok()?,
        ),
        inode: parse::number(inode)?,
    };
    Some((head, &rest[blank..]))
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
