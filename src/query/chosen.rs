//! Processes that the words of a filter choose, over many snapshots.
//!
//! A table asks its filter at each snapshot. A history must be of the same processes all along: it asks [`choose`] what
//! to take in, and [`Chosen`] tells in the end which rows pass.

use std::collections::HashSet;

use super::RowSource;
use crate::columns::Row;
use crate::filter::{Filter, TextField};
use crate::group::{Group, GroupBy, GroupKey, groups};
use crate::history::{History, RowHistory};
use crate::model::{Missing, ProcessSample, Reading, Snapshot};

/// Returns true if the words of a filter choose a process; `None` while a fact that they look at is yet to be read.
/// Figures exclude no process: they are asked in the end.
pub fn choose(filter: &Filter, sample: &ProcessSample, snapshot: &Snapshot) -> Option<bool> {
    if !filter.uses_text() {
        return Some(true);
    }
    if filter.text_fields().into_iter().any(|field| is_pending(sample, field)) {
        return None;
    }
    Some(filter.matches_but_for_figures(&Row::of_process(sample, None, snapshot)))
}

/// Returns true if the fact behind a text is yet to be read.
fn is_pending(sample: &ProcessSample, field: TextField) -> bool {
    fn waits<T>(fact: &Reading<T>) -> bool {
        matches!(fact, Err(Missing::Pending))
    }
    let facts = &sample.facts;
    match field {
        TextField::CommandLine | TextField::Group | TextField::Family => waits(&facts.cmdline),
        TextField::User => waits(&facts.user),
        TextField::Unit | TextField::Container | TextField::Cgroup => waits(&facts.cgroup),
        TextField::Exe | TextField::Replaced => waits(&facts.exe),
        TextField::Comm | TextField::Host | TextField::Unread | TextField::State => false,
    }
}

/// A history of chosen processes, and the filter that chose them.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    filter: &'a Filter,
    history: &'a History,
    source: RowSource<'a>,
}

impl<'a> Chosen<'a> {
    /// Takes a history whose last snapshot this is.
    pub const fn new(filter: &'a Filter, history: &'a History, snapshot: &'a Snapshot) -> Self {
        Self {
            filter,
            history,
            source: RowSource::new(snapshot, Some(history)),
        }
    }

    /// Returns true if a process passes. Where the words that chose it are no longer true of it, the figures decide.
    pub fn passes(&self, sample: &ProcessSample) -> bool {
        let row = self.source.process(sample);
        self.filter.matches(&row)
            || self.history.get(sample.id).is_some()
                && !self.filter.matches_but_for_figures(&row)
                && self.filter.matches_group(&row, std::iter::empty::<Row<'_>>())
    }

    /// Returns the groups of chosen processes that pass.
    pub fn passing_groups(&self, by: GroupBy) -> HashSet<GroupKey> {
        let is_chosen =
            |sample: &ProcessSample| !sample.stat.is_kernel_thread() && self.history.get(sample.id).is_some();
        let change = |sample: &ProcessSample| self.history.get(sample.id).map(RowHistory::change).copied();
        let mut groups = groups(self.source.snapshot, by, is_chosen, change);
        // Their histories are of the same processes.
        for group in &mut groups {
            group.whole = true;
        }
        let passing = groups.into_iter().filter(|group| self.group_passes(group));
        passing.map(|group| group.key).collect()
    }

    fn group_passes(&self, group: &Group) -> bool {
        let rows = self.source.snapshot.rows();
        let sums = self.source.group(group);
        let members = || group.members.iter().map(|at| self.source.process(&rows[*at]));
        self.filter.matches_group(&sums, members())
            || !members().any(|row| self.filter.matches_but_for_figures(&row))
                && self.filter.matches_group(&sums, std::iter::empty::<Row<'_>>())
    }
}
