//! Glance at all, plan, walk some, publish.
//!
//! A tokio task owns the tick; a [`Scanner`] makes one snapshot after another. Everything under `/proc` is
//! read by a pool of plain threads, since a read there may block for ever: the tick waits for what comes
//! in time, publishes, and takes in the rest with a later snapshot.
//!
//! ```text
//! scanner   one tick: list, glance, plan, walk, facts, publish
//! table     what is known of each process; takes in what the readers found
//! plan      the policy: which processes to walk
//! pool      reader threads and their queues
//! job       what a reader does, and what comes of it
//! target    the files of one process, held open within a budget
//! walk      one walk
//! source    snapshots that were written to a file
//! deep      what only the account of the system reads
//! cgroups   the figures of cgroups
//! quick     one look for one plain table
//! mappings  whole smaps, of one process or of many, for who asks
//! ```

pub mod deep;
pub mod mappings;
pub mod plan;
pub mod quick;
pub mod scanner;

mod cgroups;
mod job;
mod pool;
mod table;
mod target;
mod walk;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use plan::Policy;
pub use scanner::Scanner;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use crate::model::{Identity, Snapshot};
use crate::proc::files::Roots;

/// How to sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `/proc`, or a tree like it.
    pub proc_root: PathBuf,
    /// `/sys`, or a tree like it, where there is one.
    pub sys_root: Option<PathBuf>,
    /// Time between snapshots, held to [`Options::SHORTEST`]..=[`Options::LONGEST`].
    pub interval: Duration,
    /// How long one read may take before its row says so.
    pub deadline: Duration,
    /// Reader threads; 0 for one a core.
    pub threads: usize,
    /// How many threads may be started beyond those, for reads that are stuck.
    pub max_stuck: usize,
    /// Which processes are walked when.
    pub policy: Policy,
    /// How often it is looked whether the file that a process runs was replaced; each process at a moment of
    /// its own.
    pub look_again: Duration,
    /// How nice the reader threads are, 0 to 19.
    pub nice: u8,
}

impl Options {
    /// The shortest interval.
    pub const SHORTEST: Duration = Duration::from_millis(100);
    /// The longest interval.
    pub const LONGEST: Duration = Duration::from_secs(3600);

    /// The usual ones for this machine's `/proc`, or for another tree; its sysfs is `../sys` beside it,
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
            look_again: Duration::from_secs(90),
            nice: 0,
        }
    }
}

/// What a sampler can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Take a snapshot this often from now on.
    Interval(Duration),
    /// Stop taking snapshots, or go on.
    Pause(bool),
    /// Take one at once, paused or not.
    Now,
    /// Read `oom_score` too, or no more.
    OomScore(bool),
    /// Read what cgroups say of themselves too, or no more.
    Cgroups(bool),
    /// These are looked at: on the screen, or tagged.
    Focus(Vec<Identity>),
}

/// The two ends of a running sampler. It ends when the last receiver is dropped.
#[derive(Clone, Debug)]
pub struct Handle {
    /// The latest snapshot; `None` until the first.
    pub snapshots: watch::Receiver<Option<Arc<Snapshot>>>,
    /// Where to send commands.
    pub commands: mpsc::Sender<Command>,
}

/// Has the kernel make room for the descriptors to be held open, all at once. To be called while the program
/// has one thread: a table of descriptors that threads share is copied at each doubling, and everyone who
/// opens a file waits each time until every processor has passed a quiet moment (`expand_fdtable` of
/// `fs/file.c`). Nothing depends on it but the time the first snapshot takes.
pub fn make_room() {
    target::make_room();
}

/// Starts a sampler on `runtime`, which must have its timer enabled. The first snapshot is taken at once;
/// ticks missed, by a slow scan or a stopped machine, are skipped.
pub fn spawn(options: Options, runtime: &tokio::runtime::Handle) -> Handle {
    let (publish, snapshots) = watch::channel(None);
    let (commands, orders) = mpsc::channel(16);
    runtime.spawn(async move {
        let closed = publish.clone();
        tokio::select! {
            () = closed.closed() => {}
            () = run(options, publish, orders) => {}
        }
    });
    Handle { snapshots, commands }
}

async fn run(options: Options, publish: watch::Sender<Option<Arc<Snapshot>>>, mut orders: mpsc::Receiver<Command>) {
    let mut scanner = Scanner::new(options);
    let mut ticker = ticker(Instant::now(), scanner.interval());
    let mut paused = false;
    let mut open = true;
    // Paused with nobody left to say otherwise, there is nothing more to do.
    while open || !paused {
        let order = tokio::select! {
            order = orders.recv(), if open => {
                open = order.is_some();
                order
            }
            _ = ticker.tick(), if !paused => Some(Command::Now),
        };
        match order {
            Some(Command::Now) => {
                publish.send_replace(Some(scanner.tick().await));
            }
            Some(Command::Pause(on)) => paused = on,
            Some(Command::Interval(every)) => {
                scanner.set_interval(every);
                let every = scanner.interval();
                ticker = self::ticker(Instant::now() + every, every);
            }
            Some(Command::OomScore(on)) => scanner.set_oom_score(on),
            Some(Command::Cgroups(on)) => scanner.set_cgroups(on),
            Some(Command::Focus(ids)) => scanner.set_focus(ids),
            None => {}
        }
    }
}

fn ticker(first: Instant, every: Duration) -> tokio::time::Interval {
    let mut ticker = interval_at(first, every);
    ticker.set_missed_tick_behavior(MissedTickBehavior::Skip);
    ticker
}
