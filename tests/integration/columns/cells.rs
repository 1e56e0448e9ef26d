//! Values as the text of a cell.

use std::borrow::Cow;
use std::time::Duration;

use proptest::prelude::*;
use zmtop::columns::cell::sparkline;
use zmtop::columns::{CellStyle, SortKey, Value, cell, sparklines};
use zmtop::history::SeriesView;
use zmtop::history::time_series::{Retention, TimeSeries};
use zmtop::model::Missing;
use zmtop::text::width;
use zmtop::trend::{Judgement, Verdict};
use zmtop::units::Units;

const MIB: u64 = 1 << 20;

/// Values five seconds apart.
fn series(values: &[Option<u64>]) -> TimeSeries {
    let mut series = TimeSeries::default();
    for (at, value) in (5..).step_by(5).zip(values) {
        series.push(Duration::from_secs(at), *value, Retention::default());
    }
    series
}

fn drawn(values: &[Option<u64>], width: usize) -> String {
    let series = series(values);
    let interval = Duration::from_secs(5);
    sparkline(
        &SeriesView::new(&series, interval * values.len() as u32, interval),
        width,
    )
}

fn judged(verdict: Verdict, slope: f64, confidence: f64) -> Judgement {
    Judgement {
        verdict,
        slope,
        confidence,
        ..Judgement::default()
    }
}

#[test]
fn what_is_flat_has_a_verdict_and_no_pace() {
    let flat = |verdict| Judgement {
        flat_since: Some(Duration::from_secs(5)),
        ..judged(verdict, 0.0, 0.98)
    };
    for (verdict, trend) in [
        (Verdict::Leaking, "▲ leak paused"),
        (Verdict::Growing, "△ grow paused"),
        (Verdict::Warming, "~ warm-up"),
        (Verdict::Shrinking, "▽ fall paused"),
    ] {
        assert_eq!(cell(&Value::Trend(flat(verdict), None), Units::Auto, 16).text, trend);
        assert_eq!(cell(&Value::Pace(flat(verdict)), Units::Auto, 9).text, "paused");
    }
}

#[test]
fn no_pace_stands_beside_a_change_that_contradicts_it() {
    let mib = MIB.cast_signed();
    for (verdict, slope, change, expected) in [
        (Verdict::Growing, 1e6, None, "△ grow 57.2M/min"),
        (Verdict::Growing, 1e6, Some(mib), "△ grow 57.2M/min"),
        (Verdict::Growing, 1e6, Some(1 - mib), "△ grow 57.2M/min"),
        (Verdict::Growing, 1e6, Some(-mib), "△ grow"),
        (Verdict::Shrinking, -1e6, Some(mib), "▽ fall"),
        (Verdict::Shrinking, -1e6, Some(-mib), "▽ fall 57.2M/min"),
        (Verdict::Warming, 1e6, Some(mib), "~ warm-up"),
        // A leak is judged over a quarter of an hour, and goes on.
        (Verdict::Leaking, 1e6, Some(-mib), "▲ leak 57.2M/min"),
    ] {
        let value = Value::Trend(judged(verdict, slope, 0.5), change);
        assert_eq!(cell(&value, Units::Auto, 16).text, expected, "{change:?}");
    }
}

#[test]
fn leaks_sort_before_what_only_grows_and_by_their_slopes() {
    let rising = [
        judged(Verdict::Shrinking, -1e12, 0.0),
        judged(Verdict::Shrinking, -1.0, 0.0),
        judged(Verdict::Steady, 0.0, 0.0),
        judged(Verdict::Warming, 1e12, 0.0),
        judged(Verdict::Growing, 3.0, 0.5),
        judged(Verdict::Growing, 1e12, 0.5),
        judged(Verdict::Leaking, 0.25, 0.9),
        judged(Verdict::Leaking, 0.5, 0.9),
    ];
    let keys: Vec<f64> = rising
        .map(|judged| match Value::Trend(judged, None).sort_key() {
            SortKey::Number(key) => key,
            other => panic!("{other:?}"),
        })
        .into();
    assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
    let unknown = Value::Trend(Judgement::default(), None).sort_key();
    assert_eq!(unknown, SortKey::Missing);
}

