//! The columns of the tables: which are shown, where they are placed, and which data must be read for them.

use std::borrow::Cow;

use crate::alert::Rule;
use crate::columns::cell::WITHOUT_PACE;
use crate::columns::{AppliesTo, Column, ColumnId, Label, Needs, Priority, TableKind, Unit, layout, needs_of_filter};
use crate::group::{GroupBy, RowKey};
use crate::query::RowRef;
use crate::text;
use crate::trend::Verdict;
use crate::tui::app::{App, Page, Scope, Table};
use crate::tui::widgets::{ColumnLayout, PlacedColumn, place_columns};

/// Headings and sentences are short on a screen with fewer columns.
const NARROW_SCREEN: u16 = 100;

impl App {
    /// Returns the columns chosen for the current kind of rows.
    pub const fn chosen_columns(&self) -> &Vec<ColumnId> {
        match self.query.scope {
            Scope::Processes | Scope::Members(_) => &self.tables.columns,
            Scope::Groups(_) => &self.tables.group_columns,
            Scope::Mappings(_) => &self.tables.mapping_columns,
        }
    }

    /// Chooses the columns. If the one sorted by is removed, it goes, though the order stays.
    pub fn choose_columns(&mut self, columns: Vec<ColumnId>) {
        let before = self.chosen_columns().clone();
        let table = &mut self.tables.single;
        if before.contains(&table.sort) && !columns.contains(&table.sort) {
            table.hides_sort = true;
            let title = table.sort.get().title;
            self.screen.say(format!("the rows are still sorted by {title}"));
        }
        match self.query.scope {
            Scope::Processes | Scope::Members(_) => self.tables.columns = columns,
            Scope::Groups(_) => self.tables.group_columns = columns,
            Scope::Mappings(_) => self.tables.mapping_columns = columns,
        }
        self.apply_columns();
    }

    /// Assigns the chosen columns to the tables, without those that would be empty, and with those that the order, the tree and
    /// the mark need.
    pub fn apply_columns(&mut self) {
        let chosen = self.chosen_columns();
        let sort = self.tables.single.sort;
        let no_cgroups = |c: &ColumnId| c.get().applies_to == AppliesTo::CgroupRows && !self.has_values(*c);
        let has_swap = self.screen.has_swap;
        let ui = &self.config.settings.ui;
        let is_blind = self.is_blind() && [&ui.columns, &ui.group_columns].contains(&chosen);
        let is_hidden = |c: &ColumnId| c.get().needs.contains(Needs::MEMORY) && !layout::WITHOUT_PSS.contains(c);
        let is_empty = |c: &ColumnId| {
            no_cgroups(c) || (*c != sort && (!has_swap && layout::OF_SWAP.contains(c) || is_blind && is_hidden(c)))
        };
        let mut columns: Vec<ColumnId> = chosen.iter().copied().filter(|c| !is_empty(c)).collect();
        // A table has at least one column.
        if columns.is_empty() {
            columns.clone_from(chosen);
        }
        if self.query.shows_tree() && !chosen.contains(&layout::TREE_PSS) {
            columns.insert(0, layout::TREE_PSS);
        }
        let place_of = |columns: &[ColumnId], id| columns.iter().position(|c| *c == id);
        // RSS, which is known of all, comes before PSS, which is known of few; the change, which is mostly of RSS, follows it.
        if is_blind {
            columns.retain(|column| *column != layout::RSS);
            if let Some(at) = place_of(&columns, layout::PSS) {
                columns.insert(at, layout::RSS);
                if columns.get(at + 2) == Some(&layout::DPSS) {
                    columns.swap(at + 1, at + 2);
                }
            }
        }
        if (is_blind || sort == layout::ANON) && !columns.contains(&layout::ANON) {
            columns.insert(0, layout::ANON);
        }
        let has_mark_column = chosen.iter().any(|c| c.get().needs.contains(Needs::MARK));
        if !has_mark_column && !self.data.marks.is_empty() && !self.query.shows_mappings() {
            let beside = place_of(&columns, layout::DPSS).or_else(|| place_of(&columns, layout::PSS));
            columns.insert(beside.map_or(0, |at| at + 1), layout::MARK_PSS);
        }
        if !self.tables.single.hides_sort {
            show_sorted(&mut columns, sort, &self.query.scope);
        }
        self.tables.single.columns = columns;
        let pair = match self.query.scope {
            Scope::Processes | Scope::Members(_) => layout::PROCESS_PAIR,
            Scope::Groups(_) => layout::GROUP_PAIR,
            Scope::Mappings(_) => layout::MAPPING_PAIR,
        };
        for (table, columns) in self.tables.pair.iter_mut().zip(pair) {
            table.columns = columns.to_vec();
            show_sorted(&mut table.columns, table.sort, &self.query.scope);
        }
    }

