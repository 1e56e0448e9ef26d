//! Time series: resolutions, runs, gaps and memory.

use std::time::Duration;

use zmtop::history::time_series::{Retention, TimeSeries};
use zmtop::trend::Point;

const MB: u64 = 1 << 20;

fn fill(seconds: std::ops::Range<u64>, value: impl Fn(u64) -> Option<u64>) -> TimeSeries {
    let mut series = TimeSeries::default();
    for s in seconds {
        series.push(Duration::from_secs(s), value(s), Retention::default());
    }
    series
}

/// A value that changes every second, in KiB.
fn restless(s: u64) -> u64 {
    (s.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) * 1024
}

#[test]
fn buckets_hold_the_lowest_the_last_and_the_highest() {
    let series = fill(1000..5000, |s| Some(restless(s)));
    for level in 0..TimeSeries::RESOLUTIONS {
        let (step, reach) = TimeSeries::resolution(level);
        let points: Vec<Point> = series.points_since(level, Duration::ZERO).collect();
        assert!(points.len() as u64 <= reach.as_secs() / step.as_secs());
        for point in &points {
            let seconds = point.from.as_secs().max(1000)..(point.from + step).as_secs().min(5000);
            let seen: Vec<u64> = seconds.map(restless).collect();
            assert_eq!(point.min, *seen.iter().min().unwrap());
            assert_eq!(point.max, *seen.iter().max().unwrap());
            assert_eq!(point.last, *seen.last().unwrap());
            assert_eq!(point.to + Duration::from_millis(1), point.from + step);
        }
        assert_eq!(points.last().unwrap().last, restless(4999));
    }
}

#[test]
fn what_stays_takes_no_room() {
    let idle = fill(0..200_000, |_| Some(80 * MB));
    assert!(idle.bytes() < 800, "{}", idle.bytes());
    for level in 0..TimeSeries::RESOLUTIONS {
        assert_eq!(idle.points_since(level, Duration::ZERO).count(), 1, "level {level}");
    }
    // Now and then it does something.
    let nearly = fill(0..20_000, |s| Some(80 * MB + s / 5000 * MB));
    assert!(nearly.bytes() < 2400, "{}", nearly.bytes());
}

#[test]
fn the_most_is_bounded() {
    let mut series = TimeSeries::default();
    // A month, by the minute, after an hour by the second.
    for s in (0..3600).chain((3600..40 * 86_400).step_by(60)) {
        series.push(Duration::from_secs(s), Some(restless(s)), Retention::default());
    }
    assert!(series.bytes() < 72_000, "{}", series.bytes());
    let mut points = Vec::new();
    series.collect_points(&mut points);
    assert!(points.len() < 1500, "{}", points.len());
    let mut retention = Retention::default();
    let mut before = series.bytes();
    while retention.halved() != retention {
        retention = retention.halved();
        series.set_retention(retention);
        assert!(series.bytes() < before * 3 / 4, "{} of {before}", series.bytes());
        before = series.bytes();
        // The newest of all is there, and so is what a verdict asks for: some 30 buckets to an age.
        series.collect_points(&mut points);
        assert!(points.len() >= 60, "{}", points.len());
        assert_eq!(points.last().unwrap().last, restless(40 * 86_400 - 60));
    }
    assert!(before < 12_000, "{before}");
    series.clear_past();
    assert!(series.bytes() < 100 && series.is_constant());
}

#[test]
fn a_gap_stays_a_gap() {
    let series = fill(0..300, |s| (!(100..200).contains(&s)).then_some(5 * MB));
    let points: Vec<Point> = series.points_since(0, Duration::ZERO).collect();
    assert_eq!(points.len(), 2);
    assert_eq!(points[0].to, Duration::from_millis(99_999));
    assert_eq!(points[1].from, Duration::from_secs(200));
}

#[test]
fn a_run_that_ends_within_a_bucket_keeps_its_value_there() {
    let series = fill(0..45, |s| Some(if s < 43 { 5 * MB } else { 7 * MB }));
    let tens: Vec<Point> = series.points_since(1, Duration::ZERO).collect();
    let last = tens.last().unwrap();
    assert_eq!((last.min, last.last, last.max), (5 * MB, 7 * MB, 7 * MB));
    assert_eq!(tens[0].to, Duration::from_millis(39_999));
}

#[test]
fn a_clock_that_jumps_breaks_nothing() {
    let mut series = fill(5000..5100, |s| Some(restless(s)));
    series.push(Duration::from_secs(10), Some(MB), Retention::default());
    assert_eq!(
        series.points_since(0, Duration::ZERO).last().unwrap().from,
        Duration::from_secs(5099)
    );
    series.push(Duration::from_secs(9_000_000), Some(MB), Retention::default());
    assert_eq!(series.points_since(0, Duration::ZERO).count(), 1);
    series.push(Duration::MAX, Some(u64::MAX), Retention::default());
    let mut points = Vec::new();
    series.collect_points(&mut points);
    assert!(points.windows(2).all(|pair| pair[0].to < pair[1].from));
}

#[test]
fn a_judge_sees_each_time_once_and_finely_enough() {
    let series = fill(0..100_000, |s| Some(restless(s)));
    let mut points = Vec::new();
    series.collect_points(&mut points);
    assert!(points.windows(2).all(|pair| pair[0].to < pair[1].from));
    // No gap larger than the coarser bucket beside it, and nothing coarser than a thirty-second of its age.
    for pair in points.windows(2) {
        let gap = pair[1].from.saturating_sub(pair[0].to).as_secs();
        assert!(gap < 2, "{gap} s before {:?}: {pair:?}", pair[1].from);
        let age = 100_000 - pair[0].to.as_secs();
        let long = pair[0].to.saturating_sub(pair[0].from).as_secs() + 1;
        assert!(long <= 1 || long * 28 <= age, "{long} s at {age} s");
    }
    assert_eq!(points.last().unwrap().last, restless(99_999));
    let newest = points.iter().rev().take(280);
    assert!(newest.clone().all(|p| p.min == restless(p.from.as_secs())));
}
