//! A process in a snapshot: its identity, its names, and its memory at the last walk.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::model::held::{Held, SharedHeld};
use crate::model::memory::Memory;
use crate::model::reading::{Missing, Reading};

/// The identity of a process: a reused pid has another start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity {
    /// Process id (thread group leader).
    pub pid: u32,
    /// Field 22 of `stat`: clock ticks after boot at which the process started.
    pub starttime: u64,
}

/// The fields of `/proc/<pid>/stat` that zmtop uses. `comm` is in [`Facts`].
///
/// Where the first thread has ended while others live on, the state, the flags, and all from field 23 on are those of a
/// thread that lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Field 3: `R`, `S`, `D`, `Z`, `T`, …
    pub state: u8,
    /// Field 4.
    pub ppid: u32,
    /// Field 9: the kernel's `PF_*` bits.
    pub flags: u64,
    /// Field 10: minor faults.
    pub minflt: u64,
    /// Field 12: major faults, those that waited for a disk or for swap.
    pub majflt: u64,
    /// Fields 14 and 15, user and system time in clock ticks.
    pub cpu_ticks: u64,
    /// Field 20.
    pub threads: u64,
    /// Field 23: the size of the address space.
    pub vsize: u64,
    /// Field 24 in bytes: an approximation that the kernel keeps; a walk gives the exact figure.
    pub rss: u64,
    /// A digest of fields 26–28, addresses that an exec changes; 0 where the kernel hides them.
    pub image: u64,
    /// A digest of fields 48–49, the address of argv, which changes when a process sets its title by `prctl`.
    pub argv: u64,
}

impl Stat {
    /// `PF_KTHREAD` of `include/linux/sched.h`.
    pub const PF_KTHREAD: u64 = 0x0020_0000;
    /// Stands for the state where `stat` could not be read.
    pub const UNKNOWN_STATE: u8 = b'?';

    /// Returns true if this is a kernel thread.
    pub const fn is_kernel_thread(&self) -> bool {
        self.flags & Self::PF_KTHREAD != 0
    }

    /// Returns true if the process has ended and waits to be reaped.
    pub const fn is_zombie(&self) -> bool {
        matches!(self.state, b'Z' | b'X' | b'x')
    }

    /// Returns why the process has no memory of its own; `None` where it has.
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

/// The state of a program's file that was replaced while it ran: it still runs the old one, and should be restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Replaced {
    /// Another file is in its place.
    Updated,
    /// No file is in its place.
    Deleted,
}

impl Replaced {
    /// Returns its name in the table, in filters and in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Updated => "updated",
            Self::Deleted => "deleted",
        }
    }

    /// Returns the state of that name.
    pub fn from_id(id: &str) -> Option<Self> {
        [Self::Updated, Self::Deleted]
            .into_iter()
            .find(|state| state.id() == id)
    }
}

/// The names and identifiers of a process. Any of them may change while the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Facts {
    /// The kernel's short name, up to 15 bytes; the process may choose any.
    pub comm: Box<[u8]>,
    /// argv with NULs between, or the title written in its place; empty for kernel threads. What is longer than 4 KiB
    /// ends in `…`.
    pub cmdline: Reading<Box<[u8]>>,
    /// Effective uid (the second of `Uid:` in `status`), as ps, top and htop show it.
    pub uid: Reading<u32>,
    /// The name of `uid`, raw, or its number where it has none.
    pub user: Reading<Arc<[u8]>>,
    /// The memory (v1) or unified (v2) cgroup path, raw.
    pub cgroup: Reading<Arc<[u8]>>,
    /// The systemd unit that the cgroup path names.
    pub unit: Option<Arc<[u8]>>,
    /// The container id that the cgroup path names, its first twelve digits.
    pub container: Option<Arc<[u8]>>,
    /// The path of the program's file, raw, without the kernel's ` (deleted)`. The link `/proc/<pid>/exe`.
    pub exe: Reading<Arc<[u8]>>,
    /// The state of that file; `None` where it is unchanged or unknown.
    pub replaced: Option<Replaced>,
    /// The host that it runs on, raw, in a snapshot of many hosts. The row is then a group of processes there, and `comm` the
    /// group's name.
    pub host: Option<Arc<[u8]>>,
}

impl Facts {
    /// Creates facts of which only the name is known, so far.
    pub fn pending(comm: &[u8]) -> Self {
        Self::unread(comm, Missing::Pending)
    }

    /// Creates facts of which only the name is known, for `why`.
    pub fn unread(comm: &[u8], why: Missing) -> Self {
        Self {
            comm: comm.into(),
            cmdline: Err(why),
            uid: Err(why),
            user: Err(why),
            cgroup: Err(why),
            unit: None,
            container: None,
            exe: Err(why),
            replaced: None,
            host: None,
        }
    }

    /// Returns its memory in bytes, without what many processes have in common: the user, the cgroup and the program.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.comm.len() + self.cmdline.as_ref().map_or(0, |line| line.len())
    }

    /// Returns the command line without the directory of its program: `python3 train.py` for `/usr/bin/python3 train.py`.
    /// A title that a process gave itself stays as it is.
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

    /// Returns the arguments that it was started with, or the title that it wrote in their place as one; `[comm]` where they
    /// are empty or unknown.
    pub fn arguments(&self) -> Vec<Cow<'_, [u8]>> {
        let Ok(line) = self.cmdline.as_deref() else {
            return vec![self.command()];
        };
        let end = line.iter().rposition(|b| *b != 0).map_or(0, |at| at + 1);
        if end == 0 {
            return vec![self.command()];
        }
        // Empty arguments at the end count; the NULs that fill the room behind a title, whose program is a phrase, do not.
        let is_title = line
            .split(|b| *b == 0)
            .next()
            .is_some_and(|first| first.contains(&b' '));
        let whole = line.strip_suffix(b"\0").unwrap_or(line);
        let line = if is_title { &line[..end] } else { whole };
        line.split(|b| *b == 0).map(Cow::Borrowed).collect()
    }

    /// Returns the command line with its NULs as spaces, or `[comm]` where it is empty or unknown.
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

