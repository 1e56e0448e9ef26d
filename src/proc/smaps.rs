//! `/proc/<pid>/smaps_rollup`, and `smaps` summed up where a kernel has no rollup.
//!
//! Both are lines of `Name:   123 kB` under header lines; a rollup has one header, `smaps` one for each
//! mapping. A header begins with a lower-case hexadecimal address, a figure with an upper-case letter, and
//! the kernel writes a newline in a path as `\012`, so that no path can pass for a figure.

pub mod areas;

use super::parse;
use crate::model::{Memory, Missing, Reading};

/// How many figures are kept: those of [`Memory`], in its order.
const FIGURES: usize = 14;

/// The most of a line that is kept: no figure comes near it, and of a header nothing is needed.
const LINE: usize = 96;

/// One figure so far.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    bytes: u64,
    /// In how many mappings it was seen.
    seen: u32,
}

/// The figures so far.
#[derive(Debug, Default)]
struct Sums {
    sums: [Sum; FIGURES],
    malformed: bool,
}

impl Sums {
    /// Takes in one line without its newline. Headers and unknown names are skipped.
    fn line(&mut self, line: &[u8]) {
        if !line.first().is_some_and(u8::is_ascii_uppercase) {
            return;
        }
        let Some(colon) = line.iter().position(|b| *b == b':') else {
            return;
        };
        let Some(sum) = slot(&line[..colon]).map(|at| &mut self.sums[at]) else {
            return;
        };
        match parse::kib(&line[colon + 1..]).and_then(|bytes| sum.bytes.checked_add(bytes)) {
            Some(bytes) => {
                sum.bytes = bytes;
                sum.seen = sum.seen.saturating_add(1);
            }
            None => self.malformed = true,
        }
    }

    /// The figures of `mappings` mappings, or of as many as there were.
    fn finish(&self, mappings: Option<u32>) -> Reading<Memory> {
        let mappings = mappings.unwrap_or(self.sums[0].seen);
        if self.malformed || mappings == 0 {
            return Err(Missing::Malformed);
        }
        let optional = |at: usize| match self.sums[at] {
            Sum { bytes, seen } if seen == mappings => Ok(bytes),
            Sum { seen: 0, .. } => Err(Missing::Unsupported),
            Sum { .. } => Err(Missing::Malformed),
        };
        let required = |at: usize| optional(at).map_err(|_| Missing::Malformed);
        Ok(Memory {
            rss: required(0)?,
            pss: required(1)?,
            pss_dirty: optional(2),
            pss_anon: optional(3),
            pss_file: optional(4),
            pss_shmem: optional(5),
            shared_clean: required(6)?,
            shared_dirty: required(7)?,
            private_clean: required(8)?,
            private_dirty: required(9)?,
            shared_hugetlb: optional(10),
            private_hugetlb: optional(11),
            swap: required(12)?,
            swap_pss: optional(13),
        })
    }
}

/// Where a figure stands among those of [`Memory`], by its name.
fn slot(name: &[u8]) -> Option<usize> {
    // Read for every process in every tick: a match on length and bytes is what the compiler does best.
    Some(match name {
        b"Rss" => 0,
        b"Pss" => 1,
        b"Pss_Dirty" => 2,
        b"Pss_Anon" => 3,
        b"Pss_File" => 4,
        b"Pss_Shmem" => 5,
        b"Shared_Clean" => 6,
        b"Shared_Dirty" => 7,
        b"Private_Clean" => 8,
        b"Private_Dirty" => 9,
        b"Shared_Hugetlb" => 10,
        b"Private_Hugetlb" => 11,
        b"Swap" => 12,
        b"SwapPss" => 13,
        _ => return None,
    })
}

/// The figures of a `smaps_rollup`, in bytes. Allocates nothing.
///
/// Fields that older kernels lack are [`Missing::Unsupported`] each for itself; a rollup without one of the
/// fields that every kernel writes, with one twice, or with a value that is no size, is
/// [`Missing::Malformed`]. So is an empty one: what that means only the caller can know.
pub fn rollup(bytes: &[u8]) -> Reading<Memory> {
    let mut sums = Sums::default();
    for line in bytes.split(|b| *b == b'\n') {
        sums.line(line);
    }
    sums.finish(Some(1))
}

/// Sums a `smaps` up as it is read, in pieces of any size; a line may be split between two of them.
#[derive(Debug)]
pub struct Smaps {
    sums: Sums,
    line: [u8; LINE],
    len: usize,
}

impl Default for Smaps {
    fn default() -> Self {
        Self {
            sums: Sums::default(),
            line: [0; LINE],
            len: 0,
        }
    }
}

impl Smaps {
    /// Takes in the next piece.
    pub fn feed(&mut self, mut piece: &[u8]) {
        while let Some(end) = piece.iter().position(|b| *b == b'\n') {
            let (line, rest) = piece.split_at(end);
            if self.len == 0 {
                self.sums.line(line);
            } else {
                self.keep(line);
                self.flush();
            }
            piece = &rest[1..];
        }
        self.keep(piece);
    }

    /// Keeps the beginning of a line that goes on in the next piece.
    fn keep(&mut self, part: &[u8]) {
        let room = LINE - self.len;
        let taken = part.len().min(room);
        self.line[self.len..self.len + taken].copy_from_slice(&part[..taken]);
        self.len += taken;
    }

    fn flush(&mut self) {
        self.sums.line(&self.line[..self.len]);
        self.len = 0;
    }

    /// The sums, in bytes; the rules are those of [`rollup`], and a figure that some mappings have and
    /// others have not is [`Missing::Malformed`]. Each mapping's Pss was cut to whole kibibytes by the
    /// kernel, so the sum is below the rollup's by less than 1 KiB a mapping.
    pub fn finish(mut self) -> Reading<Memory> {
        self.flush();
        self.sums.finish(None)
    }
}

/// The figures of a whole `smaps`, summed.
pub fn smaps(bytes: &[u8]) -> Reading<Memory> {
    let mut smaps = Smaps::default();
    smaps.feed(bytes);
    smaps.finish()
}
