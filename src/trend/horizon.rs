//! Horizon analysis: the questions put to each horizon, and which finding decides how it moves now.

use std::cell::OnceCell;

use crate::trend::finding::{Finding, confidence, min_growth};
use crate::trend::fit::{Fit, PreparedRow};
use crate::trend::floors::{Floors, span_seconds};
use crate::trend::leak::Look;
use crate::trend::parameters::{
    HORIZONS, LONGER_HORIZONS_RECENT, LONGER_HORIZONS_WHOLE, MAX_EVIDENCE_WITHOUT_LEAK, MAX_STARTUP_CREEP,
    MIN_CURVATURE_ELSEWHERE, MIN_GROWTH_WITHOUT_JUMPS, MIN_RECENT_SHARE, MIN_T_STATISTIC, MOVEMENT_SHARE,
    SHORT_HORIZON_FACTORS, SHORTER_HORIZONS, STRAIGHT_LINE_FACTOR,
};
use crate::trend::{Params, Verdict};

/// The analysis of one series over all horizons. Fits are made where they are asked for, as most horizons do not move.
pub(super) struct HorizonAnalysis<'a> {
    floors: &'a Floors,
    /// A row for each horizon; `None` where too little is known.
    rows: [Option<PreparedRow>; HORIZONS],
    whole: [OnceCell<Fit>; HORIZONS],
    /// Fits without the oldest quarter: a program that warmed up then, and grows evenly since, does not level off.
    recent: [OnceCell<Fit>; HORIZONS],
    /// Seconds since the program started.
    age: f64,
    params: &'a Params,
}

impl<'a> HorizonAnalysis<'a> {
    /// Prepares the floors of a program that started `age` seconds ago.
    pub(super) fn new(floors: &'a Floors, age: f64, params: &'a Params) -> Self {
        let mut rows = [None; HORIZONS];
        for horizon in (0..floors.used()).filter(|horizon| floors.is_dense(*horizon)) {
            rows[horizon] = floors.row(horizon).and_then(PreparedRow::new);
        }
        Self {
            floors,
            rows,
            whole: [const { OnceCell::new() }; HORIZONS],
            recent: [const { OnceCell::new() }; HORIZONS],
            age,
            params,
        }
    }

    fn whole(&self, horizon: usize) -> Option<&Fit> {
        let row = self.rows.get(horizon)?.as_ref()?;
        Some(self.whole[horizon].get_or_init(|| row.fit_whole()))
    }

    fn recent(&self, horizon: usize) -> Option<&Fit> {
        let row = self.rows.get(horizon)?.as_ref()?;
        Some(self.recent[horizon].get_or_init(|| row.fit_recent()))
    }

    /// Returns the fit of a horizon that is known well enough and that moved.
    fn moving(&self, horizon: usize) -> Option<&Fit> {
        let row = self.rows[horizon].as_ref().filter(|row| row.is_enough())?;
        let (lowest, highest) = row.range();
        let least = min_growth(lowest, self.params) * MOVEMENT_SHARE;
        // The range is cheaper than Theil's slope, whose growth is at most two ranges.
        (2.0 * (highest - lowest) >= least && row.growth().abs() >= least)
            .then(|| self.whole(horizon))
            .flatten()
    }

    /// Returns what the shortest horizon says that sees anything move.
    pub(super) fn decide(&self) -> Finding {
        let mut findings = (0..HORIZONS).filter_map(|horizon| self.examine(horizon, self.moving(horizon)?));
        findings.next().unwrap_or_else(|| {
            let is_known = self.rows.iter().flatten().any(PreparedRow::is_enough);
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

    /// Returns the leak that its windows show, if any.
    pub(super) fn leak(&self) -> Option<Finding> {
        let look = Look {
            floors: self.floors,
            rows: &self.rows,
            params: self.params,
        };
        look.leak()
    }

    /// Puts the questions to one horizon; `None` where nothing moves.
    fn examine(&self, horizon: usize, fit: &Fit) -> Option<Finding> {
        let params = self.params;
        let needed = min_growth(fit.lowest, params);
        let finding = |verdict, evidence: f64| Finding {
            verdict,
            slope: fit.slope / span_seconds(horizon),
            confidence: confidence(evidence),
            length: span_seconds(horizon) * fit.spans as f64,
            growth: fit.growth,
            reasons: None,
        };
        if fit.growth.abs() < needed * MOVEMENT_SHARE || fit.t_statistic.abs() < MIN_T_STATISTIC {
            return None;
        }
        if fit.growth < 0.0 {
            let falls =
                fit.t_statistic < 0.0 && fit.last <= fit.first - needed * MOVEMENT_SHARE && fit.recent_growth < 0.0;
            return falls.then(|| finding(Verdict::Shrinking, 0.0));
        }
        if fit.t_statistic < 0.0
            || fit.share_without_jumps < MIN_GROWTH_WITHOUT_JUMPS
            || fit.recent_growth < fit.growth * MIN_RECENT_SHARE
        {
            return None;
        }
        let factor = SHORT_HORIZON_FACTORS.get(horizon).copied().unwrap_or(1.0);
        let evidence = (fit.t_statistic / (params.significance * factor)).min(fit.growth / needed);
        // The shorter the horizon, the straighter the growth must be: any curve is a line from near by.
        let level_off = 1.0 - (1.0 - params.level_off) / factor;
        if fit.slows_down(level_off) || self.slows_elsewhere(horizon) || self.is_starting(horizon, fit) {
            return Some(finding(Verdict::Warming, evidence.min(MAX_EVIDENCE_WITHOUT_LEAK)));
        }
        Some(finding(Verdict::Growing, evidence.min(MAX_EVIDENCE_WITHOUT_LEAK)))
    }

    /// Returns true if the program is starting: it is young, and grew by much, and not in a straight line.
    fn is_starting(&self, horizon: usize, fit: &Fit) -> bool {
        let length = span_seconds(horizon) * fit.spans as f64;
        let warmup = self.params.warmup.as_secs_f64();
        let is_straight = fit.t_statistic > STRAIGHT_LINE_FACTOR * self.params.significance;
        self.age - length < warmup && length < warmup && fit.growth > MAX_STARTUP_CREEP * fit.first && !is_straight
    }

    /// Returns true if growth levels off as seen from the longer horizons, or from the shorter one.
    fn slows_elsewhere(&self, horizon: usize) -> bool {
        let slows = |fit: &Fit| {
            fit.t_statistic >= MIN_T_STATISTIC
                && fit.share_without_jumps >= MIN_GROWTH_WITHOUT_JUMPS
                && fit.curvature < -MIN_CURVATURE_ELSEWHERE
                && fit.slows_down(self.params.level_off)
        };
        let end = |longer: usize| (horizon + longer + 1).min(HORIZONS);
        let mut near = horizon.saturating_sub(SHORTER_HORIZONS)..end(LONGER_HORIZONS_RECENT);
        let mut longer = horizon + 1..end(LONGER_HORIZONS_WHOLE);
        near.any(|near| self.recent(near).is_some_and(slows))
            || longer.any(|longer| self.whole(longer).is_some_and(slows))
    }
}
