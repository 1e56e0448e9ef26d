//! The monitor's state.
//!
//! It is made of a few parts, each with its own methods; here stands only what concerns several of them. Both
//! `update` and `view` stand on it.

mod columns;
mod data;
mod modal;
mod page;
mod query;
mod requests;
mod screen;
mod tables;

pub use data::{Data, MappingScan};
pub use modal::{Hint, Modal, Response};
pub use page::{HelpSection, Page, Pages};
pub use query::{FilterState, QueryState};
pub use requests::{Requests, ScanProgress};
pub use screen::{GraphHeight, Message, Screen};
pub use tables::Tables;

use std::time::Duration;

use super::fleet::FleetStatus;
use super::layout::{Layout, Parts};
use super::scope::Scope;
use crate::alert::Alerts;
use crate::columns::Row;
use crate::config::{Config, Settings, UiSettings, alerts};
use crate::engine;
use crate::group::{Coverage, Group, RowKey, Totals};
use crate::history::History;
use crate::model::{Identity, ProcessSample, Snapshot};
use crate::query::{Kept, RowRef, RowSource};
use crate::sampler::Wanted;

/// The privilege of the user who runs zmtop; decides what the header advises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    /// Effective uid 0.
    pub root: bool,
    /// The capability that opens every process's figures on this kernel.
    pub capability: &'static str,
    /// The path of the program, as a shell takes it.
    pub program: String,
}

/// The rows that the query found in the last snapshot.
#[derive(Debug, Default)]
pub struct Rows {
    /// Every group, whether the filter lets it through or not; empty where processes are listed.
    pub groups: Vec<Group>,
    /// In tree view: the sums of each process of the snapshot with its descendants.
    pub subtrees: Vec<Totals>,
    /// Number of rows that the filter lets through.
    pub matching: usize,
    /// Sums of the shown rows.
    pub totals: Totals,
    /// Sums of the tagged rows.
    pub tagged: Totals,
    /// The number of processes in the snapshot, with kernel threads where these are listed.
    pub listed: usize,
    /// The number of those that could be read.
    pub(super) coverage: Coverage,
    /// Parts that need not be made anew while processes are listed plainly.
    pub(super) kept: Option<Kept>,
}

impl Rows {
    /// Returns the most that any figure is old: the time between snapshots, or since the walk of what may have changed
    /// by more than is tolerated.
    pub fn age(&self, snapshot: &Snapshot) -> Duration {
        let since = self.coverage.uncertain_since;
        let age = since.map(|at| snapshot.monotonic.saturating_sub(at));
        age.unwrap_or_default().max(snapshot.interval)
    }
}

/// The monitor's state.
pub struct App {
    /// Settings, keymap, theme.
    pub config: Config,
    /// The privilege of the user.
    pub privilege: Privilege,
    /// The snapshot, and what is derived from it. It is the engine's: the run loop puts it here for each event and each
    /// frame, and an empty one stands here between them.
    pub engine: engine::State,
    /// Data that was read because the screen asked for it.
    pub data: Data,
    /// Which rows are asked for.
    pub query: QueryState,
    /// The rows that were found.
    pub rows: Rows,
    /// The tables that show it.
    pub tables: Tables,
    /// Size and appearance.
    pub screen: Screen,
    /// Requests to the rest of the program.
    pub requests: Requests,
    /// The pages beside the tables, and which of them is open.
    pub pages: Pages,
    /// The state of asking for a fleet, if the rows are of one; `None` for this machine.
    pub fleet: Option<FleetStatus>,
    /// The popup, dialog or prompt that takes the keys in place of the table.
    pub modal: Option<Box<dyn Modal>>,
}

impl App {
    /// Returns the state at the start.
    pub fn new(config: Config, privilege: Privilege, size: (u16, u16)) -> Self {
        let settings = &config.settings;
        let mut app = Self {
            privilege,
            engine: Self::engine_state(settings),
            data: Data::default(),
            query: QueryState::new(&settings.ui),
            rows: Rows::default(),
            tables: Tables::new(&settings.ui),
            screen: Screen::new(&settings.ui, size),
            requests: Requests::new(settings.sampler.interval),
            pages: Pages::default(),
            fleet: None,
            modal: None,
            config,
        };
        app.apply_columns();
        app
    }

    /// Returns the engine's state before the first snapshot, by these settings.
    pub fn engine_state(settings: &Settings) -> engine::State {
        let history = History::with_config(settings.history_config(settings.ui.delta));
        engine::State::new(history, Alerts::new(alerts::rules(&settings.alerts)))
    }

    /// Returns where everything goes on screen.
    pub fn layout(&self) -> Layout {
        self.layout_of(self.pages.open().is_some())
    }

