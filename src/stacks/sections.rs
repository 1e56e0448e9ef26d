//! Decides which parts of an ELF file may be read for names. The file is untrusted: it may expand to gigabytes, or lead to
//! further files.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::time::Instant;

use flate2::bufread::ZlibDecoder;
use object::elf;

/// What the symbols and the debug information of all files together may need, in bytes.
#[derive(Debug)]
pub(super) struct Room {
    /// Debug information that is unpacked in memory.
    unpacked: u64,
    /// Tables of symbols and of their names. Those of the largest browsers have 100 MiB.
    symbols: u64,
    /// Copies of files in memory, by the owner of the files.
    copies: HashMap<u32, u64>,
}

/// What the copies of a user's files may need, and the largest file that is copied as a whole.
const MAX_COPIES: u64 = 128 << 20;
const MAX_WHOLE_COPY: u64 = 32 << 20;

impl Default for Room {
    fn default() -> Self {
        Self {
            unpacked: 256 << 20,
            symbols: 128 << 20,
            copies: HashMap::new(),
        }
    }
}

/// The most sections of a file, and the most bytes of their names. Linkers write less than a hundred, of a few bytes each. Each
/// lookup of a section reads all names.
const MAX_SECTIONS: u16 = 4096;
const MAX_NAMES: u64 = 64 << 10;

/// The section that names the separate file with the symbols. blazesym opens any file that it names.
const LINK: &[u8] = b".gnu_debuglink\0";

/// The tables of symbols and of names, by their types and names: blazesym finds them by name.
const OF_SYMBOLS: [elf::SectionType; 3] = [elf::SHT_SYMTAB, elf::SHT_STRTAB, elf::SHT_DYNSYM];
const NAMES_OF_SYMBOLS: [&[u8]; 4] = [b".symtab\0", b".strtab\0", b".dynsym\0", b".dynstr\0"];

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
    let is_whole = len <= MAX_WHOLE_COPY.min(*left);
    let ranges = if is_whole {
        vec![(0, len)]
    } else {
        let Headers { sections, ranges, .. } = Headers::of(file).ok_or(())?;
        let of_symbols = sections.iter().filter(|section| section.is_of_symbols);
        ranges
            .into_iter()
            .chain(of_symbols.map(|section| (section.offset, section.size)))
            .collect()
    };
    let bytes = ranges.iter().fold(0_u64, |sum, (_, size)| sum.saturating_add(*size));
    *left = left.checked_sub(bytes).ok_or(())?;
    let copy = rustix::fs::memfd_create(c"zmtop", rustix::fs::MemfdFlags::CLOEXEC).map_err(drop)?;
    let mut copy = File::from(copy);
    copy.set_len(len).map_err(drop)?;
    for (at, size) in ranges {
        let mut part = Part { file, at, left: size };
        copy.seek(SeekFrom::Start(at)).map_err(drop)?;
        std::io::copy(&mut part, &mut copy).map_err(drop)?;
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
    let Some(Headers { kind, sections, .. }) = Headers::of(file) else {
        return Readable::Nothing;
    };
    let of_symbols = sections.iter().filter(|section| section.is_of_symbols);
    let of_symbols = of_symbols.fold(0, |sum: u64, section| sum.saturating_add(section.size));
    let Some(left) = room.symbols.checked_sub(of_symbols) else {
        return Readable::NoRoom;
    };
    room.symbols = left;
    // Debug information that is not linked is relocated in memory, which may need more than the file has.
    let is_linked = [elf::ET_EXEC.0, elf::ET_DYN.0].contains(&kind);
    if !is_linked || sections.iter().any(|section| section.is_link) {
        return Readable::Symbols;
    }
    let len = file.metadata().map_or(0, |metadata| metadata.len());
    let (mut left, mut packed) = (room.unpacked, 0_u64);
    for section in sections.iter().filter(|section| section.is_compressed) {
        // Sections that share their bytes would take long.
        packed = packed.saturating_add(section.size);
        if packed > len {
            return Readable::Symbols;
        }
        match section.unpacked(file, left, deadline) {
            Ok(unpacked) => left -= unpacked,
            Err(readable) => return readable,
        }
    }
    room.unpacked = left;
    Readable::All
}

