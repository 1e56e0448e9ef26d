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
use crate::proc::{clock, pid};

/// Number of processes after which the read reports progress.
const PIECE: usize = 256;

/// The address spaces found so far, in the kernel's order, each with one of its processes.
pub(crate) struct Spaces<T>(Vec<T>);

impl<T> Default for Spaces<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Spaces<T> {
    /// Returns a process with the same address space that was added before. If there is none, adds this one, unless it
    /// cannot be compared. If it is likely the last in order, `is_next` saves most comparisons.
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
            match compare(self.0[at], one) {
                Ok(Ordering::Equal) => return Some(self.0[at]),
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

/// The result of a comparison of processes.
pub(crate) struct Compared {
    /// The processes that could be compared, each with the number of its address space in the kernel's order.
    pub(crate) found: Vec<(ProcessRef, u32)>,
    /// The CPU time it took.
    pub(crate) cost: Duration,
}

/// Compares the address spaces of processes, of which the first `sorted` are likely in the kernel's order.
pub(crate) fn compare(processes: Vec<ProcessRef>, sorted: usize, proc: &Path, reader: &mut Reader<'_>) -> Compared {
    let began = clock::thread_time();
    let mut spaces = Spaces::default();
    let tasks: Vec<u32> = processes.iter().map(|process| process.target.task()).collect();
    let mut firsts = Vec::with_capacity(tasks.len());
    for at in 0..tasks.len() {
        if at % PIECE == 0 {
            (reader.progress)();
        }
        let first = spaces.add(at, at < sorted, |a, b| pid::compare_memory(tasks[a], tasks[b]));
        firsts.push(first.unwrap_or(at));
    }
    let mut members = vec![0_u32; tasks.len()];
    for first in &firsts {
        members[*first] += 1;
    }
    let mut numbers = vec![None; tasks.len()];
    for (number, first) in (0..).zip(spaces.0) {
        numbers[first] = Some(number);
    }
    let found = processes.into_iter().zip(firsts).filter_map(|(process, first)| {
        let number = numbers[first]?;
        // The pid may have been reused, which matters only if it shares.
        let is_known = members[first] == 1 || process.target.is_same(process.starttime, proc, reader.buf);
        is_known.then_some((process, number))
    });
    let found = found.collect();
    let cost = clock::thread_time().saturating_sub(began);
    Compared { found, cost }
}

/// Returns the first process of each pair whose address spaces differ. Skips pairs of which that is unknown.
pub(crate) fn separated(pairs: Vec<(ProcessRef, ProcessRef)>) -> Vec<ProcessRef> {
    let differ = |(one, other): &(ProcessRef, ProcessRef)| {
        let order = pid::compare_memory(one.target.task(), other.target.task());
        order.is_ok_and(Ordering::is_ne)
    };
    pairs.into_iter().filter(differ).map(|(one, _)| one).collect()
}
