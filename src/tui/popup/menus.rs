//! The menus: the columns shown, the column sorted by, and the user.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::columns::{COLUMNS, ColumnId, MenuColumn, Row, cell, layout};
use crate::config::{Action, Context};
use crate::group::Totals;
use crate::model::ProcessSample;
use crate::order;
use crate::text::{self, Align, fit};
use crate::tui::app::{App, Hint, Page, Response};
use crate::tui::popup::{Popup, TYPE};
use crate::tui::rows::{self, rebuild};
use crate::tui::widgets::{ListState, draw_list};

// The column chooser: every column in which the rows have values, the chosen ones first and in their order.
//
// ┌ Columns ────────────────────────────────────────┐
// │ ✓ pss        PSS       Proportional set size    │
// │ · swap_pss   SWPSS     …                        │
// │─────────────────────────────────────────────────│
// │ Explains the column in at most three lines      │
// └─────────────────────────────────────────────────┘

/// The open chooser. A choice takes effect at once.
pub struct ColumnChooser {
    /// Every column, the chosen ones first and in their order.
    order: Vec<ColumnId>,
    chosen: usize,
    /// The columns to restore on Esc.
    before: Vec<ColumnId>,
}

impl ColumnChooser {
    pub fn new(app: &App) -> Self {
        let columns = app.chosen_columns();
        let rest = ColumnId::all().filter(|c| !columns.contains(c) && app.has_values(*c));
        Self {
            order: columns.iter().copied().chain(rest).collect(),
            chosen: columns.len(),
            before: columns.clone(),
        }
    }

