//! The dialog that sends a signal.
//!
//! ```text
//! ┌ Send a signal ─────────────────────────────────────────────────┐
//! │ 27213 alice  python3 train.py --epochs 40                      │
//! │ started 3m ago                                                 │
//! │────────────────────────────────────────────────────────────────│
//! │ 15 TERM    asks it to end                                      │
//! │  9 KILL    ends it at once; nothing is saved                   │
//! │────────────────────────────────────────────────────────────────│
//! │ send SIGTERM to 27213 python3?  y/n                            │
//! └────────────────────────────────────────────────────────────────┘
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::dialog::{DialogLayout, Question};
use super::selection::Selection;
use crate::act::signals::SignalInfo;
use crate::act::{ProcessAction, signals};
use crate::config::Action;
use crate::text::{self, Align, fit};
use crate::tui::app::{App, Hint, Response};
use crate::tui::popup::Find;
use crate::tui::widgets::{ListState, StatusLine, TextInput, draw_list, movement};

/// Lines of signals, few enough that some of the table is visible beside the dialog, and of the question.
pub(super) const LINES: (u16, u16) = (12, 1);

#[derive(Default)]
pub struct SignalQuestion {
    /// The cursor in [`signals::ALL`].
    pub list: ListState,
    /// The search for a name or a number, as in every menu.
    pub(in crate::tui) find: Find,
    /// The dialog asks whether to send it.
    pub confirming: bool,
    /// A process has become another program or user since it asked.
    asks_again: bool,
}

fn height(app: &App, selection: &Selection) -> usize {
    DialogLayout::new(app, selection, LINES, Rect::MAX).body.height.into()
}

/// Returns the texts that a search finds: number and name. The full name begins no word, so that `s` finds `STOP` first.
fn names() -> Vec<String> {
    let text = |info: &SignalInfo| format!("{} {} _SIG{}", info.signal.as_raw(), info.name, info.name);
    signals::ALL.iter().map(text).collect()
}

impl SignalQuestion {
    /// Changes the searched text, and goes to the first match.
    fn search(&mut self, app: &App, selection: &Selection, edit: impl FnOnce(&mut TextInput)) {
        edit(&mut self.find.input);
        self.find.first(&names(), false);
        self.go_to_match(app, selection);
    }

    fn go_to_match(&mut self, app: &App, selection: &Selection) {
        if let Some(found) = self.find.found {
            self.select(app, selection, found);
        }
    }

    fn select(&mut self, app: &App, selection: &Selection, index: usize) {
        self.list.select(index, signals::ALL.len(), height(app, selection));
    }

    fn draw_question(&self, app: &App, selection: &Selection, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        let signal = signals::name(signals::ALL[self.list.cursor].signal);
        let name = selection.name();
        let mut status = StatusLine::default();
        if self.confirming {
            // The words needed to answer stay; the name is cut, not left out.
            let width = usize::from(area.width);
            let (send, to) = if width < 44 { ("", " ") } else { ("send ", " to ") };
            let rest = text::width(&signal) + send.len() + to.len() + "  ? y/n ".len();
            let name = fit(&name, text::width(&name).min(width.saturating_sub(rest)), Align::Left);
            status.text(90, format!(" {send}{signal}{to}{name}? "), theme.warning);
            status.text(80, "y/n", theme.key);
        } else if self.find.is_empty() {
            status.text(80, format!(" {signal} to {name}"), theme.dim);
        } else {
            status.text(80, format!(" {signal}"), theme.dim);
            status.text(90, format!("  typed: {}", self.find.input.text()), theme.text);
            if self.find.found.is_none() {
                status.text(95, "  no match", theme.error);
            }
        }
        status.draw(area, buf);
    }
}

impl Question for SignalQuestion {
    fn hints(&self) -> &'static [Hint] {
        if self.confirming {
            &[
                Hint::Key("y", "yes, send it"),
                Hint::Key("n", "no"),
                Hint::Action(Action::Cancel, "back"),
            ]
        } else if self.find.is_empty() {
            &[
                Hint::Key("a number or name", "find"),
                Hint::Action(Action::Accept, "send"),
                Hint::Action(Action::Cancel, "cancel"),
            ]
        } else {
            &[
                Hint::Key("a number or name", "find"),
                Hint::Action(Action::Accept, "send"),
                Hint::Action(Action::Cancel, "clear"),
            ]
        }
    }

    fn ask_again(&mut self) {
        self.asks_again = self.confirming;
    }

    fn on_action(&mut self, app: &mut App, selection: &Selection, action: Action) -> Response {
        if self.confirming {
            // The question needs a key of its own: Enter pressed twice must send nothing.
            self.confirming = action != Action::Cancel;
            if self.confirming {
                app.screen.say("press y to send it, or n");
            }
            return Response::stay();
        }
        let page = height(app, selection);
        match action {
            Action::Cancel if self.find.is_empty() => return Response::close(),
            Action::Cancel => self.find = Find::default(),
            // Without a match, the selected signal is not the one that was typed.
            Action::Accept if !self.find.is_empty() && self.find.found.is_none() => {}
            Action::Accept => {
                self.confirming = true;
                self.asks_again = false;
                self.find = Find::default();
            }
            Action::SearchNext => {
                let at = self.list.cursor;
                self.find.step(&names(), true, &(at..at + 1));
                self.go_to_match(app, selection);
            }
            _ => match movement(action) {
                Some(to) => self.move_cursor(app, selection, &|list| to(list.cursor, page)),
                None => self.search(app, selection, |input| input.on_action(action)),
            },
        }
        Response::stay()
    }

    fn on_char(&mut self, app: &mut App, selection: &Selection, c: char) -> Response {
        if self.confirming {
            match c {
                'y' | 'Y' if std::mem::take(&mut self.asks_again) => {
                    let name = selection.name();
                    app.screen.say(format!(
                        "it is another program or user now: press y again to send it to {name}"
                    ));
                }
                'y' | 'Y' => {
                    let signal = signals::ALL[self.list.cursor].signal;
                    return selection.perform_and_close(app, ProcessAction::Signal(signal), "not sent");
                }
                'n' | 'N' => self.confirming = false,
                _ => return self.on_action(app, selection, Action::Accept),
            }
            return Response::stay();
        }
        self.search(app, selection, |input| input.insert(c.encode_utf8(&mut [0; 4])));
        Response::stay()
    }

    /// Moves the cursor, except while the dialog asks for confirmation: the answer must be about the signal in the question.
    fn move_cursor(&mut self, app: &App, selection: &Selection, to: &dyn Fn(ListState) -> usize) {
        if !self.confirming {
            self.find = Find::default();
            self.select(app, selection, to(self.list));
        }
    }

    fn draw(&self, app: &App, selection: &Selection, layout: &DialogLayout, buf: &mut Buffer) -> Option<Position> {
        let theme = &app.config.theme;
        let inert = self.confirming || selection.all_exited();
        let style = if inert { theme.dim } else { theme.popup };
        draw_list(buf, layout.body, self.list, signals::ALL.len(), theme.selected, |at| {
            let info = &signals::ALL[at];
            let number = info.signal.as_raw();
            (format!(" {number:>2} {:<7} {}", info.name, info.help), style)
        });
        self.draw_question(app, selection, layout.foot, buf);
        None
    }
}
