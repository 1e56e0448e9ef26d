//! Compares the figures that the monitor shows with walks made at that moment, beside real churn.
//!
//! `cargo bench --bench bounds -- [LOAD…] [seconds=60] [warmup=20]` runs the sampler with the shipped defaults, the rows at
//! the top of the table in focus as if they were on a screen of 50 lines, beside whatever runs on the machine and the
//! loads named, all together. Each second `smaps_rollup` of every row in sight is read just before and just after the
//! tick, each fifth second that of all rows; a figure between the two, or a few pages off, is right. Prints the errors of
//! PSS + `SwapPss` in MiB, how many are within max(1 %, 1 MiB), how many figures say that they are uncertain, and how long
//! one was beyond its stated bound.
//!
//! | load | what runs |
//! | --- | --- |
//! | `short=N` | N short programs a second |
//! | `pgbench` | a database with a new connection for each transaction |
//! | `build` | two C compilers, one after another |
//! | `forks` | a server of 300 MB that forks 40 workers a second, and a process that grows 4 MB/s |
//! | `sharers` | two share a memfd of 512 MB; every 15 s one of them ends and another begins |
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[path = "support/churn.rs"]
mod churn;
#[path = "support/interrupt.rs"]
mod interrupt;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/load.rs"]
mod load;
#[path = "support/shown.rs"]
mod shown;

use std::any::Any;

fn main() {
    churn::be_one_if_told();
    interrupt::listen();
    let (mut seconds, mut warmup) = (60, 20);
    let mut loads: Vec<Box<dyn Any>> = Vec::new();
    let mut names = Vec::new();
    for arg in std::env::args().skip(1).filter(|arg| arg != "--bench") {
        let load: Box<dyn Any> = match arg.split_once('=').unwrap_or((&arg, "")) {
            ("seconds", n) => {
                seconds = n.parse().unwrap();
                continue;
            }
            ("warmup", n) => {
                warmup = n.parse().unwrap();
                continue;
            }
            ("short", n) => Box::new(churn::Repeated::short(n.parse().unwrap())),
            ("pgbench", _) => Box::new(churn::Database::start()),
            ("build", _) => Box::new(churn::Build::start()),
            ("forks", _) => Box::new([churn::kind("server 300"), churn::kind("grow 4")]),
            ("sharers", _) => Box::new(churn::Sharers::start(512)),
            _ => panic!("no such load: {arg}"),
        };
        loads.push(load);
        names.push(arg);
    }
    let beside = if names.is_empty() {
        "whatever runs".to_owned()
    } else {
        names.join(", ")
    };
    println!("beside {beside}: {seconds} s, after {warmup} s of warm-up; MiB");
    shown::compare(seconds, warmup);
    drop(loads);
}
