//! The code that allocates the memory of a process: samples of its page faults, unwound to call paths at once, and whether the
//! sampled pages are kept.
//!
//! Every page that a process keeps was touched for the first time once, by a fault. Memory that an allocator recycles causes no
//! fault. The stacks may hold secrets: each copy is unwound when it arrives, and dropped.
//!
//! The code of a process is its own choice, so that its files may be hostile: this runs in a process that does nothing else.

mod budget;
mod modules;
pub mod ranges;
mod sections;
mod symbols;
pub mod unwind_info;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use modules::{CodeArea, Files, Place, Space};
use symbols::{GeneratedCode, Names};

use crate::call_tree::{Counts, Frame, Stack, Stacks, Weight};
use crate::model::Reading;
use crate::proc::clock::monotonic;
use crate::proc::files;
use crate::proc::maps::Area;
use crate::proc::page_faults::{Event, Fault, FaultWatch, Options, Registers};
use crate::proc::pid;
use crate::proc::smaps::Areas;

/// The most sampled pages that are remembered, of 40 bytes each. With more, every second one is forgotten, and the rest count
/// twice.
const MAX_PAGES: usize = 1 << 17;
/// The most distinct call paths, the instructions of all paths together, and the most distinct instructions. A program can forge its stack.
/// A large one has 20,000 distinct instructions.
const MAX_PATHS: usize = 1 << 16;
const MAX_FRAMES_OF_ALL: usize = 4 << 20;
const MAX_PLACES: usize = 150_000;
/// The number of processes from which on those that ended are forgotten.
const MIN_SPACES: usize = 64;
/// The largest `maps` that is read.
const MAX_MAPS: usize = 64 << 20;
const MAX_SMAPS: usize = 256 << 20;
/// `PERF_CONTEXT_MAX` of `include/uapi/linux/perf_event.h`: what is above are marks of the mode in a chain.
const CONTEXT_MARKS: u64 = -4095_i64 as u64;
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;

/// The bits of `/proc/PID/pagemap`.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const OF_FILE: u64 = 1 << 61;
/// Maximum number of sampled pages per read, and of other pages between two of them whose entries are read along. An entry takes
/// less than a hundredth of the time of a system call.
const MAX_RUN: usize = 128;
const MAX_APART: u64 = 32;

/// A sampled page.
#[derive(Clone, Copy, Debug)]
struct Page {
    path: u32,
    /// The bytes that it represents.
    weight: u64,
    state: State,
}

/// The state of a page at the last check after its sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unchecked,
    Kept,
    /// It was freed. What may be at its address later is another page.
    Freed,
}

/// A measurement under way.
pub struct Measurement {
    watch: FaultWatch,
    samples: Samples,
}

/// The samples so far.
struct Samples {
    proc: PathBuf,
    /// The processes at the start. What they kept at their end stays; what those had that they forked is freed.
    named: HashSet<u32>,
    programs: HashSet<PathBuf>,
    page_size: u64,
    files: Files,
    names: Names,
    spaces: HashMap<u32, Space>,
    /// The number of them from which on those of ended processes are forgotten.
    spaces_before_check: usize,
    paths: HashMap<(Box<[Place]>, bool), u32>,
    /// The distinct instructions of the paths, and the number of all.
    places: HashSet<Place>,
    frames: usize,
    /// The weight of each path. Kept bytes are in `pages`.
    taken: Vec<Weight>,
    pages: HashMap<(u32, u64), Page>,
    /// The bytes that each process had in RAM and in swap at the last check.
    resident: HashMap<u32, u64>,
    /// The bytes of each path that were not touched since the referenced bits were cleared.
    cold: Option<HashMap<u32, u64>>,
    /// Of `1 << thinning` pages one is remembered.
    thinning: u32,
    /// New mappings of each process whose files could not be read.
    failed: HashMap<u32, u32>,
    pagemaps: HashMap<u32, Option<File>>,
    /// The pages sampled since the last balance, and all faults at it, counted and by the samples.
    recent: Vec<(u32, u64)>,
    balanced: (u64, u64),
    counts: Counts,
}

