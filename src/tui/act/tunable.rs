//! The dialog that sets a tunable.
//!
//! The keys that raise and lower the niceness open it with one step added to the present value, and add further steps in
//! it. If the values differ, the step is added to each.
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
use ratatui::buffer::Buffer;
use ratatui::layout::Position;

use super::dialog::{DialogLayout, Question};
use super::selection::{Selection, value_range_text};
use crate::act::{ProcessAction, Tunable};
use crate::config::{Action, Context};
use crate::text::{Align, fit};
use crate::tui::app::{App, Hint, Response};
use crate::tui::widgets::{TextInput, draw_line, line};

pub struct TunableQuestion {
    tunable: Tunable,
    /// The number: as typed, or the present value until something is typed.
    pub input: TextInput,
    is_edited: bool,
    /// Added to the present value, or to each if they differ. Typing ends it.
    step: i32,
    /// The lowest and the highest present value, if one is known.
    present: Option<(i32, i32)>,
    /// The processes are pinned, and their values were read.
    is_pinned: bool,
    /// The number was sent and its result is not known.
    is_pending: bool,
    /// The error of the number, or of setting it.
    pub error: Option<String>,
}

impl TunableQuestion {
    pub(super) fn new(tunable: Tunable, step: i32) -> Self {
        Self {
            tunable,
            input: TextInput::default(),
            is_edited: false,
            step,
            present: None,
            is_pinned: false,
            is_pending: false,
            error: None,
        }
    }

    /// Puts the present value and the steps into the input, if nothing was typed: as one number if all processes have the
    /// same value.
    fn prefill(&mut self) {
        if self.is_edited {
            return;
        }
        if let Some(value) = self.common_value() {
            let stepped = self.clamp(value.saturating_add(self.step));
            self.step = stepped - value;
            self.input = TextInput::prefilled(&stepped.to_string());
        } else if self.step != 0 {
            self.input = TextInput::new(&format!("{:+} to each", self.step));
        } else {
            self.input = TextInput::default();
        }
    }

    fn common_value(&self) -> Option<i32> {
        let (lowest, highest) = self.present?;
        (lowest == highest).then_some(lowest)
    }

    fn clamp(&self, value: i32) -> i32 {
        let range = self.tunable.spec().range;
        value.clamp(*range.start(), *range.end())
    }

    /// Adds a step to the number, except while a result is awaited.
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

    /// Edits the number, except while a result is awaited. Typing replaces a step to several values, which is no number.
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

    fn value(&self) -> Result<i32, String> {
        let value = self.input.text().trim().parse().map_err(|_| self.expected())?;
        let checked = self.tunable.check(value);
        checked.map(|()| value).map_err(|error| error.to_string())
    }

    fn expected(&self) -> String {
        let range = self.tunable.spec().range;
        format!("a whole number from {} to {}", range.start(), range.end())
    }

    fn set(&mut self, app: &mut App, selection: &Selection) -> Response {
        let action = if self.is_relative() {
            Ok(ProcessAction::Step(self.tunable, self.step))
        } else {
            self.value().map(|value| ProcessAction::Set(self.tunable, value))
        };
        match action {
            _ if self.is_pending => Response::stay(),
            Ok(action) => {
                self.is_pending = true;
                self.error = None;
                Response::stay().with(selection.perform(app, action))
            }
            Err(error) => {
                self.error = Some(error);
                Response::stay()
            }
        }
    }
}

impl Question for TunableQuestion {
    fn hints(&self) -> &'static [Hint] {
        &[
            Hint::Action(Action::Accept, "set"),
            Hint::Key("y", "set"),
            Hint::Key("n", "cancel"),
        ]
    }

    fn follow(&mut self, selection: &Selection) {
        self.present = selection.value_range(self.tunable);
        self.is_pinned = selection.values.is_some();
        self.prefill();
    }

    fn fail(&mut self, error: String) {
        self.is_pending = false;
        self.error = Some(error);
    }

    fn on_action(&mut self, app: &mut App, selection: &Selection, action: Action) -> Response {
        match action {
            Action::Cancel => return Response::close(),
            Action::Accept => return self.set(app, selection),
            Action::NiceUp => self.step(1),
            Action::NiceDown => self.step(-1),
            action => self.edit(|input| input.on_action(action)),
        }
        Response::stay()
    }

    fn on_char(&mut self, app: &mut App, selection: &Selection, c: char) -> Response {
        // The keys of the table that step the niceness do so here, too, unless they are part of a number.
        let key = KeyEvent::new(KeyCode::Char(c), KeyModifiers::NONE);
        let is_of_number = c.is_ascii_digit() || matches!(c, '-' | '+');
        let action = app.config.keymap.action(Context::Table, key);
        if let Some(action @ (Action::NiceUp | Action::NiceDown)) = action.filter(|_| !is_of_number) {
            return self.on_action(app, selection, action);
        }
        // The number has no letters, so y and n answer as they do in the other dialogs.
        if !is_of_number {
            return match c {
                'y' | 'Y' => self.set(app, selection),
                'n' | 'N' => Response::close(),
                _ if self.is_pending => Response::stay(),
                _ => {
                    self.error = Some(self.expected());
                    Response::stay()
                }
            };
        }
        self.edit(|input| input.insert(c.encode_utf8(&mut [0; 4])));
        Response::stay()
    }

    fn on_paste(&mut self, text: &str) {
        self.edit(|input| input.insert(text));
    }

    fn draw(&self, app: &App, _selection: &Selection, layout: &DialogLayout, buf: &mut Buffer) -> Option<Position> {
        let theme = &app.config.theme;
        let spec = self.tunable.spec();
        let (_, cursor) = self.input.draw(&format!(" {} ", spec.name), layout.foot, theme, buf);
        if layout.foot.height > 1 {
            let (note, style) = match (&self.error, self.present) {
                (Some(error), _) => (error.clone(), theme.error),
                _ if self.is_pending => ("…".into(), theme.dim),
                (_, Some(values)) => (format!("{}; now {}", spec.hint, value_range_text(values)), theme.dim),
                _ if self.is_pinned => (format!("{}; now: unknown", spec.hint), theme.dim),
                _ => (spec.hint.to_owned(), theme.dim),
            };
            let note = fit(&format!(" {note}"), usize::from(layout.foot.width), Align::Left);
            draw_line(buf, line(layout.foot, 1), &note, style);
        }
        Some(cursor)
    }
}
