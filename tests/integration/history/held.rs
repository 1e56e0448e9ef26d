//! Memory held through descriptors has a past and a verdict like a footprint, though no footprint includes it.

use std::sync::Arc;
use std::time::Duration;

use zmtop::columns::{Row, Value, find};
use zmtop::group::{GroupBy, GroupKey, RowKey, Totals, groups};
use zmtop::history::kept::Kept;
use zmtop::history::suspects::{Cause, Suspect, SuspectQuery, suspects};
use zmtop::history::{History, Mark};
use zmtop::model::{Held, HeldKind, HeldObject, Missing, ProcessSample, Reading, Snapshot};
use zmtop::trend::{Metric, Verdict};

use crate::support::rows::{MIB, process, snapshot};

const WINDOW: Duration = Duration::from_secs(10);
const HERE: &str = "pid:[1] time:[2]";
const START: u64 = 100_000;
const STEP: usize = 2;
/// Seconds of 45 minutes.
const LONG: u64 = 2700;

fn object(kind: HeldKind, bytes: Reading<u64>) -> HeldObject {
    HeldObject {
        kind,
        name: (*b"/memfd:cache").into(),
        bytes,
        vram: 0,
        holders: 1,
        fds: 1,
    }
}

/// A process that holds these.
fn holder(pid: u32, objects: Vec<HeldObject>) -> ProcessSample {
    let mut sample = process(pid, 1, "/usr/bin/server");
    sample.stat.image = 9;
    sample.held = Some(Arc::new(Ok(Held::new(objects))));
    sample
}

fn memfd(pid: u32, bytes: u64) -> ProcessSample {
    holder(pid, vec![object(HeldKind::Memfd, Ok(bytes))])
}

fn at(second: u64, samples: Vec<ProcessSample>) -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(START + second), samples);
    snap.system.uptime = Ok((START + second) as f64);
    snap.system.mem_available = Ok(8 << 30);
    snap.system.swap_free = Ok(0);
    snap
}

fn growing(history: &History, last: &Snapshot) -> Vec<Suspect> {
    suspects(history, last, SuspectQuery::GROWING)
}

/// Takes in these seconds of a machine; returns its history and the last snapshot.
fn run(seconds: u64, samples: impl Fn(u64) -> Vec<ProcessSample>) -> (History, Snapshot) {
    let mut history = History::new(WINDOW);
    let mut last = at(0, samples(0));
    for second in (0..seconds).step_by(STEP) {
        last = at(second, samples(second));
        history.push(&last);
    }
    (history, last)
}

/// Returns the worst verdict on a process that holds so many KiB at each second.
fn worst(kib: impl Fn(u64) -> u64) -> Verdict {
    let mut history = History::new(WINDOW);
    let mut worst = Verdict::Unknown;
    for second in (0..LONG).step_by(STEP) {
        let sample = memfd(7, kib(second) << 10);
        let id = sample.id;
        history.push(&at(second, vec![sample]));
        let held = history.held().get(id);
        worst = worst.max(held.map_or(Verdict::Unknown, |held| held.row().trend().verdict));
    }
    worst
}

#[test]
fn growth_without_an_end_is_a_leak_and_a_fill_or_a_saw_tooth_is_none() {
    assert_eq!(worst(|second| 20_000 + second * 100), Verdict::Leaking);
    assert_eq!(worst(|_| 20_000), Verdict::Steady);
    let saw = worst(|second| 20_000 + second % 300 * 100);
    assert!(saw < Verdict::Leaking, "{saw:?}");
    let emptied = worst(|second| second % 300 * 100);
    assert!(emptied < Verdict::Leaking, "{emptied:?}");
    let filled = worst(|second| second.clamp(300, 500) * 1000);
    assert!(filled < Verdict::Leaking, "{filled:?}");
}

