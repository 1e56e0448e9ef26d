//! `/proc/<pid>/status`.

use super::parse::{kib, number, words};
use crate::model::{Missing, Reading};

/// Parses the effective user id, which decides the permissions of a process and the owner of `/proc/<pid>`: the
/// second number of `Uid:`. The kernel writes a newline in the name of the process as `\n`, so the line cannot
/// be forged.
pub fn uid(bytes: &[u8]) -> Reading<u32> {
    bytes
        .split(|b| *b == b'\n')
        .find_map(|line| line.strip_prefix(b"Uid:"))
        .and_then(|ids| words(ids).nth(1))
        .and_then(number)
        .and_then(|id| u32::try_from(id).ok())
        .ok_or(Missing::Malformed)
}

/// Parses `VmSwap`: anonymous memory swapped out, in bytes. Kernel threads have no such line.
pub fn swap(bytes: &[u8]) -> Reading<u64> {
    bytes
        .split(|b| *b == b'\n')
        .find_map(|line| line.strip_prefix(b"VmSwap:"))
        .and_then(kib)
        .ok_or(Missing::Malformed)
}
