//! Measures what zmtop costs while it runs, beside htop with PSS columns and top, and what others feel of it.
//!
//! `cargo bench --bench live -- [NAME…] [seconds=60] [warmup=40]` makes each load in turn (all of them unless
//! some are named), runs each program on it in a terminal of 200×50, refreshing every second, and measures
//! its processor time once it has warmed up. A program that is not installed leaves its column empty, a load
//! for which there is not enough memory is passed over. SIGINT and SIGTERM end it, its processes and its cgroups.
//!
//! | name | load | what is measured |
//! | --- | --- | --- |
//! | `shared` | 100 processes share 2 GiB | CPU |
//! | `big` | 8 processes of 1 GiB | CPU |
//! | `1000` | 1 000 processes of 100 areas of 5 pages | CPU, memory, files |
//! | `10000` | 10 000 processes of 10 areas of 5 pages | CPU, memory, files |
//! | `cgroups` | 10 000 processes in 50 cgroups, 20 of one of them busy | CPU, memory, files |
//! | `services` | whatever runs on this machine | CPU |
//! | `idle` | 8 processes of 1, 4 and 16 GiB in all | CPU, which ought to be the same |
//! | `faulting` | 3 000 processes that never rest | what walks take of their budget, how right figures are, and keys |
//! | `probe` | a process of 4 GiB in small pages | how long it waits for `mmap` and `munmap` |
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[path = "support/cgroups.rs"]
mod cgroups;
#[path = "support/interrupt.rs"]
mod interrupt;
#[path = "support/kinds.rs"]
mod kinds;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/load.rs"]
mod load;
#[path = "support/pane.rs"]
mod pane;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/screen.rs"]
mod screen;
#[path = "support/shown.rs"]
mod shown;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "../integration/support/terminal.rs"]
mod terminal;
#[path = "support/typing.rs"]
mod typing;

use std::time::Duration;

use cgroups::Cgroups;
use interrupt::pause;
use kinds::Probe;
use load::Load;
use pane::{Pane, kb, slabs};
use zmtop::sampler::{Options, Policy, Scanner};

const GIB: u64 = 1 << 30;
const MIB: f64 = (1 << 20) as f64;

/// The time to measure, and the time to wait before that.
#[derive(Clone, Copy)]
struct Times {
    seconds: u64,
    warmup: u64,
}

fn main() {
    Load::be_one_if_told();
    kinds::be_one_if_told();
    let mut times = Times {
        seconds: 60,
        warmup: 40,
    };
    interrupt::listen();
    let mut names = Vec::new();
    for arg in std::env::args().skip(1).filter(|arg| arg != "--bench") {
        match arg.split_once('=') {
            Some(("seconds", n)) => times.seconds = n.parse().unwrap(),
            Some(("warmup", n)) => times.warmup = n.parse().unwrap(),
            _ => names.push(arg),
        }
    }
    let all = [
        "shared", "big", "1000", "10000", "cgroups", "services", "idle", "faulting", "probe",
    ];
    if names.is_empty() {
        names.extend(all.map(str::to_owned));
    }
    println!(
        "{} s each, after {} s of warm-up; percentages of one core",
        times.seconds, times.warmup
    );
    if names.iter().any(|n| all[..6].contains(&n.as_str())) {
        println!(
            "{:<26} {:>7} {:>7} {:>7}  {:>6} {:<8} {:>6} {:<8} {:>9}",
            "load", "zmtop %", "htop %", "top %", "÷ htop", "(goal)", "÷ top", "(goal)", "RSS + files (goal)"
        );
    }
    for name in &names {
        match name.as_str() {
            "shared" => compare("100 sharing 2 GiB", 4, [Some(0.008), None, None], times, || {
                Some(kinds::shared(100, 2048))
            }),
            "big" => compare("8 of 1 GiB", 9, [Some(0.08), None, None], times, || {
                Some(Load::start(8, 1, 262_144))
            }),
            "1000" => compare(
                "1000 of 100×5 pages",
                4,
                [Some(0.05), Some(0.3), Some(20.0)],
                times,
                || Some(Load::start(1000, 100, 5)),
            ),
            "10000" => compare(
                "10000 of 10×5 pages",
                9,
                [Some(0.04), Some(0.1), Some(40.0)],
                times,
                || Some(Load::start(10_000, 10, 5)),
            ),
            "cgroups" => compare("10000 in 50 cgroups", 9, [Some(0.06), None, Some(40.0)], times, || {
                Cgroups::start(10_000, 50, 20)
            }),
            "services" => compare("what runs here", 0, [Some(0.25), None, None], times, || Some(())),
            "idle" => idle(times),
            "faulting" => faulting(times),
            "probe" => probe(times),
            other => println!("no such measure: {other}; there are {}", all.join(", ")),
        }
    }
}

