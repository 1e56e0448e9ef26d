//! The page faults of a process by `perf_event_open(2)`: where in its memory, and by which code.
//!
//! The kernel counts a minor fault after it has mapped the page, and can add to each sample the registers of the thread and a
//! copy of its stack, from which the callers are found. Stacks may hold secrets: nothing here keeps or writes them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;

use super::clock::monotonic;
use super::files;
use super::perf::{self, Attributes, Record, Ring};
use super::pid;
use crate::model::{Missing, Reading};

/// The bytes of each ring. 512 KiB are as many as a user without privileges may have per processor. A sample takes as much as
/// the copy of its stack.
const LARGEST_RING: usize = 16 << 20;
const SMALLEST_RING: usize = 512 << 10;
/// The largest share of the machine's memory that all rings may take, as a divisor: the kernel cannot reclaim them.
const LARGEST_SHARE: usize = 128;
/// The periods at which faults are sampled, the next one after another if too many arrive. Primes, because programs repeat
/// themselves in round numbers.
const PERIODS: [u64; 5] = [1, 7, 61, 509, 4093];
/// The part of [`Options::most`] below which the next shorter period is used. More than the ratio of two periods, lest the
/// period changes back and forth.
const FEWEST: u64 = 25;
/// Bytes of a buffer that are kept for the next records.
const MAX_BUFFER: usize = 4 << 20;
/// The most processes that are followed.
const MAX_PIDS: usize = 1024;
/// A record has at most 64 KiB, and its other parts need some of them.
pub const MAX_STACK: u32 = 60 << 10;

/// The mask of the registers to sample, and their places among the values: `PERF_REG_ARM64_X29`, `_LR`, `_SP` and `_PC`, or
/// `PERF_REG_X86_BP`, `_SP` and `_IP`.
const IS_ARM: bool = cfg!(target_arch = "aarch64");
const REGISTERS: u64 = if IS_ARM { 0b1111 << 29 } else { 0b111 << 6 };
const FP: usize = 0;
const LR: usize = 1;
const SP: usize = if IS_ARM { 2 } else { 1 };
const IP: usize = SP + 1;

/// The price of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of the stack to copy with each sample, a multiple of 8 up to [`MAX_STACK`].
    pub stack: u32,
    /// The bytes of all rings together, if the user may have as many.
    pub rings: usize,
    /// The most samples in [`Self::window`]: with more, the next longer period is used.
    pub most: u64,
    pub window: Duration,
}

impl Options {
    /// For a measurement that somebody waits for: up to 4,000 samples per second.
    pub const fn watched(stack: u32) -> Self {
        Self {
            stack,
            rings: 32 << 20,
            most: 1000,
            window: Duration::from_millis(250),
        }
    }

    /// Returns which of the periods follows `period` after so many samples in `elapsed`; `None` if that is too early to say.
    pub fn next_period(&self, period: usize, samples: u64, elapsed: Duration) -> Option<usize> {
        // On a busy machine the rings are read late: then more samples are no higher rate.
        let windows = elapsed.div_duration_f64(self.window).max(1.0);
        let most = (self.most as f64 * windows) as u64;
        match samples {
            samples if samples > most => Some((period + 1).min(PERIODS.len() - 1)),
            _ if elapsed < self.window => None,
            samples if samples < most / FEWEST => Some(period.saturating_sub(1)),
            _ => Some(period),
        }
    }

    /// For a measurement of hours: up to 100 samples per second.
    pub const fn armed(stack: u32) -> Self {
        Self {
            stack,
            rings: 2 << 20,
            most: 400,
            window: Duration::from_secs(4),
        }
    }
}

/// The registers that unwinding starts from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Registers {
    pub ip: u64,
    pub sp: u64,
    pub fp: u64,
    /// The link register, 0 on processors without one.
    pub lr: u64,
}

/// A sampled page fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault<'a> {
    pub pid: u32,
    pub address: u64,
    /// The size of the page; `None` before Linux 5.11.
    pub page_size: Option<u64>,
    /// The number of faults that this sample stands for. [`Format::parse`] leaves it at 1: no record contains it.
    pub period: u64,
    /// True for a fault in the kernel, such as by `read(2)` into a new buffer.
    pub in_kernel: bool,
    /// The addresses of the calling functions, innermost first, with marks of the mode: 8 bytes each.
    pub chain: &'a [u8],
    /// `None` for a 32-bit program, and a thread that is ending.
    pub registers: Option<Registers>,
    /// The stack from `registers.sp` on.
    pub stack: &'a [u8],
}

