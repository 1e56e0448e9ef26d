//! The histories of processes and of the system.

use std::time::Duration;

use zmtop::history::suspects::{Cause, Suspect, SuspectQuery, suspects};
use zmtop::history::{History, RowHistory};
use zmtop::model::snapshot::SelfCost;
use zmtop::model::{Identity, Missing, Snapshot};
use zmtop::trend::Verdict;

use crate::support::rows::{MIB, process, snapshot, walk, with_facts, with_pss};

const WINDOW: Duration = Duration::from_secs(10);
const ID: Identity = Identity { pid: 7, starttime: 70 };

/// A process with that PSS and swap, in MiB, and counters, at that second.
fn snap(second: u64, pss: u64, swap: u64, counter: u64) -> Snapshot {
    let mut sample = process(7, 1, "postgres");
    sample.walk = Ok(walk(pss * MIB, swap * MIB));
    sample.stat.minflt = counter;
    sample.stat.majflt = counter / 10;
    sample.stat.cpu_ticks = counter / 2;
    snapshot(Duration::from_secs(second), vec![sample])
}

/// The values of a sparkline.
fn shown(series: &RowHistory) -> Vec<u64> {
    let bands = series.footprint().recent(60);
    bands.into_iter().flatten().map(|band| band.last).collect()
}

#[test]
fn changes_and_rates() {
    let mut history = History::new(WINDOW);
    assert!(history.is_empty());
    history.push(&snap(100, 10, 0, 1000));
    let first = history.get(ID).unwrap().change();
    assert_eq!(
        (first.pss, first.minflt, first.cpu, first.growth),
        (None, None, None, None)
    );
    history.push(&snap(102, 14, 1, 1400));
    let change = history.get(ID).unwrap().change();
    assert_eq!(change.pss, Some(4 * MIB.cast_signed()));
    assert_eq!(change.swap, Some(MIB.cast_signed()));
    assert_eq!(
        (change.minflt, change.majflt, change.cpu),
        (Some(200.0), Some(20.0), Some(1.0))
    );
    assert_eq!(history.len(), 1);
}

#[test]
fn growth_counts_what_was_swapped_out() {
    let mut history = History::new(WINDOW);
    for second in 0..60 {
        // Half of what is allocated goes to swap: PSS alone would hide half of the growth.
        history.push(&snap(second, second, second, 0));
    }
    let growth = history.get(ID).unwrap().change().growth.unwrap();
    assert!((growth / MIB as f64 - 2.0).abs() < 0.02, "{growth}");
}

#[test]
fn a_counter_that_ran_backwards_has_no_rate() {
    let mut history = History::new(WINDOW);
    history.push(&snap(1, 10, 0, 1000));
    history.push(&snap(2, 10, 0, 10));
    let change = history.get(ID).unwrap().change();
    assert_eq!((change.minflt, change.majflt, change.cpu), (None, None, None));
    history.push(&snap(3, 10, 0, 30));
    assert_eq!(history.get(ID).unwrap().change().minflt, Some(20.0));
}

#[test]
fn the_same_moment_twice_divides_by_nothing() {
    let mut history = History::new(WINDOW);
    history.push(&snap(1, 10, 0, 1000));
    history.push(&snap(1, 10, 0, 2000));
    assert_eq!(history.get(ID).unwrap().change().minflt, None);
}

#[test]
fn an_exec_starts_anew() {
    let mut history = History::new(WINDOW);
    history.push(&snap(1, 500, 0, 1000));
    history.push(&snap(2, 500, 0, 1000));
    let mut after = snap(3, 10, 0, 5000);
    after.processes.as_mut().unwrap()[0].exec = 1;
    history.push(&after);
    let series = history.get(ID).unwrap();
    assert_eq!((series.change().pss, series.change().minflt), (None, None));
    assert_eq!(shown(series), [10 * MIB]);
}

