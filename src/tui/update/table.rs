//! Keys on the table.

use std::collections::HashMap;
use std::sync::Arc;

use super::{marks, search, turn};
use crate::columns::{ColumnId, layout};
use crate::config::Action;
use crate::history::Marks;
use crate::tui::app::{App, Message, Mode, Prompt};
use crate::tui::event::Effect;
use crate::tui::input::LineEdit;
use crate::tui::popup::{Chooser, Place, Popup, User};
use crate::tui::rows::rebuild;
use crate::tui::scope::Scope;
use crate::tui::{chart, leaks, mappings, panel};
use crate::units;

/// Performs an action on the table.
#[expect(clippy::too_many_lines, reason = "an arm an action")]
pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    let height = app.rows_shown();
    let page = height.max(1).cast_signed();
    match action {
        Action::Quit => return vec![Effect::Quit],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Redraw => return vec![Effect::Redraw],
        Action::Save => return vec![Effect::Save(Box::new(app.saved()))],
        Action::SampleNow => app.requests.refresh += 1,
        Action::Pause => app.requests.paused = !app.requests.paused,

        Action::Up => app.tables.current_mut().step(-1, height),
        Action::Down => app.tables.current_mut().step(1, height),
        Action::PageUp => app.tables.current_mut().step(-page, height),
        Action::PageDown => app.tables.current_mut().step(page, height),
        Action::First => app.tables.current_mut().go(0, height),
        Action::Last => app.tables.current_mut().go(usize::MAX, height),
        Action::Left => app.tables.scroll = app.tables.scroll.saturating_sub(1),
        Action::Right => app.tables.scroll = (app.tables.scroll + 1).min(MAX_SCROLL),

        Action::Help => app.mode = Mode::Popup(Popup::Help(0)),
        Action::Filter => edit(app, Prompt::Filter, &app.query.filter.text.clone()),
        Action::Search => edit(app, Prompt::Search, ""),
        Action::Interval => edit(app, Prompt::Interval, &units::span_exact(app.requests.interval)),
        Action::SortMenu => {
            let at = app.tables.current().sort.0;
            let mut place = Place::default();
            place.go(at, usize::MAX, usize::MAX);
            app.mode = Mode::Popup(Popup::Sort(place));
        }
        Action::Users => pick_user(app),
        Action::Leaks => leaks::open(app),
        Action::SpanLonger
        | Action::SpanShorter
        | Action::CursorLeft
        | Action::CursorRight
        | Action::CursorLeftFast
        | Action::CursorRightFast => chart::act(app, action),
        Action::Alerts => app.mode = Mode::Popup(Popup::Alerts(Place::default())),
        Action::Columns => {
            app.mode = Mode::Popup(Popup::Columns(Place::default(), Chooser::new(app.chosen())));
        }

        Action::ClearFilter => {
            app.query.filter.set("");
            if !matches!(app.query.scope, Scope::Mappings(_)) {
                app.query.user = None;
            }
            rebuild(app);
        }
        Action::Cancel => {
            if turn::cancel(app) {
                return vec![Effect::BreakOff];
            }
        }
        Action::NextGroups => turn::next(app, true),
        Action::PreviousGroups => turn::next(app, false),
        Action::Open => turn::open(app),
        Action::Panel => panel::toggle(app),
        Action::Back => turn::back(app),
        Action::Mappings => return mappings::ask(app),
        Action::SearchNext => search::next(app, 1),
        Action::SearchPrevious => search::next(app, -1),

        Action::Mark => marks::set(app),
        Action::Unmark => marks::change(app, Marks::unset),
        Action::PreviousMark => marks::change(app, |m| m.step(false)),
        Action::NextMark => marks::change(app, |m| m.step(true)),

        Action::SortLeft => sort(app, |t| t.sort_beside(-1)),
        Action::SortRight => sort(app, |t| t.sort_beside(1)),
        Action::Reverse => sort(app, |t| t.descending = !t.descending),
        Action::SortPss => sort_by(app, &[layout::PSS]),
        Action::SortSwap => sort_by(app, &[layout::SWAP]),
        Action::SortGrowth => sort_by(app, layout::BY_GROWTH),

        Action::Tree => tree(app),
        Action::Fold => fold(app),
        Action::FoldAll => fold_all(app),
        Action::TwoTables => {
            let selected = app.tables.current().selected.clone();
            app.tables.two = !app.tables.two;
            app.tables.current_mut().selected = selected;
            rebuild(app);
        }
        Action::OtherTable => app.tables.active = 1 - app.tables.active,
        Action::Follow => app.tables.follow = !app.tables.follow,
        Action::Tag => tag(app, height),
        Action::UntagAll => {
            app.tables.tags.clear();
            rebuild(app);
        }
        Action::Freeze => {
            app.tables.frozen = !app.tables.frozen;
            rebuild(app);
        }
        Action::Signal | Action::OomAdjust | Action::Nice | Action::NiceUp | Action::NiceDown => {
            return super::act::begin(app, action);
        }
        Action::Units => app.screen.units = app.screen.units.next(),
        Action::KernelThreads => kernel_threads(app),

        Action::Accept
        | Action::MoveUp
        | Action::MoveDown
        | Action::Toggle
        | Action::Backspace
        | Action::Delete
        | Action::DeleteWord
        | Action::DeleteLine => {}
    }
    Vec::new()
}

