//! Page 3, the kernel's own memory: slab caches, callers of the allocator, and allocation sites in the source.
//!
//! ```text
//!  slab  callers  sites
//!  ▼SIZE   Δ10s ΔMARK 5 MIN      TREND            USED  WASTE  OBJ%  ACTIVE  OBJS  OBJSZ  SLABS  RECL  CACHE
//!  319M    +12M  +40M ▁▂▂▃▄▄▅▆▇ △ grow 12.0M/min  306M  12.9M  99.6 284.6K 285.8K  1.1K  20.4K  yes   ext4_inode_cache
//!  …
//!  1.0G                                           997M  70.3M  91.0   3.6M   4.0M        144K         235 caches, 2 shown
//!  Slab 1.0G by meminfo: 700M reclaimable, 374M not
//! ```
//!
//! ΔMARK is shown while there is a mark.

use std::collections::HashMap;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Position, Rect};

use crate::columns::callers::{CallSites, CallerRow, cost, own, unnamed};
use crate::columns::kernel_table::{KernelRow, KernelTable};
use crate::columns::sites::{self, STOPPED, SiteRow, Sites};
use crate::columns::slab::{self, Slab, SlabRow, sums};
use crate::columns::{Cell, Column, Label, MenuColumn, Needs, Priority, TableKind, cell, columns_help};
use crate::config::Action;
use crate::filter::{Filterable, TextField};
use crate::history::kernel::TableHistories;
use crate::model::kernel::{AllocSite, AllocSites, SlabCaches};
use crate::model::{Missing, Reading};
use crate::text;
use crate::tui::app::{App, HelpSection, Hint, Page, PageKey, PageTable};
use crate::tui::event::Effect;
use crate::tui::widgets::{TableGrid, cell_style, draw_line, draw_text, line};
use crate::units::counted;

/// Minimum height of the page for its sums, and for a note below them.
const MIN_TOTAL: u16 = 4;
const MIN_NOTE: u16 = 6;
/// Number of dying cgroups from which on they are noted: each holds at least some 10 KiB of the kernel's own data.
const MANY_DYING: u64 = 500;
/// Maximum number of lines of the note.
const MAX_NOTE: usize = 3;

pub struct KernelPage {
    /// A table for each view.
    tables: [PageTable; 3],
    /// The index of the view that is shown.
    open: usize,
}

impl Default for KernelPage {
    fn default() -> Self {
        let tables = std::array::from_fn(|_| PageTable {
            sort: Some((0, true)),
            ..PageTable::default()
        });
        Self { tables, open: 0 }
    }
}

/// Evaluates an expression with a name for the type of the rows of a view.
macro_rules! view {
    ($at:expr, $kind:ident => $value:expr) => {
        match $at {
            0 => {
                type $kind = Slab;
                $value
            }
            1 => {
                type $kind = CallSites;
                $value
            }
            _ => {
                type $kind = Sites;
                $value
            }
        }
    };
}

impl KernelPage {
    /// Returns the lines below the table: remarks on the figures.
    fn note(&self, app: &App) -> Vec<String> {
        let width = usize::from(app.layout().page.width.saturating_sub(2)).max(8);
        let notes = view!(self.open, T => T::notes(app));
        let mut lines = text::wrap(&notes.join("  ·  "), width);
        lines.truncate(MAX_NOTE);
        lines
    }

    /// Returns the areas of the tabs, of the table with its heading, of the sums and of the note.
    fn areas(&self, app: &App) -> [Rect; 4] {
        let page = app.layout().page;
        let note = self.note(app).len().max(1) as u16;
        let note = note.min((page.height + 1).saturating_sub(MIN_NOTE));
        let (tabs, total) = (u16::from(page.height > 1), u16::from(page.height >= MIN_TOTAL));
        let [tabs, total, note] = [tabs, total, note].map(Constraint::Length);
        Layout::vertical([tabs, Constraint::Fill(1), total, note]).areas(page)
    }

    /// Returns the name of each view, and the area of its tab.
    fn tabs(&self, area: Rect) -> impl Iterator<Item = (usize, &'static str, Rect)> {
        let mut x = area.x;
        (0..self.tables.len()).map(move |at| {
            let name = view!(at, T => T::NAME);
            let width = (text::width(name) as u16 + 2).min(area.right().saturating_sub(x));
            let tab = Rect { x, width, ..area };
            x += width;
            (at, name, tab)
        })
    }
}

