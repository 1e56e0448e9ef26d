//! A recording that can be read from any moment: its index, and the bytes of its groups.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use zstd::stream::read::Decoder;

use super::error::Fault;
use super::{BUFFER, LONGEST, Source, SourceError, WINDOW_LOG, file_name, is_zstd, open_regular};
use crate::record::{self, Brief, HEADER, Header, Incident, MAX_INCIDENTS, NoHeader, START};

/// The end of the name of each file in a directory of recordings.
pub const SUFFIX: &str = ".zmrec";

/// Maximum number of snapshots of a group of an NDJSON file.
const GROUP: u32 = 60;

/// A recording that is read from any moment: a file of `zmtop record`, an NDJSON file, or a directory of recordings.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    /// Safe to print.
    name: String,
    files: Vec<Indexed>,
    groups: Vec<Group>,
    incidents: Vec<Incident>,
    /// Why a file of the directory was left out.
    unread: Option<SourceError>,
}

/// Some minutes of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The time of its first snapshot.
    pub from: SystemTime,
    /// The time of its last snapshot.
    pub to: SystemTime,
    pub snapshots: u32,
    /// `MemTotal` in bytes; 0 if unknown.
    pub total: u64,
    /// The lowest `MemAvailable` in bytes.
    pub available: u64,
    /// The highest memory pressure, `some avg10`, in hundredths of a percent.
    pub pressure: u32,
    /// A digest of the boot id; 0 if unknown.
    pub boot: u32,
    file: usize,
    /// Its bytes in the file, without its header.
    body: Range<u64>,
    /// Its writer finished it.
    is_complete: bool,
}

#[derive(Debug)]
struct Indexed {
    path: PathBuf,
    file: Arc<File>,
    kind: Kind,
    /// The bytes that were indexed.
    length: u64,
    groups: Vec<Group>,
    incidents: Vec<Incident>,
    /// Where a later look continues: the beginning of the last group that may still grow.
    resume: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Groups,
    Lines,
    /// Compressed lines, which can be read from their beginning only.
    Compressed,
}

