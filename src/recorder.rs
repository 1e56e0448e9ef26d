//! Writes recordings: a thread that appends snapshots to a file, to the files of a folder, or to a stream.
//!
//! `run` passes it each snapshot of the engine. A full queue or a failing disk never delays the caller: snapshots are lost,
//! [`Status`] reports that, and the thread tries again.
//!
//! A **folder** has a file for each hour or so, named after its first snapshot. The oldest are deleted; see [`Retention`].
//! A file with an [incident](crate::record::Incident), and the files of the ten minutes before and after, are
//! *pinned*: renamed and deleted much later; see [`Pin`].
//!
//! Each file is always valid: it is only appended to, apart from the header of a group, which is overwritten when the group ends.
//! See [`GroupWriter`] for the format.

mod flood;
mod folder;
mod kernel_log;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::iter;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use flood::{Names, Space};
pub use folder::{Entry, Folder, Pin, to_delete};
pub use kernel_log::KernelLog;
use parking_lot::Mutex;
use rustix::fs::FallocateFlags;

use crate::config::settings::{RecordSettings, Retention};
use crate::config::state;
use crate::model::{Exits, Missing, Snapshot};
use crate::own;
use crate::record::{GroupWriter, Incident, IncidentKind, boot_digest, leave_out};
use crate::source::Recording;
use crate::text;

/// Maximum number of snapshots that wait for a slow disk.
const QUEUE: usize = 8;
/// Maximum number of incidents of lost snapshots that are recorded later: the most serious ones.
const MOST_LOST: usize = 100;
/// The usual time between attempts while the disk fails.
const RETRY: Duration = Duration::from_secs(10);
/// Maximum time of a file in a folder.
const FILE_TIME: Duration = Duration::from_secs(3600);
/// Maximum size of a file in a folder, in bytes.
const FILE_BYTES: u64 = 64 << 20;
/// Old files are deleted each time a file has grown by this share of the folder's size, inverse.
const CLEAN_SHARE: u64 = 16;
/// Time before and after an incident that is pinned.
const AROUND: Duration = Duration::from_secs(600);
/// Bytes that are allocated ahead of the end of a file, so that a disk that fills up does not end a recording at once.
const AHEAD: u64 = 1 << 20;
/// Maximum number of first snapshots that are not recorded because their boot is not known yet.
const MOST_UNKNOWN: u32 = 5;
/// Time between the writes of [`Flush::Minute`].
const MINUTE: Duration = Duration::from_secs(60);

/// The times at which written bytes are forced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// After each snapshot: a power cut loses one at most.
    Snapshot,
    /// Once a minute.
    Minute,
    /// When the kernel does so, usually after 30 s. A crash of zmtop loses nothing.
    Never,
}

/// The part of command lines that is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandLines {
    Full,
    /// The program, without arguments.
    Name,
    /// Only the short name that the kernel keeps.
    None,
}

/// The destination of a recording.
#[derive(Debug)]
pub enum Place {
    Stream,
    /// A file that does not exist yet.
    File(PathBuf),
    Folder(Folder, Retention),
}

#[derive(Debug)]
pub struct Options {
    pub place: Place,
    pub flush: Flush,
    pub command_lines: CommandLines,
    /// A program to start with the path of each finished file.
    pub on_rotate: Option<PathBuf>,
    /// Forces written bytes to the disk: [`File::sync_data`], but for tests.
    pub sync: fn(&File) -> io::Result<()>,
    /// Time between attempts while the disk fails.
    pub retry: Duration,
}

impl Options {
    /// Creates options to record everything, and to leave the time of flushing to the kernel.
    pub const fn plain(place: Place) -> Self {
        Self {
            place,
            flush: Flush::Never,
            command_lines: CommandLines::Full,
            on_rotate: None,
            sync: File::sync_data,
            retry: RETRY,
        }
    }

    pub fn new(place: Place, settings: &RecordSettings) -> Self {
        Self {
            flush: match settings.flush.as_str() {
                "minute" => Flush::Minute,
                "never" => Flush::Never,
                _ => Flush::Snapshot,
            },
            command_lines: match settings.cmdline.as_str() {
                "name" => CommandLines::Name,
                "none" => CommandLines::None,
                _ => CommandLines::Full,
            },
            ..Self::plain(place)
        }
    }
}

