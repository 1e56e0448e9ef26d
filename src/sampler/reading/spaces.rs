//! Which processes share an address space, by `kcmp(2)`.
//!
//! Everything else that the kernel reports of an address space can be changed by its processes between two reads: its size,
//! its figures, even the addresses of its program (`PR_SET_MM_MAP`). So all processes are compared with one another. As the
//! kernel has an order of address spaces, each takes a binary search.

use std::cmp::Ordering;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;

use super::ProcessRef;
use super::pool::Reader;
use super::target::Target;
use crate::proc::{clock, pid};

/// Number of processes after which the read reports progress.
const PIECE: usize = 256;

/// Processes in the kernel's order of their address spaces.
pub(crate) struct Spaces<T>(pub(crate) Vec<T>);

impl<T> Default for Spaces<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Spaces<T> {
    /// Adds a process, unless it cannot be compared. Returns one with the same address space that was added before. If the new one
    /// is likely the last in order, `is_next` saves most comparisons.
    pub(crate) fn add(
        &mut self,
        one: T,
        is_next: bool,
        compare: impl Fn(T, T) -> Result<Ordering, Errno>,
    ) -> Option<T> {
        let mut places = 0..self.0.len();
        let mut at = if is_next {
            places.end.saturating_sub(1)
        } else {
            places.end / 2
        };
        while !places.is_empty() {
            let other = self.0[at];
            match compare(other, one) {
                Ok(Ordering::Equal) => {
                    self.0.insert(at + 1, one);
                    return Some(other);
                }
                Ok(Ordering::Less) => places.start = at + 1,
                Ok(Ordering::Greater) => places.end = at,
                Err(_) if compare(one, one).is_err() => return None,
                Err(_) => {
                    // The other one has ended.
                    self.0.remove(at);
                    places.end -= 1;
                }
            }
            at = usize::midpoint(places.start, places.end);
        }
        self.0.insert(places.start, one);
        None
    }
}

/// A process to compare, without its open files.
#[derive(Clone, Copy)]
pub(crate) struct Peer {
    pub(crate) pid: u32,
    pub(crate) serial: u64,
    pub(crate) exec: u32,
    starttime: u64,
    task: u32,
}

impl From<&ProcessRef> for Peer {
    fn from(process: &ProcessRef) -> Self {
        Self {
            pid: process.pid,
            serial: process.serial,
            exec: process.exec,
            starttime: process.starttime,
            task: process.target.task(),
        }
    }
}

/// The processes to compare.
pub(crate) struct Peers {
    /// Those that were compared before, in order.
    pub(crate) known: Vec<Peer>,
    pub(crate) new: Vec<Peer>,
    /// Compares the known ones again.
    pub(crate) verify: bool,
}

/// The result of a comparison.
pub(crate) struct Compared {
    /// The processes that could be compared, in order.
    pub(crate) known: Vec<Peer>,
    /// Those that were compared now, and those of them with the same address space, each with one compared before it.
    pub(crate) asked: Vec<Peer>,
    pub(crate) pairs: Vec<(Peer, Peer)>,
    /// The CPU time that it took, if the known ones were compared again.
    pub(crate) cost: Option<Duration>,
}

/// Compares the address spaces of new processes with the known ones.
pub(crate) fn compare(peers: Peers, proc: &Path, reader: &mut Reader<'_>) -> Compared {
    let began = clock::thread_time();
    let Peers { mut known, new, verify } = peers;
    let sorted = if verify { known.len() } else { 0 };
    let mut asked = if verify { std::mem::take(&mut known) } else { Vec::new() };
    asked.extend(new);
    let mut spaces = Spaces(known);
    let mut pairs = Vec::new();
    for (at, one) in asked.iter().enumerate() {
        if at % PIECE == 0 {
            (reader.progress)();
        }
        let compare = |a: Peer, b: Peer| pid::compare_memory(a.task, b.task);
        // A pid may have been reused. That matters only for those that share.
        let mut is_current = |peer: &Peer| Target::bare(peer.pid).is_same(peer.starttime, proc, reader.buf);
        if let Some(other) = spaces.add(*one, at < sorted, compare)
            && is_current(one)
            && is_current(&other)
        {
            pairs.push((*one, other));
        }
    }
    Compared {
        known: spaces.0,
        asked,
        pairs,
        cost: verify.then(|| clock::thread_time().saturating_sub(began)),
    }
}
