//! The container of a recording: groups of compressed snapshots.
//!
//! A recording is a sequence of groups, each of some minutes, and nothing else. A group can be read on its own. It consists
//! of a header, a body, and a list of its incidents. Numbers are little-endian.
//!
//! The **header** is a skippable frame of zstd (RFC 8878, 3.1.2) of 104 bytes:
//!
//! | bytes | content |
//! | --- | --- |
//! | 0–3 | `5a 2a 4d 18`, the magic number of a skippable frame |
//! | 4–7 | 96, the length of the rest |
//! | 8–15 | `zmtopgrp` |
//! | 16–17 | the version of the container, 1. Readers refuse later versions |
//! | 18–19 | flags. Bit 0: the group is complete. Bit 1: the list of incidents lacks some that are in the lines |
//! | 20–23 | the number of snapshots |
//! | 24–31 | the time of the first snapshot, in nanoseconds since 1970 |
//! | 32–39 | the time of the last one |
//! | 40–47 | the length of the body in bytes |
//! | 48–55 | `MemTotal` in bytes; 0 if unknown |
//! | 56–63 | the lowest `MemAvailable` in bytes |
//! | 64–67 | the length of the list of incidents in bytes, without its frame; 0 if there is none |
//! | 68–71 | a CRC-32 of the boot id; 0 if unknown |
//! | 72–75 | the highest `some avg10` of memory pressure, in hundredths of a percent |
//! | 76–83 | the highest [peak](Exit::own) in bytes of a process that [came and went](Exit::is_brief); 0 if there was none, or of an older version |
//! | 84–91 | the time of the first snapshot on the monotonic clock in nanoseconds; 0 if it is of an older version |
//! | 92–99 | 0 |
//! | 100–103 | the CRC-32 of the bytes 8 to 99 |
//!
//! The header is written when the group begins and overwritten when it ends. Until then the group is not complete: the
//! number of snapshots, the times, the lengths and the lowest and highest figures are 0. So it stays if the writer is
//! killed or the power fails. Such a group ends where its body can no longer be decompressed, or at the next header.
//!
//! The **body** is one zstd frame with a checksum. Its content is NDJSON: a whole snapshot as `zmtop/1`, then
//! [changes](super::changes), a line each. The last two fields of a line, which other readers may ignore, are
//! `incidents`, if there are any, and `crc32`: the CRC-32 of the bytes of the line before `,"crc32":`, as eight hexadecimal
//! digits. The compressor is flushed after each line, so that all lines that reached the disk can be read.
//!
//! The **list of incidents** is a skippable frame: `5a 2a 4d 18`, the length of the rest, `zmtopinc`, a JSON array of the incidents
//! of all lines, and the CRC-32 of the array. An index of a recording needs only headers and these lists.
//!
//! A **kept history** ([`kept`](crate::history::kept)) is a file of one group of its own kind: its header has the name
//! `zmtophis` and is complete, apart from the length of the body all numbers are 0, and the lines are not snapshots.
//!
//! zstd skips frames that it does not know, so `zstd -dc FILE` exports the lines. A stream has the same format, but its
//! headers are never overwritten.
//!
//! # Encoding
//! 404 processes of which 20 change, sampled every 5 s, measured by `cargo bench --bench recording`. Whole snapshots need
//! 1,542 MiB a day. A larger window saves nothing.
//!
//! | level | MiB a day in groups of 30 | of 120 | of 480 | compression of a snapshot |
//! | --- | --- | --- | --- | --- |
//! | 1 | 7.6 | 4.2 | 3.3 | < 0.01 ms |
//! | 3 | 8.0 | 4.3 | 3.4 | < 0.01 ms |
//! | 6, used here | 6.8 | 3.7 | 3.0 | 0.01 ms |
//! | 9 | 6.4 | 3.5 | 2.8 | 0.03 ms |
//! | 12 | 6.4 | 3.5 | 2.8 | 0.06 ms |
//!
//! Making the line takes 0.13 ms, mostly for the fields of the machine. Longer groups would save little and make jumps slow: a jump reads
//! half a group, and on average 60 snapshots take 20 ms.
//!
//! # Beside other recorders
//! 380 idle and 20 changing processes, every 5 s, for ten minutes each, in turns of five minutes. The recorders saw only these
//! processes (in a pid namespace). Compilers kept the two cores busy; on a quiet machine, zmtop needs 3.7 MB a day.
//!
//! | recorder | a day | CPU |
//! | --- | --- | --- |
//! | `zmtop record`: with PSS and cgroups | 10 MB | 0.11 % of a core |
//! | `atop -w` 2.8: without PSS | 115 MB | 0.36 % |
//! | `atop -R -w`: with PSS | 115 MB | 1.2 % |
//!
//! `below` 0.9 was not measured: it has no package in Debian 12, whose compiler fails at its programs for the kernel.
//!
//! Every second, 1,000 idle processes need 0.36 % of a core, of which the thread that records needs 0.07 %. If 50 of them change,
//! they need 0.64 % and 0.17 %. `zmtop replay` of a GiB (500 processes, four days) shows the first screen after 0.12 s, and another
//! moment after 0.16 s, medians of ten. It needs 15 MB more than the live monitor.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zstd::bulk::Compressor;
use zstd::stream::write::Encoder;

