//! Verdicts on real programs: Python services that leak, and such as only look like it.
//!
//! # Time is compressed
//! To tell a leak takes minutes to hours. So the programs do in a second what they would do in 40, are looked at 40
//! times as often, by the real sampler in the real `/proc`, and the clock of the snapshots is stretched as much
//! before they are judged. The allocators, the collectors and the kernel's figures are real; the clock alone is not,
//! and what hangs on it: a hiccup of the machine of 50 ms looks like one of 2 s. The same test in real time
//! takes 20 minutes and is run by hand: `cargo test --test integration -- --ignored programs::`.

mod cast;
mod clock;
mod stage;
mod verdicts;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use zmtop::sampler::{Options, Policy, Scanner};

use crate::support::block_on;
use crate::support::pty::have;
use clock::Stretch;
use stage::Program;
use verdicts::{Said, Verdicts};

/// How far the slope told may be off, as a share of the true one.
const OFF: f64 = 0.3;

#[test]
fn verdicts_on_programs() {
    if have("python3") {
        run(40.0, Duration::from_secs(60), Duration::from_millis(50));
    }
}

#[test]
#[ignore = "takes twenty minutes"]
fn verdicts_on_programs_in_real_time() {
    if have("python3") {
        run(1.0, Duration::from_secs(1200), Duration::from_secs(1));
    }
}

/// Runs the programs so much faster, for so long and with a snapshot so often by the real clock.
fn run(speed: f64, length: Duration, every: Duration) {
    let usual = Policy::default();
    let mut scanner = Scanner::new(Options {
        interval: every,
        policy: Policy {
            budget: usual.budget.map(|share| (share * speed).min(0.5)),
            max_age: usual.max_age.div_f64(speed),
        },
        ..Options::new(None)
    });
    let stretch = Stretch::new(speed, &block_on(scanner.tick()));
    let mut programs = Program::all(speed);
    let mut verdicts = Verdicts::default();
    let mut ticks = 0;
    let began = Instant::now();
    while began.elapsed() < length {
        let next = Instant::now() + every;
        let snapshot = block_on(scanner.tick());
        let ours = |row: &_| programs.iter().any(|program| program.has(row));
        let ids: HashSet<_> = snapshot
            .rows()
            .iter()
            .filter(|row| ours(row))
            .map(|row| row.id)
            .collect();
        scanner.set_focus(ids.into_iter().collect());
        verdicts.push(&stretch.of(&snapshot, ours), &programs);
        programs.iter_mut().for_each(Program::check);
        ticks += 1;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }

    let mut out = format!("verdicts on programs, at {speed} times their pace, {ticks} snapshots:\n");
    let mut wrong = Vec::new();
    for program in &programs {
        for together in [false, true] {
            // Of a server's first process alone nothing is known beforehand: pages that it shared with a worker
            // become its own.
            if program.role.forks && !together {
                continue;
            }
            let said = verdicts.of(program, together).unwrap();
            let _ = writeln!(out, "{}", line(program, together, said));
            if let Some(what) = misjudged(program, said).filter(|_| program.role.held) {
                wrong.push(format!(
                    "{} {what}: {:?}; {}",
                    program.role.name,
                    said.last,
                    keep(program, said)
                ));
            }
        }
    }
    // Past the test harness, which shows nothing of a test that passes.
    let _ = std::io::stdout().write_all(out.as_bytes());
    assert!(wrong.is_empty(), "{wrong:#?}\n{out}");
}

/// What is wrong with what was said, if anything.
fn misjudged(program: &Program, said: &Said) -> Option<String> {
    match (program.role.leak, said.first) {
        (None, Some(first)) => Some(format!("does not leak, and was called leaking after {first:.0} s")),
        (Some(_), None) => Some("leaks, and was never called leaking".to_owned()),
        (Some(leak), Some(first)) if first < leak.since => {
            Some(format!("was called leaking too soon, after {first:.0} s"))
        }
        (Some(leak), Some(_)) if (said.leak.slope / leak.pace - 1.0).abs() > OFF => {
            Some(format!("leaks at another pace than {:.0}", leak.pace))
        }
        _ => None,
    }
}

/// A line of the table.
fn line(program: &Program, together: bool, said: &Said) -> String {
    let role = program.role;
    let first = said.first.map_or("never".to_owned(), |s| format!("after {s:.0} s"));
    let pace = role.leak.map_or(0.0, |leak| leak.pace);
    let verdicts: Vec<_> = said
        .verdicts
        .iter()
        .map(|(age, v)| format!("{} {age:.0}", v.id()))
        .collect();
    let mib = |value: Option<&(f64, u64)>| value.map_or(f64::NAN, |v| v.1 as f64 / f64::from(1 << 20));
    format!(
        "{:>14} {:<7} {:<8} at the end {:<9} called {first:<12} {:>5.1} KiB/s told, {:>4.1} true; {:>5.1} to {:>5.1} MiB: {}",
        role.name,
        if together { "group" } else { "process" },
        if role.leak.is_some() { "leaks" } else { "does not" },
        said.last.verdict.id(),
        said.leak.slope / 1024.0,
        pace / 1024.0,
        mib(said.seen.first()),
        mib(said.seen.last()),
        verdicts.join(", "),
    )
}

/// Keeps the series of a program that was misjudged, to be looked at; says where.
fn keep(program: &Program, said: &Said) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("misjudged-{}.csv", program.role.name));
    let lines = said
        .seen
        .iter()
        .map(|(age, bytes)| format!("{age:.1},{}\n", bytes / 1024));
    match std::fs::write(&path, lines.collect::<String>()) {
        Ok(()) => format!("its seconds and KiB are in {}", path.display()),
        Err(e) => format!("its series could not be kept: {e}"),
    }
}
