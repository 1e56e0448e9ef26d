//! The columns of the tables, by what their rows are; where they stand; and what must be read for them.

use std::borrow::Cow;

use crate::alert::Rule;
use crate::columns::cell::WITHOUT_PACE;
use crate::columns::{AppliesTo, Column, ColumnId, Label, Needs, Priority, TableKind, Unit, layout, needs_of_filter};
use crate::group::GroupBy;
use crate::text;
use crate::trend::Verdict;
use crate::tui::app::{App, Page, Scope, Table};
use crate::tui::widgets::{ColumnLayout, PlacedColumn, place_columns};

/// The width of a screen below which headings and sentences are short.
const NARROW_SCREEN: u16 = 100;

impl App {
    /// Returns the columns chosen for what the rows are now.
    pub const fn chosen_columns(&self) -> &Vec<ColumnId> {
        match self.query.scope {
            Scope::Processes | Scope::Members(_) => &self.tables.columns,
            Scope::Groups(_) => &self.tables.group_columns,
            Scope::Mappings(_) => &self.tables.mapping_columns,
        }
    }

    /// Chooses columns for what the rows are now.
    pub fn choose_columns(&mut self, columns: Vec<ColumnId>) {
        match self.query.scope {
            Scope::Processes | Scope::Members(_) => self.tables.columns = columns,
            Scope::Groups(_) => self.tables.group_columns = columns,
            Scope::Mappings(_) => self.tables.mapping_columns = columns,
        }
        self.apply_columns();
    }

    /// Gives the tables the chosen columns. A tree shows the sums of its subtrees first; groups that are no
    /// cgroups have none of the figures of cgroups, and without swap nothing is swapped out. Where most rows have RSS in place of
    /// PSS, the columns of the settings go that would be empty or say RSS twice.
    pub fn apply_columns(&mut self) {
        let chosen = self.chosen_columns();
        let sums = Some(layout::TREE_PSS).filter(|c| self.query.shows_tree() && !chosen.contains(c));
        let no_cgroups = matches!(
            self.query.scope,
            Scope::Groups(GroupBy::Command | GroupBy::User | GroupBy::Family | GroupBy::Host)
        );
        let has_swap = self.screen.has_swap;
        let ui = &self.config.settings.ui;
        let is_blind = self.is_blind() && [&ui.columns, &ui.group_columns].contains(&chosen);
        let hidden = |c: &ColumnId| c.get().needs.contains(Needs::MEMORY) && !layout::WITHOUT_PSS.contains(c);
        let left_out = |c: &ColumnId| {
            (no_cgroups && c.get().applies_to == AppliesTo::CgroupRows)
                || (*c != self.tables.single.sort
                    && (!has_swap && layout::OF_SWAP.contains(c) || is_blind && hidden(c)))
        };
        let columns: Vec<ColumnId> = chosen.iter().copied().filter(|c| !left_out(c)).collect();
        // Where nothing but those was chosen, they stay: a table has a column.
        let columns = if columns.is_empty() { chosen.clone() } else { columns };
        self.tables.single.columns = sums.into_iter().chain(columns).collect();
        if is_blind {
            self.show_rss();
        }
        if is_blind || self.tables.single.sort == layout::ANON {
            self.insert_anon_column();
        }
        self.insert_mark_column();
        self.insert_cpu_column();
        let pair = match self.query.scope {
            Scope::Processes | Scope::Members(_) => layout::PROCESS_PAIR,
            Scope::Groups(_) => layout::GROUP_PAIR,
            Scope::Mappings(_) => layout::MAPPING_PAIR,
        };
        for (table, columns) in self.tables.pair.iter_mut().zip(pair) {
            table.columns = columns.to_vec();
        }
    }

    /// Takes in that the memory of most processes may not be read. By RSS in place of PSS, processes that share much would come
    /// before those that have much: unless another order was chosen, it is that of anonymous memory.
    pub(in crate::tui) fn sort_without_pss(&mut self) {
        let table = &mut self.tables.single;
        if table.sort == layout::PSS && table.descending && !std::mem::replace(&mut self.tables.sort_is_chosen, true) {
            table.sort = layout::ANON;
        }
    }

