//! The monitor's whole state.

mod columns;
mod filter;

use std::collections::HashSet;
use std::sync::Arc;

pub use filter::FilterState;
use jiff::tz::TimeZone;

use super::act::{Acts, Dialog};
use super::chart::Chart;
use super::input::LineEdit;
use super::layout::Layout;
use super::mappings::{Found, Scan};
use super::panel::Panel;
use super::popup::Popup;
use super::scope::Scope;
use super::table::{Line, Table};
use crate::alert::Alerts;
use crate::columns::{ColumnId, Row};
use crate::config::Config;
use crate::config::save::Saved;
use crate::group::{Change, Group, RowKey, Totals};
use crate::history::suspects::Suspect;
use crate::history::{History, Marks, Series};
use crate::model::{Identity, ProcessSample, Snapshot};
use crate::sampler::Wanted;
use crate::units::Units;

/// What the user who runs zmtop may read; decides what the header advises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// Effective uid 0.
    pub root: bool,
    /// The capability that opens every process's figures on this kernel.
    pub capability: &'static str,
}

/// Which line of text is being edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// The filter.
    Filter,
    /// A search.
    Search,
    /// The interval.
    Interval,
}

/// Where keys go.
#[derive(Clone, Debug, PartialEq)]
pub enum Mode {
    /// The table.
    Table,
    /// A line of text, and what it was before.
    Input(Prompt, LineEdit, String),
    /// Something over the table.
    Popup(Popup),
    /// What is asked before processes are acted on.
    Act(Box<Dialog>),
}

/// A line that tells how something went, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The text, safe to print.
    pub text: String,
    /// It tells of a failure.
    pub bad: bool,
}

/// The monitor's state.
#[derive(Debug)]
pub struct App {
    /// Settings, keymap, theme.
    pub config: Config,
    /// What the user may read.
    pub privilege: Privilege,
    /// The terminal's size.
    pub size: (u16, u16),
    /// The last snapshot.
    pub snapshot: Option<Arc<Snapshot>>,
    /// What is derived from all of them.
    pub history: History,
    /// The rules on them, and what fires.
    pub alerts: Alerts,
    /// Who grows or leaks, worst first.
    pub leaks: Vec<Suspect>,
    /// The marks that changes are shown since.
    pub marks: Marks,
    /// The panel of the selected process.
    pub panel: Panel,
    /// Which time charts and sparklines are of.
    pub chart: Chart,
    /// The time zone that moments are told in.
    pub zone: TimeZone,
    /// What the rows are.
    pub scope: Scope,
    /// The groups there are, whether a filter lets them through or not; none where processes are listed.
    pub groups: Vec<Group>,
    /// The mappings that were read last.
    pub mappings: Option<Found>,
    /// The mappings are being read.
    pub scan: Option<Scan>,
    /// How often they were.
    pub scans: u64,
    /// The chosen columns.
    pub columns: Vec<ColumnId>,
    /// Those of groups of processes.
    pub group_columns: Vec<ColumnId>,
    /// Those of mappings.
    pub mapping_columns: Vec<ColumnId>,
    /// How bytes are written.
    pub units: Units,
    /// The interval asked for.
    pub interval: std::time::Duration,
    /// The table; and with two of them, the one by PSS and the one by swap.
    pub single: Table,
    /// See `single`.
    pub pair: [Table; 2],
    /// Two tables are shown.
    pub two_tables: bool,
    /// Which of the two the keys go to.
    pub active: usize,
    /// The filter of the rows.
    pub filter: FilterState,
    /// While mappings are shown: that of the processes, by which they were chosen.
    pub outer_filter: Option<FilterState>,
    /// One user's processes only.
    pub user: Option<Arc<[u8]>>,
    /// What is searched for, lower-cased.
    pub search: Option<String>,
    /// Tree view.
    pub tree: bool,
    /// The folded processes.
    pub folded: HashSet<Identity>,
    /// The tagged processes and groups.
    pub tags: HashSet<RowKey>,
    /// The selection is followed even at the first row.
    pub follow: bool,
    /// Sampling is stopped.
    pub paused: bool,
    /// The order of rows is kept.
    pub frozen: bool,
    /// Kernel threads are listed.
    pub kernel_threads: bool,
    /// A row of totals is shown.
    pub totals_row: bool,
    /// How far the columns are scrolled.
    pub scroll: usize,
    /// Where keys go.
    pub mode: Mode,
    /// What was ordered to be done to processes.
    pub acts: Acts,
    /// How something went.
    pub message: Option<Message>,
    /// Sums of the shown rows.
    pub totals: Totals,
    /// Sums of the tagged rows.
    pub tagged: Totals,
    /// In tree view: what each process of the snapshot holds with its descendants.
    pub subtrees: Vec<Totals>,
    /// How often a snapshot was asked for by hand.
    pub refresh: u64,
    /// How many rows the filter lets through, by the tables' common rules.
    pub matching: usize,
}

