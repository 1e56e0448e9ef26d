//! The processes that ended between two snapshots.
//!
//! A thread receives the kernel's [records](crate::proc::taskstats) while they are wanted, because they come whenever a
//! thread of the machine ends and the kernel's buffer is bounded. It sleeps while nothing ends. After the first record it
//! waits for `PAUSE`, so that many ends cost few wakeups. Each snapshot gets the [`Tally`] of its interval.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::Errno;

use crate::model::exit::keep_highest;
use crate::model::{Exit, Exits, Missing, ProcessSample, Reading, Snapshot};
use crate::proc::clock;
use crate::proc::files::{self, Roots};
use crate::proc::taskstats::{EndSocket, TaskEnd};

/// Time from the first record to the read: the maximum error of [`Exit::time`].
const PAUSE: Duration = Duration::from_millis(100);
/// Stack size of the thread, in bytes.
const STACK: usize = 128 << 10;
/// Maximum number of first threads that ended before other threads of their process, and of ends that may be of a thread.
const MAX_OPEN: usize = 1024;

/// The ends since the last snapshot. Pure.
#[derive(Debug, Default)]
pub struct Tally {
    processes: u64,
    /// The kernel does not report the process of a thread.
    is_old: bool,
    lost: u64,
    /// First threads whose process has others that still run, by pid.
    firsts: BTreeMap<u32, TaskEnd>,
    /// The highest ones so far.
    list: Vec<Ended>,
    /// Ends of processes with one thread, or of threads.
    doubtful: Vec<Ended>,
}

#[derive(Debug)]
struct Ended {
    pid: u32,
    /// On the monotonic clock.
    at: Duration,
    end: TaskEnd,
    /// The status is the process's.
    has_status: bool,
}

impl Tally {
    /// Adds the end of a thread.
    pub fn add(&mut self, end: TaskEnd, at: Duration) {
        let Some(pid) = end.pid else {
            self.is_old = true;
            if end.peak >= Exit::LEAST {
                if self.doubtful.len() == MAX_OPEN {
                    self.lost += 1;
                    return;
                }
                let (pid, has_status) = (end.tid, true);
                self.doubtful.push(Ended {
                    pid,
                    at,
                    end,
                    has_status,
                });
            }
            return;
        };
        if !end.is_last {
            if end.tid == pid {
                if self.firsts.len() == MAX_OPEN {
                    self.firsts.pop_first();
                }
                self.firsts.insert(pid, end);
            }
            return;
        }
        self.processes += 1;
        let known = self.firsts.remove(&pid);
        let at_old = self.doubtful.iter().position(|ended| ended.pid == pid);
        let known = known.or_else(|| Some(self.doubtful.swap_remove(at_old?).end));
        let mut ended = Ended {
            pid,
            at,
            has_status: end.tid == pid || known.is_some(),
            end,
        };
        // The first thread has the names and the status of the process.
        if let Some(first) = known.filter(|_| ended.end.tid != pid) {
            let peak = first.peak.max(ended.end.peak);
            let (ppid, lifetime) = (ended.end.ppid, ended.end.lifetime);
            ended.end = TaskEnd {
                is_last: true,
                ppid,
                lifetime,
                peak,
                ..first
            };
        }
        self.keep(ended);
    }

    fn keep(&mut self, ended: Ended) {
        if ended.end.peak < Exit::LEAST {
            return;
        }
        self.list.push(ended);
        if self.list.len() > 4 * Exit::MOST {
            self.cut();
        }
    }

    fn cut(&mut self) {
        keep_highest(&mut self.list, Exit::MOST, |ended| (ended.end.uid, ended.end.peak));
    }

    /// Counts records that were not received.
    pub const fn add_lost(&mut self, records: u64) {
        self.lost += records;
    }

