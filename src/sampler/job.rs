//! What a reader does, and what comes of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use super::plan::Purpose;
use super::target::{Budget, Target};
use super::walk;
use crate::model::{Memory, Missing, Reading, Stat};
use crate::proc::files::{self, Roots};
use crate::proc::system::{Part, Portion};
use crate::proc::{cgroup, own, stat, status, users};

/// The most of a command line that is kept.
const CMDLINE: usize = 64 << 10;

/// What is read, and of what: never two at once of the same. A process goes by its serial number in the
/// table, so that nothing of one is taken for another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Token {
    /// The list of processes.
    List,
    /// One thing of the system.
    Part(Part),
    /// `stat`, of this process and others after it.
    Glance(u64),
    /// `smaps_rollup`.
    Walk(u64),
    /// `status`, `cgroup`, `cmdline`.
    Facts(u64),
    /// A user's name.
    User(u32),
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
    Part(Part),
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
    User(u32),
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
    Part(Part, Portion),
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
    },
    Cmdline {
        subject: Subject,
        cmdline: Reading<Box<[u8]>>,
    },
    User(u32, Arc<[u8]>),
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
            Self::User(uid) => Token::User(*uid),
        }
    }

    pub(super) const fn class(&self) -> Class {
        match self {
            Self::List { .. } | Self::Part(_) | Self::Glance { .. } => Class::Urgent,
            Self::Walk { known: true, .. } => Class::Known,
            Self::Walk { known: false, .. } => Class::New,
            Self::Facts(_) | Self::User(_) => Class::Facts,
        }
    }

    /// About how long it takes: enough to tell how many threads are worth waking.
    pub(super) fn expected(&self) -> Duration {
        match self {
            Self::List { .. } => Duration::from_micros(500),
            Self::Part(_) => Duration::from_micros(30),
            Self::Glance { at, .. } => Duration::from_micros(4) * at.len() as u32,
            Self::Walk { expected, .. } => (*expected).max(Duration::from_micros(50)),
            Self::Facts(_) | Self::User(_) => Duration::from_micros(50),
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
                early(Outcome::Place {
                    subject: subject.clone(),
                    uid,
                    place,
                });
                let room = buf.len().min(CMDLINE);
                let cmdline = record(&subject, proc, b"cmdline", &mut buf[..room]).map(Into::into);
                Outcome::Cmdline { subject, cmdline }
            }
            Self::User(uid) => Outcome::User(uid, users::name(uid, &ground.roots)),
        }
    }
}

/// Reads `stat`, through the files known where they are still the process's; otherwise it is opened anew.
fn glance(ask: &Glance, oom: bool, ground: &Ground, buf: &mut [u8]) -> Glanced {
    let proc = ground.roots.proc.as_path();
    let known = ask.target.as_deref().map(|target| (target, target.stat(proc, buf)));
    let (target, seen) = match known {
        Some((target, Ok(len))) => {
            let mut seen = seen(&buf[..len], ask.comm, ground.page);
            if let (true, Ok(seen)) = (ask.swapped, &mut seen) {
                // Freeing what is swapped out moves neither RSS nor a fault count.
                seen.swap = target
                    .status(proc, buf)
                    .ok()
                    .and_then(|len| status::swap(&buf[..len]).ok());
            }
            (None, seen.map(|seen| score(seen, target, proc, oom)))
        }
        None | Some((_, Err(Errno::SRCH | Errno::NOENT))) => glance_anew(ask, oom, ground, buf),
        Some((_, Err(e))) => (None, Err(fault(e, &ground.budget))),
    };
    Glanced {
        pid: ask.pid,
        serial: ask.serial,
        target: target.map(Arc::new),
        seen,
    }
}

fn glance_anew(ask: &Glance, oom: bool, ground: &Ground, buf: &mut [u8]) -> (Option<Target>, Reading<Seen>) {
    let proc = ground.roots.proc.as_path();
    let (target, len) = match Target::new(ask.pid, proc, &ground.budget, buf) {
        Ok(opened) => opened,
        Err(e) => return (None, Err(fault(e, &ground.budget))),
    };
    match seen(&buf[..len], ask.comm, ground.page) {
        Ok(seen) if seen.stat.is_kernel_thread() => {
            let seen = score(seen, &target, proc, oom);
            (Some(target.without_dir()), Ok(seen))
        }
        Ok(seen) => {
            let seen = score(seen, &target, proc, oom);
            (Some(target), Ok(seen))
        }
        Err(e) => (None, Err(e)),
    }
}

/// The pid that was given out last in this pid namespace: the last field of `loadavg`. Trees that are no procfs
/// say nothing true.
fn last_pid(ground: &Ground, buf: &mut [u8]) -> Option<u64> {
    if !ground.budget.is_procfs() {
        return None;
    }
    let path = [ground.roots.proc.as_os_str().as_encoded_bytes(), b"/loadavg"].concat();
    let bytes = files::slurp(&path, buf).ok()?;
    std::str::from_utf8(bytes).ok()?.split_whitespace().nth(4)?.parse().ok()
}

fn fault(errno: Errno, budget: &Budget) -> Missing {
    if matches!(errno, Errno::MFILE | Errno::NFILE) {
        budget.shrink();
    }
    files::reason(errno)
}

fn seen(bytes: &[u8], comm: u64, page: u64) -> Reading<Seen> {
    let glance = stat::parse(bytes, page)?;
    let digest = stat::name_digest(glance.comm);
    Ok(Seen {
        starttime: glance.starttime,
        stat: glance.stat,
        digest,
        comm: (digest != comm).then(|| glance.comm.into()),
        oom_score: Err(Missing::Pending),
        swap: None,
    })
}

fn score(mut seen: Seen, target: &Target, proc: &Path, wanted: bool) -> Seen {
    if wanted {
        let mut buf = [0; 32];
        seen.oom_score = target
            .open(proc, b"oom_score")
            .and_then(|fd| files::read_record(fd, &mut buf))
            .map_err(|e| absent(e, target, proc))
            .and_then(|len| {
                str::from_utf8(&buf[..len])
                    .ok()
                    .and_then(|text| text.trim().parse().ok())
                    .ok_or(Missing::Malformed)
            });
    }
    seen
}

/// The whole of one of the process's files, as much as `buf` holds. Opened by path it must have been the
/// same process all along.
fn record<'a>(subject: &Subject, proc: &Path, name: &[u8], buf: &'a mut [u8]) -> Reading<&'a [u8]> {
    let target = &*subject.target;
    let len = target
        .open(proc, name)
        .and_then(|fd| files::read_all(fd, buf))
        .map_err(|e| absent(e, target, proc))?;
    if !target.is_bound() {
        let mut again = [0; 1024];
        let same = target
            .stat(proc, &mut again)
            .is_ok_and(|len| stat::parse(&again[..len], 1).is_ok_and(|g| g.starttime == subject.starttime));
        if !same {
            return Err(Missing::Gone);
        }
    }
    Ok(&buf[..len])
}

/// Why a file could not be read: one that is not there while its process is, is not offered.
fn absent(errno: Errno, target: &Target, proc: &Path) -> Missing {
    match files::reason(errno) {
        Missing::Gone if target.stat(proc, &mut [0; 1024]).is_ok() => Missing::Unsupported,
        other => other,
    }
}

fn place(bytes: &[u8]) -> Reading<Place> {
    let place = cgroup::parse(bytes)?;
    Ok(Place {
        path: place.path.into(),
        unit: place.unit.map(Into::into),
        container: place.container.map(Into::into),
    })
}
