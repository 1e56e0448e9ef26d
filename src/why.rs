//! Explains a memory event in a recording: the limit that was reached, the growth before it, and the killed processes.
//!
//! [`Why::push`] adds the snapshots of a file in order; [`Why::finish`] returns the [`Explanation`] of one event. Everything
//! is derived in one pass. At most a few snapshots are held at a time, with one [`History`] and one explanation.
//!
//! # Events
//! A *kill* is by the kernel or a daemon; kills of one owner (of the machine, or in a user's or a service's cgroups) within ten seconds
//! are one event. A *danger* is a limit less than a minute ahead, a *stall* as [`crate::history::stalls`] defines it; either ends with half a minute of calm, and either is part of
//! a kill that follows. A *reboot* is a change of the boot id. If the recording ends within a danger or a stall of the machine, not
//! only of a cgroup, that is the *end*.
//!
//! # The event that is explained
//! The last one of the most serious kind: kills, reboots and ends while memory was short, and reboots without warning come before
//! stalls and dangers that passed, and those before other reboots, which do no harm. A reboot without warning within a minute of
//! a kill of the machine is a part of the kill. A kill at the limit of a cgroup, which its owner can cause, displaces no such event of the
//! machine in the day before. If a time was chosen, the nearest event within ten minutes, or else that moment.
//!
//! # The moment
//! An event is explained as of one snapshot: the last one that has the victim, the worst one of a danger or a stall, the last one
//! before a reboot. `growth` finds what grew before it.
//!
//! This module is pure. `run` opens the file, `output` writes the explanation.

pub mod explanation;
mod growth;
mod trail;

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use explanation::{Ahead, Grower, Holder, Point, Role, Victim, Waiting, Worst};
pub use explanation::{Event, EventKind, Explanation};
use growth::{Moment, Used};
use trail::Trail;

use crate::account::headroom::{is_within, machine_headroom};
use crate::group::RowKey;
use crate::history::charged::may_be_of_victim;
use crate::history::dangers::{Danger, Limit, MACHINE, is_short};
use crate::history::kills::Kill;
use crate::history::marks::Origin;
use crate::history::most::LimitOf;
use crate::history::stalls::{Stall, StallKind};
use crate::history::{History, HistoryConfig};
use crate::model::Missing;
use crate::model::exit::{Exit, keep_highest};
use crate::model::kill::OomKill;
use crate::model::process::Identity;
use crate::model::snapshot::Snapshot;
use crate::model::taker::Taker;
use crate::order;

/// A limit that is no further ahead is an event; at the end of a recording or of a boot, memory was then short.
const URGENT: Duration = Duration::from_secs(60);
const URGENT_AT_END: Duration = Duration::from_secs(300);
/// Kills no further apart are one event.
const TOGETHER: Duration = Duration::from_secs(10);
/// A reboot without warning so soon after a kill is part of the same trouble.
const AFTERMATH: Duration = Duration::from_secs(60);
/// Maximum duration of one event of kills. A service may be started again and again.
const LONGEST: Duration = Duration::from_secs(300);
/// A danger or a stall is over after so much calm.
const CALM: Duration = Duration::from_secs(30);
/// Time for which a kill at the limit of a cgroup displaces no event of the machine.
pub const DAY: Duration = Duration::from_secs(86_400);
/// Share of the memory that is available below which memory was short at a reboot.
pub const SHORT: f64 = 0.05;
/// Maximum distance of an event from the chosen time to count as near it.
const NEAR: Duration = Duration::from_secs(600);
/// The lowest peak of a process that is listed as one that started and ended, in bytes: a fiftieth of the RAM, within these bounds.
const LEAST_BRIEF: [u64; 2] = [64 << 20, 128 << 20];
/// Maximum number of such processes.
const MAX_BRIEF: usize = 20;
/// Maximum number of such processes that are kept until the event is known.
const MAX_BRIEF_KEPT: usize = 100;
/// Maximum number of readings of growing processes.
const MAX_TAKERS: usize = 16;
/// Maximum number of owners of cgroups whose dangers and stalls are followed.
const MAX_SIGNS: usize = 32;
/// Maximum number of events that are listed.
const MAX_EVENTS: usize = 100;
/// Number of processes that are listed.
const HOLDERS: usize = 5;
const TEN_MINUTES: Duration = Duration::from_secs(600);
const AGES: [Duration; 3] = [Duration::from_secs(60), TEN_MINUTES, Duration::from_secs(3600)];

/// Identifies a kill: its time, its record in the kernel's log, and the daemon.
type KillKey = (SystemTime, Option<u64>, Option<Box<str>>);

fn key_of(kill: &OomKill) -> KillKey {
    let daemon = kill.daemon.as_ref().map(|daemon| daemon.name.clone());
    (kill.time, kill.record, daemon)
}

