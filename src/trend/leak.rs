//! Leaks: growth that outlasted what a fill, a warm-up or a load can explain, as one look sees it.
//!
//! Windows of 16 minutes and more are looked at, the newest twelve and sixteen floors of each horizon. Of one that leaks,
//! each quarter stands above the one before, by its share; nothing in it, nor in the longer windows around it, levels off;
//! and it has left what the series reached before.

use crate::trend::finding::{Finding, confidence, min_growth};
use crate::trend::fit::{Fit, PreparedRow, lowest};
use crate::trend::floors::{Floors, span_seconds};
use crate::trend::parameters::{
    CLEAR_CURVATURE, DAY, LONGER_WINDOWS, MIN_ABOVE_PEAK, MIN_KNOWN_SHARE, MIN_QUARTER_SHARE, MIN_T_STATISTIC,
    SHORTEST_WINDOW, WINDOWS,
};
use crate::trend::verdict::Reasons;
use crate::trend::{Params, Verdict};

/// A look at the windows of a series.
#[derive(Debug)]
pub(super) struct Look<'a> {
    pub(super) floors: &'a Floors,
    /// A row for each horizon; `None` where too little is known.
    pub(super) rows: &'a [Option<PreparedRow>],
    pub(super) params: &'a Params,
}

impl Look<'_> {
    /// Returns the leak of the shortest window that shows one.
    pub(super) fn leak(&self) -> Option<Finding> {
        let mut windows = (0..self.floors.used()).flat_map(|horizon| WINDOWS.map(|count| (horizon, count)));
        windows.find_map(|(horizon, count)| self.examine(horizon, count))
    }

    fn window(&self, horizon: usize, count: usize) -> Option<(&[f64], usize)> {
        self.rows.get(horizon)?.as_ref()?.newest(count)
    }

    fn examine(&self, horizon: usize, count: usize) -> Option<Finding> {
        let params = self.params;
        let length = span_seconds(horizon) * count as f64;
        if length < SHORTEST_WINDOW {
            return None;
        }
        let (window, known) = self.window(horizon, count)?;
        if (known as f64) < count as f64 * MIN_KNOWN_SHARE {
            return None;
        }
        let quarter = |i: usize| lowest(&window[i * count / 4..(i + 1) * count / 4]);
        let quarters: [f64; 4] = std::array::from_fn(quarter);
        let growth = quarters[3] - quarters[0];
        let least_share = growth / 3.0 * MIN_QUARTER_SHARE;
        if growth < min_growth(quarters[0], params) || quarters.windows(2).any(|pair| pair[1] - pair[0] < least_share) {
            return None;
        }
        // The quarters' floors lie three quarters of the window apart.
        let pace = growth / (0.75 * length);
        let is_daily = pace * 3600.0 < params.day_rate * quarters[0] && length < DAY;
        let is_known_ground = quarters[3] < MIN_ABOVE_PEAK.mul_add(growth, self.floors.earlier_peak(horizon));
        if is_daily || is_known_ground {
            return None;
        }
        let fit = Fit::new(window, 1.0);
        let surety = confidence(fit.t_statistic / params.significance);
        if surety < params.confidence || fit.slows_down(params.level_off) || self.levels_off(horizon) {
            return None;
        }
        Some(Finding {
            verdict: Verdict::Leaking,
            slope: fit.slope / span_seconds(horizon),
            confidence: surety,
            length,
            growth: fit.growth,
            reasons: Some(Reasons::of_window(window, length)),
        })
    }

    /// Returns true if growth levels off within these windows or the longer ones, as that of a cache that fills.
    fn levels_off(&self, horizon: usize) -> bool {
        let around = horizon..(horizon + LONGER_WINDOWS).min(self.floors.used());
        let mut windows = around.flat_map(|horizon| WINDOWS.map(|count| (horizon, count)));
        windows.any(|(horizon, count)| {
            self.window(horizon, count).is_some_and(|(window, _)| {
                let fit = Fit::new(window, 1.0);
                fit.t_statistic >= MIN_T_STATISTIC
                    && fit.curvature < -CLEAR_CURVATURE
                    && fit.slows_down(self.params.level_off)
            })
        })
    }
}
