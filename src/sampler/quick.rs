//! One look at the machine for one plain table: each process's memory and as little else as is shown.
//!
//! A [`Scanner`](super::Scanner) is made to look again and again and to get by with reads that never return.
//! This is made to be over soon: every file is opened once, through the process's directory, by threads that
//! share one list; and at the first sign of trouble it gives up, for the scanner to do it.
//!
//! What is not wanted is not filled in: start times, states and names may be missing, so that such a
//! snapshot serves a table, and is neither kept, nor compared with another, nor written as one.

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::fstat;
use rustix::io::Errno;

use super::Options;
use crate::model::{Facts, Identity, Missing, ProcessSample, Sampling, Snapshot, Stat, SystemSample, Walk};
use crate::proc::files::{self, Roots};
use crate::proc::{kcmp, own, smaps, stat, users};

/// What is wanted of each process beside its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wants {
    /// Its user.
    pub user: bool,
    /// Its command line; its short name, where it has none.
    pub command: bool,
    /// What its `stat` tells.
    pub stat: bool,
}

/// What a reader's buffer holds.
const BUFFER: usize = 64 << 10;
const STACK: usize = 256 << 10;
/// As many processes are worth a thread of its own.
const SHARE: usize = 16;
/// How many processes before it, in order of pid, one may share its address space with.
const NEAR: usize = 8;

/// What the threads share.
struct Work {
    options: Options,
    wants: Wants,
    pids: Vec<u32>,
    /// The place in the list that is read next.
    next: AtomicUsize,
    /// The facts of a process until there are some.
    nothing: Arc<Facts>,
    users: Mutex<HashMap<u32, Arc<[u8]>>>,
    done: Mutex<Done>,
    end: Condvar,
}

#[derive(Default)]
struct Done {
    threads: usize,
    rows: Vec<ProcessSample>,
    given_up: bool,
}

/// Why one look is no more to be taken.
struct Trouble;

