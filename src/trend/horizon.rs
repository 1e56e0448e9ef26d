//! The questions put to each horizon, and which answer counts.

use std::cell::OnceCell;

use crate::trend::fit::{Fit, Ready};
use crate::trend::floors::{Floors, HORIZONS, SPANS, span};
use crate::trend::{Params, Verdict};

/// Milliseconds that must have been seen before anything is said.
pub(super) const SOONEST: u64 = 75_000;

/// How many times its own error a slope must be for a series to be called growing or shrinking.
const GROWING: f64 = 4.0;

/// How many times its own error a bend must be to count, and where it must be certain.
const BENT: f64 = 1.0;
const SURELY_BENT: f64 = 1.75;

/// The second half's pace as a share of the first's that is less, whatever the noise.
const SLOW: f64 = 0.7;

/// The share of its growth that must be left without the largest jumps.
const SPREAD: f64 = 0.25;

/// How many times as sure the shortest horizons must be: how growth bends shows late.
const HURRY: [f64; 2] = [2.0, 1.5];

/// How many longer horizons are asked whether growth levels off: of sixteen times the length.
const LONGER: usize = 3;

/// How many of them are asked as a whole, beginning and all.
const WHOLE: usize = 4;

/// How many shorter ones: growth that began within a horizon seems even over all of it.
const SHORTER: usize = 1;

/// How far beyond what was seen before it the growth must have led, as a share of it.
const BEYOND: f64 = 0.7;

/// How many times its footprint an old program that always grew like this would have by now, for that to be
/// ruled out.
const OUTGROWN: f64 = 2.0;

/// How much a young program may grow, as a share of its floor, and still be said to creep, not to load.
const CREEPS: f64 = 0.2;

/// How many times as sure as needed growth must be to show that it does not bend.
const STRAIGHT: f64 = 12.0;

/// The evidence told for a growth that is not called a leak, at most: short of enough.
const SHORT: f64 = 0.9;

/// The confidence that goes with it, at most.
pub(super) const UNSURE: f64 = 0.874;

/// The longest that a cycle takes, in seconds.
const DAY: f64 = 86_400.0;

/// What a horizon says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    pub(super) verdict: Verdict,
    /// Bytes a second.
    pub(super) slope: f64,
    pub(super) confidence: f64,
    /// Which horizon it was.
    pub(super) horizon: usize,
    /// How far back it looked, seconds.
    pub(super) reach: f64,
    /// The growth over that, bytes.
    pub(super) growth: f64,
}

/// The least growth that matters on a floor of that height, in bytes.
pub(super) fn least(floor: f64, params: &Params) -> f64 {
    (params.least_share * floor).max(params.least_bytes as f64)
}

/// A score from how much evidence there is, 1 being just enough.
pub(super) fn confidence(evidence: f64) -> f64 {
    1.0 - 10f64.powf(-evidence.clamp(0.0, 3.0))
}

/// What is known of a series. Fits are drawn where they are asked for: most horizons do not move.
pub(super) struct Case<'a> {
    floors: &'a Floors,
    /// Of each horizon; `None` where too little is known.
    rows: [Option<Ready>; HORIZONS],
    whole: [OnceCell<Fit>; HORIZONS],
    /// Without the oldest quarter: a program that warmed up then, and grows evenly since, does not level off.
    recent: [OnceCell<Fit>; HORIZONS],
    age: f64,
    params: &'a Params,
}

