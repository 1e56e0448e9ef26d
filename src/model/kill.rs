//! Processes that were killed for lack of memory: by the kernel, or by a daemon that acts before it.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::model::reading::Reading;
use crate::text::named;

/// A kill for lack of memory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct OomKill {
    /// The wall-clock time at which zmtop detected it, at most some ticks later. Of a kill before zmtop started, its own time.
    pub time: SystemTime,
    /// The same on the monotonic clock, in milliseconds. Unknown in older recordings.
    pub monotonic_ms: Reading<u64>,
    /// The number of its record in the kernel's log, unique in a boot. `None` in older recordings and if it is not logged.
    pub record: Option<u64>,
    /// `None` if the kernel killed it.
    pub daemon: Option<DaemonKill>,
    /// The process, from the kernel's log. If a daemon killed it, as the snapshot before had it.
    pub victim: Reading<OomVictim>,
}

/// A daemon killed the process.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct DaemonKill {
    /// The name of the daemon; foreign text in a recording.
    pub name: Box<str>,
    /// Number of further processes that it killed within a second.
    pub others: u64,
}

/// The daemons that kill processes when memory is short, by the names of their programs. Each SIGKILL and SIGTERM of theirs
/// counts.
///
/// So there are none here that also end processes for other reasons: the kubelet, which evicts a pod by the container runtime,
/// as it stops one; Slurm; monit. Others only ask the kernel to kill, which then logs it: low-memory-monitor.
pub const KILLERS: [&str; 6] = [
    // Kills all of a cgroup, for its pressure or because swap is full.
    "systemd-oomd",
    // Sends SIGTERM, and SIGKILL if that does not help, to the process with the highest `oom_score`.
    "earlyoom",
    // The same, by rules of its own. A Python script.
    "nohang",
    // Facebook's model of systemd-oomd, by plugins.
    "oomd",
    // By pressure.
    "bustd",
    // Android's.
    "lmkd",
];

named! {
    /// The reason of a kill.
    pub enum KillCause {
        /// The machine's memory was full.
        Machine = "machine",
        /// The limit of a cgroup was reached, or the NUMA nodes of a memory policy or a cpuset were full.
        Cgroup = "cgroup",
        /// A daemon found that memory was short.
        Daemon = "daemon",
        /// The log was not readable, or does not have the kill.
        Unknown = "unknown",
    }
}

/// The uid of a killed process, and the cgroup whose limit was reached. `None` and an empty path if they are unknown.
pub type KillOrigin<'a> = (Option<u32>, &'a [u8]);

