//! Cost of sampling the memory that processes hold through their descriptors.
//!
//! `cargo bench --bench held -- [PROCESSES [DESCRIPTORS [SECONDS]]]` starts 1,000 processes of 30 descriptors each by default.
//! One process in ten holds a memfd of 1 MiB. The bench takes a snapshot a second, without this memory and with it, for 30
//! seconds each after the first ten. It prints the processor time of all threads for both, and the difference.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/load.rs"]
mod load;

use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::Duration;

use load::Load;
use rustix::time::{ClockId, clock_gettime};
use zmtop::sampler::{Needs, Options, Scanner};

/// Tells a child how many descriptors to have.
const HOLDER: &str = "ZMTOP_BENCH_HOLDER";
/// Ticks after which everything is known.
const WARMUP: u32 = 10;

fn be_one_if_told() {
    let Ok(count) = std::env::var(HOLDER) else { return };
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL)).unwrap();
    let mut held: Vec<OwnedFd> = Vec::new();
    if std::process::id().is_multiple_of(10) {
        let memfd = rustix::fs::memfd_create("held", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&memfd, &vec![1; 1 << 20]).unwrap();
        held.push(memfd);
    }
    let count: usize = count.parse().unwrap();
    while held.len() + 3 < count {
        held.push(std::fs::File::open("/dev/null").unwrap().into());
    }
    std::io::stdout().write_all(b"r").unwrap();
    std::io::stdout().flush().unwrap();
    loop {
        std::thread::park();
    }
}

fn used() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// Returns the share of a core that snapshots take; tells what was held.
fn measure(needs: Needs, seconds: u32) -> f64 {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut scanner = Scanner::new(&Options::new(None));
        scanner.set_needs(needs);
        let mut before = Duration::ZERO;
        let mut sum = 0;
        for tick in 0..WARMUP + seconds {
            if tick == WARMUP {
                before = used();
            }
            let snapshot = scanner.tick().await;
            let held = snapshot.rows().iter().filter_map(|row| row.held().ok());
            sum = held.map(|held| held.figures.total()).sum();
            drop(snapshot);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        println!("held: {} MiB", sum >> 20);
        used().saturating_sub(before).as_secs_f64() / f64::from(seconds)
    })
}

fn main() {
    be_one_if_told();
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse::<usize>().ok());
    let (processes, descriptors) = (numbers.next().unwrap_or(1000), numbers.next().unwrap_or(30));
    let seconds = numbers.next().map_or(30, |n| n as u32);
    let load = Load::start_as(processes, HOLDER, &descriptors.to_string());
    let without = measure(Needs::NOTHING, seconds);
    let with = measure(Needs::HELD, seconds);
    drop(load);
    println!("without {:.3} %   with {:.3} %", without * 100.0, with * 100.0);
    println!("difference {:.3} % of a core (goal ≤ 0.3)", (with - without) * 100.0);
}
