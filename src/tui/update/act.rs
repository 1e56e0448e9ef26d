//! Keys that act on processes, and keys in the dialogs that ask first.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Position;

use crate::act::{Command, MAX_PROCESSES, ProcessAction, Tunable, signals};
use crate::config::Action;
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::model::{ProcessSample, Snapshot};
use crate::text;
use crate::tui::act::{Adjust, Asks, Choice, Dialog, Target};
use crate::tui::app::{App, Message, Mode};
use crate::tui::event::Effect;
use crate::tui::input::LineEdit;
use crate::tui::view;

/// Performs an action of the table that changes processes, or asks first.
pub(super) fn begin(app: &mut App, action: Action) -> Vec<Effect> {
    if app.config.settings.ui.readonly {
        return refuse(app, "read only: nothing is changed");
    }
    let asks = match action {
        Action::Signal => Asks::Signal(Choice::default()),
        Action::OomAdjust => Asks::Number(number(Tunable::OomScoreAdj)),
        Action::Nice => Asks::Number(number(Tunable::Nice)),
        Action::NiceUp => return step(app, 1),
        Action::NiceDown => return step(app, -1),
        _ => return Vec::new(),
    };
    let (targets, of) = match targets(app) {
        Ok(found) => found,
        Err(why) => return refuse(app, &why),
    };
    let number = app.requests.acts.next();
    let ids = targets.iter().map(|t| t.id).collect();
    app.mode = Mode::Act(Box::new(Dialog {
        number,
        asks,
        targets,
        of,
        pins: None,
        ended: Vec::new(),
    }));
    vec![Effect::Act(Command::Pin(number, ids))]
}

fn number(tunable: Tunable) -> Adjust {
    Adjust {
        tunable,
        line: LineEdit::default(),
        touched: false,
        waits: false,
        error: None,
    }
}

fn refuse(app: &mut App, why: &str) -> Vec<Effect> {
    app.screen.message = Some(Message {
        text: why.into(),
        bad: true,
    });
    Vec::new()
}

/// Changes the niceness by one step, unasked: it ends nothing.
fn step(app: &mut App, by: i32) -> Vec<Effect> {
    if app.query.scope.groups().is_some_and(|by| by != GroupBy::Mapping) {
        return refuse(
            app,
            "a step is for processes: open the group, or type the niceness of all",
        );
    }
    let (targets, of) = match targets(app) {
        Ok(found) => found,
        Err(why) => return refuse(app, &why),
    };
    let number = app.requests.acts.next();
    let ids = targets.iter().map(|t| t.id).collect();
    let dialog = Dialog {
        number,
        asks: Asks::Number(self::number(Tunable::Nice)),
        targets,
        of,
        pins: None,
        ended: Vec::new(),
    };
    app.requests.acts.ordered(&dialog);
    let orders = [
        Command::Pin(number, ids),
        Command::Perform(number, ProcessAction::Step(Tunable::Nice, by)),
        Command::Release(number),
    ];
    orders.map(Effect::Act).into()
}

/// Whom it is about: the tagged rows, or else the selected one; of groups their members. And the group.
fn targets(app: &App) -> Result<(Vec<Target>, Option<String>), String> {
    if app.query.scope.groups() == Some(GroupBy::Mapping) {
        return Err("a mapping is no process: go back to act on processes".into());
    }
    let snapshot = app.data.snapshot.as_ref().ok_or("no process is known yet")?;
    let tagged: Vec<&RowKey> = app.tagged_rows().collect();
    let rows: Vec<&RowKey> = if tagged.is_empty() {
        app.tables.current().selected.iter().collect()
    } else {
        tagged
    };
    let mut samples: Vec<&ProcessSample> = rows.iter().flat_map(|row| members(app, snapshot, row)).collect();
    samples.sort_unstable_by_key(|s| s.id);
    samples.dedup_by_key(|s| s.id);
    if samples.is_empty() {
        return Err("no process is selected".into());
    }
    if samples.len() > MAX_PROCESSES {
        let all = samples.len();
        return Err(format!("that is {all} processes: {MAX_PROCESSES} at once at the most"));
    }
    let of = match rows.as_slice() {
        [RowKey::Group(key)] => Some(group(key)),
        [RowKey::Process(_)] => None,
        many if app.query.scope.groups().is_some() => Some(format!("{} groups", many.len())),
        _ => None,
    };
    Ok((samples.into_iter().map(target).collect(), of))
}

