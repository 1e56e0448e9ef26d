//! `/proc/<pid>/cmdline`: the arguments, or the title that a process wrote in their place.

/// Bytes of a command line that are kept. Linux allows megabytes, which no screen shows and with which any user could
/// fill zmtop's memory.
pub const MAX: usize = 4 << 10;
/// The end of a command line that was longer.
const ELLIPSIS: &[u8] = "…".as_bytes();

/// Returns a command line as it is kept: its beginning and `…` where it is longer than [`MAX`] bytes. The NULs that fill
/// the room behind a short title do not count.
pub fn kept(bytes: &[u8]) -> Box<[u8]> {
    if bytes.len() <= MAX {
        return bytes.into();
    }
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
    if end <= MAX {
        return bytes[..end].into();
    }
    let is_inside = |at: &usize| bytes[*at] & 0xc0 == 0x80;
    // A character in UTF-8 has four bytes at most.
    let most = MAX - ELLIPSIS.len();
    let end = (most - 3..=most).rev().find(|at| !is_inside(at)).unwrap_or(most);
    [&bytes[..end], ELLIPSIS].concat().into()
}
