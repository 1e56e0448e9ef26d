//! The headers of ELF files of other users. Such a file may state sizes of terabytes, and each of its bytes may be a hole.

use std::cell::Cell;
use std::fs::File;
use std::ops::Range;

use object::elf::{self, FileHeader64, ProgramHeader64, SectionHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym, SymbolTable};
use object::read::{ReadCache, ReadRef};
use object::{Endian as _, Endianness};

/// The bytes that each string counts besides its own: what it takes to keep it.
const PER_STRING: u64 = 64;
/// Maximum number of bytes of notes of a file.
const MAX_NOTES: u64 = 1 << 20;
/// Maximum size of the section that names the separate file: a file name and a checksum.
const MAX_LINK: u64 = 4096;

/// An open file of which only so many bytes are read.
#[derive(Debug)]
pub struct Limited {
    cache: ReadCache<File>,
    left: Cell<u64>,
}

impl Limited {
    pub fn new(file: File, most: u64) -> Self {
        Self {
            cache: ReadCache::new(file),
            left: Cell::new(most),
        }
    }

    fn deduct(&self, bytes: u64) -> Result<(), ()> {
        let left = self.left.get().checked_sub(bytes).ok_or(())?;
        self.left.set(left);
        Ok(())
    }
}

impl<'a> ReadRef<'a> for &'a Limited {
    fn len(self) -> Result<u64, ()> {
        (&self.cache).len()
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        self.deduct(size)?;
        self.cache.read_bytes_at(offset, size)
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        self.deduct(PER_STRING)?;
        let found = self.cache.read_bytes_at_until(range, delimiter)?;
        self.deduct(found.len() as u64)?;
        Ok(found)
    }
}

/// The headers of a file. Its symbols are only read if they are requested.
pub struct Elf<'a> {
    data: &'a Limited,
    endian: Endianness,
    header: &'a FileHeader64<Endianness>,
    segments: &'a [ProgramHeader64<Endianness>],
    sections: SectionTable<'a, FileHeader64<Endianness>, &'a Limited>,
}

/// A segment: its range in the file, its address, and whether it holds code.
#[derive(Debug)]
pub struct Segment {
    pub offset: Range<u64>,
    pub address: u64,
    pub is_code: bool,
}

impl Segment {
    /// Returns the difference between the addresses in memory and those that the file states, if the segment is mapped at `start` from
    /// this offset in the file.
    pub fn bias(&self, start: u64, offset: u64) -> Option<u64> {
        let page = rustix::param::page_size() as u64;
        let first = self.offset.start & !(page - 1);
        let stated = self.address.wrapping_sub(self.offset.start).wrapping_add(offset);
        (first..self.offset.end)
            .contains(&offset)
            .then(|| start.wrapping_sub(stated))
    }
}

/// A section: its place in the file, what it holds, and its name.
#[derive(Debug)]
pub struct Section<'a> {
    pub offset: u64,
    pub size: u64,
    pub kind: elf::SectionType,
    pub is_compressed: bool,
    pub name: &'a [u8],
}

/// The parts of a file that have its headers.
#[derive(Debug)]
pub struct Headers {
    pub file: Part,
    pub segments: Part,
    pub sections: Part,
    /// The names of the sections.
    pub names: Part,
}

/// Some bytes of a file.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub offset: u64,
    pub size: u64,
}

type Symbols<'a> = SymbolTable<'a, FileHeader64<Endianness>, &'a Limited>;

impl<'a> Elf<'a> {
    /// Reads the headers of a file; `None` if it is no ELF file of 64 bits, or has more of them than may be read.
    pub fn parse(data: &'a Limited) -> Option<Self> {
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        Some(Self {
            data,
            endian,
            header,
            segments: header.program_headers(endian, data).ok()?,
            sections: header.sections(endian, data).ok()?,
        })
    }

    pub fn kind(&self) -> elf::FileType {
        self.header.e_type(self.endian)
    }

    /// Returns the parts with the headers; `None` if the byte order is not that of this machine, or the numbers of sections do not fit
    /// into the header.
    pub fn headers(&self) -> Option<Headers> {
        let (header, endian) = (self.header, self.endian);
        let names = self.sections.iter().nth(header.e_shstrndx(endian).index()?.into())?;
        let names = names.file_range(endian)?;
        let part = |offset, size| Part { offset, size };
        let is_native = endian.is_little_endian() == cfg!(target_endian = "little");
        (is_native && header.e_shnum(endian) > 0).then(|| Headers {
            file: part(0, size_of_val(header) as u64),
            segments: part(header.e_phoff(endian), size_of_val(self.segments) as u64),
            sections: part(
                header.e_shoff(endian),
                u64::from(header.e_shnum(endian)) * size_of::<SectionHeader64<Endianness>>() as u64,
            ),
            names: part(names.0, names.1),
        })
    }

