//! Chooses the groups that have series of their own, so that their number is bounded.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;

use super::families::Labels;
use crate::group::{Group, GroupKey};
use crate::history::History;
use crate::model::{Memory, Snapshot};
use crate::order;
use crate::text::safe_prefix;

/// The label of what is summed of all other groups.
const OTHERS: &str = "(others)";
/// Maximum length of a label's value in terminal columns.
const LONGEST: usize = 128;

/// The groups that have series of their own.
#[derive(Debug)]
pub(super) struct GroupChoice {
    top: usize,
    shown: HashSet<GroupKey>,
}

/// The groups of a snapshot that are shown.
pub(super) struct Chosen {
    /// Their places among all groups, with their labels; no two labels are alike.
    pub(super) shown: Vec<(usize, Labels)>,
    /// The places of the others.
    pub(super) others: Vec<usize>,
    /// The label of the others together.
    pub(super) others_labels: Labels,
}

impl GroupChoice {
    pub(super) fn new(top: usize) -> Self {
        Self {
            top,
            shown: HashSet::new(),
        }
    }

    /// Chooses: first what grows or leaks, then what has the largest footprint. A group that was shown before stays until
    /// it is a fifth smaller than one that was not, so that series at the edge do not come and go.
    pub(super) fn choose(&mut self, groups: &[Group], history: &History, snapshot: &Snapshot) -> Chosen {
        let worth = |group: &Group| {
            let grows = history
                .of_group(group, snapshot)
                .is_some_and(|row| row.trend().verdict.is_growth());
            let memory = group.totals.memory.as_ref();
            let footprint = memory.map_or(group.totals.counted_rss, |m| Memory::footprint(m).unwrap_or(m.pss));
            let bonus = if self.shown.contains(&group.key) {
                footprint / 4
            } else {
                0
            };
            (grows, footprint.saturating_add(bonus))
        };
        let mut order: Vec<_> = (0..groups.len()).map(|at| (Reverse(worth(&groups[at])), at)).collect();
        order::sort_by(&mut order, |a, b| (a.0, &groups[a.1].key).cmp(&(b.0, &groups[b.1].key)));
        let mut taken = HashSet::from([OTHERS.into()]);
        let (mut shown, mut others) = (Vec::new(), Vec::new());
        for (_, at) in order {
            let group = &groups[at];
            let name: Box<str> = safe_prefix(group.key.label(), LONGEST).into();
            // Two names that look alike would be one series.
            if shown.len() < self.top && taken.insert(name.clone()) {
                shown.push((at, labels(group, name)));
            } else {
                others.push(at);
            }
        }
        self.shown = shown.iter().map(|(at, _)| groups[*at].key.clone()).collect();
        let others_labels = groups
            .first()
            .map_or_else(|| Arc::new([]) as Labels, |g| labels(g, OTHERS.into()));
        Chosen {
            shown,
            others,
            others_labels,
        }
    }
}

fn labels(group: &Group, name: Box<str>) -> Labels {
    Arc::new([("by", group.key.by.id().into()), ("group", name)])
}
