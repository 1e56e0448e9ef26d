//! Finds the interpreter in a process: `_PyRuntime` among the dynamic symbols of its program and libraries.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::heap::Memory;
use crate::heap::python::{Runtime, VERSIONS, Version};
use crate::proc::elf::{Elf, Limited};
use crate::proc::maps::Area;
use crate::proc::namespace::Namespace;

/// Maximum number of files to search for the symbol.
const MAX_FILES: usize = 16;
/// Maximum number of bytes that are read of a file. An interpreter has 20,000 symbols at most.
const MAX_READ: u64 = 16 << 20;

/// Returns the interpreter of a process, by its `maps`.
pub(super) fn find(proc: &Path, pid: u32, maps: &[u8], memory: &mut dyn Memory) -> Option<Runtime> {
    let dir = proc.join(pid.to_string());
    let exe = std::fs::read_link(dir.join("exe")).unwrap_or_default();
    let namespace = Namespace::new(dir);
    let areas = || maps.split(|byte| *byte == b'\n').filter_map(Area::parse);
    let mut files: Vec<(&[u8], u64, u64)> = Vec::new();
    for area in areas() {
        let is_candidate = area.inode != 0
            && (area.name == exe.as_os_str().as_bytes()
                || [&b"libpython"[..], b"python3"]
                    .iter()
                    .any(|name| file_name(area.name).starts_with(name)));
        if is_candidate && files.len() < MAX_FILES && !files.iter().any(|(name, ..)| *name == area.name) {
            files.push((area.name, area.range.0, area.offset));
        }
    }
    files.into_iter().find_map(|(name, start, offset)| {
        let file = if name == exe.as_os_str().as_bytes() {
            namespace.link("exe")
        } else {
            let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
            namespace.file(Path::new(OsStr::from_bytes(name)))
        };
        let (runtime, version) = symbols(file.ok()?, start, offset)?;
        let stated = version.and_then(|at| {
            let mut bytes = [0; 8];
            memory.read(at, &mut bytes).then(|| ((bytes[3]), bytes[2]))
        });
        let version = stated.or_else(|| areas().find_map(|area| named(area.name)))?;
        VERSIONS.contains(&version).then_some(Runtime {
            version,
            address: runtime,
        })
    })
}

fn file_name(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

/// Returns the version in a file's name, such as `libpython3.9.so.1.0` or `/usr/lib/python3.9/lib-dynload/_json.so`.
fn named(name: &[u8]) -> Option<Version> {
    let mut parts = name.split(|byte| *byte == b'/').rev();
    parts.find_map(|part| {
        let rest = part.strip_prefix(b"lib").unwrap_or(part).strip_prefix(b"python3.")?;
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let minor = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        Some((3, minor))
    })
}

/// Returns the addresses of `_PyRuntime` and `Py_Version` (since 3.11) for a file mapped at `start` from `offset`.
fn symbols(file: File, start: u64, offset: u64) -> Option<(u64, Option<u64>)> {
    let limited = Limited::new(file, MAX_READ);
    let elf = Elf::parse(&limited)?;
    let bias = elf.segments().find_map(|segment| segment.bias(start, offset))?;
    let (mut runtime, mut version) = (None, None);
    for (name, address) in elf.dynamic_symbols() {
        let at = || (address != 0).then(|| address.wrapping_add(bias));
        match name {
            b"_PyRuntime" => runtime = at(),
            b"Py_Version" => version = at(),
            _ => {}
        }
    }
    Some((runtime?, version))
}
