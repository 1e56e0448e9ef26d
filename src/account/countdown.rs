//! Forecasts when a falling quantity is used up.
//!
//! The pace is measured over windows of 16 to 512 seconds. Each window has 4 quarters, and the medians of the quarters
//! must fall one after the other. So neither a single allocation nor a fall that has stopped counts as a pace. If the
//! quantity was already as low before the window, the fall may be one tooth of a sawtooth: see [`Forecast::is_tooth`].
//!
//! A forecast must not reach much further than its evidence: a pace is extrapolated to at most `DANGER_REACH` times
//! the time for which this fall has been observed (for a cgroup, `CGROUP_REACH` times). So a danger is reported once a fifth
//! of the time to the limit has passed, and a compiler that takes a gigabyte within half a minute and then ends is not reported as filling the
//! machine in half an hour. A limit less than 1 minute ahead needs less evidence: 2 falls in a row. At
//! intervals of up to 1 second, they take 3 seconds.
//! Once the fall stops, or the quantity rises as after a kill, the forecast ends, whatever the pace was. If it only slows, as
//! when memory has to be swapped out first, the forecast goes on while less than a minute is left.
//!
//! The constants are in [the table](crate::trend::parameters::TABLE) of the trends.

use std::collections::VecDeque;
use std::time::Duration;

use crate::trend::parameters::{
    DANGER_EVENNESS, DANGER_ONSET, DANGER_PAUSE, DANGER_RELIEF, DANGER_REST, DANGER_REST_PACE, DANGER_REST_SHARE,
    DANGER_VALUES, DANGER_WINDOWS, SAFE_TOOTH, SURGE_EVENNESS, SURGE_LONGEST, SURGE_STEP, URGENT,
};

/// Age up to which every value is kept. Of older values, only the lowest of each [`COARSE_STEP`] is kept.
const FINE_SPAN: Duration = Duration::from_secs(128);
/// Interval of older values.
const COARSE_STEP: Duration = Duration::from_secs(4);
/// Minimum interval between values.
const FINE_STEP: Duration = Duration::from_millis(500);
/// Maximum delay of the first value after the beginning of a window.
const SLACK: Duration = Duration::from_millis(1500);

/// Minimum factor between the paces of a longer window and of a shorter one that is used instead.
const FASTER: f64 = 2.0;

/// The time within which a fall that is not forecast yet must go on.
const ONSET: Duration = Duration::from_millis(1500);

type Value = (Duration, u64);

/// The values of a quantity in the last minutes.
#[derive(Clone, Debug, Default)]
pub struct Countdown {
    /// Older values. They end where `fine` begins.
    coarse: VecDeque<Value>,
    fine: VecDeque<Value>,
    /// The last forecast, and when it was made.
    last: Option<(Forecast, Duration)>,
    /// The last end of a danger because the quantity rose.
    relieved_at: Option<Duration>,
}

/// The time at which a quantity is used up if it continues to fall at its pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Forecast {
    /// The current value of the quantity.
    pub left: u64,
    /// Its fall, in bytes per second.
    pub pace: f64,
    /// The time over which the pace was measured.
    pub window: Duration,
    /// The time of the first forecast of this fall, on the monotonic clock.
    pub since: Duration,
    /// The quantity was as low before, and was not used up then. The fall may be one tooth of a sawtooth.
    pub is_tooth: bool,
}

impl Forecast {
    /// Returns the time left, in seconds.
    pub fn seconds(&self) -> f64 {
        self.left as f64 / self.pace
    }

    pub fn time(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds()).unwrap_or_default()
    }
}

impl Countdown {
    /// Adds a value. Values less than half a second after the previous one are skipped.
    pub fn push(&mut self, now: Duration, value: u64) {
        let is_late = |(at, _): &Value| now.saturating_sub(*at) >= FINE_STEP;
        if !self.fine.back().is_none_or(is_late) {
            return;
        }
        self.fine.push_back((now, value));
        while let Some((at, value)) = self.fine.front().copied() {
            if now.saturating_sub(at) <= FINE_SPAN {
                break;
            }
            self.fine.pop_front();
            match self.coarse.back_mut() {
                Some((begin, lowest)) if at.saturating_sub(*begin) < COARSE_STEP => *lowest = value.min(*lowest),
                _ => self.coarse.push_back((at, value)),
            }
        }
        let longest = DANGER_WINDOWS.last().copied().unwrap_or_default();
        // Keep one value at or before the start of the longest window.
        let is_past = |(at, _): &Value| now.saturating_sub(*at) >= longest;
        while self.coarse.get(1).is_some_and(is_past) {
            self.coarse.pop_front();
        }
    }

