//! The machine was suspended: what passed counts for the clock of a person, and changes no rate and no verdict.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use crate::support::rows::{MIB, process, snapshot, walk};

use zmtop::history::History;
use zmtop::history::kept::Kept;
use zmtop::history::suspects::{SuspectQuery, suspects};
use zmtop::history::system::Suspends;
use zmtop::model::Snapshot;
use zmtop::output::leaks::LeaksReport;
use zmtop::output::{Format, OutputStyle, write};
use zmtop::trend::Verdict;

/// The machine had been up for so long, and suspended for some of it, when zmtop began.
const UP: f64 = 90_000.0;
const START: u64 = 80_000;
/// The wall clock then.
const WALL: u64 = 1_800_000_000;
const HOUR: u64 = 3600;

/// A machine that runs for that many seconds since the start, was suspended for `asleep` and whose clock was set by
/// `set` seconds. One process grows by 200 KiB a second.
fn at(second: u64, asleep: u64, set: i64) -> Snapshot {
    let mut sample = process(10, 1, "leaker");
    sample.id.starttime = ((UP - 100.0) * 100.0) as u64;
    sample.walk = Ok(walk(100 * MIB + second * 200 * 1024, 0));
    let mut snap = snapshot(Duration::from_secs(START + second), vec![sample]);
    snap.system.uptime = Ok(UP + (second + asleep) as f64 - (second % 7) as f64 / 100.0);
    snap.time =
        SystemTime::UNIX_EPOCH + Duration::from_secs(((WALL + second + asleep).cast_signed() + set).cast_unsigned());
    snap
}

/// Returns since when the first suspect grows, by the wall clock, in seconds since the start.
fn since(history: &History, snap: &Snapshot) -> f64 {
    let found = suspects(history, snap, SuspectQuery::GROWING);
    let report = LeaksReport {
        snapshot: snap,
        history,
        past_age: None,
        watched: Duration::from_secs(600),
        by: None,
        matched: None,
        suspects: &found,
        stopped: &[],
        dangers: &[],
        stalls: &[],
        kills: Vec::new(),
        files: &HashMap::new(),
        grown: &HashMap::new(),
        more: 0,
        shortfall: *history.shortfall(),
        style: OutputStyle::default(),
    };
    let mut out = Vec::new();
    write(&mut out, &report, Format::Json).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let time: jiff::Timestamp = json["leaks"][0]["since"].as_str().unwrap().parse().unwrap();
    time.as_millisecond() as f64 / 1000.0 - WALL as f64
}

/// Asserts that two times are the same but for what lies between the reads of two clocks.
fn assert_same(one: f64, other: f64) {
    assert!((one - other).abs() < 0.5, "{one} is not {other}");
}

#[test]
fn a_suspend_does_not_move_when_growth_began_nor_slow_it() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..1800 {
        history.push(&at(second, 0, 0));
    }
    let before = suspects(&history, &at(1799, 0, 0), SuspectQuery::GROWING);
    let began = since(&history, &at(1799, 0, 0));
    assert!((0.0..120.0).contains(&began), "{began}");
    // It sleeps for an hour.
    for second in 1800..1860 {
        let snap = at(second, HOUR, 0);
        history.push(&snap);
        assert_same(since(&history, &snap), began);
        let now = suspects(&history, &snap, SuspectQuery::GROWING);
        assert_eq!(now[0].judgement.verdict, before[0].judgement.verdict);
        assert!((now[0].judgement.slope / before[0].judgement.slope - 1.0).abs() < 0.02);
    }
    let elapsed = history.elapsed_since(Duration::from_secs(START));
    assert_same(elapsed.as_secs_f64(), (1859 + HOUR) as f64);
    // Then again, before anything was seen of it.
    let snap = at(1860, 3 * HOUR, 0);
    history.push(&snap);
    assert_same(since(&history, &snap), began);
    assert_eq!(history.suspends().all().count(), 2);
}

#[test]
fn a_clock_that_is_set_is_no_suspend() {
    for set in [3600, -3600, 86_400] {
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..1800 {
            history.push(&at(second, 0, 0));
        }
        let began = history.get(at(0, 0, 0).rows()[0].id).unwrap().trend().since.unwrap();
        let snap = at(1800, 0, set);
        history.push(&snap);
        assert_eq!(history.suspends().all().count(), 0);
        // By the clock as it is now.
        let second = began.as_secs_f64() - START as f64 + set as f64;
        assert_same(since(&history, &snap), second);
    }
}

#[test]
fn a_process_began_before_the_suspend() {
    let mut history = History::new(Duration::from_secs(10));
    let young = |second: u64, asleep: u64| {
        let mut snap = at(second, asleep, 0);
        let mut other = process(11, 1, "young");
        // At the second 50.
        other.id.starttime = ((UP + 50.0) * 100.0) as u64;
        if second >= 200 {
            snap.processes.as_mut().unwrap().push(other);
        }
        snap
    };
    for second in 0..100 {
        history.push(&young(second, 0));
    }
    for second in 100..210 {
        history.push(&young(second, HOUR));
    }
    let id = young(200, 0).rows()[1].id;
    let started = history.started_at(id).unwrap();
    assert_same(started.as_secs_f64(), (START + 50) as f64);
}

#[test]
fn suspends_are_kept_and_one_in_between_is_seen() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..1300 {
        history.push(&at(second, if second < 1200 { 0 } else { HOUR }, 0));
    }
    let last = at(1299, HOUR, 0);
    let bytes = history.keep(&last, "here").unwrap();
    let mut next = History::new(Duration::from_secs(10));
    next.resume(Kept::read(&bytes, "here").unwrap().unwrap());
    let snap = at(1360, 3 * HOUR, 0);
    next.push(&snap);
    next.push(&at(1361, 3 * HOUR, 0));
    // Right after a gap, the growth before it counts.
    assert_same(since(&next, &at(1361, 3 * HOUR, 0)), 60.0);
    let verdict = next.get(snap.rows()[0].id).unwrap().trend().verdict;
    assert!(verdict >= Verdict::Growing, "{verdict:?}");
}

#[test]
fn what_passed_and_when_it_began_are_each_others_inverse() {
    let mut history = History::new(Duration::from_secs(10));
    for (second, asleep) in [(0, 0), (10, 0), (20, 100), (30, 100), (40, 5000)] {
        history.push(&at(second, asleep, 0));
    }
    let suspends: &Suspends = history.suspends();
    let now = Duration::from_secs(START + 40);
    // Those on the second snapshots after it include the suspend; what was at that snapshot itself does not.
    for (age, elapsed) in [
        (0, 0),
        (1, 4901),
        (19, 4919),
        (20, 4920),
        (21, 5021),
        (40, 5040),
        (90, 5090),
    ] {
        let age = Duration::from_secs(age);
        let at = now.saturating_sub(age);
        let found = suspends.elapsed(at, now);
        assert!(
            (found.as_secs_f64() - f64::from(elapsed)).abs() < 0.2,
            "{age:?}: {found:?}"
        );
        assert_eq!(suspends.moment(now, found), at, "{age:?}");
        assert_eq!(suspends.awake(now, found), age, "{age:?}");
    }
    // A moment while it was suspended is the end of that.
    assert_eq!(suspends.moment(now, Duration::from_secs(3000)), now);
}
