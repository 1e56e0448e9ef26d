//! Keys on the table, and those that are the same on each page.

use crate::act::Tunable;
use crate::columns::{ColumnId, layout};
use crate::config::Action;
use crate::history::Marks;
use crate::model::ProcessSample;
use crate::text;
use crate::tui::app::App;
use crate::tui::event::Effect;
use crate::tui::prompt::{Prompt, PromptKind};
use crate::tui::rows::rebuild;
use crate::tui::scope::Scope;
use crate::tui::table::Table;
use crate::tui::{act, mappings, marks, navigation, panel, popup, search};
use crate::units;

/// Maximum number of columns scrolled away: enough for the widest set, and for a command line of thousands of
/// characters, which scrolls by eight.
const MAX_SCROLL: usize = 1000;

/// Performs an action on the table.
pub(super) fn on_action(app: &mut App, action: Action) -> Vec<Effect> {
    let height = app.rows_shown();
    match action {
        Action::Quit => return vec![Effect::Quit],
        Action::Redraw => return vec![Effect::Redraw],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Save => return vec![Effect::Save(Box::new(app.saved()))],
        Action::SampleNow => app.requests.refresh += 1,
        Action::Pause => app.requests.paused = !app.requests.paused,

        Action::Up => app.move_selection(-1),
        Action::Down => app.move_selection(1),
        Action::PageUp => app.page_selection(false),
        Action::PageDown => app.page_selection(true),
        Action::First => app.tables.current_mut().select_index(0, height),
        Action::Last => app.tables.current_mut().select_index(usize::MAX, height),
        Action::Left => app.tables.scroll = app.tables.scroll.saturating_sub(1),
        Action::Right => app.tables.scroll = (app.tables.scroll + 1).min(MAX_SCROLL),

        Action::Help => app.open_popup(popup::help::Help::default()),
        Action::SortMenu => app.open_popup(popup::sort::SortMenu::new(app)),
        Action::Users => pick_user(app),
        Action::Leaks => app.open_popup(popup::leaks::LeakList::new(app)),
        Action::Alerts => app.open_popup(popup::alerts::AlertList::default()),
        Action::Diagnostics => app.open_popup(popup::diagnostics::Diagnostics::default()),
        Action::Columns => app.open_popup(popup::columns::ColumnChooser::new(app.chosen_columns())),
        Action::Filter => app.open(Prompt::new(PromptKind::Filter, &app.query.filter.text)),
        Action::Search => app.open(Prompt::new(PromptKind::Search, "")),
        Action::Interval => {
            let interval = units::span_exact(app.requests.interval);
            app.open(Prompt::new(PromptKind::Interval, &interval));
        }
        Action::Signal => return act::open_signal_dialog(app),
        Action::OomAdjust => return act::open_tunable_dialog(app, Tunable::OomScoreAdj),
        Action::Nice => return act::open_tunable_dialog(app, Tunable::Nice),
        Action::HotCold => return act::open_coldness_dialog(app),
        Action::NiceUp => return act::step(app, Tunable::Nice, 1),
        Action::NiceDown => return act::step(app, Tunable::Nice, -1),

        Action::CopyPid => return copy(app, |sample| sample.id.pid.to_string()),
        Action::CopyCommand => return copy(app, |sample| text::lossless(&sample.facts.command()).into_owned()),
        Action::Graph => next_graph(app),

        Action::Panel => panel::toggle(app),
        Action::SpanLonger
        | Action::SpanShorter
        | Action::CursorLeft
        | Action::CursorRight
        | Action::CursorLeftFast
        | Action::CursorRightFast => panel::on_action(app, action),

        Action::ClearFilter => clear_filter(app),
        Action::Open if app.screen.picking && app.query.scope.lists_processes() => return act::pick(app),
        Action::NextGroups | Action::PreviousGroups | Action::Open | Action::Back | Action::Cancel => {
            return navigation::on_action(app, action).into_iter().collect();
        }
        Action::Mappings => return mappings::start(app).into_iter().collect(),
        Action::SearchNext => search::select_match(app, 1, 1),
        Action::SearchPrevious => search::select_match(app, -1, -1),

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
        Action::SortCpu => sort_by_cpu(app),

        Action::Tree => toggle_tree(app),
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
        Action::Units => app.screen.units = app.screen.units.next(),
        Action::KernelThreads => toggle_kernel_threads(app),

        Action::Accept
        | Action::MoveUp
        | Action::MoveDown
        | Action::Toggle
        | Action::Backspace
        | Action::Delete
        | Action::DeleteWord
        | Action::DeleteLine
        | Action::ProcessesPage
        | Action::MemoryPage
        | Action::KernelPage => {}
    }
    Vec::new()
}

/// Makes the graph of memory in the header as high as the next choice says.
fn next_graph(app: &mut App) {
    app.screen.graph = app.screen.graph.next();
    app.screen.say(format!("graph of memory: {}", app.screen.graph.name()));
    app.scroll_to_selection();
}

fn clear_filter(app: &mut App) {
    app.query.filter.set("");
    if !app.query.shows_mappings() {
        app.query.user = None;
    }
    rebuild(app);
}

/// Changes the order, which ends a frozen one.
fn sort(app: &mut App, change: impl FnOnce(&mut Table)) {
    app.tables.frozen = false;
    app.tables.sort_is_chosen = true;
    change(app.tables.current_mut());
    app.apply_columns();
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

/// Sorts by CPU, or where it is sorted by that, by CPU time; the column is shown for as long.
fn sort_by_cpu(app: &mut App) {
    let is_by_cpu = app.tables.current().sort == layout::CPU;
    sort(app, |table| {
        table.sort = if is_by_cpu { layout::TIME } else { layout::CPU };
        table.descending = true;
    });
}

/// Copies what is said of the selected process.
fn copy(app: &mut App, what: impl Fn(&ProcessSample) -> String) -> Vec<Effect> {
    let snapshot = app.engine.snapshot.clone();
    let Some(text) = snapshot.and_then(|snapshot| app.selected_sample(&snapshot).map(what)) else {
        app.screen.say("no process is selected");
        return Vec::new();
    };
    let shown = text::truncate(&text::safe(text.as_bytes()), 40);
    app.screen.say(format!("copied, if the terminal allows it: {shown}"));
    vec![Effect::Copy(text)]
}

/// Shows processes in a tree, or flat; groups are left for the tree.
fn toggle_tree(app: &mut App) {
    if app.query.scope.lists_processes() {
        app.query.tree = !app.query.tree;
        app.apply_columns();
        rebuild(app);
    } else {
        app.query.tree = true;
        navigation::show_scope(app, Scope::Processes, None);
    }
}

fn toggle_kernel_threads(app: &mut App) {
    if app.query.scope == Scope::Processes {
        app.query.kernel_threads = !app.query.kernel_threads;
        rebuild(app);
    } else {
        app.screen.say("kernel threads have no memory: they are in no group");
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
    let Some(row) = app
        .tables
        .current()
        .selected_row()
        .filter(|row| row.parent && app.query.shows_tree())
    else {
        return;
    };
    let Some(id) = row.key.process() else { return };
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
            .rows
            .iter()
            .filter(|row| row.parent && !row.guide.is_empty())
            .filter_map(|row| row.key.process())
            .collect();
    } else {
        app.query.folded.clear();
    }
    rebuild(app);
}

fn pick_user(app: &mut App) {
    if app.query.shows_mappings() {
        app.screen
            .say("a user is picked before the mappings are read: Esc goes back");
    } else {
        app.open_popup(popup::users::UserPicker::new(app));
    }
}