struct Section {
    offset: u64,
    size: u64,
    is_compressed: bool,
    is_link: bool,
    /// It is a table of symbols or of names.
    is_of_symbols: bool,
}

/// The headers of a file.
struct Headers {
    /// The type of the file.
    kind: u16,
    sections: Vec<Section>,
    /// The offset and the size of each part of the file that has headers, and of the names of the sections.
    ranges: Vec<(u64, u64)>,
}

impl Headers {
    /// Reads the headers of a file of the class and the byte order of this machine, as blazesym takes them.
    fn of(file: &File) -> Option<Self> {
        let mut header = [0; 64];
        file.read_exact_at(&mut header, 0).ok()?;
        let order = if cfg!(target_endian = "little") {
            elf::ELFDATA2LSB
        } else {
            elf::ELFDATA2MSB
        };
        let is_native = header.starts_with(&[0x7f, b'E', b'L', b'F', elf::ELFCLASS64.0, order.0]);
        let (kind, at) = (half(&header, 16), long(&header, 40));
        // Numbers that do not fit are elsewhere: 0, and `SHN_XINDEX` for the index.
        let (count, names) = (half(&header, 60), half(&header, 62));
        if !is_native || !(1..=MAX_SECTIONS).contains(&count) || names >= count {
            return None;
        }
        let mut headers = vec![0; usize::from(count) * 64];
        file.read_exact_at(&mut headers, at).ok()?;
        let (headers, _) = headers.as_chunks::<64>();
        let has_data = |header: &[u8; 64]| word(header, 4) != elf::SHT_NOBITS.0;
        let of_names = &headers[usize::from(names)];
        let len = long(of_names, 32);
        if !has_data(of_names) || len > MAX_NAMES {
            return None;
        }
        let mut names = vec![0; len as usize];
        file.read_exact_at(&mut names, long(of_names, 24)).ok()?;
        let is_named = |header: &[u8; 64], name: &[u8]| {
            let own = names.get(word(header, 0) as usize..);
            own.is_some_and(|own| own.starts_with(name))
        };
        let section = |header: &[u8; 64]| Section {
            offset: long(header, 24),
            size: long(header, 32),
            is_compressed: long(header, 8) & elf::SHF_COMPRESSED.0 != 0 && has_data(header),
            is_of_symbols: OF_SYMBOLS.contains(&elf::SectionType(word(header, 4)))
                || NAMES_OF_SYMBOLS.iter().any(|name| is_named(header, name)),
            is_link: is_named(header, LINK),
        };
        let of_programs = u64::from(half(&header, 54)) * u64::from(half(&header, 56));
        Some(Self {
            kind,
            sections: headers.iter().map(section).collect(),
            ranges: vec![
                (0, 64),
                (long(&header, 32), of_programs),
                (at, headers.len() as u64 * 64),
                (long(of_names, 24), len),
            ],
        })
    }
}

impl Section {
    /// Counts the bytes of a compressed section. Fails with what may be read without it.
    fn unpacked(&self, file: &File, most: u64, deadline: Instant) -> Result<u64, Readable> {
        const HEADER: usize = size_of::<elf::CompressionHeader64<object::NativeEndian>>();
        let mut header = [0; HEADER];
        let damaged = |_| Readable::Symbols;
        file.read_exact_at(&mut header, self.offset).map_err(damaged)?;
        let size = self.size.checked_sub(HEADER as u64).ok_or(Readable::Symbols)?;
        let stated = long(&header, 8);
        if stated > most {
            return Err(Readable::TooLarge);
        }
        let packed = BufReader::with_capacity(
            64 << 10,
            Part {
                file,
                at: self.offset + HEADER as u64,
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
}

/// Some bytes of a file.
struct Part<'a> {
    file: &'a File,
    at: u64,
    left: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = self.left.min(buffer.len() as u64) as usize;
        let len = self.file.read_at(&mut buffer[..most], self.at)?;
        self.at += len as u64;
        self.left -= len as u64;
        Ok(len)
    }
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |word| u32::from_ne_bytes(*word))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
}
