//! Incidents: what happened while a snapshot was taken, in a line each. A recording keeps them as its index.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::State;
use crate::account::headroom::machine_headroom;
use crate::alert::{AlertEvent, Transition};
use crate::group::RowKey;
use crate::history::dangers::{Limit, is_short};
use crate::history::kills::Kill;
use crate::model::Snapshot;
use crate::model::unit::owned_path;
use crate::record::{Incident, IncidentKind};
use crate::text;
use crate::units::{self, Units};

/// A condition that was away for a shorter time is the same one.
pub(super) const LULL: Duration = Duration::from_secs(60);

/// Share of the RAM. While more is left, free swap included, a danger of the machine is minor: anybody can allocate fast for seconds.
const MUCH: f64 = 0.25;

/// Columns of a name.
pub(super) const NAME: usize = 40;

/// A condition that lasts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lasting {
    Danger(Limit),
    Stall(Option<Arc<[u8]>>),
    Leak(String),
}

impl Lasting {
    /// Returns the owner of its cgroup, as a key.
    fn owner(&self) -> Box<[u8]> {
        match self {
            Self::Danger(limit) => limit.owner(),
            Self::Stall(Some(path)) => owned_path(path).into(),
            Self::Stall(None) | Self::Leak(_) => Box::default(),
        }
    }
}

/// Finds the incidents of each snapshot.
#[derive(Debug, Default)]
pub struct Incidents {
    /// The time at which each kill was detected, its record in the log, and its victim.
    kills: Vec<(Duration, Option<u64>, Option<u32>)>,
    /// The last time at which the machine's memory was short.
    short_at: Option<Duration>,
    /// The conditions, each with true if it was minor, and the time when it last was so.
    lasting: BTreeMap<(Lasting, bool), Duration>,
}

impl Incidents {
    /// Returns the incidents that began with the snapshot that was pushed last. `alerts` are those that it fired or resolved.
    pub fn of(&mut self, state: &State, alerts: &[AlertEvent]) -> Vec<Incident> {
        let Some(snapshot) = &state.snapshot else {
            return Vec::new();
        };
        let (now, mut found) = (snapshot.monotonic, Vec::new());
        let mut add = |kind, text, of_cgroup, minor, owner: &[u8]| {
            let incident = Incident::new(snapshot.time, kind, text).owned_by(owner);
            found.push(incident.of_cgroup(of_cgroup).minor(minor));
        };
        if is_short(&snapshot.system) {
            self.short_at = Some(now);
        }
        let was_short = self.short_at.is_some_and(|at| now.saturating_sub(at) < LULL);
        let kills = state.history.kills().filter(|kill| !kill.is_open);
        let key = |kill: &Kill| {
            let pid = kill.event.victim.as_ref().map(|victim| victim.pid);
            (kill.at, kill.event.record, pid.ok())
        };
        let kills: Vec<_> = kills.map(|kill| (key(kill), kill)).collect();
        for (key, kill) in &kills {
            // Kills that were kept from earlier runs are no news.
            if !self.kills.contains(key) && now.saturating_sub(kill.at) < LULL {
                let text = kill.text(NAME, Units::Auto);
                let text = format!("{}: {}", text.who(), text.why());
                let of_cgroup = !kill.is_of_machine(was_short);
                add(IncidentKind::Kill, text, of_cgroup, false, &kill.owner());
            }
        }
        self.kills = kills.into_iter().map(|(key, _)| key).collect();
        let dangers = state.history.shared_dangers().map(|danger| {
            let text = danger.text(snapshot, Units::Auto);
            (Lasting::Danger(danger.limit.clone()), IncidentKind::Danger, text)
        });
        let stalls = state.history.stalls().iter().map(|stall| {
            let text = stall
                .text(snapshot, |id| snapshot.name_of_process(id), NAME, Units::Auto)
                .line();
            (Lasting::Stall(stall.cgroup.clone()), IncidentKind::Stall, text)
        });
        let leaks = state.leaks().map(|suspect| {
            let name = name(&suspect.key, snapshot);
            let pace = units::pace(suspect.judgement.slope);
            (
                Lasting::Leak(name.clone()),
                IncidentKind::Leak,
                format!("{name} leaks, +{pace}"),
            )
        });
        let left = machine_headroom(snapshot).zip(snapshot.system.mem_total.ok());
        let is_minor_danger = left.is_some_and(|(left, total)| left as f64 > total as f64 * MUCH);
        // Tasks wait for RAM, however much swap is free.
        let is_minor_stall = snapshot.system.scope.is_none() && !is_short(&snapshot.system);
        for (condition, kind, text) in dangers.chain(stalls).chain(leaks) {
            let (of_machine, is_minor) = match &condition {
                Lasting::Danger(Limit::Machine) => (true, is_minor_danger),
                Lasting::Stall(None) => (true, is_minor_stall),
                _ => (false, false),
            };
            let of_cgroup = !of_machine && kind != IncidentKind::Leak;
            let owner = condition.owner();
            // What becomes serious is reported again, but not what becomes minor.
            let is_known = is_minor && self.lasting.contains_key(&(condition.clone(), false));
            let is_new = self.lasting.insert((condition, is_minor), now).is_none();
            if is_new && !is_known {
                add(kind, text, of_cgroup, is_minor, &owner);
            }
        }
        self.lasting.retain(|_, last| now.saturating_sub(*last) <= LULL);
        for alert in alerts.iter().filter(|alert| alert.transition == Transition::Fired) {
            add(IncidentKind::Alert, alert.summary(), false, false, &[]);
        }
        found
    }
}

pub(super) fn name(key: &RowKey, snapshot: &Snapshot) -> String {
    match key {
        RowKey::Process(id) => snapshot.name_of_process(*id),
        RowKey::Part(key) => text::safe(&key.name()).into_owned(),
        RowKey::Group(key) => text::safe_prefix(key.label(), NAME).into_owned(),
    }
}
