//! The heaps of the processes of this machine, read from outside.
//!
//! Reads `/proc/PID/mem`, `maps`, `pagemap` and `mountinfo`. Stops nothing and writes nothing. Pages in swap that hold the header of a free
//! chunk come back into RAM. All files are opened at the start, so they belong to the program that ran then; the reads by pid count only if
//! that program still runs at the end. A read may block, so it needs a process or thread of its own.

pub mod apart;
pub mod dotnet;
#[cfg(feature = "code")]
mod go;
pub mod java;
#[cfg(feature = "network")]
pub mod node;
#[cfg(feature = "code")]
mod python;
pub mod runtimes;
pub mod socket;

use std::fs::File;
use std::io::{ErrorKind, Read, Seek};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::heap::kinds::{self, Kind};
use crate::heap::{self, Memory, Placed, Region, RegionKind, Regions, State, Unknown, glibc, mallocng};
use crate::model::taker::HeapUse;
use crate::model::{Identity, Missing, Reading};
use crate::proc::maps::Area;
use crate::proc::namespace::{Mounts, Namespace};
use crate::proc::no_fault::NoFault;
use crate::proc::parse::{self, LineBuffer};
use crate::proc::{clock, files, memory, pid as pid_files};
use crate::units::Units;

/// Minimum anonymous memory of a process whose heap is read without a request for it, in bytes.
pub const MIN_ANON: u64 = 64 << 20;
/// The inverse of the largest share of the memory of a process that may be in swap for its heap to be read without a request.
const MAX_SWAP_SHARE: u64 = 64;
/// Maximum length of a line of `maps` whose name is stored whole.
const MAX_LINE: usize = 4096 + 128;
/// The time that a read may take on a busy machine, as a multiple of its processor time.
const MAX_SLOWDOWN: u32 = 8;
/// Maximum number of regions of a process.
const MAX_REGIONS: usize = 128 << 10;
/// Maximum number of bytes of a program that are searched for text.
const MAX_PROGRAM: u64 = 256 << 20;
/// `ELFCLASS32` of `elf.h`, the fifth byte of a program.
const NARROW: u8 = 1;

/// The files of a process.
struct Files {
    memory: File,
    /// The pid, if many pieces of memory may be read in one call. That call takes a pid, not a file.
    pid: Option<u32>,
    /// A piece that was read by pid equalled the piece of the file.
    is_checked: bool,
    pagemap: File,
    maps: File,
    until: Instant,
    /// The processor time of the thread at which to stop, if it is limited.
    cpu_until: Option<Duration>,
    /// Filled when the mappings are read.
    others: Vec<Kind>,
    has_mappings: bool,
    /// Room for entries of `pagemap`.
    entries: Vec<u8>,
    folder: PathBuf,
    /// `None` until all mappings were read.
    no_fault: Option<NoFault>,
}

impl Files {
    fn open(dir: &Path, until: Instant) -> Reading<Self> {
        let open = |name: &str| {
            let path = dir.join(name);
            files::open(path.as_os_str().as_bytes())
                .map(File::from)
                .map_err(files::reason)
        };
        Ok(Self {
            memory: open("mem")?,
            pid: None,
            is_checked: false,
            pagemap: open("pagemap")?,
            maps: open("maps")?,
            until,
            cpu_until: None,
            others: Vec::new(),
            has_mappings: false,
            entries: Vec::new(),
            folder: dir.to_owned(),
            no_fault: None,
        })
    }

    /// Allows reads by pid, unless `/proc` describes another machine.
    fn allow_pid(&mut self, proc: &Path, pid: u32) {
        self.pid = (proc == Path::new("/proc")).then_some(pid);
    }

    /// Returns true if a read of the addresses must not cause a page fault, or if that is unknown.
    fn must_not_fault(&mut self, address: u64, len: u64) -> bool {
        if self.no_fault.is_none() {
            let _ = self.read_regions();
        }
        self.no_fault
            .as_ref()
            .is_none_or(|no_fault| no_fault.holds(address, len))
    }

