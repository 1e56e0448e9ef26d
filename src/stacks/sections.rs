//! Decides which parts of an ELF file may be read for names. The file is untrusted: it may expand to gigabytes, or lead to
//! further files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Instant;

use flate2::bufread::ZlibDecoder;
use object::elf;

use crate::proc::elf::{Elf, Headers, Limited, Part, Section};

/// The memory, in bytes, that the symbols and the debug information of all files together may still use.
#[derive(Debug)]
pub(super) struct Room {
    /// Debug information that is unpacked in memory.
    unpacked: u64,
    /// Tables of symbols and of their names. Those of the largest browsers have 100 MiB.
    symbols: u64,
    /// Copies of files in memory, by the owner of the files, and of all. A user may have thousands of uids.
    copies: HashMap<u32, u64>,
    copies_of_all: u64,
}

/// The most bytes of the copies of a user's files, of those of all users, and of a file that is copied as a whole.
const MAX_COPIES: u64 = 96 << 20;
const MAX_COPIES_OF_ALL: u64 = 128 << 20;
const MAX_WHOLE_COPY: u64 = 32 << 20;

impl Default for Room {
    fn default() -> Self {
        Self {
            unpacked: 256 << 20,
            symbols: 128 << 20,
            copies: HashMap::new(),
            copies_of_all: MAX_COPIES_OF_ALL,
        }
    }
}

/// Deducts bytes from each of what is left, if all have enough.
fn deduct<const N: usize>(all: [&mut u64; N], bytes: u64) -> Option<()> {
    all.iter().all(|left| **left >= bytes).then_some(())?;
    for left in all {
        *left -= bytes;
    }
    Some(())
}

fn sum(parts: &[Part]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.saturating_add(part.size))
}

/// The most sections of a file, the most bytes of their names, and the most bytes of all headers. Linkers write less than a hundred
/// sections, with names of a few bytes each. Each lookup of a section reads all names.
const MAX_SECTIONS: usize = 4096;
const MAX_NAMES: u64 = 64 << 10;
const MAX_HEADERS: u64 = 8 << 20;

/// The section that names the separate file with the symbols. blazesym opens any file that it names.
const LINK: &[u8] = b".gnu_debuglink";

/// The tables of symbols and of names, by their types and names: blazesym finds them by name.
const OF_SYMBOLS: [elf::SectionType; 3] = [elf::SHT_SYMTAB, elf::SHT_STRTAB, elf::SHT_DYNSYM];
const NAMES_OF_SYMBOLS: [&[u8]; 4] = [b".symtab", b".strtab", b".dynsym", b".dynstr"];

/// The parts of a file that may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readable {
    Nothing,
    /// Nothing: its symbol tables need too much memory.
    NoRoom,
    /// The symbol tables: its debug information is elsewhere or damaged.
    Symbols,
    /// The symbol tables: its debug information needs too much memory.
    TooLarge,
    /// The symbol tables and the debug information.
    All,
}

/// A copy of a file. Holes stay holes.
pub(super) struct Copied {
    pub file: File,
    /// False if it has only the headers and the symbol tables.
    pub is_whole: bool,
}

/// Returns a copy of a file that another user may change, or that is in memory (tmpfs, memfd), and `None` for another file. Symbols are
/// read through a mapping: if the file became shorter meanwhile, that would end zmtop, and it would allocate the pages of holes of a file
/// in memory. Of a large file, only the headers and the symbol tables are copied.
///
/// # Errors
/// Even these are too large, or the copy failed.
pub(super) fn copy_of_unsafe(file: &File, room: &mut Room) -> Result<Option<Copied>, ()> {
    let metadata = file.metadata().map_err(drop)?;
    let is_trusted = [0, rustix::process::geteuid().as_raw()].contains(&metadata.uid()) && metadata.mode() & 0o022 == 0;
    let kind = rustix::fs::fstatfs(file).map_err(drop)?.f_type as u32;
    if is_trusted && ![TMPFS, RAMFS, HUGETLBFS].contains(&kind) {
        return Ok(None);
    }
    let left = room.copies.entry(metadata.uid()).or_insert(MAX_COPIES);
    let len = metadata.len();
    let is_whole = len <= MAX_WHOLE_COPY.min(*left).min(room.copies_of_all);
    let parts = if is_whole {
        vec![Part { offset: 0, size: len }]
    } else {
        let Contents {
            headers, of_symbols, ..
        } = Contents::of(file).ok_or(())?;
        let headers = [headers.file, headers.segments, headers.sections, headers.names];
        [&headers[..], &of_symbols].concat()
    };
    deduct([left, &mut room.copies_of_all], sum(&parts)).ok_or(())?;
    let copy = rustix::fs::memfd_create(c"zmtop", rustix::fs::MemfdFlags::CLOEXEC).map_err(drop)?;
    let mut copy = File::from(copy);
    copy.set_len(len).map_err(drop)?;
    for Part { offset: at, size: left } in parts {
        copy.seek(SeekFrom::Start(at)).map_err(drop)?;
        std::io::copy(&mut Reading { file, at, left }, &mut copy).map_err(drop)?;
    }
    Ok(Some(Copied { file: copy, is_whole }))
}

