//! Watches the signals of the daemons that kill processes when memory is short.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::close_looks::{check_same, path};
use super::job::{Job, JobKey, job};
use crate::group::command_name;
use crate::model::kill::{KILLERS, OomVictim};
use crate::model::{Facts, Identity, Missing, Reading, Snapshot};
use crate::proc::sent_signals::{SentSignal, SignalFormat, SignalRing};
use crate::proc::{files, pid};
use crate::sampler::reading::Context;

/// Maximum number of daemons that are watched. A machine has one, and seldom two.
const MAX_DAEMONS: usize = 4;
/// Maximum number of threads of a daemon that are watched. One or two send signals.
const MAX_THREADS: usize = 8;
/// Time after SIGTERM in which a process that ends was killed by it.
const LAST_WORDS: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct Killers {
    /// All processes by the name of such a daemon, whether they are one or not.
    daemons: BTreeMap<Identity, Daemon>,
    /// Processes that got SIGTERM and have not ended.
    warned: Vec<Sent>,
    /// The daemons, and whether their signals are seen.
    pub(super) states: Arc<[(&'static str, Reading<()>)]>,
}

struct Daemon {
    name: &'static str,
    exec: u32,
    /// Its effective user, if it may end processes of other users. A process without this right is not such a daemon: any process
    /// can use the name of one.
    uid: Reading<u32>,
    /// The number of its threads when they were listed.
    threads: u64,
    is_reading: bool,
    rings: Reading<Rings>,
}

/// The threads that are watched.
type Rings = BTreeMap<u32, SignalRing>;

/// A process that a daemon sent a signal to.
pub(super) struct Sent {
    pub(super) name: &'static str,
    pub(super) at: Duration,
    /// `None` if it is not in the snapshot before.
    id: Option<Identity>,
    is_final: bool,
    pub(super) victim: OomVictim,
}

impl Killers {
    /// Finds daemons among the changed rows of a snapshot, and returns the jobs to watch their threads.
    pub(super) fn follow(&mut self, snapshot: &Snapshot) -> Vec<Job> {
        for row in snapshot.changed_rows() {
            let name = killer(&row.facts);
            let known = self.daemons.get(&row.id).map(|daemon| (daemon.name, daemon.exec));
            if known != name.map(|name| (name, row.exec)) {
                self.daemons.remove(&row.id);
                self.daemons
                    .extend(name.map(|name| (row.id, Daemon::new(name, row.exec))));
            }
        }
        self.daemons.retain(|id, _| snapshot.place(*id).is_some());
        let watched = self.watched();
        let states = self.daemons.iter().filter(|(id, _)| watched.contains(id));
        let states = states.map(|(_, daemon)| (daemon.name, daemon.rings.as_ref().map(|_| ()).map_err(|why| *why)));
        if !states.clone().eq(self.states.iter().copied()) {
            self.states = states.collect();
        }
        let daemons = self.daemons.iter_mut();
        let jobs = daemons.filter_map(|(id, daemon)| {
            let (id, exec) = (*id, daemon.exec);
            if daemon.is_reading {
                return None;
            }
            if daemon.uid == Err(Missing::Pending) {
                daemon.is_reading = true;
                return Some(job(
                    JobKey::Killer(id.pid, exec),
                    50,
                    move |context, reader| user_that_may_kill(id, context, reader.buf),
                    move |scanner, uid| scanner.killers.set_user(id, exec, uid),
                ));
            }
            if !watched.contains(&id) {
                (daemon.threads, daemon.rings) = (0, Err(Missing::Pending));
                return None;
            }
            let threads = snapshot.row(id)?.stat.threads;
            let may_open = matches!(daemon.rings, Ok(_) | Err(Missing::Pending));
            if !may_open || std::mem::replace(&mut daemon.threads, threads) == threads {
                return None;
            }
            daemon.is_reading = true;
            let known = daemon
                .rings
                .as_ref()
                .map_or_else(|_| Vec::new(), |rings| rings.keys().copied().collect());
            Some(job(
                JobKey::Killer(id.pid, exec),
                1000,
                move |context, _| open(context, id.pid, &known),
                move |scanner, opened| scanner.killers.set(id, exec, opened),
            ))
        });
        jobs.collect()
    }

    /// Returns the daemons to watch: root's first, then the oldest, since those of the machine start with it.
    fn watched(&self) -> Vec<Identity> {
        let daemons = self.daemons.iter();
        let mut known: Vec<_> = daemons
            .filter_map(|(id, daemon)| Some((daemon.uid.ok()?, *id)))
            .collect();
        known.sort_by_key(|(uid, id)| (*uid != 0, id.starttime, id.pid));
        known.into_iter().take(MAX_DAEMONS).map(|(_, id)| id).collect()
    }

    /// Ends the read of a process, unless it runs another program now.
    fn end_read(&mut self, id: Identity, exec: u32) -> Option<&mut Daemon> {
        let daemon = self.daemons.get_mut(&id).filter(|daemon| daemon.exec == exec)?;
        daemon.is_reading = false;
        Some(daemon)
    }

    fn set_user(&mut self, id: Identity, exec: u32, uid: Reading<u32>) {
        if let Some(daemon) = self.end_read(id, exec) {
            daemon.uid = uid;
        }
    }

    /// Stores the rings that were opened, and drops the rings of threads that ended.
    fn set(&mut self, id: Identity, exec: u32, opened: Reading<(Vec<u32>, Rings)>) {
        let Some(daemon) = self.end_read(id, exec) else { return };
        daemon.rings = opened.map(|(threads, new)| {
            let mut rings = daemon.rings.as_mut().map(std::mem::take).unwrap_or_default();
            rings.retain(|thread, _| threads.contains(thread));
            rings.extend(new);
            rings
        });
    }

    /// Returns the processes that were killed since the last call, the largest first. `last` is the previous snapshot. A process
    /// that got SIGTERM counts as killed if it `has_ended`.
    pub(super) fn take(
        &mut self,
        last: Option<&Snapshot>,
        now: Duration,
        has_ended: impl Fn(Identity) -> bool,
    ) -> Vec<Sent> {
        let mut killed = Vec::new();
        for (id, daemon) in &mut self.daemons {
            let Ok(uid) = daemon.uid else { continue };
            let rings = daemon.rings.iter_mut().flat_map(BTreeMap::values_mut);
            for signal in rings.flat_map(SignalRing::drain) {
                let sent = Sent::new(daemon.name, signal, last);
                if uid != 0 && sent.id.is_some_and(|victim| is_own(last, victim, *id, uid)) {
                    continue;
                }
                if sent.is_final || sent.id.is_none() {
                    // What SIGTERM did not end is one kill.
                    self.warned.retain(|other| other.id != sent.id);
                    killed.push(sent);
                } else {
                    self.warned.push(sent);
                }
            }
        }
        let is_over = |sent: &mut Sent| sent.id.is_none_or(&has_ended);
        killed.extend(self.warned.extract_if(.., is_over));
        self.warned.retain(|sent| now.saturating_sub(sent.at) < LAST_WORDS);
        killed.sort_by_key(|sent| std::cmp::Reverse(sent.victim.rss));
        killed
    }
}

impl Daemon {
    const fn new(name: &'static str, exec: u32) -> Self {
        Self {
            name,
            exec,
            uid: Err(Missing::Pending),
            threads: 0,
            is_reading: false,
            rings: Err(Missing::Pending),
        }
    }
}

impl Sent {
    fn new(name: &'static str, signal: SentSignal, last: Option<&Snapshot>) -> Self {
        let rows = last.map_or(&[][..], Snapshot::rows);
        let row = rows.binary_search_by_key(&signal.pid, |row| row.id.pid).ok();
        let row = row.map(|at| &rows[at]).filter(|row| row.facts.comm == signal.comm);
        let cgroup = row.and_then(|row| row.facts.cgroup.as_deref().ok());
        Self {
            name,
            at: signal.at,
            id: row.map(|row| row.id),
            is_final: signal.is_final,
            victim: OomVictim {
                pid: signal.pid,
                uid: None,
                comm: signal.comm,
                rss: row.map_or(0, |row| row.stat.rss),
                by_cgroup: false,
                parts: None,
                page_tables: None,
                constraint: None,
                limit: None,
                cgroup: cgroup.map(Into::into),
                group: None,
            },
        }
    }
}

/// Maximum number of ancestors that are checked. Rows of a forged tree may be each other's parents.
const MAX_DEPTH: usize = 64;

/// Returns true if the process `victim` is of the user of the `daemon`, or a descendant of it: to end these needs no right.
fn is_own(last: Option<&Snapshot>, victim: Identity, daemon: Identity, uid: u32) -> bool {
    let rows = last.map_or(&[][..], Snapshot::rows);
    let row = |pid: u32| {
        let at = rows.binary_search_by_key(&pid, |row| row.id.pid).ok()?;
        Some(&rows[at])
    };
    let ancestors = std::iter::successors(row(victim.pid), |process| row(process.stat.ppid));
    let is_below = ancestors.take(MAX_DEPTH).any(|process| process.id == daemon);
    is_below || row(victim.pid).is_some_and(|row| row.facts.uid == Ok(uid))
}

/// Returns the name of the daemon that a process may be by its name and its file. nohang is a script, so its process may have
/// the name of its interpreter, and always has its file. If another file has the name of a daemon, then by a link, by which a
/// user may start what root lets them run: that ends processes, too.
fn killer(facts: &Facts) -> Option<&'static str> {
    let find = |name: &[u8]| KILLERS.into_iter().find(|killer| killer.as_bytes() == name);
    let name = if facts.comm.starts_with(b"python") {
        find(&command_name(facts, || None))
    } else {
        find(&facts.comm)
    }?;
    let is_its_file = match &facts.exe {
        Ok(path) => {
            let file = path.rsplit(|b| *b == b'/').next().unwrap_or_default();
            file.starts_with(name.as_bytes()) || file.starts_with(b"python")
        }
        Err(why) => *why != Missing::Pending,
    };
    is_its_file.then_some(name)
}

/// Returns the effective user of a process that may end processes of all users.
///
/// # Errors
/// `Denied` if it may not.
fn user_that_may_kill(id: Identity, context: &Context, buf: &mut [u8]) -> Reading<u32> {
    let read = |name: &str| files::slurp_grown(&path(&context.roots.proc, id.pid, name), 4 << 10, 64 << 10);
    let rights = pid::rights(&read("status").map_err(files::reason)?)?;
    let ids = read("uid_map").unwrap_or_default();
    check_same(id, context, buf)?;
    let may_kill = rights.is_root() || rights.may_kill() && pid::has_all_users(&ids);
    may_kill.then_some(rights.effective()).ok_or(Missing::Denied)
}

/// Watches the threads of a process, except the known ones. Returns all its threads, and the new rings.
fn open(context: &Context, pid: u32, known: &[u32]) -> Reading<(Vec<u32>, Rings)> {
    let format = SignalFormat::read(&context.roots)?;
    let path = context.roots.proc.join(pid.to_string()).join("task");
    let mut threads = Vec::new();
    let listed = files::numbers(rustix::fs::CWD, path.as_os_str().as_encoded_bytes(), 4 << 10, |tid| {
        threads.push(tid);
    });
    listed.map_err(files::reason)?;
    threads.sort_unstable();
    threads.truncate(MAX_THREADS);
    let mut rings = Rings::new();
    for tid in threads.iter().copied().filter(|tid| !known.contains(tid)) {
        match SignalRing::open(format, tid) {
            Ok(ring) => drop(rings.insert(tid, ring)),
            Err(Missing::Gone) => {}
            Err(why) => return Err(why),
        }
    }
    Ok((threads, rings))
}
