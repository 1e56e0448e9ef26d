//! Delays until a leak of known pace is said to grow, and is called a leak, in a process of 200 MB with the noise of each recorded program.

use std::io::Write as _;

use zmtop::trend::Verdict;

use super::corpus::{Noise, Rng, Series};
use super::{EVERY, Watch, say};

const BASE: f64 = 200e6;

/// Seeds of each program's noise.
const SEEDS: u64 = 12;

/// The result with one program's noise.
struct Found {
    name: String,
    /// The noise's deviation, as a share of the footprint.
    noise: f64,
    /// The delays, the longest last; what was not called within 40 min counts as a day.
    delays: Vec<f64>,
}

/// A leak of so many bytes a minute that begins after so many quiet seconds, in a process of that age.
fn measure(least: Verdict, per_minute: f64, quiet: u64, age: u64) -> Vec<Found> {
    let noise = Noise::recorded();
    let one = |which: usize| {
        let mut rng = Rng::new(800 + which, 0);
        let sample = noise.of_program(&mut rng, which, 2000, BASE);
        let mean = sample.iter().sum::<f64>() / sample.len() as f64;
        let spread = sample.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / sample.len() as f64;
        let mut delays: Vec<f64> = (0..SEEDS)
            .map(|seed| delay(&noise, which, seed, least, per_minute, quiet, age))
            .collect();
        delays.sort_unstable_by(f64::total_cmp);
        Found {
            name: noise.recordings[which].0.clone(),
            noise: spread.sqrt(),
            delays,
        }
    };
    (0..noise.recordings.len()).map(one).collect()
}

fn delay(noise: &Noise, which: usize, seed: u64, least: Verdict, per_minute: f64, quiet: u64, age: u64) -> f64 {
    let mut rng = Rng::new(900 + which, seed);
    let pace = per_minute / 60.0;
    let series = Series::of(quiet + 2400, 1, |t| pace.mul_add((t - quiet as f64).max(0.0), BASE)).aged(age);
    let drawn = noise.of_program(&mut rng, which, series.values.len(), BASE);
    let series = series.with(&drawn);
    let mut watch = Watch::new(&series);
    // Judgements come at any time after the leak begins.
    let first = (rng.unit() * EVERY as f64) as usize + 1;
    for until in (first..=series.values.len()).step_by(EVERY as usize) {
        let verdict = watch.judge(until).verdict;
        assert!(
            verdict != Verdict::Leaking || until as u64 > quiet,
            "called after {until} s, and it began after {quiet}"
        );
        if verdict >= least && until as u64 > quiet {
            return (until as u64 - quiet) as f64;
        }
    }
    86_400.0
}

/// Prints what was found. The share that was called in time, of those whose noise is up to 1 % of the
/// footprint, and of all.
fn report(what: &str, within: f64, found: &[Found]) -> (f64, f64) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{what}: noise, called after (half, all), within {}", say(within));
    let timely = |found: &Found| found.delays.iter().filter(|delay| **delay <= within).count();
    for one in found {
        let (half, last) = (one.delays[one.delays.len() / 2], one.delays[one.delays.len() - 1]);
        let _ = writeln!(
            out,
            "  {:>15} {:.2} % {:>8} {:>8}  {} of {SEEDS}",
            one.name,
            one.noise * 100.0,
            say(half),
            say(last),
            timely(one)
        );
    }
    let share = |of: &dyn Fn(&&Found) -> bool| {
        let chosen: Vec<&Found> = found.iter().filter(of).collect();
        chosen.iter().map(|one| timely(one)).sum::<usize>() as f64 / (chosen.len() as u64 * SEEDS) as f64
    };
    let (quiet, all) = (share(&|one| one.noise <= 0.01), share(&|_| true));
    let _ = writeln!(
        out,
        "  in time: {quiet:.3} where the noise is up to 1 %, {all:.3} of all"
    );
    (quiet, all)
}

#[test]
fn ten_megabytes_a_minute_are_growth_within_two() {
    let grows = |quiet, age| measure(Verdict::Warming, 10e6, quiet, age);
    let watched = report("10 MB/min in 200 MB grow, watched before", 120.0, &grows(600, 86_400));
    let fresh = report("10 MB/min in 200 MB grow, just started", 120.0, &grows(0, 0));
    let met = report("10 MB/min in 200 MB grow, met while it leaks", 120.0, &grows(0, 86_400));
    for (quiet, all) in [watched, fresh, met] {
        assert!(quiet >= 0.9 && all >= 0.8, "{quiet} {all}");
    }
}

#[test]
fn three_megabytes_a_minute_are_a_leak_within_twenty() {
    let leaks = |quiet, age| measure(Verdict::Leaking, 3e6, quiet, age);
    let watched = report("3 MB/min in 200 MB leak, watched before", 1200.0, &leaks(600, 86_400));
    let fresh = report("3 MB/min in 200 MB leak, just started", 1200.0, &leaks(0, 0));
    for (quiet, all) in [watched, fresh] {
        assert!(quiet >= 0.9 && all >= 0.7, "{quiet} {all}");
    }
}
