//! The environment, the open files and the heap of a process, read when the popup is opened.
//!
//! ```text
//! ┌ Limits and environment of 27213 python3 ──────────────────┐
//! │ 27213 python3: 2 lines, its limits, then its environment  │
//! │ API_TOKEN             ***                                 │
//! │ HOME                  /home/alice                         │
//! └───────────────────────────────────────────────────────────┘
//! ```

use std::borrow::Cow;

use super::{Text, TextLine, wrap};
use crate::config::Action;
use crate::group::GroupBy;
use crate::model::{Identity, ProcessSample};
use crate::sampler::inquiry::Inquiry;
use crate::text;
use crate::tui::app::{App, Asked, Hint};
use crate::tui::event::Effect;
use crate::units;

/// The keys that open a popup about one process: in such a popup they open another about the same process.
pub(super) const ABOUT_PROCESS: &[Action] = &[Action::Environment, Action::OpenFiles, Action::Heap, Action::CallPaths];
/// The keys of the footer in such a popup.
const READ: &[Hint] = &[
    Hint::Action(Action::Search, "search"),
    Hint::Action(Action::Down, "down"),
    Hint::Action(Action::Up, "up"),
    Hint::Action(Action::CallPaths, "call paths"),
    Hint::Action(Action::Heap, "heap"),
    Hint::Action(Action::Cancel, "close"),
];

/// The same for the heap.
const OF_HEAP: &[Hint] = &[
    Hint::Action(Action::Search, "search"),
    Hint::Action(Action::Down, "down"),
    Hint::Action(Action::Up, "up"),
    Hint::Action(Action::CallPaths, "call paths"),
    Hint::Action(Action::OpenFiles, "open files"),
    Hint::Action(Action::Cancel, "close"),
];

pub struct Environment;
pub struct OpenFiles;
pub struct Heap;

/// Returns the pid and the name of a process, safe to print.
pub(super) fn name_of(sample: &ProcessSample) -> String {
    format!("{} {}", sample.id.pid, text::safe_prefix(&sample.facts.comm, 15))
}

