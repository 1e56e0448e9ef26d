//! The popups in which an entry is chosen: the columns shown, the column sorted by, and the user.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::columns::{COLUMNS, ColumnId, MenuColumn};
use crate::config::Action;
use crate::order;
use crate::text::{self, Align, fit};
use crate::tui::app::{App, Hint, Page, Response};
use crate::tui::popup::{Popup, TYPE};
use crate::tui::rows::rebuild;
use crate::tui::widgets::{ListState, draw_list};
use crate::units::bytes;

// The column chooser: every column, the chosen ones first and in their order.
//
// ┌ Columns ────────────────────────────────────────┐
// │ ✓ pss        PSS       Proportional set size    │
// │ · swap_pss   SWPSS     …                        │
// │─────────────────────────────────────────────────│
// │ Explains the column in at most three lines      │
// └─────────────────────────────────────────────────┘

/// The open chooser. What is chosen takes effect at once.
#[derive(Debug)]
pub struct ColumnChooser {
    list: ListState,
    /// Every column, the chosen ones first and in their order.
    order: Vec<ColumnId>,
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
        self.order.iter().map(|column| column.get().menu_label()).collect()
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
            (format!(" {mark} {}", self.order[at].get().menu_label()), theme.popup)
        });
    }
}

// The sort menu: every column there is.
//
// ┌ Sort by ────────────────────────────────────────┐
// │ ● pss        PSS       Proportional set size    │
// │   swap_pss   SWPSS     …                        │
// │─────────────────────────────────────────────────│
// │ Explains the column in at most three lines      │
// └─────────────────────────────────────────────────┘

#[derive(Debug)]
pub struct SortMenu {
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
        Self::of(MenuColumn::all(COLUMNS), app.tables.current().sort.0, false)
    }

    pub(in crate::tui) fn of_page(page: &dyn Page) -> Self {
        Self::of(page.columns(), page.table().sort.map_or(0, |(at, _)| at), true)
    }

    fn of(columns: Vec<MenuColumn>, sorted: usize, is_of_page: bool) -> Self {
        let mut list = ListState::default();
        let cursor = columns.iter().position(|column| column.at == sorted).unwrap_or(0);
        list.select(cursor, columns.len(), columns.len());
        Self {
            list,
            columns,
            sorted,
            is_of_page,
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
            if let Some(column) = self.columns.get(self.list.cursor) {
                app.with_page(|page, app| page.sort_by(app, column.at));
            }
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
            let mark = if self.sorted == self.columns[at].at { '●' } else { ' ' };
            (format!(" {mark} {}", self.columns[at].label), theme.popup)
        });
    }
}

// The user picker: everyone, and the users that have processes, by what these hold.
//
// ┌ User ────────────────────────────────────┐
// │ everyone                                 │
// │ alice                 12 procs      1.3G │
// └──────────────────────────────────────────┘

/// The open picker; its first entry is everyone.
#[derive(Debug)]
pub struct UserPicker {
    list: ListState,
    users: Vec<User>,
}

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
