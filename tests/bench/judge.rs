//! Times a judgement: each kind of series is taken in for so long, and judged many times.
//!
//! `cargo bench --bench judge`
#![expect(clippy::print_stdout, reason = "a bench reports")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use zmtop::history::evaluation::{EVALUATION_OVERHEAD, MAX_URGENCY, POINTS_PER_SECOND};
use zmtop::history::time_series::{Retention, TimeSeries};
use zmtop::trend::{Judgement, Params, Point, judge};

/// Calls in a batch, and how many batches.
const BATCH: u32 = 500;
const BATCHES: u32 = 40;

/// Returns what a series uses after so many seconds.
type Kind = fn(u64) -> u64;

const KINDS: [(&str, Kind); 5] = [
    ("idle", |_| 80_000_000),
    ("steady, 1 % noise", |s| 100_000_000 + noise(s) % 1_000_000),
    ("teeth, 30 %", |s| 100_000_000 + s % 37 * 1_000_000 + noise(s) % 300_000),
    ("leak", |s| 100_000_000 + s * 10_000 + noise(s) % 1_000_000),
    ("wander, 10 %", |s| {
        100_000_000 + (s / 300 % 7 * 3 % 7) * 2_000_000 + noise(s) % 1_000_000
    }),
];

fn noise(s: u64) -> u64 {
    s.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24
}

fn main() {
    println!("                          seen  points  bytes   push ns  points µs  judge µs");
    let mut dearest = 0.0_f64;
    for (name, kind) in KINDS {
        for (seen, seconds) in [("5 min", 300), ("1 h", 3600), ("1 day", 86_400)] {
            let mut levels = TimeSeries::default();
            let begin = Instant::now();
            for s in 0..seconds {
                levels.push(Duration::from_secs(s), Some(kind(s)), Retention::default());
            }
            let push = begin.elapsed().as_nanos() / u128::from(seconds);
            let mut points: Vec<Point> = Vec::new();
            let gather = time(|| levels.collect_points(black_box(&mut points)));
            let params = Params::default();
            let mut last = Judgement::default();
            let judged = time(|| last = judge(black_box(&points), &[], Some(Duration::ZERO), &params, &last));
            black_box(last);
            dearest = dearest.max((gather + judged) / (points.len() + EVALUATION_OVERHEAD) as f64);
            println!(
                "{name:>20} {seen:>9} {:>7} {:>6} {push:>9} {gather:>10.2} {judged:>9.2}",
                points.len(),
                levels.bytes()
            );
        }
    }
    // As many as are judged in one second at the most, were all of them of the dearest kind.
    let budget = dearest * POINTS_PER_SECOND as f64 / 1000.0;
    println!(
        "judging takes {budget:.2} ms a second at the most, {:.2} ms where rows wait for long",
        budget * f64::from(MAX_URGENCY)
    );
}

/// Microseconds a call, in the quietest of the batches.
fn time(mut call: impl FnMut()) -> f64 {
    let batch = |_| {
        let begin = Instant::now();
        for _ in 0..BATCH {
            call();
        }
        begin.elapsed().as_secs_f64() / f64::from(BATCH) * 1e6
    };
    (0..BATCHES).map(batch).fold(f64::MAX, f64::min)
}
