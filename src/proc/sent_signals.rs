//! The signals that a thread sends to end processes: the tracepoint `signal:signal_generate`, by `perf_event_open(2)`.
//!
//! The kernel writes a record into a ring buffer for each signal that the thread sends. Nothing is written, and nothing is to
//! be read, while it sends none. All ends with the descriptor.

use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::files::{self, Roots};
use super::tracefs::{self, Field, Format, FormatError};
use crate::model::{Missing, Reading};

const FORMAT: &[u8] = b"events/signal/signal_generate/format";
const MAX_FORMAT: usize = 8 << 10;
/// `SI_KERNEL` of `include/uapi/asm-generic/siginfo.h`: the kernel sends the signal, as for an OOM kill, which it does
/// as any thread that needs memory.
const SI_KERNEL: i32 = 0x80;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentSignal {
    /// On the monotonic clock.
    pub at: Duration,
    /// The process, in the initial pid namespace, and its name, raw.
    pub pid: u32,
    pub comm: Box<[u8]>,
    /// SIGKILL, not SIGTERM, which it may ignore.
    pub is_final: bool,
}

/// The layout of the event in this kernel.
#[derive(Clone, Copy, Debug)]
pub struct SignalFormat {
    id: u16,
    sig: Field,
    code: Field,
    comm: Field,
    pid: Field,
    result: Field,
}

impl SignalFormat {
    /// Parses the `format` file of the event.
    pub fn parse(file: &[u8]) -> Result<Self, FormatError> {
        let format = Format::parse(file);
        Ok(Self {
            id: format.id()?,
            sig: format.number("sig")?,
            code: format.number("code")?,
            comm: format.any("comm")?,
            pid: format.number("pid")?,
            result: format.number("result")?,
        })
    }

    /// Reads the layout, from a tracefs of its own if none is mounted where it may be read.
    ///
    /// # Errors
    /// `Denied` without the rights of root, `Unsupported` without the tracepoint, and `OutOfView` in a pid namespace, where the
    /// pids of the event are others.
    pub fn read(roots: &Roots) -> Reading<Self> {
        if !roots.is_own() || cfg!(target_endian = "big") {
            return Err(Missing::Unsupported);
        }
        if !files::is_in_first_pid_namespace(&roots.proc) {
            return Err(Missing::OutOfView);
        }
        let mounts = tracefs::mounts(&files::mountinfo(roots).unwrap_or_default());
        let mut mounted = mounts
            .iter()
            .filter_map(|mount| files::open_dir(mount.as_os_str().as_encoded_bytes()).ok());
        let dir = match mounted.next() {
            Some(dir) => dir,
            None => detached().map_err(files::optional_reason)?,
        };
        let mut buf = vec![0; MAX_FORMAT];
        let read = files::open_at(&dir, FORMAT).and_then(|file| files::read_all(file, &mut buf));
        let len = read.map_err(files::optional_reason)?;
        Self::parse(&buf[..len]).map_err(|_| Missing::Malformed)
    }

    /// Parses the records of a ring buffer: a head of 8 bytes with kind and size; of a sample, the time and the size of its data,
    /// then the data.
    pub fn signals(self, mut bytes: &[u8]) -> Vec<SentSignal> {
        let mut found = Vec::new();
        while let Some((head, rest)) = bytes.split_first_chunk::<8>() {
            let [kind @ .., _, _, low, high] = *head;
            let size = usize::from(u16::from_le_bytes([low, high]));
            let Some((record, next)) = size.checked_sub(8).and_then(|size| rest.split_at_checked(size)) else {
                break;
            };
            bytes = next;
            if u32::from_le_bytes(kind) != PERF_RECORD_SAMPLE {
                continue;
            }
            let sample = record.split_first_chunk::<8>();
            let sample = sample.and_then(|(time, rest)| Some((time, rest.split_first_chunk::<4>()?.1)));
            found.extend(sample.and_then(|(time, data)| {
                let at = Duration::from_nanos(u64::from_le_bytes(*time));
                self.decode(at, data)
            }));
        }
        found
    }

    /// Returns the signal in the data of an event; `None` if it ends no process, the kernel sends it, or it had no effect.
    fn decode(self, at: Duration, data: &[u8]) -> Option<SentSignal> {
        let number = |field: Field| Some((field.get(data)? as u32).cast_signed());
        let is_final = match number(self.sig)? {
            libc::SIGKILL => true,
            libc::SIGTERM => false,
            _ => return None,
        };
        if number(self.code)? == SI_KERNEL || number(self.result)? != 0 {
            return None;
        }
        let end = self.comm.offset.checked_add(self.comm.size)?;
        let comm = data.get(self.comm.offset..end)?;
        let comm = comm.split(|b| *b == 0).next().unwrap_or_default();
        Some(SentSignal {
            at,
            pid: number(self.pid)?.try_into().ok()?,
            comm: comm.into(),
            is_final,
        })
    }
}