impl Page for KernelPage {
    fn hints(&self) -> &'static [Hint] {
        &[
            Hint::Action(Action::NextGroups, "next view"),
            Hint::Action(Action::Filter, "filter"),
            Hint::Action(Action::SortMenu, "sort"),
            Hint::Action(Action::Mark, "mark"),
            Hint::Action(Action::SpanLonger, "longer span"),
            Hint::Action(Action::Units, "units"),
            Hint::Action(Action::Search, "search"),
            Hint::Action(Action::Help, "help"),
            Hint::Action(Action::Quit, "quit"),
        ]
    }

    fn table(&self) -> &PageTable {
        &self.tables[self.open]
    }

    fn table_mut(&mut self) -> &mut PageTable {
        &mut self.tables[self.open]
    }

    fn keys(&self, app: &App) -> Vec<PageKey> {
        let name = |row: &dyn Filterable| row.text(TextField::Group).unwrap_or_default().into_owned();
        view!(self.open, T => {
            let rows = T::rows(app).unwrap_or_default();
            let order = self.table().arrange(&T::shown(), &rows);
            order.into_iter().map(|at| name(&rows[at])).collect()
        })
    }

    fn columns(&self) -> Vec<MenuColumn> {
        view!(self.open, T => MenuColumn::all(&T::shown()))
    }

    fn parse_filter(&mut self, text: &str) {
        let open = self.open;
        let filter = &mut self.table_mut().filter;
        view!(open, T => filter.set_by(text, &T::COLUMNS));
    }

    fn area(&self, app: &App, _rows: usize) -> Rect {
        let [_, table, ..] = self.areas(app);
        table
    }

    fn grid(&self, app: &App, area: Rect) -> TableGrid {
        view!(self.open, T => self.table().grid(app, &T::shown(), area))
    }

    fn takes(&self, action: Action) -> bool {
        matches!(
            action,
            Action::NextGroups | Action::PreviousGroups | Action::Left | Action::Right | Action::Open
        )
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Vec<Effect> {
        let views = self.tables.len();
        match action {
            Action::NextGroups | Action::Right => self.open = (self.open + 1) % views,
            Action::PreviousGroups | Action::Left => self.open = (self.open + views - 1) % views,
            Action::Open if !self.traces() => {
                let name = view!(self.open, T => T::NOUN);
                app.screen.say(format!("a {name} has nothing to open"));
            }
            Action::Open => app.data.callers.by_site = !app.data.callers.by_site,
            _ => {}
        }
        (self as &mut dyn Page).follow(app);
        Vec::new()
    }

    fn on_click(&mut self, app: &App, at: Position) -> bool {
        let [tabs, ..] = self.areas(app);
        let tab = self.tabs(tabs).find(|(.., tab)| tab.contains(at));
        let Some((view, ..)) = tab else { return false };
        self.open = view;
        (self as &mut dyn Page).follow(app);
        true
    }

    fn help(&self) -> Vec<HelpSection> {
        let section = |at| view!(at, T => (T::HELP, columns_help(&T::shown())));
        (0..self.tables.len()).map(section).collect()
    }

    fn needs(&self) -> Needs {
        view!(self.open, T => T::NEEDS)
    }

    fn traces(&self) -> bool {
        view!(self.open, T => T::TRACES)
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        let [tabs, table, total, note] = self.areas(app).map(|part| part.intersection(area));
        buf.set_style(tabs, theme.dim);
        for (at, name, tab) in self.tabs(tabs) {
            let is_open = at == self.open;
            let style = if is_open { theme.heading_sorted } else { theme.dim };
            draw_text(buf, tab.x, tab.y, &format!(" {name} "), usize::from(tab.width), style);
        }
        let fault = view!(self.open, T => {
            let (rows, fault) = match T::rows(app) {
                Ok(rows) => (rows, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            let order = self.table().arrange(&T::shown(), &rows);
            let shown: Vec<_> = order.iter().map(|at| rows[*at]).collect();
            self.table().draw(app, &T::shown(), shown.iter(), table, buf, |_, _, _| None);
            if !rows.is_empty() {
                let label = label::<T>(app, shown.len(), rows.len());
                draw_total::<T>(app, &self.grid(app, total), &T::total(&shown), &label, total, buf);
            }
            fault
        });
        if let Some(why) = fault {
            let width = usize::from(table.width.saturating_sub(2)).max(8);
            for (y, words) in (2..table.height).zip(text::wrap(&why, width)) {
                draw_line(buf, line(table, y), &format!(" {words}"), theme.text);
            }
        }
        for (y, words) in (0..note.height).zip(self.note(app)) {
            draw_line(buf, line(note, y), &format!(" {words}"), theme.dim);
        }
    }
}

/// The rows of a view.
trait Source: TableKind {
    /// The title of the tab.
    const NAME: &'static str;
    /// The name of a row.
    const NOUN: &'static str;
    /// The title of the columns in the help.
    const HELP: &'static str;
    const NEEDS: Needs;
    /// The kernel is traced while the view is open.
    const TRACES: bool = false;

    /// Returns the columns of the page, the names last.
    fn shown() -> Vec<Column<Self>>;

    /// Returns the rows, or why there are none and what would make them readable.
    fn rows(app: &App) -> Result<Vec<Self::Row<'_>>, String>;

    /// Sums up rows.
    fn total<'a>(rows: &[Self::Row<'a>]) -> Self::Row<'a>;

    /// Returns the number of malformed lines.
    fn malformed(_app: &App) -> usize {
        0
    }

    /// Returns remarks on the figures.
    fn notes(app: &App) -> Vec<String>;
}