/// An event that has not ended.
#[derive(Debug)]
struct Episode {
    kind: EventKind,
    moment: Arc<Snapshot>,
    time: SystemTime,
    /// The times of its first and its last sign, on the monotonic clock.
    first_sign: Duration,
    last_sign: Duration,
    kills: Vec<KillKey>,
    /// The memory of its largest victim so far.
    largest: Option<u64>,
    /// See [`Kill::owner`].
    owner: Box<[u8]>,
    /// False for what the owner of a cgroup can cause.
    is_of_machine: bool,
    danger: Option<Danger>,
    /// The time of its beginning, and its worst state.
    stall: Option<(Duration, Stall)>,
    /// See [`Event::is_sudden`].
    is_sudden: Option<bool>,
    /// A kill seconds before is the event to explain.
    is_aftermath: bool,
}

impl Episode {
    fn new(kind: EventKind, moment: &Arc<Snapshot>) -> Self {
        Self {
            kind,
            moment: Arc::clone(moment),
            time: moment.time,
            first_sign: moment.monotonic,
            last_sign: moment.monotonic,
            kills: Vec::new(),
            largest: None,
            owner: Box::default(),
            is_of_machine: true,
            danger: None,
            stall: None,
            is_sudden: None,
            is_aftermath: false,
        }
    }

    fn is_over(&self, now: Duration) -> bool {
        let calm = if self.kind == EventKind::Kill { TOGETHER } else { CALM };
        now.saturating_sub(self.last_sign) > calm
    }

    /// Returns its time: for kills, the time of the first of `kills`, which is the one that is named.
    fn time_of(&self, kills: &[Kill]) -> SystemTime {
        let named = kills.first().filter(|_| self.kind == EventKind::Kill);
        named.map_or(self.time, |kill| kill.event.time)
    }

    /// Adds the dangers and stalls of a snapshot. The worst one determines the moment.
    fn worsen(&mut self, snapshot: &Arc<Snapshot>, danger: Option<&Danger>, stall: Option<&Stall>) {
        self.last_sign = snapshot.monotonic;
        let mut is_worst = false;
        if let Some(stall) = stall {
            let worst = self.stall.as_ref().map(|(_, worst)| worst.share);
            if worst.is_none_or(|worst| stall.share > worst) {
                let since = self.stall.as_ref().map_or(stall.since, |(since, _)| *since);
                self.stall = Some((since, stall.clone()));
                (self.kind, is_worst) = (EventKind::Stall, true);
            }
        }
        if let Some(danger) = danger {
            let worst = self.danger.as_ref().map(|worst| worst.forecast.seconds());
            if worst.is_none_or(|worst| danger.forecast.seconds() < worst) {
                self.danger = Some(danger.clone());
                is_worst |= self.kind == EventKind::Danger;
            }
        }
        if is_worst {
            (self.moment, self.time) = (Arc::clone(snapshot), snapshot.time);
        }
    }
}

/// Explains a recording. See the [module](self).
#[derive(Debug)]
pub struct Why {
    config: HistoryConfig,
    /// The time that the user chose.
    at: Option<SystemTime>,
    history: History,
    trail: Trail,
    /// The kills that have not ended, by their owners.
    kills: BTreeMap<Box<[u8]>, Episode>,
    /// The dangers and stalls that have not ended, by their owners: those of a user do not become part of another's.
    signs: BTreeMap<Box<[u8]>, Episode>,
    /// The known kills that the history, or the last snapshot, has.
    known_kills: Vec<KillKey>,
    /// The time of the first snapshot of this boot, on both clocks.
    begun: (Duration, SystemTime),
    recorded: Option<[SystemTime; 2]>,
    snapshots: u64,
    events: VecDeque<Event>,
    more: usize,
    /// The time of the machine's last kill.
    machine_kill: Option<SystemTime>,
    /// The explanation of the event that matters most, and how much it does.
    best: Option<(u8, Explanation)>,
    /// The explanation of the chosen moment.
    chosen: Option<Explanation>,
    worst: Worst,
    /// Processes that started and ended between snapshots, chosen by [`keep_highest`]: of the recording, and of the last ten minutes.
    brief: [Vec<Exit>; 2],
    /// The reason why such processes could not be seen.
    unseen: Option<Missing>,
    /// The readings of processes that used up the memory in this boot, oldest first.
    takers: VecDeque<Taker>,
    /// The last snapshots of what was written without an end; `None` if that is not known.
    cuts: Option<Vec<SystemTime>>,
    /// The host and the boot id of this machine, if it wrote the recording.
    here: Option<(Arc<[u8]>, Arc<str>)>,
}

impl Why {
    /// Creates one that explains the event nearest to `at`, or the last serious one.
    pub fn new(config: HistoryConfig, at: Option<SystemTime>) -> Self {
        Self {
            config,
            at,
            history: History::with_config(config),
            trail: Trail::default(),
            kills: BTreeMap::new(),
            signs: BTreeMap::new(),
            known_kills: Vec::new(),
            begun: (Duration::ZERO, SystemTime::UNIX_EPOCH),
            recorded: None,
            snapshots: 0,
            events: VecDeque::new(),
            more: 0,
            machine_kill: None,
            best: None,
            chosen: None,
            worst: Worst::default(),
            brief: Default::default(),
            unseen: None,
            takers: VecDeque::new(),
            cuts: None,
            here: None,
        }
    }

