//! Sources of snapshots other than this machine: files that zmtop wrote. Many hosts are in `fleet`.
//!
//! The content of a file tells what it is: what `zmtop ps --format json` and `ndjson` write, plain or compressed
//! by zstd. Called by `run` for `--from`; it knows nothing of what is done with the snapshots.
//!
//! ```text
//! file      opens it; takes the compression off
//! frames    one JSON object after another: one a line, or each over several lines
//! objects   reads them by `record`; passes over what is damaged
//! at        the moment of it that is meant
//! ```
//!
//! Damage is named and passed over, and the rest is used: see [`SourceError::ends`].
//!
//! To add a source: an iterator of `Result<Arc<Snapshot>, SourceError>` like [`Source`], opened in
//! `run/snapshot.rs`, which tells sources apart; what is new of its faults is a variant of [`Fault`].

pub mod at;

mod error;
mod file;
mod frames;
mod objects;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use at::{At, AtError};
pub use error::{Fault, SourceError};
pub use frames::LONGEST;
use objects::Objects;

use crate::model::Snapshot;
use crate::record::{self, Recorded};

/// The monotonic clock at the beginning of a file that has none of its own: late enough for any age before it.
const START: Duration = Duration::from_secs(1 << 24);

/// The snapshots of a file, in the order they stand in it, numbered from 1.
///
/// Their monotonic clock is the one that was written; where there is none, the difference of the wall clock,
/// which never runs back. A file may hold several boots and several hosts: where the boot id or the host
/// changes, or the clock runs back, [`History`](crate::history::History) begins anew.
#[derive(Debug)]
pub struct Source {
    objects: Objects<Recorded>,
    name: String,
    last: Option<Arc<Snapshot>>,
    tick: u64,
}

impl Source {
    /// Opens a regular file, or standard input where `path` is `-`.
    ///
    /// # Errors
    /// It cannot be opened or read, or is of another kind: a directory, a FIFO, a device, a terminal.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let name = file::name(path);
        let frames = file::open(path).map_err(|fault| fault.of(&name))?;
        Ok(Self {
            objects: Objects::new(frames, record::read),
            name,
            last: None,
            tick: 0,
        })
    }

    /// Returns the file's name, safe to print.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Passes over texts longer than that, rather than than [`LONGEST`].
    #[must_use]
    pub const fn with_longest(mut self, bytes: usize) -> Self {
        self.objects.set_longest(bytes);
        self
    }

    /// Puts a snapshot on the clock, after the one before it.
    fn place(&mut self, recorded: Recorded) -> Arc<Snapshot> {
        self.tick += 1;
        let monotonic = recorded.monotonic().unwrap_or_else(|| match &self.last {
            None => START,
            Some(last) => {
                let since = recorded.time().duration_since(last.time);
                last.monotonic.saturating_add(since.unwrap_or_default())
            }
        });
        let mut snapshot = recorded.at(monotonic, self.tick);
        if let (Some(last), Ok(rows)) = (&self.last, &mut snapshot.processes) {
            // What has not changed is held once.
            for row in rows {
                let same = last.rows().binary_search_by_key(&row.id, |old| old.id);
                if let Ok(at) = same
                    && last.rows()[at].facts == row.facts
                {
                    row.facts = Arc::clone(&last.rows()[at].facts);
                }
            }
        }
        let snapshot = Arc::new(snapshot);
        self.last = Some(Arc::clone(&snapshot));
        snapshot
    }
}

impl Iterator for Source {
    type Item = Result<Arc<Snapshot>, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.objects.next()?;
        Some(match next {
            Ok(recorded) => Ok(self.place(recorded)),
            Err(fault) => Err(fault.of(&self.name)),
        })
    }
}

/// Returns the wall clocks of the first and of the last snapshot of a file; what is damaged is passed over.
///
/// # Errors
/// It cannot be opened, or holds no snapshot.
pub fn span(path: &Path) -> Result<(SystemTime, SystemTime), SourceError> {
    let name = file::name(path);
    let frames = file::open(path).map_err(|fault| fault.of(&name))?;
    let mut span: Option<(SystemTime, SystemTime)> = None;
    let mut first_fault = Fault::Empty;
    for next in Objects::new(frames, record::time_of) {
        match next {
            Ok(time) => span = Some((span.map_or(time, |(first, _)| first), time)),
            Err(fault) if fault.ends() || first_fault == Fault::Empty => first_fault = fault,
            Err(_) => {}
        }
    }
    span.ok_or_else(|| first_fault.of(&name))
}