/// Returns true if so many GiB can be had; says so where not.
fn room(name: &str, gib: u64) -> bool {
    let available = kb(&std::fs::read_to_string("/proc/meminfo").unwrap(), "MemAvailable:");
    let enough = available > gib * GIB;
    if !enough {
        println!(
            "{name:<26} passed over: it needs {gib} GiB, and {:.1} are available",
            available as f64 / GIB as f64
        );
    }
    enough
}

/// A line of the table. The goals: of htop, of top, and megabytes of memory.
fn compare<T>(name: &str, gib: u64, goals: [Option<f64>; 3], times: Times, make: impl Fn() -> Option<T>) {
    if !room(name, gib) {
        return;
    }
    let Some(load) = make() else {
        println!("{name:<26} passed over: it cannot be made here");
        return;
    };
    let before = slabs();
    let mut held = Held::default();
    let zmtop = measure("zmtop", times, |pane| held = Held::of(pane, before.as_deref()));
    let mut htop_shows = true;
    let htop = measure("htop", times, |pane| htop_shows = shows_pss(&pane.text()));
    let top = measure("top", times, |_| {});
    drop(load);
    let figure = |cpu: Option<f64>| cpu.map_or("absent".to_owned(), |cpu| format!("{cpu:.2}"));
    let ratio = |other: Option<f64>, goal: Option<f64>| {
        let ratio = zmtop.zip(other).map(|(a, b)| a / b);
        let goal = goal.map(|g| format!("(≤{g}{})", if ratio.is_some_and(|r| r > g) { " !" } else { "" }));
        (
            ratio.map_or("–".to_owned(), |r| format!("{r:.3}")),
            goal.unwrap_or_default(),
        )
    };
    let (by_htop, htop_goal) = ratio(htop, goals[0]);
    let (by_top, top_goal) = ratio(top, goals[1]);
    println!(
        "{name:<26} {:>7} {:>7} {:>7}  {by_htop:>6} {htop_goal:<8} {by_top:>6} {top_goal:<8} {:>5.1}M {}",
        figure(zmtop),
        figure(htop),
        figure(top),
        held.sum() as f64 / MIB,
        goals[2].map_or(String::new(), |g| format!(
            "(≤{g}M{})",
            if held.sum() as f64 / MIB > g { " !" } else { "" }
        )),
    );
    println!("  zmtop said: {}", held.title);
    if !htop_shows {
        println!("  htop shows no PSS: its column says nothing");
    }
    if goals[2].is_some() {
        println!(
            "  RSS {:.1}M; held open: {} files, of {:.1}M in the kernel; {}",
            held.rss as f64 / MIB,
            held.files,
            (held.files as u64 * FILE) as f64 / MIB,
            held.slabs
        );
    }
}

/// Measures what the program takes of a core, and looks at it once in the end.
fn measure(program: &str, times: Times, mut look: impl FnMut(&Pane)) -> Option<f64> {
    let pane = Pane::start(program)?;
    // Only zmtop begins with more than it goes on with.
    let warmup = if program == "zmtop" {
        times.warmup
    } else {
        times.warmup.min(6)
    };
    pause(Duration::from_secs(warmup));
    let cpu = pane.cpu(Duration::from_secs(times.seconds));
    look(&pane);
    Some(cpu)
}

/// Prints what zmtop holds in the end.
#[derive(Default)]
struct Held {
    rss: u64,
    files: usize,
    slabs: String,
    title: String,
}

/// Kernel memory that an open file of `/proc` takes: the page that it is read into.
const FILE: u64 = 4 << 10;

impl Held {
    /// Returns what it takes in all, in the process and in the kernel.
    const fn sum(&self) -> u64 {
        self.rss + self.files as u64 * FILE
    }

    fn of(pane: &Pane, before: Option<&[(String, u64)]>) -> Self {
        let grown = before.zip(slabs()).map(|(before, after)| {
            let more = before
                .iter()
                .zip(after)
                .map(|((name, before), (_, after))| format!("{name} {:+.1}M", (after as f64 - *before as f64) / MIB));
            more.collect::<Vec<_>>().join(", ")
        });
        Self {
            rss: pane.rss(),
            files: pane.files(),
            title: pane.text().lines().next().unwrap_or_default().trim().to_owned(),
            slabs: grown.unwrap_or_else(|| "the kernel's caches cannot be read".to_owned()),
        }
    }
}

/// Returns true if a figure stands below the heading PSS.
fn shows_pss(text: &str) -> bool {
    let mut lines = text.lines().skip_while(|line| !line.contains(" PSS "));
    let Some(at) = lines.next().and_then(|heading| heading.find(" PSS ")) else {
        return false;
    };
    let figures = lines.filter_map(|line| line.get(at.saturating_sub(2)..at + 4));
    figures.filter(|f| f.chars().any(|c| ('1'..='9').contains(&c))).count() > 3
}

