//! OOM kills: the victim, the reason, the history of the victim, and the process that had grown most below the same limit.
//!
//! The kernel's log names the victim and the limit. The snapshots before the kill have the rest: its command line and its
//! memory, and the growth of the others. The kernel often kills the largest process, not the one that grew.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use crate::account::headroom::is_within;
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::history::History;
use crate::history::dangers::PROGRAM_FACTOR;
use crate::history::process::ProcessHistory;
use crate::history::row::RowHistory;
use crate::model::kill::{Constraint, OomKill, OomVictim};
use crate::model::process::{Facts, Identity};
use crate::model::snapshot::Snapshot;
use crate::model::{Missing, Reading};
use crate::text;
use crate::units::{self, Units};

/// A kill is shown for this long, unless it is acknowledged.
pub const SHOWN: Duration = Duration::from_secs(600);
/// Maximum number of kills that are remembered.
pub(super) const MAX_KILLS: usize = 32;
/// Maximum number of ended processes that are remembered until the log of a kill is read, and for how long.
const MAX_ENDED: usize = 256;
const ENDED_FOR: Duration = Duration::from_secs(30);
/// Minimum width of a command line.
const COMMAND_WIDTH: usize = 20;
/// The times over which growth before a kill is measured: what grew just before matters more than what grew earlier.
const GROWTH_SPANS: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(120)];
/// Minimum growth to be told, as a share of the limit.
const MIN_GROWTH: f64 = 0.02;

/// A kill, with what the snapshots before it tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Kill {
    pub event: OomKill,
    /// When it was detected, on the monotonic clock.
    pub at: Duration,
    /// The victim as the snapshot before had it. `None` if it was not seen.
    pub known: Option<KnownVictim>,
    /// The process or program that grew most below the same limit, if that is not the victim.
    pub grower: Option<Grower>,
    /// The user has acknowledged it.
    pub is_seen: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct KnownVictim {
    pub id: Identity,
    pub facts: Arc<Facts>,
    /// In bytes.
    pub footprint: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Grower {
    pub key: RowKey,
    /// The name of the process or the program, raw.
    pub name: Box<[u8]>,
    /// Its growth, and the time that it took.
    pub bytes: u64,
    pub over: Duration,
}

/// The description of a kill in a line of text, part by part. Safe to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillText {
    /// `9137 importer`, or `a process`.
    pub victim: String,
    /// `/shop reached its limit`, or `memory was full`.
    pub reason: String,
    /// ` of 150M`; empty if the limit is not known.
    pub limit: String,
    /// `, and it had 148M of it`.
    pub had: String,
    /// `, killed with all of /batch`; empty if it was killed alone.
    pub group: String,
    /// `; python3 had grown most`; empty if the victim had.
    pub grower: String,
    /// `, +300M in 2m`.
    pub growth: String,
}

impl KillText {
    /// Returns all parts from the reason on.
    pub fn why(&self) -> String {
        [
            &*self.reason,
            &self.limit,
            &self.had,
            &self.group,
            &self.grower,
            &self.growth,
        ]
        .concat()
    }
}

/// Returns a name, safe to print, in at most `width` columns.
fn cut(name: &[u8], width: usize) -> String {
    text::truncate(&text::safe_prefix(name, 4 * width), width)
}