    /// Sorts by anonymous memory if the memory of most processes may not be read, unless the user chose an order. By RSS,
    /// processes that share much would come before those that have much.
    pub(in crate::tui) fn sort_without_pss(&mut self) {
        let table = &mut self.tables.single;
        if table.sort == layout::PSS && table.descending && !std::mem::replace(&mut self.tables.sort_is_chosen, true) {
            table.sort = layout::ANON;
        }
    }

    /// Places the columns of a table in its width, one column from its left edge.
    pub fn place_columns(&self, table: &Table, width: u16) -> Vec<PlacedColumn> {
        let by = self.query.scope.grouped_by();
        let is_blind = self.is_blind();
        let sorted = self.sorted_heading(table);
        // A few letters of a unit or a path are of no use, nor is `python3 …`.
        let min_name_width = match by {
            Some(GroupBy::User) => 0,
            Some(GroupBy::Command | GroupBy::Family | GroupBy::Host | GroupBy::Siblings) => 20,
            // Half a screen has room for either the figures or the command.
            None if width < 72 => 0,
            None | Some(GroupBy::Unit | GroupBy::Container | GroupBy::Pod | GroupBy::Cgroup | GroupBy::Mapping) => 24,
        };
        // The lines of a tree need room beside the names.
        let guides = self.guide_width(table).min(width / 3);
        let min_name_width = if guides > 0 {
            (20 + guides).max(min_name_width)
        } else {
            min_name_width
        };
        let layout = |id: &ColumnId| {
            let column = id.get();
            let grows = column.grows || column.label == Label::Group && by.is_some();
            let stays = grows || *id == sorted;
            let priority = match *id {
                layout::PSS if is_blind => Priority::Low,
                layout::RSS if is_blind => Priority::High,
                id if is_blind && !layout::WITHOUT_PSS.contains(&id) && column.needs.contains(Needs::MEMORY) => {
                    Priority::Low
                }
                // A column that was added by hand is to be seen.
                id if self.is_added(id) => column.priority.max(Priority::High),
                _ => column.priority,
            };
            let width = match *id {
                layout::TREND => self.trend_width(table),
                _ => column.width_in(self.screen.units),
            };
            let heading = text::width(&self.heading_of(*id)) as u16;
            // The sorted heading needs room for its mark, and a bound for its sign.
            let bounds = u16::from(*id == layout::PSS && self.rows.coverage.by_rss > 0);
            let width = (width + bounds).max(heading + u16::from(*id == sorted));
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

    /// Returns true if the user added a column to the settings' columns.
    fn is_added(&self, id: ColumnId) -> bool {
        let ui = &self.config.settings.ui;
        self.chosen_columns().contains(&id)
            && !ui.columns.contains(&id)
            && !ui.group_columns.contains(&id)
            && !self.query.shows_mappings()
    }

    /// Returns the heading of a column of the table. Groups are titled by their kind; if most rows have RSS instead of PSS, so
    /// are their changes.
    pub fn heading_of(&self, id: ColumnId) -> Cow<'static, str> {
        match (id.get().label, self.query.scope.grouped_by()) {
            (Label::Group, Some(by)) => by.title().into(),
            _ if id == layout::ANON && self.is_blind() => "≤ANON".into(),
            _ if id == layout::DPSS && self.is_blind() => self.heading(id.get()).replace("PSS", "RSS").into(),
            _ => self.heading(id.get()),
        }
    }

    /// Returns the column whose heading shows the order: in a tree, siblings are ordered by the sums of their subtrees.
    pub(in crate::tui) fn sorted_heading(&self, table: &Table) -> ColumnId {
        let sums = match table.sort {
            layout::PSS => layout::TREE_PSS,
            layout::SWAP => layout::TREE_SWAP,
            other => other,
        };
        if self.query.shows_tree() && table.columns.contains(&sums) {
            sums
        } else {
            table.sort
        }
    }

    /// Returns true if the rows of the current kind have values in a column.
    pub(in crate::tui) fn has_values(&self, id: ColumnId) -> bool {
        let applies_to = id.get().applies_to;
        match &self.query.scope {
            Scope::Processes | Scope::Members(_) => true,
            Scope::Groups(by) => match applies_to {
                AppliesTo::Processes | AppliesTo::Areas => false,
                AppliesTo::CgroupRows => {
                    !matches!(by, GroupBy::Command | GroupBy::User | GroupBy::Family | GroupBy::Host)
                }
                AppliesTo::AnyRow => true,
            },
            Scope::Mappings(_) => layout::is_of_mappings(id),
        }
    }

    /// Returns the heading of a column: of a chart the time that it spans, of a change the time that it is over.
    pub fn heading<T: TableKind>(&self, column: &Column<T>) -> Cow<'static, str> {
        match column.unit {
            Unit::Chart => self.screen.chart.span().title.into(),
            _ => column.heading(self.config.settings.ui.delta, self.is_narrow()),
        }
    }

