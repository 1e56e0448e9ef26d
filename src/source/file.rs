//! Opening a file of snapshots.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, IsTerminal, Read};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::source::error::Trouble;
use crate::source::frames::Frames;
use crate::text;

const BUFFER: usize = 128 << 10;

/// The largest window that is made room for: that of `zstd --long`, 128 MiB.
const WINDOW_LOG: u32 = 27;

/// What a file is called in messages.
pub(super) fn name(path: &Path) -> String {
    match path.as_os_str().as_encoded_bytes() {
        b"-" => "standard input".into(),
        bytes => text::safe(bytes).into_owned(),
    }
}

/// Opens a regular file, or standard input for `-`, and takes off the compression.
pub(super) fn open(path: &Path) -> Result<Frames, Trouble> {
    if path.as_os_str() == "-" {
        if io::stdin().is_terminal() {
            return Err(Trouble::Kind { kind: "a terminal" });
        }
        return plain(Box::new(io::stdin()));
    }
    // Without waiting for the other end of a FIFO and without taking a terminal.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(|e| unreadable(&e.into()))?;
    let stat = rustix::fs::fstat(&file).map_err(|e| unreadable(&e.into()))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => plain(Box::new(File::from(file))),
        FileType::Directory => Err(Trouble::Kind { kind: "a directory" }),
        FileType::Fifo => Err(Trouble::Kind { kind: "a FIFO" }),
        FileType::Socket => Err(Trouble::Kind { kind: "a socket" }),
        FileType::CharacterDevice | FileType::BlockDevice => Err(Trouble::Kind { kind: "a device" }),
        FileType::Symlink | FileType::Unknown => Err(Trouble::Kind {
            kind: "something unknown",
        }),
    }
}

fn plain(mut file: Box<dyn Read + Send>) -> Result<Frames, Trouble> {
    let mut magic = Vec::with_capacity(4);
    file.by_ref()
        .take(4)
        .read_to_end(&mut magic)
        .map_err(|e| unreadable(&e))?;
    let compressed = is_zstd(&magic);
    let whole = BufReader::with_capacity(BUFFER, Cursor::new(magic).chain(file));
    let input: Box<dyn BufRead + Send> = if compressed {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(whole).map_err(|e| unreadable(&e))?;
        decoder.window_log_max(WINDOW_LOG).map_err(|e| unreadable(&e))?;
        Box::new(BufReader::with_capacity(BUFFER, decoder))
    } else {
        Box::new(whole)
    };
    Ok(Frames::new(input, compressed))
}

/// A frame of zstd, or one that it passes over (RFC 8878, 3.1).
fn is_zstd(magic: &[u8]) -> bool {
    matches!(magic, [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

fn unreadable(error: &io::Error) -> Trouble {
    Trouble::Unreadable { why: reason(error) }
}

/// The reason alone, without the "(os error N)".
pub(super) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((reason, _)) => reason.to_lowercase(),
        None => text::safe_prefix(text.as_bytes(), 160).into_owned(),
    }
}