    /// Sets where the recorder stopped without an end: the times of the last snapshots before.
    pub fn set_cuts(&mut self, cuts: Vec<SystemTime>) {
        self.cuts = Some(cuts);
    }

    /// Sets the current host and boot of this machine, so that a boot which ended since the last snapshot is an event, too.
    pub fn set_here(&mut self, host: Arc<[u8]>, boot_id: Arc<str>) {
        self.here = Some((host, boot_id));
    }

    /// Returns true if this machine was started again since its last snapshot.
    fn has_rebooted(&self, last: &Snapshot) -> bool {
        let is_earlier = |(host, boot): &(Arc<[u8]>, Arc<str>)| {
            *host == last.host && last.boot_id.as_ref().is_ok_and(|last| last != boot)
        };
        self.here.as_ref().is_some_and(is_earlier)
    }

    /// Adds the next snapshot of the recording.
    pub fn push(&mut self, snapshot: &Arc<Snapshot>) {
        let last = self.last().cloned();
        // The first snapshot of a machine that has just started may lack it. It shows no process either.
        if snapshot.boot_id.is_err() && last.as_ref().is_some_and(|last| last.boot_id.is_ok()) {
            self.add_brief(snapshot);
            return;
        }
        if let Some(last) = &last {
            self.pass_chosen(last, Some(snapshot.time));
            if !Origin::of(last).precedes(snapshot) {
                self.end_boot(last, snapshot);
            }
        }
        if self.last().is_none() {
            self.begun = (snapshot.monotonic, snapshot.time);
        }
        let [first, _] = self.recorded.unwrap_or([snapshot.time; 2]);
        self.recorded = Some([first, snapshot.time]);
        self.snapshots += 1;
        self.history.push(snapshot);
        self.note_worst(snapshot);
        self.close_if(|open| open.is_over(snapshot.monotonic));
        self.add_takers(snapshot);
        self.add_brief(snapshot);
        self.add_kills(snapshot);
        self.add_signs(snapshot);
        self.trail.push(snapshot);
    }

    /// Adds the processes that ended since the last snapshot and that lived too briefly for a series. `run` also calls it for
    /// snapshots that are not pushed.
    pub fn add_brief(&mut self, snapshot: &Snapshot) {
        if let Err(why) = snapshot.exits.ended {
            self.unseen = Some(why).filter(|why| *why != Missing::Pending);
        }
        let [low, high] = LEAST_BRIEF;
        let least = snapshot
            .system
            .mem_total
            .map_or(low, |total| total / 50)
            .clamp(low, high);
        let all = snapshot.exits.list.iter();
        let high = all.filter(|exit| exit.own() >= least && exit.is_brief());
        let high: Vec<Exit> = high.cloned().collect();
        // An open event may last, and is explained later.
        let open = self.kills.values().chain(self.signs.values());
        let moments: Vec<_> = open.map(|open| open.time).chain([snapshot.time]).collect();
        let [_, recent] = &mut self.brief;
        recent.retain(|exit| moments.iter().any(|at| distance(exit.time, *at) <= TEN_MINUTES));
        for list in &mut self.brief {
            add_highest(list, high.iter());
        }
        let explained = self.best.as_mut().map(|(_, best)| best);
        for explained in explained.into_iter().chain(&mut self.chosen) {
            let moment = explained.event.time;
            add_highest(&mut explained.brief, high.iter().filter(|exit| is_near(exit, moment)));
        }
    }

    /// Adds the looks that no earlier snapshot has.
    fn add_takers(&mut self, snapshot: &Snapshot) {
        for taker in snapshot.takers.iter() {
            if !self.takers.contains(taker) {
                if self.takers.len() == MAX_TAKERS {
                    self.takers.pop_front();
                }
                self.takers.push_back(taker.clone());
            }
        }
    }

    /// Returns the newest reading of each process below the limit, if it was shortly before the event.
    fn takers_of(&self, event: SystemTime, victims: &[Victim], moment: &Moment<'_>) -> Vec<Taker> {
        let is_below = |taker: &Taker| {
            let is_victim = victims.iter().any(|victim| victim_of(&victim.kill) == Some(taker.id));
            let row = moment.snapshot.row(taker.id);
            is_victim || row.is_some_and(|row| moment.is_below(&row.facts))
        };
        let is_before = |taker: &Taker| match event.duration_since(taker.time) {
            Ok(before) => before <= TEN_MINUTES,
            Err(after) => after.duration() <= TOGETHER,
        };
        let mut found: Vec<Taker> = Vec::new();
        for taker in self
            .takers
            .iter()
            .rev()
            .filter(|taker| is_before(taker) && is_below(taker))
        {
            if found.iter().all(|newer| newer.id != taker.id) {
                found.push(taker.clone());
            }
        }
        found
    }

    fn last(&self) -> Option<&Arc<Snapshot>> {
        self.trail.snapshots().next()
    }

    /// Explains the chosen moment once its snapshot has passed.
    fn pass_chosen(&mut self, last: &Arc<Snapshot>, next: Option<SystemTime>) {
        let is_it = |at: SystemTime| last.time <= at && next.is_none_or(|next| next > at);
        if self.at.is_some_and(is_it) {
            let episode = Episode::new(EventKind::Chosen, last);
            self.chosen = Some(self.explain(&episode, true));
        }
    }