#[test]
fn an_exec_that_gives_no_memory_back_is_none() {
    // The memory before and after in MiB, and whether the history goes on.
    for (before, after, goes_on) in [
        (500, 501, true),
        (500, 380, true),
        (500, 370, false),
        (500, 900, true),
        (63, 62, false),
    ] {
        let mut history = History::new(WINDOW);
        let with = |second, mib: u64, exec| {
            let mut snapshot = snap(second, mib, 0, 1000);
            let process = &mut snapshot.processes.as_mut().unwrap()[0];
            (process.exec, process.stat.rss) = (exec, mib * MIB);
            process.walk.as_mut().unwrap().memory.rss = mib * MIB;
            snapshot
        };
        history.push(&with(1, before, 0));
        history.push(&with(2, before, 0));
        history.push(&with(3, after, 1));
        history.push(&with(4, after, 1));
        let change = history.get(ID).unwrap().change().pss;
        let since_before = (after.cast_signed() - before.cast_signed()) * MIB.cast_signed();
        assert_eq!(
            change,
            Some(if goes_on { since_before } else { 0 }),
            "{before} to {after}"
        );
    }
}

#[test]
fn memory_that_is_back_soon_after_an_exec_has_not_ended() {
    // The memory and the exec in each second, and the second at which the history begins.
    let [kept, lost] = [[(500, 0), (500, 0), (10, 1)], [(60, 0), (60, 0), (10, 1)]];
    for (before, after, start) in [
        (kept, vec![(500, 1)], 1),
        (kept, vec![(10, 1), (10, 1), (10, 1), (10, 1), (500, 1)], 1),
        (kept, vec![(10, 1), (10, 1), (10, 1), (10, 1), (10, 1), (500, 1)], 3),
        (kept, vec![(10, 2), (500, 2)], 1),
        (kept, vec![(370, 1)], 3),
        (lost, vec![(60, 1)], 3),
    ] {
        let mut history = History::new(WINDOW);
        for (second, (mib, exec)) in (1..).zip(before.iter().chain(&after)) {
            let mut made = snap(second, *mib, 0, 1000);
            let process = &mut made.processes.as_mut().unwrap()[0];
            (process.exec, process.stat.rss) = (*exec, mib * MIB);
            process.walk.as_mut().unwrap().memory.rss = mib * MIB;
            history.push(&made);
        }
        let began = history.get(ID).unwrap().footprint().start();
        assert_eq!(began, Some(Duration::from_secs(start)), "{before:?} {after:?}");
    }
}

#[test]
fn execs_again_and_again_do_not_hide_a_history() {
    // The seconds between two execs, and how many the longest history has at least.
    for (every, least) in [(3, 200), (5, 200), (20, 200), (600, 590)] {
        let mut history = History::new(WINDOW);
        let mut longest = Duration::ZERO;
        for second in 1..=600 {
            let mut made = snap(second, 10 + second / 60, 0, 1000);
            made.processes.as_mut().unwrap()[0].exec = (second / every) as u32;
            history.push(&made);
            let start = history.get(ID).unwrap().footprint().start().unwrap();
            longest = longest.max(Duration::from_secs(second).saturating_sub(start));
        }
        assert!(longest >= Duration::from_secs(least), "{every}: {longest:?}");
    }
}

#[test]
fn a_reused_pid_is_another_process() {
    let mut history = History::new(WINDOW);
    history.push(&snap(1, 500, 0, 0));
    let mut after = snap(2, 10, 0, 0);
    after.processes.as_mut().unwrap()[0].id.starttime = 9999;
    history.push(&after);
    assert!(history.get(ID).is_none());
    assert_eq!(history.len(), 1);
    let other = Identity {
        pid: 7,
        starttime: 9999,
    };
    assert_eq!(history.get(other).unwrap().change().pss, None);
}

