//! The monitor's whole state.

use std::collections::HashSet;
use std::sync::Arc;

use super::input::LineEdit;
use super::layout::Layout;
use super::popup::Popup;
use super::table::{Line, Table};
use crate::columns::{Catalogue, ColumnId, find};
use crate::config::Config;
use crate::config::save::Saved;
use crate::model::filter::{Filter, FilterError};
use crate::model::history::History;
use crate::model::{Change, Identity, Row, Series, Snapshot, Totals};
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
}

/// The filter as typed and as understood.
#[derive(Clone, Debug, Default)]
pub struct FilterState {
    /// As last typed.
    pub text: String,
    /// The last one that parsed.
    pub filter: Filter,
    /// The text of the last one that parsed.
    pub good: String,
    /// What is wrong with what was typed.
    pub error: Option<FilterError>,
}

impl FilterState {
    /// Takes in what was typed; the last good filter stays where it does not parse.
    pub fn set(&mut self, text: &str) {
        self.text = text.into();
        match Filter::parse(text, &Catalogue) {
            Ok(filter) => {
                self.filter = filter;
                self.good = text.into();
                self.error = None;
            }
            Err(error) => self.error = Some(error),
        }
    }
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
    /// The chosen columns.
    pub columns: Vec<ColumnId>,
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
    /// The filter.
    pub filter: FilterState,
    /// One user's processes only.
    pub user: Option<Arc<[u8]>>,
    /// What is searched for, lower-cased.
    pub search: Option<String>,
    /// Tree view.
    pub tree: bool,
    /// The folded processes.
    pub folded: HashSet<Identity>,
    /// The tagged processes.
    pub tags: HashSet<Identity>,
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
    /// How something went.
    pub message: Option<Message>,
    /// Sums of the shown rows.
    pub totals: Totals,
    /// Sums of the tagged rows.
    pub tagged: Totals,
    /// In tree view: what each process of the snapshot holds with its descendants.
    pub subtrees: Vec<Totals>,
    /// Which processes the sampler was told are looked at.
    pub focused: Vec<Identity>,
    /// How many processes the filter lets through, by the tables' common rules.
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
            history: History::new(ui.delta),
            columns: ui.columns.clone(),
            units: ui.units,
            interval: config.settings.sampler.interval,
            single: Table::new(ui.columns.clone(), ui.sort, ui.descending),
            pair: [table_of(&PSS_TABLE, "pss"), table_of(&SWAP_TABLE, "swap")],
            two_tables: ui.two_tables,
            active: 0,
            filter,
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
            message: None,
            totals: Totals::default(),
            tagged: Totals::default(),
            subtrees: Vec::new(),
            focused: Vec::new(),
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
        Layout::new(self.size, self.two_tables, self.totals_row, !self.tags.is_empty())
    }

    /// How many rows a table shows.
    pub fn rows_shown(&self) -> usize {
        usize::from(self.layout().tables[0].height.saturating_sub(1))
    }

    /// The row of a table line; a folded one shows the sum of its subtree.
    pub fn row<'a>(&'a self, snapshot: &'a Snapshot, line: &Line) -> Option<Row<'a>> {
        let sample = snapshot.rows().get(line.index)?;
        let mut row = Row::of(sample, self.history.get(sample.id), snapshot);
        if let Some(subtree) = self.subtrees.get(line.index).filter(|_| self.tree) {
            row.subtree = Some(subtree);
            if line.folded {
                row.memory = subtree.memory.as_ref().map_err(|e| *e);
                row.change = Some(&subtree.change);
            }
        }
        Some(row)
    }

    /// Gives the table the chosen columns; a tree shows the sums of its subtrees first.
    pub fn apply_columns(&mut self) {
        let sums = find("tree_pss").filter(|c| self.tree && !self.columns.contains(c));
        self.single.columns = sums.into_iter().chain(self.columns.iter().copied()).collect();
    }

    /// The change of one process.
    pub fn change(&self, id: Identity) -> Option<Change> {
        self.history.get(id).map(Series::change).copied()
    }

    /// What `W` saves.
    pub fn saved(&self) -> Saved {
        Saved {
            columns: self.columns.clone(),
            sort: self.single.sort,
            descending: self.single.descending,
            filter: self.filter.good.clone(),
            units: self.units,
            tree: self.tree,
            two_tables: self.two_tables,
            kernel_threads: self.kernel_threads,
        }
    }

    /// The processes that are looked at: on screen, or tagged; in order of pid.
    pub fn focus(&self) -> Vec<Identity> {
        let rows = self.rows_shown();
        let shown = self
            .tables()
            .iter()
            .flat_map(|t| t.lines.iter().skip(t.offset).take(rows).map(|l| l.id));
        let mut ids: Vec<Identity> = shown.chain(self.tags.iter().copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Whether some part of the screen needs `oom_score`.
    pub fn wants_oom_score(&self) -> bool {
        self.columns
            .iter()
            .chain([&self.single.sort])
            .any(|c| c.get().id == "oom_score")
            || self.filter.good.contains("oom_score")
    }
}

/// The columns of the left one of two tables.
const PSS_TABLE: [&str; 7] = ["pss", "dpss", "uss", "history", "pid", "user", "command"];
/// And of the right one.
const SWAP_TABLE: [&str; 7] = ["swap", "dswap", "swap_pss", "majflt", "pid", "user", "command"];

fn table_of(columns: &[&str], sort: &str) -> Table {
    Table::new(
        columns.iter().copied().filter_map(find).collect(),
        find(sort).unwrap_or(ColumnId(0)),
        true,
    )
}
