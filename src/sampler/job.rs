//! What a reader does, and what comes of it.

mod facts;
mod glance;
mod kin;
mod program;

use std::sync::Arc;
use std::time::Duration;

use facts::{place, record};
use glance::{glance, last_pid};
pub(super) use kin::{Party, Suspect};
pub(super) use program::{Known, Program};

use super::plan::Purpose;
use super::target::{Budget, Target};
use super::walk;
use crate::model::{CgroupFigures, Memory, Reading, Stat};
use crate::proc::cgroup::figures;
use crate::proc::cgroup::mounts::Mounts;
use crate::proc::files::{self, Roots};
use crate::proc::system::{MachineUpdate, SystemFile};
use crate::proc::{own, status, users};

/// The most of a command line that is kept.
const CMDLINE: usize = 64 << 10;

/// What is read, and of what: never two at once of the same. A process goes by its serial number in the
/// table, so that nothing of one is taken for another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Token {
    /// The list of processes.
    List,
    /// One thing of the system.
    Part(SystemFile),
    /// `stat`, of this process and others after it.
    Glance(u64),
    /// `smaps_rollup`.
    Walk(u64),
    /// `status`, `cgroup`, `exe`, `cmdline`.
    Facts(u64),
    /// What became of the file it runs.
    Program(u64),
    /// `exe`, of this process and others after it.
    Links(u64),
    /// Whether this process and others after it share an address space with another.
    Kin(u64),
    /// A user's name.
    User(u32),
    /// Where cgroups are mounted.
    Mounts,
    /// Cgroups, by the number of the job.
    Cgroups(u64),
}

/// Which queue a job waits in; the first goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Lists, glances, the system: without them there is no snapshot.
    Urgent,
    /// Walks of processes that have been walked before.
    Known,
    /// Walks of processes that never have: they may never return.
    New,
    /// All that takes longest or may wait on anyone: command lines, the name service.
    Facts,
}

/// How many classes there are.
pub(super) const CLASSES: usize = 4;

/// A process to read of.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    pub(super) pid: u32,
    pub(super) serial: u64,
    pub(super) starttime: u64,
    /// Which state of the process this is asked for: an answer to an older question is dropped.
    pub(super) version: u32,
    pub(super) target: Arc<Target>,
}

/// One thing to do.
#[derive(Debug)]
pub(super) enum Job {
    List {
        /// The pid given out last when the list was read before; where it still is, there is nothing new.
        last: Option<u64>,
    },
    Part(SystemFile),
    Glance {
        /// Never empty.
        at: Vec<Glance>,
        /// Whether `oom_score` is wanted.
        oom: bool,
    },
    Walk {
        subject: Subject,
        /// What it is made for, and what it is expected to cost.
        purpose: Purpose,
        expected: Duration,
        /// Whether it has been walked before.
        known: bool,
    },
    Facts(Subject),
    Program(Subject),
    Links(Vec<Known>),
    Kin(Vec<Suspect>),
    User(u32),
    Mounts,
    Cgroups {
        number: u64,
        mounts: Arc<Mounts>,
        paths: Vec<Arc<[u8]>>,
    },
}

/// A process to glance at.
#[derive(Debug)]
pub(super) struct Glance {
    pub(super) pid: u32,
    pub(super) serial: u64,
    /// The files known; none of a pid not seen before.
    pub(super) target: Option<Arc<Target>>,
    /// The digest of the comm known.
    pub(super) comm: u64,
    /// Whether some of it is swapped out, so that swap is looked at too.
    pub(super) swapped: bool,
}

/// What came of a glance.
#[derive(Debug)]
pub(super) struct Glanced {
    pub(super) pid: u32,
    pub(super) serial: u64,
    /// The files, where they are new.
    pub(super) target: Option<Arc<Target>>,
    pub(super) seen: Reading<Seen>,
}

/// What a glance saw.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) starttime: u64,
    pub(super) stat: Stat,
    pub(super) digest: u64,
    /// The name, where it is not the one known.
    pub(super) comm: Option<Box<[u8]>>,
    pub(super) oom_score: Reading<u32>,
    /// `VmSwap` of `status`, where it was looked at.
    pub(super) swap: Option<u64>,
}

/// One walk made.
#[derive(Debug)]
pub(super) struct Walked {
    pub(super) memory: Reading<Memory>,
    /// When it began.
    pub(super) at: Duration,
    /// In processor time.
    pub(super) cost: Duration,
    /// On the clock.
    pub(super) took: Duration,
}

/// What a job gave.
pub(super) enum Outcome {
    /// `None` where no pid was given out since the list before.
    List(Option<Reading<Vec<u32>>>, Option<u64>),
    Part(SystemFile, MachineUpdate),
    Glance(Vec<Glanced>),
    Walk {
        subject: Subject,
        purpose: Purpose,
        expected: Duration,
        done: Walked,
    },
    Place {
        subject: Subject,
        uid: Reading<u32>,
        place: Reading<Place>,
        program: Reading<Program>,
    },
    Program {
        subject: Subject,
        program: Reading<Program>,
    },
    /// Those whose link is to be looked up again: pids and serial numbers.
    Links(Vec<(u32, u64)>),
    /// Those that share an address space.
    Kin(Vec<(Party, Party)>),
    Cmdline {
        subject: Subject,
        cmdline: Reading<Box<[u8]>>,
    },
    User(u32, Arc<[u8]>),
    Mounts(Reading<Arc<Mounts>>),
    Cgroups(u64, Vec<(Arc<[u8]>, CgroupFigures)>),
}

