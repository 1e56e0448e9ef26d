//! Snapshots that were written to a file.
//!
//! What `zmtop ps --format json` and `ndjson` write, plain or compressed by zstd, is told by its content:
//!
//! ```text
//! file     opens it; takes the compression off
//! frames   one JSON object after another: one a line, or each over several lines
//! at       which moment of it is meant
//! ```
//!
//! What is damaged is passed over and named, and the rest is used: see [`SourceError::ends`].

pub mod at;

mod error;
mod file;
mod frames;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use at::{At, AtError};
pub use error::SourceError;
use error::Trouble;
use frames::{Frame, Frames};

use crate::model::Snapshot;
use crate::record;
use crate::record::{Recorded, WireError};

/// The longest text of one snapshot, in bytes.
pub const LONGEST: usize = 256 << 20;

/// Where the clock of a file begins that has none of its own: late enough for any age before it.
const START: Duration = Duration::from_secs(1 << 24);

/// The snapshots of a file, in the order they stand in it, numbered from 1.
///
/// Their monotonic clock is the one that was written; where there is none, the difference of the wall clock,
/// which never runs back. A file may hold several boots and several hosts: where the boot id or the host
/// changes, or the clock runs back, [`History`](crate::history::History) begins anew.
#[derive(Debug)]
pub struct Source {
    frames: Frames,
    name: String,
    last: Option<Arc<Snapshot>>,
    /// Damage that may go on in the next frame.
    damaged: Option<Damage>,
    /// What came after that damage.
    next: Option<Arc<Snapshot>>,
    tick: u64,
    ended: bool,
}

/// Frames in a row that could not be read.
#[derive(Debug)]
struct Damage {
    first: u64,
    last: u64,
    what: String,
}

/// What a frame gave.
enum Outcome<T> {
    Good(T),
    Bad(Damage),
    /// One was cut short, and another begins in the same line.
    Half(Damage, T),
    Ends(Trouble),
}

impl Source {
    /// Opens a regular file, or standard input where `path` is `-`.
    ///
    /// # Errors
    /// It cannot be opened or read, or is of another kind: a directory, a FIFO, a device, a terminal.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let name = file::name(path);
        let frames = file::open(path).map_err(|what| what.of(&name))?;
        Ok(Self {
            frames,
            name,
            last: None,
            damaged: None,
            next: None,
            tick: 0,
            ended: false,
        })
    }

    /// The file's name, safe to print.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Passes over texts longer than that, rather than than [`LONGEST`].
    #[must_use]
    pub const fn with_longest(mut self, bytes: usize) -> Self {
        self.frames.set_longest(bytes);
        self
    }

    /// Puts a snapshot on the clock, after the one before it.
    fn placed(&mut self, recorded: Recorded) -> Arc<Snapshot> {
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

    fn fault(&mut self, trouble: impl Into<Trouble>) -> SourceError {
        let error = trouble.into().of(&self.name);
        self.ended |= error.ends();
        error
    }

    fn damage(&mut self, damage: Damage) {
        match &mut self.damaged {
            Some(before) => before.last = damage.last,
            None => self.damaged = Some(damage),
        }
    }
}

/// What one frame holds, by `read`.
fn take<T>(frame: &Frame<'_>, longest: usize, read: fn(&[u8]) -> Result<T, WireError>) -> Outcome<T> {
    if frame.too_long {
        return Outcome::Bad(Damage {
            first: frame.line,
            last: frame.end,
            what: format!("longer than {longest} bytes"),
        });
    }
    let error = match read(frame.text) {
        Ok(snapshot) => return Outcome::Good(snapshot),
        Err(error) => error,
    };
    let damage = |line| Damage {
        first: line,
        last: frame.end,
        what: error.to_string(),
    };
    match error {
        WireError::Newer(_) => Outcome::Ends(Trouble::Refused {
            line: frame.line,
            what: error.to_string(),
        }),
        WireError::Schema(_) => Outcome::Bad(damage(frame.line)),
        WireError::Malformed { line, cut, .. } => match resumed(frame.text).map(read) {
            Some(Ok(snapshot)) => Outcome::Half(damage(frame.line), snapshot),
            _ if cut && frame.last => Outcome::Ends(Trouble::Cut { line: frame.line }),
            _ => Outcome::Bad(damage(frame.line + line as u64 - 1)),
        },
    }
}

