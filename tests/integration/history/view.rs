//! Series for drawing, and their slope.

use std::time::Duration;

use proptest::prelude::*;
use zmtop::history::SeriesView;
use zmtop::history::time_series::{Retention, TimeSeries};
use zmtop::history::view::Band;

const MIB: u64 = 1 << 20;

/// A series that goes on to the last value, at a steady interval.
struct Drawn {
    series: TimeSeries,
    now: Duration,
    interval: Duration,
}

impl Drawn {
    fn new(millis: u64, values: impl IntoIterator<Item = Option<u64>>) -> Self {
        let mut drawn = Self {
            series: TimeSeries::default(),
            now: Duration::ZERO,
            interval: Duration::from_millis(millis),
        };
        for (at, value) in (0..).map(|n| Duration::from_millis(n * millis)).zip(values) {
            drawn.push(at, value);
        }
        drawn
    }

    fn push(&mut self, at: Duration, value: Option<u64>) {
        self.now = at;
        self.series.push(at, value, Retention::default());
    }

    fn view(&self) -> SeriesView<'_> {
        SeriesView::new(&self.series, self.now, self.interval)
    }

    fn slope(&self) -> Option<f64> {
        self.view().slope()
    }

    /// The last five minutes, the last values of as many columns.
    fn recent(&self, width: usize) -> Vec<Option<u64>> {
        lasts(self.view().recent(width))
    }
}

fn lasts(bands: Vec<Option<Band>>) -> Vec<Option<u64>> {
    bands.into_iter().map(|band| band.map(|band| band.last)).collect()
}

fn close(got: Option<f64>, want: f64) {
    let got = got.unwrap();
    assert!((got - want).abs() <= want.abs() * 0.01 + 1e-9, "{got} is not {want}");
}

#[test]
fn an_empty_one_knows_nothing() {
    let none = Drawn::new(1000, []);
    assert_eq!(none.slope(), None);
    assert_eq!(none.recent(3), [None; 3]);
    assert_eq!(none.recent(0), []);
    assert_eq!((none.view().start(), none.view().last()), (None, None));
}

#[test]
fn values_rarer_than_columns_leave_no_gaps_and_a_gap_stays_one() {
    // Once a minute up to half an hour ago, from then on every 15 s; asked for every 5 s.
    let rare = (0..30).map(|n| n * 60).chain((0..120).map(|n| 1800 + n * 15));
    let mut drawn = Drawn::new(5000, []);
    // None came for some minutes, twice with a value between.
    let is_gap = |at: u64| (600..840).contains(&at) || (900..1140).contains(&at);
    for at in rare.filter(|at| !is_gap(*at)) {
        drawn.push(Duration::from_secs(at), Some((100 + at) * MIB));
    }
    drawn.now = Duration::from_secs(3600);
    let bands = drawn.view().over(Duration::from_secs(3600)).recent(360);
    let gaps: Vec<_> = (0..354).filter(|at| bands[*at].is_none()).map(|at| at * 10).collect();
    // A column is ten seconds.
    let in_gap = |at: &usize| (540..840).contains(at) || (840..1140).contains(at);
    assert!(gaps.iter().all(in_gap), "{gaps:?}");
    for (from, to) in [(550, 830), (850, 1130)] {
        assert!((from..to).step_by(10).all(|at| gaps.contains(&at)), "{from}: {gaps:?}");
    }
}

#[test]
fn values_that_come_each_minute_leave_no_gaps_at_any_width() {
    let mut rare = Drawn::new(60_000, (0..=60).map(|n| Some((100 + n) * MIB)));
    rare.now = Duration::from_secs(3600);
    for width in 1..=400 {
        let bands = rare.view().over(Duration::from_secs(3600)).recent(width);
        let gaps = bands.iter().filter(|band| band.is_none()).count();
        assert_eq!(gaps, 0, "{width} columns");
    }
}

#[test]
fn a_column_has_the_lowest_the_last_and_the_highest_of_its_time() {
    let saw = Drawn::new(1000, (0..=300_u64).map(|s| Some((100 + s % 5) * MIB)));
    let bands = saw.view().recent(60);
    // Each column is five seconds: those whose remainders are 1, 2, 3, 4, 0.
    assert!(
        bands
            .iter()
            .all(|band| { band.is_some_and(|b| (b.min, b.last, b.max) == (100 * MIB, 100 * MIB, 104 * MIB)) })
    );
}

#[test]
fn the_newest_value_is_always_the_last_column() {
    for seconds in [0, 1, 7, 59, 299, 300, 301, 4000] {
        let rises = Drawn::new(1000, (0..=seconds).map(|s| Some(s * MIB)));
        for width in [1, 10, 60, 150, 300] {
            let recent = rises.recent(width);
            assert_eq!(recent.len(), width);
            assert_eq!(recent[width - 1], Some(seconds * MIB), "{seconds} s in {width}");
            let known: Vec<u64> = recent.iter().flatten().copied().collect();
            assert!(known.is_sorted());
            // What was before the first value is blank, also before the clock's zero.
            assert!(recent.iter().skip_while(|v| v.is_none()).all(Option::is_some));
            let blank = recent.iter().take_while(|v| v.is_none()).count();
            let unseen = (300_u64.saturating_sub(seconds)) as f64 / 300.0 * width as f64;
            assert!((blank as f64 - unseen).abs() <= 1.0, "{blank} for {unseen}");
        }
    }
}