impl Recording {
    /// Opens a recording and reads its index.
    ///
    /// # Errors
    /// It cannot be opened or read, a later version wrote it, or it has no snapshot.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let mut recording = Self {
            path: path.to_owned(),
            name: file_name(path),
            files: Vec::new(),
            groups: Vec::new(),
            incidents: Vec::new(),
            unread: None,
        };
        recording.refresh()?;
        if recording.groups.is_empty() {
            let is_folder = recording.path.is_dir();
            let fault = if is_folder { Fault::NoRecording } else { Fault::Empty };
            return Err(recording.unread.unwrap_or_else(|| fault.of(&recording.name)));
        }
        Ok(recording)
    }

    /// Reads what was written since. Returns true if that is anything.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn refresh(&mut self) -> Result<bool, SourceError> {
        let found = self
            .files_now()
            .map_err(|error| Fault::unreadable(&error).of(&self.name))?;
        let known = self.files.len();
        // A file that is gone was deleted by the retention.
        self.files.retain(|file| found.contains(&file.path));
        let mut changed = self.files.len() != known;
        self.unread = None;
        for path in found {
            let name = file_name(&path);
            let known = self.files.iter().position(|file| file.path == path);
            let at = match known {
                Some(at) => at,
                None => match Indexed::open(&path) {
                    Ok(file) => {
                        self.files.push(file);
                        self.files.len() - 1
                    }
                    // The retention deleted it, or its writer has not begun.
                    Err(Fault::Empty) if path != self.path => continue,
                    Err(fault @ Fault::Unreadable(_)) if path != self.path => {
                        self.unread = Some(fault.of(&name));
                        continue;
                    }
                    Err(fault) => return Err(fault.of(&name)),
                },
            };
            match self.files[at].read_on() {
                Ok(has_more) => changed |= has_more,
                Err(fault) if path == self.path => return Err(fault.of(&name)),
                Err(fault) => {
                    // The others can be read.
                    changed |= !self.files.remove(at).groups.is_empty();
                    self.unread = Some(fault.of(&name));
                }
            }
        }
        if changed {
            self.files
                .sort_by(|a, b| a.begins().cmp(&b.begins()).then_with(|| a.path.cmp(&b.path)));
            self.groups.clear();
            self.incidents.clear();
            for (at, file) in self.files.iter().enumerate() {
                self.groups
                    .extend(file.groups.iter().cloned().map(|group| Group { file: at, ..group }));
                self.incidents.extend_from_slice(&file.incidents);
            }
            self.incidents.sort_by_key(Incident::at);
        }
        Ok(changed)
    }

    fn files_now(&self) -> io::Result<Vec<PathBuf>> {
        if !self.path.is_dir() {
            return Ok(vec![self.path.clone()]);
        }
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            let is_recording = entry.file_name().as_encoded_bytes().ends_with(SUFFIX.as_bytes());
            if is_recording && entry.file_type()?.is_file() {
                found.push(entry.path());
            }
        }
        Ok(found)
    }

    /// Returns its name, safe to print.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the groups in the order of their files. Their times ascend unless the clock was set back.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Returns the events that were recorded, by time.
    pub fn incidents(&self) -> &[Incident] {
        &self.incidents
    }

    /// Returns true if the incidents of all snapshots are known, since `zmtop record` wrote them.
    pub fn has_incidents(&self) -> bool {
        self.files.iter().all(|file| file.kind == Kind::Groups)
    }

    /// Returns the wall-clock times of the first and the last snapshot.
    pub fn span(&self) -> (SystemTime, SystemTime) {
        let first = self.groups.first().map_or(SystemTime::UNIX_EPOCH, |group| group.from);
        let last = self.groups.iter().map(|group| group.to).max();
        (first, last.unwrap_or(first))
    }

    /// Returns `at`, or the time of the last snapshot before it if none was recorded at that time.
    pub fn last_before(&self, at: SystemTime) -> SystemTime {
        let before = self.groups.iter().filter(|group| group.from <= at);
        before.map(|group| group.to.min(at)).max().unwrap_or(at)
    }

    /// Reads the snapshots from the first one of the last group that begins not after `at`, to the end of what is indexed.
    /// If none does, from the first group.
    pub fn read_from(&self, at: SystemTime) -> Source {
        let first = self.groups.iter().rposition(|group| group.from <= at).unwrap_or(0);
        let places = self.groups[first..].iter().map(|group| Place {
            file: Arc::clone(&self.files[group.file].file),
            body: group.body.clone(),
            kind: self.files[group.file].kind,
            is_complete: group.is_complete,
        });
        let bodies = Bodies {
            places: places.collect::<Vec<_>>().into_iter(),
            body: None,
            is_complete: true,
            ends_line: true,
            pending: self
                .unread
                .as_ref()
                .map_or_else(Vec::new, |fault| record::damage(&fault.to_string())),
        };
        Source::of(
            self.name.clone(),
            Box::new(BufReader::with_capacity(BUFFER, bodies)),
            true,
        )
    }
}

impl Indexed {
    fn open(path: &Path) -> Result<Self, Fault> {
        let file = open_regular(path)?;
        let mut start = [0; START.len()];
        let n = file.read_at(&mut start, 0).map_err(|error| Fault::unreadable(&error))?;
        let kind = match &start[..n] {
            [] => return Err(Fault::Empty),
            bytes if bytes == START => Kind::Groups,
            bytes if is_zstd(&bytes[..n.min(4)]) => Kind::Compressed,
            _ => Kind::Lines,
        };
        Ok(Self {
            path: path.to_owned(),
            file: Arc::new(file),
            kind,
            length: 0,
            groups: Vec::new(),
            incidents: Vec::new(),
            resume: 0,
        })
    }

