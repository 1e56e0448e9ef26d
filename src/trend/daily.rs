//! Growth from one day to the next, each hour compared with the same hour of the day before.

use crate::trend::finding::{Finding, confidence, min_growth};
use crate::trend::fit::lowest;
use crate::trend::parameters::{
    DAY, DAY_STANDING_SHARE, DAYS, MIN_DAILY_SHARE, MIN_PAIRS, MIN_PAIRS_BEFORE, MIN_RISEN,
};
use crate::trend::verdict::Reasons;
use crate::trend::{Params, Point, Verdict};

/// Milliseconds of an hour, and the hours of a day.
const HOUR: u64 = 3_600_000;
const HOURS: usize = 24;

/// The floors of the hours of the last days, newest first; NaN where nothing is known.
#[derive(Debug)]
pub(super) struct Days([f64; HOURS * DAYS]);

/// A day compared with the one before.
struct Rise {
    /// The number of hours known of both.
    pairs: usize,
    /// The number of those that stand above the same hour of the day before.
    risen: usize,
    /// The median of what they rose by, in bytes.
    median: f64,
}

impl Rise {
    fn share(&self) -> f64 {
        self.risen as f64 / self.pairs.max(1) as f64
    }
}

impl Days {
    /// Collects the last days of a series; `None` where hardly more than one was seen.
    pub(super) fn new(points: &[Point]) -> Option<Self> {
        let now = points.last()?.end_ms();
        let observed = now.saturating_sub(points.first()?.start_ms());
        if observed < (HOURS + MIN_PAIRS) as u64 * HOUR {
            return None;
        }
        let length = HOUR * (HOURS * DAYS) as u64;
        let mut floors = [f64::NAN; HOURS * DAYS];
        for point in points.iter().rev() {
            let newest = now.saturating_sub(point.end_ms());
            if newest >= length {
                break;
            }
            let oldest = now.saturating_sub(point.start_ms()).max(newest).min(length - 1);
            for floor in &mut floors[(newest / HOUR) as usize..=(oldest / HOUR) as usize] {
                *floor = floor.min(point.min as f64);
            }
        }
        Some(Self(floors))
    }

    /// Compares a day with the one before; 0 is the last one.
    fn rise(&self, day: usize) -> Rise {
        let mut rises = [0.0; HOURS];
        let mut pairs = 0;
        for hour in day * HOURS..(day + 1) * HOURS {
            let rise = self.0[hour] - self.0[hour + HOURS];
            if !rise.is_nan() {
                rises[pairs] = rise;
                pairs += 1;
            }
        }
        let rises = &mut rises[..pairs];
        rises.sort_unstable_by(f64::total_cmp);
        Rise {
            pairs,
            risen: rises.iter().filter(|rise| **rise > 0.0).count(),
            median: rises.get(pairs / 2).copied().unwrap_or(0.0),
        }
    }

    /// Returns true if each block of half a day has its lowest hour above that of the one before: a single step up, after
    /// which every hour stands above that of the day before, has not.
    fn rises_by_blocks(&self, least: f64) -> bool {
        let lows = self
            .0
            .chunks_exact(HOURS / 2)
            .map(lowest)
            .take_while(|low| *low < f64::MAX);
        lows.clone()
            .zip(lows.skip(1))
            .all(|(newer, older)| newer - older >= least / 2.0)
    }

    /// Returns the leak that the days show, if any: nearly every hour stands above the same hour of the day before, and did
    /// so the day before, where that is known.
    pub(super) fn leak(&self, params: &Params) -> Option<Finding> {
        let least = min_growth(lowest(&self.0), params) * MIN_DAILY_SHARE;
        let (last, before) = (self.rise(0), self.rise(1));
        let rises = |rise: &Rise| rise.share() >= MIN_RISEN && rise.median >= least;
        let is_once = before.pairs < MIN_PAIRS_BEFORE;
        let goes_on = || {
            if is_once {
                self.rises_by_blocks(least)
            } else {
                rises(&before)
            }
        };
        if last.pairs < MIN_PAIRS || !rises(&last) || !goes_on() {
            return None;
        }
        let (days, growth) = if is_once {
            (1, last.median)
        } else {
            (2, last.median + before.median)
        };
        Some(Finding {
            verdict: Verdict::Leaking,
            slope: growth / f64::from(days) / DAY,
            confidence: confidence(f64::from(days)).max(params.confidence),
            length: DAY * DAY_STANDING_SHARE,
            growth,
            reasons: Some(Reasons::Days {
                days,
                hours: last.pairs as u8,
                risen: last.risen as u8,
            }),
        })
    }
}