    /// Puts RSS, which is known of all, before PSS, which is known of few, and behind that what is of RSS, too.
    fn show_rss(&mut self) {
        let columns = &mut self.tables.single.columns;
        columns.retain(|column| *column != layout::RSS);
        if let Some(at) = columns.iter().position(|column| *column == layout::PSS) {
            columns.insert(at, layout::RSS);
            if columns.get(at + 2) == Some(&layout::DPSS) {
                columns.swap(at + 1, at + 2);
            }
        }
    }

    /// Puts the column of anonymous memory first, unless it was chosen.
    fn insert_anon_column(&mut self) {
        let columns = &mut self.tables.single.columns;
        if !columns.contains(&layout::ANON) {
            columns.insert(0, layout::ANON);
        }
    }

    /// Adds the column of changes since the mark, if there is one, beside that of the last changes, unless such a
    /// column was chosen.
    fn insert_mark_column(&mut self) {
        let chosen = self
            .chosen_columns()
            .iter()
            .any(|c| c.get().needs.contains(Needs::MARK));
        if self.data.marks.is_empty() || chosen || self.query.shows_mappings() {
            return;
        }
        let columns = &mut self.tables.single.columns;
        let beside = |id: ColumnId| columns.iter().position(|c| *c == id);
        let at = beside(layout::DPSS).or_else(|| beside(layout::PSS));
        columns.insert(at.map_or(0, |at| at + 1), layout::MARK_PSS);
    }

    /// Adds the column of CPU or of CPU time where it is sorted by that, before what says who it is.
    fn insert_cpu_column(&mut self) {
        let table = &mut self.tables.single;
        if [layout::CPU, layout::TIME].contains(&table.sort) && !table.columns.contains(&table.sort) {
            let names = |c: &ColumnId| [layout::PID, layout::COMMAND].contains(c) || c.get().label != Label::None;
            let at = table.columns.iter().position(names).unwrap_or(table.columns.len());
            table.columns.insert(at, table.sort);
        }
    }

    /// Places the columns of a table in its width, one from its left edge.
    pub fn place_columns(&self, table: &Table, width: u16) -> Vec<PlacedColumn> {
        let by = self.query.scope.grouped_by();
        let is_blind = self.is_blind();
        // The name of a unit or a path is of no use if only a few letters of it are seen; nor is `python3 …`.
        let min_name_width = match by {
            Some(GroupBy::User) => 0,
            Some(GroupBy::Command | GroupBy::Family | GroupBy::Host | GroupBy::Siblings) => 20,
            // Half a screen has room for the figures, or for it.
            None if width < 72 => 0,
            None | Some(GroupBy::Unit | GroupBy::Container | GroupBy::Cgroup | GroupBy::Mapping) => 24,
        };
        let layout = |id: &ColumnId| {
            let column = id.get();
            let grows = column.grows || column.label == Label::Group && by.is_some();
            let stays = grows || *id == table.sort;
            let priority = match *id {
                layout::PSS if is_blind => Priority::Low,
                layout::RSS if is_blind => Priority::High,
                id if is_blind && !layout::WITHOUT_PSS.contains(&id) && column.needs.contains(Needs::MEMORY) => {
                    Priority::Low
                }
                _ => column.priority,
            };
            let width = if *id == layout::TREND {
                self.trend_width(table)
            } else {
                column.width_in(self.screen.units)
            };
            let heading = text::width(&self.heading_of(*id)) as u16;
            // The heading sorted by has room for its mark, and a bound for its sign.
            let bounds = u16::from(*id == layout::PSS && self.rows.coverage.by_rss > 0);
            let width = (width + bounds).max(heading + u16::from(*id == table.sort));
            ColumnLayout {
                width: width.max(if grows { min_name_width } else { 0 }),
                grows,
                priority: if stays { ColumnLayout::ALWAYS } else { priority as u8 },
                align: column.align(),
            }
        };
        let columns: Vec<ColumnLayout> = table.columns.iter().map(layout).collect();
        let mut placed = place_columns(&columns, width.saturating_sub(1), 1, self.tables.scroll);
        for column in &mut placed {
            column.x += 1;
        }
        placed
    }