impl App {
    /// The state at the start.
    pub fn new(config: Config, privilege: Privilege, size: (u16, u16)) -> Self {
        let ui = &config.settings.ui;
        let mut filter = FilterState::default();
        filter.set(&ui.filter);
        let mut app = Self {
            privilege,
            size,
            snapshot: None,
            history: History::kept(config.settings.keep(ui.delta)),
            alerts: super::alerts::rules(&config.settings.alerts),
            leaks: Vec::new(),
            marks: Marks::default(),
            panel: Panel::default(),
            chart: Chart::over(&ui.span),
            zone: TimeZone::UTC,
            scope: Scope::by(ui.by),
            groups: Vec::new(),
            mappings: None,
            scan: None,
            scans: 0,
            columns: ui.columns.clone(),
            group_columns: ui.group_columns.clone(),
            mapping_columns: columns::of_mappings(),
            units: ui.units,
            interval: config.settings.sampler.interval,
            single: Table::new(ui.columns.clone(), ui.sort, ui.descending),
            pair: columns::pair(),
            two_tables: ui.two_tables,
            active: 0,
            filter,
            outer_filter: None,
            user: None,
            search: None,
            tree: ui.tree,
            folded: HashSet::new(),
            tags: HashSet::new(),
            follow: false,
            paused: false,
            frozen: false,
            kernel_threads: ui.kernel_threads,
            totals_row: ui.totals,
            scroll: 0,
            mode: Mode::Table,
            acts: Acts::default(),
            message: None,
            totals: Totals::default(),
            tagged: Totals::default(),
            subtrees: Vec::new(),
            refresh: 0,
            matching: 0,
            config,
        };
        app.apply_columns();
        app
    }

    /// The tables on screen, from left to right.
    pub fn tables(&self) -> &[Table] {
        if self.two_tables {
            &self.pair
        } else {
            std::slice::from_ref(&self.single)
        }
    }

    /// The same, to change.
    pub fn tables_mut(&mut self) -> &mut [Table] {
        if self.two_tables {
            &mut self.pair
        } else {
            std::slice::from_mut(&mut self.single)
        }
    }

    /// The table that keys go to.
    pub fn table(&self) -> &Table {
        if self.two_tables {
            &self.pair[self.active]
        } else {
            &self.single
        }
    }

    /// The same, to change.
    pub fn table_mut(&mut self) -> &mut Table {
        if self.two_tables {
            &mut self.pair[self.active]
        } else {
            &mut self.single
        }
    }

    /// Where everything goes on screen.
    pub fn layout(&self) -> Layout {
        let tagged = self.tagged_rows().next().is_some();
        let mut layout = Layout::new(self.size, self.two_tables, self.totals_row, tagged);
        if super::leaks::leaking(self) > 0 {
            layout = layout.with_leaks();
        }
        if self.shows_panel() {
            layout.with_panel()
        } else {
            layout
        }
    }

