//! OOM kills: the victim, the reason, the history of the victim, and what had grown most below the same limit.
//!
//! The kernel's log names the victim and the limit. The snapshots before the kill have the rest: its command line and its
//! memory, and the growth of the others. The kernel often kills the largest process, not the one that grew.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::account::PARTS;
use crate::account::headroom::is_within;
use crate::group::{GroupBy, GroupKey, PartKey, RowKey};
use crate::history::History;
use crate::history::charged::{Charged, KINDS, UNEXPLAINED};
use crate::history::dangers::MACHINE;
use crate::history::most::{Grown, GrowthBelow, LimitOf, ROOT};
use crate::history::process::ProcessHistory;
use crate::history::row::RowHistory;
use crate::history::victims::{AFTER_KILL, EndedProcess, GROWTH_SPANS, KnownVictim, OPEN, OwnGrowth, Past, growth};
use crate::model::kill::{Constraint, DaemonKill, KillCause, OomKill, OomVictim, forget_kills};
use crate::model::process::{Facts, Identity, ProcessSample};
use crate::model::snapshot::Snapshot;
use crate::model::unit::owned_path;
use crate::model::{CgroupFigures, Missing, Reading};
use crate::text;
use crate::units::{self, Units};

/// Time for which the first line of the screen reports a kill, unless it is acknowledged earlier.
pub const SHOWN: Duration = Duration::from_secs(600);
/// Time for which it reports the newest kill of one owner, if there are several.
const TURN: Duration = Duration::from_secs(5);
/// Time for which an owner whose processes were killed gets no new place before its turn.
const LATELY: Duration = Duration::from_secs(60);
/// Maximum number of kills that are remembered.
pub(super) const MAX_KILLS: usize = 32;
/// Maximum number of ended processes that are remembered, and maximum time: the longest over which growth is measured.
const MAX_ENDED: usize = 512;
const ENDED_FOR: Duration = Duration::from_secs(240);
/// Maximum time from a kill until its log is read.
const LATE: Duration = Duration::from_secs(30);
/// The name of the killer, if it is not a daemon.
const KERNEL: &str = "the kernel";
/// Minimum width of a command line.
const COMMAND_WIDTH: usize = 20;
/// Minimum growth to report, as a share of the limit.
const MIN_GROWTH: f64 = 0.02;
/// Minimum share of all growth below the limit that the reported row must have: others may have grown unseen.
const EXPLAINED: f64 = 0.5;
/// Minimum growth in the shorter of [`GROWTH_SPANS`] of a row that did not grow most in the longer one, as a share of all growth in that.
const RECENT_SHARE: f64 = 0.25;
/// Minimum growth of a cgroup that is reported if no row explains it, as a share of the limit.
const MIN_UNEXPLAINED: f64 = 0.25;
/// A kill, with data from the snapshots before it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(from = "KeptKill", into = "KeptKill")]
pub struct Kill {
    pub event: OomKill,
    /// The time at which it was detected, on the monotonic clock.
    pub at: Duration,
    /// The victim as the snapshot before had it. `None` if it was not seen.
    pub known: Option<KnownVictim>,
    /// The cgroup that counted it (`memory.events`), if the log does not have the victim.
    pub cgroup: Option<Arc<[u8]>>,
    /// The process, the program or the memory in no process that grew most below the same limit, unless that is the victim.
    pub grower: Option<Grower>,
    /// The user has acknowledged it.
    pub is_seen: bool,
    /// The log does not have the victim, and counters may still show it.
    pub is_open: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Grower {
    pub key: RowKey,
    /// Its name, raw.
    pub name: Box<[u8]>,
    /// Its growth, and the time that it took.
    pub bytes: u64,
    pub over: Duration,
}

/// The description of a kill in a line of text, part by part. Safe to print.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KillText {
    /// `the kernel`, or the name of a daemon.
    pub by: String,
    /// `9137 importer`, or `a process`.
    pub victim: String,
    /// `/shop reached its limit`, or `memory was full`. Where its name is known, a container stands for the path.
    pub reason: String,
    /// ` of 150M`; empty if the limit is not known.
    pub limit: String,
    /// `, and it had 148M of it`.
    pub had: String,
    /// ` and 61M of page tables`; empty if they are few or not known.
    pub page_tables: String,
    /// `, killed with all of /batch`; empty if it was killed alone. Of a kill by a daemon, also its cgroup: `, in /batch`.
    pub group: String,
    /// `; python3 had grown most`; empty if the victim had.
    pub grower: String,
    /// `, +300M in 2m`; if the log does not have the victim, why.
    pub growth: String,
}

impl Kill {
    /// Returns true if the machine's memory was full. Without the log, only if it `was_short` before.
    pub(crate) fn is_of_machine(&self, was_short: bool) -> bool {
        let is_unknown = self.event.cause() == KillCause::Unknown;
        !self.event.is_of_cgroup() && (!is_unknown || was_short)
    }

    /// Returns whose kill it is, as a key: the machine, or the cgroup whose owner can have any number of processes killed; else the user,
    /// as far as the log has one.
    pub(crate) fn owner(&self) -> Box<[u8]> {
        let victim = self.event.victim.as_ref().ok();
        let (uid, path) = victim.map_or((None, &[][..]), OomVictim::origin);
        let path = Some(path).filter(|path| path.len() > 1).or(self.cgroup.as_deref());
        match (path, uid) {
            _ if self.event.is_of_machine() => MACHINE.into(),
            (Some(path), _) => owned_path(path).into(),
            (None, Some(uid)) => format!("uid {uid}").into_bytes().into(),
            (None, None) => Box::default(),
        }
    }
}

impl KillText {
    /// Returns the victim, and the killer: `9137 importer by the kernel`.
    pub fn who(&self) -> String {
        format!("{} by {}", self.victim, self.by)
    }