/// Tells a kill that the log has, with the paths of cgroups in at most `width` columns. `name` is safe to print.
fn text_of_victim(victim: &OomVictim, name: &str, width: usize, units: Units) -> KillText {
    let path = |path: &[u8]| text::truncate_start(&text::safe(path), width);
    let (reason, limit) = match (&victim.limit, &victim.cgroup, victim.constraint) {
        (Some(limit), ..) => {
            let size = limit.size.map(|size| format!(" of {}", units::bytes(size, units)));
            let reason = format!("{} reached its limit", path(&limit.cgroup));
            (reason, size.unwrap_or_default())
        }
        (None, Some(cgroup), _) if victim.by_cgroup => (format!("{} reached a limit", path(cgroup)), String::new()),
        _ if victim.by_cgroup => ("its cgroup reached a limit".into(), String::new()),
        (.., Some(Constraint::Cpuset)) => ("the memory of its cpuset was full".into(), String::new()),
        (.., Some(Constraint::MemoryPolicy)) => ("the nodes of its memory policy were full".into(), String::new()),
        _ => ("memory was full".into(), String::new()),
    };
    let group = victim.group.as_ref();
    let group = group.map(|group| format!(", killed with all of {}", path(group)));
    KillText {
        victim: format!("{} {name}", victim.pid),
        reason,
        limit,
        had: format!(", and it had {} of it", units::bytes(victim.rss, units)),
        group: group.unwrap_or_default(),
        grower: String::new(),
        growth: String::new(),
    }
}

/// Tells a kill of which only the log is known.
pub fn text_of(event: &OomKill, width: usize, units: Units) -> KillText {
    match &event.victim {
        Ok(victim) => text_of_victim(victim, &cut(&victim.comm, width), width, units),
        Err(why) => {
            let reason = match why {
                Missing::Gone => "the kernel's log does not tell which".to_owned(),
                why => format!("the kernel's log cannot be read: {why}"),
            };
            KillText {
                victim: "a process".into(),
                reason,
                limit: String::new(),
                had: String::new(),
                group: String::new(),
                grower: String::new(),
                growth: String::new(),
            }
        }
    }
}

impl Kill {
    fn new(event: &OomKill, now: Duration) -> Self {
        Self {
            event: event.clone(),
            at: event.monotonic().unwrap_or(now).min(now),
            known: None,
            grower: None,
            is_seen: false,
        }
    }

    /// Tells it, with names and paths in at most `width` columns. If those are few, the victim has no command line.
    pub fn text(&self, width: usize, units: Units) -> KillText {
        let mut told = match (&self.victim(), &self.known) {
            (Ok(victim), Some(known)) if width >= COMMAND_WIDTH => {
                let command = known.facts.short_command();
                let command = text::safe_prefix(&command, 4 * width);
                let command = text::truncate(&text::without_directories(&command, width), width);
                text_of_victim(victim, &command, width, units)
            }
            (Ok(victim), Some(_)) => text_of_victim(victim, &cut(&victim.comm, width), width, units),
            _ => text_of(&self.event, width, units),
        };
        if let Some(grower) = &self.grower {
            let pid = grower.key.process().map_or(String::new(), |id| format!("{} ", id.pid));
            let name = cut(&grower.name, width);
            let all = if pid.is_empty() { " (all its processes)" } else { "" };
            told.grower = format!("; {pid}{name}{all} had grown most");
            let (bytes, over) = (units::bytes(grower.bytes, units), units::span(grower.over));
            told.growth = format!(", +{bytes} in {over}");
        }
        told
    }

    /// Returns the victim, with its cgroup as the snapshot before had it where the log does not tell it.
    fn victim(&self) -> Reading<OomVictim> {
        let mut victim = self.event.victim.clone()?;
        let known = self.known.as_ref().and_then(|known| known.facts.cgroup.as_deref().ok());
        victim.cgroup = victim.cgroup.or_else(|| known.map(Into::into));
        Ok(victim)
    }

    fn rss(&self) -> u64 {
        self.event.victim.as_ref().map_or(0, |victim| victim.rss)
    }

    fn group(&self) -> Option<&[u8]> {
        self.event.victim.as_ref().ok()?.group.as_deref()
    }
}

/// A process that ended lately and may be found in the log.
#[derive(Clone, Debug)]
struct EndedProcess {
    at: Duration,
    victim: KnownVictim,
    growth: [f64; 2],
    /// The size of its facts, unless the history remembers them anyway.
    bytes: usize,
}

