//! The column chooser: every column, the chosen ones first and in their order.
//!
//! ```text
//! ┌ Columns ────────────────────────────────────────┐
//! │ ✓ pss        PSS       Proportional set size    │
//! │ · swap_pss   SWPSS     …                        │
//! │─────────────────────────────────────────────────│
//! │ Explains the column in at most three lines      │
//! └─────────────────────────────────────────────────┘
//! ```

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Popup, TYPE, column_label};
use crate::columns::ColumnId;
use crate::config::Action;
use crate::tui::app::{App, Hint};
use crate::tui::widgets::{ListState, draw_list};

/// The open chooser. What is chosen takes effect at once.
#[derive(Debug)]
pub struct ColumnChooser {
    list: ListState,
    /// Every column, the chosen ones first and in their order.
    order: Vec<ColumnId>,
    /// Number of chosen columns.
    chosen: usize,
    /// The columns before, for Esc.
    before: Vec<ColumnId>,
}

impl ColumnChooser {
    /// Returns a chooser that begins with these columns.
    pub fn new(columns: &[ColumnId]) -> Self {
        let rest = ColumnId::all().filter(|c| !columns.contains(c));
        Self {
            list: ListState::default(),
            order: columns.iter().copied().chain(rest).collect(),
            chosen: columns.len(),
            before: columns.to_vec(),
        }
    }

    /// Chooses the selected column, last of the chosen, or leaves it out; one column always stays. Returns where
    /// the cursor belongs: on the next entry, so that several can be switched in a row.
    fn toggle(&mut self) -> usize {
        let at = self.list.cursor;
        let Some(column) = self.order.get(at).copied() else {
            return at;
        };
        if at >= self.chosen {
            self.order.remove(at);
            self.order.insert(self.chosen, column);
            self.chosen += 1;
            return (at + 1).min(self.order.len() - 1);
        }
        if self.chosen > 1 {
            self.chosen -= 1;
            self.order.remove(at);
            let rest = &mut self.order[self.chosen..];
            let place = rest.iter().position(|c| *c > column).unwrap_or(rest.len());
            self.order.insert(self.chosen + place, column);
        }
        at
    }

    /// Moves the selected column by one place, if it is chosen; returns where it went.
    fn shift(&mut self, step: isize) -> usize {
        let at = self.list.cursor;
        let to = at.saturating_add_signed(step);
        if at < self.chosen && to < self.chosen {
            self.order.swap(at, to);
            return to;
        }
        at
    }
}

impl Popup for ColumnChooser {
    const TITLE: &'static str = " Columns ";
    const WIDTH: u16 = 100;
    const SWITCHES: bool = true;
    const HINTS: &'static [Hint] = &[
        TYPE,
        Hint::Action(Action::Toggle, "show or hide"),
        Hint::Action(Action::MoveUp, "left"),
        Hint::Action(Action::MoveDown, "right"),
        Hint::Action(Action::Accept, "keep"),
        Hint::Action(Action::Cancel, "cancel"),
    ];

    fn list(&self) -> ListState {
        self.list
    }

    fn list_mut(&mut self) -> &mut ListState {
        &mut self.list
    }

    fn texts(&self, _app: &App) -> Vec<String> {
        self.order.iter().map(|column| column_label(column.get())).collect()
    }

    fn len(&self, _app: &App) -> usize {
        self.order.len()
    }

    fn note(&self, _app: &App) -> Option<Cow<'static, str>> {
        self.order.get(self.list.cursor).map(|column| column.get().help.into())
    }

    fn on_action(&mut self, app: &mut App, action: Action, height: usize) {
        let to = match action {
            Action::Toggle => self.toggle(),
            Action::MoveUp => self.shift(-1),
            Action::MoveDown => self.shift(1),
            _ => return,
        };
        self.list.select(to, self.order.len(), height);
        app.choose_columns(self.order[..self.chosen].to_vec());
    }

    fn cancel(&mut self, app: &mut App) {
        app.choose_columns(std::mem::take(&mut self.before));
    }

    fn is_about_rows(&self) -> bool {
        true
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        draw_list(buf, area, self.list, self.order.len(), theme.selected, |at| {
            let mark = if at < self.chosen { '✓' } else { '·' };
            (format!(" {mark} {}", column_label(self.order[at].get())), theme.popup)
        });
    }
}
