//! The memory of the machine over the last hour, and the last snapshots.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::explanation::Point;
use crate::account::headroom::rooms;
use crate::model::snapshot::Snapshot;

/// Time for which every point is kept; afterwards, one in [`COARSE_STEP`] is kept.
const FINE_SPAN: Duration = Duration::from_secs(90);
const COARSE_STEP: Duration = Duration::from_secs(10);
const COARSE_SPAN: Duration = Duration::from_secs(3700);
/// Maximum number of points of [`FINE_SPAN`]: a recording may have any times.
const MAX_FINE: usize = 2000;
/// Maximum memory of the limited cgroups of all points, in bytes. The oldest ones are dropped first.
const MAX_LIMITED: usize = 256 << 20;
/// A victim may be gone from the last snapshots before its kill is seen.
const SNAPSHOTS: usize = 4;

impl Point {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let system = &snapshot.system;
        let limited = rooms(snapshot).into_iter();
        Self {
            time: snapshot.time,
            monotonic: snapshot.monotonic,
            total: system.mem_total,
            available: system.available(),
            swap_used: system.swap_used(),
            swap_total: system.swap_total,
            stalled: system.psi.map(|psi| f64::from(psi.full[0]) / 100.0),
            limited: limited
                .filter_map(|(path, room)| {
                    let (limit, _) = snapshot.cgroups.get(&path)?.ceiling()?;
                    Some((path, room.used, limit))
                })
                .collect(),
        }
    }

    fn memory_of_limited(&self) -> usize {
        let of_each = self
            .limited
            .iter()
            .map(|(path, ..)| size_of::<(Arc<[u8]>, u64, u64)>() + path.len());
        of_each.sum()
    }

    /// Returns the memory in use and the limit of a cgroup that has one.
    pub fn limited(&self, path: &[u8]) -> Option<(u64, u64)> {
        let found = self.limited.iter().find(|(known, ..)| **known == *path);
        found.map(|(_, used, limit)| (*used, *limit))
    }
}

#[derive(Debug, Default)]
pub(super) struct Trail {
    fine: VecDeque<Point>,
    coarse: VecDeque<Point>,
    /// The memory of the limited cgroups of all points, in bytes.
    limited: usize,
    snapshots: VecDeque<Arc<Snapshot>>,
}

impl Trail {
    pub(super) fn push(&mut self, snapshot: &Arc<Snapshot>) {
        let now = snapshot.monotonic;
        let is_older = |point: Option<&Point>, span: Duration| {
            point.is_some_and(|point| now.saturating_sub(point.monotonic) > span)
        };
        let point = Point::of(snapshot);
        self.limited += point.memory_of_limited();
        self.fine.push_back(point);
        while self.fine.len() > MAX_FINE || is_older(self.fine.front(), FINE_SPAN) {
            let Some(point) = self.fine.pop_front() else { break };
            let last = self.coarse.back();
            if last.is_none_or(|last| point.monotonic.saturating_sub(last.monotonic) >= COARSE_STEP) {
                self.coarse.push_back(point);
            } else {
                self.limited -= point.memory_of_limited();
            }
        }
        while is_older(self.coarse.front(), COARSE_SPAN) {
            let Some(point) = self.coarse.pop_front() else { break };
            self.limited -= point.memory_of_limited();
        }
        let mut points = self.coarse.iter_mut().chain(&mut self.fine);
        while self.limited > MAX_LIMITED
            && let Some(point) = points.next()
        {
            self.limited -= point.memory_of_limited();
            point.limited = Vec::new();
        }
        if self.snapshots.len() == SNAPSHOTS {
            self.snapshots.pop_front();
        }
        self.snapshots.push_back(Arc::clone(snapshot));
    }

    /// Returns the last snapshots, the newest first.
    pub(super) fn snapshots(&self) -> impl Iterator<Item = &Arc<Snapshot>> {
        self.snapshots.iter().rev()
    }

    /// Returns the recorded points at about these times before `at`, the shortest time first. If the longest time was not
    /// recorded, also returns the oldest point.
    pub(super) fn before<const N: usize>(&self, at: Duration, ages: [Duration; N]) -> Vec<Point> {
        let points = || self.fine.iter().rev().chain(self.coarse.iter().rev());
        let near = |age: Duration| {
            let moment = at.checked_sub(age)?;
            let point = points().find(|point| point.monotonic <= moment)?;
            (moment.saturating_sub(point.monotonic) <= age / 4).then_some(point)
        };
        let mut found: Vec<Point> = ages.into_iter().filter_map(near).cloned().collect();
        let newest = found.last().map_or(at, |point| point.monotonic);
        let oldest = points().last().filter(|_| found.len() < N);
        found.extend(oldest.filter(|oldest| oldest.monotonic < newest).cloned());
        found
    }
}
