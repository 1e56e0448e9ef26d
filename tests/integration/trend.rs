//! Verdicts: how often they are right, and how soon.

mod agreement;
mod cases;
mod corpus;
mod countdown;
mod goals;
mod machines;
pub(crate) mod measure;
mod parameters;
mod recorded;
mod services;
mod steps;
mod verdicts;
mod wide;

use std::time::Duration;

use corpus::Series;
use zmtop::history::time_series::TimeSeries;
use zmtop::trend::{Judgement, Params, Point, judge};

/// Seconds from one judgement to the next, in the first hour that a series is known.
const EVERY: u64 = 10;

/// A series as it is taken in, and judged on the way.
struct Watch<'a> {
    series: &'a Series,
    seen: TimeSeries,
    points: Vec<Point>,
    last: Judgement,
    next: usize,
}

impl<'a> Watch<'a> {
    fn new(series: &'a Series) -> Self {
        Self {
            series,
            seen: TimeSeries::default(),
            points: Vec::new(),
            last: Judgement::default(),
            next: 0,
        }
    }

    /// Takes in the values up to number `until`, and judges what was seen.
    fn judge(&mut self, until: usize) -> Judgement {
        for i in self.next..until {
            self.series.push_to(i, &mut self.seen);
        }
        self.next = until;
        self.seen.collect_points(&mut self.points);
        let started_at = Some(self.series.started_at());
        self.last = judge(&self.points, &[], started_at, &Params::default(), &self.last);
        self.last
    }
}

/// When a series is judged, as the number of values seen: as often as a history does it.
fn moments(series: &Series) -> impl Iterator<Item = usize> {
    let (step, all) = (series.step, series.values.len());
    let next = move |until: &usize| {
        let every = if (*until as u64) * step < 3600 {
            EVERY
        } else {
            3 * EVERY
        };
        Some(until + (every / step).max(1) as usize)
    };
    std::iter::successors(next(&0), next).take_while(move |until| *until <= all)
}

/// A time as people say it.
fn say(seconds: f64) -> String {
    match Duration::from_secs_f64(seconds.clamp(0.0, 1e9)).as_secs() {
        s @ 0..600 => format!("{s} s"),
        s @ 600..36_000 => format!("{} min", s / 60),
        s => format!("{} h", s / 3600),
    }
}
