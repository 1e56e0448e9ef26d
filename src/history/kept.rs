//! The past that is kept while zmtop does not run: histories as bytes, and back.
//!
//! [`History::keep`] writes what is known of the rows of its last snapshot; [`Kept::read`] and [`History::resume`] go on
//! from that. To a history the time in between is one in which nothing was seen: a gap, over which nothing is drawn, and
//! verdicts are as over any other gap. What the load was in it is not known, so that only later work counts.
//!
//! Only what is still true comes back. A process is known by its identity and the addresses of its program, as an exec
//! changes them, or where those are not ours to read by a digest of its name; a group by its kind and a digest of its
//! name. No name and no command line is kept. What was kept counts only in the same boot and in the same namespaces, in
//! which pids and clocks mean the same, and not before it was kept.
//!
//! # Format
//! `zmtop history 4`, a line feed, and a zlib stream, which has a checksum, of numbers as in LEB128. It is not an interface: a
//! change of anything in it is another version, and a history of another version is not read. [`MAX_BYTES`] bound it
//! before it is compressed: rows that grow or are large come first, and of the others those that fit.

mod codec;
mod row;
mod series;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use codec::{Reader, Writer};
use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use thiserror::Error;

use crate::history::History;
use crate::history::evaluation::MemberCounts;
use crate::history::groups::{GroupDigest, GroupPast};
use crate::history::process::{ProcessHistory, ProcessPast, image};
use crate::history::row::RowHistory;
use crate::history::system::{MAX_KEPT, Suspends};
use crate::history::time_series::TimeSeries;
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;

/// The beginning of every version.
const MAGIC: &[u8] = b"zmtop history ";
/// The version: to be raised with every change of the format.
const VERSION: &[u8] = b"4";
/// Bytes before compression at most: some hundred rows that changed every second of a day, or 80 000 that never did.
pub const MAX_BYTES: usize = 2 << 20;
/// Parts of the RAM at most; an account has fewer.
const MAX_PARTS: u64 = 100;
/// The level of compression: the fastest.
const LEVEL: u8 = 1;

/// Checks that the bytes are a history of this version, damaged or not.
///
/// # Errors
/// They are something else, or of another version: not to be overwritten.
pub fn check_version(bytes: &[u8]) -> Result<(), Unusable> {
    match body(bytes) {
        Ok(_) | Err(Unusable::Damaged) => Ok(()),
        Err(other) => Err(other),
    }
}

/// Returns what follows the version.
fn body(bytes: &[u8]) -> Result<&[u8], Unusable> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(Unusable::Foreign)?;
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(Unusable::Damaged)?;
    if &rest[..end] != VERSION {
        return Err(Unusable::Version);
    }
    Ok(&rest[end + 1..])
}

/// The reason not to go on from what was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unusable {
    /// It is no such history.
    #[error("is no history of zmtop")]
    Foreign,
    /// Another version wrote it.
    #[error("is of another version of zmtop")]
    Version,
    /// It is not whole.
    #[error("is damaged")]
    Damaged,
}

/// A history that was kept.
#[derive(Debug)]
pub struct Kept {
    boot_id: String,
    namespaces: String,
    /// The time of its last snapshot.
    at: Duration,
    suspends: Suspends,
    system: [TimeSeries; 2],
    parts: Vec<(String, RowHistory)>,
    processes: HashMap<Identity, ProcessPast>,
    /// The memory that processes held, with the program that they ran.
    held: HashMap<Identity, (u64, RowHistory)>,
    groups: HashMap<GroupDigest, GroupPast>,
}

/// A row to keep.
enum Candidate<'a> {
    Process(Identity, u64, &'a ProcessHistory),
    /// The same of what it holds through its descriptors.
    Held(Identity, u64, &'a RowHistory),
    Group(GroupDigest, &'a RowHistory, &'a MemberCounts),
}

impl Candidate<'_> {
    /// Returns what tells it from every other.
    const fn number(&self) -> (u8, u64, u64) {
        match *self {
            Self::Process(id, ..) => (0, id.pid as u64, id.starttime),
            Self::Group((kind, name), _, _) => (1, kind as u64, name),
            Self::Held(id, ..) => (2, id.pid as u64, id.starttime),
        }
    }

    fn row(&self) -> &RowHistory {
        match self {
            Self::Process(_, _, process) => &process.row,
            Self::Group(_, row, _) | Self::Held(_, _, row) => row,
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
            Self::Group((kind, name), row, members) => {
                out.number(2);
                out.number(kind.into());
                out.number(name);
                row::write(row, out);
                series::write(&members.0, out);
            }
        }
    }
}

impl History {
    /// Returns what is known of the past, as [`pack`] wants it; `namespaces` name those in which pids and clocks mean what
    /// they do now. `None` before the first snapshot, and where neither the boot nor the processes
    /// are known.
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
        let groups = groups.map(|(digest, row, members)| Candidate::Group(digest, row, members));
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

    /// Goes on from what was kept, if the first snapshot shows that it is of the same machine and boot.
    pub fn resume(&mut self, kept: Kept) {
        self.kept = Some(Box::new(kept));
    }

    /// Takes in what was kept of the system and the groups, before the first snapshot; forgets what nobody asked for until
    /// all groups are complete.
    pub(super) fn check_kept(&mut self, snapshot: &Snapshot) {
        let Some(kept) = &mut self.kept else { return };
        if self.first.is_none() && kept.precedes(snapshot) {
            self.suspends = std::mem::take(&mut kept.suspends);
            self.system.resume(std::mem::take(&mut kept.system));
            self.parts.kept = std::mem::take(&mut kept.parts);
            self.groups.pasts = std::mem::take(&mut kept.groups);
        } else if self.first.is_none() || !self.groups.may_start(snapshot.monotonic) {
            self.kept = None;
            self.groups.pasts = HashMap::new();
        }
    }

    /// Takes out what was kept of a process.
    pub(super) fn kept_of(&mut self, id: Identity) -> Option<ProcessPast> {
        self.kept.as_mut()?.processes.remove(&id)
    }

    /// Takes out what was kept of what a process held, unless it runs another program by now.
    pub(super) fn held_kept_of(&mut self, sample: &ProcessSample) -> Option<RowHistory> {
        let (was, row) = self.kept.as_mut()?.held.remove(&sample.id)?;
        (was == image(sample)).then_some(row)
    }
}

impl Kept {
    /// Reads what [`pack`] returned, in these namespaces; `None` where pids and clocks meant something else then.
    ///
    /// # Errors
    /// It is not what this version of zmtop writes. Nothing of it is used then.
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
            processes: HashMap::new(),
            held: HashMap::new(),
            groups: HashMap::new(),
        };
        for _ in 0..input.number().filter(|parts| *parts <= MAX_PARTS)? {
            kept.parts.push((input.text()?, row::read(input, at)?));
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

    /// Returns true if the snapshot is a later one of the same boot.
    fn precedes(&self, snapshot: &Snapshot) -> bool {
        let is_same = snapshot.boot_id.as_ref().is_ok_and(|id| **id == *self.boot_id);
        is_same && snapshot.monotonic >= self.at
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

/// Compresses what [`History::keep`] returned: the bytes of a file.
pub fn pack(kept: &[u8]) -> Vec<u8> {
    [MAGIC, VERSION, b"\n", &compress_to_vec_zlib(kept, LEVEL)].concat()
}
