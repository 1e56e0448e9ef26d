//! The actions that keys are bound to.

mod chord;
mod load;

pub use chord::{Chord, ChordError};
use crossterm::event::KeyEvent;

use super::Action;

/// The shipped `config/keymap.toml`.
pub const SHIPPED: &str = include_str!("../../config/keymap.toml");

/// The context that a key is pressed in.
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

    /// Returns its name in `keymap.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Table => "table",
            Self::List => "list",
            Self::Input => "input",
        }
    }

    /// Returns the context of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// Returns the action that must have a key, or the user could not leave.
    pub(super) const fn exit(self) -> Action {
        match self {
            Self::Table => Action::Quit,
            Self::List | Self::Input => Action::Cancel,
        }
    }
}

/// An entry of the keymap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The context it holds in.
    pub context: Context,
    /// The keys.
    pub on: Vec<Chord>,
    /// The action.
    pub run: Action,
    /// The text in the help; safe to print.
    pub desc: String,
}

/// All bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    /// The bindings, in the order of the file, which is that of the help.
    pub bindings: Vec<Binding>,
}

impl Keymap {
    /// Returns the action of a key. A release has none; Shift counts only if it is not in the character; Ctrl
    /// with a letter is the same in either case.
    pub fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        let chord = Chord::of(key)?;
        let mut bindings = self.bindings.iter().filter(|b| b.context == context);
        bindings.find(|b| b.on.contains(&chord)).map(|b| b.run)
    }

    /// Returns the key of an action that is shown where there is room for one: a single character, if there is one.
    pub fn shown_key(&self, context: Context, action: Action) -> Option<&Chord> {
        let keys = || self.keys(context, action);
        keys().find(|key| key.to_string().len() == 1).or_else(|| keys().next())
    }

    /// Returns the keys of an action, in the order of the file.
    pub fn keys(&self, context: Context, action: Action) -> impl Iterator<Item = &Chord> {
        let bindings = self.bindings.iter();
        bindings
            .filter(move |b| b.context == context && b.run == action)
            .flat_map(|b| &b.on)
    }
}
