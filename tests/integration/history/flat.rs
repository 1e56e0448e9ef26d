//! A process that stopped growing: no pace and no time to the limit are shown of it.

use std::time::Duration;

use zmtop::group::{GroupBy, GroupKey};
use zmtop::history::{History, RowHistory};
use zmtop::model::{Identity, ProcessSample, Snapshot};
use zmtop::trend::Verdict;

use crate::support::rows::{MIB, in_cgroup, later, with_pss};

const WINDOW: Duration = Duration::from_secs(10);
/// Seconds after which growth that stopped is no longer shown.
const GONE: u64 = 120;
const LIMIT: u64 = 64 << 30;

const fn id(pid: u32) -> Identity {
    Identity {
        pid,
        starttime: pid as u64 * 10,
    }
}

fn at(second: u64, interval: u64, samples: Vec<ProcessSample>) -> Snapshot {
    let mut snap = later(second, samples);
    snap.interval = Duration::from_secs(interval);
    snap
}

/// Two processes of one program and one cgroup, half of the bytes each.
fn pair(bytes: u64) -> Vec<ProcessSample> {
    [7, 8]
        .map(|pid| in_cgroup(with_pss(pid, "ingest", bytes / 2), "/ingest.service"))
        .into()
}

/// Something that trembles, 0 to 1.
fn noise(second: u64) -> f64 {
    let mixed = second.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / f64::from(1 << 24)
}

fn rows(history: &History) -> Vec<(&'static str, &RowHistory)> {
    let group = |by, name: &str| {
        let key = GroupKey {
            by,
            name: Some(name.as_bytes().into()),
        };
        history.group(&key).unwrap()
    };
    vec![
        ("process", history.get(id(7)).unwrap()),
        ("command", group(GroupBy::Command, "ingest")),
        ("cgroup", group(GroupBy::Cgroup, "/ingest.service")),
    ]
}

/// A footprint in bytes by the second, and the second at which it stops growing.
struct Case {
    name: &'static str,
    interval: u64,
    stops: u64,
    bytes: Box<dyn Fn(u64) -> u64>,
}

/// One that grows by so many bytes a minute and then stays, with noise of so many bytes.
fn case(name: &'static str, interval: u64, stops: u64, per_minute: u64, trembles: u64) -> Case {
    Case {
        name,
        interval,
        stops,
        bytes: Box::new(move |second| {
            let noise = (noise(second) * trembles as f64) as u64;
            400 * MIB + second.min(stops) * per_minute / 60 + noise
        }),
    }
}

#[test]
fn what_went_flat_has_neither_pace_nor_eta_within_two_minutes() {
    let cases = [
        case("59 MB/min for 10 min", 1, 600, 59 * MIB, 0),
        case("59 MB/min for 10 min, trembling", 1, 600, 59 * MIB, 4 * MIB),
        case("59 MB/min for 10 min, every 5 s", 5, 600, 59 * MIB, 0),
        case("59 MB/min for 10 min, trembling, every 5 s", 5, 600, 59 * MIB, 4 * MIB),
        case("12 MB/min for 5 min", 1, 300, 12 * MIB, 0),
        case("10 MB/min for an hour", 1, 3600, 10 * MIB, 0),
        case(
            "59 MB/min for an hour, trembling, every 5 s",
            5,
            3600,
            59 * MIB,
            4 * MIB,
        ),
        case("3 MB/min for half an hour", 1, 1800, 3 * MIB, 0),
    ];
    for Case {
        name,
        interval,
        stops,
        bytes,
    } in cases
    {
        let mut history = History::new(WINDOW);
        let mut grew = [false; 3];
        for second in (0..stops + 600).step_by(interval as usize) {
            history.push(&at(second, interval, pair(bytes(second))));
            for (grew, (what, row)) in grew.iter_mut().zip(rows(&history)) {
                let trend = row.trend();
                let (slope, growth) = (trend.slope, row.change().growth.unwrap_or(0.0));
                if second < stops {
                    *grew |= trend.verdict.is_growth() && slope > 0.0 && trend.eta(Some(LIMIT)).is_some();
                }
                if second >= stops + GONE {
                    let told = format!("{name}, {what}, flat for {} s: {trend:?}, {growth}", second - stops);
                    // What trembles by 4 MiB may seem to shrink a little.
                    let trembles = name.contains("trembling") && (-70_000.0..0.0).contains(&slope);
                    assert!(
                        slope == 0.0 || (trembles && trend.verdict == Verdict::Shrinking),
                        "{told}"
                    );
                    assert!(trend.eta(Some(LIMIT)).is_none(), "{told}");
                    // A tenth of a megabyte a minute is what its trembling may come to.
                    assert!(growth.abs() < 100_000.0, "{told}");
                }
            }
        }
        assert_eq!(grew, [true; 3], "{name}");
    }
}