    fn note_worst(&mut self, snapshot: &Snapshot) {
        let system = &snapshot.system;
        if let (Ok(available), Ok(total)) = (system.available(), system.mem_total) {
            let least = &mut self.worst.available;
            if least.is_none_or(|(_, least, _)| available < least) {
                *least = Some((snapshot.time, available, total));
            }
        }
        if let Ok(psi) = system.psi {
            let (share, most) = (f64::from(psi.full[0]) / 100.0, &mut self.worst.stalled);
            if most.is_none_or(|(_, most)| share > most) {
                *most = Some((snapshot.time, share));
            }
        }
    }

    /// Adds the kills that this snapshot is the first to have.
    fn add_kills(&mut self, snapshot: &Arc<Snapshot>) {
        let listed: HashSet<KillKey> = self
            .history
            .kills()
            .map(|kill| &kill.event)
            .chain(snapshot.oom_kills.iter())
            .map(key_of)
            .collect();
        // The history may forget any of them, also the last one, and find it again in a later snapshot.
        self.known_kills.retain(|key| listed.contains(key));
        let known = |kill: &&Kill| self.known_kills.contains(&key_of(&kill.event));
        let mut new: Vec<Kill> = self.history.kills().filter(|kill| !known(kill)).cloned().collect();
        new.reverse();
        for kill in new {
            let key = key_of(&kill.event);
            self.known_kills.push(key.clone());
            // Before the recording, it is known only from the kernel's log.
            let is_old = kill.at + TOGETHER < self.begun.0;
            // Events before it do not explain later ones.
            let first = self.recorded.map_or(snapshot.time, |[first, _]| first);
            let is_with = |open: &Episode| {
                let is_near = kill.at + TOGETHER >= open.first_sign && kill.at <= open.last_sign + TOGETHER;
                let is_near = is_near && kill.at <= open.first_sign + LONGEST;
                is_near && (open.time < first) == (kill.event.time < first)
            };
            let moment = if is_old {
                snapshot
            } else {
                self.moment_of(&kill, snapshot)
            };
            let (moment, held) = (Arc::clone(moment), kill.held());
            match self.kills.get_mut(&kill.owner()) {
                Some(open) if is_with(open) => {
                    open.kills.push(key);
                    if held > open.largest {
                        open.largest = held;
                        // The largest is named, and may have started since.
                        if victim_of(&kill).is_some_and(|id| open.moment.row(id).is_none()) {
                            open.moment = moment;
                        }
                    }
                    open.first_sign = open.first_sign.min(kill.at);
                    open.last_sign = open.last_sign.max(kill.at);
                    continue;
                }
                _ => {
                    let before = self.kills.remove(&kill.owner()).into_iter();
                    before.for_each(|open| self.finish_episode(&open, true, None));
                }
            }
            let mut episode = Episode {
                kind: EventKind::Kill,
                time: kill.event.time,
                first_sign: kill.at,
                last_sign: kill.at,
                kills: vec![key],
                largest: held,
                owner: kill.owner(),
                is_of_machine: kill.is_of_machine(is_short(&moment.system)),
                ..Episode::new(EventKind::Kill, &moment)
            };
            // Where the limits of cgroups are not known, one that fills up is a danger of the machine.
            let owner = if episode.is_of_machine { MACHINE } else { &episode.owner };
            let signs = self.signs.remove(owner);
            let is_danger = self
                .signs
                .get(MACHINE)
                .is_some_and(|open| open.kind == EventKind::Danger);
            let of_machine = is_danger.then(|| self.signs.remove(MACHINE)).flatten();
            if let Some(signs) = signs.or(of_machine) {
                (episode.danger, episode.stall) = (signs.danger, signs.stall);
            }
            self.kills.insert(kill.owner(), episode);
        }
    }

    /// Returns the last snapshot with the memory of the victim, or else the last one before the kill.
    fn moment_of<'a>(&'a self, kill: &Kill, snapshot: &'a Arc<Snapshot>) -> &'a Arc<Snapshot> {
        let victim = victim_of(kill);
        let has_it = |snapshot: &&Arc<Snapshot>| {
            let row = victim.and_then(|id| snapshot.row(id));
            row.is_some_and(|row| Used::of(row, &snapshot.system).is_some_and(|used| used.bytes() > 0))
        };
        let found = self.trail.snapshots().find(has_it);
        found.or_else(|| self.last()).unwrap_or(snapshot)
    }

