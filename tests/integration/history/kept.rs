//! A history goes on after a restart: what was kept comes back where it is still true, and no verdict comes of the gap.

use std::sync::Arc;
use std::time::Duration;

use zmtop::call_tree::{Frame, KeptBy, Kind};
use zmtop::columns::{Row, Value, find};
use zmtop::group::{GroupBy, GroupKey};
use zmtop::history::kept::{Kept, MAX_BYTES, Unusable};
use zmtop::history::suspects::{SuspectQuery, stopped, suspects};
use zmtop::history::{History, RowHistory};
use zmtop::model::{Identity, Missing, ProcessSample, Snapshot};
use zmtop::record::{NoHeader, is_history, pack_history, unpack_history};
use zmtop::trend::{Metric, Verdict};

use crate::support::long;
use crate::support::rows::{MIB, process, snapshot, walk};

const WINDOW: Duration = Duration::from_secs(10);
const HERE: &str = "pid:[1] time:[2]";
const START: u64 = 100_000;

fn at(second: u64, samples: Vec<ProcessSample>) -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(START + second), samples);
    snap.system.uptime = Ok((START + second) as f64);
    snap.system.mem_total = Ok(1000 * MIB);
    snap.system.mem_available = Ok(900 * MIB - second / 10 * MIB);
    snap.interval = Duration::from_secs(2);
    snap
}

/// A process of an old program that takes so much.
fn one(pid: u32, mib: f64) -> ProcessSample {
    let mut sample = process(pid, 1, "/usr/bin/server --password secret");
    sample.id.starttime = u64::from(pid);
    sample.stat.image = 7 + u64::from(pid);
    sample.walk = Ok(walk((mib * MIB as f64) as u64, 0));
    sample
}

/// Something that trembles, 0 to 1.
fn noise(second: u64) -> f64 {
    let mixed = second.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed ^ mixed >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as f64 / f64::from(1 << 24)
}

/// Ends the program after that snapshot, and starts it again.
fn restarted(history: &History, last: &Snapshot) -> History {
    let mut next = History::new(WINDOW);
    let bytes = history.keep(last, HERE).unwrap();
    next.resume(Kept::read(&bytes, HERE).unwrap().unwrap());
    next
}

fn server() -> GroupKey {
    GroupKey {
        by: GroupBy::Command,
        name: Some(b"server"[..].into()),
    }
}

#[test]
fn the_code_that_keeps_memory_is_saved() {
    let (mut history, last) = six_minutes();
    let id = last.rows()[0].id;
    let found = KeptBy {
        frames: vec![Frame {
            function: "remember".into(),
            module: "server".into(),
            source: None,
            inlined: true,
            kind: Kind::Program,
        }],
        runtime: None,
        bytes: 9,
        total: 10,
        time: Duration::from_secs(60),
    };
    history.set_kept_by(id, Arc::new(found.clone()));
    let mut next = restarted(&history, &last);
    next.push(&at(370, vec![one(7, 470.0)]));
    assert_eq!(next.kept_by(id).map(|kept| &**kept), Some(&found));
    assert_eq!(next.kept_by(last.rows()[1].id), None);
    // The newest are remembered.
    for pid in 100..200 {
        history.set_kept_by(Identity { pid, starttime: 1 }, Arc::new(found.clone()));
    }
    assert_eq!(history.kept_by(id), None);
    assert!(history.kept_by(Identity { pid: 199, starttime: 1 }).is_some());
}

/// Six minutes of two processes, one of which grows, and the last snapshot of them.
fn six_minutes() -> (History, Snapshot) {
    let mut history = History::new(WINDOW);
    let mut last = at(0, Vec::new());
    for second in (0..360).step_by(2) {
        last = at(second, vec![one(7, 100.0 + second as f64), one(8, 50.0)]);
        history.push(&last);
    }
    (history, last)
}

fn lasts(row: &RowHistory) -> Vec<Option<u64>> {
    let bands = row.footprint().recent(30);
    bands.into_iter().map(|band| band.map(|band| band.last / MIB)).collect()
}

