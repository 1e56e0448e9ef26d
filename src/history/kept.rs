//! Saves a history as bytes while zmtop does not run, and resumes it.
//!
//! [`History::keep`] writes the rows of the last snapshot; [`Kept::read`] and [`History::resume`] continue them. The
//! time in between is a gap: nothing is drawn, and verdicts treat it as any other gap. The load in it is unknown, so
//! only later work counts.
//!
//! Only what is still valid is resumed. A process is identified by its identity and the addresses of its code, as an
//! exec changes them, or by a digest of its name if the addresses may not be read. A group is identified by its kind
//! and a digest of its name. Names and command lines are not saved; a kill is its record in the kernel's log, which is read
//! again. A saved history is valid only in the same boot and
//! namespaces, in which pids and clocks mean the same, and only after the time of saving.
//!
//! # Format
//! `zmtop history 9`, a line feed, and a zlib stream, which has a checksum, of LEB128 numbers. The format is not an
//! interface: any change of it is a new version, and other versions are not read. [`MAX_BYTES`] is the bound before
//! compression: growing and large rows come first, then those that fit.

mod codec;
mod row;
mod series;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use codec::{Reader, Writer};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use thiserror::Error;

use crate::history::History;
use crate::history::evaluation::MemberCounts;
use crate::history::groups::{GroupDigest, GroupPast};
use crate::history::kills::{KeptKill, MAX_KILLS};
use crate::history::process::{ProcessHistory, ProcessPast, image};
use crate::history::row::RowHistory;
use crate::history::system::{MAX_KEPT, Suspends};
use crate::history::time_series::TimeSeries;
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;

/// The start of the file in all versions.
const MAGIC: &[u8] = b"zmtop history ";
/// Must change with every change of the format.
const VERSION: &[u8] = b"9";
/// Maximum size before compression, in bytes: some hundred rows that changed every second of a day, or 80 000 that
/// never did.
pub const MAX_BYTES: usize = 2 << 20;
/// Maximum number of parts of the RAM; an account has fewer.
const MAX_PARTS: u64 = 100;
/// Maximum number of file systems in memory that are saved. Those used most come first.
const MAX_MOUNTS: usize = 100;
/// The fastest compression.
const LEVEL: u8 = 1;

/// Checks that the bytes are a history of this version, damaged or not.
///
/// # Errors
/// They are something else, or of another version, and must not be overwritten.
pub fn check_version(bytes: &[u8]) -> Result<(), Unusable> {
    match body(bytes) {
        Ok(_) | Err(Unusable::Damaged) => Ok(()),
        Err(other) => Err(other),
    }
}

/// Returns the bytes after the version.
fn body(bytes: &[u8]) -> Result<&[u8], Unusable> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(Unusable::Foreign)?;
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(Unusable::Damaged)?;
    if &rest[..end] != VERSION {
        return Err(Unusable::Version);
    }
    Ok(&rest[end + 1..])
}

/// Why a saved history cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unusable {
    #[error("is no history of zmtop")]
    Foreign,
    #[error("is of another version of zmtop")]
    Version,
    #[error("is damaged")]
    Damaged,
}

/// A saved history.
#[derive(Debug)]
pub struct Kept {
    boot_id: String,
    namespaces: String,
    /// The time of its last snapshot.
    at: Duration,
    suspends: Suspends,
    system: [TimeSeries; 2],
    parts: Vec<(String, RowHistory)>,
    /// By mount point.
    mounts: HashMap<Arc<[u8]>, RowHistory>,
    kills: Vec<KeptKill>,
    processes: HashMap<Identity, ProcessPast>,
    /// The memory that processes held through descriptors, with the [`image`] of their program.
    held: HashMap<Identity, (u64, RowHistory)>,
    groups: HashMap<GroupDigest, GroupPast>,
}