    /// Adds the dangers and stalls of a snapshot.
    fn add_signs(&mut self, snapshot: &Arc<Snapshot>) {
        type Signs<'a> = (Option<&'a Danger>, Option<&'a Stall>);
        let mut of_owners: BTreeMap<Box<[u8]>, Signs<'_>> = BTreeMap::new();
        let dangers = self.history.shared_dangers();
        for danger in dangers.filter(|danger| danger.forecast.time() < URGENT) {
            let (soonest, _) = of_owners.entry(danger.limit.owner()).or_default();
            if soonest.is_none_or(|soonest| danger.forecast.seconds() < soonest.forecast.seconds()) {
                *soonest = Some(danger);
            }
        }
        for stall in self.history.stalls() {
            let (_, worst) = of_owners.entry(stall.owner().into()).or_default();
            if worst.is_none_or(|worst| stall.share > worst.share) {
                *worst = Some(stall);
            }
        }
        for (owner, (danger, stall)) in of_owners {
            // They are part of kills that have not ended.
            let of_kills = |open: &Episode| open.owner == owner || open.is_of_machine && *owner == *MACHINE;
            let has_room = self.signs.len() < MAX_SIGNS || *owner == *MACHINE || self.signs.contains_key(&owner);
            if !has_room || self.kills.values().any(of_kills) {
                continue;
            }
            let is_of_machine = *owner == *MACHINE;
            let open = self.signs.entry(owner).or_insert_with(|| Episode {
                is_of_machine,
                ..Episode::new(EventKind::Danger, snapshot)
            });
            open.worsen(snapshot, danger, stall);
        }
    }

    /// Explains the end of a boot or of the snapshots of a host, and resets the state.
    fn end_boot(&mut self, last: &Arc<Snapshot>, next: &Snapshot) {
        let is_reboot = matches!((&last.boot_id, &next.boot_id), (Ok(one), Ok(other)) if one != other);
        if is_reboot && last.host == next.host {
            self.explain_reboot(last, Some(next.time));
        } else {
            self.close();
        }
        self.history = History::with_config(self.config);
        self.trail = Trail::default();
        self.takers.clear();
        self.known_kills.clear();
    }

    /// Explains the end of a boot. `resumed` is the time of the first snapshot after it.
    fn explain_reboot(&mut self, last: &Arc<Snapshot>, resumed: Option<SystemTime>) {
        let is_short = self.is_short(last);
        let mut episode = Episode {
            is_sudden: self.cuts.as_ref().map(|cuts| cuts.contains(&last.time)),
            ..Episode::new(EventKind::Reboot, last)
        };
        let signs = self.signs.remove(MACHINE);
        // If a kill freed enough memory, the kill is the event to explain; the reboot is another one. A kill in a cgroup makes no machine
        // reboot.
        let kills = std::mem::take(&mut self.kills).into_values();
        let (causes, others): (Vec<_>, Vec<_>) = kills.partition(|kill| is_short && kill.is_of_machine);
        self.finish_episodes(others, resumed);
        let mut causes: Vec<_> = causes.into_iter().chain(signs).filter(|_| is_short).collect();
        causes.sort_by_key(|open| open.time);
        for open in causes {
            episode.kills.extend(open.kills);
            episode.danger = open.danger.or(episode.danger);
            episode.stall = open.stall.or(episode.stall);
        }
        self.close();
        let is_soon = |kill: SystemTime| distance(kill, last.time) <= AFTERMATH;
        episode.is_aftermath = self.machine_kill.is_some_and(is_soon);
        self.finish_episode(&episode, is_short, resumed);
    }

    /// Returns true if the machine's memory was short in the last snapshot of a boot. A cgroup at its limit ends neither a boot nor a
    /// recording. A forecast that reaches further ahead than the recording reaches back does not show it: when a machine has just
    /// started, its programs take memory fast.
    fn is_short(&self, last: &Snapshot) -> bool {
        let seen = last.monotonic.saturating_sub(self.begun.0);
        let is_near = |danger: &Danger| danger.limit == Limit::Machine && danger.forecast.time() <= seen;
        let mut soon = self.history.shared_dangers();
        let is_full = soon.any(|danger| is_near(danger) && danger.forecast.time() < URGENT_AT_END);
        let open = self.signs.get(MACHINE).filter(|open| !open.is_over(last.monotonic));
        let slack = last.system.mem_total.unwrap_or(0) as f64 * SHORT;
        let is_relieved = |danger: &Danger| {
            let left = machine_headroom(last);
            left.is_some_and(|left| left as f64 > danger.forecast.left as f64 + slack)
        };
        // A kill has freed memory, so that what was before it is over.
        let is_recent = open.is_some_and(|open| {
            let is_stalled = open.stall.as_ref().is_some_and(|(_, stall)| stall.cgroup.is_none());
            let danger = open.danger.as_ref().filter(|danger| is_near(danger));
            let is_left = danger.is_some_and(|danger| !is_relieved(danger));
            is_stalled || is_left
        });
        let available = last.system.available().ok().zip(last.system.mem_total.ok());
        let is_low = available.is_some_and(|(available, total)| (available as f64) < total as f64 * SHORT);
        is_full || is_recent || is_low
    }

    /// Closes all that is open.
    fn close(&mut self) {
        self.close_if(|_| true);
    }

