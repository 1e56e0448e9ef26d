//! Keys that act on processes, and keys in the dialogs that ask first.

use ratatui::Frame;
use ratatui::layout::Position;

use super::{Adjust, Asks, Choice, Dialog, Target, draw};
use crate::act::{Command, MAX_PROCESSES, ProcessAction, Tunable, signals};
use crate::config::{Action, Context};
use crate::group::{GroupBy, GroupKey, RowKey};
use crate::model::{ProcessSample, Snapshot};
use crate::text;
use crate::tui::app::{App, Hint, Modal, Response};
use crate::tui::event::Effect;
use crate::tui::widgets::TextInput;

/// Performs an action of the table that changes processes, or asks first.
pub(in crate::tui) fn on_action(app: &mut App, action: Action) -> Vec<Effect> {
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
    app.open(Dialog {
        number,
        asks,
        targets,
        of,
        pins: None,
        ended: Vec::new(),
    });
    vec![Effect::Act(Command::Pin(number, ids))]
}

fn number(tunable: Tunable) -> Adjust {
    Adjust {
        tunable,
        line: TextInput::default(),
        touched: false,
        waits: false,
        error: None,
    }
}

fn refuse(app: &mut App, why: &str) -> Vec<Effect> {
    app.screen.fail(why);
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

impl Modal for Dialog {
    fn context(&self) -> Context {
        Context::Input
    }

    fn hints(&self) -> &[Hint] {
        match &self.asks {
            Asks::Signal(choice) if choice.asks => &[
                Hint::Key("y", "yes, send it"),
                Hint::Key("n", "no"),
                Hint::Action(Action::Cancel, "back"),
            ],
            Asks::Signal(_) => &[
                Hint::Key("a number or a name", "goes to it"),
                Hint::Action(Action::Accept, "send it"),
                Hint::Action(Action::Cancel, "close"),
            ],
            Asks::Number(_) => &[
                Hint::Action(Action::Accept, "set"),
                Hint::Action(Action::Cancel, "leave as it is"),
            ],
        }
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Response {
        let height = draw::signals_area(app, self).height.into();
        match (action, &mut self.asks) {
            (Action::Cancel, Asks::Signal(choice)) if choice.asks => choice.asks = false,
            (Action::Cancel, _) => return Response::close(),
            // The question wants its own key: that of the list, pressed twice, must send nothing.
            (_, Asks::Signal(choice)) if choice.asks => {}
            (Action::Accept, Asks::Signal(choice)) => {
                choice.asks = true;
                choice.query.clear();
            }
            (Action::Accept, Asks::Number(_)) => return set(self, app),
            (Action::Backspace, Asks::Signal(choice)) => {
                choice.query.pop();
                if let Some(at) = signals::find(&choice.query) {
                    choice.list.select(at, signals::ALL.len(), height);
                }
            }
            (_, Asks::Signal(choice)) => move_to(choice, height, |at| match action {
                Action::Up => at.saturating_sub(1),
                Action::Down => at + 1,
                Action::PageUp => at.saturating_sub(height),
                Action::PageDown => at + height,
                Action::First => 0,
                Action::Last => usize::MAX,
                _ => at,
            }),
            (_, Asks::Number(adjust)) => edit(adjust, |line| line.on_action(action)),
        }
        Response::stay()
    }

    fn on_char(&mut self, app: &mut App, c: char) -> Response {
        let height = draw::signals_area(app, self).height.into();
        match &mut self.asks {
            Asks::Signal(choice) if choice.asks => match c {
                'y' | 'Y' => return send(self, app),
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
                    Some(at) => choice.list.select(at, signals::ALL.len(), height),
                    None => choice.query.clear(),
                }
            }
            Asks::Number(adjust) => edit(adjust, |line| line.insert(c.encode_utf8(&mut [0; 4]))),
        }
        Response::stay()
    }

    /// Takes pasted text only where a number is typed, since it may hold any key.
    fn on_paste(&mut self, _app: &mut App, text: &str) {
        if let Asks::Number(adjust) = &mut self.asks {
            edit(adjust, |line| line.insert(text));
        }
    }

    fn on_wheel(&mut self, app: &mut App, down: bool) {
        let height = draw::signals_area(app, self).height.into();
        if let Asks::Signal(choice) = &mut self.asks {
            move_to(choice, height, |at| if down { at + 1 } else { at.saturating_sub(1) });
        }
    }

    /// Goes to the signal, and no further; a click beside the dialog closes it.
    fn on_click(&mut self, app: &mut App, at: Position) -> Response {
        if !draw::area(app, self).contains(at) {
            return Response::close();
        }
        let list = draw::signals_area(app, self);
        if let Asks::Signal(choice) = &mut self.asks
            && list.contains(at)
        {
            let to = choice.list.offset + usize::from(at.y - list.y);
            move_to(choice, list.height.into(), |_| to);
        }
        Response::stay()
    }

    fn on_close(&self) -> Option<Effect> {
        Some(Effect::Act(Command::Release(self.number)))
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        draw::draw(app, self, frame)
    }
}

/// Moves in the list of signals; while it is asked whether to send one, nowhere.
fn move_to(choice: &mut Choice, height: usize, to: impl FnOnce(usize) -> usize) {
    if !choice.asks {
        choice.query.clear();
        let to = to(choice.list.cursor);
        choice.list.select(to, signals::ALL.len(), height);
    }
}

/// Edits the line; while an answer is awaited it stays as it is.
fn edit(adjust: &mut Adjust, change: impl FnOnce(&mut TextInput)) {
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

/// Sends the signal, and closes.
fn send(dialog: &Dialog, app: &mut App) -> Response {
    let Asks::Signal(choice) = &dialog.asks else {
        return Response::stay();
    };
    app.screen.message = None;
    if dialog.is_over() {
        app.screen.fail(format!("nothing sent: {} ended before", dialog.name()));
        return Response::close();
    }
    app.requests.acts.ordered(dialog);
    let action = ProcessAction::Signal(signals::ALL[choice.list.cursor].signal);
    Response::close().with(Effect::Act(Command::Perform(dialog.number, action)))
}

/// Sets the number that was typed, if it is one.
fn set(dialog: &mut Dialog, app: &mut App) -> Response {
    let Asks::Number(adjust) = &mut dialog.asks else {
        return Response::stay();
    };
    if adjust.waits {
        return Response::stay();
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
            return Response::stay();
        }
    };
    adjust.waits = true;
    adjust.error = None;
    app.requests.acts.ordered(dialog);
    let action = ProcessAction::Set(tunable, value);
    Response::stay().with(Effect::Act(Command::Perform(dialog.number, action)))
}
