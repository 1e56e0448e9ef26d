//! The monitor's state, on which both `update` and `view` are built: its parts, and the methods that need several of them.

mod columns;
pub(in crate::tui) use columns::RightShows;
mod modal;
mod page;

use std::collections::{HashMap, HashSet, VecDeque};
use std::iter;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crossterm::event::KeyEvent;
use jiff::tz::TimeZone;
pub use modal::{Hint, Modal, Response};
pub use page::{HelpSection, Page, PageKey, PageTable, Pages};

use crate::act::RequestId;
use crate::alert::Alerts;
use crate::call_tree::{CHAIN, Cell, Line, Measured, Order, flame, lines};
use crate::columns::{COLUMNS, ColumnId, Row, layout};
use crate::config::views::View;
use crate::config::{Action, Chord, Config, Context, Settings, UiSettings, alerts};
use crate::engine;
use crate::filter::{Filter, FilterError, Schema};
use crate::group::tree::Forest;
use crate::group::{Coverage, Group, GroupBy, GroupKey, RowKey, Totals, path_of_group};
use crate::history::mappings::{ColdnessTable, Look};
use crate::history::{History, Marks};
use crate::model::kernel::Callers;
use crate::model::kill::KillCause;
use crate::model::page_cache::{CachedFile, PageCache};
use crate::model::{FleetStatus, Identity, ProcessSample, Reading, Snapshot};
use crate::query::{Fold, Folds, Kept, MAX_WITH_PAST, RowRef, RowSource, Siblings};
use crate::sampler::Wanted;
use crate::sampler::inquiry::{Found, Inquiry};
use crate::sampler::page_cache::Progress;
use crate::text::named;
use crate::tui::chart::Chart;
use crate::tui::event::{CacheScope, Effect, Inspect};
use crate::tui::growth::GrowthTracker;
use crate::tui::layout::{Layout, Parts};
use crate::tui::replay::ReplayStatus;
use crate::tui::widgets::{ListState, movement};
use crate::units::Units;

/// Maximum number of processes of one folded row that are in the focus.
const MAX_FOCUSED: usize = 16;

/// The privilege of zmtop's user, which decides what the header advises.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Privilege {
    pub root: bool,
    /// The capability that permits reading every process's figures on this kernel.
    pub capability: &'static str,
    /// The path of zmtop, quoted for a shell.
    pub program: String,
}

/// The rows that the query found in the last snapshot.
#[derive(Debug, Default)]
pub struct Rows {
    /// Every group, including those that the filter excludes; empty if processes are listed.
    pub groups: Vec<Group>,
    /// In tree view: the sums of each process of the snapshot with its descendants.
    pub subtrees: Vec<Totals>,
    /// Number of rows that pass the filter.
    pub matching: usize,
    /// Sums of the shown and of the tagged rows.
    pub totals: Totals,
    pub tagged: Totals,
    /// Number of processes in the snapshot; kernel threads count if they are listed.
    pub listed: usize,
    /// The number of listed processes that could be read.
    pub(super) coverage: Coverage,
    /// Equal siblings among the processes, and the rows that they are folded into.
    pub(super) siblings: Siblings,
    pub(super) folds: Folds,
    /// The rows of each table before folding; empty if nothing is folded.
    pub(super) unfolded: Vec<Vec<RowRef>>,
    /// Data that a plain list of processes keeps from one snapshot to the next.
    pub(super) kept: Option<Kept>,
}

impl Rows {
    /// Returns the age of the oldest figure: at least the interval; else the time since the oldest walk whose figure may be
    /// wrong by more than the tolerance. In a fleet every figure may have changed since its sample.
    pub fn age(&self, snapshot: &Snapshot) -> Duration {
        let age = match (&snapshot.fleet, self.coverage.uncertain_since) {
            (Some(fleet), _) => fleet.age(snapshot.monotonic),
            (None, since) => since.map(|at| snapshot.monotonic.saturating_sub(at)),
        };
        age.unwrap_or_default().max(snapshot.interval)
    }
}

/// The state of the live screen, set aside while a recording is shown.
#[derive(Debug, Default)]
struct Aside {
    marks: Marks,
    growth: GrowthTracker,
    coldness: ColdnessTable,
    tags: HashSet<RowKey>,
}

/// The state of the recording that the user has started.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingStatus {
    /// The reason why the last snapshot was lost, safe to print.
    pub fault: Option<String>,
}

pub struct App {
    pub config: Config,
    /// The fault of the config on disk, safe to print; `None` if it is the one in force.
    pub config_fault: Option<String>,
    pub privilege: Privilege,
    /// The snapshot, and what is derived from it. The run loop lends it from the engine for each event and each frame; in
    /// between it is empty.
    pub engine: engine::State,
    pub data: Data,
    pub query: QueryState,
    pub rows: Rows,
    pub tables: Tables,
    pub screen: Screen,
    pub requests: Requests,
    pub pages: Pages,
    /// The state of the queries to Prometheus; `None` if the rows are of this machine.
    pub fleet: Option<FleetStatus>,
    /// The player of the recording that is shown; `None` if the rows are of now.
    pub replay: Option<ReplayStatus>,
    /// The recording that the user has started; `None` if there is none.
    pub recording: Option<RecordingStatus>,
    /// While a recording is shown: the kept state of the present; otherwise empty.
    aside: Aside,
    /// The popup, dialog or prompt that receives the keys in place of the table.
    pub modal: Option<Box<dyn Modal>>,
}