#[test]
fn the_past_is_there_at_once_and_the_gap_is_a_gap() {
    let (history, last) = six_minutes();
    let mut history = restarted(&history, &last);
    // A minute later; nothing was walked so far.
    let unread = || {
        let mut samples = vec![one(7, 0.0), one(8, 0.0)];
        for sample in &mut samples {
            sample.walk = Err(Missing::Pending);
        }
        samples
    };
    history.push(&at(418, unread()));
    let rows = |history: &History| {
        let [grows, stays] = [7, 8].map(|pid| lasts(history.get(one(pid, 0.0).id).unwrap()));
        let system = history.system().mem().recent(30);
        let system = system
            .into_iter()
            .map(|band| band.map(|band| band.last / MIB))
            .collect();
        [grows, stays, lasts(history.group(&server()).unwrap()), system]
    };
    let [grows, stays, both, system] = rows(&history);
    // Ten seconds to a column, the last of the 24 known ones ends at 358.
    for (row, newest) in [(&grows, 458), (&stays, 50), (&both, 508)] {
        assert_eq!(row[23], Some(newest), "{row:?}");
        assert!(row[..24].iter().all(Option::is_some), "{row:?}");
        assert_eq!(row[24..], [None; 6], "{row:?}");
    }
    assert!(grows[..24].is_sorted() && grows[0] < Some(250), "{grows:?}");
    assert_eq!((system[23], system[24], system[29]), (Some(135), None, Some(141)));
    history.push(&at(420, vec![one(7, 600.0), one(8, 50.0)]));
    for second in [422, 424] {
        history.push(&at(second, vec![one(7, 600.0), one(8, 50.0)]));
    }
    let [grows, stays, both, _] = rows(&history);
    for (row, newest) in [(&grows, 600), (&stays, 50), (&both, 650)] {
        assert_eq!(row[29], Some(newest), "{row:?}");
        assert!(row[24..28].iter().all(Option::is_none), "{row:?}");
    }
    // A minute is no change over ten seconds.
    assert_eq!(history.get(one(7, 0.0).id).unwrap().change().pss, Some(0));
}

#[test]
fn a_change_over_the_window_reaches_across_a_short_gap() {
    for (gap, change) in [(4, Some(30 * MIB.cast_signed())), (60, None)] {
        let (history, last) = six_minutes();
        let mut history = restarted(&history, &last);
        history.push(&at(358 + gap, vec![one(7, 458.0 + 30.0), one(8, 50.0)]));
        assert_eq!(
            history.get(one(7, 0.0).id).unwrap().change().pss,
            change,
            "after {gap} s"
        );
    }
}

