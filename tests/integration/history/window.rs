//! A change over the last seconds, and rates.

use std::time::Duration;

use proptest::prelude::*;
use zmtop::history::window::{ChangeWindow, rate};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The change after each of these values, a second apart, over ten seconds.
fn changes(values: &[Option<u64>]) -> Vec<Option<i64>> {
    let mut window = ChangeWindow::new(ms(10_000), ms(10_000));
    (1000..)
        .step_by(1000)
        .zip(values)
        .map(|(at, value)| {
            window.push(ms(at), *value);
            window.change()
        })
        .collect()
}

#[test]
fn one_value_is_no_change() {
    assert_eq!(ChangeWindow::new(ms(10_000), ms(10_000)).change(), None);
    assert_eq!(changes(&[Some(5)]), [None]);
    assert_eq!(changes(&[None, Some(5), Some(9)]), [None, None, Some(4)]);
    assert_eq!(changes(&[Some(5), None, Some(9), None]), [None, None, Some(4), None]);
}

#[test]
fn a_change_reaches_back_the_whole_window_and_no_further() {
    let grows: Vec<_> = (0..30).map(|n| Some(n * 100)).collect();
    let got = changes(&grows);
    assert_eq!(got[1], Some(100));
    assert_eq!(got[9], Some(900));
    assert_eq!(got[10], Some(1000));
    assert!(got[10..].iter().all(|c| *c == Some(1000)), "{got:?}");
    let step: Vec<_> = (0..30).map(|n| Some(if n < 5 { 700 } else { 0 })).collect();
    let got = changes(&step);
    assert_eq!(got[5], Some(-700));
    assert_eq!(got[14], Some(-700));
    assert_eq!(got[15], Some(0));
}

#[test]
fn several_values_in_a_slot() {
    let mut window = ChangeWindow::new(ms(10_000), ms(10_000));
    for tick in 0..300_u64 {
        window.push(ms(tick * 100), Some(tick * 4096));
        match window.change() {
            None => assert_eq!(tick, 0),
            Some(change) => {
                let ticks = change / 4096;
                let want = tick.min(100).cast_signed();
                assert!((want..=want + 10).contains(&ticks), "at {tick}: {ticks}");
            }
        }
    }
}

#[test]
fn a_stop_of_a_minute_is_a_gap() {
    let mut window = ChangeWindow::new(ms(10_000), ms(10_000));
    for second in 0..20 {
        window.push(ms(second * 1000), Some(1 << 20));
    }
    window.push(ms(80_000), Some(1 << 30));
    assert_eq!(window.change(), None);
    window.push(ms(81_000), Some((1 << 30) + 7));
    assert_eq!(window.change(), Some(7));
}

#[test]
fn a_clock_that_stands_or_turns_back_does_no_harm() {
    let mut window = ChangeWindow::new(ms(10_000), ms(10_000));
    for at in [50_000, 50_000, 40_000, 0, 50_500] {
        window.push(ms(at), Some(at));
    }
    assert_eq!(window.change(), Some(500));
    window.push(Duration::MAX, Some(1));
    assert_eq!(window.change(), None);
    let mut least = ChangeWindow::new(Duration::ZERO, Duration::ZERO);
    least.push(ms(1), Some(1));
    least.push(ms(1), Some(3));
    assert_eq!(least.change(), Some(2));
}

#[test]
fn huge_values_do_not_overflow() {
    assert_eq!(changes(&[Some(0), Some(u64::MAX)])[1], Some(i64::MAX));
    assert_eq!(changes(&[Some(u64::MAX), Some(0)])[1], Some(-i64::MAX));
    assert_eq!(changes(&[Some(6 << 40), Some(7 << 40)])[1], Some(1 << 40));
}

#[test]
fn rates_of_counters() {
    assert_eq!(rate(10, 30, 2.0), Some(10.0));
    assert_eq!(rate(10, 10, 2.0), Some(0.0));
    assert_eq!(rate(30, 10, 2.0), None);
    assert_eq!(rate(10, 30, 0.0), None);
    assert_eq!(rate(10, 30, f64::NAN), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Against the plain definition: of all values kept, the oldest within the window.
    #[test]
    fn a_change_is_against_a_value_about_a_window_old(
        steps in prop::collection::vec((1..4000_u64, prop::option::of(0..1000_u64)), 1..60)
    ) {
        let mut window = ChangeWindow::new(ms(10_000), ms(10_000));
        let mut seen: Vec<(u64, u64)> = Vec::new();
        let mut at = 0;
        for (step, value) in steps {
            at += step;
            window.push(ms(at), value);
            let within: Vec<i64> = seen
                .iter()
                .filter(|(then, _)| at - then <= 11_000)
                .map(|(_, v)| value.unwrap_or(0).cast_signed() - v.cast_signed())
                .collect();
            match window.change() {
                Some(change) => prop_assert!(value.is_some() && within.contains(&change)),
                None => prop_assert!(value.is_none() || seen.iter().all(|(then, _)| at - then > 9_000)),
            }
            seen.extend(value.map(|v| (at, v)));
        }
    }
}
