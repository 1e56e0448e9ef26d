//! `/proc/swaps`.

use crate::model::system::SwapArea;
use crate::model::{Missing, Reading};
use crate::proc::parse::{number, unescape_octal, words};

/// Parses the swap areas. (procfs requires UTF-8, which a path need not be.)
///
/// Below a line of titles there is a line for each, with its path (blanks and backslashes written as `\040` and
/// the like), kind, size and use in KiB, and priority. One malformed line makes the whole file malformed, since a
/// sum over the rest would be wrong.
pub fn parse(bytes: &[u8]) -> Reading<Vec<SwapArea>> {
    let mut lines = bytes.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    if !lines.next().is_some_and(|titles| titles.starts_with(b"Filename")) {
        return Err(Missing::Malformed);
    }
    lines.map(|line| area(line).ok_or(Missing::Malformed)).collect()
}

fn area(line: &[u8]) -> Option<SwapArea> {
    let mut words = words(line);
    let path = words.next()?;
    let kind = str::from_utf8(words.next()?).ok()?;
    let mut kib = || words.next().and_then(number)?.checked_mul(1024);
    Some(SwapArea {
        path: unescape_octal(path).into(),
        kind: kind.into(),
        size: kib()?,
        used: kib()?,
        priority: match words.next() {
            None => Err(Missing::Unsupported),
            Some(word) => str::from_utf8(word)
                .ok()
                .and_then(|w| w.parse().ok())
                .ok_or(Missing::Malformed),
        },
    })
}
