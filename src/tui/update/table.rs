//! Keys on the table, and those that are the same on each page.

use crate::act::Tunable;
use crate::columns::{ColumnId, layout};
use crate::config::Action;
use crate::group::{GroupBy, GroupKey, GroupNames, RowKey};
use crate::history::Marks;
use crate::model::ProcessSample;
use crate::proc::pid;
use crate::query::RowRef;
use crate::tui::app::{App, Scope, Table};
use crate::tui::event::Effect;
use crate::tui::navigation::{self, change_mark, select_match, set_mark, start_scan};
use crate::tui::prompt::{Prompt, PromptKind};
use crate::tui::rows::rebuild;
use crate::tui::{act, panel, popup};
use crate::{text, units};

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

        Action::Help => app.open_popup(popup::help::Help),
        Action::SortMenu => app.open_popup(popup::menus::SortMenu::new(app)),
        Action::Users => pick_user(app),
        Action::Leaks => app.open_popup(popup::leaks::LeakList::new(app)),
        Action::Alerts => app.open_popup(popup::alerts::AlertList),
        Action::Diagnostics => app.open_popup(popup::diagnostics::Diagnostics),
        Action::Columns => app.open_popup(popup::menus::ColumnChooser::new(app.chosen_columns())),
        Action::Filter => app.open(Prompt::new(PromptKind::Filter, &app.query.filter.text)),
        Action::Search => app.open(Prompt::new(PromptKind::Search, "")),
        Action::Interval => {
            let interval = units::span_exact(app.requests.interval);
            app.open(Prompt::new(PromptKind::Interval, &interval));
        }
        Action::Signal => return act::open_signal_dialog(app),
        Action::OomAdjust => return act::open_tunable_dialog(app, Tunable::OomScoreAdj, 0),
        Action::Nice => return act::open_tunable_dialog(app, Tunable::Nice, 0),
        Action::HotCold => return act::open_coldness_dialog(app),
        Action::NiceUp => return act::open_tunable_dialog(app, Tunable::Nice, 1),
        Action::NiceDown => return act::open_tunable_dialog(app, Tunable::Nice, -1),

        Action::CopyPid => return copy(app, |sample| (sample.id.pid.to_string(), false)),
        Action::CopyCommand => return copy_command(app),
        Action::Graph => next_graph(app),

        Action::Panel => panel::toggle(app),
        Action::SpanLonger
        | Action::SpanShorter
        | Action::CursorLeft
        | Action::CursorRight
        | Action::CursorLeftFast
        | Action::CursorRightFast => panel::on_action(app, action),

        Action::ClearFilter => clear_filter(app),
        Action::Open if app.screen.picking && app.query.scope.lists_processes() => return pick(app),
        Action::NextGroups | Action::PreviousGroups | Action::Open | Action::Back | Action::Cancel => {
            return navigation::on_action(app, action).into_iter().collect();
        }
        Action::Mappings => return start_scan(app).into_iter().collect(),
        Action::SearchNext => select_match(app, 1, 1),
        Action::SearchPrevious => select_match(app, -1, -1),

        Action::Mark => set_mark(app),
        Action::Unmark => change_mark(app, Marks::unset),
        Action::PreviousMark => change_mark(app, |m| m.step(false)),
        Action::NextMark => change_mark(app, |m| m.step(true)),

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
        Action::FoldEqual => fold_equal(app),
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

/// Returns the command line of a process for a shell, and whether its middle is missing.
fn command(sample: &ProcessSample) -> (String, bool) {
    let words = sample.facts.arguments();
    let words: Vec<String> = words.iter().map(|word| text::shell_word(word)).collect();
    let is_cut = sample.facts.cmdline.as_deref().is_ok_and(pid::is_cut);
    (words.join(" "), is_cut)
}