impl App {
    pub fn new(config: Config, privilege: Privilege, size: (u16, u16)) -> Self {
        let settings = &config.settings;
        let mut app = Self {
            config_fault: None,
            privilege,
            engine: Self::engine_state(settings),
            data: Data::default(),
            query: QueryState::new(&settings.ui),
            rows: Rows::default(),
            tables: Tables::new(&settings.ui),
            screen: Screen::new(&settings.ui, size),
            requests: Requests {
                interval: settings.sampler.interval,
                ..Requests::default()
            },
            pages: Pages::default(),
            fleet: None,
            replay: None,
            recording: None,
            aside: Aside::default(),
            modal: None,
            config,
        };
        app.apply_columns();
        app
    }

    /// Returns the engine's state before the first snapshot.
    pub fn engine_state(settings: &Settings) -> engine::State {
        let history = History::with_config(settings.history_config(settings.ui.delta));
        engine::State::new(history, Alerts::new(alerts::rules(&settings.alerts)))
    }

    pub fn layout(&self) -> Layout {
        self.layout_of(self.pages.open().is_some())
    }

    fn layout_of(&self, is_page: bool) -> Layout {
        let has_panel = self.has_panel() && !is_page;
        let shown_kill = self.engine.history.shown_kill();
        let parts = Parts {
            page: is_page,
            panel: has_panel,
            two_tables: self.tables.two,
            totals: self.screen.totals_row,
            tagged: self.tagged_rows().next().is_some(),
            swap: self.screen.has_swap,
            unread: self.hides_memory(),
            kills: shown_kill.is_some(),
            kills_last: shown_kill.is_some_and(|(kill, ..)| kill.event.cause() == KillCause::Cgroup),
            stall: !self.engine.history.stalls().is_empty(),
            // Two, as the second may concern another program.
            dangers: self.engine.history.dangers().len().min(2) as u16,
            growth: self.engine.living_suspects().next().is_some(),
            graph: if is_page || has_panel {
                0
            } else {
                self.screen.graph.lines(self.screen.size.1)
            },
            timeline: self.replay.as_ref().is_some_and(|replay| !replay.is_stream),
        };
        Layout::new(self.screen.size, parts)
    }

    /// Returns true if the user may not read the memory of some processes.
    pub const fn hides_memory(&self) -> bool {
        !self.privilege.root
            && self.fleet.is_none()
            && self.replay.is_none()
            && self.rows.coverage.hidden > self.rows.coverage.pending
    }

    pub const fn shows_panel(&self) -> bool {
        self.has_panel() && self.pages.open().is_none()
    }

    /// Returns true if the panel is open, even if another page hides it. It shows processes and groups, no mappings.
    const fn has_panel(&self) -> bool {
        self.screen.panel_open && !self.query.shows_mappings()
    }

    /// Shows how a recording is played, or the present again. What belongs to the processes of the present is kept aside
    /// meanwhile.
    pub fn set_replay(&mut self, replay: Option<ReplayStatus>) {
        if replay.is_some() != self.replay.is_some() {
            std::mem::swap(&mut self.data.marks, &mut self.aside.marks);
            std::mem::swap(&mut self.data.growth, &mut self.aside.growth);
            std::mem::swap(&mut self.data.coldness, &mut self.aside.coldness);
            std::mem::swap(&mut self.tables.tags, &mut self.aside.tags);
            // The message said that the recording is being read.
            let asked = self.requests.visits.take();
            let begins = replay.as_ref().zip(asked);
            let begins = begins.and_then(|(replay, at)| replay.begins_after(at, &self.screen.zone));
            self.screen.message = begins.map(|text| Message::new(text, false));
        }
        self.replay = replay;
    }

    /// Returns the action of a key while no modal is open.
    pub fn action_of(&self, key: KeyEvent) -> Option<Action> {
        let keymap = &self.config.keymap;
        let of_replay = self.replay.as_ref().and_then(|_| keymap.action(Context::Replay, key));
        of_replay.or_else(|| keymap.action(Context::Table, key))
    }

    /// Returns the key to show for an action where no modal is open.
    pub fn key_of(&self, action: Action) -> Option<&Chord> {
        let keymap = &self.config.keymap;
        let of_replay = self.replay.as_ref();
        let of_replay = of_replay.and_then(|_| keymap.shown_key(Context::Replay, action));
        of_replay.or_else(|| keymap.shown_key(Context::Table, action))
    }

    pub fn panel_process(&self) -> Option<Identity> {
        let selected = self.tables.current().selected.as_ref();
        selected.filter(|_| self.shows_panel())?.process()
    }

    /// Returns how many rows a table shows, or would show if no other page hid it.
    pub fn rows_shown(&self) -> usize {
        usize::from(self.layout_of(false).tables[0].height.saturating_sub(1))
    }

    /// Returns the tagged rows of the kind that is shown.
    pub fn tagged_rows(&self) -> impl Iterator<Item = &RowKey> {
        let by = self.query.scope.grouped_by();
        let tags = self.tables.tags.iter();
        tags.filter(move |id| id.group().map(|key| key.by) == by)
    }

    /// Returns the equal siblings that are folded into a row.
    pub fn fold(&self, row: &RowRef) -> Option<&Fold> {
        self.rows.folds.get_at(row.index, &row.key)
    }

