//! The player's clock: decides when the next snapshot of a recording is due. Pure; the caller passes the time.

use std::time::Duration;

use crate::model::Snapshot;

/// The factors by which recorded time passes faster.
pub const SPEEDS: [u32; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/// A longer recorded time without a snapshot is cut to [`SHORT_GAP`]: no user wants to wait for a night without zmtop.
const LONG_GAP: Duration = Duration::from_secs(120);
/// The time that the player waits in place of a long gap.
const SHORT_GAP: Duration = Duration::from_secs(1);
/// A snapshot that is shown later than this after it was due delays those that follow. Otherwise the player would hurry to
/// catch up after each slow read.
const LATE: Duration = Duration::from_millis(100);

/// The speed, and when the snapshot on the screen was shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Player {
    /// The index in [`SPEEDS`].
    speed: usize,
    is_playing: bool,
    /// The time at which the snapshot on the screen was due, on the caller's clock.
    shown: Option<Duration>,
}

impl Player {
    /// Creates a player at the highest speed that is not above `speed`.
    pub fn new(speed: u32, is_playing: bool) -> Self {
        Self {
            speed: SPEEDS.iter().rposition(|known| *known <= speed).unwrap_or(0),
            is_playing,
            shown: None,
        }
    }

    pub const fn speed(&self) -> u32 {
        SPEEDS[self.speed]
    }

    pub const fn is_playing(&self) -> bool {
        self.is_playing
    }

    /// Returns when the next snapshot is due, which was recorded `gap` after the one on the screen. `None` while paused. The
    /// first snapshot is due at once, even while paused.
    pub fn due(&self, gap: Duration) -> Option<Duration> {
        let Some(shown) = self.shown else {
            return Some(Duration::ZERO);
        };
        let wait = if gap > LONG_GAP {
            SHORT_GAP.min(gap / self.speed())
        } else {
            gap / self.speed()
        };
        self.is_playing.then_some(shown + wait)
    }

    /// Notes that a snapshot is shown that was due then.
    pub fn show(&mut self, due: Duration, now: Duration) {
        self.shown = Some(if now.saturating_sub(due) > LATE { now } else { due });
    }

    /// Plays or pauses. The time until the next snapshot begins again.
    pub fn toggle(&mut self, now: Duration) {
        self.set_playing(!self.is_playing, now);
    }

    pub fn set_playing(&mut self, is_playing: bool, now: Duration) {
        if is_playing && !self.is_playing && self.shown.is_some() {
            self.shown = Some(now);
        }
        self.is_playing = is_playing;
    }

    /// Plays faster or slower. The recorded time that has passed since the snapshot on the screen stays the same.
    pub fn change_speed(&mut self, faster: bool, now: Duration) {
        let before = self.speed();
        self.speed = if faster {
            (self.speed + 1).min(SPEEDS.len() - 1)
        } else {
            self.speed.saturating_sub(1)
        };
        let after = self.speed();
        if let Some(shown) = &mut self.shown {
            let passed = now.saturating_sub(*shown) * before / after;
            *shown = now.saturating_sub(passed);
        }
    }
}

/// Returns the recorded time between two snapshots, by the monotonic clock, which no one sets. Between two boots or hosts it
/// is the interval.
pub fn gap(last: &Snapshot, next: &Snapshot) -> Duration {
    let is_same = last.boot_id == next.boot_id && last.host == next.host;
    let gap = next.monotonic.checked_sub(last.monotonic);
    gap.filter(|_| is_same).unwrap_or(next.interval)
}
