//! `update`: an event changes the state, and may have effects outside.

mod table;

pub(super) use table::unfolded_siblings;

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::config::{Action, Chord, Context};
use crate::group::{GroupBy, RowKey};
use crate::query::ListPlan;
use crate::tui::app::{App, Hint, Response};
use crate::tui::event::{Effect, Event};
use crate::tui::hints::hint_at;
use crate::tui::navigation::on_scan_done;
use crate::tui::prompt::Prompt;
use crate::tui::replay::{self, ReplayCommand};
use crate::tui::rows::{plan, rebuild, refresh};
use crate::tui::{act, fleet, page, panel, popup, reload, timeline, view};

/// Handles an event; returns the effects to perform, in this order.
pub fn update(app: &mut App, event: Event) -> Vec<Effect> {
    let mut effects = Vec::new();
    // A click or a paste ends the wait for more digits, as a pause does.
    if matches!(event, Event::KeyPause | Event::Mouse(..) | Event::Paste(_))
        && let Some(digit) = app.screen.held_digit.take()
    {
        effects = act_on_digit(app, digit);
    } else if matches!(event, Event::KeyPause) && app.key_pause().is_some() {
        effects.extend(app.close());
    }
    match event {
        Event::Key(key) => effects = on_key(app, key),
        Event::KeyPause => {}
        Event::Mouse(mouse, at) => effects.extend(on_mouse(app, mouse, at)),
        Event::Paste(text) => {
            app.with_modal(|modal, app| {
                modal.on_paste(app, &text);
                Response::stay()
            });
        }
        Event::Resize(width, height) => {
            app.screen.size = (width, height);
            app.scroll_to_selection();
            app.with_page(|page, app| page.follow(app));
        }
        Event::Snapshot => {
            on_snapshot(app);
            if app.fleet.is_none() && app.replay.is_none() {
                effects = act::prove(app);
            }
        }
        Event::ScanProgress(number, done) => {
            if let Some(scan) = app.requests.scan.as_mut().filter(|scan| scan.number == number) {
                scan.done = done;
            }
        }
        // A filter that is typed meanwhile is for the mappings.
        Event::ScanDone(number, found) => Prompt::keep_filter(app, |app| on_scan_done(app, number, &found)),
        Event::ScanFailed(number, text) => {
            app.requests.scan.take_if(|scan| scan.number == number);
            app.screen.fail(text);
        }
        Event::CacheProgress(number, progress) => app.data.cache.follow(number, progress),
        Event::CacheRead(number, found) => app.data.cache.take_in(number, found),
        Event::Inspected(id, read) => {
            if let Some(snapshot) = &app.engine.snapshot {
                app.data.growth.record(snapshot, id, &read);
            }
        }
        Event::Looked(look, found) => {
            app.data.coldness.record(look, found);
            rebuild(app);
        }
        Event::Traced(number, found) => app.data.callers.take_in(number, Ok(found)),
        Event::TraceRefused(number, why) => app.data.callers.take_in(number, Err(why)),
        Event::Act(reply) => effects.extend(act::on_reply(app, reply)),
        Event::Views(views) => app.data.views = Some(views),
        Event::Answered(inquiry, id, found) => {
            let asked = app.data.asked.as_mut();
            if let Some(asked) = asked.filter(|asked| (asked.inquiry, asked.id) == (inquiry, id)) {
                asked.found = Some(found);
            }
        }
        Event::Measured(number, found) => app.data.call_paths.take_in(number, found),
        Event::Armed(id, found) => app.data.call_paths.take_in_armed(id, found),
        Event::Fleet(status) => app.fleet = Some(status),
        Event::Config(read) => {
            effects = reload::on_config(app, read);
            rebuild(app);
        }
        Event::Done(text) => app.screen.say(text),
        Event::Failed(text) => app.screen.fail(text),
    }
    effects.extend(panel::request(app));
    effects.extend(page::request_trace(app));
    effects.extend(popup::call_paths::end(app));
    effects.extend(act::request_looks(app));
    effects.extend(popup::leaks::request_files(app));
    let plan = app.fleet.as_ref().and_then(|_| plan(app));
    app.engine.plan = plan.filter(ListPlan::is_of_snapshots);
    effects
}

