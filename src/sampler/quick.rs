//! One look at the machine for one plain table: each process's memory and as little else as is shown.
//!
//! A [`Scanner`](super::Scanner) is made to look again and again and to get by with reads that never return.
//! This is made to be over soon: every file is opened once, through the process's directory, by threads that
//! share one list; and at the first sign of trouble it gives up, for the scanner to do it.
//!
//! What is not wanted is not filled in: start times, states and names may be missing, so that such a
//! snapshot serves a table, and is neither kept, nor compared with another, nor written as one.

use std::collections::{HashMap, VecDeque};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::fs::fstat;
use rustix::io::Errno;

use super::Options;
use crate::model::{Facts, Identity, Missing, ProcessSample, Reading, Sampling, Snapshot, Stat, SystemSample, Walk};
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
/// How much of the list of processes is read at once: readers begin with the first piece.
const PIECE: usize = 4 << 10;
/// Room for so many rows from the start: memory is taken only where it is touched, and touching it costs more
/// than what is written there.
const ROWS: usize = 4096;
/// How many processes read before it one may share its address space with.
const NEAR: usize = 16;

/// What the threads share.
struct Work {
    options: Options,
    wants: Wants,
    queue: Mutex<Queue>,
    more: Condvar,
    /// The facts of a process until there are some.
    nothing: Arc<Facts>,
    users: Mutex<HashMap<u32, Arc<[u8]>>>,
    near: Mutex<VecDeque<(Identity, Figures)>>,
    done: Mutex<Done>,
    /// A thread has ended.
    end: Condvar,
}

/// What is still to be read.
#[derive(Default)]
struct Queue {
    pids: Vec<u32>,
    next: usize,
    /// The list is at its end.
    whole: bool,
}

#[derive(Default)]
struct Done {
    threads: usize,
    rows: Vec<ProcessSample>,
    given_up: bool,
}

/// Why one look is no more to be taken.
struct Trouble;

/// What two processes with one address space have the same of: RSS, USS and swap.
type Figures = (u64, u64, u64);

/// Takes a snapshot of this machine's processes; `None` where that is better done by a scanner: for another
/// tree, on a kernel without `smaps_rollup`, and where a read does not return or descriptors or threads run out.
pub fn look(options: &Options, wants: Wants) -> Option<Snapshot> {
    let roots = Roots::new(None);
    if options.proc_root != roots.proc {
        return None;
    }
    let began = own::monotonic();
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    };
    let work = Arc::new(Work {
        options: options.clone(),
        wants,
        queue: Mutex::default(),
        more: Condvar::new(),
        nothing: Arc::new(Facts::pending(b"")),
        users: Mutex::default(),
        near: Mutex::default(),
        done: Mutex::new(Done {
            rows: Vec::with_capacity(ROWS),
            ..Done::default()
        }),
        end: Condvar::new(),
    });
    for number in 1..=threads {
        let work = Arc::clone(&work);
        let thread = std::thread::Builder::new().name(format!("zmtop-read-{number}"));
        thread.stack_size(STACK).spawn(move || work.read()).ok()?;
    }
    let listed = work.list(roots.proc.as_os_str().as_encoded_bytes());
    let mut rows = work.wait(threads)?;
    listed.ok()?;
    rows.sort_unstable_by_key(|row| row.id.pid);
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
    /// Lists the processes for the readers.
    fn list(&self, proc: &[u8]) -> Reading<()> {
        let mut piece = Vec::with_capacity(PIECE / 24);
        let hand_in = |piece: &mut Vec<u32>| {
            lock(&self.queue).pids.append(piece);
            self.more.notify_all();
        };
        let listed = files::each_pid(proc, PIECE, |pid| {
            piece.push(pid);
            if piece.len() == PIECE / 24 {
                hand_in(&mut piece);
            }
        });
        lock(&self.queue).whole = true;
        hand_in(&mut piece);
        listed
    }

    /// The next process to read; `None` where there are no more.
    fn next(&self) -> Option<u32> {
        let mut queue = lock(&self.queue);
        while queue.next == queue.pids.len() {
            if queue.whole {
                return None;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.next += 1;
        Some(queue.pids[queue.next - 1])
    }

    /// The rows, once every thread has ended; nothing where one is in trouble, or all stand still for as long
    /// as a read may take. Those are left where they are.
    fn wait(&self, threads: usize) -> Option<Vec<ProcessSample>> {
        let mut done = lock(&self.done);
        let mut at = (0, 0);
        while done.threads < threads && !done.given_up {
            let (again, waited) = self
                .end
                .wait_timeout(done, self.options.deadline)
                .unwrap_or_else(PoisonError::into_inner);
            done = again;
            let now = (lock(&self.queue).next, done.threads);
            done.given_up |= waited.timed_out() && now == at;
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
        let mut last = Arc::clone(&self.nothing);
        let mut trouble = false;
        while !trouble && let Some(pid) = self.next() {
            match self.process(pid, &mut last, &mut buf) {
                Ok(row) => lock(&self.done).rows.extend(row),
                Err(Trouble) => trouble = true,
            }
        }
        let mut done = lock(&self.done);
        done.threads += 1;
        done.given_up |= trouble;
        self.end.notify_one();
    }

    /// One process; `Ok(None)` where it is gone.
    /// `last` holds the facts of the one before: workers started by one hand have the same.
    fn process(&self, pid: u32, last: &mut Arc<Facts>, buf: &mut [u8]) -> Result<Option<ProcessSample>, Trouble> {
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
        if **last != facts {
            *last = Arc::new(facts);
        }
        sample.facts = Arc::clone(last);
        sample.shares_mm = self.kin(&sample);
        Ok(Some(sample))
    }

    /// Another process with the same address space, which then shows the same figures: asked of the kernel, for
    /// the nearest of those read shortly before.
    fn kin(&self, sample: &ProcessSample) -> Option<Identity> {
        let memory = sample.memory().ok()?;
        let figures = (memory.rss, memory.uss(), memory.swap);
        let mut near = lock(&self.near);
        let alike = near.iter().filter(|(_, theirs)| *theirs == figures).map(|(id, _)| *id);
        let other = alike.min_by_key(|id| id.pid.abs_diff(sample.id.pid));
        if near.len() == NEAR {
            near.pop_front();
        }
        near.push_back((sample.id, figures));
        drop(near);
        other.filter(|other| kcmp::same_memory(sample.id.pid, other.pid) == Ok(true))
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
