//! The files of a folder of recordings: their names, and which of them are deleted.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::config::settings::Retention;
use crate::config::state;
use crate::source::SUFFIX;

/// The suffix of a pinned file, which is not deleted with the others.
const PINNED: &str = ".pinned.zmrec";
/// The suffix of a file that only incidents of cgroups pinned.
const OF_CGROUP: &str = ".cgroup.pinned.zmrec";
/// The lock file. Only one process may write to the folder.
const LOCK: &str = ".lock";
/// Maximum number of files that begin in the same second.
const MAX_TRIES: u32 = 100;
/// Time after now from which a file is from a clock that was ahead. A clock that is set back by less changes no order.
const AHEAD: Duration = Duration::from_secs(24 * 60 * 60);

/// The incidents that pinned a file. Each kind may use half of the space for pinned files, and more if the other kind leaves some: a
/// user who owns a cgroup can cause any number of incidents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pin {
    /// Some concern the machine.
    Machine,
    /// All concern limits of cgroups.
    Cgroup,
}

/// A file of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: OsString,
    pub bytes: u64,
    /// When it was last written.
    pub changed: SystemTime,
}

impl Entry {
    fn pin(&self) -> Option<Pin> {
        pin_of_name(self.name.as_encoded_bytes())
    }
}

/// Returns how a file is pinned, by its name.
fn pin_of_name(name: &[u8]) -> Option<Pin> {
    let pin = if name.ends_with(OF_CGROUP.as_bytes()) {
        Pin::Cgroup
    } else {
        Pin::Machine
    };
    name.ends_with(PINNED.as_bytes()).then_some(pin)
}

/// Returns the names of the files to delete, oldest first. A pinned file for which the pinned space or age does not suffice counts as
/// one that is not pinned: a pin never makes a file's life shorter. Files from a clock that was ahead count as the oldest: they must not
/// use up the space of later ones until the clock reaches their time.
pub fn to_delete(retention: &Retention, mut files: Vec<Entry>, now: SystemTime) -> Vec<OsString> {
    let is_ahead = |file: &Entry| file.changed.duration_since(now).is_ok_and(|ahead| ahead > AHEAD);
    let changed = |file: &Entry| (!is_ahead(file)).then_some(file.changed);
    files.sort_by(|a, b| changed(b).cmp(&changed(a)).then_with(|| b.name.cmp(&a.name)));
    let is_older = |file: &Entry, age| now.duration_since(file.changed).is_ok_and(|old| old > age);
    let pin = |file: &Entry| file.pin().filter(|_| !is_older(file, retention.pinned_age));
    let total = |kind| {
        let pinned = files.iter().filter(|file| pin(file) == Some(kind));
        pinned.map(|file| file.bytes).sum::<u64>()
    };
    let beside = |kind| retention.pinned_bytes - total(kind).min(retention.pinned_bytes / 2);
    // By the order of [`Pin`].
    let mut left = [beside(Pin::Cgroup), beside(Pin::Machine)];
    let mut others = 0;
    let mut deleted: Vec<_> = files
        .iter()
        .filter(|file| {
            if let Some(pin) = pin(file)
                && let Some(rest) = left[pin as usize].checked_sub(file.bytes)
            {
                left[pin as usize] = rest;
                return false;
            }
            others += file.bytes;
            others > retention.bytes || is_older(file, retention.age)
        })
        .map(|file| file.name.clone())
        .collect();
    deleted.reverse();
    deleted
}

/// Returns true for a name as [`Folder::create`] makes them: a recording that someone else put there is not deleted.
fn is_of_recorder(name: &[u8]) -> bool {
    let is_stamp = |stamp: &[u8]| {
        let mut parts = stamp.iter().zip(b"00000000T000000Z");
        parts.all(|(byte, kind)| match kind {
            b'0' => byte.is_ascii_digit(),
            _ => byte == kind,
        })
    };
    name.ends_with(SUFFIX.as_bytes()) && name.get(..16).is_some_and(is_stamp)
}

/// A folder, locked by this process.
#[derive(Debug)]
pub struct Folder {
    dir: OwnedFd,
    path: PathBuf,
    lock: File,
}

impl Drop for Folder {
    /// Unlocks it. Closing the file is not enough: a process that is being started has the lock, too, until it executes its program.
    fn drop(&mut self) {
        let _ = rustix::fs::flock(&self.lock, FlockOperation::Unlock);
    }
}

