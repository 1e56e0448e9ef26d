//! `/proc/swaps`.

use crate::model::system::SwapArea;
use crate::model::{Missing, Reading};
use crate::proc::parse::{number, words};

/// The swap areas in `bytes`. The crate's readers want UTF-8, and a path need not be: this one is our own.
///
/// Under a line of titles each has its path (blanks and backslashes written as `\040` and the like), kind,
/// size and use in KiB, and priority. One line that does not read so makes the whole malformed, as a sum
/// over the rest would be wrong.
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
        path: unescape(path),
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

/// The bytes behind `\ooo`.
fn unescape(path: &[u8]) -> Box<[u8]> {
    let mut out = Vec::with_capacity(path.len());
    let mut rest = path;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail
            .first_chunk::<3>()
            .filter(|d| *first == b'\\' && d[0] <= b'3' && d.iter().all(|d| (b'0'..=b'7').contains(d)));
        if let Some([a, b, c]) = octal {
            out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
            rest = &tail[3..];
        } else {
            out.push(*first);
            rest = tail;
        }
    }
    out.into()
}