    /// Returns all parts from the reason on.
    pub fn why(&self) -> String {
        [
            &*self.reason,
            &self.limit,
            &self.had,
            &self.page_tables,
            &self.group,
            &self.grower,
            &self.growth,
        ]
        .concat()
    }
}

/// Returns the path of a cgroup, safe to print, in at most `width` columns.
fn cut_path(path: &[u8], width: usize) -> String {
    text::truncate_start(&text::safe(path), width)
}

/// Describes a kill by a daemon, as [`text_of_victim`] does. The victim had `held` bytes.
fn text_of_daemon(
    daemon: &DaemonKill,
    victim: &OomVictim,
    name: &str,
    held: u64,
    path: impl Fn(&[u8]) -> String,
    units: Units,
) -> KillText {
    let cgroup = victim.group.as_ref().or(victim.cgroup.as_ref());
    let cgroup = cgroup.filter(|cgroup| ***cgroup != *b"/").map(|cgroup| path(cgroup));
    let group = match (daemon.others, cgroup) {
        (0, cgroup) => cgroup.map(|cgroup| format!(", in {cgroup}")),
        (others, None) => Some(format!(", with {others} more")),
        (others, Some(cgroup)) => Some(format!(", with {others} more of {cgroup}")),
    };
    let had = format!(", and it had {} of it", units::bytes(held, units));
    KillText {
        by: text::safe(daemon.name.as_bytes()).into_owned(),
        victim: format!("{} {name}", victim.pid),
        reason: "memory was short".into(),
        had: if held > 0 { had } else { String::new() },
        group: group.unwrap_or_default(),
        ..KillText::default()
    }
}

/// Describes a kill that the log has; `path` names a cgroup. `name` is safe to print.
fn text_of_victim(victim: &OomVictim, name: &str, path: impl Fn(&[u8]) -> String, units: Units) -> KillText {
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
    // Its file pages may be charged to another cgroup.
    let is_more = victim.limit.as_ref().and_then(|limit| limit.size) < Some(victim.rss);
    let of_it = if victim.limit.is_some() && is_more {
        ""
    } else {
        " of it"
    };
    let page_tables = victim.many_page_tables();
    let page_tables = page_tables.map(|bytes| format!(" and {} of page tables", units::bytes(bytes, units)));
    KillText {
        by: KERNEL.into(),
        victim: format!("{} {name}", victim.pid),
        reason,
        limit,
        had: format!(", and it had {}{of_it}", units::bytes(victim.rss, units)),
        page_tables: page_tables.unwrap_or_default(),
        group: group.unwrap_or_default(),
        ..KillText::default()
    }
}

/// Describes a kill that is only known from the log.
pub fn text_of(event: &OomKill, width: usize, units: Units) -> KillText {
    match &event.victim {
        Ok(victim) => {
            let (name, path) = (text::cut(&victim.comm, width), |path: &[u8]| cut_path(path, width));
            match &event.daemon {
                Some(daemon) => text_of_daemon(daemon, victim, &name, victim.rss, path, units),
                None => text_of_victim(victim, &name, path, units),
            }
        }
        Err(why) => {
            let reason = match why {
                Missing::Gone => "the kernel's log does not name it".to_owned(),
                why => format!("the kernel's log cannot be read: {why}"),
            };
            KillText {
                by: KERNEL.into(),
                victim: "a process".into(),
                reason,
                ..KillText::default()
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
            cgroup: None,
            grower: None,
            is_seen: false,
            is_open: event.victim.is_err(),
        }
    }

    /// Describes it, with names and paths in at most `width` columns. If `width` is small, omits the victim's command line.
    pub fn text(&self, width: usize, units: Units) -> KillText {
        let name = |known: &KnownVictim| {
            if width < COMMAND_WIDTH || known.facts.cmdline == Err(Missing::NotRecorded) {
                return text::cut(&known.facts.comm, width);
            }
            text::cut_command(&known.facts.short_command(), width)
        };
        let path = |path: &[u8]| match self.known.as_ref().and_then(|known| known.container_of_cgroup(path)) {
            Some(name) => text::cut(&name, width),
            None => cut_path(path, width),
        };
        let mut text = match (&self.victim(), &self.known) {
            (Ok(victim), Some(known)) => match &self.event.daemon {
                Some(daemon) => text_of_daemon(daemon, victim, &name(known), self.held().unwrap_or(0), path, units),
                None => text_of_victim(victim, &name(known), path, units),
            },
            (_, known) => {
                let mut text = text_of(&self.event, width, units);
                if let Some(known) = known {
                    text.victim = format!("{} {}", known.id.pid, name(known));
                    let had = units::bytes(known.footprint, units);
                    text.growth = format!("; {}", text.reason);
                    text.reason = "it ended when a kill was counted".into();
                    text.had = format!(", and it had {had}");
                }
                if let Some(cgroup) = &self.cgroup {
                    text.victim = format!("{} of {}", text.victim, path(cgroup));
                }
                text
            }
        };
        if let Some(grower) = &self.grower {
            let pid = grower.key.process().map_or(String::new(), |id| format!("{} ", id.pid));
            let name = text::cut(&grower.name, width);
            let name = match &grower.key {
                RowKey::Group(key) => key.titled(name),
                _ => name,
            };
            let all = match &grower.key {
                RowKey::Group(_) => " (all its processes)",
                RowKey::Process(_) | RowKey::Part(_) => "",
            };
            text.grower = format!("; {pid}{name}{all} had grown most");
            let (bytes, over) = (units::bytes(grower.bytes, units), units::span(grower.over));
            text.growth = format!(", +{bytes} in {over}");
        }
        text
    }

    /// Removes the reason of a kill without a report if its cgroup is not in the group that was killed just before: it was
    /// killed for another reason.
    fn drop_false_group(&mut self) {
        let known = self.known.as_ref().and_then(|known| known.facts.cgroup.as_deref().ok());
        if let (Some(own), Ok(victim)) = (known, &mut self.event.victim)
            && victim.cgroup.is_none()
            && victim.group.as_ref().is_some_and(|group| !is_within(own, group))
        {
            (victim.group, victim.limit, victim.constraint) = (None, None, None);
        }
    }

    /// Returns the victim. If the log lacks its cgroup, uses the one of the snapshot before.
    fn victim(&self) -> Reading<OomVictim> {
        let mut victim = self.event.victim.clone()?;
        let known = self.known.as_ref().and_then(|known| known.facts.cgroup.as_deref().ok());
        let known = known.filter(|path| !victim.by_cgroup || *path != ROOT);
        victim.cgroup = victim.cgroup.or_else(|| known.map(Into::into));
        Ok(victim)
    }

    /// Returns whose limit was reached, by the log, or else the cgroup of the snapshot before.
    pub fn limit_of(&self) -> LimitOf<'_> {
        let Ok(victim) = &self.event.victim else {
            return LimitOf::of(self.cgroup.as_deref());
        };
        if !victim.by_cgroup {
            // What grew on other nodes of memory did not reach it.
            let is_of_nodes = victim.is_limited();
            return if is_of_nodes {
                LimitOf::Unknown
            } else {
                LimitOf::Machine
            };
        }
        let limit = victim.limit.as_ref().map(|limit| &*limit.cgroup);
        let known = self.known.as_ref().and_then(|known| known.facts.cgroup.as_deref().ok());
        LimitOf::first_of([limit, victim.cgroup.as_deref(), known])
    }

    /// Returns the memory of the victim: its RSS from the log; if a daemon killed it, its footprint in the snapshot before. The log
    /// of a daemon may not have the RSS: then it is 0.
    pub fn held(&self) -> Option<u64> {
        let is_logged = self.event.daemon.is_none() && self.event.victim.is_ok();
        let known = self.known.as_ref().filter(|_| !is_logged);
        let rss = self.event.victim.as_ref().ok().map(|victim| victim.rss);
        known
            .map(|known| known.footprint)
            .or(rss.filter(|rss| is_logged || *rss > 0))
    }

    /// Returns the cgroup that the kernel killed as a whole. Each of its processes has an event of its own.
    fn group(&self) -> Option<&[u8]> {
        let victim = self.event.victim.as_ref().ok().filter(|_| self.event.daemon.is_none());
        victim?.group.as_deref()
    }
}

