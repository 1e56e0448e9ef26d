//! Watches the signals of the daemons that kill processes when memory is short.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::job::{Job, JobKey, job};
use crate::group::command_name;
use crate::model::kill::{KILLERS, OomVictim};
use crate::model::{Facts, Identity, Missing, ProcessSample, Reading, Snapshot};
use crate::proc::files;
use crate::proc::sent_signals::{SentSignal, SignalFormat, SignalRing};
use crate::sampler::reading::Context;

/// Maximum number of threads of a daemon that are watched. One or two send signals.
const MAX_THREADS: usize = 16;
/// Time after SIGTERM in which a process that ends was killed by it.
const LAST_WORDS: Duration = Duration::from_secs(30);

#[derive(Default)]
pub(super) struct Killers {
    daemons: BTreeMap<Identity, Daemon>,
    /// Processes that got SIGTERM and have not ended.
    warned: Vec<Sent>,
    /// The daemons, and whether their signals are seen.
    pub(super) states: Arc<[(&'static str, Reading<()>)]>,
}

struct Daemon {
    name: &'static str,
    /// The number of its threads when they were listed.
    threads: u64,
    is_opening: bool,
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
        let check = |row: &ProcessSample| {
            if let Some(name) = killer(&row.facts) {
                self.daemons.entry(row.id).or_insert(Daemon {
                    name,
                    threads: 0,
                    is_opening: false,
                    rings: Err(Missing::Pending),
                });
            }
        };
        snapshot.changed_rows().for_each(check);
        self.daemons.retain(|id, _| snapshot.place(*id).is_some());
        let states = self.daemons.values();
        let states = states.map(|daemon| (daemon.name, daemon.rings.as_ref().map(|_| ()).map_err(|why| *why)));
        if !states.clone().eq(self.states.iter().copied()) {
            self.states = states.collect();
        }
        let daemons = self.daemons.iter_mut();
        let jobs = daemons.filter_map(|(id, daemon)| {
            let threads = snapshot.row(*id)?.stat.threads;
            let may_open = matches!(daemon.rings, Ok(_) | Err(Missing::Pending));
            if daemon.is_opening || !may_open || std::mem::replace(&mut daemon.threads, threads) == threads {
                return None;
            }
            daemon.is_opening = true;
            let known = daemon
                .rings
                .as_ref()
                .map_or_else(|_| Vec::new(), |rings| rings.keys().copied().collect());
            let id = *id;
            Some(job(
                JobKey::Killer(id.pid),
                1000,
                move |context, _| open(context, id.pid, &known),
                move |scanner, opened| scanner.killers.set(id, opened),
            ))
        });
        jobs.collect()
    }

    /// Stores the rings that were opened, and drops the rings of threads that ended.
    fn set(&mut self, id: Identity, opened: Reading<(Vec<u32>, Rings)>) {
        let Some(daemon) = self.daemons.get_mut(&id) else {
            return;
        };
        daemon.is_opening = false;
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
        for daemon in self.daemons.values_mut() {
            let rings = daemon.rings.iter_mut().flat_map(BTreeMap::values_mut);
            for signal in rings.flat_map(SignalRing::drain) {
                let sent = Sent::new(daemon.name, signal, last);
                if sent.is_final || sent.id.is_none() {
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
                comm: signal.comm,
                rss: row.map_or(0, |row| row.stat.rss),
                by_cgroup: false,
                parts: None,
                constraint: None,
                limit: None,
                cgroup: cgroup.map(Into::into),
                group: None,
            },
        }
    }
}

/// Returns the name of the daemon, if the process is one. nohang is a script, so its process has the name of its interpreter.
fn killer(facts: &Facts) -> Option<&'static str> {
    let find = |name: &[u8]| KILLERS.into_iter().find(|killer| killer.as_bytes() == name);
    if facts.comm.starts_with(b"python") {
        find(&command_name(facts, || None))
    } else {
        find(&facts.comm)
    }
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
