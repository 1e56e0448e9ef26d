//! The mappings of an address space: each area as `smaps` lists it, and sums of areas with one name.

use std::sync::Arc;

use super::memory::Memory;
use super::reading::Reading;
use crate::text::named;

named! {
    /// The kind of memory that an area maps, by its name and flags.
    pub enum MappingKind {
        /// A file: a program, a library, mapped data.
        File = "file",
        /// `[heap]`, grown by `brk`.
        Heap = "heap",
        Stack = "stack",
        /// Anonymous memory that the process named, `[anon:NAME]` (Linux 5.17).
        Named = "named",
        /// Anonymous memory without a name.
        Anon = "anon",
        /// Shared memory: memfd, System V, shared anonymous, `/dev/shm`.
        Shared = "shared",
        /// Huge pages of hugetlbfs.
        Hugetlb = "hugetlb",
        /// Pages of the kernel: `[vdso]`, `[vvar]` and the like.
        Kernel = "kernel",
        /// A device, or another file that is not page cache: `/dev/…`, `anon_inode:…`, `socket:…`.
        Device = "device",
    }
}

/// The name of anonymous memory without one. No path can have it: a path starts with `/`.
pub const ANON: &[u8] = b"[anon]";

/// The name of shared anonymous memory, which the kernel calls `/dev/zero (deleted)`.
pub const SHARED_ANON: &[u8] = b"[shared anonymous memory]";

/// A file or shared memory that a process maps, and may share with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedObject {
    /// Major and minor number of its device.
    pub device: (u32, u32),
    pub inode: u64,
    pub kind: MappingKind,
    /// As in [`MappingName`].
    pub name: Arc<[u8]>,
}

impl MappedObject {
    /// Returns the text that a filter matches: its name, with the inode if the name does not identify it.
    pub fn text(&self) -> Vec<u8> {
        let mut text = self.name.to_vec();
        if *self.name == *SHARED_ANON {
            text.extend(format!(" {}", self.inode).bytes());
        }
        text
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MappingName {
    /// The name without ` (deleted)`, raw except that the kernel writes a newline as `\012`. [`ANON`] for an empty name,
    /// [`SHARED_ANON`] for shared anonymous memory.
    pub bytes: Arc<[u8]>,
    /// The file was removed or replaced. Never set for shared memory, whose files never had a name.
    pub deleted: bool,
    pub kind: MappingKind,
}

impl MappingName {
    /// Parses the name in `smaps`, which may be empty. `hugetlb` is true if the area's flags contain `ht`.
    pub fn parse(written: &[u8], hugetlb: bool) -> Self {
        const DELETED: &[u8] = b" (deleted)";
        let stripped = written.strip_suffix(DELETED);
        let bytes = stripped.unwrap_or(written);
        let kind = if hugetlb {
            MappingKind::Hugetlb
        } else {
            kind(bytes, stripped.is_some())
        };
        Self {
            bytes: match bytes {
                b"" => ANON.into(),
                b"/dev/zero" if kind == MappingKind::Shared => SHARED_ANON.into(),
                _ => bytes.into(),
            },
            deleted: stripped.is_some() && kind == MappingKind::File,
            kind,
        }
    }
}

fn kind(name: &[u8], deleted: bool) -> MappingKind {
    match name {
        b"" => MappingKind::Anon,
        b"[heap]" => MappingKind::Heap,
        _ if name == b"[stack]" || name.starts_with(b"[stack:") => MappingKind::Stack,
        _ if name.starts_with(b"[anon:") => MappingKind::Named,
        _ if name.starts_with(b"[anon_shmem:") => MappingKind::Shared,
        [b'[', .., b']'] => MappingKind::Kernel,
        b"/anon_hugepage" if deleted => MappingKind::Hugetlb,
        b"/dev/zero" if deleted => MappingKind::Shared,
        _ if deleted && (name.starts_with(b"/memfd:") || name.starts_with(b"/SYSV")) => MappingKind::Shared,
        _ if name.starts_with(b"/dev/shm/") => MappingKind::Shared,
        _ if name.starts_with(b"/dev/") => MappingKind::Device,
        [b'/', ..] => MappingKind::File,
        _ => MappingKind::Device,
    }
}

/// The figures of areas beside [`Memory`], in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// `Size`: the address space.
    pub size: u64,
    /// `Locked`: the part of PSS that may not be swapped out.
    pub locked: Reading<u64>,
    /// `AnonHugePages`: resident in transparent huge pages.
    pub huge: Reading<u64>,
    /// `Referenced`: resident and touched since the referenced bits were last cleared.
    pub referenced: Reading<u64>,
}

impl Extent {
    /// The sum of no area.
    pub const NONE: Self = Self {
        size: 0,
        locked: Ok(0),
        huge: Ok(0),
        referenced: Ok(0),
    };

    pub fn add(&mut self, other: &Self) {
        let both = |a: Reading<u64>, b: Reading<u64>| Ok(a?.saturating_add(b?));
        self.size = self.size.saturating_add(other.size);
        self.locked = both(self.locked, other.locked);
        self.huge = both(self.huge, other.huge);
        self.referenced = both(self.referenced, other.referenced);
    }
}

/// An area of an address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    pub start: u64,
    /// The first address after the area.
    pub end: u64,
    /// `rwxp`, with `-` for what is not allowed and `s` for shared.
    pub perms: [u8; 4],
    /// In the file, in bytes.
    pub offset: u64,
    /// Major and minor number of the file's device.
    pub device: (u32, u32),
    /// The file's inode, 0 for none.
    pub inode: u64,
    pub name: MappingName,
    /// `VmFlags`, two letters each; empty before Linux 3.8.
    pub flags: Box<[u8]>,
    /// [`Missing::Malformed`](super::Missing::Malformed) if one of its lines does not parse.
    pub memory: Reading<Memory>,
    pub extent: Reading<Extent>,
}

/// All areas of one name, in one process or in many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub name: MappingName,
    pub areas: u64,
    /// The sum; unknown if one area is.
    pub memory: Reading<Memory>,
    pub extent: Reading<Extent>,
}

impl Mapping {
    pub fn new(name: MappingName) -> Self {
        Self {
            name,
            areas: 0,
            memory: Ok(Memory::default()),
            extent: Ok(Extent::NONE),
        }
    }

    /// Adds areas of that name. The sum is unknown if any summand is.
    pub fn add(&mut self, areas: u64, memory: &Reading<Memory>, extent: &Reading<Extent>) {
        self.areas = self.areas.saturating_add(areas);
        // In place, without a copy of the sum: this runs for every area of a process.
        match (&mut self.memory, memory) {
            (Ok(sum), Ok(more)) => sum.add(more),
            (Ok(_), Err(why)) => self.memory = Err(*why),
            (Err(_), _) => {}
        }
        match (&mut self.extent, extent) {
            (Ok(sum), Ok(more)) => sum.add(more),
            (Ok(_), Err(why)) => self.extent = Err(*why),
            (Err(_), _) => {}
        }
    }
}
