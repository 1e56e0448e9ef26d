//! Scans this machine once for one plain table: reads the memory of each process, and otherwise only
//! what the table shows.
//!
//! A [`Scanner`](super::Scanner) is made for repeated scans: it glances at every process first to plan its walks,
//! holds files open for the next tick, and reads every fact. For one table of 1000 processes with 100 areas each, it
//! takes 1.26 times the CPU time (median of 11 pairs of whole programs), so `zmtop ps` uses this module if its
//! columns allow it. The pool, targets, rollup and rows are the scanner's. Only the order differs: the walk
//! comes first, and `stat`, the command line and the user follow if [`Needs`] require them. At the first sign of
//! trouble, this scan gives up and the scanner takes over.
//!
//! Data that is not needed is not filled in: start times, states and names may be missing. Such a snapshot can be
//! shown as a table, but must not be stored, compared with another, or recorded.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use rustix::io::Errno;

use super::reading::pool::{Job, Pool, Priority, Reader};
use super::reading::target::{self, OpenFiles, Target};
use super::reading::walk;
use super::spaces::{self, Spaces};
use super::{Needs, Options, kills};
use crate::model::{Facts, Identity, Missing, ProcessSample, Sampling, Snapshot, Walk};
use crate::proc::accounts::{self, Account};
use crate::proc::files::{self, Roots};
use crate::proc::pids;
use crate::proc::{clock, pid};

pub const SERVED: Needs = Needs::MEMORY.and(Needs::STAT).and(Needs::USER).and(Needs::COMMAND_LINE);

/// Bytes of the process list read at once. Readers start after the first piece.
const LIST_PIECE: usize = 4 << 10;
/// Processes in one job: few enough that the threads finish together, many enough that the cost of a job does not
/// count.
const BATCH: usize = 24;
const TIME_PER_PROCESS: Duration = Duration::from_micros(20);
/// Number of rows allocated at the start. Untouched memory costs nothing, while moving rows costs more than writing
/// them.
const ROWS: usize = 4096;
/// Descriptors left for other uses: 3 per thread, and those that the program has open.
const RESERVE: usize = 64;

/// A reason to leave the scan to the scanner: files are missing, or descriptors ran out.
struct Trouble;

struct Context {
    roots: Roots,
    open_files: Arc<OpenFiles>,
    page: u64,
    needs: Needs,
    /// The facts of a process if none are needed.
    no_facts: Arc<Facts>,
    users: Mutex<HashMap<u32, Account>>,
    spaces: Mutex<Spaces<(u32, Identity)>>,
}

enum Work {
    Read(Vec<u32>),
    /// Compares all address spaces once more.
    Compare,
}

enum Found {
    Rows(Vec<ProcessSample>),
    Shared(Vec<(Identity, Identity)>),
}

