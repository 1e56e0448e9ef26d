//! The footer: keys with their actions, each also a button for the mouse.
//!
//! ```text
//!  / filter  Tab group  s sort  M PSS  …  ? help  q quit
//!  reading mappings ████████░░░░░░░░░░░░ 120 of 412 processes   Esc stop
//! ```

use crossterm::event::KeyCode;
use ratatui::layout::Position;

use crate::config::{Action, Chord, Context};
use crate::tui::app::{App, Hint, Page, RightShows, ScanProgress, Scope};
use crate::tui::navigation;
use crate::tui::widgets::StatusLine;
use crate::tui::{page, panel, update};

/// The keys of the table, the most important first.
const TABLE_KEYS: &[Hint] = &[
    Hint::Action(Action::Open, "open"),
    Hint::Action(Action::Down, "next row"),
    Hint::Action(Action::Filter, "filter"),
    Hint::Action(Action::Panel, "panel"),
    Hint::Action(Action::Cancel, "back"),
    Hint::Action(Action::Mappings, "read again"),
    Hint::Action(Action::CallPaths, "call paths"),
    Hint::Action(Action::Heap, "heap"),
    Hint::Action(Action::NextGroups, "group"),
    Hint::Action(Action::SortMenu, "sort"),
    Hint::Action(Action::Leaks, "leaks"),
    Hint::Action(Action::Right, "more"),
    Hint::Action(Action::SortPss, "by PSS"),
    Hint::Action(Action::SortGrowth, "by trend"),
    Hint::Action(Action::Users, "user"),
    Hint::Action(Action::Tree, "tree"),
    Hint::Action(Action::Fold, "fold"),
    Hint::Action(Action::Signal, "signal"),
    Hint::Action(Action::Columns, "columns"),
    Hint::Action(Action::TwoTables, "two tables"),
    Hint::Action(Action::SortSwap, "by swap"),
    Hint::Action(Action::Tag, "tag"),
    Hint::Action(Action::Freeze, "freeze"),
    Hint::Action(Action::Pause, "pause"),
    Hint::Action(Action::Save, "save"),
    Hint::Action(Action::Help, "help"),
    Hint::Action(Action::Quit, "quit"),
];

/// The keys of a replay, which come before the others.
const REPLAY_KEYS: &[Hint] = &[
    Hint::Action(Action::Pause, "play"),
    Hint::Action(Action::StepBack, "back"),
    Hint::Action(Action::StepForward, "step"),
    Hint::Action(Action::NextEvent, "event"),
    Hint::Action(Action::Faster, "faster"),
    Hint::Action(Action::Jump, "go to"),
];

/// The number of keys before the keys of the other pages.
const PAGES_AFTER: usize = 11;

/// The width of the scan's progress bar.
const BAR_WIDTH: usize = 20;

/// Returns the hint at a position.
pub(super) fn hint_at(app: &App, at: Position) -> Option<Hint> {
    let area = app.layout().footer;
    if !area.contains(at) || app.screen.message.is_some() {
        return None;
    }
    let (line, hints) = line(app);
    *hints.get(line.part_at(area, at.x)?)?
}

/// Returns the line, and the hint that each of its parts shows.
pub(super) fn line(app: &App) -> (StatusLine, Vec<Option<Hint>>) {
    match (&app.modal, app.requests.scan) {
        (None, Some(scan)) => progress(app, scan),
        (None, None) => {
            let own = app.page().map_or(TABLE_KEYS, Page::hints);
            let pages = page::others(app).map(|(action, name)| Hint::Action(action, name));
            let before = if app.page().is_some() { 1 } else { PAGES_AFTER };
            let mut all = own.to_vec();
            all.splice(before..before, pages);
            if let Some(replay) = &app.replay {
                all.retain(|hint| !matches!(hint, Hint::Action(Action::Pause, _)));
                let now = replay.is_visit.then_some(Hint::Action(Action::Cancel, "now"));
                let leaves = |hint: &Hint| matches!(hint, Hint::Action(Action::Cancel | Action::Quit, _));
                all.retain(|hint| !(replay.is_visit && leaves(hint)));
                let goes_back = |hint: &&Hint| {
                    matches!(
                        hint,
                        Hint::Action(Action::StepBack | Action::NextEvent | Action::Jump, _)
                    )
                };
                let own = REPLAY_KEYS.iter().filter(|hint| !(replay.is_stream && goes_back(hint)));
                all.splice(0..0, now.into_iter().chain(own.copied()));
            }
            hints(app, Context::Table, &all)
        }
        (Some(modal), _) => hints(app, modal.context(), modal.hints()),
    }
}