/// A saved kill. The log has the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeptKill {
    pub(super) at: Duration,
    pub(super) record: Option<u64>,
    pub(super) is_seen: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct KillWatch {
    /// The newest last.
    kills: VecDeque<Kill>,
    /// The kills in the last snapshot.
    last: Option<Arc<[OomKill]>>,
    ended: Vec<EndedProcess>,
    /// Saved kills that the log has not shown again.
    kept: Vec<KeptKill>,
}

impl KillWatch {
    /// Remembers a process that ended.
    pub(super) fn process_ended(&mut self, id: Identity, process: &ProcessHistory, now: Duration) {
        let footprint = process.row.newest_footprint();
        self.ended.push(EndedProcess {
            at: now,
            victim: KnownVictim {
                id,
                facts: Arc::clone(&process.facts),
                footprint,
            },
            growth: growth(&process.row, process.started_at, now),
            bytes: if process.is_memorable() {
                0
            } else {
                process.facts.bytes()
            },
        });
    }

    /// Forgets processes that ended long ago, and if there are too many, the smallest.
    fn forget_ended(&mut self, now: Duration) {
        self.ended.retain(|ended| now.saturating_sub(ended.at) <= ENDED_FOR);
        if self.ended.len() > MAX_ENDED {
            self.ended
                .sort_by_key(|ended| std::cmp::Reverse(ended.victim.footprint));
            self.ended.truncate(MAX_ENDED);
            self.ended.shrink_to(2 * MAX_ENDED);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let ended = self.ended.iter().map(|ended| ended.bytes);
        ended.sum::<usize>()
            + self.ended.capacity() * size_of::<EndedProcess>()
            + self.kills.capacity() * size_of::<Kill>()
    }

    fn push(&mut self, kill: Kill) {
        if self.kills.len() == MAX_KILLS {
            self.kills.pop_front();
        }
        self.kills.push_back(kill);
    }

    /// Returns the kills to save.
    pub(super) fn keep(&self) -> impl ExactSizeIterator<Item = KeptKill> {
        self.kills.iter().map(|kill| KeptKill {
            at: kill.at,
            record: kill.event.record,
            is_seen: kill.is_seen,
        })
    }

    /// Continues saved kills. Those that are not in the log are known only by their time.
    pub(super) fn resume(&mut self, kept: Vec<KeptKill>, snapshot: &Snapshot) {
        let (logged, unknown): (Vec<_>, Vec<_>) = kept.into_iter().partition(|kill| kill.record.is_some());
        self.kept = logged;
        for kill in unknown {
            let ago = snapshot.monotonic.saturating_sub(kill.at);
            let event = OomKill {
                time: snapshot.time.checked_sub(ago).unwrap_or(snapshot.time),
                monotonic_ms: Ok(kill.at.as_millis() as u64),
                record: None,
                victim: Err(Missing::Gone),
            };
            self.push(Kill {
                is_seen: kill.is_seen,
                ..Kill::new(&event, snapshot.monotonic)
            });
        }
    }

    /// Takes the kills of a snapshot that the one before did not have.
    fn new_kills(&mut self, snapshot: &Snapshot) -> Vec<OomKill> {
        let all = &snapshot.oom_kills;
        let before = self.last.replace(Arc::clone(all));
        if before.as_ref().is_some_and(|before| Arc::ptr_eq(before, all)) {
            return Vec::new();
        }
        let is_it = |one: &OomKill, other: &OomKill| {
            (one.time, one.record, one.victim.is_ok()) == (other.time, other.record, other.victim.is_ok())
        };
        let last = before.as_ref().and_then(|before| before.last());
        let known = last.and_then(|last| all.iter().rposition(|kill| is_it(kill, last)));
        // Whether a group was killed may become known only later.
        for kill in &mut self.kills {
            if let Some(same) = all.iter().find(|one| one.record.is_some() && is_it(one, &kill.event)) {
                kill.event = same.clone();
            }
        }
        all[known.map_or(0, |at| at + 1)..].to_vec()
    }
}

/// Returns by how much the row of a process grew over each of [`GROWTH_SPANS`]. Before it started, it had nothing.
fn growth(row: &RowHistory, started_at: Option<Duration>, now: Duration) -> [f64; 2] {
    GROWTH_SPANS.map(|span| {
        if started_at.is_some_and(|at| at >= now.saturating_sub(span)) {
            row.newest_footprint() as f64
        } else {
            row.footprint().change_over(span)
        }
    })
}

impl History {
    /// Returns the last kills, the newest first.
    pub fn kills(&self) -> impl ExactSizeIterator<Item = &Kill> {
        self.kill_watch.kills.iter().rev()
    }