fn on_key(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    if key.kind == KeyEventKind::Release {
        return Vec::new();
    }
    if key.kind == KeyEventKind::Press {
        app.screen.message = None;
    }
    let typed = match key.code {
        KeyCode::Char(c) if Chord::of(key).is_some_and(Chord::types) => Some(c),
        _ => None,
    };
    let digit = typed.filter(|c| c.is_ascii_digit() && takes_pids(app));
    let mut effects = Vec::new();
    match (app.screen.held_digit.take(), digit) {
        (Some(first), Some(second)) => {
            Prompt::open_for_pid(app, &format!("{first}{second}"));
            return effects;
        }
        (Some(first), None) => effects = act_on_digit(app, first),
        (None, Some(first)) if is_bound(app, first) => {
            app.screen.held_digit = Some(first);
            return effects;
        }
        (None, Some(first)) => {
            Prompt::open_for_pid(app, &first.to_string());
            return effects;
        }
        (None, None) => {}
    }
    // A number to jump to is left by any other key, which then does what it does otherwise.
    if app.modal.as_ref().is_some_and(|modal| modal.is_left_by(key)) {
        effects.extend(app.close());
    }
    let action = action_of(app, key, typed);
    effects.extend(match (action, typed) {
        (Some(action), _) => perform(app, action),
        (None, Some(c)) if app.modal.is_some() => app.with_modal(|modal, app| modal.on_char(app, c)),
        _ => {
            let help = app.key_of(Action::Help).copied();
            let help = help.filter(|_| app.modal.is_none());
            let help = help.map_or_else(String::new, |key| format!(": {key} lists the keys"));
            app.screen.say(format!("{} does nothing here{help}", Chord::name(key)));
            Vec::new()
        }
    });
    effects
}

/// Returns the action of a key where it is pressed; `None` if it has none, or is typed into the open modal.
fn action_of(app: &App, key: KeyEvent, typed: Option<char>) -> Option<Action> {
    let bound = |context| app.config.keymap.action(context, key);
    let Some(modal) = &app.modal else {
        return app.action_of(key);
    };
    let own = bound(modal.context()).filter(|action| modal.takes(*action));
    match typed {
        Some(c) if modal.types(c, own) => None,
        _ => {
            let further = || modal.further_context().and_then(bound);
            let leaves = || bound(Context::Table).filter(|action| modal.leads_to(*action));
            own.or_else(further).or_else(leaves)
        }
    }
}

/// Returns true if digits may name a process: no modal is open, and the rows below are processes of this machine, or groups
/// of them.
fn takes_pids(app: &App) -> bool {
    app.modal.is_none() && app.fleet.is_none() && !app.query.shows_mappings()
}

fn is_bound(app: &App, digit: char) -> bool {
    let key = KeyCode::Char(digit).into();
    app.action_of(key).is_some()
}

/// Performs the action of a digit that was held back, as it might have begun a pid.
fn act_on_digit(app: &mut App, digit: char) -> Vec<Effect> {
    let action = app.action_of(KeyCode::Char(digit).into());
    action.map_or_else(Vec::new, |action| perform(app, action))
}

