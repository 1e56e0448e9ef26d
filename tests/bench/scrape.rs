//! Measures scrapes of `zmtop serve`, and what it costs beside Debian's `prometheus-process-exporter`.
//!
//! `cargo bench --bench scrape -- [NAME…] [processes=10000] [groups=500] [seconds=60] [every=5] [pairs=3] [scrapes=100000]
//! [areas=10] [pages=5]` makes a load of processes of so many areas of so many pages, whose titles make groups, and measures with it:
//!
//! | name | what is measured |
//! | --- | --- |
//! | `answers` | the time of a scrape for which the answer is made anew, for so many seconds, and the size of the answer |
//! | `at-once` | a hundred scrapes at once, which should get the same snapshot |
//! | `flat` | resident memory before and after so many scrapes |
//! | `peer` | processor time of both exporters, each scraped every so many seconds as Prometheus does, one after the other in pairs; zmtop looks as often as it is scraped |
//!
//! Processor time is that of `stat`, which is of all threads, in hundredths of a second. SIGINT and SIGTERM end it and its processes.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[path = "support/exporter.rs"]
mod exporter;
#[path = "support/interrupt.rs"]
mod interrupt;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/load.rs"]
mod load;

use std::time::{Duration, Instant};

use exporter::Exporter;
use interrupt::pause;
use load::Load;

/// Time until an exporter is measured.
const WARM_UP: Duration = Duration::from_secs(40);

/// The numbers that the command line may set.
struct Numbers {
    processes: usize,
    groups: usize,
    seconds: u64,
    every: u64,
    pairs: usize,
    scrapes: usize,
    areas: usize,
    pages: usize,
}

fn main() {
    Load::be_one_if_told();
    interrupt::listen();
    let mut numbers = Numbers {
        processes: 10_000,
        groups: 500,
        seconds: 60,
        every: 5,
        pairs: 3,
        scrapes: 100_000,
        areas: 10,
        pages: 5,
    };
    let mut names = Vec::new();
    for arg in std::env::args().skip(1).filter(|arg| arg != "--bench") {
        let Some((name, value)) = arg.split_once('=') else {
            names.push(arg);
            continue;
        };
        let value: usize = value.parse().unwrap();
        match name {
            "processes" => numbers.processes = value,
            "groups" => numbers.groups = value,
            "seconds" => numbers.seconds = value as u64,
            "every" => numbers.every = value as u64,
            "pairs" => numbers.pairs = value,
            "scrapes" => numbers.scrapes = value,
            "areas" => numbers.areas = value,
            "pages" => numbers.pages = value,
            _ => panic!("there is no {name}"),
        }
    }
    println!(
        "{} processes of {} areas of {} pages in {} groups",
        numbers.processes, numbers.areas, numbers.pages, numbers.groups
    );
    let _load = Load::start_in_groups(numbers.processes, numbers.groups, numbers.areas, numbers.pages);
    let all = ["answers", "at-once", "flat", "peer"];
    for name in if names.is_empty() {
        all.map(str::to_owned).into()
    } else {
        names
    } {
        match name.as_str() {
            "answers" => answers(&numbers),
            "at-once" => at_once(),
            "flat" => flat(&numbers),
            "peer" => peer(&numbers),
            other => println!("no such measure: {other}; there are {}", all.join(", ")),
        }
    }
}

/// Returns the value at a share of them.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// Marks what misses its goal.
fn missed(is_missed: bool) -> &'static str {
    if is_missed { " !" } else { "" }
}

/// Scrapes that each come to a new snapshot, so that no answer was made for another; every second one takes gzip.
fn answers(numbers: &Numbers) {
    for (top, goal) in [(100, true), (numbers.groups, false)] {
        let zmtop = Exporter::zmtop(Duration::from_secs(1), top);
        zmtop.warm_up(WARM_UP);
        let (mut times, mut sizes, mut groups) = ([vec![], vec![]], [0, 0], 0);
        let end = Instant::now() + Duration::from_secs(numbers.seconds);
        while Instant::now() < end {
            for is_gzip in [false, true] {
                pause(Duration::from_millis(1050));
                let begun = Instant::now();
                let size = if is_gzip {
                    zmtop.scrape_compressed()
                } else {
                    let body = zmtop.scrape();
                    groups = body.lines().filter(|line| line.starts_with("zmtop_pss_bytes{")).count();
                    body.len()
                };
                times[usize::from(is_gzip)].push(begun.elapsed().as_secs_f64() * 1000.0);
                sizes[usize::from(is_gzip)] = sizes[usize::from(is_gzip)].max(size);
            }
        }
        for ((mut times, size), how) in times.into_iter().zip(sizes).zip(["plain", "gzip"]) {
            let slowest = (1..=times.len()).max_by(|a, b| times[a - 1].total_cmp(&times[b - 1]));
            times.sort_by(f64::total_cmp);
            let (median, p99, max) = (quantile(&times, 0.5), quantile(&times, 0.99), quantile(&times, 1.0));
            println!(
                "answers, --top {top}, {how}: {} scrapes, median {median:.2} ms, p99 {p99:.2} ms (goal 10{}), slowest \
                 {max:.2} ms (the {}th), largest {} kB \
                 (goal 512{}), in the end {groups} groups with PSS",
                times.len(),
                missed(goal && p99 > 10.0),
                slowest.unwrap_or_default(),
                size / 1000,
                missed(goal && size > 512_000)
            );
        }
    }
}

