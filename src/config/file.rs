//! The locations of the config files, and how small text files of any origin are read: without blocking and without end.
//!
//! A file named explicitly must be readable. A file in its default place counts as absent if this user may not read it,
//! because `sudo` and `setpriv` can keep the `HOME` of another user.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::fault::{ConfigError, Fault, Position, shown_path};
use super::{Env, env};

/// The maximum size of a config file, in bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// The files of one configuration.
#[derive(Debug)]
pub struct Files {
    config: Option<PathBuf>,
    /// True if the config file was named explicitly.
    is_named: bool,
    /// The files found to belong to another user.
    unread: RefCell<Vec<PathBuf>>,
}

impl Files {
    /// Returns the config file `named`, or the one that the environment leads to, and the files beside it.
    pub fn new(named: Option<&Path>, env: &Env) -> Self {
        Self {
            config: named.map(Path::to_path_buf).or_else(|| env.config_file()),
            is_named: named.is_some(),
            unread: RefCell::default(),
        }
    }

    /// Returns the path of `config.toml`; `None` if the environment names no place for it.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// Returns the path of another file in the directory of `config.toml`.
    pub(super) fn beside(&self, name: &str) -> Option<PathBuf> {
        self.config().map(|config| env::directory(config).join(name))
    }

    /// Reads the config file. Returns its text and the open file. The text is empty if no file was named and none
    /// exists.
    pub(super) fn read_config(&self) -> Result<(String, Option<File>), ConfigError> {
        let Some(path) = self.config() else {
            return Ok(<_>::default());
        };
        match self.read_open(path)? {
            None if self.is_named => Err(ConfigError::of_file(path, "no such file")),
            None => Ok(<_>::default()),
            Some((text, open)) => Ok((text, Some(open))),
        }
    }

    /// Reads one of the files; `None` if it does not exist or this user may not read it.
    pub(super) fn read(&self, path: &Path) -> Result<Option<String>, ConfigError> {
        Ok(self.read_open(path)?.map(|(text, _)| text))
    }

    fn read_open(&self, path: &Path) -> Result<Option<(String, File)>, ConfigError> {
        let is_denied = || open(path).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied);
        if !self.is_named && is_denied() {
            let mut unread = self.unread.borrow_mut();
            if !unread.iter().any(|other| other == path) {
                unread.push(path.to_owned());
            }
            return Ok(None);
        }
        read_open(path)
    }

    /// Returns true if the file belongs to another user and exists or may exist.
    pub(super) fn is_unread(&self, path: Option<&Path>) -> bool {
        path.is_some_and(|path| self.unread.borrow().iter().any(|other| other == path))
    }

    /// Returns a notice about the files that this user may not read, safe to print; `None` if there are none.
    pub fn unread(&self) -> Option<String> {
        let unread = self.unread.borrow();
        let folder = env::directory(self.config()?);
        // Several theme files are tried, so name only their folder.
        let of_folder = |path: &'_ PathBuf| path.strip_prefix(folder).ok()?.iter().next().map(PathBuf::from);
        let mut names: Vec<PathBuf> = unread.iter().filter_map(of_folder).collect();
        names.dedup();
        let first = names.first_mut()?;
        *first = folder.join(&first);
        let names: Vec<_> = names.iter().map(|name| shown_path(name)).collect();
        Some(format!(
            "cannot read {}: permission denied; the shipped settings apply",
            names.join(", ")
        ))
    }
}

/// Reads a text file; `None` if it does not exist.
///
/// # Errors
/// The file cannot be opened or read, is not a regular file, is larger than [`MAX_BYTES`] or is not UTF-8.
pub(crate) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    Ok(read_open(path)?.map(|(text, _)| text))
}

/// Reads a text file as [`read`] does. Also returns the open file.
pub(super) fn read_open(path: &Path) -> Result<Option<(String, File)>, ConfigError> {
    let fail = |what: String| ConfigError::of_file(path, what);
    let mut file = match open(path) {
        Ok(file) => file,
        Err(e) if absent(&e) && path.symlink_metadata().is_ok_and(|m| m.is_symlink()) => {
            return Err(fail("a symbolic link to a file that is not there".into()));
        }
        Err(e) if absent(&e) => return Ok(None),
        Err(e) => return Err(fail(format!("cannot be read: {}", reason(&e)))),
    };
    let kind = rustix::fs::fstat(&file)
        .map(|s| FileType::from_raw_mode(s.st_mode))
        .map_err(|e| fail(format!("cannot be read: {}", reason(&e.into()))))?;
    if let Some(kind) = not_regular(kind) {
        return Err(fail(format!("is {kind}, not a regular file")));
    }
    let mut bytes = Vec::new();
    file.by_ref()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| fail(format!("cannot be read: {}", reason(&e))))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(fail(format!("is larger than the {MAX_BYTES} bytes allowed")));
    }
    utf8(path, bytes).map(|text| Some((text, file)))
}

/// Converts bytes to text.
///
/// # Errors
/// Names the place of the first byte that is not UTF-8.
pub(super) fn utf8(path: &Path, bytes: Vec<u8>) -> Result<String, ConfigError> {
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let good = String::from_utf8_lossy(&e.as_bytes()[..at]).into_owned();
        let line = good.rsplit('\n').next().unwrap_or_default();
        ConfigError {
            faults: vec![Fault {
                file: path.into(),
                at: Some(Position {
                    line: good.matches('\n').count() + 1,
                    column: line.chars().count() + 1,
                }),
                key: String::new(),
                what: format!("not UTF-8: byte 0x{:02x} at offset {at}", e.as_bytes()[at]),
            }],
        }
    })
}

/// Opens a file for reading. Does not wait for the other end of a FIFO, and does not acquire a controlling terminal.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
}

/// Returns true if the file does not exist, or a parent is not a directory, as with `HOME=/dev/null`.
pub(super) fn absent(e: &io::Error) -> bool {
    matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Formats an error without the "(os error N)" suffix.
pub(crate) fn reason(e: &io::Error) -> String {
    let text = e.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_lowercase(),
        None => text,
    }
}

/// Describes a file type; `None` for regular files.
pub(super) fn not_regular(kind: FileType) -> Option<&'static str> {
    match kind {
        FileType::RegularFile => None,
        FileType::Directory => Some("a directory"),
        FileType::Fifo => Some("a FIFO"),
        FileType::Socket => Some("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("a device"),
        FileType::Symlink => Some("a symbolic link"),
        FileType::Unknown => Some("something unknown"),
    }
}
