//! Page 2: the account of the RAM, part by part.
//!
//! ```text
//!  PART                            BYTES     %                           Δ 5 MIN      TREND            FULL IN
//!  anonymous memory of processes    6.2G  26.4 █████▎·············    +12M ▁▂▂▃▄▄▅▆▇ △ grow 12.0M/min    3h12
//!    in huge pages                  2.1G   8.9 █▊·················       0 ▁▁▁▁▁▁▁▁▁
//!  file cache                      1.4G   6.0 █▏·················       0 ▁▁▁▁▁▁▁▁▁            Enter lists its files
//!  …
//!  not accounted for                 80M   0.3 ···················       0 ▁▁▁▁▁▁▁▁▁ · steady
//!  MemTotal                        23.5G 100.0                        outside it 1.1G: kernel image, page structs, firmware
//!  SWAP  120M of 1.0G                      WAITING FOR MEMORY, %           swap, pressure and more: below, or at the right
//!  …                                       …                               of a wide screen
//!
//! For the selected cgroup, unit or container, it shows what the charged memory consists of:
//!
//!  kubepods/pod1/app  charged 88.0M of 120M                                2 shows the machine
//!  limit 120M of kubepods/pod1  ·  events: max 12, oom_kill 1  ·  10 s: some 7.5 %, full 3.0 %
//!  PART                            BYTES     %                                        the parts, with what its
//!  its processes, charged to it    30.0M  34.1 █████▎·············                    processes have
//!  …
//!  ─────────────────────────────────────────────────────────────────────
//!  slab, unreclaimable: objects …                                          with Enter: the part's source and formula, why
//!  its size over 5 min: 80M to 92M  ·  △ growing 12M/min                   it may leak, and its chart
//!   92M ┤      ▁▂▃▄▅▆▇
//! ```

mod beside;
mod cgroup;

use std::sync::{Arc, LazyLock};

use ratatui::buffer::Buffer;
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::{Layout, Rect};
use ratatui::style::Style;

use self::beside::Placed;
use self::cgroup::Shown;
use crate::account::headroom::machine_headroom;
use crate::account::{Account, CACHED, FILES, Growth, PartKind, ProcessTotals, REST, account};
use crate::columns::part::{COLUMNS, PartRow, Parts};
use crate::columns::{Column, MenuColumn, Needs, cached_file, cell, columns_help};
use crate::config::Action;
use crate::history::RowHistory;
use crate::history::suspects::Cause;
use crate::model::{Missing, Snapshot};
use crate::trend::Judgement;
use crate::tui::app::{App, FilterState, HelpSection, Hint, Page, PageKey, PageTable};
use crate::tui::chart::draw::{Charted, draw_chart};
use crate::tui::event::{CacheScope, Effect};
use crate::tui::widgets::{StatusLine, TableGrid, draw_line, line};
use crate::tui::{panel, popup};
use crate::{order, text, units};

/// The minimum width for the other figures at the right of the account.
const WIDE: u16 = 150;
const BESIDE_WIDTH: u16 = 52;
/// Minimum lines of the detail.
const MIN_DETAIL: u16 = 9;
/// Minimum lines of the account while the detail is open.
const MIN_ROWS: u16 = 4;

pub struct MemoryPage {
    table: PageTable,
    /// The cgroup that is shown; `None` for the machine.
    cgroup: Option<Shown>,
    /// The sums over the processes of the last snapshot.
    totals: Option<ProcessTotals>,
    /// The user opened or closed the detail. If `None`, it is open if there is room.
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
            cgroup: None,
            totals: None,
            detail: None,
        }
    }
}

/// The columns on the page. The trend includes the verdict.
static SHOWN: LazyLock<Vec<Column<Parts>>> = LazyLock::new(|| {
    let columns = COLUMNS.iter().filter(|column| column.id != "verdict");
    columns.copied().collect()
});

/// Opens the page at a part, with its detail.
pub fn show(app: &mut App, id: &'static str) {
    super::open(app, Action::MemoryPage);
    if let Some(page) = app.page_mut::<MemoryPage>() {
        page.cgroup = None;
        page.table.selected = Some(id.into());
        page.table.filter = FilterState::default();
        page.detail = Some(true);
    }
    app.with_page(|page, app| page.follow(app));
}

