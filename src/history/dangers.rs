//! Dangers: limits that will be reached soon at the present pace of memory growth.
//!
//! A danger is a fact, not a judgement of a program: how much memory is left, how fast it shrinks and what takes it.
//! The cause may be a leak, a filling cache, or a load that the machine is too small for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::account::countdown::{Countdown, Forecast};
use crate::account::headroom::{address_space_left, cgroup_headrooms, is_within, machine_headroom};
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::history::{History, RowHistory};
use crate::model::process::{Identity, ProcessSample};
use crate::model::snapshot::Snapshot;
use crate::order;

/// Time between checks of cgroups, which sum over all processes.
const CGROUP_INTERVAL: Duration = Duration::from_secs(2);
/// Minimum share of the pace that the reported taker must have.
const MIN_SHARE: f64 = 0.25;
/// Bounds of the time over which the growth of a taker is measured.
const TAKER_SPAN: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(240)];
/// How many times as much a program must take as one process to be reported instead.
const PROGRAM_FACTOR: f64 = 1.5;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Memory and swap of the machine.
    Machine,
    /// The limit of a cgroup, by path.
    Cgroup(Arc<[u8]>),
    /// The limit of a process's address space (`RLIMIT_AS`).
    AddressSpace(Identity),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Danger {
    pub limit: Limit,
    pub forecast: Forecast,
    /// The process or program that takes most, and its growth in bytes a second; `None` if none takes a quarter, as
    /// many do or the kernel does.
    pub taker: Option<(RowKey, f64)>,
}

/// Tracks the memory left below each limit.
#[derive(Clone, Debug, Default)]
pub(super) struct DangerWatch {
    limits: BTreeMap<Limit, Countdown>,
    dangers: Vec<Danger>,
    cgroups_at: Option<Duration>,
}

impl DangerWatch {
    /// Adds the memory left in a snapshot; returns forecasts for limits that are reached within that time.
    fn forecasts(&mut self, snapshot: &Snapshot, within: Duration) -> Vec<(Limit, Forecast)> {
        let now = snapshot.monotonic;
        if let Some(left) = machine_headroom(snapshot) {
            self.limits.entry(Limit::Machine).or_default().push(now, left);
        }
        let is_due = |at| now.saturating_sub(at) >= CGROUP_INTERVAL;
        let cgroups = self.cgroups_at.is_none_or(is_due).then(|| cgroup_headrooms(snapshot));
        self.limits.retain(|limit, _| match (limit, &cgroups) {
            (Limit::Machine, _) | (Limit::Cgroup(_), None) => true,
            (Limit::Cgroup(path), Some(left)) => left.iter().any(|(known, _)| known == path),
            (Limit::AddressSpace(id), _) => snapshot.address_limits.contains_key(id),
        });
        if cgroups.is_some() {
            self.cgroups_at = Some(now);
        }
        for (path, left) in cgroups.into_iter().flatten() {
            self.limits.entry(Limit::Cgroup(path)).or_default().push(now, left);
        }
        // Few: address space is only read for growing processes.
        for id in snapshot.address_limits.keys() {
            if let Some(left) = address_space_left(snapshot, *id) {
                self.limits.entry(Limit::AddressSpace(*id)).or_default().push(now, left);
            }
        }
        let limits = self.limits.iter_mut();
        limits
            .filter_map(|(limit, countdown)| Some((limit.clone(), countdown.forecast(within)?)))
            .collect()
    }

    pub(super) fn bytes(&self) -> usize {
        self.limits.values().map(Countdown::bytes).sum()
    }
}

impl History {
    /// Returns the dangers, the soonest first.
    pub fn dangers(&self) -> &[Danger] {
        &self.danger_watch.dangers
    }

    /// Updates the dangers from a snapshot.
    pub(super) fn find_dangers(&mut self, snapshot: &Snapshot) {
        let forecasts = self.danger_watch.forecasts(snapshot, self.config.trend.danger);
        let mut dangers: Vec<_> = forecasts
            .into_iter()
            .map(|(limit, forecast)| Danger {
                taker: self.taker(snapshot, &limit, &forecast),
                limit,
                forecast,
            })
            .collect();
        order::sort_by(&mut dangers, |a, b| {
            a.forecast.seconds().total_cmp(&b.forecast.seconds())
        });
        self.danger_watch.dangers = dangers;
    }

    /// Returns the process or program that takes most memory below a limit, and how fast.
    fn taker(&self, snapshot: &Snapshot, limit: &Limit, forecast: &Forecast) -> Option<(RowKey, f64)> {
        if let Limit::AddressSpace(id) = limit {
            return Some((RowKey::Process(*id), forecast.pace));
        }
        let span = forecast.window.clamp(TAKER_SPAN[0], TAKER_SPAN[1]);
        // Growth within seconds may show as late as a walk is old.
        let seconds = forecast.window.min(span).as_secs_f64();
        let from = snapshot.monotonic.saturating_sub(span);
        let pace_of = |grown: f64| (grown / seconds).min(forecast.pace.max(grown / span.as_secs_f64()));
        let pace = |row: &RowHistory| pace_of(row.footprint().change_over(span));
        let greatest = |found: Option<(RowKey, f64)>, (key, pace): (RowKey, f64)| match found {
            Some((_, most)) if most >= pace => found,
            _ => Some((key, pace)),
        };
        let is_within = |sample: &ProcessSample| match limit {
            Limit::Machine | Limit::AddressSpace(_) => true,
            Limit::Cgroup(above) => sample.facts.cgroup.as_ref().is_ok_and(|path| is_within(path, above)),
        };
        let processes = snapshot.rows().iter().filter_map(|sample| {
            let row = self.get(sample.id).filter(|_| is_within(sample))?;
            // A new process had no memory before.
            let is_new = self.started_at(sample.id).is_some_and(|at| at >= from);
            let pace = if is_new {
                pace_of(row.newest_footprint() as f64)
            } else {
                pace(row)
            };
            Some((RowKey::Process(sample.id), pace))
        });
        let process = processes.fold(None, greatest);
        // The processes of a program may be in several cgroups.
        let by = GroupBy::Command;
        let programs = self.groups_by(by).filter(|_| *limit == Limit::Machine);
        let programs = programs.map(|(name, row)| {
            let name = name.cloned();
            (RowKey::Group(GroupKey { by, name }), pace(row))
        });
        let program = programs.fold(None, greatest);
        let most = match (process, program) {
            (Some((_, one)), Some((key, all))) if all > one * PROGRAM_FACTOR => Some((key, all)),
            (None, program) => program,
            (process, _) => process,
        };
        most.filter(|(_, pace)| *pace >= forecast.pace * MIN_SHARE)
    }
}