#[test]
fn every_kind_of_value() {
    let chart = series(&[Some(0), Some(MIB)]);
    let chart = SeriesView::new(&chart, Duration::from_secs(10), Duration::from_secs(5));
    let table = [
        (Value::Bytes(0), "0", CellStyle::Zero),
        (Value::Bytes(120 * MIB), "120M", CellStyle::Plain),
        (Value::Delta(0, 0), "0", CellStyle::Zero),
        (Value::Delta(12 << 20, 0), "+12.0M", CellStyle::Up),
        // Below 1 MiB, or 1 % of what changed, a change is noise.
        (Value::Delta(1024, 0), "+1.0K", CellStyle::Plain),
        (Value::Delta(-4096, 0), "-4.0K", CellStyle::Plain),
        (Value::Delta(900 << 10, 5 << 20), "+900K", CellStyle::Plain),
        (Value::Delta(1 << 20, 100 << 20), "+1.0M", CellStyle::Up),
        (Value::Delta(-(1 << 20), 100 << 20), "-1.0M", CellStyle::Down),
        (Value::Delta(99 << 20, 10_000 << 20), "+99.0M", CellStyle::Plain),
        (Value::Delta(-(100 << 20), 10_000 << 20), "-100M", CellStyle::Down),
        (Value::Growth(0.0), "0", CellStyle::Zero),
        (Value::Growth(1e-9), "0", CellStyle::Zero),
        // 1 MiB a minute is 17.1 KiB a second.
        (Value::Growth(2048.0), "+120K/min", CellStyle::Plain),
        (Value::Growth(20480.0), "+1.2M/min", CellStyle::Up),
        (Value::Growth(-20480.0), "-1.2M/min", CellStyle::Down),
        (Value::PerSecond(0.04), "0", CellStyle::Zero),
        (Value::PerSecond(3.21), "3.2", CellStyle::Plain),
        (Value::PerSecond(123_456.7), "123k", CellStyle::Plain),
        (Value::Share(0.0004), "0", CellStyle::Zero),
        (Value::Share(0.5), "50.0", CellStyle::Plain),
        (Value::Share(9.99), "999.0", CellStyle::Plain),
        (Value::Share(64.0), "6400", CellStyle::Plain),
        (Value::Count(0), "0", CellStyle::Zero),
        (Value::Count(412), "412", CellStyle::Plain),
        (Value::Count(4_200_000), "4.2M", CellStyle::Plain),
        (Value::Id(4_294_967_294), "4294967294", CellStyle::Plain),
        (Value::Id(0), "0", CellStyle::Plain),
        (Value::Seconds(245.0), "4m05", CellStyle::Plain),
        (Value::Seconds(-1.0), "0s", CellStyle::Plain),
        (Value::Seconds(f64::NAN), "0s", CellStyle::Plain),
        (Value::Text(Cow::Borrowed(b"a\x1b[31m")), "a\\x1b[31m", CellStyle::Plain),
        (Value::Chart(chart, Some(1.0)), "  ▁▇", CellStyle::Chart),
        (
            Value::Trend(judged(Verdict::Leaking, 200e3, 0.9876), None),
            "▲ leak 11.4M/min",
            CellStyle::Leak,
        ),
        (
            Value::Trend(judged(Verdict::Leaking, 17e3, 0.9999), None),
            "▲ leak 996K/min",
            CellStyle::Leak,
        ),
        (
            Value::Trend(judged(Verdict::Growing, 17.0, 0.6), None),
            "△ grow 1020B/min",
            CellStyle::Up,
        ),
        (
            Value::Trend(judged(Verdict::Warming, 1e6, 0.6), None),
            "~ warm-up",
            CellStyle::Plain,
        ),
        (
            Value::Trend(judged(Verdict::Shrinking, -1e6, 0.0), None),
            "▽ fall 57.2M/min",
            CellStyle::Down,
        ),
        (
            Value::Trend(judged(Verdict::Steady, 0.0, 0.0), None),
            "· steady",
            CellStyle::Zero,
        ),
        (Value::Verdict(Verdict::Leaking), "leaking", CellStyle::Leak),
        (Value::Missing(Missing::Pending), "…", CellStyle::Missing),
        (Value::Missing(Missing::Denied), "-", CellStyle::Missing),
        (Value::Missing(Missing::TimedOut), "-", CellStyle::Missing),
        (Value::Blank, "", CellStyle::Plain),
    ];
    for (value, text, tone) in table {
        let width = match value {
            Value::Chart(..) => 60,
            Value::Text(_) => 12,
            Value::Trend(..) => 15,
            _ => 6,
        };
        let cell = cell(&value, Units::Auto, width);
        let shown = match value {
            Value::Chart(..) => &cell.text[cell.text.len() - text.len()..],
            _ => &cell.text,
        };
        assert_eq!((shown, cell.style), (text, tone), "{value:?}");
    }
    // Where nothing moves, the column is narrow.
    let steady = Value::Trend(judged(Verdict::Steady, 0.0, 0.0), None);
    assert_eq!(cell(&steady, Units::Auto, 5).text, "·");
    assert_eq!(cell(&Value::Count(4_200_000), Units::Auto, 7).text, "4200000");
    assert_eq!(cell(&Value::Bytes(120 * MIB), Units::K, 11).text, "122880K");
}

