//! Processes that ended between two snapshots.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use super::reading::{Missing, Reading};

/// The processes that started and ended since the previous snapshot, on the whole machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exits {
    /// Ended processes. Unknown before Linux 5.19, whose records do not distinguish processes from threads.
    pub ended: Reading<u64>,
    /// Started processes and threads: the pids that the kernel allocated.
    pub started: Reading<u64>,
    /// Records of ended processes and threads that were lost, because the kernel's buffer was full.
    pub lost: u64,
    /// The ended processes whose peak was at least [`Exit::LEAST`], the highest first. At most [`Exit::MOST`]: see [`keep_highest`].
    /// Empty if `ended` says why they cannot be seen.
    pub list: Vec<Exit>,
}

impl Exits {
    pub const fn missing(why: Missing) -> Self {
        Self {
            ended: Err(why),
            started: Err(why),
            lost: 0,
            list: Vec::new(),
        }
    }

    /// Adds the earlier snapshots, which were not shown.
    pub fn add_earlier(&mut self, earlier: &Self) {
        let sum = |one: Reading<u64>, other: Reading<u64>| one.map(|n| n.saturating_add(other.unwrap_or(0)));
        self.ended = sum(self.ended, earlier.ended);
        self.started = sum(self.started, earlier.started);
        self.lost = self.lost.saturating_add(earlier.lost);
        self.list.extend_from_slice(&earlier.list);
        keep_highest(&mut self.list, Exit::MOST, |exit| (exit.uid, exit.peak));
    }

    /// Returns true if nothing was requested.
    pub fn is_unread(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Exits {
    fn default() -> Self {
        Self::missing(Missing::Pending)
    }
}

/// Sorts a list by peak, the highest first, and keeps at most `most` entries. The highest one of each user is kept first, then the
/// second one, and so on: otherwise one user's many processes would displace those of others. `of` returns an entry's uid and peak.
pub fn keep_highest<T>(list: &mut Vec<T>, most: usize, of: impl Fn(&T) -> (u32, u64)) {
    list.sort_by_key(|entry| Reverse(of(entry).1));
    if list.len() <= most {
        return;
    }
    let mut counts: HashMap<u32, usize> = HashMap::new();
    let mut ranked: Vec<(usize, T)> = Vec::with_capacity(list.len());
    for entry in list.drain(..) {
        let (uid, _) = of(&entry);
        // The subordinate uids of a user are about a block of this size.
        let user = if uid < 1 << 16 { uid } else { uid >> 16 << 16 };
        let count = counts.entry(user).or_default();
        *count += 1;
        ranked.push((*count, entry));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.truncate(most);
    list.extend(ranked.into_iter().map(|(_, entry)| entry));
    list.sort_by_key(|entry| Reverse(of(entry).1));
}

/// A process that ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    pub pid: u32,
    /// Its start time, if an earlier snapshot has it. See [`Identity`](super::Identity).
    pub starttime: Option<u64>,
    /// Its parent when it ended.
    pub ppid: u32,
    /// The parent's short name, raw, if a snapshot has it.
    pub parent: Option<Box<[u8]>>,
    /// Its real user.
    pub uid: u32,
    /// Its short name, raw.
    pub comm: Box<[u8]>,
    /// Its cgroup, raw, if an earlier snapshot has it; or else its parent's.
    pub cgroup: Option<Box<[u8]>>,
    /// The time of its end, to 0.1 s.
    pub time: SystemTime,
    /// Time from its start to its end.
    pub lifetime: Duration,
    /// The highest RSS that it ever had, in bytes. It includes shared pages.
    pub peak: u64,
    /// It never ran a program of its own (`fork` without `exec`), so `peak` includes pages that it shared with its parent.
    pub is_fork: bool,
    /// Of a fork: the RSS of its parent in bytes, in the last snapshot that has it.
    pub parent_rss: Option<u64>,
    /// Its exit code; `None` if a signal ended it, or if unknown.
    pub code: Option<u32>,
    /// The signal that ended it.
    pub signal: Option<u32>,
}

impl Exit {
    /// The lowest peak in the list, in bytes.
    pub const LEAST: u64 = 16 << 20;
    /// Maximum number of processes in the list of one snapshot.
    pub const MOST: usize = 64;
    /// The longest life of a process that started and ended: it was in no snapshot, or in too few for a series.
    pub const BRIEF: Duration = Duration::from_secs(60);

    /// Returns true for a process that started and ended with memory of its own.
    pub fn is_brief(&self) -> bool {
        self.lifetime <= Self::BRIEF && self.own() > 0
    }

    /// Returns the peak in bytes without the pages that a fork may have shared with its parent; 0 if they are not known.
    pub fn own(&self) -> u64 {
        match (self.is_fork, self.parent_rss) {
            (false, _) => self.peak,
            (true, Some(shared)) => self.peak.saturating_sub(shared),
            (true, None) => 0,
        }
    }
}
