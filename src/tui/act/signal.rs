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

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::frame::DialogLayout;
use super::selection::Selection;
use crate::act::{Command, ProcessAction, signals};
use crate::config::{Action, Context};
use crate::text::{self, Align, fit};
use crate::tui::app::{App, Hint, Modal, Response};
use crate::tui::event::Effect;
use crate::tui::widgets::{ListState, StatusLine, draw_list};

/// Number of signals on screen: few enough that some of the table is seen beside the dialog.
const LISTED: u16 = 12;

#[derive(Debug)]
pub struct SignalDialog {
    pub selection: Selection,
    /// The cursor in [`signals::ALL`].
    pub list: ListState,
    /// The name or number typed to find a signal.
    pub query: String,
    /// The question is asked whether to send it.
    pub confirming: bool,
}

impl SignalDialog {
    pub(super) fn new(selection: Selection) -> Self {
        Self {
            selection,
            list: ListState::default(),
            query: String::new(),
            confirming: false,
        }
    }

    fn layout(&self, app: &App, screen: Rect) -> DialogLayout {
        DialogLayout::new(app, &self.selection, LISTED, 1, screen)
    }

    fn select(&mut self, app: &App, index: usize) {
        let height = self.layout(app, Rect::MAX).body.height;
        self.list.select(index, signals::ALL.len(), height.into());
    }

    /// Moves the cursor; not while the question is asked, since the answer must be about what was asked.
    fn move_to(&mut self, app: &App, index: impl FnOnce(usize) -> usize) {
        if !self.confirming {
            self.query.clear();
            self.select(app, index(self.list.cursor));
        }
    }

    fn send(&self, app: &mut App) -> Response {
        app.screen.message = None;
        if self.selection.all_exited() {
            let name = self.selection.name();
            app.screen.fail(format!("nothing sent: {name} ended before"));
            return Response::close();
        }
        app.requests.acts.add(self.selection.to_pending());
        let action = ProcessAction::Signal(signals::ALL[self.list.cursor].signal);
        Response::close().with(Effect::Act(Command::Perform(self.selection.request, action)))
    }

    fn draw_question(&self, app: &App, area: Rect, buf: &mut Buffer) {
        let theme = &app.config.theme;
        let signal = signals::name(signals::ALL[self.list.cursor].signal);
        let name = self.selection.name();
        let mut status = StatusLine::default();
        if self.confirming {
            // What is needed to answer stays; the name is cut, not left out.
            let width = usize::from(area.width);
            let (send, to) = if width < 44 { ("", " ") } else { ("send ", " to ") };
            let rest = text::width(&signal) + send.len() + to.len() + "  ? y/n ".len();
            let name = fit(&name, text::width(&name).min(width.saturating_sub(rest)), Align::Left);
            status.text(90, format!(" {send}{signal}{to}{name}? "), theme.warning);
            status.text(80, "y/n", theme.key);
        } else if self.query.is_empty() {
            status.text(80, format!(" {signal} to {name}"), theme.dim);
        } else {
            status.text(80, format!(" {signal}"), theme.dim);
            status.text(90, format!("  typed: {}", self.query), theme.text);
        }
        status.draw(area, buf);
    }
}

impl Modal for SignalDialog {
    fn context(&self) -> Context {
        Context::Input
    }

    fn hints(&self) -> &[Hint] {
        if self.confirming {
            &[
                Hint::Key("y", "yes, send it"),
                Hint::Key("n", "no"),
                Hint::Action(Action::Cancel, "back"),
            ]
        } else {
            &[
                Hint::Key("a number or name", "find"),
                Hint::Action(Action::Accept, "send"),
                Hint::Action(Action::Cancel, "cancel"),
            ]
        }
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Response {
        if self.confirming {
            // The question wants a key of its own: Enter pressed twice must send nothing.
            self.confirming = action != Action::Cancel;
            return Response::stay();
        }
        let page = usize::from(self.layout(app, Rect::MAX).body.height);
        match action {
            Action::Cancel => return Response::close(),
            Action::Accept => {
                self.confirming = true;
                self.query.clear();
            }
            Action::Backspace => {
                self.query.pop();
                if let Some(found) = signals::find(&self.query) {
                    self.select(app, found);
                }
            }
            Action::Up => self.move_to(app, |at| at.saturating_sub(1)),
            Action::Down => self.move_to(app, |at| at + 1),
            Action::PageUp => self.move_to(app, |at| at.saturating_sub(page)),
            Action::PageDown => self.move_to(app, |at| at + page),
            Action::First => self.move_to(app, |_| 0),
            Action::Last => self.move_to(app, |_| usize::MAX),
            _ => self.query.clear(),
        }
        Response::stay()
    }

    fn on_char(&mut self, app: &mut App, c: char) -> Response {
        if self.confirming {
            match c {
                'y' | 'Y' => return self.send(app),
                'n' | 'N' => self.confirming = false,
                _ => {}
            }
            return Response::stay();
        }
        self.query.push(c);
        let found = signals::find(&self.query).or_else(|| {
            // No signal is called that: the character may begin another name.
            self.query = c.into();
            signals::find(&self.query)
        });
        if let Some(found) = found {
            self.select(app, found);
        } else {
            self.query.clear();
            let typed = c.to_string();
            app.screen
                .say(format!("no match for {}", text::safe_prefix(typed.as_bytes(), 2)));
        }
        Response::stay()
    }

    fn on_wheel(&mut self, app: &mut App, down: bool) {
        self.move_to(app, |at| if down { at + 1 } else { at.saturating_sub(1) });
    }

    /// Selects the signal clicked, and never sends it; a click beside the dialog closes it.
    fn on_click(&mut self, app: &mut App, at: Position) -> Response {
        let layout = self.layout(app, Rect::MAX);
        if !layout.area.contains(at) {
            return Response::close();
        }
        if layout.body.contains(at) {
            let clicked = self.list.offset + usize::from(at.y - layout.body.y);
            self.move_to(app, |_| clicked);
        }
        Response::stay()
    }

    fn on_close(&self) -> Option<Effect> {
        Some(Effect::Act(Command::Release(self.selection.request)))
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        let theme = &app.config.theme;
        let layout = self.layout(app, frame.area());
        if !layout.draw(app, " Send a signal ", &self.selection, frame) {
            return None;
        }
        let buf = frame.buffer_mut();
        let inert = self.confirming || self.selection.all_exited();
        let style = if inert { theme.dim } else { theme.popup };
        draw_list(buf, layout.body, self.list, signals::ALL.len(), theme.selected, |at| {
            let info = &signals::ALL[at];
            let number = info.signal.as_raw();
            (format!(" {number:>2} {:<7} {}", info.name, info.help), style)
        });
        self.draw_question(app, layout.foot, buf);
        None
    }
}