    /// Returns a copy that has made no forecast yet.
    #[must_use]
    pub fn without_forecast(&self) -> Self {
        Self {
            last: None,
            relieved_at: None,
            ..self.clone()
        }
    }

    /// Returns the forecast if the quantity is used up within `within`. To avoid flicker, a reported forecast stays for
    /// some seconds, and while the time left is at most a quarter longer than `within`. It ends at once if the quantity
    /// stops falling.
    ///
    /// `left` is what is left of the quantity now. It may be less than the last value, if a part of the values never runs
    /// out. A pace is extrapolated to `reach` times the time for which it was observed.
    pub fn forecast(&mut self, within: Duration, left: u64, reach: f64) -> Option<Forecast> {
        let (now, value) = *self.fine.back()?;
        if let Some((last, _)) = &self.last
            && self.is_relieved(now, value, last)
        {
            self.relieve(now);
        }
        // Most limits are far away, and nothing moves below them.
        let has_fallen = |(_, earlier)| earlier > value;
        if self.last.is_none() && !self.before(now, ONSET).is_some_and(has_fallen) {
            return None;
        }
        let since = self.last.as_ref().map(|(last, _)| last.since);
        let bound = within.as_secs_f64() * if since.is_some() { 1.25 } else { 1.0 };
        let windows = DANGER_WINDOWS
            .into_iter()
            .rev()
            .filter_map(|window| {
                let reach = |seen: Duration| (seen.as_secs_f64() * reach).max(URGENT.as_secs_f64()).min(bound);
                let least = left as f64 / reach(window);
                let pace = self.pace(now, value, window, least)?;
                let is_near = left as f64 / pace <= reach(self.seen(now, value, window));
                (is_near && !self.rests(now, value, pace, window)).then_some((pace, window))
            })
            .map(|(pace, window)| (pace, window, self.is_safe_tooth(now.saturating_sub(window), value)));
        // The longest window that shows a fall has the most reliable pace, unless a faster one began within it.
        let soonest = windows.chain(self.surge(now, value, left)).reduce(|longer, shorter| {
            if shorter.0 >= longer.0 * FASTER {
                shorter
            } else {
                longer
            }
        });
        let soonest = soonest.map(|(pace, window, is_tooth)| Forecast {
            is_tooth,
            left,
            pace,
            window,
            since: since.unwrap_or(now),
        });
        let found = soonest.or(self.last.map(|(last, _)| Forecast { left, ..last }))?;
        if soonest.is_some() {
            self.last = Some((found, now));
        }
        let is_over = self.last.is_none_or(|(_, at)| now.saturating_sub(at) >= DANGER_PAUSE);
        if !is_over && !self.rests(now, value, found.pace, found.window) {
            return Some(found);
        }
        self.last = self
            .slowed(now, value, left)
            .map(|pace| (Forecast { pace, ..found }, now));
        self.last.map(|(slower, _)| slower)
    }

    /// Ends the forecast. Falls before `now` no longer count.
    pub fn relieve(&mut self, now: Duration) {
        (self.last, self.relieved_at) = (None, Some(now));
    }

    /// Returns the rate of a fall that continues more slowly, if less than [`URGENT`] is `left` at this pace.
    fn slowed(&self, now: Duration, value: u64, left: u64) -> Option<f64> {
        let step = DANGER_REST[1] / 2;
        let (middle, second) = self.before(now, step)?;
        let (begin, first) = self.before(middle, step)?;
        let pace = (first as f64 - value as f64) / now.saturating_sub(begin).as_secs_f64();
        let falls = [first as f64 - second as f64, second as f64 - value as f64];
        let least = pace * step.as_secs_f64() * DANGER_EVENNESS;
        let is_even = pace > 0.0 && falls.iter().all(|fall| *fall >= least);
        let goes_on = is_even && !self.rests(now, value, pace, DANGER_REST[0]);
        (goes_on && left as f64 / pace <= URGENT.as_secs_f64() && self.is_since_relief(begin)).then_some(pace)
    }

