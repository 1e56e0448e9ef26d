//! The heap of a process: memory in use, and memory that the program freed and the allocator kept.
//!
//! From outside, leaked memory looks the same as memory that the program freed and the allocator kept. The allocator's own
//! structures distinguish them.
//!
//! The process controls its memory, so every pointer is checked and the work is bounded. Nothing is written to it.

mod cache;
pub mod dotnet;
pub mod glibc;
pub mod go;
pub mod java;
pub mod jemalloc;
pub mod kinds;
pub mod mallocng;
pub mod mimalloc;
#[cfg(feature = "network")]
pub mod node;
pub mod python;
pub mod runtimes;
mod scan;
pub mod tcmalloc;

use std::fmt;
use std::time::Duration;

use glibc::Heap;
use kinds::Kind;
use runtimes::Runtime;

use crate::model::Reading;
use crate::units::{self, Units};

/// Reads the memory of a process, within limits.
pub trait Memory {
    /// Fills `into`, beginning at the address. Returns false if a part of it cannot be read.
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool;

    /// Reads four words at each address. Returns the number of addresses read, in order: fewer than all if one cannot be read.
    fn read_each(&mut self, addresses: &[u64], into: &mut [[u64; 4]]) -> usize {
        read_alone(self, addresses, into)
    }

    /// Fills `into` with entries of `/proc/PID/pagemap`, beginning at the page number. Returns false if they cannot be read.
    fn pages(&mut self, page: u64, into: &mut [u64]) -> bool;

    /// Returns the kernel's page size.
    fn page_size(&self) -> u64;

    /// Reads the mappings that are currently readable and writable.
    fn regions(&mut self) -> Option<Regions>;

    /// Returns true once the time limit of the read has passed. Called often, so it must be cheap.
    fn is_over(&mut self) -> bool;
}

/// The heap of an allocator other than glibc's.
#[derive(Clone, Debug)]
pub struct Allocated {
    /// Bytes in use.
    pub in_use: u64,
    /// Free bytes that are in RAM or in swap.
    pub kept: u64,
    pub runtime: Runtime,
}

/// Reads the heap of an allocator other than glibc's.
///
/// # Errors
/// See [`Unknown`].
pub fn allocator(kind: Kind, memory: &mut dyn Memory) -> Result<Allocated, Unknown> {
    let (in_use, kept, mut runtime) = match kind {
        Kind::Mimalloc => mimalloc::read(memory).map(|heap| (heap.in_use(), heap.kept(), heap.runtime())),
        Kind::Tcmalloc => tcmalloc::read(memory).map(|heap| (heap.in_use(), heap.kept(), heap.runtime())),
        Kind::Musl => mallocng::read(memory).map(|heap| (heap.in_use(), heap.kept, heap.runtime())),
        _ => jemalloc::read(memory).map(|heap| (heap.total().in_use, heap.total().kept(), heap.runtime())),
    }?;
    // A program that makes up structures may let them overlap.
    let regions = memory.regions().ok_or(Unknown::Moving)?;
    let mapped = regions
        .all()
        .iter()
        .fold(0_u64, |sum, region| sum + (region.end - region.start));
    if in_use.saturating_add(kept) > mapped.saturating_add(mapped / 8) {
        return Err(Unknown::Strange("it has more memory than is mapped"));
    }
    runtime.figures = Some((in_use, kept));
    Ok(Allocated { in_use, kept, runtime })
}

/// Reads four words at each address, one address at a time, as [`Memory::read_each`].
pub(crate) fn read_alone(memory: &mut (impl Memory + ?Sized), addresses: &[u64], into: &mut [[u64; 4]]) -> usize {
    let mut bytes = [0; 32];
    let mut count = 0;
    for (address, words) in addresses.iter().zip(into) {
        if !memory.read(*address, &mut bytes) {
            break;
        }
        let (read, _) = bytes.as_chunks::<8>();
        words
            .iter_mut()
            .zip(read)
            .for_each(|(word, read)| *word = u64::from_le_bytes(*read));
        count += 1;
    }
    count
}

/// A mapping that the process may read and write, or several adjacent ones of the same kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub start: u64,
    pub end: u64,
    pub kind: RegionKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// `[heap]`, which `brk` grows.
    Heap,
    /// Other memory without a file.
    Anonymous,
    /// The data of a C library, by its file name.
    Libc,
    /// The data of another program or library.
    File,
}

/// The regions of a process, ascending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Regions(Vec<Region>);