fn group(key: &GroupKey) -> String {
    let name = text::safe_prefix(key.label(), 24);
    let name = text::fit(&name, text::width(&name).min(24), text::Align::Left);
    format!("{} {name}", key.by.id())
}

/// The processes of a row.
fn members<'a>(app: &App, snapshot: &'a Snapshot, row: &RowKey) -> Vec<&'a ProcessSample> {
    let rows = snapshot.rows();
    match row {
        RowKey::Process(id) => {
            let at = rows.binary_search_by_key(&id.pid, |s| s.id.pid).ok();
            at.map(|at| &rows[at]).filter(|s| s.id == *id).into_iter().collect()
        }
        RowKey::Group(key) => {
            let group = app.rows.groups.iter().find(|group| group.key == *key);
            let members = group.into_iter().flat_map(|group| &group.members);
            members.filter_map(|at| rows.get(*at)).collect()
        }
    }
}

fn target(sample: &ProcessSample) -> Target {
    let facts = &sample.facts;
    Target {
        id: sample.id,
        name: text::safe_prefix(&facts.comm, 15).into_owned(),
        user: facts
            .user
            .as_ref()
            .map_or_else(|_| "?".into(), |user| text::safe_prefix(user, 16).into_owned()),
        command: text::safe_prefix(&facts.short_command(), 200).into_owned(),
    }
}

/// Performs an action on the open dialog.
pub(super) fn act(app: &mut App, action: Action) -> Vec<Effect> {
    let height = view::signals_shown(app);
    let Mode::Act(dialog) = &mut app.mode else {
        return Vec::new();
    };
    match (action, &mut dialog.asks) {
        (Action::Quit, _) => return vec![Effect::Quit],
        (Action::Cancel, Asks::Signal(choice)) if choice.asks => choice.asks = false,
        (Action::Cancel, _) => app.mode = Mode::Table,
        // The question wants its own key: that of the list, pressed twice, must send nothing.
        (_, Asks::Signal(choice)) if choice.asks => {}
        (Action::Accept, Asks::Signal(choice)) => {
            choice.asks = true;
            choice.query.clear();
        }
        (Action::Accept, Asks::Number(_)) => return set(app),
        (Action::Backspace, Asks::Signal(choice)) => {
            choice.query.pop();
            if let Some(at) = signals::find(&choice.query) {
                choice.place.go(at, signals::ALL.len(), height);
            }
        }
        (_, Asks::Signal(_)) => travel(app, |at| match action {
            Action::Up => at.saturating_sub(1),
            Action::Down => at + 1,
            Action::PageUp => at.saturating_sub(height),
            Action::PageDown => at + height,
            Action::First => 0,
            Action::Last => usize::MAX,
            _ => at,
        }),
        (_, Asks::Number(adjust)) => edit(adjust, |line| match action {
            Action::Left => line.left(),
            Action::Right => line.right(),
            Action::First => line.home(),
            Action::Last => line.end(),
            Action::Delete => line.delete(),
            Action::DeleteWord => line.delete_word(),
            Action::DeleteLine => line.delete_line(),
            Action::Backspace => {
                line.backspace();
            }
            _ => {}
        }),
    }
    Vec::new()
}

/// A character typed into it.
pub(super) fn typed(app: &mut App, key: KeyEvent) -> Vec<Effect> {
    let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    let (KeyCode::Char(c), true) = (key.code, plain) else {
        return Vec::new();
    };
    let height = view::signals_shown(app);
    let Mode::Act(dialog) = &mut app.mode else {
        return Vec::new();
    };
    match &mut dialog.asks {
        Asks::Signal(choice) if choice.asks => match c {
            'y' | 'Y' => return send(app),
            'n' | 'N' => choice.asks = false,
            _ => {}
        },
        Asks::Signal(choice) => {
            choice.query.push(c);
            // What names none begins anew.
            let found = signals::find(&choice.query).or_else(|| {
                choice.query = c.into();
                signals::find(&choice.query)
            });
            match found {
                Some(at) => choice.place.go(at, signals::ALL.len(), height),
                None => choice.query.clear(),
            }
        }
        Asks::Number(adjust) => edit(adjust, |line| line.insert(c.encode_utf8(&mut [0; 4]))),
    }
    Vec::new()
}

