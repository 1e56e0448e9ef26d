//! The help: keys, filters and columns, from the keymap, the filter's own examples and the table of columns.
//!
//! ```text
//! ┌ Help ─────────────────────────────────────────────────────────┐
//! │ KEYS                                                          │
//! │ F1 ? h               Opens the help                           │
//! └───────────────────────────────────────────────────────────────┘
//! ```

use super::{Text, TextLine, wrap};
use crate::columns::{COLUMNS, columns_help};
use crate::config::{Action, Context};
use crate::tui::app::{App, HelpSection, Page, Privilege};
use crate::tui::page;
use crate::tui::words::WORDS;
use crate::{filter, text};

pub struct Help;

impl Text for Help {
    const TITLE: &'static str = " Help ";
    const WIDTH: u16 = 100;
    const LABEL_WIDTH: u16 = 22;

    fn lines(app: &App, width: usize) -> Vec<TextLine> {
        let theme = &app.config.theme;
        let mut lines = Vec::new();
        let mut sections = sections(app);
        // The digits that lead to the other sections, on the first screen.
        let index = (2..).zip(&sections[1..]);
        let index: Vec<_> = index
            .map(|(number, (title, _))| format!("{number} {}", short(title)))
            .collect();
        let keys = format!("2 to {}", sections.len());
        sections[0]
            .1
            .insert(0, (keys, format!("Go to a section: {}", index.join(", "))));
        for (number, (title, entries)) in (1..).zip(sections) {
            let mut push = |label, style, text| lines.push([(label, style), (text, theme.popup)]);
            let title = if number == 0 {
                title.to_owned()
            } else {
                format!("{number} {title}")
            };
            push(title, theme.title, String::new());
            for (mut term, about) in entries {
                // A long term has the line to itself.
                if text::width(&term) >= usize::from(Self::LABEL_WIDTH) - 1 {
                    push(std::mem::take(&mut term), theme.key, String::new());
                }
                for text in wrap(&about, width.saturating_sub(usize::from(Self::LABEL_WIDTH) + 1)) {
                    push(std::mem::take(&mut term), theme.key, text);
                }
            }
            push(String::new(), theme.key, String::new());
        }
        lines
    }

    /// Goes to the section of that number.
    fn place_of_digit(lines: &[TextLine], digit: char) -> Option<usize> {
        let is_title = |[(label, _), (text, _)]: &TextLine| {
            text.is_empty() && label.strip_prefix(digit).is_some_and(|rest| rest.starts_with(' '))
        };
        lines.iter().position(is_title).filter(|_| digit.is_ascii_digit())
    }
}

/// Returns the beginning of a title as a phrase: `all keys`.
fn short(title: &str) -> String {
    let words = title.split_once(',').map_or(title, |(before, _)| before);
    words.to_lowercase().replace(" pss", " PSS")
}

fn sections(app: &App) -> Vec<HelpSection> {
    let keys = |context: Context| -> Vec<(String, String)> {
        let readonly = app.config.settings.ui.readonly || app.replay.is_some();
        let bindings = app.config.keymap.bindings.iter();
        let is_shown = |run| !(readonly && Action::acts(run)) && (context != Context::Table || page::takes(app, run));
        let bindings = bindings.filter(|b| b.context == context && is_shown(b.run));
        bindings
            .map(|b| {
                let keys: Vec<String> = b.on.iter().map(ToString::to_string).collect();
                (keys.join(" "), b.desc.clone())
            })
            .collect()
    };
    let mut sections = Vec::new();
    if app.page().is_none() {
        sections.push(("THE TEN KEYS TO BEGIN WITH", first_keys(app)));
    }
    if app.hides_memory() && app.page().is_none() {
        sections.push(("TO SEE PSS OF EVERY PROCESS", commands(&app.privilege)));
    }
    if app.replay.is_some() {
        sections.push(("KEYS OF THE REPLAY, WHICH TAKE PRECEDENCE", keys(Context::Replay)));
    }
    sections.push(("ALL KEYS", keys(Context::Table)));
    sections.extend(app.page().map_or_else(help_of_tables, Page::help));
    sections.push((
        "IN TEXTS SUCH AS THIS, AND IN MENUS (WHERE LETTERS ARE TEXT)",
        keys(Context::List),
    ));
    sections.push(("IN A LINE OF TEXT", keys(Context::Input)));
    let words = WORDS
        .iter()
        .map(|(word, about)| ((*word).to_owned(), (*about).to_owned()));
    sections.push(("WORDS AND SIGNS AROUND THE TABLE", words.collect()));
    sections
}

/// The actions that a user needs on the first day, with their descriptions.
const FIRST: [(&[Action], &str); 10] = [
    (
        &[Action::Up, Action::Down],
        "Select a row, or scroll a panel that covers all rows. Digits select a process by its pid",
    ),
    (&[Action::Open], "Details of a process; the processes of a group"),
    (
        &[Action::Filter],
        "Filter: words, user:NAME, pss>100M. All forms are below",
    ),
    (&[Action::SortMenu], "Sort by a column: type its name"),
    (&[Action::NextGroups], "Sum by program, user, unit, container, and back"),
    (&[Action::Leaks], "Leaks and growth, with rate and start"),
    (
        &[Action::ProcessesPage, Action::MemoryPage, Action::KernelPage],
        "Pages: processes, memory of the machine, kernel",
    ),
    (&[Action::Signal], "Send a signal, after a confirmation"),
    (
        &[Action::Cancel],
        "Back one step; when nothing is open, clear the filter",
    ),
    (&[Action::Quit], "Quit"),
];

fn first_keys(app: &App) -> Vec<(String, String)> {
    let readonly = app.config.settings.ui.readonly || app.replay.is_some();
    let shown = FIRST
        .iter()
        .filter(|(actions, _)| !(readonly && actions.iter().any(|action| action.acts())));
    let entries = shown.filter_map(|(actions, about)| {
        let keys = actions
            .iter()
            .flat_map(|action| app.config.keymap.keys(Context::Table, *action));
        let keys: Vec<String> = keys.map(ToString::to_string).collect();
        (!keys.is_empty()).then(|| (keys.join(" "), (*about).to_owned()))
    });
    entries.collect()
}

/// Returns the commands that start zmtop with the right to read every process.
fn commands(privilege: &Privilege) -> Vec<(String, String)> {
    let Privilege {
        capability, program, ..
    } = privilege;
    let capability = capability.to_lowercase();
    let grant = capability.trim_start_matches("cap_");
    // Ambient capabilities apply to this start alone. File capabilities would apply to everyone who may run the program.
    let user = r#"--reuid "$USER" --regid "$(id -g "$USER")" --init-groups"#;
    let ambient = format!("sudo setpriv {user} --ambient-caps +{grant} --inh-caps +{grant} {program}");
    vec![
        ("as root".into(), format!("sudo {program}")),
        ("as yourself".into(), ambient),
    ]
}

fn help_of_tables() -> Vec<HelpSection> {
    let filters = filter::help().iter();
    let filters = filters.map(|(term, about)| ((*term).to_owned(), (*about).to_owned()));
    vec![("FILTER", filters.collect()), ("COLUMNS", columns_help(COLUMNS))]
}
