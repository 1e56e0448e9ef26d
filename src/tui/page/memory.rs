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

use std::sync::LazyLock;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;

use crate::account::{Account, ProcessTotals, account};
use crate::columns::part::{COLUMNS, PartRow, Parts};
use crate::columns::{Column, MenuColumn, Needs, cell, columns_help};
use crate::config::Action;
use crate::history::RowHistory;
use crate::history::kernel::{Growth, REST, rule};
use crate::model::Snapshot;
use crate::trend::Judgement;
use crate::tui::app::{App, FilterState, HelpSection, Hint, Page, PageKey, PageTable};
use crate::tui::chart::draw::{Charted, draw_chart};
use crate::tui::event::Effect;
use crate::tui::panel;
use crate::tui::widgets::{StatusLine, draw_line, line};
use crate::{order, text, units};

/// The width from which on what is beside the account stands at its right.
const WIDE: u16 = 150;
const BESIDE_WIDTH: u16 = 52;
/// The fewest lines of the detail, and of what is below the account.
const MIN_DETAIL: u16 = 9;
const MIN_BELOW: u16 = 4;
/// Lines that the account keeps where the detail is open.
const MIN_ROWS: u16 = 4;

#[derive(Debug)]
pub struct MemoryPage {
    table: PageTable,
    /// The sums over the processes of the last snapshot.
    totals: Option<ProcessTotals>,
    /// The user opened or closed the detail; before that it is open where there is room.
    detail: Option<bool>,
}

impl Default for MemoryPage {
    fn default() -> Self {
        let table = PageTable {
            has_own_order: true,
            ..PageTable::default()
        };
        Self {
            table,
            totals: None,
            detail: None,
        }
    }
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

/// Shows a part on the page, with its detail.
pub fn show(app: &mut App, id: &'static str) {
    super::open(app, Action::MemoryPage);
    if let Some(page) = app.page_mut::<MemoryPage>() {
        page.table.selected = Some(id.into());
        page.table.filter = FilterState::default();
        page.detail = Some(true);
    }
    app.with_page(|page, app| page.follow(app));
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

    fn table(&self) -> &PageTable {
        &self.table
    }

    fn table_mut(&mut self) -> &mut PageTable {
        &mut self.table
    }

    fn keys(&self, app: &App) -> Vec<PageKey> {
        self.rows(app).iter().map(|row| row.id.into()).collect()
    }

    fn names(&self, app: &App) -> Vec<String> {
        self.rows(app).iter().map(|row| row.title.to_owned()).collect()
    }

    fn columns(&self) -> Vec<MenuColumn> {
        let mut columns = MenuColumn::all(&SHOWN);
        columns.retain(|column| SHOWN[column.at].id != BAR);
        columns
    }

    fn parse_filter(&mut self, text: &str) {
        self.table.filter.set_by(text, &COLUMNS);
    }

    fn area(&self, app: &App, rows: usize) -> Rect {
        self.arrange(app, rows).table
    }

    fn heading_at(&self, app: &App, area: Rect, at: Position) -> Option<usize> {
        self.table.heading_at(app, &SHOWN, area, at)
    }

    fn takes(&self, action: Action) -> bool {
        matches!(
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
        let is_open = self.arrange(app, self.rows(app).len()).detail.height > 0;
        match action {
            Action::Open | Action::Panel => {
                self.detail = Some(!is_open);
                (self as &mut dyn Page).follow(app);
            }
            _ if is_open => panel::step_cursor(app, action),
            _ => {}
        }
        Vec::new()
    }

    fn opens_rows(&self) -> bool {
        true
    }

    fn back(&mut self, app: &mut App) -> bool {
        let is_open = self.detail == Some(true);
        if is_open && !app.screen.chart.remove_cursor() {
            self.detail = Some(false);
            (self as &mut dyn Page).follow(app);
        }
        is_open
    }

    fn refresh(&mut self, app: &App) {
        self.totals = app.engine.snapshot.as_ref().map(|snapshot| ProcessTotals::of(snapshot));
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
            draw_total(app, &self.table, &account, cut(areas.total), buf);
            beside::draw(app, snapshot, totals, cut(areas.beside), buf);
        }
        let detail = cut(areas.detail);
        if detail.height > 0 {
            buf.set_style(line(detail, 0), theme.heading);
            let selected = rows.get(self.table.list.cursor);
            if let Some(row) = selected {
                draw_detail(app, snapshot, row, detail, buf);
            }
        }
    }
}

// The cells of the account that are not written as in any other table, and the line below it.

/// Returns a cell that is not written as in any other table.
fn part_cell(app: &App, column: &Column<Parts>, row: &PartRow<'_>, width: usize) -> Option<(String, Style)> {
    let theme = &app.config.theme;
    match column.id {
        "part" => {
            let name_style = match row {
                PartRow { id: REST, .. } => theme.title,
                PartRow { is_within: true, .. } => theme.dim,
                _ => theme.text,
            };
            let indent = if row.is_within { "  " } else { "" };
            Some((format!("{indent}{}", row.title), name_style))
        }
        "bar" => Some(match row.bytes {
            Ok(0..) => (bar(row, width), bar_style(app, row)),
            Ok(_) => ("counted twice".into(), theme.dim),
            Err(why) => (why.to_string(), theme.dim),
        }),
        // That there is more or less of it is neither good nor bad.
        "change" if Growth::of(row.id) == Growth::Free && !row.is_within => {
            let cell = cell(&(column.value)(row), app.screen.units, width);
            Some((cell.text, theme.dim))
        }
        // Figures of different moments may sum to more than there is.
        "bytes" if row.bytes.is_ok_and(|n| n < 0) => {
            let cell = cell(&(column.value)(row), app.screen.units, width);
            Some((format!("-{}", cell.text), theme.dim))
        }
        "bytes" if row.is_within => {
            let cell = cell(&(column.value)(row), app.screen.units, width);
            let mark = row.bound.map(|bound| bound.mark().to_string()).unwrap_or_default();
            Some((mark + &cell.text, theme.dim))
        }
        _ => None,
    }
}

/// Returns the share of the RAM as a bar, in eighths of a column.
fn bar(row: &PartRow<'_>, width: usize) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let (Ok(bytes), Ok(total)) = (row.bytes, row.total) else {
        return String::new();
    };
    let share = bytes.unsigned_abs() as f64 / total.max(1) as f64;
    let eighths = (share * width as f64 * 8.0).round() as usize;
    let (full, part) = ((eighths / 8).min(width), eighths % 8);
    let mut bar = "█".repeat(full);
    if full < width && part > 0 {
        bar.push(PARTS[part]);
    }
    bar
}

