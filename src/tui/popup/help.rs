//! The help: keys, filters and columns, from the keymap, the filter's own examples and the table of columns.
//!
//! ```text
//! ┌ Help ─────────────────────────────────────────────────────────┐
//! │ KEYS                                                          │
//! │ F1 ? h               Opens the help                           │
//! └───────────────────────────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::{Popup, wrap};
use crate::columns::{COLUMNS, columns_help};
use crate::config::{Action, Context};
use crate::tui::app::{App, HelpSection, Page, Privilege};
use crate::tui::page;
use crate::tui::widgets::{ListState, draw_text};
use crate::{filter, text};

/// Where the explanation of a term begins.
const TERM_WIDTH: usize = 22;

/// The open help; its cursor is the first line on screen.
#[derive(Debug, Default)]
pub struct Help {
    /// The first line on screen.
    pub list: ListState,
}

enum HelpLine {
    Heading(&'static str),
    /// A term, and a line about it.
    Entry(String, String),
}

/// Returns every line, for a popup whose inside is `width` wide.
fn lines(app: &App, width: usize) -> Vec<HelpLine> {
    let mut lines = Vec::new();
    let mut section = |title: &'static str, entries: Vec<(String, String)>| {
        lines.push(HelpLine::Heading(title));
        for (mut term, about) in entries {
            // A long term has the line to itself.
            if text::width(&term) >= TERM_WIDTH - 1 {
                lines.push(HelpLine::Entry(std::mem::take(&mut term), String::new()));
            }
            for line in wrap(&about, width.saturating_sub(TERM_WIDTH + 1)) {
                lines.push(HelpLine::Entry(std::mem::take(&mut term), line));
            }
        }
        lines.push(HelpLine::Entry(String::new(), String::new()));
    };
    let keys = |context: Context| -> Vec<(String, String)> {
        let readonly = app.config.settings.ui.readonly;
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
    if app.hides_memory() && app.page().is_none() {
        section("TO SEE PSS OF EVERY PROCESS", commands(&app.privilege));
    }
    section("KEYS", keys(Context::Table));
    for (title, entries) in app.page().map_or_else(help_of_tables, Page::help) {
        section(title, entries);
    }
    section("IN MENUS", keys(Context::List));
    section("IN A LINE OF TEXT", keys(Context::Input));
    lines
}

/// Returns the commands after which every process can be read.
fn commands(privilege: &Privilege) -> Vec<(String, String)> {
    let Privilege {
        capability, program, ..
    } = privilege;
    let capability = capability.to_lowercase();
    let grant = capability.trim_start_matches("cap_");
    // As file capabilities zmtop refuses them: it would open with them what its user names.
    let user = r#"--reuid "$USER" --regid "$(id -g "$USER")" --init-groups"#;
    let ambient = format!("sudo setpriv {user} --ambient-caps +{grant} --inh-caps +{grant} {program}");
    vec![
        ("as root".into(), format!("sudo {program}")),
        ("as yourself".into(), ambient),
    ]
}

/// Returns the sections about the tables of processes.
fn help_of_tables() -> Vec<HelpSection> {
    let filters = filter::help().iter();
    let filters = filters.map(|(term, about)| ((*term).to_owned(), (*about).to_owned()));
    vec![("FILTER", filters.collect()), ("COLUMNS", columns_help(COLUMNS))]
}

fn all_lines(app: &App) -> Vec<HelpLine> {
    lines(app, usize::from(app.screen.size.0.min(Help::WIDTH).saturating_sub(2)))
}

impl Popup for Help {
    const TITLE: &'static str = " Help ";
    const WIDTH: u16 = 100;
    const IS_TEXT: bool = true;

    fn list(&self) -> ListState {
        self.list
    }

    fn list_mut(&mut self) -> &mut ListState {
        &mut self.list
    }

    fn texts(&self, app: &App) -> Vec<String> {
        let lines = all_lines(app).into_iter();
        lines
            .map(|line| match line {
                HelpLine::Heading(title) => title.into(),
                HelpLine::Entry(term, about) => format!("{term} {about}"),
            })
            .collect()
    }

    fn len(&self, app: &App) -> usize {
        all_lines(app).len()
    }

    fn draw(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        let width = usize::from(area.width);
        let lines = lines(app, width);
        for (line, y) in lines.iter().skip(self.list.cursor).zip(area.y..area.bottom()) {
            let (term, style) = match line {
                HelpLine::Heading(title) => (*title, theme.title),
                HelpLine::Entry(term, _) => (term.as_str(), theme.key),
            };
            draw_text(buf, area.x + 1, y, term, width.saturating_sub(1), style);
            if let HelpLine::Entry(_, about) = line {
                let x = area.x.saturating_add(TERM_WIDTH as u16);
                let left = usize::from(area.right().saturating_sub(x));
                draw_text(buf, x, y, about, left, theme.popup);
            }
        }
    }
}