    /// Adds a column left of the one that grows, right of which it might be out of sight, or removes it; the last one stays.
    /// Returns the index to select: after an addition the next entry, so that several can be added in a row.
    fn toggle(&mut self, at: usize) -> usize {
        let Some(column) = self.order.get(at).copied() else {
            return at;
        };
        if at >= self.chosen {
            self.order.remove(at);
            let grows = self.order[..self.chosen].iter().rposition(|chosen| chosen.get().grows);
            self.order.insert(grows.unwrap_or(self.chosen), column);
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

    /// Moves a chosen column by one place; returns its index.
    fn shift(&mut self, at: usize, step: isize) -> usize {
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

    fn texts(&self, _app: &App) -> Vec<String> {
        self.order.iter().map(|column| column.get().menu_label()).collect()
    }

    fn note(&self, _app: &App, at: usize) -> Option<Cow<'static, str>> {
        self.order.get(at).map(|column| column.get().help.into())
    }

    fn on_action(&mut self, app: &mut App, action: Action, at: usize) -> usize {
        let to = match action {
            Action::Toggle => self.toggle(at),
            Action::MoveUp => self.shift(at, -1),
            Action::MoveDown => self.shift(at, 1),
            _ => return at,
        };
        app.choose_columns(self.order[..self.chosen].to_vec());
        to
    }

    fn cancel(&mut self, app: &mut App) {
        app.choose_columns(std::mem::take(&mut self.before));
    }

    fn is_about_rows(&self) -> bool {
        true
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        draw_list(buf, area, list, self.order.len(), theme.selected, |at| {
            let mark = if at < self.chosen { '✓' } else { '·' };
            (format!(" {mark} {}", self.order[at].get().menu_label()), theme.popup)
        });
    }
}

// The sort menu: every column in which the rows have values, with ● at the one sorted by, and its explanation as in the chooser.

pub struct SortMenu {
    columns: Vec<MenuColumn>,
    /// [`MenuColumn::at`] of the column sorted by.
    sorted: usize,
    /// They are the columns of the open page.
    is_of_page: bool,
}

impl SortMenu {
    pub fn new(app: &App) -> Self {
        Self {
            columns: MenuColumn::all(COLUMNS)
                .into_iter()
                .filter(|column| app.has_values(ColumnId(column.at)))
                .collect(),
            sorted: app.tables.current().sort.0,
            is_of_page: false,
        }
    }

    pub(in crate::tui) fn of_page(page: &dyn Page) -> Self {
        Self {
            columns: page.columns(),
            sorted: page.table().sort.map_or(0, |(at, _)| at),
            is_of_page: true,
        }
    }
}

impl Popup for SortMenu {
    const TITLE: &'static str = " Sort by ";
    const WIDTH: u16 = 100;

    fn texts(&self, _app: &App) -> Vec<String> {
        self.columns.iter().map(|column| column.label.clone()).collect()
    }

    fn start(&self) -> usize {
        let sorted = self.columns.iter().position(|column| column.at == self.sorted);
        sorted.unwrap_or(0)
    }

    fn note(&self, _app: &App, at: usize) -> Option<Cow<'static, str>> {
        self.columns.get(at).map(|column| column.help.into())
    }

    /// Sorts by the column, which ends a frozen order.
    fn accept(&mut self, app: &mut App, at: usize) -> Response {
        match self.columns.get(at) {
            None => {}
            Some(column) if column.at == self.sorted => {
                let key = app.config.keymap.shown_key(Context::Table, Action::Reverse);
                let key = key.map_or_else(String::new, |key| format!(": {key} reverses the order"));
                app.screen.say(format!("already sorted by it{key}"));
            }
            Some(column) if self.is_of_page => app.with_page(|page, app| page.sort_by(app, column.at)),
            Some(column) => rows::change_order(app, |table| table.sort_by(ColumnId(column.at))),
        }
        Response::close()
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        draw_list(buf, area, list, self.columns.len(), theme.selected, |at| {
            let mark = if self.sorted == self.columns[at].at { '●' } else { ' ' };
            (format!(" {mark} {}", self.columns[at].label), theme.popup)
        });
    }
}

// The user picker: everyone, and the users that have processes, the largest sum of PSS first.
//
// ┌ User ────────────────────────────────────┐
// │ everyone                                 │
// │ alice                 12 procs      1.3G │
// └──────────────────────────────────────────┘

/// Terminal columns of the sum of a user.
const PSS_WIDTH: usize = 9;

/// The users of the last snapshot: name (raw), number of processes, and the sum of their PSS as the column shows it. The first
/// entry of the picker is everyone.
pub struct UserPicker(Vec<(Arc<[u8]>, usize, String)>);

impl UserPicker {
    pub fn new(app: &App) -> Self {
        let mut by_name: HashMap<_, Vec<&ProcessSample>> = HashMap::new();
        let is_listed = |row: &&ProcessSample| app.query.kernel_threads || !row.stat.is_kernel_thread();
        let Some(snapshot) = &app.engine.snapshot else {
            return Self(Vec::new());
        };
        for sample in snapshot.rows().iter().filter(is_listed) {
            if let Ok(name) = &sample.facts.user {
                by_name.entry(name).or_default().push(sample);
            }
        }
        let pss = layout::PSS.get();
        let users = by_name.into_iter().map(|(name, samples)| {
            let totals = Totals::of(samples, |_| None);
            let row = Row {
                hidden_rss: totals.hidden_beside(),
                ..Row::of_totals(&totals, snapshot)
            };
            let shown = cell(&(pss.value)(&row), app.screen.units, PSS_WIDTH).text;
            (pss.order_key(&row), (Arc::clone(name), totals.count, shown))
        });
        let mut users: Vec<_> = users.collect();
        order::sort_by(&mut users, |(key_a, (a, ..)), (key_b, (b, ..))| {
            key_a.compare(key_b, true).then_with(|| a.cmp(b))
        });
        Self(users.into_iter().map(|(_, user)| user).collect())
    }
}

impl Popup for UserPicker {
    const TITLE: &'static str = " User ";
    const WIDTH: u16 = 44;

    fn texts(&self, _app: &App) -> Vec<String> {
        let names = self.0.iter().map(|(name, ..)| text::safe(name).into_owned());
        std::iter::once("everyone".into()).chain(names).collect()
    }

    /// Counts again; the cursor stays at its user.
    fn on_snapshot(&mut self, app: &App, at: usize) -> usize {
        let before = std::mem::replace(self, Self::new(app));
        let Some((selected, ..)) = at.checked_sub(1).and_then(|at| before.0.get(at)) else {
            return at;
        };
        let found = self.0.iter().position(|(name, ..)| name == selected);
        found.map_or(at, |found| found + 1)
    }

    fn accept(&mut self, app: &mut App, at: usize) -> Response {
        let user = at.checked_sub(1).and_then(|at| self.0.get(at));
        app.query.user = user.map(|(name, ..)| name.clone());
        rebuild(app);
        Response::close()
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        draw_list(buf, area, list, self.0.len() + 1, theme.selected, |at| {
            let Some((name, processes, pss)) = at.checked_sub(1).map(|at| &self.0[at]) else {
                return (" everyone".into(), theme.popup);
            };
            let name = fit(&text::safe_prefix(name, 16), 16, Align::Left);
            (format!(" {name} {processes:>6} procs {pss:>PSS_WIDTH$}"), theme.popup)
        });
    }
}
