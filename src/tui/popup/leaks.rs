//! The list of processes and groups that grow or leak, worst first.
//!
//! ```text
//! ┌ Leaks ───────────────────────────────────────────────────────────────────────────────────────────────┐
//! │ VERDICT         PACE  SURE   SINCE     ETA  FOOTP      PID  USER      WHO                              │
//! │ leaking    11.4M/min   98%   32m00    5h02   1.3G    27213  alice     python3 train.py  mostly [heap] +136M │
//! └──────────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::Popup;
use crate::columns::suspect::{COLUMNS, SuspectRow, suspect_cell};
use crate::columns::{Priority, Unit};
use crate::group::RowKey;
use crate::history::mapping_diff::MappingGrowth;
use crate::history::suspects::Suspect;
use crate::trend::Verdict;
use crate::tui::app::{App, Response};
use crate::tui::navigation::show_scope;
use crate::tui::rows::rebuild;
use crate::tui::scope::Scope;
use crate::tui::widgets::{ColumnLayout, ListState, TableGrid, draw_line, line};
use crate::{text, units};

/// Columns that the name of a suspect needs beside what grew in it.
const MIN_NAME_WIDTH: usize = 14;

/// The open list.
#[derive(Debug)]
pub struct LeakList {
    /// The cursor.
    pub list: ListState,
    /// The suspects as listed, so that the cursor stays with its own when they change places.
    keys: Vec<RowKey>,
}

impl LeakList {
    /// Returns a list of the suspects there are.
    pub fn new(app: &App) -> Self {
        Self {
            list: ListState::default(),
            keys: keys(app),
        }
    }
}

fn keys(app: &App) -> Vec<RowKey> {
    app.engine.suspects.iter().map(|suspect| suspect.key.clone()).collect()
}

impl Popup for LeakList {
    const TITLE: &'static str = " Leaks ";
    const WIDTH: u16 = 160;
    const HEADING_LINES: usize = 1;
    const CLICK_ACCEPTS: bool = true;

    fn list(&mut self) -> &mut ListState {
        &mut self.list
    }

    fn len(&self, app: &App) -> usize {
        app.engine.suspects.len()
    }

    fn on_snapshot(&mut self, app: &App, height: usize) {
        let before = std::mem::replace(&mut self.keys, keys(app));
        let selected = before.get(self.list.cursor);
        let found = self.keys.iter().position(|key| Some(key) == selected);
        let to = found.unwrap_or(self.list.cursor);
        self.list.select(to, self.keys.len().max(1), height);
    }

    /// Goes to the suspect: to a process with its panel, to a program among programs.
    fn accept(&mut self, app: &mut App) -> Response {
        let Some(suspect) = app.engine.suspects.get(self.list.cursor) else {
            return Response::close();
        };
        if suspect.ended.is_some() {
            app.screen.say("that process has ended");
            return Response::close();
        }
        let key = suspect.key.clone();
        app.screen.panel_open = true;
        show_scope(app, Scope::by(key.group().map(|group| group.by)), Some(&key));
        if app.tables.current().selected.as_ref() != Some(&key) {
            // A filter holds it back, or it is folded away.
            app.query.filter.set("");
            app.query.user = None;
            if key.process().is_some() {
                app.query.folded.clear();
            }
            rebuild(app);
            app.select_row(Some(&key));
            app.screen.say("shown without the filter");
        }
        Response::close()
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        if area.is_empty() {
            return;
        }
        let Some(snapshot) = app.engine.snapshot.as_ref().filter(|_| !app.engine.suspects.is_empty()) else {
            let text = " nothing grows or leaks so far; growth is told in two minutes, a leak in 16";
            return draw_line(buf, area, text, theme.dim);
        };
        let width = usize::from(area.width);
        let columns: Vec<_> = COLUMNS.iter().filter(|c| width >= min_width(c.priority)).collect();
        let layout = columns.iter().map(|column| ColumnLayout {
            grows: column.grows,
            ..ColumnLayout::fixed(column.width.max(column.title.len() as u16), column.align())
        });
        let grid = TableGrid::new(&layout.collect::<Vec<_>>(), area, 2);
        grid.draw_row(buf, 0, |at| (columns[at].title.to_owned(), theme.dim));
        let name_width = usize::from(grid.cell(0, columns.len() - 1).width);
        let suspects = app.engine.suspects.iter().enumerate().skip(self.list.offset);
        for (y, (index, suspect)) in (1..area.height).zip(suspects) {
            let selected = index == self.list.cursor;
            if selected {
                buf.set_style(line(area, y), theme.selected);
            }
            let fastest = fastest_mapping(app, suspect)
                .map(|growth| format!("  mostly {}", mapping_growth(app, growth, 30)))
                .filter(|text| text::width(text) + MIN_NAME_WIDTH <= name_width)
                .unwrap_or_default();
            let row = SuspectRow {
                suspect,
                now: snapshot.monotonic,
            };
            let left = name_width - text::width(&fastest);
            grid.draw_row(buf, y, |at| {
                let column = columns[at];
                let mut text = suspect_cell(column, &row, app.screen.units, left).text;
                if column.grows {
                    text += &fastest;
                }
                let by_verdict = matches!(column.unit, Unit::Verdict | Unit::Growth);
                let style = match (suspect.ended.is_some(), suspect.judgement.verdict, by_verdict) {
                    _ if selected => theme.selected,
                    (true, ..) => theme.dim,
                    (false, Verdict::Leaking, true) => theme.leak,
                    (false, _, true) => theme.up,
                    (false, ..) => theme.popup,
                };
                (text, style)
            });
        }
    }
}

/// Returns the terminal width from which columns of that priority are shown.
const fn min_width(priority: Priority) -> usize {
    match priority {
        Priority::Low => 100,
        Priority::Normal => 80,
        Priority::High | Priority::Highest => 0,
    }
}

/// Returns the mapping of a suspect that grew most, where that is known.
pub(in crate::tui) fn fastest_mapping<'a>(app: &'a App, suspect: &Suspect) -> Option<&'a MappingGrowth> {
    app.data.growth.fastest(suspect.key.process()?)
}

/// Writes a mapping and its growth: `[heap] +136M`; of a long name the end.
pub(in crate::tui) fn mapping_growth(app: &App, growth: &MappingGrowth, width: usize) -> String {
    let name = text::safe(&growth.name);
    let name = text::truncate_start(&name, width);
    let by = growth
        .growth()
        .map_or_else(|| "-".into(), |by| units::delta(by, app.screen.units));
    format!("{name} {by}")
}
