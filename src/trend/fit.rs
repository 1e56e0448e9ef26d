//! What a row of floors looks like: its line, its bend, its noise.

use crate::trend::floors::{Row, SPANS};

/// The fewest floors that a line is drawn through.
const FEWEST: usize = 8;

/// The fewest that are judged: a horizon of which less is known says nothing for itself.
const ENOUGH: usize = 12;

/// The least noise taken for a floor, in bytes: a page or two come and go unseen.
const QUANTUM: f64 = 16.0 * 1024.0;

/// Of the jumps between floors, how many of the largest are left out to see whether the rest grew too.
const JUMPS: usize = 4;

/// A line and a bend through the floors of one horizon.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    /// How many spans it is over.
    pub(super) spans: usize,
    /// The first floor, bytes.
    pub(super) first: f64,
    /// The lowest floor, bytes.
    pub(super) lowest: f64,
    /// The last floor, bytes.
    pub(super) last: f64,
    /// Growth over the whole, bytes, by the robust slope.
    pub(super) growth: f64,
    /// Bytes a span: the median over pairs half the row apart (Theil's incomplete method).
    pub(super) slope: f64,
    /// How many times its own error the line's slope is, after the noise's autocorrelation.
    pub(super) sure: f64,
    /// The same for the bend: negative where the growth slows down.
    pub(super) bend: f64,
    /// The second half's slope as a share of the first half's.
    pub(super) lasting: f64,
    /// The share of the growth that is left without its largest jumps.
    pub(super) spread: f64,
    /// Growth over the last quarter, bytes.
    pub(super) lately: f64,
}

/// A row of floors made ready: smoothed, and with lines over its gaps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    filled: Row,
    /// The same with its gaps.
    gappy: Row,
    /// Where it begins to be known.
    start: usize,
    /// How many floors are known.
    known: usize,
}

impl Ready {
    /// A row made ready; `None` where too little of it is known to draw a line through.
    pub(super) fn of(row: &Row) -> Option<Self> {
        let start = row.iter().position(|floor| !floor.is_nan())?;
        let gappy = smooth(row);
        let mut filled = gappy;
        let known = fill(&mut filled[start..])?;
        (known >= FEWEST).then_some(Self {
            filled,
            gappy,
            start,
            known,
        })
    }

    /// Whether enough is known to judge by it.
    pub(super) const fn is_enough(&self) -> bool {
        self.known >= ENOUGH
    }

    /// The lowest and the highest floor, bytes.
    pub(super) fn range(&self) -> (f64, f64) {
        let floors = &self.filled[self.start..];
        (lowest(floors), floors.iter().copied().fold(f64::MIN, f64::max))
    }

    /// The growth over the whole as [`Fit::growth`] has it, bytes.
    pub(super) fn growth(&self) -> f64 {
        let floors = &self.filled[self.start..];
        theil(floors) * (floors.len() as f64 - 1.0)
    }

    /// The fit of all of it.
    pub(super) fn whole(&self) -> Fit {
        Fit::through(&self.filled[self.start..], spread(&self.gappy[self.start..]))
    }

    /// The fit without the oldest quarter of what is known.
    pub(super) fn recent(&self) -> Fit {
        let from = self.start + (SPANS - self.start) / 4;
        Fit::through(&self.filled[from..], spread(&self.gappy[from..]))
    }
}

