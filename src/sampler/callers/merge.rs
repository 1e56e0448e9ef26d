//! Puts the events of all CPUs in the order of time, though each CPU's are read by themselves. Pure.
//!
//! Memory that is freed on another CPU than it was taken on has its two events in two buffers. In which order these are
//! read must not matter: a free that came before its allocation would be one of something older, and the allocation would
//! never be freed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Pages that are read of one CPU in a row. More of them wait in memory, and fewer have idle CPUs asked more often.
const PAGES: usize = 8;

/// The queues.
#[derive(Debug)]
pub struct Merge<T> {
    cpus: Vec<Cpu<T>>,
    /// The oldest event of each queue that has any.
    oldest: BinaryHeap<Reverse<(u64, usize)>>,
    /// The newest time that was read.
    newest: u64,
}

#[derive(Debug)]
struct Cpu<T> {
    queue: VecDeque<(u64, T)>,
    /// Events of this CPU that are not in the queue are not older than that.
    until: u64,
}

impl<T> Merge<T> {
    /// Returns empty queues for so many CPUs.
    pub fn new(cpus: usize) -> Self {
        let empty = || Cpu {
            queue: VecDeque::new(),
            until: 0,
        };
        Self {
            cpus: (0..cpus).map(|_| empty()).collect(),
            oldest: BinaryHeap::new(),
            newest: 0,
        }
    }

    /// Reads each CPU of which nothing is left, and gives `take` all that no CPU can have anything older than.
    ///
    /// `read` appends a page of a CPU to its queue, and returns false if there was none. The result is false once there is
    /// nothing to do until there are new events: after the last ones all are given.
    pub fn step(
        &mut self,
        mut read: impl FnMut(usize, &mut VecDeque<(u64, T)>) -> bool,
        mut take: impl FnMut(usize, T),
    ) -> bool {
        let mut busy = false;
        for at in 0..self.cpus.len() {
            if self.cpus[at].queue.is_empty() {
                busy |= self.fill(at, &mut read);
            }
        }
        let empty = self.cpus.iter().filter(|cpu| cpu.queue.is_empty());
        let mut until = empty.map(|cpu| cpu.until).min().unwrap_or(u64::MAX);
        while let Some(Reverse((time, at))) = self.oldest.pop() {
            if time > until {
                self.oldest.push(Reverse((time, at)));
                break;
            }
            let cpu = &mut self.cpus[at];
            if let Some((_, event)) = cpu.queue.pop_front() {
                take(at, event);
                busy = true;
            }
            match cpu.queue.front() {
                Some((next, _)) => self.oldest.push(Reverse((*next, at))),
                None => until = until.min(cpu.until),
            }
        }
        busy
    }

    /// Reads some pages of a CPU; returns true if there were any.
    fn fill(&mut self, at: usize, read: &mut impl FnMut(usize, &mut VecDeque<(u64, T)>) -> bool) -> bool {
        let cpu = &mut self.cpus[at];
        let mut busy = false;
        for _ in 0..PAGES {
            // An event that was seen on any CPU is older than what this one, empty now, still is to write.
            let before = self.newest;
            if !read(at, &mut cpu.queue) {
                cpu.until = cpu.until.max(before);
                break;
            }
            busy = true;
            if let Some((time, _)) = cpu.queue.back() {
                cpu.until = *time;
                self.newest = self.newest.max(*time);
            }
        }
        if let Some((time, _)) = cpu.queue.front() {
            self.oldest.push(Reverse((*time, at)));
        }
        busy
    }
}
