//! Growth of one program on many hosts: what a single series cannot show, the same verdict in many places does.

use std::time::Duration;

use super::Verdict;
use super::parameters::{AGREEING_HOSTS, FALSE_CALLS, MAX_CHANCE, MIN_HOSTS, NEAR, NEAR_SHARE};

/// The verdict on a program on one host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostVerdict {
    /// The verdict.
    pub verdict: Verdict,
    /// Slope in bytes a second.
    pub slope: f64,
    /// The beginning of the growth.
    pub since: Option<Duration>,
}

/// Growth of a program on many hosts at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Leaking where that many hosts call it a leak, else growing.
    pub verdict: Verdict,
    /// Number of hosts that say so.
    pub hosts: usize,
    /// Sum of their slopes, in bytes a second.
    pub slope: f64,
    /// The beginning that most of them have in common, as a deploy makes it; `None` where they began one by one.
    pub since: Option<Duration>,
    /// The probability that so many would not say so by accident.
    pub confidence: f64,
}

/// Judges what hosts say at `now` of a program that runs on `all` of them; those that say nothing may be left out. Returns
/// `None` where too few agree: chance may explain those. Hosts where it warms up, as all do after a deploy, do not count.
pub fn agree(said: impl IntoIterator<Item = HostVerdict>, all: usize, now: Duration) -> Option<Agreement> {
    let grows = |said: &HostVerdict| said.verdict >= Verdict::Growing && said.slope >= 0.0;
    let growing: Vec<_> = said.into_iter().filter(grows).collect();
    let leaking: Vec<_> = growing
        .iter()
        .filter(|s| s.verdict == Verdict::Leaking)
        .copied()
        .collect();
    let called = |verdict, said: &[HostVerdict]| {
        let chance = chance(said.len(), all.max(said.len()));
        (said.len() >= MIN_HOSTS && chance < MAX_CHANCE).then(|| Agreement {
            verdict,
            hosts: said.len(),
            slope: said.iter().map(|said| said.slope).sum(),
            since: common_start(said, now),
            confidence: (1.0 - chance).min(0.999),
        })
    };
    called(Verdict::Leaking, &leaking).or_else(|| called(Verdict::Growing, &growing))
}

/// Returns the probability that so many of all hosts are called by accident: the upper tail of a binomial distribution.
fn chance(count: usize, all: usize) -> f64 {
    let odds = FALSE_CALLS / (1.0 - FALSE_CALLS);
    let (count, all) = (count as f64, all as f64);
    // The logarithm, as the power of many hosts is no double.
    let mut term = all * (1.0 - FALSE_CALLS).ln();
    let mut at = 0.0;
    while at < count {
        term += (odds * (all - at) / (at + 1.0)).ln();
        at += 1.0;
    }
    let mut sum = 0.0;
    while at <= all && (sum == 0.0 || term > -700.0) {
        sum += term.exp();
        term += (odds * (all - at) / (at + 1.0)).ln();
        at += 1.0;
        // Beyond the mean each term is smaller than the one before.
        if term.exp() < sum * 1e-6 {
            break;
        }
    }
    sum.min(1.0)
}

/// Returns the median of the beginnings, if most are near it.
fn common_start(said: &[HostVerdict], now: Duration) -> Option<Duration> {
    let mut starts: Vec<_> = said.iter().filter_map(|said| said.since).collect();
    starts.sort_unstable();
    let median = *starts.get(starts.len() / 2)?;
    let near = NEAR.max(now.saturating_sub(median) / NEAR_SHARE);
    let together = starts.iter().filter(|start| start.abs_diff(median) <= near).count();
    (together as f64 >= said.len() as f64 * AGREEING_HOSTS).then_some(median)
}