#[test]
fn what_ended_is_forgotten_unless_proc_could_not_be_listed() {
    let mut history = History::new(WINDOW);
    history.push(&snap(1, 10, 0, 0));
    let mut unlisted = snap(2, 10, 0, 0);
    unlisted.processes = Err(Missing::Denied);
    history.push(&unlisted);
    assert_eq!(history.len(), 1);
    history.push(&snap(3, 12, 0, 0));
    assert_eq!(history.get(ID).unwrap().change().pss, Some(2 * MIB.cast_signed()));
    history.push(&snapshot(Duration::from_secs(4), Vec::new()));
    assert!(history.get(ID).is_none() && history.is_empty());
}

#[test]
fn a_storm_of_short_processes_leaves_nothing_behind() {
    let mut history = History::new(WINDOW);
    for second in 0..200_u32 {
        let storm = (0..500).map(|n| process(1000 + second * 500 + n, 1, "sh")).collect();
        history.push(&snapshot(Duration::from_secs(second.into()), storm));
        assert_eq!(history.len(), 500);
    }
}

#[test]
fn unread_memory_has_no_change_and_no_false_drop() {
    let mut history = History::new(WINDOW);
    history.push(&snap(1, 500, 100, 0));
    let mut stuck = snap(2, 0, 0, 0);
    stuck.processes.as_mut().unwrap()[0].walk = Err(Missing::TimedOut);
    history.push(&stuck);
    let change = history.get(ID).unwrap().change();
    assert_eq!((change.pss, change.swap), (None, None));
    history.push(&snap(3, 501, 100, 0));
    let change = history.get(ID).unwrap().change();
    assert_eq!((change.pss, change.swap), (Some(MIB.cast_signed()), Some(0)));
}

#[test]
fn without_swap_pss_the_line_shows_pss() {
    let mut history = History::new(WINDOW);
    let mut old_kernel = snap(1, 10, 5, 0);
    old_kernel.processes.as_mut().unwrap()[0]
        .walk
        .as_mut()
        .unwrap()
        .memory
        .swap_pss = Err(Missing::Unsupported);
    history.push(&old_kernel);
    assert_eq!(shown(history.get(ID).unwrap()), [10 * MIB]);
}

#[test]
fn snapshots_further_apart_than_the_window_still_have_a_change() {
    let mut history = History::new(WINDOW);
    for tick in 0..10 {
        let mut slow = snap(tick * 60, 10 + 6 * tick, 0, 0);
        slow.interval = Duration::from_secs(60);
        history.push(&slow);
        let want = (tick > 0).then_some(MIB.cast_signed());
        assert_eq!(history.get(ID).unwrap().change().pss, want, "tick {tick}");
    }
    // Back at one a second the window is the one asked for.
    for second in 0..30 {
        history.push(&snap(600 + second, 100 + second, 0, 0));
    }
    assert_eq!(history.get(ID).unwrap().change().pss, Some(10 * MIB.cast_signed()));
}

#[test]
fn a_stop_of_a_minute_gives_true_rates_and_no_spike() {
    let mut history = History::new(WINDOW);
    for second in 0..30 {
        history.push(&snap(second, 10, 0, second * 100));
    }
    history.push(&snap(90, 4000, 0, 9000));
    let change = history.get(ID).unwrap().change();
    assert_eq!(change.pss, None);
    assert_eq!(change.minflt, Some(6100.0 / 61.0));
}

#[test]
fn a_wall_clock_set_forth_and_back_changes_nothing() {
    let run = |wall: fn(u64) -> i64| {
        let mut history = History::new(WINDOW);
        for second in 0..30 {
            let mut snap = snap(second, 10 + second, 0, second * 100);
            let moved = Duration::from_secs(wall(second).unsigned_abs());
            let set = if wall(second) < 0 {
                snap.time.checked_sub(moved)
            } else {
                snap.time.checked_add(moved)
            };
            snap.time = set.unwrap();
            history.push(&snap);
        }
        *history.get(ID).unwrap().change()
    };
    let steady = run(|_| 0);
    assert_eq!(steady.minflt, Some(100.0));
    assert_eq!(run(|second| if second > 15 { 3600 } else { 0 }), steady);
    assert_eq!(run(|second| if second > 15 { -3600 } else { 0 }), steady);
}