    /// Returns true if the screen shows a chart, on which the span has an effect, or a page.
    pub(in crate::tui) fn shows_span(&self) -> bool {
        let layout = self.layout();
        let tables = self.tables.shown().iter().zip(&layout.tables);
        let mut placed = tables.flat_map(|(table, area)| {
            let columns = self.place_columns(table, area.width).into_iter();
            columns.map(|placed| table.columns[placed.index])
        });
        let is_other = self.pages.open().is_some() || self.shows_panel() || !layout.graph.is_empty();
        is_other || placed.any(|id| id.get().unit == Unit::Chart)
    }

    pub const fn is_narrow(&self) -> bool {
        self.screen.size.0 < NARROW_SCREEN
    }

    /// Returns true if the memory of most processes may not be read.
    pub(in crate::tui) const fn is_blind(&self) -> bool {
        let coverage = &self.rows.coverage;
        self.hides_memory() && coverage.hidden - coverage.pending > coverage.readable
    }

    /// Returns what scrolling to the right shows in a table as placed: further columns, or the rest of the commands in sight.
    pub(in crate::tui) fn right_shows(&self, table: &Table, placed: &[PlacedColumn]) -> Option<RightShows> {
        let is_hidden = |index: usize| placed.iter().all(|placed| placed.index != index);
        let last = placed
            .iter()
            .filter(|placed| !table.columns[placed.index].get().grows)
            .map(|placed| placed.index);
        let first = if self.tables.scroll > 0 {
            last.max().unwrap_or(0)
        } else {
            0
        };
        if (first..table.columns.len()).any(is_hidden) {
            return Some(RightShows::Columns);
        }
        let command = placed
            .iter()
            .find(|placed| table.columns[placed.index] == layout::COMMAND)?;
        let room = command.skip + usize::from(command.width);
        let snapshot = self.engine.snapshot.as_ref()?;
        let rows = table.rows.iter().skip(table.list.offset).take(self.rows_shown());
        let is_cut = |row: &RowRef| {
            let guide = text::width(&row.guide);
            let sample = row.key.process().and_then(|id| snapshot.row(id));
            sample.map_or(guide > room, |sample| {
                text::is_wider(&sample.facts.short_command(), room.saturating_sub(guide))
            })
        };
        rows.into_iter().any(is_cut).then_some(RightShows::Commands)
    }

    /// The same for the current table.
    pub(in crate::tui) fn right_shows_now(&self) -> Option<RightShows> {
        let table = self.tables.current();
        let area = *self.layout().tables.first()?;
        self.right_shows(table, &self.place_columns(table, area.width))
    }

    /// Returns the width of the longest lines of the tree on screen; 0 without a tree.
    fn guide_width(&self, table: &Table) -> u16 {
        let shown = table.rows.iter().skip(table.list.offset).take(self.rows_shown());
        let widest = shown.map(|row| text::width(&row.guide)).max();
        u16::try_from(widest.unwrap_or(0)).unwrap_or(u16::MAX)
    }