/// Returns the title of a popup about the process of that name: ` Heap of 27213 python3 `.
pub(super) fn title_of(title: &'static str, name: Option<&str>) -> Cow<'static, str> {
    name.map_or(title.into(), |name| format!("{title}of {name} ").into())
}

fn title(app: &App, title: &'static str) -> Cow<'static, str> {
    title_of(title, app.data.asked.as_ref().map(|asked| &*asked.name))
}

/// Returns the process that was asked about, and its name.
fn asked(app: &App) -> Option<(Identity, String)> {
    app.data.asked.as_ref().map(|asked| (asked.id, asked.name.clone()))
}

/// Returns the process that the open popup is about, else the selected one, and its name; if another kind of row is selected,
/// shows a message.
pub(super) fn chosen_process(app: &mut App) -> Option<(Identity, String)> {
    let subject = app.modal.as_ref().and_then(|modal| modal.subject(app));
    if subject.is_some() {
        return subject;
    }
    let snapshot = app.engine.snapshot.as_ref();
    let sample = snapshot.and_then(|snapshot| app.selected_sample(snapshot));
    let named = sample.map(|sample| (sample.id, name_of(sample)));
    if named.is_none() {
        let of_mappings = app.query.scope.grouped_by() == Some(GroupBy::Mapping);
        let way = if of_mappings {
            "lists the processes that map this"
        } else {
            "opens a group"
        };
        app.screen.say(format!("select one process first: Enter {way}"));
    }
    named
}

/// Opens the popup about the process of the open popup, else about the selected one.
pub(in crate::tui) fn open(app: &mut App, inquiry: Inquiry) -> Vec<Effect> {
    let chosen = chosen_process(app);
    chosen.map_or_else(Vec::new, |of| open_about(app, inquiry, of))
}

/// Opens the popup about a process, and requests its data.
pub(super) fn open_about(app: &mut App, inquiry: Inquiry, (id, name): (Identity, String)) -> Vec<Effect> {
    app.data.asked = Some(Asked {
        inquiry,
        id,
        name,
        found: None,
    });
    match inquiry {
        Inquiry::Environment => app.open_popup(Environment),
        Inquiry::OpenFiles => app.open_popup(OpenFiles),
        Inquiry::Heap => app.open_popup(Heap),
    }
    vec![Effect::Ask(inquiry, id)]
}

fn lines(app: &App, width: usize, label: usize) -> Vec<TextLine> {
    let theme = &app.config.theme;
    let Some(asked) = &app.data.asked else {
        return Vec::new();
    };
    let line = |label: String, text: String| [(label, theme.key), (text, theme.popup)];
    let (noun, hint) = match asked.inquiry {
        Inquiry::Environment => (
            "line",
            "its limits, then its environment at the start; *** hides possible secrets",
        ),
        Inquiry::OpenFiles => (
            "open file",
            "by number; `zmtop cache PID` shows how much of them is cached",
        ),
        Inquiry::Heap => ("line", "read from the structures of its allocator"),
    };
    let hint = match asked.inquiry {
        Inquiry::Heap => format!("{hint}; `zmtop heap {}` prints a table", asked.id.pid),
        Inquiry::Environment | Inquiry::OpenFiles => hint.to_owned(),
    };
    let found = match &asked.found {
        None => return vec![line(String::new(), format!("{}: …", asked.name))],
        Some(Err(why)) => return vec![line(String::new(), format!("{}: {why}", asked.name))],
        Some(Ok(found)) => found,
    };
    let count = units::counted(found.len() as u64, noun);
    let about = wrap(&format!("{}: {count}, {hint}", asked.name), width.saturating_sub(2));
    let mut lines: Vec<TextLine> = about.into_iter().map(|text| line(text, String::new())).collect();
    for (name, value) in found {
        let mut name = text::safe(name).into_owned();
        if text::width(&name) >= label - 1 {
            lines.push(line(std::mem::take(&mut name), String::new()));
        }
        let (value, room) = (text::safe(value), width.saturating_sub(label + 1));
        // The heap is described in sentences.
        let values = match asked.inquiry {
            Inquiry::Heap => wrap(&value, room),
            Inquiry::Environment | Inquiry::OpenFiles => pieces(&value, room),
        };
        for value in values {
            lines.push(line(std::mem::take(&mut name), value));
        }
        if !name.is_empty() {
            lines.push(line(name, String::new()));
        }
    }
    lines
}

/// Cuts a value into lines of at most `width` columns, but at least 8. Nothing of it is lost, as paths have no spaces.
fn pieces(value: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut room = 0;
    for c in value.chars() {
        let columns = text::width(c.encode_utf8(&mut [0; 4]));
        if let Some(line) = lines.last_mut().filter(|_| columns <= room) {
            line.push(c);
        } else {
            lines.push(c.into());
            room = width.max(8);
        }
        room -= columns.min(room);
    }
    lines
}

impl Text for Environment {
    const TITLE: &'static str = " Limits and environment ";
    const WIDTH: u16 = 120;
    const LABEL_WIDTH: u16 = 24;
    const HINTS: &'static [Hint] = READ;
    const LEADS_TO: &'static [Action] = ABOUT_PROCESS;

    fn title(app: &App) -> Cow<'static, str> {
        title(app, Self::TITLE)
    }

    fn subject(app: &App) -> Option<(Identity, String)> {
        asked(app)
    }

    fn lines(app: &App, width: usize) -> Vec<TextLine> {
        lines(app, width, Self::LABEL_WIDTH.into())
    }
}

impl Text for OpenFiles {
    const TITLE: &'static str = " Open files ";
    const WIDTH: u16 = 120;
    const LABEL_WIDTH: u16 = 8;
    const HINTS: &'static [Hint] = READ;
    const LEADS_TO: &'static [Action] = ABOUT_PROCESS;

    fn title(app: &App) -> Cow<'static, str> {
        title(app, Self::TITLE)
    }

    fn subject(app: &App) -> Option<(Identity, String)> {
        asked(app)
    }

    fn lines(app: &App, width: usize) -> Vec<TextLine> {
        lines(app, width, Self::LABEL_WIDTH.into())
    }
}

impl Text for Heap {
    const TITLE: &'static str = " Heap ";
    const WIDTH: u16 = 120;
    const LABEL_WIDTH: u16 = 12;
    const HINTS: &'static [Hint] = OF_HEAP;
    const LEADS_TO: &'static [Action] = ABOUT_PROCESS;

    fn title(app: &App) -> Cow<'static, str> {
        title(app, Self::TITLE)
    }

    fn subject(app: &App) -> Option<(Identity, String)> {
        asked(app)
    }

    fn lines(app: &App, width: usize) -> Vec<TextLine> {
        lines(app, width, Self::LABEL_WIDTH.into())
    }
}
