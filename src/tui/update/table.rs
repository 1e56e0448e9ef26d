//! Actions on the tables, and those that are the same on each page.

use crate::columns::{ColumnId, layout};
use crate::config::Action;
use crate::config::views::DEFAULT;
use crate::group::{GroupBy, GroupKey, GroupNames, RowKey};
use crate::history::Marks;
use crate::model::{ProcessSample, Snapshot};
use crate::proc::pid;
use crate::query::RowRef;
use crate::sampler::inquiry::Inquiry;
use crate::tui::app::{App, GraphHeight, Scope};
use crate::tui::event::Effect;
use crate::tui::navigation::{self, change_mark, select_match, set_mark, start_scan};
use crate::tui::prompt::{Prompt, PromptKind};
use crate::tui::replay;
use crate::tui::rows::{self, change_order, rebuild};
use crate::tui::widgets::movement;
use crate::tui::{act, page, panel, popup};
use crate::{text, units};

/// Maximum number of columns scrolled away: enough for all columns and a command line of thousands of characters, which
/// scrolls by eight.
const MAX_SCROLL: usize = 1000;

/// Scrolls by a column, or the commands by eight cells once all columns are shown. At the ends, it shows a message.
fn scroll_right(app: &mut App) {
    let table = app.tables.current();
    let Some(area) = app.layout().tables.first().copied() else {
        return;
    };
    let placed = app.place_columns(table, area.width);
    let command = placed
        .iter()
        .find(|placed| table.columns[placed.index] == layout::COMMAND);
    let skip = command.map_or(0, |command| command.skip);
    let ends = |snapshot: &Snapshot| {
        let rows = table.rows.iter().skip(table.list.offset).take(usize::from(area.height));
        let mut samples = rows.filter_map(|row| snapshot.row(row.key.process()?));
        !samples.any(|sample| text::is_wider(&sample.facts.command(), skip))
    };
    if skip > 0 && app.engine.snapshot.as_deref().is_some_and(ends) {
        app.screen.say("the ends of the commands");
    } else {
        app.tables.scroll = (app.tables.scroll + 1).min(MAX_SCROLL);
    }
}