/// Takes a snapshot of this machine's processes. Returns `None` if a scanner must do it: for needs beyond [`SERVED`],
/// for another tree, on a kernel without `smaps_rollup`, and if a read does not return or descriptors or threads run
/// out.
pub fn scan(options: &Options, needs: Needs) -> Option<Snapshot> {
    let roots = options.roots();
    if !SERVED.contains(needs) || !roots.is_own() {
        return None;
    }
    let began = clock::monotonic();
    let threads = options.reader_threads();
    let context = Context {
        open_files: Arc::new(OpenFiles::new(&roots.proc, RESERVE + threads)),
        roots: roots.clone(),
        page: rustix::param::page_size() as u64,
        needs,
        no_facts: Arc::new(Facts::pending(b"")),
        users: Mutex::default(),
        spaces: Mutex::default(),
    };
    let pool = Pool::new(options, threads, move |work, reader| match work {
        Work::Read(pids) => context.batch(pids, reader),
        Work::Compare => Ok(Found::Shared(context.compare_all(reader))),
    });
    pool.start();
    let submit = |batch: Vec<u32>| {
        let expected = TIME_PER_PROCESS * batch.len() as u32;
        pool.submit([Job::new((), Priority::Urgent, expected, Work::Read(batch))]);
    };
    let mut batch = Vec::with_capacity(BATCH);
    let listed = pids::each(roots.proc.as_os_str().as_encoded_bytes(), LIST_PIECE, |pid| {
        batch.push(pid);
        if batch.len() == BATCH {
            submit(std::mem::replace(&mut batch, Vec::with_capacity(BATCH)));
        }
    });
    if !batch.is_empty() {
        submit(batch);
    }
    listed.ok()?;
    let (mut rows, mut shared) = (Vec::with_capacity(ROWS), Vec::new());
    let mut collect = || {
        let done = pool.collect(
            options.deadline,
            |(), _| Err(Trouble),
            |found| {
                match found {
                    Ok(Found::Rows(mut batch)) => rows.append(&mut batch),
                    Ok(Found::Shared(pairs)) => shared = pairs,
                    Err(Trouble) => return ControlFlow::Break(()),
                }
                ControlFlow::Continue(())
            },
        );
        done.is_continue().then_some(())
    };
    collect()?;
    pool.submit([Job::new((), Priority::Urgent, TIME_PER_PROCESS, Work::Compare)]);
    collect()?;
    rows.sort_unstable_by_key(|row| row.id.pid);
    set_shared(&mut rows, shared);
    let now = clock::monotonic();
    Some(Snapshot {
        time: SystemTime::now(),
        tick: 1,
        sampling: Sampling {
            walks: rows.iter().filter(|row| row.walk.is_ok()).count(),
            threads,
            took: now.saturating_sub(began),
            ..Sampling::default()
        },
        oom_kills: kills::read_recent(&roots).into(),
        processes: Ok(rows),
        ..Snapshot::missing(now, options.interval, Missing::Pending)
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives the processes of each address space the same first process. Before, each that shares one has any other of them. `pairs` have
/// one, too. The rows are sorted by pid.
pub fn set_shared(rows: &mut [ProcessSample], mut pairs: Vec<(Identity, Identity)>) {
    // The first one has none.
    pairs.extend(rows.iter_mut().filter_map(|row| Some((row.id, row.shares_mm.take()?))));
    let mut parents: HashMap<u32, u32> = HashMap::new();
    for (one, other) in pairs {
        let firsts = [one, other].map(|id| first(&mut parents, id.pid));
        if firsts[0] != firsts[1] {
            parents.insert(firsts[0].max(firsts[1]), firsts[0].min(firsts[1]));
        }
    }
    let members: Vec<u32> = parents.keys().copied().collect();
    for pid in members {
        let at = |pid: u32| rows.binary_search_by_key(&pid, |row| row.id.pid);
        if let (Ok(member), Ok(first)) = (at(pid), at(first(&mut parents, pid))) {
            rows[member].shares_mm = Some(rows[first].id);
        }
    }
}

/// Returns the first process of the set in which `pid` is, and shortens the way to it.
fn first(parents: &mut HashMap<u32, u32>, mut pid: u32) -> u32 {
    while let Some(&parent) = parents.get(&pid) {
        let next = parents.get(&parent).copied().unwrap_or(parent);
        parents.insert(pid, next);
        pid = next;
    }
    pid
}

impl Context {
    fn batch(&self, pids: Vec<u32>, reader: &mut Reader<'_>) -> Result<Found, Trouble> {
        let mut rows = Vec::with_capacity(pids.len());
        let mut last = Arc::clone(&self.no_facts);
        for pid in pids {
            // Restart the deadline for each process, because on a busy machine this thread may wait long for its turn
            // in each of them.
            (reader.progress)();
            rows.extend(self.process(pid, &mut last, reader.buf)?);
        }
        Ok(Found::Rows(rows))
    }

    /// Returns processes with the same address space. The search by [`Self::shares_mm`] is misled by processes that have ended since.
    fn compare_all(&self, reader: &mut Reader<'_>) -> Vec<(Identity, Identity)> {
        let mut pairs = lock(&self.spaces).settle(|(a, _), (b, _)| {
            (reader.progress)();
            pid::compare_memory(a, b)
        });
        let mut is_current =
            |(task, _): &(u32, Identity)| spaces::is_current(&Target::bare(*task), None, &self.roots.proc, reader.buf);
        pairs.retain(|(one, other)| is_current(one) && is_current(other));
        pairs.into_iter().map(|((_, one), (_, other))| (one, other)).collect()
    }

    /// Reads one process; `None` if it is gone. `last` holds the facts of the process before: workers of one program
    /// have the same facts.
    fn process(&self, pid: u32, last: &mut Arc<Facts>, buf: &mut [u8]) -> Result<Option<ProcessSample>, Trouble> {
        let proc = self.roots.proc.as_path();
        let target = match Target::open_dir(pid, proc, &self.open_files) {
            Ok(target) if target.is_bound() => target,
            Err(e) if files::reason(e) == Missing::Gone => return Ok(None),
            Ok(_) | Err(_) => return Err(Trouble),
        };
        let mut sample = self.read(pid, &target, last, buf)?;
        if target.thread().is_some() {
            // The first thread has ended. Now another thread is known whose files can be read.
            sample = self.read(pid, &target, last, buf)?;
        }
        if let Some(sample) = &mut sample {
            sample.shares_mm = self.shares_mm(sample, &target);
        }
        Ok(sample)
    }

    fn read(
        &self,
        pid: u32,
        target: &Target,
        last: &mut Arc<Facts>,
        buf: &mut [u8],
    ) -> Result<Option<ProcessSample>, Trouble> {
        let proc = self.roots.proc.as_path();
        let at = clock::monotonic();
        let rollup = match walk::rollup(target, proc, buf) {
            // An exec may be in progress.
            Ok(None) => walk::rollup(target, proc, buf),
            other => other,
        };
        let is_absent = matches!(rollup, Err(Errno::NOENT));
        let memory = match rollup {
            Ok(Some(walked)) => walked.map(|walked| walked.memory),
            Ok(None) => Err(Missing::Gone),
            Err(Errno::MFILE | Errno::NFILE) => return Err(Trouble),
            Err(e) => Err(files::reason(e)),
        };
        let mut facts = Facts::pending(b"");
        let needs_command = self.needs.contains(Needs::COMMAND_LINE);
        if needs_command {
            // One read suffices, unless the command line is longer than the buffer.
            let line = target.whole(proc, b"cmdline", buf, files::read_once);
            facts.cmdline = line.map(|len| pid::cmdline(&buf[..len])).map_err(files::reason);
        }
        let id = Identity { pid, starttime: 0 };
        let mut sample = ProcessSample::unread(id, Arc::clone(&self.no_facts), Missing::Pending);
        sample.walk = memory.map(|memory| Walk {
            memory,
            error: 0,
            at,
            cost: Duration::ZERO,
        });
        let is_nameless = || facts.cmdline.as_ref().map_or(true, |line| line.iter().all(|b| *b == 0));
        if self.needs.contains(Needs::STAT) || sample.walk.is_err() || (needs_command && is_nameless()) {
            let Ok(len) = target.stat(proc, buf) else {
                return Ok(None);
            };
            let glance = pid::stat(&buf[..len], self.page).map_err(|_| Trouble)?;
            if is_absent {
                // The process exists but its file does not: the kernel has no such file, or the thread that was read
                // has ended.
                return Err(Trouble);
            }
            sample.id.starttime = glance.starttime;
            sample.stat = glance.stat;
            facts.comm = glance.comm.into();
            target::complete_stat(&mut sample.stat, target, proc, self.page).map_err(|_| Trouble)?;
            if let (Err(Missing::Gone), Some(why)) = (sample.walk, sample.stat.lacks_memory()) {
                // A process without memory gives ESRCH too.
                sample.walk = Err(why);
            }
        }
        if self.needs.contains(Needs::USER) {
            facts.uid = target.owner(proc).map_err(files::reason);
            let account = facts.uid.map(|uid| self.account(uid));
            accounts::set_account(&mut facts, account);
            if let (Ok(uid), Ok(_)) = (facts.uid, sample.walk) {
                let starter = target.starter(uid, proc, buf);
                facts.owner = starter.map(|uid| self.account(uid).as_owner(uid)).or(facts.owner);
            }
        }
        if **last != facts {
            *last = Arc::new(facts);
        }
        sample.facts = Arc::clone(last);
        Ok(Some(sample))
    }

    /// Returns another process with the same address space.
    fn shares_mm(&self, sample: &ProcessSample, target: &Target) -> Option<Identity> {
        sample.memory().ok()?;
        let compare = |(a, _), (b, _)| pid::compare_memory(a, b);
        let other = lock(&self.spaces).add((target.task(), sample.id), false, compare);
        other.map(|(_, id)| id)
    }

    fn account(&self, uid: u32) -> Account {
        let mut users = lock(&self.users);
        let account = users.entry(uid).or_insert_with(|| accounts::account(uid, &self.roots));
        account.clone()
    }
}
