//! Popups, dialogs and prompts: they take the keys in place of the table.
//!
//! Each is one file (or folder) with its state, its keys and its drawing, and is opened where its key is handled in
//! `update`. `update` passes events to the open one and `view` draws it; neither knows which one it is.

use std::any::Any;

use ratatui::Frame;
use ratatui::layout::Position;

use super::App;
use crate::config::{Action, Context};
use crate::tui::event::Effect;

/// A key that the footer names, and its label.
#[derive(Clone, Copy, Debug)]
pub enum Hint {
    /// The key that is bound to an action.
    Action(Action, &'static str),
    /// A key, or a way of typing, that is bound to nothing.
    Key(&'static str, &'static str),
}

#[derive(Debug, Default)]
pub struct Response {
    /// Effects to perform, in this order.
    pub effects: Vec<Effect>,
    pub close: bool,
}

impl Response {
    /// Returns the response that leaves the modal open.
    pub fn stay() -> Self {
        Self::default()
    }

    /// Returns the response that closes the modal.
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

/// Something that takes the keys in place of the table until it is closed.
///
/// While it handles an event it is not in the state it is given: `app.modal` is empty. Keys that quit, and that
/// redraw the screen, never reach it.
pub trait Modal: Any {
    /// Returns which of the keymap's bindings apply.
    fn context(&self) -> Context;

    /// Returns the keys that the footer names.
    fn hints(&self) -> &[Hint] {
        &[]
    }

    /// Returns false if an action means nothing to it: its key is then a character like any other.
    fn takes(&self, _action: Action) -> bool {
        true
    }

    /// Performs the action of a key.
    fn on_action(&mut self, app: &mut App, action: Action) -> Response;

    /// Takes a character that is bound to no action.
    fn on_char(&mut self, _app: &mut App, _c: char) -> Response {
        Response::stay()
    }

    /// Takes pasted text.
    fn on_paste(&mut self, _app: &mut App, _text: &str) {}

    /// Returns true if clicks and the wheel are for it; otherwise they are for the tables.
    fn takes_mouse(&self) -> bool {
        true
    }

    /// Moves by one notch of the wheel.
    fn on_wheel(&mut self, _app: &mut App, _down: bool) {}

    fn on_click(&mut self, _app: &mut App, _at: Position) -> Response {
        Response::stay()
    }

    /// Follows a new snapshot, whose suspects are known and whose rows are not yet made.
    fn on_snapshot(&mut self, _app: &App) {}

    /// Returns true if it is about the rows that are shown, so that it closes when others are.
    fn is_about_rows(&self) -> bool {
        false
    }

    /// Returns what is to be done outside once it is closed.
    fn on_close(&self) -> Option<Effect> {
        None
    }

    /// Draws it over the screen; returns where the terminal's cursor belongs.
    fn draw(&self, app: &App, frame: &mut Frame<'_>) -> Option<Position>;
}

impl App {
    /// Opens a modal, in place of the one that is open.
    pub fn open(&mut self, modal: impl Modal) {
        self.modal = Some(Box::new(modal));
    }

    /// Closes the modal; returns what is to be done outside.
    pub fn close(&mut self) -> Option<Effect> {
        self.modal.take()?.on_close()
    }

    /// Has the open modal handle something, and closes it if that is its response.
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

    /// Returns the open modal if it is of that type, to change.
    pub fn modal_mut<T: Modal>(&mut self) -> Option<&mut T> {
        let modal: &mut dyn Any = self.modal.as_deref_mut()?;
        modal.downcast_mut()
    }
}