/// Enough for the widest set of columns and a command line of thousands of characters.
const MAX_SCROLL: usize = 1000;

fn edit(app: &mut App, prompt: Prompt, text: &str) {
    app.mode = Mode::Input(prompt, LineEdit::new(text), text.into());
}

/// Changes the order, which ends a frozen one.
fn sort(app: &mut App, change: impl FnOnce(&mut crate::tui::table::Table)) {
    app.tables.frozen = false;
    change(app.tables.current_mut());
    rebuild(app);
}

/// Sorts by the first of these columns that is shown, or where none is, by the first.
fn sort_by(app: &mut App, columns: &[ColumnId]) {
    let shown = columns.iter().find(|c| app.tables.current().columns.contains(c));
    let column = shown.unwrap_or(&columns[0]);
    sort(app, |table| {
        table.sort = *column;
        table.descending = true;
    });
}

/// A tree is of processes.
fn tree(app: &mut App) {
    if app.query.scope.lists_processes() {
        app.query.tree = !app.query.tree;
        app.apply_columns();
        rebuild(app);
    } else {
        app.query.tree = true;
        turn::turn_to(app, Scope::Processes, None);
    }
}

fn kernel_threads(app: &mut App) {
    if app.query.scope == Scope::Processes {
        app.query.kernel_threads = !app.query.kernel_threads;
        rebuild(app);
    } else {
        let text = "kernel threads have no memory: they are in no group".into();
        app.screen.message = Some(Message { text, bad: false });
    }
}

fn tag(app: &mut App, height: usize) {
    if let Some(id) = app.tables.current().selected.clone() {
        if !app.tables.tags.remove(&id) {
            app.tables.tags.insert(id);
        }
        app.tables.current_mut().step(1, height);
        rebuild(app);
    }
}

fn fold(app: &mut App) {
    let Some(line) = app
        .tables
        .current()
        .current()
        .filter(|l| l.parent && app.query.shows_tree())
    else {
        return;
    };
    let Some(id) = line.key.process() else { return };
    if !app.query.folded.remove(&id) {
        app.query.folded.insert(id);
    }
    rebuild(app);
}

/// Folds every subtree below the topmost processes; with any folded, unfolds all.
fn fold_all(app: &mut App) {
    if !app.query.shows_tree() {
        return;
    }
    if app.query.folded.is_empty() {
        app.query.folded = app
            .tables
            .current()
            .lines
            .iter()
            .filter(|l| l.parent && !l.guide.is_empty())
            .filter_map(|l| l.key.process())
            .collect();
    } else {
        app.query.folded.clear();
    }
    rebuild(app);
}

fn pick_user(app: &mut App) {
    if matches!(app.query.scope, Scope::Mappings(_)) {
        let text = "a user is picked before the mappings are read: Esc goes back".into();
        app.screen.message = Some(Message { text, bad: false });
    } else {
        app.mode = Mode::Popup(Popup::Users(Place::default(), users(app)));
    }
}

/// Who has processes, by what they hold.
fn users(app: &App) -> Vec<User> {
    let mut by_name: HashMap<&Arc<[u8]>, (usize, u64)> = HashMap::new();
    for sample in app.data.snapshot.iter().flat_map(|s| s.rows()) {
        if let Ok(name) = &sample.facts.user {
            let (count, pss) = by_name.entry(name).or_default();
            *count += 1;
            *pss += sample.memory().map_or(0, |m| m.pss);
        }
    }
    let mut users: Vec<User> = by_name
        .into_iter()
        .map(|(name, (count, pss))| User {
            name: name.clone(),
            count,
            pss,
        })
        .collect();
    users.sort_by(|a, b| b.pss.cmp(&a.pss).then_with(|| a.name.cmp(&b.name)));
    users
}