    pub fn selected_fold(&self) -> Option<&Fold> {
        self.fold(self.tables.current().selected_row()?)
    }

    /// Returns the group that a row shows; `None` if it shows a process.
    pub fn group(&self, row: &RowRef) -> Option<&Group> {
        match &self.query.scope {
            Scope::Processes | Scope::Members(_) => Some(&self.fold(row)?.group),
            Scope::Groups(_) => self.rows.groups.get(row.index),
            Scope::Mappings(_) => self.data.mappings.as_ref()?.groups.get(row.index),
        }
    }

    /// Returns the values of a table's row; of a folded subtree, their sums.
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

    /// Returns the processes of a folded subtree, with its root; `None` if the row is none. None of them if there are too many for
    /// a chart of their sum.
    pub fn folded_subtree(&self, row: &RowRef) -> Option<Vec<Identity>> {
        let root = row.key.process().filter(|_| row.folded && self.query.shows_tree())?;
        let mut ids = self.below(root);
        ids.push(root);
        Some(if ids.len() > MAX_WITH_PAST { Vec::new() } else { ids })
    }

    /// Returns the processes below one, by their parents.
    pub fn below(&self, id: Identity) -> Vec<Identity> {
        let rows = self
            .engine
            .snapshot
            .as_ref()
            .map_or(&[][..], |snapshot| snapshot.rows());
        let Some(root) = rows.iter().position(|row| row.id == id) else {
            return Vec::new();
        };
        let below = Forest::new(rows).below(root);
        below.into_iter().map(|at| rows[at].id).collect()
    }

    pub fn selected_group(&self) -> Option<&Group> {
        self.group(self.tables.current().selected_row()?)
    }

    /// Returns the cgroup of the selected or opened group, if the group is a cgroup, a unit, a container or a pod.
    pub fn selected_cgroup(&self) -> Option<(&GroupKey, &[u8])> {
        let snapshot = self.engine.snapshot.as_ref().filter(|_| self.fleet.is_none())?;
        if let Scope::Members(key) = &self.query.scope {
            let rows = self.tables.current().rows.iter();
            let members = rows.flat_map(|row| match self.fold(row) {
                Some(fold) => fold.group.members.iter(),
                None => std::slice::from_ref(&row.index).iter(),
            });
            let members: Vec<_> = members.copied().collect();
            return Some((key, path_of_group(key, &members, snapshot)?));
        }
        let group = self.selected_group()?;
        Some((&group.key, path_of_group(&group.key, &group.members, snapshot)?))
    }

    /// Returns true if the panel of a group is open from which Enter goes to the memory of its cgroup.
    pub fn panel_leads_to_cgroup(&self) -> bool {
        let has_panel = self.shows_panel() && matches!(self.query.scope, Scope::Groups(_));
        has_panel && self.selected_cgroup().is_some()
    }

