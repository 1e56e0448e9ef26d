//! The monitor's state.
//!
//! It is made of a few parts, each with its own methods; here stands only what concerns several of them. Both
//! `update` and `view` stand on it.

mod columns;
mod data;
mod query;
mod requests;
mod screen;
mod tables;

pub use data::Data;
pub use query::{FilterState, Query};
pub use requests::Requests;
pub use screen::{Message, Screen};
pub use tables::Tables;

use super::act::Dialog;
use super::input::LineEdit;
use super::layout::Layout;
use super::popup::Popup;
use super::scope::Scope;
use crate::alert::Alerts;
use crate::columns::Row;
use crate::config::{Config, UiSettings, alerts};
use crate::group::{Group, RowKey, Totals};
use crate::history::History;
use crate::model::{Identity, ProcessSample, Snapshot};
use crate::query::RowRef;
use crate::sampler::Wanted;

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

/// What the query found in the last snapshot.
#[derive(Debug, Default)]
pub struct Rows {
    /// Every group, whether the filter lets it through or not; empty where processes are listed.
    pub groups: Vec<Group>,
    /// In tree view: the sums of each process of the snapshot with its descendants.
    pub subtrees: Vec<Totals>,
    /// How many rows the filter lets through, by the tables' common rules.
    pub matching: usize,
    /// Sums of the shown rows.
    pub totals: Totals,
    /// Sums of the tagged rows.
    pub tagged: Totals,
}

/// The monitor's state.
#[derive(Debug)]
pub struct App {
    /// Settings, keymap, theme.
    pub config: Config,
    /// What the user may read.
    pub privilege: Privilege,
    /// What was sampled.
    pub data: Data,
    /// Which rows are asked for.
    pub query: Query,
    /// What the query found.
    pub rows: Rows,
    /// The tables that show it.
    pub tables: Tables,
    /// Size and appearance.
    pub screen: Screen,
    /// What is asked of the rest of the program.
    pub requests: Requests,
    /// Where keys go.
    pub mode: Mode,
}

impl App {
    /// Returns the state at the start.
    pub fn new(config: Config, privilege: Privilege, size: (u16, u16)) -> Self {
        let settings = &config.settings;
        let history = History::with_config(settings.history_config(settings.ui.delta));
        let mut app = Self {
            privilege,
            data: Data::new(history, Alerts::new(alerts::rules(&settings.alerts))),
            query: Query::new(&settings.ui),
            rows: Rows::default(),
            tables: Tables::new(&settings.ui),
            screen: Screen::new(&settings.ui, size),
            requests: Requests::new(settings.sampler.interval),
            mode: Mode::Table,
            config,
        };
        app.apply_columns();
        app
    }

    /// Where everything goes on screen.
    pub fn layout(&self) -> Layout {
        let tagged = self.tagged_rows().next().is_some();
        let mut layout = Layout::new(self.screen.size, self.tables.two, self.screen.totals_row, tagged);
        if self.data.leaks().next().is_some() {
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
        self.screen.panel_open && !self.query.shows_mappings()
    }

    /// Returns the selected process, while the panel shows it.
    pub fn panel_process(&self) -> Option<Identity> {
        let selected = self.tables.current().selected.as_ref();
        selected.filter(|_| self.shows_panel())?.process()
    }

    /// How many rows a table shows.
    pub fn rows_shown(&self) -> usize {
        usize::from(self.layout().tables[0].height.saturating_sub(1))
    }

    /// The tagged rows of the kind that is shown.
    pub fn tagged_rows(&self) -> impl Iterator<Item = &RowKey> {
        let by = self.query.scope.groups();
        self.tables
            .tags
            .iter()
            .filter(move |id| id.group().map(|key| key.by) == by)
    }

    /// The group of a table line, where it is one.
    pub fn group(&self, line: &RowRef) -> Option<&Group> {
        match &self.query.scope {
            Scope::Processes | Scope::Members(_) => None,
            Scope::Groups(_) => self.rows.groups.get(line.index),
            Scope::Mappings(_) => self.data.mappings.as_ref()?.groups.get(line.index),
        }
    }

    /// The row of a table line; a folded one shows the sum of its subtree.
    pub fn row<'a>(&'a self, snapshot: &'a Snapshot, line: &RowRef) -> Option<Row<'a>> {
        if self.query.scope.groups().is_some() {
            let group = self.group(line)?;
            return Some(self.group_row(group, snapshot));
        }
        let sample = snapshot.rows().get(line.index)?;
        let mut row = self.process_row(sample, snapshot);
        if let Some(subtree) = self.rows.subtrees.get(line.index).filter(|_| self.query.tree) {
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
        let row = Row::of(sample, self.data.history.get(sample.id), snapshot);
        row.since(self.data.marks.current()).over(self.screen.chart.span().time)
    }

    /// The row of one group, likewise.
    pub fn group_row<'a>(&'a self, group: &'a Group, snapshot: &'a Snapshot) -> Row<'a> {
        let row = Row::of_group(group, self.data.history.group(&group.key), snapshot);
        row.since(self.data.marks.current()).over(self.screen.chart.span().time)
    }

    /// Returns the settings that `W` saves.
    pub fn saved(&self) -> UiSettings {
        UiSettings {
            columns: self.tables.columns.clone(),
            group_columns: self.tables.group_columns.clone(),
            by: self.query.scope.grouping(),
            sort: self.tables.single.sort,
            descending: self.tables.single.descending,
            filter: self.query.process_filter().good.clone(),
            units: self.screen.units,
            tree: self.query.tree,
            two_tables: self.tables.two,
            kernel_threads: self.query.kernel_threads,
            span: self.screen.chart.span().id.into(),
            ..self.config.settings.ui.clone()
        }
    }

    /// Returns what this state wants of the sampler.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            interval: self.requests.interval,
            paused: self.requests.paused,
            focus: self.focus(),
            needs: self.needs(),
            refresh: self.requests.refresh,
        }
    }

    /// The processes that are looked at: on screen, or tagged; in order of pid. The members of groups are not:
    /// they may be every process there is, and those that changed are read first anyway.
    pub fn focus(&self) -> Vec<Identity> {
        let rows = self.rows_shown();
        let shown = self
            .tables
            .shown()
            .iter()
            .flat_map(|t| t.lines.iter().skip(t.offset).take(rows).filter_map(|l| l.key.process()));
        let panel = self.panel_process();
        let mut ids: Vec<Identity> = shown
            .chain(panel)
            .chain(self.tables.tags.iter().filter_map(RowKey::process))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}
