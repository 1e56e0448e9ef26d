//! `/tmp/hsperfdata_<user>/<pid>`: counters that a Java virtual machine (`HotSpot`) publishes by default.
//!
//! The JVM maps the file, so it is found among the process's mappings. `pid` is the one in the process's own namespace.
//! Anybody may write such a file: it is read only if the process's user owns it, and every length in it is checked, and sums that
//! no heap can have are refused. The rest is the process's own account.

use std::ffi::OsStr;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::fstat;
use rustix::io::Errno;

use super::files::{open_dir, optional_reason, read_all};
use super::namespace::Namespace;
use super::parse::words;
use crate::model::snapshot::JvmHeap;
use crate::model::{Missing, Reading};

/// The first bytes of the file, in this order for every byte order.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// The only major version since Java 5.
const MAJOR_VERSION: u8 = 2;
const PROLOGUE: usize = 32;
const ENTRY: usize = 20;
/// The type of an 8-byte number, and of each byte of a text.
const LONG: u8 = b'J';
const BYTE: u8 = b'B';
/// Maximum size of the file: `PerfDataMemorySize` is 32 KiB unless set.
const MAX_SIZE: usize = 1 << 20;

/// Returns the directory and the file name if a mapping's name is such a file.
pub fn names(mapping: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut parts = mapping.rsplitn(3, |b| *b == b'/');
    let (file, directory) = (parts.next()?, parts.next()?);
    let is_pid = !file.is_empty() && file.iter().all(u8::is_ascii_digit);
    (is_pid && directory.starts_with(b"hsperfdata_") && parts.next().is_some()).then_some((directory, file))
}

/// Returns the name under which a process maps its file, found in its `maps`. Returns `None` if no such mapping is
/// visible.
pub fn find(maps: &[u8]) -> Option<&[u8]> {
    let mut lines = maps.split(|b| *b == b'\n');
    lines.find_map(|line| {
        let at = line.iter().position(|b| *b == b'/')?;
        names(&line[at..]).map(|_| &line[at..])
    })
}

/// Returns true if a process has the library of the virtual machine mapped as code, by its `maps`.
pub fn has_library(maps: &[u8]) -> bool {
    maps.split(|b| *b == b'\n').any(|line| {
        let is_code = words(line)
            .nth(1)
            .is_some_and(|permissions| permissions.get(2) == Some(&b'x'));
        // An update removes the file's name.
        is_code
            && line
                .strip_suffix(b" (deleted)")
                .unwrap_or(line)
                .ends_with(b"/libjvm.so")
    })
}

/// Reads the file that the process maps under that name. May block, since the process chooses what is mounted there.
///
/// Follows no link on the way, since a link could lead out of the process's root.
pub fn read(proc: &Path, pid: u32, mapping: &[u8]) -> Reading<JvmHeap> {
    parse(&read_file(proc, pid, mapping)?)
}

/// Reads the bytes of the file, as [`read`].
pub fn read_file(proc: &Path, pid: u32, mapping: &[u8]) -> Reading<Vec<u8>> {
    let (directory, file) = names(mapping).ok_or(Missing::Unsupported)?;
    let process = proc.join(pid.to_string());
    let open = || -> Result<_, Errno> {
        let process = open_dir(process.as_os_str().as_encoded_bytes())?;
        let path = Path::new("/tmp")
            .join(OsStr::from_bytes(directory))
            .join(OsStr::from_bytes(file));
        let folder = format!("/proc/self/fd/{}", process.as_raw_fd());
        let fd = Namespace::new(&folder).plain_file(&path)?;
        Ok((fstat(&fd)?, fd, fstat(&process)?.st_uid))
    };
    let (stat, fd, uid) = open().map_err(|errno| match errno {
        Errno::INVAL => Missing::Malformed,
        errno => optional_reason(errno),
    })?;
    let size = usize::try_from(stat.st_size).ok().filter(|size| *size <= MAX_SIZE);
    let size = size.filter(|_| stat.st_uid == uid).ok_or(Missing::Malformed)?;
    let mut bytes = vec![0; size];
    let len = read_all(fd, &mut bytes).map_err(optional_reason)?;
    bytes.truncate(len);
    Ok(bytes)
}

pub fn parse(bytes: &[u8]) -> Reading<JvmHeap> {
    let mut sums = Sums::default();
    each_entry(bytes, |is_big, entry| sums.add(is_big, entry))?;
    sums.finish()
}

/// Returns the text that the JVM publishes under a name, such as `java.property.java.vm.version`.
pub fn text<'a>(bytes: &'a [u8], name: &[u8]) -> Reading<Option<&'a [u8]>> {
    let mut found = None;
    each_entry(bytes, |is_big, entry| {
        let is_text = entry[12] == BYTE && word(is_big, entry, 8)? != 0;
        if is_text && terminated(entry.get(word(is_big, entry, 4)?..)?)? == name {
            found = Some(terminated(entry.get(word(is_big, entry, 16)?..)?)?);
        }
        Some(())
    })?;
    Ok(found)
}

