//! `perf_event_open(2)`: events of threads, and the ring buffers that the kernel writes their records into.
//!
//! A ring holds memory of the kernel for as long as it is open. Records for which it has no room are lost and counted.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

/// `struct perf_event_attr` of `include/uapi/linux/perf_event.h`, as of Linux 4.8 (`PERF_ATTR_SIZE_VER5`).
#[repr(C)]
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    pub kind: u32,
    pub(super) size: u32,
    pub config: u64,
    pub sample_period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup_watermark: u32,
    pub breakpoint: [u32; 5],
    pub branch_sample_type: u64,
    pub sample_regs_user: u64,
    pub sample_stack_user: u32,
    pub clock: i32,
    pub sample_regs_intr: u64,
    pub aux_watermark: u32,
    pub sample_max_stack: u16,
    pub reserved: u16,
}

pub const PERF_TYPE_SOFTWARE: u32 = 1;
pub const PERF_TYPE_TRACEPOINT: u32 = 2;

/// `PERF_COUNT_SW_PAGE_FAULTS_MIN`: a page fault without I/O, counted after the page was mapped.
pub const MINOR_FAULTS: u64 = 5;

pub const SAMPLE_IP: u64 = 1 << 0;
pub const SAMPLE_TID: u64 = 1 << 1;
pub const SAMPLE_TIME: u64 = 1 << 2;
pub const SAMPLE_ADDR: u64 = 1 << 3;
pub const SAMPLE_CALLCHAIN: u64 = 1 << 5;
pub const SAMPLE_RAW: u64 = 1 << 10;
pub const SAMPLE_REGS_USER: u64 = 1 << 12;
pub const SAMPLE_STACK_USER: u64 = 1 << 13;
/// Since Linux 5.11.
pub const SAMPLE_DATA_PAGE_SIZE: u64 = 1 << 22;

/// The event counts nothing until [`enable`].
pub const DISABLED: u64 = 1 << 0;
/// Threads and processes that the thread creates are followed, too.
pub const INHERIT: u64 = 1 << 1;
pub const EXCLUDE_KERNEL: u64 = 1 << 5;
pub const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// Records of new mappings that are executable.
pub const MMAP: u64 = 1 << 8;
/// Records of names, and of `exec` by [`MISC_COMM_EXEC`].
pub const COMM: u64 = 1 << 9;
/// Records of new and ended threads.
pub const TASK: u64 = 1 << 13;
/// All records end in the fields `TID` and `TIME` if samples have them.
pub const SAMPLE_ID_ALL: u64 = 1 << 18;
/// `wakeup_watermark` counts bytes: with a large one, nothing is woken up.
pub const WATERMARK: u64 = 1 << 14;
/// With [`MMAP`]: its records have the device and the inode.
pub const MMAP2: u64 = 1 << 23;
pub const COMM_EXEC: u64 = 1 << 24;
pub const USE_CLOCK: u64 = 1 << 25;

pub const RECORD_LOST: u32 = 2;
pub const RECORD_COMM: u32 = 3;
pub const RECORD_FORK: u32 = 7;
pub const RECORD_SAMPLE: u32 = 9;
pub const RECORD_MMAP2: u32 = 10;

/// The bits of `misc` that hold the mode of the processor, and their value for a program.
pub const MISC_MODE: u16 = 7;
pub const MISC_USER: u16 = 2;
pub const MISC_COMM_EXEC: u16 = 1 << 13;

const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
/// `PERF_EVENT_IOC_ENABLE` and `PERF_EVENT_IOC_SET_OUTPUT`.
const ENABLE: libc::Ioctl = 0x2400;
const SET_OUTPUT: libc::Ioctl = 0x2405;

/// An event, which is counted while it is open. Only [`open`] makes one, and it is never duplicated: at most one [`Ring`] maps it.
#[derive(Debug)]
pub struct Event(OwnedFd);

