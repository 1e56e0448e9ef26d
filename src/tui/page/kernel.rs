//! Page 3: the kernel's own memory: its slab caches, who takes memory from its allocator, and the lines of its source
//! that hold memory.
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
//! ΔMARK is there while there is a mark.

mod callers;
mod sites;
mod slab;
mod view;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use self::view::{TableView, View};
use super::table::PageTable;
use crate::columns::Needs;
use crate::columns::callers::CallSites;
use crate::columns::sites::Sites;
use crate::columns::slab::Slab;
use crate::config::Action;
use crate::text;
use crate::tui::app::{App, FilterState, HelpSection, Hint, Page};
use crate::tui::event::Effect;
use crate::tui::popup::sort::SortMenu;
use crate::tui::prompt::{Prompt, PromptKind};
use crate::tui::widgets::{draw_line, draw_text, line};

/// The fewest lines of the page with its sums, and with a note below them.
const MIN_TOTAL: u16 = 4;
const MIN_NOTE: u16 = 6;
/// Lines of the note at most.
const MAX_NOTE: usize = 3;

/// The state of the page.
pub struct KernelPage {
    views: Vec<Box<dyn View>>,
    /// The place of the view that is shown.
    open: usize,
}

impl Default for KernelPage {
    fn default() -> Self {
        Self {
            views: vec![
                Box::<TableView<Slab>>::default(),
                Box::<TableView<CallSites>>::default(),
                Box::<TableView<Sites>>::default(),
            ],
            open: 0,
        }
    }
}

/// The areas of the page.
struct Areas {
    /// The names of the views.
    views: Rect,
    /// The heading and the rows.
    table: Rect,
    total: Rect,
    note: Rect,
}

impl Areas {
    /// Divides the page, with a note of so many lines.
    fn of(page: Rect, note: usize) -> Self {
        let views = u16::from(page.height > 1);
        let total = u16::from(page.height >= MIN_TOTAL);
        let note = (note as u16).min((page.height + 1).saturating_sub(MIN_NOTE));
        let cut = |y: u16, height: u16| Rect {
            y: page.y + y,
            height,
            ..page
        };
        let below = page.height - total - note;
        Self {
            views: cut(0, views),
            table: cut(views, below - views),
            total: cut(below, total),
            note: cut(below + total, note),
        }
    }
}

impl KernelPage {
    fn view(&self) -> &dyn View {
        &*self.views[self.open]
    }

    fn view_mut(&mut self) -> &mut dyn View {
        &mut *self.views[self.open]
    }

    /// Returns the lines of what is to be known of the figures.
    fn note(&self, app: &App) -> Vec<String> {
        let width = usize::from(app.layout().page.width.saturating_sub(2)).max(8);
        let mut lines = text::wrap(&self.view().notes(app).join("  ·  "), width);
        lines.truncate(MAX_NOTE);
        lines
    }

    fn areas(&self, app: &App) -> Areas {
        Areas::of(app.layout().page, self.note(app).len().max(1))
    }

    fn height(&self, app: &App) -> usize {
        usize::from(self.areas(app).table.height.saturating_sub(1))
    }

    /// Shows the view `step` places from the present one, round and round.
    fn turn(&mut self, app: &App, step: isize) {
        let views = self.views.len();
        self.open = (self.open + views).saturating_add_signed(step) % views;
        self.follow(app);
    }

    /// Returns the columns of the screen that the name of each view takes.
    fn tabs(&self, area: Rect) -> impl Iterator<Item = (usize, Rect)> {
        let mut x = area.x;
        self.views.iter().enumerate().map(move |(at, view)| {
            let width = (text::width(view.name()) as u16 + 2).min(area.right().saturating_sub(x));
            let tab = Rect { x, width, ..area };
            x += width;
            (at, tab)
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

    fn takes(&self, action: Action) -> bool {
        PageTable::<()>::moves(action)
            || PageTable::<()>::arranges(action)
            || matches!(
                action,
                Action::NextGroups | Action::PreviousGroups | Action::Left | Action::Right | Action::Open
            )
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Vec<Effect> {
        match action {
            Action::NextGroups | Action::Right => self.turn(app, 1),
            Action::PreviousGroups | Action::Left => self.turn(app, -1),
            Action::Open if self.traces() => {
                app.data.callers.by_site = !app.data.callers.by_site;
                self.follow(app);
            }
            Action::Open => {}
            Action::Filter => {
                let (filter, _) = self.view().filter(app);
                let prompt = Prompt::new(PromptKind::Filter, &filter.text);
                app.open(prompt);
            }
            Action::ClearFilter => self.set_filter(app, ""),
            Action::SortMenu => {
                let (columns, sorted) = self.view().columns();
                app.open_popup(SortMenu::of_page(columns, sorted));
            }
            action => {
                let height = self.height(app);
                self.view_mut().on_action(app, action, height);
            }
        }
        Vec::new()
    }

    fn step(&mut self, app: &App, rows: isize) {
        let height = self.height(app);
        self.view_mut().step(app, rows, height);
    }

    fn on_click(&mut self, app: &mut App, at: Position) -> Vec<Effect> {
        let areas = self.areas(app);
        let tab = self.tabs(areas.views).find(|(_, tab)| tab.contains(at));
        match tab {
            Some((view, _)) => {
                self.open = view;
                self.follow(app);
            }
            None => self.view_mut().on_click(app, areas.table, at),
        }
        Vec::new()
    }

    fn filter(&self, app: &App) -> Option<(&FilterState, usize)> {
        Some(self.view().filter(app))
    }

    fn set_filter(&mut self, app: &App, text: &str) {
        self.view_mut().set_filter(text);
        self.follow(app);
    }

    fn sort_by(&mut self, app: &App, column: usize) {
        self.view_mut().sort_by(column);
        self.follow(app);
    }

    fn find(&mut self, app: &App, text: &str, first: isize, step: isize) -> bool {
        let height = self.height(app);
        self.view_mut().find(app, text, (first, step), height)
    }

    fn follow(&mut self, app: &App) {
        let height = self.height(app);
        self.view_mut().follow(app, height);
    }

    fn help(&self) -> Vec<HelpSection> {
        self.views.iter().map(|view| view.help()).collect()
    }

    fn needs(&self) -> Needs {
        self.view().needs()
    }

    fn traces(&self) -> bool {
        self.view().traces()
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        let areas = self.areas(app);
        let cut = |inner: Rect| inner.intersection(area);
        let tabs = cut(areas.views);
        buf.set_style(tabs, theme.dim);
        for (at, tab) in self.tabs(tabs) {
            let style = if at == self.open {
                theme.heading_sorted
            } else {
                theme.dim
            };
            let name = format!(" {} ", self.views[at].name());
            draw_text(buf, tab.x, tab.y, &name, usize::from(tab.width), style);
        }
        let table = cut(areas.table);
        self.view().draw(app, table, cut(areas.total), buf);
        if let Err(why) = self.view().state(app) {
            let width = usize::from(table.width.saturating_sub(2)).max(8);
            let room = table.height.saturating_sub(2);
            for (y, words) in (0..room).zip(text::wrap(&why, width)) {
                draw_line(buf, line(table, y + 2), &format!(" {words}"), theme.text);
            }
        }
        let note = cut(areas.note);
        for (y, words) in (0..note.height).zip(self.note(app)) {
            draw_line(buf, line(note, y), &format!(" {words}"), theme.dim);
        }
    }
}