/// A new kill, with what is known to find what had grown most.
#[derive(Clone, Copy)]
struct OfKill<'a> {
    snapshot: &'a Snapshot,
    victim: &'a OomVictim,
    kill: &'a Kill,
    /// The cgroup whose limit was reached.
    path: Option<&'a [u8]>,
    own: OwnGrowth,
}

/// The saved form of a kill. It has only the names of the processes.
#[derive(Deserialize, Serialize)]
struct KeptKill {
    at: Duration,
    event: OomKill,
    /// The victim, its name and its footprint.
    known: Option<(Identity, Vec<u8>, u64)>,
    cgroup: Option<Vec<u8>>,
    /// The kind of the grower, its name and its growth.
    grower: Option<(KeptGrower, Vec<u8>, u64, Duration)>,
    is_seen: bool,
}

#[derive(Deserialize, Serialize)]
enum KeptGrower {
    Process(Identity),
    Program,
    User,
    /// One of [`KINDS`] or [`PARTS`], or [`UNEXPLAINED`].
    Memory,
}

impl KeptGrower {
    const fn of(key: &RowKey) -> Self {
        match key {
            RowKey::Process(id) => Self::Process(*id),
            RowKey::Group(key) if matches!(key.by, GroupBy::User) => Self::User,
            RowKey::Group(_) => Self::Program,
            RowKey::Part(_) => Self::Memory,
        }
    }

    /// Returns the key of a grower of that name. A kind of memory that this version does not know counts as a program.
    fn key(self, name: &[u8]) -> RowKey {
        let group = |by| {
            RowKey::Group(GroupKey {
                by,
                name: Some(name.into()),
            })
        };
        match self {
            Self::Process(id) => RowKey::Process(id),
            Self::User => group(GroupBy::User),
            Self::Program => group(GroupBy::Command),
            Self::Memory => {
                let parts = PARTS.iter().map(|part| PartKey::whole(part.id, part.label));
                let kind = KINDS
                    .iter()
                    .chain([&UNEXPLAINED])
                    .cloned()
                    .chain(parts)
                    .find(|kind| kind.label.as_bytes() == name);
                kind.map_or_else(|| group(GroupBy::Command), RowKey::Part)
            }
        }
    }
}

impl From<Kill> for KeptKill {
    fn from(kill: Kill) -> Self {
        let known = kill
            .known
            .map(|known| (known.id, known.facts.comm.to_vec(), known.footprint));
        let grower = kill.grower.map(|grower| {
            (
                KeptGrower::of(&grower.key),
                grower.name.to_vec(),
                grower.bytes,
                grower.over,
            )
        });
        Self {
            at: kill.at,
            event: kill.event,
            known,
            cgroup: kill.cgroup.map(|cgroup| cgroup.to_vec()),
            grower,
            is_seen: kill.is_seen,
        }
    }
}

