//! `/proc/<pid>/cmdline`: the arguments, or the title that a process wrote in their place.

/// Bytes of a command line that are kept. Linux allows megabytes, which no screen shows and with which any user could
/// fill zmtop's memory.
pub const MAX: usize = 4 << 10;
/// The bytes of these that are kept of the end: the class of a java program stands behind its class path, which may be long.
const MAX_END: usize = 1 << 10;
/// The mark of the place where a longer one was cut.
const ELLIPSIS: &[u8] = "…".as_bytes();

/// Returns a command line as it is kept: where it is longer than [`MAX`] bytes its beginning, `…`, and its end. The NULs that
/// fill the room behind a short title do not count.
pub fn kept(bytes: &[u8]) -> Box<[u8]> {
    if bytes.len() <= MAX {
        return bytes.into();
    }
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
    if end <= MAX {
        return bytes[..end].into();
    }
    // No character of UTF-8 is cut, which has four bytes at most.
    let is_boundary = |at: &usize| bytes[*at] & 0xc0 != 0x80;
    let most = MAX - MAX_END - ELLIPSIS.len();
    let head = (most - 3..=most).rev().find(is_boundary).unwrap_or(most);
    let least = end - MAX_END;
    let tail = (least..least + 3).find(is_boundary).unwrap_or(least);
    [&bytes[..head], ELLIPSIS, &bytes[tail..end]].concat().into()
}