#[test]
fn long_text_is_cut_where_the_cell_ends() {
    let long = vec![b'a'; 1 << 20];
    let text = cell(&Value::Text(Cow::Borrowed(&long)), Units::Auto, 12).text;
    assert!((12..=16).contains(&text.len()), "{}", text.len());
}

#[test]
fn a_sparkline_goes_from_its_least_to_its_greatest() {
    let rises: Vec<_> = (0..60).map(|n| Some(n * MIB)).collect();
    assert_eq!(drawn(&rises, 7), "▁▂▃▄▅▆▇");
    let falls: Vec<_> = rises.iter().rev().copied().collect();
    assert_eq!(drawn(&falls, 7), "▇▆▅▄▃▂▁");
    let high: Vec<_> = rises.iter().map(|v| v.map(|n| n + 500 * MIB)).collect();
    assert_eq!(drawn(&high, 7), "▁▂▃▄▅▆▇");
}

#[test]
fn a_steady_value_is_a_flat_line_and_trembling_stays_low() {
    assert_eq!(drawn(&[Some(100 * MIB); 60], 5), "▁▁▁▁▁");
    assert_eq!(drawn(&[Some(0); 60], 5), "▁▁▁▁▁");
    let trembles: Vec<_> = (0..60).map(|n| Some(100 * MIB + n % 2 * MIB / 4)).collect();
    let line = drawn(&trembles, 60);
    assert!(line.chars().all(|c| "▁▂".contains(c)), "{line}");
    // 1 MiB is the least that the height stands for.
    let small: Vec<_> = (0..60).map(|n| Some(n % 2 * MIB / 2)).collect();
    assert!(!drawn(&small, 60).contains(['▅', '▆', '▇']));
}

#[test]
fn the_charts_of_a_table_can_be_compared() {
    let rises = |from: u64, by: u64| {
        (0..60)
            .map(|n| Some(from * MIB + n * by * MIB / 59))
            .collect::<Vec<_>>()
    };
    let started = |to: u64| (0..60).map(|n| (n > 30).then(|| to * MIB * (n - 30) / 29)).collect();
    let steady = rises(2000, 0);
    for (rows, expected) in [
        // Alone, and beside what moves five, nine and four hundred times as much.
        (vec![rises(50, 10)], vec!["▁▂▃▄▅▆▇"]),
        (vec![rises(50, 10), rises(50, 50)], vec!["▁▂▂▂▃▃▄", "▁▂▃▄▅▆▇"]),
        (vec![rises(50, 10), rises(50, 90)], vec!["▁▁▂▂▂▃▃", "▁▂▃▄▅▆▇"]),
        (vec![rises(50, 10), rises(50, 4000)], vec!["▁▁▁▁▁▁▁", "▁▂▃▄▅▆▇"]),
        // What is small beside the row itself is flat, whatever it stands beside.
        (vec![rises(2000, 10)], vec!["▁▁▁▁▁▁▁"]),
        // What started meanwhile makes nothing else flat.
        (vec![rises(50, 10), started(800)], vec!["▁▂▃▄▅▆▇", "   ▁▃▅▇"]),
        (vec![steady, vec![None; 60]], vec!["▁▁▁▁▁▁▁", "       "]),
    ] {
        let series: Vec<TimeSeries> = rows.iter().map(|row| series(row)).collect();
        let interval = Duration::from_secs(5);
        let charts = series
            .iter()
            .map(|series| Value::Chart(SeriesView::new(series, interval * 60, interval), None));
        assert_eq!(sparklines(charts.chain([Value::Blank]), 7)[..rows.len()], expected[..]);
    }
}

#[test]
fn gaps_are_blank() {
    assert_eq!(drawn(&[], 4), "    ");
    let mut values = vec![Some(0); 60];
    values[18..42].fill(None);
    assert_eq!(drawn(&values, 6), "▁▁  ▁▁");
    assert_eq!(drawn(&[Some(MIB)], 4), "   ▁");
    assert_eq!(drawn(&values, 0), "");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_sparkline_has_its_width(values in prop::collection::vec(prop::option::of(any::<u64>()), 0..80), columns in 0..120_usize) {
        prop_assert_eq!(width(&drawn(&values, columns)), columns);
    }

    #[test]
    fn figures_keep_to_the_columns_they_are_given(n in any::<u64>(), shift in 0..64_u32, x in 0.0..1e4_f64) {
        let n = n >> shift;
        for (value, columns) in [
            (Value::Bytes(n), 5),
            (Value::Delta(n.cast_signed(), x as u64), 6),
            (Value::Growth(x * x * x), 10),
            (Value::PerSecond(x * x), 5),
            (Value::Share(x), 7),
            (Value::Count(n), 5),
            (Value::Seconds(x * x), 5),
        ] {
            let cell = cell(&value, Units::Auto, columns.min(6));
            prop_assert!(width(&cell.text) <= columns, "{value:?} {}", cell.text);
        }
    }
}