    /// Returns true if a read may cause a page fault where it must not.
    fn may_fault(&mut self, address: u64, len: u64) -> bool {
        if !self.must_not_fault(address, len) {
            return false;
        }
        let size = self.page_size();
        let (first, last) = (address / size, address.saturating_add(len.max(1) - 1) / size);
        let mut pages = vec![0; (last - first + 1) as usize];
        !self.pages(first, &mut pages) || pages.iter().any(|page| page >> 63 == 0)
    }

    /// Adds an allocator or runtime.
    fn add(&mut self, kind: Option<Kind>) {
        if let Some(kind) = kind.filter(|kind| !self.others.contains(kind)) {
            self.others.push(kind);
        }
    }

    fn read_regions(&mut self) -> std::io::Result<Vec<Region>> {
        self.maps.rewind()?;
        let mut no_fault = self.no_fault.take().unwrap_or_default();
        no_fault.clear();
        let mut regions = Vec::new();
        let mut buffer = LineBuffer::<MAX_LINE>::default();
        let mut piece = vec![0; 32 << 10];
        loop {
            // A list of areas may have any length.
            if self.is_over() {
                return Err(ErrorKind::TimedOut.into());
            }
            let len = self.maps.read(&mut piece)?;
            self.has_mappings = len > 0 || !regions.is_empty() || self.has_mappings;
            if len == 0 {
                self.no_fault = Some(no_fault);
                return Ok(regions);
            }
            buffer.feed(&piece[..len], |line| {
                let Some(area) = Area::parse(line) else { return };
                no_fault.add(&area, || Mounts::read(&self.folder));
                if let Some(kind) = Kind::of_mapping(area.name).filter(|kind| !self.others.contains(kind)) {
                    self.others.push(kind);
                }
                if let Some(region) = region(&area).filter(|_| regions.len() < MAX_REGIONS) {
                    regions.push(region);
                }
            });
        }
    }
}

/// Returns a mapping as a region, if it may be read and written.
fn region(area: &Area<'_>) -> Option<Region> {
    let is_special = area.name.starts_with(b"[v") || area.name.starts_with(b"/dev/");
    let kind = match area.name {
        _ if !area.permissions.starts_with(b"rw") || is_special => return None,
        b"[heap]" => RegionKind::Heap,
        name if name.is_empty() || name.starts_with(b"[anon:") || name.starts_with(b"[stack") => RegionKind::Anonymous,
        name if kinds::is_c_library(name) => RegionKind::Libc,
        _ => RegionKind::File,
    };
    let (start, end) = area.range;
    Some(Region { start, end, kind })
}

impl Memory for Files {
    /// Does not read a page that the process has not got in RAM, if a fault may last for ever or allocate memory.
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        !self.may_fault(address, into.len() as u64) && self.memory.read_exact_at(into, address).is_ok()
    }

    fn read_each(&mut self, addresses: &[u64], into: &mut [[u64; 4]]) -> usize {
        let may_fault = addresses.iter().any(|address| self.must_not_fault(*address, 32));
        let pid = self.pid.filter(|_| !may_fault);
        let count = pid.and_then(|pid| memory::read_each(pid, addresses, into).ok());
        let first = addresses.first().filter(|_| count.is_some() && !self.is_checked);
        if let Some(first) = first {
            // If `/proc` belongs to another pid namespace, the pid names another process.
            let mut same = [[0; 4]];
            self.is_checked = heap::read_alone(self, &[*first], &mut same) == 1 && same[0] == into[0];
        }
        let count = count.filter(|_| self.is_checked).unwrap_or(0);
        if count == 0 && !addresses.is_empty() && !may_fault {
            self.pid = None;
        }
        count + heap::read_alone(self, &addresses[count..], &mut into[count..])
    }

    fn pages(&mut self, page: u64, into: &mut [u64]) -> bool {
        self.entries.resize(into.len() * 8, 0);
        let Some(offset) = page.checked_mul(8) else {
            return false;
        };
        if self.pagemap.read_exact_at(&mut self.entries, offset).is_err() {
            return false;
        }
        let (words, _) = self.entries.as_chunks::<8>();
        let entries = words.iter().map(|word| u64::from_le_bytes(*word));
        into.iter_mut().zip(entries).for_each(|(entry, value)| *entry = value);
        true
    }

    fn page_size(&self) -> u64 {
        rustix::param::page_size() as u64
    }

    fn regions(&mut self) -> Option<Regions> {
        self.read_regions().ok().map(Regions::new)
    }

    fn is_over(&mut self) -> bool {
        Instant::now() >= self.until || self.cpu_until.is_some_and(|until| clock::thread_time() >= until)
    }
}