use super::changes::ChangeWriter;
use super::line::{Brief, Incident, leave_out, nanos, sign, time};
#[cfg(doc)]
use crate::model::Exit;
use crate::model::Snapshot;

/// The length of a header in bytes, with its frame.
pub const HEADER: usize = 104;
/// The start of each header: the magic number, the length and the name.
pub const START: [u8; 16] = *b"\x5a\x2a\x4d\x18\x60\0\0\0zmtopgrp";
/// The names in the headers of groups.
const SNAPSHOTS: [u8; 8] = *b"zmtopgrp";
const HISTORY: [u8; 8] = *b"zmtophis";
const INCIDENTS: [u8; 8] = *b"zmtopinc";
const VERSION: u16 = 1;
const COMPLETE: u16 = 1;
const LACKS_INCIDENTS: u16 = 2;
/// The longest list of incidents that is read, in bytes.
pub const MAX_INCIDENTS: usize = 1 << 20;
/// Maximum number of snapshots of a group. More would save little, and a jump reads half a group on average.
pub const MAX_SNAPSHOTS: u32 = 120;
/// Maximum length of the lines of a group in bytes, at which it ends.
const MAX_LINES: usize = 32 << 20;
/// See [the table](self#encoding).
const LEVEL: i32 = 6;
/// A history is compressed while the monitor starts or ends.
const HISTORY_LEVEL: i32 = 1;
/// The window of the compressor, as a power of 2: the memory that writer and readers need.
const WINDOW_LOG: u32 = 20;

/// The summary of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// False if its writer has not finished it; then its bytes have only `boot`.
    pub is_complete: bool,
    pub snapshots: u32,
    pub from: SystemTime,
    pub to: SystemTime,
    /// The length of the body in bytes.
    pub body: u64,
    /// `MemTotal` in bytes; 0 if unknown.
    pub total: u64,
    /// The lowest `MemAvailable` in bytes.
    pub available: u64,
    /// The length of the list of incidents in bytes.
    pub incidents: u32,
    /// The list lacks incidents that the lines have.
    pub lacks_incidents: bool,
    /// A digest of the boot id; 0 if unknown.
    pub boot: u32,
    /// The highest memory pressure, `some avg10`, in hundredths of a percent.
    pub pressure: u32,
    /// The highest peak in bytes of a process that started and ended; 0 if there was none, or if that is unknown.
    pub peak: u64,
    /// The time of the first snapshot on the monotonic clock; 0 if unknown.
    pub monotonic: Duration,
}

/// A group that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoHeader {
    /// These bytes are no header, or a damaged one.
    #[error("is damaged")]
    Damaged,
    #[error("is of a later version of zmtop")]
    Newer(u16),
}

/// Returns the digest of a boot id that headers have.
pub fn boot_digest(id: &str) -> u32 {
    crc32fast::hash(id.as_bytes())
}

impl Header {
    fn open(snapshot: &Snapshot) -> Self {
        let boot = snapshot.boot_id.as_ref().map_or(0, |id| boot_digest(id));
        Self::empty(boot)
    }

    /// Creates the header of a group without snapshots.
    pub const fn empty(boot: u32) -> Self {
        Self {
            is_complete: false,
            snapshots: 0,
            from: SystemTime::UNIX_EPOCH,
            to: SystemTime::UNIX_EPOCH,
            body: 0,
            total: 0,
            available: 0,
            incidents: 0,
            lacks_incidents: false,
            boot,
            pressure: 0,
            peak: 0,
            monotonic: Duration::ZERO,
        }
    }

