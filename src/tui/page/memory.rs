//! Page 2: the account of the RAM, part by part.
//!
//! ```text
//!  PART                            BYTES     %                           Δ 5 MIN      TREND            FULL IN
//!  anonymous memory of processes    6.2G  26.4 █████▎·············    +12M ▁▂▂▃▄▄▅▆▇ △ grow 12.0M/min    3h12
//!    in huge pages                  2.1G   8.9 █▊·················       0 ▁▁▁▁▁▁▁▁▁
//!  …
//!  not accounted for                 80M   0.3 ···················       0 ▁▁▁▁▁▁▁▁▁ · steady
//!  MemTotal                        23.5G 100.0                        outside it 1.1G: kernel image, page structs, firmware
//!  SWAP  120M of 1.0G                      WAITING FOR MEMORY, %           below, or at the right where it is wide:
//!  …                                       …                               what is beside the account
//!  ─────────────────────────────────────────────────────────────────────
//!  slab, unreclaimable: objects …                                          with Enter: the part's source and formula, why
//!  its size over 5 min: 80M to 92M  ·  △ growing 12M/min                   it may leak, and its chart
//!   92M ┤      ▁▂▃▄▅▆▇
//! ```

mod beside;
mod cells;
mod detail;

use std::sync::LazyLock;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use self::cells::{draw_total, part_cell};
use super::table::PageTable;
use crate::account::{Account, ProcessTotals, account};
use crate::columns::part::{COLUMNS, PartRow, Parts};
use crate::columns::{Column, Needs, columns_help};
use crate::config::Action;
use crate::order;
use crate::tui::app::{App, FilterState, HelpSection, Hint, Page};
use crate::tui::event::Effect;
use crate::tui::panel;
use crate::tui::popup::sort::{MenuColumn, SortMenu};
use crate::tui::prompt::{Prompt, PromptKind};
use crate::tui::widgets::line;

/// The width from which on what is beside the account stands at its right.
const WIDE: u16 = 150;
/// The width of that.
const BESIDE_WIDTH: u16 = 52;
/// The fewest lines of the detail, and of what is below the account.
const MIN_DETAIL: u16 = 9;
const MIN_BELOW: u16 = 4;
/// Lines that the account keeps where the detail is open.
const MIN_ROWS: u16 = 4;

/// The state of the page.
#[derive(Debug, Default)]
pub struct MemoryPage {
    table: PageTable<&'static str>,
    /// The sums over the processes of the last snapshot.
    totals: Option<ProcessTotals>,
    /// The user opened or closed the detail; before that it is open where there is room.
    detail: Option<bool>,
}

/// The areas of the page.
struct Areas {
    /// The heading and the parts.
    table: Rect,
    /// `MemTotal`.
    total: Rect,
    beside: Rect,
    detail: Rect,
}

/// The columns on the page: the verdict is in the trend.
static SHOWN: LazyLock<Vec<Column<Parts>>> = LazyLock::new(|| {
    COLUMNS
        .iter()
        .filter(|column| column.id != "verdict")
        .copied()
        .collect()
});

/// The column of bars, which nothing is sorted by.
const BAR: &str = "bar";

/// Returns the columns that the parts can be sorted by, with their places.
fn sortable() -> impl Iterator<Item = (usize, &'static Column<Parts>)> {
    SHOWN.iter().enumerate().filter(|(_, column)| column.id != BAR)
}

/// Shows a part on the page, with its detail.
pub fn show(app: &mut App, id: &'static str) {
    super::open(app, Action::MemoryPage);
    if let Some(page) = app.page_mut::<MemoryPage>() {
        page.table.selected = Some(id);
        page.table.filter = FilterState::default();
        page.detail = Some(true);
    }
    app.with_page(|page, app| page.follow(app));
}