    /// Returns the kills of the last `time`, the newest first.
    pub fn kills_within(&self, time: Duration) -> impl Iterator<Item = &Kill> {
        self.kills().filter(move |kill| self.elapsed_since(kill.at) < time)
    }

    /// Returns the unacknowledged kills of the last ten minutes, newest first.
    pub fn shown_kills(&self) -> impl Iterator<Item = &Kill> {
        self.kills_within(SHOWN).filter(|kill| !kill.is_seen)
    }

    /// Returns the newest kill that is to be shown; of a group that was killed as a whole, its largest process. Also
    /// returns how many others of that group were killed, and how many other kills there are.
    pub fn shown_kill(&self) -> Option<(&Kill, usize, usize)> {
        let newest = self.shown_kills().next()?;
        let Some(group) = newest.group() else {
            return Some((newest, 0, self.shown_kills().count() - 1));
        };
        let of_group: Vec<_> = self
            .shown_kills()
            .take_while(|kill| kill.group() == Some(group))
            .collect();
        // Of equal ones the last counts, which was killed first.
        let largest = of_group.iter().max_by_key(|kill| kill.rss()).copied().unwrap_or(newest);
        let others = of_group.len() - 1;
        Some((largest, others, self.shown_kills().count() - 1 - others))
    }

    /// Acknowledges all kills; returns how many were to be shown.
    pub fn acknowledge_kills(&mut self) -> usize {
        let shown = self.shown_kills().count();
        self.kill_watch.kills.iter_mut().for_each(|kill| kill.is_seen = true);
        shown
    }

    /// Adds the kills of a snapshot, whose processes are already pushed.
    pub(super) fn find_kills(&mut self, snapshot: &Snapshot) {
        self.kill_watch.forget_ended(snapshot.monotonic);
        for event in self.kill_watch.new_kills(snapshot) {
            let mut kill = Kill::new(&event, snapshot.monotonic);
            let kept = &mut self.kill_watch.kept;
            let same = kept.iter().position(|kept| kept.record == event.record);
            if let Some(kept) = same.map(|at| kept.swap_remove(at)) {
                (kill.at, kill.is_seen) = (kept.at, kept.is_seen);
            } else if let Ok(victim) = &event.victim
                && snapshot.monotonic.saturating_sub(kill.at) <= ENDED_FOR
            {
                let own_growth;
                (kill.known, own_growth) = self.known_victim(snapshot, victim);
                let grower = |span| self.grower(snapshot, victim, kill.known.as_ref(), own_growth, span);
                kill.grower = (0..GROWTH_SPANS.len()).find_map(grower);
            }
            self.kill_watch.push(kill);
        }
    }

