//! Times one printed table, beside the least it could take and beside programs that print the same.
//!
//! `cargo bench --bench oneshot -- [PROCESSES AREAS PAGES [ROUNDS]]` makes a load (1000, 100 and 5 unless told
//! otherwise) and has each whole program look at it in turn, from before it is started until it has ended: the
//! floor (two threads open, read and close every `smaps_rollup`, and nothing else), `zmtop ps`, the same by
//! program and as JSON, and those of `zmem`, `ps_mem`, `smemstat` and `smem` that are installed; the slow ones in the
//! first rounds only. Medians; memory is the most any round had resident.
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
    found: Vec<Found>,
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
        runner("zmtop ps", zmtop, &["ps"], rounds, "≤ 1.10 × floor, ≤ zmem, ≤ 8 MB"),
        runner("zmtop ps --by command", zmtop, &["ps", "--by", "command"], rounds, ""),
        runner("zmtop ps --format json", zmtop, &["ps", "--format", "json"], rounds, ""),
        runner("zmem -p", "zmem", &["-p"], rounds, "≥ 1"),
        runner("ps_mem", "ps_mem", &[], 5, "≥ 4"),
        runner("smemstat", "smemstat", &[], 3, "≥ 15"),
        runner("smem", "smem", &[], 2, "≥ 50"),
    ];
    let home = std::env::temp_dir().join("zmtop-bench-home");
    for round in 0..=rounds {
        for runner in runners.iter_mut().filter(|r| round <= r.rounds) {
            if let Some(found) = run(runner.program, runner.args, &home)
                && round > 0
            {
                runner.found.push(found);
            }
        }
    }
    println!("                             wall ms    cpu ms    RSS MB   ÷ floor   ÷ zmtop ps  (goal)");
    let wall = |r: &Runner| median(r.found.iter().map(|f| f.wall));
    let (floor, ours) = (wall(&runners[0]), wall(&runners[1]));
    for r in &runners {
        if r.found.is_empty() {
            println!("  {:<24} is not installed", r.name);
            continue;
        }
        println!(
            "  {:<24} {:>9.1} {:>9.1} {:>9.1} {:>9.3} {:>12.2}  {}",
            r.name,
            wall(r),
            median(r.found.iter().map(|f| f.cpu)),
            r.found.iter().map(|f| f.rss).max().unwrap() as f64 / 1024.0,
            wall(r) / floor,
            wall(r) / ours,
            r.goal
        );
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
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
    // SAFETY: both places are valid for the call, and nobody else waits for this child.
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