    fn begins(&self) -> Option<SystemTime> {
        self.groups.first().map(|group| group.from)
    }

    /// Indexes what was written since the last look; returns true if that is anything.
    fn read_on(&mut self) -> Result<bool, Fault> {
        let unreadable = |error: io::Error| Fault::unreadable(&error);
        let length = self.file.metadata().map_err(unreadable)?.len();
        if length == self.length {
            return Ok(false);
        }
        self.length = length;
        let resume = self.resume;
        // Groups that were complete stay as they are.
        self.groups.retain(|group| group.body.start < resume);
        let keep = self.groups.last().map(|group| group.to);
        self.incidents
            .retain(|incident| keep.is_some_and(|to| incident.at() <= to));
        match self.kind {
            Kind::Groups => self.read_groups().map_err(unreadable)?,
            Kind::Lines | Kind::Compressed => self.read_lines().map_err(unreadable)?,
        }
        Ok(true)
    }

    fn read_groups(&mut self) -> io::Result<()> {
        let mut at = self.resume;
        while at + HEADER as u64 <= self.length {
            let mut bytes = [0; HEADER];
            self.file.read_exact_at(&mut bytes, at)?;
            let start = at + HEADER as u64;
            match Header::parse(&bytes) {
                Ok(header) if header.is_complete && self.is_followed(start, &header)? => {
                    let end = start + header.body;
                    self.groups.push(Group::new(&header, start..end));
                    self.add_incidents(&header, start..end)?;
                    at = end + header.incidents_frame();
                    self.resume = at;
                }
                Ok(header) => {
                    // Its writer has not finished it, or its length is damaged.
                    let end = self.next_header(start)?.unwrap_or(self.length);
                    self.add_open(header.boot, start..end)?;
                    at = end;
                }
                Err(NoHeader::Newer(_)) if self.groups.is_empty() => {
                    return Err(io::Error::other("a later version of zmtop wrote it"));
                }
                Err(_) if self.has_body(start)? => {
                    let end = self.next_header(start)?.unwrap_or(self.length);
                    self.add_open(0, start..end)?;
                    at = end;
                }
                Err(_) => at = self.next_header(at + 1)?.unwrap_or(self.length),
            }
        }
        Ok(())
    }

    /// Returns true if a frame of zstd begins there: the header before it is damaged, but not the group.
    fn has_body(&self, start: u64) -> io::Result<bool> {
        let mut magic = [0; 4];
        let n = self.file.read_at(&mut magic, start)?;
        Ok(n == magic.len() && u32::from_le_bytes(magic) == zstd::zstd_safe::MAGICNUMBER)
    }

    /// Returns true if the file ends after that group, or another one follows.
    fn is_followed(&self, start: u64, header: &Header) -> io::Result<bool> {
        let end = start
            .checked_add(header.body)
            .and_then(|end| end.checked_add(header.incidents_frame()));
        let Some(end) = end.filter(|end| *end <= self.length) else {
            return Ok(false);
        };
        let mut next = [0; START.len()];
        let wanted = (self.length - end).min(START.len() as u64) as usize;
        self.file.read_exact_at(&mut next[..wanted], end)?;
        Ok(next[..wanted] == START[..wanted] || self.has_body(end + HEADER as u64)?)
    }

    fn next_header(&self, from: u64) -> io::Result<Option<u64>> {
        let mut chunk = vec![0; BUFFER];
        let mut at = from;
        while at + HEADER as u64 <= self.length {
            let n = self.file.read_at(&mut chunk, at)?;
            if n < START.len() {
                break;
            }
            let found = chunk[..n].windows(START.len()).position(|bytes| bytes == START);
            if let Some(found) = found {
                let header_at = at + found as u64;
                let mut bytes = [0; HEADER];
                if header_at + HEADER as u64 <= self.length {
                    self.file.read_exact_at(&mut bytes, header_at)?;
                    if !matches!(Header::parse(&bytes), Err(NoHeader::Damaged)) {
                        return Ok(Some(header_at));
                    }
                }
                at = header_at + 1;
            } else {
                at += (n + 1 - START.len()) as u64;
            }
        }
        Ok(None)
    }

