//! Growth from one day to the next, each part of a day compared with the same part of the day before.

use crate::trend::finding::{Finding, confidence, min_growth};
use crate::trend::fit::lowest;
use crate::trend::parameters::{
    DAILY_EVIDENCE_FACTOR, DAY_PARTS, DAYS, DEPENDENT_PARTS, MIN_RISEN_PARTS, MOVEMENT_SHARE,
};
use crate::trend::{Params, Point, Verdict};

/// Milliseconds of a part of a day.
const PART: u64 = 86_400_000 / DAY_PARTS as u64;

/// The floors of the last days, oldest first; NaN where nothing is known.
#[derive(Debug)]
pub(super) struct Days([[f64; DAY_PARTS]; DAYS]);

impl Days {
    /// Collects the last days of a series; `None` where less was seen.
    pub(super) fn new(points: &[Point]) -> Option<Self> {
        let now = points.last()?.end_ms();
        let observed = now.saturating_sub(points.first()?.start_ms());
        let length = PART * (DAY_PARTS * DAYS) as u64;
        // One part may be missing, so that a program is judged before its fourth day.
        if observed < length - PART {
            return None;
        }
        let mut days = [[f64::NAN; DAY_PARTS]; DAYS];
        for point in points.iter().rev() {
            let newest = now.saturating_sub(point.end_ms());
            if newest >= length {
                break;
            }
            let oldest = now.saturating_sub(point.start_ms()).max(newest).min(length - 1);
            for back in (newest / PART) as usize..=(oldest / PART) as usize {
                let at = DAY_PARTS * DAYS - 1 - back;
                let floor = &mut days[at / DAY_PARTS][at % DAY_PARTS];
                *floor = floor.min(point.min as f64);
            }
        }
        Some(Self(days))
    }

    /// Returns the leak that the days show, if any.
    pub(super) fn leak(&self, params: &Params) -> Option<Finding> {
        let mut growth = 0.0;
        let mut least_sure = f64::MAX;
        for pair in self.0.windows(2) {
            let mut rises = [0.0; DAY_PARTS];
            let mut known = 0;
            for (before, now) in pair[0].iter().zip(&pair[1]) {
                if !before.is_nan() && !now.is_nan() {
                    rises[known] = now - before;
                    known += 1;
                }
            }
            let rises = &mut rises[..known];
            let risen = rises.iter().filter(|rise| **rise > 0.0).count();
            if risen < MIN_RISEN_PARTS {
                return None;
            }
            rises.sort_unstable_by(f64::total_cmp);
            let median = rises[known / 2];
            growth += median;
            let mean = rises.iter().sum::<f64>() / known as f64;
            let variance = rises.iter().map(|rise| (rise - mean).powi(2)).sum::<f64>() / known as f64;
            let error = (variance / (known as f64 / DEPENDENT_PARTS)).sqrt().max(1.0);
            least_sure = least_sure.min(median / error);
            if median < min_growth(lowest(&pair[0]), params) * MOVEMENT_SHARE {
                return None;
            }
        }
        let needed = min_growth(lowest(&self.0[0]), params);
        let evidence = (least_sure / params.significance * DAILY_EVIDENCE_FACTOR).min(growth / needed);
        let days = (DAYS - 1) as f64;
        (confidence(evidence) >= params.confidence).then(|| Finding {
            verdict: Verdict::Leaking,
            slope: growth / days / 86_400.0,
            confidence: confidence(evidence),
            horizon: 0,
            length: 86_400.0 * DAYS as f64,
            growth,
        })
    }
}
