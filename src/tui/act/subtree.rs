//! The question which processes an action on the row of a folded tree is for.
//!
//! ```text
//! ┌ The tree below is folded ─────────────┐
//! │ 900 bash alone                        │
//! │ and 6 below                           │
//! └───────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Selection, open_dialog};
use crate::config::Action;
use crate::model::Identity;
use crate::text;
use crate::tui::app::{App, Response};
use crate::tui::popup::Popup;
use crate::tui::widgets::{ListState, draw_list};

/// The process that it names, the words of the two entries, and the action.
pub(super) struct SubtreeChoice {
    id: Identity,
    entries: [String; 2],
    action: Action,
}

impl SubtreeChoice {
    /// Returns `None` if rows are tagged, or if the selected row is no folded tree.
    pub(super) fn new(app: &App, action: Action) -> Option<Self> {
        let snapshot = app.engine.snapshot.as_ref().filter(|_| app.query.shows_tree())?;
        let row = app.tables.current().selected_row().filter(|row| row.folded)?;
        let id = row.key.process().filter(|_| app.tagged_rows().next().is_none())?;
        let comm = text::safe_prefix(&snapshot.row(id)?.facts.comm, 15);
        let below = app.below(id).len();
        let entries = [format!("{} {comm} alone", id.pid), format!("and {below} below")];
        Some(Self { id, entries, action })
    }
}

impl Popup for SubtreeChoice {
    const TITLE: &'static str = " The tree below is folded ";
    const WIDTH: u16 = 44;

    fn texts(&self, _app: &App) -> Vec<String> {
        self.entries.to_vec()
    }

    fn accept(&mut self, app: &mut App, at: usize) -> Response {
        let effects = open_dialog(app, self.action, |app, most| {
            Selection::tree(app, self.id, at == 1, most)
        });
        Response { effects, close: true }
    }

    fn is_about_rows(&self) -> bool {
        true
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        draw_list(buf, area, list, self.entries.len(), theme.selected, |at| {
            (format!(" {}", self.entries[at]), theme.popup)
        });
    }
}