/// Measures idle processes of different sizes.
fn idle(times: Times) {
    println!("idle, 8 processes             zmtop %   ÷ the first (goal 0.9 to 1.1)");
    let mut first = None;
    for gib in [1, 4, 16] {
        let name = format!("  {gib} GiB in all");
        if !room(&name, gib + 1) {
            continue;
        }
        let _load = Load::start(8, 1, 32_768 * gib as usize);
        let cpu = measure("zmtop", times, |_| {}).unwrap();
        println!("{name:<26} {cpu:>10.3}   {:.3}", cpu / *first.get_or_insert(cpu));
    }
}

/// Processes that fault all the time: more than the budget can walk every second.
const FAULTING: usize = 3000;

/// Everything changes all the time.
fn faulting(times: Times) {
    if !room("faulting", 4) {
        return;
    }
    let _load = kinds::faulting(FAULTING);
    pause(Duration::from_secs(3));
    let all = cost_of_all();
    let pane = Pane::start("zmtop").unwrap();
    pause(Duration::from_secs(times.warmup));
    let (mut walks, mut uncertain) = (Vec::new(), Vec::new());
    let (mut budget, mut own) = (0.0, 0.0);
    for _ in 0..times.seconds {
        own += pane.cpu(Duration::from_secs(1)) / times.seconds as f64;
        let title = pane.text().lines().next().unwrap_or_default().to_owned();
        let after = |mark: &str| title.split(mark).nth(1).map(str::to_owned);
        if let Some((spent, of)) = after("(walks ").as_deref().and_then(|rest| {
            let (spent, rest) = rest.split_once(" of ")?;
            Some((spent.parse::<f64>().ok()?, rest.split('%').next()?.parse::<f64>().ok()?))
        }) {
            walks.push(spent);
            budget = of;
        }
        let before = title
            .split(" uncertain")
            .next()
            .filter(|before| before.len() < title.len());
        uncertain.extend(before.and_then(|before| before.split_whitespace().last()?.parse::<usize>().ok()));
    }
    drop(pane);
    let mean = walks.iter().sum::<f64>() / walks.len().max(1) as f64;
    println!(
        "{FAULTING} that fault all the time: walks {mean:.2} % of {budget} % ({:.2} of it, goal ≤ 0.5), zmtop {own:.2} % in \
         all; all walks once: {:.0} ms; at most {} figures said to be uncertain",
        mean / budget,
        all.as_secs_f64() * 1e3,
        uncertain.iter().max().unwrap_or(&0),
    );
    println!("  how right they are (goal: none beyond its bound for 6 s)");
    shown::compare(times.seconds, times.warmup);
    println!("                            keys      p50      p90      p99      max   ms (goal: p99 of 16)");
    typing::report("1 s, at any moment", &typing::run("1s", None, 300));
}

/// Measures a walk of every process there is, in processor time: the median of five times.
fn cost_of_all() -> Duration {
    let policy = Policy::UNLIMITED;
    let options = Options {
        policy,
        threads: 1,
        ..Options::new(None)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let mut scanner = Scanner::new(&options);
    let mut costs: Vec<Duration> = (0..5)
        .map(|_| runtime.block_on(scanner.full()).sampling.walked)
        .collect();
    costs.sort();
    costs[costs.len() / 2]
}

/// Measures what a process feels that is looked at.
fn probe(times: Times) {
    let mb = if room("probe of 4 GiB", 5) { 4096 } else { 2048 };
    if mb == 2048 && !room("probe of 2 GiB", 3) {
        return;
    }
    let mut probe = Probe::start(mb);
    let programs = ["nothing", "zmtop", "htop"];
    let mut p99 = [const { Vec::new() }; 3];
    println!("mmap and munmap in a process of {mb} MiB, µs      p50      p99    p99.9      max");
    for _ in 0..3 {
        for (program, p99) in programs.iter().zip(&mut p99) {
            let pane = (*program != "nothing").then(|| Pane::start(program));
            if matches!(pane, Some(None)) {
                continue;
            }
            pause(Duration::from_secs(5));
            let felt = probe.time(times.seconds.div_ceil(3));
            println!(
                "  beside {program:<36} {:>8.2} {:>8.2} {:>8.2} {:>8.1}",
                felt[0], felt[1], felt[2], felt[3]
            );
            p99.push(felt[1]);
        }
    }
    let medians = p99.map(|mut values| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    });
    for (program, p99) in programs.iter().zip(medians).skip(1) {
        match p99.zip(medians[0]) {
            Some((with, without)) => println!(
                "  median p99, {program} ÷ nothing: {:.3} (goal for zmtop 1.1)",
                with / without
            ),
            None => println!("  {program} absent"),
        }
    }
}
