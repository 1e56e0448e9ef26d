//! Judgements on the footprint, and the time until it reaches a limit.

use super::read::{growth_time, trend};
use super::{Entry, OVER_TIME};
use crate::account::headroom;
use crate::columns::{Needs, Priority, Unit, Value};
use crate::trend::{Metric, Verdict};

pub(super) const COLUMNS: &[Entry] = &[
    Entry::figure("trend", "TREND", Unit::Trend, 16, |r| trend(r, |t| Value::Trend(*t, r.change.and_then(|c| c.pss))))
        .help(
            "What the footprint does, and how fast its lowest values move: ▲ it leaks, or that is paused; △ it grows; ~ it warms \
             up: it grows but has only started or slows down; ▽ it falls. Leaks sort first. Where PSS may not be read, of RSS. \
             Filter: trend>1M/min verdict:leaking.",
        )
        .priority(Priority::High)
        .needs(OVER_TIME),
    Entry::figure("verdict", "VERDICT", Unit::Verdict, 9, |r| {
        trend(r, |t| Value::Verdict(t.verdict))
    })
    .help(
        "The verdict: leaking, growing, warming, steady or shrinking, on the lowest values of what the process holds: its \
         anonymous, shared and swapped memory; pages of files are left out of the footprint. Growth is told within two minutes; a leak is growth that outlasted a fill, a warm-up or a load, after 16 \
         minutes at the soonest. Filter: verdict:leaking, verdict>=growing.",
    )
    .needs(OVER_TIME)
    .metric("zmtop_verdict"),
    Entry::figure("slope", "SLOPE", Unit::Growth, 10, |r| {
        trend(r, |t| Value::Growth(t.slope))
    })
    .help("How fast the lowest values of the footprint move, of what is not steady or paused. Filter: slope>1M/h.")
    .needs(OVER_TIME)
    .metric("zmtop_slope_bytes_per_second"),
    Entry::figure("confidence", "SURE%", Unit::Share, 5, |r| {
        trend(r, |t| Value::Share(t.confidence))
    })
    .help(
        "How sure it is that the lowest values of the footprint rise for good: a score, not a probability. Below 90 \
         (trend.confidence) nothing is called a leak.",
    )
    .needs(OVER_TIME)
    .metric("zmtop_leak_confidence_ratio"),
    Entry::figure("since", "FOR", Unit::Seconds, 7, |r| {
        growth_time(r, |r, t| Some(r.now().saturating_sub(t.since?).as_secs_f64()))
    })
    .help("How long the footprint has been growing, at least, of what grows.")
    .needs(OVER_TIME)
    .metric("zmtop_growing_for_seconds"),
    Entry::figure("eta", "FULL IN", Unit::Seconds, 7, |r| {
        let eta = growth_time(r, |r, t| {
            let cgroup = r.limiting_cgroup();
            let is_live_set = t.metric == Metric::LiveSet;
            t.eta(match r.sample.filter(|_| r.group.is_none()) {
                Some(sample) => headroom::process_headroom(r.snapshot, sample.id, is_live_set, cgroup),
                None => headroom::headroom(r.snapshot, cgroup),
            })
        });
        match (eta, r.trend) {
            (Value::Seconds(eta), _) => Value::Forecast(eta),
            // What is known not to grow ends an alert that warned of it.
            (Value::Blank, Some(judged)) if judged.verdict != Verdict::Unknown => Value::Never,
            (eta, _) => eta,
        }
    })
    .help(
        "How long until growth at this pace reaches the nearest wall, of what grows: its cgroup's limit, that of \
         its address space (RLIMIT_AS) or of its Java heap, or the end of the machine's memory and swap. Formula: room ÷ SLOPE, room being the least of mem_available (of the system) + \
         SwapFree and limit − what its processes hold.",
    )
    .needs(OVER_TIME.and(Needs::SYSTEM).and(Needs::CGROUP_FIGURES))
    .metric("zmtop_full_in_seconds"),
];
