//! `/proc/<pid>/statm`: the kinds of resident pages, which the kernel counts as they come and go, and what was asked for.
//!
//! The counters know nothing of sharers, and reading them walks no page tables. Before Linux 6.17 they lag behind by a
//! batch of pages for each CPU.

use std::num::NonZero;

use super::parse::{number, words};
use crate::model::{Missing, Reading};

/// The resident pages of a process by kind, and what it may fill, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statm {
    /// Anonymous pages: `resident − shared`.
    pub anon: u64,
    /// Pages of files, shmem and tmpfs, with any number of sharers: the kernel calls them `shared`.
    pub shared: u64,
    /// The part of its address space that it may write to and shares with nobody, touched or not: the field `data`; `None`
    /// where that is not told.
    pub data: Option<NonZero<u64>>,
}

/// Parses a `statm`; `page` is the page size in bytes.
///
/// The fields up to the third must be there and be followed by more, since the last number of a truncated file may be
/// wrong; otherwise it is [`Missing::Malformed`].
pub fn parse(bytes: &[u8], page: u64) -> Reading<Statm> {
    statm(bytes, page).ok_or(Missing::Malformed)
}

fn statm(bytes: &[u8], page: u64) -> Option<Statm> {
    let mut fields = words(bytes);
    let resident = number(fields.nth(1)?)?.checked_mul(page)?;
    let shared = number(fields.next()?)?.checked_mul(page)?;
    fields.next()?;
    // An unused field comes before it, and another after it.
    let data = fields.nth(1).and_then(number).filter(|_| fields.next().is_some());
    let data = data.and_then(|pages| pages.checked_mul(page));
    Some(Statm {
        // The counters are read one after another, and those that lag may be read below what they stand for.
        anon: resident.saturating_sub(shared),
        shared,
        data: data.and_then(NonZero::new),
    })
}

/// Returns by how many pages each count may be off on a kernel of that `release`, as `uname` gives it, for a process of so
/// many threads. A release that is not understood is taken for an old one.
///
/// Since Linux 6.17 counts are exact. From 6.2 each CPU keeps back up to a batch of pages of each kind
/// (`percpu_counter_batch`); before, each thread up to 64 pages of all kinds (`TASK_RSS_EVENTS_THRESH`).
pub fn inexact(release: &[u8], cpus: u64, threads: u64) -> u64 {
    let mut parts = release.split(|b| !b.is_ascii_digit());
    let mut part = || parts.next().and_then(number).unwrap_or(0);
    match (part(), part()) {
        version if version >= (6, 17) => 0,
        version if version >= (6, 2) => cpus.saturating_mul(cpus.saturating_mul(2).max(32)),
        _ => threads.max(1).saturating_mul(64),
    }
}