/// The memory of a process: its last walk, with what its counters say has changed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walk {
    /// The figures.
    pub memory: Memory,
    /// The upper bound on the error of its PSS and `SwapPss` together, in bytes: 0 at the walk.
    pub error: u64,
    /// The time of the walk on the snapshot's monotonic clock.
    pub at: Duration,
    /// The duration of the read.
    pub cost: Duration,
}

/// Returns how much of a figure is noise, in bytes: the larger of a hundredth of it and of [`Walk::TOLERATED`]. An error up to
/// that counts as right, and a change below it is not coloured.
pub fn tolerance(figure: u64) -> u64 {
    (figure / 100).max(Walk::TOLERATED)
}

impl Walk {
    /// Bytes of error that are always tolerated: less is not seen beside other figures.
    pub const TOLERATED: u64 = 1 << 20;

    /// Returns the error up to which PSS and `SwapPss` count as right, in bytes.
    pub fn tolerance(&self) -> u64 {
        let figure = self.memory.pss.saturating_add(self.memory.swap_pss.unwrap_or(0));
        tolerance(figure)
    }

    /// Returns true if the error may be beyond that.
    pub fn is_uncertain(&self) -> bool {
        self.error > self.tolerance()
    }
}

/// A process in a snapshot.
#[derive(Clone, Debug)]
pub struct ProcessSample {
    /// Its identity.
    pub id: Identity,
    /// The number of execs that zmtop has seen it make: each starts another program, and its history anew.
    pub exec: u32,
    /// The `stat` of this tick.
    pub stat: Stat,
    /// Its names and identifiers.
    pub facts: Arc<Facts>,
    /// The last walk, or the reason there is none.
    pub walk: Reading<Walk>,
    /// The part of its address space that it may write to and shares with nobody, touched or not: what it asked for. The
    /// field `data` of `statm`, or `VmData` and `VmStk` of `status`.
    pub data: Reading<u64>,
    /// Its figures may be off by more than is [tolerated](Walk::tolerance), or it could not be asked in time what it did, so
    /// that they and their bound are those of the time before.
    pub stale: bool,
    /// `oom_score`; read only while it is shown.
    pub oom_score: Reading<u32>,
    /// The first process of those with the same address space (`CLONE_VM`); `None` for that one, and where it has its
    /// own.
    pub shares_mm: Option<Identity>,
    /// The counters that everyone may read, where a walk is denied.
    pub counted: Counted,
    /// Memory that it holds through its descriptors; read only while it is shown.
    pub held: SharedHeld,
}

/// Memory of a process by counters that everyone may read, in KiB, so that rows stay small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    anon: u32,
    swap: u32,
}

impl Counted {
    /// Stands for what is unknown.
    const UNKNOWN: u32 = u32::MAX;

    /// Keeps bytes, `None` where they are unknown; from 4 TiB on they are.
    pub fn new(anon: Option<u64>, swap: Option<u64>) -> Self {
        let kib = |bytes: u64| u32::try_from(bytes >> 10).ok();
        let [anon, swap] = [anon, swap].map(|bytes| bytes.and_then(kib).unwrap_or(Self::UNKNOWN));
        Self { anon, swap }
    }

    /// Returns the resident anonymous pages in bytes, shared ones whole: `RssAnon` of `status`, or `resident − shared` of
    /// `statm`.
    pub fn anon(self) -> Option<u64> {
        Self::bytes(self.anon)
    }

    /// Returns what is swapped out in bytes: `VmSwap` of `status`.
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
    /// Creates the row of a process of whose figures nothing is known, for `why`.
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
            shares_mm: None,
            counted: Counted::default(),
            held: None,
        }
    }

    /// Returns the resident pages by the kernel's own counter, in bytes, of a process whose memory is hidden.
    pub const fn counted_rss(&self) -> Option<u64> {
        match self.walk {
            Err(why) if why.hides_memory() && self.stat.rss > 0 => Some(self.stat.rss),
            _ => None,
        }
    }

    /// Returns the resident anonymous pages by the kernel's own counters, in bytes, of a process whose memory is hidden.
    pub fn counted_anon(&self) -> Option<u64> {
        self.counted_rss().and(self.counted.anon())
    }

    /// Returns true if not even its `stat` could be read: nothing is known but that it is there.
    pub const fn is_unseen(&self) -> bool {
        self.stat.state == Stat::UNKNOWN_STATE
    }

    /// Returns true if nothing differs; facts that were copied count as others.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.facts, &other.facts)
            && (self.id, self.exec, self.stale, self.shares_mm) == (other.id, other.exec, other.stale, other.shares_mm)
            && (self.stat, self.walk, self.data, self.oom_score)
                == (other.stat, other.walk, other.data, other.oom_score)
            && self.counted == other.counted
            && self.held == other.held
    }

    /// Returns what it holds through its descriptors.
    pub fn held(&self) -> Reading<&Held> {
        match (&self.held, self.stat.lacks_memory()) {
            (_, Some(why)) => Err(why),
            (Some(held), None) => (**held).as_ref().map_err(|why| *why),
            (None, None) => Err(Missing::Pending),
        }
    }

    /// Returns the memory of the last walk.
    pub fn memory(&self) -> Reading<&Memory> {
        self.walk.as_ref().map(|w| &w.memory).map_err(|e| *e)
    }
}
