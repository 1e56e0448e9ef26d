//! Growth of one program on many hosts: the same verdict in many places shows what a single series cannot.

use std::time::Duration;

use super::parameters::{AGREEING_HOSTS, FALSE_CALLS, MAX_CHANCE, MIN_HOSTS, NEAR, NEAR_SHARE};
use super::{Judgement, Verdict};

/// Combines the judgements at `now` of hosts on a program that runs on `all` hosts; hosts without a verdict may be left out.
/// Returns the number of hosts that agree, and their judgement; `None` if chance may explain that number.
///
/// It is leaking if enough hosts call it a leak, else growing. Its slope is the sum of theirs. Its start is the one that most
/// have in common, as after a deployment; `None` if they started one by one. Its confidence is the probability that so many
/// false calls do not happen by chance. Warming hosts do not count, as all warm up after a deployment.
pub fn agree(hosts: Vec<Judgement>, all: usize, now: Duration) -> Option<(usize, Judgement)> {
    let grows = |host: &Judgement| host.verdict >= Verdict::Growing && host.slope >= 0.0;
    let growing: Vec<_> = hosts.into_iter().filter(grows).collect();
    let is_leak = |host: &&Judgement| host.verdict == Verdict::Leaking;
    let leaking: Vec<_> = growing.iter().filter(is_leak).copied().collect();
    let called = |verdict, hosts: &[Judgement]| {
        let count = hosts.len();
        let chance = chance(count, all.max(count));
        let judgement = || Judgement {
            verdict,
            slope: hosts.iter().map(|host| host.slope).sum(),
            since: common_start(hosts, now),
            confidence: (1.0 - chance).min(0.999),
            ..Judgement::NONE
        };
        (count >= MIN_HOSTS && chance < MAX_CHANCE).then(|| (count, judgement()))
    };
    called(Verdict::Leaking, &leaking).or_else(|| called(Verdict::Growing, &growing))
}

/// Returns the probability that at least `count` of all hosts are called by chance: the upper tail of a binomial
/// distribution.
fn chance(count: usize, all: usize) -> f64 {
    let odds = FALSE_CALLS / (1.0 - FALSE_CALLS);
    let (count, all) = (count as f64, all as f64);
    // Use logarithms, as the power for many hosts underflows.
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
        // Beyond the mean the terms decrease.
        if term.exp() < sum * 1e-6 {
            break;
        }
    }
    sum.min(1.0)
}

/// Returns the median start, if most are near it.
fn common_start(hosts: &[Judgement], now: Duration) -> Option<Duration> {
    let mut starts: Vec<_> = hosts.iter().filter_map(|host| host.since).collect();
    starts.sort_unstable();
    let median = *starts.get(starts.len() / 2)?;
    let near = NEAR.max(now.saturating_sub(median) / NEAR_SHARE);
    let together = starts.iter().filter(|start| start.abs_diff(median) <= near).count();
    (together as f64 >= hosts.len() as f64 * AGREEING_HOSTS).then_some(median)
}
