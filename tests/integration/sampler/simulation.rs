//! The policy over minutes of a made machine. Each prints what it found with `--nocapture`; the figures in the
//! docs are from here.

mod machine;
mod newcomers;

use std::io::Write;
use std::time::Duration;

use machine::{Found, Process};

use crate::support::long;

const SECOND: Duration = Duration::from_secs(1);

fn run(what: &str, processes: Vec<Process>, step: Duration, ticks: u32) -> Found {
    let found = machine::run(processes, &[], step, ticks);
    let _ = writeln!(
        std::io::stdout(),
        "{what}: {:.2} % of a core, oldest {:.1} s, at most {} walks a tick, beyond the tolerance in sight {:.0} s",
        found.spent * 100.0,
        found.oldest(),
        found.most,
        found
            .max(|p| if p.focus { p.beyond } else { Duration::ZERO })
            .as_secs_f64(),
    );
    found
}

#[test]
fn a_still_machine_costs_next_to_nothing() {
    let most = if long() { 100_000 } else { 20_000 };
    for (count, ticks) in [(10, 300), (1000, 300), (most, 150)] {
        let found = run(
            &format!("{count} idle at 57 µs"),
            vec![Process::new(57, 0); count],
            SECOND,
            ticks,
        );
        assert!(found.spent <= 0.0028, "{count}: {}", found.spent);
        let all = count as f64 * 57e-6;
        if all / 0.0025 < 30.0 {
            assert!(found.oldest() <= 33.0, "{count}: {}", found.oldest());
        }
        assert!(
            found.most <= count.div_ceil(8).max(3),
            "{count}: a herd of {}",
            found.most
        );
    }
}

#[test]
fn expensive_and_idle_costs_no_more() {
    // A database: a hundred backends that share 2 GB.
    let found = run("100 idle at 10 ms", vec![Process::new(10_000, 0); 100], SECOND, 2500);
    assert!(found.spent <= 0.0012, "{}", found.spent);
    assert!(found.oldest() < 100.0 * 0.010 / 0.001 * 1.3, "{}", found.oldest());
}

#[test]
fn idle_memory_of_ones_own_costs_no_more_the_more_there_is() {
    // Eight heaps of 2 GB: 40 ms a walk, and nobody to share with.
    let heap = Process {
        externally_mutable: 64 << 10,
        ..Process::new(40_000, 0)
    };
    let found = run("8 idle heaps at 40 ms", vec![heap; 8], SECOND, 4000);
    assert!(found.spent <= 0.0005, "{}", found.spent);
    let bound = 30.0 * 32.0;
    assert!(found.oldest() <= bound * 1.1, "{}", found.oldest());
}

#[test]
fn all_changing_all_the_time_keeps_within_the_budget_and_nobody_starves() {
    for (count, ticks, step) in [
        (10, 300, SECOND),
        (1000, 300, SECOND),
        (1000, 1200, SECOND / 10),
        (20_000, 240, SECOND),
    ] {
        let found = run(
            &format!("{count} faulting"),
            vec![Process::new(57, 4 << 20).in_focus(); count],
            step,
            ticks,
        );
        let wanted = count as f64 * 57e-6 / step.as_secs_f64();
        let budget = wanted.min(0.05);
        assert!(
            (found.spent / budget - 1.0).abs() < 0.2,
            "{count}: {} for {budget}",
            found.spent
        );
        let bound = (count as f64 * 57e-6 / 0.05).max(step.as_secs_f64());
        assert!(
            found.oldest() <= 2.0 * bound + step.as_secs_f64(),
            "{count}: {} for {bound}",
            found.oldest()
        );
    }
}

#[test]
fn a_process_more_expensive_than_the_whole_budget_is_walked_as_seldom_as_it_allows() {
    let mut all = vec![Process::new(57, 4 << 20).in_focus(); 1000];
    // 200 GB: four and a half seconds a walk.
    all.push(Process::new(4_500_000, 1 << 30));
    let found = run("1000 faulting and one of 4.5 s", all, SECOND, 1200);
    let expensive = &found.processes[1000];
    assert!(
        (5..=16).contains(&expensive.walks),
        "half the budget is a walk in 180 s: {}",
        expensive.walks
    );
    assert!((found.spent / 0.05 - 1.0).abs() < 0.2, "{}", found.spent);
    let others = found.processes[..1000].iter().map(|p| p.oldest).max().unwrap();
    assert!(others <= Duration::from_secs(6), "the rest are not held up: {others:?}");
}

