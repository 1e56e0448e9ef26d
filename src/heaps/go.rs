//! Finds the code and the data of a Go program by the sections of its file.

use std::path::Path;

use object::read::ReadCache;
use object::{Object, ObjectSection, ObjectSegment};

use crate::heap::go::Program;
use crate::proc::maps::Area;
use crate::proc::namespace::Namespace;

/// Returns the program of a process, if it is one of Go.
pub(super) fn find(proc: &Path, pid: u32, maps: &[u8]) -> Option<Program> {
    let dir = proc.join(pid.to_string());
    let name = std::fs::read_link(dir.join("exe")).ok()?;
    let mut areas = maps.split(|byte| *byte == b'\n').filter_map(Area::parse);
    let first = areas.find(|area| area.inode != 0 && area.name == name.as_os_str().as_encoded_bytes())?;
    let cache = ReadCache::new(Namespace::new(dir).link("exe").ok()?);
    let elf = object::read::elf::ElfFile64::<object::Endianness, _>::parse(&cache).ok()?;
    let segment = elf.segments().next()?;
    let page = rustix::param::page_size() as u64;
    let stated = (segment.address().wrapping_sub(segment.file_range().0)).wrapping_add(first.offset) & !(page - 1);
    let bias = first.range.0.wrapping_sub(stated);
    let range = |section: &object::read::elf::ElfSection64<'_, '_, object::Endianness, _>| {
        let start = section.address().wrapping_add(bias);
        Some(start..start.checked_add(section.size())?)
    };
    let functions = elf
        .sections()
        .find(|section| section.name().is_ok_and(|name| name.ends_with(".gopclntab")))?;
    let text = elf.section_by_name(".text")?;
    let names = [".data", ".noptrdata", ".bss", ".noptrbss"];
    let data = elf
        .sections()
        .filter(|section| section.name().is_ok_and(|name| names.contains(&name)))
        .filter_map(|section| range(&section));
    Some(Program {
        text: range(&text)?,
        functions: range(&functions)?,
        data: data.collect(),
    })
}
