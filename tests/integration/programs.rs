//! Verdicts on real programs: Python services that leak, and such as only look like it.
//!
//! # Time is compressed
//! To tell a leak takes minutes to hours. So the programs do in a second what they would do in 40, are looked at 40
//! times as often, by the real sampler in the real `/proc`, and the clock of the snapshots is stretched as much
//! before they are judged. The allocators, the collectors and the kernel's figures are real; the clock alone is not,
//! and what hangs on it: a hiccup of the machine of 50 ms looks like one of 2 s. The same test in real time
//! takes half an hour and is run by hand: `cargo test --test integration -- --ignored programs::`.

mod cast;
mod clock;
mod recorded;
mod report;
mod stage;
mod verdicts;

use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use cast::Role;
use clock::Stretch;
use report::{HEAD, line, misjudged};
use stage::Program;
use verdicts::{Said, Verdicts, View};
use zmtop::sampler::{Options, Policy, Scanner};

use crate::support::pty::have;
use crate::support::{block_on, cannot, long};

#[test]
fn verdicts_on_programs() {
    if !long() {
        cannot("verdicts on real programs take a minute: set ZMTOP_TEST_LONG=1");
    } else if have("python3") {
        // Forty minutes of theirs.
        run(40.0, Duration::from_secs(60), Duration::from_millis(50));
    }
}

#[test]
#[ignore = "takes half an hour"]
fn verdicts_on_programs_in_real_time() {
    if have("python3") {
        run(1.0, Duration::from_secs(1800), Duration::from_secs(1));
    }
}

/// Runs the programs so much faster, for so long and with a snapshot so often by the real clock.
fn run(speed: f64, length: Duration, every: Duration) {
    let usual = Policy::default();
    let mut scanner = Scanner::new(&Options {
        interval: every,
        policy: Policy {
            budget: usual.budget.map(|share| (share * speed).min(0.25)),
            max_age: usual.max_age.div_f64(speed),
        },
        ..Options::new(None)
    });
    // A busy machine may not give all of it in the first tick.
    let mut first = block_on(scanner.tick());
    while first.system.uptime.is_err() {
        first = block_on(scanner.tick());
    }
    let stretch = Stretch::new(speed, &first);
    let mut programs = Program::all(speed);
    let mut verdicts = Verdicts::new();
    let mut ticks = 0_u64;
    let began = Instant::now();
    while began.elapsed() < length {
        let next = Instant::now() + every;
        let snapshot = block_on(scanner.tick());
        let ours = |row: &_| programs.iter().any(|program| program.has(row));
        let mine = snapshot.rows().iter().filter(|row| ours(row));
        let ids = mine.map(|row| row.id).collect();
        scanner.set_focus(ids);
        let stretched = stretch.of(&snapshot, ours);
        let judged: Vec<_> = programs
            .iter()
            .filter_map(|program| program.judged(&stretched))
            .collect();
        if judged.len() == programs.len() {
            verdicts.push(&stretched, &judged);
        }
        programs.iter_mut().for_each(Program::check);
        ticks += 1;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }

    // On an overloaded machine, leaks are seen too rarely to be called in time. False calls are faults all the same.
    let is_dense = ticks * 2 >= (length.as_secs_f64() / every.as_secs_f64()) as u64;
    if !is_dense {
        cannot("the machine was too busy for verdicts on leaks: only false calls are judged");
    }
    let mut out = format!("verdicts on programs, {speed} times their pace, {ticks} snapshots, {HEAD}\n");
    let mut wrong = Vec::new();
    for program in &programs {
        let role = &program.role;
        for together in [false, true] {
            // Of a server's first process alone nothing is known beforehand: pages that it shared with a worker
            // become its own.
            if role.forks && !together {
                continue;
            }
            let views = [true, false].map(|from_start| verdicts.of(role.name, View::new(together, from_start)));
            let [from_start, later] = views;
            if together == role.forks {
                out += &line(role, from_start, later);
            }
            for said in views.into_iter().filter(|_| is_dense || role.leak.is_none()) {
                let what = misjudged(role, said);
                wrong.extend(what.map(|what| format!("{} {what}; {}", role.name, keep(role, said))));
            }
        }
    }
    // Past the test harness, which shows nothing of a test that passes.
    let _ = std::io::stdout().write_all(out.as_bytes());
    assert!(wrong.is_empty(), "{wrong:#?}\n{out}");
}

/// Keeps the series of a program that was misjudged, to be looked at; says where.
fn keep(role: &Role, said: &Said) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("misjudged-{}.csv", role.name));
    let lines = said
        .seen
        .iter()
        .map(|(age, bytes)| format!("{age:.1},{}\n", bytes / 1024));
    match std::fs::write(&path, lines.collect::<String>()) {
        Ok(()) => format!("its seconds and KiB are in {}", path.display()),
        Err(e) => format!("its series could not be kept: {e}"),
    }
}