/// The program that a process runs: its memory.
pub struct Program(File);

impl Program {
    /// Finds the program that a process runs now.
    ///
    /// # Errors
    /// The reason why its memory cannot be read.
    pub fn of(proc: &Path, pid: u32) -> Reading<Self> {
        let path = files::living(proc, pid).join("pagemap");
        let pagemap = files::open(path.as_os_str().as_bytes()).map_err(files::reason)?;
        Ok(Self(pagemap.into()))
    }

    /// Returns true until the process ends or executes a program, even if that is the same.
    pub fn is_running(&self) -> bool {
        // The file of memory that is gone is empty.
        self.0.read_at(&mut [0; 8], 0).is_ok_and(|len| len > 0)
    }
}

/// Returns true if so much of the memory of a process is in swap that its heap is not read without a request: a free chunk in swap
/// would come back into RAM to be read.
pub const fn is_swapped(memory: u64, swap: u64) -> bool {
    swap > memory / MAX_SWAP_SHARE
}

/// Reads the heap of a process and of its runtimes that need not be asked, in at most about `limit`, as lines of a label and a text.
///
/// # Errors
/// The reason why its memory cannot be read.
pub fn lines(proc: &Path, pid: u32, limit: Duration) -> Reading<Vec<(String, String)>> {
    let read = || {
        let mut state = look(proc, pid, limit)?;
        let doors = runtimes::open(proc, &state);
        let free = doors.iter().filter(|door| door.is_free());
        state.runtimes = free.map(|door| door.look(runtimes::Accepted::NOTHING)).collect();
        Ok(state.lines(Units::Auto))
    };
    apart::run(&proc.join(pid.to_string()), limit * MAX_SLOWDOWN, read).1
}

/// Reads the heap of a process in at most about `limit`.
///
/// # Errors
/// The reason why its memory cannot be read.
pub fn look(proc: &Path, pid: u32, limit: Duration) -> Reading<State> {
    let dir = files::living(proc, pid);
    let until = Instant::now() + limit;
    let mut files = Files::open(&dir, until).map_err(|why| match why {
        // Newer kernels do not open the files of a process without memory.
        Missing::Gone => without_memory(&dir),
        other => other,
    })?;
    files.allow_pid(proc, pid);
    let comm = std::fs::read(dir.join("comm")).map(|comm| comm.trim_ascii_end().into());
    let program = std::fs::read_link(dir.join("exe"));
    // Neither has memory: a zombie has a name but no program, like a kernel thread.
    match files.read_regions() {
        Ok(_) if !files.has_mappings => return Err(without_memory(&dir)),
        Err(error) if error.kind() == ErrorKind::TimedOut => return Err(Missing::TimedOut),
        _ => {}
    }
    let mut memory = memory(&dir);
    let exe = Namespace::new(&dir).link("exe").ok();
    let heap = if exe.as_ref().is_some_and(is_narrow) {
        Err(Unknown::Narrow)
    } else {
        glibc::read(&mut files)
    };
    if let Ok(program) = &program {
        let file = program.file_name().unwrap_or_default().as_bytes();
        files.add(Kind::of_program(file.strip_suffix(b" (deleted)").unwrap_or(file)));
    }
    // An allocator in the program's own file.
    let held = heap.as_ref().map_or(0, |heap| {
        heap.total()
            .system
            .saturating_add(heap.mapped.map_or(0, |mapped| mapped.bytes))
    });
    if files.others.is_empty() && memory.is_ok_and(|memory| held < memory.total() / 2) {
        files.add(exe.as_ref().and_then(of_program));
    }
    // A statically linked musl leaves no text.
    if files.others.is_empty() && heap == Err(Unknown::NotFound) && mallocng::read(&mut files).is_ok() {
        files.add(Some(Kind::Musl));
    }
    let heap = heap.map_err(|why| {
        files.has_mappings = false;
        let _ = files.read_regions();
        if files.has_mappings { why } else { Unknown::Gone }
    });
    if heap == Err(Unknown::Gone) {
        memory = Err(Missing::Gone);
    }
    Ok(State {
        pid,
        comm: comm.unwrap_or_default(),
        memory,
        others: files.others,
        runtimes: Vec::new(),
        change: None,
        heap,
    })
}

