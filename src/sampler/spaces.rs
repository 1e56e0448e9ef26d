//! Finds processes that share an address space, by `kcmp(2)`.
//!
//! Everything else that the kernel reports of an address space can be changed by its processes between two reads: its size,
//! its figures, even the addresses of its program (`PR_SET_MM_MAP`). So all processes are compared with one another. As the
//! kernel has an order of address spaces, each takes a binary search.

use std::cell::Cell;
use std::cmp::Ordering;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;

use super::reading::ProcessRef;
use super::reading::pool::Reader;
use super::reading::target::Target;
use crate::proc::{clock, pid};

/// Number of comparisons after which the read reports progress.
const PIECE: usize = 256;
/// Maximum number of times that all processes are compared, if they end or run exec meanwhile.
const ROUNDS: usize = 3;

/// Processes in the kernel's order of their address spaces.
pub struct Spaces<T>(Vec<T>);

impl<T> Default for Spaces<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Spaces<T> {
    /// Adds a process, unless it cannot be compared. Returns one with the same address space that was added before. If the new one
    /// is likely the last in order, `is_next` saves most comparisons.
    pub fn add(&mut self, one: T, is_next: bool, compare: impl Fn(T, T) -> Result<Ordering, Errno>) -> Option<T> {
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

    /// Compares each process with the next one, and returns those that have the same address space. A process that ended or ran exec
    /// meanwhile has lost its place, and others may have been added at a wrong one. If so, all are added again.
    pub fn settle(&mut self, compare: impl Fn(T, T) -> Result<Ordering, Errno>) -> Vec<(T, T)> {
        let mut pairs = Vec::new();
        for _ in 0..ROUNDS {
            pairs.clear();
            if self.neighbours(&compare, &mut pairs) {
                break;
            }
            for one in std::mem::take(&mut self.0) {
                self.add(one, true, &compare);
            }
        }
        pairs
    }

    /// Adds the neighbours that have the same address space to the pairs. Returns true if all processes are in order. Removes those that
    /// have ended.
    fn neighbours(&mut self, compare: &impl Fn(T, T) -> Result<Ordering, Errno>, pairs: &mut Vec<(T, T)>) -> bool {
        let mut is_ordered = true;
        let mut kept: Vec<T> = Vec::with_capacity(self.0.len());
        for one in self.0.drain(..) {
            while let Some(last) = kept.last().copied() {
                match compare(last, one) {
                    Ok(Ordering::Less) => {}
                    Ok(Ordering::Equal) => pairs.push((one, last)),
                    Ok(Ordering::Greater) => is_ordered = false,
                    Err(_) if compare(one, one).is_err() => break,
                    Err(_) => {
                        kept.pop();
                        continue;
                    }
                }
                kept.push(one);
                break;
            }
            if kept.is_empty() {
                kept.push(one);
            }
        }
        self.0 = kept;
        is_ordered
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

impl Peer {
    /// Returns true if both are the same run of one process.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        (self.serial, self.exec) == (other.serial, other.exec)
    }
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
    /// The ones that were compared before, in order.
    pub(crate) known: Vec<Peer>,
    pub(crate) new: Vec<Peer>,
    /// Compares the known ones again.
    pub(crate) verify: bool,
}

/// The two processes that are being compared: one of them may never let the comparison return.
pub(crate) type Current = Mutex<Option<[Peer; 2]>>;

/// The result of a comparison.
pub(crate) struct Compared {
    /// The processes that could be compared, in order.
    pub(crate) known: Vec<Peer>,
    /// The processes that were compared now.
    pub(crate) asked: Vec<Peer>,
    /// The ones of `asked` with the address space of another, each with one compared before it.
    pub(crate) pairs: Vec<(Peer, Peer)>,
    /// The CPU time that it took, if the known ones were compared again.
    pub(crate) cost: Option<Duration>,
}

/// Compares the address spaces of new processes with the known ones.
pub(crate) fn compare(peers: Peers, current: &Current, proc: &Path, reader: &mut Reader<'_>) -> Compared {
    let began = clock::thread_time();
    let Peers { known, new, verify } = peers;
    let count = Cell::new(0_usize);
    let compare = |a: Peer, b: Peer| {
        if count.replace(count.get() + 1).is_multiple_of(PIECE) {
            (reader.progress)();
        }
        *current.lock().unwrap_or_else(PoisonError::into_inner) = Some([a, b]);
        pid::compare_memory(a.task, b.task)
    };
    let mut asked = if verify { known.clone() } else { Vec::new() };
    let mut spaces = Spaces(known);
    let mut pairs = Vec::new();
    for one in &new {
        pairs.extend(spaces.add(*one, false, compare).map(|other| (*one, other)));
    }
    asked.extend(new);
    if verify {
        pairs.extend(spaces.settle(compare));
    }
    // A pid may have been reused, and a zombie shares the address space that none of them has.
    let mut is_current = |peer: &Peer| is_current(&Target::bare(peer.pid), Some(peer.starttime), proc, reader.buf);
    pairs.retain(|(one, other)| is_current(one) && is_current(other));
    Compared {
        known: spaces.0,
        asked,
        pairs,
        cost: verify.then(|| clock::thread_time().saturating_sub(began)),
    }
}

/// Returns true if the process is no zombie, and started at `starttime` if that is known.
pub(crate) fn is_current(target: &Target, starttime: Option<u64>, proc: &Path, buf: &mut [u8]) -> bool {
    target.is_there(proc, buf, |glance| {
        !glance.stat.is_zombie() && starttime.is_none_or(|starttime| glance.starttime == starttime)
    })
}
