//! Reads a small text file that could be anything: never blocks, never reads without end.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};

use super::fault::{ConfigError, Fault, Position};

/// The maximum size of a file of the configuration, in bytes.
pub const MAX_BYTES: u64 = 1 << 20;

/// Reads the text of a file; `None` if the file does not exist.
///
/// # Errors
/// The file cannot be opened or read, is not a regular file, has more than [`MAX_BYTES`] or is not UTF-8.
pub(super) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    Ok(read_open(path)?.map(|(text, _)| text))
}

/// Reads the text of a file as [`read`] does; returns the open file too.
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

/// Converts bytes to text, or names the place where they are not UTF-8.
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

/// Opens a file for reading, without waiting for the other end of a FIFO and without taking a terminal.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
}

/// Returns true if the file does not exist, or a directory on its path is not one, as with `HOME=/dev/null`.
pub(super) fn absent(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Formats an error without its "(os error N)".
pub(crate) fn reason(e: &io::Error) -> String {
    let text = e.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_lowercase(),
        None => text,
    }
}

/// Describes the kind of a file; `None` for a regular one.
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
