//! `/proc/<pid>/status`.

use std::num::NonZero;

use super::parse::{kib, number, words};
use super::statm::Statm;
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
    figure(bytes, b"VmSwap:").ok_or(Missing::Malformed)
}

/// Parses `RssAnon`, `RssFile` and `RssShmem`, `VmData` and `VmStk`: what `statm` tells, at the moment of [`swap`]; since
/// Linux 4.5.
pub fn resident(bytes: &[u8]) -> Reading<Statm> {
    let shared = figure(bytes, b"RssFile:").zip(figure(bytes, b"RssShmem:"));
    let both = figure(bytes, b"RssAnon:").zip(shared);
    let data = figure(bytes, b"VmData:").zip(figure(bytes, b"VmStk:"));
    both.map(|(anon, (file, shmem))| Statm {
        anon,
        shared: file.saturating_add(shmem),
        data: data.and_then(|(data, stack)| NonZero::new(data.saturating_add(stack))),
    })
    .ok_or(Missing::Malformed)
}

fn figure(bytes: &[u8], name: &[u8]) -> Option<u64> {
    bytes
        .split(|b| *b == b'\n')
        .find_map(|line| line.strip_prefix(name))
        .and_then(kib)
}