/// Copies what `what` returns for the selected process, or for each process of a folded row: a text, and whether it is
/// incomplete.
fn copy(app: &mut App, what: impl Fn(&ProcessSample) -> (String, bool)) -> Vec<Effect> {
    let snapshot = app.engine.snapshot.clone();
    let copied = snapshot.and_then(|snapshot| match app.selected_fold() {
        Some(fold) => {
            let members = fold.group.members.iter().map(|at| what(&snapshot.rows()[*at]));
            let (mut texts, are_cut): (Vec<String>, Vec<bool>) = members.unzip();
            texts.dedup();
            Some((texts.join(" "), are_cut.contains(&true)))
        }
        None => app.selected_sample(&snapshot).map(what),
    });
    let Some((text, is_cut)) = copied else {
        app.screen.say("no process is selected");
        return Vec::new();
    };
    let shown = text::truncate(&text::safe(text.as_bytes()), 40);
    let how = if is_cut { " without its middle" } else { "" };
    app.screen
        .say(format!("copied{how}, if the terminal allows it: {shown}"));
    vec![Effect::Copy(text)]
}

/// Copies the command line of the selected process, or of equal siblings, if that is the same.
fn copy_command(app: &mut App) -> Vec<Effect> {
    let rows = app.engine.snapshot.as_ref().map_or(&[][..], |snapshot| snapshot.rows());
    let members = app.selected_fold().map_or(&[][..], |fold| &fold.group.members);
    let mut lines = members
        .iter()
        .filter_map(|at| rows.get(*at)?.facts.cmdline.as_deref().ok());
    let first = lines.next();
    if lines.any(|line| Some(line) != first) {
        app.screen.say("their command lines differ: Enter lists each");
        return Vec::new();
    }
    copy(app, command)
}

/// Chooses the tagged processes, or the selected one. Of equal siblings one is to be chosen, unless they are tagged.
fn pick(app: &mut App) -> Vec<Effect> {
    if app.tables.tags.is_empty() && app.selected_fold().is_some() {
        fold(app);
        return Vec::new();
    }
    act::pick(app)
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
    if let Some(key) = app.tables.current().selected.clone() {
        let snapshot = app.engine.snapshot.as_deref();
        let members = app.selected_fold().zip(snapshot);
        let keys: Vec<RowKey> = match members {
            Some((fold, snapshot)) => fold.ids(snapshot).map(RowKey::Process).collect(),
            None => vec![key],
        };
        let tags = &mut app.tables.tags;
        if keys.iter().all(|key| tags.contains(key)) {
            tags.retain(|key| !keys.contains(key));
        } else {
            tags.extend(keys);
        }
        app.tables.current_mut().step(1, height);
        rebuild(app);
    }
}

/// Folds or unfolds the selected equal siblings, or else the selected subtree.
fn fold(app: &mut App) {
    if let Some(fold) = app.selected_fold() {
        let (key, members) = (fold.group.key.clone(), fold.group.members.clone());
        app.query.unfolded.insert(key);
        rebuild(app);
        return select_first(app, |row| members.contains(&row.index));
    }
    if let Some(key) = unfolded_siblings(app) {
        app.query.unfolded.remove(&key);
        rebuild(app);
        return select_first(app, |row| row.key.group() == Some(&key));
    }
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

/// Selects the first row of which that is true, if there is one.
fn select_first(app: &mut App, is_it: impl Fn(&RowRef) -> bool) {
    let height = app.rows_shown();
    let table = app.tables.current_mut();
    if let Some(at) = table.rows.iter().position(is_it) {
        table.select_index(at, height);
    }
}

/// Returns the equal siblings of the selected process, where they were unfolded.
pub(in crate::tui) fn unfolded_siblings(app: &App) -> Option<GroupKey> {
    let row = app.tables.current().selected_row().filter(|row| !row.parent)?;
    if app.query.unfolded.is_empty() || app.query.scope != Scope::Processes {
        return None;
    }
    row.key.process()?;
    let rows = app.engine.snapshot.as_ref()?.rows();
    let by = GroupBy::Siblings;
    let name = GroupNames::new(rows).name_of(rows.get(row.index)?, by)?;
    let key = GroupKey {
        by,
        name: Some(name.into()),
    };
    app.query.unfolded.contains(&key).then_some(key)
}

/// Folds equal siblings, or lists each.
fn fold_equal(app: &mut App) {
    app.query.folds = !app.query.folds;
    app.query.unfolded.clear();
    app.screen.say(if app.query.folds {
        "equal processes of one parent: one row"
    } else {
        "equal processes of one parent: a row each"
    });
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
        app.open_popup(popup::menus::UserPicker::new(app));
    }
}