/// A new executable mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewMapping<'a> {
    pub pid: u32,
    pub start: u64,
    pub len: u64,
    pub offset: u64,
    pub path: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    Fault(Fault<'a>),
    Mapped(NewMapping<'a>),
    /// The process runs another program.
    Exec {
        pid: u32,
    },
    /// A process forked another; threads are left out.
    Forked {
        parent: u32,
        pid: u32,
    },
    /// The number of records that were lost because the kernel's buffer was full.
    Lost(u64),
}

/// The format of the samples that this kernel can deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub has_page_size: bool,
}

/// A cursor over the numbers of a record.
struct Numbers<'a>(&'a [u8]);

impl<'a> Numbers<'a> {
    fn u32(&mut self) -> Option<u32> {
        let (number, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*number))
    }

    fn u64(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk::<8>()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn bytes(&mut self, len: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(len).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }
}

impl Format {
    /// Parses a record; `None` for one of another kind, or one that is not as the kernel documents it. The second value is its
    /// time on the monotonic clock.
    pub fn parse(self, record: Record<'_>) -> Option<(Event<'_>, Duration)> {
        let mut numbers = Numbers(record.body);
        if record.kind == perf::RECORD_SAMPLE {
            return self.sample(numbers, record.misc);
        }
        // All other records end in the pid, the tid and the time.
        let time = u64::from_le_bytes(*record.body.last_chunk::<8>()?);
        let event = match record.kind {
            perf::RECORD_LOST => {
                numbers.u64()?;
                Event::Lost(numbers.u64()?)
            }
            perf::RECORD_COMM if record.misc & perf::MISC_COMM_EXEC != 0 => Event::Exec { pid: numbers.u32()? },
            perf::RECORD_FORK => {
                let (pid, parent) = (numbers.u32()?, numbers.u32()?);
                if pid == parent {
                    return None;
                }
                Event::Forked { parent, pid }
            }
            perf::RECORD_MMAP2 => {
                let pid = numbers.u32()?;
                numbers.u32()?;
                let (start, len, offset) = (numbers.u64()?, numbers.u64()?, numbers.u64()?);
                // Device, inode and its generation; protection and flags.
                numbers.bytes(24 + 8)?;
                let path = numbers.0.split(|byte| *byte == 0).next()?;
                Event::Mapped(NewMapping {
                    pid,
                    start,
                    len,
                    offset,
                    path,
                })
            }
            _ => return None,
        };
        Some((event, Duration::from_nanos(time)))
    }

    /// Appends a record to others; of a sample without the unused part of the copy of its stack, which may be most of it.
    pub fn append(record: Record<'_>, bytes: &mut Vec<u8>) {
        let without_unused = || {
            let mut numbers = Numbers((record.kind == perf::RECORD_SAMPLE).then_some(record.body)?);
            numbers.bytes(8 + 4 + 4 + 8 + 8)?;
            let chain = numbers.u64()?.checked_mul(8)?;
            numbers.bytes(chain)?;
            if numbers.u64()? != 0 {
                numbers.bytes(8 * u64::from(REGISTERS.count_ones()))?;
            }
            let before = &record.body[..record.body.len() - numbers.0.len()];
            let size = numbers.u64().filter(|size| *size > 0)?;
            let copied = numbers.bytes(size)?;
            let filled = numbers.u64()?;
            Some((before, copied.get(..usize::try_from(filled).ok()?)?, numbers.0))
        };
        match without_unused() {
            // Its size follows only a copy that is not empty.
            Some((before, [], after)) => record.append_with(&[before, &[0; 8], after], bytes),
            Some((before, stack, after)) => {
                let size = (stack.len() as u64).to_le_bytes();
                record.append_with(&[before, &size, stack, &size, after], bytes);
            }
            None => record.append_with(&[record.body], bytes),
        }
    }