    /// Returns the ends since the last call, without the starts. `last` is the previous snapshot, and `rows` are the
    /// processes now, in order of pid; `now` is the time by both clocks.
    pub fn take(&mut self, last: Option<&Snapshot>, rows: &[ProcessSample], now: (SystemTime, Duration)) -> Exits {
        let before = last.map_or(&[][..], Snapshot::rows);
        for ended in std::mem::take(&mut self.doubtful) {
            if ended.end.is_first()
                || row_of(before, ended.pid).is_some()
                || !self.may_be_thread(&ended.end, before, rows)
            {
                self.keep(ended);
            }
        }
        self.cut();
        let list = std::mem::take(&mut self.list).into_iter();
        let since = last.map_or(Duration::MAX, |last| now.1.saturating_sub(last.monotonic));
        let exit = |ended| exit(ended, (before, since), rows, now);
        Exits {
            ended: match std::mem::take(&mut self.processes) {
                _ if self.is_old => Err(Missing::Unsupported),
                processes => Ok(processes),
            },
            started: Err(Missing::Pending),
            lost: std::mem::take(&mut self.lost),
            list: list.map(exit).collect(),
        }
    }

    /// Returns true if a process with several threads has the same parent and user, and a peak that is possible for it.
    fn may_be_thread(&self, end: &TaskEnd, before: &[ProcessSample], rows: &[ProcessSample]) -> bool {
        let is_of = |row: &ProcessSample| {
            let is_same = row.stat.ppid == end.ppid && row.facts.uid.is_ok_and(|uid| uid == end.uid);
            is_same && row.stat.threads > 1 && row.stat.rss <= end.peak
        };
        let ended_too = |ended: &Ended| ended.end.is_last && (ended.end.ppid, ended.end.uid) == (end.ppid, end.uid);
        before.iter().chain(rows).any(is_of) || self.list.iter().any(ended_too)
    }
}

fn row_of(rows: &[ProcessSample], pid: u32) -> Option<&ProcessSample> {
    let at = rows.binary_search_by_key(&pid, |row| row.id.pid).ok()?;
    Some(&rows[at])
}

fn exit(
    Ended {
        pid,
        at,
        end,
        has_status,
    }: Ended,
    (before, since): (&[ProcessSample], Duration),
    rows: &[ProcessSample],
    (time, now): (SystemTime, Duration),
) -> Exit {
    let age = now.saturating_sub(at);
    // A younger process has the pid of another one.
    let is_older = age.saturating_add(end.lifetime).saturating_add(PAUSE) >= since;
    let own = row_of(before, pid).filter(|_| is_older);
    let parent = row_of(rows, end.ppid).or_else(|| row_of(before, end.ppid));
    let cgroup = |row: &ProcessSample| Some(row.facts.cgroup.as_deref().ok()?.into());
    // The first process starts services in cgroups of their own.
    let of_parent = || parent.filter(|parent| parent.id.pid != 1).and_then(cgroup);
    let signal = end.status & 0x7f;
    Exit {
        pid,
        starttime: own.map(|row| row.id.starttime),
        ppid: end.ppid,
        parent: parent.map(|row| row.facts.comm.clone()),
        uid: end.uid,
        comm: end.comm,
        cgroup: own.and_then(cgroup).or_else(of_parent),
        time: time.checked_sub(age).unwrap_or(time),
        lifetime: end.lifetime,
        peak: end.peak,
        is_fork: end.is_fork,
        parent_rss: parent.filter(|_| end.is_fork).map(|parent| parent.stat.rss),
        code: (has_status && signal == 0).then_some(end.status >> 8 & 0xff),
        signal: (has_status && signal != 0).then_some(signal),
    }
}

/// A thread that receives records. It ends when this is dropped.
#[derive(Debug)]
pub(crate) struct ExitWatch {
    state: Arc<Mutex<State>>,
    stop: Option<Arc<OwnedFd>>,
}

#[derive(Debug)]
struct State {
    /// The socket from which records come.
    socket: Reading<EndSocket>,
    /// The arrival time of the first record that was not read yet, if the thread knows it.
    since: Option<Duration>,
    /// Records lost since the start.
    lost: u32,
    tally: Tally,
}

