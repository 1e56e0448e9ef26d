//! The families of groups: the columns that have a metric name, the verdicts, and counters of page faults.

use super::choice::Chosen;
use super::families::{Family, Labels, unlabelled};
use super::faults::FaultCounters;
use crate::columns::{COLUMNS, Row};
use crate::group::{Group, Totals};
use crate::history::History;
use crate::model::Snapshot;
use crate::trend::{Judgement, Verdict};

/// A figure of the verdict on a group.
type JudgedFigure = (&'static str, &'static str, fn(&Judgement) -> bool);

/// The verdicts, as rules ask for them.
const JUDGED: [JudgedFigure; 2] = [
    (
        "zmtop_growing",
        "1 where the group's memory grows or leaks, else 0; absent while that is not known.",
        |judged| judged.verdict.is_growth(),
    ),
    (
        "zmtop_leaking",
        "1 where the group's memory grows beyond what a fill, a warm-up or a load explains, else 0; absent while that is not \
         known.",
        |judged| judged.verdict == Verdict::Leaking,
    ),
];

/// Makes the families of the groups that are shown, and of the others together.
pub(super) fn families(
    groups: &[Group],
    chosen: &Chosen,
    faults: &FaultCounters,
    history: &History,
    snapshot: &Snapshot,
) -> Vec<Family> {
    let others = sum_of(groups, &chosen.others);
    let mut rows: Vec<(&Labels, Row<'_>)> = chosen
        .shown
        .iter()
        .map(|(at, labels)| {
            let group = &groups[*at];
            (
                labels,
                Row::of_group(group, history.of_group(group, snapshot), snapshot),
            )
        })
        .collect();
    if !chosen.others.is_empty() {
        // Whether all others together grow says little, and is not judged.
        rows.push((&chosen.others_labels, Row::of_totals(&others, snapshot)));
    }
    let mut families: Vec<Family> = COLUMNS
        .iter()
        .filter_map(|column| {
            let mut family = Family::gauge(column.metric?, column.help);
            for (labels, row) in &rows {
                family.push(labels, (column.value)(row).number());
            }
            Some(family)
        })
        .collect();
    for (metric, help, is_true) in JUDGED {
        let mut family = Family::gauge(metric, help);
        for (labels, row) in &rows {
            let judged = row.trend.filter(|judged| judged.verdict != Verdict::Unknown);
            family.push(labels, judged.map(|judged| f64::from(u8::from(is_true(judged)))));
        }
        families.push(family);
    }
    let mut minor = Family::counter(
        "zmtop_minor_faults",
        "Page faults that needed no disk, since zmtop first saw the group. Field 10 of stat, summed while processes come and go.",
    );
    let mut major = Family::counter(
        "zmtop_major_faults",
        "Page faults that waited for a disk, since zmtop first saw the group. Field 12 of stat, summed while processes come \
         and go.",
    );
    for (at, labels) in &chosen.shown {
        let sum = faults.of(&groups[*at].key);
        minor.push(labels, Some(sum.minor as f64));
        major.push(labels, Some(sum.major as f64));
    }
    families.extend([minor, major]);
    families
}

/// Makes the families that tell how many groups there are, and how many series.
pub(super) fn counts(groups: usize, shown: usize, series: usize) -> Vec<Family> {
    let one = |metric, help: &str, value: usize| Family::gauge(metric, help).with(&unlabelled(), Some(value as f64));
    let mut counts = vec![
        one("zmtop_groups", "Groups of processes that there are.", groups),
        one(
            "zmtop_groups_shown",
            "Groups that have series of their own; the others are summed as (others).",
            shown,
        ),
    ];
    let own = counts.len() + 1;
    counts.push(one("zmtop_series", "Series in this answer.", series + own));
    counts
}

/// Sums groups: their processes share no address space with those of another.
fn sum_of(groups: &[Group], places: &[usize]) -> Totals {
    let mut sum = Totals::default();
    for at in places {
        sum.add(&groups[*at].totals);
    }
    sum
}