impl MemoryPage {
    /// Returns the account of the last snapshot, or `None` before the first and of a cgroup that cannot be read.
    fn account(&self, app: &App) -> Option<Account> {
        let snapshot = app.engine.snapshot.as_ref()?;
        if let Some(shown) = &self.cgroup {
            return shown.history(app)?.account.clone();
        }
        Some(account(&snapshot.system, &snapshot.accounting, self.totals.as_ref()?))
    }

    /// Returns true if the file cache is selected.
    fn is_at_files(&self) -> bool {
        let selected = self.table.selected.as_deref();
        selected.is_some_and(|id| [FILES, CACHED].iter().any(|known| known.as_bytes() == id))
    }

    /// Returns the rows of the account that pass the filter, in order, without parts that this machine does not have.
    fn rows<'a>(&self, app: &'a App) -> Vec<PartRow<'a>> {
        let (Some(snapshot), Some(account)) = (&app.engine.snapshot, self.account(app)) else {
            return Vec::new();
        };
        let span = app.screen.chart.span().time;
        let history = self.cgroup.as_ref().and_then(|shown| shown.history(app));
        let (parts, room) = match (history, &self.cgroup) {
            (Some(history), Some(shown)) => (&history.parts, shown.room(snapshot)),
            _ => (app.engine.history.parts(), machine_headroom(snapshot)),
        };
        let rows = PartRow::of_account(&account, parts, room, span);
        let rows: Vec<_> = rows.into_iter().filter(|row| !row.is_idle()).collect();
        self.order(&rows).into_iter().map(|at| rows[at]).collect()
    }

    /// Returns the indices of the rows that pass the filter, in order; the parts of a part stay below it.
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

    /// Returns the area of the lines about a cgroup, and the rest of the page.
    fn divide(&self, app: &App) -> [Rect; 2] {
        let lines = self.cgroup.as_ref().map_or(0, |_| cgroup::LINES);
        Layout::vertical([Length(lines), Fill(1)]).areas(app.layout().page)
    }

    /// Returns the areas of the page. If not everything fits, a line shows this.
    fn arrange(&self, app: &App, rows: usize) -> Areas {
        let areas = self.arrange_with(app, rows, 0);
        if self.excess(app, &areas) == 0 {
            return areas;
        }
        self.arrange_with(app, rows, 1)
    }

    /// Returns the number of lines that can be scrolled after the last part.
    fn excess(&self, app: &App, areas: &Areas) -> u16 {
        match self.beside(app, areas).height {
            0 => 0,
            lines if areas.upper.height > 0 => lines.saturating_sub(areas.room) + areas.gap,
            _ => 0,
        }
    }

    /// Returns the areas of the page, with `note` lines that say whether there is more.
    fn arrange_with(&self, app: &App, rows: usize, note: u16) -> Areas {
        let [_, page] = self.divide(app);
        let wanted = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(2);
        let is_wide = page.width >= WIDE;
        let left = page.height.saturating_sub(wanted);
        let has_detail = self.detail.unwrap_or(is_wide && left > MIN_DETAIL);
        let detail = if !has_detail {
            0
        } else if page.height < MIN_DETAIL + MIN_ROWS {
            // There is room for one of the two.
            page.height
        } else {
            left.saturating_sub(1).max(MIN_DETAIL).min(page.height - MIN_ROWS)
        };
        // Without a second line, the parts have the only one.
        let note = note.min((page.height - detail) / 2);
        let [upper, note, detail] = Layout::vertical([Fill(1), Length(note), Length(detail)]).areas(page);
        let right = if is_wide { BESIDE_WIDTH } else { 0 };
        let [account, right] = Layout::horizontal([Fill(1), Length(right)]).areas(upper);
        let height = wanted.min(upper.height);
        let scroll = u16::try_from(self.table.scroll).unwrap_or(u16::MAX);
        // The account, and a gap.
        let scrolled = if is_wide { 0 } else { scroll.min(height + 1) };
        let kept = height.saturating_sub(scrolled);
        let total = u16::from(height > 2 && kept > 0);
        let [table, total, _] = Layout::vertical([Length(kept - total), Length(total), Fill(1)]).areas(account);
        let (beside, room, gap) = if is_wide {
            let beside = Rect {
                x: right.x + 1,
                width: right.width - 1,
                ..right
            };
            (beside, beside.height, 0)
        } else {
            let beside = panel::below(account, (height + 1).saturating_sub(scrolled));
            let gap = (height + 1).saturating_sub(upper.height);
            (beside, upper.height.saturating_sub(height + 1), gap)
        };
        Areas {
            upper,
            note,
            hidden: rows.saturating_sub(usize::from(height).saturating_sub(1 + usize::from(height > 2))),
            table,
            total,
            beside,
            room,
            gap,
            skip: scroll - scrolled,
            detail,
        }
    }

    /// Returns the figures beside the account, placed where there is room for all of them.
    fn beside<'a>(&self, app: &'a App, areas: &Areas) -> Placed<'a> {
        let snapshot = app.engine.snapshot.as_ref();
        let sections = match (snapshot, &self.cgroup, &self.totals) {
            (Some(snapshot), Some(shown), _) if shown.system(snapshot).is_ok() => {
                cgroup::sections(app, snapshot, shown)
            }
            (Some(snapshot), None, Some(totals)) => beside::sections(app, snapshot, totals).into(),
            _ => Vec::new(),
        };
        Placed::new(sections, areas.beside.width, areas.room)
    }
}