/// Passes an action to the open modal, else to the open page or the table.
fn perform(app: &mut App, action: Action) -> Vec<Effect> {
    let refusal = app.fleet.as_ref().and_then(|_| fleet::refusal(action));
    let refusal = refusal.or_else(|| app.replay.as_ref().and_then(|_| replay::refusal(action)));
    let leads = app.modal.as_ref().is_some_and(|modal| modal.leads_to(action));
    if let Some(why) = refusal.filter(|_| leads || app.modal.is_none()) {
        app.screen.fail(why);
        return Vec::new();
    }
    match action {
        Action::Quit | Action::Cancel if app.requests.visits.take().is_some() => {
            app.screen.say("the black box is not shown");
            Vec::new()
        }
        // As in other layers, q closes what is on top.
        Action::Quit if app.replay.as_ref().is_some_and(|replay| replay.is_visit) && app.modal.is_none() => {
            command(ReplayCommand::Leave)
        }
        Action::Quit => vec![Effect::Quit],
        Action::Redraw => vec![Effect::Redraw],
        // The modal is still open: the action is for the process that it is about.
        action if leads => table::on_action(app, action),
        action if app.modal.is_some() => app.with_modal(|modal, app| modal.on_action(app, action)),
        action if replay::is_of_player(action) => control(app, action),
        Action::Pause if app.replay.is_some() => command(ReplayCommand::Pause),
        Action::Cancel if app.replay.as_ref().is_some_and(|replay| replay.is_visit) => command(ReplayCommand::Leave),
        action => page::on_action(app, action).unwrap_or_else(|| table::on_action(app, action)),
    }
}

fn command(command: ReplayCommand) -> Vec<Effect> {
    vec![Effect::Replay(command)]
}

/// Performs an action on the player of a recording.
fn control(app: &mut App, action: Action) -> Vec<Effect> {
    let Some(replay) = &app.replay else {
        app.screen
            .say("this key is for recordings: zmtop replay FILE shows one");
        return Vec::new();
    };
    let is_back = matches!(action, Action::StepBack | Action::PreviousEvent);
    if replay.is_stream && is_back {
        app.screen.fail(replay::NO_WAY_BACK);
        return Vec::new();
    }
    match action {
        Action::Faster => command(ReplayCommand::Faster),
        Action::Slower => command(ReplayCommand::Slower),
        Action::NextEvent | Action::PreviousEvent => command(ReplayCommand::Event { forward: !is_back }),
        _ => command(ReplayCommand::Step { forward: !is_back }),
    }
}

/// Derives the rows from the engine's state, and removes tags and folds of processes that are gone.
fn on_snapshot(app: &mut App) {
    let Some(snapshot) = app.engine.snapshot.clone() else {
        return;
    };
    app.screen.count_down(snapshot.interval);
    let has_swap = snapshot.system.swap_total != Ok(0);
    let had_swap = std::mem::replace(&mut app.screen.has_swap, has_swap);
    if app.data.marks.discard_incomparable(&snapshot) || had_swap != has_swap {
        app.apply_columns();
    }
    if snapshot.processes.is_ok() {
        app.data.coldness.retain_living(&snapshot);
    }
    if snapshot.processes.is_ok() && !(app.tables.tags.is_empty() && app.query.folded.is_empty()) {
        let alive: HashSet<_> = snapshot.rows().iter().map(|p| p.id).collect();
        let history = &app.engine.history;
        app.tables.tags.retain(|key| match key {
            RowKey::Part(_) => true,
            RowKey::Process(id) => alive.contains(id),
            // Groups of processes come and go, and their history outlives them. Mappings stay.
            RowKey::Group(key) => key.by == GroupBy::Mapping || history.has_group(key, &snapshot),
        });
        app.query.folded.retain(|id| alive.contains(id));
    }
    app.with_modal(|modal, app| {
        modal.on_snapshot(app);
        Response::stay()
    });
    let was_blind = app.is_blind();
    refresh(app);
    if app.is_blind() != was_blind {
        if !was_blind {
            app.sort_without_pss();
            rebuild(app);
        }
        app.apply_columns();
    }
    app.with_page(|page, app| page.follow(app));
}

/// Rows that a notch of the wheel moves, as in most programs.
const ROWS_PER_NOTCH: isize = 3;
/// Time within which a second click on a row opens it, as on most desktops.
const DOUBLE_CLICK: Duration = Duration::from_millis(400);

