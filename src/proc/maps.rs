//! `/proc/<pid>/maps`: the objects that a process maps, which it may share with others, how much it maps of a file or
//! of an address range, and the files themselves.

use std::collections::{HashMap, HashSet};

use super::parse::LineBuffer;
use super::smaps::{MAX_AREA_LINE, head};
use crate::model::mapping::MappingName;
use crate::order;

/// Maximum number of bytes that are read of the file by those that need only a part of it: some 50,000 areas.
pub const MAX_MAPS: usize = 8 << 20;
/// Maximum number of bytes kept of a line: the part before the name, and the beginning of the name.
const MAX_LINE: usize = 128;
/// Maximum number of objects kept while a file is read. Beyond it, objects with the same inode are merged and the
/// smallest are dropped.
const MAX_KEPT: usize = 4096;

/// A file, memfd or shmem segment, and how much of it a process maps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object {
    pub device: (u32, u32),
    pub inode: u64,
    /// True for a memfd, System V or POSIX shared memory, or shared anonymous memory.
    pub is_shmem: bool,
    pub bytes: u64,
}

/// The files and shmem segments of one process, which it may share with others.
#[derive(Debug, Default)]
pub struct Objects {
    /// The first area's object. For most programs it is their executable.
    program: Option<Object>,
    all: Vec<Object>,
    buffer: LineBuffer<MAX_LINE>,
}

impl Objects {
    pub fn feed(&mut self, piece: &[u8]) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.feed(piece, |line| self.add_line(line));
        self.buffer = buffer;
    }

    pub fn finish(&mut self) {
        self.merge();
    }

    fn add_line(&mut self, line: &[u8]) {
        let Some((head, name)) = head(line).filter(|(head, _)| head.inode != 0) else {
            return;
        };
        let object = Object {
            device: head.device,
            inode: head.inode,
            is_shmem: is_shmem(name),
            bytes: head.range.1 - head.range.0,
        };
        self.program.get_or_insert(object);
        match self.all.last_mut() {
            Some(last) if is_same(last, &object) => last.bytes = last.bytes.saturating_add(object.bytes),
            _ => self.all.push(object),
        }
        if self.all.len() >= MAX_KEPT {
            self.merge();
            order::sort_by_key(&mut self.all, |o| std::cmp::Reverse(o.bytes));
            self.all.truncate(MAX_KEPT / 2);
        }
    }

    fn merge(&mut self) {
        order::sort_by_key(&mut self.all, |o| (o.device, o.inode));
        self.all.dedup_by(|next, first| {
            let is_same = is_same(first, next);
            if is_same {
                first.bytes = first.bytes.saturating_add(next.bytes);
            }
            is_same
        });
    }

    pub fn sizes(&self) -> [u64; 2] {
        let size = |is_shmem| {
            let of_kind = self.all.iter().filter(|o| o.is_shmem == is_shmem);
            of_kind.fold(0_u64, |sum, o| sum.saturating_add(o.bytes))
        };
        [size(false), size(true)]
    }

    /// Returns the total size of all files of less than `least` bytes.
    pub fn small(&self, least: u64) -> u64 {
        let small = self.all.iter().filter(|o| !o.is_shmem && o.bytes < least);
        small.map(|o| o.bytes).sum()
    }

    /// Returns up to `count` objects of `least` bytes or more. The rest counts as part of the program's file, since
    /// processes that run the same program map the same objects.
    pub fn large(&self, least: u64, count: usize) -> Vec<Object> {
        let Some(program) = self.program else {
            return Vec::new();
        };
        let mut all = self.all.clone();
        order::sort_by_key(&mut all, |o| (std::cmp::Reverse(o.bytes), o.device, o.inode));
        let is_kept = |o: &Object| o.bytes >= least && !is_same(o, &program);
        let (mut kept, mut rest): (Vec<_>, Vec<_>) = all.into_iter().partition(is_kept);
        rest.extend(kept.drain(count.min(kept.len())..));
        let small = rest.iter().fold(0_u64, |sum, o| sum.saturating_add(o.bytes));
        if small >= least {
            kept.push(Object {
                bytes: small,
                ..program
            });
        }
        kept
    }
}

