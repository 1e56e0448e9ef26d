//! The dialog that sets a tunable.
//!
//! The keys that raise and lower the niceness open it with one step added to the present value, and add further steps in
//! it. Where the values differ, the step is added to each.
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

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::{Position, Rect};

use crate::act::{Command, ProcessAction, Tunable};
use crate::config::{Action, Context};
use crate::text::{Align, fit};
use crate::tui::act::frame::DialogLayout;
use crate::tui::act::selection::{Selection, value_range_text};
use crate::tui::app::{App, Hint, Modal, Response};
use crate::tui::event::Effect;
use crate::tui::widgets::{TextInput, draw_line, line};

#[derive(Debug)]
pub struct TunableDialog {
    pub selection: Selection,
    pub tunable: Tunable,
    /// The number: as typed, or before that the present value.
    pub input: TextInput,
    /// Something was typed: the present value no longer replaces it.
    is_edited: bool,
    /// Added to the present value, or to each present value where they differ. Typing ends it.
    step: i32,
    /// The number was sent and its result is not known.
    pub is_pending: bool,
    /// The error of the number, or of setting it.
    pub error: Option<String>,
}

impl TunableDialog {
    pub(super) fn new(tunable: Tunable, selection: Selection, step: i32) -> Self {
        let mut dialog = Self {
            selection,
            tunable,
            input: TextInput::default(),
            is_edited: false,
            step,
            is_pending: false,
            error: None,
        };
        dialog.prefill();
        dialog
    }

    /// Puts the present value and the steps into the input, if nothing was typed: as one number if all processes have the
    /// same value.
    pub(super) fn prefill(&mut self) {
        if self.is_edited {
            return;
        }
        if let Some(value) = self.common_value() {
            let stepped = self.clamp(value.saturating_add(self.step));
            self.step = stepped - value;
            self.input = TextInput::new(&stepped.to_string());
        } else if self.step != 0 {
            self.input = TextInput::new(&format!("{:+} to each", self.step));
        } else {
            self.input = TextInput::default();
        }
    }

    /// Returns the present value, if all processes have the same.
    fn common_value(&self) -> Option<i32> {
        let (lowest, highest) = self.selection.value_range(self.tunable)?;
        (lowest == highest).then_some(lowest)
    }

    fn clamp(&self, value: i32) -> i32 {
        let range = self.tunable.spec().range;
        value.clamp(*range.start(), *range.end())
    }

    /// Adds a step to the number, but not while a result is awaited.
    fn step(&mut self, step: i32) {
        if self.is_pending || self.tunable != Tunable::Nice {
            return;
        }
        self.error = None;
        if !self.is_edited {
            let range = self.tunable.spec().range;
            let most = range.end() - range.start();
            self.step = (self.step + step).clamp(-most, most);
            self.prefill();
        } else if let Ok(value) = self.value() {
            self.input = TextInput::new(&self.clamp(value + step).to_string());
        }
    }

    fn layout(&self, app: &App, screen: Rect) -> DialogLayout {
        DialogLayout::new(app, &self.selection, 0, 2, screen)
    }

    /// Edits the number, but not while a result is awaited. A step to several values is no number: typing replaces it.
    fn edit(&mut self, edit: impl FnOnce(&mut TextInput)) {
        if self.is_pending {
            return;
        }
        let before = self.input.text().to_owned();
        if self.is_relative() {
            self.input = TextInput::default();
        }
        edit(&mut self.input);
        if before != self.input.text() {
            self.is_edited = true;
            self.error = None;
        }
    }

    /// Returns true if steps are added to values that differ, or are not known yet.
    fn is_relative(&self) -> bool {
        !self.is_edited && self.step != 0 && self.common_value().is_none()
    }

    /// Returns what the number asks for.
    fn action(&self) -> Result<ProcessAction, String> {
        if self.is_relative() {
            return Ok(ProcessAction::Step(self.tunable, self.step));
        }
        Ok(ProcessAction::Set(self.tunable, self.value()?))
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
        match self.action() {
            Ok(action) => {
                self.is_pending = true;
                self.error = None;
                app.requests.acts.add(self.selection.to_pending());
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
            Some(values) => format!("{hint}; now {}", value_range_text(values)),
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
            Action::NiceUp => self.step(1),
            Action::NiceDown => self.step(-1),
            action => self.edit(|input| input.on_action(action)),
        }
        Response::stay()
    }

    fn on_char(&mut self, app: &mut App, c: char) -> Response {
        // The keys of the table that step the niceness do so here, too: none of them is part of a number.
        let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
        let is_of_number = c.is_ascii_digit() || matches!(c, '-' | '+');
        let action = app.config.keymap.action(Context::Table, key);
        if let Some(action @ (Action::NiceUp | Action::NiceDown)) = action.filter(|_| !is_of_number) {
            return self.on_action(app, action);
        }
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