    pub fn selected_sample<'a>(&self, snapshot: &'a Snapshot) -> Option<&'a ProcessSample> {
        let row = self.tables.current().selected_row()?;
        row.key.process()?;
        snapshot.rows().get(row.index)
    }

    /// Selects a row in every table, or the row that it is folded into; the first row if there is no such one.
    pub fn select_row(&mut self, key: Option<&RowKey>) {
        let folded = key.zip(self.engine.snapshot.as_ref());
        let folded = folded.and_then(|(key, snapshot)| self.rows.folds.holding(key, snapshot));
        let folded = folded.map(|fold| RowKey::Group(fold.group.key.clone()));
        let key = folded.as_ref().or(key);
        let height = self.rows_shown();
        for table in self.tables.shown_mut() {
            table.list.offset = 0;
            table.select_index(table.position(key).unwrap_or(0), height);
        }
    }

    /// Scrolls every table as little as is needed to show its selection, after a change of their height.
    pub fn scroll_to_selection(&mut self) {
        let height = self.rows_shown();
        for table in self.tables.shown_mut() {
            table.list.select(table.list.cursor, table.rows.len(), height);
        }
    }

    pub fn move_selection(&mut self, rows: isize) {
        let height = self.rows_shown();
        let table = self.tables.current_mut();
        table.select_index(table.list.cursor.saturating_add_signed(rows), height);
    }

    /// Performs an action that moves the selection; returns false for another one.
    pub fn on_movement(&mut self, action: Action) -> bool {
        let Some(to) = movement(action) else { return false };
        let height = self.rows_shown();
        let table = self.tables.current_mut();
        table.select_index(to(table.list.cursor, height.max(1)), height);
        true
    }

    pub fn row_source<'a>(&'a self, snapshot: &'a Snapshot) -> RowSource<'a> {
        RowSource {
            snapshot,
            history: Some(&self.engine.history),
            mark: self.data.marks.current(),
            coldness: Some(&self.data.coldness),
            span: Some(self.screen.chart.span().time),
        }
    }

    /// Shows a saved view. Tags and marks stay.
    pub fn show_view(&mut self, ui: &UiSettings) {
        self.close_page();
        self.query = QueryState::new(ui);
        let tags = std::mem::take(&mut self.tables.tags);
        self.tables = Tables {
            tags,
            sort_is_chosen: true,
            ..Tables::new(ui)
        };
        self.screen.units = ui.units;
        self.screen.chart = Chart::over(&ui.span);
        self.screen.graph = GraphHeight::from_id(&ui.graph).unwrap_or(GraphHeight::Auto);
        self.apply_columns();
    }

    /// Returns the settings that `W` saves.
    pub fn saved(&self) -> UiSettings {
        UiSettings {
            columns: self.tables.columns.clone(),
            group_columns: self.tables.group_columns.clone(),
            by: self.query.scope.grouping(),
            sort: self.tables.order().0,
            descending: self.tables.order().1,
            filter: self.query.process_filter().good.clone(),
            units: self.screen.units,
            tree: self.query.tree,
            fold: self.query.folds,
            two_tables: self.tables.two,
            kernel_threads: self.query.kernel_threads,
            span: self.screen.chart.span().id.into(),
            graph: self.screen.graph.id().into(),
            ..self.config.settings.ui.clone()
        }
    }

    /// Returns what the sampler must read for this state.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            interval: self.requests.interval,
            paused: self.requests.paused,
            focus: self.focus(),
            needs: self.needs(),
            inspected: self.page().and_then(Page::inspected),
            refresh: self.requests.refresh,
        }
    }

    /// Returns the focus, ordered by pid: the processes on the screen and tagged, and a few of each folded row; none while
    /// another page is open. Members of groups are excluded: they may be all processes, and changed ones are read first anyway.
    pub fn focus(&self) -> Vec<Identity> {
        if self.pages.open().is_some() {
            return Vec::new();
        }
        let rows = self.rows_shown();
        let tagged = self.tables.tags.iter().filter_map(RowKey::process);
        let mut ids: Vec<Identity> = tagged.chain(self.panel_process()).collect();
        let tables = self.tables.shown().iter();
        for row in tables.flat_map(|t| t.rows.iter().skip(t.list.offset).take(rows)) {
            match (self.fold(row), &self.engine.snapshot) {
                (Some(fold), Some(snapshot)) => ids.extend(fold.ids(snapshot).take(MAX_FOCUSED)),
                _ => ids.extend(row.key.process()),
            }
        }
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

/// Data that was read because the screen asked for it.
#[derive(Debug, Default)]
pub struct Data {
    pub marks: Marks,
    pub mappings: Option<MappingScan>,
    /// The mappings of inspected processes over time.
    pub growth: GrowthTracker,
    /// Hot and cold memory of the processes that the user chose.
    pub coldness: ColdnessTable,
    pub callers: TracedCallers,
    pub cache: CacheReads,
    /// The saved views, as read when they were asked for last; `None` before.
    pub views: Option<Vec<View>>,
    pub asked: Option<Asked>,
    pub call_paths: CallPathData,
}

/// A question about a process, and the answer once it has arrived.
#[derive(Debug)]
pub struct Asked {
    pub inquiry: Inquiry,
    pub id: Identity,
    /// The pid and the name, safe to print.
    pub name: String,
    pub found: Option<Reading<Found>>,
}

/// The code that allocates the memory of a process, measured while its popup is open.
#[derive(Debug, Default)]
pub struct CallPathData {
    /// The number of the last measurement; reports of earlier ones are dropped.
    pub number: u64,
    pub runs: bool,
    /// The process.
    pub id: Option<Identity>,
    /// Its pid and name, safe to print.
    pub name: String,
    pub found: Option<Result<Arc<Measured>, String>>,
    pub view: CallPathView,
    /// The call paths of processes that grow, which are sampled all along, the newest last.
    pub armed: Vec<(Identity, Arc<Measured>)>,
    /// `found` is one of them.
    pub is_armed: bool,
    /// The lines of the tree of `found`, or the cells of its flame graph.
    pub lines: Vec<Line>,
    pub cells: Vec<Cell>,
}

/// A way to show call paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallPathView {
    #[default]
    Callers,
    Callees,
    Flame,
}

impl CallPathView {
    /// Returns the order of the tree that it shows.
    pub const fn order(self) -> Order {
        match self {
            Self::Callers => Order::Callers,
            Self::Callees | Self::Flame => Order::Callees,
        }
    }
}

impl CallPathData {
    /// Branches with a smaller share of the kept bytes are summed.
    const LEAST: f64 = 0.01;

    /// The most processes of [`Self::armed`].
    const MAX_ARMED: usize = 16;

    /// Shows the samples of a process since it began to grow. Returns false if it was not sampled.
    pub fn show_armed(&mut self, id: Identity, name: String) -> bool {
        let Some((_, found)) = self.armed.iter().find(|(of, _)| *of == id) else {
            return false;
        };
        self.found = Some(Ok(Arc::clone(found)));
        (self.id, self.name) = (Some(id), name);
        self.is_armed = true;
        self.draw_tree();
        true
    }

    pub fn take_in_armed(&mut self, id: Identity, found: Arc<Measured>) {
        self.armed.retain(|(of, _)| *of != id);
        if self.armed.len() == Self::MAX_ARMED {
            self.armed.remove(0);
        }
        self.armed.push((id, Arc::clone(&found)));
        if self.is_armed && self.id == Some(id) {
            self.found = Some(Ok(found));
            self.draw_tree();
        }
    }