    fn sample(self, mut numbers: Numbers<'_>, misc: u16) -> Option<(Event<'_>, Duration)> {
        numbers.u64()?;
        let pid = numbers.u32()?;
        numbers.u32()?;
        let time = numbers.u64()?;
        let address = numbers.u64()?;
        let chain = numbers.u64()?.checked_mul(8)?;
        let chain = numbers.bytes(chain)?;
        // PERF_SAMPLE_REGS_ABI_NONE, _32, _64: without the first, as many registers as were asked for follow.
        let abi = numbers.u64()?;
        let mut values = [0; REGISTERS.count_ones() as usize];
        if abi != 0 {
            for value in &mut values {
                *value = numbers.u64()?;
            }
        }
        let registers = (abi == 2).then(|| Registers {
            ip: values[IP],
            sp: values[SP],
            fp: values[FP],
            lr: if IS_ARM { values[LR] } else { 0 },
        });
        let size = numbers.u64()?;
        let copied = numbers.bytes(size)?;
        // The kernel reserves room for the whole copy; so many bytes of it are filled.
        let filled = if size == 0 { 0 } else { numbers.u64()? };
        let stack = copied.get(..usize::try_from(filled).ok()?)?;
        let page_size = if self.has_page_size { Some(numbers.u64()?) } else { None };
        let fault = Fault {
            pid,
            address,
            page_size: page_size.filter(|size| *size != 0),
            period: 1,
            in_kernel: misc & perf::MISC_MODE != perf::MISC_USER,
            chain,
            registers,
            stack,
        };
        Some((Event::Fault(fault), Duration::from_nanos(time)))
    }
}

/// The events of all threads of a process, and of the threads and processes that they create.
#[derive(Debug)]
pub struct FaultWatch {
    proc: PathBuf,
    options: Options,
    format: Format,
    attributes: Attributes,
    cpus: Vec<i32>,
    /// The processes, and those that they forked.
    pids: Vec<u32>,
    /// A ring per processor, and the events that write into it.
    rings: Vec<Ring>,
    events: Vec<perf::Event>,
    /// True if faults in the kernel are sampled, too.
    pub sees_kernel: bool,
    pub threads: usize,
    /// Threads that could not be followed.
    pub left_out: usize,
    /// Records that wait for older ones of other rings.
    pending: Vec<u8>,
    /// Empty, for the records of the next call: new memory for each call would cost a third of the time.
    buffer: Vec<u8>,
    /// The faults that events counted which are closed.
    closed: u64,
    /// An index into [`PERIODS`].
    period: usize,
    /// The period before the last change, and the time of that change.
    earlier: (u64, Duration),
    /// The beginning of the current window, and the samples in it.
    window: (Duration, u64),
}

impl FaultWatch {
    /// Follows the processes `pids`.
    ///
    /// # Errors
    /// `Denied` without the right, `Gone` if they have ended, `Unsupported` if the kernel has no such events.
    pub fn open(proc: &Path, pids: &[u32], mut options: Options) -> Reading<Self> {
        options.rings = options.rings.min(memory(proc) / LARGEST_SHARE);
        let mut watch = Self {
            proc: proc.to_owned(),
            options,
            format: Format { has_page_size: true },
            attributes: attributes(options.stack),
            cpus: online(proc),
            pids: pids.iter().copied().take(MAX_PIDS).collect(),
            rings: Vec::new(),
            events: Vec::new(),
            sees_kernel: true,
            threads: 0,
            left_out: 0,
            pending: Vec::new(),
            buffer: Vec::new(),
            closed: 0,
            period: 0,
            earlier: (1, Duration::ZERO),
            window: (Duration::ZERO, 0),
        };
        watch.open_all()?;
        Ok(watch)
    }

