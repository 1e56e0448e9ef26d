//! A table on a page: its selection, its order, its filter, and its drawing.
//!
//! The page makes the rows anew for each event and each frame, in the order that [`PageTable::arrange`] gives them; between
//! them the table keeps which one is selected, by its key.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::columns::{CellStyle, Column, Label, Needs, Priority, TableKind, Unit, cell, order, sparklines};
use crate::config::{Action, Theme};
use crate::filter::Filterable;
use crate::text;
use crate::tui::app::{App, FilterState};
use crate::tui::widgets::{ColumnLayout, ListState, TableGrid, line, rows_in_sight, select_row, with_order};

/// The state of a table whose rows have keys of that type.
#[derive(Debug)]
pub struct PageTable<K> {
    /// The selected row.
    pub selected: Option<K>,
    /// Its place among the rows, and the first row on screen.
    pub list: ListState,
    /// The column sorted by, and that the greatest comes first; `None` leaves the rows as they are.
    pub sort: Option<(usize, bool)>,
    /// The filter of the rows.
    pub filter: FilterState,
}

impl<K> Default for PageTable<K> {
    fn default() -> Self {
        Self {
            selected: None,
            list: ListState::default(),
            sort: None,
            filter: FilterState::default(),
        }
    }
}

impl<K: PartialEq + Clone> PageTable<K> {
    /// Returns the places of the rows that pass the filter, in order.
    pub fn arrange<'a, T>(&self, columns: &[Column<T>], rows: &'a [T::Row<'a>]) -> Vec<usize>
    where
        T: TableKind,
        T::Row<'a>: Filterable,
    {
        let passes = |at: &usize| self.filter.filter.matches(&rows[*at]);
        let all: Vec<usize> = (0..rows.len()).filter(passes).collect();
        let Some((column, descending)) = self
            .sort
            .and_then(|(at, descending)| Some((columns.get(at)?, descending)))
        else {
            return all;
        };
        let keys: Vec<_> = all.iter().map(|at| column.order_key(&rows[*at])).collect();
        order(&keys, descending).into_iter().map(|at| all[at]).collect()
    }

    /// Selects a row by its place, the last one at most, with `height` rows on screen.
    pub fn select(&mut self, keys: &[K], at: usize, height: usize) {
        self.list.select(at, keys.len(), height);
        self.selected = keys.get(self.list.cursor).cloned();
    }

    /// Moves the selection by rows.
    pub fn step(&mut self, keys: &[K], rows: isize, height: usize) {
        self.select(keys, self.list.cursor.saturating_add_signed(rows), height);
    }

    /// Finds the selection among new rows; where its row is gone it stays at its place.
    pub fn follow(&mut self, keys: &[K], height: usize) {
        let found = keys.iter().position(|key| Some(key) == self.selected.as_ref());
        self.select(keys, found.unwrap_or(self.list.cursor), height);
    }

    /// Performs an action that moves the selection; returns false for another one.
    pub fn on_action(&mut self, keys: &[K], action: Action, height: usize) -> bool {
        let page = height.max(1).cast_signed();
        match action {
            Action::Up => self.step(keys, -1, height),
            Action::Down => self.step(keys, 1, height),
            Action::PageUp => self.step(keys, -page, height),
            Action::PageDown => self.step(keys, page, height),
            Action::First => self.select(keys, 0, height),
            Action::Last => self.select(keys, usize::MAX, height),
            _ => return false,
        }
        true
    }

    /// Returns true for the actions that move the selection.
    pub const fn moves(action: Action) -> bool {
        matches!(
            action,
            Action::Up | Action::Down | Action::PageUp | Action::PageDown | Action::First | Action::Last
        )
    }

    /// Sorts by a column; the other way round if it is sorted by it already.
    pub fn sort_by<T: TableKind>(&mut self, columns: &[Column<T>], at: usize) {
        self.sort = match self.sort {
            Some((sorted, descending)) if sorted == at => Some((at, !descending)),
            _ => columns.get(at).map(|column| (at, !column.ascending)),
        };
    }

    /// Sorts by the column `step` places from the present one.
    pub fn sort_beside<T: TableKind>(&mut self, columns: &[Column<T>], step: isize) {
        let last = columns.len().saturating_sub(1);
        let at = self.sort.map_or(0, |(at, _)| at).saturating_add_signed(step).min(last);
        if self.sort.is_none_or(|(sorted, _)| sorted != at) {
            self.sort_by(columns, at);
        }
    }

    /// Performs an action that changes the order; returns false for another one.
    pub fn on_sort<T: TableKind>(&mut self, columns: &[Column<T>], action: Action) -> bool {
        match action {
            Action::SortLeft => self.sort_beside(columns, -1),
            Action::SortRight => self.sort_beside(columns, 1),
            Action::Reverse => self.sort = self.sort.map(|(at, descending)| (at, !descending)),
            _ => return false,
        }
        true
    }

    /// Returns true for the actions that change the order or the filter, or search.
    pub const fn arranges(action: Action) -> bool {
        matches!(
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
        )
    }

    /// Selects a row whose name has the (lower-cased) text in it: `first` rows from the selection on, and then every `step`
    /// rows. Returns false if there is none.
    pub fn find(
        &mut self,
        keys: &[K],
        name: impl Fn(usize) -> String,
        wanted: &str,
        (first, step): (isize, isize),
        height: usize,
    ) -> bool {
        let len = keys.len().cast_signed();
        let start = self.list.cursor.cast_signed() + first;
        let found = (0..len)
            .map(|n| (start + n * step).rem_euclid(len) as usize)
            .find(|at| name(*at).to_lowercase().contains(wanted));
        if let Some(at) = found {
            self.select(keys, at, height);
        }
        found.is_some()
    }

    /// Returns the row, by its place, that is drawn at a position; `Err` with the column of the heading there, if any.
    pub fn row_at<T: TableKind>(
        &self,
        app: &App,
        columns: &[Column<T>],
        rows: usize,
        area: Rect,
        at: Position,
    ) -> Result<usize, Option<usize>> {
        if !area.contains(at) {
            return Err(None);
        }
        if at.y == area.y {
            let grid = self.grid(app, columns, area);
            return Err((0..columns.len()).find(|index| grid.cell(0, *index).contains(at)));
        }
        let row = self.list.offset + usize::from(at.y - area.y - 1);
        if row < rows { Ok(row) } else { Err(None) }
    }

    /// Places the columns of the table.
    pub fn grid<T: TableKind>(&self, app: &App, columns: &[Column<T>], area: Rect) -> TableGrid {
        grid(app, columns, self.sort.map(|(at, _)| at), area)
    }

    /// Draws the heading and the rows. `change` may draw a cell in another way: it is given the column, the row and the width.
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
        buf.set_style(line(area, 0), theme.heading);
        let heading = |at: usize| {
            let order = self
                .sort
                .and_then(|(sorted, descending)| (sorted == at).then_some(descending));
            let style = order.map_or(theme.heading, |_| theme.heading_sorted);
            (
                with_order(&app.heading(&columns[at]), order, columns[at].align()),
                style,
            )
        };
        grid.draw_row(buf, 0, heading);
        let extent = rows_in_sight(self.list.offset, usize::from(area.height - 1), rows.len());
        grid.draw_beside_headings(buf, |at| heading(at).0, &extent, theme.text);
        let shown: Vec<_> = rows.skip(self.list.offset).take(usize::from(area.height - 1)).collect();
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
                    (text, style(theme, cell.style))
                })
            });
            if self.list.offset + at == self.list.cursor {
                select_row(buf, line(area, y), theme, &verdicts);
            }
        }
    }
}