impl Fit {
    fn through(floors: &[f64], spread: f64) -> Self {
        let count = floors.len() as f64;
        let mean = floors.iter().sum::<f64>() / count;
        let centre = (count - 1.0) / 2.0;
        let level = (count * count - 1.0) / 12.0;
        let along = |i: usize| i as f64 - centre;
        // Sums of squares of the line and of the bow, which is orthogonal to it.
        let line = count * level;
        let bow = line * (count * count - 4.0) / 15.0;
        let (mut rise, mut curve) = (0.0, 0.0);
        for (i, floor) in floors.iter().enumerate() {
            let at = along(i);
            rise += at * (floor - mean);
            curve += at.mul_add(at, -level) * (floor - mean);
        }
        rise /= line;
        curve /= bow;

        let (mut squares, mut products, mut before) = (0.0, 0.0, 0.0);
        for (i, floor) in floors.iter().enumerate() {
            let at = along(i);
            let rest = (floor - mean) - rise * at - curve * at.mul_add(at, -level);
            squares += rest * rest;
            products += rest * before;
            before = rest;
        }
        let noise = (squares / (count - 3.0)).sqrt().max(QUANTUM);
        // Residuals of so few values show less autocorrelation than there is.
        let memory = if squares > 0.0 { products / squares + 0.2 } else { 0.0 };
        let memory = memory.clamp(0.0, 0.9);
        let worth = ((1.0 - memory) / (1.0 + memory)).sqrt();

        let slope = theil(floors);
        let half = curve * count / 2.0;
        let (early, late) = (rise - half, rise + half);
        let newest = floors.len() - 1;
        let last = floors[newest];
        Self {
            spans: floors.len(),
            first: floors[0],
            lowest: lowest(floors),
            last,
            growth: slope * (count - 1.0),
            slope,
            sure: rise * line.sqrt() / noise * worth,
            bend: curve * bow.sqrt() / noise * worth,
            lasting: if early > 0.0 { late / early } else { f64::INFINITY },
            spread,
            lately: last - floors[newest - floors.len() / 4],
        }
    }
}

/// Without what stands alone: a floor that is above or below both its neighbours takes the nearer one's height
/// (the running median of three, the ends by Tukey's rule).
fn smooth(row: &Row) -> Row {
    let mut out = *row;
    for i in 1..SPANS - 1 {
        out[i] = median(row[i - 1], row[i], row[i + 1]);
    }
    let end = |outer: f64, next: f64, third: f64| median(next, outer, 3.0f64.mul_add(next, -2.0 * third));
    out[0] = end(row[0], out[1], out[2]);
    out[SPANS - 1] = end(row[SPANS - 1], out[SPANS - 2], out[SPANS - 3]);
    out
}

/// The middle one of three; `b` where another is not known.
fn median(a: f64, b: f64, c: f64) -> f64 {
    if a.is_nan() || c.is_nan() {
        b
    } else {
        a.max(b).min(a.min(b).max(c))
    }
}

/// Draws lines over gaps; how many were known, or `None` where the last is not.
fn fill(x: &mut [f64]) -> Option<usize> {
    if x.last()?.is_nan() {
        return None;
    }
    if !x.iter().any(|floor| floor.is_nan()) {
        return Some(x.len());
    }
    let mut known = 0;
    let mut before = 0;
    for i in 0..x.len() {
        if x[i].is_nan() {
            continue;
        }
        known += 1;
        for gap in before + 1..i {
            let share = (gap - before) as f64 / (i - before) as f64;
            x[gap] = (x[i] - x[before]).mul_add(share, x[before]);
        }
        before = i;
    }
    Some(known)
}

fn lowest(floors: &[f64]) -> f64 {
    floors.iter().copied().fold(f64::MAX, f64::min)
}

/// The median slope over all pairs that lie half the row apart.
fn theil(x: &[f64]) -> f64 {
    let apart = x.len() / 2;
    let mut slopes = [0.0; SPANS / 2 + 1];
    let pairs = x.len() - apart;
    for (slope, (a, b)) in slopes.iter_mut().zip(x.iter().zip(&x[apart..])) {
        *slope = b - a;
    }
    let slopes = &mut slopes[..pairs];
    // By insertion: they are eight at most.
    for sorted in 1..pairs {
        let mut at = sorted;
        while at > 0 && slopes[at - 1] > slopes[at] {
            slopes.swap(at - 1, at);
            at -= 1;
        }
    }
    let middle = f64::midpoint(slopes[(pairs - 1) / 2], slopes[pairs / 2]);
    middle / apart as f64
}

/// The share of the rise that is left without the largest jumps; 0 where it did not rise. What happened in a
/// gap was one jump.
fn spread(x: &[f64]) -> f64 {
    let mut largest = [0.0_f64; JUMPS];
    let (mut total, mut before) = (0.0, f64::NAN);
    for floor in x.iter().copied().filter(|floor| !floor.is_nan()) {
        let mut jump = floor - before;
        before = floor;
        if jump.is_nan() {
            continue;
        }
        total += jump;
        for kept in &mut largest {
            if jump > *kept {
                std::mem::swap(kept, &mut jump);
            }
        }
    }
    if total > 0.0 {
        (1.0 - largest.iter().sum::<f64>() / total).max(0.0)
    } else {
        0.0
    }
}
