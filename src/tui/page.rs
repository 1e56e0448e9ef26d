//! The pages beside the tables of processes, and the keys that all of them have.
//!
//! A page is a file here with a type that implements [`Page`] and its layout drawn in the file's doc comment, its `mod` line,
//! its line in `PAGES`, and its key: an [`Action`] with an entry in the keymap.

pub mod kernel;
pub mod memory;

use super::app::{App, Page};
use super::event::Effect;
use super::labels;
use super::popup::menus::SortMenu;
use super::prompt::{Prompt, PromptKind};
use crate::config::Action;

/// The action that opens a page, its name in the last line, and its constructor.
type Entry = (Action, &'static str, fn() -> Box<dyn Page>);

/// Every page but the first.
const PAGES: &[Entry] = &[
    (Action::MemoryPage, "memory", || Box::<memory::MemoryPage>::default()),
    (Action::KernelPage, "kernel", || Box::<kernel::KernelPage>::default()),
];

/// Returns the keys of the pages that are not open, for the last line.
pub fn others(app: &App) -> impl Iterator<Item = (Action, &'static str)> {
    let open = app.pages.open();
    let first = open.map(|_| (Action::ProcessesPage, "processes"));
    let shows_cgroup = open.is_none() && app.selected_cgroup().is_some();
    let rest = PAGES.iter().map(move |(action, name, _)| match action {
        Action::MemoryPage if shows_cgroup => (*action, "its memory"),
        _ => (*action, *name),
    });
    first
        .into_iter()
        .chain(rest.filter(move |(action, _)| Some(*action) != open))
}

/// Opens the page of an action; returns false if there is none.
pub fn open(app: &mut App, action: Action) -> bool {
    if action == Action::ProcessesPage {
        app.close_page();
        return true;
    }
    let Some((_, _, make)) = PAGES.iter().find(|(own, ..)| *own == action) else {
        return false;
    };
    app.open_page(action, make);
    true
}

/// Performs an action that opens a page or belongs to the open page. Returns `None` for one that is the same on each page,
/// and if no page is open.
pub(super) fn on_action(app: &mut App, action: Action) -> Option<Vec<Effect>> {
    if open(app, action) {
        return Some(Vec::new());
    }
    let page = app.page()?;
    // `select_match` searches in the open page.
    let searches = matches!(action, Action::Search | Action::SearchNext | Action::SearchPrevious);
    // A running scan is stopped before the page is left.
    let stops = action == Action::Cancel && app.requests.scan.is_some();
    if is_common(action) || stops || searches {
        return None;
    }
    if page.performs(action) {
        return Some(app.with_page(|page, app| perform(page, app, action)));
    }
    if action == Action::Cancel {
        let filter = &page.table().filter;
        if !filter.text.is_empty() {
            let cleared = labels::cut(filter.good.as_bytes(), 40);
            app.with_page(|page, app| page.set_filter(app, ""));
            app.screen.say(format!("cleared: filter {cleared}"));
        } else if !app.with_page(Page::back) {
            app.close_page();
        }
        return Some(Vec::new());
    }
    let key = app.key_of(Action::ProcessesPage);
    let back = key.map_or_else(String::new, |key| format!(": {key} goes back to the processes"));
    app.screen.say(format!("this key is for processes{back}"));
    Some(Vec::new())
}

fn perform(page: &mut dyn Page, app: &mut App, action: Action) -> Vec<Effect> {
    if page.move_selection(app, action) || page.change_order(app, action) {
        return Vec::new();
    }
    match action {
        Action::Filter => app.open(Prompt::new(PromptKind::Filter, &page.table().filter.text)),
        Action::ClearFilter => page.set_filter(app, ""),
        Action::SortMenu => app.open_popup(SortMenu::of_page(page)),
        action => return page.on_action(app, action),
    }
    Vec::new()
}

/// Starts the trace that the open page shows; ends it if no page does, or sampling is paused.
pub(super) fn request_trace(app: &mut App) -> Option<Effect> {
    let is_wanted = app.page().is_some_and(Page::traces) && !app.requests.paused && app.replay.is_none();
    app.data.callers.set(is_wanted)
}

/// Returns true if an action does something on the open page. Without one, all do.
pub fn takes(app: &App, action: Action) -> bool {
    let is_page = action == Action::ProcessesPage || PAGES.iter().any(|(own, ..)| *own == action);
    app.page()
        .is_none_or(|page| is_page || is_common(action) || action == Action::Cancel || page.performs(action))
}

/// Returns true for an action that is the same on each page.
const fn is_common(action: Action) -> bool {
    matches!(
        action,
        Action::Quit
            | Action::Redraw
            | Action::Suspend
            | Action::Save
            | Action::Views
            | Action::Record
            | Action::SampleNow
            | Action::Pause
            | Action::StepForward
            | Action::StepBack
            | Action::NextEvent
            | Action::PreviousEvent
            | Action::Faster
            | Action::Slower
            | Action::Jump
            | Action::Help
            | Action::Leaks
            | Action::Alerts
            | Action::Diagnostics
            | Action::Interval
            | Action::Units
            | Action::SpanLonger
            | Action::SpanShorter
            | Action::Mark
            | Action::Unmark
            | Action::PreviousMark
            | Action::NextMark
    )
}
