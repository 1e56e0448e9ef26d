//! Which key asks for which action.

use crossterm::event::{KeyCode, KeyModifiers};

use super::Action;

/// Where a key is pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Context {
    /// The monitor's table.
    Table,
    /// A menu, the column chooser, the help.
    List,
    /// A line of text.
    Input,
}

/// One key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    /// The key.
    pub code: KeyCode,
    /// Ctrl and Alt; Shift is in the character.
    pub modifiers: KeyModifiers,
}

/// One line of the keymap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Where it holds.
    pub context: Context,
    /// The keys.
    pub on: Vec<Chord>,
    /// What they do.
    pub run: Action,
    /// What the help says.
    pub desc: String,
}

/// Every binding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keymap {
    /// In the order of the file, the order of the help.
    pub bindings: Vec<Binding>,
}