/// The types of `statfs(2)` of file systems in memory.
const TMPFS: u32 = 0x0102_1994;
const RAMFS: u32 = 0x8584_58f6;
const HUGETLBFS: u32 = 0x9584_58f6;

/// Decides which parts of a file may be read. Deducts the memory that they need from `room`.
///
/// Its compressed sections are unpacked once to count their bytes, as their headers may be wrong.
pub(super) fn readable(file: &File, room: &mut Room, deadline: Instant) -> Readable {
    let Some(contents) = Contents::of(file) else {
        return Readable::Nothing;
    };
    if deduct([&mut room.symbols], sum(&contents.of_symbols)).is_none() {
        return Readable::NoRoom;
    }
    // Debug information that is not linked is relocated in memory, which may need more than the file has.
    let is_linked = [elf::ET_EXEC, elf::ET_DYN].contains(&contents.kind);
    if !is_linked || contents.has_link {
        return Readable::Symbols;
    }
    let len = file.metadata().map_or(0, |metadata| metadata.len());
    // Sections that share their bytes would take long.
    if sum(&contents.compressed) > len {
        return Readable::Symbols;
    }
    let mut left = room.unpacked;
    for section in contents.compressed {
        let unpacked = unpacked(section, file, left, deadline);
        match unpacked.map(|bytes| deduct([&mut left], bytes)) {
            Ok(Some(())) => {}
            Ok(None) => return Readable::TooLarge,
            Err(readable) => return readable,
        }
    }
    room.unpacked = left;
    Readable::All
}

/// The headers of a file, and which of its sections are used.
struct Contents {
    kind: elf::FileType,
    headers: Headers,
    /// The tables of symbols and of their names.
    of_symbols: Vec<Part>,
    compressed: Vec<Part>,
    has_link: bool,
}

impl Contents {
    /// Reads the headers of a file of the class and the byte order of this machine, the only ones that blazesym reads.
    fn of(file: &File) -> Option<Self> {
        let limited = Limited::new(file.try_clone().ok()?, MAX_HEADERS);
        let elf = Elf::parse(&limited)?;
        let headers = elf.headers().filter(|headers| headers.names.size <= MAX_NAMES)?;
        let sections = elf.sections().collect::<Option<Vec<_>>>()?;
        if sections.len() > MAX_SECTIONS {
            return None;
        }
        let parts = |is_it: &dyn Fn(&Section<'_>) -> bool| {
            let found = sections.iter().filter(|section| is_it(section));
            found
                .map(|&Section { offset, size, .. }| Part { offset, size })
                .collect()
        };
        Some(Self {
            kind: elf.kind(),
            headers,
            of_symbols: parts(&|section| {
                OF_SYMBOLS.contains(&section.kind) || NAMES_OF_SYMBOLS.contains(&section.name)
            }),
            compressed: parts(&|section| section.is_compressed),
            has_link: sections.iter().any(|section| section.name == LINK),
        })
    }
}

/// Counts the bytes of a compressed section. Fails with what may be read without it.
fn unpacked(section: Part, file: &File, most: u64, deadline: Instant) -> Result<u64, Readable> {
    const HEADER: usize = size_of::<elf::CompressionHeader64<object::NativeEndian>>();
    let mut header = [0; HEADER];
    let damaged = |_| Readable::Symbols;
    file.read_exact_at(&mut header, section.offset).map_err(damaged)?;
    let size = section.size.checked_sub(HEADER as u64).ok_or(Readable::Symbols)?;
    let stated = long(&header, 8);
    if stated > most {
        return Err(Readable::TooLarge);
    }
    let packed = BufReader::with_capacity(
        64 << 10,
        Reading {
            file,
            at: section.offset + HEADER as u64,
            left: size,
        },
    );
    let mut unpacked: Box<dyn Read> = match elf::CompressionType(word(&header, 0)) {
        elf::ELFCOMPRESS_ZLIB => Box::new(ZlibDecoder::new(packed)),
        elf::ELFCOMPRESS_ZSTD => Box::new(zstd::stream::read::Decoder::with_buffer(packed).map_err(damaged)?),
        _ => return Err(Readable::Symbols),
    };
    let (mut piece, mut len) = (vec![0; 64 << 10], 0);
    while len <= stated && Instant::now() < deadline {
        match unpacked.read(&mut piece).map_err(damaged)? {
            0 if len == stated => return Ok(len),
            0 => return Err(Readable::Symbols),
            more => len += more as u64,
        }
    }
    Err(Readable::TooLarge)
}

/// Reads some bytes of a file.
struct Reading<'a> {
    file: &'a File,
    at: u64,
    left: u64,
}

impl Read for Reading<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = self.left.min(buffer.len() as u64) as usize;
        let len = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += len as u64;
        self.left -= len as u64;
        Ok(len)
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_ne_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
}