    /// Starts a measurement of another process, or continues with the result of the last one.
    pub fn start(&mut self, id: Identity, name: String) -> Effect {
        self.number += 1;
        self.runs = true;
        if self.id != Some(id) || std::mem::take(&mut self.is_armed) {
            self.found = None;
            (self.lines, self.cells) = (Vec::new(), Vec::new());
        }
        (self.id, self.name) = (Some(id), name);
        Effect::Measure(Some((self.number, id)))
    }

    pub fn take_in(&mut self, number: u64, found: Result<Arc<Measured>, String>) {
        if number != self.number {
            return;
        }
        // The last result stays if the process ends.
        if found.is_ok() || !matches!(self.found, Some(Ok(_))) {
            self.found = Some(found);
        }
        self.draw_tree();
    }

    /// Shows them the next way.
    pub fn turn(&mut self) {
        self.view = match self.view {
            CallPathView::Callers => CallPathView::Callees,
            CallPathView::Callees => CallPathView::Flame,
            CallPathView::Flame => CallPathView::Callers,
        };
        self.draw_tree();
    }

    fn draw_tree(&mut self) {
        let Some(Ok(measured)) = &self.found else { return };
        let tree = measured.stacks.tree(self.view.order());
        self.lines = lines(&tree, Self::LEAST, CHAIN);
        self.cells = flame(&tree, Self::LEAST / 4.0);
    }
}

/// The files that fill the page cache, read when their list is opened.
#[derive(Debug, Default)]
pub struct CacheReads {
    /// The number of reads so far; reports of earlier ones are dropped.
    pub number: u64,
    /// The progress of the read under way.
    pub progress: Option<Progress>,
    scope: CacheScope,
    /// The last result.
    pub found: Option<Reading<Arc<PageCache>>>,
    /// The file system in memory whose files were read first, what each had cached then, and what grew since.
    files: Option<MountFiles>,
}

/// The files of a file system in memory that grows.
#[derive(Debug)]
struct MountFiles {
    mount: Arc<[u8]>,
    first: HashMap<Box<[u8]>, u64>,
    /// The file that grew most since, or else the largest; none if it is only a small part of them.
    grower: Option<CachedFile>,
    /// The time at which they are read again, on the snapshots' monotonic clock.
    next: Duration,
}

/// Minimum share of all growth in a file system, as a divisor, of the file that is named.
const MIN_FILE_SHARE: u64 = 4;
/// Time between two readings of the files of a file system that grows.
const MOUNT_INTERVAL: Duration = Duration::from_secs(60);

impl MountFiles {
    fn take_in(&mut self, files: &[CachedFile]) {
        let cached = |file: &CachedFile| file.figures.map_or(0, |figures| figures.cached);
        if self.first.is_empty() {
            self.first = files.iter().map(|file| (file.path.clone(), cached(file))).collect();
        }
        let grown = |file: &CachedFile| cached(file).saturating_sub(self.first.get(&file.path).copied().unwrap_or(0));
        let all: u64 = files.iter().map(grown).sum();
        let of: &dyn Fn(&CachedFile) -> u64 = if all > 0 { &grown } else { &cached };
        let all: u64 = files.iter().map(of).sum();
        let most = files.iter().max_by_key(|file| of(file));
        self.grower = most.filter(|file| of(file) > all / MIN_FILE_SHARE).cloned();
    }
}

impl CacheReads {
    /// Starts a read, unless the same one is under way.
    pub fn start(&mut self, scope: CacheScope) -> Option<Effect> {
        if self.scope != scope {
            (self.progress, self.found) = (None, None);
            self.scope = scope;
        }
        if self.progress.is_some() {
            return None;
        }
        self.number += 1;
        self.progress = Some(Progress::Listing(0, 0, 0));
        Some(Effect::ReadCache(self.number, self.scope.clone()))
    }

    /// Returns the file of a file system in memory that grew most while it was watched, or else the largest.
    pub fn grower_in(&self, mount: &[u8]) -> Option<&CachedFile> {
        let files = self.files.as_ref().filter(|files| *files.mount == *mount)?;
        files.grower.as_ref()
    }

    /// Starts a read of the files of a file system that grows, if it is time for it.
    pub fn follow_mount(&mut self, mount: &Arc<[u8]>, now: Duration) -> Option<Effect> {
        if self.progress.is_some() {
            return None;
        }
        let files = self.files.take().filter(|files| files.mount == *mount);
        let files = files.unwrap_or_else(|| MountFiles {
            mount: Arc::clone(mount),
            first: HashMap::new(),
            grower: None,
            next: now,
        });
        let is_due = now >= files.next;
        let next = if is_due { now + MOUNT_INTERVAL } else { files.next };
        self.files = Some(MountFiles { next, ..files });
        is_due
            .then(|| self.start(CacheScope::Mount(Arc::clone(mount))))
            .flatten()
    }

    pub const fn follow(&mut self, number: u64, progress: Progress) {
        if number == self.number && self.progress.is_some() {
            self.progress = Some(progress);
        }
    }

    pub fn take_in(&mut self, number: u64, found: Reading<Arc<PageCache>>) {
        if number == self.number {
            let read = found.as_ref().ok().map(|found| &found.files[..]);
            if let (CacheScope::Mount(path), Some(read)) = (&self.scope, read) {
                let files = self.files.take().filter(|files| files.mount == *path);
                let mut files = files.unwrap_or_else(|| MountFiles {
                    mount: Arc::clone(path),
                    first: HashMap::new(),
                    grower: None,
                    next: Duration::ZERO,
                });
                files.take_in(read);
                self.files = Some(files);
            }
            (self.progress, self.found) = (None, Some(found));
        }
    }
}

