//! One row of a table: a process, a folded subtree, a group, or a total.

use std::time::Duration;

use crate::group::{Change, Group, GroupBy, Totals};
use crate::history::marks::Mark;
use crate::history::{RowHistory, SeriesView};
use crate::model::memory::Memory;
use crate::model::process::ProcessSample;
use crate::model::reading::Reading;
use crate::model::snapshot::Snapshot;
use crate::trend::Judgement;

/// What a column takes its value from.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The process; a group and a totals row have none.
    pub sample: Option<&'a ProcessSample>,
    /// The memory to show: the process's own, or a sum.
    pub memory: Reading<&'a Memory>,
    /// What changed of late, own or summed.
    pub change: Option<&'a Change>,
    /// The footprint over time.
    pub line: Option<SeriesView<'a>>,
    /// What the footprint does.
    pub trend: Option<&'a Judgement>,
    /// What stands below it, in tree view; the sums of a group or of all rows.
    pub subtree: Option<&'a Totals>,
    /// The group, where the row is one.
    pub group: Option<&'a Group>,
    /// The mark that changes are shown since.
    pub mark: Option<&'a Mark>,
    /// What it was taken from.
    pub snapshot: &'a Snapshot,
    /// The snapshot's time, for ages.
    pub now: Duration,
    /// The snapshot's uptime in seconds, for how long a process runs.
    pub uptime: Option<f64>,
}

impl<'a> Row<'a> {
    /// The row of one process.
    pub fn of(sample: &'a ProcessSample, series: Option<&'a RowHistory>, snapshot: &'a Snapshot) -> Self {
        Self {
            sample: Some(sample),
            memory: sample.memory(),
            change: series.map(RowHistory::change),
            line: series.map(RowHistory::footprint),
            trend: series.map(RowHistory::trend),
            subtree: None,
            group: None,
            mark: None,
            snapshot,
            now: snapshot.monotonic,
            uptime: snapshot.system.uptime.ok(),
        }
    }

    /// The row of one group. Its history is that of the whole group: where a filter holds some of its
    /// processes back, the changes are those of the others, and there is no line.
    pub fn of_group(group: &'a Group, series: Option<&'a RowHistory>, snapshot: &'a Snapshot) -> Self {
        let series = series.filter(|_| group.whole);
        Self {
            sample: None,
            memory: group.totals.memory.as_ref().map_err(|e| *e),
            change: Some(series.map_or(&group.totals.change, RowHistory::change)),
            line: series.map(RowHistory::footprint),
            trend: series.map(RowHistory::trend),
            subtree: Some(&group.totals),
            group: Some(group),
            mark: None,
            snapshot,
            now: snapshot.monotonic,
            uptime: snapshot.system.uptime.ok(),
        }
    }

    /// Returns the row of the sums of a set of processes.
    pub fn of_totals(totals: &'a Totals, snapshot: &'a Snapshot) -> Self {
        Self {
            sample: None,
            memory: totals.memory.as_ref().map_err(|e| *e),
            change: Some(&totals.change),
            line: None,
            trend: None,
            subtree: Some(totals),
            group: None,
            mark: None,
            snapshot,
            now: snapshot.monotonic,
            uptime: None,
        }
    }

    /// The same, with a line over that span.
    #[must_use]
    pub fn over(mut self, span: Duration) -> Self {
        self.line = self.line.map(|line| line.over(span));
        self
    }

    /// The same, with the mark that changes are shown since.
    #[must_use]
    pub const fn since(mut self, mark: Option<&'a Mark>) -> Self {
        self.mark = mark;
        self
    }

    /// Returns the cgroup whose limit bounds the row: that of its process, or the one that all processes of a
    /// group are in.
    pub fn limiting_cgroup(&self) -> Option<&'a [u8]> {
        let Some(group) = self.group else {
            return self.sample?.facts.cgroup.as_deref().ok();
        };
        if group.key.by == GroupBy::Cgroup {
            return group.key.name.as_deref();
        }
        let rows = self.snapshot.rows();
        let mut paths = group
            .members
            .iter()
            .map(|at| rows.get(*at)?.facts.cgroup.as_deref().ok());
        let first = paths.next()??;
        paths.all(|path| path == Some(first)).then_some(first)
    }
}
