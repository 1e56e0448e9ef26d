//! The number of members of a group over time, and its series as if that number had never changed.

use std::time::Duration;

use crate::history::time_series::{Retention, TimeSeries};
use crate::order;
use crate::trend::Point;

/// The value that stands for one member: far more than what a series takes for the same.
const MEMBER: u64 = 1 << 20;
/// Time around a moment of which the usual number counts: a worker that is replaced is missing for a moment, and what lives
/// for moments is one more. A floor of the shortest window that is judged is as long.
const AROUND: Duration = Duration::from_secs(60);

/// The number of members of a group that have memory, since it began.
#[derive(Debug, Default)]
pub(super) struct MemberCounts(pub(super) TimeSeries);

impl MemberCounts {
    /// Takes in their number.
    pub(super) fn push(&mut self, now: Duration, count: u32, retention: Retention) {
        self.0.push(now, Some(u64::from(count) * MEMBER), retention);
    }

    /// Forgets all but the newest.
    pub(super) fn clear_past(&mut self) {
        self.0.clear_past();
    }

    /// Scales points of the group's sum, which come in order, to as many members as it has now.
    ///
    /// What it had with fewer members counts as if each of those that joined since had taken as much as the others had:
    /// then what joined is no growth, and growth is only what all of them have more than as many would have had. What it
    /// had with more members stays as it was, so that those that left make no growth of the rest either.
    pub(super) fn level(&self, points: &mut [Point]) {
        let Some(last) = points.last().filter(|_| !self.0.is_constant()) else {
            return;
        };
        let mut counts = Vec::new();
        self.0.collect_points(&mut counts);
        let mut held = Vec::new();
        let now = usual(&counts, last.to.saturating_sub(AROUND), last.to, &mut held);
        for point in points {
            let (from, to) = (point.from.saturating_sub(AROUND), point.to + AROUND);
            let then = usual(&counts, from, to, &mut held);
            if then < now {
                let scaled = |bytes: u64| (u128::from(bytes) * u128::from(now) / u128::from(then)) as u64;
                (point.min, point.last, point.max) = (scaled(point.min), scaled(point.last), scaled(point.max));
            }
        }
    }

    /// Returns its memory in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// Returns the number that there was for most of that time, at least one: the median by time. `held` is a buffer.
fn usual(counts: &[Point], from: Duration, to: Duration, held: &mut Vec<(u64, Duration)>) -> u64 {
    // The one that held when the time began.
    let first = counts.partition_point(|count| count.from <= from).saturating_sub(1);
    held.clear();
    for (at, count) in counts.iter().enumerate().skip(first) {
        if count.from > to {
            break;
        }
        // A number holds until the next one.
        let end = counts.get(at + 1).map_or(to, |next| next.from.min(to));
        held.push((count.last, end.saturating_sub(count.from.max(from))));
    }
    order::sort_by(held, Ord::cmp);
    let half = held.iter().map(|(_, time)| *time).sum::<Duration>() / 2;
    let mut passed = Duration::ZERO;
    let median = held.iter().find(|(_, time)| {
        passed += *time;
        passed >= half
    });
    median.map_or(MEMBER, |(count, _)| *count).max(MEMBER)
}
