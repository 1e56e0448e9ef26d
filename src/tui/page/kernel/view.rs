//! A view of the page: one table with its own order, filter and selection.

use std::collections::HashMap;
use std::fmt::Debug;
use std::marker::PhantomData;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::columns::kernel_table::{KernelRow, KernelTable};
use crate::columns::{Cell, Column, Label, Needs, Priority, TableKind, cell, columns_help};
use crate::config::Action;
use crate::filter::{Filterable, TextField};
use crate::history::kernel::TableHistories;
use crate::text;
use crate::tui::app::{App, FilterState, HelpSection};
use crate::tui::page::table::{PageTable, style};
use crate::tui::popup::sort::MenuColumn;
use crate::units::counted;

/// A view, whatever its rows are.
pub(super) trait View {
    fn name(&self) -> &'static str;

    /// Returns what must be read for it.
    fn needs(&self) -> Needs;

    /// Returns true if the kernel is traced for it.
    fn traces(&self) -> bool;

    /// Returns why it has no rows, and what would grant them.
    fn state(&self, app: &App) -> Result<(), String>;

    /// Returns what is to be known of its figures.
    fn notes(&self, app: &App) -> Vec<String>;

    fn help(&self) -> HelpSection;

    /// Returns its filter, and how many rows pass it.
    fn filter(&self, app: &App) -> (&FilterState, usize);

    fn set_filter(&mut self, text: &str);

    /// Returns its columns, and the place of the one sorted by.
    fn columns(&self) -> (Vec<MenuColumn>, usize);

    fn sort_by(&mut self, column: usize);

    /// Performs an action that moves the selection or changes the order, with `height` rows on screen.
    fn on_action(&mut self, app: &App, action: Action, height: usize);

    fn step(&mut self, app: &App, rows: isize, height: usize);

    /// Takes a click; the table is drawn in that area.
    fn on_click(&mut self, app: &App, area: Rect, at: Position);

    /// Selects a row that the (lower-cased) text is in: `first` rows from the selection on, and then every `step` rows.
    fn find(&mut self, app: &App, text: &str, from: (isize, isize), height: usize) -> bool;

    fn follow(&mut self, app: &App, height: usize);

    /// Draws the table, and its sums in an area of one line.
    fn draw(&self, app: &App, table: Rect, total: Rect, buf: &mut Buffer);
}

/// Chooses the columns of a view by their ids, in order. The first stays on every screen, those in `low` go first where there is
/// little room, and what names the rows takes what is left over, `name_width` at the least.
pub(super) fn choose<T: TableKind + Copy>(
    ids: &[&str],
    tables: &[&[Column<T>]],
    low: &[&str],
    name_width: u16,
) -> Vec<Column<T>> {
    let known = || tables.iter().copied().flatten();
    let mut columns: Vec<_> = ids
        .iter()
        .filter_map(|id| known().find(|column| column.id == *id).copied())
        .collect();
    for column in &mut columns {
        if column.id == ids[0] {
            column.priority = Priority::Highest;
        } else if low.contains(&column.id) {
            column.priority = Priority::Low;
        } else if column.label != Label::None {
            (column.width, column.grows) = (name_width, true);
        }
    }
    columns
}

/// Returns the rows of these lines, with their past and their changes since the mark, where there is one and these were `marked`;
/// what is new since then counts whole.
pub(super) fn kernel_rows<'a, T: KernelTable>(
    app: &App,
    lines: impl IntoIterator<Item = &'a T::Line>,
    marked: Option<&[T::Line]>,
    histories: &'a TableHistories,
) -> Vec<KernelRow<'a, T>> {
    let span = app.screen.chart.span().time;
    let size = |line| T::size(&T::figures(line)).cast_signed();
    let marked: Option<HashMap<_, i64>> =
        marked.map(|lines| lines.iter().map(|line| (T::key(line), size(line))).collect());
    let row = |line| {
        let key = T::key(line);
        let then = marked.as_ref().map(|marked| marked.get(&key).copied().unwrap_or(0));
        KernelRow {
            history: histories.get(&key),
            span,
            since_mark: then.map(|then| size(line).saturating_sub(then)),
            ..KernelRow::new(line)
        }
    };
    lines.into_iter().map(row).collect()
}

/// Returns the sum of rows.
pub(super) fn total<'a, T: KernelTable>(rows: &[&KernelRow<'a, T>]) -> KernelRow<'a, T> {
    let rows: Vec<_> = rows.iter().map(|row| **row).collect();
    KernelRow::total(&rows)
}

/// A kind of rows, and where they come from.
pub(super) trait Source: TableKind + Debug {
    /// The name of the view, and what a row is called.
    const NAME: &'static str;
    const NOUN: &'static str;
    /// The title of its columns in the help.
    const HELP: &'static str;
    /// Data that must be read for it.
    const NEEDS: Needs;
    /// The kernel is traced for it.
    const TRACES: bool = false;

    /// Returns the columns, that of the names last.
    fn columns() -> &'static [Column<Self>]
    where
        Self: Sized;

    /// Returns the columns by which a filter may choose.
    fn filtered() -> &'static [Column<Self>]
    where
        Self: Sized;