#[expect(clippy::too_many_lines, reason = "an arm for each action")]
pub(super) fn on_action(app: &mut App, action: Action) -> Vec<Effect> {
    match action {
        Action::Quit => return vec![Effect::Quit],
        Action::Redraw => return vec![Effect::Redraw],
        Action::Suspend => return vec![Effect::Suspend],
        Action::Save => {
            let name = app.screen.view.clone();
            app.open(Prompt::new(PromptKind::View, name.as_deref().unwrap_or(DEFAULT)));
            return vec![Effect::ReadViews];
        }
        Action::Views => {
            app.open_popup(popup::views::ViewMenu);
            return vec![Effect::ReadViews];
        }
        Action::SampleNow => app.requests.refresh += 1,
        Action::Pause => {
            app.requests.paused = !app.requests.paused;
            let what = if app.requests.paused {
                "paused: nothing is sampled"
            } else {
                "sampling resumes"
            };
            app.screen.say(what);
        }

        Action::Up | Action::Down | Action::PageUp | Action::PageDown | Action::First | Action::Last => {
            if let Some(to) = movement(action).filter(|_| panel::covers_table(app)) {
                panel::scroll(app, to);
                return Vec::new();
            }
            if std::mem::take(&mut app.tables.follow) {
                app.screen.say("the selection moved: it is no longer followed");
            }
            app.on_movement(action);
        }
        Action::Left if app.tables.scroll == 0 => app.screen.say("the first columns"),
        Action::Left => app.tables.scroll -= 1,
        Action::Right => scroll_right(app),

        Action::Help => app.open_popup(popup::help::Help),
        Action::SortMenu => app.open_popup(popup::menus::SortMenu::new(app)),
        Action::Users if app.query.shows_mappings() => {
            app.screen
                .say("choose a user before you open the mappings: Esc goes back");
        }
        Action::Users => app.open_popup(popup::menus::UserPicker::new(app)),
        Action::Leaks => app.open_popup(popup::leaks::LeakList::new(app)),
        Action::Alerts => app.open_popup(popup::alerts::AlertList::new(app)),
        Action::Acknowledge => acknowledge(app),
        Action::Diagnostics => app.open_popup(popup::diagnostics::Diagnostics),
        Action::Columns => app.open_popup(popup::menus::ColumnChooser::new(app)),
        Action::Filter => app.open(Prompt::new(PromptKind::Filter, &app.query.filter.text)),
        Action::Search => app.open(Prompt::new(PromptKind::Search, "")),
        Action::Interval => {
            let interval = units::span_exact(app.requests.interval);
            app.open(Prompt::new(PromptKind::Interval, &interval));
        }
        Action::Signal | Action::OomAdjust | Action::Nice | Action::HotCold | Action::NiceUp | Action::NiceDown => {
            return act::ask(app, action);
        }

        Action::CopyPid => return copy(app, |sample| (sample.id.pid.to_string(), false)),
        Action::CopyCommand => return copy_command(app),
        Action::Graph => {
            app.screen.graph = app.screen.graph.next();
            let height = app.screen.graph.id();
            let remark = match app.screen.graph {
                GraphHeight::Off => "threads have no rows, because they share their memory",
                _ if app.shows_panel() => "the panel has its lines",
                _ if app.layout().graph.is_empty() => "too few lines for a graph",
                _ => "threads have no rows, because they share their memory",
            };
            app.screen.say(format!("graph of memory: {height}; {remark}"));
            app.scroll_to_selection();
        }

        Action::Panel => panel::toggle(app),
        Action::SpanLonger | Action::SpanShorter => {
            panel::on_action(app, action);
            if !app.shows_span() {
                let span = app.screen.chart.span().name;
                app.screen
                    .say(format!("the span of charts is {span}; no chart is on the screen"));
            }
        }
        Action::CursorLeft | Action::CursorRight | Action::CursorLeftFast | Action::CursorRightFast
            if app.shows_panel() =>
        {
            panel::on_action(app, action);
        }
        Action::CursorLeft | Action::CursorRight | Action::CursorLeftFast | Action::CursorRightFast => {
            say_first(app, Action::Panel, "shows the chart", None);
        }

        Action::ClearFilter => navigation::clear_filter(app),
        Action::Open if app.screen.picking && app.query.scope.lists_processes() => return pick(app),
        Action::Open if app.panel_leads_to_cgroup() => {
            page::open(app, Action::MemoryPage);
        }
        Action::Open => navigation::open(app),
        Action::NextGroups => navigation::show_next(app, true),
        Action::PreviousGroups => navigation::show_next(app, false),
        Action::Back if navigation::is_outermost(app) => {
            app.screen.say("no group is open to go back from");
        }
        Action::Back => navigation::back(app),
        Action::Cancel => return navigation::cancel(app).into_iter().collect(),
        Action::Mappings => match app.panel_process() {
            Some(id) if app.fleet.is_none() => app.open_popup(popup::mappings::MappingList::new(app, id)),
            _ => return start_scan(app).into_iter().collect(),
        },
        Action::SearchNext if app.query.search.is_none() => say_first(app, Action::Search, "searches", None),
        // In htop, this key sorts by pid.
        Action::SearchPrevious if app.query.search.is_none() => {
            say_first(app, Action::Search, "searches", Some((Action::SortMenu, "sorts")));
        }
        Action::SearchNext => select_match(app, 1, 1),
        Action::SearchPrevious => select_match(app, -1, -1),

        Action::Mark => set_mark(app),
        Action::Unmark => change_mark(app, Marks::unset),
        Action::PreviousMark => change_mark(app, |m| m.step(false)),
        Action::NextMark => change_mark(app, |m| m.step(true)),

        Action::SortLeft => sort_beside(app, -1),
        Action::SortRight => sort_beside(app, 1),
        Action::Reverse => change_order(app, |t| t.descending = !t.descending),
        Action::SortPss => sort_by(app, &[layout::PSS]),
        Action::SortSwap => sort_by(app, &[layout::SWAP]),
        Action::SortGrowth => sort_by(app, layout::BY_GROWTH),
        Action::SortCpu => {
            let is_by_cpu = app.tables.current().sort == layout::CPU;
            sort_by(app, &[if is_by_cpu { layout::TIME } else { layout::CPU }]);
        }

        Action::Tree if app.query.scope.lists_processes() => {
            app.query.tree = !app.query.tree;
            app.apply_columns();
            // The selection stays at its process, also from the first row, which another process has in the tree.
            let follows = std::mem::replace(&mut app.tables.follow, true);
            rebuild(app);
            app.tables.follow = follows;
        }
        Action::Tree => {
            app.query.tree = true;
            navigation::show_scope(app, Scope::Processes, None);
        }
        Action::Fold => fold(app),
        Action::FoldAll => fold_all(app),
        Action::FoldEqual => {
            app.query.folds = !app.query.folds;
            app.query.unfolded.clear();
            let rows = if app.query.folds { "one row" } else { "a row each" };
            app.screen.say(format!("similar processes of one parent: {rows}"));
            rebuild(app);
        }
        Action::TwoTables => {
            let selected = app.tables.current().selected.clone();
            app.tables.two = !app.tables.two;
            app.tables.current_mut().selected = selected;
            rebuild(app);
        }
        // In htop, this key shows the whole command line.
        Action::OtherTable if !app.tables.two => {
            let also = Some((Action::Open, "shows the command line"));
            say_first(app, Action::TwoTables, "shows two tables", also);
        }
        Action::OtherTable => app.tables.active = 1 - app.tables.active,
        Action::Follow => app.tables.follow = !app.tables.follow,
        Action::Tag => tag(app),
        Action::TagTree => tag_tree(app),
        Action::TagAll => tag_all(app),
        Action::Environment => return popup::inquiry::open(app, Inquiry::Environment),
        Action::Heap => return popup::inquiry::open(app, Inquiry::Heap),
        Action::OpenFiles => return popup::inquiry::open(app, Inquiry::OpenFiles),
        Action::CallPaths => return popup::call_paths::open(app),
        Action::UntagAll if app.tables.tags.is_empty() => app.screen.say("no row is tagged"),
        Action::UntagAll => {
            app.screen.say("no row is tagged any more");
            app.tables.tags.clear();
            rebuild(app);
        }
        Action::Freeze => {
            app.tables.frozen = !app.tables.frozen;
            rebuild(app);
        }
        Action::Record if app.recording.is_some() => return vec![Effect::Record(None)],
        Action::Record if app.replay.as_ref().is_some_and(|replay| !replay.is_visit) => {
            app.screen
                .fail("this is a recording already: zmtop record cut copies a part of it");
        }
        Action::Record => {
            let name = navigation::recording_name(app);
            app.open(Prompt::new(PromptKind::Record, &name));
        }
        Action::Units => {
            app.screen.units = app.screen.units.next();
            app.screen.say(format!("units: {}", app.screen.units.id()));
        }
        Action::KernelThreads if app.query.scope == Scope::Processes => {
            app.query.kernel_threads = !app.query.kernel_threads;
            rebuild(app);
        }
        Action::KernelThreads => app.screen.say("kernel threads have no memory: they are in no group"),

        Action::Jump if app.fleet.is_some() => app.screen.say("a fleet has no black box: each host has its own"),
        Action::Jump if app.replay.as_ref().is_some_and(|replay| replay.is_stream) => {
            app.screen.fail(replay::NO_WAY_BACK);
        }
        Action::Jump => {
            let time = navigation::time_of_cursor(app).unwrap_or_default();
            app.open(Prompt::new(PromptKind::Time, &time));
        }

        Action::Accept
        | Action::MoveUp
        | Action::MoveDown
        | Action::Toggle
        | Action::Backspace
        | Action::Delete
        | Action::DeleteWord
        | Action::DeleteLine
        | Action::StepForward
        | Action::StepBack
        | Action::NextEvent
        | Action::PreviousEvent
        | Action::Faster
        | Action::Slower
        | Action::ProcessesPage
        | Action::MemoryPage
        | Action::KernelPage => {}
    }
    Vec::new()
}