/// Removes kills from a list, the newest last, until it has at most `most`; returns how many. The oldest go first; but if more
/// than half are not of the machine, the oldest of the user with the most kills, below the cgroups with the most kills, level by level.
/// A user can cause any number of kills at the limits of any number of cgroups. `origin_of` returns `None` for a kill
/// [of the machine](OomKill::is_of_machine).
pub fn forget_kills<T>(kills: &mut Vec<T>, most: usize, origin_of: impl Fn(&T) -> Option<KillOrigin<'_>>) -> usize {
    let surplus = kills.len().saturating_sub(most);
    for _ in 0..surplus {
        let others: Vec<(usize, KillOrigin<'_>)> = kills
            .iter()
            .enumerate()
            .filter_map(|(at, kill)| Some((at, origin_of(kill)?)))
            .collect();
        let is_most = 2 * others.len() > kills.len();
        let first = is_most.then(|| oldest_below_most(others)).flatten();
        kills.remove(first.unwrap_or(0));
    }
    surplus
}

/// Returns the number of the oldest kill of the user with the most kills, below the cgroups with the most kills, level by level. `kills` has
/// their numbers and origins.
fn oldest_below_most(mut kills: Vec<(usize, KillOrigin<'_>)>) -> Option<usize> {
    let level = |(uid, path): &KillOrigin<'_>, depth: usize| -> Option<Box<[u8]>> {
        match depth {
            // The subordinate uids of a user are about a block of this size.
            0 => uid.map(|uid| (uid >> 16).to_be_bytes().into()),
            1 => uid.map(|uid| uid.to_be_bytes().into()),
            _ => Some(path.split(|byte| *byte == b'/').nth(depth - 1)?.into()),
        }
    };
    for depth in 0.. {
        let is_of_users = depth < 2;
        let mut counts: HashMap<Option<Box<[u8]>>, usize> = HashMap::new();
        for (_, origin) in &kills {
            *counts.entry(level(origin, depth)).or_default() += 1;
        }
        let largest = counts.values().max().copied().unwrap_or_default();
        // A user may have one kill of each of many uids.
        if largest == 1 && is_of_users {
            continue;
        }
        // The one whose first kill is the oldest, if several have as many.
        let found = kills.iter().map(|(_, origin)| level(origin, depth));
        let found = found.into_iter().find(|name| counts.get(name) == Some(&largest))?;
        if !is_of_users && (largest == 1 || found.is_none() && counts.len() == 1) {
            break;
        }
        kills.retain(|(_, origin)| level(origin, depth) == found);
        if !is_of_users && found.is_none() {
            break;
        }
    }
    kills.first().map(|(at, _)| *at)
}

/// Returns true if a daemon kills for the pressure in a cgroup, which its owner can cause.
pub fn acts_for_cgroups(daemon: &str) -> bool {
    daemon.starts_with("systemd-oomd")
}

impl OomKill {
    /// Returns true if the machine's memory was full, or a daemon found it short.
    pub fn is_of_machine(&self) -> bool {
        self.cause() != KillCause::Unknown && !self.is_of_cgroup()
    }

    /// Returns its origin, as far as it is known: see [`forget_kills`].
    pub fn origin(&self) -> Option<KillOrigin<'_>> {
        let victim = self.victim.as_ref();
        (!self.is_of_machine()).then(|| victim.map_or((None, &[][..]), OomVictim::origin))
    }

    /// Returns when it was detected, on the monotonic clock.
    pub fn monotonic(&self) -> Option<Duration> {
        self.monotonic_ms.ok().map(Duration::from_millis)
    }

    pub fn cause(&self) -> KillCause {
        match (&self.victim, &self.daemon) {
            (_, Some(_)) => KillCause::Daemon,
            (Ok(victim), None) if victim.is_limited() => KillCause::Cgroup,
            (Ok(_), None) => KillCause::Machine,
            (Err(_), None) => KillCause::Unknown,
        }
    }

    /// Returns true if a user can cause it: a limit was reached, a memory policy or a cpuset allowed only some NUMA nodes, or
    /// systemd-oomd acted for the pressure in a cgroup.
    pub fn is_of_cgroup(&self) -> bool {
        self.cause() == KillCause::Cgroup
            || self
                .daemon
                .as_ref()
                .is_some_and(|daemon| acts_for_cgroups(&daemon.name))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct OomVictim {
    /// The pid in the initial pid namespace.
    pub pid: u32,
    /// Its real uid in the initial user namespace. `None` in older recordings, if the kernel's log lacks it, and if a daemon killed it.
    pub uid: Option<u32>,
    /// Raw.
    pub comm: Box<[u8]>,
    /// In bytes: anonymous memory, files and shmem.
    pub rss: u64,
    /// The limit of its cgroup, or of one above it, was reached, not the machine's.
    pub by_cgroup: bool,
    /// The parts of `rss`. `None` in older recordings.
    pub parts: Option<RssParts>,
    /// Its page tables in bytes, which are not in `rss`. `None` in older recordings, before Linux 5.4 and if a daemon killed it.
    pub page_tables: Option<u64>,
    /// The constraint on the allocation. `None` if the kernel suppressed its report, because there were too many.
    pub constraint: Option<Constraint>,
    /// The limit that was reached. `None` unless `by_cgroup`, and if the kernel left its report out.
    pub limit: Option<OomLimit>,
    /// The path of its cgroup, raw. `None` if the kernel left its report out.
    pub cgroup: Option<Box<[u8]>>,
    /// The cgroup that was killed as a whole (`memory.oom.group`, or by a daemon), by its path. `None` if the process was
    /// killed alone.
    pub group: Option<Box<[u8]>>,
}

impl OomVictim {
    /// Returns true if the allocation was limited to a cgroup or to some NUMA nodes.
    pub const fn is_limited(&self) -> bool {
        let is_numa = matches!(self.constraint, Some(Constraint::MemoryPolicy | Constraint::Cpuset));
        self.by_cgroup || is_numa
    }

    /// Returns its uid and the cgroup whose limit was reached, or else its own one.
    pub fn origin(&self) -> KillOrigin<'_> {
        let limit = self.limit.as_ref().map(|limit| &limit.cgroup);
        let own = self.cgroup.as_ref().or(self.group.as_ref());
        (self.uid, limit.or(own).map_or(&[], |path| path))
    }

    /// Returns its page tables in bytes, if they are at least a tenth of its RSS.
    pub fn many_page_tables(&self) -> Option<u64> {
        self.page_tables.filter(|bytes| *bytes > 0 && *bytes >= self.rss / 10)
    }

    /// Returns true if it was in the cgroup `above` or below it, or that is not known.
    pub fn is_within(&self, above: &[u8]) -> bool {
        let path = self.cgroup.as_ref().or(self.group.as_ref());
        let rest = path.map(|path| path.strip_prefix(above));
        rest.is_none_or(|rest| rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/") || above == b"/"))
    }
}

/// The parts of an RSS in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct RssParts {
    pub anon: u64,
    pub file: u64,
    pub shmem: u64,
}

/// A cgroup's limit that was reached.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct OomLimit {
    /// The path of the cgroup, raw.
    pub cgroup: Box<[u8]>,
    /// The limit and the usage in bytes, of memory or (v1) of memory and swap. `None` if the log lacks them.
    pub size: Option<u64>,
    pub usage: Option<u64>,
    /// The page cache at the kill without shared memory and tmpfs, in bytes; `None` if the log lacks it.
    pub files: Option<u64>,
}

named! {
    /// The memory that the allocation which led to a kill could use: `enum oom_constraint` of `include/linux/oom.h`.
    #[derive(Deserialize, Serialize)]
    pub enum Constraint {
        /// All of the machine's.
        None = "none",
        /// Only some NUMA nodes, because of a cpuset.
        Cpuset = "cpuset",
        /// Only some NUMA nodes, because of a memory policy.
        MemoryPolicy = "memory-policy",
        /// The memory within the limit of a cgroup.
        Cgroup = "cgroup",
    }
}

/// The number of kills since zmtop started, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OomCounts([u64; KillCause::ALL.len()]);

impl OomCounts {
    pub const fn get(&self, cause: KillCause) -> u64 {
        self.0[cause as usize]
    }

    pub const fn add(&mut self, cause: KillCause, kills: u64) {
        let count = &mut self.0[cause as usize];
        *count = count.saturating_add(kills);
    }
}
