//! The dialog that sets a tunable.
//!
//! ```text
//! ┌ Set the niceness ──────────────────────────────────────────────┐
//! │ 27213 alice  python3 train.py --epochs 40                      │
//! │ started 3m ago                                                 │
//! │                                                                │
//! │ nice 10                                                        │
//! │ -20 (before all others) to 19 (after them); now 0              │
//! └────────────────────────────────────────────────────────────────┘
//! ```

use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use super::frame::DialogLayout;
use super::messages;
use super::selection::Selection;
use crate::act::{Command, ProcessAction, Tunable};
use crate::config::{Action, Context};
use crate::text::{Align, fit};
use crate::tui::app::{App, Hint, Modal, Response};
use crate::tui::event::Effect;
use crate::tui::widgets::{TextInput, draw_line, line};

/// The open dialog.
#[derive(Debug)]
pub struct TunableDialog {
    /// The processes.
    pub selection: Selection,
    /// The tunable that is set.
    pub tunable: Tunable,
    /// The number: as typed, or before that the present value.
    pub input: TextInput,
    /// Something was typed: the present value no longer replaces it.
    is_edited: bool,
    /// The number was sent and its result is not known.
    pub is_pending: bool,
    /// The error of the number, or of setting it.
    pub error: Option<String>,
}

impl TunableDialog {
    pub(super) fn new(tunable: Tunable, selection: Selection) -> Self {
        Self {
            selection,
            tunable,
            input: TextInput::default(),
            is_edited: false,
            is_pending: false,
            error: None,
        }
    }

    /// Puts the present value into the input, if all processes have the same and nothing was typed.
    pub(super) fn prefill(&mut self) {
        if let Some((lowest, highest)) = self.selection.value_range(self.tunable)
            && lowest == highest
            && !self.is_edited
        {
            self.input = TextInput::new(&lowest.to_string());
        }
    }

    fn layout(&self, app: &App, screen: Rect) -> DialogLayout {
        DialogLayout::new(app, &self.selection, 0, 2, screen)
    }

    /// Edits the number, but not while a result is awaited.
    fn edit(&mut self, edit: impl FnOnce(&mut TextInput)) {
        if self.is_pending {
            return;
        }
        let before = self.input.text().to_owned();
        edit(&mut self.input);
        if before != self.input.text() {
            self.is_edited = true;
            self.error = None;
        }
    }

    /// Returns the number that was typed.
    fn value(&self) -> Result<i32, String> {
        let Ok(value) = self.input.text().trim().parse() else {
            let range = self.tunable.spec().range;
            return Err(format!("a whole number from {} to {}", range.start(), range.end()));
        };
        let checked = self.tunable.check(value);
        checked.map(|()| value).map_err(|error| error.to_string())
    }

    fn set(&mut self, app: &mut App) -> Response {
        if self.is_pending {
            return Response::stay();
        }
        match self.value() {
            Ok(value) => {
                self.is_pending = true;
                self.error = None;
                app.requests.acts.add(self.selection.to_pending());
                let action = ProcessAction::Set(self.tunable, value);
                Response::stay().with(Effect::Act(Command::Perform(self.selection.request, action)))
            }
            Err(error) => {
                self.error = Some(error);
                Response::stay()
            }
        }
    }

    /// Returns the meaning of the range, and the present value.
    fn hint(&self) -> String {
        let hint = self.tunable.spec().hint;
        match self.selection.value_range(self.tunable) {
            Some(values) => format!("{hint}; now {}", messages::range(values)),
            None if self.selection.values.is_some() => format!("{hint}; now: unknown"),
            None => hint.to_owned(),
        }
    }
}

impl Modal for TunableDialog {
    fn context(&self) -> Context {
        Context::Input
    }

    fn hints(&self) -> &[Hint] {
        &[
            Hint::Action(Action::Accept, "set"),
            Hint::Action(Action::Cancel, "cancel"),
        ]
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Response {
        match action {
            Action::Cancel => return Response::close(),
            Action::Accept => return self.set(app),
            action => self.edit(|input| input.on_action(action)),
        }
        Response::stay()
    }

    fn on_char(&mut self, _app: &mut App, c: char) -> Response {
        self.edit(|input| input.insert(c.encode_utf8(&mut [0; 4])));
        Response::stay()
    }

    fn on_paste(&mut self, _app: &mut App, text: &str) {
        self.edit(|input| input.insert(text));
    }

    /// Closes it at a click beside it.
    fn on_click(&mut self, app: &mut App, at: Position) -> Response {
        if self.layout(app, Rect::MAX).area.contains(at) {
            Response::stay()
        } else {
            Response::close()
        }
    }

    fn on_close(&self) -> Option<Effect> {
        Some(Effect::Act(Command::Release(self.selection.request)))
    }

    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position> {
        let theme = &app.config.theme;
        let spec = self.tunable.spec();
        let layout = self.layout(app, frame.area());
        if !layout.draw(app, spec.title, &self.selection, frame) {
            return None;
        }
        let buf = frame.buffer_mut();
        let (_, cursor) = self.input.draw(&format!(" {} ", spec.name), layout.foot, theme, buf);
        if layout.foot.height > 1 {
            let (note, style) = match &self.error {
                Some(error) => (error.clone(), theme.error),
                None if self.is_pending => ("…".into(), theme.dim),
                None => (self.hint(), theme.dim),
            };
            let note = fit(&format!(" {note}"), usize::from(layout.foot.width), Align::Left);
            draw_line(buf, line(layout.foot, 1), &note, style);
        }
        Some(cursor)
    }
}
