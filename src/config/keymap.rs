//! Which key asks for which action.

mod chord;
mod load;

pub use chord::{Chord, ChordError};
use crossterm::event::KeyEvent;

use super::Action;

/// The shipped `config/keymap.toml`.
pub const SHIPPED: &str = include_str!("../../config/keymap.toml");

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

impl Context {
    /// Every context.
    pub const ALL: [Self; 3] = [Self::Table, Self::List, Self::Input];

    /// Its name in `keymap.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::List => "list",
            Self::Input => "input",
        }
    }

    /// The context of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The action without a key for which nobody could leave.
    pub(super) const fn exit(self) -> Action {
        match self {
            Self::Table => Action::Quit,
            Self::List | Self::Input => Action::Cancel,
        }
    }
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
    /// What the help says; safe to print.
    pub desc: String,
}

/// Every binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    /// In the order of the file, the order of the help.
    pub bindings: Vec<Binding>,
}

impl Keymap {
    /// What a key asks for. A release asks for nothing; Shift counts only where it is not in the
    /// character; Ctrl with a letter is the same in either case.
    pub fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        let chord = Chord::of(key)?;
        let mut bindings = self.bindings.iter().filter(|b| b.context == context);
        bindings.find(|b| b.on.contains(&chord)).map(|b| b.run)
    }

    /// The keys of an action, in the order they were written.
    pub fn keys(&self, context: Context, action: Action) -> impl Iterator<Item = &Chord> {
        let bindings = self.bindings.iter();
        bindings
            .filter(move |b| b.context == context && b.run == action)
            .flat_map(|b| &b.on)
    }
}
