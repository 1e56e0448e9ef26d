//! The time until a quantity that falls is used up.
//!
//! A pace is taken over windows of 16 to 128 seconds, each in four quarters, of which the medians must fall one after the
//! other: a single allocation is no pace, nor is what rests again. What was as low before, as far as it is known, is the
//! tooth of a saw. A pace is extrapolated to eight times its window, that of the longest to fifteen times: half an hour
//! takes two minutes to see, and two minutes take 16 seconds. A compiler that takes a gigabyte within half a minute, and
//! then ends, is none.

use std::collections::VecDeque;
use std::time::Duration;

/// The windows, from the shortest, in seconds, and the time that a pace is extrapolated to as a multiple of each.
const WINDOWS: [(u64, f64); 4] = [(16, 8.0), (32, 8.0), (64, 8.0), (128, 15.0)];
/// Minimum fall from a quarter to the next one as a share of the mean: less is a fall that has ended, or a step.
const MIN_EVENNESS: f64 = 0.35;
/// Minimum number of values in a quarter, so that a median is one.
const MIN_VALUES: usize = 3;
/// Time without any such pace after which it is over: a moment without growth is none.
const OVER: Duration = Duration::from_secs(10);

/// The values that a quantity had in the last minutes.
#[derive(Clone, Debug, Default)]
pub struct Countdown {
    values: VecDeque<(Duration, u64)>,
    /// The last forecast, and when it was made.
    last: Option<(Forecast, Duration)>,
}

/// When a quantity is used up, should it go on falling at its pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The quantity now.
    pub left: u64,
    /// Its fall in bytes a second.
    pub pace: f64,
    /// The time that the pace was taken over.
    pub window: Duration,
    /// When this fall was first seen to end soon, on the monotonic clock.
    pub since: Duration,
}

impl Forecast {
    /// Returns the time that is left, in seconds.
    pub fn seconds(&self) -> f64 {
        self.left as f64 / self.pace
    }

    /// Returns the time that is left.
    pub fn time(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds()).unwrap_or_default()
    }
}

impl Countdown {
    /// Takes in a value; a second one within half a second is left out.
    pub fn push(&mut self, now: Duration, value: u64) {
        let is_late = |(at, _): &(Duration, u64)| now.saturating_sub(*at) >= Duration::from_millis(500);
        if !self.values.back().is_none_or(is_late) {
            return;
        }
        self.values.push_back((now, value));
        let longest = Duration::from_secs(WINDOWS[WINDOWS.len() - 1].0);
        // One value at the window's start, or before it.
        while self
            .values
            .get(1)
            .is_some_and(|(at, _)| now.saturating_sub(*at) >= longest)
        {
            self.values.pop_front();
        }
    }

    /// Returns the forecast where the quantity is used up within that time. One that was told is told for some seconds
    /// more, and until the time left is a quarter longer, so that it does not come and go.
    pub fn forecast(&mut self, within: Duration) -> Option<Forecast> {
        let (now, left) = *self.values.back()?;
        let since = self.last.as_ref().map(|(last, _)| last.since);
        let bound = within.as_secs_f64() * if since.is_some() { 1.25 } else { 1.0 };
        let soonest = WINDOWS
            .iter()
            .rev()
            // The longest window that sees it tells the pace best.
            .find_map(|(window, reach)| {
                let window = Duration::from_secs(*window);
                let pace = self.pace(now, window)?;
                let seconds = left as f64 / pace;
                (seconds <= bound.min(window.as_secs_f64() * reach)).then_some((pace, window))
            });
        if let Some((pace, window)) = soonest {
            let forecast = Forecast {
                left,
                pace,
                window,
                since: since.unwrap_or(now),
            };
            self.last = Some((forecast, now));
            return Some(forecast);
        }
        let (last, at) = self.last?;
        if now.saturating_sub(at) >= OVER {
            self.last = None;
            return None;
        }
        Some(Forecast { left, ..last })
    }

    /// Returns how fast it fell throughout the last window, in bytes a second; `None` where it did not.
    fn pace(&self, now: Duration, window: Duration) -> Option<f64> {
        let quarter = window / 4;
        let known = self.values.front()?.0;
        // Values come a second apart, more or less.
        if now.saturating_sub(known) + Duration::from_millis(1500) < window {
            return None;
        }
        let mut medians = [0.0; 4];
        for (at, median) in medians.iter_mut().enumerate() {
            let age = |times: usize| quarter * times as u32;
            let (oldest, newest) = (age(4 - at), age(3 - at));
            let within = |(at, _): &&(Duration, u64)| {
                let ago = now.saturating_sub(*at);
                ago <= oldest && (ago > newest || newest.is_zero())
            };
            let mut values: Vec<u64> = self.values.iter().filter(within).map(|(_, value)| *value).collect();
            if values.len() < MIN_VALUES {
                return None;
            }
            let middle = values.len() / 2;
            *median = *values.select_nth_unstable(middle).1 as f64;
        }
        let newest = self.values.back()?.1;
        let before = self.values.iter().filter(|(at, _)| now.saturating_sub(*at) > window);
        if before
            .map(|(_, value)| *value)
            .min()
            .is_some_and(|lowest| lowest <= newest)
        {
            return None;
        }
        let mean = (medians[0] - medians[3]) / 3.0;
        let is_even = medians.windows(2).all(|pair| pair[0] - pair[1] >= mean * MIN_EVENNESS);
        (mean > 0.0 && is_even).then(|| mean / quarter.as_secs_f64())
    }

    /// Returns its memory in bytes.
    pub fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<(Duration, u64)>()
    }
}