fn hints(app: &App, context: Context, hints: &[Hint]) -> (StatusLine, Vec<Option<Hint>>) {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let mut shown = Vec::new();
    let names_right = hints.iter().any(|hint| matches!(hint, Hint::Action(Action::Right, _)));
    let right = names_right.then(|| app.right_shows_now()).flatten();
    for (at, hint) in (0_u8..).zip(hints) {
        let (key, label, priority) = match *hint {
            // Typed keys come first, and are left out last.
            Hint::Key(key, label) => (key.to_owned(), label, 98),
            Hint::Action(action, _)
                if context == Context::Table && app.page().is_none() && is_idle(app, action, right) =>
            {
                continue;
            }
            Hint::Action(action, label) => {
                let Some(key) = key_of(app, context, action) else {
                    continue;
                };
                let label = match action {
                    Action::Pause if app.replay.as_ref().is_some_and(|replay| replay.is_playing) => "pause",
                    _ if app.page().is_some() => label,
                    Action::NextGroups if app.query.scope == Scope::Processes && !app.is_narrow() => "sum by program",
                    Action::Open if app.selected_fold().is_some() && !picks(app) => "each process",
                    Action::Fold if app.selected_fold().is_some() => "unfold",
                    Action::Open if picks(app) => "pick",
                    Action::Down if panel::covers_table(app) => "scroll",
                    Action::Open if app.shows_panel() && app.query.scope.lists_processes() => "close",
                    Action::Open if app.query.scope.lists_processes() => "details",
                    Action::Open if app.panel_leads_to_cgroup() => "its memory",
                    Action::Open if app.query.shows_mappings() => "processes",
                    Action::Mappings if app.panel_process().is_some() => "mappings",
                    Action::Right if right == Some(RightShows::Commands) => "scroll",
                    _ => label,
                };
                // Help and quit are left out last.
                let stays = matches!(action, Action::Help | Action::Quit | Action::Cancel);
                let priority = if stays { 99 } else { 90 - at };
                (key.to_string(), label, priority)
            }
        };
        let (key, label) = (format!(" {key} "), format!("{label} "));
        line.labeled(priority, &key, theme.key, label, theme.key_label);
        shown.push(Some(*hint));
    }
    (line, shown)
}

/// Returns the key to show for an action. Characters that are text in the open menu are no keys.
fn key_of(app: &App, context: Context, action: Action) -> Option<Chord> {
    let Some(modal) = &app.modal else {
        return app.key_of(action).copied();
    };
    let is_text = |key: &&Chord| match key.code {
        KeyCode::Char(c) if key.types() => modal.types(c, Some(action)),
        _ => false,
    };
    let leaves = modal.leads_to(action).then_some(Context::Table);
    let contexts = [Some(context), modal.further_context(), leaves].into_iter().flatten();
    let keys = contexts.flat_map(|context| app.config.keymap.keys(context, action));
    let keys: Vec<&Chord> = keys.filter(|key| !is_text(key)).collect();
    // Where letters are text, the first key that is none.
    let single = keys.iter().find(|key| key.types() && !modal.types('a', None));
    single.or(keys.first()).map(|key| **key)
}

fn progress(app: &App, scan: ScanProgress) -> (StatusLine, Vec<Option<Hint>>) {
    let theme = &app.config.theme;
    let mut line = StatusLine::default();
    let full = (BAR_WIDTH * scan.done / scan.all.max(1)).min(BAR_WIDTH);
    line.text(70, " reading mappings ", theme.text);
    let bar = vec![
        ("█".repeat(full), theme.bar_anon),
        ("░".repeat(BAR_WIDTH - full), theme.bar_free),
    ];
    line.spans(60, bar);
    line.text(80, format!(" {} of {} processes ", scan.done, scan.all), theme.text);
    let mut hints = vec![None; 3];
    if let Some(key) = app.key_of(Action::Cancel) {
        line.labeled(90, &format!("  {key} "), theme.key, "stop", theme.key_label);
        hints.push(Some(Hint::Action(Action::Cancel, "stop")));
    }
    (line, hints)
}

/// Returns true if Enter chooses the selected row.
const fn picks(app: &App) -> bool {
    app.screen.picking && app.query.scope.lists_processes()
}

/// Returns true if an action does nothing with the rows shown. `right` is what scrolling to the right shows.
fn is_idle(app: &App, action: Action, right: Option<RightShows>) -> bool {
    let scope = &app.query.scope;
    match action {
        Action::Fold => {
            !app.query.shows_tree() && app.selected_fold().is_none() && update::unfolded_siblings(app).is_none()
        }
        Action::Down => !app.shows_panel(),
        // Of a table that nobody sees.
        Action::Filter => panel::covers_table(app),
        Action::Panel => !matches!(scope, Scope::Groups(_)) && app.selected_fold().is_none(),
        Action::Cancel => navigation::is_outermost(app) && !app.replay.as_ref().is_some_and(|replay| replay.is_visit),
        Action::Mappings => app.replay.is_some() || (!app.query.shows_mappings() && app.panel_process().is_none()),
        Action::CallPaths | Action::Heap => app.replay.is_some() || app.panel_process().is_none(),
        Action::Right => right.is_none(),
        Action::Signal => app.config.settings.ui.readonly || app.query.shows_mappings() || app.replay.is_some(),
        _ => false,
    }
}