/// The areas of the page without the lines about a cgroup.
struct Areas {
    /// All but the note and the detail.
    upper: Rect,
    /// The line that says how much more there is.
    note: Rect,
    /// The number of parts that the table has no room for while nothing is scrolled.
    hidden: usize,
    /// The heading and the parts.
    table: Rect,
    total: Rect,
    beside: Rect,
    /// The lines of the figures beside the account while nothing is scrolled.
    room: u16,
    /// 1 if scrolling must first make room for the empty line above them.
    gap: u16,
    /// The lines of these figures that are scrolled away.
    skip: u16,
    detail: Rect,
}

const fn hints(open: &'static str) -> [Hint; 8] {
    [
        Hint::Action(Action::Open, open),
        Hint::Action(Action::SpanLonger, "longer span"),
        Hint::Action(Action::Filter, "filter"),
        Hint::Action(Action::SortMenu, "sort"),
        Hint::Action(Action::Leaks, "leaks"),
        Hint::Action(Action::Units, "units"),
        Hint::Action(Action::Help, "help"),
        Hint::Action(Action::Quit, "quit"),
    ]
}

impl Page for MemoryPage {
    fn hints(&self) -> &'static [Hint] {
        const OF_FILES: &[Hint] = &hints("files");
        const OF_OTHERS: &[Hint] = &hints("details");
        if self.is_at_files() { OF_FILES } else { OF_OTHERS }
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
        // The bars have the order of the bytes.
        columns.retain(|column| SHOWN[column.at].id != "bar");
        columns
    }

    fn parse_filter(&mut self, text: &str) {
        self.table.filter.set_by(text, &COLUMNS);
    }

    fn area(&self, app: &App, rows: usize) -> Rect {
        self.arrange(app, rows).table
    }

    fn lines_below(&self, app: &App, rows: usize) -> usize {
        self.excess(app, &self.arrange(app, rows)).into()
    }

    fn scrolled_height(&self, app: &App, rows: usize) -> u16 {
        self.arrange(app, rows).upper.height
    }

    fn grid(&self, app: &App, area: Rect) -> TableGrid {
        self.table.grid(app, &SHOWN, area)
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
            Action::Open if self.is_at_files() => {
                return popup::cache::open(app, self.inspected().map_or(CacheScope::All, CacheScope::Cgroup));
            }
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

    /// From the processes, it shows the cgroup of the selected group, or else the machine. While it is open, the same key
    /// goes from one to the other.
    fn opened(&mut self, app: &mut App, from: Option<Action>) {
        self.cgroup = match from {
            Some(Action::MemoryPage) if self.cgroup.is_some() => None,
            None | Some(Action::MemoryPage) => Shown::selected(app),
            Some(_) => self.cgroup.take(),
        };
        // Read it at once.
        app.requests.refresh += u64::from(self.cgroup.is_some());
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
        vec![
            ("WHERE THE RAM IS", columns_help(COLUMNS)),
            ("FILES IN THE PAGE CACHE", columns_help(cached_file::COLUMNS)),
        ]
    }

    fn needs(&self) -> Needs {
        Needs::ACCOUNT.and(Needs::MANY_PAGE_TABLES)
    }

    fn inspected(&self) -> Option<Arc<[u8]>> {
        self.cgroup.as_ref().map(|shown| Arc::clone(&shown.path))
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let Some(snapshot) = &app.engine.snapshot else { return };
        let rows = self.rows(app);
        let areas = self.arrange(app, rows.len());
        let parts = [areas.table, areas.total, areas.beside, areas.detail];
        let [table, total, beside, detail] = parts.map(|part| part.intersection(area));
        let cell = |column: &Column<_>, row, width| part_cell(app, column, row, width);
        self.table.draw(app, &SHOWN, rows.iter(), table, buf, cell);
        let account = self.account(app);
        if let Some(account) = &account {
            draw_total(app, &self.grid(app, total), account, total, buf);
        }
        if let Some(shown) = &self.cgroup {
            let [heading, _] = self.divide(app);
            cgroup::draw_heading(app, snapshot, shown, heading.intersection(area), buf);
            if let Err(why) = shown.system(snapshot) {
                let why = match why {
                    Missing::Pending if app.replay.is_some() => " not recorded for this cgroup".into(),
                    why => format!(" {}", cgroup::unread(why)),
                };
                draw_line(buf, line(panel::below(table, 1), 0), &why, app.config.theme.dim);
            }
        }
        self.beside(app, &areas).draw(app, areas.skip, beside, buf);
        // The parts scroll before what is below them. The heading counts them, too.
        let above = self.table.list.offset.min(areas.hidden) + self.table.scroll;
        let below = (areas.hidden + usize::from(self.excess(app, &areas))).saturating_sub(above);
        let note = areas.note.intersection(area);
        if !note.is_empty() {
            let mut words = StatusLine::default();
            for (sign, count) in [('↑', above), ('↓', below)] {
                if count > 0 {
                    let lines = units::counted(count as u64, "more line");
                    words.text_right(1, format!(" {sign} {lines} "), app.config.theme.key);
                }
            }
            words.draw(note, buf);
        }
        if detail.height > 0 {
            buf.set_style(line(detail, 0), app.config.theme.heading);
            if let Some(row) = rows.get(self.table.list.cursor) {
                draw_detail(app, snapshot, row, self.cgroup.is_some(), detail, buf);
            }
        }
    }
}

