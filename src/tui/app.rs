//! The monitor's state.
//!
//! It is made of a few parts, each with its own methods; here stands only what concerns several of them. Both
//! `update` and `view` stand on it.

mod columns;
mod modal;
mod page;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
pub use modal::{Hint, Modal, Response};
pub use page::{HelpSection, Page, PageKey, PageTable, Pages};

use crate::act::RequestId;
use crate::alert::Alerts;
use crate::columns::{COLUMNS, ColumnId, Row, layout};
use crate::config::{Config, Settings, UiSettings, alerts};
use crate::engine;
use crate::filter::{Filter, FilterError, Schema};
use crate::group::{Coverage, Group, GroupBy, GroupKey, RowKey, Totals};
use crate::history::mappings::{ColdnessTable, Look};
use crate::history::view::Band;
use crate::history::{History, Marks};
use crate::model::kernel::Callers;
use crate::model::{FleetStatus, Identity, ProcessSample, Snapshot};
use crate::query::{Fold, Folds, Kept, RowRef, RowSource, Siblings};
use crate::sampler::Wanted;
use crate::tui::chart::Chart;
use crate::tui::event::{Effect, Inspect};
use crate::tui::growth::GrowthTracker;
use crate::tui::layout::{Layout, Parts};
use crate::tui::widgets::ListState;
use crate::units::Units;

/// The most members of a row of equal siblings that are read sooner, as they would be with a row each.
const MAX_FOCUSED: usize = 16;

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
    /// Equal siblings among the processes, and the rows that stand for them.
    pub(super) siblings: Siblings,
    pub(super) folds: Folds,
    /// The rows of each table before they were folded, where they are kept; empty where nothing is folded.
    pub(super) unfolded: Vec<Vec<RowRef>>,
    /// Parts that need not be made anew while processes are listed plainly.
    pub(super) kept: Option<Kept>,
}

impl Rows {
    /// Returns the most that any figure is old: the time between snapshots, or since the walk of what may have changed
    /// by more than is tolerated. Of a fleet all figures are samples that may have changed since.
    pub fn age(&self, snapshot: &Snapshot) -> Duration {
        let since = self.coverage.uncertain_since;
        let uncertain = since.map(|at| snapshot.monotonic.saturating_sub(at));
        let age = match snapshot.fleet {
            Some(_) => self.coverage.oldest,
            None => uncertain,
        };
        age.unwrap_or_default().max(snapshot.interval)
    }
}

pub struct App {
    /// Settings, keymap, theme.
    pub config: Config,
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

    /// Returns the equal siblings of a table's row, where it stands for them.
    pub fn fold(&self, row: &RowRef) -> Option<&Fold> {
        self.rows.folds.get_at(row.index, &row.key)
    }

    /// Returns the footprint of equal siblings over the time of the charts, in so many columns; empty for too many of them.
    pub(in crate::tui) fn bands_of(&self, snapshot: &Snapshot, fold: &Fold, width: usize) -> Vec<Option<Band>> {
        let span = self.screen.chart.span().time;
        let source = self.row_source(snapshot);
        let pasts = fold.pasts(&source);
        Band::sums(pasts.map(|past| past.footprint().over(span).recent(width)))
    }

    /// Returns the equal siblings that are selected.
    pub fn selected_fold(&self) -> Option<&Fold> {
        self.fold(self.tables.current().selected_row()?)
    }