impl Regions {
    /// Makes a set of regions, and merges adjacent ones of the same kind. Regions that overlap an earlier one are dropped.
    pub fn new(mut all: Vec<Region>) -> Self {
        all.sort_unstable_by_key(|region| region.start);
        let mut merged: Vec<Region> = Vec::new();
        for region in all {
            match merged.last_mut() {
                _ if region.end <= region.start => {}
                Some(last) if last.end > region.start => {}
                Some(last) if last.end == region.start && last.kind == region.kind => last.end = region.end,
                _ => merged.push(region),
            }
        }
        Self(merged)
    }

    pub fn all(&self) -> &[Region] {
        &self.0
    }

    /// Returns the region that holds an address.
    pub fn find(&self, address: u64) -> Option<&Region> {
        let after = self.0.partition_point(|region| region.start <= address);
        let region = self.0.get(after.checked_sub(1)?)?;
        (address < region.end).then_some(region)
    }

    /// Returns true if one region holds all `len` bytes from the address on.
    pub fn holds(&self, address: u64, len: u64) -> bool {
        self.find(address).is_some_and(|region| region.end - address >= len)
    }
}

/// Chunks of memory, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    pub count: u64,
    pub bytes: u64,
}

impl std::ops::AddAssign for Chunks {
    fn add_assign(&mut self, other: Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Memory by its location, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    pub resident: u64,
    pub swapped: u64,
}

impl Placed {
    pub const fn total(self) -> u64 {
        self.resident.saturating_add(self.swapped)
    }
}

impl std::ops::AddAssign for Placed {
    fn add_assign(&mut self, other: Self) {
        self.resident = self.resident.saturating_add(other.resident);
        self.swapped = self.swapped.saturating_add(other.swapped);
    }
}

/// A part of the heap with a lock of its own. Bytes are as `malloc_info(3)` counts them, with the overhead of each chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arena {
    /// Bytes from the kernel.
    pub system: u64,
    /// The highest number of bytes that it ever had.
    pub system_most: u64,
    /// Bytes in use, with those in the caches of threads.
    pub in_use: u64,
    /// Freed chunks that a thread keeps for itself; they count as in use. 0 if the caches were not found.
    pub cached: Chunks,
    /// Freed small chunks that are not joined with their neighbours yet.
    pub fast: Chunks,
    /// Freed chunks that are not sorted by size yet.
    pub unsorted: Chunks,
    /// Free chunks below 1 KiB.
    pub small: Chunks,
    /// Free chunks of 1 KiB and more.
    pub large: Chunks,
    /// The free end.
    pub top: u64,
    /// The memory that `malloc_trim(0)` would return to the kernel.
    pub trim: Placed,
    /// Whole pages of the end that `malloc_trim` leaves: it only cuts the end of the first arena.
    pub top_kept: Placed,
    /// Free bytes in pages that are neither resident nor in swap: they cost nothing.
    pub absent: u64,
}

impl Arena {
    /// Returns the free bytes.
    pub const fn free(&self) -> u64 {
        let bins = self.unsorted.bytes.saturating_add(self.small.bytes);
        let bins = bins.saturating_add(self.large.bytes);
        bins.saturating_add(self.fast.bytes).saturating_add(self.top)
    }

    /// Returns the free bytes that are resident or in swap.
    pub const fn kept(&self) -> u64 {
        self.free().saturating_sub(self.absent)
    }
}

impl std::ops::AddAssign for Arena {
    fn add_assign(&mut self, other: Self) {
        self.system = self.system.saturating_add(other.system);
        self.system_most = self.system_most.saturating_add(other.system_most);
        self.in_use = self.in_use.saturating_add(other.in_use);
        self.cached += other.cached;
        self.fast += other.fast;
        self.unsorted += other.unsorted;
        self.small += other.small;
        self.large += other.large;
        self.top = self.top.saturating_add(other.top);
        self.trim += other.trim;
        self.top_kept += other.top_kept;
        self.absent = self.absent.saturating_add(other.absent);
    }
}

/// The reason why a heap is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No structure of the allocator is in the program's data: it has another one, or the allocator was never used.
    NotFound,
    /// There is one, but its contents are inconsistent.
    Strange(&'static str),
    /// It changed during each read, up to the maximum number of attempts.
    Moving,
    /// There is more data than may be searched.
    TooLarge,
    /// It is a 32-bit program.
    Narrow,
    /// The process ended, or executed another program.
    Gone,
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => write!(f, "no heap of glibc was found in it"),
            Self::Strange(what) => write!(f, "its heap could not be parsed: {what}"),
            Self::Moving => write!(f, "its heap changed during every attempt to read it"),
            Self::TooLarge => write!(f, "its data could not be searched in time"),
            Self::Narrow => write!(f, "it is a 32-bit program, whose heap zmtop cannot parse"),
            Self::Gone => write!(f, "it ended or executed another program while its heap was read"),
        }
    }
}

