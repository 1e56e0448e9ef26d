//! Limits what a flood of processes adds to a recording. Any user can start hundreds of processes a second, each with a command line of
//! its own: without limits, they fill a folder in minutes, and its past is deleted.
//!
//! Two limits act. If snapshots become large, only the command lines that each user's [`Lines`] pay for are recorded in full. And if
//! the files of a folder grow faster than its [`Space`] allows, some snapshots are left out.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::CommandLines;
use crate::model::{Facts, Identity, Memory, Missing, ProcessSample, Snapshot};

/// Minimum time that the files of a folder cover, if it was recorded for that long.
const MIN_SPAN: Duration = Duration::from_secs(12 * 3600);
/// The size of a folder divided by the bytes that may be written to it at once.
const BURSTS: f64 = 8.0;
/// The share of the space that only important snapshots use, if there is no other.
const RESERVED: f64 = 0.125;
/// Minimum length of the changes from one snapshot to the next for command lines to be limited, in bytes.
const LARGE: usize = 64 << 10;
/// Time for which they are limited afterwards.
const LIMITED: Duration = Duration::from_secs(600);
/// Bytes of each user's names that are recorded in full at once, and bytes a second later.
const NAMES: f64 = 256.0 * 1024.0;
const NAMES_RATE: f64 = 1024.0;
/// Maximum length of a name that is not paid for.
const MAX_NAME: usize = 64;

/// The bytes that may be written to a folder.
#[derive(Debug, Default)]
pub(super) struct Space {
    left: f64,
    /// The bytes for important snapshots.
    reserved: f64,
    filled: Option<Duration>,
}

impl Space {
    /// Returns true if a snapshot may be written, to a folder of at most `size` bytes. If no other bytes are left, an important one may
    /// use the reserved ones, but not those of the future: any user can cause events that make a snapshot important, as often as it
    /// likes.
    pub(super) fn has_room(&mut self, now: Duration, size: u64, is_important: bool) -> bool {
        let burst = size as f64 / BURSTS;
        let since = self.filled.replace(now).map(|filled| now.saturating_sub(filled));
        // The buckets are full at first.
        let new = since.map_or(f64::INFINITY, |since| {
            size as f64 * since.as_secs_f64() / MIN_SPAN.as_secs_f64()
        });
        self.left = (self.left + new * (1.0 - RESERVED)).min(burst * (1.0 - RESERVED));
        self.reserved = (self.reserved + new * RESERVED).min(burst * RESERVED);
        self.left > 0.0 || (is_important && self.reserved > 0.0)
    }

    pub(super) fn spend(&mut self, bytes: usize) {
        let bucket = if self.left > 0.0 {
            &mut self.left
        } else {
            &mut self.reserved
        };
        *bucket -= bytes as f64;
    }
}

/// The names of processes as they are recorded.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// The facts of each process whose names are cut, and the facts that are recorded.
    short: HashMap<Identity, [Arc<Facts>; 2]>,
    lines: Option<Lines>,
}

/// The names that are recorded in full.
#[derive(Debug, Default)]
struct Lines {
    until: Duration,
    filled: Duration,
    /// The bytes left for each user.
    left: HashMap<u32, f64>,
    full: HashMap<Identity, Arc<Facts>>,
}

impl Names {
    /// Returns the snapshot with the names that are recorded.
    pub(super) fn shorten(&mut self, snapshot: &Arc<Snapshot>, keep: CommandLines) -> Arc<Snapshot> {
        self.lines = self.lines.take().filter(|lines| snapshot.monotonic < lines.until);
        if let Some(lines) = &mut self.lines {
            lines.choose(snapshot);
        }
        if keep == CommandLines::Full && self.lines.is_none() {
            self.short.clear();
            return Arc::clone(snapshot);
        }
        let mut short = (**snapshot).clone();
        let mut known = HashMap::new();
        for row in short.processes.iter_mut().flatten() {
            let is_cut = self.lines.as_ref().is_some_and(|lines| !lines.is_full(row));
            if keep == CommandLines::Full && !is_cut {
                continue;
            }
            let facts = match self.short.remove(&row.id) {
                Some(pair) if Arc::ptr_eq(&pair[0], &row.facts) => pair,
                _ => [Arc::clone(&row.facts), Arc::new(shortened(&row.facts, keep, is_cut))],
            };
            row.facts = Arc::clone(&facts[1]);
            known.insert(row.id, facts);
        }
        self.short = known;
        Arc::new(short)
    }

    /// Records the length of the changes that a snapshot brought.
    pub(super) fn written(&mut self, snapshot: &Snapshot, length: usize) {
        if length >= LARGE {
            let lines = self.lines.get_or_insert_with(|| Lines {
                filled: snapshot.monotonic,
                ..Lines::default()
            });
            lines.until = snapshot.monotonic.saturating_add(LIMITED);
        }
    }
}

impl Lines {
    /// Chooses the names that are recorded in full: those that already were, then those of the largest processes, as long as
    /// their users have bytes left.
    fn choose(&mut self, snapshot: &Snapshot) {
        let since = snapshot.monotonic.saturating_sub(self.filled).as_secs_f64();
        self.filled = snapshot.monotonic;
        self.left
            .values_mut()
            .for_each(|left| *left = NAMES_RATE.mul_add(since, *left).min(NAMES));
        let mut before = std::mem::take(&mut self.full);
        let mut new: Vec<&ProcessSample> = Vec::new();
        for row in snapshot.rows() {
            match before.remove(&row.id) {
                Some(facts) if Arc::ptr_eq(&facts, &row.facts) => drop(self.full.insert(row.id, facts)),
                _ => new.push(row),
            }
        }
        new.sort_by_cached_key(|row| (Reverse(row.memory().and_then(Memory::footprint).unwrap_or(0)), row.id));
        for row in new {
            let length = length(&row.facts) as f64;
            let left = self
                .left
                .entry(row.facts.owner_uid().unwrap_or(u32::MAX))
                .or_insert(NAMES);
            if length <= *left {
                *left -= length;
                self.full.insert(row.id, Arc::clone(&row.facts));
            }
        }
        if self.full.len() < snapshot.rows().len() {
            self.until = snapshot.monotonic.saturating_add(LIMITED);
        }
    }

    fn is_full(&self, row: &ProcessSample) -> bool {
        self.full
            .get(&row.id)
            .is_some_and(|facts| Arc::ptr_eq(facts, &row.facts))
    }
}

/// Returns the length of the names that a user chooses for each process.
fn length(facts: &Facts) -> usize {
    let of = |name: Option<&[u8]>| name.map_or(0, <[u8]>::len);
    of(facts.cmdline.as_deref().ok()) + of(facts.exe.as_deref().ok())
}

/// Returns the facts with the command line that is kept; `is_cut` also cuts what is long.
fn shortened(facts: &Facts, keep: CommandLines, is_cut: bool) -> Facts {
    let mut facts = facts.clone();
    let is_named = keep == CommandLines::Name || is_cut;
    facts.cmdline = match facts.cmdline {
        Ok(_) if keep == CommandLines::None => Err(Missing::NotRecorded),
        Ok(line) if is_named => {
            let program = line.split(|byte| *byte == 0).next().unwrap_or_default();
            Ok(program[..program.len().min(if is_cut { MAX_NAME } else { usize::MAX })].into())
        }
        line => line,
    };
    if is_cut && facts.exe.as_ref().is_ok_and(|exe| exe.len() > MAX_NAME) {
        facts.exe = Err(Missing::NotRecorded);
    }
    facts
}