/// Acknowledges the kills that are shown.
fn acknowledge(app: &mut App) {
    let count = app.engine.history.acknowledge_kills() as u64;
    let text = match count {
        0 => "no kill to acknowledge; for CPU affinity, use taskset".into(),
        _ => format!("{} acknowledged; page 2 lists them", units::counted(count, "kill")),
    };
    app.screen.say(text);
    app.scroll_to_selection();
}

/// Sorts by the first of these columns that is shown, or by the first.
fn sort_by(app: &mut App, columns: &[ColumnId]) {
    let shown = columns.iter().find(|c| app.tables.current().columns.contains(c));
    let column = *shown.unwrap_or(&columns[0]);
    if !app.has_values(column) {
        let text = format!("these rows have no {}; their order is unchanged", column.get().title);
        return app.screen.say(text);
    }
    change_order(app, |table| (table.sort, table.descending) = (column, true));
}

/// Copies the result of `what` for the selected process, or for each process of a folded row: a text, and whether it is
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
    let cut = if is_cut { " without its middle" } else { "" };
    let message = format!("copied{cut}, if the terminal allows it: {shown}");
    app.screen.say(message);
    vec![Effect::Copy(text)]
}

/// Copies the command line, quoted for a shell, of the selected process, or of equal siblings if theirs is the same.
fn copy_command(app: &mut App) -> Vec<Effect> {
    let rows = app.engine.snapshot.as_ref().map_or(&[][..], |snapshot| snapshot.rows());
    let members = app.selected_fold().map_or(&[][..], |fold| &fold.group.members);
    let lines = members.iter().filter_map(|at| rows.get(*at));
    let mut lines = lines.filter_map(|row| row.facts.cmdline.as_deref().ok());
    let first = lines.next();
    if lines.any(|line| Some(line) != first) {
        app.screen.say("their command lines differ: Enter lists each");
        return Vec::new();
    }
    copy(app, |sample| {
        let words = sample.facts.arguments();
        let words: Vec<String> = words.iter().map(|word| text::shell_word(word)).collect();
        let is_cut = sample.facts.cmdline.as_deref().is_ok_and(pid::is_cut);
        (words.join(" "), is_cut)
    })
}