    /// Returns the heading of a column of the table: groups are titled by their kind, and where most rows have RSS in place of
    /// PSS, their changes are not called those of PSS.
    pub fn heading_of(&self, id: ColumnId) -> Cow<'static, str> {
        match (id.get().label, self.query.scope.grouped_by()) {
            (Label::Group, Some(by)) => by.title().into(),
            _ if id == layout::ANON && self.is_blind() => "≤ANON".into(),
            // Mostly it is of RSS.
            _ if id == layout::DPSS && self.is_blind() => self.heading(id.get()).replace("PSS", "RSS").into(),
            _ => self.heading(id.get()),
        }
    }

    /// Returns the heading of a column: that of a chart is the time it spans, that of a change the time it is over.
    pub fn heading<T: TableKind>(&self, column: &Column<T>) -> Cow<'static, str> {
        match column.unit {
            Unit::Chart => self.screen.chart.span().title.into(),
            _ => column.heading(self.config.settings.ui.delta, self.is_narrow()),
        }
    }

    /// Returns true if headings and sentences are short.
    pub const fn is_narrow(&self) -> bool {
        self.screen.size.0 < NARROW_SCREEN
    }

    /// Returns true if of most processes no more may be read than everyone may.
    pub(in crate::tui) const fn is_blind(&self) -> bool {
        let coverage = &self.rows.coverage;
        self.hides_memory() && coverage.hidden - coverage.pending > coverage.readable
    }

    /// Returns the width that the verdicts on screen need: a pace is told only of what moves.
    fn trend_width(&self, table: &Table) -> u16 {
        let column = layout::TREND.get();
        let Some(snapshot) = &self.engine.snapshot else {
            return column.title.len() as u16;
        };
        let shown = table.rows.iter().skip(table.list.offset).take(self.rows_shown());
        let verdict = |row| Some(self.row(snapshot, row)?.trend?.verdict);
        let width = |verdict| match verdict {
            Verdict::Leaking | Verdict::Growing | Verdict::Shrinking => column.width,
            Verdict::Warming => WITHOUT_PACE,
            Verdict::Steady | Verdict::Unknown => 0,
        };
        let widest = shown.filter_map(verdict).map(width).max();
        widest.unwrap_or(0).max(column.title.len() as u16)
    }

    /// Returns what must be read for some part of the screen, for the filter or for a rule.
    pub(super) fn needs(&self) -> Needs {
        let page = self.page();
        let shown = page.map_or_else(|| self.needs_of_tables(), Page::needs);
        let rules: Needs = self.engine.alerts.rules().map(Rule::needs).collect();
        // For suspects they tell how long it takes until a limit is reached.
        let suspects = if self.engine.suspects.is_empty() {
            Needs::NOTHING
        } else {
            Needs::CGROUP_FIGURES
        };
        // What is held may be what grows.
        let held = if self.engine.history.held().is_suspected() {
            Needs::HELD
        } else {
            Needs::NOTHING
        };
        shown.and(rules).and(suspects).and(held).within(Needs::ON_DEMAND)
    }

    /// Returns what must be read for the tables of processes and the panel.
    fn needs_of_tables(&self) -> Needs {
        let by_cgroup = matches!(
            self.query.scope.grouped_by(),
            Some(GroupBy::Unit | GroupBy::Container | GroupBy::Cgroup)
        );
        let shown = self.chosen_columns().iter().chain([&self.tables.current().sort]);
        let shown: Needs = shown.map(|c| c.get().needs).collect();
        let table = shown.and(needs_of_filter(&self.query.filter.filter));
        // Groups by command, user or family, and mappings, have no cgroup.
        let table = if by_cgroup || self.query.scope.lists_processes() {
            table
        } else {
            table.without(Needs::CGROUP_FIGURES)
        };
        // The line of detail shows them though no column does, and the panel tells how long it takes until a limit.
        let beside = if by_cgroup || self.shows_panel() {
            Needs::CGROUP_FIGURES
        } else {
            Needs::NOTHING
        };
        // The panel lists what is held.
        let in_panel = if self.shows_panel() {
            Needs::HELD
        } else {
            Needs::NOTHING
        };
        table.and(beside).and(in_panel)
    }
}