/// Draws the sums in an area of one line.
fn draw_total<'a, T: Source>(
    app: &App,
    grid: &TableGrid,
    total: &'a T::Row<'a>,
    label: &str,
    area: Rect,
    buf: &mut Buffer,
) {
    if area.is_empty() {
        return;
    }
    let (theme, columns) = (&app.config.theme, T::shown());
    buf.set_style(area, theme.totals);
    grid.draw_row(buf, 0, |at| {
        let column = &columns[at];
        if column.label != Label::None {
            return (label.to_owned(), theme.totals);
        }
        let width = usize::from(grid.cell(0, at).width);
        let Cell { text, style } = cell(&(column.value)(total), app.screen.units, width);
        (text, theme.totals.patch(cell_style(theme, style)))
    });
}

/// Names the rows that are summed: `20 of 187 caches`.
fn label<T: Source>(app: &App, passing: usize, all: usize) -> String {
    let mut label = counted(all as u64, T::NOUN);
    if passing < all {
        label = format!("{passing} of {label}");
    }
    match T::malformed(app) {
        0 => label,
        malformed => format!("{label}, partial: {malformed} malformed"),
    }
}

/// Chooses columns by their ids, separated by spaces. The first stays on every screen, those in `low` are left out first, and the
/// names of the rows take the remaining width, at least `name_width`.
fn choose<T: TableKind + Copy>(ids: &str, tables: &[&[Column<T>]], low: &[&str], name_width: u16) -> Vec<Column<T>> {
    let known = || tables.iter().copied().flatten();
    let chosen = ids
        .split(' ')
        .filter_map(|id| known().find(|column| column.id == id).copied());
    let mut columns: Vec<_> = chosen.collect();
    for (at, column) in columns.iter_mut().enumerate() {
        if at == 0 {
            column.priority = Priority::Highest;
        } else if low.contains(&column.id) {
            column.priority = Priority::Low;
        } else if column.label != Label::None {
            (column.width, column.grows) = (name_width, true);
        }
    }
    columns
}

/// Returns the rows of lines with their histories and, if there are `marked` lines, the changes since. A line that is new since
/// then counts in full.
fn kernel_rows<'a, T: KernelTable>(
    app: &App,
    lines: impl IntoIterator<Item = &'a T::Line>,
    marked: Option<&[T::Line]>,
    histories: &'a TableHistories,
) -> Vec<KernelRow<'a, T>> {
    let span = app.screen.chart.span().time;
    let size = |line| T::size(&T::figures(line)).cast_signed();
    let marked: Option<HashMap<_, i64>> =
        marked.map(|lines| lines.iter().map(|line| (T::key(line), size(line))).collect());
    let row = |line| {
        let key = T::key(line);
        let then = marked.as_ref().map(|marked| marked.get(&key).copied().unwrap_or(0));
        KernelRow {
            history: histories.get(&key),
            span,
            since_mark: then.map(|then| size(line).saturating_sub(then)),
            ..KernelRow::new(line)
        }
    };
    lines.into_iter().map(row).collect()
}

fn caches(app: &App) -> Reading<&SlabCaches> {
    let snapshot = app.engine.snapshot.as_ref().ok_or(Missing::Pending)?;
    snapshot.kernel.slab.as_deref().map_err(|why| *why)
}

impl Source for Slab {
    const NAME: &'static str = "slab";
    const NOUN: &'static str = "cache";
    const HELP: &'static str = "SLAB CACHES";
    const NEEDS: Needs = Needs::SLAB;

    fn shown() -> Vec<Column<Self>> {
        let ids =
            "size change since_mark history trend used waste use active objects object_size slabs reclaimable cache";
        // Few names are longer.
        choose(ids, &[Slab::COLUMNS, slab::OVER_TIME], &["slabs", "objects"], 18)
    }