/// Where in the tree of cgroups a process is.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: Arc<[u8]>,
    pub(super) unit: Option<Arc<[u8]>>,
    pub(super) container: Option<Arc<[u8]>>,
}

/// What every reader needs.
#[derive(Debug)]
pub(super) struct Ground {
    pub(super) roots: Roots,
    pub(super) budget: Arc<Budget>,
    pub(super) page: u64,
}

impl Job {
    pub(super) fn token(&self) -> Token {
        match self {
            Self::List { .. } => Token::List,
            Self::Part(part) => Token::Part(*part),
            Self::Glance { at, .. } => Token::Glance(at.first().map_or(0, |g| g.serial)),
            Self::Walk { subject, .. } => Token::Walk(subject.serial),
            Self::Facts(subject) => Token::Facts(subject.serial),
            Self::Program(subject) => Token::Program(subject.serial),
            Self::Links(known) => Token::Links(known.first().map_or(0, |k| k.serial)),
            Self::Kin(suspects) => Token::Kin(suspects.first().map_or(0, |s| s.one.serial)),
            Self::User(uid) => Token::User(*uid),
            Self::Mounts => Token::Mounts,
            Self::Cgroups { number, .. } => Token::Cgroups(*number),
        }
    }

    pub(super) const fn class(&self) -> Class {
        match self {
            Self::List { .. } | Self::Part(_) | Self::Glance { .. } => Class::Urgent,
            Self::Walk { known: true, .. } => Class::Known,
            Self::Walk { known: false, .. } => Class::New,
            Self::Facts(_)
            | Self::Program(_)
            | Self::Links(_)
            | Self::Kin(_)
            | Self::User(_)
            | Self::Mounts
            | Self::Cgroups { .. } => Class::Facts,
        }
    }

    /// About how long it takes: enough to tell how many threads are worth waking.
    pub(super) fn expected(&self) -> Duration {
        match self {
            Self::List { .. } => Duration::from_micros(500),
            Self::Part(_) => Duration::from_micros(30),
            Self::Glance { at, .. } => Duration::from_micros(4) * at.len() as u32,
            Self::Walk { expected, .. } => (*expected).max(Duration::from_micros(50)),
            Self::Facts(_) | Self::Program(_) | Self::User(_) | Self::Mounts => Duration::from_micros(50),
            Self::Links(known) => Duration::from_micros(2) * known.len() as u32,
            Self::Kin(suspects) => Duration::from_micros(2) * suspects.len() as u32,
            Self::Cgroups { paths, .. } => Duration::from_micros(15) * paths.len() as u32,
        }
    }

    /// Does it. `early` takes what is known before the rest, which may never come.
    pub(super) fn run(self, ground: &Ground, buf: &mut [u8], early: impl FnOnce(Outcome)) -> Outcome {
        let proc = ground.roots.proc.as_path();
        match self {
            Self::List { last } => {
                // Before the list: what comes in between is then seen the next time.
                let now = last_pid(ground, buf);
                let news = now.is_none() || now != last;
                Outcome::List(news.then(|| files::pids(proc.as_os_str().as_encoded_bytes())), now)
            }
            Self::Part(part) => Outcome::Part(part, part.read(&ground.roots, buf)),
            Self::Glance { at, oom } => {
                let glances = at.iter().map(|ask| glance(ask, oom, ground, buf));
                Outcome::Glance(glances.collect())
            }
            Self::Walk {
                subject,
                purpose,
                expected,
                ..
            } => {
                let at = own::monotonic();
                let before = own::thread_time();
                let memory = walk::walk(&subject.target, subject.starttime, proc, buf);
                let cost = own::thread_time().saturating_sub(before);
                let took = own::monotonic().saturating_sub(at);
                Outcome::Walk {
                    subject,
                    purpose,
                    expected,
                    done: Walked { memory, at, cost, took },
                }
            }
            Self::Facts(subject) => {
                let uid = record(&subject, proc, b"status", buf).and_then(status::uid);
                let place = record(&subject, proc, b"cgroup", buf).and_then(place);
                let program = program::at_once(&subject, ground, buf);
                early(Outcome::Place {
                    subject: subject.clone(),
                    uid,
                    place,
                    program,
                });
                let room = buf.len().min(CMDLINE);
                let cmdline = record(&subject, proc, b"cmdline", &mut buf[..room]).map(Into::into);
                Outcome::Cmdline { subject, cmdline }
            }
            Self::Program(subject) => {
                let program = program::looked_up(&subject, ground, buf);
                Outcome::Program { subject, program }
            }
            Self::Links(known) => Outcome::Links(program::changed(&known, proc, buf)),
            Self::Kin(suspects) => Outcome::Kin(kin::proven(suspects, proc, buf)),
            Self::User(uid) => Outcome::User(uid, users::name(uid, &ground.roots)),
            Self::Mounts => Outcome::Mounts(figures::mounts(&ground.roots).map(Arc::new)),
            Self::Cgroups { number, mounts, paths } => {
                let read = |path: Arc<[u8]>| {
                    let figures = figures::read(&mounts, &path);
                    (path, figures)
                };
                Outcome::Cgroups(number, paths.into_iter().map(read).collect())
            }
        }
    }
}
