//! The files that fill the page cache, read when the popup is opened.
//!
//! ```text
//! ┌ Files in the page cache ──────────────────────────────────────────────────────────────────────────────┐
//! │ CACHED  DIRTY  FILE%   BY      PID  NAME             FILE                                              │
//! │   2.1G      0  100.0    4     1301  postgres         /var/lib/postgresql/16/main/base/16384/24601      │
//! │   812M    12M   19.8    1      977  mysqld           /var/lib/mysql/ibdata1                            │
//! │─────────────────────────────────────────────────────────────────────────────────────────────────────────│
//! │ 4.1G of 5.0G of page cache is in files that are open or mapped; the rest belongs to files that are closed │
//! └─────────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```

use std::borrow::Cow;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Popup;
use crate::columns::cached_file::{COLUMNS, CachedRow, notes, unread};
use crate::columns::{Column, Label, Priority, cell};
use crate::config::Action;
use crate::model::page_cache::CachedFile;
use crate::text;
use crate::tui::app::{App, Hint};
use crate::tui::event::{CacheScope, Effect};
use crate::tui::replay::NOT_RECORDED;
use crate::tui::widgets::{ColumnLayout, ListState, TableGrid, draw_line, line, select_row};

/// Maximum number of files listed.
const LISTED: usize = 1000;
/// The width from which the columns of a priority fit beside a path.
const fn min_width(priority: Priority) -> u16 {
    match priority {
        Priority::Highest => 0,
        Priority::High => 60,
        Priority::Normal => 90,
        Priority::Low => 140,
    }
}

pub struct CacheList;

/// Opens the popup, and requests a read unless it is under way.
pub fn open(app: &mut App, scope: CacheScope) -> Vec<Effect> {
    if app.replay.is_some() {
        app.screen.fail(NOT_RECORDED);
        return Vec::new();
    }
    app.open_popup(CacheList);
    app.data.cache.start(scope).into_iter().collect()
}

/// Returns the files listed.
fn files(app: &App) -> &[CachedFile] {
    let found = app.data.cache.found.as_ref().and_then(|found| found.as_ref().ok());
    found.map_or(&[], |found| &found.files[..found.files.len().min(LISTED)])
}

impl Popup for CacheList {
    const TITLE: &'static str = " Files in the page cache ";
    const WIDTH: u16 = 160;
    const IS_MENU: bool = false;
    const HEADING_LINES: u16 = 1;
    const HINTS: &'static [Hint] = &[
        Hint::Action(Action::Search, "search"),
        Hint::Action(Action::Down, "down"),
        Hint::Action(Action::Up, "up"),
        Hint::Action(Action::Last, "last"),
        Hint::Action(Action::Cancel, "close"),
    ];

    fn texts(&self, app: &App) -> Vec<String> {
        let files = files(app).iter();
        files.map(|file| text::safe(&file.path).into_owned()).collect()
    }

    /// Returns the path in full, and the sums.
    fn note(&self, app: &App, at: usize) -> Option<Cow<'static, str>> {
        let found = app.data.cache.found.as_ref()?.as_ref().ok()?;
        let mut parts = notes(found, app.screen.units);
        if let Some(file) = files(app).get(at) {
            let mark = if file.is_deleted { ", deleted" } else { "" };
            let why = file.figures.err().map_or_else(String::new, |why| format!(": {why}"));
            parts.insert(0, format!("{}{mark}{why}", text::safe(&file.path)));
        }
        Some(parts.join(". ").into())
    }

    fn draw(&self, app: &App, list: ListState, area: Rect, buf: &mut Buffer) {
        let (theme, reads) = (&app.config.theme, &app.data.cache);
        if area.is_empty() {
            return;
        }
        let (page, files) = match (&reads.found, reads.progress) {
            (Some(Ok(found)), _) if !found.files.is_empty() => (found.page, files(app)),
            (Some(Ok(_)), None) => return draw_line(buf, area, " no process has a file open", theme.dim),
            (Some(Err(why)), None) => return draw_line(buf, area, &format!(" {}", unread(*why)), theme.error),
            (_, Some(progress)) => return draw_line(buf, area, &format!(" {progress}"), theme.dim),
            (None, None) => return,
        };
        let is_shown = |column: &&Column<_>| {
            let is_on_request = matches!(column.id, "writeback" | "deleted" | "kind" | "unread");
            area.width >= min_width(column.priority) && !is_on_request
        };
        let columns: Vec<_> = COLUMNS.iter().filter(is_shown).collect();
        let layout = columns.iter().map(|column| ColumnLayout {
            grows: column.grows,
            ..ColumnLayout::fixed(column.width_in(app.screen.units), column.align())
        });
        let grid = TableGrid::new(&layout.collect::<Vec<_>>(), area, 2);
        grid.draw_row(buf, 0, |at| (columns[at].title.to_owned(), theme.dim));
        let shown = files.iter().enumerate().skip(list.offset);
        for (y, (index, file)) in (1..area.height).zip(shown) {
            let row = CachedRow::new(file, page);
            grid.draw_row(buf, y, |at| {
                let width = usize::from(grid.cell(y, at).width);
                let text = match columns[at].label {
                    // The end of a path distinguishes files.
                    Label::Group => text::truncate_start(&text::safe(&file.path), width),
                    _ => cell(&(columns[at].value)(&row), app.screen.units, width).text,
                };
                (text, theme.popup)
            });
            if index == list.cursor {
                select_row(buf, line(area, y), theme, &[]);
            }
        }
    }
}