    fn rows(app: &App) -> Result<Vec<SlabRow<'_>>, String> {
        let found = caches(app).map_err(|why| match why {
            Missing::Pending if app.replay.is_some() => "slab caches are not recorded".into(),
            Missing::Pending => "reading the slab caches …".into(),
            Missing::Denied => format!("{}: sudo zmtop shows them, each with its growth", slab::unread(why)),
            why => slab::unread(why),
        })?;
        let mark = app.data.marks.current();
        let marked = mark.and_then(|mark| Some(&mark.kernel().slab.as_ref().ok()?.caches[..]));
        Ok(kernel_rows(app, &found.caches, marked, app.engine.history.slab()))
    }

    fn total<'a>(rows: &[Self::Row<'a>]) -> Self::Row<'a> {
        KernelRow::total(rows)
    }

    fn malformed(app: &App) -> usize {
        caches(app).map_or(0, |found| found.malformed)
    }

    fn notes(app: &App) -> Vec<String> {
        let snapshot = app.engine.snapshot.as_ref();
        let sums = snapshot.and_then(|snapshot| sums(&snapshot.system, caches(app), app.screen.units));
        let dying = snapshot.and_then(|snapshot| snapshot.kernel.dying_cgroups.ok());
        let dying = dying.filter(|dying| *dying >= MANY_DYING).map(|dying| {
            format!("{dying} dying cgroups hold memory: they were removed, but pages or slab objects are still charged to them")
        });
        sums.into_iter().chain(dying).collect()
    }
}

impl Source for CallSites {
    const NAME: &'static str = "callers";
    const NOUN: &'static str = "caller";
    const HELP: &'static str = "CALLERS";
    const NEEDS: Needs = Needs::NOTHING;
    const TRACES: bool = true;

    fn shown() -> Vec<Column<Self>> {
        let ids = "allocated requested wasted frag hits rate request size growth cross_cpu caller";
        // Names include the module.
        choose(ids, &[CallSites::COLUMNS], &["frag", "cross_cpu"], 24)
    }

    fn rows(app: &App) -> Result<Vec<CallerRow<'_>>, String> {
        match &app.data.callers.found {
            Some(Ok(found)) => Ok(CallerRow::of(found, !app.data.callers.by_site)),
            Some(Err(why)) => Err(why.clone()),
            None if app.data.callers.runs => Err("starting the trace …".into()),
            None if app.replay.is_some() => Err("callers of the allocator are not recorded".into()),
            None => Err("no trace while sampling is paused".into()),
        }
    }

    fn total<'a>(rows: &[Self::Row<'a>]) -> Self::Row<'a> {
        CallerRow::total(rows, rows.first().map_or(0.0, |row| row.seconds))
    }

    fn notes(app: &App) -> Vec<String> {
        let Some(Ok(found)) = &app.data.callers.found else {
            return Vec::new();
        };
        let mut notes = vec![cost(&found.trace, app.screen.units)];
        if !app.data.callers.runs {
            notes.insert(0, "paused".into());
        }
        notes.extend(own(&found.trace, app.screen.units));
        notes.extend(found.symbols.err().map(unnamed));
        notes
    }
}

fn alloc_sites(app: &App) -> Reading<&AllocSites> {
    let snapshot = app.engine.snapshot.as_ref().ok_or(Missing::Pending)?;
    snapshot.kernel.sites.as_deref().map_err(|why| *why)
}

impl Source for Sites {
    const NAME: &'static str = "sites";
    const NOUN: &'static str = "site";
    const HELP: &'static str = "ALLOCATION SITES";
    const NEEDS: Needs = Needs::SITES;

    fn shown() -> Vec<Column<Self>> {
        let ids = "size change since_mark history trend calls each accurate module function site";
        let mut columns = choose(ids, &[Sites::COLUMNS, sites::OVER_TIME], &[], 24);
        if let Some(function) = columns.iter_mut().find(|column| column.id == "function") {
            (function.width, function.priority) = (24, Priority::High);
        }
        columns
    }

    fn rows(app: &App) -> Result<Vec<SiteRow<'_>>, String> {
        let found = alloc_sites(app).map_err(|why| match why {
            Missing::Pending if app.replay.is_some() => "allocation sites are not recorded".into(),
            Missing::Pending => "reading the allocation sites …".into(),
            why => sites::unread(why),
        })?;
        // Most lines never held anything.
        let is_used = |site: &&AllocSite| site.figures.calls > 0 || site.figures.size > 0;
        let mark = app.data.marks.current();
        let marked = mark.and_then(|mark| Some(&mark.kernel().sites.as_ref().ok()?.sites[..]));
        let used = found.sites.iter().filter(is_used);
        Ok(kernel_rows(app, used, marked, app.engine.history.sites()))
    }

    fn total<'a>(rows: &[Self::Row<'a>]) -> Self::Row<'a> {
        KernelRow::total(rows)
    }

    fn malformed(app: &App) -> usize {
        alloc_sites(app).map_or(0, |found| found.malformed)
    }

    fn notes(app: &App) -> Vec<String> {
        let is_stopped = alloc_sites(app).is_ok_and(|found| !found.running);
        is_stopped.then(|| STOPPED.to_owned()).into_iter().collect()
    }
}