/// The state of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The file that is written.
    pub file: Option<PathBuf>,
    /// Bytes written since the start.
    pub bytes: u64,
    pub snapshots: u64,
    /// Snapshots that were lost.
    pub lost: u64,
    /// Snapshots that were left out, because the folder would cover too short a time.
    pub left_out: u64,
    /// The reader of the stream has ended.
    pub is_closed: bool,
    /// The reason why the last one was lost, safe to print; `None` once one is written again.
    pub fault: Option<String>,
    /// The reason why an old file of the folder was not deleted, safe to print.
    pub undeleted: Option<String>,
}

/// Reports when recording begins to fail, or to work again, and once when snapshots are left out and when a file cannot be deleted.
#[derive(Debug, Default)]
pub struct FaultNews(Option<String>, [bool; 2]);

impl FaultNews {
    /// Returns a message if that has changed since the last call.
    pub fn of(&mut self, status: &Status) -> Option<String> {
        if status.fault == self.0 {
            if let Some(why) = &status.undeleted
                && !std::mem::replace(&mut self.1[0], true)
            {
                return Some(format!("old recordings are not deleted: {why}"));
            }
            let is_first = status.left_out > 0 && !std::mem::replace(&mut self.1[1], true);
            return is_first
                .then(|| "many processes come and go: some snapshots are left out, to keep the past".into());
        }
        self.0.clone_from(&status.fault);
        Some(match &self.0 {
            Some(fault) => format!("not recorded: {fault}"),
            None => format!("recording again; {} snapshots were lost", status.lost),
        })
    }
}

