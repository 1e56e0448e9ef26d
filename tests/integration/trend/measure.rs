//! The harness: series as a monitor would have seen them, taken into a history, judged at its pace, and counted.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use super::corpus::{Noise, Rng, Series, Shape};

use zmtop::history::evaluation::GrowthLog;
use zmtop::history::time_series::TimeSeries;
use zmtop::trend::{Judgement, Params, Point, Verdict, judge};

/// The result of judging a series.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Seconds from the onset to the first word of growth, if it slows down or not, and of a leak.
    pub(super) growth: Option<f64>,
    pub(super) leak: Option<f64>,
    /// Seconds that were seen.
    pub(super) seen: f64,
    /// Looks, and those that called a leak where there was none; calls of that kind, of one look or many.
    pub(super) looks: usize,
    pub(super) wrong: usize,
    pub(super) false_calls: usize,
    /// Calls that were dropped again.
    pub(super) drops: usize,
    /// Verdicts that differed from the one before, from the first word of growth to the call.
    pub(super) changes: usize,
    /// Looks that called a leak and those that were right, by confidence: below 0.95, below 0.99, above.
    pub(super) sure: [[usize; 2]; 3],
    /// Called at the end.
    pub(super) at_end: bool,
}

impl Outcome {
    /// Returns true if no call was wrong, and a leak was called if there is one.
    pub(super) const fn is_right(&self, leaks: bool) -> bool {
        self.wrong == 0 && self.leak.is_some() == leaks
    }
}

/// Watches a series, and judges it every so many seconds.
pub(super) fn watch(series: &Series, leaks: bool, every: impl Fn(f64) -> f64) -> Outcome {
    let mut out = Outcome::default();
    let mut seen = TimeSeries::default();
    let mut points: Vec<Point> = Vec::new();
    let (mut last, mut due) = (Judgement::default(), 0.0);
    let mut log = GrowthLog::default();
    for i in 0..series.values.len() {
        series.push_to(i, &mut seen);
        out.seen += series.values[i].map_or(0.0, |_| series.step as f64);
        let seconds = (i as u64 * series.step) as f64;
        if seconds < due {
            continue;
        }
        due = seconds + every(seconds);
        seen.collect_points(&mut points);
        let now = judge(
            &points,
            log.marks(),
            Some(series.started_at()),
            &Params::default(),
            &last,
        );
        if !now.verdict.is_growth() {
            log.rest(series.at(i));
        } else if let Some(Some(asked)) = series.asked.get(i) {
            log.mark(series.at(i), *asked as u64);
        }
        let is_called = now.verdict == Verdict::Leaking;
        let is_leak = leaks && i > series.onset;
        let since = seconds - (series.onset as u64 * series.step) as f64;
        out.looks += 1;
        let was_called = last.verdict == Verdict::Leaking;
        out.drops += usize::from(was_called && !is_called);
        out.false_calls += usize::from(is_called && !was_called && !is_leak);
        if out.growth.is_some() && out.leak.is_none() && !is_called {
            out.changes += usize::from(now.verdict != last.verdict);
        }
        if is_leak && now.verdict.is_growth() {
            out.growth = out.growth.or(Some(since));
        }
        if is_called {
            out.wrong += usize::from(!is_leak);
            out.leak = out.leak.or(is_leak.then_some(since));
            let class = [0.95, 0.99].iter().filter(|least| now.confidence >= **least).count();
            out.sure[class][0] += 1;
            out.sure[class][1] += usize::from(is_leak);
        }
        out.at_end = is_called;
        last = now;
    }
    out
}

/// Returns the seconds to the next look, as a history has them.
pub(super) const fn usual(seconds: f64) -> f64 {
    if seconds < 3600.0 { 10.0 } else { 30.0 }
}

/// Watches all the series of a shape.
pub(super) fn shape(number: usize, shape: &Shape, seeds: Range<u64>, noise: &Noise) -> Vec<Outcome> {
    let one = |seed| watch(&(shape.make)(&mut Rng::new(number, seed), noise), shape.leaks, usual);
    seeds.map(one).collect()
}

/// Does that for each number below `count`, on two threads; the results are in order.
pub(super) fn each<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        break;
                    }
                    let one = work(number);
                    found.lock().unwrap().push((number, one));
                }
            });
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|(number, _)| *number);
    found.into_iter().map(|(_, one)| one).collect()
}

/// Reads a fixture that is packed with zstd.
pub(crate) fn unpack(packed: &[u8]) -> String {
    String::from_utf8(zstd::decode_all(packed).unwrap()).unwrap()
}

/// Expands run-length encoded values.
pub(crate) fn expand(text: &str, unit: f64) -> Vec<Option<f64>> {
    let mut values = Vec::new();
    for word in text.split(' ') {
        let (value, count) = word.split_once('*').unwrap_or((word, "1"));
        let value = value.parse::<f64>().ok().map(|value| value * unit);
        values.extend(std::iter::repeat_n(value, count.parse().unwrap()));
    }
    values
}

/// Tells the wrong calls on what does not leak: see [`by_thousand_days`].
pub(super) fn false_calls<'a>(what: &str, found: impl IntoIterator<Item = &'a Outcome>) -> String {
    let (mut count, mut seconds) = (0, 0.0);
    for one in found {
        count += one.false_calls;
        seconds += one.seen;
    }
    by_thousand_days(what, count, seconds)
}

/// Tells how many wrong calls that is in a thousand process-days, and what it may be in truth.
pub(super) fn by_thousand_days(what: &str, count: usize, seconds: f64) -> String {
    let days = seconds / 86_400.0;
    format!(
        "{what}: {count} wrong calls in {days:.1} process-days: {:.1} in a thousand, with 95 % certainty at most {:.0}\n",
        count as f64 * 1000.0 / days,
        poisson_bound(count) * 1000.0 / days
    )
}

/// Returns the mean of a Poisson distribution that gives so few events, or fewer, once in twenty times.
fn poisson_bound(count: usize) -> f64 {
    let at_most = |mean: f64| {
        let terms = (0..=count).scan(1.0, |term, k| {
            *term *= if k == 0 { (-mean).exp() } else { mean / k as f64 };
            Some(*term)
        });
        terms.sum::<f64>()
    };
    let (mut low, mut high) = (0.0, 10.0 + 3.0 * count as f64);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if at_most(middle) > 0.05 {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Returns the value below which that share of the sorted ones lies, in minutes; NaN where there is none.
pub(super) fn minutes(sorted: &[f64], share: f64) -> f64 {
    let at = (sorted.len().saturating_sub(1) as f64 * share) as usize;
    sorted.get(at).map_or(f64::NAN, |seconds| seconds / 60.0)
}
