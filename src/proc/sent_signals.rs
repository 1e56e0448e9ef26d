//! The signals that a thread sends to end processes: the tracepoint `signal:signal_generate`, by `perf_event_open(2)`.
//!
//! The kernel writes a record into a ring buffer for each signal that the thread sends. Nothing is written, and nothing is to
//! be read, while it sends none. All ends with the descriptor.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::files::{self, Roots};
use super::perf::{self, Attributes, Record};
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

    /// Returns the signal in a record of a ring buffer: the time, the size of the data, and the data.
    pub fn signal(self, record: Record<'_>) -> Option<SentSignal> {
        let body = (record.kind == perf::RECORD_SAMPLE).then_some(record.body)?;
        let (time, rest) = body.split_first_chunk::<8>()?;
        let data = rest.split_first_chunk::<4>()?.1;
        self.decode(Duration::from_nanos(u64::from_le_bytes(*time)), data)
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

/// Pages of data, a power of two: some 700 signals, as systemd-oomd sends to all of a cgroup at once.
const PAGES: usize = 16;

/// The ring buffer of a thread.
#[derive(Debug)]
pub struct SignalRing {
    format: SignalFormat,
    ring: perf::Ring,
}

impl SignalRing {
    /// Follows the thread `tid`.
    ///
    /// # Errors
    /// `Denied` without `CAP_PERFMON`, and `Gone` if the thread has ended.
    pub fn open(format: SignalFormat, tid: u32) -> Reading<Self> {
        let attributes = Attributes {
            kind: perf::PERF_TYPE_TRACEPOINT,
            config: format.id.into(),
            sample_period: 1,
            sample_type: perf::SAMPLE_TIME | perf::SAMPLE_RAW,
            flags: perf::WATERMARK | perf::USE_CLOCK,
            wakeup_watermark: u32::MAX >> 1,
            clock: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        let event = perf::open(&attributes, tid, -1).map_err(files::reason)?;
        let ring = perf::Ring::map(event, PAGES).map_err(|(errno, _)| files::reason(errno))?;
        Ok(Self { format, ring })
    }

    /// Returns the signals since the last call. Signals that did not fit into the buffer are lost.
    pub fn drain(&mut self) -> Vec<SentSignal> {
        let mut signals = Vec::new();
        self.ring.drain(|record| signals.extend(self.format.signal(record)));
        signals
    }
}