    /// Opens the events of all threads of the followed processes, in place of those that are open.
    fn open_all(&mut self) -> Reading<()> {
        self.attributes.sample_period = PERIODS[self.period];
        let is_first = self.rings.is_empty();
        let before = self.minor_faults();
        self.closed = self.count();
        self.events.clear();
        for ring in self.rings.drain(..) {
            ring.drain(|record| Format::append(record, &mut self.pending));
        }
        (self.threads, self.left_out) = (0, 0);
        let mut seen = HashSet::new();
        let mut first = Ok(());
        for pid in self.pids.clone() {
            // A thread that another creates meanwhile is followed as its child, or is in the next list.
            loop {
                let mut new = Vec::new();
                let tasks = self.proc.join(pid.to_string()).join("task");
                let listed = files::open_dir(tasks.as_os_str().as_encoded_bytes())
                    .and_then(|dir| files::numbers(dir, b".", 16 << 10, |tid| new.push(tid)));
                new.retain(|tid| seen.insert(*tid));
                if listed.is_err() || new.is_empty() {
                    break;
                }
                for tid in new {
                    match self.add(tid) {
                        Ok(()) => self.threads += 1,
                        Err(Errno::SRCH) => {}
                        Err(errno) => {
                            first = first.and(Err(unavailable(errno)));
                            self.left_out += 1;
                        }
                    }
                }
            }
        }
        // Nothing counts between two events. On a busy machine, that may be a while.
        if self.sees_kernel && !is_first {
            let faults = self.minor_faults().saturating_sub(before);
            self.closed += faults.saturating_sub(self.count() - self.closed);
        }
        if self.threads > 0 {
            Ok(())
        } else {
            first.and(Err(Missing::Gone))
        }
    }

    /// Returns the minor faults of the processes so far, by the kernel's own count.
    fn minor_faults(&self) -> u64 {
        let of = |pid: &u32| {
            let stat = std::fs::read(self.proc.join(pid.to_string()).join("stat")).ok()?;
            Some(pid::stat(&stat, 4096).ok()?.stat.minflt)
        };
        self.pids.iter().filter_map(of).sum()
    }

    /// Opens the events of a thread. What the kernel or the rights do not allow is left out for good.
    fn add(&mut self, tid: u32) -> Result<(), Errno> {
        for (at, cpu) in self.cpus.iter().enumerate() {
            let event = loop {
                match perf::open(&self.attributes, tid, *cpu) {
                    Err(Errno::INVAL) if self.format.has_page_size => {
                        self.format.has_page_size = false;
                        self.attributes.sample_type &= !perf::SAMPLE_DATA_PAGE_SIZE;
                    }
                    Err(Errno::ACCESS | Errno::PERM) if self.sees_kernel => {
                        self.sees_kernel = false;
                        self.attributes.flags |= perf::EXCLUDE_KERNEL;
                    }
                    other => break other?,
                }
            };
            // Without a ring, faults would be counted and not sampled, and the samples of other call paths would stand for them.
            if self.rings.len() <= at {
                let ring = map_ring(event, self.options.rings / self.cpus.len())?;
                perf::enable(ring.event())?;
                self.rings.push(ring);
            } else {
                self.rings[at].add(&event)?;
                perf::enable(&event)?;
                self.events.push(event);
            }
        }
        Ok(())
    }

    /// Returns true if samples have the size of their page.
    pub const fn has_page_size(&self) -> bool {
        self.format.has_page_size
    }

    /// Returns the number of faults, sampled, lost or neither.
    pub fn count(&self) -> u64 {
        let events = self.events.iter().chain(self.rings.iter().map(Ring::event));
        self.closed + events.filter_map(|event| perf::count(event).ok()).sum::<u64>()
    }