/// The state of the allocators and runtimes of a process.
#[derive(Clone, Debug)]
pub struct State {
    pub pid: u32,
    /// The process's short name, raw.
    pub comm: Box<[u8]>,
    /// All of its memory, shared memory and files included.
    pub memory: Reading<Placed>,
    /// Other allocators and runtimes.
    pub others: Vec<Kind>,
    /// The heaps of the runtimes that can be queried or read.
    pub runtimes: Vec<Runtime>,
    pub heap: Result<Heap, Unknown>,
    pub change: Option<Change>,
}

/// The change of the figures of an allocator between two reads, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    pub time: Duration,
    pub in_use: i64,
    /// Of the free memory that is resident or in swap.
    pub free: i64,
}

/// Minimum free memory to report.
const MIN_HOARD: u64 = 32 << 20;

impl State {
    /// Returns true if at least a quarter of its memory is free inside glibc: it hoards.
    pub fn is_hoard(&self) -> bool {
        let Ok(heap) = &self.heap else { return false };
        let kept = heap.total().kept();
        kept >= MIN_HOARD && self.memory.is_ok_and(|memory| kept >= memory.total() / 4)
    }

    /// Returns the bytes in use and those kept free, of glibc or of the allocator in its place. `None` if they are a minimum.
    fn figures(&self) -> Option<(u64, u64)> {
        if let Some(figures) = self.runtimes.iter().find_map(|runtime| runtime.figures) {
            return Some(figures);
        }
        let heap = self.heap.as_ref().ok().filter(|heap| !heap.is_partial)?;
        let sum = heap.total();
        let mapped = heap.mapped.map_or(0, |mapped| mapped.bytes);
        Some((sum.in_use.saturating_add(mapped), sum.kept()))
    }

    /// Returns true if a later read can show changes.
    pub fn can_change(&self) -> bool {
        self.figures().is_some() || self.runtimes.iter().any(|runtime| runtime.objects.is_some())
    }

    /// Adds the changes since an earlier read.
    pub fn compare(&mut self, before: &Self, time: Duration) {
        let change = |new: u64, old: u64| new.cast_signed().saturating_sub(old.cast_signed());
        self.change = self.figures().zip(before.figures()).map(|(new, old)| Change {
            time,
            in_use: change(new.0, old.0),
            free: change(new.1, old.1),
        });
        for (runtime, before) in self.runtimes.iter_mut().zip(&before.runtimes) {
            let objects = runtime.objects.as_ref().zip(before.objects.as_ref());
            let is_same = runtime.kind == before.kind;
            runtime.changes = objects.filter(|_| is_same).map(|(new, old)| (time, new.changes(old)));
        }
    }