#[test]
fn it_is_reported_with_what_it_is_and_not_twice() {
    let grown = |second: u64| 20 * MIB + second * 200 * 1024;
    let (history, last) = {
        let mut history = History::new(WINDOW);
        let mut last = at(0, Vec::new());
        for second in (0..LONG).step_by(STEP) {
            let leaks = vec![
                object(HeldKind::Bpf, Ok(64 * MIB)),
                object(HeldKind::Memfd, Ok(grown(second))),
            ];
            last = at(second, vec![holder(7, leaks), memfd(8, 300 * MIB)]);
            // The shared memory of the machine grows with it, which must not be reported a second time.
            let s = &mut last.system;
            (s.mem_total, s.mem_free) = (Ok(16 << 30), Ok(8 << 30));
            (s.cached, s.shmem) = (Ok((6 << 30) + grown(second)), Ok((1 << 30) + grown(second)));
            (s.anon_pages, s.buffers) = (Ok(1 << 30), Ok(0));
            history.push(&last);
        }
        (history, last)
    };
    let part = history.parts().get("shmem").unwrap().trend().verdict;
    assert_eq!(part, Verdict::Leaking);
    let found = growing(&history, &last);
    let [leak] = &found[..] else { panic!("{found:?}") };
    assert_eq!(leak.key, RowKey::Process(last.rows()[0].id));
    assert_eq!(leak.cause, Some(Cause::Held(HeldKind::Memfd)));
    assert_eq!(
        (leak.judgement.verdict, leak.judgement.metric),
        (Verdict::Leaking, Metric::Descriptors)
    );
    let pace = leak.judgement.slope / 1024.0;
    assert!((190.0..210.0).contains(&pace), "{pace} KiB/s");
    assert_eq!(leak.footprint, 64 * MIB + grown(LONG - STEP as u64));
    // 8 GiB at 200 KiB a second.
    let eta = leak.eta.unwrap();
    assert!((38_000.0..46_000.0).contains(&eta), "{eta}");
    // The footprint is another matter.
    assert_eq!(history.get(last.rows()[0].id).unwrap().trend().verdict, Verdict::Steady);
    let by_user = SuspectQuery {
        by: Some(GroupBy::User),
        ..SuspectQuery::GROWING
    };
    let users = suspects(&history, &last, by_user);
    let [user] = &users[..] else { panic!("{users:?}") };
    assert_eq!((user.count, user.cause.clone()), (2, leak.cause.clone()));
}

#[test]
fn it_is_asked_for_while_what_it_would_be_in_grows() {
    let mut history = History::new(WINDOW);
    let mut suspected = Vec::new();
    for second in (0..1800).step_by(STEP) {
        let mut snap = at(second, vec![process(7, 1, "a")]);
        let shmem = (1 << 30) + second.clamp(300, 600) * MIB;
        let s = &mut snap.system;
        (s.mem_total, s.cached, s.shmem) = (Ok(16 << 30), Ok((4 << 30) + shmem), Ok(shmem));
        history.push(&snap);
        suspected.push(history.held().is_suspected());
    }
    let is = |second: u64| suspected[second as usize / STEP];
    assert!(!is(300) && is(590) && !is(1798), "{suspected:?}");
}

#[test]
fn workers_that_come_and_go_are_a_program() {
    // Each of three workers lives for five minutes and holds what the one before it held, and more.
    let workers = |second: u64| -> Vec<ProcessSample> {
        let one = |n: u64| {
            let mut sample = memfd(
                100 + n as u32 + (second / 300) as u32 * 10,
                MIB * 30 + second * 50 * 1024,
            );
            sample.id.starttime = (START + second / 300 * 300) * 100;
            sample
        };
        (0..3).map(one).collect()
    };
    let (history, last) = run(LONG, workers);
    let found = growing(&history, &last);
    let [program] = &found[..] else { panic!("{found:?}") };
    assert!(program.key.group().is_some() && program.is_held(), "{program:?}");
    assert_eq!(program.judgement.verdict, Verdict::Leaking);
    // More workers that hold as much each are no growth.
    let (history, last) = run(LONG, |second| {
        (0..=second / 300).map(|n| memfd(100 + n as u32, 30 * MIB)).collect()
    });
    assert_eq!(growing(&history, &last), []);
    let program = GroupKey {
        by: GroupBy::Command,
        name: Some(b"server"[..].into()),
    };
    let all = groups(&last, GroupBy::Command, |_| true, |_| None);
    assert_eq!(all[0].key, program);
    let held = history.held_of_group(&all[0], &last).unwrap().row();
    assert_eq!(held.footprint_series().newest().unwrap().1, 9 * 30 * MIB);
}

