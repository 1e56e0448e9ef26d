//! The user picker: everyone, and the users that have processes, by what these hold.
//!
//! ```text
//! ┌ User ────────────────────────────────────┐
//! │ everyone                                 │
//! │ alice                 12 procs      1.3G │
//! └──────────────────────────────────────────┘
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Popup;
use crate::order;
use crate::text::{self, Align, fit};
use crate::tui::app::{App, Response};
use crate::tui::rows::rebuild;
use crate::tui::widgets::{ListState, draw_list};
use crate::units::bytes;

/// The open picker; its first entry is everyone.
#[derive(Debug)]
pub struct UserPicker {
    list: ListState,
    users: Vec<User>,
}

/// A user with processes.
#[derive(Debug)]
struct User {
    /// The name, raw.
    name: Arc<[u8]>,
    processes: usize,
    /// The PSS of the processes, as far as it could be read.
    pss: u64,
}

impl UserPicker {
    /// Returns a picker with the users of the last snapshot.
    pub fn new(app: &App) -> Self {
        let mut by_name: HashMap<&Arc<[u8]>, (usize, u64)> = HashMap::new();
        for sample in app.engine.snapshot.iter().flat_map(|s| s.rows()) {
            if let Ok(name) = &sample.facts.user {
                let (processes, pss) = by_name.entry(name).or_default();
                *processes += 1;
                *pss += sample.memory().map_or(0, |m| m.pss);
            }
        }
        let users = by_name.into_iter().map(|(name, (processes, pss))| User {
            name: name.clone(),
            processes,
            pss,
        });
        let mut users: Vec<User> = users.collect();
        order::sort_by(&mut users, |a, b| b.pss.cmp(&a.pss).then_with(|| a.name.cmp(&b.name)));
        Self {
            list: ListState::default(),
            users,
        }
    }
}

impl Popup for UserPicker {
    const TITLE: &'static str = " User ";
    const WIDTH: u16 = 44;
    const CLICK_ACCEPTS: bool = true;

    fn list(&self) -> ListState {
        self.list
    }

    fn list_mut(&mut self) -> &mut ListState {
        &mut self.list
    }

    fn texts(&self, _app: &App) -> Vec<String> {
        let names = self.users.iter().map(|user| text::safe(&user.name).into_owned());
        std::iter::once("everyone".into()).chain(names).collect()
    }

    fn len(&self, _app: &App) -> usize {
        self.users.len() + 1
    }

    fn accept(&mut self, app: &mut App) -> Response {
        let user = self.list.cursor.checked_sub(1).and_then(|at| self.users.get(at));
        app.query.user = user.map(|user| user.name.clone());
        rebuild(app);
        Response::close()
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        draw_list(buf, area, self.list, self.len(app), theme.selected, |at| {
            let Some(user) = at.checked_sub(1).map(|at| &self.users[at]) else {
                return (" everyone".into(), theme.popup);
            };
            let name = fit(&text::safe_prefix(&user.name, 16), 16, Align::Left);
            let pss = bytes(user.pss, app.screen.units);
            (format!(" {name} {:>6} procs {pss:>9}", user.processes), theme.popup)
        });
    }
}
