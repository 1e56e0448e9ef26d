//! Growth from one day to the next, the hours of the day compared like with like.

use crate::trend::horizon::{Found, confidence, least};
use crate::trend::{Params, Point, Verdict};

/// Parts of a day.
const HOURS: usize = 16;

/// Days compared.
const DAYS: usize = 3;

/// A part of a day, in milliseconds.
const PART: u64 = 86_400_000 / HOURS as u64;

/// Of the parts of a day, how many must stand above the same part of the day before.
const RISEN: usize = 14;

/// How much stricter a day is with its noise: its parts are compared with themselves, not with a line.
const STRICT: f64 = 3.0;

/// The floors of the last three days, oldest first; NaN where nothing is known.
#[derive(Debug)]
pub(super) struct Days([[f64; HOURS]; DAYS]);

impl Days {
    /// The last three days of a series; `None` where less was seen.
    pub(super) fn of(points: &[Point]) -> Option<Self> {
        let now = points.last()?.end();
        let oldest = now.saturating_sub(points.first()?.begin());
        let whole = PART * (HOURS * DAYS) as u64;
        if oldest < whole - PART {
            return None;
        }
        let mut days = [[f64::NAN; HOURS]; DAYS];
        for point in points.iter().rev() {
            let young = now.saturating_sub(point.end());
            if young >= whole {
                break;
            }
            let old = now.saturating_sub(point.begin()).max(young).min(whole - 1);
            for back in (young / PART) as usize..=(old / PART) as usize {
                let at = HOURS * DAYS - 1 - back;
                let cell = &mut days[at / HOURS][at % HOURS];
                *cell = cell.min(point.min as f64);
            }
        }
        Some(Self(days))
    }

    /// The leak that they show, if any.
    pub(super) fn leak(&self, params: &Params) -> Option<Found> {
        let mut growth = 0.0;
        let mut surest = f64::MAX;
        for pair in self.0.windows(2) {
            let mut rises = [0.0; HOURS];
            let mut known = 0;
            for (before, now) in pair[0].iter().zip(&pair[1]) {
                if !before.is_nan() && !now.is_nan() {
                    rises[known] = now - before;
                    known += 1;
                }
            }
            let rises = &mut rises[..known];
            let risen = rises.iter().filter(|rise| **rise > 0.0).count();
            if risen < RISEN {
                return None;
            }
            rises.sort_unstable_by(f64::total_cmp);
            let middle = rises[known / 2];
            growth += middle;
            let mean = rises.iter().sum::<f64>() / known as f64;
            let spread = rises.iter().map(|rise| (rise - mean).powi(2)).sum::<f64>() / known as f64;
            // Neighbouring hours are not independent: a quarter of them counts.
            let error = (spread / (known as f64 / 4.0)).sqrt().max(1.0);
            surest = surest.min(middle / error);
            if middle < least(pair[0].iter().copied().fold(f64::MAX, f64::min), params) / 2.0 {
                return None;
            }
        }
        let lowest = self.0[0].iter().copied().fold(f64::MAX, f64::min);
        let evidence = (surest / params.significance * STRICT).min(growth / least(lowest, params));
        let days = (DAYS - 1) as f64;
        (confidence(evidence) >= params.confidence).then(|| Found {
            verdict: Verdict::Leaking,
            slope: growth / days / 86_400.0,
            confidence: confidence(evidence),
            horizon: 0,
            reach: 86_400.0 * DAYS as f64,
            growth,
        })
    }
}