/// A change of the machine, and who is still known after it: the process, its group, the machine.
type Case = (&'static str, fn(&mut Snapshot), [bool; 3]);

#[test]
fn what_is_no_longer_true_is_forgotten() {
    let (history, last) = six_minutes();
    let bytes = history.keep(&last, HERE).unwrap();
    assert!(Kept::read(&bytes, "pid:[9] time:[2]").unwrap().is_none());
    let cases: [Case; 7] = [
        ("all the same", |_| {}, [true; 3]),
        ("another boot", |snap| snap.boot_id = Ok("other".into()), [false; 3]),
        (
            "an unknown boot",
            |snap| snap.boot_id = Err(Missing::Denied),
            [false; 3],
        ),
        (
            "an earlier clock",
            |snap| snap.monotonic = Duration::from_secs(START + 300),
            [false; 3],
        ),
        (
            "another process of that pid",
            |snap| snap.processes.as_mut().unwrap()[0].id.starttime += 1,
            [false, true, true],
        ),
        (
            "another program",
            |snap| snap.processes.as_mut().unwrap()[0].stat.image += 1,
            [false, true, true],
        ),
        (
            "one that hides its program",
            |snap| snap.processes.as_mut().unwrap()[0].stat.image = 0,
            [false, true, true],
        ),
    ];
    for (what, change, [process, group, system]) in cases {
        let mut history = History::new(WINDOW);
        history.resume(Kept::read(&bytes, HERE).unwrap().unwrap());
        let mut snap = at(400, vec![one(7, 500.0), one(8, 50.0)]);
        change(&mut snap);
        history.push(&snap);
        let began = |start: Option<Duration>| start.is_some_and(|start| start <= Duration::from_secs(START + 100));
        let row = history.get(snap.rows()[0].id).unwrap();
        assert_eq!(began(row.footprint().start()), process, "{what}");
        let row = history.group(&server()).unwrap();
        assert_eq!(began(row.footprint().start()), group, "{what}");
        assert_eq!(began(history.system().mem().start()), system, "{what}");
    }
    // Processes that ended do not come back.
    let mut history = restarted(&history, &last);
    for second in (400..460).step_by(2) {
        history.push(&at(second, vec![one(8, 50.0)]));
    }
    history.push(&at(460, vec![one(7, 500.0), one(8, 50.0)]));
    let row = history.get(one(7, 0.0).id).unwrap();
    assert_eq!(row.footprint().start(), Some(Duration::from_secs(START + 460)));
}

#[test]
fn no_program_takes_the_past_of_one_with_a_chosen_name() {
    // Both names have the same unkeyed digest, by FNV-1a.
    let names = ["9yxsDum4EtL", "Eg0XBPJpyjO"];
    let program = |pid: u32, name: &str| ProcessSample {
        facts: process(pid, 1, name).facts,
        ..one(pid, 50.0)
    };
    let mut history = History::new(WINDOW);
    let first = at(0, vec![program(7, names[0])]);
    history.push(&first);
    let mut next = restarted(&history, &first);
    next.push(&at(100, vec![program(8, names[1]), program(9, names[0])]));
    let starts = names.map(|name| {
        let name = Some(name.as_bytes().into());
        let group = GroupKey {
            by: GroupBy::Command,
            name,
        };
        next.group(&group).unwrap().footprint().start()
    });
    assert_eq!(starts, [0, 100].map(|second| Some(Duration::from_secs(START + second))));
}

/// Memory by the second, and what was asked for by it.
type Scene = (&'static str, fn(f64) -> f64, fn(f64) -> f64);

#[test]
fn a_restart_neither_makes_nor_ends_a_leak() {
    const HARMLESS: [Scene; 7] = [
        ("steady", |_| 200.0, |_| 300.0),
        ("a sawtooth of four minutes", |s| 200.0 + s % 240.0 / 4.0, |s| s),
        ("a sawtooth of ten minutes", |s| 200.0 + s % 600.0 / 10.0, |s| s),
        (
            "a cache that fills",
            |s| 200.0 + 200.0 * (1.0 - (-s / 400.0).exp()),
            |s| s,
        ),
        (
            "a pool that was asked for before",
            |s| 200.0 + (s / 12.0).min(150.0),
            |_| 900.0,
        ),
        ("a step", |s| if s < 1230.0 { 200.0 } else { 300.0 }, |s| s),
        ("three steps", |s| 200.0 + 40.0 * (s / 800.0).floor(), |s| s),
    ];
    const LEAKS: [Scene; 2] = [
        ("3 MiB a minute", |s| 200.0 + s / 20.0, |s| 210.0 + s / 20.0),
        (
            "12 MiB a minute on teeth",
            |s| 200.0 + s / 5.0 + s % 60.0 / 3.0,
            |s| 300.0 + s / 5.0,
        ),
    ];
    // At a length of no time it is not restarted at all.
    let all = [(1220, 20), (1800, 600), (2400, 0), (600, 20), (1220, 120), (1800, 6)];
    for (restart, gap) in all.into_iter().take(if long() { 6 } else { 2 }) {
        for ((what, takes, asks), leaks) in HARMLESS
            .map(|it| (it, false))
            .into_iter()
            .chain(LEAKS.map(|it| (it, true)))
        {
            let snap = |second: u64| {
                let mut sample = one(7, takes(second as f64) + noise(second));
                sample.data = Ok((asks(second as f64) * MIB as f64) as u64);
                at(second, vec![sample])
            };
            let verdict = |history: &History| history.get(one(7, 0.0).id).unwrap().trend().verdict;
            let told = |history: &History| {
                let both = [history.get(one(7, 0.0).id), history.group(&server())];
                both.map(|row| *row.unwrap().trend())
            };
            let mut history = History::new(WINDOW);
            for second in (0..=restart).step_by(2) {
                history.push(&snap(second));
                assert!(leaks || verdict(&history) != Verdict::Leaking, "{what} at {second}");
            }
            let before = told(&history);
            if gap > 0 {
                history = restarted(&history, &snap(restart));
            }
            for second in (restart + gap.max(2)..restart + gap + 1300).step_by(2) {
                history.push(&snap(second));
                let now = told(&history);
                let case = format!("{what}, {second}: restarted at {restart} after {gap} s");
                if !leaks {
                    assert!(now.iter().all(|one| one.verdict != Verdict::Leaking), "{case}: {now:?}");
                } else if before[0].verdict == Verdict::Leaking {
                    assert!(now.iter().all(|one| one.verdict == Verdict::Leaking), "{case}: {now:?}");
                    assert_eq!(now[0].since, before[0].since, "{case}");
                }
            }
            let is_called = verdict(&history) == Verdict::Leaking;
            assert_eq!(is_called, leaks, "{what}: restarted at {restart} after {gap} s");
        }
    }
}

/// A program that looks once at the history that the monitor keeps reports what the monitor shows, whatever the gap cuts out.
#[test]
fn a_saved_judgement_stands_until_it_can_be_judged_anew() {
    type Footprint = fn(f64) -> f64;
    const SCENES: [(&str, Footprint); 6] = [
        ("12 MiB a minute", |s| 200.0 + s / 5.0),
        ("12 MiB a minute since a minute", |s| 200.0 + (s - 540.0).max(0.0) / 5.0),
        ("a cache that fills", |s| 200.0 + 200.0 * (1.0 - (-s / 400.0).exp())),
        ("growth that stopped", |s| 200.0 + s.min(400.0) / 5.0),
        ("teeth of two minutes", |s| 200.0 + s % 120.0),
        ("steady", |_| 200.0),
    ];
    for until in [600, 1400] {
        for (what, takes) in SCENES {
            let snap = |second: u64| at(second, vec![one(7, takes(second as f64) + noise(second))]);
            let listed = |history: &History, last: &Snapshot| {
                let growing = suspects(history, last, SuspectQuery::GROWING);
                let stopped = stopped(history, last, None, &growing);
                let all = growing.into_iter().chain(stopped);
                all.map(|one| (one.key, one.judgement.verdict, one.cause, one.stopped.is_some()))
                    .collect::<Vec<_>>()
            };
            let lasted = |history: &History, now: Duration| {
                let judged = history.get(one(7, 0.0).id).unwrap().trend();
                judged.watched(now).map(|time| time.as_secs())
            };
            let mut monitor = History::new(WINDOW);
            for second in (0..=until).step_by(2) {
                monitor.push(&snap(second));
            }
            let shown = listed(&monitor, &snap(until));
            for gap in [2, 20, 60] {
                let last = snap(until + gap);
                let mut once = restarted(&monitor, &snap(until));
                once.push(&last);
                once.judge_all();
                let case = format!("{what} until {until}, {gap} s later");
                assert_eq!(listed(&once, &last), shown, "{case}");
                let expected = lasted(&monitor, last.monotonic);
                assert_eq!(lasted(&once, last.monotonic), expected, "{case}");
            }
        }
    }
    // What was given back meanwhile grows no more, and what nobody watched for long does not count.
    let (history, last) = six_minutes();
    let verdict = |gap: u64, mib: f64| {
        let mut once = restarted(&history, &last);
        once.push(&at(358 + gap, vec![one(7, mib), one(8, 50.0)]));
        once.judge_all();
        once.get(one(7, 0.0).id).unwrap().trend().verdict
    };
    assert_eq!(verdict(60, 500.0), Verdict::Growing);
    assert_ne!(verdict(60, 120.0), Verdict::Growing);
    assert_ne!(verdict(1000, 500.0), Verdict::Growing);
}

#[test]
fn the_time_of_growth_in_tables_is_without_the_gap() {
    let snap = |second: u64| at(second, vec![one(7, 200.0 + second as f64 / 5.0 + noise(second))]);
    let mut history = History::new(WINDOW);
    (0..=1800).step_by(2).for_each(|second| history.push(&snap(second)));
    let mut history = restarted(&history, &snap(1800));
    (2400..=2460).step_by(2).for_each(|second| history.push(&snap(second)));
    let last = snap(2460);
    let row = Row::of_process(&last.rows()[0], history.get(one(7, 0.0).id), &last);
    let Value::Seconds(seconds) = (find("since").unwrap().get().value)(&row) else {
        panic!();
    };
    assert!((1500.0..1900.0).contains(&seconds), "{seconds}");
}

#[test]
fn a_leak_that_was_seen_before_is_called_without_a_wait_for_as_long_again() {
    let mut history = History::new(WINDOW);
    let snap = |second: u64| at(second, vec![one(7, 200.0 + second as f64 / 5.0 + noise(second))]);
    // So long that it is not called yet.
    for second in (0..=840).step_by(2) {
        history.push(&snap(second));
    }
    let verdict = |history: &History| history.get(one(7, 0.0).id).unwrap().trend().verdict;
    assert_eq!(verdict(&history), Verdict::Growing);
    let mut history = restarted(&history, &snap(840));
    let called = (860..2000).step_by(2).find(|second| {
        history.push(&snap(*second));
        verdict(&history) == Verdict::Leaking
    });
    assert!(called.is_some_and(|second| second < 1260), "{called:?}");
    // The load while nobody looked is unknown, and makes no rise nor fall.
    let trend = history.get(one(7, 0.0).id).unwrap().trend();
    assert!(trend.texts().iter().all(|text| !text.contains("fell")), "{trend:?}");
    assert_eq!(trend.metric, Metric::Held);
}

#[test]
fn no_name_is_kept() {
    let (history, last) = six_minutes();
    let kept = history.keep(&last, HERE).unwrap();
    for name in ["server", "secret", "root", "db1"] {
        let found = kept.windows(name.len()).any(|part| part == name.as_bytes());
        assert!(!found, "{name}");
    }
    assert!(History::new(WINDOW).keep(&last, HERE).is_none());
}

#[test]
fn no_damage_is_harmful() {
    let (history, last) = six_minutes();
    let raw = history.keep(&last, HERE).unwrap();
    let whole = pack_history(&raw).unwrap();
    assert_eq!(unpack_history(&whole, MAX_BYTES).as_ref(), Ok(&raw));
    let step = if long() { 11 } else { 167 };
    for at in (0..100).chain((100..whole.len()).step_by(step)) {
        assert_eq!(unpack_history(&whole[..at], MAX_BYTES), Err(NoHeader::Damaged), "{at}");
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        // A frame has bits without a meaning.
        if let Ok(lines) = unpack_history(&bytes, MAX_BYTES) {
            assert_eq!(lines, raw, "{at}");
        }
    }
    assert!(is_history(&whole) && !is_history(b"hello\n"));
    let bomb = pack_history(&vec![0; 64 << 20]).unwrap();
    assert!(bomb.len() < 1 << 20);
    assert_eq!(unpack_history(&bomb, MAX_BYTES), Err(NoHeader::Damaged));
    let read = |lines: &[u8]| Kept::read(lines, HERE).map(|kept| kept.is_some());
    assert_eq!(read(b"hello\n"), Err(Unusable::Damaged));
    assert_eq!(read(b"zmtop-history/9\n"), Err(Unusable::Version));
    // Numbers that nobody wrote: whatever is taken in, history goes on with it.
    let mut taken = 0;
    for at_byte in (0..200).chain((200..raw.len()).step_by(step)) {
        for value in [raw[at_byte] ^ 1, b'9'] {
            let mut bytes = raw.clone();
            bytes[at_byte] = value;
            if let Ok(Some(kept)) = Kept::read(&bytes, HERE) {
                taken += 1;
                let mut history = History::new(WINDOW);
                history.resume(kept);
                for second in [400, 402, 420] {
                    history.push(&at(second, vec![one(7, 500.0), one(8, 50.0)]));
                }
                for (_, row) in history.processes() {
                    row.footprint().recent(40);
                    row.footprint().over(Duration::from_secs(1 << 20)).recent(40);
                }
                history.keep(&last, HERE);
            }
        }
    }
    assert!(taken > if long() { 100 } else { 50 }, "{taken}");
}

#[test]
fn it_is_bounded_and_what_counts_is_kept() {
    let mut history = History::new(WINDOW);
    let mut last = at(0, Vec::new());
    let step = if long() { 3 } else { 5 };
    for second in (0..300).step_by(step) {
        let all = (1..=3000_u32).map(|pid| match pid {
            1500 => one(pid, 100.0 + second as f64),
            2999 | 3000 => one(pid, 5.0),
            _ => one(
                pid,
                10.0 + f64::from(pid) / 30.0 + 2.0 * noise(second + u64::from(pid) * 1000),
            ),
        });
        last = at(second, all.collect());
        history.push(&last);
    }
    let kept = history.keep(&last, HERE).unwrap();
    assert!(kept.len() <= MAX_BYTES, "{}", kept.len());
    assert!(kept.len() > MAX_BYTES / 2, "{}", kept.len());
    let mut next = restarted(&history, &last);
    next.push(&at(310, last.rows().to_vec()));
    let is_known = |pid: u32| {
        let row = next.get(one(pid, 0.0).id).unwrap();
        row.footprint().start() < Some(Duration::from_secs(START + 300))
    };
    // What grows, what is large, and what costs next to nothing.
    for pid in [1500, 2998, 2900, 3000] {
        assert!(is_known(pid), "{pid}");
    }
    assert!(!is_known(1));
}
