//! Verdicts: how often they are right, and how soon.

mod cases;
mod corpus;
mod goals;
mod recorded;
mod verdicts;

use std::time::Duration;

use zmtop::model::history::levels::Levels;
use zmtop::model::trend::{Judgement, Params, Point, judge};

use corpus::Series;

/// Seconds from one judgement to the next while a series runs.
const EVERY: u64 = 20;

/// A series as it is taken in, and judged on the way.
struct Watch<'a> {
    series: &'a Series,
    levels: Levels,
    points: Vec<Point>,
    next: usize,
}

impl<'a> Watch<'a> {
    fn new(series: &'a Series) -> Self {
        Self {
            series,
            levels: Levels::default(),
            points: Vec::new(),
            next: 0,
        }
    }

    /// Takes in the values up to number `until`, and judges what was seen.
    fn judge(&mut self, until: usize) -> Judgement {
        for i in self.next..until {
            self.series.enter(i, &mut self.levels);
        }
        self.next = until;
        self.levels.to_judge(&mut self.points);
        judge(&self.points, Some(self.series.born()), &Params::default())
    }
}

/// How often a series is judged, in values: every 20 s while it lasts an hour or less, and the less often the
/// longer it is. (Every 20 s all along takes three times as long, and finds a few leaks sooner, and three more
/// false alarms, in walks.)
fn stride(series: &Series) -> usize {
    let every = match series.values.len() as u64 * series.step {
        0..=3600 => EVERY,
        3601..=15_000 => 3 * EVERY,
        15_001..=86_400 => 6 * EVERY,
        _ => 1200,
    };
    (every / series.step).max(1) as usize
}

/// A time as people say it.
fn say(seconds: f64) -> String {
    match Duration::from_secs_f64(seconds.clamp(0.0, 1e9)).as_secs() {
        s @ 0..600 => format!("{s} s"),
        s @ 600..36_000 => format!("{} min", s / 60),
        s => format!("{} h", s / 3600),
    }
}
