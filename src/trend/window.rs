//! Windows: how the newest floors of each horizon move, and which of them show a leak.
//!
//! A window is the newest twelve or sixteen floors of a horizon, from a minute to a month. In a growing window each
//! quarter is above the one before by its share, and the series has left the range it had before, unlike noise, steps
//! and saw-teeth. The shortest window that moves shows the present movement. A leak is growth in a window of at least a
//! quarter of an hour that does not level off there, nor in the longer windows around it.

use std::cell::OnceCell;
use std::time::Duration;

use crate::trend::finding::{Finding, confidence, min_growth};
use crate::trend::fit::{Fit, Floors, PreparedRow, lowest, span_seconds, without_step};
use crate::trend::parameters::{
    CLEAR_CURVATURE, DAY, ERODED_SPANS, FLOORS_BELOW_TEETH, HORIZONS, LEAST_LEAK, LEAST_PACE, LONGER_GROWTH,
    LONGER_WINDOWS, MAX_EVIDENCE_WITHOUT_LEAK, MAX_RATIO_OF_NEWER, MIN_ABOVE_PEAK, MIN_CURVATURE, MIN_KNOWN_SHARE,
    MIN_MEAN_RISE, MIN_QUARTER_SHARE, MIN_TEETH, SHORTEST_WINDOW, SPANS, WINDOWS,
};
use crate::trend::verdict::Reasons;
use crate::trend::{Params, Point, Verdict};

/// Evaluates the windows of a series. Rows are prepared on demand.
pub(super) struct Windows<'a> {
    points: &'a [Point],
    floors: &'a Floors,
    rows: [OnceCell<Option<PreparedRow>>; HORIZONS],
    params: &'a Params,
}

/// A window in which each quarter is above the one before, or each below.
struct Movement<'a> {
    horizon: usize,
    window: &'a [f64],
    /// The lowest floor of the first quarter, in bytes.
    from: f64,
    /// The change to the lowest floor of the last quarter, in bytes.
    by: f64,
}

impl Movement<'_> {
    /// In seconds.
    fn length(&self) -> f64 {
        span_seconds(self.horizon) * self.window.len() as f64
    }

    /// In bytes per second. The floors of the outer quarters are three quarters of the window apart.
    fn pace(&self) -> f64 {
        self.by / (0.75 * self.length())
    }

    fn finding(&self, verdict: Verdict, fit: &Fit, confidence: f64) -> Finding {
        Finding {
            verdict,
            slope: fit.slope / span_seconds(self.horizon),
            confidence,
            length: self.length(),
            growth: fit.slope * (self.window.len() as f64 - 1.0),
            reasons: None,
        }
    }
}

impl<'a> Windows<'a> {
    /// `floors` belong to the points.
    pub(super) const fn new(points: &'a [Point], floors: &'a Floors, params: &'a Params) -> Self {
        Self {
            points,
            floors,
            rows: [const { OnceCell::new() }; HORIZONS],
            params,
        }
    }

    fn row(&self, horizon: usize) -> Option<&PreparedRow> {
        let prepare = || PreparedRow::new(self.floors.row(horizon)?);
        self.rows.get(horizon)?.get_or_init(prepare).as_ref()
    }