/// Sorts by the column `step` places to the right of the current one.
fn sort_beside(app: &mut App, step: isize) {
    let before = app.tables.current().sort;
    change_order(app, |table| table.sort_beside(step));
    if app.tables.current().sort == before {
        app.screen.say("there is no further column to sort by");
    }
}

/// Chooses the tagged processes, or the selected one. Untagged equal siblings are unfolded, to choose one of them.
fn pick(app: &mut App) -> Vec<Effect> {
    if app.tables.tags.is_empty() && app.selected_fold().is_some() {
        fold(app);
        return Vec::new();
    }
    act::pick(app)
}

fn tag(app: &mut App) {
    let Some(key) = app.tables.current().selected.clone() else {
        return;
    };
    let keys: Vec<RowKey> = match (app.selected_fold(), &app.engine.snapshot) {
        (Some(fold), Some(snapshot)) => fold.ids(snapshot).map(RowKey::Process).collect(),
        _ => vec![key],
    };
    switch_tags(app, keys);
    // The panel must not pass to a row that nobody sees.
    if !panel::covers_table(app) {
        app.move_selection(1);
    }
    rebuild(app);
}

/// Removes the tags of rows that are all tagged, else tags all; returns how many are tagged.
fn switch_tags(app: &mut App, keys: Vec<RowKey>) -> usize {
    let tags = &mut app.tables.tags;
    if keys.iter().all(|key| tags.contains(key)) {
        tags.retain(|key| !keys.contains(key));
        return 0;
    }
    let count = keys.len();
    tags.extend(keys);
    count
}