/// What was written after a writer was killed in the middle of a line: no string in JSON can look so.
fn resumed(text: &[u8]) -> Option<&[u8]> {
    let at = text
        .windows(frames::BEGINNING.len())
        .rposition(|bytes| bytes == frames::BEGINNING)?;
    (at > 0).then(|| &text[at..])
}

impl From<Damage> for Trouble {
    fn from(damage: Damage) -> Self {
        Self::Damaged {
            first: damage.first,
            last: damage.last,
            what: damage.what,
        }
    }
}

impl Iterator for Source {
    type Item = Result<Arc<Snapshot>, SourceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(snapshot) = self.next.take() {
            return Some(Ok(snapshot));
        }
        while !self.ended {
            let longest = self.frames.longest();
            let outcome = match self.frames.next() {
                Ok(Some(frame)) => Some(take(&frame, longest, record::read)),
                Ok(None) => None,
                Err(trouble) => Some(Outcome::Ends(trouble)),
            };
            let good = match outcome {
                Some(Outcome::Good(recorded)) => {
                    self.frames.whole();
                    recorded
                }
                Some(Outcome::Half(damage, recorded)) => {
                    self.damage(damage);
                    recorded
                }
                Some(Outcome::Bad(damage)) => {
                    self.damage(damage);
                    continue;
                }
                Some(Outcome::Ends(trouble)) => {
                    let Some(damage) = self.damaged.take() else {
                        return Some(Err(self.fault(trouble)));
                    };
                    self.frames.stop(trouble);
                    return Some(Err(self.fault(damage)));
                }
                None => {
                    self.ended = true;
                    let fault = self.damaged.take().map(Trouble::from);
                    let fault = fault.or_else(|| self.frames.is_empty().then_some(Trouble::Empty));
                    return fault.map(|fault| Err(self.fault(fault)));
                }
            };
            let snapshot = self.placed(good);
            let Some(damage) = self.damaged.take() else {
                return Some(Ok(snapshot));
            };
            self.next = Some(snapshot);
            return Some(Err(self.fault(damage)));
        }
        None
    }
}

/// The wall clocks of the first and of the last snapshot of a file; what is damaged is passed over.
///
/// # Errors
/// It cannot be opened, or holds no snapshot.
pub fn span(path: &Path) -> Result<(SystemTime, SystemTime), SourceError> {
    let name = file::name(path);
    let mut frames = file::open(path).map_err(|what| what.of(&name))?;
    let mut span: Option<(SystemTime, SystemTime)> = None;
    let mut fault = Trouble::Empty;
    loop {
        let (time, damage) = match frames
            .next()
            .map(|frame| frame.map(|frame| take(&frame, LONGEST, record::time_of)))
        {
            Ok(Some(Outcome::Good(time))) => {
                frames.whole();
                (Some(time), None)
            }
            Ok(Some(Outcome::Half(_, time))) => (Some(time), None),
            Ok(Some(Outcome::Bad(damage))) => (None, Some(damage.into())),
            Ok(Some(Outcome::Ends(trouble))) | Err(trouble) => {
                fault = trouble;
                break;
            }
            Ok(None) => break,
        };
        if let Some(time) = time {
            span = Some((span.map_or(time, |(first, _)| first), time));
        }
        if let (Some(damage), Trouble::Empty) = (damage, &fault) {
            fault = damage;
        }
    }
    span.ok_or_else(|| fault.of(&name))
}