    /// Returns true if the quantity is lower than ever before the window of a forecast, by half of its fall or more.
    pub fn is_new_low(&self, forecast: &Forecast) -> bool {
        let Some((now, value)) = self.fine.back() else {
            return true;
        };
        let begin = now.saturating_sub(forecast.window);
        let lowest = self.before_time(begin).min();
        let fall = forecast.pace * forecast.window.as_secs_f64();
        lowest.is_none_or(|lowest| lowest as f64 - *value as f64 >= fall / 2.0)
    }

    /// Returns all values, oldest first.
    fn values(&self) -> impl DoubleEndedIterator<Item = Value> {
        self.coarse.iter().chain(&self.fine).copied()
    }

    /// Returns the quantities before that time, oldest first.
    fn before_time(&self, begin: Duration) -> impl Iterator<Item = u64> {
        self.values()
            .take_while(move |(at, _)| *at < begin)
            .map(|(_, value)| value)
    }

    /// Returns the lowest quantity within `age` before `now`; `u64::MAX` without any.
    pub fn lowest_within(&self, now: Duration, age: Duration) -> u64 {
        let values = self.fine.iter().rev();
        let within = values.take_while(|(at, _)| now.saturating_sub(*at) <= age);
        within.map(|(_, value)| *value).min().unwrap_or(u64::MAX)
    }

    /// Returns the highest quantity within `age` before the lowest of the `newest` values, and that lowest one. `None` without any.
    pub fn fall_within(&self, age: Duration, newest: usize) -> Option<[u64; 2]> {
        let (end, lowest) = self.values().rev().take(newest).min_by_key(|(_, value)| *value)?;
        let begin = self.before(end, age).map_or(Duration::ZERO, |(at, _)| at);
        let within = self.values().filter(|(at, _)| (begin..=end).contains(at));
        let highest = within.map(|(_, value)| value).max()?;
        Some([highest, lowest])
    }

    /// Returns by how much it fell in the last `age` or a little more, and that time; `None` if it was not known then, or rose.
    pub fn fall_over(&self, age: Duration) -> Option<(u64, Duration)> {
        let (now, newest) = *self.fine.back()?;
        let (at, earlier) = self.before(now, age)?;
        let fall = earlier.checked_sub(newest).filter(|fall| *fall > 0)?;
        Some((fall, now.saturating_sub(at)))
    }

    /// Returns the newest value of at least that age.
    fn before(&self, at: Duration, age: Duration) -> Option<Value> {
        self.values().rev().find(|(then, _)| at.saturating_sub(*then) >= age)
    }

    /// Returns true if the quantity rose by more than it falls in some seconds, and by half of the last fall, as after a kill. A program
    /// that allocates and frees memory meanwhile does not end the fall.
    fn is_relieved(&self, now: Duration, value: u64, last: &Forecast) -> bool {
        let before = self.fine.iter().rev().nth(1);
        let has_risen = |(_, before): &Value| value as f64 - *before as f64 >= last.pace * DANGER_RELIEF.as_secs_f64();
        let fall = last.pace * last.window.as_secs_f64();
        let is_back = |(_, first): Value| value as f64 >= first as f64 - fall / 2.0;
        before.is_some_and(has_risen) && self.before(now, last.window).is_none_or(is_back)
    }

    /// Returns true if the quantity no longer falls at the pace of that window.
    fn rests(&self, now: Duration, value: u64, pace: f64, window: Duration) -> bool {
        let [shortest, longest] = DANGER_REST;
        let span = window.mul_f64(DANGER_REST_SHARE).clamp(shortest, longest);
        // Snapshots may come some milliseconds early.
        let Some((then, before)) = self.before(now, span.mul_f64(0.875)) else {
            return false;
        };
        let seconds = now.saturating_sub(then).as_secs_f64();
        before as f64 - value as f64 <= pace * seconds * DANGER_REST_PACE
    }