/// A recording under way. Dropping it ends the recording and waits for the disk, at most two seconds.
#[derive(Debug)]
pub struct Recorder {
    queue: Option<SyncSender<(Arc<Snapshot>, Vec<Incident>)>>,
    unsent: Mutex<Lost>,
    status: Arc<Mutex<Status>>,
    done: Mutex<Receiver<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Recorder {
    /// Starts the thread.
    ///
    /// # Errors
    /// The file cannot be created, or the thread cannot be started.
    pub fn start(options: Options) -> io::Result<Self> {
        let mut writer = Writer::new(options)?;
        let status = Arc::clone(&writer.status);
        let (queue, snapshots) = sync_channel::<(Arc<Snapshot>, Vec<Incident>)>(QUEUE);
        let (end, done) = sync_channel(1);
        let thread = std::thread::Builder::new().name("zmtop-record".into()).spawn(move || {
            while let Ok(next) = snapshots.recv() {
                // At most those that wait: if they come faster than they are written, the disk must get them, too.
                writer.record_all(iter::once(next).chain(snapshots.try_iter().take(QUEUE)));
            }
            writer.close();
            let _ = end.send(());
        })?;
        Ok(Self {
            queue: Some(queue),
            unsent: Mutex::default(),
            status,
            done: Mutex::new(done),
            thread: Some(thread),
        })
    }

    /// Records a snapshot. Never blocks. If it is lost, its incidents and exits are recorded with the next one.
    pub fn record(&self, snapshot: &Arc<Snapshot>, incidents: Vec<Incident>) {
        let Some(queue) = &self.queue else { return };
        let mut unsent = self.unsent.lock();
        let next = unsent.complete(snapshot, incidents);
        if let Err(TrySendError::Full((snapshot, incidents))) = queue.try_send(next) {
            unsent.keep(&snapshot, incidents);
            let mut status = self.status.lock();
            status.lost += 1;
            status.fault = Some("the disk does not answer".into());
        }
    }

    pub fn status(&self) -> Status {
        self.status.lock().clone()
    }

    /// Ends the recording, and returns its last state.
    pub fn end(mut self) -> Status {
        self.stop();
        self.status()
    }

    fn stop(&mut self) {
        if self.queue.take().is_none() {
            return;
        }
        // A disk that hangs must not keep zmtop from ending.
        if self.done.lock().recv_timeout(Duration::from_secs(2)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// The exits and incidents of snapshots that were not recorded. The next recorded snapshot gets them.
#[derive(Debug, Default)]
struct Lost(Option<(Arc<Exits>, Vec<Incident>)>);

impl Lost {
    /// Returns the next snapshot, with the exits and incidents of the lost ones.
    fn complete(&mut self, snapshot: &Arc<Snapshot>, mut incidents: Vec<Incident>) -> (Arc<Snapshot>, Vec<Incident>) {
        let snapshot = Arc::clone(snapshot);
        let Some((exits, mut earlier)) = self.0.take() else {
            return (snapshot, incidents);
        };
        earlier.append(&mut incidents);
        (snapshot.after_unseen(&exits), earlier)
    }

    fn keep(&mut self, snapshot: &Snapshot, mut incidents: Vec<Incident>) {
        leave_out(&mut incidents, MOST_LOST, |_| 1);
        self.0 = Some((Arc::clone(&snapshot.exits), incidents));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Writes snapshots. Separate from its thread so that tests can call it.
pub struct Writer {
    options: Options,
    status: Arc<Mutex<Status>>,
    groups: GroupWriter,
    output: Option<Output>,
    /// The time before which no attempt is made.
    retry: Option<Instant>,
    flushed: Instant,
    names: Names,
    space: Space,
    /// Files that were closed within the last minutes, with the times of their last snapshots.
    recent: Vec<(OsString, SystemTime)>,
    /// Files that begin before these times are pinned, by the order of [`Pin`].
    pin_until: [Option<SystemTime>; 2],
    /// The digest of the boot of the last recorded snapshot; 0 if unknown.
    boot: u32,
    /// Snapshots of a folder whose boot was not known yet.
    unknown: u32,
    /// The folder was searched for the end of an earlier run.
    knows_past: bool,
    unwritten: Lost,
}

/// The file or the stream that is written.
#[derive(Debug)]
struct Output {
    file: Option<File>,
    /// Its name in the folder.
    name: OsString,
    from: SystemTime,
    to: SystemTime,
    /// The position of the header of the group.
    group: u64,
    length: u64,
    /// Bytes up to this position are allocated.
    allocated: u64,
    /// There is room in the folder for bytes up to this position.
    room: u64,
}

impl Writer {
    /// # Errors
    /// The file cannot be created.
    pub fn new(options: Options) -> io::Result<Self> {
        let mut writer = Self {
            options,
            status: Arc::default(),
            groups: GroupWriter::default(),
            output: None,
            retry: None,
            flushed: Instant::now(),
            names: Names::default(),
            space: Space::default(),
            recent: Vec::new(),
            pin_until: [None; 2],
            boot: 0,
            unknown: 0,
            knows_past: false,
            unwritten: Lost::default(),
        };
        match &writer.options.place {
            // Report at once that it cannot be created.
            Place::File(path) => {
                let file = state::create_recording(path)?;
                writer.output = Some(Output::new(Some(file), OsString::new(), SystemTime::UNIX_EPOCH));
                writer.status.lock().file = Some(path.clone());
            }
            Place::Stream => writer.output = Some(Output::new(None, OsString::new(), SystemTime::UNIX_EPOCH)),
            // The folder is read with the first snapshot, so that the screen need not wait for it.
            Place::Folder(..) => {}
        }
        Ok(writer)
    }

    /// Finds the last files of an earlier run, which a boot pins. Pins files with an incident that a killed run left unpinned, and later
    /// the files of the minutes after it.
    fn find_end_of_boot(&mut self) {
        let Place::Folder(folder, _) = &self.options.place else {
            return;
        };
        let mut files = folder.entries().unwrap_or_default();
        // A file from a clock that was ahead is not the end. By a little, it may be.
        let latest = SystemTime::now() + AROUND;
        files.sort_by_key(|entry| (entry.changed <= latest).then_some(entry.changed));
        let mut end: Option<SystemTime> = None;
        for entry in files.into_iter().rev() {
            let Ok(recording) = Recording::open(&folder.path(&entry.name)) else {
                continue;
            };
            let to = recording.span().1;
            if to == SystemTime::UNIX_EPOCH {
                // The machine was cut off before its first snapshot was on the disk.
                continue;
            }
            if end.is_some_and(|end| end.duration_since(to).is_ok_and(|before| before > AROUND)) {
                return;
            }
            if end.is_none() {
                let mut boots = recording.groups().iter().rev().map(|group| group.boot);
                self.boot = boots.find(|boot| *boot != 0).unwrap_or(0);
                end = Some(to);
            }
            let mut name = entry.name;
            if let Some(pin) = pin_of_incidents(recording.incidents()) {
                name = folder.pin(&name, pin).unwrap_or(name);
            }
            // The minutes after them go on.
            for incident in recording.incidents() {
                if let Some(pin) = pin_of(incident) {
                    let until = &mut self.pin_until[pin as usize];
                    *until = (*until).max(incident.at().checked_add(AROUND));
                }
            }
            self.recent.push((name, to));
        }
    }

    /// Writes a snapshot. A failure is kept in the status.
    pub fn record(&mut self, snapshot: &Arc<Snapshot>, incidents: &[Incident]) {
        self.record_all(iter::once((Arc::clone(snapshot), incidents.to_vec())));
    }

    /// Writes snapshots and forces them to the disk together. So, if a flush takes longer than an interval, the snapshots that
    /// have come meanwhile do not wait for one each.
    fn record_all(&mut self, snapshots: impl Iterator<Item = (Arc<Snapshot>, Vec<Incident>)>) {
        for (snapshot, incidents) in snapshots {
            self.write(&snapshot, &incidents);
        }
        if self.retry.is_none()
            && let Err(error) = self.flush()
        {
            self.fail(&error);
        }
    }

    fn write(&mut self, snapshot: &Arc<Snapshot>, incidents: &[Incident]) {
        if self.retry.is_some_and(|at| Instant::now() < at) {
            self.status.lock().lost += 1;
            let (snapshot, incidents) = self.unwritten.complete(snapshot, incidents.to_vec());
            self.unwritten.keep(&snapshot, incidents);
            return;
        }
        let (snapshot, mut incidents) = self.unwritten.complete(snapshot, incidents.to_vec());
        // A machine that has just started may be too slow to read its boot id: one that is recorded under no boot hides the boot.
        let is_first = self.output.is_none() && self.unknown < MOST_UNKNOWN;
        if is_first && snapshot.boot_id == Err(Missing::Pending) {
            self.unknown += 1;
            self.unwritten.keep(&snapshot, incidents);
            return;
        }
        if let Place::Folder(_, retention) = &self.options.place {
            let is_important = pin_of_incidents(&incidents).is_some();
            if !self.space.has_room(snapshot.monotonic, retention.bytes, is_important) {
                self.status.lock().left_out += 1;
                self.unwritten.keep(&snapshot, incidents);
                return;
            }
        }
        match self.try_record(&snapshot, &mut incidents) {
            Ok(bytes) => {
                self.retry = None;
                let mut status = self.status.lock();
                status.bytes += bytes;
                status.snapshots += 1;
                status.fault = None;
            }
            Err(error) => {
                self.unwritten.keep(&snapshot, incidents);
                self.status.lock().lost += 1;
                self.fail(&error);
            }
        }
    }

    /// Ends the group, and reports why.
    fn fail(&mut self, error: &io::Error) {
        self.groups = GroupWriter::default();
        let is_usable = self.output.as_mut().is_some_and(Output::forget_line);
        if !is_usable
            && matches!(self.options.place, Place::Folder(..))
            && let Some(output) = self.output.take()
        {
            self.put_away(output);
        }
        self.retry = Some(Instant::now() + self.options.retry);
        let reason = error.to_string();
        let reason = reason.split(" (os error").next().unwrap_or_default();
        let mut status = self.status.lock();
        status.is_closed = error.kind() == io::ErrorKind::BrokenPipe;
        status.fault = Some(text::safe(reason.as_bytes()).into_owned());
    }

    /// Writes a snapshot. Adds the boot before it to the incidents, which are written later if this fails.
    fn try_record(&mut self, snapshot: &Arc<Snapshot>, incidents: &mut Vec<Incident>) -> io::Result<u64> {
        if !std::mem::replace(&mut self.knows_past, true) {
            self.find_end_of_boot();
        }
        let boot = snapshot.boot_id.as_ref().map_or(0, |id| boot_digest(id));
        let is_new_boot = self.boot != 0 && boot != 0 && self.boot != boot;
        let has_boot = |all: &[Incident]| all.iter().any(|incident| incident.kind == IncidentKind::Boot);
        if is_new_boot && !has_boot(incidents) {
            incidents.insert(
                0,
                Incident::new(snapshot.time, IncidentKind::Boot, "the machine started".into()),
            );
        }
        if self.groups.is_full(snapshot) {
            self.end_group()?;
        }
        let is_folder = matches!(self.options.place, Place::Folder(..));
        if is_folder
            && self
                .output
                .as_ref()
                .is_some_and(|output| output.is_old(snapshot.time) || is_new_boot)
        {
            self.close_file()?;
        }
        if self.output.is_none() {
            self.open_file(snapshot.time)?;
        }
        self.boot = boot;
        let snapshot = self.names.shorten(snapshot, self.options.command_lines);
        let begins = self.groups.is_between();
        let bytes = self.groups.push(&snapshot, incidents)?;
        self.space.spend(bytes.len());
        if !begins {
            self.names.written(&snapshot, bytes.len());
        }
        self.make_room(bytes.len() as u64);
        if let Some(output) = &mut self.output {
            if begins {
                output.group = output.length;
            }
            output.append(&bytes, snapshot.time)?;
        }
        if let Some(pin) = pin_of_incidents(incidents) {
            self.pin(snapshot.time, pin, has_boot(incidents));
        }
        Ok(bytes.len() as u64)
    }

    fn flush(&mut self) -> io::Result<()> {
        let is_due = match self.options.flush {
            Flush::Snapshot => true,
            Flush::Minute => self.flushed.elapsed() >= MINUTE,
            Flush::Never => false,
        };
        if is_due && let Some(file) = self.output.as_ref().and_then(|output| output.file.as_ref()) {
            (self.options.sync)(file)?;
            self.flushed = Instant::now();
        }
        Ok(())
    }

    /// Deletes old files, unless the folder has room for so many bytes of the open file.
    fn make_room(&mut self, bytes: u64) {
        let (Place::Folder(folder, retention), Some(output)) = (&self.options.place, &mut self.output) else {
            return;
        };
        let end = output.length + bytes;
        if end <= output.room {
            return;
        }
        let step = (retention.bytes / CLEAN_SHARE).max(bytes);
        output.room = output.length + step;
        let less = Retention {
            bytes: retention.bytes.saturating_sub(step),
            ..*retention
        };
        // A file that cannot be deleted must not end the recording.
        if let Err(error) = folder.clean(&less, Some(&output.name), SystemTime::now()) {
            self.status.lock().undeleted = Some(text::safe(error.to_string().as_bytes()).into_owned());
        }
    }

    /// Begins a file of the folder.
    fn open_file(&mut self, at: SystemTime) -> io::Result<()> {
        let Place::Folder(folder, _) = &self.options.place else {
            return Ok(());
        };
        // If the clock was set back, the minutes after an incident begin now.
        if let Some(latest) = at.checked_add(AROUND) {
            self.pin_until
                .iter_mut()
                .flatten()
                .for_each(|until| *until = latest.min(*until));
        }
        let (name, file) = folder.create(at)?;
        self.status.lock().file = Some(folder.path(&name));
        self.output = Some(Output::new(Some(file), name, at));
        Ok(())
    }

    /// Ends the group, so that its summary is known.
    fn end_group(&mut self) -> io::Result<()> {
        let Some(end) = self.groups.end()? else { return Ok(()) };
        if let Some(output) = &mut self.output {
            let to = output.to;
            output.append(&end.bytes, to)?;
            if let Some(file) = &output.file {
                file.write_all_at(&end.header, output.group)?;
            }
        }
        Ok(())
    }

    fn close_file(&mut self) -> io::Result<()> {
        self.end_group()?;
        let Some(output) = self.output.take() else {
            return Ok(());
        };
        let finished = output.finish(self.options.flush);
        self.put_away(output);
        finished
    }

    /// Pins a file of the folder if it is near an incident, and starts the program for it. A disk that fails must not prevent this.
    fn put_away(&mut self, output: Output) {
        let Place::Folder(folder, _) = &self.options.place else {
            return;
        };
        let mut name = output.name;
        for pin in [Pin::Machine, Pin::Cgroup] {
            if self.pin_until[pin as usize].is_some_and(|until| output.from <= until) {
                name = folder.pin(&name, pin).unwrap_or(name);
            }
        }
        if let Some(program) = &self.options.on_rotate {
            start(program, &folder.path(&name));
        }
        self.recent.push((name, output.to));
        self.recent
            .retain(|(_, to)| output.to.duration_since(*to).is_ok_and(|ago| ago <= AROUND));
    }

    /// Pins the files of the minutes before `at`, and later the files of the minutes after. Before a boot, those are the minutes
    /// before the end of the last one.
    fn pin(&mut self, at: SystemTime, pin: Pin, is_boot: bool) {
        let Place::Folder(folder, _) = &self.options.place else {
            return;
        };
        self.pin_until[pin as usize] = at.checked_add(AROUND);
        for (name, to) in &mut self.recent {
            let is_near = at.duration_since(*to).map_or(true, |ago| ago <= AROUND);
            if is_near || is_boot {
                *name = folder.pin(name, pin).unwrap_or_else(|_| name.clone());
            }
        }
    }

    pub fn status(&self) -> Status {
        self.status.lock().clone()
    }

    /// Ends the recording.
    pub fn close(&mut self) {
        if let Err(error) = self.close_file() {
            self.status.lock().fault = Some(text::safe(error.to_string().as_bytes()).into_owned());
        }
    }
}

impl Output {
    const fn new(file: Option<File>, name: OsString, from: SystemTime) -> Self {
        Self {
            file,
            name,
            from,
            to: from,
            group: 0,
            length: 0,
            allocated: 0,
            room: 0,
        }
    }

    fn is_old(&self, now: SystemTime) -> bool {
        // A clock that was set back begins a new file, too.
        self.length >= FILE_BYTES || now.duration_since(self.from).map_or(true, |time| time > FILE_TIME)
    }

    fn append(&mut self, bytes: &[u8], at: SystemTime) -> io::Result<()> {
        let Some(file) = &self.file else {
            let mut out = io::stdout().lock();
            out.write_all(bytes)?;
            return out.flush();
        };
        let end = self.length + bytes.len() as u64;
        if end > self.allocated {
            let ahead = end + AHEAD;
            // Not all file systems support it; a full one fails at the write.
            let _ = rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, self.length, ahead - self.length);
            self.allocated = ahead;
        }
        file.write_all_at(bytes, self.length)?;
        self.length = end;
        self.to = at;
        Ok(())
    }

    /// Frees what was allocated ahead, and forces the file to the disk.
    fn finish(&self, flush: Flush) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        file.set_len(self.length)?;
        match flush {
            Flush::Never => Ok(()),
            _ => file.sync_all(),
        }
    }

    /// Removes the partial line of a failed write. Returns false if the file cannot be continued.
    fn forget_line(&mut self) -> bool {
        self.allocated = 0;
        self.file.as_ref().is_none_or(|file| file.set_len(self.length).is_ok())
    }
}

/// Starts a program without waiting for its end.
fn start(program: &Path, file: &Path) {
    let mut command = Command::new(program);
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null());
    own::restore(&mut command);
    match command.spawn() {
        Ok(mut child) => {
            // Wait only to reap it.
            let _ = std::thread::Builder::new().spawn(move || child.wait());
        }
        Err(error) => tracing::warn!(%error, "the program after a rotation cannot be started"),
    }
}

/// Returns how an incident pins its file; `None` if it does not.
fn pin_of(incident: &Incident) -> Option<Pin> {
    let pin = if incident.is_of_cgroup {
        Pin::Cgroup
    } else {
        Pin::Machine
    };
    incident.is_serious().then_some(pin)
}

/// Returns how incidents pin their file; `None` if they do not.
fn pin_of_incidents(incidents: &[Incident]) -> Option<Pin> {
    incidents.iter().filter_map(pin_of).min()
}
