//! The mappings of an address space: each area as `smaps` lists it, and areas of one name together.

use std::collections::HashMap;
use std::sync::Arc;

use super::memory::Memory;
use super::reading::{Missing, Reading};

/// What kind of memory an area maps, by its name and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A file: a program, a library, mapped data.
    File,
    /// `[heap]`, what `brk` gives.
    Heap,
    /// `[stack]`.
    Stack,
    /// Anonymous memory that the process named, `[anon:NAME]` (Linux 5.17).
    Named,
    /// Anonymous memory without a name.
    Anon,
    /// Shared memory: memfd, System V, shared anonymous, `/dev/shm`.
    Shared,
    /// Huge pages of hugetlbfs.
    Hugetlb,
    /// What the kernel lends: `[vdso]`, `[vvar]` and their like.
    Kernel,
    /// A device, or another file that is no page cache: `/dev/…`, `anon_inode:…`, `socket:…`.
    Device,
}

impl Kind {
    /// The name in JSON and CSV.
    pub const fn id(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Heap => "heap",
            Self::Stack => "stack",
            Self::Named => "named",
            Self::Anon => "anon",
            Self::Shared => "shared",
            Self::Hugetlb => "hugetlb",
            Self::Kernel => "kernel",
            Self::Device => "device",
        }
    }
}

/// How anonymous memory without a name is called. No path can be called so: a path begins with `/`.
pub const ANON: &[u8] = b"[anon]";

/// What an area is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// As the kernel writes it, raw but for a newline, which is `\012`; without ` (deleted)`. [`ANON`]
    /// where the kernel gives none.
    pub bytes: Arc<[u8]>,
    /// The file of that name was removed or replaced: what is mapped is no longer to be found under it.
    /// Never of shared memory, whose files have no name from the start.
    pub deleted: bool,
    /// What it is.
    pub kind: Kind,
}

impl Name {
    /// Understands a name as `smaps` has it, empty for none. `hugetlb` is whether its flags say `ht`.
    pub fn parse(written: &[u8], hugetlb: bool) -> Self {
        const DELETED: &[u8] = b" (deleted)";
        let stripped = written.strip_suffix(DELETED);
        let bytes = stripped.unwrap_or(written);
        let kind = if hugetlb {
            Kind::Hugetlb
        } else {
            kind(bytes, stripped.is_some())
        };
        Self {
            bytes: if bytes.is_empty() { ANON.into() } else { bytes.into() },
            deleted: stripped.is_some() && kind == Kind::File,
            kind,
        }
    }
}

fn kind(name: &[u8], deleted: bool) -> Kind {
    match name {
        b"" => Kind::Anon,
        b"[heap]" => Kind::Heap,
        _ if name == b"[stack]" || name.starts_with(b"[stack:") => Kind::Stack,
        _ if name.starts_with(b"[anon:") => Kind::Named,
        _ if name.starts_with(b"[anon_shmem:") => Kind::Shared,
        [b'[', .., b']'] => Kind::Kernel,
        b"/anon_hugepage" if deleted => Kind::Hugetlb,
        b"/dev/zero" if deleted => Kind::Shared,
        _ if deleted && (name.starts_with(b"/memfd:") || name.starts_with(b"/SYSV")) => Kind::Shared,
        _ if name.starts_with(b"/dev/shm/") => Kind::Shared,
        _ if name.starts_with(b"/dev/") => Kind::Device,
        [b'/', ..] => Kind::File,
        _ => Kind::Device,
    }
}

/// The figures that areas have beside [`Memory`], in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// `Size`: how much of the address space it takes.
    pub size: u64,
    /// `Locked`: the part of PSS that may not be swapped out.
    pub locked: Reading<u64>,
    /// `AnonHugePages`: resident in transparent huge pages.
    pub huge: Reading<u64>,
}

impl Extent {
    /// No area at all.
    pub const NONE: Self = Self {
        size: 0,
        locked: Ok(0),
        huge: Ok(0),
    };

    /// Adds another area's.
    pub fn add(&mut self, other: &Self) {
        let both = |a: Reading<u64>, b: Reading<u64>| Ok(a?.saturating_add(b?));
        self.size = self.size.saturating_add(other.size);
        self.locked = both(self.locked, other.locked);
        self.huge = both(self.huge, other.huge);
    }
}

