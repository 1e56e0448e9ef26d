//! The clocks of the servers that answer, and the clock of the snapshots.
//!
//! # The rule
//! 1. The clock of the snapshots starts at the first evaluation time and advances with this machine's `CLOCK_BOOTTIME`. It
//!    never stops or runs back, whatever a server's clock does.
//! 2. A time in an answer is only compared with the evaluation time of the same clock: the age of a sample is their
//!    difference. A constant error of a clock therefore makes no age wrong.
//! 3. A clock is identified by its difference from the clock of the snapshots. If the difference of an answer changes by more
//!    than [`STEP`], the answer is of another clock: the server's clock was set, or a replica answers. Both are reported as
//!    long as the clocks of the last [`REMEMBERED`] differ. A clock that was set back is reported until it has passed its old
//!    time: until then a server has figures of that time, and may accept no new ones.

use std::time::Duration;

use crate::units;

/// Minimum difference between two clocks, in seconds: above [the longest time](super::query) that an answer takes, which
/// looks like a difference.
const STEP: f64 = 40.0;
/// Maximum correction by one answer for a clock that runs faster than this machine's, in seconds.
const DRIFT: f64 = 0.01;
/// Time for which a clock is remembered after its last answer.
const REMEMBERED: Duration = Duration::from_secs(300);
const MAX_CLOCKS: usize = 8;

/// The clocks of the answers.
#[derive(Default)]
pub(super) struct Clocks {
    /// The first evaluation time, and the time of its query.
    zero: Option<(Duration, Duration)>,
    /// The clocks of the last [`REMEMBERED`]; the clock of the last answer is at the end.
    known: Vec<Clock>,
    /// The last time when a clock answered again after another one.
    alternated: Option<Duration>,
}

/// A clock of a server.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Its time minus the time of the snapshots, in seconds.
    ahead: f64,
    /// The times of its first and last answer, by the clock of the snapshots.
    first: Duration,
    last: Duration,
    /// Its latest evaluation time.
    latest: Duration,
    /// It answered in turns with another clock: both are replicas.
    is_replica: bool,
}

impl Clock {
    /// Converts a time of this clock to the time of the snapshots.
    pub fn place(&self, theirs: Duration) -> Duration {
        Duration::try_from_secs_f64(theirs.as_secs_f64() - self.ahead).unwrap_or_default()
    }

    /// Converts a time of the snapshots to the time of this clock.
    pub fn theirs(&self, ours: Duration) -> Duration {
        Duration::try_from_secs_f64(ours.as_secs_f64() + self.ahead).unwrap_or_default()
    }
}

impl Clocks {
    /// Converts this machine's `CLOCK_BOOTTIME` to the time of the snapshots; `None` before the first answer.
    pub(super) fn now(&self, elapsed: Duration) -> Option<Duration> {
        let (began, asked) = self.zero?;
        Some(began.saturating_add(elapsed.saturating_sub(asked)))
    }

    /// Adds the evaluation time of an answer to a query that was sent at this `CLOCK_BOOTTIME`. Returns its clock.
    pub(super) fn hear(&mut self, evaluated: Duration, asked: Duration) -> Clock {
        self.zero.get_or_insert((evaluated, asked));
        let now = self.now(asked).unwrap_or(evaluated);
        let ahead = evaluated.as_secs_f64() - now.as_secs_f64();
        let is_recent = |clock: &Clock| now.saturating_sub(clock.last) < REMEMBERED;
        let step = Duration::from_secs_f64(STEP);
        self.known
            .retain(|clock| is_recent(clock) || (!clock.is_replica && clock.latest > evaluated.saturating_add(step)));
        let distance = |clock: &Clock| (clock.ahead - ahead).abs();
        let nearest =
            (0..self.known.len()).min_by(|a, b| distance(&self.known[*a]).total_cmp(&distance(&self.known[*b])));
        let found = nearest.filter(|at| distance(&self.known[*at]) <= STEP);
        let clock = match found {
            Some(at) => {
                let is_other = at + 1 != self.known.len();
                if is_other {
                    self.alternated = Some(now);
                    self.known
                        .last_mut()
                        .into_iter()
                        .for_each(|last| last.is_replica = true);
                }
                let known = self.known.remove(at);
                // The less time a query takes to arrive, the more exact the difference; an increase is drift.
                let ahead = ahead.min(known.ahead + DRIFT);
                Clock {
                    ahead,
                    last: now.max(known.last),
                    latest: evaluated.max(known.latest),
                    is_replica: known.is_replica || is_other,
                    ..known
                }
            }
            None => Clock {
                ahead,
                first: now,
                last: now,
                latest: evaluated,
                is_replica: false,
            },
        };
        if self.known.len() >= MAX_CLOCKS {
            self.known.remove(0);
        }
        self.known.push(clock);
        clock
    }

    /// Returns the clock of the times of day: the last one, or the first one of several that alternate.
    pub(super) fn chief(&self, now: Duration) -> Option<Clock> {
        if self.alternates(now) {
            self.known.iter().min_by_key(|clock| clock.first).copied()
        } else {
            self.known.last().copied()
        }
    }

    fn alternates(&self, now: Duration) -> bool {
        self.alternated.is_some_and(|at| now.saturating_sub(at) < REMEMBERED)
    }

    /// Returns a remark on clocks that differ; `None` if there is only one.
    pub(super) fn remark(&self, now: Duration) -> Option<String> {
        let [.., before, last] = self.known.as_slice() else {
            return None;
        };
        let aheads = || self.known.iter().map(|clock| clock.ahead);
        let spread = aheads().fold(f64::MIN, f64::max) - aheads().fold(f64::MAX, f64::min);
        let span = |seconds: f64| units::span(Duration::try_from_secs_f64(seconds.abs().round()).unwrap_or_default());
        Some(if self.alternates(now) {
            format!(
                "several servers answer in turn, and their clocks differ by {}",
                span(spread)
            )
        } else {
            let by = last.ahead - before.ahead;
            let how = if by < 0.0 { "back" } else { "ahead" };
            format!(
                "its clock was set {how} by {}: it may return figures of another time",
                span(by)
            )
        })
    }
}
