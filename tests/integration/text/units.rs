//! Figures as text of a known width, and back.

use std::time::Duration;

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;
use zmtop::units::{Units, bytes, count, delta, growth, pace, parse_rate, parse_size, parse_span, size_exact, span};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

#[test]
fn paces_are_by_the_minute() {
    for (per_second, text) in [
        (0.0, "0/min"),
        (0.5, "30B/min"),
        (0.05, "3B/min"),
        (17.0, "1020B/min"),
        (-17.5, "1.0K/min"),
        (200e3, "11.4M/min"),
        (3e9, "168G/min"),
        (f64::NAN, "-"),
    ] {
        assert_eq!(pace(per_second), text, "{per_second}");
    }
}

#[test]
fn exact_sizes_are_read_back() {
    for (n, text) in [
        (0, "0"),
        (1, "1"),
        (1000, "1000"),
        (1024, "1K"),
        (3 << 19, "1536K"),
        (24 << 20, "24M"),
        (1 << 40, "1T"),
    ] {
        assert_eq!(size_exact(n), text);
        assert_eq!(parse_size(text), Some(n as f64));
    }
}

#[test]
fn bytes_in_every_unit() {
    for (n, auto, k, m, g) in [
        (0, "0", "0K", "0.0M", "0.00G"),
        (1, "1B", "0K", "0.0M", "0.00G"),
        (1023, "1023B", "0K", "0.0M", "0.00G"),
        (4 * KIB, "4.0K", "4K", "0.0M", "0.00G"),
        (10 * KIB - 1, "10.0K", "9K", "0.0M", "0.00G"),
        (120 * MIB, "120M", "122880K", "120M", "0.12G"),
        (1023 * MIB + 600 * KIB, "1.0G", "1048152K", "1023M", "1.00G"),
        (21 * GIB / 10, "2.1G", "2202009K", "2150M", "2.10G"),
        (
            u64::MAX,
            "16.0E",
            "18014398509481983K",
            "17592186044415M",
            "17179869184.00G",
        ),
    ] {
        assert_eq!(bytes(n, Units::Auto), auto);
        assert_eq!(bytes(n, Units::K), k);
        assert_eq!(bytes(n, Units::M), m);
        assert_eq!(bytes(n, Units::G), g);
        assert_eq!(bytes(n, Units::Bytes), n.to_string());
    }
}

#[test]
fn deltas_and_growth_have_signs() {
    assert_eq!(delta(0, Units::M), "0");
    assert_eq!(delta(12 << 20, Units::Auto), "+12.0M");
    assert_eq!(delta(-4096, Units::Auto), "-4.0K");
    assert_eq!(delta(i64::MIN, Units::Auto), "-8.0E");
    for (per_second, text) in [
        (0.0, "0"),
        (0.001, "0"),
        (12_288.0, "+720K/min"),
        (-3.1 * 1_048_576.0, "-186M/min"),
        (500.0, "+29.3K/min"),
        (1.0, "+60B/min"),
        (-0.1, "-6B/min"),
        (f64::NAN, "-"),
        (f64::INFINITY, "-"),
        (f64::MAX, "+8.0E/min"),
    ] {
        assert_eq!(growth(per_second), text, "{per_second}");
    }
}

#[test]
fn counts_and_spans() {
    for (n, text) in [
        (0, "0"),
        (99_999, "99999"),
        (100_000, "100k"),
        (999_499, "999k"),
        (999_500, "1.0M"),
        (9_949_999, "9.9M"),
        (9_950_000, "9.9M"),
        (9_999_999, "10.0M"),
        (999_500_000, "1.0G"),
        (u64::MAX, "18.4E"),
    ] {
        assert_eq!(count(n), text, "{n}");
    }
    for (millis, text) in [
        (0, "0s"),
        (20, "0.0s"),
        (300, "0.3s"),
        (999, "0.9s"),
        (9_000, "9s"),
        (99_999, "99s"),
        (245_000, "4m05"),
        (3_599_000, "59m59"),
        (11_220_000, "3h07"),
        (86_399_000, "23h59"),
        (12 * 86_400_000, "12d"),
        (9_999 * 86_400_000, "9999d"),
        (10_950 * 86_400_000, "30y"),
    ] {
        assert_eq!(span(Duration::from_millis(millis)), text, "{millis}");
    }
}

