//! The confusion table over the corpus.
//!
//! A series that leaks is found if it is called leaking at any judgement after the leak began; one that does
//! not is a false alarm if it is called so at any judgement at all.

use std::fmt::Write as _;
use std::io::Write as _;
use std::thread;

use zmtop::trend::{Judgement, Verdict};

use super::corpus::{Noise, Rng, SHAPES, Series, chance, held_out, seeds};
use super::measure::by_thousand_days;
use super::{Watch, moments, say};

/// The verdicts on the series of one shape.
#[derive(Clone, Debug, Default)]
struct Count {
    /// Called leaking at some time (of a leak: after it began).
    ever: u64,
    /// Called leaking at the end.
    end: u64,
    /// Called leaking before the leak began.
    early: u64,
    /// Seconds that were seen.
    seconds: f64,
    /// Seconds from the leak's beginning to the first call.
    delays: Vec<f64>,
    /// The seeds of leaks that were never called, or of others that were.
    wrong: Vec<u64>,
    /// Judgements, by verdict.
    said: [usize; Verdict::ALL.len()],
}

#[test]
fn leaks_are_distinguished_from_what_only_looks_like_one() {
    let counts = count();
    let _ = std::io::stdout().write_all(table(&counts).as_bytes());

    let rows = || SHAPES.iter().zip(&counts);
    for (shape, count) in rows() {
        let wrong = &count.wrong;
        let share = wrong.len() as f64 / seeds().len() as f64;
        assert!(
            share <= 0.1 + chance(0.1, seeds().len() as u64),
            "{}: wrong of seeds {wrong:?}",
            shape.name
        );
    }
    for out in [None, Some(false), Some(true)] {
        let (precision, recall, calls) = rates(&counts, out);
        let least = 0.95 - chance(0.95, calls);
        assert!(precision >= least, "precision {precision}, {out:?}");
        assert!(recall >= least, "recall {recall}, {out:?}");
    }
    let plain = ["steady", "teeth", "warmup", "step"];
    let alarms: u64 = rows()
        .filter(|(s, _)| plain.contains(&s.name))
        .map(|(_, c)| c.ever)
        .sum();
    let harmless = || rows().filter(|(shape, _)| !shape.leaks).map(|(_, count)| count);
    let calls: u64 = harmless().map(|count| count.ever).sum();
    let seconds = harmless().map(|count| count.seconds).sum();
    let told = by_thousand_days("shapes that do not leak", calls as usize, seconds);
    let _ = std::io::stdout().write_all(told.as_bytes());
    let looks = (plain.len() * seeds().len()) as u64;
    let share = alarms as f64 / looks as f64;
    assert!(share <= 0.01 + chance(0.01, looks), "{alarms} false alarms");
}

#[test]
fn no_recorded_program_leaks() {
    for (name, values) in Noise::recorded().recordings {
        let mut values = values.into_iter();
        let series = Series::of(values.len() as u64, 1, |_| values.next().unwrap_or_default()).aged(0);
        let mut watch = Watch::new(&series);
        for until in moments(&series) {
            let judgement = watch.judge(until);
            assert_ne!(
                judgement.verdict,
                Verdict::Leaking,
                "{name} after {until} s: {judgement:?}"
            );
        }
    }
}

/// Every shape, on two threads.
fn count() -> Vec<Count> {
    let noise = Noise::recorded();
    let mut counts = vec![Count::default(); SHAPES.len()];
    thread::scope(|scope| {
        let halves: Vec<_> = (0..2)
            .map(|half| {
                let noise = &noise;
                scope.spawn(move || {
                    let numbers = (0..SHAPES.len()).filter(|number| number % 2 == half);
                    numbers.map(|number| (number, one(number, noise))).collect::<Vec<_>>()
                })
            })
            .collect();
        for half in halves {
            for (number, found) in half.join().unwrap() {
                counts[number] = found;
            }
        }
    });
    counts
}

/// All the series of one shape.
fn one(number: usize, noise: &Noise) -> Count {
    let mut count = Count::default();
    for seed in seeds() {
        let series = (SHAPES[number].make)(&mut Rng::new(number, seed), noise);
        let mut watch = Watch::new(&series);
        let (mut called, mut early, mut last) = (None, false, Judgement::default());
        for until in moments(&series) {
            last = watch.judge(until);
            count.said[Verdict::ALL.iter().position(|v| *v == last.verdict).unwrap()] += 1;
            if last.verdict == Verdict::Leaking {
                early |= until <= series.onset;
                if until > series.onset {
                    called = called.or(Some(until - series.onset));
                }
            }
        }
        count.early += u64::from(early);
        count.seconds += (series.values.iter().flatten().count() as u64 * series.step) as f64;
        count.ever += u64::from(called.is_some());
        if called.is_some() != SHAPES[number].leaks {
            count.wrong.push(seed);
        }
        count.end += u64::from(last.verdict == Verdict::Leaking);
        count
            .delays
            .extend(called.map(|values| values as f64 * series.step as f64));
    }
    count.delays.sort_unstable_by(f64::total_cmp);
    count
}

/// Precision and recall over all shapes, or over those that were held out or not; and the number of calls.
fn rates(counts: &[Count], out: Option<bool>) -> (f64, f64, u64) {
    let (mut called, mut missed, mut alarms) = (0, 0, 0);
    for (number, (shape, count)) in SHAPES.iter().zip(counts).enumerate() {
        if out.is_some_and(|out| out != held_out(number)) {
            continue;
        }
        if shape.leaks {
            called += count.ever;
            missed += seeds().len() as u64 - count.ever;
            alarms += count.early;
        } else {
            alarms += count.ever;
        }
    }
    let share = |a: u64, b: u64| a as f64 / (a + b) as f64;
    (share(called, alarms), share(called, missed), called + alarms)
}

fn table(counts: &[Count]) -> String {
    let mut out = format!(
        "verdicts on {} series a shape (* held out): called leaking ever, at the end, too early; how soon \
         (half, nine of ten, all); judgements by verdict\n",
        seeds().len()
    );
    for (number, (shape, count)) in SHAPES.iter().zip(counts).enumerate() {
        let delay = |share: f64| {
            let last = count.delays.len().checked_sub(1)?;
            Some(say(count.delays[(last as f64 * share) as usize]))
        };
        let soon = match (delay(0.5), delay(0.9), delay(1.0)) {
            (Some(half), Some(most), Some(all)) if shape.leaks => format!("{half}, {most}, {all}"),
            _ => String::new(),
        };
        let _ = write!(
            out,
            "{:>18}{} {:>3} {:>3} {:>3}  {soon:<24}",
            shape.name,
            if held_out(number) { '*' } else { ' ' },
            count.ever,
            count.end,
            count.early
        );
        for (verdict, said) in Verdict::ALL.iter().zip(count.said) {
            let _ = write!(out, " {} {said}", verdict.id());
        }
        let _ = writeln!(out, "  wrong: {:?}", count.wrong);
    }
    for (what, held) in [("tuned", Some(false)), ("held out", Some(true)), ("all", None)] {
        let (precision, recall, _) = rates(counts, held);
        let _ = writeln!(out, "{what}: precision {precision:.3}, recall {recall:.3}");
    }
    out
}
