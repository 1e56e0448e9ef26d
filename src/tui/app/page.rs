//! Pages: what the screen shows between its header and its last line. The first is the tables of processes; each other one
//! is a [`Page`], with its state, its keys and its drawing.
//!
//! A page stays as it is while another one is open. Popups and prompts open over it as over the tables.

use std::any::Any;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{App, FilterState, Hint};
use crate::columns::Needs;
use crate::config::Action;
use crate::tui::event::Effect;

/// A section of the help: its title, and terms with what they mean.
pub type HelpSection = (&'static str, Vec<(String, String)>);

/// A page in place of the tables of processes.
///
/// While it handles something it is not in the state that it is given.
pub trait Page: Any {
    /// Returns the keys that the last line names, those of the other pages aside.
    fn hints(&self) -> &'static [Hint];

    /// Returns true if it performs an action. Those that are the same on each page, as help and units, never reach it.
    fn takes(&self, action: Action) -> bool;

    /// Performs an action that it takes.
    fn on_action(&mut self, app: &mut App, action: Action) -> Vec<Effect>;

    /// Goes back one step, as Esc does; returns false if there is none, so that the page itself is left.
    fn back(&mut self, _app: &mut App) -> bool {
        false
    }

    /// Moves the selection by rows, as the wheel does.
    fn step(&mut self, app: &App, rows: isize);

    /// Takes a click.
    fn on_click(&mut self, app: &mut App, at: Position) -> Vec<Effect>;

    /// Returns its filter, and how many rows pass it; `None` where it has none.
    fn filter(&self, _app: &App) -> Option<(&FilterState, usize)> {
        None
    }

    /// Parses what was typed as its filter.
    fn set_filter(&mut self, _app: &App, _text: &str) {}

    /// Sorts by the column at that place; the other way round if it is sorted by it already.
    fn sort_by(&mut self, _app: &App, _column: usize) {}

    /// Selects a row that a text is found in, `first` rows from the selection on and then every `step` rows; returns false
    /// where there is none.
    fn find(&mut self, _app: &App, _text: &str, _first: isize, _step: isize) -> bool {
        false
    }

    /// Follows a new snapshot, or another size of the screen.
    fn follow(&mut self, _app: &App) {}

    /// Returns the sections of the help about it: a title, and terms with what they mean.
    fn help(&self) -> Vec<HelpSection>;

    /// Returns what must be read for it while it is open.
    fn needs(&self) -> Needs;

    /// Returns true if it shows the call sites of the kernel's allocator, which are traced as long as it does.
    fn traces(&self) -> bool {
        false
    }

    /// Draws it.
    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer);
}

/// The pages that were opened so far, by the actions that open them, and the one that is open.
#[derive(Default)]
pub struct Pages {
    open: Option<Action>,
    all: Vec<(Action, Box<dyn Page>)>,
}

impl Pages {
    /// Returns the action that opens the open page; `None` while the processes are shown.
    pub const fn open(&self) -> Option<Action> {
        self.open
    }

    fn position(&self) -> Option<usize> {
        self.all.iter().position(|(action, _)| Some(*action) == self.open)
    }
}

impl App {
    /// Opens the page of an action, made anew if it is for the first time.
    pub fn open_page(&mut self, action: Action, make: impl FnOnce() -> Box<dyn Page>) {
        self.pages.open = Some(action);
        if self.pages.position().is_none() {
            self.pages.all.push((action, make()));
        }
        self.with_page(|page, app| page.follow(app));
    }

    /// Goes back to the tables of processes.
    pub fn close_page(&mut self) {
        if self.pages.open.take().is_some() {
            self.scroll_to_selection();
        }
    }

    /// Returns the open page.
    pub fn page(&self) -> Option<&dyn Page> {
        let (_, page) = self.pages.all.get(self.pages.position()?)?;
        Some(&**page)
    }

    /// Returns the open page if it is of that type, to change.
    pub fn page_mut<P: Page>(&mut self) -> Option<&mut P> {
        let at = self.pages.position()?;
        let page: &mut dyn Any = &mut *self.pages.all[at].1;
        page.downcast_mut()
    }

    /// Has the open page handle something; returns nothing where none is open.
    pub fn with_page<T: Default>(&mut self, handle: impl FnOnce(&mut dyn Page, &mut Self) -> T) -> T {
        let Some(at) = self.pages.position() else {
            return T::default();
        };
        let (action, mut page) = self.pages.all.swap_remove(at);
        let result = handle(&mut *page, self);
        self.pages.all.push((action, page));
        result
    }
}