    /// The panel is on the screen: it is of processes and of groups of them.
    pub const fn shows_panel(&self) -> bool {
        self.panel.open && !matches!(self.scope, Scope::Mappings(_))
    }

    /// How many rows a table shows.
    pub fn rows_shown(&self) -> usize {
        usize::from(self.layout().tables[0].height.saturating_sub(1))
    }

    /// The filter that chooses processes, whatever is shown.
    pub fn process_filter(&self) -> &FilterState {
        self.outer_filter.as_ref().unwrap_or(&self.filter)
    }

    /// The tagged rows of the kind that is shown.
    pub fn tagged_rows(&self) -> impl Iterator<Item = &RowKey> {
        let by = self.scope.groups();
        self.tags.iter().filter(move |id| id.group().map(|key| key.by) == by)
    }

    /// The group of a table line, where it is one.
    pub fn group(&self, line: &Line) -> Option<&Group> {
        match &self.scope {
            Scope::Processes | Scope::Members(_) => None,
            Scope::Groups(_) => self.groups.get(line.index),
            Scope::Mappings(_) => self.mappings.as_ref()?.groups.get(line.index),
        }
    }

    /// The row of a table line; a folded one shows the sum of its subtree.
    pub fn row<'a>(&'a self, snapshot: &'a Snapshot, line: &Line) -> Option<Row<'a>> {
        if self.scope.groups().is_some() {
            let group = self.group(line)?;
            return Some(self.group_row(group, snapshot));
        }
        let sample = snapshot.rows().get(line.index)?;
        let mut row = self.process_row(sample, snapshot);
        if let Some(subtree) = self.subtrees.get(line.index).filter(|_| self.tree) {
            row.subtree = Some(subtree);
            if line.folded {
                row.memory = subtree.memory.as_ref().map_err(|e| *e);
                row.change = Some(&subtree.change);
            }
        }
        Some(row)
    }

    /// The row of one process, with its history and the mark.
    pub fn process_row<'a>(&'a self, sample: &'a ProcessSample, snapshot: &'a Snapshot) -> Row<'a> {
        let row = Row::of(sample, self.history.get(sample.id), snapshot);
        row.since(self.marks.current()).over(self.chart.span().time)
    }

    /// The row of one group, likewise.
    pub fn group_row<'a>(&'a self, group: &'a Group, snapshot: &'a Snapshot) -> Row<'a> {
        let row = Row::of_group(group, self.history.group(&group.key), snapshot);
        row.since(self.marks.current()).over(self.chart.span().time)
    }

    /// The change of one process.
    pub fn change(&self, id: Identity) -> Option<Change> {
        self.history.get(id).map(Series::change).copied()
    }

    /// What `W` saves.
    pub fn saved(&self) -> Saved {
        Saved {
            columns: self.columns.clone(),
            group_columns: self.group_columns.clone(),
            by: self.scope.grouping(),
            sort: self.single.sort,
            descending: self.single.descending,
            filter: self.process_filter().good.clone(),
            units: self.units,
            tree: self.tree,
            two_tables: self.two_tables,
            kernel_threads: self.kernel_threads,
            span: self.chart.span().id.into(),
        }
    }

    /// Returns what this state wants of the sampler.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            interval: self.interval,
            paused: self.paused,
            focus: self.focus(),
            needs: self.needs(),
            refresh: self.refresh,
        }
    }

    /// The processes that are looked at: on screen, or tagged; in order of pid. The members of groups are not:
    /// they may be every process there is, and those that changed are read first anyway.
    pub fn focus(&self) -> Vec<Identity> {
        let rows = self.rows_shown();
        let shown = self
            .tables()
            .iter()
            .flat_map(|t| t.lines.iter().skip(t.offset).take(rows).filter_map(|l| l.id.process()));
        let panel = super::panel::subject(self);
        let mut ids: Vec<Identity> = shown
            .chain(panel)
            .chain(self.tags.iter().filter_map(RowKey::process))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
