//! A process in a snapshot: its identity, its names, and its memory at the last walk.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::container::Container;
use crate::model::held::{Held, SharedHeld};
use crate::model::memory::Memory;
use crate::model::reading::{Missing, Reading};
use crate::text::named;

/// The identity of a process: a reused pid has another start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Identity {
    /// The id of the process, which is the id of its first thread.
    pub pid: u32,
    /// Field 22 of `stat`: clock ticks after boot at which the process started.
    pub starttime: u64,
}

/// The fields of `/proc/<pid>/stat` that zmtop uses. `comm` is in [`Facts`].
///
/// If the first thread has ended while others run, the state, the flags and the fields from 23 on come from a running
/// thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Field 3: `R`, `S`, `D`, `Z`, `T`, …
    pub state: u8,
    /// Field 4.
    pub ppid: u32,
    /// Field 6; 0 if its leader is in no pid namespace that zmtop sees.
    pub session: u32,
    /// Field 9: the kernel's `PF_*` bits.
    pub flags: u64,
    /// Field 10.
    pub minflt: u64,
    /// Field 12: faults that waited for a disk or for swap.
    pub majflt: u64,
    /// Fields 14 and 15, user and system time in clock ticks.
    pub cpu_ticks: u64,
    /// Field 20.
    pub threads: u64,
    /// Field 23: the size of the address space.
    pub vsize: u64,
    /// Field 24 in bytes: approximate; only a walk is exact.
    pub rss: u64,
    /// A digest of fields 26–28, addresses that an exec changes; 0 if the kernel hides them.
    pub image: u64,
    /// A digest of fields 48–49, the address of argv, which a process changes when it sets its title by `prctl`.
    pub argv: u64,
}

impl Stat {
    /// `PF_KTHREAD` of `include/linux/sched.h`.
    pub const PF_KTHREAD: u64 = 0x0020_0000;
    /// Placeholder state for a process whose `stat` could not be read.
    pub const UNKNOWN_STATE: u8 = b'?';

    pub const fn is_kernel_thread(&self) -> bool {
        self.flags & Self::PF_KTHREAD != 0
    }

    /// Returns true if the process has ended and waits to be reaped.
    pub const fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Returns why the process has no memory of its own, or `None` if it has some.
    pub const fn lacks_memory(&self) -> Option<Missing> {
        if self.is_kernel_thread() {
            Some(Missing::KernelThread)
        } else if self.is_zombie() {
            Some(Missing::Zombie)
        } else {
            None
        }
    }
}

named! {
    /// The state of a program's file that was replaced while the program ran. The process still runs the old file and
    /// should be restarted.
    pub enum Replaced {
        /// Another file has its name.
        Updated = "updated",
        /// No file has its name.
        Deleted = "deleted",
    }
}

/// The user who may run processes under a range of subordinate uids, as the users of containers do: see `subuid(5)`. Also the user who
/// started a program that has the set-user-ID bit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    /// Its uid; the first uid of the range if the range belongs to root or to nobody known.
    pub uid: u32,
    /// Its name, raw; in that case `uids 524288-589823`.
    pub name: Arc<[u8]>,
}

/// The names and identifiers of a process. Any of them may change while the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Facts {
    /// The kernel's short name, up to 15 bytes. The process may set it.
    pub comm: Box<[u8]>,
    /// argv separated by NULs, or the title written over it; empty for kernel threads. Cut to 4 KiB, with `…` for what
    /// was cut.
    pub cmdline: Reading<Box<[u8]>>,
    /// Effective uid (the second of `Uid:` in `status`), as ps, top and htop show it.
    pub uid: Reading<u32>,
    /// The name of `uid`, raw, or its number if it has no name.
    pub user: Reading<Arc<[u8]>>,
    /// The owner of `uid` if it is a subordinate one, or the user who started the program if another one is; `None` if neither is
    /// so, or if that is unknown.
    pub owner: Option<Arc<Owner>>,
    /// The memory (v1) or unified (v2) cgroup path, raw.
    pub cgroup: Reading<Arc<[u8]>>,
    pub unit: Option<Arc<[u8]>>,
    /// `None` if the cgroup path names no container.
    pub container: Option<Arc<Container>>,
    /// The target of `/proc/<pid>/exe`, raw, without the kernel's ` (deleted)`.
    pub exe: Reading<Arc<[u8]>>,
    /// `None` if the file is unchanged or unknown.
    pub replaced: Option<Replaced>,
    /// The host, raw, in a snapshot of many hosts. The row is then a group of processes, and `comm` its name.
    pub host: Option<Arc<[u8]>>,
}

impl Facts {
    pub fn pending(comm: &[u8]) -> Self {
        Self::unread(comm, Missing::Pending)
    }