/// Takes a snapshot of this machine's processes; `None` where that is better done by a scanner: for another
/// tree, on a kernel without `smaps_rollup`, and where a read does not return or descriptors or threads run out.
pub fn look(options: &Options, wants: Wants) -> Option<Snapshot> {
    let roots = Roots::new(None);
    if options.proc_root != roots.proc {
        return None;
    }
    let began = own::monotonic();
    let pids = files::pids(roots.proc.as_os_str().as_encoded_bytes()).ok()?;
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let threads = threads.min(pids.len().div_ceil(SHARE)).max(1);
    let work = Arc::new(Work {
        options: options.clone(),
        wants,
        pids,
        next: AtomicUsize::new(0),
        nothing: Arc::new(Facts::pending(b"")),
        users: Mutex::default(),
        done: Mutex::default(),
        end: Condvar::new(),
    });
    for number in 1..=threads {
        let work = Arc::clone(&work);
        let thread = std::thread::Builder::new().name(format!("zmtop-read-{number}"));
        thread.stack_size(STACK).spawn(move || work.read()).ok()?;
    }
    let mut rows = work.wait(threads)?;
    rows.sort_unstable_by_key(|row| row.id.pid);
    share(&mut rows);
    let now = own::monotonic();
    Some(Snapshot {
        time: SystemTime::now(),
        monotonic: now,
        tick: 1,
        host: Arc::from(&b""[..]),
        boot_id: Err(Missing::Pending),
        interval: options.interval,
        sampling: Sampling {
            walks: rows.iter().filter(|row| row.walk.is_ok()).count(),
            threads,
            took: now.saturating_sub(began),
            ..Sampling::default()
        },
        own: Err(Missing::Pending),
        system: SystemSample::missing(Missing::Pending),
        processes: Ok(rows),
        cgroups: Arc::default(),
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Work {
    /// The rows, once every thread has ended; nothing where one is in trouble, or all stand still for as long
    /// as a read may take. Those are left where they are.
    fn wait(&self, threads: usize) -> Option<Vec<ProcessSample>> {
        let mut done = lock(&self.done);
        let mut at = 0;
        while done.threads < threads && !done.given_up {
            let (again, waited) = self
                .end
                .wait_timeout(done, self.options.deadline)
                .unwrap_or_else(PoisonError::into_inner);
            done = again;
            let now = self.next.load(Ordering::Relaxed).min(self.pids.len() + threads);
            if waited.timed_out() && now == at {
                done.given_up = true;
            }
            at = now;
        }
        (!done.given_up).then(|| std::mem::take(&mut done.rows))
    }

    /// The life of a thread.
    fn read(&self) {
        if self.options.nice > 0 {
            let _ = rustix::process::setpriority_process(None, self.options.nice.into());
        }
        let mut buf = vec![0; BUFFER];
        let mut rows = Vec::with_capacity(self.pids.len());
        let mut trouble = false;
        while let Some(pid) = self.pids.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            if let Ok(row) = self.process(*pid, &mut buf) {
                rows.extend(row);
            } else {
                trouble = true;
                self.next.fetch_max(self.pids.len(), Ordering::Relaxed);
            }
        }
        let mut done = lock(&self.done);
        done.threads += 1;
        done.given_up |= trouble;
        if done.rows.is_empty() {
            done.rows = rows;
        } else {
            done.rows.append(&mut rows);
        }
        self.end.notify_one();
    }

    /// One process; `Ok(None)` where it is gone.
    fn process(&self, pid: u32, buf: &mut [u8]) -> Result<Option<ProcessSample>, Trouble> {
        let mut path = [0; 32];
        let dir = match files::open_dir(number_path(&mut path, pid)) {
            Ok(dir) => dir,
            Err(e) if files::reason(e) == Missing::Gone => return Ok(None),
            Err(_) => return Err(Trouble),
        };
        let at = own::monotonic();
        let walk = match read(&dir, b"smaps_rollup", buf) {
            Ok(0) | Err(Errno::NOENT | Errno::MFILE | Errno::NFILE) => return Err(Trouble),
            Ok(len) => smaps::rollup(&buf[..len]).map(|memory| Walk {
                memory,
                at,
                cost: Duration::ZERO,
            }),
            Err(e) => Err(files::reason(e)),
        };
        let mut facts = Facts::pending(b"");
        if self.wants.command {
            facts.cmdline = match read(&dir, b"cmdline", buf) {
                Ok(len) => Ok(buf[..len].into()),
                Err(e) => Err(files::reason(e)),
            };
        }
        let mut sample = ProcessSample {
            id: Identity { pid, starttime: 0 },
            exec: 0,
            stat: Stat::default(),
            facts: Arc::clone(&self.nothing),
            walk,
            stale: false,
            oom_score: Err(Missing::Pending),
            shares_mm: None,
        };
        let nameless = self.wants.command && facts.cmdline.as_ref().map_or(true, |line| line.iter().all(|b| *b == 0));
        if self.wants.stat || nameless || walk.is_err() {
            let Ok(len) = read(&dir, b"stat", buf) else {
                return Ok(None);
            };
            let glance = stat::parse(&buf[..len], rustix::param::page_size() as u64).map_err(|_| Trouble)?;
            sample.id.starttime = glance.starttime;
            sample.stat = glance.stat;
            facts.comm = glance.comm.into();
            sample.walk = match walk {
                // ESRCH is what those give that have no memory.
                Err(Missing::Gone) if glance.stat.is_kernel_thread() => Err(Missing::KernelThread),
                Err(Missing::Gone) if glance.stat.is_zombie() => Err(Missing::Zombie),
                other => other,
            };
        }
        if self.wants.user {
            facts.uid = fstat(&dir).map(|stat| stat.st_uid).map_err(files::reason);
            facts.user = facts.uid.map(|uid| self.user(uid));
        }
        sample.facts = Arc::new(facts);
        Ok(Some(sample))
    }

    fn user(&self, uid: u32) -> Arc<[u8]> {
        let mut users = lock(&self.users);
        let name = users.entry(uid).or_insert_with(|| users::name(uid, &Roots::new(None)));
        Arc::clone(name)
    }
}

/// Reads a file of a process: what one read gives, and more where that filled the buffer or was cut.
fn read(dir: &OwnedFd, name: &[u8], buf: &mut [u8]) -> Result<usize, Errno> {
    let fd = files::open_at(dir.as_fd(), name)?;
    files::read_once(fd, buf)
}

/// `/proc/PID`.
fn number_path(path: &mut [u8; 32], pid: u32) -> &[u8] {
    use std::io::Write as _;
    let mut rest = &mut path[..];
    let _ = write!(rest, "/proc/{pid}");
    let left = rest.len();
    &path[..32 - left]
}

/// Marks those that have one address space, which show the same figures: asked of the kernel, for those near
/// each other.
fn share(rows: &mut [ProcessSample]) {
    let figures = |row: &ProcessSample| row.walk.ok().map(|w| (w.memory.rss, w.memory.uss(), w.memory.swap));
    for at in 1..rows.len() {
        let Some(own) = figures(&rows[at]) else { continue };
        let near = (at.saturating_sub(NEAR)..at).rev();
        let Some(other) = near.into_iter().find(|i| figures(&rows[*i]) == Some(own)) else {
            continue;
        };
        if kcmp::same_memory(rows[at].id.pid, rows[other].id.pid) == Ok(true) {
            rows[at].shares_mm = rows[other].shares_mm.or(Some(rows[other].id));
        }
    }
}