/// Opens an event of the thread `tid`, on one processor or on all (`-1`).
///
/// # Errors
/// `ACCES` or `PERM` without the right, `SRCH` if the thread has ended, `INVAL` if the kernel lacks something of it, `MFILE`
/// if zmtop has too many descriptors.
pub fn open(attributes: &Attributes, tid: u32, cpu: i32) -> Result<Event, Errno> {
    let attributes = Attributes {
        size: size_of::<Attributes>() as u32,
        ..attributes.clone()
    };
    let tid = libc::pid_t::try_from(tid).map_err(|_| Errno::SRCH)?;
    #[expect(unsafe_code, reason = "no library offers perf_event_open(2)")]
    // SAFETY: the kernel reads `size` bytes of the attributes, which are as it defines them and live during the call. It writes to no
    // memory. The descriptor is new, so that nothing else closes it.
    unsafe {
        let call = libc::SYS_perf_event_open;
        let event = libc::syscall(call, &raw const attributes, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
        if event < 0 {
            return Err(last_error());
        }
        Ok(Event(OwnedFd::from_raw_fd(event as i32)))
    }
}

/// Returns the number of events so far, of which the samples are a part.
pub fn count(event: &Event) -> Result<u64, Errno> {
    let mut number = [0; 8];
    let read = rustix::io::read(&event.0, &mut number)?;
    if read == number.len() {
        Ok(u64::from_ne_bytes(number))
    } else {
        Err(Errno::IO)
    }
}

/// Starts an event that was opened with [`DISABLED`], and those of the threads created meanwhile.
pub fn enable(event: &Event) -> Result<(), Errno> {
    control(event, ENABLE, 0)
}

fn control(event: &Event, request: libc::Ioctl, argument: i32) -> Result<(), Errno> {
    #[expect(unsafe_code, reason = "no library offers these ioctls")]
    // SAFETY: the descriptor is an open event. Both requests take a number or a descriptor, and access no memory of this program.
    let done = unsafe { libc::ioctl(event.0.as_raw_fd(), request, argument) };
    if done < 0 { Err(last_error()) } else { Ok(()) }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// The offsets of `data_head` and `data_tail` in `struct perf_event_mmap_page`, in numbers of 8 bytes.
const HEAD: usize = 128;
const TAIL: usize = 129;

/// The ring buffer of an event, and of the events that write into it as well.
#[derive(Debug)]
pub struct Ring {
    /// A page with the positions, then the data.
    area: NonNull<u64>,
    len: usize,
    event: Event,
}

#[expect(unsafe_code, reason = "a pointer is not Send")]
// SAFETY: the mapping belongs to the ring alone, and is not bound to a thread: any may read it and end it. A ring is not `Sync`, so
// that two threads never read one at the same time.
unsafe impl Send for Ring {}

impl Ring {
    /// Maps a ring of `pages`, a power of two.
    ///
    /// # Errors
    /// The event, and `PERM` if a user has more than `perf_event_mlock_kb` of such memory.
    pub fn map(event: Event, pages: usize) -> Result<Self, (Errno, Event)> {
        let len = rustix::param::page_size() * (1 + pages);
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        #[expect(unsafe_code, reason = "no library maps such a buffer")]
        // SAFETY: the kernel chooses the place of the mapping, so that it replaces no other. It is this ring's alone, because the
        // event is.
        let area = unsafe { rustix::mm::mmap(null_mut(), len, protection, MapFlags::SHARED, &event.0, 0) };
        match area.map(|area| NonNull::new(area.cast())) {
            Ok(Some(area)) => Ok(Self { area, len, event }),
            Ok(None) => Err((Errno::NOMEM, event)),
            Err(errno) => Err((errno, event)),
        }
    }

    /// Makes another event of the same processor write into this ring.
    pub fn add(&self, event: &Event) -> Result<(), Errno> {
        control(event, SET_OUTPUT, self.event.0.as_raw_fd())
    }

    /// Returns the event that the ring was made for.
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Returns the bytes of records that it has room for.
    pub fn size(&self) -> usize {
        self.len - rustix::param::page_size()
    }

    /// Calls `each` with the records since the last call, and frees their space at the end. Returns their size in bytes.
    pub fn drain(&self, each: impl FnMut(Record<'_>)) -> usize {
        let (page, size) = (rustix::param::page_size(), self.size());
        #[expect(unsafe_code, reason = "the kernel writes to the mapping")]
        // SAFETY: the mapping begins with a page of the kernel's positions, and `size` bytes of data follow. Both positions are aligned,
        // and changed by atomic operations alone. `start` is less than `size`, and `len` at most `size`, so that both pieces are in the
        // data. The data up to `head` is complete, and the kernel, which may not overwrite a writable mapping, leaves it alone until
        // `tail` says that it was read. Only this ring says so, in one thread at a time, at the end of this function, after which
        // `each` cannot keep a record.
        let (head, tail, first, second) = unsafe {
            let position = |at: usize| AtomicU64::from_ptr(self.area.as_ptr().add(at));
            let (head, tail) = (position(HEAD).load(Ordering::Acquire), position(TAIL));
            let from = tail.load(Ordering::Relaxed);
            let len = (head.wrapping_sub(from) as usize).min(size);
            let data = self.area.as_ptr().cast::<u8>().cast_const().add(page);
            let start = from as usize % size;
            let first = len.min(size - start);
            let pieces = [(data.add(start), first), (data, len - first)];
            let [first, second] = pieces.map(|(at, len)| std::slice::from_raw_parts(at, len));
            (head, tail, first, second)
        };
        each_record(first, second, each);
        tail.store(head, Ordering::Release);
        first.len() + second.len()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "no library unmaps it")]
        // SAFETY: the mapping is this ring's, whole, and nothing refers to it any more: what was read is a copy.
        let _ = unsafe { rustix::mm::munmap(self.area.as_ptr().cast(), self.len) };
    }
}

/// One record of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    pub kind: u32,
    pub misc: u16,
    pub body: &'a [u8],
}