/// Passes each entry, and true if its numbers are big-endian, to `each`, which returns `None` if it is malformed.
fn each_entry<'a>(bytes: &'a [u8], mut each: impl FnMut(bool, &'a [u8]) -> Option<()>) -> Reading<()> {
    let prologue = bytes.first_chunk::<PROLOGUE>().ok_or(Missing::Malformed)?;
    if prologue[..4] != MAGIC {
        return Err(Missing::Malformed);
    }
    let is_big = match prologue[4] {
        order @ (0 | 1) => order == 0,
        _ => return Err(Missing::Malformed),
    };
    if prologue[5] != MAJOR_VERSION {
        return Err(Missing::Unsupported);
    }
    // The JVM has not finished writing the file for the first time.
    if prologue[7] != 1 {
        return Err(Missing::Pending);
    }
    let word = |at| word(is_big, bytes, at).ok_or(Missing::Malformed);
    let (mut at, entries) = (word(24)?, word(28)?);
    for _ in 0..entries {
        let length = word(at)?;
        let entry = at.checked_add(length).and_then(|end| bytes.get(at..end));
        let entry = entry.filter(|entry| entry.len() >= ENTRY).ok_or(Missing::Malformed)?;
        each(is_big, entry).ok_or(Missing::Malformed)?;
        at += length;
    }
    Ok(())
}

/// Returns the bytes before the first NUL.
fn terminated(bytes: &[u8]) -> Option<&[u8]> {
    Some(&bytes[..bytes.iter().position(|b| *b == 0)?])
}

fn word(is_big: bool, bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = *bytes.get(at..)?.first_chunk()?;
    let number = if is_big {
        u32::from_be_bytes(bytes)
    } else {
        u32::from_le_bytes(bytes)
    };
    usize::try_from(number).ok()
}

/// Reads an 8-byte number that is not negative.
fn long(is_big: bool, bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = *bytes.get(at..)?.first_chunk()?;
    let number = if is_big {
        i64::from_be_bytes(bytes)
    } else {
        i64::from_le_bytes(bytes)
    };
    u64::try_from(number).ok()
}

#[derive(Default)]
struct Sums {
    used: Option<u64>,
    capacity: Option<u64>,
    old: Option<u64>,
    live: Option<u64>,
    old_max: Option<u64>,
    collections: u64,
    old_collections: u64,
}

impl Sums {
    /// Adds an entry, which has lengths and offsets, a name and a value. Returns `None` if it is malformed.
    fn add(&mut self, is_big: bool, entry: &[u8]) -> Option<()> {
        let name = terminated(entry.get(word(is_big, entry, 4)?..)?)?;
        if word(is_big, entry, 8)? != 0 || entry[12] != LONG {
            return Some(());
        }
        let value = || long(is_big, entry, word(is_big, entry, 16)?);
        let add = |sum: &mut Option<u64>| {
            *sum = Some(sum.unwrap_or(0).saturating_add(value()?));
            Some(())
        };
        if let Some((generation, rest)) = name.strip_prefix(b"sun.gc.generation.").and_then(split_number) {
            let space = rest.strip_prefix(b"space.").and_then(split_number);
            if rest == b"capacity" {
                add(&mut self.capacity)?;
            } else if rest == b"maxCapacity" && generation > 0 {
                add(&mut self.old_max)?;
            } else if let Some((_, b"used")) = space {
                add(&mut self.used)?;
                if generation > 0 {
                    add(&mut self.old)?;
                }
            }
        } else if let Some((collector, b"invocations")) = name.strip_prefix(b"sun.gc.collector.").and_then(split_number)
        {
            self.collections = self.collections.saturating_add(value()?);
            // In every set of collectors, the first one collects the young generation.
            if collector > 0 {
                self.old_collections = self.old_collections.saturating_add(value()?);
            }
        } else if name == b"sun.gc.policy.liveAtLastFullGc" {
            self.live = Some(value()?);
        }
        Some(())
    }

    fn finish(self) -> Reading<JvmHeap> {
        let unknown = Missing::Unsupported;
        let (used, capacity) = (self.used.ok_or(unknown)?, self.capacity.ok_or(unknown)?);
        // Before the first full collection, the value is 0 or a guess.
        let live = self.live.filter(|live| *live > 0 && self.old_collections > 0);
        // Objects that were live may be freed without another full collection, so that less is used than was live.
        if used.max(live.unwrap_or(0)) > capacity {
            return Err(Missing::Malformed);
        }
        Ok(JvmHeap {
            used,
            capacity,
            old: self.old.ok_or(unknown),
            live: live.ok_or(unknown),
            old_max: self.old_max.ok_or(unknown),
            collections: self.collections,
            old_collections: self.old_collections,
        })
    }
}

fn split_number(name: &[u8]) -> Option<(u64, &[u8])> {
    let dot = name.iter().position(|b| *b == b'.')?;
    Some((super::parse::number(&name[..dot])?, &name[dot + 1..]))
}