fn at_once() {
    let zmtop = Exporter::zmtop(Duration::from_secs(3600), 100);
    zmtop.warm_up(WARM_UP);
    let begun = Instant::now();
    let bodies: Vec<String> = std::thread::scope(|scope| {
        let scrapes: Vec<_> = (0..100).map(|_| scope.spawn(|| zmtop.scrape())).collect();
        scrapes.into_iter().map(|scrape| scrape.join().unwrap()).collect()
    });
    let took = begun.elapsed();
    // A second may have passed meanwhile, which the age alone tells.
    let without_age = |body: &String| -> Vec<String> {
        let lines = body.lines().filter(|line| !line.starts_with("zmtop_snapshot_age"));
        lines.map(str::to_owned).collect()
    };
    let first = without_age(&bodies[0]);
    let same = bodies.iter().filter(|body| without_age(body) == first).count();
    println!(
        "at-once: 100 scrapes in {:.1} ms, {same} of the same snapshot",
        took.as_secs_f64() * 1000.0
    );
}

fn flat(numbers: &Numbers) {
    let zmtop = Exporter::zmtop(Duration::from_secs(1), 100);
    zmtop.warm_up(WARM_UP);
    let scrape = |count: usize| {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..count / 4 {
                        drop(zmtop.scrape());
                    }
                });
            }
        });
        pause(Duration::from_secs(2));
        zmtop.rss() as f64 / f64::from(1 << 20)
    };
    // What a first rush leaves with the allocator.
    let before = scrape(numbers.scrapes / 10);
    let begun = Instant::now();
    let half = scrape(numbers.scrapes / 2);
    let after = scrape(numbers.scrapes / 2);
    println!(
        "flat: RSS {before:.2} MiB, after {} scrapes {half:.2}, after {} {after:.2} ({:.0} a second); descriptors {}",
        numbers.scrapes / 2,
        numbers.scrapes,
        numbers.scrapes as f64 / begun.elapsed().as_secs_f64(),
        zmtop.files()
    );
}

/// Returns the part of a core that an exporter takes while it is scraped, as a percentage.
fn cost(exporter: &Exporter, numbers: &Numbers) -> f64 {
    // The first snapshots read much that later ones need not.
    exporter.warm_up(WARM_UP.max(Duration::from_secs(5 * numbers.every)));
    let (begun, before) = (Instant::now(), exporter.cpu_time());
    for _ in 0..numbers.seconds.div_ceil(numbers.every) {
        exporter.scrape_compressed();
        pause(Duration::from_secs(numbers.every));
    }
    exporter.cpu_time().saturating_sub(before).as_secs_f64() / begun.elapsed().as_secs_f64() * 100.0
}

fn peer(numbers: &Numbers) {
    let every = Duration::from_secs(numbers.every);
    let mut ratios = Vec::new();
    for pair in 0..numbers.pairs {
        let ours = || cost(&Exporter::zmtop(every, 100), numbers);
        let theirs = || Exporter::peer().map(|peer| cost(&peer, numbers));
        // Every second pair in the opposite order.
        let (zmtop, peer) = if pair % 2 == 0 {
            (ours(), theirs())
        } else {
            let peer = theirs();
            (ours(), peer)
        };
        let Some(peer) = peer else {
            return println!("peer: zmtop {zmtop:.2} %; prometheus-process-exporter is not installed");
        };
        println!(
            "peer: zmtop {zmtop:.2} %, prometheus-process-exporter {peer:.2} %, ratio {:.4}",
            zmtop / peer
        );
        ratios.push(zmtop / peer);
    }
    ratios.sort_by(f64::total_cmp);
    if !ratios.is_empty() {
        let median = quantile(&ratios, 0.5);
        println!("peer: median ratio {median:.4} (goal 0.05{})", missed(median > 0.05));
    }
}