/// Returns the style of a bar: that of the header's bar for the parts that stand there.
fn bar_style(app: &App, row: &PartRow<'_>) -> Style {
    let theme = &app.config.theme;
    match row.id {
        "anon" => theme.bar_anon,
        "shmem" => theme.bar_shmem,
        "files" | "buffers" => theme.bar_file,
        "slab_reclaimable" | "slab_unreclaimable" => theme.bar_slab,
        "free" | "free_lists" => theme.bar_free,
        _ if row.is_within => theme.dim,
        _ => theme.chart,
    }
}

/// Draws what the parts sum to, and what is outside it.
fn draw_total(app: &App, table: &PageTable, account: &Account, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let theme = &app.config.theme;
    buf.set_style(area, theme.totals);
    let bytes = |n| units::bytes(n, app.screen.units);
    let grid = table.grid(app, &SHOWN, area);
    grid.draw_row(buf, 0, |at| {
        let text = match (SHOWN[at].id, account.total) {
            ("part", _) => account.total_title.into(),
            ("bytes", Ok(total)) => bytes(total),
            ("bytes", Err(_)) => "-".into(),
            ("share", Ok(_)) => "100.0".into(),
            _ => String::new(),
        };
        (text, theme.totals)
    });
    let share = SHOWN.iter().position(|column| column.id == "share").unwrap_or(0);
    let from = grid.cell(0, share).right();
    if let (Ok(reserved), true) = (account.reserved, from > area.x) {
        let mut outside = StatusLine::default();
        outside.text(90, format!("  and {} outside it", bytes(reserved)), theme.totals);
        outside.text(50, ": kernel image, page structs, firmware", theme.totals);
        let place = Rect {
            x: from,
            width: area.right().saturating_sub(from),
            ..area
        };
        outside.draw(place, buf);
    }
}