/// Returns the free bytes in the heap of a process, of glibc, jemalloc, mimalloc, tcmalloc or musl, and the part of these in RAM or in swap. Stops after about `limit` of
/// processor time, so a busy machine does not cause it to fail. Also returns the processor time that it took.
///
/// # Errors
/// [`Missing::Unsupported`] if it has no heap that is understood, [`Missing::Pending`] if the heap changed too often,
/// [`Missing::TimedOut`] if `limit` was too short; else the reason why its memory cannot be read.
pub fn free(proc: &Path, pid: u32, limit: Duration) -> (Duration, Reading<[u64; 2]>) {
    apart::run(&proc.join(pid.to_string()), limit * MAX_SLOWDOWN, || {
        let used = read_in_time(proc, pid, limit)?;
        Ok([used.free, used.kept])
    })
}

/// Returns the memory of a process in RAM and in swap, and the use of its heap, as [`free`] does. Reads no heap that is partly
/// in swap: its headers would come back into RAM.
pub fn taken(proc: &Path, id: Identity, limit: Duration) -> (Reading<u64>, Reading<HeapUse>) {
    let dir = proc.join(id.pid.to_string());
    let memory = memory(&dir);
    let is_same = || {
        let mut buf = [0; 1024];
        let path = dir.join("stat");
        let bytes = files::slurp(path.as_os_str().as_bytes(), &mut buf).map_err(files::reason)?;
        let starttime = pid_files::stat(bytes, 1)?.starttime;
        (starttime == id.starttime).then_some(()).ok_or(Missing::Gone)
    };
    let heap = memory.and_then(|memory| {
        if is_swapped(memory.total(), memory.swapped) {
            return Err(Missing::NotAsked);
        }
        apart::run(&dir, limit * MAX_SLOWDOWN, || read_in_time(proc, id.pid, limit)).1
    });
    match is_same() {
        Ok(()) => (memory.map(Placed::total), heap),
        Err(why) => (Err(why), Err(why)),
    }
}