#[test]
fn figures_are_read() {
    for (text, want) in [
        ("0", Some(0.0)),
        ("4096", Some(4096.0)),
        ("512B", Some(512.0)),
        ("1.5k", Some(1536.0)),
        ("100M", Some(104_857_600.0)),
        ("100mib", Some(104_857_600.0)),
        ("1GB", Some(1_073_741_824.0)),
        ("1E", Some(1_152_921_504_606_846_976.0)),
        ("", None),
        (".", None),
        ("M", None),
        ("1ib", None),
        ("1Q", None),
        ("1 M", None),
        ("-1", None),
        ("inf", None),
        ("1e5", None),
        ("1.2.3", None),
    ] {
        assert_eq!(parse_size(text), want, "{text}");
    }
    assert_eq!(parse_size(&"9".repeat(400)), None);
    assert_eq!(parse_rate("60K/min"), Some(1024.0));
    assert_eq!(parse_rate("1M/s"), Some(1_048_576.0));
    for bad in ["1M", "1M/", "/s", "1M/y", "1M/s/s"] {
        assert_eq!(parse_rate(bad), None, "{bad}");
    }
    for (text, want) in [
        ("0", Some(0)),
        ("250ms", Some(250)),
        ("1.5", Some(1500)),
        (" 2 m ", Some(120_000)),
        ("2min", Some(120_000)),
        ("1h", Some(3_600_000)),
        ("1h30m", Some(5_400_000)),
        ("4m05", Some(245_000)),
        ("3h07", Some(11_220_000)),
        ("1d", Some(86_400_000)),
        ("", None),
        ("s", None),
        ("-1", None),
        ("1h30q", None),
        ("1x", None),
        ("1s5", None),
        ("500ms5", None),
        ("1 2", None),
        ("1h30m5", Some(5_405_000)),
        ("1.2.3s", None),
        ("99999999999999999999999d", None),
    ] {
        assert_eq!(parse_span(text), want.map(Duration::from_millis), "{text}");
    }
}

#[test]
fn units_have_names_and_a_round() {
    let mut unit = Units::default();
    for _ in 0..Units::ALL.len() {
        assert_eq!(Units::from_id(unit.id()), Some(unit));
        unit = unit.next();
    }
    assert_eq!(unit, Units::default());
    assert_eq!(Units::from_id("x"), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn widths_hold(n in any::<u64>(), shift in 0..64_u32, x in any::<f64>()) {
        let n = n >> shift;
        prop_assert!(bytes(n, Units::Auto).width() <= 5);
        prop_assert!(delta(n.cast_signed(), Units::Auto).width() <= 6);
        prop_assert!(count(n).width() <= 5);
        prop_assert!(span(Duration::new(n, 999_999_999)).width() <= 5);
        prop_assert!(growth(x).width() <= 10);
        prop_assert!(growth(n as f64).width() <= 10);
        if n <= 1 << 40 {
            for unit in Units::ALL {
                prop_assert!(bytes(n, unit).width() <= usize::from(unit.width()));
                prop_assert!(delta(-n.cast_signed(), unit).width() <= usize::from(unit.width()) + 1);
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again(n in any::<u64>(), shift in 0..64_u32) {
        let n = n >> shift;
        for unit in Units::ALL {
            let text = bytes(n, unit);
            let back = parse_size(&text).unwrap();
            // Half of the last digit written.
            let step = match unit {
                Units::Bytes => 0.0,
                Units::Auto => n as f64 / 18.0,
                Units::K => 1024.0,
                Units::M => 1_048_576.0,
                Units::G => 10_737_419.0,
            };
            prop_assert!((back - n as f64).abs() <= step.max(n as f64 * 1e-15), "{n} {text} {back}");
        }
        let rate = n as f64 / 1000.0;
        let text = growth(rate);
        if text == "0" {
            prop_assert!(rate * 60.0 < 1.0);
        } else {
            let back = parse_rate(text.trim_start_matches('+')).unwrap();
            prop_assert!((back - rate).abs() <= rate / 18.0 + 1.0 / 60.0, "{rate} {text} {back}");
        }
        let seconds = n % (9999 * 86_400);
        let text = span(Duration::from_secs(seconds));
        let back = parse_span(&text).unwrap().as_secs();
let step = match seconds {
            0..3600 => 1,
            3600..86_400 => 60,
            86_400..864_000 => 3600,
            _ => 86_400,
        };
        prop_assert_eq!(back, seconds / step * step, "{}", text);
    }
}