    /// Lends the rows to `f`.
    fn with_rows<R>(app: &App, f: impl for<'a> FnOnce(&'a [Self::Row<'a>]) -> R) -> R;

    /// Lends the sum of rows to `f`.
    fn with_total(rows: &[&Self::Row<'_>], f: &mut dyn for<'a> FnMut(&'a Self::Row<'a>));

    /// Returns why there are no rows, and what would grant them.
    fn state(app: &App) -> Result<(), String>;

    /// Returns the number of lines that could not be understood.
    fn malformed(_app: &App) -> usize {
        0
    }

    /// Returns what is to be known of the figures.
    fn notes(app: &App) -> Vec<String>;
}

/// A view of rows of one kind.
#[derive(Debug)]
pub(super) struct TableView<T: Source> {
    table: PageTable<Vec<u8>>,
    kind: PhantomData<T>,
}

impl<T: Source> Default for TableView<T> {
    fn default() -> Self {
        let table = PageTable {
            // The greatest first, by the first column.
            sort: Some((0, true)),
            ..PageTable::default()
        };
        Self {
            table,
            kind: PhantomData,
        }
    }
}

fn name(row: &impl Filterable) -> Vec<u8> {
    row.text(TextField::Group).unwrap_or_default().into_owned()
}

impl<T: Source> TableView<T>
where
    for<'a> T::Row<'a>: Filterable,
{
    /// Returns the names of the rows that pass the filter, in order.
    fn keys(&self, app: &App) -> Vec<Vec<u8>> {
        T::with_rows(app, |rows| {
            let order = self.table.arrange(T::columns(), rows);
            order.into_iter().map(|at| name(&rows[at])).collect()
        })
    }
}

impl<T: Source> View for TableView<T>
where
    for<'a> T::Row<'a>: Filterable,
{
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn needs(&self) -> Needs {
        T::NEEDS
    }

    fn traces(&self) -> bool {
        T::TRACES
    }

    fn state(&self, app: &App) -> Result<(), String> {
        T::state(app)
    }

    fn notes(&self, app: &App) -> Vec<String> {
        T::notes(app)
    }

    fn help(&self) -> HelpSection {
        (T::HELP, columns_help(T::columns()))
    }

    fn filter(&self, app: &App) -> (&FilterState, usize) {
        (&self.table.filter, self.keys(app).len())
    }

    fn set_filter(&mut self, text: &str) {
        self.table.filter.set_by(text, &T::filtered());
    }

    fn columns(&self) -> (Vec<MenuColumn>, usize) {
        let columns = T::columns().iter().map(MenuColumn::new).collect();
        (columns, self.table.sort.map_or(0, |(at, _)| at))
    }

    fn sort_by(&mut self, column: usize) {
        self.table.sort_by(T::columns(), column);
    }

    fn on_action(&mut self, app: &App, action: Action, height: usize) {
        if self.table.on_sort(T::columns(), action) {
            self.follow(app, height);
        } else {
            let keys = self.keys(app);
            self.table.on_action(&keys, action, height);
        }
    }

    fn step(&mut self, app: &App, rows: isize, height: usize) {
        let keys = self.keys(app);
        self.table.step(&keys, rows, height);
    }

    fn on_click(&mut self, app: &App, area: Rect, at: Position) {
        let keys = self.keys(app);
        let height = usize::from(area.height.saturating_sub(1));
        match self.table.row_at(app, T::columns(), keys.len(), area, at) {
            Ok(row) => self.table.select(&keys, row, height),
            Err(Some(column)) => {
                self.sort_by(column);
                self.follow(app, height);
            }
            Err(None) => {}
        }
    }

    fn find(&mut self, app: &App, wanted: &str, from: (isize, isize), height: usize) -> bool {
        let keys = self.keys(app);
        let name = |at: usize| text::safe(&keys[at]).into_owned();
        self.table.find(&keys, name, wanted, from, height)
    }

    fn follow(&mut self, app: &App, height: usize) {
        let keys = self.keys(app);
        self.table.follow(&keys, height);
    }

    fn draw(&self, app: &App, area: Rect, total: Rect, buf: &mut Buffer) {
        let columns = T::columns();
        T::with_rows(app, |rows| {
            let order = self.table.arrange(columns, rows);
            let shown: Vec<_> = order.iter().map(|at| &rows[*at]).collect();
            self.table
                .draw(app, columns, shown.iter().copied(), area, buf, |_, _, _| None);
            if total.is_empty() || rows.is_empty() {
                return;
            }
            let theme = &app.config.theme;
            buf.set_style(total, theme.totals);
            let grid = self.table.grid(app, columns, total);
            T::with_total(&shown, &mut |sum| {
                grid.draw_row(buf, 0, |at| {
                    let width = usize::from(grid.cell(0, at).width);
                    let column = &columns[at];
                    if column.label != Label::None {
                        return (Self::label(app, shown.len(), rows.len()), theme.totals);
                    }
                    let Cell { text, style: meaning } = cell(&(column.value)(sum), app.screen.units, width);
                    (text, theme.totals.patch(style(theme, meaning)))
                });
            });
        });
    }
}

impl<T: Source> TableView<T> {
    /// Returns what the sums are of: `187 caches, 20 shown`.
    fn label(app: &App, passing: usize, all: usize) -> String {
        let mut label = counted(all as u64, T::NOUN);
        if passing < all {
            label = format!("{passing} of {label}");
        }
        let malformed = T::malformed(app);
        if malformed > 0 {
            label = format!("{label}, partial: {malformed} malformed");
        }
        label
    }
}