#[test]
fn what_cannot_be_read_is_no_zero_and_what_ends_has_no_past() {
    let (mut history, last) = run(60, |_| vec![memfd(7, 50 * MIB)]);
    let id = last.rows()[0].id;
    let newest = |history: &History| history.held().get(id).unwrap().row().footprint_series().newest();
    let before = newest(&history);
    for (second, held) in [(60, Some(Err(Missing::TimedOut))), (62, None)] {
        let mut sample = memfd(7, 0);
        sample.held = held.map(Arc::new);
        history.push(&at(second, vec![sample]));
        assert_eq!(newest(&history).map(|(_, bytes)| bytes), before.map(|(_, bytes)| bytes));
        let group = groups(&last, GroupBy::User, |_| true, |_| None);
        let group = history.held_of_group(&group[0], &last).unwrap().row();
        assert_eq!(group.footprint_series().newest().unwrap().1, 50 * MIB);
    }
    history.push(&at(64, vec![memfd(7, 60 * MIB)]));
    assert_eq!(newest(&history).unwrap().1, 60 * MIB);
    let mut other = memfd(7, 60 * MIB);
    other.exec = 1;
    history.push(&at(66, vec![other.clone()]));
    let start = history.held().get(id).unwrap().row().footprint_series().start();
    assert_eq!(start, Some(Duration::from_secs(START + 66)));
    history.push(&at(68, Vec::new()));
    assert!(history.held().get(id).is_none());
}

#[test]
fn who_holds_nothing_costs_nothing() {
    let bytes = |held: Option<Reading<Held>>| {
        let held = held.map(Arc::new);
        let sample = |pid| ProcessSample {
            held: held.clone(),
            ..process(pid, 1, "a")
        };
        let (history, _) = run(60, |_| (2..200).map(sample).collect());
        history.bytes()
    };
    assert_eq!(bytes(Some(Ok(Held::default()))), bytes(None));
    assert_eq!(bytes(Some(Err(Missing::Denied))), bytes(None));
}

#[test]
fn its_past_is_kept() {
    let leak = |second: u64| vec![memfd(7, 20 * MIB + second * 200 * 1024)];
    let (history, last) = run(LONG, leak);
    let id = last.rows()[0].id;
    let before = *history.held().get(id).unwrap().row().trend();
    assert_eq!(before.verdict, Verdict::Leaking);
    let bytes = history.keep(&last, HERE).unwrap();
    let resumed = |sample: ProcessSample| {
        let mut next = History::new(WINDOW);
        next.resume(Kept::read(&bytes, HERE).unwrap().unwrap());
        next.push(&at(LONG + 60, vec![sample]));
        next
    };
    let next = resumed(leak(LONG + 60).remove(0));
    let row = next.held().get(id).unwrap().row();
    assert_eq!((row.trend().verdict, row.trend().since), (before.verdict, before.since));
    assert_eq!(row.footprint_series().start(), Some(Duration::from_secs(START)));
    // Another program of that process held nothing yet.
    let mut other = memfd(7, 0);
    other.stat.image = 10;
    assert!(resumed(other).held().get(id).is_none());
}

/// Returns a column's value as text, of a process or a sum.
fn text(id: &str, row: &Row<'_>) -> String {
    let column = find(id).unwrap().get();
    zmtop::columns::cell(&(column.value)(row), zmtop::units::Units::Auto, 16).text
}

#[test]
fn columns_tell_what_changed() {
    let leak = |second: u64| vec![memfd(7, 20 * MIB + second * MIB), process(8, 1, "b")];
    let mut history = History::new(WINDOW);
    let mut mark = None;
    let mut last = at(0, leak(0));
    for second in (0..1800).step_by(STEP) {
        last = at(second, leak(second));
        history.push(&last);
        if second == 1700 {
            mark = Some(Mark::new(&last));
        }
    }
    let row = |sample| {
        let row = Row::of_process(sample, history.get(sample.id), &last).with_mark(mark.as_ref());
        row.with_held(history.held().get(sample.id))
    };
    let shown = ["held_change", "mark_held", "held_trend", "held_verdict"].map(|id| text(id, &row(&last.rows()[0])));
    assert_eq!(shown[0], "+10.0M");
    assert_eq!(shown[1], "+98.0M");
    assert!(shown[2].starts_with("▲ leak 60."), "{shown:?}");
    assert_eq!(shown[3], "leaking");
    // What was not read is pending.
    assert_eq!(text("held_change", &row(&last.rows()[1])), "…");
    // The sum of one of whom nothing was read is not known.
    let all = groups(&last, GroupBy::User, |_| true, |_| None).remove(0);
    assert_eq!(
        mark.as_ref().unwrap().held_by_group(&all, &last),
        Some(Err(Missing::NotMarked))
    );
    let by_program = groups(&last, GroupBy::Command, |_| true, |_| None);
    let group = by_program.into_iter().find(|group| group.members == [0]).unwrap();
    let held = history.held_of_group(&group, &last);
    let sum = Row::of_group(&group, history.of_group(&group, &last), &last)
        .with_mark(mark.as_ref())
        .with_held(held);
    assert_eq!(text("mark_held", &sum), "+98.0M");
    assert_eq!(text("held_verdict", &sum), "leaking");
    // A mark of when it was not read tells nothing.
    let blind = Mark::new(&at(0, vec![process(7, 1, "a")]));
    let row = Row::of_process(&last.rows()[0], None, &last).with_mark(Some(&blind));
    assert_eq!(text("mark_held", &row), "");
    // One of when it was yet to be read will never tell, of the process or of its groups.
    let mut unread = process(7, 1, "/usr/bin/server");
    unread.held = Some(Arc::new(Err(Missing::Pending)));
    let early = Mark::new(&at(0, vec![unread]));
    let unknown = Err(Missing::NotMarked);
    assert_eq!(early.held(&last.rows()[0]), Some(unknown));
    assert_eq!(early.held_by_group(&group, &last), Some(unknown));
}