    /// Returns the group of a table's row, where it is one.
    pub fn group(&self, row: &RowRef) -> Option<&Group> {
        match &self.query.scope {
            Scope::Processes | Scope::Members(_) => Some(&self.fold(row)?.group),
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
        if let Some(fold) = self.fold(row) {
            return Some(self.row_source(snapshot).fold(fold));
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

    /// Selects a row in every table; the first one where it is not there. A process that is folded is selected with its equals.
    pub fn select_row(&mut self, key: Option<&RowKey>) {
        let held = key.zip(self.engine.snapshot.as_ref());
        let held = held.and_then(|(key, snapshot)| self.rows.folds.holding(key, snapshot));
        let held = held.map(|fold| RowKey::Group(fold.group.key.clone()));
        let key = held.as_ref().or(key);
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
            fold: self.query.folds,
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

    /// Returns the processes that are looked at, on screen or tagged, in order of pid; none while another page is open. Of equal siblings that are folded
    /// a few are among them. The members of groups are not: they may be every process there is, and those that changed are
    /// read first anyway.
    pub fn focus(&self) -> Vec<Identity> {
        if self.pages.open().is_some() {
            return Vec::new();
        }
        let rows = self.rows_shown();
        let in_sight = || {
            let tables = self.tables.shown().iter();
            tables.flat_map(|t| t.rows.iter().skip(t.list.offset).take(rows))
        };
        let folded = self.engine.snapshot.as_deref().into_iter().flat_map(|snapshot| {
            let folds = in_sight().filter_map(|row| self.fold(row));
            folds.flat_map(|fold| fold.ids(snapshot).take(MAX_FOCUSED))
        });
        let shown = in_sight().filter_map(|row| row.key.process()).chain(folded);
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

// Data that was read because the screen asked for it.

/// Data that was read because the screen asked for it.
#[derive(Debug, Default)]
pub struct Data {
    /// The marks that changes are shown since.
    pub marks: Marks,
    /// The mappings of all processes, as read last.
    pub mappings: Option<MappingScan>,
    /// The mappings of single processes, as read again and again.
    pub growth: GrowthTracker,
    /// Hot and cold memory, of processes that the user asked for.
    pub coldness: ColdnessTable,
    /// The call sites of the kernel's allocator.
    pub callers: TracedCallers,
}

/// The call sites of the kernel's allocator, traced while the screen shows them.
#[derive(Debug, Default)]
pub struct TracedCallers {
    /// It is being traced.
    pub runs: bool,
    /// The number of the last trace: what another one reports is not taken in.
    pub number: u64,
    /// The call sites that it saw so far; or why there is none, and what would grant it. `None` before either is known.
    pub found: Option<Result<Arc<Callers>, String>>,
    /// Each call site is a row, and not each function.
    pub by_site: bool,
}

impl TracedCallers {
    /// Takes in what the trace of that number reports.
    pub fn take_in(&mut self, number: u64, report: Result<Arc<Callers>, String>) {
        if number == self.number && self.runs {
            self.found = Some(report);
        }
    }

    /// Sets if it is to be traced; returns what is to be done for it.
    pub fn set(&mut self, is_wanted: bool) -> Option<Effect> {
        if is_wanted == self.runs {
            return None;
        }
        self.runs = is_wanted;
        if is_wanted {
            self.number += 1;
            self.found = None;
        }
        Some(Effect::Trace(is_wanted.then_some(self.number)))
    }
}

/// The mappings of all processes, as read by one scan.
#[derive(Clone, Debug)]
pub struct MappingScan {
    /// The mappings, each with what all processes hold of it.
    pub groups: Vec<Group>,
    /// Number of processes read.
    pub read: usize,
    /// Number of processes that could not be read, whose memory the sums lack.
    pub missing: usize,
    /// When the scan began, on the snapshots' monotonic clock.
    pub at: Duration,
}

// The rows that the user asks for: their kind, and the filters they must pass.

/// The part of the snapshot that the user asks to see.
#[derive(Clone, Debug)]
pub struct QueryState {
    /// The kind of rows.
    pub scope: Scope,
    pub filter: FilterState,
    /// While mappings are shown: the filter of the processes, by which they were chosen.
    pub outer_filter: Option<FilterState>,
    /// Only the processes of this user.
    pub user: Option<Arc<[u8]>>,
    /// The text that is searched for, lower-cased.
    pub search: Option<String>,
    /// Processes stand in a tree.
    pub tree: bool,
    /// The processes whose subtrees are folded.
    pub folded: HashSet<Identity>,
    /// Equal siblings are folded into one row.
    pub folds: bool,
    /// The equal siblings that have a row each all the same.
    pub unfolded: HashSet<GroupKey>,
    /// Kernel threads are listed.
    pub kernel_threads: bool,
}

impl QueryState {
    /// Starts from the settings.
    pub fn new(ui: &UiSettings) -> Self {
        let mut filter = FilterState::default();
        filter.set(&ui.filter);
        Self {
            scope: Scope::by(ui.by),
            filter,
            outer_filter: None,
            user: None,
            search: None,
            tree: ui.tree,
            folded: HashSet::new(),
            folds: ui.fold,
            unfolded: HashSet::new(),
            kernel_threads: ui.kernel_threads,
        }
    }

    /// Returns true if the rows stand in a tree.
    pub const fn shows_tree(&self) -> bool {
        self.tree && self.scope.lists_processes()
    }

    pub const fn shows_mappings(&self) -> bool {
        matches!(self.scope, Scope::Mappings(_))
    }

    /// Returns the filter that chooses processes, whatever is shown.
    pub fn process_filter(&self) -> &FilterState {
        self.outer_filter.as_ref().unwrap_or(&self.filter)
    }
}

/// The filter as typed and as understood.
#[derive(Clone, Debug, Default)]
pub struct FilterState {
    /// The text as last typed.
    pub text: String,
    /// The last filter that parsed.
    pub filter: Filter,
    /// The text of the last filter that parsed.
    pub good: String,
    /// The fault in what was typed.
    pub error: Option<FilterError>,
}

impl FilterState {
    /// Parses what was typed as a filter of processes; the last good filter stays where it does not parse.
    pub fn set(&mut self, text: &str) {
        self.set_by(text, &COLUMNS);
    }

    /// Parses what was typed as a filter of rows with these columns.
    pub fn set_by(&mut self, text: &str, schema: &dyn Schema) {
        self.text = text.into();
        match Filter::parse(text, schema) {
            Ok(filter) => {
                self.filter = filter;
                self.good = text.into();
                self.error = None;
            }
            Err(error) => self.error = Some(error),
        }
    }
}

// Requests to the rest of the program.

/// Wishes to the sampler, and requests that are under way.
#[derive(Debug)]
pub struct Requests {
    /// The time between two snapshots.
    pub interval: Duration,
    /// Sampling is stopped.
    pub paused: bool,
    /// Number of snapshots asked for by hand.
    pub refresh: u64,
    /// The scan of all processes' mappings that is under way.
    pub scan: Option<ScanProgress>,
    /// Number of scans so far.
    pub scans: u64,
    /// The process whose mappings are read again and again.
    pub inspected: Option<Inspect>,
    /// The processes whose hot and cold memory is looked at.
    pub looks: Vec<Look>,
    /// The processes whose referenced bits were cleared because they are called a leak, each with its exec count.
    pub proved: Vec<(Identity, u32)>,
    /// Actions on processes that are under way.
    pub acts: PendingActions,
}

impl Requests {
    /// Asks for snapshots at this interval, and for nothing else.
    pub fn new(interval: Duration) -> Self {
        Self {
            interval,
            paused: false,
            refresh: 0,
            scan: None,
            scans: 0,
            inspected: None,
            looks: Vec::new(),
            proved: Vec::new(),
            acts: PendingActions::default(),
        }
    }
}

/// The progress of a scan of all processes' mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanProgress {
    /// The scan's number: what another one reports is not taken in.
    pub number: u64,
    /// Number of processes read.
    pub done: usize,
    /// Number of processes to read.
    pub all: usize,
    /// When it began, on the snapshots' monotonic clock.
    pub began: Duration,
}

// The screen's size, and how figures are shown on it.

/// A line that says how something went, until the next key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The text, safe to print.
    pub text: String,
    /// It reports a failure.
    pub bad: bool,
}

/// The height of the graph of the machine's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GraphHeight {
    /// By the room there is.
    #[default]
    Auto,
    /// A few lines.
    Low,
    /// Many lines.
    High,
    /// There is none.
    Off,
}

impl GraphHeight {
    const ALL: [(Self, &str); 4] = [
        (Self::Auto, "auto"),
        (Self::Low, "low"),
        (Self::High, "high"),
        (Self::Off, "off"),
    ];
    /// From so many lines on there is room for a graph beside the table.
    const ROOMY: u16 = 40;

    pub fn from_name(name: &str) -> Self {
        let found = Self::ALL.iter().find(|(_, known)| *known == name);
        found.map_or_else(Self::default, |(height, _)| *height)
    }

    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()].0
    }

    /// Returns how many lines it takes of a screen so high, its axis with them.
    pub const fn lines(self, height: u16) -> u16 {
        match self {
            Self::Auto if height >= Self::ROOMY => (height / 8 + 1) & !1,
            Self::Low => 6,
            Self::High => 10,
            Self::Auto | Self::Off => 0,
        }
    }
}

/// The screen's size, and the choices that apply to all of it.
#[derive(Debug)]
pub struct Screen {
    /// The terminal's columns and rows.
    pub size: (u16, u16),
    /// The time zone that moments are shown in.
    pub zone: TimeZone,
    /// The unit that bytes are written in.
    pub units: Units,
    /// The time that charts and sparklines span.
    pub chart: Chart,
    /// The machine has swap, or it is not known.
    pub has_swap: bool,
    pub totals_row: bool,
    /// The height of the graph of the machine's memory.
    pub graph: GraphHeight,
    /// The panel of the selected row is open.
    pub panel_open: bool,
    /// Enter on a process chooses it, which ends the monitor.
    pub picking: bool,
    /// The message that is shown until the next key.
    pub message: Option<Message>,
    /// The message is that of the first start, which goes after some snapshots, too.
    pub greets: bool,
}

impl Screen {
    /// Starts from the settings.
    pub fn new(ui: &UiSettings, size: (u16, u16)) -> Self {
        Self {
            size,
            zone: TimeZone::UTC,
            units: ui.units,
            chart: Chart::over(&ui.span),
            has_swap: true,
            totals_row: ui.totals,
            graph: GraphHeight::from_name(&ui.graph),
            panel_open: false,
            picking: false,
            message: None,
            greets: false,
        }
    }