/// One area of an address space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// The first address.
    pub start: u64,
    /// The first address after it.
    pub end: u64,
    /// `rwxp`, with `-` for what is not allowed and `s` for shared.
    pub perms: [u8; 4],
    /// Where in the file it begins, in bytes.
    pub offset: u64,
    /// Major and minor number of the file's device.
    pub device: (u32, u32),
    /// The file's inode, 0 for none.
    pub inode: u64,
    /// What it is called.
    pub name: Name,
    /// `VmFlags`, two letters each; empty where the kernel gives none (before Linux 3.8).
    pub flags: Box<[u8]>,
    /// What of it is resident or swapped out; why not, where a line of it does not read as it should.
    pub memory: Reading<Memory>,
    /// Its size and the rest.
    pub extent: Reading<Extent>,
}

/// The areas of one name together, in one process or in many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// What they are called.
    pub name: Name,
    /// How many areas.
    pub areas: u64,
    /// Their sums; where one could not be read, why.
    pub memory: Reading<Memory>,
    /// Their sizes.
    pub extent: Reading<Extent>,
}

impl Mapping {
    /// Nothing yet of that name.
    pub fn new(name: Name) -> Self {
        Self {
            name,
            areas: 0,
            memory: Ok(Memory::default()),
            extent: Ok(Extent::NONE),
        }
    }

    /// Adds what others of that name hold. A sum that lacks one is no sum.
    pub fn add(&mut self, areas: u64, memory: &Reading<Memory>, extent: &Reading<Extent>) {
        self.areas = self.areas.saturating_add(areas);
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

/// Puts areas of one name together as they come.
#[derive(Debug, Default)]
pub struct Merge {
    /// By name: a process has few names for its many areas.
    by_name: HashMap<Name, usize>,
    mappings: Vec<Mapping>,
    /// Where the last one went: the areas of a library come one after another.
    last: Option<usize>,
}

impl Merge {
    /// Adds one area.
    pub fn area(&mut self, area: &Area) {
        self.add(&area.name, 1, &area.memory, &area.extent);
    }

    /// Adds areas already put together.
    pub fn mapping(&mut self, m: &Mapping) {
        self.add(&m.name, m.areas, &m.memory, &m.extent);
    }

    fn add(&mut self, name: &Name, areas: u64, memory: &Reading<Memory>, extent: &Reading<Extent>) {
        let at = match self.last {
            Some(at) if self.mappings[at].name == *name => at,
            _ => *self.by_name.entry(name.clone()).or_insert_with(|| {
                self.mappings.push(Mapping::new(name.clone()));
                self.mappings.len() - 1
            }),
        };
        self.last = Some(at);
        self.mappings[at].add(areas, memory, extent);
    }

    /// Where in [`Merge::finish`] the mapping last added to stands.
    pub const fn last(&self) -> Option<usize> {
        self.last
    }

    /// The mappings, in the order in which their names first came.
    pub fn finish(self) -> Vec<Mapping> {
        self.mappings
    }
}

/// One of many to be summed: how many areas, their memory, their size and the rest.
pub type Summand<'a> = (u64, Reading<&'a Memory>, Reading<&'a Extent>);

/// The sum of areas or mappings: of those that could be read. `Err` where there are none, or none could.
pub fn total<'a>(all: impl IntoIterator<Item = Summand<'a>>) -> (u64, Reading<Memory>, Extent) {
    let mut areas: u64 = 0;
    let mut sum: Reading<Memory> = Err(Missing::Pending);
    let mut extent = Extent::NONE;
    for (count, memory, more) in all {
        sum = match (sum, memory) {
            (Ok(mut sum), Ok(more)) => {
                sum.add(more);
                Ok(sum)
            }
            (Ok(known), Err(_)) => Ok(known),
            (Err(_), Ok(known)) => Ok(*known),
            (Err(_), Err(why)) => Err(why),
        };
        if let Ok(more) = more {
            extent.add(more);
        }
        areas = areas.saturating_add(count);
    }
    (areas, sum, extent)
}