    /// Returns the conclusions for a user, as sentences.
    pub fn verdict(&self, units: Units) -> Vec<String> {
        let bytes = |n| units::bytes(n, units);
        let mut lines = Vec::new();
        if let Ok(heap) = &self.heap {
            let sum = heap.total();
            let at_least = if heap.is_partial { "at least " } else { "" };
            let of = self
                .memory
                .map_or_else(|_| String::new(), |memory| format!(" of its {}", bytes(memory.total())));
            let kept = bytes(sum.kept());
            let used = sum.in_use.saturating_add(heap.mapped.map_or(0, |mapped| mapped.bytes));
            // Blocks that were never touched, or were allocated since the memory was read, are not in it.
            let in_use = match self.memory {
                Ok(memory) if used > memory.total() => format!(
                    "{} are in use inside glibc, at most {} of that in RAM or swap",
                    bytes(used),
                    bytes(memory.total())
                ),
                _ => format!("{}{of} are in use inside glibc", bytes(used)),
            };
            if self.is_hoard() {
                lines.push(format!(
                    "{at_least}{kept}{of} are free inside glibc: {}.",
                    heap.remedy(units)
                ));
                if heap.arenas.len() > 2 && sum.kept().saturating_sub(heap.arenas[0].kept()) >= sum.kept() / 2 {
                    let count = heap.arenas.len();
                    lines.push(format!(
                        "Most of it is in the {} arenas of threads: MALLOC_ARENA_MAX=2 limits their number.",
                        count - 1
                    ));
                }
            } else if heap.is_partial {
                lines.push(format!("at most {in_use}, and at least {kept} are free."));
            } else if self.memory.is_ok_and(|memory| used < memory.total() / 2) {
                lines.push(format!(
                    "{in_use} and {kept} are free: most of its memory is elsewhere."
                ));
            } else {
                let free = match sum.free() {
                    free if free > sum.kept() => {
                        format!("and of {} free, only {kept} are in RAM or swap.", bytes(free))
                    }
                    _ => format!("and only {kept} are free."),
                };
                lines.push(format!("{in_use}, {free}"));
            }
            if heap.is_partial {
                lines.push(
                    "It has more free chunks than can be followed in time, so its free memory is a minimum.".into(),
                );
            }
        }
        if let Some(change) = self.change {
            let delta = |n| units::delta(n, units);
            let time = units::span(change.time);
            lines.push(format!(
                "In {time}: {} in use, {} free.",
                delta(change.in_use),
                delta(change.free)
            ));
        }
        let is_read = |kind: &&Kind| self.runtimes.iter().any(|runtime| runtime.kind == **kind);
        for kind in self.others.iter().filter(|kind| !is_read(kind)) {
            lines.push(format!(
                "The memory of {} was not read: {}.",
                kind.label(),
                kind.shown_by()
            ));
        }
        for line in &mut lines {
            if let Some(first) = line.get(..1) {
                let first = first.to_uppercase();
                line.replace_range(..1, &first);
            }
        }
        lines
    }
}

/// Maximum number of arenas that are listed individually.
const LISTED: usize = 64;

impl State {
    /// Returns the figures as lines of a label and a text, the verdict first.
    pub fn lines(&self, units: Units) -> Vec<(String, String)> {
        let mut lines: Vec<_> = self
            .verdict(units)
            .into_iter()
            .map(|line| (String::new(), line))
            .collect();
        let heap = match &self.heap {
            Ok(heap) => heap,
            Err(why) => {
                lines.extend(self.runtimes.iter().flat_map(|runtime| runtime.lines(units)));
                // Known figures come first.
                let at = if self.runtimes.is_empty() { 0 } else { lines.len() };
                lines.insert(at, ("glibc".into(), why.to_string()));
                return lines;
            }
        };
        lines.extend(self.runtimes.iter().flat_map(|runtime| runtime.lines(units)));
        let bytes = |n| units::bytes(n, units);
        let text = |arena: &Arena| {
            format!(
                "{} from the kernel: {} in use ({} of it in caches of threads), {} free ({} of it at the end); a trim would return {}",
                bytes(arena.system),
                bytes(arena.in_use),
                bytes(arena.cached.bytes),
                bytes(arena.free()),
                bytes(arena.top),
                bytes(arena.trim.total())
            )
        };
        lines.push(("all arenas".into(), text(&heap.total())));
        if let Some(mapped) = heap.mapped {
            let count = units::counted(mapped.count, "chunk");
            lines.push((
                "mapped".into(),
                format!("{count} with a mapping of their own: {} in use", bytes(mapped.bytes)),
            ));
        }
        let arenas = heap.arenas.iter().enumerate().take(LISTED);
        lines.extend(arenas.map(|(at, arena)| (format!("arena {}", at + 1), text(arena))));
        lines
    }
}

impl Heap {
    /// Returns the sum of its arenas.
    pub fn total(&self) -> Arena {
        let mut sum = Arena::default();
        self.arenas.iter().for_each(|arena| sum += *arena);
        sum
    }

    /// Returns the ways to return its free memory to the kernel.
    fn remedy(&self, units: Units) -> String {
        let bytes = |n| units::bytes(n, units);
        let sum = self.total();
        let (kept, trim) = (sum.kept(), sum.trim.total());
        if trim >= kept / 2 {
            return format!("malloc_trim(0) would return {}", bytes(trim));
        }
        let only = match trim {
            0 => "malloc_trim(0) would return nothing".to_owned(),
            _ => format!("malloc_trim(0) would return only {}", bytes(trim)),
        };
        if sum.top_kept.total() >= kept / 2 {
            let top = bytes(sum.top_kept.total());
            return format!(
                "{top} are at the ends of the arenas of threads, which malloc_trim does not return; {only}"
            );
        }
        format!("they lie in pieces between memory in use; {only}")
    }
}