impl Measurement {
    /// Starts to sample processes.
    ///
    /// # Errors
    /// As [`FaultWatch::open`].
    pub fn start(proc: &Path, pids: &[u32], options: Options) -> Reading<Self> {
        let watch = FaultWatch::open(proc, pids, options)?;
        let programs = pids.iter().filter_map(|pid| {
            let program = std::fs::read_link(proc.join(pid.to_string()).join("exe")).ok()?;
            let alive = program.to_str().and_then(|path| path.strip_suffix(" (deleted)"));
            Some(alive.map(PathBuf::from).unwrap_or(program))
        });
        let counts = Counts {
            threads: watch.threads,
            threads_left_out: watch.left_out,
            sees_kernel: watch.sees_kernel,
            lacks_page_size: !watch.has_page_size(),
            ..Counts::default()
        };
        let mut samples = Samples {
            proc: proc.to_owned(),
            named: pids.iter().copied().collect(),
            programs: programs.collect(),
            page_size: rustix::param::page_size() as u64,
            files: Files::default(),
            names: Names::default(),
            spaces: HashMap::new(),
            spaces_before_check: MIN_SPACES,
            paths: HashMap::new(),
            places: HashSet::new(),
            frames: 0,
            taken: Vec::new(),
            pages: HashMap::new(),
            resident: HashMap::new(),
            cold: None,
            thinning: 0,
            failed: HashMap::new(),
            pagemaps: HashMap::new(),
            recent: Vec::new(),
            balanced: (0, 0),
            counts,
        };
        for pid in pids {
            samples.space(*pid);
        }
        Ok(Self { watch, samples })
    }

    /// Adds the samples since the last call. Returns the share of the kernel's buffers that they had filled: call it again soon
    /// enough, because the buffers are small.
    pub fn poll(&mut self) -> f64 {
        let now = monotonic();
        let samples = &mut self.samples;
        self.watch.drain(now, |event| samples.add(event))
    }

    /// Looks up which of the sampled pages are still there. Of a process that was named and has ended, the last state stays.
    pub fn check(&mut self) {
        let counted = self.watch.count();
        self.poll();
        self.samples.balance(counted);
        self.samples.check();
    }

    /// Finds the kept pages that were not touched since the referenced bits were cleared (`/proc/<pid>/clear_refs`), as of the last
    /// [`Self::check`]. The bits must have been cleared after all samples that matter, because a new page has been touched.
    pub fn find_cold(&mut self) {
        self.samples.find_cold();
    }

    pub const fn counts(&self) -> Counts {
        self.samples.counts
    }

    /// Returns the paths with their functions, as of the last [`Self::check`]. Those that are not named within `limit` stay
    /// addresses.
    pub fn stacks(&mut self, limit: Duration) -> Stacks {
        self.samples.stacks(limit)
    }

    /// Frees the symbols of the files, megabytes if they have debug information. They are read again for new functions.
    pub fn free_symbols(&mut self) {
        self.samples.names.free_files();
    }
}

/// Unwinds a stack by the code of one file, which is mapped at `start` as a whole, and names the functions. Files may be
/// hostile: this is how tests try them.
pub fn functions_by(file: &Path, start: u64, registers: Registers, stack: &[u8]) -> Vec<Frame> {
    let (mut files, mut names) = (Files::default(), Names::default());
    let mut space = Space::new(std::process::id());
    let len = std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    let proc = Path::new("/proc");
    // The first page that belongs to a segment with code says where the file is.
    let is_mapped = (0..len).step_by(4096).any(|offset| {
        let area = CodeArea {
            range: start.saturating_add(offset)..start.saturating_add(len),
            offset,
            inode: None,
            path: file.as_os_str().as_encoded_bytes(),
        };
        space.add(&mut files, proc, &area)
    });
    if !is_mapped {
        return Vec::new();
    }
    let mut places = Vec::new();
    space.unwind(&files, registers, stack, &[], &mut places);
    let deadline = Instant::now() + Duration::from_secs(60);
    names.resolve(&places, &files, &HashSet::new(), proc, deadline);
    places.iter().flat_map(|place| names.of(place).into_owned()).collect()
}

/// Returns the function at an address in a map of generated code, as runtimes write it for perf: lines of a start address, a size
/// and a name. Anyone may write such a map: this is how tests try them.
pub fn generated_code(map: &[u8], address: u64) -> Option<String> {
    GeneratedCode::parse(map).find(address).map(str::to_owned)
}