/// Opens a tracefs that is mounted nowhere.
fn detached() -> Result<OwnedFd, Errno> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

/// `struct perf_event_attr` of `include/uapi/linux/perf_event.h`, as of Linux 4.1 (`PERF_ATTR_SIZE_VER3`).
#[repr(C)]
#[derive(Default)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_watermark: u32,
    breakpoint: [u32; 5],
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
}

const PERF_TYPE_TRACEPOINT: u32 = 2;
const PERF_SAMPLE_TIME: u64 = 1 << 2;
const PERF_SAMPLE_RAW: u64 = 1 << 10;
/// The flag `watermark`: nothing is woken up before there are so many bytes, which is never.
const WATERMARK: u64 = 1 << 14;
/// The flag `use_clockid`.
const USE_CLOCK: u64 = 1 << 25;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
const PERF_RECORD_SAMPLE: u32 = 9;
/// Pages of data, a power of two: some 700 signals, as systemd-oomd sends to all of a cgroup at once.
const PAGES: usize = 16;
/// The offsets of `data_head` and `data_tail` in `struct perf_event_mmap_page`, in numbers of 8 bytes.
const HEAD: usize = 128;
const TAIL: usize = 129;

/// The ring buffer of a thread.
#[derive(Debug)]
pub struct SignalRing {
    format: SignalFormat,
    /// A page with the positions, then the data.
    area: NonNull<u64>,
    len: usize,
    _event: OwnedFd,
}

#[expect(unsafe_code, reason = "a pointer is not Send")]
// SAFETY: the mapping belongs to the ring alone, and any thread may read it.
unsafe impl Send for SignalRing {}

impl SignalRing {
    /// Follows the thread `tid`.
    ///
    /// # Errors
    /// `Denied` without `CAP_PERFMON`, and `Gone` if the thread has ended.
    pub fn open(format: SignalFormat, tid: u32) -> Reading<Self> {
        let attributes = EventAttributes {
            kind: PERF_TYPE_TRACEPOINT,
            size: size_of::<EventAttributes>() as u32,
            config: format.id.into(),
            sample_period: 1,
            sample_type: PERF_SAMPLE_TIME | PERF_SAMPLE_RAW,
            flags: WATERMARK | USE_CLOCK,
            wakeup_watermark: u32::MAX >> 1,
            clock: libc::CLOCK_MONOTONIC,
            ..EventAttributes::default()
        };
        let page = rustix::param::page_size();
        let len = page * (1 + PAGES);
        let fault = || files::reason(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
        let tid = libc::pid_t::try_from(tid).map_err(|_| Missing::Malformed)?;
        #[expect(unsafe_code, reason = "no library offers perf_event_open(2)")]
        // SAFETY: the attributes are as the kernel defines them, and live during the call. The descriptor is new.
        let event = unsafe {
            let call = libc::SYS_perf_event_open;
            let event = libc::syscall(call, &raw const attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
            if event < 0 {
                return Err(fault());
            }
            OwnedFd::from_raw_fd(event as i32)
        };
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        #[expect(unsafe_code, reason = "no library maps such a buffer")]
        // SAFETY: the kernel chooses the place of the mapping, which is this ring's alone.
        let area = unsafe { rustix::mm::mmap(null_mut(), len, protection, MapFlags::SHARED, &event, 0) };
        let area = NonNull::new(area.map_err(files::reason)?.cast()).ok_or(Missing::Malformed)?;
        Ok(Self {
            format,
            area,
            len,
            _event: event,
        })
    }

    /// Takes the signals since the last call. Those for which there was no room are lost.
    pub fn drain(&mut self) -> Vec<SentSignal> {
        let page = rustix::param::page_size();
        let size = self.len - page;
        #[expect(unsafe_code, reason = "the kernel writes to the mapping")]
        // SAFETY: both positions are in the first page, aligned, and changed by atomic operations alone. The data up to `head`
        // is complete, and the kernel leaves it alone until `tail` says that it was read.
        let bytes = unsafe {
            let position = |at: usize| AtomicU64::from_ptr(self.area.as_ptr().add(at));
            let (head, tail) = (position(HEAD).load(Ordering::Acquire), position(TAIL));
            let from = tail.load(Ordering::Relaxed);
            if head == from {
                return Vec::new();
            }
            let data = self.area.as_ptr().cast::<u8>().add(page);
            let at = |position: u64| data.add(position as usize % size).read_volatile();
            let bytes: Vec<u8> = (from..head.min(from.saturating_add(size as u64))).map(at).collect();
            tail.store(head, Ordering::Release);
            bytes
        };
        self.format.signals(&bytes)
    }
}

impl Drop for SignalRing {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "no library unmaps it")]
        // SAFETY: nothing refers to the mapping any more.
        let _ = unsafe { rustix::mm::munmap(self.area.as_ptr().cast(), self.len) };
    }
}