impl<'a> Case<'a> {
    /// A program of that many seconds, and its floors.
    pub(super) fn new(floors: &'a Floors, age: f64, params: &'a Params) -> Self {
        let mut rows = [None; HORIZONS];
        for horizon in (0..floors.used()).filter(|horizon| floors.is_fine(*horizon)) {
            rows[horizon] = floors.row(horizon).and_then(Ready::of);
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
        Some(self.whole[horizon].get_or_init(|| row.whole()))
    }

    fn recent(&self, horizon: usize) -> Option<&Fit> {
        let row = self.rows.get(horizon)?.as_ref()?;
        Some(self.recent[horizon].get_or_init(|| row.recent()))
    }

    /// The fit of a horizon of which enough is known, and that moved by half of what matters.
    fn moved(&self, horizon: usize) -> Option<&Fit> {
        let row = self.rows[horizon].as_ref().filter(|row| row.is_enough())?;
        let (lowest, highest) = row.range();
        let half = least(lowest, self.params) / 2.0;
        // Theil's growth is two ranges at most.
        (2.0 * (highest - lowest) >= half && row.growth().abs() >= half)
            .then(|| self.whole(horizon))
            .flatten()
    }

    /// The verdict over all horizons: the surest leak, or else what the shortest horizon says that sees
    /// anything move.
    pub(super) fn verdict(&self) -> Found {
        let mut best: Option<Found> = None;
        let mut moving: Option<Found> = None;
        for horizon in 0..HORIZONS {
            let Some(found) = self.moved(horizon).and_then(|fit| self.answer(horizon, fit)) else {
                continue;
            };
            if found.verdict == Verdict::Leaking && best.is_none_or(|best| found.confidence >= best.confidence) {
                best = Some(found);
            }
            moving = moving.or(Some(found));
        }
        let judged = self.rows.iter().flatten().any(Ready::is_enough);
        let nothing = Found {
            verdict: if judged { Verdict::Steady } else { Verdict::Unknown },
            slope: 0.0,
            confidence: 0.0,
            horizon: 0,
            reach: 0.0,
            growth: 0.0,
        };
        best.or(moving).unwrap_or(nothing)
    }

    /// Whether that horizon, or the one half as long, sees it grow and not slow down.
    pub(super) fn grows(&self, horizon: usize) -> bool {
        let last = (horizon + 1).min(HORIZONS);
        (horizon.saturating_sub(1)..last).any(|horizon| {
            let found = self.whole(horizon).and_then(|fit| self.answer(horizon, fit));
            found.is_some_and(|found| matches!(found.verdict, Verdict::Growing | Verdict::Leaking))
        })
    }

    /// What one horizon says; `None` where nothing moves.
    fn answer(&self, horizon: usize, fit: &Fit) -> Option<Found> {
        let params = self.params;
        let needed = least(fit.lowest, params);
        let found = |verdict, evidence: f64| Found {
            verdict,
            slope: fit.slope / span(horizon),
            confidence: confidence(evidence),
            horizon,
            reach: span(horizon) * fit.spans as f64,
            growth: fit.growth,
        };
        if fit.growth.abs() < needed / 2.0 || fit.sure.abs() < GROWING {
            return None;
        }
        if fit.growth < 0.0 {
            return (fit.sure < 0.0 && fit.last <= fit.first - needed / 2.0 && fit.lately < 0.0)
                .then(|| found(Verdict::Shrinking, 0.0));
        }
        if fit.sure < 0.0 || fit.spread < SPREAD || fit.lately < fit.growth / 16.0 {
            return None;
        }
        let hurry = HURRY.get(horizon).copied().unwrap_or(1.0);
        let evidence = (fit.sure / (params.significance * hurry)).min(fit.growth / needed);
        // The shorter the horizon, the straighter: any curve is a line from near by.
        let level_off = 1.0 - (1.0 - params.level_off) / hurry;
        if slows(fit, level_off) || self.tapers(horizon) || self.loads(horizon, fit) {
            return Some(found(Verdict::Warming, evidence.min(SHORT)));
        }
        let doubtful = self.seen_before(horizon, fit)
            || self.halted(horizon, fit)
            || self.daily(horizon, fit)
            || self.tooth(horizon, fit);
        if !doubtful && confidence(evidence) >= params.confidence {
            return Some(found(Verdict::Leaking, evidence));
        }
        Some(found(Verdict::Growing, evidence.min(SHORT)))
    }

    /// Whether the series stood about there before this growth.
    fn seen_before(&self, horizon: usize, fit: &Fit) -> bool {
        fit.last < BEYOND.mul_add(fit.growth, self.floors.peak_before(horizon))
    }

    /// Whether it did not go on in the last quarter, looked at closely.
    fn halted(&self, horizon: usize, fit: &Fit) -> bool {
        let quarter = horizon.checked_sub(2).and_then(|shorter| self.rows[shorter].as_ref());
        quarter.is_some_and(|quarter| quarter.is_enough() && quarter.growth() < fit.growth / 16.0)
    }

    /// Whether it may be the flank of a tooth: next to nothing was seen before it, and the program is too old
    /// to have grown like this all its life.
    fn tooth(&self, horizon: usize, fit: &Fit) -> bool {
        horizon < HURRY.len()
            && self.floors.seen() < 3.0 * span(horizon) * SPANS as f64
            && fit.slope / span(horizon) * self.age > OUTGROWN * fit.last
    }

    /// Whether it is too slow to be told from the load of a day.
    fn daily(&self, horizon: usize, fit: &Fit) -> bool {
        let an_hour = fit.slope / span(horizon) * 3600.0;
        an_hour < self.params.day_rate * fit.lowest && span(horizon) * fit.spans as f64 <= DAY
    }

    /// Whether it is a program that loads: it started not long before this, and grew by much.
    fn loads(&self, horizon: usize, fit: &Fit) -> bool {
        let reach = span(horizon) * fit.spans as f64;
        let warmup = self.params.warmup.as_secs_f64();
        let straight = fit.sure > STRAIGHT * self.params.significance;
        self.age - reach < warmup && reach < warmup && fit.growth > CREEPS * fit.first && !straight
    }

    /// Whether it levels off as seen from the longer horizons, or a shorter one.
    fn tapers(&self, horizon: usize) -> bool {
        let tapers = |fit: &Fit| {
            fit.sure >= GROWING && fit.spread >= SPREAD && fit.bend < -SURELY_BENT && slows(fit, self.params.level_off)
        };
        let until = |longer: usize| (horizon + longer + 1).min(HORIZONS);
        let mut recent = horizon.saturating_sub(SHORTER)..until(LONGER);
        let mut whole = horizon + 1..until(WHOLE);
        recent.any(|near| self.recent(near).is_some_and(tapers))
            || whole.any(|longer| self.whole(longer).is_some_and(tapers))
    }
}

/// Whether the second half's pace is clearly less than the first's.
fn slows(fit: &Fit, level_off: f64) -> bool {
    fit.lasting < level_off && (fit.bend < -BENT || fit.lasting < SLOW)
}