// The selected part: its source and formula, what its growth means, and its chart.
//
//  slab, unreclaimable  92M  0.4 % of RAM
//  The kernel's other objects; … Kernel: SUnreclaim in meminfo.
//  It may leak: only the code that allocated an object frees it.
//  size over 5 min: 80M to 92M  ·  △ growing 12M/min for at least 2m
//   92M ┤          ▂▄▆█████
//    0M └5 min ago ─── 4m ─── now

/// Lines that a chart needs, its heading and its axis with it.
const MIN_CHART: u16 = 4;
/// Lines of text beside the chart at most.
const MAX_TEXT: usize = 4;

/// Draws the detail; its first line is a heading.
fn draw_detail(app: &App, snapshot: &Snapshot, row: &PartRow<'_>, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut heading = StatusLine::default();
    heading.text(90, format!(" {}", row.title), theme.heading_sorted);
    match row.bytes {
        Ok(bytes) => {
            let size = units::bytes(bytes.unsigned_abs(), app.screen.units);
            heading.text(80, format!("  {size}"), theme.heading);
            if let Ok(total) = row.total {
                let share = 100.0 * bytes as f64 / total.max(1) as f64;
                heading.text(70, format!("  {share:.1} % of RAM"), theme.heading);
            }
        }
        Err(why) => heading.text(80, format!("  {why}"), theme.heading),
    }
    heading.text_right(50, "Enter closes ", theme.heading);
    heading.draw(line(area, 0), buf);

    let width = usize::from(area.width.saturating_sub(2)).max(8);
    let mut texts = text::wrap(row.help, width);
    texts.extend(text::wrap(&meaning(row), width));
    let history = row.history;
    let judgement = history.filter(|_| is_judged(row)).map(RowHistory::trend);
    let reasons = judgement.map_or_else(Vec::new, Judgement::texts);
    let suspects = app.engine.living_suspects();
    let mut own = suspects.filter(|suspect| suspect.key.part().is_some_and(|key| key.id == row.id));
    if let Some(cause) = own.find_map(|suspect| suspect.cause.as_ref()) {
        texts.extend(text::wrap(&format!("It grows in {}.", cause.text()), width));
    }
    if !reasons.is_empty() {
        texts.extend(text::wrap(&reasons.join(", "), width));
    }
    let left = area.height.saturating_sub(1);
    let for_text = usize::from(left.saturating_sub(MIN_CHART)).clamp(1, MAX_TEXT.max(usize::from(left / 3)));
    texts.truncate(for_text);
    let mut y = 1;
    for words in texts {
        if y < area.height {
            draw_line(buf, line(area, y), &format!(" {words}"), theme.dim);
            y += 1;
        }
    }
    let rest = Rect {
        y: area.y + y,
        height: area.height.saturating_sub(y),
        ..area
    };
    if let Some(history) = history.filter(|_| rest.height >= MIN_CHART) {
        let charted = Charted {
            name: "size",
            chart: app.screen.chart,
            history: history.into(),
            eta: row.eta(),
            started_at: None,
            is_judged: is_judged(row),
            style: None,
        };
        draw_chart(app, snapshot, &charted, rest, buf);
    }
}

fn is_judged(row: &PartRow<'_>) -> bool {
    Growth::of(row.id).is_judged() && !row.is_within
}

/// Says what the growth of a part means.
fn meaning(row: &PartRow<'_>) -> String {
    let Some((_, growth, _, reason)) = rule(row.id).filter(|_| !row.is_within) else {
        return String::new();
    };
    match growth {
        Growth::Leak => format!("Growth may be a leak: {reason}."),
        Growth::Processes => format!("Growth is told of the processes: {reason}."),
        Growth::Reclaimed => format!("Growth is never called a leak: {reason}."),
        Growth::Free => String::new(),
    }
}
