//! Five minutes of values and their slope.

use std::time::Duration;

use proptest::prelude::*;
use zmtop::model::history::window::Spark;

const MIB: u64 = 1 << 20;

/// Values at a steady interval.
fn spark(millis: usize, values: impl IntoIterator<Item = Option<u64>>) -> Spark {
    let mut spark = Spark::default();
    for (at, value) in (0..).step_by(millis).zip(values) {
        spark.push(Duration::from_millis(at), value);
    }
    spark
}

fn close(got: Option<f64>, want: f64) {
    let got = got.unwrap();
    assert!((got - want).abs() <= want.abs() * 0.01 + 1e-9, "{got} is not {want}");
}

#[test]
fn an_empty_one_knows_nothing() {
    let spark = Spark::default();
    assert!(spark.values().all(|v| v.is_none()));
    assert_eq!(spark.values().count(), Spark::BUCKETS);
    assert_eq!(spark.slope(), None);
    assert_eq!(spark.resampled(3), [None; 3]);
    assert_eq!(spark.resampled(0), []);
}

#[test]
fn the_last_value_of_a_bucket_stays() {
    let spark = spark(1000, (0..15).map(|n| Some(n * 1024)));
    let known: Vec<_> = spark.values().flatten().collect();
    assert_eq!(known, [4 * 1024, 9 * 1024, 14 * 1024]);
    assert_eq!(spark.values().last(), Some(Some(14 * 1024)));
}

#[test]
fn an_unknown_value_leaves_the_known_one_of_its_bucket() {
    let spark = spark(1000, [Some(MIB), None, None, None, None, None, Some(2 * MIB), None]);
    assert_eq!(spark.values().flatten().collect::<Vec<_>>(), [MIB, 2 * MIB]);
}

#[test]
fn old_values_fall_out() {
    let spark = spark(1000, (0..1000).map(|n| Some(n * MIB)));
    let values: Vec<_> = spark.values().flatten().collect();
    assert_eq!(values.len(), Spark::BUCKETS);
    assert_eq!((values[0], values[59]), (704 * MIB, 999 * MIB));
}

#[test]
fn the_slope_is_right_at_every_interval() {
    // 1 MiB a second, from some ticks in to long after the oldest fell out.
    for millis in [100_u64, 250, 1000, 3000, 5000, 7000, 10_000, 30_000, 60_000] {
        let mut spark = Spark::default();
        for tick in 0..4000_u64.min(2_000_000 / millis) {
            let at = tick * millis;
            spark.push(Duration::from_millis(at), Some(at * MIB / 1000));
            match spark.slope() {
                Some(slope) => close(Some(slope), MIB as f64),
                None => assert!(at < 15_000 + millis, "no slope after {at} at {millis}"),
            }
        }
        assert!(spark.slope().is_some(), "{millis}");
    }
}

#[test]
fn a_steady_value_has_no_slope_and_a_falling_one_a_negative() {
    for value in [0, 1, 4096, 123_456_789, 9 << 40] {
        assert_eq!(spark(1000, (0..100).map(|_| Some(value))).slope(), Some(0.0));
    }
    close(
        spark(1000, (0..100).map(|n| Some((1000 - n) * MIB))).slope(),
        -(MIB as f64),
    );
}

#[test]
fn two_values_a_moment_apart_are_no_slope() {
    let mut spark = Spark::default();
    spark.push(Duration::from_millis(4990), Some(0));
    spark.push(Duration::from_millis(5010), Some(MIB));
    assert_eq!(spark.slope(), None);
}

#[test]
fn a_stop_of_a_minute_is_a_gap_and_no_spike() {
    let mut spark = Spark::default();
    for second in (0..60).chain(120..180_u64) {
        spark.push(Duration::from_secs(second), Some(second * MIB));
        if second == 120 {
            let gap = spark.values().rev().skip(1).take_while(Option::is_none).count();
            assert_eq!(gap, 12);
            assert_eq!(
                spark
                    .resampled(60)
                    .iter()
                    .rev()
                    .skip(1)
                    .take_while(|v| v.is_none())
                    .count(),
                12
            );
        }
    }
    close(spark.slope(), MIB as f64);
    let shown = spark.resampled(60);
    assert_eq!(shown.iter().flatten().count(), 24);
    let gap = shown
        .iter()
        .skip_while(|v| v.is_none())
        .skip(12)
        .take_while(|v| v.is_none())
        .count();
    assert_eq!(gap, 12);
}

#[test]
fn a_very_long_stop_leaves_nothing_old() {
    let mut spark = spark(1000, (0..300).map(|n| Some(n * MIB)));
    spark.push(Duration::from_secs(100_000), Some(MIB));
    assert_eq!(spark.values().flatten().collect::<Vec<_>>(), [MIB]);
    assert_eq!(spark.slope(), None);
    spark.push(Duration::MAX, Some(MIB));
    spark.push(Duration::ZERO, Some(2 * MIB));
    assert_eq!(spark.values().flatten().count(), 1);
}

#[test]
fn resampling_keeps_the_newest_and_the_order() {
    let spark = spark(5000, (0..60).map(|n| Some(n * MIB)));
    let mib = |v: Vec<Option<u64>>| v.into_iter().map(|v| v.unwrap() / MIB).collect::<Vec<_>>();
    assert_eq!(mib(spark.resampled(10)), [5, 11, 17, 23, 29, 35, 41, 47, 53, 59]);
    assert_eq!(mib(spark.resampled(1)), [59]);
    assert_eq!(mib(spark.resampled(60)), (0..60).collect::<Vec<_>>());
    let wide = mib(spark.resampled(150));
    assert_eq!((wide.len(), wide[0], wide[149]), (150, 0, 59));
    assert!(wide.is_sorted());
}

#[test]
fn a_slow_rhythm_leaves_no_holes_in_the_picture() {
    for millis in [10_000, 30_000, 60_000] {
        let spark = spark(millis, (0..30).map(|n| Some(n * MIB)));
        assert!(spark.resampled(60).iter().skip(12).all(Option::is_some), "{millis}");
    }
    // A value that could not be read is not held over.
    let spark = spark(10_000, [Some(MIB), Some(MIB), Some(MIB), None]);
    assert_eq!(spark.resampled(60)[59], None);
}

#[test]
fn large_values_keep_seven_digits() {
    let exact = 15 << 30;
    assert_eq!(
        spark(1000, [Some(exact + 4096)]).values().last(),
        Some(Some(exact + 4096))
    );
    let large = spark(1000, [Some(23_456_789_012_345)])
        .values()
        .last()
        .flatten()
        .unwrap();
    assert!(large.abs_diff(23_456_789_012_345) < 2 << 20);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_comes_the_slope_is_finite(
        pushes in prop::collection::vec((any::<u32>(), prop::option::of(any::<u64>())), 0..80),
        width in 0..200_usize,
    ) {
        let mut spark = Spark::default();
        for (millis, value) in pushes {
            spark.push(Duration::from_millis(u64::from(millis)), value);
            prop_assert!(spark.slope().is_none_or(f64::is_finite));
            prop_assert_eq!(spark.resampled(width).len(), width);
        }
    }
}
