//! `/proc/<pid>/stat`: the glance.

use super::parse::number;
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

    let mut fields = Fields(&bytes[close + 1..]);
    let mut stat = Stat {
        state: *fields.nth(0)?.first()?,
        ppid: u32::try_from(number(fields.nth(0)?)?).ok()?,
        ..Stat::default()
    };
    // From here on `nth` counts the fields passed over.
    stat.flags = number(fields.nth(4)?)?; // 9
    stat.minflt = number(fields.nth(0)?)?; // 10
    stat.majflt = number(fields.nth(1)?)?; // 12
    let user = number(fields.nth(1)?)?; // 14
    let system = number(fields.nth(0)?)?; // 15
    stat.cpu_ticks = user.saturating_add(system);
    stat.threads = number(fields.nth(4)?)?; // 20
    let starttime = number(fields.nth(1)?)?; // 22
    stat.vsize = number(fields.nth(0)?)?; // 23
    stat.rss = number(fields.nth(0)?)?.checked_mul(page)?; // 24
    fields.nth(0)?; // 25: what is cut off before it may end in half a number
    let mut image = [0; 3]; // 26–28
    let mut argv = [0; 2]; // 48 and 49
    for field in &mut image {
        *field = fields.nth(0).map_or(Some(0), number)?;
    }
    for (field, skip) in argv.iter_mut().zip([19, 0]) {
        *field = fields.nth(skip).map_or(Some(0), number)?;
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
        starttime,
        stat,
    })
}

/// The fields that are left, parted by single blanks and closed by a newline. Read for every process in
/// every tick, so that what is passed over is only counted.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// The field after the next `skip`.
    fn nth(&mut self, skip: usize) -> Option<&'a [u8]> {
        let is_blank = |b: &u8| *b <= b' ';
        let mut from = usize::from(self.0.first().is_some_and(is_blank));
        for _ in 0..skip {
            from += self.0.get(from..)?.iter().position(is_blank)? + 1;
        }
        let rest = self.0.get(from..)?;
        let len = rest.iter().position(is_blank).unwrap_or(rest.len());
        self.0 = &rest[len..];
        (len > 0).then(|| &rest[..len])
    }
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