fn on_mouse(app: &mut App, mouse: MouseEvent, now: Duration) -> Vec<Effect> {
    let at = Position::new(mouse.column, mouse.row);
    match mouse.kind {
        MouseEventKind::ScrollUp => on_wheel(app, at, false),
        MouseEventKind::ScrollDown => on_wheel(app, at, true),
        MouseEventKind::Down(MouseButton::Left) => {
            let time = timeline::time_at(app, at, false).filter(|_| !is_for_modal(app));
            app.screen.seeks = time.is_some();
            time.map_or_else(|| on_click(app, at, now), seek)
        }
        MouseEventKind::Drag(MouseButton::Left) if app.screen.seeks => {
            timeline::time_at(app, at, true).map_or_else(Vec::new, seek)
        }
        _ => Vec::new(),
    }
}

fn seek(time: SystemTime) -> Vec<Effect> {
    command(ReplayCommand::Jump(time))
}

fn is_for_modal(app: &App) -> bool {
    app.modal.as_ref().is_some_and(|modal| modal.takes_mouse())
}

fn on_wheel(app: &mut App, at: Position, down: bool) -> Vec<Effect> {
    if is_for_modal(app) {
        return app.with_modal(|modal, app| {
            modal.on_wheel(app, down);
            Response::stay()
        });
    }
    let rows = if down { ROWS_PER_NOTCH } else { -ROWS_PER_NOTCH };
    if app.page().is_some() {
        app.with_page(|page, app| page.step(app, rows));
        return Vec::new();
    }
    if panel::covers_table(app) {
        panel::scroll(app, |at, _| at.saturating_add_signed(rows));
        return Vec::new();
    }
    if let Some(active) = table_at(app, at) {
        app.tables.active = active;
    }
    app.move_selection(rows);
    Vec::new()
}

/// Returns the index of the table at a position.
fn table_at(app: &App, at: Position) -> Option<usize> {
    app.layout().tables.iter().position(|area| area.contains(at))
}

/// Handles a click: on a button of the footer, a heading or a row, which a double click opens.
fn on_click(app: &mut App, at: Position, now: Duration) -> Vec<Effect> {
    let hint = hint_at(app, at);
    app.screen.message = None;
    let last = app.tables.clicked.take();
    match hint {
        Some(Hint::Action(action, _)) => return perform(app, action),
        Some(Hint::Key(key, _)) => {
            if let Ok(c) = key.parse() {
                return app.with_modal(|modal, app| modal.on_char(app, c));
            }
        }
        None => {}
    }
    if is_for_modal(app) {
        return app.with_modal(|modal, app| modal.on_click(app, at));
    }
    if let Some(action) = view::action_at(app, at).filter(|_| app.modal.is_none()) {
        return perform(app, action);
    }
    if app.page().is_some() {
        return app.with_page(|page, app| page.click(app, at));
    }
    let Some(active) = table_at(app, at) else {
        return Vec::new();
    };
    let area = app.layout().tables[active];
    app.tables.active = active;
    if at.y == area.y {
        let columns = app.place_columns(app.tables.current(), area.width);
        let x = at.x - area.x;
        let hit = columns.iter().find(|c| (c.x..c.x.saturating_add(c.width)).contains(&x));
        if let Some(column) = hit.and_then(|c| app.tables.current().columns.get(c.index).copied()) {
            app.tables.frozen = false;
            app.tables.current_mut().sort_by(column);
            rebuild(app);
        }
        return Vec::new();
    }
    let row = app.tables.current().list.offset + usize::from(at.y - area.y - 1);
    if row >= app.tables.current().rows.len() {
        return Vec::new();
    }
    let height = app.rows_shown();
    app.tables.current_mut().select_index(row, height);
    let selected = app.tables.current().selected.clone();
    let last = last.filter(|(_, then)| now.saturating_sub(*then) <= DOUBLE_CLICK);
    if last.is_none_or(|(key, _)| selected.as_ref() != Some(&key)) {
        app.tables.clicked = selected.map(|key| (key, now));
        return Vec::new();
    }
    // A double click closes no panel.
    if app.shows_panel() && app.query.scope.lists_processes() && app.selected_fold().is_none() {
        return Vec::new();
    }
    perform(app, Action::Open)
}