/// Returns a cell that is written in another way than in other tables.
fn part_cell(app: &App, column: &Column<Parts>, row: &PartRow<'_>, width: usize) -> Option<(String, Style)> {
    let theme = &app.config.theme;
    let written = || cell(&(column.value)(row), app.screen.units, width).text;
    Some(match column.id {
        "part" => {
            let name_style = match row {
                PartRow { id: REST, .. } => theme.title,
                PartRow { is_within: true, .. } => theme.dim,
                _ => theme.text,
            };
            let indent = if row.is_within { "  " } else { "" };
            (format!("{indent}{}", row.title), name_style)
        }
        "bar" => match row.bytes {
            Ok(0..) => (bar(row, width), bar_style(app, row)),
            Ok(_) => ("counted twice".into(), theme.dim),
            Err(why) => (why.to_string(), theme.dim),
        },
        // More or less free memory is neither good nor bad.
        "change" if Growth::of(row.id) == Growth::Free && !row.is_within => (written(), theme.dim),
        // Figures of different moments may sum to more than the total.
        "bytes" if row.bytes.is_ok_and(|n| n < 0) => (format!("-{}", written()), theme.dim),
        "bytes" if row.is_within => {
            let mark = row.bound.map(|bound| bound.mark().to_string()).unwrap_or_default();
            (mark + &written(), theme.dim)
        }
        _ => return None,
    })
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

/// Returns the style of a bar: the same as in the header's bar, if the part is in it.
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

/// Draws the total, and the memory outside it.
fn draw_total(app: &App, grid: &TableGrid, account: &Account, area: Rect, buf: &mut Buffer) {
    if area.is_empty() {
        return;
    }
    let theme = &app.config.theme;
    buf.set_style(area, theme.totals);
    let bytes = |n| units::bytes(n, app.screen.units);
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

// The selected part: its source and formula, the meaning of its growth, and its chart.
//
//  slab, unreclaimable  92M  0.4 % of RAM
//  The kernel's other objects; … Kernel: SUnreclaim in meminfo.
//  Growth may be a leak: only the code that took an object gives it back.
//  size over 5 min: 80M to 92M  ·  △ growing 12M/min for at least 2m
//   92M ┤          ▂▄▆█████
//    0M └5 min ago ─── 4m ─── now

/// Minimum lines of a chart with its heading and axis. The text above it is whole, and the chart is left out if it has no room.
const MIN_CHART: u16 = 3;

fn draw_detail(app: &App, snapshot: &Snapshot, row: &PartRow<'_>, is_of_cgroup: bool, area: Rect, buf: &mut Buffer) {
    let theme = &app.config.theme;
    let mut heading = StatusLine::default();
    heading.text(90, format!(" {}", row.title), theme.heading_sorted);
    match row.bytes {
        Ok(bytes) => {
            let size = units::bytes(bytes.unsigned_abs(), app.screen.units);
            heading.text(80, format!("  {size}"), theme.heading);
            if let Ok(total) = row.total {
                let share = 100.0 * bytes as f64 / total.max(1) as f64;
                let whole = if is_of_cgroup { "what is charged" } else { "RAM" };
                heading.text(70, format!("  {share:.1} % of {whole}"), theme.heading);
            }
        }
        Err(why) => heading.text(80, format!("  {why}"), theme.heading),
    }
    let keys = match row.id {
        FILES | CACHED => "Enter lists the files, p closes ",
        _ => "Enter closes ",
    };
    heading.text_right(50, keys, theme.heading);
    heading.draw(line(area, 0), buf);

    let width = usize::from(area.width.saturating_sub(2)).max(8);
    let mut texts = text::wrap(row.help, width);
    texts.extend(text::wrap(&meaning(row), width));
    let history = row.history;
    let judgement = history.filter(|_| is_judged(row)).map(RowHistory::trend);
    let reasons = judgement.map_or_else(Vec::new, Judgement::texts);
    let suspects = app.engine.living_suspects();
    let suspects = suspects.filter(|_| !is_of_cgroup);
    let mut own = suspects.filter(|suspect| suspect.key.part().is_some_and(|key| key.id == row.id));
    let sentence = own.find_map(|suspect| match (suspect.key.part(), &suspect.cause) {
        (Some(key), _) if key.mount.is_some() => Some(format!("It grows in {}.", text::safe(&key.name()))),
        // The process with most of it is shown below, growing or not.
        (_, Some(Cause::Holder(_)) | None) => None,
        (_, Some(cause @ Cause::SystemV { .. })) => Some(format!("{}.", cause.text())),
        (_, Some(cause @ Cause::Unseen)) => Some(format!("It grows, {}.", cause.text())),
        (_, Some(cause @ Cause::Sockets { .. })) => Some(format!("It grows; {}.", cause.text())),
        (_, Some(cause)) => Some(format!("It grows in {}.", cause.text())),
    });
    texts.extend(sentence.iter().flat_map(|sentence| text::wrap(sentence, width)));
    if !is_of_cgroup {
        let share = app.engine.snapshot.as_ref();
        let share = share.and_then(|snapshot| app.engine.history.part_share(row.id, snapshot));
        texts.extend(share.map(|share| format!("{}.", share.text())));
    }
    if !reasons.is_empty() {
        texts.extend(text::wrap(&reasons.join(", "), width));
    }
    for (y, words) in (1..area.height).zip(&texts) {
        draw_line(buf, line(area, y), &format!(" {words}"), theme.dim);
    }
    let rest = panel::below(area, 1 + texts.len() as u16);
    if let Some(history) = history.filter(|_| rest.height >= MIN_CHART) {
        let charted = Charted {
            eta: row.eta(),
            is_judged: is_judged(row),
            ..Charted::new(app, "size", history.into())
        };
        draw_chart(app, snapshot, &charted, rest, buf);
    }
}

fn is_judged(row: &PartRow<'_>) -> bool {
    Growth::of(row.id).is_judged() && !row.is_within
}

/// Returns the meaning of the part's growth.
fn meaning(row: &PartRow<'_>) -> String {
    let Some(PartKind { growth, reason, .. }) = PartKind::find(row.id).filter(|_| !row.is_within) else {
        return String::new();
    };
    match growth {
        Growth::Leak => format!("Growth may be a leak: {reason}."),
        Growth::Processes => format!("Growth is reported for the processes: {reason}."),
        Growth::Reclaimed => format!("Growth is never reported as a leak: {reason}."),
        Growth::Free => String::new(),
    }
}