fn read_in_time(proc: &Path, pid: u32, limit: Duration) -> Reading<HeapUse> {
    let until = Instant::now() + limit * MAX_SLOWDOWN;
    let dir = files::living(proc, pid);
    let mut files = Files::open(&dir, until)?;
    files.allow_pid(proc, pid);
    files.cpu_until = Some(clock::thread_time() + limit);
    let glibc = match glibc::read(&mut files) {
        Ok(heap) if !heap.is_partial => {
            let total = heap.total();
            Ok(HeapUse {
                in_use: total
                    .in_use
                    .saturating_add(heap.mapped.map_or(0, |mapped| mapped.bytes)),
                free: total.free(),
                kept: total.kept(),
            })
        }
        Ok(_) | Err(Unknown::Moving) => Err(Missing::Pending),
        Err(Unknown::Gone) => return Err(Missing::Gone),
        Err(Unknown::TooLarge) => Err(Missing::TimedOut),
        Err(_) => Err(Missing::Unsupported),
    };
    let held = glibc.map_or(0, |used| used.in_use.saturating_add(used.kept));
    if glibc == Err(Missing::Pending) || memory(&dir).is_ok_and(|memory| held >= memory.total() / 2) {
        return glibc;
    }
    // The memory is elsewhere: perhaps the program has another allocator.
    // Those whose library is mapped come first, because each searches the data of the program.
    let mut kinds = [Kind::Jemalloc, Kind::Mimalloc, Kind::Tcmalloc, Kind::Musl];
    kinds.sort_by_key(|kind| !files.others.contains(kind));
    let mut found = Err(Unknown::NotFound);
    for kind in kinds {
        found = heap::allocator(kind, &mut files).map(|heap| (heap.in_use, heap.kept));
        if found != Err(Unknown::NotFound) {
            break;
        }
    }
    match found {
        // More than the process has is a false heap.
        Ok((_, kept)) if memory(&dir).is_ok_and(|memory| kept > memory.total()) => Err(Missing::Unsupported),
        Ok((in_use, kept)) => {
            let before = glibc.unwrap_or_default();
            Ok(HeapUse {
                in_use: before.in_use.saturating_add(in_use),
                free: before.free.saturating_add(kept),
                kept: before.kept.saturating_add(kept),
            })
        }
        Err(Unknown::Moving) => Err(Missing::Pending),
        Err(_) => glibc,
    }
}

fn without_memory(dir: &Path) -> Missing {
    let mut buf = [0; 1024];
    let path = dir.join("stat");
    let bytes = files::slurp(path.as_os_str().as_bytes(), &mut buf).map_err(files::reason);
    match bytes.and_then(|bytes| pid_files::stat(bytes, 1)) {
        Err(why) => why,
        Ok(glance) if matches!(glance.stat.state, b'Z' | b'X') => Missing::Zombie,
        Ok(_) => Missing::KernelThread,
    }
}

/// Returns the resident and the swapped-out memory of a process, from two lines of `status`, which is cheaper than a walk.
fn memory(dir: &Path) -> Reading<Placed> {
    let path = dir.join("status");
    let mut buf = [0; 4096];
    let bytes = files::slurp(path.as_os_str().as_bytes(), &mut buf).map_err(files::reason)?;
    let line = |name: &[u8]| {
        let mut words = parse::words_after(bytes, name)?;
        words.next().and_then(parse::number)?.checked_mul(1024)
    };
    Ok(Placed {
        resident: line(b"VmRSS:").ok_or(Missing::Malformed)?,
        swapped: line(b"VmSwap:").unwrap_or(0),
    })
}

fn is_narrow(exe: &File) -> bool {
    let mut head = [0; 5];
    exe.read_exact_at(&mut head, 0).is_ok() && head[4] == NARROW && head.starts_with(b"\x7fELF")
}

/// Searches a program for text that an allocator or a runtime leaves there.
fn of_program(exe: &File) -> Option<Kind> {
    let texts: Vec<String> = kinds::texts().map(regex::escape).collect();
    let longest = kinds::texts().map(str::len).max()?;
    let pattern = regex::bytes::Regex::new(&texts.join("|")).ok()?;
    let mut piece = vec![0; 256 << 10];
    let mut offset = 0;
    while offset < MAX_PROGRAM {
        let len = exe.read_at(&mut piece, offset).ok()?;
        if let Some(found) = pattern.find(&piece[..len]) {
            return Kind::of_text(found.as_bytes());
        }
        if len <= longest {
            return None;
        }
        offset += (len - longest) as u64;
    }
    None
}