    fn add_incidents(&mut self, header: &Header, body: Range<u64>) -> io::Result<()> {
        if header.incidents == 0 {
            return Ok(());
        }
        let mut list = None;
        if header.incidents as usize <= MAX_INCIDENTS {
            let mut frame = vec![0; header.incidents_frame() as usize];
            self.file.read_exact_at(&mut frame, body.end)?;
            list = record::parse_incidents(&frame);
        }
        if let Some(list) = list {
            self.incidents.extend(list);
            return Ok(());
        }
        // The lines have them, too.
        let mut incidents = Vec::new();
        self.each_line(body, |brief| incidents.extend(brief.incidents))?;
        self.incidents.extend(incidents);
        Ok(())
    }

    /// Reads the lines of a group as far as they are not damaged.
    fn each_line(&self, body: Range<u64>, mut read: impl FnMut(Brief)) -> io::Result<()> {
        let place = Place {
            file: Arc::clone(&self.file),
            body,
            kind: Kind::Groups,
            is_complete: true,
        };
        let mut lines = BufReader::with_capacity(BUFFER, place.open()?);
        let mut line = Vec::new();
        // The end of the bytes that were written is no error here; reading the snapshots reports damage.
        while next_line(&mut lines, &mut line) && line.ends_with(b"\n") {
            Brief::of(&line).into_iter().for_each(&mut read);
        }
        Ok(())
    }

    /// Adds a group without a summary: reads its lines.
    fn add_open(&mut self, boot: u32, body: Range<u64>) -> io::Result<()> {
        let mut group = Group {
            boot,
            ..Group::empty(body.clone())
        };
        let mut incidents = Vec::new();
        self.each_line(body, |brief| {
            group.add(&brief);
            incidents.extend(brief.incidents);
        })?;
        self.incidents.extend(incidents);
        // One without a whole line is damaged, which reading it reports.
        if group.snapshots == 0 {
            (group.from, group.to) = self
                .groups
                .last()
                .map_or((group.from, group.to), |last| (last.to, last.to));
        }
        self.groups.push(group);
        Ok(())
    }

    fn read_lines(&mut self) -> io::Result<()> {
        let is_compressed = self.kind == Kind::Compressed;
        let mut at = if is_compressed { 0 } else { self.resume };
        if is_compressed {
            self.groups.clear();
            self.incidents.clear();
        }
        let place = Place {
            file: Arc::clone(&self.file),
            body: at..self.length,
            kind: self.kind,
            is_complete: false,
        };
        let mut lines = BufReader::with_capacity(BUFFER, place.open()?);
        let mut open: Option<Group> = None;
        let mut line = Vec::new();
        while next_line(&mut lines, &mut line) {
            let start = at;
            at += line.len() as u64;
            let brief = Brief::of(&line).filter(|_| line.ends_with(b"\n"));
            let is_full = |group: &Group| !is_compressed && group.snapshots >= GROUP;
            if let Some(brief) = brief {
                if let Some(full) = open.take_if(|group| is_full(group)) {
                    self.groups.push(Group {
                        body: full.body.start..start,
                        ..full
                    });
                    self.resume = start;
                }
                let group = open.get_or_insert_with(|| Group::empty(start..self.length));
                group.add(&brief);
                self.incidents.extend(brief.incidents);
            }
        }
        self.groups.extend(open.map(|group| Group {
            body: group.body.start..self.length,
            ..group
        }));
        Ok(())
    }
}

impl Group {
    fn new(header: &Header, body: Range<u64>) -> Self {
        Self {
            from: header.from,
            to: header.to,
            snapshots: header.snapshots,
            total: header.total,
            available: header.available,
            pressure: header.pressure,
            boot: header.boot,
            file: 0,
            body,
            is_complete: true,
        }
    }