#[test]
fn a_stop_within_a_tick_makes_no_spike_of_the_rates_of_the_system() {
    let mut history = History::new(WINDOW);
    // The counter grows by 1000 bytes a second. It is read at the start of a tick, which `took` some milliseconds.
    let mut swap_out = |began: u64, took: u64| {
        let mut snap = snapshot(Duration::from_millis(began + took), Vec::new());
        snap.sampling.took = Duration::from_millis(took);
        snap.system.pswpout = Ok(began);
        history.push(&snap);
        history.system().swap_out.map(f64::round)
    };
    assert_eq!(swap_out(10_000, 5), None);
    for (began, took) in [(10_200, 3_000), (13_210, 5), (13_400, 150)] {
        assert_eq!(swap_out(began, took), Some(1000.0), "{began}");
    }
}

#[test]
fn rates_of_the_system() {
    let mut history = History::new(WINDOW);
    let at = |second: u64, swapped: u64, cpu_ms: u64| {
        let mut snap = snapshot(Duration::from_secs(second), Vec::new());
        snap.system.pswpin = Ok(swapped);
        snap.system.pswpout = Ok(2 * swapped);
        snap.system.pgmajfault = Err(Missing::Unsupported);
        snap.system.scan_kswapd = Ok(10 * swapped);
        snap.system.steal_kswapd = Ok(9 * swapped);
        snap.system.scan_direct = Ok(8 * swapped);
        snap.system.steal_direct = Ok(7 * swapped);
        snap.system.refault_anon = Ok(6 * swapped);
        snap.system.refault_file = Ok(5 * swapped);
        snap.system.mem_total = Ok(100 * MIB);
        snap.system.mem_available = Ok(60 * MIB);
        snap.own = Ok(SelfCost {
            cpu: Duration::from_millis(cpu_ms),
            rss: MIB,
        });
        snap
    };
    history.push(&at(1, 4096, 10));
    assert_eq!((history.system().swap_in, history.system().own_cpu), (None, None));
    history.push(&at(3, 12_288, 30));
    let system = history.system();
    assert_eq!(
        (system.swap_in, system.swap_out, system.majfault),
        (Some(4096.0), Some(8192.0), None)
    );
    let reclaim = [
        system.scan_kswapd,
        system.steal_kswapd,
        system.scan_direct,
        system.steal_direct,
        system.refault_anon,
        system.refault_file,
    ];
    assert_eq!(reclaim, [10, 9, 8, 7, 6, 5].map(|times| Some(f64::from(times * 4096))));
    assert!((system.own_cpu.unwrap() - 0.01).abs() < 1e-9);
    assert_eq!(system.mem().last(), Some(40 * MIB));
    assert_eq!(system.swap().last(), None);
    history.push(&at(4, 0, 40));
    assert_eq!((history.system().swap_in, history.system().swap_out), (None, None));
    // Right after another snapshot, some milliseconds of work would be a share of 100 %.
    let mut soon = at(4, 0, 50);
    soon.monotonic += Duration::from_millis(10);
    history.push(&soon);
    assert!((history.system().own_cpu.unwrap() - 0.01).abs() < 1e-9);
}

#[test]
fn what_a_history_takes_of_its_own_process_is_not_judged() {
    let mut history = History::new(WINDOW);
    history.set_own_pid(ID.pid);
    let held = |second: u64| 20 * MIB + second * 50 * 1024;
    for second in 0..600_u64 {
        // Others change for there to be something to take.
        let others = (100..220).map(|pid| (pid, 10 * MIB + second * u64::from(pid) % 97 * 64 * 1024));
        let all = [(ID.pid, held(second))].into_iter().chain(others);
        let one = |(pid, bytes)| with_pss(pid, "program", bytes);
        history.push(&snapshot(Duration::from_secs(second), all.map(one).collect()));
    }
    history.judge_all();
    let (taken, judged) = (history.bytes() as u64, history.get(ID).unwrap().trend().floor);
    assert!(taken > MIB, "{taken}");
    assert!((judged + taken).abs_diff(held(599)) < MIB / 4, "{judged} {taken}");
}

