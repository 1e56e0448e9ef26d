//! The sampler: glances at all processes, plans, walks some, and publishes snapshots of this machine.
//!
//! [`spawn`] starts it on a tokio runtime; `run` calls it for the monitor and `zmtop leaks`. What is wanted of
//! it is state ([`Wanted`]), not commands, so that nothing is lost. A [`Scanner`] makes one snapshot after another,
//! without a task. Everything under `/proc` is read by a pool of plain threads, since a read there may
//! block for ever: a tick waits for what comes in time, publishes, and takes in the rest with a later snapshot.
//! Nothing here derives or judges anything: a snapshot holds raw readings.
//!
//! ```text
//! scanner       one tick: list, glance, plan, walk, facts, publish
//! table         what is known of each process; takes in what the readers found
//! plan          the policy: chooses the processes to walk, by the token buckets of token_bucket
//! sharing       bounds what the others do to the figures of one
//! estimate      pure: what a process's memory is between walks, by its counters, and a bound on the error
//! counters      reads those counters
//! activity      which processes are glanced at: the policy
//! rotation      when the facts of a process are looked at again
//! users         the names of users
//! pool          reader threads with deadlines
//! job           the scanner's kinds of reads
//! target, walk  the files of one process, held open; one walk
//! thread        processes whose first thread has ended while others live on
//! cgroups       the figures of cgroups
//! accounting    the inputs of the account of the system
//! kernel_tables the slab caches and allocation sites, while somebody looks at them
//! one_shot      one scan for one plain table
//! mappings      whole smaps, of one process or of many
//! oom           processes that the kernel killed for lack of memory
//! kernel        the slab caches and allocation sites, once
//! callers       who takes memory from the kernel, traced for a while
//! ```
//!
//! The last three are called by themselves, block their caller, and have a pool of their own.

pub mod activity;
pub mod births;
pub mod callers;
pub mod estimate;
pub mod kernel;
pub mod mappings;
pub mod one_shot;
pub mod plan;
pub mod rotation;
pub mod scanner;
pub mod sharing;
pub mod users;

mod accounting;
mod cgroups;
mod close_looks;
mod counters;
mod job;
mod kernel_tables;
mod oom;
mod pool;
mod system_files;
mod table;
mod target;
mod thread;
mod token_bucket;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use plan::Policy;
pub use scanner::Scanner;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

pub use crate::columns::Needs;
use crate::model::{Identity, Snapshot};
use crate::proc::files::Roots;

/// Options of a sampler.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `/proc`, or a tree like it.
    pub proc_root: PathBuf,
    /// `/sys`, or a tree like it, where there is one.
    pub sys_root: Option<PathBuf>,
    /// Time between snapshots, held to [`Options::SHORTEST`]..=[`Options::LONGEST`].
    pub interval: Duration,
    /// Time that one read may take before its row says so.
    pub deadline: Duration,
    /// Reader threads; 0 for one a core.
    pub threads: usize,
    /// Threads that may be started beyond those, for reads that are stuck.
    pub max_stuck: usize,
    /// The choice of processes to walk.
    pub policy: Policy,
    /// Time between two checks whether the file that a process runs was replaced.
    pub exe_check_interval: Duration,
    /// Niceness of the reader threads, 0 to 19.
    pub nice: u8,
}

impl Options {
    /// The shortest interval: a scan of a thousand processes takes some milliseconds.
    pub const SHORTEST: Duration = Duration::from_millis(100);
    /// The longest interval.
    pub const LONGEST: Duration = Duration::from_secs(3600);

    /// Returns the defaults for this machine's `/proc`, or for another tree; its sysfs is `../sys` beside it,
    /// where there is one.
    pub fn new(proc_root: Option<&Path>) -> Self {
        let roots = Roots::new(proc_root);
        Self {
            proc_root: roots.proc,
            sys_root: roots.sys,
            interval: Duration::from_secs(1),
            deadline: Duration::from_secs(1),
            threads: 0,
            max_stuck: 64,
            policy: Policy::default(),
            // Updates are installed once a day; a check costs a readlink.
            exe_check_interval: Duration::from_secs(90),
            nice: 0,
        }
    }

    /// Returns the trees to read.
    pub(crate) fn roots(&self) -> Roots {
        Roots {
            proc: self.proc_root.clone(),
            sys: self.sys_root.clone(),
        }
    }

    /// Returns the number of reader threads.
    fn reader_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        }
    }
}

/// The state that the sampler's user wants it to be in. Only the newest counts, so none can be lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Time between snapshots, held to the bounds of [`Options::interval`].
    pub interval: Duration,
    /// No snapshots are taken but those that `refresh` asks for.
    pub paused: bool,
    /// The processes that somebody looks at: on the screen, or tagged. Their figures are kept fresher.
    pub focus: Vec<Identity>,
    /// Data to read beside that of every scan; only [`Needs::ON_DEMAND`] counts.
    pub needs: Needs,
    /// A counter of requests for a snapshot at once, paused or not. Several that come together are one.
    pub refresh: u64,
}

impl Wanted {
    /// Wants nothing but a snapshot per interval.
    pub const fn every(interval: Duration) -> Self {
        Self {
            interval,
            paused: false,
            focus: Vec::new(),
            needs: Needs::NOTHING,
            refresh: 0,
        }
    }
}

/// The two ends of a running sampler. It ends when the last receiver is dropped.
#[derive(Clone, Debug)]
pub struct Handle {
    /// The latest snapshot; `None` until the first.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// The state that is wanted.
    pub wanted: watch::Sender<Wanted>,
}

impl Handle {
    /// Tells the sampler what is wanted from now on; does not wake it where that is nothing new.
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

/// Makes the kernel make room for the descriptors to be held open, all at once. To be called while the program
/// has one thread: a table of descriptors that threads share is copied at each doubling, and everyone who
/// opens a file waits each time until every processor has passed a quiet moment (`expand_fdtable` of
/// `fs/file.c`). Nothing depends on it but the time the first snapshot takes.
pub fn make_room() {
    target::make_room();
}

/// Returns the limit on open files that the program was started with, if it was raised since. Programs that it starts
/// must get this one: many close every descriptor up to the limit, or use `select`, which knows 1024 of them.
pub fn initial_open_files_limit() -> Option<rustix::process::Rlimit> {
    target::initial_limit()
}

/// Starts a sampler on `runtime`, which must have its timer enabled. The first snapshot is taken at once;
/// ticks missed, by a slow scan or a stopped machine, are skipped.
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
    // Paused with nobody left to say otherwise, there is nothing more to do.
    while open || !paused {
        let take_now = tokio::select! {
            // Changes come first, so that a snapshot is never taken by what is no longer wanted.
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
