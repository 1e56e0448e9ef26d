//! Reads snapshots from files that zmtop wrote. Snapshots of many hosts come from `fleet`.
//!
//! A file is recognized by its content: a recording of `zmtop record`, or the output of `zmtop ps --format ndjson`, plain or
//! compressed by zstd. A directory is all recordings in it.
//! `run` calls this module for `--from`. It does not know how the snapshots are used.
//!
//! ```text
//! frames    splits it into JSON objects, each on one line or over several
//! objects   parses them by `record`, and skips damaged ones
//! recording the index of a recording, to read it from any moment
//! at        parses and resolves `--at`
//! ```
//!
//! Damage is reported and skipped, and the rest is used: see [`Fault::ends`].
//!
//! To add a source: an iterator of `Result<Arc<Snapshot>, SourceError>` like [`Source`], opened in `run/snapshot.rs`,
//! which distinguishes sources. New faults are variants of [`Fault`].

pub mod at;

mod error;
mod frames;
mod objects;
mod recording;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, IsTerminal, Read};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use at::{At, AtError};
pub use error::{Fault, SourceError};
use frames::Frames;
pub use frames::LONGEST;
use objects::Objects;
pub use recording::{Group, Recording, SUFFIX, group_of};
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::model::Snapshot;
use crate::record::{self, ChangeReader, Recorded};
use crate::text;

/// Bytes read at a time, by zstd too.
const BUFFER: usize = 128 << 10;

/// The largest accepted window, as a power of 2: 128 MiB, as `zstd --long` uses. A header may claim terabytes.
const WINDOW_LOG: u32 = 27;

/// The initial monotonic clock of a file without one: late enough for any age.
const START: Duration = Duration::from_secs(1 << 24);

/// The snapshots of a file, in the file's order, numbered from 1.
///
/// Their monotonic clock is the recorded one, or else advances with the wall clock and never runs back. A file may hold
/// several boots and hosts: [`History`](crate::history::History) begins again if the boot id or the host changes or the
/// clock runs back.
pub struct Source {
    objects: Objects<Recorded>,
    name: String,
    last: Option<Arc<Snapshot>>,
    tick: u64,
}

