//! A row of the process table: a process, a folded subtree, a group, a mapping, or a total.

use std::time::Duration;

use crate::account::headroom::common_cgroup;
use crate::group::{Change, Group, GroupBy, Totals};
use crate::history::held::HeldHistory;
use crate::history::mappings::{Coldness, ColdnessTable};
use crate::history::marks::Mark;
use crate::history::{Population, RowHistory, SeriesView};
use crate::model::{Memory, Missing, ProcessSample, Reading, Snapshot};
use crate::trend::Judgement;

/// The number of processes of a group that have lost their parent, and the number that it gains per hour; 0 if their number does not grow.
#[derive(Clone, Copy, Debug, Default)]
pub struct PopulationFigures {
    pub orphans: u32,
    pub per_hour: u32,
}

/// The data from which columns derive the values of one row.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The process; `None` for groups and totals.
    pub sample: Option<&'a ProcessSample>,
    /// The memory to show: the process's own, or a sum.
    pub memory: Reading<&'a Memory>,
    /// RSS by the kernel's own counters, if the memory is hidden.
    pub counted_rss: Option<u64>,
    /// RSS of the members of a group whose memory is hidden, beside the sum of the others.
    pub hidden_rss: u64,
    /// Resident anonymous memory by the same counters, if the memory is hidden.
    pub counted_anon: Option<u64>,
    /// Swap by the same counters, of the process or of the members whose memory is hidden.
    pub counted_swap: Option<u64>,
    /// True if the changes, the footprint and the judgement are based on that RSS.
    pub is_counted: bool,
    /// Bound on the error of its PSS and `SwapPss`, in bytes.
    pub error: u64,
    /// The recent changes, its own or summed.
    pub change: Option<&'a Change>,
    pub footprint: Option<SeriesView<'a>>,
    /// The judgement on the footprint.
    pub trend: Option<&'a Judgement>,
    /// The history of memory held through descriptors, if any was ever held.
    pub held: Option<&'a RowHistory>,
    /// The processes of a program or a family that have lost their parent, and whether their number grows.
    pub population: Option<PopulationFigures>,
    /// In a tree, the sums of the process and its descendants; else the sums of a group or total.
    pub totals: Option<&'a Totals>,
    pub group: Option<&'a Group>,
    /// The mark relative to which changes are shown.
    pub mark: Option<&'a Mark>,
    /// The hot and cold memory of the process, if requested.
    pub coldness: Reading<&'a Coldness>,
    pub snapshot: &'a Snapshot,
}

impl<'a> Row<'a> {
    pub fn of_process(sample: &'a ProcessSample, history: Option<&'a RowHistory>, snapshot: &'a Snapshot) -> Self {
        Self {
            sample: Some(sample),
            // One of the processes that share an address space shows its memory.
            memory: sample.shares_mm.map_or(sample.memory(), |_| Err(Missing::Elsewhere)),
            counted_rss: sample.counted_rss().filter(|_| sample.shares_mm.is_none()),
            hidden_rss: 0,
            counted_anon: sample.counted_anon().filter(|_| sample.shares_mm.is_none()),
            counted_swap: sample.counted_swap().filter(|_| sample.shares_mm.is_none()),
            is_counted: sample.memory().is_err() && history.is_some_and(RowHistory::shows_counted),
            error: sample.walk.map_or(0, |walk| walk.error),
            change: history.map(RowHistory::change),
            footprint: history.map(RowHistory::footprint),
            trend: history.map(RowHistory::trend),
            held: None,
            population: None,
            totals: None,
            group: None,
            mark: None,
            coldness: Err(Missing::NotAsked),
            snapshot,
        }
    }

    /// Returns the row of one group. `history` is the history of the whole group: if a filter excludes some of its
    /// processes, only the changes of the others are shown, without a footprint over time.
    pub fn of_group(group: &'a Group, history: Option<&'a RowHistory>, snapshot: &'a Snapshot) -> Self {
        let history = history.filter(|_| group.whole);
        let sums = Self::of_totals(&group.totals, snapshot);
        Self {
            hidden_rss: group.totals.hidden_beside(),
            change: history.map_or(sums.change, |history| Some(history.change())),
            footprint: history.map(RowHistory::footprint),
            trend: history.map(RowHistory::trend),
            group: Some(group),
            ..sums
        }
    }

    pub fn of_totals(totals: &'a Totals, snapshot: &'a Snapshot) -> Self {
        Self {
            sample: None,
            memory: totals.memory.as_ref().map_err(|e| *e),
            counted_rss: Some(totals.counted_rss).filter(|rss| *rss > 0 && totals.memory.is_err()),
            hidden_rss: 0,
            counted_anon: totals.counted_anon.filter(|_| totals.memory.is_err()),
            counted_swap: totals.counted_swap,
            is_counted: false,
            error: totals.error,
            change: Some(&totals.change),
            footprint: None,
            trend: None,
            held: None,
            population: None,
            totals: Some(totals),
            group: None,
            mark: None,
            coldness: Err(Missing::NotAsked),
            snapshot,
        }
    }

    /// Sets the history of held memory. It is ignored for a group that a filter excludes processes from.
    #[must_use]
    pub fn with_held(mut self, held: Option<&'a HeldHistory>) -> Self {
        let is_whole = self.group.is_none_or(|group| group.whole);
        self.held = held.filter(|_| is_whole).map(HeldHistory::row);
        self
    }

    /// Sets how many processes a group has. It is ignored for a group that a filter excludes processes from.
    #[must_use]
    pub fn with_population(mut self, population: Option<Population>) -> Self {
        let population = population.filter(|_| self.group.is_none_or(|group| group.whole));
        self.population = population.map(|number| {
            let judged = number.judgement(self.now());
            let gains = judged.verdict.is_growth() && judged.flat_since.is_none();
            PopulationFigures {
                orphans: number.orphans,
                per_hour: if gains {
                    (judged.slope * 3600.0).round() as u32
                } else {
                    0
                },
            }
        });
        self
    }

    #[must_use]
    pub const fn with_mark(mut self, mark: Option<&'a Mark>) -> Self {
        self.mark = mark;
        self
    }

    #[must_use]
    pub fn with_coldness(mut self, table: Option<&'a ColdnessTable>) -> Self {
        if let (Some(sample), Some(table)) = (self.sample, table) {
            self.coldness = table.get(sample);
        }
        self
    }

    /// Returns the first member of a row of equal siblings.
    pub fn first_sibling(&self) -> Option<&'a ProcessSample> {
        let group = self.group.filter(|group| group.key.by == GroupBy::Siblings)?;
        self.snapshot.rows().get(*group.members.first()?)
    }

    /// Returns the group if it has a name of its own, which equal siblings lack.
    pub fn named_group(&self) -> Option<&'a Group> {
        self.group.filter(|group| group.key.by != GroupBy::Siblings)
    }

    /// Returns the time of the snapshot, on the monotonic clock.
    pub const fn now(&self) -> Duration {
        self.snapshot.monotonic
    }

    /// Returns the cgroup whose limit applies to the row: the cgroup of its process, or the innermost one that
    /// holds all processes of a group.
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
        paths.try_fold(first, |common, path| common_cgroup(common, path?))
    }
}
