//! Saves the history to a file and resumes it, so that the monitor and one-shot commands have the history from before their
//! start.
//!
//! [`History::keep`] serializes the rows of the last snapshot. [`Kept::read`] parses them, and [`History::resume`] continues them.
//! The time between saving and resuming is a gap. Charts leave it empty, and verdicts treat it as any other gap. The load during
//! the gap is unknown, so only work after it counts.
//!
//! A row is resumed only if it is still valid:
//!
//! - The boot and the namespaces must be the same, because pids and clocks have no meaning in others. The snapshot must be later
//!   than the saved one.
//! - A process must have the same identity and run the same program. An exec changes the addresses of its code. If these may not
//!   be read, a digest of its name is compared.
//! - A group must have the same kind and the same digest of its name. The digest has a random key, which the file has.
//!
//! The file has no command lines. It has the names of killed processes, of the program that had grown before a kill, and of the
//! functions that keep the memory of growing processes. All other names are digests.
//!
//! # Format
//! The file is in the same folder and container as the recordings of the black box, as a [group](crate::record::GroupWriter) of
//! its own kind. The first line is the name of the version. The head and the rows follow, as serde and postcard serialize the
//! types of this module. JSON would delay the first screen ten times as long. The types are no interface: the version changes
//! with any of them, and other versions are not read. [`MAX_BYTES`] limits the size before compression. Growing and large rows
//! are written first, then the others, as far as they fit.
//!
//! The history is not part of a recording, because it is replaced as a whole, whereas a recording is only appended to: a day's
//! history, saved every minute, would be larger than the recording of that day. A separate file also needs no lock: the last
//! writer wins. It works if the black box is off or if another zmtop writes it.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::call_tree::KeptBy;
use crate::history::History;
use crate::history::evaluation::MemberCounts;
use crate::history::groups::{DigestKey, GroupDigest, GroupPast, NumberPast};
use crate::history::kills::Kill;
use crate::history::process::{InUse, LiveSet, ProcessHistory, ProcessPast, image};
use crate::history::row::RowHistory;
use crate::history::system::Suspends;
use crate::history::time_series::TimeSeries;
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;

/// Must change with every change of the types that are saved.
const SCHEMA: &str = "zmtop-history/22\n";
/// Maximum size before compression, in bytes: some hundred rows that changed every second of a day, or 20 000 that
/// never did.
pub const MAX_BYTES: usize = 2 << 20;
/// Maximum number of file systems in memory that are saved. Those used most come first.
const MAX_MOUNTS: usize = 100;

/// The reason why a saved history cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Unusable {
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
    /// The pid of the monitor itself.
    own_pid: Option<u32>,
    suspends: Suspends,
    system: [TimeSeries; 2],
    kills: Vec<Kill>,
    holders: Vec<(Identity, Arc<KeptBy>)>,
    parts: Vec<(String, RowHistory)>,
    /// By mount point.
    mounts: HashMap<Arc<[u8]>, RowHistory>,
    processes: HashMap<Identity, ProcessPast>,
    /// The memory that processes held through descriptors, with the [`image`] of their program.
    held: HashMap<Identity, (u64, RowHistory)>,
    groups: HashMap<GroupDigest, GroupPast>,
    digest_key: DigestKey,
}