/// A row to save.
enum Candidate<'a> {
    Process(Identity, u64, &'a ProcessHistory),
    /// The memory that a process holds through descriptors.
    Held(Identity, u64, &'a RowHistory),
    Group(GroupDigest, &'a RowHistory, &'a MemberCounts, Option<&'a MemberCounts>),
}

impl Candidate<'_> {
    /// Returns a unique key.
    const fn number(&self) -> (u8, u64, u64) {
        match *self {
            Self::Process(id, ..) => (0, id.pid as u64, id.starttime),
            Self::Group((kind, name), ..) => (1, kind as u64, name),
            Self::Held(id, ..) => (2, id.pid as u64, id.starttime),
        }
    }

    fn row(&self) -> &RowHistory {
        match self {
            Self::Process(_, _, process) => &process.row,
            Self::Group(_, row, ..) | Self::Held(_, _, row) => row,
        }
    }

    fn write(&self, out: &mut Writer) {
        match *self {
            Self::Process(id, image, process) => {
                out.number(1);
                out.number(id.pid.into());
                out.number(id.starttime);
                out.number(image);
                row::write(&process.row, out);
                out.option(process.live_set.as_deref(), row::write_live_set);
            }
            Self::Held(id, image, row) => {
                out.number(3);
                out.number(id.pid.into());
                out.number(id.starttime);
                out.number(image);
                row::write(row, out);
            }
            Self::Group((kind, name), row, members, number) => {
                out.number(2);
                out.number(kind.into());
                out.number(name);
                row::write(row, out);
                series::write(&members.0, out);
                out.option(number, |out, number| series::write(&number.0, out));
            }
        }
    }
}

impl History {
    /// Returns the history as bytes for [`pack`]. `namespaces` identifies those in which its pids and clocks are valid.
    /// `None` before the first snapshot, and if the boot or the processes are unknown.
    pub fn keep(&self, snapshot: &Snapshot, namespaces: &str) -> Option<Vec<u8>> {
        let (Ok(boot_id), Ok(_)) = (&snapshot.boot_id, &snapshot.processes) else {
            return None;
        };
        let at = self.last.as_ref()?.monotonic;
        let mut out = Writer::default();
        out.text(boot_id);
        out.text(namespaces);
        out.time(at);
        out.option(self.suspends.kept(), |out, (offset, found)| {
            out.float(offset);
            out.number(found.len() as u64);
            for (at, length) in found {
                out.time(at);
                out.time(length);
            }
        });
        for series in self.system.series() {
            series::write(series, &mut out);
        }
        let parts = self.parts.all();
        out.number(parts.len() as u64);
        for (id, row) in parts {
            out.text(id);
            row::write(row, &mut out);
        }
        let mut mounts: Vec<_> = self.kernel.mounts.all().collect();
        mounts.sort_by_cached_key(|(path, row)| (Reverse(row.worth()), Arc::clone(path)));
        mounts.truncate(MAX_MOUNTS);
        out.number(mounts.len() as u64);
        for (path, row) in mounts {
            out.chunk(path);
            row::write(row, &mut out);
        }
        let kills = self.kill_watch.keep();
        out.number(kills.len() as u64);
        for kill in kills {
            out.time(kill.at);
            out.option(kill.record, Writer::number);
            out.number(kill.is_seen.into());
        }
        let clock = self.wakeups.clock;
        let processes = self.processes.iter().filter_map(|(id, process)| {
            process.row.rested(clock);
            Some(Candidate::Process(*id, image(snapshot.row(*id)?), process))
        });
        let held = self
            .held
            .processes()
            .filter_map(|(id, held)| Some(Candidate::Held(id, image(snapshot.row(id)?), held.row())));
        let groups = self.groups.all();
        let groups = groups.map(|(digest, row, members, number)| Candidate::Group(digest, row, members, number));
        let is_known = |row: &RowHistory| row.footprint_series().newest().is_some() && !row.is_without_past();
        let mut all: Vec<_> = processes
            .chain(held)
            .chain(groups)
            .filter(|one| is_known(one.row()))
            .collect();
        all.sort_by_cached_key(|one| (Reverse(one.row().worth()), one.number()));
        for one in &all {
            let before = out.bytes.len();
            if before + row::least_bytes(one.row()) < MAX_BYTES {
                one.write(&mut out);
            }
            if out.bytes.len() >= MAX_BYTES {
                out.bytes.truncate(before);
            }
        }
        out.number(0);
        Some(out.bytes)
    }

    /// Continues a saved history, if the first snapshot shows that it is of the same machine and boot.
    pub fn resume(&mut self, kept: Kept) {
        self.kept = Some(Box::new(kept));
    }

    /// Resumes the system and prepares the groups, before the first snapshot. Drops saved rows that are still unused
    /// once all groups are complete.
    pub(super) fn check_kept(&mut self, snapshot: &Snapshot) {
        let Some(kept) = &mut self.kept else { return };
        if self.first.is_none() && kept.age(snapshot).is_some() {
            self.suspends = std::mem::take(&mut kept.suspends);
            self.system.resume(std::mem::take(&mut kept.system));
            self.parts.kept = std::mem::take(&mut kept.parts);
            self.kernel.mounts.kept = std::mem::take(&mut kept.mounts);
            self.kill_watch.resume(std::mem::take(&mut kept.kills), snapshot);
            self.groups.pasts = std::mem::take(&mut kept.groups);
        } else if self.first.is_none() || !self.groups.may_start(snapshot.monotonic) {
            self.kept = None;
            self.groups.pasts = HashMap::new();
        }
    }

    /// Takes the saved history of a process.
    pub(super) fn kept_of(&mut self, id: Identity) -> Option<ProcessPast> {
        self.kept.as_mut()?.processes.remove(&id)
    }

    /// Takes the saved held memory of a process, unless it runs another program now.
    pub(super) fn held_kept_of(&mut self, sample: &ProcessSample) -> Option<RowHistory> {
        let (was, row) = self.kept.as_mut()?.held.remove(&sample.id)?;
        (was == image(sample)).then_some(row)
    }
}

impl Kept {
    /// Reads the result of [`pack`]; `None` if it is of other namespaces.
    ///
    /// # Errors
    /// It is not a whole history of this version. Nothing of it is used then.
    pub fn read(bytes: &[u8], namespaces: &str) -> Result<Option<Self>, Unusable> {
        let raw = decompress_to_vec_zlib_with_limit(body(bytes)?, MAX_BYTES).map_err(|_| Unusable::Damaged)?;
        let kept = Self::decode(&mut Reader { rest: &raw }).ok_or(Unusable::Damaged)?;
        Ok(Some(kept).filter(|kept| kept.namespaces == namespaces))
    }

    fn decode(input: &mut Reader<'_>) -> Option<Self> {
        let (boot_id, namespaces, at) = (input.text()?, input.text()?, input.time()?);
        let until = u32::try_from(at.as_secs()).ok()?;
        let suspends = input.option(read_suspends)?.unwrap_or_default();
        let mut kept = Self {
            boot_id,
            namespaces,
            at,
            suspends,
            system: [series::read(input, until)?, series::read(input, until)?],
            parts: Vec::new(),
            mounts: HashMap::new(),
            kills: Vec::new(),
            processes: HashMap::new(),
            held: HashMap::new(),
            groups: HashMap::new(),
        };
        for _ in 0..input.number().filter(|parts| *parts <= MAX_PARTS)? {
            kept.parts.push((input.text()?, row::read(input, at)?));
        }
        for _ in 0..input.number().filter(|mounts| *mounts <= MAX_MOUNTS as u64)? {
            kept.mounts.insert(input.chunk()?.into(), row::read(input, at)?);
        }
        for _ in 0..input.number().filter(|kills| *kills <= MAX_KILLS as u64)? {
            kept.kills.push(KeptKill {
                at: input.time()?,
                record: input.option(Reader::number)?,
                is_seen: input.flag()?,
            });
        }
        loop {
            match input.number()? {
                0 => return input.rest.is_empty().then_some(kept),
                1 => {
                    let (pid, starttime) = (input.small()?, input.number()?);
                    let past = ProcessPast {
                        image: input.number()?,
                        row: row::read(input, at)?,
                        live_set: input.option(|input| row::read_live_set(input, at).map(Box::new))?,
                    };
                    kept.processes.insert(Identity { pid, starttime }, past);
                }
                2 => {
                    let digest = (input.number()?.try_into().ok()?, input.number()?);
                    let past = GroupPast {
                        row: row::read(input, at)?,
                        members: MemberCounts(series::read(input, until)?),
                        number: input.option(|input| series::read(input, until).map(MemberCounts))?,
                    };
                    kept.groups.insert(digest, past);
                }
                3 => {
                    let (pid, starttime, image) = (input.small()?, input.number()?, input.number()?);
                    let row = row::read(input, at)?;
                    kept.held.insert(Identity { pid, starttime }, (image, row));
                }
                _ => return None,
            }
        }
    }

    /// Returns the time from its last snapshot to this one; `None` if that is not a later one of the same boot.
    pub fn age(&self, snapshot: &Snapshot) -> Option<Duration> {
        let is_same = snapshot.boot_id.as_ref().is_ok_and(|id| **id == *self.boot_id);
        snapshot.monotonic.checked_sub(self.at).filter(|_| is_same)
    }

    /// Drops the histories of groups.
    pub fn drop_groups(&mut self) {
        self.groups.clear();
    }
}

fn read_suspends(input: &mut Reader<'_>) -> Option<Suspends> {
    let offset = input.float()?;
    let mut found = Vec::new();
    for _ in 0..input.number().filter(|count| *count <= MAX_KEPT as u64)? {
        found.push((input.time()?, input.time()?));
    }
    Some(Suspends::of(offset, found))
}

/// Compresses the result of [`History::keep`] to the bytes of a file.
pub fn pack(kept: &[u8]) -> Vec<u8> {
    [MAGIC, VERSION, b"\n", &compress_to_vec_zlib(kept, LEVEL)].concat()
}