impl Samples {
    fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Fault(fault) => self.add_fault(&fault),
            Event::Mapped(new) => {
                let area = CodeArea {
                    range: new.start..new.start.saturating_add(new.len),
                    offset: new.offset,
                    inode: None,
                    path: new.path,
                };
                if !self.spaces.contains_key(&new.pid) {
                    self.space(new.pid);
                } else if let Some(space) = self.spaces.get_mut(&new.pid)
                    && !space.add(&mut self.files, &self.proc, &area)
                {
                    // The mapping may have been split since, and its file deleted. A program may map files that cannot be read as
                    // often as it likes.
                    let failed = self.failed.entry(new.pid).or_default();
                    *failed = failed.saturating_add(1);
                    if failed.is_power_of_two() {
                        self.read_space(new.pid);
                    }
                }
            }
            Event::Exec { pid } => {
                self.forget(|of| of == pid);
                self.spaces.insert(pid, Space::new(pid));
            }
            Event::Forked { pid, .. } => {
                // An earlier process had this pid.
                if self.spaces.contains_key(&pid) {
                    self.forget(|of| of == pid);
                }
                self.space(pid);
            }
            Event::Lost(count) => self.counts.lost += count,
        }
    }

    /// Returns the code of a process. Reads its mappings if it is new.
    fn space(&mut self, pid: u32) -> &mut Space {
        if !self.spaces.contains_key(&pid) {
            if self.spaces.len() >= self.spaces_before_check {
                self.forget_ended();
            }
            self.read_space(pid);
        }
        self.spaces.entry(pid).or_insert_with(|| Space::new(pid))
    }

    /// Forgets forked processes that have ended. The next check is due once there are twice as many as are left.
    fn forget_ended(&mut self) {
        let is_gone = |pid: &u32| !self.named.contains(pid) && !self.proc.join(pid.to_string()).exists();
        let ended: HashSet<u32> = self.spaces.keys().copied().filter(is_gone).collect();
        self.forget(|pid| ended.contains(&pid));
        let spaces = &self.spaces;
        self.files.forget(|pid| !spaces.contains_key(&pid));
        self.spaces_before_check = MIN_SPACES.max(2 * spaces.len());
    }

    /// Forgets the code and the memory of processes. What they took stays.
    fn forget(&mut self, is_it: impl Fn(u32) -> bool) {
        self.spaces.retain(|pid, _| !is_it(*pid));
        self.failed.retain(|pid, _| !is_it(*pid));
        self.pagemaps.retain(|pid, _| !is_it(*pid));
        self.resident.retain(|pid, _| !is_it(*pid));
        self.pages.retain(|(pid, _), _| !is_it(*pid));
    }

    /// Adds the mappings that a process has now.
    fn read_space(&mut self, pid: u32) {
        let space = self.spaces.entry(pid).or_insert_with(|| Space::new(pid));
        let Some(maps) = self.files.timed(pid, || read_maps(&self.proc, pid)) else {
            return;
        };
        let areas = maps.split(|byte| *byte == b'\n').filter_map(Area::parse);
        let code = || areas.filter_map(|area| CodeArea::of(&area)).collect::<Vec<_>>();
        for area in self.files.timed(pid, code).unwrap_or_default() {
            space.add(&mut self.files, &self.proc, &area);
        }
    }

    /// Returns the number of a path, which may be a new one; `None` if there are too many.
    fn number_of(&mut self, places: Box<[Place]>, is_cut: bool) -> Option<u32> {
        let path = (places, is_cut);
        if let Some(known) = self.paths.get(&path) {
            return Some(*known);
        }
        let next = self.paths.len();
        let frames = self.frames + path.0.len();
        let new: HashSet<&Place> = path.0.iter().filter(|place| !self.places.contains(place)).collect();
        if next >= MAX_PATHS || frames > MAX_FRAMES_OF_ALL || self.places.len() + new.len() > MAX_PLACES {
            return None;
        }
        self.places.extend(&path.0);
        self.frames = frames;
        self.paths.insert(path, next as u32);
        self.taken.push(Weight::default());
        Some(next as u32)
    }

    fn add_fault(&mut self, fault: &Fault<'_>) {
        self.counts.samples += 1;
        self.counts.faults += fault.period;
        let mut places = Vec::new();
        let (kernel, user) = split_chain(fault.chain);
        if fault.in_kernel {
            // The handler of the fault is the innermost part: its callers are of interest.
            places.extend(kernel.iter().map(|address| Place::Kernel(*address)));
        }
        let is_cut = if let Some(registers) = fault.registers {
            self.space(fault.pid);
            let Some(space) = self.spaces.get_mut(&fault.pid) else {
                return;
            };
            space.unwind(&self.files, registers, fault.stack, &user, &mut places)
        } else {
            self.counts.without_stack += 1;
            true
        };
        self.counts.cut += u64::from(is_cut);
        let Some(path) = self.number_of(places.into_boxed_slice(), is_cut) else {
            self.counts.forgotten += 1;
            return;
        };
        let size = fault.page_size.unwrap_or(self.page_size).max(self.page_size);
        let weight = size.saturating_mul(fault.period);
        self.taken[path as usize] += Weight {
            taken: weight,
            samples: 1,
            ..Weight::default()
        };
        let page = fault.address & !(size - 1);
        let key = (fault.pid, page);
        if !is_remembered(key, self.thinning) {
            return;
        }
        let state = State::Unchecked;
        self.pages.insert(key, Page { path, weight, state });
        self.recent.push(key);
        while self.pages.len() > MAX_PAGES {
            self.thinning += 1;
            let thinning = self.thinning;
            self.pages.retain(|key, _| is_remembered(*key, thinning));
            self.recent.retain(|key| is_remembered(*key, thinning));
        }
        self.counts.pages_of_each = 1 << self.thinning;
    }

    /// Lets the recent samples stand for the faults that were counted and not sampled: for which the kernel had no room, or by
    /// the chance of a long period.
    fn balance(&mut self, counted: u64) {
        let before = std::mem::replace(&mut self.balanced, (counted, self.counts.faults));
        let counted = counted.saturating_sub(before.0);
        let missing = counted.saturating_sub(self.counts.faults - before.1);
        let recent = std::mem::take(&mut self.recent);
        if missing * 50 <= counted || recent.is_empty() {
            return;
        }
        let recent_all = (recent.len() as u64) << self.thinning;
        let share = missing as f64 * self.page_size as f64 / recent_all as f64;
        for key in recent {
            if let Some(page) = self.pages.get_mut(&key) {
                page.weight += share as u64;
                self.taken[page.path as usize].taken += (share as u64) << self.thinning;
            }
        }
        self.counts.faults += missing;
        self.balanced.1 = self.counts.faults;
    }

    fn check(&mut self) {
        let mut files_of = FilesOf::new();
        let mut order: Vec<(u32, u64)> = self.pages.keys().copied().collect();
        order.sort_unstable();
        let size = self.page_size;
        let is_near = |a: &(u32, u64), b: &(u32, u64)| a.0 == b.0 && (b.1 - a.1) / size <= MAX_APART;
        let pids: HashSet<u32> = order.iter().map(|(pid, _)| *pid).collect();
        for pid in pids {
            let status = std::fs::read(self.proc.join(pid.to_string()).join("status")).unwrap_or_default();
            if let (Ok(resident), Ok(swapped)) = (pid::vm_rss(&status), pid::swap(&status)) {
                self.resident.insert(pid, resident.saturating_add(swapped));
            }
        }
        let mut bytes = Vec::new();
        let mut ended = HashSet::new();
        for run in order.chunk_by(is_near).flat_map(|run| run.chunks(MAX_RUN)) {
            let ((pid, first), (_, last)) = (run[0], run[run.len() - 1]);
            let pagemap = self.pagemaps.entry(pid).or_insert_with(|| {
                let path = files::living(&self.proc, pid).join("pagemap");
                files::open(path.as_os_str().as_encoded_bytes()).ok().map(File::from)
            });
            let Some(pagemap) = pagemap else { continue };
            bytes.resize(((last - first) / size + 1) as usize * 8, 0);
            if let Err(error) = pagemap.read_exact_at(&mut bytes, first / size * 8) {
                // The file of memory that is gone is empty.
                if error.kind() == ErrorKind::UnexpectedEof && !self.named.contains(&pid) {
                    ended.insert(pid);
                }
                continue;
            }
            let (entries, _) = bytes.as_chunks();
            for key in run {
                let entry = u64::from_le_bytes(entries[((key.1 - first) / size) as usize]);
                self.check_page(*key, entry, &mut files_of);
            }
        }
        if !ended.is_empty() {
            self.forget(|pid| ended.contains(&pid));
        }
    }

    /// Notes whether a page is still there, by its entry in `pagemap`.
    fn check_page(&mut self, key: (u32, u64), entry: u64, files_of: &mut FilesOf) {
        let (pid, address) = key;
        let mut of_file = || {
            let read = || file_ranges(&self.proc, pid);
            let ranges = files_of.entry(pid).or_insert_with(|| self.files.timed(pid, read));
            let ranges = ranges.as_ref()?;
            let after = ranges.partition_point(|(start, _)| *start <= address);
            Some(after.checked_sub(1).is_some_and(|at| address < ranges[at].1))
        };
        let is_of_file = if entry & OF_FILE != 0 && entry & PRESENT != 0 {
            of_file()
        } else {
            Some(false)
        };
        let Some(is_of_file) = is_of_file else {
            // Its mappings take too long to read.
            return;
        };
        if is_of_file {
            self.drop_page(key);
        } else if let Some(page) = self.pages.get_mut(&key).filter(|page| page.state != State::Freed) {
            let is_there = entry & (PRESENT | SWAPPED) != 0;
            page.state = if is_there { State::Kept } else { State::Freed };
        }
    }

    /// Removes a page of a file from the sums: it can be read again, and is not memory of the program.
    fn drop_page(&mut self, key: (u32, u64)) {
        if let Some(page) = self.pages.remove(&key) {
            let weight = &mut self.taken[page.path as usize];
            weight.taken = weight.taken.saturating_sub(page.weight << self.thinning);
            weight.samples = weight.samples.saturating_sub(1 << self.thinning);
            self.counts.of_files += 1 << self.thinning;
        }
    }

    /// Returns the pages that are kept, with the path and the bytes that each represents.
    fn kept(&self) -> Vec<((u32, u64), u32, u64)> {
        let kept = || self.pages.iter().filter(|(_, page)| page.state == State::Kept);
        let mut sums: HashMap<u32, u64> = HashMap::new();
        for ((pid, _), page) in kept() {
            *sums.entry(*pid).or_default() += page.weight << self.thinning;
        }
        // A page that was freed and touched again without a sample counts with the weight of its first sample, and its neighbours
        // with theirs. All together a process keeps no more than it has.
        let scale = |pid: &u32| match (self.resident.get(pid), sums.get(pid)) {
            (Some(resident), Some(sum)) if resident < sum => *resident as f64 / *sum as f64,
            _ => 1.0,
        };
        let scales: HashMap<u32, f64> = sums.keys().map(|pid| (*pid, scale(pid))).collect();
        let scaled = |(key, page): (&(u32, u64), &Page)| {
            let weight = (page.weight << self.thinning) as f64 * scales[&key.0];
            (*key, page.path, weight as u64)
        };
        kept().map(scaled).collect()
    }

    /// Finds the memory that was not touched since the referenced bits were cleared. The kernel counts the bytes touched in each
    /// area, not which: in the worst case, they are all of the same path.
    fn find_cold(&mut self) {
        let mut kept = self.kept();
        kept.sort_unstable();
        let mut cold: HashMap<u32, u64> = HashMap::new();
        for of_process in kept.chunk_by(|a, b| a.0.0 == b.0.0) {
            let mut areas = read_referenced(&self.proc, of_process[0].0.0).into_iter().peekable();
            let mut sums: HashMap<u32, u64> = HashMap::new();
            let mut add = |sums: &mut HashMap<u32, u64>, referenced: u64| {
                for (path, kept) in sums.drain() {
                    *cold.entry(path).or_default() += kept.saturating_sub(referenced);
                }
            };
            let mut touched = u64::MAX;
            for ((_, address), path, weight) in of_process {
                while let Some((_, referenced)) = areas.next_if(|(range, _)| range.start <= *address) {
                    add(&mut sums, touched);
                    touched = referenced;
                }
                *sums.entry(*path).or_default() += weight;
            }
            add(&mut sums, touched);
        }
        self.cold = Some(cold);
    }

    /// Returns the weight of each path.
    fn weights(&self) -> Vec<Weight> {
        let mut weights = self.taken.clone();
        for (_, path, weight) in self.kept() {
            weights[path as usize].kept += weight;
        }
        if let Some(cold) = &self.cold {
            for (path, weight) in (0..).zip(&mut weights) {
                weight.cold = Some(cold.get(&path).copied().unwrap_or(0).min(weight.kept));
            }
        }
        weights
    }

    fn stacks(&mut self, limit: Duration) -> Stacks {
        let weights = self.weights();
        let mut distinct: HashMap<Place, usize> = HashMap::new();
        let mut places = Vec::new();
        let counted = |path: &u32| weights[*path as usize].samples > 0;
        for (path, _) in self.paths.iter().filter(|(_, id)| counted(id)) {
            for place in &path.0 {
                distinct.entry(*place).or_insert_with(|| {
                    places.push(*place);
                    places.len() - 1
                });
            }
        }
        let until = Instant::now() + limit;
        self.names
            .resolve(&places, &self.files, &self.programs, &self.proc, until);
        self.counts.too_large = self.names.too_large();
        let kept = self.kept().into_iter();
        let of_forked = kept.filter(|((pid, _), ..)| !self.named.contains(pid));
        self.counts.kept_by_forked = of_forked.map(|(.., weight)| weight).sum();
        let mut frames: Vec<Frame> = Vec::new();
        let mut ids: HashMap<Frame, u32> = HashMap::new();
        let names: Vec<Vec<u32>> = places
            .iter()
            .map(|place| {
                let id = |frame: &Frame| {
                    *ids.entry(frame.clone()).or_insert_with(|| {
                        frames.push(frame.clone());
                        frames.len() as u32 - 1
                    })
                };
                self.names.of(place).iter().map(id).collect()
            })
            .collect();
        let mut stacks: Vec<Stack> = self
            .paths
            .iter()
            .filter(|(_, id)| counted(id))
            .map(|((path, is_cut), id)| Stack {
                frames: path
                    .iter()
                    .flat_map(|place| names[distinct[place]].iter().copied())
                    .collect(),
                weight: weights[*id as usize],
                is_cut: *is_cut,
            })
            .collect();
        crate::order::sort_by_key(&mut stacks, |stack| {
            (
                std::cmp::Reverse((stack.weight.kept, stack.weight.taken)),
                stack.frames.clone(),
            )
        });
        Stacks { frames, stacks }
    }
}

