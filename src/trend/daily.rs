//! Growth from day to day: each hour is compared with the same hour of the days before.

use std::ops::Range;

use crate::trend::finding::{Finding, confidence, min_growth};
use crate::trend::fit::lowest;
use crate::trend::parameters::{
    BLOCK_HOURS, DAY, DAY_STANDING_SHARE, DAYS, LONE_DAY_STANDING_SHARE, MAX_STEP_SHARE, MIN_DAILY_SHARE,
    MIN_NEWEST_SHARE, MIN_PAIRS, MIN_PAIRS_BEFORE, MIN_RISEN,
};
use crate::trend::verdict::Reasons;
use crate::trend::{Params, Point, Verdict};

/// Milliseconds of an hour.
const HOUR: u64 = 3_600_000;
const HOURS: usize = 24;

/// The floors of the hours of the last days, newest first; NaN if unknown.
#[derive(Debug)]
pub(super) struct Days([f64; HOURS * DAYS]);

/// The comparison of hours with the same hours of the days before.
struct Rise {
    /// The number of hours that are known then and on a day before.
    pairs: usize,
    /// The number of those that are above the same hour of all days before.
    risen: usize,
    /// The median rise, in bytes.
    median: f64,
}

impl Rise {
    fn share(&self) -> f64 {
        self.risen as f64 / self.pairs.max(1) as f64
    }
}

impl Days {
    /// Collects the last days of a series; `None` if little more than one was observed.
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

    /// Returns by how much an hour is above the same hour of all days before; NaN if unknown.
    fn above(&self, hour: usize) -> f64 {
        let mut highest = f64::NAN;
        for day in 1..DAYS {
            highest = highest.max(self.0.get(hour + day * HOURS).copied().unwrap_or(f64::NAN));
        }
        self.0[hour] - highest
    }

    /// Compares hours with the days before; hour 0 is the newest.
    fn rise(&self, hours: Range<usize>) -> Rise {
        let mut rises = [0.0; HOURS];
        let mut pairs = 0;
        for hour in hours.take(HOURS) {
            let rise = self.above(hour);
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

    /// Returns true if the distance to the days before grew gradually over the last two days, as with a leak. A
    /// step makes all of it at once. The distance is 0 if no day before is known. Each quarter of the last day must be
    /// known.
    fn widens(&self) -> bool {
        let mut blocks = [0.0; 2 * HOURS / BLOCK_HOURS];
        for (i, block) in blocks.iter_mut().enumerate() {
            let rise = self.rise(i * BLOCK_HOURS..(i + 1) * BLOCK_HOURS);
            *block = if rise.pairs > 0 { rise.median.max(0.0) } else { f64::NAN };
        }
        if blocks[..HOURS / BLOCK_HOURS].iter().any(|block| block.is_nan()) {
            return false;
        }
        let (mut before, mut widest, mut all) = (0.0_f64, 0.0_f64, 0.0_f64);
        for block in blocks.iter().rev().filter(|block| !block.is_nan()) {
            widest = widest.max(block - before);
            all = all.max(*block);
            before = *block;
        }
        widest <= MAX_STEP_SHARE * all
    }

    /// Returns true if each half day has a higher lowest hour than the one before, as in a leak older than the series.
    /// A single step does not.
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

    /// Returns true if the growth is over: the newest hours are much less above the days before than most of the last
    /// day.
    fn has_ended(&self, last: &Rise) -> bool {
        let newest = self.rise(0..BLOCK_HOURS);
        newest.pairs > 0 && newest.median < MIN_NEWEST_SHARE * last.median
    }

    /// Returns the leak that the days show, if any: nearly every hour is above the same hour of all days before, and
    /// was so the day before, or became so gradually.
    pub(super) fn leak(&self, params: &Params) -> Option<Finding> {
        let least = min_growth(lowest(&self.0), params) * MIN_DAILY_SHARE;
        let (last, before) = (self.rise(0..HOURS), self.rise(HOURS..2 * HOURS));
        let rises = |rise: &Rise| rise.share() >= MIN_RISEN && rise.median >= least;
        if last.pairs < MIN_PAIRS || !rises(&last) {
            return None;
        }
        let (days, growth, standing) = if before.pairs >= MIN_PAIRS_BEFORE && rises(&before) {
            (2, last.median + before.median, DAY_STANDING_SHARE)
        } else if before.pairs < MIN_PAIRS_BEFORE && self.rises_by_blocks(least) {
            (1, last.median, DAY_STANDING_SHARE)
        } else if self.widens() && !self.has_ended(&last) {
            (1, last.median, LONE_DAY_STANDING_SHARE)
        } else {
            return None;
        };
        Some(Finding {
            verdict: Verdict::Leaking,
            slope: growth / f64::from(days) / DAY,
            confidence: confidence(f64::from(days)).max(params.confidence),
            length: DAY * standing,
            growth,
            reasons: Some(Reasons::Days {
                days,
                hours: last.pairs as u8,
                risen: last.risen as u8,
            }),
        })
    }
}