    /// Returns the sections, each `None` if its name cannot be read.
    pub fn sections(&self) -> impl Iterator<Item = Option<Section<'a>>> {
        self.sections.iter().map(|section| {
            let kind = section.sh_type(self.endian);
            let is_compressed = section.sh_flags(self.endian).contains(elf::SHF_COMPRESSED);
            Some(Section {
                offset: section.sh_offset(self.endian),
                size: section.sh_size(self.endian),
                kind,
                is_compressed: is_compressed && kind != elf::SHT_NOBITS,
                name: self.sections.section_name(self.endian, section).ok()?,
            })
        })
    }

    /// Returns the segments that are loaded.
    pub fn segments(&self) -> impl Iterator<Item = Segment> {
        let loaded = |header: &&ProgramHeader64<Endianness>| header.p_type(self.endian) == elf::PT_LOAD;
        self.segments.iter().filter(loaded).map(|header| {
            let (offset, len) = header.file_range(self.endian);
            Segment {
                offset: offset..offset.saturating_add(len),
                address: header.p_vaddr(self.endian),
                is_code: header.p_flags(self.endian).contains(elf::PF_X),
            }
        })
    }

    fn section(&self, name: &str) -> Option<&SectionHeader64<Endianness>> {
        let (_, section) = self.sections.section_by_name(self.endian, name.as_bytes())?;
        Some(section)
    }

    /// Returns the addresses of the section of that name.
    pub fn range(&self, name: &str) -> Option<Range<u64>> {
        self.range_of(self.section(name)?)
    }

    fn range_of(&self, section: &SectionHeader64<Endianness>) -> Option<Range<u64>> {
        let start = section.sh_addr(self.endian);
        Some(start..start.checked_add(section.sh_size(self.endian))?)
    }

    /// Returns the names and the addresses of all sections.
    pub fn ranges(&self) -> impl Iterator<Item = (&'a [u8], Range<u64>)> {
        let named = |section| {
            Some((
                self.sections.section_name(self.endian, section).ok()?,
                self.range_of(section)?,
            ))
        };
        self.sections.iter().filter_map(named)
    }

    /// Returns the data of the section of that name; `None` if it is compressed or has more than `most` bytes.
    pub fn data(&self, name: &str, most: u64) -> Option<&'a [u8]> {
        let section = self.section(name)?;
        let is_plain = !section.sh_flags(self.endian).contains(elf::SHF_COMPRESSED);
        (is_plain && section.sh_size(self.endian) <= most).then_some(())?;
        section.data(self.endian, self.data).ok()
    }

    /// Returns the dynamic symbols: the name and the address of each.
    pub fn dynamic_symbols(&self) -> impl Iterator<Item = (&'a [u8], u64)> {
        let endian = self.endian;
        let table: Option<Symbols<'a>> = self.sections.symbols(endian, self.data, elf::SHT_DYNSYM).ok();
        table.into_iter().flat_map(move |table| {
            let strings = table.strings();
            table.iter().map_while(move |symbol| {
                // The first one that cannot be read: no more may be read.
                let name = symbol.name(endian, strings).ok()?;
                Some((name, symbol.st_value(endian)))
            })
        })
    }

    /// Returns the build id, if it is in the first `MAX_NOTES` bytes of notes.
    pub fn build_id(&self) -> Option<&'a [u8]> {
        let mut left = MAX_NOTES;
        let mut of_sections = self.sections.iter().filter_map(|section| {
            let is_note = section.sh_type(self.endian) == elf::SHT_NOTE;
            let rest = left.checked_sub(section.sh_size(self.endian));
            left = rest.filter(|_| is_note)?;
            section.notes(self.endian, self.data).ok()?
        });
        of_sections.find_map(|mut notes| {
            while let Some(note) = notes.next().ok()? {
                if note.name() == elf::ELF_NOTE_GNU && note.n_type(self.endian) == elf::NT_GNU_BUILD_ID {
                    return Some(note.desc());
                }
            }
            None
        })
    }

    /// Returns the name of the separate file with the symbols, and that file's CRC-32.
    pub fn debug_link(&self) -> Option<(&'a [u8], u32)> {
        let data = self.data(".gnu_debuglink", MAX_LINK)?;
        let len = data.iter().position(|byte| *byte == 0)?;
        // Aligned to four bytes.
        let crc = data.get((len + 1).next_multiple_of(4)..)?.first_chunk::<4>()?;
        let crc = match self.endian {
            Endianness::Little => u32::from_le_bytes(*crc),
            Endianness::Big => u32::from_be_bytes(*crc),
        };
        Some((&data[..len], crc))
    }
}
