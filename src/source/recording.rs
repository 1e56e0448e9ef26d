//! A recording that can be read from any moment: its index, and the bytes of its groups.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustix::fs::SeekFrom;
use rustix::io::Errno;
use zstd::stream::read::Decoder;

use super::error::Fault;
use super::{BUFFER, LONGEST, Source, SourceError, WINDOW_LOG, blank_lines, file_name, is_zstd, open_regular};
use crate::record::{self, Brief, HEADER, Header, Incident, MAX_INCIDENTS, NoHeader, PRECISION, START};

/// The end of the name of each file in a directory of recordings.
pub const SUFFIX: &str = ".zmrec";

/// Maximum number of incidents of a recording that are known. There are seldom a hundred a day.
const MAX_KNOWN: usize = 100_000;

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
    /// The reason why a file of the directory was left out.
    unread: Option<SourceError>,
}

/// Some minutes of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Of an open group, or of lines, as far as its lines have it.
    pub header: Header,
    file: usize,
    /// Its bytes in the file, without its header.
    body: Range<u64>,
    /// Its end was not written: its writer was killed, the machine was cut off, or it is still written.
    pub is_cut: bool,
}

impl Deref for Group {
    type Target = Header;

    fn deref(&self) -> &Header {
        &self.header
    }
}

#[derive(Debug)]
struct Indexed {
    path: PathBuf,
    file: Arc<File>,
    kind: Kind,
    /// The bytes that were indexed.
    length: u64,
    groups: Vec<Group>,
    incidents: Incidents,
    /// The offset at which a later read continues: the beginning of the last group that may still grow.
    resume: u64,
}

/// The last incidents of a file.
#[derive(Debug, Default)]
struct Incidents {
    list: Vec<Incident>,
    /// Some were left out.
    is_cut: bool,
}

impl Incidents {
    fn add(&mut self, more: impl IntoIterator<Item = Incident>) {
        self.list.extend(more);
        if self.list.len() > MAX_KNOWN / 4 * 5 {
            self.keep(MAX_KNOWN);
        }
    }