impl From<KeptKill> for Kill {
    fn from(kept: KeptKill) -> Self {
        Self {
            at: kept.at,
            event: kept.event,
            known: kept.known.map(|(id, comm, footprint)| KnownVictim {
                id,
                facts: Arc::new(Facts::unread(&comm, Missing::NotRecorded)),
                footprint,
            }),
            cgroup: kept.cgroup.map(Into::into),
            grower: kept.grower.map(|(key, name, bytes, over)| Grower {
                key: key.key(&name),
                name: name.into(),
                bytes,
                over,
            }),
            is_seen: kept.is_seen,
            is_open: false,
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct KillWatch {
    /// The newest last.
    kills: Vec<Kill>,
    /// The kills in the last snapshot.
    last: Option<Arc<[OomKill]>>,
    ended: Vec<EndedProcess>,
    /// The figures of cgroups at two earlier moments, the older first.
    before: [(Duration, Figures); 2],
    charged: Charged,
}

type Figures = Arc<BTreeMap<Arc<[u8]>, CgroupFigures>>;

impl KillWatch {
    /// Remembers a process that ended, with the times of the last snapshot with it and of the first one without it. `is_memorable` is true if
    /// the history remembers it, too.
    pub(super) fn process_ended(
        &mut self,
        id: Identity,
        process: &ProcessHistory,
        command: Option<Arc<[u8]>>,
        is_memorable: bool,
        first: Option<Duration>,
        [seen, now]: [Duration; 2],
    ) {
        let footprint = process.row.newest_footprint();
        // Zero is any time before the clock began.
        let started_at = process.started_at.filter(|at| !at.is_zero());
        let new_at = started_at.filter(|at| is_in_history(*at, first));
        self.ended.push(EndedProcess {
            at: now,
            seen,
            started_at,
            victim: KnownVictim {
                id,
                facts: Arc::clone(&process.facts),
                footprint,
            },
            command,
            growth: growth(&process.row, new_at, now),
            past: Past::of(&process.row, new_at, now),
            taken: process.row.newest_own(),
            bytes: if is_memorable { 0 } else { process.facts.bytes() },
        });
    }

    /// Returns the processes of a cgroup that ended about that time. Without a cgroup, returns only those that had a large part of
    /// the machine's memory.
    fn ended_about(&self, at: Duration, cgroup: Option<&[u8]>, snapshot: &Snapshot) -> Vec<KnownVictim> {
        let least = snapshot.system.mem_total.unwrap_or(u64::MAX) as f64 * MIN_GROWTH;
        let is_it = |ended: &&EndedProcess| match (cgroup, &ended.victim.facts.cgroup) {
            (None, _) => ended.victim.footprint as f64 >= least,
            (Some(above), Ok(path)) => is_within(path, above),
            (Some(_), Err(_)) => false,
        };
        let ended = self.ended.iter().filter(|ended| ended.at.abs_diff(at) < OPEN);
        ended.filter(is_it).map(|ended| ended.victim.clone()).collect()
    }

    /// Returns the processes that ended since then and are remembered.
    pub(super) fn ended_since(&self, from: Duration) -> impl Iterator<Item = &EndedProcess> {
        self.ended.iter().filter(move |ended| ended.at >= from)
    }

    pub(super) fn ended(&self, id: Identity) -> Option<&EndedProcess> {
        self.ended.iter().rev().find(|ended| ended.victim.id == id)
    }

    /// Drops processes that ended long ago, and the smallest ones if there are too many.
    fn forget_ended(&mut self, now: Duration) {
        self.ended.retain(|ended| now.saturating_sub(ended.at) <= ENDED_FOR);
        if self.ended.len() > MAX_ENDED {
            // Each may still be named in the log.
            let is_recent = |ended: &EndedProcess| now.saturating_sub(ended.at) <= LATE;
            self.ended
                .sort_by_key(|ended| std::cmp::Reverse((is_recent(ended), ended.victim.footprint)));
            self.ended.truncate(MAX_ENDED);
            self.ended.shrink_to(2 * MAX_ENDED);
        }
    }

    pub(super) fn bytes(&self) -> usize {
        let ended = self.ended.iter().map(|ended| ended.bytes);
        ended.sum::<usize>()
            + self.ended.capacity() * size_of::<EndedProcess>()
            + self.charged.bytes()
            + self.kills.capacity() * size_of::<Kill>()
    }

    fn push(&mut self, kill: Kill) {
        // After a restart, the log may have earlier ones.
        let at = self.kills.partition_point(|other| other.at <= kill.at);
        self.kills.insert(at, kill);
        forget_kills(&mut self.kills, MAX_KILLS, |kill| kill.event.origin());
    }

    /// Returns all, the newest last.
    pub(super) fn kills(&self) -> impl ExactSizeIterator<Item = &Kill> + DoubleEndedIterator {
        self.kills.iter()
    }

    /// Continues saved kills.
    pub(super) fn resume(&mut self, kept: Vec<Kill>) {
        for kill in kept {
            self.push(kill);
        }
    }

    /// Stores the figures of cgroups, unless kills are open. If kills were open before, earlier figures do not count them.
    fn push_figures(&mut self, snapshot: &Snapshot, were_open: bool) {
        let now = || (snapshot.monotonic, Arc::clone(&snapshot.cgroups));
        if self.kills.iter().any(|kill| kill.is_open) {
            return;
        }
        if were_open {
            self.before = [now(), now()];
        } else if snapshot.monotonic.saturating_sub(self.before[1].0) >= OPEN {
            self.before.swap(0, 1);
            self.before[1] = now();
        }
    }

    /// Returns how many kills each cgroup has counted since the older figures, without the kills of the cgroups below it.
    fn counted_kills(&self, now: &Figures) -> Vec<(Arc<[u8]>, u64)> {
        let before = &self.before[0].1;
        let count = |figures: &CgroupFigures| figures.oom_kills.map_or(0, |count| count.0);
        let rise = |(path, figures): (&Arc<[u8]>, &CgroupFigures)| {
            let rise = count(figures).saturating_sub(before.get(path).map_or(0, count));
            (rise > 0 && before.contains_key(path)).then(|| (Arc::clone(path), rise))
        };
        let mut rises: Vec<(Arc<[u8]>, u64)> = now.iter().filter_map(rise).collect();
        // Each comes after its ancestors.
        for at in (0..rises.len()).rev() {
            let (inner, kills) = rises[at].clone();
            let above = rises[..at].iter_mut().filter(|(above, _)| is_within(&inner, above));
            above.for_each(|(_, all)| *all = all.saturating_sub(kills));
        }
        rises.retain(|(_, kills)| *kills > 0);
        rises
    }

    /// Returns the kills of a snapshot that the previous one did not have.
    fn new_kills(&mut self, snapshot: &Snapshot) -> Vec<OomKill> {
        let all = &snapshot.oom_kills;
        let before = self.last.replace(Arc::clone(all));
        if before.as_ref().is_some_and(|before| Arc::ptr_eq(before, all)) {
            return Vec::new();
        }
        let daemon = |kill: &OomKill| kill.daemon.as_ref().map(|daemon| daemon.name.clone());
        let is_it = |one: &OomKill, other: &OomKill| {
            (one.time, one.record, one.victim.is_ok()) == (other.time, other.record, other.victim.is_ok())
                && daemon(one) == daemon(other)
        };
        let last = before.as_ref().and_then(|before| before.last());
        let known = last.and_then(|last| all.iter().rposition(|kill| is_it(kill, last)));
        // The group, or the number of kills by a daemon, may become known later.
        let is_known = |one: &OomKill| one.record.is_some() || one.daemon.is_some();
        for kill in &mut self.kills {
            if let Some(same) = all.iter().find(|one| is_known(one) && is_it(one, &kill.event)) {
                kill.event = same.clone();
                kill.drop_false_group();
            }
        }
        if let Some(at) = known {
            return all[at + 1..].to_vec();
        }
        // The last one of before was displaced.
        let before = before.as_deref().unwrap_or_default();
        let new = all.iter().filter(|kill| !before.iter().any(|known| is_it(kill, known)));
        new.cloned().collect()
    }
}

/// Returns true if a history that began at `first` has what happened at `at`.
fn is_in_history(at: Duration, first: Option<Duration>) -> bool {
    first.is_none_or(|first| at >= first)
}

/// Returns true if the log names a process with that pid as a victim of one of these kills.
fn has_victim(kills: &[OomKill], id: Identity) -> bool {
    let mut victims = kills.iter().filter_map(|kill| kill.victim.as_ref().ok());
    victims.any(|victim| victim.pid == id.pid)
}

/// Returns false if the process had another user than the victim. The log has the real uid, and the facts the effective one; of a program
/// with the set-user-ID bit, its owner is the user who started it. A server that root started may have the effective uid of another user.
fn is_user(victim: &OomVictim, facts: &Facts) -> bool {
    let (Some(uid), Ok(effective)) = (victim.uid, facts.uid) else {
        return true;
    };
    uid == 0 || uid == effective || facts.owner.as_ref().is_some_and(|owner| owner.uid == uid)
}

/// Returns false if the process was in another cgroup than the victim. The cgroup in the log may be above the process's own, which need not
/// count memory, and version 1 has the root for one that is ending. If zmtop is in a cgroup namespace, the own path begins within it, or
/// with `/..` for each level out of it.
fn is_place(victim: &OomVictim, facts: &Facts) -> bool {
    let (Some(logged), Ok(own)) = (&victim.cgroup, &facts.cgroup) else {
        return true;
    };
    let mut within = &**own;
    while let Some(rest) = within
        .strip_prefix(b"/..")
        .filter(|rest| rest.is_empty() || rest.starts_with(b"/"))
    {
        within = rest;
    }
    **own == *ROOT || is_within(own, logged) || logged.ends_with(within)
}

impl History {
    /// Returns the last kills, the newest first.
    pub fn kills(&self) -> impl ExactSizeIterator<Item = &Kill> {
        self.kill_watch.kills().rev()
    }

    /// Returns the kills of the last `time`, the newest first.
    pub fn kills_within(&self, time: Duration) -> impl Iterator<Item = &Kill> {
        self.kills().filter(move |kill| self.elapsed_since(kill.at) < time)
    }

    /// Returns the unacknowledged kills of the last ten minutes, newest first.
    pub fn shown_kills(&self) -> impl Iterator<Item = &Kill> {
        self.kills_within(SHOWN).filter(|kill| !kill.is_seen)
    }

    /// Returns the newest kill that is to be shown: one of the machine before others, then a new one for some seconds, and those of several
    /// owners in turn, so that a user whose processes are killed again and again hides no others. Of a group that was killed as a whole, its
    /// largest process. Also returns how many others of that group were killed, and how many other kills there are.
    pub fn shown_kill(&self) -> Option<(&Kill, usize, usize)> {
        let of_machine = self
            .shown_kills()
            .position(|kill| kill.event.cause() == KillCause::Machine);
        let in_turn = || {
            let mut newest = BTreeMap::new();
            for (at, kill) in self.shown_kills().enumerate() {
                newest.entry(kill.owner()).or_insert(at);
            }
            let last = self.last.as_ref()?;
            let interval = self.intervals[0].min(self.intervals[1]).max(TURN);
            let turn = last.monotonic.as_millis() / interval.as_millis() % newest.len().max(1) as u128;
            newest.into_values().nth(turn as usize)
        };
        // A new one comes at once, unless its owner has had others lately.
        let new = || {
            let first = self.shown_kills().next()?;
            let is_new = self.elapsed_since(first.at) < TURN;
            let mut lately = self.kills_within(LATELY).filter(|kill| kill.at + TURN < first.at);
            (is_new && lately.all(|kill| kill.owner() != first.owner())).then_some(0)
        };
        let at = of_machine.or_else(new).or_else(in_turn)?;
        let newest = self.shown_kills().nth(at)?;
        let Some(group) = newest.group() else {
            return Some((newest, 0, self.shown_kills().count() - 1));
        };
        let of_group: Vec<_> = self
            .shown_kills()
            .skip(at)
            .take_while(|kill| kill.group() == Some(group))
            .collect();
        // Among equal ones, choose the last, which was killed first.
        let largest = of_group
            .iter()
            .max_by_key(|kill| kill.held())
            .copied()
            .unwrap_or(newest);
        let others = of_group.len() - 1;
        Some((largest, others, self.shown_kills().count() - 1 - others))
    }

    /// Returns the unacknowledged kills, newest first.
    pub fn unseen_kills(&self) -> impl Iterator<Item = &Kill> {
        self.kills().filter(|kill| !kill.is_seen)
    }

    /// Acknowledges all kills; returns how many were not.
    pub fn acknowledge_kills(&mut self) -> usize {
        let unseen = self.unseen_kills().count();
        self.kill_watch.kills.iter_mut().for_each(|kill| kill.is_seen = true);
        unseen
    }

    /// Finds the cgroups and victims of kills that the log lacks. A cgroup counts its kills. If as many of its processes ended at
    /// that time, they are the victims.
    fn complete_kills(&mut self, snapshot: &Snapshot) {
        let watch = &mut self.kill_watch;
        let were_open = watch.kills.iter().any(|kill| kill.is_open);
        if were_open {
            let counted = watch.counted_kills(&snapshot.cgroups);
            let counted = counted
                .into_iter()
                .flat_map(|(path, kills)| std::iter::repeat_n(path, kills.min(MAX_KILLS as u64) as usize));
            let mut open = watch.kills.iter_mut().filter(|kill| kill.is_open);
            for (kill, path) in open.by_ref().zip(counted) {
                kill.cgroup = Some(path);
            }
        }
        let is_due = |kill: &Kill| kill.is_open && snapshot.monotonic.saturating_sub(kill.at) >= OPEN;
        while let Some(first) = self.kill_watch.kills.iter().position(is_due) {
            let (at, cgroup) = (
                self.kill_watch.kills[first].at,
                self.kill_watch.kills[first].cgroup.clone(),
            );
            let mut victims = self.kill_watch.ended_about(at, cgroup.as_deref(), snapshot);
            let kills = self.kill_watch.kills.iter_mut();
            let same: Vec<&mut Kill> = kills
                .filter(|kill| kill.is_open && kill.cgroup == cgroup && kill.at.abs_diff(at) < OPEN)
                .collect();
            let is_known = victims.len() == same.len();
            victims.sort_by_key(|victim| victim.footprint);
            for kill in same {
                kill.is_open = false;
                kill.known = victims.pop().filter(|_| is_known);
            }
        }
        self.kill_watch.push_figures(snapshot, were_open);
    }

    /// Adds the kills of a snapshot, whose processes are already pushed.
    pub(super) fn find_kills(&mut self, snapshot: &Snapshot) {
        self.add_kills(snapshot);
        self.complete_kills(snapshot);
    }

    /// Adds the memory of limited cgroups that is in no process.
    pub(super) fn push_charged(&mut self, snapshot: &Snapshot) {
        self.kill_watch.charged.push(snapshot);
    }

    /// Returns the memory of limited cgroups that is in no process.
    pub const fn charged(&self) -> &Charged {
        &self.kill_watch.charged
    }

    fn add_kills(&mut self, snapshot: &Snapshot) {
        self.kill_watch.forget_ended(snapshot.monotonic);
        let mut new = Vec::new();
        for event in self.kill_watch.new_kills(snapshot) {
            // After a restart, the log shows again what was saved.
            let mut known = self.kill_watch.kills.iter_mut();
            if event.record.is_some() && known.any(|kill| kill.event.record == event.record) {
                continue;
            }
            let mut kill = Kill::new(&event, snapshot.monotonic);
            // Do not report a kill from long before the start.
            kill.is_seen = self.suspends.elapsed(kill.at, snapshot.monotonic) >= SHOWN;
            if let Ok(victim) = &event.victim
                && snapshot.monotonic.saturating_sub(kill.at) <= LATE
            {
                let own;
                (kill.known, own) = self.known_victim(snapshot, victim, event.daemon.is_some(), kill.at);
                kill.drop_false_group();
                new.push((kill.event.clone(), own));
            }
            self.kill_watch.push(kill);
        }
        // Each search reads all processes.
        for (event, own) in new {
            let kills = self.kill_watch.kills.iter();
            let Some(at) = kills.rev().position(|kill| kill.event == event) else {
                continue;
            };
            let at = self.kill_watch.kills.len() - 1 - at;
            self.kill_watch.kills[at].grower = self.grower_of(snapshot, &self.kill_watch.kills[at], own);
        }
    }

    /// Returns what had grown most at a new kill.
    fn grower_of(&self, snapshot: &Snapshot, kill: &Kill, own: OwnGrowth) -> Option<Grower> {
        let victim = kill.event.victim.as_ref().ok()?;
        let longest = self.intervals[0].max(self.intervals[1]).max(snapshot.interval);
        let of_kill = OfKill {
            snapshot,
            victim,
            kill,
            path: self.charged_path(victim, kill),
            own,
        };
        // A span needs a value at its begin.
        let grower = |span: usize| (GROWTH_SPANS[span] >= longest).then(|| self.grower(of_kill, span))?;
        let (recent, earlier) = (grower(0), grower(1));
        // What grew last may only have been the last straw.
        let all = self.grown_below(of_kill, GROWTH_SPANS[1]).map_or(0.0, |(_, all)| all);
        let is_much = |recent: &Grower| {
            let is_same = earlier.as_ref().is_some_and(|earlier| earlier.key == recent.key);
            is_same || recent.bytes as f64 >= all * RECENT_SHARE
        };
        recent.filter(is_much).or(earlier)
    }

    /// Returns the victim as it was seen last, and the most that it may have grown. The pids in the log belong to the initial namespace and
    /// may differ here, and a pid may be reused at once, so the name must match, and as far as the log has them, the user and the cgroup. A
    /// process that ended about that time may have changed its name, if both are known. The figures of a daemon's victim are not from the log.
    fn known_victim(
        &self,
        snapshot: &Snapshot,
        victim: &OomVictim,
        is_of_daemon: bool,
        at: Duration,
    ) -> (Option<KnownVictim>, OwnGrowth) {
        let is_it = |id: Identity, facts: &Facts| {
            let is_same = is_of_daemon || is_user(victim, facts) && is_place(victim, facts);
            id.pid == victim.pid && facts.comm == victim.comm && is_same
        };
        let ended = || self.kill_watch.ended.iter().rev();
        let growth_to_kill = |past: &Past, seen| past.growth_to(victim, is_of_daemon, seen);
        let of_ended = |ended: &EndedProcess| (Some(ended.victim.clone()), growth_to_kill(&ended.past, ended.growth));
        if let Some(ended) = ended().find(|ended| is_it(ended.victim.id, &ended.victim.facts)) {
            return of_ended(ended);
        }
        // It may take a while to die.
        let mut rows = snapshot.rows().iter().filter(|row| is_it(row.id, &row.facts));
        let row = rows.next();
        let Some((row, process)) = row.and_then(|row| Some((row, self.processes.get(&row.id)?))) else {
            let is_known = victim.uid.is_some() && victim.cgroup.as_ref().is_some_and(|path| **path != *ROOT);
            let is_renamed = |ended: &&EndedProcess| {
                let facts = &ended.victim.facts;
                let is_there = is_user(victim, facts) && is_place(victim, facts);
                ended.victim.id.pid == victim.pid && ended.at.abs_diff(at) < OPEN && is_there
            };
            if let Some(ended) = ended().find(is_renamed).filter(|_| is_known && !is_of_daemon) {
                return of_ended(ended);
            }
            // All of its memory may be new.
            let most = [victim.rss as f64; 2];
            return (None, OwnGrowth { least: most, most });
        };
        let known = KnownVictim {
            id: row.id,
            facts: Arc::clone(&process.facts),
            footprint: process.row.newest_footprint(),
        };
        let (new_at, now) = (self.new_at(row.id), snapshot.monotonic);
        let past = Past::of(&process.row, new_at, now);
        (Some(known), growth_to_kill(&past, growth(&process.row, new_at, now)))
    }

    /// Returns the start of a process, unless it was before the history began.
    pub(super) fn new_at(&self, id: Identity) -> Option<Duration> {
        self.started_at(id).filter(|at| is_in_history(*at, self.first))
    }

    /// Returns the growth over `span` of the other processes below the limit. Also returns the number of those that surely lived at the time of
    /// the kill, which come first.
    fn others(&self, of_kill: OfKill<'_>, span: usize) -> (Vec<Grown>, usize) {
        let OfKill {
            snapshot, victim, kill, ..
        } = of_kill;
        let limit_of = kill.limit_of();
        let known = kill.known.as_ref();
        let is_other = |id: Identity, facts: &Facts| {
            let is_victim = known.map_or(id.pid == victim.pid, |known| known.id == id);
            !is_victim && limit_of.covers(&facts.cgroup)
        };
        let is_victim = |ended: &EndedProcess| has_victim(&snapshot.oom_kills, ended.victim.id);
        let is_counted = |row: &ProcessSample| is_other(row.id, &row.facts);
        let mut others = self.grown(snapshot, GROWTH_SPANS[span], is_counted, is_victim);
        // The youngest process of that name may have been started in place of the victim.
        let gone = known.and_then(|known| self.kill_watch.ended(known.id));
        let successor = gone.and_then(|gone| {
            let facts = &gone.victim.facts;
            let is_like = |row: &&ProcessSample| {
                let (one, other) = (&row.facts, facts);
                (&one.comm, &one.cgroup, &one.cmdline) == (&other.comm, &other.cgroup, &other.cmdline)
            };
            let alike = snapshot.rows().iter().filter(is_like);
            let alike = alike.filter_map(|row| Some((self.started_at(row.id)?, row.id)));
            Some(alike.filter(|(at, _)| *at >= gone.seen.min(kill.at)).max()?.1)
        });
        let successor = successor.and_then(|id| Some(others.remove(others.iter().position(|one| one.id == id)?)));
        // The memory of one that ended before the kill was free. The log has the order of the kills.
        let is_it = |event: &OomKill| (event.time, event.record) == (kill.event.time, kill.event.record);
        let event = snapshot.oom_kills.iter().position(is_it).unwrap_or(0);
        let later = snapshot.oom_kills.get(event..).unwrap_or_default();
        let ended = self.kill_watch.ended_since(kill.at.saturating_sub(OPEN));
        let ended = ended.filter(|ended| is_other(ended.victim.id, &ended.victim.facts));
        let (certain, uncertain): (Vec<_>, Vec<_>) = ended.partition(|ended| has_victim(later, ended.victim.id));
        let grown = |ended: &EndedProcess| Grown {
            id: ended.victim.id,
            all: ended.growth[span],
            own: ended.growth[span],
            gross: ended.growth[span],
        };
        others.extend(certain.into_iter().map(grown));
        let number = others.len();
        others.extend(uncertain.into_iter().map(grown).chain(successor));
        (others, number)
    }

    /// Returns the process, the program, the user or the memory in no process that grew most below the limit over one of the spans, unless
    /// that is the victim.
    fn grower(&self, of_kill: OfKill<'_>, span: usize) -> Option<Grower> {
        let OfKill {
            snapshot,
            victim,
            kill,
            path,
            own,
        } = of_kill;
        let size = victim.limit.as_ref().and_then(|limit| limit.size);
        let size = size.or(snapshot.system.mem_total.ok()).unwrap_or(0) as f64;
        let (seen, grown) = self.grown_below(of_kill, GROWTH_SPANS[span]).unzip();
        let in_none = path.map_or([0; KINDS.len()], |path| {
            self.charged().growth(path, snapshot.monotonic, GROWTH_SPANS[span])
        });
        let in_none = in_none.map(|bytes| bytes as f64);
        let (others, number) = self.others(of_kill, span);
        let limit = kill.limit_of();
        let change = |row: &RowHistory| row.footprint().change_over(GROWTH_SPANS[span]);
        let parts = self.parts.taking().filter(|_| limit == LimitOf::Machine);
        let parts = parts.map(|(key, row)| (RowKey::Part(key), change(row)));
        let outside = snapshot.rows().iter().filter(|row| !limit.covers(&row.facts.cgroup));
        let bound = grown.unwrap_or(f64::MAX);
        let below = GrowthBelow {
            limit,
            from: self.begin_of(snapshot.monotonic, GROWTH_SPANS[span]),
            span: GROWTH_SPANS[span],
            processes: &others[..number],
            partial: &self.groups_of(outside, &others[..number]),
            bound,
            enough: grown.unwrap_or(0.0) * EXPLAINED,
            is_victim: |ended: &EndedProcess| has_victim(&snapshot.oom_kills, ended.victim.id),
        };
        let kinds = KINDS.iter().cloned().map(RowKey::Part).zip(in_none);
        let found = self.most_below(&below, parts.chain(kinds));
        let is_enough = |(key, bytes): &(RowKey, f64)| {
            let is_most = *bytes > grown.map_or(own.most[span], |_| own.least[span]);
            // All growth counts from the least value, which may come after memory was given back.
            let gross = key.process().and_then(|id| others.iter().find(|one| one.id == id));
            is_most && gross.map_or(*bytes, |one| one.gross) >= below.enough
        };
        let unexplained = || {
            let each = others.iter().map(|other| other.all.max(0.0));
            let known = each.chain(in_none).sum::<f64>() + own.most[span];
            let seen = path.and(seen);
            seen.filter(|seen| *seen >= size * MIN_UNEXPLAINED && known < seen * EXPLAINED)
        };
        let (key, bytes) = match found.filter(is_enough) {
            Some((key, bytes)) => (key, path.map_or(bytes, |_| bytes.min(bound))),
            None => (RowKey::Part(UNEXPLAINED.clone()), unexplained()?),
        };
        let name: Box<[u8]> = match &key {
            RowKey::Process(id) => self.facts_of(*id)?.comm.clone(),
            RowKey::Group(key) => key.label().into(),
            RowKey::Part(key) => key.name().into(),
        };
        // A row may continue what an earlier zmtop saved.
        let start = self.row(&key).and_then(|row| row.footprint().start());
        let first = start.into_iter().chain(self.first).min();
        let watched = snapshot.monotonic.saturating_sub(first.unwrap_or(snapshot.monotonic));
        (bytes >= size * MIN_GROWTH && bytes >= 1.0).then(|| Grower {
            key,
            name,
            bytes: bytes as u64,
            over: GROWTH_SPANS[span].min(watched),
        })
    }

    /// Returns the facts of a process that lives or ended lately.
    fn facts_of(&self, id: Identity) -> Option<&Facts> {
        let living = self.processes.get(&id).map(|process| &process.facts);
        let ended = || Some(&self.kill_watch.ended(id)?.victim.facts);
        living.or_else(ended).map(|facts| &**facts)
    }

    /// Returns the growth of all memory below the limit within `span` before the kill, in bytes: what snapshots saw, and all of it; `None` if
    /// it is unknown, or if there is none. At a kill by the kernel, the memory was full.
    fn grown_below(&self, of_kill: OfKill<'_>, span: Duration) -> Option<(f64, f64)> {
        let (victim, kill) = (of_kill.victim, of_kill.kill);
        let grown = match (kill.limit_of(), of_kill.path) {
            (LimitOf::Machine, _) => {
                let [highest, lowest] = self.danger_watch.fall_of_machine(span, AFTER_KILL + 1)?;
                let is_daemon = kill.event.daemon.is_some();
                // What is free in swap did not help, but for that of victims.
                let ended = self.kill_watch.ended_since(kill.at.saturating_sub(OPEN));
                let of_ended = ended.map(|ended| ended.past.swap).sum();
                let free = of_kill.snapshot.system.swap_free.unwrap_or(0).saturating_sub(of_ended);
                let left = if is_daemon { lowest } else { lowest.min(free) };
                [highest - lowest, highest - left]
            }
            (_, Some(path)) => {
                let limit = victim.limit.as_ref();
                let usage = limit.and_then(|limit| limit.usage.or(limit.size));
                // With version 1, it may be the limit of memory and swap.
                let figures = of_kill.snapshot.cgroups.get(path);
                let of_memory = figures.and_then(|figures| figures.limit.ok()?).unwrap_or(u64::MAX);
                let usage = usage.filter(|usage| *usage <= of_memory);
                let logged = usage.map(|usage| (usage, limit.and_then(|limit| limit.files)));
                let now = of_kill.snapshot.monotonic;
                self.charged().growth_of_all(path, now, span, logged)?
            }
            (_, None) => return None,
        };
        let [seen, all] = grown.map(|bytes| bytes as f64);
        (all > 0.0).then_some((seen, all))
    }

    /// Returns the cgroup whose limit was reached. Without the kernel's report, it may be one above.
    fn charged_path<'a>(&self, victim: &OomVictim, kill: &'a Kill) -> Option<&'a [u8]> {
        let path = kill.limit_of().cgroup()?;
        match victim.limit {
            Some(_) => Some(path),
            None => self.charged().limited(path),
        }
    }
}
