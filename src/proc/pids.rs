//! The list of processes: all of it, or those with pids in a range.
//!
//! Linux lists processes in order of pid, and a position in that directory is a pid and a constant (`TGID_OFFSET` of
//! `fs/proc/base.c`). So a range is listed at the cost of what is in it. The constant is no part of the kernel's interface:
//! it is taken from what the whole list shows, and where that shows none there is nothing but the whole list.

use std::ops::RangeInclusive;

use rustix::fs::{CWD, SeekFrom};

use super::files::{entries, number, numbers, open_list, optional_reason};
use crate::model::Reading;

/// Bytes read at a time, of some 32 for each process: of a whole list, and of a range, beyond which little is to be read.
const PIECE: usize = 32 << 10;
const RANGE_PIECE: usize = 4 << 10;

/// The pids listed in a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PidList {
    /// The pids that it tells of.
    pub range: RangeInclusive<u32>,
    /// Pids of processes, in order.
    pub pids: Vec<u32>,
    /// The position of each process in the directory without its pid; `None` where these are not the same.
    pub base: Option<u64>,
}

impl PidList {
    /// Returns true if it tells of all pids.
    pub fn is_whole(&self) -> bool {
        self.range == (0..=u32::MAX)
    }
}

/// Lists the processes of the tree at `proc`.
pub fn all(proc: &[u8]) -> Reading<PidList> {
    let (mut pids, mut base, mut position) = (Vec::new(), None, None);
    let mut is_even = true;
    let dir = open_list(CWD, proc).map_err(optional_reason)?;
    let read = entries(dir, PIECE, |name, next| {
        if let Some(pid) = number(name) {
            let own = position.and_then(|at: u64| at.checked_sub(pid.into()));
            is_even &= own.is_some() && *base.get_or_insert(own) == own;
            pids.push(pid);
        }
        position = Some(next);
        true
    });
    read.map_err(optional_reason)?;
    pids.sort_unstable();
    Ok(PidList {
        range: 0..=u32::MAX,
        pids,
        base: base.flatten().filter(|_| is_even),
    })
}

/// Lists the processes of the tree at `proc` with pids in a range, where `base` is that of the [whole list](all).
pub fn within(proc: &[u8], range: RangeInclusive<u32>, base: u64) -> Reading<PidList> {
    let mut pids = Vec::new();
    let dir = open_list(CWD, proc).map_err(optional_reason)?;
    let from = SeekFrom::Start(base.saturating_add((*range.start()).into()));
    rustix::fs::seek(&dir, from).map_err(optional_reason)?;
    let read = entries(dir, RANGE_PIECE, |name, _| {
        let pid = number(name);
        pids.extend(pid.filter(|pid| range.contains(pid)));
        pid.is_none_or(|pid| pid < *range.end())
    });
    read.map_err(optional_reason)?;
    Ok(PidList {
        range,
        pids,
        base: Some(base),
    })
}

/// Calls `each` with every pid listed in the tree at `proc`, in the kernel's order, which for a procfs is that
/// of pids. The directory is read in pieces of `piece` bytes.
pub fn each(proc: &[u8], piece: usize, each: impl FnMut(u32)) -> Reading<()> {
    numbers(CWD, proc, piece, each).map_err(optional_reason)
}