    /// Leaves out the least serious ones, the first ones first, so that at most `most` remain.
    fn keep(&mut self, most: usize) {
        self.is_cut |= record::leave_out(&mut self.list, most, |_| 1);
        self.list.shrink_to(most);
    }
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
            let fault = match recording.files.first() {
                _ if is_folder => Fault::NoRecording,
                Some(file) if file.length > 0 => Fault::Incomplete,
                _ => Fault::Empty,
            };
            return Err(recording.unread.unwrap_or_else(|| fault.of(&recording.name)));
        }
        Ok(recording)
    }

    /// Reads what was written since. Returns true if anything was.
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
        let places = self.files.iter().enumerate();
        let places: HashMap<_, _> = places.map(|(at, file)| (file.path.clone(), at)).collect();
        let mut failed = HashSet::new();
        self.unread = None;
        for path in found {
            let name = file_name(&path);
            let at = match places.get(&path) {
                Some(at) => *at,
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
            let read = self.files[at].read_on();
            self.keep_incidents();
            match read {
                Ok(has_more) => changed |= has_more,
                Err(fault) if path == self.path => return Err(fault.of(&name)),
                Err(fault) => {
                    // The others can be read.
                    changed |= places.contains_key(&path);
                    failed.insert(path);
                    self.unread = Some(fault.of(&name));
                }
            }
        }
        if !failed.is_empty() {
            self.files.retain(|file| !failed.contains(&file.path));
        }
        if changed {
            self.sort_files();
            self.groups.clear();
            self.incidents.clear();
            for (at, file) in self.files.iter().enumerate() {
                self.groups
                    .extend(file.groups.iter().cloned().map(|group| Group { file: at, ..group }));
                self.incidents.extend_from_slice(&file.incidents.list);
            }
            self.incidents.sort_by_key(Incident::at);
        }
        Ok(changed)
    }

    /// Leaves out incidents of the files with the most of them, so that all together have at most [`MAX_KNOWN`].
    fn keep_incidents(&mut self) {
        loop {
            let all = self.files.iter().map(|file| file.incidents.list.len()).sum::<usize>();
            let most = self.files.iter_mut().max_by_key(|file| file.incidents.list.len());
            match most {
                Some(file) if all > MAX_KNOWN => {
                    let known = file.incidents.list.len();
                    file.incidents
                        .keep((known / 2).max(known.saturating_sub(all - MAX_KNOWN)));
                }
                _ => break,
            }
        }
    }

    /// Sorts the files by time. The files of one boot are sorted by its monotonic clock, because the wall clock may have been set
    /// back.
    fn sort_files(&mut self) {
        let mut boots: HashMap<u32, SystemTime> = HashMap::new();
        for group in self.files.iter().filter_map(Indexed::first) {
            let first = boots.entry(group.boot).or_insert(group.from);
            *first = group.from.min(*first);
        }
        self.files.sort_by_cached_key(|file| {
            let group = file.first();
            let begins = group.map(|group| group.from);
            let known = group.filter(|group| group.boot != 0 && !group.monotonic.is_zero());
            let of_boot = known.map(|group| (boots[&group.boot], group.boot, group.monotonic));
            let boot_begins = of_boot.map_or(begins, |(first, ..)| Some(first));
            (boot_begins, of_boot, begins, file.path.clone())
        });
    }

    fn files_now(&self) -> io::Result<HashSet<PathBuf>> {
        if !self.path.is_dir() {
            return Ok([self.path.clone()].into());
        }
        let mut found = HashSet::new();
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            let is_recording = entry.file_name().as_encoded_bytes().ends_with(SUFFIX.as_bytes());
            if is_recording && entry.file_type()?.is_file() {
                found.insert(entry.path());
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
        let mut files = self.files.iter().filter(|file| !file.groups.is_empty());
        files.all(|file| file.kind == Kind::Groups && !file.incidents.is_cut)
    }

    /// Returns the wall-clock times of the first and the last snapshot.
    pub fn span(&self) -> (SystemTime, SystemTime) {
        let mut known = self.groups.iter().filter(|group| group.snapshots > 0);
        let last = known.clone().map(|group| group.to).max();
        let first = known.next().map_or(SystemTime::UNIX_EPOCH, |group| group.from);
        (first, last.unwrap_or(first))
    }

    /// Returns `at`, or the time of the last snapshot before it if none was recorded at that time.
    pub fn last_before(&self, at: SystemTime) -> SystemTime {
        let before = self.groups.iter().filter(|group| group.from <= at);
        before.map(|group| group.to.min(at)).max().unwrap_or(at)
    }

    /// Reads the snapshots from the first one of the [group of](group_of) that time, to the end of what is indexed. If none begins so
    /// early, from the first group.
    pub fn read_from(&self, at: SystemTime) -> Source {
        self.read_group(group_of(&self.groups, at, false).unwrap_or(0))
    }

    /// Reads the snapshots from the first one of a group, to the end of what is indexed.
    pub fn read_group(&self, first: usize) -> Source {
        let first = first.min(self.groups.len());
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
            incidents: Incidents::default(),
            resume: 0,
        })
    }

    /// Indexes what was written since the last call; returns true if anything was.
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
            .list
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
                    self.groups.push(Group::new(header, start..end));
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

    /// Returns the first group of which the time is known.
    fn first(&self) -> Option<&Group> {
        let mut known = self.groups.iter().filter(|group| group.snapshots > 0);
        known.next().or(self.groups.first())
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

    /// Finds the next header that is not damaged.
    fn next_header(&self, from: u64) -> io::Result<Option<u64>> {
        // The next header is often near, and each search reads from its own beginning.
        let mut chunk = vec![0; BUFFER / 32];
        let mut at = from;
        while at + HEADER as u64 <= self.length {
            if chunk.len() == BUFFER {
                // A sparse file may have a hole of terabytes.
                match rustix::fs::seek(&*self.file, SeekFrom::Data(at)) {
                    Ok(data) => at = data,
                    Err(Errno::NXIO) => break,
                    Err(_) => {}
                }
            }
            let n = self.file.read_at(&mut chunk, at)?;
            if n < START.len() {
                break;
            }
            let windows = chunk[..n].windows(START.len()).enumerate();
            for (found, _) in windows.filter(|(_, bytes)| *bytes == START) {
                let header_at = at + found as u64;
                let mut bytes = [0; HEADER];
                if header_at + HEADER as u64 > self.length {
                    return Ok(None);
                }
                self.file.read_exact_at(&mut bytes, header_at)?;
                if !matches!(Header::parse(&bytes), Err(NoHeader::Damaged)) {
                    return Ok(Some(header_at));
                }
            }
            at += (n + 1 - START.len()) as u64;
            chunk.resize((chunk.len() * 2).min(BUFFER), 0);
        }
        Ok(None)
    }

    fn add_incidents(&mut self, header: &Header, body: Range<u64>) -> io::Result<()> {
        self.incidents.is_cut |= header.lacks_incidents;
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
            self.incidents.add(list);
            return Ok(());
        }
        // The lines have them, too.
        Self::each_line(&self.file, body, |brief| self.incidents.add(brief.incidents)).map(drop)
    }

    /// Reads the lines of a group as far as they are not damaged. Returns true if they have no end.
    fn each_line(file: &Arc<File>, body: Range<u64>, mut read: impl FnMut(Brief)) -> io::Result<bool> {
        let place = Place {
            file: Arc::clone(file),
            body,
            kind: Kind::Groups,
            is_complete: true,
        };
        let mut lines = BufReader::with_capacity(BUFFER, place.open()?);
        let mut line = Vec::new();
        // The end of the bytes that were written is no error here; reading the snapshots reports damage.
        loop {
            match next_line(&mut lines, &mut line) {
                Ok(_) if line.ends_with(b"\n") => Brief::of(&line).into_iter().for_each(&mut read),
                Ok(_) => return Ok(false),
                Err(error) => return Ok(error.kind() == io::ErrorKind::UnexpectedEof),
            }
        }
    }

    /// Adds a group without a summary: reads its lines.
    fn add_open(&mut self, boot: u32, body: Range<u64>) -> io::Result<()> {
        let mut header = Header::empty(boot);
        let is_cut = Self::each_line(&self.file, body.clone(), |brief| {
            header.add(&brief);
            self.incidents.add(brief.incidents);
        })?;
        // One without a whole line is damaged, which reading it reports.
        if let Some(last) = self.groups.last().filter(|_| header.snapshots == 0) {
            (header.from, header.to) = (last.to, last.to);
        }
        self.groups.push(Group {
            is_cut,
            ..Group::new(header, body)
        });
        Ok(())
    }

    fn read_lines(&mut self) -> io::Result<()> {
        let is_compressed = self.kind == Kind::Compressed;
        let mut at = if is_compressed { 0 } else { self.resume };
        if is_compressed {
            self.groups.clear();
            self.incidents = Incidents::default();
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
        while let Ok(n @ 1..) = next_line(&mut lines, &mut line) {
            at += n;
            // Of compressed lines, only the beginning has a place in the file.
            let start = if is_compressed { 0 } else { at - line.len() as u64 };
            let brief = Brief::of(&line).filter(|_| line.ends_with(b"\n"));
            let is_full = |group: &Group, brief: &Brief| {
                // A clock that was set back ends a group, so that its times ascend.
                !is_compressed && (group.snapshots >= GROUP || brief.time < group.to)
            };
            if let Some(brief) = brief {
                if let Some(full) = open.take_if(|group| is_full(group, &brief)) {
                    self.groups.push(Group {
                        body: full.body.start..start,
                        ..full
                    });
                    self.resume = start;
                }
                let group = open.get_or_insert_with(|| Group::new(Header::empty(0), start..self.length));
                group.header.add(&brief);
                self.incidents.add(brief.incidents);
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
    const fn new(header: Header, body: Range<u64>) -> Self {
        Self {
            header,
            file: 0,
            body,
            is_cut: false,
        }
    }
}

/// Returns the last group that has that time, or else the one that ends last before it; `None` if none begins before. Of a moment
/// that is `strict`, an earlier snapshot is wanted.
pub fn group_of(groups: &[Group], at: SystemTime, is_strict: bool) -> Option<usize> {
    // Lines have fewer digits than headers.
    let begins = |group: &Group| {
        let from = group.from.checked_sub(PRECISION).unwrap_or(group.from);
        from < at && (!is_strict || group.from < at)
    };
    let has_it = groups.iter().rposition(|group| begins(group) && at <= group.to);
    let before = || {
        let all = groups.iter().enumerate().filter(|(_, group)| begins(group));
        all.max_by_key(|(_, group)| group.to).map(|(index, _)| index)
    };
    has_it.or_else(before)
}

/// Reads the next line that is not blank, at most [`LONGEST`] bytes of it. Returns the number of bytes with those of the blank lines
/// before it: 0 at the end.
fn next_line(lines: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    line.clear();
    let mut passed = 0;
    loop {
        let n = blank_lines(lines.fill_buf()?);
        if n == 0 {
            let n = lines.take(LONGEST as u64).read_until(b'\n', line)?;
            return Ok(passed + n as u64);
        }
        lines.consume(n);
        passed += n as u64;
    }
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
            zeros: 0,
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

/// A range of a file's bytes. It ends at a MiB of zeros, which no recorder writes: a sparse file may have terabytes of them. To zstd, zeros
/// after a frame that has no end are blocks of no bytes.
struct Span {
    file: Arc<File>,
    rest: Range<u64>,
    /// The number of zeros before `rest`.
    zeros: usize,
}

const MAX_ZEROS: usize = 1 << 20;

impl Read for Span {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.zeros >= MAX_ZEROS {
            return Ok(0);
        }
        let most = (self.rest.end - self.rest.start).min(buffer.len() as u64) as usize;
        let n = self.file.read_at(&mut buffer[..most], self.rest.start)?;
        self.rest.start += n as u64;
        let is_zero = |byte: &&u8| **byte == 0;
        let zeros = buffer[..n].iter().rev().take_while(is_zero).count();
        self.zeros = if zeros == n { self.zeros + zeros } else { zeros };
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