#[test]
fn the_growth_of_its_own_children_is_no_suspect_but_a_leak_is() {
    let mut history = History::new(WINDOW);
    history.set_own_pid(ID.pid);
    let mut last = None;
    for second in 0..1200_u64 {
        let one = |pid, command, ppid, mib: f64| {
            let mut sample = with_pss(pid, command, (mib * MIB as f64) as u64);
            sample.stat.ppid = ppid;
            sample
        };
        let child = 20.0 + second as f64 / 60.0 * 0.3;
        let rows = vec![
            one(ID.pid, "zmtop", 1, 20.0),
            one(200, "zmtop", ID.pid, child),
            one(201, "zmtop", ID.pid, child),
            one(300, "server", 1, child),
        ];
        let snapshot = snapshot(Duration::from_secs(second), rows);
        history.push(&snapshot);
        if second % 100 == 99 {
            history.judge_all();
            let found = suspects(&history, &snapshot, SuspectQuery::GROWING);
            let own = |s: &&Suspect| s.judgement.verdict != Verdict::Leaking && s.command.as_deref() == Some(b"zmtop");
            assert_eq!(found.iter().find(own), None, "{second}");
        }
        last = Some(snapshot);
    }
    let found = suspects(&history, &last.unwrap(), SuspectQuery::GROWING);
    assert!(
        found.iter().any(|s| s.command.as_deref() == Some(b"server")),
        "{found:?}"
    );
    assert!(
        found.iter().any(|s| s.command.as_deref() == Some(b"zmtop")),
        "{found:?}"
    );
}

#[test]
fn another_monitor_is_named_as_such() {
    let at = |exe: &str, uid: u32, unit: Option<&str>, pid: u32, mib: f64| {
        with_facts(with_pss(pid, "zmtop", (mib * MIB as f64) as u64), |facts| {
            facts.exe = Ok(exe.as_bytes().into());
            facts.uid = Ok(uid);
            facts.unit = unit.map(|unit| unit.as_bytes().into());
        })
    };
    let other = Some(Cause::OtherMonitor);
    for (exe, uid, unit, first, want) in [
        ("/usr/bin/zmtop", 0, None, 20.0, other.clone()),
        ("/usr/bin/zmtop", 61_184, Some("zmtop-serve.service"), 20.0, other),
        // The name alone, another user with the same program, a unit of a user, and more memory than a history takes.
        ("/tmp/zmtop", 0, None, 20.0, None),
        ("/usr/bin/zmtop", 5, None, 20.0, None),
        ("/usr/bin/zmtop", 5, Some("games/zmtop-serve.service"), 20.0, None),
        ("/usr/bin/zmtop", 0, None, 200.0, None),
    ] {
        let mut history = History::new(WINDOW);
        history.set_own_pid(ID.pid);
        let mut last = None;
        for second in 0..400_u64 {
            let own = at("/usr/bin/zmtop", 0, None, ID.pid, 20.0);
            let grows = at(exe, uid, unit, 300, first + second as f64 * 0.1);
            let snapshot = snapshot(Duration::from_secs(second), vec![own, grows]);
            history.push(&snapshot);
            last = Some(snapshot);
        }
        history.judge_all();
        let found = suspects(&history, &last.unwrap(), SuspectQuery::GROWING);
        let [suspect] = &found[..] else { panic!("{found:?}") };
        assert_eq!(suspect.cause, want, "{exe} {uid} {unit:?} {first}");
    }
}

