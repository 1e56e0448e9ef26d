//! The policy over minutes of a made machine. Each prints what it found with `--nocapture`; the figures in the
//! docs are from here.

use std::io::Write;
use std::time::Duration;

use zmtop::sampler::plan::{Candidate, Planner, Policy, Purpose};

/// A process of the made machine.
#[derive(Clone)]
struct Process {
    cost: Duration,
    /// Bytes it changes a second.
    rate: u64,
    /// Bytes of its PSS that others could change.
    externally_mutable: u64,
    walked: Option<Duration>,
    walks: u32,
    oldest: Duration,
}

impl Process {
    fn new(micros: u64, rate: u64) -> Self {
        Self {
            cost: Duration::from_micros(micros),
            rate,
            externally_mutable: 2 << 20,
            walked: None,
            walks: 0,
            oldest: Duration::ZERO,
        }
    }
}

/// The result of a simulation.
struct Found {
    /// Share of a core that walks took, without the initial scan.
    spent: f64,
    /// The most in any one tick, in walks.
    most: usize,
    processes: Vec<Process>,
}

impl Found {
    /// The oldest any figure became, after the first minute.
    fn oldest(&self) -> f64 {
        self.processes
            .iter()
            .map(|p| p.oldest)
            .max()
            .unwrap_or_default()
            .as_secs_f64()
    }
}

fn run(what: &str, mut processes: Vec<Process>, step: Duration, ticks: u32) -> Found {
    let mut planner = Planner::new(Policy::default());
    let mut spent = Duration::ZERO;
    let mut most = 0;
    for tick in 0..ticks {
        let now = step * tick;
        let candidates: Vec<Candidate> = processes
            .iter()
            .map(|p| {
                let age = p.walked.map(|at| now.saturating_sub(at));
                Candidate {
                    walkable: true,
                    age,
                    cost: if age.is_some() { p.cost } else { Duration::ZERO },
                    bound: (age.unwrap_or_default().as_secs_f64() * p.rate as f64) as u64,
                    pss: 10 << 20,
                    externally_mutable: p.externally_mutable,
                    ..Candidate::default()
                }
            })
            .collect();
        let chosen = planner.choose(now, &candidates);
        for c in &chosen {
            let p = &mut processes[c.index];
            planner.charge(c.purpose, candidates[c.index].cost, p.cost);
            p.walked = Some(now);
            p.walks += 1;
            if c.purpose != Purpose::Initial {
                spent += p.cost;
            }
        }
        if tick > 0 {
            most = most.max(chosen.len());
        }
        if now > Duration::from_secs(60) || tick * 3 > ticks {
            for p in &mut processes {
                p.oldest = p.oldest.max(now.saturating_sub(p.walked.unwrap_or_default()));
            }
        }
    }
    let found = Found {
        spent: spent.as_secs_f64() / (step * (ticks - 1)).as_secs_f64(),
        most,
        processes,
    };
    let _ = writeln!(
        std::io::stdout(),
        "{what}: {:.2} % of a core, oldest {:.1} s, at most {} walks a tick",
        found.spent * 100.0,
        found.oldest(),
        found.most
    );
    found
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_still_machine_costs_next_to_nothing() {
    for (count, ticks) in [(10, 300), (1000, 300), (100_000, 150)] {
        let found = run(
            &format!("{count} idle at 57 µs"),
            vec![Process::new(57, 0); count],
            SECOND,
            ticks,
        );
        assert!(found.spent <= 0.0028, "{count}: {}", found.spent);
        let all = count as f64 * 57e-6;
        if all / 0.0025 < 30.0 {
            assert!(found.oldest() <= 31.0, "{count}: {}", found.oldest());
        }
        assert!(
            found.most <= count.div_ceil(8).max(2),
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
            vec![Process::new(57, 400 << 10); count],
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
    let mut all = vec![Process::new(57, 400 << 10); 1000];
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
    let mut all = vec![Process::new(57, 4096); 500];
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
    all.push(Process::new(57, 4096));
    let found = run("one changing among 1000", all, SECOND, 200);
    assert_eq!(found.processes[1000].walks, 200, "in every tick");
}