/// Places columns by their priorities; the one that names the rows stays. Without a mark nothing changed since one.
pub fn grid<T: TableKind>(app: &App, columns: &[Column<T>], sorted: Option<usize>, area: Rect) -> TableGrid {
    let layout = columns.iter().enumerate().map(|(at, column)| {
        let heading = text::width(&app.heading(column)) + usize::from(sorted == Some(at));
        let is_idle = app.data.marks.is_empty() && column.needs.contains(Needs::MARK);
        ColumnLayout {
            width: if is_idle {
                0
            } else {
                column.width_in(app.screen.units).max(heading as u16)
            },
            grows: column.grows,
            priority: if column.label != Label::None || column.priority == Priority::Highest {
                ColumnLayout::ALWAYS
            } else {
                column.priority as u8
            },
            align: column.align(),
        }
    });
    TableGrid::new(&layout.collect::<Vec<_>>(), area, 1)
}

/// Returns the style of a cell.
pub const fn style(theme: &Theme, style: CellStyle) -> Style {
    match style {
        CellStyle::Leak => theme.leak,
        CellStyle::Up => theme.up,
        CellStyle::Down => theme.down,
        CellStyle::Zero => theme.zero,
        CellStyle::Missing => theme.missing,
        CellStyle::Estimate => theme.stale,
        CellStyle::Chart => theme.chart,
        CellStyle::Plain => theme.text,
    }
}