    /// Returns the pace of 2 falls in a row, in bytes per second, and the time of both falls. Returns `None` unless
    /// less than [`URGENT`] is `left` at this pace.
    fn surge(&self, now: Duration, value: u64, left: u64) -> Option<(f64, Duration, bool)> {
        let (middle, second) = self.before(now, SURGE_STEP)?;
        let (begin, first) = self.before(middle, SURGE_STEP)?;
        let window = now.saturating_sub(begin);
        let pace =
            |(from, high): Value, (to, low): Value| (high as f64 - low as f64) / to.saturating_sub(from).as_secs_f64();
        let step = now.saturating_sub(middle).min(middle.saturating_sub(begin));
        let both = pace((begin, first), (now, value));
        let each = [
            pace((begin, first), (middle, second)),
            pace((middle, second), (now, value)),
        ];
        let is_even = each.iter().all(|one| *one >= both * SURGE_EVENNESS);
        let is_urgent = both > 0.0 && is_even && left as f64 / both <= URGENT.as_secs_f64();
        // With a long interval the falls take longer. After a gap they are uneven.
        let is_recent = window <= SURGE_LONGEST.max(step * 5 / 2) && self.is_since_relief(begin);
        (is_urgent && is_recent).then(|| (both, window, self.is_safe_tooth(begin, value)))
    }

    /// Returns true if a danger was not over after `begin`: its fall must not be counted again.
    fn is_since_relief(&self, begin: Duration) -> bool {
        self.relieved_at.is_none_or(|at| begin >= at)
    }

    /// Returns true if the quantity was as low before `begin` and was then far from used up. A garbage collector frees
    /// memory well before the limit, but a process that was killed and restarted did not.
    fn is_safe_tooth(&self, begin: Duration, value: u64) -> bool {
        let (lowest, highest) = (self.before_time(begin).min(), self.before_time(begin).max());
        let safe = highest.map_or(0.0, |highest| highest as f64 * SAFE_TOOTH);
        lowest.is_some_and(|lowest| lowest <= value && lowest as f64 >= safe)
    }

    /// Returns the pace of a steady fall over the last window, in bytes per second. Returns `None` if there was none,
    /// or if the fall is clearly slower than `least`.
    fn pace(&self, now: Duration, value: u64, window: Duration, least: f64) -> Option<f64> {
        let (begin, first) = self.before(now, window.saturating_sub(SLACK))?;
        if (first as f64 - value as f64) * 2.0 < least * window.as_secs_f64() || !self.is_since_relief(begin) {
            return None;
        }
        let quarter = window / 4;
        let mut medians = [0.0; 4];
        let mut values = Vec::new();
        for (at, median) in medians.iter_mut().enumerate() {
            let age = |times: usize| quarter * times as u32;
            let (oldest, newest) = (age(4 - at), age(3 - at));
            let within = |(at, _): &Value| {
                let ago = now.saturating_sub(*at);
                ago <= oldest && (ago > newest || newest.is_zero())
            };
            values.clear();
            values.extend(self.values().filter(within).map(|(_, value)| value));
            if values.len() < DANGER_VALUES {
                return None;
            }
            let middle = values.len() / 2;
            *median = *values.select_nth_unstable(middle).1 as f64;
        }
        let mean = (medians[0] - medians[3]) / 3.0;
        let is_even = medians
            .windows(2)
            .all(|pair| pair[0] - pair[1] >= mean * DANGER_EVENNESS);
        (mean > 0.0 && is_even).then(|| mean / quarter.as_secs_f64())
    }

    /// Returns for how long the fall of a window has been observed. The quantity may have been steady in the first part
    /// of the window.
    fn seen(&self, now: Duration, value: u64, window: Duration) -> Duration {
        let Some((begin, first)) = self.before(now, window.saturating_sub(SLACK)) else {
            return Duration::ZERO;
        };
        let high = first as f64 - first.saturating_sub(value) as f64 * DANGER_ONSET;
        let rested = |(at, then): &Value| *at >= begin && *then as f64 >= high;
        let onset = self.values().rev().find(rested).map_or(begin, |(at, _)| at);
        now.saturating_sub(onset)
    }

    /// Returns its memory footprint in bytes.
    pub fn bytes(&self) -> usize {
        (self.coarse.capacity() + self.fine.capacity()) * size_of::<Value>()
    }
}