    /// Says how something went well, or why it was not done.
    pub fn say(&mut self, text: impl Into<String>) {
        let text = text.into();
        (self.message, self.greets) = (Some(Message { text, bad: false }), false);
    }

    /// Says how something failed.
    pub fn fail(&mut self, text: impl Into<String>) {
        let text = text.into();
        (self.message, self.greets) = (Some(Message { text, bad: true }), false);
    }
}

// The tables on the screen, and what they have in common.

/// The tables on screen: one, or two side by side.
#[derive(Debug)]
pub struct Tables {
    /// The table that is shown alone.
    pub single: Table,
    /// The table by PSS and the table by swap.
    pub pair: [Table; 2],
    /// The pair is shown.
    pub two: bool,
    /// The index in `pair` of the table that keys go to.
    pub active: usize,
    /// The chosen columns of processes.
    pub columns: Vec<ColumnId>,
    pub group_columns: Vec<ColumnId>,
    pub mapping_columns: Vec<ColumnId>,
    /// Number of columns scrolled away on the left.
    pub scroll: usize,
    /// The tagged processes and groups.
    pub tags: HashSet<RowKey>,
    /// The row that was clicked last, and when.
    pub clicked: Option<(RowKey, Duration)>,
    /// The selection is followed even at the first row.
    pub follow: bool,
    /// The order of rows is kept.
    pub frozen: bool,
    /// The column sorted by is no longer only that of the settings.
    pub sort_is_chosen: bool,
}

impl Tables {
    /// Starts empty, with the columns of the settings.
    pub fn new(ui: &UiSettings) -> Self {
        Self {
            single: Table::new(ui.columns.clone(), ui.sort, ui.descending),
            pair: [layout::PSS, layout::SWAP].map(|sort| Table::new(Vec::new(), sort, true)),
            two: ui.two_tables,
            active: 0,
            columns: ui.columns.clone(),
            group_columns: ui.group_columns.clone(),
            mapping_columns: layout::MAPPINGS.to_vec(),
            scroll: 0,
            tags: HashSet::new(),
            clicked: None,
            follow: false,
            frozen: false,
            sort_is_chosen: false,
        }
    }