    const fn empty(body: Range<u64>) -> Self {
        Self {
            from: SystemTime::UNIX_EPOCH,
            to: SystemTime::UNIX_EPOCH,
            snapshots: 0,
            total: 0,
            available: 0,
            pressure: 0,
            boot: 0,
            file: 0,
            body,
            is_complete: false,
        }
    }

    fn add(&mut self, brief: &Brief) {
        if self.snapshots == 0 {
            self.from = brief.time;
        }
        if let Some(total) = brief.total {
            self.total = total;
        }
        if let Some(available) = brief.available {
            let is_first = self.available == 0;
            self.available = if is_first {
                available
            } else {
                self.available.min(available)
            };
        }
        self.to = brief.time;
        self.snapshots += 1;
    }
}

/// Reads a line, at most [`LONGEST`] bytes of it. Returns false at the end, and if it cannot be read.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> bool {
    line.clear();
    let read = lines.take(LONGEST as u64).read_until(b'\n', line);
    read.is_ok_and(|n| n > 0)
}

/// The bytes of a group.
struct Place {
    file: Arc<File>,
    body: Range<u64>,
    kind: Kind,
    is_complete: bool,
}

impl Place {
    fn open(self) -> io::Result<Box<dyn Read + Send>> {
        let kind = self.kind;
        let raw = Span {
            file: self.file,
            rest: self.body,
        };
        if kind == Kind::Lines {
            return Ok(Box::new(raw));
        }
        let mut decoder = Decoder::with_buffer(BufReader::with_capacity(BUFFER, raw))?;
        decoder.window_log_max(WINDOW_LOG)?;
        Ok(match kind {
            Kind::Groups => Box::new(decoder.single_frame()),
            _ => Box::new(decoder),
        })
    }
}

/// A range of a file's bytes.
struct Span {
    file: Arc<File>,
    rest: Range<u64>,
}

impl Read for Span {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = (self.rest.end - self.rest.start).min(buffer.len() as u64) as usize;
        let n = self.file.read_at(&mut buffer[..most], self.rest.start)?;
        self.rest.start += n as u64;
        Ok(n)
    }
}

/// The lines of groups, one after the other. Damage within a group ends the group and is reported by a line that the reader of
/// lines refuses.
struct Bodies {
    places: std::vec::IntoIter<Place>,
    body: Option<Box<dyn Read + Send>>,
    /// The writer finished the group, so that it has an end.
    is_complete: bool,
    /// The last byte that was returned ends a line.
    ends_line: bool,
    /// Bytes to return before anything else.
    pending: Vec<u8>,
}

impl Read for Bodies {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.pending.is_empty() {
                let n = self.pending.len().min(buffer.len());
                buffer[..n].copy_from_slice(&self.pending[..n]);
                self.pending.drain(..n);
                return Ok(n);
            }
            let Some(body) = &mut self.body else {
                let Some(place) = self.places.next() else { return Ok(0) };
                if !std::mem::replace(&mut self.ends_line, true) {
                    self.pending.push(b'\n');
                }
                self.is_complete = place.is_complete;
                self.body = Some(place.open()?);
                continue;
            };
            match body.read(buffer) {
                Ok(0) => self.body = None,
                Ok(n) => {
                    self.ends_line = buffer[n - 1] == b'\n';
                    return Ok(n);
                }
                // A writer that was killed leaves a frame without an end.
                Err(error) if !self.is_complete && error.kind() == io::ErrorKind::UnexpectedEof => self.body = None,
                Err(error) => {
                    self.body = None;
                    if !std::mem::replace(&mut self.ends_line, true) {
                        self.pending.push(b'\n');
                    }
                    self.pending.extend(record::damage(&super::error::reason(&error)));
                }
            }
        }
    }
}