    fn close_if(&mut self, is_over: impl Fn(&Episode) -> bool) {
        type Signs = BTreeMap<Box<[u8]>, Episode>;
        let signs = std::mem::take(&mut self.signs).into_iter();
        let (over, open): (Signs, Signs) = signs.partition(|(_, open)| is_over(open));
        self.signs = open;
        self.finish_episodes(over.into_values().collect(), None);
        let kills = std::mem::take(&mut self.kills).into_iter();
        let (over, open): (Signs, Signs) = kills.partition(|(_, open)| is_over(open));
        self.kills = open;
        self.finish_episodes(over.into_values().collect(), None);
    }

    /// Adds events in the order of their time.
    fn finish_episodes(&mut self, mut episodes: Vec<Episode>, resumed: Option<SystemTime>) {
        episodes.sort_by_key(|episode| episode.time);
        for episode in &episodes {
            self.finish_episode(episode, true, resumed);
        }
    }

    /// Adds an event, and explains it if it is more serious than the earlier ones.
    fn finish_episode(&mut self, episode: &Episode, is_short: bool, resumed: Option<SystemTime>) {
        let first = self.recorded.map_or(episode.time, |[first, _]| first);
        // Little is known of an event before the recording.
        let rank = if episode.time < first {
            0
        } else {
            rank(episode, is_short)
        };
        let event = self.event(episode, is_short);
        let is_better = match (&self.best, self.at) {
            (None, _) => true,
            (Some((_, best)), Some(at)) => distance(event.time, at) < distance(best.event.time, at),
            (Some((best, explained)), None) => {
                let is_kept = explained.is_of_machine() && distance(event.time, explained.event.time) < DAY;
                rank > *best || rank == *best && (episode.is_of_machine || !is_kept)
            }
        };
        if episode.kind == EventKind::Kill && episode.is_of_machine {
            self.machine_kill = Some(event.time);
        }
        if is_better {
            let explained = self.explain(episode, is_short);
            self.best = Some((rank, Explanation { resumed, ..explained }));
        }
        if self.events.len() == MAX_EVENTS {
            self.events.pop_front();
            self.more += 1;
        }
        self.events.push_back(event);
    }

    /// Returns the kills of an episode, with all that is known of them by now, the largest first.
    fn kills_of(&self, episode: &Episode) -> Vec<Kill> {
        let kills = self.history.kills();
        let mut kills: Vec<Kill> = kills
            .filter(|kill| episode.kills.contains(&key_of(&kill.event)))
            .cloned()
            .collect();
        // Of equal ones the first counts.
        kills.reverse();
        order::sort_by(&mut kills, |a, b| b.held().cmp(&a.held()));
        kills
    }

    fn event(&self, episode: &Episode, is_short: bool) -> Event {
        let kills = self.kills_of(episode);
        let victim = kills.first().and_then(|kill| {
            let known = kill.known.as_ref().map(|known| known.facts.comm.clone());
            known.or_else(|| kill.event.victim.as_ref().ok().map(|victim| victim.comm.clone()))
        });
        let of_danger = episode.danger.as_ref().and_then(|danger| path_of(&danger.limit));
        let of_stall = episode.stall.as_ref().map(|(_, stall)| stall.cgroup.as_ref());
        let path = of_stall.unwrap_or(of_danger).map(|path| (**path).into());
        Event {
            kind: episode.kind,
            time: episode.time_of(&kills),
            is_short,
            is_sudden: episode.is_sudden,
            who: victim.or(path).unwrap_or_default(),
        }
    }

    fn explain(&self, episode: &Episode, is_short: bool) -> Explanation {
        let snapshot = &episode.moment;
        let kills = self.kills_of(episode);
        let limit_of = limit_of(episode, &kills);
        let cgroup: Option<Arc<[u8]>> = limit_of.cgroup().map(Arc::from);
        let now = Point::of(snapshot);
        let limit = cgroup
            .as_deref()
            .and_then(|path| now.limited(path))
            .map(|(_, limit)| limit);
        let logged = kills
            .first()
            .and_then(|kill| kill.event.victim.as_ref().ok()?.limit.as_ref()?.size);
        let moment = Moment {
            history: &self.history,
            snapshot,
            limit_of,
            size: logged.or(limit).or(now.total.ok()).unwrap_or(0),
            kills: &kills,
        };
        // Before the recording, nothing was seen to grow.
        let is_recorded = episode.time >= self.recorded.map_or(episode.time, |[first, _]| first);
        // Without the kernel's report, the limit may be one above.
        let known = kills.first().and_then(|kill| kill.event.victim.as_ref().ok());
        let is_exact = known.is_none_or(|victim| victim.limit.is_some());
        let growers = if is_recorded {
            moment.growers(is_exact)
        } else {
            Vec::new()
        };
        let victims = kills
            .iter()
            .map(|kill| victim(kill.clone(), &moment, &growers))
            .collect::<Vec<_>>();
        let mut machine = vec![now];
        machine.extend(self.trail.before(snapshot.monotonic, AGES));
        let (begun, booted) = self.begun;
        let span = snapshot.monotonic.saturating_sub(begun).min(TEN_MINUTES);
        let rows = snapshot.rows().iter().filter(|row| !row.stat.is_kernel_thread());
        let mut explanation = Explanation {
            host: Arc::clone(&snapshot.host),
            recorded: self.recorded.unwrap_or([snapshot.time; 2]),
            snapshots: self.snapshots,
            event: self.event(episode, is_short),
            of_machine: episode.is_of_machine,
            others: Vec::new(),
            more: 0,
            holders: holders(&moment, &victims, span),
            takers: self.takers_of(episode.time_of(&kills), &victims, &moment),
            brief: self.brief[1].clone(),
            unseen: None,
            span,
            booted,
            victims,
            growers,
            ahead: episode.danger.as_ref().map(|danger| Ahead {
                limit: danger.limit.clone(),
                left: danger.forecast.left,
                time: danger.forecast.time(),
            }),
            waiting: episode.stall.as_ref().map(|(since, stall)| Waiting {
                cgroup: stall.cgroup.clone(),
                is_throttled: stall.kind == StallKind::Throttled,
                share: stall.share,
                lasted: episode.last_sign.saturating_sub(*since),
                waiter: stall.waiter.and_then(|(id, bytes)| {
                    // Also if it is called `zmtop`: any program can take that name.
                    Some((id, snapshot.row(id)?.facts.comm.clone(), bytes))
                }),
            }),
            cgroup,
            machine,
            processes: rows.clone().count(),
            unreadable: rows
                .filter(|row| Used::of(row, &snapshot.system).is_none() && !row.stat.is_zombie())
                .count(),
            resumed: None,
            worst: Worst::default(),
        };
        // What filled the cgroup is in none of the processes.
        if explanation.cgroup.is_some() && explanation.unexplained().is_some() {
            for victim in &mut explanation.victims {
                victim.role = Role::Unknown;
            }
        }
        explanation
    }