impl State {
    /// Adds the received records to the tally. Does not block.
    fn drain(&mut self) {
        let Ok(socket) = &mut self.socket else { return };
        let at = self.since.take().unwrap_or_else(clock::monotonic);
        let drained = socket.drain(|end| self.tally.add(end, at));
        let lost = socket.lost().unwrap_or(self.lost);
        let more = lost.wrapping_sub(std::mem::replace(&mut self.lost, lost));
        self.tally.add_lost(more.into());
        if let Err(e) = drained {
            self.socket = Err(files::reason(e));
        }
    }
}

impl ExitWatch {
    pub(crate) fn start(roots: Roots) -> Self {
        let state = Arc::new(Mutex::new(State {
            socket: Err(Missing::Pending),
            since: None,
            lost: 0,
            tally: Tally::default(),
        }));
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map(Arc::new);
        let started = stop.map_err(files::reason).and_then(|stop| {
            let (state, stopped) = (Arc::clone(&state), Arc::clone(&stop));
            std::thread::Builder::new()
                .name("zmtop-exits".into())
                .stack_size(STACK)
                .spawn(move || {
                    if let Err(why) = receive(&roots, &state, &stopped) {
                        lock(&state).socket = Err(why);
                    }
                })
                .map_err(|e| files::reason(Errno::from_io_error(&e).unwrap_or(Errno::AGAIN)))?;
            Ok(stop)
        });
        if let Err(why) = started {
            lock(&state).socket = Err(why);
        }
        Self {
            state,
            stop: started.ok(),
        }
    }

    /// Returns what [`Tally::take`] does, or the reason why no records come. A process that is gone from `/proc` is
    /// included, because the kernel sends the record before.
    pub(crate) fn take(&self, last: Option<&Snapshot>, rows: &[ProcessSample], now: (SystemTime, Duration)) -> Exits {
        let mut state = lock(&self.state);
        state.drain();
        let exits = state.tally.take(last, rows, now);
        let fault = state.socket.as_ref().err().copied();
        Exits {
            ended: fault.map_or(exits.ended, Err),
            ..exits
        }
    }
}

impl Drop for ExitWatch {
    fn drop(&mut self) {
        // The thread polls it.
        let _ = self
            .stop
            .as_ref()
            .map(|stop| rustix::io::write(stop, &1_u64.to_ne_bytes()));
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Receives records until `stop` is readable or the socket fails.
///
/// # Errors
/// The reason why no records come.
fn receive(roots: &Roots, state: &Mutex<State>, stop: &OwnedFd) -> Reading<()> {
    let socket = EndSocket::open(roots)?;
    let ready = socket.as_fd().try_clone_to_owned();
    let ready = ready.map_err(|e| files::reason(Errno::from_io_error(&e).unwrap_or(Errno::MFILE)))?;
    lock(state).socket = Ok(socket);
    loop {
        let came = readable(&[stop.as_fd(), ready.as_fd()], None).map_err(files::reason)?;
        lock(state).since = Some(clock::monotonic());
        if came[0] || readable(&[stop.as_fd()], Some(PAUSE)).map_err(files::reason)?[0] {
            return Ok(());
        }
        let mut state = lock(state);
        state.drain();
        if state.socket.is_err() {
            return Ok(());
        }
    }
}

/// Waits until a file is readable or the time is over. Returns the readable files.
fn readable(of: &[std::os::fd::BorrowedFd<'_>], time: Option<Duration>) -> Result<Vec<bool>, Errno> {
    let mut files: Vec<_> = of
        .iter()
        .map(|file| PollFd::from_borrowed_fd(*file, PollFlags::IN))
        .collect();
    let time = time.and_then(|time| Timespec::try_from(time).ok());
    match poll(&mut files, time.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(files.iter().map(|file| !file.revents().is_empty()).collect()),
        Err(other) => Err(other),
    }
}
