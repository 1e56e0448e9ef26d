//! Opens a file of snapshots.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, IsTerminal, Read};
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::source::error::Fault;
use crate::source::frames::Frames;
use crate::text;

/// Bytes read at once, which is also what zstd takes at once.
const BUFFER: usize = 128 << 10;

/// The largest window that is made room for, as a power of two: that of `zstd --long`, 128 MiB. A header may claim
/// terabytes.
const WINDOW_LOG: u32 = 27;

/// Returns the name of a file in messages.
pub(super) fn name(path: &Path) -> String {
    match path.as_os_str().as_encoded_bytes() {
        b"-" => "standard input".into(),
        bytes => text::safe(bytes).into_owned(),
    }
}

/// Opens a regular file, or standard input for `-`, and takes off the compression.
pub(super) fn open(path: &Path) -> Result<Frames, Fault> {
    if path.as_os_str() == "-" {
        if io::stdin().is_terminal() {
            return Err(Fault::Kind("a terminal"));
        }
        return decompress(Box::new(io::stdin())).map_err(|e| Fault::unreadable(&e));
    }
    // Without waiting for the other end of a FIFO and without taking a terminal.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(|e| Fault::unreadable(&e.into()))?;
    let stat = rustix::fs::fstat(&file).map_err(|e| Fault::unreadable(&e.into()))?;
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            return decompress(Box::new(File::from(file))).map_err(|e| Fault::unreadable(&e));
        }
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

/// Returns true for a frame of zstd, or one that it passes over (RFC 8878, 3.1).
fn is_zstd(magic: &[u8]) -> bool {
    matches!(magic, [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}