impl Folder {
    /// Opens a folder to write to it, and creates it if it does not exist, for its owner only.
    ///
    /// # Errors
    /// It cannot be opened or created, others can write to it, or another process records to it.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_if_free(path)?.ok_or_else(|| io::Error::other("another zmtop records to it"))
    }

    /// As [`Self::open`]; `None` if another process records to it.
    pub fn open_if_free(path: &Path) -> io::Result<Option<Self>> {
        let dir = state::open_folder(path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let lock = File::from(rustix::fs::openat(&dir, LOCK, flags, Mode::RUSR | Mode::WUSR)?);
        match rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(None),
            locked => locked.map_err(io::Error::from).map(|()| {
                Some(Self {
                    dir,
                    path: path.to_owned(),
                    lock,
                })
            }),
        }
    }

    /// Returns the path of a file.
    pub fn path(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Creates a file that is named after the time of its first snapshot.
    pub fn create(&self, at: SystemTime) -> io::Result<(OsString, File)> {
        let at = Timestamp::try_from(at).unwrap_or(Timestamp::MIN);
        let stem = at.strftime("%Y%m%dT%H%M%SZ").to_string();
        let mut tries = 0;
        loop {
            let base = match tries {
                0 => stem.clone(),
                n => format!("{stem}-{n}"),
            };
            // Pinning this file must not replace a pinned one of the same second.
            let exists =
                |suffix| rustix::fs::statat(&self.dir, format!("{base}{suffix}"), AtFlags::SYMLINK_NOFOLLOW).is_ok();
            let name = format!("{base}{SUFFIX}");
            let created = if exists(PINNED) || exists(OF_CGROUP) {
                Err(io::ErrorKind::AlreadyExists.into())
            } else {
                state::create_new(&self.dir, name.as_ref())
            };
            match created {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < MAX_TRIES => tries += 1,
                other => return other.map(|file| (name.into(), file)),
            }
        }
    }

    /// Returns the recordings that zmtop wrote to it, by their names.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut found = Vec::new();
        for entry in Dir::read_from(&self.dir)? {
            let name = OsStr::new(&*entry?.file_name().to_string_lossy()).to_owned();
            if !is_of_recorder(name.as_encoded_bytes()) {
                continue;
            }
            let Ok(stat) = rustix::fs::statat(&self.dir, &*name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                let changed = Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
                found.push(Entry {
                    name,
                    bytes: stat.st_size.cast_unsigned(),
                    changed: SystemTime::UNIX_EPOCH + changed,
                });
            }
        }
        Ok(found)
    }

    /// Pins a file, so that it is not deleted with the others. Returns its new name.
    pub fn pin(&self, name: &OsStr, pin: Pin) -> io::Result<OsString> {
        let text = name.to_string_lossy();
        if pin_of_name(name.as_encoded_bytes()).is_some_and(|present| present <= pin) {
            return Ok(name.to_owned());
        }
        let base = text
            .strip_suffix(OF_CGROUP)
            .or_else(|| text.strip_suffix(SUFFIX))
            .unwrap_or(&text);
        let suffix = match pin {
            Pin::Machine => PINNED,
            Pin::Cgroup => OF_CGROUP,
        };
        let pinned = OsString::from(format!("{base}{suffix}"));
        rustix::fs::renameat(&self.dir, name, &self.dir, &*pinned)?;
        Ok(pinned)
    }

    /// Deletes files that are too old or too many, except the one that is being written.
    ///
    /// # Errors
    /// The folder cannot be read, or some file cannot be deleted. All others are.
    pub fn clean(&self, retention: &Retention, open: Option<&OsStr>, now: SystemTime) -> io::Result<()> {
        let mut fault = Ok(());
        for name in to_delete(retention, self.entries()?, now) {
            if Some(&*name) == open {
                continue;
            }
            match rustix::fs::unlinkat(&self.dir, &*name, AtFlags::empty()) {
                // Its owner has deleted it meanwhile.
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => {
                    let why = io::Error::from(error).to_string();
                    let why = why.split(" (os error").next().unwrap_or_default();
                    fault = Err(io::Error::other(format!("{}: {why}", name.display())));
                }
            }
        }
        fault
    }
}
