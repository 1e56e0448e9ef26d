//! Pages: the part of the screen between its header and its last line. The first page is the tables of processes. Each other one
//! is a [`Page`]: one table with its columns and keys, and what is drawn beside it.
//!
//! A page keeps its state while another one is open.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use super::{App, FilterState, Hint};
use crate::columns::{CellStyle, Column, Label, MenuColumn, Needs, Priority, TableKind, Unit, cell, order, sparklines};
use crate::config::Action;
use crate::filter::Filterable;
use crate::text;
use crate::tui::event::Effect;
use crate::tui::widgets::{
    ColumnLayout, ListState, TableGrid, cell_style, draw_headings, from_cursor, line, movement, rows_in_sight,
    select_row,
};

/// A section of the help: its title, and terms with what they mean.
pub type HelpSection = (&'static str, Vec<(String, String)>);

/// Identifies a row of a page from one snapshot to the next.
pub type PageKey = Vec<u8>;

/// A page in place of the tables of processes.
///
/// The trait has what differs from page to page; the methods of `dyn Page` are common to all. While a page handles an
/// event, it is not in `app.pages`.
pub trait Page: Any {
    /// Returns the keys in the footer, except the keys of the other pages.
    fn hints(&self) -> &'static [Hint];

    fn table(&self) -> &PageTable;

    fn table_mut(&mut self) -> &mut PageTable;

    /// Returns the rows that pass the filter, in order.
    fn keys(&self, app: &App) -> Vec<PageKey>;

    /// Returns the names of those rows, for a search.
    fn names(&self, app: &App) -> Vec<String> {
        let keys = self.keys(app);
        keys.iter().map(|key| text::safe(key).into_owned()).collect()
    }

    /// Returns the columns that the rows can be sorted by.
    fn columns(&self) -> Vec<MenuColumn>;

    fn parse_filter(&mut self, text: &str);

    /// Returns the area of the heading and of `rows` rows.
    fn area(&self, app: &App, rows: usize) -> Rect;

    /// Returns how many lines can be scrolled after the last of `rows` rows, to show what is below the table.
    fn lines_below(&self, _app: &App, _rows: usize) -> usize {
        0
    }

    /// Returns the lines of the area in which the table and what is below it are scrolled.
    fn scrolled_height(&self, app: &App, rows: usize) -> u16 {
        self.area(app, rows).height
    }

    /// Places the columns of a table drawn in `area`.
    fn grid(&self, app: &App, area: Rect) -> TableGrid;

    /// Returns true if it performs an action that is not common to all tables.
    fn takes(&self, action: Action) -> bool;

    /// Performs an action that [`takes`](Self::takes) accepts.
    fn on_action(&mut self, app: &mut App, action: Action) -> Vec<Effect>;

    /// Returns true if a second click on a row performs [`Action::Open`].
    fn opens_rows(&self) -> bool {
        false
    }

    /// Handles a click outside the table; returns false if nothing is there.
    fn on_click(&mut self, _app: &App, _at: Position) -> bool {
        false
    }

    /// Handles the action that opened it, from another page or while it was open; `None` is the first page.
    fn opened(&mut self, _app: &mut App, _from: Option<Action>) {}

    /// Goes back one step; returns false if there is none, so that Esc leaves the page.
    fn back(&mut self, _app: &mut App) -> bool {
        false
    }

    /// Derives its data from a new snapshot.
    fn refresh(&mut self, _app: &App) {}

    fn help(&self) -> Vec<HelpSection>;

    /// Returns the data that must be read while it is open.
    fn needs(&self) -> Needs;

    /// Returns the path of the cgroup that it shows, which must be read.
    fn inspected(&self) -> Option<Arc<[u8]>> {
        None
    }

    /// Returns true if it shows the call sites of the kernel's allocator, so that they must be traced.
    fn traces(&self) -> bool {
        false
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer);
}

impl dyn Page {
    /// Returns true if it performs an action. Actions that are the same on all pages, such as help, never reach it.
    pub fn performs(&self, action: Action) -> bool {
        let is_of_table = matches!(
            action,
            Action::Filter
                | Action::ClearFilter
                | Action::Search
                | Action::SearchNext
                | Action::SearchPrevious
                | Action::SortMenu
                | Action::SortLeft
                | Action::SortRight
                | Action::Reverse
        );
        is_of_table || movement(action).is_some() || self.takes(action)
    }

    fn height(&self, app: &App, rows: usize) -> usize {
        usize::from(self.area(app, rows).height.saturating_sub(1))
    }

    /// Selects the row at the index that `to` derives from the current one and the height of the table. An index after the
    /// last row scrolls to what is below the table, as far as there is anything.
    fn select(&mut self, app: &App, to: impl FnOnce(usize, usize) -> usize) {
        let keys = self.keys(app);
        let height = self.height(app, keys.len()).max(1);
        let table = self.table_mut();
        let at = to(table.list.cursor + table.scroll, height);
        self.place(app, &keys, at);
    }

    /// Selects the row at an index, or the last one and scrolls below it.
    fn place(&mut self, app: &App, keys: &[PageKey], at: usize) {
        let below = self.lines_below(app, keys.len());
        let table = self.table_mut();
        table.scroll = at.saturating_sub(keys.len().saturating_sub(1)).min(below);
        let height = self.height(app, keys.len());
        self.table_mut().select(keys, at, height);
    }

    pub fn step(&mut self, app: &App, rows: isize) {
        self.select(app, |at, _| at.saturating_add_signed(rows));
    }

    /// Performs an action that moves the selection; returns false for another one.
    pub fn move_selection(&mut self, app: &App, action: Action) -> bool {
        let Some(to) = movement(action) else { return false };
        match action {
            Action::PageUp | Action::PageDown if self.lines_below(app, self.keys(app).len()) > 0 => {
                self.turn(app, action == Action::PageDown);
            }
            _ => self.select(app, to),
        }
        true
    }

    /// Scrolls the table and what is below it by a page, of which one line stays in sight.
    fn turn(&mut self, app: &App, down: bool) {
        let keys = self.keys(app);
        let below = self.lines_below(app, keys.len());
        let page = usize::from(self.scrolled_height(app, keys.len()));
        let scrolled = std::mem::take(&mut self.table_mut().scroll);
        let rows = self.height(app, keys.len());
        let hidden = keys.len().saturating_sub(rows);
        let list = &mut self.table_mut().list;
        // The heading and the total stay while rows are hidden.
        let (top, page) = match (scrolled, list.offset) {
            (0, offset) if offset < hidden => (offset, rows),
            _ => (hidden + scrolled, page),
        };
        let by = page.saturating_sub(1).max(1);
        let to = if down { top + by } else { top.saturating_sub(by) };
        let to = to.min(hidden + below);
        list.offset = to.min(hidden);
        let at = match to.checked_sub(hidden) {
            Some(lines @ 1..) => keys.len().saturating_sub(1) + lines,
            _ if down => to + rows.saturating_sub(1),
            _ => to,
        };
        self.place(app, &keys, at);
    }

    /// Performs an action that changes the order; returns false for another one.
    pub fn change_order(&mut self, app: &App, action: Action) -> bool {
        match action {
            Action::SortLeft => self.sort_beside(app, -1),
            Action::SortRight => self.sort_beside(app, 1),
            Action::Reverse => {
                let table = self.table_mut();
                table.sort = table.sort.map(|(at, descending)| (at, !descending));
                self.follow(app);
            }
            _ => return false,
        }
        true
    }

    /// Sorts by a column; reverses the order if it is sorted by that already.
    pub fn sort_by(&mut self, app: &App, at: usize) {
        let columns = self.columns();
        let Some(column) = columns.iter().find(|column| column.at == at) else {
            return;
        };
        let table = self.table_mut();
        let descending = match table.sort {
            Some((sorted, descending)) if sorted == at => !descending,
            _ => !column.ascending,
        };
        table.sort = Some((at, descending)).filter(|_| at > 0 || !table.has_own_order);
        self.follow(app);
    }

    /// Sorts by the column `step` places to the right of the current one.
    fn sort_beside(&mut self, app: &App, step: isize) {
        let (columns, sorted) = (self.columns(), self.table().sort.map(|(at, _)| at));
        let place = columns.iter().position(|column| Some(column.at) == sorted);
        let last = columns.len().saturating_sub(1);
        let to = place.unwrap_or(0).saturating_add_signed(step).min(last);
        if let Some(column) = columns.get(to).filter(|column| Some(column.at) != sorted) {
            self.sort_by(app, column.at);
        }
    }

    /// Sets the filter. If the text does not parse, the terms before the fault apply.
    pub fn set_filter(&mut self, app: &App, text: &str) {
        self.parse_filter(text);
        self.follow(app);
    }

    /// Selects a row whose name contains the lower-cased text: the one `first` rows from the selection, and then every `step`
    /// rows. Returns false if there is none.
    pub fn find(&mut self, app: &App, wanted: &str, (first, step): (isize, isize)) -> bool {
        let names = self.names(app);
        let mut places = from_cursor(names.len(), self.table().list.cursor, first, step);
        let found = places.find(|at| names[*at].to_lowercase().contains(wanted));
        if let Some(at) = found {
            self.select(app, |_, _| at);
        }
        found.is_some()
    }

    /// Finds the selection again after a new snapshot, or a change of the order or of the screen's size.
    pub fn follow(&mut self, app: &App) {
        self.refresh(app);
        let keys = self.keys(app);
        let at = self.table().followed(&keys);
        self.place(app, &keys, at);
    }

    /// Sorts by the clicked heading, or selects the clicked row, or opens it if it is selected.
    pub fn click(&mut self, app: &mut App, at: Position) -> Vec<Effect> {
        if self.on_click(app, at) {
            return Vec::new();
        }
        let keys = self.keys(app);
        let area = self.area(app, keys.len());
        if !area.contains(at) {
            return Vec::new();
        }
        if at.y == area.y {
            let grid = self.grid(app, area);
            if let Some(column) = grid.columns.iter().find(|column| column.cell(grid.area).contains(at)) {
                self.sort_by(app, column.index);
            }
            return Vec::new();
        }
        let row = self.table().list.offset + usize::from(at.y - area.y - 1);
        if row < keys.len() {
            let was_selected = self.table().selected.as_ref() == keys.get(row);
            self.select(app, |_, _| row);
            if was_selected && self.opens_rows() {
                return self.on_action(app, Action::Open);
            }
        }
        Vec::new()
    }
}

/// The state of a page's table. The page derives the rows for each event and each frame, and orders them by
/// [`PageTable::arrange`].
#[derive(Debug, Default)]
pub struct PageTable {
    pub selected: Option<PageKey>,
    /// The index of the selected row, and of the first row on screen.
    pub list: ListState,
    /// Lines scrolled after the last row, to show what is below the table.
    pub scroll: usize,
    /// The sorted column, and whether in descending order; `None` keeps the page's own order.
    pub sort: Option<(usize, bool)>,
    /// The first column represents the page's own order.
    pub has_own_order: bool,
    pub filter: FilterState,
}

impl PageTable {
    /// Returns the indices of the rows that pass the filter, in order.
    pub fn arrange<'a, T>(&self, columns: &[Column<T>], rows: &'a [T::Row<'a>]) -> Vec<usize>
    where
        T: TableKind,
        T::Row<'a>: Filterable,
    {
        let passes = |at: &usize| self.filter.filter.matches(&rows[*at]);
        let all: Vec<usize> = (0..rows.len()).filter(passes).collect();
        let Some((at, descending)) = self.sort else { return all };
        let Some(column) = columns.get(at) else { return all };
        let keys: Vec<_> = all.iter().map(|at| column.order_key(&rows[*at])).collect();
        order(&keys, descending).into_iter().map(|at| all[at]).collect()
    }

    fn select(&mut self, keys: &[PageKey], at: usize, height: usize) {
        self.list.select(at, keys.len(), height);
        self.selected = keys.get(self.list.cursor).cloned();
    }

    /// Finds the selection among new rows; if its row is gone, it stays at its index. The last row stays scrolled.
    fn followed(&self, keys: &[PageKey]) -> usize {
        let found = keys.iter().position(|key| Some(key) == self.selected.as_ref());
        let at = found.unwrap_or(self.list.cursor).min(keys.len().saturating_sub(1));
        if at + 1 >= keys.len() { at + self.scroll } else { at }
    }

    /// Places columns by their priorities; the one that names the rows stays. Without a mark, changes since it are left out.
    pub fn grid<T: TableKind>(&self, app: &App, columns: &[Column<T>], area: Rect) -> TableGrid {
        let layout = columns.iter().enumerate().map(|(at, column)| {
            let is_sorted = self.sort.is_some_and(|(sorted, _)| sorted == at);
            let heading = text::width(&app.heading(column)) + usize::from(is_sorted);
            let is_idle = app.data.marks.is_empty() && column.needs.contains(Needs::MARK);
            let width = column.width_in(app.screen.units).max(heading as u16);
            let stays = column.label != Label::None || column.priority == Priority::Highest || is_sorted;
            let priority = column.priority as u8;
            ColumnLayout {
                width: if is_idle { 0 } else { width },
                grows: column.grows,
                priority: if stays { ColumnLayout::ALWAYS } else { priority },
                align: column.align(),
            }
        });
        TableGrid::new(&layout.collect::<Vec<_>>(), area, 1)
    }

    /// Draws the heading and the rows. `change` may replace a cell, by its column, row and width.
    pub fn draw<'a, T: TableKind>(
        &self,
        app: &App,
        columns: &[Column<T>],
        rows: impl ExactSizeIterator<Item = &'a T::Row<'a>>,
        area: Rect,
        buf: &mut Buffer,
        change: impl Fn(&Column<T>, &'a T::Row<'a>, usize) -> Option<(String, Style)>,
    ) {
        if area.is_empty() {
            return;
        }
        let theme = &app.config.theme;
        let grid = self.grid(app, columns, area);
        let height = usize::from(area.height - 1);
        let heading = |at: usize| {
            let order = self.sort.filter(|(sorted, _)| *sorted == at).map(|(_, order)| order);
            (app.heading(&columns[at]), order)
        };
        let extent = rows_in_sight(self.list.offset, height, rows.len());
        let (row, sorted) = (line(grid.area, 0), theme.heading_sorted);
        buf.set_style(line(area, 0), theme.heading);
        draw_headings(buf, row, &grid.columns, heading, theme, sorted, &extent);
        let shown: Vec<_> = rows.skip(self.list.offset).take(height).collect();
        let chart = columns.iter().position(|column| column.unit == Unit::Chart);
        let charts = chart.map_or_else(Vec::new, |at| {
            let values = shown.iter().map(|row| (columns[at].value)(row));
            sparklines(values, grid.cell(0, at).width.into())
        });
        for (y, (at, row)) in (1..area.height).zip(shown.iter().enumerate()) {
            let mut verdicts = Vec::new();
            grid.draw_row(buf, y, |index| {
                let column = &columns[index];
                let place = grid.cell(y, index);
                let width = usize::from(place.width);
                change(column, row, width).unwrap_or_else(|| {
                    let cell = cell(&(column.value)(row), app.screen.units, width);
                    if column.unit.is_verdict() {
                        verdicts.push((place, cell.style));
                    }
                    let text = match cell.style {
                        CellStyle::Chart => charts[at].clone(),
                        _ => cell.text,
                    };
                    (text, cell_style(theme, cell.style))
                })
            });
            if self.list.offset + at == self.list.cursor {
                select_row(buf, line(area, y), theme, &verdicts);
            }
        }
    }
}

/// The pages opened so far, by the actions that open them, and the one that is open.
#[derive(Default)]
pub struct Pages {
    open: Option<Action>,
    all: HashMap<Action, Box<dyn Page>>,
}

impl Pages {
    /// Returns the action of the open page; `None` while the processes are shown.
    pub const fn open(&self) -> Option<Action> {
        self.open
    }
}

impl App {
    /// Opens the page of an action; `make` creates it the first time.
    pub fn open_page(&mut self, action: Action, make: impl FnOnce() -> Box<dyn Page>) {
        let from = self.pages.open.replace(action);
        self.pages.all.entry(action).or_insert_with(make);
        self.with_page(|page, app| {
            page.opened(app, from);
            page.follow(app);
        });
    }

    pub fn close_page(&mut self) {
        if self.pages.open.take().is_some() {
            self.scroll_to_selection();
        }
    }

    pub fn page(&self) -> Option<&dyn Page> {
        self.pages.all.get(&self.pages.open?).map(|page| &**page)
    }

    /// Returns the open page if it is of that type.
    pub fn page_mut<P: Page>(&mut self) -> Option<&mut P> {
        let page: &mut dyn Any = &mut **self.pages.all.get_mut(&self.pages.open?)?;
        page.downcast_mut()
    }

    /// Passes an event to the open page.
    pub fn with_page<T: Default>(&mut self, handle: impl FnOnce(&mut dyn Page, &mut Self) -> T) -> T {
        let entry = self.pages.open.and_then(|open| self.pages.all.remove_entry(&open));
        let Some((action, mut page)) = entry else {
            return T::default();
        };
        let result = handle(&mut *page, self);
        self.pages.all.insert(action, page);
        result
    }
}
