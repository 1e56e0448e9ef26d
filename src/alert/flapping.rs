//! Flapping: an alert that fires again and again for the same target.

use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// Number of fires within [`WINDOW`] that are flapping. Two may be two incidents; a third so soon is a bound set where
/// the figure swings.
const FIRES: usize = 3;

/// Time within which the fires are counted. An alert that swings all the time fires every 10 minutes under the shipped
/// cooldown, thus for the third time after 20.
const WINDOW: Duration = Duration::from_secs(30 * MINUTE.as_secs());

/// Time for which the condition must neither begin nor cease to hold until an alert that flaps is steady: the longest
/// period of a regular swing that is flapping, so that such a swing is never taken for steady. Only observed time counts.
pub const CALM: Duration = Duration::from_secs(WINDOW.as_secs() / (FIRES as u64 - 1));

/// The latest fires of one target.
#[derive(Debug, Default)]
pub(super) struct Flaps {
    /// The times of the latest fires before the one that would be flapping, oldest first.
    fires: [Option<Duration>; FIRES - 1],
    /// While it flaps: the state that is not told.
    unsettled: Option<Unsettled>,
}

#[derive(Debug)]
struct Unsettled {
    is_true: bool,
    /// The observed time since that changed.
    steady: Duration,
}

impl Flaps {
    /// Takes in that the alert fires; returns true if it is flapping now.
    pub(super) fn fire(&mut self, now: Duration) -> bool {
        let oldest = self.fires[0];
        if oldest.is_some_and(|at| now.saturating_sub(at) <= WINDOW) {
            *self = Self {
                unsettled: Some(Unsettled {
                    is_true: true,
                    steady: Duration::ZERO,
                }),
                ..Self::default()
            };
            return true;
        }
        self.fires.rotate_left(1);
        self.fires[FIRES - 2] = Some(now);
        false
    }

    /// Returns true if it is flapping.
    pub(super) const fn is_flapping(&self) -> bool {
        self.unsettled.is_some()
    }

    /// Returns true if one of its fires still counts.
    pub(super) fn counts(&self, now: Duration) -> bool {
        self.fires[FIRES - 2].is_some_and(|at| now.saturating_sub(at) <= WINDOW)
    }

    /// Takes in the state of an alert that flaps, observed for another `step`; returns true if it is steady, and ends
    /// the flapping then.
    pub(super) fn settle(&mut self, is_true: bool, step: Duration) -> bool {
        let Some(unsettled) = &mut self.unsettled else {
            return false;
        };
        if unsettled.is_true == is_true {
            unsettled.steady = unsettled.steady.saturating_add(step);
        } else {
            *unsettled = Unsettled {
                is_true,
                steady: Duration::ZERO,
            };
        }
        let calm = unsettled.steady >= CALM;
        if calm {
            self.unsettled = None;
        }
        calm
    }
}
