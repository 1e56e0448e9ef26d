//! Popups, dialogs and prompts, which receive the keys in place of the table.
//!
//! Each is one file (or folder) with its state, keys and drawing. `update` opens it, and passes events to it; `view` draws it.
//! Neither knows which one is open.

use std::any::Any;
use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Position;

use super::App;
use crate::config::{Action, Context};
use crate::model::Identity;
use crate::tui::event::{DIGIT_PAUSE, Effect};

#[derive(Clone, Copy, Debug)]
pub enum Hint {
    Action(Action, &'static str),
    /// A key, or several, that are bound to no action.
    Key(&'static str, &'static str),
}

/// Requests of a modal after an event.
#[derive(Debug, Default)]
pub struct Response {
    pub effects: Vec<Effect>,
    pub close: bool,
}

impl Response {
    pub fn stay() -> Self {
        Self::default()
    }

    pub const fn close() -> Self {
        let effects = Vec::new();
        Self { effects, close: true }
    }

    #[must_use]
    pub fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }
}

/// A popup, dialog or prompt.
///
/// While it handles an event, `app.modal` is empty. Keys that quit or redraw the screen never reach it.
pub trait Modal: Any {
    /// Returns the context whose key bindings apply.
    fn context(&self) -> Context;

    /// Returns the keys in the footer.
    fn hints(&self) -> &[Hint] {
        &[]
    }

    /// Returns another context whose key bindings apply if the bindings of [`context`](Self::context) do not.
    fn further_context(&self) -> Option<Context> {
        None
    }

    /// Returns true if a character is text, though it may be bound to an action.
    fn types(&self, _c: char, _bound: Option<Action>) -> bool {
        false
    }

    /// Returns true if an action of the tables opens another popup about the same process in its place.
    fn leads_to(&self, _action: Action) -> bool {
        false
    }

    /// Returns the process that it is about, and its name, safe to print.
    fn subject(&self, _app: &App) -> Option<(Identity, String)> {
        None
    }

    /// Returns true if a key closes it and then does what it does without it.
    fn is_left_by(&self, _key: KeyEvent) -> bool {
        false
    }

    /// Returns the time without a key after which it closes.
    fn closes_after(&self) -> Option<Duration> {
        None
    }

    /// Returns false for an action that it does not perform: the key is then a character like any other.
    fn takes(&self, _action: Action) -> bool {
        true
    }

    fn on_action(&mut self, app: &mut App, action: Action) -> Response;

    /// Handles a character that is bound to no action.
    fn on_char(&mut self, _app: &mut App, _c: char) -> Response {
        Response::stay()
    }

    fn on_paste(&mut self, _app: &mut App, _text: &str) {}

    /// Returns false if clicks and the wheel are for the tables.
    fn takes_mouse(&self) -> bool {
        true
    }

    fn on_wheel(&mut self, _app: &mut App, _down: bool) {}

    fn on_click(&mut self, _app: &mut App, _at: Position) -> Response {
        Response::stay()
    }

    /// Follows a new snapshot, whose suspects are known and whose rows are not derived yet.
    fn on_snapshot(&mut self, _app: &App) {}

    /// Returns true if it is about the rows shown, so that it closes if others are shown.
    fn is_about_rows(&self) -> bool {
        false
    }

    fn on_close(&self) -> Option<Effect> {
        None
    }

    /// Draws it over the screen; returns the place of the terminal's cursor.
    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position>;
}

impl App {
    /// Opens a modal, in place of the one that is open.
    pub fn open(&mut self, modal: impl Modal) {
        self.modal = Some(Box::new(modal));
    }

    /// Returns the time without a key after which [`Event::KeyPause`](crate::tui::Event::KeyPause) is due; `None` if no pause
    /// matters.
    pub fn key_pause(&self) -> Option<Duration> {
        let held = self.screen.held_digit.map(|_| DIGIT_PAUSE);
        held.or_else(|| self.modal.as_ref()?.closes_after())
    }

    pub fn close(&mut self) -> Option<Effect> {
        self.modal.take()?.on_close()
    }

    /// Passes an event to the open modal, and closes it if it asks for that.
    pub fn with_modal(&mut self, handle: impl FnOnce(&mut dyn Modal, &mut Self) -> Response) -> Vec<Effect> {
        let Some(mut modal) = self.modal.take() else {
            return Vec::new();
        };
        let mut response = handle(&mut *modal, self);
        if response.close {
            response.effects.extend(modal.on_close());
        } else {
            self.modal = Some(modal);
        }
        response.effects
    }

    /// Returns the open modal if it is of that type.
    pub fn modal<T: Modal>(&self) -> Option<&T> {
        let modal: &dyn Any = self.modal.as_deref()?;
        modal.downcast_ref()
    }

    pub fn modal_mut<T: Modal>(&mut self) -> Option<&mut T> {
        let modal: &mut dyn Any = self.modal.as_deref_mut()?;
        modal.downcast_mut()
    }
}