fn is_same(one: &Object, other: &Object) -> bool {
    (one.device, one.inode) == (other.device, other.inode)
}

/// Returns true for the names that the kernel gives to shared memory. A file on another tmpfs counts as a file.
fn is_shmem(name: &[u8]) -> bool {
    [&b"/memfd:"[..], b"/dev/zero", b"/SYSV", b"/dev/shm/"]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// A line of `maps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area<'a> {
    pub range: (u64, u64),
    pub permissions: [u8; 4],
    pub offset: u64,
    pub device: (u32, u32),
    pub inode: u64,
    /// Raw, and empty for anonymous memory.
    pub name: &'a [u8],
}

impl<'a> Area<'a> {
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        let (head, name) = head(line)?;
        Some(Self {
            range: head.range,
            permissions: head.perms,
            offset: head.offset,
            device: head.device,
            inode: head.inode,
            name,
        })
    }

    /// Returns true for a mapped file that is not shared memory.
    pub fn is_of_file(&self) -> bool {
        self.inode != 0 && !is_shmem(self.name)
    }
}

/// A file's device (major and minor number) and inode.
pub type FileId = ((u32, u32), u64);

/// Sizes of the files and address ranges that a process maps. Its PSS already includes them.
#[derive(Debug, Default)]
pub struct Mapped {
    /// The total size of the areas of each file whose file system has no device, such as tmpfs.
    files: HashMap<FileId, u64>,
    /// All areas in order, with adjacent ones merged.
    ranges: Vec<(u64, u64)>,
    buffer: LineBuffer<MAX_LINE>,
}

impl Mapped {
    pub fn feed(&mut self, piece: &[u8]) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.feed(piece, |line| self.add_line(line));
        self.buffer = buffer;
    }

    fn add_line(&mut self, line: &[u8]) {
        let Some((head, _)) = head(line) else { return };
        let (start, end) = head.range;
        if head.inode != 0 && head.device.0 == 0 {
            let sum = self.files.entry((head.device, head.inode)).or_default();
            *sum = sum.saturating_add(end - start);
        }
        match self.ranges.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => self.ranges.push((start, end)),
        }
    }

    /// Returns an upper bound on how much of a file the process maps.
    pub fn of_file(&self, file: FileId) -> u64 {
        self.files.get(&file).copied().unwrap_or(0)
    }

    pub fn within(&self, (start, end): (u64, u64)) -> u64 {
        let first = self.ranges.partition_point(|range| range.1 <= start);
        let inside = self.ranges[first..].iter().take_while(|range| range.0 < end);
        let inside = inside.map(|range| range.1.min(end).saturating_sub(range.0.max(start)));
        inside.fold(0, u64::saturating_add)
    }
}

/// The files that a process maps, each once.
#[derive(Debug, Default)]
pub struct MappedFiles {
    pub all: Vec<MappedFile>,
    known: HashSet<FileId>,
    buffer: LineBuffer<MAX_AREA_LINE>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedFile {
    pub id: FileId,
    /// The addresses of its first area, as they name it in `map_files`.
    pub range: (u64, u64),
    pub name: MappingName,
}

impl MappedFiles {
    pub fn feed(&mut self, piece: &[u8]) {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.feed(piece, |line| self.add_line(line));
        self.buffer = buffer;
    }

    fn add_line(&mut self, line: &[u8]) {
        let Some((head, name)) = head(line) else { return };
        let id = (head.device, head.inode);
        if head.inode != 0 && name.starts_with(b"/") && self.known.insert(id) {
            self.all.push(MappedFile {
                id,
                range: head.range,
                name: MappingName::parse(name, false),
            });
        }
    }
}