    /// Creates facts that are missing for `why`, except the name.
    pub fn unread(comm: &[u8], why: Missing) -> Self {
        Self {
            comm: comm.into(),
            cmdline: Err(why),
            uid: Err(why),
            user: Err(why),
            owner: None,
            cgroup: Err(why),
            unit: None,
            container: None,
            exe: Err(why),
            replaced: None,
            host: None,
        }
    }

    /// Returns the uid to which the memory of the process is charged: that of the owner, or of the user itself. One user may
    /// have thousands of subordinate uids.
    pub fn owner_uid(&self) -> Reading<u32> {
        self.owner.as_deref().map_or(self.uid, |owner| Ok(owner.uid))
    }

    /// Returns the raw name of the owner, or of the user itself.
    pub fn owner_name(&self) -> Reading<&Arc<[u8]>> {
        let user = || self.user.as_ref().map_err(|why| *why);
        self.owner.as_deref().map_or_else(user, |owner| Ok(&owner.name))
    }

    pub fn container_id(&self) -> Option<&[u8]> {
        self.container.as_deref().map(|container| &*container.id)
    }

    /// Returns its size in bytes, without the user, cgroup and program, which processes share.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.comm.len() + self.cmdline.as_ref().map_or(0, |line| line.len())
    }

    /// Returns the command line without the directory of the program: `python3 train.py` for `/usr/bin/python3 train.py`.
    /// A title that the process set is unchanged.
    pub fn short_command(&self) -> Cow<'_, [u8]> {
        let mut command = self.command();
        let program = command.split(|b| *b == b' ').next().unwrap_or_default();
        let directory = program
            .iter()
            .rposition(|b| *b == b'/')
            .filter(|_| program.starts_with(b"/"));
        if let Some(at) = directory.filter(|at| at + 1 < program.len()) {
            command.to_mut().drain(..=at);
        }
        command
    }

    /// Returns the arguments, or the title that the process wrote over them as one argument. Returns `[comm]` if they are
    /// empty or unknown.
    pub fn arguments(&self) -> Vec<Cow<'_, [u8]>> {
        let Ok(line) = self.cmdline.as_deref() else {
            return vec![self.command()];
        };
        let end = line.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
        if end == 0 {
            return vec![self.command()];
        }
        // Empty arguments at the end count. The NULs that pad a title, which has blanks in its first word, do not.
        let is_title = line
            .split(|b| *b == 0)
            .next()
            .is_some_and(|first| first.contains(&b' '));
        let whole = line.strip_suffix(b"\0").unwrap_or(line);
        let line = if is_title { &line[..end] } else { whole };
        line.split(|b| *b == 0).map(Cow::Borrowed).collect()
    }

    /// Returns the command line with its NULs as spaces, or `[comm]` if it is empty or unknown.
    pub fn command(&self) -> Cow<'_, [u8]> {
        match self.cmdline.as_deref() {
            Ok(line) if line.iter().any(|b| *b != 0) => {
                let end = line.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
                line[..end]
                    .iter()
                    .map(|b| if *b == 0 { b' ' } else { *b })
                    .collect::<Vec<_>>()
                    .into()
            }
            _ => [b"[", &*self.comm, b"]"].concat().into(),
        }
    }
}

/// The memory of a process: its last walk, updated by its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    pub memory: Memory,
    /// Upper bound on the error of PSS and `SwapPss` together, in bytes; 0 at the walk.
    pub error: u64,
    /// The time of the walk on the monotonic clock.
    pub at: Duration,
    /// The CPU time of the walk.
    pub cost: Duration,
}

/// Returns the tolerated error of a figure, in bytes: 1 % of it, at least [`Walk::TOLERATED`]. A smaller change is not
/// coloured.
pub fn tolerance(figure: u64) -> u64 {
    (figure / 100).max(Walk::TOLERATED)
}

impl Walk {
    /// The error that is always tolerated, in bytes.
    pub const TOLERATED: u64 = 1 << 20;

    /// Returns the tolerated error of PSS and `SwapPss` together, in bytes.
    pub fn tolerance(&self) -> u64 {
        let figure = self.memory.pss.saturating_add(self.memory.swap_pss.unwrap_or(0));
        tolerance(figure)
    }

    /// Returns true if the error may be larger than tolerated.
    pub fn is_uncertain(&self) -> bool {
        self.error > self.tolerance()
    }
}