/// Text pasted into it: only where a number is typed, since it may hold any key.
pub(super) fn paste(app: &mut App, pasted: &str) {
    if let Mode::Act(dialog) = &mut app.mode
        && let Asks::Number(adjust) = &mut dialog.asks
    {
        edit(adjust, |line| line.insert(pasted));
    }
}

/// Edits the line; while an answer is awaited it stays as it is.
fn edit(adjust: &mut Adjust, change: impl FnOnce(&mut LineEdit)) {
    if adjust.waits {
        return;
    }
    let before = adjust.line.text().to_owned();
    change(&mut adjust.line);
    if before != adjust.line.text() {
        adjust.touched = true;
        adjust.error = None;
    }
}

/// Yes: sends it, and closes.
fn send(app: &mut App) -> Vec<Effect> {
    let Mode::Act(dialog) = &app.mode else {
        return Vec::new();
    };
    let Asks::Signal(choice) = &dialog.asks else {
        return Vec::new();
    };
    let signal = signals::ALL[choice.place.cursor].signal;
    app.screen.message = None;
    let why = dialog
        .is_over()
        .then(|| format!("nothing sent: {} ended before", dialog.name()));
    let number = dialog.number;
    if why.is_none() {
        app.requests.acts.ordered(dialog);
    }
    app.mode = Mode::Table;
    if let Some(why) = why {
        return refuse(app, &why);
    }
    vec![Effect::Act(Command::Perform(number, ProcessAction::Signal(signal)))]
}

/// Sets the number that was typed, if it is one.
fn set(app: &mut App) -> Vec<Effect> {
    let Mode::Act(dialog) = &mut app.mode else {
        return Vec::new();
    };
    let number = dialog.number;
    let Asks::Number(adjust) = &mut dialog.asks else {
        return Vec::new();
    };
    if adjust.waits {
        return Vec::new();
    }
    let tunable = adjust.tunable;
    let value = match adjust.line.text().trim().parse::<i32>() {
        Ok(value) => tunable.check(value).map(|()| value).map_err(|error| error.to_string()),
        Err(_) => {
            let range = tunable.spec().range;
            Err(format!("a whole number from {} to {}", range.start(), range.end()))
        }
    };
    let value = match value {
        Ok(value) => value,
        Err(error) => {
            adjust.error = Some(error);
            return Vec::new();
        }
    };
    adjust.waits = true;
    adjust.error = None;
    app.requests.acts.ordered(dialog);
    vec![Effect::Act(Command::Perform(
        number,
        ProcessAction::Set(tunable, value),
    ))]
}

/// Moves in the list of signals; while it is asked whether to send one, nowhere.
pub(super) fn travel(app: &mut App, to: impl FnOnce(usize) -> usize) {
    let height = view::signals_shown(app);
    if let Mode::Act(dialog) = &mut app.mode
        && let Asks::Signal(choice) = &mut dialog.asks
        && !choice.asks
    {
        choice.query.clear();
        let to = to(choice.place.cursor);
        choice.place.go(to, signals::ALL.len(), height);
    }
}

/// A click on a signal goes to it, and no further; one beside the dialog closes it.
pub(super) fn click(app: &mut App, at: Position) {
    let area = view::popup_area(app);
    if !area.contains(at) {
        app.mode = Mode::Table;
        return;
    }
    let Mode::Act(dialog) = &app.mode else { return };
    let Asks::Signal(choice) = &dialog.asks else { return };
    let list = view::signals_area(area, dialog);
    if list.contains(at) {
        let to = choice.place.offset + usize::from(at.y - list.y);
        travel(app, |_| to);
    }
}
