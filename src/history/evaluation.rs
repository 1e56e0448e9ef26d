//! Who is judged when: every series in its turn, so that no snapshot pays for all.

use std::time::Duration;

use crate::history::time_series::TimeSeries;
use crate::trend::{Judgement, Metric, Params, Point, Verdict, judge};

/// From one judgement of a series to the next: while it moves; and while it does not, or has been known for over an
/// hour, since whoever looks more often sees more that is not there.
const SOON: u32 = 10;
const LATER: u32 = 30;
const LONG: u32 = 3600;

/// What one judgement costs beside that of its points, as so many points.
pub const EVALUATION_OVERHEAD: usize = 50;

/// How many points may be judged a second, so that a snapshot of many restless processes takes no longer than
/// some milliseconds; who is left out comes first at the next.
pub const POINTS_PER_SECOND: usize = 150_000;

/// A series as its judge knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Case {
    latest: Judgement,
    /// The second from which on it is due again; 0 where it was never heard of.
    due: u32,
    /// It moved since the last judgement.
    stirred: bool,
}

impl Case {
    /// The last judgement.
    pub(super) const fn judgement(&self) -> &Judgement {
        &self.latest
    }

    /// It moved.
    pub(super) const fn stir(&mut self) {
        self.stirred = true;
    }
}

/// The judge of all series.
#[derive(Debug, Default)]
pub(super) struct Judge {
    params: Params,
    /// Of this snapshot, on the clock of all.
    now: u32,
    /// How many points may still be looked at.
    left: usize,
    points: Vec<Point>,
}

impl Judge {
    /// One that goes by these parameters.
    pub(super) fn new(params: Params) -> Self {
        Self {
            params,
            ..Self::default()
        }
    }

    /// A snapshot begins.
    pub(super) fn begin(&mut self, now: Duration, rhythm: Duration) {
        self.now = u32::try_from(now.as_secs()).unwrap_or(u32::MAX);
        self.left = POINTS_PER_SECOND.saturating_mul(rhythm.as_secs().clamp(1, 3600) as usize);
    }

    /// Judges a series, if that is due.
    pub(super) fn hear(
        &mut self,
        case: &mut Case,
        levels: &TimeSeries,
        own: &TimeSeries,
        born: Option<Duration>,
        salt: u32,
    ) {
        if case.due > self.now {
            return;
        }
        if case.due == 0 {
            // All that were there in the beginning would be due at once.
            case.due = self.now.saturating_add(1 + salt % SOON);
            return;
        }
        if self.left == 0 {
            return;
        }
        // What never moved is judged only to say that it is steady.
        if levels.is_flat() && own.is_flat() && case.latest.verdict == Verdict::Steady {
            case.due = self.now.saturating_add(LATER);
            return;
        }
        self.decide(case, levels, own, born);
        let moves = case.stirred
            || matches!(
                case.latest.verdict,
                Verdict::Warming | Verdict::Growing | Verdict::Leaking
            );
        let begin = levels.begin().map_or(0, |begin| begin.as_secs() as u32);
        let known = self.now.saturating_sub(begin);
        case.due = self
            .now
            .saturating_add(if moves && known < LONG { SOON } else { LATER });
        case.stirred = false;
    }

    /// Judges a series now.
    pub(super) fn decide(&mut self, case: &mut Case, levels: &TimeSeries, own: &TimeSeries, born: Option<Duration>) {
        let mut judged = self.look(levels, born);
        // Whoever leaks leaks; whoever does not seem to may do so behind what it shares.
        if judged.verdict != Verdict::Leaking && !own.is_flat() {
            let anonymous = self.look(own, born);
            if anonymous.verdict >= Verdict::Growing && anonymous.verdict > judged.verdict {
                judged = anonymous;
                judged.metric = Metric::Anonymous;
            }
        }
        case.latest = judged.with_hysteresis(&case.latest);
    }

    fn look(&mut self, levels: &TimeSeries, born: Option<Duration>) -> Judgement {
        levels.collect_points(&mut self.points);
        self.left = self.left.saturating_sub(self.points.len() + EVALUATION_OVERHEAD);
        judge(&self.points, born, &self.params)
    }
}