/// Tags the selected process and all its descendants, also those that no table shows; if all are tagged, untags them. A group
/// is tagged as a row.
fn tag_tree(app: &mut App) {
    let Some(head) = app.tables.current().selected.as_ref().and_then(RowKey::process) else {
        return tag(app);
    };
    let below = app.below(head);
    let count = units::counted(below.len() as u64, "process");
    let keys = std::iter::once(head).chain(below).map(RowKey::Process).collect();
    let did = if switch_tags(app, keys) == 0 {
        "untagged"
    } else {
        "tagged"
    };
    app.screen.say(format!("{did} {} and {count} below", head.pid));
    rebuild(app);
}

/// Tags all rows that match the filter, or removes their tags; of a tree also those that are folded.
fn tag_all(app: &mut App) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    let keys: Vec<RowKey> = if app.query.scope.lists_processes() {
        let matching = rows::matching(app, &snapshot);
        matching.into_iter().map(RowKey::Process).collect()
    } else {
        app.tables.current().rows.iter().map(|row| row.key.clone()).collect()
    };
    if keys.is_empty() {
        return app.screen.say("nothing matches, so nothing is tagged");
    }
    let text = match switch_tags(app, keys) {
        0 => "tags removed".into(),
        count => format!("{count} tagged"),
    };
    app.screen.say(text);
    rebuild(app);
}

/// Shows which key must be pressed first. Another action is what other monitors do by this key.
fn say_first(app: &mut App, action: Action, does: &str, other: Option<(Action, &str)>) {
    let key = |action: Action| {
        app.key_of(action)
            .map_or_else(|| action.id().into(), ToString::to_string)
    };
    let other = other.map_or_else(String::new, |(action, does)| format!("; {} {does}", key(action)));
    let words = format!("{} {does} first{other}", key(action));
    app.screen.say(words);
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
    let row = app.tables.current().selected_row().filter(|row| row.parent);
    let Some(id) = row.filter(|_| app.query.shows_tree()).and_then(|row| row.key.process()) else {
        return app
            .screen
            .say("nothing to collapse here: select similar processes or, in the tree, a process with children");
    };
    if !app.query.folded.remove(&id) {
        app.query.folded.insert(id);
    }
    rebuild(app);
}

/// Selects the first row for which the predicate is true, if there is one.
fn select_first(app: &mut App, is_it: impl Fn(&RowRef) -> bool) {
    let height = app.rows_shown();
    let table = app.tables.current_mut();
    if let Some(at) = table.rows.iter().position(is_it) {
        table.select_index(at, height);
    }
}

/// Returns the equal siblings of the selected process, if they were unfolded.
pub(in crate::tui) fn unfolded_siblings(app: &App) -> Option<GroupKey> {
    let row = app.tables.current().selected_row().filter(|row| !row.parent)?;
    if app.query.unfolded.is_empty() || app.query.scope != Scope::Processes {
        return None;
    }
    row.key.process()?;
    let rows = app.engine.snapshot.as_ref()?.rows();
    let by = GroupBy::Siblings;
    let name = GroupNames::new(rows).name_of(rows.get(row.index)?, by)?;
    let name = Some(name.into());
    let key = GroupKey { by, name };
    app.query.unfolded.contains(&key).then_some(key)
}

/// Folds every subtree below the topmost processes; unfolds all if any is folded.
fn fold_all(app: &mut App) {
    if !app.query.shows_tree() {
        return say_first(app, Action::Tree, "shows the tree", None);
    }
    if app.query.folded.is_empty() {
        let rows = app.tables.current().rows.iter();
        let parents = rows.filter(|row| row.parent && !row.guide.is_empty());
        app.query.folded = parents.filter_map(|row| row.key.process()).collect();
    } else {
        app.query.folded.clear();
    }
    rebuild(app);
}