#[test]
fn an_unknown_value_is_a_gap_of_its_own() {
    let mut values = vec![Some(MIB); 301];
    values[100..150].fill(None);
    let gap = Drawn::new(1000, values);
    let recent = gap.recent(60);
    // From the column after that of second 100 to the one before that of second 150.
    assert_eq!(recent.iter().filter(|v| v.is_none()).count(), 9);
    assert!(recent[20..29].iter().all(Option::is_none));
    assert_eq!(gap.slope(), Some(0.0));
}

#[test]
fn the_slope_is_right_at_every_interval() {
    // 1 MiB a second, from some ticks in to long after the oldest fell out.
    for millis in [100_u64, 250, 1000, 1500, 3000, 5000, 7000, 10_000, 30_000, 60_000] {
        let mut drawn = Drawn::new(millis, []);
        for tick in 0..4000_u64.min(2_000_000 / millis) {
            let at = tick * millis;
            drawn.push(Duration::from_millis(at), Some(at * MIB / 1000));
            match drawn.slope() {
                // Within a second a value is taken to have been there at its beginning.
                Some(slope) => assert!(
                    (slope / MIB as f64 - 1.0).abs() < 0.06,
                    "{slope} after {at} at {millis}"
                ),
                None => assert!(at < 7000 + millis, "no slope after {at} at {millis}"),
            }
        }
        close(drawn.slope(), MIB as f64);
    }
}

#[test]
fn a_steady_value_has_no_slope_and_a_falling_one_a_negative() {
    for value in [0, 1, 4096, 123_456_789, 1 << 40] {
        assert_eq!(Drawn::new(1000, vec![Some(value); 100]).slope(), Some(0.0));
        assert_eq!(Drawn::new(1000, vec![Some(value); 1000]).slope(), Some(0.0));
    }
    let falls = Drawn::new(1000, (0..100).map(|n| Some((1000 - n) * MIB)));
    close(falls.slope(), -(MIB as f64));
}

#[test]
fn the_slope_is_that_of_least_squares_over_every_second() {
    let values: Vec<u64> = (0..=300_u64).map(|s| (500 + s / 40 * 7 % 31) * MIB).collect();
    let drawn = Drawn::new(1000, values.iter().map(|v| Some(*v)));
    let n = values.len() as f64;
    let mx = (n - 1.0) / 2.0;
    let my = values.iter().map(|v| *v as f64).sum::<f64>() / n;
    let xy = |(x, y): (usize, &u64)| (x as f64 - mx) * (*y as f64 - my);
    let want = values.iter().enumerate().map(xy).sum::<f64>() / (n * (n * n - 1.0) / 12.0);
    assert!(
        (drawn.slope().unwrap() - want).abs() < want.abs() * 0.02,
        "{:?} {want}",
        drawn.slope()
    );
}

#[test]
fn two_values_a_moment_apart_are_no_slope() {
    let mut drawn = Drawn::new(1000, []);
    drawn.push(Duration::from_millis(4990), Some(0));
    drawn.push(Duration::from_millis(5010), Some(MIB));
    assert_eq!(drawn.slope(), None);
}

#[test]
fn a_stop_of_a_minute_is_a_gap_and_no_spike() {
    let mut drawn = Drawn::new(1000, []);
    for second in (0..60).chain(120..180_u64) {
        drawn.push(Duration::from_secs(second), Some(second * MIB));
    }
    close(drawn.slope(), MIB as f64);
    let shown = drawn.recent(60);
    assert_eq!(shown.iter().skip(24).filter(|v| v.is_none()).count(), 12, "{shown:?}");
}

#[test]
fn a_very_long_stop_leaves_nothing_old() {
    let mut drawn = Drawn::new(1000, (0..300).map(|n| Some(n * MIB)));
    drawn.push(Duration::from_secs(100_000), Some(MIB));
    assert_eq!(drawn.recent(60).into_iter().flatten().collect::<Vec<_>>(), [MIB]);
    assert_eq!(drawn.slope(), None);
    drawn.push(Duration::MAX, Some(MIB));
    drawn.push(Duration::ZERO, Some(2 * MIB));
    assert!(drawn.slope().is_none_or(f64::is_finite));
}

