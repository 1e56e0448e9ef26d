//! `/proc/<pid>/smaps_rollup`, and `smaps` summed up where a kernel has no rollup.
//!
//! Both are lines of `Name:   123 kB` under header lines; a rollup has one header, `smaps` one for each
//! mapping. A header begins with a lower-case hexadecimal address, a figure with an upper-case letter. The
//! kernel writes a newline in a path as `\012`, so that no path can pass for a figure.

use super::parse::{LineBuffer, kib};
use crate::model::memory::{Memory, MemoryFigure, memory_figures};
use crate::model::{Missing, Reading};

/// The number of bytes kept of a line: no figure comes near it, and headers are not needed.
const MAX_LINE: usize = 96;

/// A figure summed up so far.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    bytes: u64,
    /// The number of mappings that had it.
    seen: u32,
}

macro_rules! define_sums {
    ($($(#[$doc:meta])* $figure:ident: $type:ty = $line:literal,)*) => {
        /// The figures summed up so far.
        #[derive(Debug, Default)]
        pub(super) struct Sums {
            $($figure: Sum,)*
            malformed: bool,
        }

        impl Sums {
            /// Returns the sum that a line adds to, by the line's name.
            fn sum(&mut self, name: &[u8]) -> Option<&mut Sum> {
                // Called for every line of every process: the compiler turns a match into comparisons of
                // lengths and bytes, which is faster than any table.
                Some(match name {
                    $($line => &mut self.$figure,)*
                    _ => return None,
                })
            }

            /// Returns the figures of `mappings` mappings.
            fn memory(&self, mappings: u32) -> Reading<Memory> {
                Ok(Memory {
                    $($figure: MemoryFigure::from_reading(self.$figure.reading(mappings))?,)*
                })
            }
        }
    };
}

memory_figures!(define_sums);

impl Sum {
    /// Returns the sum if all of `mappings` mappings have the figure.
    const fn reading(self, mappings: u32) -> Reading<u64> {
        match self {
            Self { bytes, seen } if seen == mappings => Ok(bytes),
            Self { seen: 0, .. } => Err(Missing::Unsupported),
            Self { .. } => Err(Missing::Malformed),
        }
    }
}

impl Sums {
    /// Adds one line without its newline. Skips headers and unknown names.
    pub(super) fn add_line(&mut self, line: &[u8]) {
        if !line.first().is_some_and(u8::is_ascii_uppercase) {
            return;
        }
        let Some(colon) = line.iter().position(|b| *b == b':') else {
            return;
        };
        let Some(sum) = self.sum(&line[..colon]) else {
            return;
        };
        match kib(&line[colon + 1..]).and_then(|bytes| sum.bytes.checked_add(bytes)) {
            Some(bytes) => {
                sum.bytes = bytes;
                sum.seen = sum.seen.saturating_add(1);
            }
            None => self.malformed = true,
        }
    }

    /// Returns the figures of `mappings` mappings, or of as many as there were.
    pub(super) fn finish(&self, mappings: Option<u32>) -> Reading<Memory> {
        let mappings = mappings.unwrap_or(self.rss.seen);
        if self.malformed || mappings == 0 {
            return Err(Missing::Malformed);
        }
        self.memory(mappings).map_err(|_| Missing::Malformed)
    }
}

/// Parses a `smaps_rollup`, in bytes. Allocates nothing.
///
/// A figure that the kernel lacks is [`Missing::Unsupported`]. A rollup that lacks one that every kernel
/// writes, has one twice, or has a value that is not a size, is [`Missing::Malformed`]. So is an empty one:
/// only the caller can know what that means.
pub fn rollup(bytes: &[u8]) -> Reading<Memory> {
    let mut sums = Sums::default();
    for line in bytes.split(|b| *b == b'\n') {
        sums.add_line(line);
    }
    sums.finish(Some(1))
}

/// Returns where the address space of a rollup ends: the second address of its header. The kernel draws it anew for
/// every program (unless `randomize_va_space` is 0), and a program keeps it.
pub fn end(rollup: &[u8]) -> Option<u64> {
    let addresses = rollup.split(|b| *b == b' ').next()?;
    let dash = addresses.iter().position(|b| *b == b'-')?;
    u64::from_str_radix(str::from_utf8(&addresses[dash + 1..]).ok()?, 16).ok()
}

/// Returns the anonymous pages of a rollup, whole, in bytes.
pub fn anonymous(rollup: &[u8]) -> Option<u64> {
    rollup
        .split(|b| *b == b'\n')
        .find_map(|line| kib(line.strip_prefix(b"Anonymous:")?))
}

/// Sums up a `smaps` as it is read, in pieces of any size; a line may be split between two of them.
#[derive(Debug, Default)]
pub struct SmapsSum {
    sums: Sums,
    buffer: LineBuffer<MAX_LINE>,
}

impl SmapsSum {
    /// Adds the next piece.
    pub fn feed(&mut self, piece: &[u8]) {
        self.buffer.feed(piece, |line| self.sums.add_line(line));
    }

    /// Returns the sums, in bytes; the rules are those of [`rollup`], and a figure that only some mappings
    /// have is [`Missing::Malformed`]. The kernel rounds each mapping's Pss down to whole kibibytes, so the
    /// sum is below the rollup's by less than 1 KiB a mapping.
    pub fn finish(mut self) -> Reading<Memory> {
        self.buffer.finish(|line| self.sums.add_line(line));
        self.sums.finish(None)
    }
}

/// Sums up a whole `smaps`.
pub fn smaps(bytes: &[u8]) -> Reading<Memory> {
    let mut sum = SmapsSum::default();
    sum.feed(bytes);
    sum.finish()
}
