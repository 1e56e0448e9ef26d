//! The number of members of a group over time, and its series as if that number had never changed.

use std::time::Duration;

use crate::history::time_series::{Retention, TimeSeries};
use crate::trend::Point;

/// The value that stands for one member: far more than what a series takes for the same.
const MEMBER: u64 = 1 << 20;
/// Time after which a member that joined counts as one that stays: what lives for moments must not hide the growth of
/// the rest. A floor of the shortest window that is judged is as long.
const JOINED: Duration = Duration::from_secs(60);

/// The number of members of a group that have memory, since it began.
#[derive(Debug, Default)]
pub(super) struct MemberCounts(TimeSeries);

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
        let lowest_since = |from: Duration, to: Duration| {
            let counts = self.0.points_since(0, from).take_while(|count| count.from <= to);
            counts.map(|count| count.min).min()
        };
        let newest = self.0.newest().map(|(_, count)| count);
        let now = lowest_since(last.to.saturating_sub(JOINED), last.to).or(newest);
        let now = now.unwrap_or(MEMBER).max(MEMBER);
        let mut counts = Vec::new();
        self.0.collect_points(&mut counts);
        let mut at = 0;
        for point in points {
            // A count holds until the next one.
            while counts.get(at + 1).is_some_and(|next| next.from <= point.from) {
                at += 1;
            }
            let within = counts[at..].iter().take_while(|count| count.from <= point.to);
            let then = within.map(|count| count.min).min().unwrap_or(MEMBER).max(MEMBER);
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