impl Source {
    /// Opens a regular file, a directory of recordings, or standard input if `path` is `-`.
    ///
    /// # Errors
    /// It cannot be opened or read, or is a FIFO, a device or a terminal.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        Self::open_at(path, SystemTime::UNIX_EPOCH)
    }

    /// Reads a stream, such as the former standard input. Blocks until it has sent a few bytes.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of_stream(stream: File) -> Result<Self, SourceError> {
        let name = file_name(Path::new("-"));
        let frames = decompress(Box::new(stream)).map_err(|error| Fault::unreadable(&error).of(&name))?;
        Ok(Self::new(name, frames))
    }

    /// Opens a file or a directory to read the snapshots from the moment `at` on. A few earlier ones may come first. A file of lines
    /// is read from its beginning.
    ///
    /// # Errors
    /// As of [`Self::open`].
    pub fn open_at(path: &Path, at: SystemTime) -> Result<Self, SourceError> {
        if is_recording(path) {
            return Ok(Recording::open(path)?.read_from(at));
        }
        let name = file_name(path);
        let frames = open(path).map_err(|fault| fault.of(&name))?;
        Ok(Self::new(name, frames))
    }

    /// As [`Self::open_at`], from `past` before the last snapshot that is not after `until`, or before the last of all.
    pub fn open_before(path: &Path, until: Option<SystemTime>, past: Duration) -> Result<Self, SourceError> {
        if !is_recording(path) {
            return Self::open(path);
        }
        let recording = Recording::open(path)?;
        let end = recording.span().1;
        let last = until.map_or(end, |until| recording.last_before(until));
        Ok(recording.read_from(last.checked_sub(past).unwrap_or(SystemTime::UNIX_EPOCH)))
    }

    fn new(name: String, frames: Frames) -> Self {
        let mut lines = ChangeReader::default();
        Self {
            objects: Objects::new(frames, move |line| lines.read(line)),
            name,
            last: None,
            tick: 0,
        }
    }

    fn of(name: String, lines: Box<dyn BufRead + Send>, compressed: bool) -> Self {
        Self::new(name, Frames::new(lines, compressed))
    }

    /// Safe to print.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Skips longer snapshots, in place of those longer than [`LONGEST`].
    #[must_use]
    pub const fn with_longest(mut self, bytes: usize) -> Self {
        self.objects.frames.longest = bytes;
        self
    }

    /// Places a snapshot on the monotonic clock.
    fn place(&mut self, recorded: Recorded) -> Arc<Snapshot> {
        self.tick += 1;
        let monotonic = recorded.monotonic.unwrap_or_else(|| match &self.last {
            None => START,
            Some(last) => {
                let since = recorded.time().duration_since(last.time);
                last.monotonic.saturating_add(since.unwrap_or_default())
            }
        });
        let mut snapshot = recorded.at(monotonic, self.tick);
        if let (Some(last), Ok(rows)) = (&self.last, &mut snapshot.processes) {
            // Share unchanged facts. Both are sorted.
            let mut before = last.rows().iter().peekable();
            for row in rows {
                while before.next_if(|old| old.id < row.id).is_some() {}
                if let Some(old) = before.next_if(|old| old.id == row.id)
                    && old.facts == row.facts
                {
                    row.facts = Arc::clone(&old.facts);
                }
            }
        }
        // A table that is the same was not read again.
        if let Some(last) = &self.last
            && last.kernel.slab == snapshot.kernel.slab
        {
            snapshot.kernel.slab.clone_from(&last.kernel.slab);
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

/// Returns the wall-clock times of the first and the last snapshot of a file. Skips damage.
///
/// # Errors
/// It cannot be opened, or has no snapshot.
pub fn span(path: &Path) -> Result<(SystemTime, SystemTime), SourceError> {
    if is_recording(path) {
        return Recording::open(path).map(|recording| recording.span());
    }
    let name = file_name(path);
    let frames = open(path).map_err(|fault| fault.of(&name))?;
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

fn file_name(path: &Path) -> String {
    match path.as_os_str().as_encoded_bytes() {
        b"-" => "standard input".into(),
        bytes => text::safe(bytes).into_owned(),
    }
}

fn open(path: &Path) -> Result<Frames, Fault> {
    if path.as_os_str() == "-" {
        if io::stdin().is_terminal() {
            return Err(Fault::Kind("a terminal"));
        }
        return decompress(Box::new(io::stdin())).map_err(|e| Fault::unreadable(&e));
    }
    let file = open_regular(path)?;
    decompress(Box::new(file)).map_err(|e| Fault::unreadable(&e))
}

/// Returns true for a directory, and for a file that begins as a recording does.
fn is_recording(path: &Path) -> bool {
    if path.as_os_str() == "-" {
        return false;
    }
    let mut start = [0; record::START.len()];
    let begins = |mut file: File| file.read_exact(&mut start).is_ok() && start == record::START;
    path.is_dir() || open_regular(path).is_ok_and(begins)
}

/// Opens a regular file.
fn open_regular(path: &Path) -> Result<File, Fault> {
    // Do not wait for the other end of a FIFO, and do not acquire a terminal.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(|e| Fault::unreadable(&e.into()))?;
    let stat = rustix::fs::fstat(&file).map_err(|e| Fault::unreadable(&e.into()))?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => return Ok(file.into()),
        FileType::Directory => "a directory",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink | FileType::Unknown => "something unknown",
    };
    Err(Fault::Kind(kind))
}

fn decompress(mut file: Box<dyn Read + Send>) -> io::Result<Frames> {
    let mut magic = Vec::with_capacity(4);
    file.by_ref().take(4).read_to_end(&mut magic)?;
    let is_compressed = is_zstd(&magic);
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(magic).chain(file));
    let input: Box<dyn BufRead + Send> = if is_compressed {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(whole)?;
        decoder.window_log_max(WINDOW_LOG)?;
        Box::new(BufReader::with_capacity(BUFFER, decoder))
    } else {
        Box::new(whole)
    };
    Ok(Frames::new(input, is_compressed))
}

/// Returns the length of the blank lines at the beginning of some bytes. Millions of them compress to nothing, and each line takes
/// long to read by itself.
fn blank_lines(bytes: &[u8]) -> usize {
    let blank = bytes.iter().position(|byte| !byte.is_ascii_whitespace());
    let blank = &bytes[..blank.unwrap_or(bytes.len())];
    blank.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)
}

/// Returns true for a frame of zstd, skippable or not (RFC 8878, 3.1).
fn is_zstd(magic: &[u8]) -> bool {
    matches!(magic, [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}