fn keys(rows: &[PartRow<'_>]) -> Vec<&'static str> {
    rows.iter().map(|row| row.id).collect()
}

impl MemoryPage {
    /// Returns the account of the last snapshot with what the processes tell; `None` before the first.
    fn account(&self, app: &App) -> Option<Account> {
        let snapshot = app.engine.snapshot.as_ref()?;
        Some(account(&snapshot.system, &snapshot.accounting, self.totals.as_ref()?))
    }

    /// Returns the rows of the account that pass the filter, in order, but for the parts that are not there.
    fn rows<'a>(&self, app: &'a App) -> Vec<PartRow<'a>> {
        let (Some(snapshot), Some(account)) = (&app.engine.snapshot, self.account(app)) else {
            return Vec::new();
        };
        let span = app.screen.chart.span().time;
        let rows = PartRow::of_account(&account, app.engine.history.parts(), snapshot, span);
        let rows: Vec<_> = rows.into_iter().filter(|row| !row.is_idle()).collect();
        self.order(&rows).into_iter().map(|at| rows[at]).collect()
    }

    /// Returns the places of the rows that pass the filter, in order; the parts of a part stay below it.
    fn order(&self, rows: &[PartRow<'_>]) -> Vec<usize> {
        let mut places = self.table.arrange(&SHOWN, rows);
        if self.table.sort.is_some() {
            let mut ranks = vec![None; rows.len()];
            places.iter().enumerate().for_each(|(rank, at)| ranks[*at] = Some(rank));
            order::sort_by_key(&mut places, |at| {
                let whole = rows[..=*at].iter().rposition(|row| !row.is_within);
                (whole.and_then(|whole| ranks[whole]).or(ranks[*at]), *at)
            });
        }
        places
    }

    /// Changes the order. By the names it is the account's own.
    fn sort(&mut self, app: &App, change: impl FnOnce(&mut PageTable<&'static str>)) {
        change(&mut self.table);
        self.table.sort = self.table.sort.filter(|(at, _)| *at > 0);
        self.follow(app);
    }

    fn arrange(&self, app: &App, rows: usize) -> Areas {
        let page = app.layout().page;
        let cut = |y: u16, height: u16| Rect {
            y: page.y + y.min(page.height),
            height: height.min(page.height.saturating_sub(y)),
            ..page
        };
        let wanted = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2);
        let is_wide = page.width >= WIDE;
        let left = page.height.saturating_sub(wanted);
        let has_detail = self.detail.unwrap_or(is_wide && left > MIN_DETAIL);
        let detail = if !has_detail {
            0
        } else if page.height < MIN_DETAIL + MIN_ROWS {
            // Only one of the two is of use.
            page.height
        } else {
            left.saturating_sub(1).max(MIN_DETAIL).min(page.height - MIN_ROWS)
        };
        let upper = page.height - detail;
        let height = wanted.min(upper);
        let total = u16::from(height > 2);
        let mut table = cut(0, height - total);
        let mut total = cut(height - total, total);
        let beside = if is_wide {
            table.width -= BESIDE_WIDTH;
            total.width -= BESIDE_WIDTH;
            Rect {
                x: table.right() + 1,
                width: BESIDE_WIDTH - 1,
                ..cut(0, upper)
            }
        } else if upper - height > MIN_BELOW {
            cut(height + 1, upper - height - 1)
        } else {
            Rect::default()
        };
        Areas {
            table,
            total,
            beside,
            detail: cut(upper, detail),
        }
    }

    fn height(&self, app: &App, rows: usize) -> usize {
        usize::from(self.arrange(app, rows).table.height.saturating_sub(1))
    }
}

impl Page for MemoryPage {
    fn hints(&self) -> &'static [Hint] {
        &[
            Hint::Action(Action::Open, "details"),
            Hint::Action(Action::SpanLonger, "longer span"),
            Hint::Action(Action::Filter, "filter"),
            Hint::Action(Action::SortMenu, "sort"),
            Hint::Action(Action::Leaks, "leaks"),
            Hint::Action(Action::Units, "units"),
            Hint::Action(Action::Help, "help"),
            Hint::Action(Action::Quit, "quit"),
        ]
    }

    fn takes(&self, action: Action) -> bool {
        PageTable::<&str>::moves(action)
            || PageTable::<&str>::arranges(action)
            || matches!(
                action,
                Action::Open
                    | Action::Panel
                    | Action::CursorLeft
                    | Action::CursorRight
                    | Action::CursorLeftFast
                    | Action::CursorRightFast
            )
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Vec<Effect> {
        let keys = keys(&self.rows(app));
        let height = self.height(app, keys.len());
        if self.table.on_action(&keys, action, height) {
            return Vec::new();
        }
        let is_open = self.arrange(app, keys.len()).detail.height > 0;
        match action {
            Action::SortLeft | Action::SortRight | Action::Reverse => self.sort(app, |table| {
                // What is drawn of a share is no order of its own.
                while table.on_sort(&SHOWN, action) && table.sort.is_some_and(|(at, _)| SHOWN[at].id == BAR) {}
            }),
            Action::SortMenu => {
                let columns = sortable().map(|(_, column)| MenuColumn::new(column)).collect();
                let sorted = self.table.sort.map_or(0, |(at, _)| at);
                let sorted = sortable().position(|(place, _)| place == sorted).unwrap_or(0);
                app.open_popup(SortMenu::of_page(columns, sorted));
            }
            Action::Filter => {
                let prompt = Prompt::new(PromptKind::Filter, &self.table.filter.text);
                app.open(prompt);
            }
            Action::ClearFilter => self.set_filter(app, ""),
            Action::Open | Action::Panel => {
                self.detail = Some(!is_open);
                self.follow(app);
            }
            _ if is_open => panel::step_cursor(app, action),
            _ => {}
        }
        Vec::new()
    }

    fn back(&mut self, app: &mut App) -> bool {
        let is_open = self.detail == Some(true);
        if is_open && !app.screen.chart.remove_cursor() {
            self.detail = Some(false);
            self.follow(app);
        }
        is_open
    }

    fn step(&mut self, app: &App, by: isize) {
        let keys = keys(&self.rows(app));
        let height = self.height(app, keys.len());
        self.table.step(&keys, by, height);
    }

    fn on_click(&mut self, app: &mut App, at: Position) -> Vec<Effect> {
        let keys = keys(&self.rows(app));
        let area = self.arrange(app, keys.len()).table;
        match self.table.row_at(app, &SHOWN, keys.len(), area, at) {
            Ok(row) => {
                let is_second = self.table.selected.as_ref() == keys.get(row);
                let height = usize::from(area.height.saturating_sub(1));
                self.table.select(&keys, row, height);
                if is_second {
                    return self.on_action(app, Action::Open);
                }
            }
            Err(Some(column)) if SHOWN[column].id != BAR => self.sort(app, |table| table.sort_by(&SHOWN, column)),
            Err(_) => {}
        }
        Vec::new()
    }

    fn filter(&self, app: &App) -> Option<(&FilterState, usize)> {
        Some((&self.table.filter, self.rows(app).len()))
    }

    fn set_filter(&mut self, app: &App, text: &str) {
        self.table.filter.set_by(text, &COLUMNS);
        self.follow(app);
    }

    fn sort_by(&mut self, app: &App, column: usize) {
        if let Some((at, _)) = sortable().nth(column) {
            self.sort(app, |table| table.sort_by(&SHOWN, at));
        }
    }

    fn find(&mut self, app: &App, text: &str, first: isize, step: isize) -> bool {
        let rows = self.rows(app);
        let height = self.height(app, rows.len());
        let name = |at: usize| rows[at].title.to_owned();
        self.table.find(&keys(&rows), name, text, (first, step), height)
    }

    fn follow(&mut self, app: &App) {
        self.totals = app.engine.snapshot.as_ref().map(|snapshot| ProcessTotals::of(snapshot));
        let keys = keys(&self.rows(app));
        let height = self.height(app, keys.len());
        self.table.follow(&keys, height);
    }

    fn help(&self) -> Vec<HelpSection> {
        vec![("WHERE THE RAM IS", columns_help(COLUMNS))]
    }

    fn needs(&self) -> Needs {
        Needs::ACCOUNT
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let Some(snapshot) = &app.engine.snapshot else { return };
        let theme = &app.config.theme;
        let rows = self.rows(app);
        let areas = self.arrange(app, rows.len());
        let cut = |inner: Rect| inner.intersection(area);
        self.table
            .draw(app, &SHOWN, rows.iter(), cut(areas.table), buf, |column, row, width| {
                part_cell(app, column, row, width)
            });
        if let (Some(account), Some(totals)) = (self.account(app), &self.totals) {
            draw_total(app, &account, cut(areas.total), buf);
            beside::draw(app, snapshot, totals, cut(areas.beside), buf);
        }
        let detail = cut(areas.detail);
        if detail.height > 0 {
            buf.set_style(line(detail, 0), theme.heading);
            let selected = rows.get(self.table.list.cursor);
            if let Some(row) = selected {
                detail::draw(app, snapshot, row, detail, buf);
            }
        }
    }
}