/// Returns true for one of `1 << thinning` pages, the same ones each time.
fn is_remembered((pid, address): (u32, u64), thinning: u32) -> bool {
    // The multiplier of Fibonacci hashing spreads neighbours over the upper bits.
    let mixed = ((address >> 12) ^ (u64::from(pid) << 40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    thinning == 0 || mixed >> (64 - thinning.min(63)) == 0
}

/// The ranges of mapped files of each process; `None` if they take too long to read.
type FilesOf = HashMap<u32, Option<Vec<(u64, u64)>>>;

fn read_maps(proc: &Path, pid: u32) -> Vec<u8> {
    let path = files::living(proc, pid).join("maps");
    files::slurp_grown(path.as_os_str().as_encoded_bytes(), 64 << 10, MAX_MAPS).unwrap_or_default()
}

/// Returns the areas of a process with the bytes of each that were touched, ascending. If that is unknown, all of them.
fn read_referenced(proc: &Path, pid: u32) -> Vec<(Range<u64>, u64)> {
    let path = proc.join(pid.to_string()).join("smaps");
    let smaps = files::slurp_grown(path.as_os_str().as_encoded_bytes(), 64 << 10, MAX_SMAPS).unwrap_or_default();
    let mut found = Vec::new();
    let mut areas = Areas::new(|area| {
        let referenced = area.extent.and_then(|extent| extent.referenced);
        found.push((area.start..area.end, referenced.unwrap_or(u64::MAX)));
    });
    areas.feed(&smaps);
    if areas.finish().is_err() {
        found.clear();
    }
    found
}

/// Returns the ranges of mapped files, ascending, without shared memory.
fn file_ranges(proc: &Path, pid: u32) -> Vec<(u64, u64)> {
    let maps = read_maps(proc, pid);
    let areas = maps.split(|byte| *byte == b'\n').filter_map(Area::parse);
    areas.filter(Area::is_of_file).map(|area| area.range).collect()
}

/// Splits a chain of the kernel into the addresses of its two modes, without the marks.
fn split_chain(chain: &[u8]) -> (Vec<u64>, Vec<u64>) {
    let (mut kernel, mut user) = (Vec::new(), Vec::new());
    let mut mode = CONTEXT_USER;
    let (words, _) = chain.as_chunks::<8>();
    for address in words.iter().map(|word| u64::from_le_bytes(*word)) {
        match address {
            CONTEXT_MARKS.. => mode = address,
            _ if mode == CONTEXT_KERNEL => kernel.push(address),
            _ if mode == CONTEXT_USER => user.push(address),
            _ => {}
        }
    }
    (kernel, user)
}
