//! Incidents: what happened while a snapshot was taken, in a line each. A recording keeps them as its index.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::State;
use crate::alert::{AlertEvent, Transition};
use crate::group::RowKey;
use crate::history::dangers::{Danger, Limit};
use crate::history::stalls::{Stall, StallKind};
use crate::model::{Identity, Snapshot};
use crate::record::{Incident, IncidentKind};
use crate::text;
use crate::units::{self, Units};

/// A condition that was away for a shorter time is the same incident.
const LULL: Duration = Duration::from_secs(60);

/// Columns of a name.
const NAME: usize = 40;

/// A condition that lasts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lasting {
    Danger(Limit),
    Stall(Option<Arc<[u8]>>),
    Leak(String),
}

/// Finds the incidents of each snapshot.
#[derive(Debug, Default)]
pub struct Incidents {
    /// When each kill was detected.
    kills: Vec<Duration>,
    /// The conditions, with the time when each was last true.
    lasting: BTreeMap<Lasting, Duration>,
}

impl Incidents {
    /// Returns what began with the snapshot that was pushed last. `alerts` are those that it fired or resolved.
    pub fn of(&mut self, state: &State, alerts: &[AlertEvent]) -> Vec<Incident> {
        let Some(snapshot) = &state.snapshot else {
            return Vec::new();
        };
        let (now, mut found) = (snapshot.monotonic, Vec::new());
        let mut add = |kind, text| found.push(Incident::new(snapshot.time, kind, text));
        let kills = state.history.kills().filter(|kill| !kill.is_open);
        let kills: Vec<_> = kills.map(|kill| (kill.at, kill)).collect();
        for (at, kill) in &kills {
            // What was kept of earlier runs is no news.
            if !self.kills.contains(at) && now.saturating_sub(*at) < LULL {
                let told = kill.text(NAME, Units::Auto);
                add(
                    IncidentKind::Kill,
                    format!("{} by {}: {}", told.victim, told.by, told.why()),
                );
            }
        }
        self.kills = kills.into_iter().map(|(at, _)| at).collect();
        let dangers = state.history.dangers().iter().map(|danger| {
            let text = format!("{}: {}", ahead(danger, snapshot), taker(danger, snapshot));
            (Lasting::Danger(danger.limit.clone()), IncidentKind::Danger, text)
        });
        let stalls = state.history.stalls().iter().map(|stall| {
            let text = stall_text(stall, snapshot);
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
        for (condition, kind, text) in dangers.chain(stalls).chain(leaks) {
            if self.lasting.insert(condition, now).is_none() {
                add(kind, text);
            }
        }
        self.lasting.retain(|_, last| now.saturating_sub(*last) <= LULL);
        for alert in alerts.iter().filter(|alert| alert.transition == Transition::Fired) {
            add(IncidentKind::Alert, alert.summary());
        }
        found
    }
}

/// Tells which limit is reached, and when.
pub(super) fn ahead(danger: &Danger, snapshot: &Snapshot) -> String {
    let what = match &danger.limit {
        Limit::Machine => "memory is full".to_owned(),
        Limit::Cgroup(path) => format!("{} reaches its limit", cgroup(path, snapshot)),
        Limit::CgroupHigh(path) => format!("{} reaches memory.high", cgroup(path, snapshot)),
        Limit::AddressSpace(id) => format!("{} reaches RLIMIT_AS", process(*id, snapshot)),
    };
    format!("{what} in {} at this pace", units::span(danger.forecast.time()))
}

fn taker(danger: &Danger, snapshot: &Snapshot) -> String {
    danger.taker.as_ref().map_or_else(
        || "by no single process".to_owned(),
        |(key, pace)| format!("{} +{}", name(key, snapshot), units::pace(*pace)),
    )
}

pub(super) fn stall_text(stall: &Stall, snapshot: &Snapshot) -> String {
    let place = stall.cgroup.as_ref();
    let place = place.map_or_else(|| "the machine".into(), |path| cgroup(path, snapshot));
    let reason = match stall.kind {
        StallKind::Thrash => "",
        StallKind::Throttled => " at memory.high",
    };
    let waiter = stall.waiter.map(|(id, _)| format!(": {}", process(id, snapshot)));
    let share = stall.share * 100.0;
    format!(
        "{place} waits for memory {share:.0}% of the time{reason}{}",
        waiter.unwrap_or_default()
    )
}

pub(super) fn name(key: &RowKey, snapshot: &Snapshot) -> String {
    match key {
        RowKey::Process(id) => process(*id, snapshot),
        RowKey::Part(key) => text::safe(&key.name()).into_owned(),
        RowKey::Group(key) => text::safe_prefix(key.label(), NAME).into_owned(),
    }
}

fn process(id: Identity, snapshot: &Snapshot) -> String {
    let name = snapshot
        .row(id)
        .map(|row| text::safe_prefix(&row.facts.comm, NAME).into_owned());
    format!("{} {}", id.pid, name.unwrap_or_default()).trim_end().to_owned()
}

fn cgroup(path: &[u8], snapshot: &Snapshot) -> String {
    match snapshot.container_of_cgroup(path) {
        Some(name) => format!("container {}", text::safe_prefix(&name, NAME)),
        None => text::safe_prefix(path, 2 * NAME).into_owned(),
    }
}