#[test]
fn what_grows_again_has_its_pace_again() {
    let mut history = History::new(WINDOW);
    let grown = |second: u64| match second {
        0..900 => second,
        900..1100 => 900,
        later => later - 200,
    };
    let mut flat = 0;
    for second in 0..1400 {
        history.push(&at(second, 1, pair(400 * MIB + grown(second) * MIB)));
        let trend = history.get(id(7)).unwrap().trend();
        flat += u64::from(second >= 1020 && trend.slope == 0.0);
        if second >= 1300 {
            assert!(trend.verdict >= Verdict::Warming, "{second}: {trend:?}");
            assert!(
                (trend.slope / MIB as f64 * 2.0 - 1.0).abs() < 0.4,
                "{second}: {trend:?}"
            );
        }
    }
    assert!((80..150).contains(&flat), "{flat}");
}

#[test]
fn a_leak_in_stairs_stays_a_leak_between_them() {
    // 40 MB more every four minutes, for two hours.
    let mut history = History::new(WINDOW);
    let (mut seen, mut leaks, mut still, mut paced) = (0, 0, 0, 0);
    for second in 0..7200_u64 {
        let bytes = 400 * MIB + second / 240 * 40 * MIB;
        history.push(&at(second, 1, pair(bytes)));
        let trend = history.get(id(7)).unwrap().trend();
        if second < 3600 {
            continue;
        }
        seen += 1;
        leaks += u32::from(trend.verdict == Verdict::Leaking);
        still += u32::from(trend.verdict == Verdict::Leaking && trend.slope == 0.0);
        // Half of 10 MB a minute.
        let pace = trend.slope * 60.0 / (5.0 * MIB as f64);
        paced += u32::from(trend.verdict == Verdict::Leaking && (0.7..1.3).contains(&pace));
    }
    assert!(leaks * 10 >= seen * 9, "{leaks} of {seen}");
    // For the better part of four minutes nothing grows: its pace is that over the stairs. Older points are coarser, so
    // that a rest among them looks shorter than the one now, at whose end it may be taken for over.
    assert!(
        still * 8 < leaks && still + paced == leaks,
        "{still} and {paced} of {leaks}"
    );
}

#[test]
fn a_leak_that_trembles_keeps_its_pace() {
    for (per_minute, trembles) in [(59, 4), (10, 8), (1, 4)] {
        let mut history = History::new(WINDOW);
        let (mut leaks, mut paced) = (0, 0);
        for second in 0..3600_u64 {
            let noise = (noise(second) * (trembles * MIB) as f64) as u64;
            history.push(&at(second, 1, pair(400 * MIB + second * per_minute * MIB / 60 + noise)));
            let trend = history.get(id(7)).unwrap().trend();
            leaks += u32::from(trend.verdict == Verdict::Leaking);
            paced += u32::from(trend.verdict == Verdict::Leaking && trend.slope > 0.0);
        }
        assert!(
            leaks > 1800 && paced == leaks,
            "{per_minute} MB/min: {paced} of {leaks}"
        );
    }
}