    /// Returns the width that the verdicts on screen need; only rows that move have a pace. While anything grows, scrolling does
    /// not change it.
    fn trend_width(&self, table: &Table) -> u16 {
        let column = layout::TREND.get();
        let snapshot = self.engine.snapshot.as_ref();
        let shown = table.rows.iter().skip(table.list.offset).take(self.rows_shown());
        let verdict = |row| Some(self.row(snapshot?, row)?.trend?.verdict);
        let width = |verdict| match verdict {
            // Its word is the longest.
            Verdict::Hoarding => column.width + 1,
            Verdict::Leaking | Verdict::Growing | Verdict::Shrinking => column.width,
            Verdict::Warming => WITHOUT_PACE,
            Verdict::Steady if !self.is_narrow() => WITHOUT_PACE - 1,
            Verdict::Steady | Verdict::Unknown => 0,
        };
        let elsewhere = self.engine.living_suspects().map(|suspect| suspect.judgement.verdict);
        let widest = shown.filter_map(verdict).chain(elsewhere).map(width).max();
        widest.unwrap_or(0).max(column.title.len() as u16)
    }

    /// Returns the data that the screen, the filter and the alert rules need.
    pub(super) fn needs(&self) -> Needs {
        let shown = self.page().map_or_else(|| self.needs_of_tables(), Page::needs);
        let rules: Needs = self.engine.alerts.rules().map(Rule::needs).collect();
        // The limits that suspects approach.
        let limits = needs_if(!self.engine.suspects.is_empty(), Needs::CGROUP_FIGURES);
        let held = needs_if(self.engine.history.held().is_suspected(), Needs::HELD);
        let tables = needs_if(
            self.engine.history.page_tables().is_suspected(),
            Needs::MANY_PAGE_TABLES,
        );
        // The file systems, the slab caches and the page tables that take the memory.
        let dangers = self.engine.history.dangers().iter();
        let mut by_kernel = dangers.filter(|danger| matches!(danger.taker, None | Some((RowKey::Part(_), _))));
        let kernel = needs_if(
            by_kernel.next().is_some(),
            Needs::ACCOUNT.and(Needs::SLAB).and(Needs::MANY_PAGE_TABLES),
        );
        shown
            .and(rules)
            .and(limits)
            .and(held)
            .and(tables)
            .and(kernel)
            .within(Needs::ON_DEMAND)
    }

    fn needs_of_tables(&self) -> Needs {
        let by_cgroup = matches!(
            self.query.scope.grouped_by(),
            Some(GroupBy::Unit | GroupBy::Container | GroupBy::Pod | GroupBy::Cgroup)
        );
        let columns = self.chosen_columns().iter().chain([&self.tables.current().sort]);
        let columns: Needs = columns.map(|c| c.get().needs).collect();
        let table = columns.and(needs_of_filter(&self.query.filter.filter));
        // Mappings, and groups by command, user or family, have no cgroup.
        let table = if by_cgroup || self.query.scope.lists_processes() {
            table
        } else {
            table.without(Needs::CGROUP_FIGURES.and(Needs::CGROUP_DETAILS))
        };
        let has_panel = self.shows_panel();
        // The line of detail and the panel show cgroup figures, the panel also held memory.
        let detail = needs_if(by_cgroup || has_panel, Needs::CGROUP_FIGURES);
        let of_process = needs_if(self.panel_process().is_some(), Needs::MAPPED);
        let of_panel = needs_if(has_panel, Needs::HELD.and(Needs::MANY_PAGE_TABLES));
        table.and(detail).and(of_process).and(of_panel)
    }
}

/// The content that scrolling to the right reveals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tui) enum RightShows {
    Columns,
    Commands,
}

const fn needs_if(is_needed: bool, needs: Needs) -> Needs {
    if is_needed { needs } else { Needs::NOTHING }
}

/// Adds the column sorted by, unless the rows have no value in it, left of the columns that name them.
fn show_sorted(columns: &mut Vec<ColumnId>, sort: ColumnId, scope: &Scope) {
    let has_values = scope.lists_processes() || sort.get().applies_to != AppliesTo::Processes;
    if has_values && !columns.contains(&sort) {
        let names = |c: &ColumnId| [layout::PID, layout::COMMAND].contains(c) || c.get().label != Label::None;
        columns.insert(columns.iter().position(names).unwrap_or(columns.len()), sort);
    }
}