    /// Returns the horizon and the number of floors of each window, the shortest first.
    fn windows(&self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.floors.used).flat_map(|horizon| WINDOWS.map(|count| (horizon, count)))
    }

    /// Returns a window, if most of its floors are known.
    fn window(&self, horizon: usize, count: usize) -> Option<&[f64]> {
        let (window, known) = self.row(horizon)?.newest(count)?;
        (known as f64 >= count as f64 * MIN_KNOWN_SHARE).then_some(window)
    }

    /// Returns the movement of a window, if each quarter moves by its share. Upward movement must exceed the earlier
    /// range.
    fn examine(&self, horizon: usize, count: usize) -> Option<Movement<'_>> {
        let window = self.window(horizon, count)?;
        let quarters = quarters(window);
        let by = quarters[3] - quarters[0];
        let least = by / 3.0 * MIN_QUARTER_SHARE;
        let is_even = quarters
            .windows(2)
            .all(|pair| (pair[1] - pair[0]) * by.signum() >= least.abs());
        let is_known_ground =
            || by > 0.0 && quarters[3] < MIN_ABOVE_PEAK.mul_add(by, self.floors.earlier_peak(horizon));
        (by.abs() >= self.params.least_bytes as f64 && is_even && !is_known_ground()).then_some(Movement {
            horizon,
            window,
            from: quarters[0],
            by,
        })
    }

    /// Returns the movement of the shortest window that moves.
    pub(super) fn movement(&self) -> Finding {
        let moves = self
            .windows()
            .find_map(|(horizon, count)| self.moves(&self.examine(horizon, count)?));
        moves.unwrap_or_else(|| {
            let is_known = self
                .windows()
                .any(|(horizon, count)| self.window(horizon, count).is_some());
            Finding {
                verdict: if is_known { Verdict::Steady } else { Verdict::Unknown },
                slope: 0.0,
                confidence: 0.0,
                length: 0.0,
                growth: 0.0,
                reasons: None,
            }
        })
    }

    /// Returns the growth in the shortest window of at least [`LONGER_GROWTH`] times the length of `warming` that does not level off.
    /// The warm-up in the shorter window is then a pause, the rhythm of stairs, or a load on top of the growth.
    pub(super) fn grows_for_longer(&self, warming: &Finding) -> Option<Finding> {
        self.windows()
            .filter(|(horizon, count)| span_seconds(*horizon) * *count as f64 >= LONGER_GROWTH * warming.length)
            .filter_map(|(horizon, count)| self.moves(&self.examine(horizon, count)?))
            .find(|moves| moves.verdict == Verdict::Growing)
    }

    fn moves(&self, movement: &Movement<'_>) -> Option<Finding> {
        let fit = Fit::new(movement.window);
        if fit.t_statistic.abs() < self.params.significance {
            return None;
        }
        if movement.by < 0.0 {
            return Some(movement.finding(Verdict::Shrinking, &fit, 0.0));
        }
        let levels_off = fit.slows_down(self.params.level_off) || self.levels_off(movement.horizon, true);
        let verdict = if levels_off { Verdict::Warming } else { Verdict::Growing };
        let evidence = (fit.t_statistic / self.params.significance).min(MAX_EVIDENCE_WITHOUT_LEAK);
        Some(movement.finding(verdict, &fit, confidence(evidence)))
    }

    /// Returns the leaks in windows, the shortest first. Each floor must be the lowest of several values.
    pub(super) fn leaks(&self) -> impl Iterator<Item = Finding> {
        let is_long = |(horizon, count): &(usize, usize)| span_seconds(*horizon) * *count as f64 >= SHORTEST_WINDOW;
        let windows = self
            .windows()
            .filter(move |window| is_long(window) && self.floors.is_dense(window.0));
        windows.filter_map(|(horizon, count)| {
            let plain = self
                .examine(horizon, count)
                .and_then(|movement| self.leaks_in(&movement).filter(|_| self.mean_rises(&movement)));
            plain.or_else(|| (count == SPANS).then(|| self.leaks_below_teeth(horizon))?)
        })
    }

    /// Returns true if the mean rises from the second quarter to the last, not only the floors: a series that only dips less
    /// and less has rising floors, too.
    fn mean_rises(&self, movement: &Movement<'_>) -> bool {
        let Some(last) = self.points.last() else { return false };
        let quarter = Duration::from_secs_f64(movement.length() / 4.0);
        let mean = |quarters: u32| {
            let from = last.to.saturating_sub(quarter * (quarters + 1));
            mean(self.points, from, last.to.saturating_sub(quarter * quarters))
        };
        match (mean(2), mean(0)) {
            (Some(before), Some(now)) => now - before >= MIN_MEAN_RISE * movement.by,
            _ => true,
        }
    }

    /// Returns the leak below saw-teeth that are longer than a span: each floor is then the lowest of several spans.
    fn leaks_below_teeth(&self, horizon: usize) -> Option<Finding> {
        let floors = self.eroded(horizon)?;
        let quarters = quarters(&floors);
        let by = quarters[3] - quarters[0];
        let least = by / 3.0 * MIN_QUARTER_SHARE;
        let is_even = by > 0.0 && quarters.windows(2).all(|pair| pair[1] - pair[0] >= least);
        if !is_even
            || self.falls(horizon) < MIN_TEETH * by
            || quarters[3] < MIN_ABOVE_PEAK.mul_add(by, self.floors.earlier_peak_below_teeth(horizon))
        {
            return None;
        }
        let levels_off = (horizon..(horizon + LONGER_WINDOWS).min(self.floors.used)).any(|horizon| {
            self.eroded(horizon).is_some_and(|floors| {
                let fit = Fit::new(&floors);
                fit.curvature < -MIN_CURVATURE && fit.slows_down(self.params.level_off)
            })
        });
        let movement = Movement {
            horizon,
            window: &floors,
            from: quarters[0],
            by,
        };
        self.leaks_in(&movement).filter(|_| !levels_off)
    }

    /// Returns the sum of all falls from one floor to the next.
    fn falls(&self, horizon: usize) -> f64 {
        let row = self.floors.row(horizon);
        let falls = row.iter().flat_map(|row| row.windows(2)).map(|pair| pair[0] - pair[1]);
        falls.filter(|fall| *fall > 0.0).sum()
    }

    /// Returns the lowest of each few successive floors; `None` if some are unknown.
    fn eroded(&self, horizon: usize) -> Option<[f64; FLOORS_BELOW_TEETH]> {
        let row = self.floors.row(horizon)?;
        let mut floors = [0.0; FLOORS_BELOW_TEETH];
        for (i, floor) in floors.iter_mut().enumerate() {
            *floor = row[i..i + ERODED_SPANS]
                .iter()
                .fold(f64::NAN, |low, floor| low.min(*floor));
            if floor.is_nan() {
                return None;
            }
        }
        Some(floors)
    }

    fn leaks_in(&self, movement: &Movement<'_>) -> Option<Finding> {
        let params = self.params;
        let least_pace = (params.day_rate * movement.from).max(LEAST_PACE);
        let is_daily = movement.pace() * 3600.0 < least_pace && movement.length() < DAY;
        if movement.by < min_growth(movement.from, params).max(LEAST_LEAK) || is_daily {
            return None;
        }
        let fit = Fit::new(movement.window);
        let surety = confidence(fit.t_statistic / params.significance);
        if surety < params.confidence || fit.slows_down(params.level_off) || self.levels_off(movement.horizon, false) {
            return None;
        }
        Some(Finding {
            reasons: Some(Reasons::of_window(movement.window, movement.length())),
            ..movement.finding(Verdict::Leaking, &fit, surety)
        })
    }

    /// Returns true if growth levels off in the windows of this horizon or of longer ones, as with a filling cache. A step before
    /// even growth would look alike, so a window must level off without it, too. A slower start before even growth also would: if
    /// `to_its_end`, the newer half of the window must slow down, too.
    fn levels_off(&self, horizon: usize, to_its_end: bool) -> bool {
        let around = horizon..(horizon + LONGER_WINDOWS).min(self.floors.used);
        let mut windows = around.flat_map(|horizon| WINDOWS.map(|count| (horizon, count)));
        windows.any(|(horizon, count)| {
            self.window(horizon, count).is_some_and(|window| {
                let slows = |floors: &[f64]| {
                    let fit = Fit::new(floors);
                    fit.curvature < -CLEAR_CURVATURE && fit.slows_down(self.params.level_off)
                };
                slows(window)
                    && without_step(window).is_none_or(|level| slows(&level[..count]))
                    && (!to_its_end || Fit::new(&window[count / 2..]).slope_ratio < MAX_RATIO_OF_NEWER)
            })
        })
    }
}

/// Returns the lowest floor of each quarter.
fn quarters(floors: &[f64]) -> [f64; 4] {
    let count = floors.len();
    std::array::from_fn(|i| lowest(&floors[i * count / 4..(i + 1) * count / 4]))
}

/// Returns the mean from one time to another, in bytes: a value holds until the next one. `None` if there are no points.
fn mean(points: &[Point], from: Duration, to: Duration) -> Option<f64> {
    let first = points.partition_point(|point| point.to < from);
    let end = points.partition_point(|point| point.from < to);
    let points = points.get(first..end)?;
    let nexts = points.iter().skip(1).map(|point| point.from).chain([to]);
    let (mut sum, mut seconds) = (0.0, 0.0);
    for (point, next) in points.iter().zip(nexts) {
        let held = next.saturating_sub(point.from.max(from)).as_secs_f64();
        sum += point.last as f64 * held;
        seconds += held;
    }
    (seconds > 0.0).then(|| sum / seconds)
}
