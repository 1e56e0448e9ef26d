//! Streams of newcomers beside processes that are due: who gets how much of the budget.

use std::io::Write;
use std::time::Duration;

use super::machine::{Found, Process, Stream, run};

const SECOND: Duration = Duration::from_secs(1);
const BUDGET: f64 = 0.05;
const TICKS: u32 = 150;

/// Returns processes of several rates, sizes and costs, for all of which less than half of the budget is enough.
fn payable() -> Vec<Process> {
    let mut all = vec![Process::new(300, 4_000_000).in_focus(); 10];
    all.extend(vec![Process::new(100, 100_000).in_focus(); 30]);
    all.extend(vec![Process::new(100, 200_000); 60]);
    let of = |gib: u64, process: Process| Process {
        pss: gib << 30,
        ..process
    };
    all.extend(vec![of(2, Process::new(15_000, 5_000_000)).in_focus(); 2]);
    all.push(of(8, Process::new(100_000, 1_000_000)));
    all.extend(vec![Process::new(57, 0); 100]);
    all
}

/// Returns processes that could take the whole budget six times over.
fn overload() -> Vec<Process> {
    vec![Process::new(300, 4_000_000).in_focus(); 1000]
}

fn print(what: &str, found: &Found) {
    let _ = writeln!(
        std::io::stdout(),
        "{what:58} | {:5.2} % | {:5.2} % | {:4.0} s | {:6.1} | {:3.0} s | {:5} {:6.1} s",
        found.spent * 100.0,
        found.spent_on_old * 100.0,
        found.oldest(),
        found.max(|p| if p.focus { p.worst } else { 0.0 }),
        found
            .max(|p| if p.focus { p.beyond } else { Duration::ZERO })
            .as_secs_f64(),
        found.started,
        found.p99_without().as_secs_f64(),
    );
}

fn head() {
    let _ = writeln!(
        std::io::stdout(),
        "{:58} | spent   | on due  | oldest | worst in sight (tolerances), longest | newcomers, p99 without figures",
        "machine"
    );
}

/// Returns the streams of the table, with names.
fn streams() -> Vec<(String, Stream)> {
    let mut all = Vec::new();
    for per_second in [0.0, 40.0, 200.0, 500.0] {
        for millis in [300, 5000] {
            for micros in [50, 3000, 20_000] {
                let stream = Stream {
                    per_second,
                    lives: Duration::from_millis(millis),
                    process: Process::new(micros, 0),
                };
                all.push((format!("{per_second}/s of {micros} µs living {millis} ms"), stream));
            }
        }
    }
    all
}

#[test]
fn due_ones_in_sight_stay_within_their_tolerance_whatever_starts() {
    head();
    for (what, stream) in streams() {
        let found = run(payable(), std::slice::from_ref(&stream), SECOND, TICKS);
        print(&format!("due that can be paid, {what}"), &found);
        let beyond = found.max(|p| if p.focus { p.beyond } else { Duration::ZERO });
        assert!(beyond < Duration::from_secs(6), "{what}: {beyond:?}");
        assert!(found.spent <= BUDGET * 1.1, "{what}: {}", found.spent);
        // Out of sight it takes up to max_age.
        let beyond = found.max(|p| p.beyond);
        assert!(beyond <= Duration::from_secs(31), "{what}: {beyond:?}");
        // What costs no more than the due leave is walked at once, where it lives to be.
        let wanted = stream.per_second * stream.process.cost.as_secs_f64();
        if wanted < BUDGET * 0.45 {
            let p99 = found.p99_without();
            assert!(p99 <= SECOND, "{what}: {p99:?}");
        }
    }
}

#[test]
fn due_ones_keep_at_least_half_of_the_budget_and_newcomers_the_rest() {
    head();
    for (what, stream) in streams() {
        let found = run(overload(), std::slice::from_ref(&stream), SECOND, TICKS);
        print(&format!("due that take all, {what}"), &found);
        assert!(found.spent_on_old >= BUDGET / 2.0, "{what}: {}", found.spent_on_old);
        assert!(found.spent <= BUDGET * 1.1, "{what}: {}", found.spent);
        // All of them take 0.3 s: 6 s of the budget, 12 of half of it.
        assert!(found.oldest() <= 26.0, "{what}: {}", found.oldest());
        let wanted = stream.per_second * stream.process.cost.as_secs_f64();
        if wanted < BUDGET * 0.45 {
            let p99 = found.p99_without();
            assert!(p99 <= SECOND, "{what}: {p99:?}");
        }
    }
}

/// A server of 300 MB forks 40 workers a second, and another process grows by 4 MB/s.
#[test]
fn one_that_grows_beside_a_forking_server_is_right_in_every_tick() {
    head();
    for (what, predicted) in [("foreseen", 6000), ("not foreseen", 50)] {
        let worker = Process {
            predicted: Duration::from_micros(predicted),
            ..Process::new(6000, 0)
        };
        let stream = Stream {
            per_second: 40.0,
            lives: Duration::from_millis(400),
            process: worker,
        };
        let grows = vec![Process::new(300, 4_000_000).in_focus()];
        let found = run(grows, &[stream], SECOND, 300);
        print(&format!("one that grows beside forks of 6 ms, {what}"), &found);
        assert_eq!(found.processes[0].walks, 300, "{what}: in every tick");
        assert!(found.spent <= BUDGET * 1.1, "{what}: {}", found.spent);
    }
}

/// A fork that costs 4.5 s, which is 90 s of the whole budget.
#[test]
fn a_fork_of_a_huge_process_blinds_nobody() {
    head();
    for (what, predicted) in [("foreseen", 4_500_000), ("not foreseen", 50)] {
        let huge = Process {
            predicted: Duration::from_micros(predicted),
            ..Process::new(4_500_000, 0)
        };
        let streams = [
            Stream {
                per_second: 0.0101,
                lives: Duration::MAX,
                process: huge,
            },
            Stream {
                per_second: 40.0,
                lives: SECOND * 2,
                process: Process::new(200, 0),
            },
        ];
        let found = run(payable(), &streams, SECOND, 400);
        print(&format!("due that can be paid, a fork of 4.5 s, {what}"), &found);
        let beyond = found.max(|p| if p.focus { p.beyond } else { Duration::ZERO });
        assert!(beyond < Duration::from_secs(6), "{what}: {beyond:?}");
        assert!(found.p99_without() <= SECOND, "{what}: {:?}", found.p99_without());
        let found = run(overload(), &streams, SECOND, 400);
        print(&format!("due that take all, a fork of 4.5 s, {what}"), &found);
        assert!(found.spent_on_old >= BUDGET / 2.0, "{what}: {}", found.spent_on_old);
        assert!(found.p99_without() <= SECOND, "{what}: {:?}", found.p99_without());
    }
}