    /// Returns where everything goes while another page is open, or while the tables are shown.
    fn layout_of(&self, is_page: bool) -> Layout {
        let has_panel = self.has_panel() && !is_page;
        let parts = Parts {
            page: is_page,
            two_tables: self.tables.two,
            totals: self.screen.totals_row,
            tagged: self.tagged_rows().next().is_some(),
            swap: self.screen.has_swap,
            unread: self.hides_memory(),
            graph: if is_page || has_panel {
                0
            } else {
                self.screen.graph.lines(self.screen.size.1)
            },
        };
        let mut layout = Layout::new(self.screen.size, parts);
        if !self.engine.history.dangers().is_empty() {
            layout = layout.with_dangers();
        }
        if self.engine.living_suspects().next().is_some() {
            layout = layout.with_growth();
        }
        if is_page {
            layout.with_page()
        } else if has_panel {
            layout.with_panel()
        } else {
            layout
        }
    }

    /// Returns true if the user may not read the memory of some processes.
    pub const fn hides_memory(&self) -> bool {
        !self.privilege.root && self.fleet.is_none() && self.rows.coverage.hidden > self.rows.coverage.pending
    }

    /// Returns true if the panel is on the screen: it shows processes and groups of them, no mappings.
    pub const fn shows_panel(&self) -> bool {
        self.has_panel() && self.pages.open().is_none()
    }

    /// Returns true if the panel is open beside the tables, which another page may hide.
    const fn has_panel(&self) -> bool {
        self.screen.panel_open && !self.query.shows_mappings()
    }

    /// Returns the selected process, while the panel shows it.
    pub fn panel_process(&self) -> Option<Identity> {
        let selected = self.tables.current().selected.as_ref();
        selected.filter(|_| self.shows_panel())?.process()
    }

    /// Returns how many rows a table shows, or will where another page hides it now.
    pub fn rows_shown(&self) -> usize {
        usize::from(self.layout_of(false).tables[0].height.saturating_sub(1))
    }

    /// Returns the tagged rows of the kind that is shown.
    pub fn tagged_rows(&self) -> impl Iterator<Item = &RowKey> {
        let by = self.query.scope.grouped_by();
        self.tables
            .tags
            .iter()
            .filter(move |id| id.group().map(|key| key.by) == by)
    }

    /// Returns the group of a table's row, where it is one.
    pub fn group(&self, row: &RowRef) -> Option<&Group> {
        match &self.query.scope {
            Scope::Processes | Scope::Members(_) => None,
            Scope::Groups(_) => self.rows.groups.get(row.index),
            Scope::Mappings(_) => self.data.mappings.as_ref()?.groups.get(row.index),
        }
    }

    /// Returns the values of a table's row; those of a folded one are the sums of its subtree.
    pub fn row<'a>(&'a self, snapshot: &'a Snapshot, row: &RowRef) -> Option<Row<'a>> {
        if self.query.scope.grouped_by().is_some() {
            let group = self.group(row)?;
            return Some(self.row_source(snapshot).group(group));
        }
        let sample = snapshot.rows().get(row.index)?;
        let subtree = self.rows.subtrees.get(row.index).filter(|_| self.query.tree);
        Some(self.row_source(snapshot).process_in_tree(sample, subtree, row.folded))
    }

    /// Returns the group of the selected row, where it is one.
    pub fn selected_group(&self) -> Option<&Group> {
        self.group(self.tables.current().selected_row()?)
    }

    /// Returns the process of the selected row, where it is one.
    pub fn selected_sample<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a ProcessSample> {
        let row = self.tables.current().selected_row()?;
        row.key.process()?;
        snapshot.rows().get(row.index)
    }

    /// Selects a row in every table; the first one where it is not there.
    pub fn select_row(&mut self, key: Option<&RowKey>) {
        let height = self.rows_shown();
        for table in self.tables.shown_mut() {
            table.select_key(key, height);
        }
    }

    /// Scrolls every table to its selection: the tables have another height.
    pub fn scroll_to_selection(&mut self) {
        let height = self.rows_shown();
        for table in self.tables.shown_mut() {
            table.scroll_to_selection(height);
        }
    }

    /// Moves the selection of the current table by rows.
    pub fn move_selection(&mut self, rows: isize) {
        let height = self.rows_shown();
        self.tables.current_mut().step(rows, height);
    }

    /// Moves the selection of the current table by a page.
    pub fn page_selection(&mut self, down: bool) {
        let page = self.rows_shown().max(1).cast_signed();
        self.move_selection(if down { page } else { -page });
    }

    /// Returns what the values of rows are taken from.
    pub fn row_source<'a>(&'a self, snapshot: &'a Snapshot) -> RowSource<'a> {
        RowSource {
            snapshot,
            history: Some(&self.engine.history),
            mark: self.data.marks.current(),
            coldness: Some(&self.data.coldness),
            span: Some(self.screen.chart.span().time),
        }
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
            graph: self.screen.graph.name().into(),
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

    /// Returns the processes that are looked at, on screen or tagged, in order of pid; none while another page is open. The members of groups are not
    /// among them: they may be every process there is, and those that changed are read first anyway.
    pub fn focus(&self) -> Vec<Identity> {
        if self.pages.open().is_some() {
            return Vec::new();
        }
        let rows = self.rows_shown();
        let shown = self.tables.shown().iter().flat_map(|t| {
            t.rows
                .iter()
                .skip(t.list.offset)
                .take(rows)
                .filter_map(|r| r.key.process())
        });
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
