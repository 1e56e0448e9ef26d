//! Finds the code and the data of a Go program by the sections of its file.

use std::ops::Range;
use std::path::Path;

use crate::heap::go::Program;
use crate::proc::elf::{Elf, Limited};
use crate::proc::maps::Area;
use crate::proc::namespace::Namespace;

/// Maximum number of bytes of headers that are read.
const MAX_HEADERS: u64 = 16 << 20;

/// Returns the program of a process, if it is one of Go.
pub(super) fn find(proc: &Path, pid: u32, maps: &[u8]) -> Option<Program> {
    let dir = proc.join(pid.to_string());
    let name = std::fs::read_link(dir.join("exe")).ok()?;
    let mut areas = maps.split(|byte| *byte == b'\n').filter_map(Area::parse);
    let first = areas.find(|area| area.inode != 0 && area.name == name.as_os_str().as_encoded_bytes())?;
    let limited = Limited::new(Namespace::new(dir).link("exe").ok()?, MAX_HEADERS);
    let elf = Elf::parse(&limited)?;
    let bias = elf
        .segments()
        .find_map(|segment| segment.bias(first.range.0, first.offset))?;
    let moved = |range: Range<u64>| {
        let start = range.start.wrapping_add(bias);
        Some(start..start.checked_add(range.end - range.start)?)
    };
    let (mut functions, mut data) = (None, Vec::new());
    for (name, range) in elf.ranges() {
        match name {
            b".data" | b".noptrdata" | b".bss" | b".noptrbss" => data.extend(moved(range)),
            name if name.ends_with(b".gopclntab") && functions.is_none() => functions = Some(range),
            _ => {}
        }
    }
    Some(Program {
        text: moved(elf.range(".text")?)?,
        functions: moved(functions?)?,
        data,
    })
}