/// The first item.
#[derive(Debug, Deserialize, Serialize)]
struct Head<'a> {
    boot_id: String,
    namespaces: String,
    /// The time of the last snapshot.
    at: Duration,
    own_pid: Option<u32>,
    digest_key: DigestKey,
    suspends: Cow<'a, Suspends>,
    system: [Cow<'a, TimeSeries>; 2],
    kills: Vec<Kill>,
    /// The code that keeps the memory of processes.
    kept_by: Vec<(Identity, Cow<'a, KeptBy>)>,
}

/// Any other item.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Part(String, Cow<'a, RowHistory>),
    Mount(Vec<u8>, Cow<'a, RowHistory>),
    Process(Identity, u64, Cow<'a, RowHistory>, Option<LiveSet>, Option<InUse>),
    Held(Identity, u64, Cow<'a, RowHistory>),
    /// With the number of members that have figures, and the past number of living members if it ever changed.
    Group(
        GroupDigest,
        Cow<'a, RowHistory>,
        Cow<'a, MemberCounts>,
        Option<Box<Cow<'a, NumberPast>>>,
    ),
}

/// A row to save.
enum Candidate<'a> {
    Process(Identity, u64, &'a ProcessHistory),
    /// The memory that a process holds through descriptors.
    Held(Identity, u64, &'a RowHistory),
    Group(GroupDigest, &'a RowHistory, &'a MemberCounts, Option<&'a NumberPast>),
}

impl<'a> Candidate<'a> {
    /// Returns a unique key.
    const fn number(&self) -> (u8, u64, u64) {
        match *self {
            Self::Process(id, ..) => (0, id.pid as u64, id.starttime),
            Self::Group((kind, name), ..) => (1, kind as u64, name),
            Self::Held(id, ..) => (2, id.pid as u64, id.starttime),
        }
    }

    fn row(&self) -> &'a RowHistory {
        match self {
            Self::Process(_, _, process) => &process.row,
            Self::Group(_, row, ..) | Self::Held(_, _, row) => row,
        }
    }

    fn line(&self) -> Line<'a> {
        let row = Cow::Borrowed(self.row());
        match *self {
            Self::Process(id, image, process) => {
                let (live_set, malloc) = (process.live_set.as_deref(), process.malloc.as_deref());
                Line::Process(id, image, row, live_set.copied(), malloc.copied())
            }
            Self::Held(id, image, _) => Line::Held(id, image, row),
            Self::Group(digest, _, members, number) => Line::Group(
                digest,
                row,
                Cow::Borrowed(members),
                number.map(|number| Box::new(Cow::Borrowed(number))),
            ),
        }
    }
}

/// Appends an item.
fn write(out: &mut Vec<u8>, item: &impl Serialize) -> Option<()> {
    *out = postcard::to_extend(item, std::mem::take(out)).ok()?;
    Some(())
}

impl History {
    /// Serializes the history. `namespaces` names the namespaces in which its pids and clocks are valid.
    /// Returns `None` before the first snapshot, and if the boot or the processes are unknown.
    pub fn keep(&self, snapshot: &Snapshot, namespaces: &str) -> Option<Vec<u8>> {
        let (Ok(boot_id), Ok(_)) = (&snapshot.boot_id, &snapshot.processes) else {
            return None;
        };
        let mut out = SCHEMA.as_bytes().to_vec();
        let head = Head {
            boot_id: boot_id.to_string(),
            namespaces: namespaces.into(),
            at: self.last.as_ref()?.monotonic,
            own_pid: self.config.own_pid,
            digest_key: self.groups.digest_key,
            suspends: Cow::Borrowed(&self.suspends),
            system: self.system.series().map(Cow::Borrowed),
            kills: self.kill_watch.kills().cloned().collect(),
            kept_by: self
                .kept_by
                .iter()
                .map(|(id, found)| (*id, Cow::Borrowed(&**found)))
                .collect(),
        };
        write(&mut out, &head)?;
        for (id, row) in self.parts.all() {
            write(&mut out, &Line::Part(id.into(), Cow::Borrowed(row)))?;
        }
        let mut mounts: Vec<_> = self.kernel.mounts.all().collect();
        mounts.sort_by_cached_key(|(path, row)| (Reverse(row.worth()), Arc::clone(path)));
        for (path, row) in mounts.into_iter().take(MAX_MOUNTS) {
            write(&mut out, &Line::Mount(path.to_vec(), Cow::Borrowed(row)))?;
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
            let before = out.len();
            if before + one.row().least_saved_bytes() < MAX_BYTES {
                write(&mut out, &one.line())?;
            }
            if out.len() > MAX_BYTES {
                out.truncate(before);
            }
        }
        Some(out)
    }

    /// Continues a saved history with the first snapshot, if both are of the same boot.
    pub fn resume(&mut self, kept: Kept) {
        self.kept = Some(Box::new(kept));
    }

    /// Resumes the system and prepares the groups, before the first snapshot. Drops saved rows that are still unused
    /// once all groups are complete.
    pub(super) fn check_kept(&mut self, snapshot: &Snapshot) {
        let Some(kept) = &mut self.kept else { return };
        if self.first.is_none() && kept.age(snapshot).is_some() {
            let is_keeper = |id: &Identity| Some(id.pid) == kept.own_pid;
            self.keeper = kept.processes.keys().copied().find(is_keeper);
            self.suspends = std::mem::take(&mut kept.suspends);
            self.system.resume(std::mem::take(&mut kept.system));
            self.parts.kept = std::mem::take(&mut kept.parts);
            self.kernel.mounts.kept = std::mem::take(&mut kept.mounts);
            self.kill_watch.resume(std::mem::take(&mut kept.kills));
            self.groups.pasts = std::mem::take(&mut kept.groups);
            self.groups.digest_key = kept.digest_key;
            self.kept_by = std::mem::take(&mut kept.holders);
        } else if self.first.is_none() || !self.groups.may_start(snapshot.monotonic) {
            self.kept = None;
            self.groups.pasts = HashMap::new();
        }
    }

    /// Removes and returns the saved history of a process.
    pub(super) fn kept_of(&mut self, id: Identity) -> Option<ProcessPast> {
        self.kept.as_mut()?.processes.remove(&id)
    }

    /// Removes and returns the saved held memory of a process, unless the process runs another program now.
    pub(super) fn held_kept_of(&mut self, sample: &ProcessSample) -> Option<RowHistory> {
        let (was, row) = self.kept.as_mut()?.held.remove(&sample.id)?;
        (was == image(sample)).then_some(row)
    }
}

impl Kept {
    /// Parses the result of [`History::keep`]. Returns `None` if it is of other namespaces.
    ///
    /// # Errors
    /// It is damaged, truncated or of another version. Then none of it is used.
    pub fn read(bytes: &[u8], namespaces: &str) -> Result<Option<Self>, Unusable> {
        let Some(items) = bytes.strip_prefix(SCHEMA.as_bytes()) else {
            let (name, _) = SCHEMA.split_at(SCHEMA.len() - 3);
            return Err(if bytes.starts_with(name.as_bytes()) {
                Unusable::Version
            } else {
                Unusable::Damaged
            });
        };
        let kept = Self::parse(items).ok_or(Unusable::Damaged)?;
        Ok(Some(kept).filter(|kept| kept.namespaces == namespaces))
    }

    fn parse(items: &[u8]) -> Option<Self> {
        let (head, mut items) = postcard::take_from_bytes::<Head<'_>>(items).ok()?;
        let mut kept = Self {
            boot_id: head.boot_id,
            namespaces: head.namespaces,
            at: head.at,
            own_pid: head.own_pid,
            digest_key: head.digest_key,
            suspends: head.suspends.into_owned(),
            system: head.system.map(Cow::into_owned),
            kills: head.kills,
            holders: head
                .kept_by
                .into_iter()
                .map(|(id, found)| (id, Arc::new(found.into_owned())))
                .collect(),
            parts: Vec::new(),
            mounts: HashMap::new(),
            processes: HashMap::new(),
            held: HashMap::new(),
            groups: HashMap::new(),
        };
        let at = kept.at;
        if !kept.system.iter().all(|series| series.ends_by(at)) {
            return None;
        }
        let resumed = |row: Cow<'_, RowHistory>| row.into_owned().resumed(at);
        let counts = |counts: Cow<'_, MemberCounts>| Some(counts.into_owned()).filter(|counts| counts.0.ends_by(at));
        while !items.is_empty() {
            let (item, rest) = postcard::take_from_bytes(items).ok()?;
            items = rest;
            match item {
                Line::Part(id, row) => kept.parts.push((id, resumed(row)?)),
                Line::Mount(path, row) => {
                    kept.mounts.insert(path.into(), resumed(row)?);
                }
                Line::Process(id, image, row, live_set, malloc) => {
                    let past = ProcessPast {
                        image,
                        row: resumed(row)?,
                        live_set: live_set.filter(|live| live.is_before(at)).map(Box::new),
                        malloc: malloc.filter(|malloc| malloc.at <= at).map(Box::new),
                    };
                    kept.processes.insert(id, past);
                }
                Line::Held(id, image, row) => {
                    kept.held.insert(id, (image, resumed(row)?));
                }
                Line::Group(digest, row, members, number) => {
                    let past = GroupPast {
                        row: resumed(row)?,
                        members: counts(members)?,
                        number: number.and_then(|number| number.into_owned().resumed(at)),
                    };
                    kept.groups.insert(digest, past);
                }
            }
        }
        Some(kept)
    }

    /// Returns the time from its last snapshot to this one. Returns `None` if this one is earlier or of another boot.
    pub fn age(&self, snapshot: &Snapshot) -> Option<Duration> {
        let is_same = snapshot.boot_id.as_ref().is_ok_and(|id| **id == *self.boot_id);
        snapshot.monotonic.checked_sub(self.at).filter(|_| is_same)
    }

    /// Drops the histories of groups.
    pub fn drop_groups(&mut self) {
        self.groups.clear();
    }
}