    /// Calls `each` with the events since the last call, in their order, up to `now` on the monotonic clock. Later events wait
    /// for the next call, because older ones of another processor may follow. Returns the share of the fullest ring that was
    /// in use.
    pub fn drain(&mut self, now: Duration, mut each: impl FnMut(Event<'_>)) -> f64 {
        let (mut samples, mut fullest) = (0, 0.0_f64);
        let mut bytes = std::mem::take(&mut self.buffer);
        bytes.append(&mut self.pending);
        for ring in &mut self.rings {
            let used = ring.drain(|record| Format::append(record, &mut bytes));
            fullest = fullest.max(used as f64 / ring.size() as f64);
        }
        let mut events: Vec<_> = perf::records(&bytes)
            .filter_map(|record| Some((record, self.format.parse(record)?)))
            .collect();
        crate::order::sort_by_key(&mut events, |(_, (_, time))| *time);
        for (record, (mut event, time)) in events {
            if time <= now {
                match &mut event {
                    Event::Fault(fault) => {
                        samples += 1;
                        // The kernel says the period in a record only if it samples each event.
                        let (earlier, until) = self.earlier;
                        fault.period = if time < until { earlier } else { PERIODS[self.period] };
                    }
                    Event::Lost(lost) => samples += *lost,
                    Event::Forked { parent, pid } if self.pids.contains(parent) && self.pids.len() < MAX_PIDS => {
                        self.pids.push(*pid);
                    }
                    _ => {}
                }
                each(event);
            } else {
                record.append_with(&[record.body], &mut self.pending);
            }
        }
        bytes.clear();
        // The rings of a busy moment need not be kept.
        bytes.shrink_to(MAX_BUFFER);
        self.buffer = bytes;
        self.adapt(now, samples);
        fullest
    }

    /// Chooses the period by the rate of samples.
    fn adapt(&mut self, now: Duration, samples: u64) {
        self.window.1 += samples;
        let elapsed = now.saturating_sub(self.window.0);
        let Some(period) = self.options.next_period(self.period, self.window.1, elapsed) else {
            return;
        };
        self.window = (now, 0);
        if period != self.period {
            self.earlier = (PERIODS[self.period], monotonic());
            self.period = period;
            // The processes may have ended: then nothing is left to sample.
            let _ = self.open_all();
        }
    }
}

/// Maps the largest ring that the user may have.
fn map_ring(mut event: perf::Event, bytes: usize) -> Result<Ring, Errno> {
    let mut bytes = bytes.clamp(SMALLEST_RING, LARGEST_RING);
    let page = rustix::param::page_size();
    loop {
        let pages = (bytes / page).max(1);
        // A power of two.
        match Ring::map(event, 1 << pages.ilog2()) {
            Err((Errno::PERM | Errno::NOMEM, back)) if bytes > SMALLEST_RING => (event, bytes) = (back, bytes / 2),
            other => break other.map_err(|(errno, _)| errno),
        }
    }
}

fn attributes(stack: u32) -> Attributes {
    Attributes {
        kind: perf::PERF_TYPE_SOFTWARE,
        config: perf::MINOR_FAULTS,
        sample_type: perf::SAMPLE_IP
            | perf::SAMPLE_TID
            | perf::SAMPLE_TIME
            | perf::SAMPLE_ADDR
            | perf::SAMPLE_CALLCHAIN
            | perf::SAMPLE_REGS_USER
            | perf::SAMPLE_STACK_USER
            | perf::SAMPLE_DATA_PAGE_SIZE,
        flags: perf::DISABLED
            | perf::INHERIT
            | perf::EXCLUDE_HYPERVISOR
            | perf::MMAP
            | perf::MMAP2
            | perf::COMM
            | perf::COMM_EXEC
            | perf::TASK
            | perf::SAMPLE_ID_ALL
            | perf::WATERMARK
            | perf::USE_CLOCK,
        wakeup_watermark: u32::MAX >> 1,
        clock: libc::CLOCK_MONOTONIC,
        sample_regs_user: REGISTERS,
        sample_stack_user: stack.min(MAX_STACK) & !7,
        ..Attributes::default()
    }
}

fn unavailable(errno: Errno) -> Missing {
    match errno {
        Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOENT | Errno::NODEV => Missing::Unsupported,
        other => files::reason(other),
    }
}

/// Returns the memory of the machine, by `MemTotal` of `/proc/meminfo`; 0 if that is unknown.
fn memory(proc: &Path) -> usize {
    let meminfo = std::fs::read_to_string(proc.join("meminfo")).unwrap_or_default();
    let total = meminfo
        .strip_prefix("MemTotal:")
        .and_then(|rest| rest.split_whitespace().next());
    total
        .and_then(|kib| kib.parse::<usize>().ok())
        .map_or(0, |kib| kib << 10)
}

/// Returns the numbers of the processors that are online, by the lines `cpuN` of `/proc/stat`.
fn online(proc: &Path) -> Vec<i32> {
    let stat = std::fs::read_to_string(proc.join("stat")).unwrap_or_default();
    let numbers = stat.lines().filter_map(|line| {
        let (number, _) = line.strip_prefix("cpu")?.split_once(' ')?;
        number.parse().ok()
    });
    let found: Vec<_> = numbers.collect();
    if found.is_empty() { vec![0] } else { found }
}