    /// Adds the next snapshot.
    pub fn add(&mut self, next: &Brief) {
        if self.snapshots == 0 {
            self.from = next.time;
            self.monotonic = next.monotonic;
        }
        if let Some(available) = next.available {
            let is_first = self.total == 0;
            self.available = if is_first {
                available
            } else {
                self.available.min(available)
            };
        }
        self.total = next.total.unwrap_or(self.total);
        self.pressure = self.pressure.max(next.pressure);
        self.peak = self.peak.max(next.peak);
        self.to = next.time;
        self.snapshots += 1;
    }

    pub fn to_bytes(self) -> [u8; HEADER] {
        self.named(SNAPSHOTS)
    }

    fn named(self, name: [u8; 8]) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        bytes[..8].copy_from_slice(&START[..8]);
        bytes[8..16].copy_from_slice(&name);
        let mut put = |at: usize, number: &[u8]| bytes[at..at + number.len()].copy_from_slice(number);
        put(16, &VERSION.to_le_bytes());
        put(68, &self.boot.to_le_bytes());
        if self.is_complete {
            let lacks = if self.lacks_incidents { LACKS_INCIDENTS } else { 0 };
            put(18, &(COMPLETE | lacks).to_le_bytes());
            put(20, &self.snapshots.to_le_bytes());
            put(24, &nanos(self.from).to_le_bytes());
            put(32, &nanos(self.to).to_le_bytes());
            put(40, &self.body.to_le_bytes());
            put(48, &self.total.to_le_bytes());
            put(56, &self.available.to_le_bytes());
            put(64, &self.incidents.to_le_bytes());
            put(72, &self.pressure.to_le_bytes());
            put(76, &self.peak.to_le_bytes());
            put(84, &(self.monotonic.as_nanos() as u64).to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[8..100]);
        bytes[100..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Parses the first bytes of a group.
    ///
    /// # Errors
    /// They are damaged, or of a later version.
    pub fn parse(bytes: &[u8]) -> Result<Self, NoHeader> {
        Self::parse_named(bytes, SNAPSHOTS)
    }

    fn parse_named(bytes: &[u8], name: [u8; 8]) -> Result<Self, NoHeader> {
        let bytes: &[u8; HEADER] = bytes.first_chunk().ok_or(NoHeader::Damaged)?;
        let number = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(number(at)) | u64::from(number(at + 4)) << 32;
        if bytes[..8] != START[..8] || bytes[8..16] != name || crc32fast::hash(&bytes[8..100]) != number(100) {
            return Err(NoHeader::Damaged);
        }
        let version = number(16) as u16;
        if version != VERSION {
            return Err(NoHeader::Newer(version));
        }
        let flags = (number(16) >> 16) as u16;
        Ok(Self {
            is_complete: flags & COMPLETE != 0,
            snapshots: number(20),
            from: time(long(24).cast_signed()),
            to: time(long(32).cast_signed()),
            body: long(40),
            total: long(48),
            available: long(56),
            incidents: number(64),
            lacks_incidents: flags & LACKS_INCIDENTS != 0,
            boot: number(68),
            pressure: number(72),
            peak: long(76),
            monotonic: Duration::from_nanos(long(84)),
        })
    }

    /// Returns the length of the frame of the list of incidents in bytes.
    pub const fn incidents_frame(&self) -> u64 {
        match self.incidents {
            0 => 0,
            incidents => 8 + 8 + incidents as u64 + 4,
        }
    }
}

/// Parses the frame of a list of incidents.
pub fn parse_incidents(frame: &[u8]) -> Option<Vec<Incident>> {
    let content = frame.strip_prefix(&START[..4])?.get(4..)?.strip_prefix(&INCIDENTS)?;
    let (list, sum) = content.split_last_chunk()?;
    let is_whole = crc32fast::hash(list) == u32::from_le_bytes(*sum);
    is_whole.then(|| serde_json::from_slice(list).ok())?
}

fn incidents_frame(list: &[u8]) -> Vec<u8> {
    let length = (INCIDENTS.len() + list.len() + 4) as u32;
    let sum = crc32fast::hash(list);
    [&START[..4], &length.to_le_bytes(), &INCIDENTS, list, &sum.to_le_bytes()].concat()
}

/// Compresses the lines of a history to the bytes of a file.
///
/// # Errors
/// The compressor failed: memory is short.
pub fn pack_history(lines: &[u8]) -> io::Result<Vec<u8>> {
    let mut body = Compressor::new(HISTORY_LEVEL)?;
    body.include_checksum(true)?;
    let body = body.compress(lines)?;
    let header = Header {
        is_complete: true,
        body: body.len() as u64,
        ..Header::empty(0)
    };
    Ok([&header.named(HISTORY), &*body].concat())
}

/// Returns true if these bytes are a history, damaged or not.
pub fn is_history(bytes: &[u8]) -> bool {
    bytes.get(..8) == Some(&START[..8]) && bytes.get(8..16) == Some(&HISTORY)
}

/// Returns the lines that [`pack_history`] compressed, which are at most `max` bytes.
///
/// # Errors
/// The bytes are damaged, or of a later version.
pub fn unpack_history(bytes: &[u8], max: usize) -> Result<Vec<u8>, NoHeader> {
    let header = Header::parse_named(bytes, HISTORY)?;
    let body = bytes.get(HEADER..).filter(|body| body.len() as u64 == header.body);
    zstd::bulk::decompress(body.ok_or(NoHeader::Damaged)?, max).map_err(|_| NoHeader::Damaged)
}

/// Writes snapshots as groups. Each method returns the bytes to append.
#[derive(Default)]
pub struct GroupWriter {
    changes: ChangeWriter,
    group: Option<Group>,
}

struct Group {
    body: Encoder<'static, Vec<u8>>,
    header: Header,
    incidents: Vec<Incident>,
    /// Bytes of its lines.
    lines: usize,
}

/// The end of a group.
pub struct End {
    /// The bytes to append.
    pub bytes: Vec<u8>,
    /// The bytes that replace the first ones of the group.
    pub header: [u8; HEADER],
}

impl GroupWriter {
    /// Returns true if the next snapshot begins a group.
    pub const fn is_between(&self) -> bool {
        self.group.is_none()
    }

    /// Returns true if the group should end: it is long enough, the snapshot is of another boot, or the clock was set back.
    pub fn is_full(&self, next: &Snapshot) -> bool {
        self.group.as_ref().is_some_and(|group| {
            let is_long = group.header.snapshots >= MAX_SNAPSHOTS || group.lines >= MAX_LINES;
            is_long || group.header.boot != Header::open(next).boot || next.time < group.header.to
        })
    }

    /// Appends a snapshot with the incidents of its time.
    ///
    /// # Errors
    /// The compressor failed: memory is short. The group is lost from here on; the next snapshot begins another one.
    pub fn push(&mut self, snapshot: &Arc<Snapshot>, incidents: &[Incident]) -> io::Result<Vec<u8>> {
        let mut group = match self.group.take() {
            Some(group) => group,
            None => self.begin(snapshot)?,
        };
        let mut line = self.changes.line(snapshot);
        if !incidents.is_empty() && line.pop() == Some(b'}') {
            line.extend(b",\"incidents\":");
            serde_json::to_writer(&mut line, incidents)?;
            line.push(b'}');
        }
        sign(&mut line);
        line.push(b'\n');
        group.body.write_all(&line)?;
        group.body.flush()?;
        group.lines += line.len();
        group.header.add(&Brief::from(&**snapshot));
        group.incidents.extend_from_slice(incidents);
        let bytes = std::mem::take(group.body.get_mut());
        let header = if group.header.body == 0 { HEADER } else { 0 };
        group.header.body += (bytes.len() - header) as u64;
        self.group = Some(group);
        Ok(bytes)
    }

    fn begin(&mut self, snapshot: &Snapshot) -> io::Result<Group> {
        self.changes.begin();
        let header = Header::open(snapshot);
        let mut body = Encoder::new(header.to_bytes().to_vec(), LEVEL)?;
        body.window_log(WINDOW_LOG)?;
        body.include_checksum(true)?;
        Ok(Group {
            body,
            header,
            incidents: Vec::new(),
            lines: 0,
        })
    }

    /// Ends the group; `None` if none has begun.
    ///
    /// # Errors
    /// The compressor failed. The group stays incomplete.
    pub fn end(&mut self) -> io::Result<Option<End>> {
        let Some(group) = self.group.take() else {
            return Ok(None);
        };
        let mut header = group.header;
        let mut bytes = group.body.finish()?;
        header.body += bytes.len() as u64;
        header.is_complete = true;
        let mut incidents = group.incidents;
        // Each has a comma, or the end of the list.
        let length = |incident: &Incident| serde_json::to_vec(incident).map_or(usize::MAX, |json| json.len() + 1);
        header.lacks_incidents = leave_out(&mut incidents, MAX_INCIDENTS - 1, length);
        if !incidents.is_empty() {
            let list = serde_json::to_vec(&incidents)?;
            header.incidents = list.len() as u32;
            bytes.extend(incidents_frame(&list));
        }
        Ok(Some(End {
            bytes,
            header: header.to_bytes(),
        }))
    }
}
