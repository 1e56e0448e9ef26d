//! `/proc/<pid>/stat`: the glance, which says whether a walk would show anything new.

use super::parse::number;
use crate::model::{Missing, Reading, Stat};

/// The parsed fields of a `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glance<'a> {
    /// Field 1.
    pub pid: u32,
    /// Field 2 without its parentheses: foreign bytes, which may contain parentheses and newlines.
    pub comm: &'a [u8],
    /// Field 22: clock ticks after boot.
    pub starttime: u64,
    /// Its faults and those of the children it has waited for, minor and major: fields 10 to 13.
    pub faults: u64,
    /// The other fields.
    pub stat: Stat,
}

/// Parses a `stat`; `page` is the page size in bytes.
///
/// Fields are counted from the last `)`, since a comm may contain any other. The fields up to 24 must be there
/// and be followed by more, since the last number of a truncated file may be wrong; otherwise it is
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
    // The argument of `nth` is the number of fields skipped.
    stat.flags = number(fields.nth(4)?)?; // 9
    stat.minflt = number(fields.nth(0)?)?; // 10
    let minor_of_children: u64 = number(fields.nth(0)?)?; // 11
    stat.majflt = number(fields.nth(0)?)?; // 12
    let major_of_children = number(fields.nth(0)?)?; // 13
    let user = number(fields.nth(0)?)?; // 14
    let system = number(fields.nth(0)?)?; // 15
    stat.cpu_ticks = user.saturating_add(system);
    stat.threads = number(fields.nth(4)?)?; // 20
    let starttime = number(fields.nth(1)?)?; // 22
    stat.vsize = number(fields.nth(0)?)?; // 23
    stat.rss = number(fields.nth(0)?)?.checked_mul(page)?; // 24
    fields.nth(0)?; // 25: a file truncated before it may end in half a number
    let mut image = [0; 3]; // 26–28
    let mut argv = [0; 2]; // 48 and 49
    for field in &mut image {
        *field = fields.nth(0).map_or(Some(0), number)?;
    }
    for (field, skip) in argv.iter_mut().zip([19, 0]) {
        *field = fields.nth(skip).map_or(Some(0), number)?;
    }
    // Without permission to see them the fields are 1, 1 and 0; those of a kernel thread are all 0.
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
        faults: [stat.minflt, stat.majflt, minor_of_children, major_of_children]
            .into_iter()
            .fold(0, u64::wrapping_add),
        stat,
    })
}

/// The remaining fields, separated by single blanks and ended by a newline. Parsed for every process in every
/// tick: skipped fields are only counted.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Skips `skip` fields and returns the next one.
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

/// Hashes `words`; never 0. Different words almost certainly give different numbers.
fn digest(words: &[u64]) -> u64 {
    words
        .iter()
        .fold(0x243f_6a88_85a3_08d3, |h: u64, w| {
            (h.rotate_left(23) ^ w).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        })
        .max(1)
}

/// Hashes a name; never 0.
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