    /// Returns the tables on screen, from left to right.
    pub fn shown(&self) -> &[Table] {
        if self.two {
            &self.pair
        } else {
            std::slice::from_ref(&self.single)
        }
    }

    /// Returns the tables on screen, to change.
    pub fn shown_mut(&mut self) -> &mut [Table] {
        if self.two {
            &mut self.pair
        } else {
            std::slice::from_mut(&mut self.single)
        }
    }

    /// Returns the table that keys go to.
    pub fn current(&self) -> &Table {
        &self.shown()[if self.two { self.active } else { 0 }]
    }

    /// Returns the table that keys go to, to change.
    pub fn current_mut(&mut self) -> &mut Table {
        let active = if self.two { self.active } else { 0 };
        &mut self.shown_mut()[active]
    }
}

// The state of one table: its columns, its order, its rows, and the selection.

#[derive(Clone, Debug)]
pub struct Table {
    /// The columns, from left to right.
    pub columns: Vec<ColumnId>,
    pub sort: ColumnId,
    /// The greatest comes first.
    pub descending: bool,
    /// The rows, in order.
    pub rows: Vec<RowRef>,
    /// The selected process or group.
    pub selected: Option<RowKey>,
    /// Its index in `rows`, and the first row on screen.
    pub list: ListState,
}

impl Table {
    pub fn new(columns: Vec<ColumnId>, sort: ColumnId, descending: bool) -> Self {
        Self {
            columns,
            sort,
            descending,
            rows: Vec::new(),
            selected: None,
            list: ListState::default(),
        }
    }