#[test]
fn the_growth_of_other_programs_of_its_name_is_reported() {
    // Six grow alike, and one grows among others that do not: the row of the program, and that of the process.
    for (growing, still, want) in [(6, 0, None), (1, 5, Some(300))] {
        let mut history = History::new(WINDOW);
        history.set_own_pid(ID.pid);
        let mut last = None;
        for second in 0..400_u64 {
            let grown = second as f64 * 0.1;
            let one = |n: u32, mib: f64| with_pss(300 + n, "zmtop", (mib * MIB as f64) as u64);
            let mut rows = vec![with_pss(ID.pid, "zmtop", 20 * MIB)];
            rows.extend((0..growing).map(|n| one(n, 20.0 + grown)));
            rows.extend((growing..growing + still).map(|n| one(n, 20.0)));
            let snapshot = snapshot(Duration::from_secs(second), rows);
            history.push(&snapshot);
            last = Some(snapshot);
        }
        history.judge_all();
        let found = suspects(&history, &last.unwrap(), SuspectQuery::GROWING);
        let pids: Vec<_> = found.iter().map(|s| s.key.process().map(|id| id.pid)).collect();
        assert_eq!(pids, [want]);
    }
}

#[test]
fn a_change_over_more_than_the_window_is_scaled_to_it() {
    // Seconds between snapshots, and the change over ten seconds of what grows by 6 MiB a minute.
    for every in [60, 30, 20, 15, 12, 4] {
        let mut history = History::new(WINDOW);
        for second in (0..600).step_by(every) {
            let mut snap = snap(second, 0, 0, 0);
            snap.interval = Duration::from_secs(every as u64);
            let Ok([sample]) = snap.processes.as_deref_mut() else {
                panic!()
            };
            sample.walk = Ok(walk(second * (MIB / 10), 0));
            history.push(&snap);
        }
        let change = history.get(ID).unwrap().change().pss.unwrap();
        assert!((change - MIB.cast_signed()).abs() <= 16, "every {every} s: {change}");
    }
}

#[test]
fn an_earlier_history_is_put_before_a_later_one() {
    let value = |second: u64| match second {
        0..400 => 50,
        400..700 => 50 + second * second % 97,
        700..2000 => 300,
        _ => 300 + second / 10 % 50,
    };
    let fed = |from: u64, to: u64| {
        let mut history = History::new(WINDOW);
        for second in (from..to).step_by(2) {
            history.push(&snap(second, value(second), 0, 0));
        }
        history
    };
    for seam in [2, 300, 398, 400, 552, 700, 1200, 2100] {
        let (whole, mut earlier, mut later) = (fed(0, 4000), fed(0, seam), fed(seam, 4000));
        while later.put_before(&mut earlier, 1) {}
        let group = |history: &History| {
            let key = zmtop::group::GroupKey {
                by: zmtop::group::GroupBy::Command,
                name: Some((*b"postgres").into()),
            };
            history.group(&key).unwrap().footprint_series().start()
        };
        assert!(group(&later) < Some(Duration::from_secs(seam.max(10))), "{seam}");
        let rows = [&whole, &later].map(|history| history.get(ID).unwrap());
        let [of_whole, of_both] = rows.map(RowHistory::footprint_series);
        assert_eq!(
            (of_both.start(), later.since()),
            (of_whole.start(), whole.since()),
            "{seam}"
        );
        for level in 0..zmtop::history::time_series::TimeSeries::RESOLUTIONS {
            // One run may be told as two.
            let seconds = |series: &zmtop::history::time_series::TimeSeries| {
                let mut all = Vec::new();
                for point in series.points_since(level, Duration::ZERO) {
                    let step = zmtop::history::time_series::TimeSeries::resolution(level).0.as_secs();
                    let steps = (point.from.as_secs()..=point.to.as_secs()).step_by(step as usize);
                    all.extend(steps.map(|at| (at, point.min, point.last, point.max)));
                }
                all
            };
            assert_eq!(seconds(of_both), seconds(of_whole), "level {level}, {seam}");
        }
        assert_eq!(rows[0].change(), rows[1].change(), "{seam}");
    }
}