#[test]
fn of_more_than_have_a_past_it_is_unknown() {
    let all = |n: u32| (1..=n).map(|pid| memfd(pid, MIB)).collect();
    let (mut history, last) = run(4, |_| all(4100));
    assert_eq!(history.held().left_out(), 4);
    let change = |history: &History, last: &Snapshot, at: usize| {
        let id = last.rows()[at].id;
        let row = Row::of_process(&last.rows()[at], history.get(id), last);
        text("held_change", &row.with_held(history.held().get(id)))
    };
    assert_eq!(change(&history, &last, 0), "0");
    assert_eq!(change(&history, &last, 4099), "-");
    history.push(&at(4, all(4098)));
    assert_eq!(history.held().left_out(), 2);
}

#[test]
fn small_holders_do_not_hide_a_large_one() {
    let all = |large: u64| {
        let small = (1..=4096).map(|pid| memfd(pid, MIB));
        small.chain([memfd(5000, large)]).collect::<Vec<_>>()
    };
    let (mut history, last) = run(4, |_| all(MIB));
    let id = last.rows()[4096].id;
    assert!(history.held().get(id).is_none());
    for second in [4, 6] {
        history.push(&at(second, all(2 * MIB)));
        assert!(history.held().get(id).is_some());
        assert_eq!(history.held().left_out(), 1);
    }
}

#[test]
fn a_sum_of_which_a_part_is_unknown_is_partial() {
    let objects = vec![
        object(HeldKind::Memfd, Ok(20 * MIB)),
        object(HeldKind::Bpf, Err(Missing::Malformed)),
    ];
    let known = memfd(8, 5 * MIB);
    let mut hidden = process(9, 1, "c");
    hidden.held = Some(Arc::new(Err(Missing::Denied)));
    let snap = at(0, vec![holder(7, objects), known, hidden]);
    let of = |id: &str, at: usize| text(id, &Row::of_process(&snap.rows()[at], None, &snap));
    assert_eq!([of("held", 0), of("memfd", 0), of("bpf", 0)], ["≥20.0M", "20.0M", "≥0"]);
    assert_eq!([of("held", 1), of("held_unread", 1), of("held", 2)], ["5.0M", "0", "-"]);
    for (members, want) in [
        (&[0, 1][..], "≥25.0M"),
        (&[2, 1], "≥5.0M"),
        (&[1, 2], "≥5.0M"),
        (&[1], "5.0M"),
    ] {
        let totals = Totals::of(members.iter().map(|at| &snap.rows()[*at]), |_| None);
        let row = Row::of_totals(&totals, &snap);
        assert_eq!(text("held", &row), want);
        // The mark is data, too: all of a process is unknown, or one kind of it.
        let unread = match members {
            [0, 1] => "1",
            [1] => "0",
            _ => "5",
        };
        assert_eq!(text("held_unread", &row), unread);
    }
    let value = find("held").unwrap().get().value;
    let row = Row::of_process(&snap.rows()[0], None, &snap);
    assert!(matches!(value(&row), Value::AtLeast(bytes) if bytes == 20 * MIB));
}