    /// Sorts by a column; the other way round if it is sorted by it already.
    pub fn sort_by(&mut self, column: ColumnId) {
        if self.sort == column {
            self.descending = !self.descending;
        } else {
            self.sort = column;
            self.descending = !column.get().ascending;
        }
    }

    /// Sorts by the column `step` places from the present one among those shown.
    pub fn sort_beside(&mut self, step: isize) {
        let at = self.columns.iter().position(|c| *c == self.sort);
        let last = self.columns.len().saturating_sub(1);
        let to = at.map_or(0, |at| at.saturating_add_signed(step).min(last));
        if let Some(column) = self.columns.get(to).copied().filter(|c| *c != self.sort) {
            self.sort_by(column);
        }
    }

    /// Moves the selection by rows, with `height` of them on screen.
    pub fn step(&mut self, rows: isize, height: usize) {
        self.select_index(self.list.cursor.saturating_add_signed(rows), height);
    }

    /// Selects a row by its index, the last one at most.
    pub fn select_index(&mut self, index: usize, height: usize) {
        self.list.select(index, self.rows.len(), height);
        self.selected = self.selected_row().map(|row| row.key.clone());
    }

    /// Finds the selection among new rows. It stays with its process or group; at the first row it stays at the top
    /// unless `follow` holds it; where its row is gone it stays at its index.
    pub fn reselect(&mut self, follow: bool, height: usize) {
        let cursor = self.list.cursor;
        let found = self.position(self.selected.as_ref());
        self.select_index(found.filter(|_| follow || cursor > 0).unwrap_or(cursor), height);
    }

    fn position(&self, key: Option<&RowKey>) -> Option<usize> {
        let key = key?;
        self.rows.iter().position(|row| row.key == *key)
    }

    /// Selects a row by its key; the first one where it is not there.
    pub fn select_key(&mut self, key: Option<&RowKey>, height: usize) {
        self.list.offset = 0;
        self.select_index(self.position(key).unwrap_or(0), height);
    }