    /// Returns the victim as it was seen last, and its growth. The pids in the log belong to the initial namespace and
    /// may differ here, so the name must match.
    fn known_victim(&self, snapshot: &Snapshot, victim: &OomVictim) -> (Option<KnownVictim>, [f64; 2]) {
        let is_it = |id: Identity, facts: &Facts| id.pid == victim.pid && facts.comm == victim.comm;
        let ended = self.kill_watch.ended.iter().rev();
        let mut ended = ended.filter(|ended| is_it(ended.victim.id, &ended.victim.facts));
        if let Some(ended) = ended.next() {
            return (Some(ended.victim.clone()), ended.growth);
        }
        // It may take a while to die.
        let mut rows = snapshot.rows().iter().filter(|row| is_it(row.id, &row.facts));
        let Some(row) = rows.next() else {
            return (None, [0.0; 2]);
        };
        let Some(process) = self.processes.get(&row.id) else {
            return (None, [0.0; 2]);
        };
        let known = KnownVictim {
            id: row.id,
            facts: Arc::clone(&process.facts),
            footprint: process.row.newest_footprint(),
        };
        (Some(known), self.growth_of(row.id, snapshot.monotonic))
    }

    fn growth_of(&self, id: Identity, now: Duration) -> [f64; 2] {
        self.get(id)
            .map_or([0.0; 2], |row| growth(row, self.started_at(id), now))
    }

    /// Returns the process or program below the limit that grew most over one of the spans, unless that is the victim.
    fn grower(
        &self,
        snapshot: &Snapshot,
        victim: &OomVictim,
        known: Option<&KnownVictim>,
        own_growth: [f64; 2],
        span: usize,
    ) -> Option<Grower> {
        let own_cgroup = known.and_then(|known| known.facts.cgroup.as_deref().ok());
        let limit = victim.limit.as_ref();
        let above = limit
            .map(|limit| &*limit.cgroup)
            .or(own_cgroup)
            .filter(|_| victim.by_cgroup);
        let is_below = |cgroup: &Reading<Arc<[u8]>>| match above {
            None => !victim.by_cgroup,
            Some(above) => cgroup.as_ref().is_ok_and(|path| is_within(path, above)),
        };
        let is_victim = |id: Identity| known.map_or(id.pid == victim.pid, |known| known.id == id);
        let living = snapshot.rows().iter().filter(|row| is_below(&row.facts.cgroup));
        let living = living.map(|row| {
            (
                row.id,
                &row.facts.comm,
                self.growth_of(row.id, snapshot.monotonic)[span],
            )
        });
        let ended = self
            .kill_watch
            .ended
            .iter()
            .filter(|ended| is_below(&ended.victim.facts.cgroup));
        let ended = ended.map(|ended| (ended.victim.id, &ended.victim.facts.comm, ended.growth[span]));
        let others = living.chain(ended).filter(|(id, ..)| !is_victim(*id));
        let process = others.max_by(|one, other| one.2.total_cmp(&other.2));
        // The processes of a program may be in several cgroups.
        let by = GroupBy::Command;
        let programs = self.groups_by(by).filter(|_| !victim.by_cgroup);
        let programs = programs.map(|(name, row)| (name, row.footprint().change_over(GROWTH_SPANS[span])));
        let program = programs.max_by(|one, other| one.1.total_cmp(&other.1));
        let of_process = process.as_ref().map_or(0.0, |(.., bytes)| *bytes);
        let (key, name, bytes) = match (program, process) {
            (Some((Some(name), bytes)), _) if bytes > of_process * PROGRAM_FACTOR => {
                let key = GroupKey {
                    by,
                    name: Some(Arc::clone(name)),
                };
                (RowKey::Group(key), Box::from(&**name), bytes)
            }
            (_, Some((id, comm, bytes))) => (RowKey::Process(id), comm.clone(), bytes),
            (_, None) => return None,
        };
        let size = limit.and_then(|limit| limit.size).or(snapshot.system.mem_total.ok());
        let least = size.unwrap_or(0) as f64 * MIN_GROWTH;
        let watched = snapshot
            .monotonic
            .saturating_sub(self.first.unwrap_or(snapshot.monotonic));
        (bytes > own_growth[span] && bytes >= least && bytes >= 1.0).then(|| Grower {
            key,
            name,
            bytes: bytes as u64,
            over: GROWTH_SPANS[span].min(watched),
        })
    }
}