#[test]
fn a_long_interval_leaves_no_holes_in_the_picture() {
    for millis in [2000, 10_000, 30_000, 60_000] {
        let drawn = Drawn::new(millis, (0..200).map(|n| Some(n * MIB)));
        assert!(drawn.recent(60).iter().all(Option::is_some), "{millis}");
    }
    // A value that could not be read is not held over.
    let mut drawn = Drawn::new(10_000, vec![Some(MIB); 40]);
    drawn.push(Duration::from_secs(410), None);
    assert_eq!(drawn.recent(60)[59], None);
}

#[test]
fn every_span_is_drawn_as_finely_as_it_is_kept() {
    // A month by the minute, the last two hours by the second; by its values a time is known among four thousand
    // seconds.
    let value = |second: u64| (second % 4000) * MIB;
    let off = |bytes: u64, time: f64| {
        let off = ((bytes / MIB) as f64 - time).rem_euclid(4000.0);
        off.min(4000.0 - off)
    };
    let end = 32 * 86_400_u64;
    let mut drawn = Drawn::new(1000, []);
    drawn.interval = Duration::from_secs(60);
    for second in (0..end - 7200).step_by(60).chain(end - 7200..=end) {
        drawn.push(Duration::from_secs(second), Some(value(second)));
    }
    drawn.interval = Duration::from_secs(1);
    for span in [300_u64, 3600, 86_400, 7 * 86_400, 30 * 86_400] {
        for width in [40, 150, 300] {
            let bands = drawn.view().over(Duration::from_secs(span)).recent(width);
            let cell = span as f64 / width as f64;
            for (at, band) in bands.iter().enumerate() {
                let band = band.unwrap_or_else(|| panic!("{span} s in {width}: nothing at {at}"));
                let until = end as f64 - span as f64 + cell * (at as f64 + 1.0);
                let off = off(band.last, until);
                // No more than a column and a bucket of a twentieth of one.
                assert!(off <= 1.3 * cell + 60.0, "{span} s in {width}: {off} s off at {at}");
            }
        }
    }
    // Any time that is kept can be drawn, not only the last.
    let day_ago = Duration::from_secs(end - 86_400);
    let bands = drawn.view().bands(day_ago, Duration::from_secs(3600), 60);
    assert!(bands.iter().all(Option::is_some));
    let off = off(bands[59].unwrap().last, (end - 86_400) as f64);
    assert!(off <= 660.0, "{off}");
}

#[test]
fn what_trembles_by_next_to_nothing_has_stayed_and_what_creeps_has_not() {
    for value in [MIB, 15 << 30, 3 << 40] {
        assert_eq!(Drawn::new(1000, [Some(value + 4096)]).view().last(), Some(value + 4096));
        let least = 4096.max(value / 4096);
        let trembles = Drawn::new(1000, (0..600).map(|s| Some(value + s % 2 * least)));
        assert!(
            trembles.series.is_constant() && trembles.slope() == Some(0.0),
            "{value}"
        );
        // By a quarter of that a second it is told within four, and never further off than that.
        let creeps = Drawn::new(1000, (0..600).map(|s| Some(value + s * least / 4)));
        let off = (value + 599 * least / 4).abs_diff(creeps.view().last().unwrap());
        assert!(!creeps.series.is_constant() && off <= least + 1024, "{value} {off}");
        let slope = creeps.slope().unwrap() / (least as f64 / 4.0);
        assert!((slope - 1.0).abs() < 0.03, "{value} {slope}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_it_can_be_drawn(
        pushes in prop::collection::vec((any::<u32>(), prop::option::of(any::<u64>())), 0..80),
        width in 0..200_usize,
        span in 0..10_000_000_u64,
    ) {
        let mut drawn = Drawn::new(1000, []);
        for (millis, value) in pushes {
            drawn.push(Duration::from_millis(u64::from(millis)), value);
            prop_assert!(drawn.slope().is_none_or(f64::is_finite));
            let line = drawn.view().over(Duration::from_secs(span));
            prop_assert_eq!(line.recent(width).len(), width);
        }
    }

    #[test]
    fn what_is_drawn_is_what_was(values in prop::collection::vec(0..1000_u64, 1..400), width in 1..80_usize) {
        let drawn = Drawn::new(1000, values.iter().map(|v| Some(v * MIB)));
        let now = values.len() - 1;
        let cell = 300.0 / width as f64;
        for (at, band) in drawn.view().recent(width).iter().enumerate() {
            let Some(band) = band else { continue };
            // The seconds of this column, and of the buckets at its sides, which are half as long at most.
            let off = (cell / 2.0).max(11.0) + 1.0;
            let until = now as f64 - 300.0 + cell * (at as f64 + 1.0);
            let from = (until - cell - off).max(0.0) as usize;
            let seen = &values[from..=((until + off).max(0.0) as usize).min(now)];
            prop_assert!(seen.contains(&(band.last / MIB)), "{} in column {at} of {width}, which is seconds {from} to {until}", band.last / MIB);
            prop_assert!(*seen.iter().min().unwrap() <= band.min / MIB);
            prop_assert!(*seen.iter().max().unwrap() >= band.max / MIB);
        }
    }
}
