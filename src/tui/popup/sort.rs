//! The sort menu: every column there is.
//!
//! ```text
//! ┌ Sort by ────────────────────────────────────────┐
//! │ ● pss        PSS       Proportional set size    │
//! │   swap_pss   SWPSS     …                        │
//! │─────────────────────────────────────────────────│
//! │ Explains the column in at most three lines      │
//! └─────────────────────────────────────────────────┘
//! ```

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Popup, column_label};
use crate::columns::{COLUMNS, Column, ColumnId, TableKind};
use crate::tui::app::{App, Response};
use crate::tui::rows::rebuild;
use crate::tui::widgets::{ListState, draw_list};

/// A column as the menu lists it.
#[derive(Debug)]
pub struct MenuColumn {
    label: String,
    help: &'static str,
}

impl MenuColumn {
    /// Returns the entry of a column.
    pub fn new<T: TableKind>(column: &Column<T>) -> Self {
        Self {
            label: column_label(column),
            help: column.help,
        }
    }
}

/// The open menu.
#[derive(Debug)]
pub struct SortMenu {
    /// The cursor.
    pub list: ListState,
    columns: Vec<MenuColumn>,
    /// The place of the column sorted by.
    sorted: usize,
    /// They are the columns of the open page.
    is_of_page: bool,
}

impl SortMenu {
    /// Returns a menu with the cursor on the column that the current table is sorted by.
    pub fn new(app: &App) -> Self {
        let columns = COLUMNS.iter().map(MenuColumn::new).collect();
        Self {
            is_of_page: false,
            ..Self::of_page(columns, app.tables.current().sort.0)
        }
    }

    /// Returns a menu of the columns of the open page, which is sorted by the one at that place.
    pub fn of_page(columns: Vec<MenuColumn>, sorted: usize) -> Self {
        let mut list = ListState::default();
        list.select(sorted, columns.len(), columns.len());
        Self {
            list,
            columns,
            sorted,
            is_of_page: true,
        }
    }
}

impl Popup for SortMenu {
    const TITLE: &'static str = " Sort by ";
    const WIDTH: u16 = 100;
    const CLICK_ACCEPTS: bool = true;

    fn list(&self) -> ListState {
        self.list
    }

    fn list_mut(&mut self) -> &mut ListState {
        &mut self.list
    }

    fn texts(&self, _app: &App) -> Vec<String> {
        self.columns.iter().map(|column| column.label.clone()).collect()
    }

    fn len(&self, _app: &App) -> usize {
        self.columns.len()
    }

    fn note(&self, _app: &App) -> Option<Cow<'static, str>> {
        self.columns.get(self.list.cursor).map(|column| column.help.into())
    }

    /// Sorts by the column, which ends a frozen order.
    fn accept(&mut self, app: &mut App) -> Response {
        if self.is_of_page {
            let column = self.list.cursor;
            app.with_page(|page, app| page.sort_by(app, column));
        } else {
            app.tables.frozen = false;
            app.tables.current_mut().sort_by(ColumnId(self.list.cursor));
            rebuild(app);
        }
        Response::close()
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        draw_list(buf, area, self.list, self.columns.len(), theme.selected, |at| {
            let mark = if self.sorted == at { '●' } else { ' ' };
            (format!(" {mark} {}", self.columns[at].label), theme.popup)
        });
    }
}