    /// Adds data from the index about parts of the recording that are not read: the first and last snapshot, and the events, which
    /// are listed with the others.
    pub fn add_index(&mut self, span: (SystemTime, SystemTime), events: impl IntoIterator<Item = Event>) {
        self.recorded = self.recorded.map(|[first, last]| [first.min(span.0), last.max(span.1)]);
        let known = self.events.clone();
        let is_known = |event: &Event| {
            let mut same = known.iter().filter(|known| known.kind == event.kind);
            same.any(|known| distance(known.time, event.time) <= TOGETHER)
        };
        self.events.extend(events.into_iter().filter(|event| !is_known(event)));
        self.events.make_contiguous().sort_by_key(|event| event.time);
        let surplus = self.events.len().saturating_sub(MAX_EVENTS);
        self.events.drain(..surplus);
        self.more += surplus;
    }

    /// Returns the explanation; `None` without a snapshot, or if all are later than the chosen time.
    pub fn finish(mut self) -> Option<Explanation> {
        let last = self.last()?.clone();
        self.pass_chosen(&last, None);
        let is_cut = self.cuts.as_ref().is_some_and(|cuts| cuts.contains(&last.time));
        if is_cut && self.has_rebooted(&last) {
            self.explain_reboot(&last, None);
        }
        if !self.kills.values().any(|open| open.is_of_machine)
            && self.is_short(&last)
            && let Some(open) = self.signs.remove(MACHINE)
        {
            let of_machine = |danger: &&Danger| danger.limit == Limit::Machine;
            let danger = self.history.dangers().iter().find(of_machine).cloned();
            let episode = Episode {
                kind: EventKind::End,
                danger: danger.or(open.danger),
                stall: open.stall,
                ..Episode::new(EventKind::End, &last)
            };
            self.finish_episode(&episode, true, None);
        }
        self.close();
        let best = self.best.take().map(|(_, best)| best);
        let mut found = match self.at {
            Some(at) => best
                .filter(|best| distance(best.event.time, at) <= NEAR)
                .or(self.chosen.take())?,
            None => best.unwrap_or_else(|| self.explain(&Episode::new(EventKind::Nothing, &last), false)),
        };
        self.events.retain(|event| *event != found.event);
        let moment = found.event.time;
        // A kill before the recording explains none of its processes.
        let is_quiet = found.event.kind == EventKind::Nothing || found.is_before_recording();
        // If a cgroup reached its limit, memory outside of it does not matter.
        let is_below = |exit: &Exit| {
            let limited = found.cgroup.as_deref();
            limited.is_none_or(|path| exit.cgroup.as_deref().is_some_and(|own| is_within(own, path)))
        };
        let [of_all, _] = std::mem::take(&mut self.brief);
        let mut brief = if is_quiet {
            of_all
        } else {
            std::mem::take(&mut found.brief)
        };
        // Do not repeat what the victim's entry says.
        let is_victim = |exit: &Exit| found.victims.iter().any(|victim| is_end_of(exit, &victim.kill));
        brief.retain(|exit| (is_quiet || (is_near(exit, moment) && is_below(exit))) && !is_victim(exit));
        keep_highest(&mut brief, MAX_BRIEF, |exit| (exit.uid, exit.own()));
        Some(Explanation {
            unseen: self.unseen.filter(|_| brief.is_empty()),
            brief,
            recorded: self.recorded.unwrap_or(found.recorded),
            snapshots: self.snapshots,
            others: self.events.into(),
            more: self.more,
            worst: std::mem::take(&mut self.worst),
            resumed: found.resumed.take(),
            ..found
        })
    }
}

