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
use crate::columns::{COLUMNS, ColumnId};
use crate::tui::app::{App, Response};
use crate::tui::rows::rebuild;
use crate::tui::widgets::{ListState, draw_list};

/// The open menu.
#[derive(Debug)]
pub struct SortMenu {
    /// The cursor.
    pub list: ListState,
}

impl SortMenu {
    /// Returns a menu with the cursor on the column that the current table is sorted by.
    pub fn new(app: &App) -> Self {
        let mut list = ListState::default();
        list.select(app.tables.current().sort.0, COLUMNS.len(), COLUMNS.len());
        Self { list }
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
        COLUMNS.iter().map(column_label).collect()
    }

    fn len(&self, _app: &App) -> usize {
        COLUMNS.len()
    }

    fn note(&self, _app: &App) -> Option<Cow<'static, str>> {
        COLUMNS.get(self.list.cursor).map(|column| column.help.into())
    }

    /// Sorts by the column, which ends a frozen order.
    fn accept(&mut self, app: &mut App) -> Response {
        app.tables.frozen = false;
        app.tables.current_mut().sort_by(ColumnId(self.list.cursor));
        rebuild(app);
        Response::close()
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        let sort = app.tables.current().sort;
        draw_list(buf, area, self.list, COLUMNS.len(), theme.selected, |at| {
            let mark = if sort == ColumnId(at) { '●' } else { ' ' };
            (format!(" {mark} {}", column_label(&COLUMNS[at])), theme.popup)
        });
    }
}
