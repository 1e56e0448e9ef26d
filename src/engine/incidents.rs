//! Incidents: what happened while a snapshot was taken, in a line each. A recording keeps them as its index.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::State;
use crate::alert::{AlertEvent, Transition};
use crate::group::RowKey;
use crate::history::dangers::Limit;
use crate::model::Snapshot;
use crate::model::kill::KillCause;
use crate::record::{Incident, IncidentKind};
use crate::text;
use crate::units::{self, Units};

/// A condition that was away for a shorter time is the same incident.
const LULL: Duration = Duration::from_secs(60);

/// Columns of a name.
pub(super) const NAME: usize = 40;

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
    /// The time at which each kill was detected.
    kills: Vec<Duration>,
    /// The conditions, with the time when each was last true.
    lasting: BTreeMap<Lasting, Duration>,
}

impl Incidents {
    /// Returns the incidents that began with the snapshot that was pushed last. `alerts` are those that it fired or resolved.
    pub fn of(&mut self, state: &State, alerts: &[AlertEvent]) -> Vec<Incident> {
        let Some(snapshot) = &state.snapshot else {
            return Vec::new();
        };
        let (now, mut found) = (snapshot.monotonic, Vec::new());
        let mut add = |kind, text, of_cgroup| found.push(Incident::new(snapshot.time, kind, text).of_cgroup(of_cgroup));
        let kills = state.history.kills().filter(|kill| !kill.is_open);
        let kills: Vec<_> = kills.map(|kill| (kill.at, kill)).collect();
        for (at, kill) in &kills {
            // Kills that were kept from earlier runs are no news.
            if !self.kills.contains(at) && now.saturating_sub(*at) < LULL {
                let text = kill.text(NAME, Units::Auto);
                let of_cgroup = kill.event.cause() == KillCause::Cgroup;
                add(IncidentKind::Kill, format!("{}: {}", text.who(), text.why()), of_cgroup);
            }
        }
        self.kills = kills.into_iter().map(|(at, _)| at).collect();
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
        for (condition, kind, text) in dangers.chain(stalls).chain(leaks) {
            let of_cgroup = !matches!(
                condition,
                Lasting::Danger(Limit::Machine) | Lasting::Stall(None) | Lasting::Leak(_)
            );
            if self.lasting.insert(condition, now).is_none() {
                add(kind, text, of_cgroup);
            }
        }
        self.lasting.retain(|_, last| now.saturating_sub(*last) <= LULL);
        for alert in alerts.iter().filter(|alert| alert.transition == Transition::Fired) {
            add(IncidentKind::Alert, alert.summary(), false);
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