#[derive(Clone, Debug)]
pub struct ProcessSample {
    pub id: Identity,
    /// The number of observed execs. Each starts another program, whose history begins again.
    pub exec: u32,
    pub stat: Stat,
    pub facts: Arc<Facts>,
    pub walk: Reading<Walk>,
    /// The private writable part of the address space, touched or not: `data` of `statm`, or `VmData` + `VmStk` of
    /// `status`.
    pub data: Reading<u64>,
    /// The error of the figures may be more than [tolerated](Walk::tolerance), or its counters could not be read in time,
    /// so that the figures and their bound are from before.
    pub stale: bool,
    /// Read only while it is shown.
    pub oom_score: Reading<u32>,
    /// The highest RSS so far, in bytes: `VmHWM` of `status`. An exec resets it. Read only while it is needed.
    pub peak: Reading<u64>,
    /// Its page tables, in bytes: `VmPTE` of `status`. Read only while it is needed, or while those of the machine matter.
    pub page_tables: Reading<u64>,
    /// The first process with the same address space (`CLONE_VM`); `None` for that one, and if the address space is not
    /// shared.
    pub shares_mm: Option<Identity>,
    /// Counters that every user may read, if a walk is denied.
    pub counted: Counted,
    /// Read only while it is shown.
    pub held: SharedHeld,
}

/// Memory of a process by counters that every user may read, in KiB to keep rows small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    anon: u32,
    swap: u32,
}

impl Counted {
    const UNKNOWN: u32 = u32::MAX;

    /// Packs bytes. From 4 TiB on they count as unknown.
    pub fn new(anon: Option<u64>, swap: Option<u64>) -> Self {
        let kib = |bytes: u64| u32::try_from(bytes >> 10).ok();
        let [anon, swap] = [anon, swap].map(|bytes| bytes.and_then(kib).unwrap_or(Self::UNKNOWN));
        Self { anon, swap }
    }

    /// Returns the resident anonymous bytes, not divided by sharers: `RssAnon` of `status`, or `resident − shared` of
    /// `statm`.
    pub fn anon(self) -> Option<u64> {
        Self::bytes(self.anon)
    }

    /// Returns `VmSwap` of `status`, in bytes.
    pub fn swap(self) -> Option<u64> {
        Self::bytes(self.swap)
    }

    fn bytes(kib: u32) -> Option<u64> {
        (kib != Self::UNKNOWN).then_some(u64::from(kib) << 10)
    }
}

impl Default for Counted {
    fn default() -> Self {
        Self::new(None, None)
    }
}

impl ProcessSample {
    /// Creates the row of a process whose figures are missing for `why`.
    pub fn unread(id: Identity, facts: Arc<Facts>, why: Missing) -> Self {
        Self {
            id,
            exec: 0,
            stat: Stat::default(),
            facts,
            walk: Err(why),
            data: Err(Missing::Pending),
            stale: false,
            oom_score: Err(why),
            peak: Err(why),
            page_tables: Err(why),
            shares_mm: None,
            counted: Counted::default(),
            held: None,
        }
    }

    /// Returns the kernel's own RSS counter, in bytes, if the process's memory is hidden.
    pub const fn counted_rss(&self) -> Option<u64> {
        match self.walk {
            Err(why) if why.hides_memory() && self.stat.rss > 0 => Some(self.stat.rss),
            _ => None,
        }
    }

    /// Returns the kernel's own counter of anonymous pages, in bytes, if the process's memory is hidden.
    pub fn counted_anon(&self) -> Option<u64> {
        self.counted_rss().and(self.counted.anon())
    }

    /// Returns `VmSwap` of `status`, in bytes, if the process's memory is hidden.
    pub fn counted_swap(&self) -> Option<u64> {
        let is_hidden = self.walk.is_err_and(Missing::hides_memory);
        self.counted.swap().filter(|_| is_hidden)
    }

    /// Returns true if not even its `stat` could be read.
    pub const fn is_unseen(&self) -> bool {
        self.stat.state == Stat::UNKNOWN_STATE
    }

    /// Returns true if nothing differs. Facts are compared by address.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.facts, &other.facts)
            && (self.id, self.exec, self.stale, self.shares_mm) == (other.id, other.exec, other.stale, other.shares_mm)
            && (self.stat, self.walk, self.data, self.oom_score)
                == (other.stat, other.walk, other.data, other.oom_score)
            && (self.peak, self.page_tables, self.counted) == (other.peak, other.page_tables, other.counted)
            && self.held == other.held
    }

    pub fn held(&self) -> Reading<&Held> {
        match (&self.held, self.stat.lacks_memory()) {
            (_, Some(why)) => Err(why),
            (Some(held), None) => (**held).as_ref().map_err(|why| *why),
            (None, None) => Err(Missing::Pending),
        }
    }

    pub fn memory(&self) -> Reading<&Memory> {
        self.walk.as_ref().map(|w| &w.memory).map_err(|e| *e)
    }
}