#[test]
fn hogs_do_not_starve_the_small() {
    let mut all = vec![Process::new(57, 4 << 20).in_focus(); 500];
    all.extend(vec![Process::new(15_000, 2 << 30); 20]);
    let found = run("500 small and 20 hogs of 15 ms", all, SECOND, 600);
    assert!((found.spent / 0.05 - 1.0).abs() < 0.2, "{}", found.spent);
    let oldest = |range: std::ops::Range<usize>| found.processes[range].iter().map(|p| p.oldest).max().unwrap();
    assert!(oldest(0..500) <= Duration::from_secs(15), "{:?}", oldest(0..500));
    assert!(oldest(500..520) <= Duration::from_secs(30), "{:?}", oldest(500..520));
}

#[test]
fn one_that_changes_in_a_still_crowd_is_walked_at_once() {
    let mut all = vec![Process::new(57, 0); 1000];
    all.push(Process::new(57, 4 << 20).in_focus());
    let found = run("one changing among 1000", all, SECOND, 200);
    assert_eq!(found.processes[1000].walks, 200, "in every tick");
}

/// Makes a process one to which others can do nothing that would be noticed.
fn private(mut process: Process) -> Process {
    process.externally_mutable = 300 << 10;
    process
}

#[test]
fn ten_thousand_small_idle_ones_cost_half_a_millisecond() {
    let found = run(
        "10000 idle at 40 µs, nearly all their own",
        vec![private(Process::new(40, 0)); 10_000],
        SECOND * 4,
        700,
    );
    assert!(found.spent <= 0.0005, "{}", found.spent);
    assert!(found.oldest() <= 32.0 * 30.0 + 60.0, "{}", found.oldest());
}

#[test]
fn three_thousand_that_fault_in_place_take_less_than_half_of_the_budget() {
    // Fifty are in sight. What they fault moves their counters, and their bound by a tenth of the tolerance a second.
    let mut all = vec![
        Process {
            ..private(Process::new(57, 100 << 10))
        };
        3000
    ];
    all[..50].iter_mut().for_each(|p| p.focus = true);
    let found = run("3000 that fault in place", all, SECOND, 300);
    assert!(found.spent <= 0.025, "{}", found.spent);
    assert!(found.max(|p| p.beyond) < SECOND * 6 || found.max(|p| p.worst) <= 4.0);
    assert_eq!(
        found.max(|p| if p.focus { p.beyond } else { Duration::ZERO }),
        Duration::ZERO
    );
}

/// The processes of a busy database host: 86, of which some 30 change other than by anonymous memory.
#[test]
fn a_busy_database_host_takes_ten_walks_a_second() {
    let of = |count: usize, micros: u64, mib: u64, rate: u64| {
        let process = Process {
            pss: mib << 20,
            externally_mutable: mib << 19,
            ..Process::new(micros, rate)
        };
        vec![process; count]
    };
    // Backends under pgbench, background writers, JVMs, compilers.
    let mut all = of(20, 3000, 40, 300_000);
    all.extend(of(10, 1500, 20, 600_000));
    all.extend(of(6, 8000, 800, 500_000));
    all.extend(of(10, 1000, 100, 0));
    all.extend(of(40, 100, 8, 0));
    for (n, p) in all.iter_mut().enumerate() {
        p.focus = n % 2 == 0;
    }
    let compilers = machine::Stream {
        per_second: 4.0,
        lives: SECOND * 3,
        process: Process {
            pss: 50 << 20,
            ..Process::new(1000, 2_000_000)
        },
    };
    let found = machine::run(all, &[compilers], SECOND, 300);
    let walks: u32 = found.processes.iter().map(|p| p.walks).sum();
    let walks = f64::from(walks) / 300.0 + found.started as f64 / 300.0;
    let _ = writeln!(
        std::io::stdout(),
        "a busy database host: {walks:.1} walks a second and more, {:.2} % of a core, worst in sight {:.1} tolerances",
        found.spent * 100.0,
        found.max(|p| if p.focus { p.worst } else { 0.0 })
    );
    assert!(walks <= 20.0, "{walks}");
    assert!(found.max(|p| if p.focus { p.worst } else { 0.0 }) <= 1.0);
    assert!(found.max(|p| p.beyond) <= SECOND * 30);
}