impl<'a> Record<'a> {
    /// The bytes of the largest record.
    const MOST: usize = u16::MAX as usize;

    /// Splits off the first record: a head of 8 bytes with kind, `misc` and size, then the body. `None` if it is not whole, or its
    /// size cannot be true.
    fn split(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = bytes.split_first_chunk::<8>()?;
        let [kind @ .., misc_low, misc_high, low, high] = *head;
        let size = usize::from(u16::from_le_bytes([low, high]));
        let (body, rest) = rest.split_at_checked(size.checked_sub(8)?)?;
        let record = Self {
            kind: u32::from_le_bytes(kind),
            misc: u16::from_le_bytes([misc_low, misc_high]),
            body,
        };
        Some((record, rest))
    }

    /// Appends the record with this body in place of its own, as the kernel writes it. A body is less than 64 KiB.
    pub fn append_with(&self, body: &[&[u8]], bytes: &mut Vec<u8>) {
        let len = 8 + body.iter().map(|part| part.len()).sum::<usize>();
        bytes.extend_from_slice(&self.kind.to_le_bytes());
        bytes.extend_from_slice(&self.misc.to_le_bytes());
        bytes.extend_from_slice(&(len as u16).to_le_bytes());
        for part in body {
            bytes.extend_from_slice(part);
        }
    }
}

/// Splits bytes into records, up to one that is not whole.
pub fn records(mut bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    std::iter::from_fn(move || {
        let (record, rest) = Record::split(bytes)?;
        bytes = rest;
        Some(record)
    })
}

/// Calls `each` with the records of a ring, of which one may begin at the end of `first` and end in `second`, the bytes at the start
/// of the ring.
pub fn each_record(mut first: &[u8], mut second: &[u8], mut each: impl FnMut(Record<'_>)) {
    while let Some((record, rest)) = Record::split(first) {
        first = rest;
        each(record);
    }
    if !first.is_empty() {
        let joined = [first, &second[..second.len().min(Record::MOST)]].concat();
        let Some((record, _)) = Record::split(&joined) else {
            return;
        };
        each(record);
        second = &second[8 + record.body.len() - first.len()..];
    }
    records(second).for_each(each);
}
