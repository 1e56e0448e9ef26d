//! Lists all processes, or those with pids in a range.
//!
//! Linux lists processes in order of pid. A position in that directory is the pid plus a constant (`TGID_OFFSET` of
//! `fs/proc/base.c`), so listing a range costs only as much as the range holds. The constant is not part of the
//! kernel's interface: it is derived from the whole list. If it cannot be derived, only the whole list is available.

use std::ops::RangeInclusive;

use rustix::fs::{CWD, SeekFrom};

use super::files::{entries, number, numbers, open_list, optional_reason};
use crate::model::Reading;

/// Number of bytes read at a time, about 32 per process: for a whole list, and for a range, after which little is left
/// to read.
const PIECE: usize = 32 << 10;
const RANGE_PIECE: usize = 4 << 10;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PidList {
    pub range: RangeInclusive<u32>,
    /// Ascending.
    pub pids: Vec<u32>,
    /// The difference between directory position and pid; `None` if it is not the same for all processes.
    pub base: Option<u64>,
}

impl PidList {
    /// Makes a list that covers all pids except 0, as which a cgroup lists the processes of other pid namespaces.
    pub fn whole(mut pids: Vec<u32>) -> Self {
        pids.sort_unstable();
        pids.dedup();
        pids.retain(|pid| *pid > 0);
        Self {
            range: 0..=u32::MAX,
            pids,
            base: None,
        }
    }

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
    Ok(PidList {
        base: base.flatten().filter(|_| is_even),
        ..PidList::whole(pids)
    })
}

/// Lists the processes of the tree at `proc` with pids in `range`. `base` comes from the [whole list](all).
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

/// Calls `each` with every pid in the tree at `proc`, in the kernel's order; a procfs lists pids in ascending order.
/// Reads the directory in pieces of `piece` bytes.
pub fn each(proc: &[u8], piece: usize, each: impl FnMut(u32)) -> Reading<()> {
    numbers(CWD, proc, piece, each).map_err(optional_reason)
}