/// The call sites of the kernel's allocator, traced while the screen shows them.
#[derive(Debug, Default)]
pub struct TracedCallers {
    pub runs: bool,
    /// The number of the last trace; reports of earlier ones are dropped.
    pub number: u64,
    /// The call sites seen so far, or why tracing is refused and what would permit it; `None` before the first report.
    pub found: Option<Result<Arc<Callers>, String>>,
    /// Rows are call sites instead of functions.
    pub by_site: bool,
}

impl TracedCallers {
    pub fn take_in(&mut self, number: u64, report: Result<Arc<Callers>, String>) {
        if number == self.number && self.runs {
            self.found = Some(report);
        }
    }

    /// Starts or stops the trace; returns an effect if that is a change.
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

/// The mappings of all processes, as one scan read them.
#[derive(Clone, Debug)]
pub struct MappingScan {
    /// The mappings, each summed over all processes.
    pub groups: Vec<Group>,
    /// Number of processes read.
    pub read: usize,
    /// Number of processes that could not be read; their memory is missing from the sums.
    pub missing: usize,
    /// The beginning of the scan, on the snapshots' monotonic clock.
    pub at: Duration,
}

/// The rows that the user asks for: their kind, and the filters they must pass.
#[derive(Clone, Debug, Default)]
pub struct QueryState {
    pub scope: Scope,
    pub filter: FilterState,
    /// While mappings are shown: the filter that chose the processes to scan.
    pub outer_filter: Option<FilterState>,
    /// While mappings are shown: the row that was selected before, unless it was the first.
    pub outer_row: Option<RowKey>,
    /// Only the processes of this user.
    pub user: Option<Arc<[u8]>>,
    /// The search, lower-cased.
    pub search: Option<String>,
    /// Processes are shown as a tree.
    pub tree: bool,
    /// The processes whose subtrees are folded.
    pub folded: HashSet<Identity>,
    /// Equal siblings are folded into one row.
    pub folds: bool,
    /// The equal siblings that have a row each all the same.
    pub unfolded: HashSet<GroupKey>,
    pub kernel_threads: bool,
}

impl QueryState {
    fn new(ui: &UiSettings) -> Self {
        let mut filter = FilterState::default();
        filter.set(&ui.filter);
        Self {
            scope: Scope::by(ui.by),
            filter,
            tree: ui.tree,
            folds: ui.fold,
            kernel_threads: ui.kernel_threads,
            ..Self::default()
        }
    }

    pub const fn shows_tree(&self) -> bool {
        self.tree && self.scope.lists_processes()
    }

    pub const fn shows_mappings(&self) -> bool {
        matches!(self.scope, Scope::Mappings(_))
    }

    /// Returns the filter of processes, even if mappings are shown.
    pub fn process_filter(&self) -> &FilterState {
        self.outer_filter.as_ref().unwrap_or(&self.filter)
    }
}

/// The filter as typed and as parsed.
#[derive(Clone, Debug, Default)]
pub struct FilterState {
    /// The text as last typed.
    pub text: String,
    /// The filter that applies, and its text: all of it, or the terms before the one that does not parse.
    pub filter: Filter,
    pub good: String,
    pub error: Option<FilterError>,
}

impl FilterState {
    /// Parses a filter of processes. If the text does not parse, the terms before the fault apply.
    pub fn set(&mut self, text: &str) {
        self.set_by(text, &COLUMNS);
    }

    /// Parses a filter of rows with these columns.
    pub fn set_by(&mut self, text: &str, schema: &dyn Schema) {
        self.text = text.into();
        match Filter::parse(text, schema) {
            Ok(filter) => {
                self.filter = filter;
                self.good = text.into();
                self.error = None;
            }
            Err(error) => {
                let fault = text.char_indices().nth(error.at).map_or(text.len(), |(byte, _)| byte);
                let ends = text[..fault].char_indices().rev().filter(|(_, c)| c.is_whitespace());
                let before = ends.map(|(byte, _)| &text[..byte]).chain([""]);
                let mut sound = before.filter_map(|text| Some((Filter::parse(text, schema).ok()?, text)));
                if let Some((filter, text)) = sound.next() {
                    (self.filter, self.good) = (filter, text.trim().into());
                }
                self.error = Some(error);
            }
        }
    }
}

/// Requests to the sampler, and those under way.
#[derive(Debug, Default)]
pub struct Requests {
    /// The time between two snapshots.
    pub interval: Duration,
    pub paused: bool,
    /// Number of snapshots requested by hand.
    pub refresh: u64,
    pub scan: Option<ScanProgress>,
    pub scans: u64,
    /// The process whose mappings are read repeatedly.
    pub inspected: Option<Inspect>,
    /// The processes whose hot and cold memory is measured.
    pub looks: Vec<Look>,
    /// The black box is being opened, to be shown at that time.
    pub visits: Option<SystemTime>,
    /// The leaking processes whose referenced bits were cleared as a proof, each with its exec count.
    pub proved: Vec<(Identity, u32)>,
    pub acts: PendingActions,
}

/// The progress of a scan of all processes' mappings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScanProgress {
    /// The scan's number; reports of earlier scans are dropped.
    pub number: u64,
    /// Number of processes read, of all to read.
    pub done: usize,
    pub all: usize,
    /// Its beginning, on the snapshots' monotonic clock.
    pub began: Duration,
}

