//! Samples this machine: glances at all processes, plans and walks some of them, and publishes snapshots.
//!
//! [`spawn`] starts the sampler on a tokio runtime; `run` calls it for the monitor and `zmtop leaks`. The caller sets
//! a state ([`Wanted`]) instead of sending commands, so that no request is lost. A [`Scanner`] takes one snapshot
//! after another without a task. A pool of plain threads reads everything under `/proc`, because such a read may
//! block for ever. A tick waits for the results that come in time, publishes them, and adds the rest to a later
//! snapshot. Nothing here derives or judges anything: a snapshot holds raw readings.
//!
//! ```text
//! scanner       one tick: list, glance, plan, walk, facts, publish
//!   job           a key, a priority and a closure that returns an update
//!   table         the known processes and what was read of each
//!   machine       the files of the machine, the inputs of its account, the kernel's memory, the log of OOM kills
//!   killers       the daemons that kill when memory is short, and the signals that they send
//!   exits         the processes that started and ended, from the thread of the other `exits`
//!   cgroups       the figures of cgroups
//!   close_looks   reads for a few processes only: JVM counters, address space limits
//! policy        pure: what to read next
//!   plan          the processes to walk, within token buckets of CPU time
//!   activity      the processes to glance at
//!   births        the part of the process list to read
//!   rotation      the facts to reread
//! estimate      pure: the memory of a process between walks, from its counters, with a bound on the error
//! exits         the processes that ended between two snapshots, from a thread of its own
//! sharing       pure: bounds how much other processes change the figures of one
//! spaces        the processes that share an address space
//! users         the names of users
//! containers    the names of containers
//! reading       reader threads with deadlines; the files of a process, held open; walks, glances, facts
//! one_shot      one scan for one plain table
//! mappings      whole smaps, of one process or of many
//! page_cache    the files whose pages fill the page cache, once
//! kernel        the slab caches and allocation sites, once
//! callers       the call sites that allocate kernel memory, traced for a while
//! ```
//!
//! `one_shot`, `mappings`, `page_cache`, `kernel` and `callers` are called directly, and block their caller. All but the
//! last have a pool of their own.

pub mod callers;
pub mod containers;
pub mod estimate;
pub mod exits;
pub mod inquiry;
pub mod kernel;
mod kills;
pub mod mappings;
pub mod one_shot;
pub mod page_cache;
pub mod policy;
pub mod scanner;
pub mod sharing;
pub mod spaces;
pub mod users;

mod reading;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use policy::plan::Policy;
pub use reading::target::make_room;
pub use scanner::Scanner;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

pub use crate::columns::Needs;
use crate::model::{Identity, Reading, Snapshot};
use crate::proc::cgroup::figures;
use crate::proc::cgroup::scope::Place;
use crate::proc::files::Roots;

#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `/proc`, or a copy of it.
    pub proc_root: PathBuf,
    /// `/sys`, or a copy of it, if there is one.
    pub sys_root: Option<PathBuf>,
    /// The cgroup that stands for the machine: only its processes and its memory are sampled.
    pub cgroup: Option<Place>,
    /// Time between snapshots, clamped to [`Options::SHORTEST`]..=[`Options::LONGEST`].
    pub interval: Duration,
    /// Time after which a read is reported as timed out in its row.
    pub deadline: Duration,
    /// Number of reader threads; 0 means one per core.
    pub threads: usize,
    /// Maximum number of extra threads, started to replace those stuck in a read.
    pub max_stuck: usize,
    pub policy: Policy,
    /// Time between two checks whether the executable file of a process was replaced.
    pub exe_check_interval: Duration,
    /// Read the memory that `malloc` keeps free in large processes.
    pub heaps: bool,
    /// Niceness of the reader threads, 0 to 19.
    pub nice: u8,
}

impl Options {
    /// The shortest interval. A scan of 1000 processes takes some milliseconds.
    pub const SHORTEST: Duration = Duration::from_millis(100);
    pub const LONGEST: Duration = Duration::from_secs(3600);

    /// Returns the defaults for this machine's `/proc`, or for another tree. The sysfs of another tree is `../sys`
    /// beside it, if that exists.
    pub fn new(proc_root: Option<&Path>) -> Self {
        let roots = Roots::new(proc_root);
        Self {
            proc_root: roots.proc,
            sys_root: roots.sys,
            cgroup: None,
            interval: Duration::from_secs(1),
            deadline: Duration::from_secs(1),
            threads: 0,
            max_stuck: 64,
            policy: Policy::default(),
            // Updates are installed once a day; a check costs a readlink.
            exe_check_interval: Duration::from_secs(90),
            heaps: true,
            nice: 0,
        }
    }

