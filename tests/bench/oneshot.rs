//! Times one printed table, beside the least it could take and beside programs that print the same.
//!
//! `cargo bench --bench oneshot -- [PROCESSES AREAS PAGES [ROUNDS]]` makes a load (1000, 100 and 5 unless told
//! otherwise) and has each whole program look at it in turn, from before it is started until it has ended: the
//! floor (two threads open, read and close every `smaps_rollup`, and nothing else), `zmtop ps`, the same by
//! program and as JSON, and those of `zmem`, `ps_mem`, `smemstat` and `smem` that are installed; the slow ones in the
//! first rounds only. A ratio is of two runs of one round, one soon after the other, and every second round goes in the
//! opposite order; told are the median of these ratios and their quartiles. Memory is the most any round had resident.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[path = "support/floor.rs"]
mod floor;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/load.rs"]
mod load;

use std::process::{Command, Stdio};
use std::time::Instant;

use load::Load;

/// Tells this program to be the floor.
const FLOOR: &str = "ZMTOP_BENCH_FLOOR";

/// A program, in how many rounds it takes part, and how it should compare.
struct Runner {
    name: &'static str,
    program: &'static str,
    args: &'static [&'static str],
    rounds: usize,
    goal: &'static str,
    /// By round; `None` where it took no part.
    found: Vec<Option<Found>>,
}

/// Milliseconds on the clock and of processor time, and KiB.
#[derive(Clone, Copy)]
struct Found {
    wall: f64,
    cpu: f64,
    rss: i64,
}

fn main() {
    Load::be_one_if_told();
    if std::env::var_os(FLOOR).is_some() {
        return floor::floor(2);
    }
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let mut next = |default| numbers.next().unwrap_or(default);
    let (processes, areas, pages, rounds) = (next(1000), next(100), next(5), next(31));
    let _load = Load::start(processes, areas, pages);
    println!("load: {processes} processes of {areas} areas of {pages} pages, {rounds} rounds");

    let zmtop = env!("CARGO_BIN_EXE_zmtop");
    let runner = |name, program, args, rounds, goal| Runner {
        name,
        program,
        args,
        rounds,
        goal,
        found: Vec::new(),
    };
    let mut runners = [
        runner("floor", "", &[], rounds, ""),
        runner("zmtop ps", zmtop, &["ps"], rounds, "≤ 1.12 × floor, ≤ zmem, ≤ 8 MB"),
        runner("zmtop ps --by command", zmtop, &["ps", "--by", "command"], rounds, ""),
        runner("zmtop ps --format json", zmtop, &["ps", "--format", "json"], rounds, ""),
        runner("zmem -p", "zmem", &["-p"], rounds, "≥ 1"),
        runner("ps_mem", "ps_mem", &[], 5, "≥ 4"),
        runner("smemstat", "smemstat", &[], 3, "≥ 15"),
        runner("smem", "smem", &[], 2, "≥ 50"),
    ];
    let home = std::env::temp_dir().join("zmtop-bench-home");
    for round in 0..=rounds {
        let mut order: Vec<&mut Runner> = runners.iter_mut().collect();
        if round % 2 == 0 {
            order.reverse();
        }
        for runner in order {
            let takes_part = round <= runner.rounds;
            let found = takes_part.then(|| run(runner.program, runner.args, &home)).flatten();
            // The first run of a program reads it from the disk.
            if round > 0 {
                runner.found.push(found);
            }
        }
    }
    println!(
        "{:>35} {:>9} {:>9}   {:<24}{:<24}÷ zmtop ps  (goal)",
        "wall ms", "cpu ms", "RSS MB", "÷ floor", "cpu ÷ floor"
    );
    for r in &runners {
        let found = || r.found.iter().flatten();
        if found().next().is_none() {
            println!("  {:<24} is not installed", r.name);
            continue;
        }
        println!(
            "  {:<24} {:>8.1} {:>9.1} {:>9.1}   {:<24}{:<24}{:>10.2}  {}",
            r.name,
            quartiles(found().map(|f| f.wall))[1],
            quartiles(found().map(|f| f.cpu))[1],
            found().map(|f| f.rss).max().unwrap() as f64 / 1024.0,
            spread(ratios(r, &runners[0], |f| f.wall)),
            spread(ratios(r, &runners[0], |f| f.cpu)),
            quartiles(ratios(r, &runners[1], |f| f.wall))[1],
            r.goal
        );
    }
}

/// Divides one's figure by the other's, in each round in which both took part.
fn ratios(one: &Runner, other: &Runner, figure: fn(&Found) -> f64) -> impl Iterator<Item = f64> {
    let rounds = one.found.iter().zip(&other.found);
    rounds.filter_map(move |(one, other)| Some(figure(one.as_ref()?) / figure(other.as_ref()?)))
}

/// Writes the median, and the quartiles after it.
fn spread(values: impl Iterator<Item = f64>) -> String {
    let [low, median, high] = quartiles(values);
    format!("{median:.3} ({low:.3} to {high:.3})")
}

fn quartiles(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|n| values.get(values.len() * n / 4).copied().unwrap_or(f64::NAN))
}

/// Runs it to its end; `None` where there is no such program. Without a name it is the floor.
fn run(program: &str, args: &[&str], home: &std::path::Path) -> Option<Found> {
    let mut command = if program.is_empty() {
        let mut own = Command::new(std::env::current_exe().unwrap());
        own.env(FLOOR, "1");
        own
    } else {
        Command::new(program)
    };
    command
        .args(args)
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let child = command.spawn().ok()?;
    let pid = i32::try_from(child.id()).unwrap();
    let mut status = 0;
    #[expect(unsafe_code, reason = "what a child took is told by wait4 alone")]
    // SAFETY: both places are valid for the call, and no other code waits for this child.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        assert_eq!(libc::wait4(pid, &raw mut status, 0, &raw mut usage), pid);
        usage
    };
    let wall = start.elapsed().as_secs_f64() * 1e3;
    assert!(libc::WIFEXITED(status), "{program} did not end by itself");
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    Some(Found {
        wall,
        cpu: ms(usage.ru_utime) + ms(usage.ru_stime),
        rss: usage.ru_maxrss,
    })
}
