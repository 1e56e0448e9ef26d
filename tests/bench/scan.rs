//! Times a full scan beside the least it could take.
//!
//! `cargo bench --bench scan -- [PROCESSES AREAS PAGES [ROUNDS]]` makes a load of processes, each with
//! that many anonymous areas of that many touched pages (1000, 100 and 5 unless told otherwise), and takes
//! turns between a floor (list `/proc`, then two threads open, read and close every `smaps_rollup` by its
//! path, and nothing else) and a whole tick of zmtop's scanner. Medians and their ratios are printed, and
//! what the first tick takes, when nothing is known of any process.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[path = "support/floor.rs"]
mod floor;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/load.rs"]
mod load;

use std::process::Command;
use std::time::Duration;

use floor::floor;
use load::Load;
use zmtop::group::Coverage;
use zmtop::proc::{clock, pids};
use zmtop::sampler::{Options, Policy, Scanner};

/// Makes the bench compare, beside a load that runs.
const COMPARE: &str = "ZMTOP_BENCH_COMPARE";

fn main() {
    Load::be_one_if_told();
    if let Ok(rounds) = std::env::var(COMPARE) {
        return compare(rounds.parse().unwrap());
    }
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let mut next = |default| numbers.next().unwrap_or(default);
    let (processes, areas, pages, rounds) = (next(1000), next(100), next(5), next(31));

    let load = Load::start(processes, areas, pages);
    let listed = pids::all(b"/proc").unwrap().pids.len();
    println!("load: {processes} processes of {areas} areas of {pages} pages; {listed} listed");
    // In a process of its own: a tick also reads the cost of zmtop's children, which the load must not be.
    let bench = std::env::current_exe().unwrap();
    let status = Command::new(bench).env(COMPARE, rounds.to_string()).status().unwrap();
    drop(load);
    assert!(status.success(), "{status}");
}

fn compare(rounds: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let options = || Options {
        threads: 2,
        // What a heap holds is not part of a scan.
        heaps: false,
        // Every process every time, as without a budget.
        policy: Policy::UNLIMITED,
        ..Options::new(None)
    };
    let mut scanner = Scanner::new(&options());
    runtime.block_on(scanner.full());
    floor(2);

    let (mut least, mut warm, mut cold) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        least.push(measure(|| floor(2)));
        warm.push(measure(|| {
            let snapshot = runtime.block_on(scanner.full());
            let readable = Coverage::of(&snapshot).readable;
            assert!(snapshot.sampling.walks + 16 > readable, "not every process was walked");
        }));
    }
    drop(scanner);
    for _ in 0..rounds.min(9) {
        let mut scanner = None;
        cold.push(measure(|| {
            runtime.block_on(scanner.insert(Scanner::new(&options())).tick());
        }));
    }
    println!("medians of {rounds} rounds       wall ms   CPU ms");
    for (name, costs) in [("floor", &least), ("tick", &warm), ("first tick", &cold)] {
        println!(
            "  {name:<22} {:>8.2} {:>8.2}",
            median(costs.iter().map(|c| ms(c.0))),
            median(costs.iter().map(|c| ms(c.1)))
        );
    }
    // Each round's own ratio: a machine that others use is faster in one round than in another.
    let ratio = |get: fn(&Cost) -> Duration| median(warm.iter().zip(&least).map(|(a, b)| ms(get(a)) / ms(get(b))));
    println!(
        "  tick ÷ floor           {:>8.3} {:>8.3}",
        ratio(|c| c.0),
        ratio(|c| c.1)
    );
}

/// Wall time and CPU time.
type Cost = (Duration, Duration);

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}

/// Wall time and CPU time of this whole process.
fn measure(work: impl FnOnce()) -> Cost {
    let cpu = clock::self_cost().unwrap().cpu;
    let wall = clock::monotonic();
    work();
    (
        clock::monotonic().saturating_sub(wall),
        clock::self_cost().unwrap().cpu.saturating_sub(cpu),
    )
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<_> = values.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