    pub(crate) fn roots(&self) -> Roots {
        Roots {
            proc: self.proc_root.clone(),
            sys: self.sys_root.clone(),
        }
    }

    /// Samples a cgroup in place of the machine. `path` is its path in `/proc/<pid>/cgroup`, or its directory.
    ///
    /// # Errors
    /// No such cgroup is visible.
    pub fn choose_cgroup(&mut self, path: &Path) -> Reading<()> {
        let mounts = figures::mounts(&self.roots())?;
        let place = Place::chosen(Arc::new(mounts), path.as_os_str().as_encoded_bytes())?;
        self.cgroup = Some(place);
        Ok(())
    }

    fn reader_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        }
    }
}

/// The state that the caller wants the sampler to be in. Only the newest state counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Time between snapshots, clamped like [`Options::interval`].
    pub interval: Duration,
    /// Take no snapshots except those that `refresh` requests.
    pub paused: bool,
    /// The processes on the screen or tagged. Their figures are kept fresher.
    pub focus: Vec<Identity>,
    /// Data to read in addition to the data of every scan. Only [`Needs::ON_DEMAND`] counts.
    pub needs: Needs,
    /// The path of a cgroup to read beside the machine.
    pub inspected: Option<Arc<[u8]>>,
    /// A counter, incremented to request a snapshot at once, even if paused. Requests that arrive together yield one
    /// snapshot.
    pub refresh: u64,
}

impl Wanted {
    /// Requests one snapshot per interval and nothing else.
    pub const fn every(interval: Duration) -> Self {
        Self {
            interval,
            paused: false,
            focus: Vec::new(),
            needs: Needs::NOTHING,
            inspected: None,
            refresh: 0,
        }
    }
}

/// The handle of a running sampler. The sampler ends when the last receiver is dropped.
#[derive(Clone, Debug)]
pub struct Handle {
    /// The latest snapshot; `None` until the first.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    pub wanted: watch::Sender<Wanted>,
}

impl Handle {
    /// Sets the wanted state. Wakes the sampler only if the state changed.
    pub fn want(&self, wanted: Wanted) {
        self.wanted.send_if_modified(|last| {
            let is_new = *last != wanted;
            if is_new {
                *last = wanted;
            }
            is_new
        });
    }
}

/// Starts a sampler on `runtime`, which must have its timer enabled. The first snapshot is taken at once. Ticks
/// missed because of a slow scan or a suspended machine are skipped.
pub fn spawn(options: Options, runtime: &tokio::runtime::Handle) -> Handle {
    let (publish, snapshots) = watch::channel(None);
    let (wanted, changes) = watch::channel(Wanted::every(options.interval));
    runtime.spawn(async move {
        let closed = publish.clone();
        tokio::select! {
            () = closed.closed() => {}
            () = run(options, publish, changes) => {}
        }
    });
    Handle { snapshots, wanted }
}

async fn run(options: Options, publish: watch::Sender<Option<Arc<Snapshot>>>, mut changes: watch::Receiver<Wanted>) {
    let mut scanner = Scanner::new(&options);
    let mut ticker = ticker(Instant::now(), scanner.interval());
    let (mut paused, mut refresh) = (false, 0);
    let mut open = true;
    // Paused and without a sender, the sampler will never be asked for another snapshot.
    while open || !paused {
        let take_now = tokio::select! {
            // Apply changes first, so that no snapshot is taken with outdated settings.
            biased;
            change = changes.changed(), if open => {
                open = change.is_ok();
                let wanted = changes.borrow_and_update().clone();
                paused = wanted.paused;
                let before = scanner.interval();
                scanner.set_interval(wanted.interval);
                let every = scanner.interval();
                if every != before {
                    ticker = self::ticker(Instant::now() + every, every);
                }
                scanner.set_needs(wanted.needs);
                scanner.set_focus(wanted.focus);
                scanner.set_inspected(wanted.inspected);
                std::mem::replace(&mut refresh, wanted.refresh) != wanted.refresh
            }
            _ = ticker.tick(), if !paused => true,
        };
        if take_now {
            publish.send_replace(Some(scanner.tick().await));
        }
    }
}

fn ticker(first: Instant, every: Duration) -> tokio::time::Interval {
    let mut ticker = interval_at(first, every);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticker
}