    /// Scrolls as little as is needed for the selection to be on screen.
    pub fn scroll_to_selection(&mut self, height: usize) {
        self.list.select(self.list.cursor, self.rows.len(), height);
    }

    pub fn selected_row(&self) -> Option<&RowRef> {
        self.rows.get(self.list.cursor)
    }
}

// The kinds of rows that the tables show.

/// The kind of rows that the tables show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    Processes,
    /// The processes of one group.
    Members(GroupKey),
    Groups(GroupBy),
    /// The mappings of processes, read once; and the scope it was asked for in.
    Mappings(Box<Scope>),
}

impl Scope {
    /// Returns the scope of such groups; without, that of processes.
    pub fn by(by: Option<GroupBy>) -> Self {
        by.map_or(Self::Processes, Self::Groups)
    }

    pub const fn lists_processes(&self) -> bool {
        matches!(self, Self::Processes | Self::Members(_))
    }

    /// Returns what its rows are grouped by; `None` where they are processes.
    pub const fn grouped_by(&self) -> Option<GroupBy> {
        match self {
            Self::Processes | Self::Members(_) => None,
            Self::Groups(by) => Some(*by),
            Self::Mappings(_) => Some(GroupBy::Mapping),
        }
    }

    /// Returns the group whose processes it is about.
    pub fn opened_group(&self) -> Option<&GroupKey> {
        match self {
            Self::Members(key) => Some(key),
            Self::Mappings(from) => from.opened_group(),
            Self::Processes | Self::Groups(_) => None,
        }
    }

    /// Returns the grouping that Tab goes on from, and that is saved.
    pub fn grouping(&self) -> Option<GroupBy> {
        match self {
            Self::Processes => None,
            Self::Members(key) => Some(key.by).filter(|by| *by != GroupBy::Siblings),
            Self::Groups(by) => Some(*by),
            Self::Mappings(from) => from.grouping(),
        }
    }

    /// Returns the scope that Tab goes to, or Shift-Tab.
    #[must_use]
    pub fn next(&self, forward: bool, is_fleet: bool) -> Self {
        let ring: &[GroupBy] = if is_fleet {
            &GroupBy::OF_FLEET
        } else {
            &GroupBy::OF_ONE_HOST
        };
        let at = self.grouping().and_then(|by| ring.iter().position(|b| *b == by));
        let by = match (at, forward) {
            (None, true) => ring.first(),
            (None, false) => ring.last(),
            (Some(at), true) => ring.get(at + 1),
            (Some(at), false) => at.checked_sub(1).and_then(|at| ring.get(at)),
        };
        Self::by(by.copied())
    }
}

/// Maximum number of pending actions: a key that repeats must not fill the memory. Of those before, no results are
/// shown.
const MAX_PENDING: usize = 64;

/// An action whose result is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tui) struct PendingAction {
    pub(in crate::tui) request: RequestId,
    pub(in crate::tui) name: String,
    /// Its processes, in the order in which they were pinned.
    pub(in crate::tui) processes: Vec<Identity>,
}

/// The pending actions, and the last request.
#[derive(Debug, Default)]
pub struct PendingActions {
    last_request: RequestId,
    actions: VecDeque<PendingAction>,
}

impl PendingActions {
    pub(in crate::tui) const fn next_request(&mut self) -> RequestId {
        self.last_request += 1;
        self.last_request
    }

    pub(in crate::tui) fn add(&mut self, action: PendingAction) {
        if self.actions.len() == MAX_PENDING {
            self.actions.pop_front();
        }
        self.actions.push_back(action);
    }

    /// Returns the first action of a request.
    pub(in crate::tui) fn get(&self, request: RequestId) -> Option<&PendingAction> {
        self.actions.iter().find(|action| action.request == request)
    }

    pub(in crate::tui) fn remove(&mut self, request: RequestId) {
        self.actions.retain(|action| action.request != request);
    }
}