/// Returns whose limit matters.
fn limit_of<'a>(episode: &'a Episode, kills: &'a [Kill]) -> LimitOf<'a> {
    if let Some(kill) = kills.first() {
        return kill.limit_of();
    }
    LimitOf::of(match (&episode.stall, &episode.danger) {
        (Some((_, stall)), _) => stall.cgroup.as_deref(),
        (None, Some(danger)) => path_of(&danger.limit).map(|path| &**path),
        (None, None) => None,
    })
}

/// Returns true for a process that ended shortly before an event or just after it.
fn is_near(exit: &Exit, event: SystemTime) -> bool {
    distance(exit.time, event) <= if exit.time > event { Exit::BRIEF } else { TEN_MINUTES }
}

/// Adds processes to those with the highest peaks.
fn add_highest<'a>(list: &mut Vec<Exit>, more: impl Iterator<Item = &'a Exit>) {
    let before = list.len();
    list.extend(more.cloned());
    if list.len() > before {
        keep_highest(list, MAX_BRIEF_KEPT, |exit| (exit.uid, exit.own()));
    }
}

fn distance(one: SystemTime, other: SystemTime) -> Duration {
    let later = one.duration_since(other);
    later.unwrap_or_else(|error| error.duration())
}

/// Returns the seriousness of an event.
fn rank(episode: &Episode, is_short: bool) -> u8 {
    match episode.kind {
        EventKind::Kill | EventKind::End => 3,
        EventKind::Reboot if is_short || (episode.is_sudden == Some(true) && !episode.is_aftermath) => 3,
        EventKind::Stall | EventKind::Danger => 2,
        EventKind::Reboot => 1,
        EventKind::Nothing | EventKind::Chosen => 0,
    }
}

const fn path_of(limit: &Limit) -> Option<&Arc<[u8]>> {
    match limit {
        Limit::Cgroup(path) | Limit::CgroupHigh(path) => Some(path),
        Limit::Machine | Limit::AddressSpace(_) => None,
    }
}

/// Returns the identity of a victim that was seen.
fn victim_of(kill: &Kill) -> Option<Identity> {
    kill.known.as_ref().map(|known| known.id)
}

/// Returns true if that exit is the end of the victim. The kernel reuses pids, and the pid in its log may be of another namespace,
/// so that an exit without a start time must have its name and its time, too.
fn is_end_of(exit: &Exit, kill: &Kill) -> bool {
    let Some(known) = &kill.known else { return false };
    let is_then = exit.comm == known.facts.comm && distance(exit.time, kill.event.time) <= TOGETHER;
    let is_same = exit.starttime.map_or(is_then, |start| start == known.id.starttime);
    exit.pid == known.id.pid && is_same
}

/// Returns a victim with its role in the event.
fn victim(kill: Kill, moment: &Moment<'_>, growers: &[Grower]) -> Victim {
    let id = victim_of(&kill);
    let role = match (growers.first(), id) {
        (Some(first), Some(id)) => match &first.key {
            RowKey::Process(grower) if *grower == id => Role::Grower,
            RowKey::Group(key) if moment.group_of(id, key.by) == key.name => Role::Member,
            RowKey::Part(key) if may_be_of_victim(key) => Role::Unknown,
            _ => Role::Bystander,
        },
        _ => Role::Unknown,
    };
    Victim {
        rise: id.map_or_else(|| moment.rise_of_unseen(&kill), |id| moment.rise(id)),
        kill,
        role,
    }
}

/// Returns the largest processes below the limit, with the victims.
fn holders(moment: &Moment<'_>, victims: &[Victim], span: Duration) -> Vec<Holder> {
    let is_victim = |id: Identity| victims.iter().any(|victim| victim_of(&victim.kill) == Some(id));
    let system = &moment.snapshot.system;
    let rows = moment.snapshot.rows().iter().filter(|row| moment.is_below(&row.facts));
    let rows = rows.filter(|row| row.shares_mm.is_none());
    let mut all: Vec<_> = rows
        .filter_map(|row| Some((Used::of(row, system).filter(|used| used.bytes() > 0)?, row)))
        .collect();
    // Victims come first among equals, and are never cut off.
    order::sort_by(&mut all, |a, b| (b.0.rank(), a.1.id.pid).cmp(&(a.0.rank(), b.1.id.pid)));
    let mut shown: Vec<_> = all.iter().take(HOLDERS).copied().collect();
    let first = all.iter().find(|(_, row)| is_victim(row.id)).copied();
    if let Some(first) = first.filter(|(_, row)| !shown.iter().any(|(_, shown)| shown.id == row.id)) {
        if shown.len() == HOLDERS {
            shown.pop();
        }
        shown.push(first);
    }
    let holders = shown.into_iter().map(|(used, row)| Holder {
        id: row.id,
        facts: Arc::clone(&row.facts),
        bytes: used.bytes(),
        is_bound: used.is_bound(),
        grown: moment.grown(row, span),
        is_victim: is_victim(row.id),
    });
    holders.collect()
}