/// A text in place of the footer until the next key, mostly the result of an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The text, safe to print.
    pub text: String,
    /// It reports a failure.
    pub bad: bool,
    /// The time of snapshots after which it is removed, as it answers no key; `None` if it stays until the next key.
    pub left: Option<Duration>,
}

impl Message {
    pub fn new(text: impl Into<String>, bad: bool) -> Self {
        let (text, left) = (text.into(), None);
        Self { text, bad, left }
    }
}

named! {
    /// The height of the graph of the machine's memory.
    pub enum GraphHeight {
        /// By the height of the screen.
        Auto = "auto",
        Low = "low",
        High = "high",
        Off = "off",
    }
}

impl GraphHeight {
    /// A screen with fewer lines has no room for a graph above the table.
    const ROOMY: u16 = 40;

    #[must_use]
    pub fn next(self) -> Self {
        Self::ALL[(self as usize + 1) % Self::ALL.len()]
    }

    /// Returns the lines of the graph, its axis included, on a screen of that height.
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
    pub zone: TimeZone,
    pub units: Units,
    /// The time that charts and sparklines span.
    pub chart: Chart,
    /// The machine has swap, or it is not known.
    pub has_swap: bool,
    pub totals_row: bool,
    pub graph: GraphHeight,
    pub panel_open: bool,
    /// The row whose panel is scrolled, and the number of lines of its list that are scrolled away.
    pub panel_scroll: Option<(RowKey, usize)>,
    /// Enter on a process chooses it, which ends the monitor.
    pub picking: bool,
    /// A digit with its own action, which waits: with more digits, it begins a pid.
    pub held_digit: Option<char>,
    /// The name of the saved view that is shown; `None` for the view of the config.
    pub view: Option<String>,
    pub message: Option<Message>,
    /// The button of the mouse went down on the time line of a replay, which it drags.
    pub seeks: bool,
}

impl Screen {
    /// The time of snapshots for which news that answer no key are shown.
    pub(in crate::tui) const NEWS: Duration = Duration::from_secs(5);

    fn new(ui: &UiSettings, size: (u16, u16)) -> Self {
        Self {
            size,
            zone: TimeZone::UTC,
            units: ui.units,
            chart: Chart::over(&ui.span),
            has_swap: true,
            totals_row: ui.totals,
            graph: GraphHeight::from_id(&ui.graph).unwrap_or(GraphHeight::Auto),
            panel_open: false,
            panel_scroll: None,
            picking: false,
            held_digit: None,
            view: None,
            message: None,
            seeks: false,
        }
    }

    /// Shows a message that is no failure.
    pub fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message::new(text, false));
    }

    pub fn fail(&mut self, text: impl Into<String>) {
        self.message = Some(Message::new(text, true));
    }

    /// Has the message go by itself after some time of snapshots: it answers no key.
    pub fn let_go(&mut self, after: Duration) {
        if let Some(message) = &mut self.message {
            message.left = Some(after);
        }
    }

    /// Adds bad news that answer no key to the message on the screen, such as the result of the signal that led to them.
    pub(in crate::tui) fn add(&mut self, news: &str) {
        if let Some(message) = &mut self.message {
            message.text = format!("{}; {news}", message.text);
        } else {
            self.fail(news);
            self.let_go(Self::NEWS);
        }
    }

    /// Removes a message whose time is over after a snapshot.
    pub(in crate::tui) fn count_down(&mut self, interval: Duration) {
        let left = self.message.as_mut().and_then(|message| message.left.as_mut());
        if let Some(left) = left {
            *left = left.saturating_sub(interval);
            if left.is_zero() {
                self.message = None;
            }
        }
    }
}

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
    /// The chosen columns of processes, of groups and of mappings.
    pub columns: Vec<ColumnId>,
    pub group_columns: Vec<ColumnId>,
    pub mapping_columns: Vec<ColumnId>,
    /// Number of columns scrolled away on the left.
    pub scroll: usize,
    pub tags: HashSet<RowKey>,
    /// The row that was clicked last, and when.
    pub clicked: Option<(RowKey, Duration)>,
    /// The selection is followed even at the first row.
    pub follow: bool,
    /// The order of rows stays as it is.
    pub frozen: bool,
    /// The user changed the order that the settings ask for.
    pub sort_is_chosen: bool,
    /// While mappings are shown: the sort columns of each table of processes, and whether in descending order.
    order_of_processes: Vec<(ColumnId, bool)>,
}

impl Tables {
    fn new(ui: &UiSettings) -> Self {
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
            order_of_processes: Vec::new(),
        }
    }

    /// Sets the order of mappings: they begin with the order of the processes, if they have that column, and it returns after
    /// them.
    pub(in crate::tui) fn keep_order(&mut self, are_mappings: bool) {
        let tables = || iter::once(&self.single).chain(&self.pair);
        if !are_mappings {
            let kept = std::mem::take(&mut self.order_of_processes);
            let tables = iter::once(&mut self.single).chain(&mut self.pair);
            tables
                .zip(kept)
                .for_each(|(table, order)| (table.sort, table.descending) = order);
        } else if self.order_of_processes.is_empty() {
            self.order_of_processes = tables().map(|table| (table.sort, table.descending)).collect();
            if !layout::is_of_mappings(self.single.sort) {
                (self.single.sort, self.single.descending) = (layout::PSS, true);
            }
        }
    }

    /// Returns the order of the processes, even if mappings are shown.
    fn order(&self) -> (ColumnId, bool) {
        let own = (self.single.sort, self.single.descending);
        self.order_of_processes.first().copied().unwrap_or(own)
    }

    pub fn shown(&self) -> &[Table] {
        if self.two {
            &self.pair
        } else {
            std::slice::from_ref(&self.single)
        }
    }

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

    pub fn current_mut(&mut self) -> &mut Table {
        let active = if self.two { self.active } else { 0 };
        &mut self.shown_mut()[active]
    }
}

