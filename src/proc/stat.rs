//! `/proc/<pid>/stat`: the glance.

use super::words::number;
use crate::model::{Missing, Reading, Stat};

/// What one `stat` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance<'a> {
    /// Field 1.
    pub pid: u32,
    /// Field 2 without its parentheses: anyone's to choose, parentheses and newlines too.
    pub comm: &'a [u8],
    /// Field 22: clock ticks after boot.
    pub starttime: u64,
    /// The rest.
    pub stat: Stat,
}

/// The `stat` in `bytes`; `page` is the page size in bytes.
///
/// Read from the last `)`, since a comm may hold any other. The fields up to 24 must be there and be
/// followed by more, as a cut-off file would give a wrong number for a right one; otherwise
/// [`Missing::Malformed`].
pub fn parse(bytes: &[u8], page: u64) -> Reading<Glance<'_>> {
    glance(bytes, page).ok_or(Missing::Malformed)
}

fn glance(bytes: &[u8], page: u64) -> Option<Glance<'_>> {
    let close = bytes.iter().rposition(|b| *b == b')')?;
    let open = bytes[..close].iter().position(|b| *b == b'(')?;
    let pid = u32::try_from(number(bytes[..open].trim_ascii())?).ok()?;

    let mut stat = Stat::default();
    let mut starttime = None;
    let mut seen = 2;
    let mut image = [0u64; 3];
    let mut argv = [0u64; 2];
    for word in super::words::words(&bytes[close + 1..]) {
        seen += 1;
        match seen {
            3 => stat.state = *word.first()?,
            4 => stat.ppid = u32::try_from(number(word)?).ok()?,
            9 => stat.flags = number(word)?,
            10 => stat.minflt = number(word)?,
            12 => stat.majflt = number(word)?,
            14 => stat.cpu_ticks = number(word)?,
            15 => stat.cpu_ticks = stat.cpu_ticks.saturating_add(number(word)?),
            20 => stat.threads = number(word)?,
            22 => starttime = Some(number(word)?),
            23 => stat.vsize = number(word)?,
            24 => stat.rss = number(word)?.checked_mul(page)?,
            26..=28 => image[seen - 26] = number(word)?,
            48 | 49 => argv[seen - 48] = number(word)?,
            50.. => break,
            _ => {}
        }
    }
    if seen < 25 {
        return None;
    }
    // Who may not look is told 1, 1 and 0; a kernel thread has 0 everywhere.
    if image.iter().any(|n| *n > 1) {
        stat.image = digest(&image);
    }
    if argv.iter().any(|n| *n > 1) {
        stat.argv = digest(&argv);
    }
    Some(Glance {
        pid,
        comm: &bytes[open + 1..close],
        starttime: starttime?,
        stat,
    })
}

/// A number that differs, as good as surely, when any of `words` does; never 0.
fn digest(words: &[u64]) -> u64 {
    words
        .iter()
        .fold(0x243f_6a88_85a3_08d3, |h: u64, w| {
            (h.rotate_left(23) ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
        .max(1)
}

/// A number that tells one name from another; never 0.
pub fn name_digest(name: &[u8]) -> u64 {
    let (words, rest) = name.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|w| u64::from_ne_bytes(*w));
    words
        .fold(name.len() as u64, |h, w| {
            (h.rotate_left(23) ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
        .max(1)
}