#[derive(Clone, Debug)]
pub struct Table {
    pub columns: Vec<ColumnId>,
    pub sort: ColumnId,
    pub descending: bool,
    /// The column sorted by was removed, so it is not shown unless it is chosen.
    pub hides_sort: bool,
    pub rows: Vec<RowRef>,
    pub selected: Option<RowKey>,
    /// The index of the selection in `rows`, and the first row on screen.
    pub list: ListState,
}

impl Table {
    fn new(columns: Vec<ColumnId>, sort: ColumnId, descending: bool) -> Self {
        Self {
            columns,
            sort,
            descending,
            hides_sort: false,
            rows: Vec::new(),
            selected: None,
            list: ListState::default(),
        }
    }

    /// Sorts by a column; reverses the order if it is sorted by that already.
    pub fn sort_by(&mut self, column: ColumnId) {
        if self.sort == column {
            self.descending = !self.descending;
        } else {
            self.sort = column;
            self.descending = !column.get().ascending;
        }
    }

    /// Sorts by the column `step` places to the right of the current one.
    pub fn sort_beside(&mut self, step: isize) {
        let at = self.columns.iter().position(|c| *c == self.sort);
        let last = self.columns.len().saturating_sub(1);
        let to = at.map_or(0, |at| at.saturating_add_signed(step).min(last));
        if let Some(column) = self.columns.get(to).copied().filter(|c| *c != self.sort) {
            self.sort_by(column);
        }
    }

    /// Selects a row by its index, or the last one, with `height` rows on screen.
    pub fn select_index(&mut self, index: usize, height: usize) {
        self.list.select(index, self.rows.len(), height);
        self.selected = self.selected_row().map(|row| row.key.clone());
    }

    /// Finds the selection among new rows. It stays with its process or group; at the first row it stays at the top
    /// unless `follow` is set; if its row is gone it stays at its index.
    pub fn reselect(&mut self, follow: bool, height: usize) {
        let cursor = self.list.cursor;
        let found = self.position(self.selected.as_ref());
        self.select_index(found.filter(|_| follow || cursor > 0).unwrap_or(cursor), height);
    }

    fn position(&self, key: Option<&RowKey>) -> Option<usize> {
        let key = key?;
        self.rows.iter().position(|row| row.key == *key)
    }

    pub fn selected_row(&self) -> Option<&RowRef> {
        self.rows.get(self.list.cursor)
    }
}

/// The kind of rows that the tables show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    #[default]
    Processes,
    /// The processes of one group.
    Members(GroupKey),
    Groups(GroupBy),
    /// The mappings of one scan; and the scope in which it was started.
    Mappings(Box<Scope>),
}

impl Scope {
    pub fn by(by: Option<GroupBy>) -> Self {
        by.map_or(Self::Processes, Self::Groups)
    }

    pub const fn lists_processes(&self) -> bool {
        matches!(self, Self::Processes | Self::Members(_))
    }

    /// Returns the grouping of the rows; `None` if they are processes.
    pub const fn grouped_by(&self) -> Option<GroupBy> {
        match self {
            Self::Processes | Self::Members(_) => None,
            Self::Groups(by) => Some(*by),
            Self::Mappings(_) => Some(GroupBy::Mapping),
        }
    }

    /// Returns the group whose processes, or their mappings, are shown.
    pub fn opened_group(&self) -> Option<&GroupKey> {
        match self {
            Self::Members(key) => Some(key),
            Self::Mappings(from) => from.opened_group(),
            Self::Processes | Self::Groups(_) => None,
        }
    }

    /// Returns the grouping from which Tab continues, and which is saved.
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
        // Processes are at 0, and the groupings after them.
        let count = ring.len() + 1;
        let at = self.grouping().and_then(|by| ring.iter().position(|b| *b == by));
        let step = if forward { 1 } else { count - 1 };
        let next = (at.map_or(0, |at| at + 1) + step) % count;
        Self::by(next.checked_sub(1).map(|at| ring[at]))
    }
}

/// Maximum number of pending actions: a repeating key must not fill the memory. Results of older ones are not shown.
const MAX_PENDING: usize = 64;

/// An action whose result is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tui) struct PendingAction {
    pub(in crate::tui) request: RequestId,
    pub(in crate::tui) name: String,
    /// The processes, in the order in which they were pinned.
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

    pub(in crate::tui) fn get(&self, request: RequestId) -> Option<&PendingAction> {
        self.actions.iter().find(|action| action.request == request)
    }

    pub(in crate::tui) fn remove(&mut self, request: RequestId) {
        self.actions.retain(|action| action.request != request);
    }
}
