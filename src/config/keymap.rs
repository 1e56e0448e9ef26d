//! The actions that keys are bound to: the shipped keymap, and the user's over it.

use std::path::Path;
use std::sync::LazyLock;

use crossterm::event::KeyEvent;

pub use super::chord::{Chord, ChordError};
use super::document::{self, Item, Table, unknown};
use super::fault::{ConfigError, Faults};
use super::{Action, file};
use crate::order;
use crate::text::{self, named};

/// The shipped `config/keymap.toml`.
pub const SHIPPED: &str = include_str!("../../config/keymap.toml");

named! {
    /// The context that a key is pressed in, with its name in `keymap.toml`.
    pub enum Context {
        /// The monitor's table.
        Table = "table",
        /// The monitor's table while a recording is replayed. Keys that are not bound here do what they do in the table.
        Replay = "replay",
        /// A menu, the column chooser, the help.
        List = "list",
        /// A text input.
        Input = "input",
    }
}

impl Context {
    /// Returns the action that must keep a key: without it the user could not leave the context. A replay has the keys of the
    /// table, too.
    const fn exit(self) -> Option<Action> {
        match self {
            Self::Table => Some(Action::Quit),
            Self::Replay => None,
            Self::List | Self::Input => Some(Action::Cancel),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub context: Context,
    pub on: Vec<Chord>,
    pub run: Action,
    /// The text shown in the help, safe to print.
    pub desc: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keymap {
    /// The bindings, in the order of the file. The help uses the same order.
    pub bindings: Vec<Binding>,
}

impl Keymap {
    /// Returns the action of a key. A key release has none. Shift counts only if the character does not imply it. Ctrl
    /// with a letter is the same in either case.
    pub fn action(&self, context: Context, key: KeyEvent) -> Option<Action> {
        let chord = Chord::of(key)?;
        let mut bindings = self.bindings.iter().filter(|b| b.context == context);
        bindings.find(|b| b.on.contains(&chord)).map(|b| b.run)
    }

    /// Returns the key to show for an action if there is room for only one. Prefers a single character.
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

static DEFAULT: LazyLock<Keymap> = LazyLock::new(|| {
    let faults = Faults::new(Path::new("config/keymap.toml"), SHIPPED);
    let bindings = read_entries(SHIPPED, &faults, None)
        .into_iter()
        .filter_map(|Entry { context, on, run, desc }| {
            let (run, desc) = (run?, desc.unwrap_or_default());
            Some(Binding { context, on, run, desc })
        })
        .collect();
    debug_assert_eq!(faults.finish(), Ok(()), "the shipped keymap is sound");
    Keymap { bindings }
});

impl Default for Keymap {
    fn default() -> Self {
        DEFAULT.clone()
    }
}

/// An entry of a file.
struct Entry {
    context: Context,
    on: Vec<Chord>,
    /// The action; `None` unbinds the keys.
    run: Option<Action>,
    desc: Option<String>,
}

impl Keymap {
    /// Reads a user's file over the shipped keymap.
    ///
    /// # Errors
    /// Every fault in the bytes, with its place. `file` is the name used in messages.
    pub fn parse(file: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        let text = file::utf8(file, bytes)?;
        let faults = Faults::new(file, &text);
        let mut keymap = Self::default();
        for entry in read_entries(&text, &faults, Some(&keymap.clone())) {
            keymap.rebind(entry);
        }
        for context in Context::ALL {
            let Some(exit) = context.exit() else { continue };
            if keymap.keys(context, exit).next().is_none() {
                let what = format!("no key is left for `{}` in {}", exit.id(), context.id());
                faults.add_whole(what);
            }
        }
        keymap.bindings.retain(|b| !b.on.is_empty());
        faults.finish().map(|()| keymap)
    }

    /// Unbinds the keys of the entry, then binds them to its action.
    fn rebind(&mut self, entry: Entry) {
        let here = |b: &Binding| b.context == entry.context;
        for binding in self.bindings.iter_mut().filter(|b| here(b)) {
            binding.on.retain(|chord| !entry.on.contains(chord));
        }
        // The action already has a binding in the context, since the user may bind only actions that the shipped file
        // binds there. Bindings without keys are removed after all entries are read.
        let known = self.bindings.iter_mut().find(|b| here(b) && Some(b.run) == entry.run);
        if let Some(binding) = known {
            binding.on.extend(&entry.on);
            binding.desc = entry.desc.unwrap_or_else(|| binding.desc.clone());
        }
    }
}

/// Reads the entries of a file in order. Allows only actions that `shipped` binds in the same context. `None` reads the
/// shipped file itself.
fn read_entries(text: &str, faults: &Faults<'_>, shipped: Option<&Keymap>) -> Vec<Entry> {
    let document = document::parse(text, faults);
    let root = Table::root(&document, faults);
    let mut out: Vec<(usize, Entry)> = Vec::new();
    for (name, array) in root.entries() {
        let Some(context) = Context::from_id(name) else {
            root.fault_of_name(name, unknown("context", name, Context::ALL.map(Context::id)));
            continue;
        };
        let mut bound: Vec<(Chord, usize)> = Vec::new();
        for item in array.list(&format!("[[{name}]]")) {
            let Some((entry, keys)) = item
                .table("a table")
                .and_then(|table| read_entry(context, &table, shipped))
            else {
                continue;
            };
            for (chord, key) in entry.on.iter().zip(keys) {
                match bound.iter().find(|(c, _)| c == chord) {
                    Some((_, line)) => {
                        key.fault(format!("key `{chord}` is bound twice in {name}: first in line {line}"));
                    }
                    None => bound.push((*chord, key.line())),
                }
            }
            out.push((item.value.span().start, entry));
        }
    }
    order::sort_by_key(&mut out, |(at, _)| *at);
    out.into_iter().map(|(_, entry)| entry).collect()
}

/// Reads an entry, and returns it with the values of its keys; `None` if its faults make it unusable.
fn read_entry<'d>(context: Context, table: &Table<'d>, shipped: Option<&Keymap>) -> Option<(Entry, Vec<Item<'d>>)> {
    const KEYS: [&str; 3] = ["on", "run", "desc"];
    for (name, _) in table.entries().filter(|(name, _)| !KEYS.contains(name)) {
        table.fault_of_name(name, unknown("key", name, KEYS));
    }
    let on = table.get("on").map(|keys| chords(context, &keys));
    let run = table.get("run").map(|name| action(context, &name, shipped));
    for (name, absent) in [("on", on.is_none()), ("run", run.is_none())] {
        if absent {
            table.fault_of_absent(name, "missing: each entry has `on` and `run`");
        }
    }
    let desc = table.get("desc").and_then(|desc| desc.text("a text in quotes"));
    let desc = desc.map(|desc| text::safe(desc.as_bytes()).into_owned());
    let ((on, keys), run) = (on?, run??);
    Some((Entry { context, on, run, desc }, keys))
}

fn chords<'d>(context: Context, keys: &Item<'d>) -> (Vec<Chord>, Vec<Item<'d>>) {
    let sound = keys
        .list("an array of keys such as [\"F1\", \"C-c\"]")
        .filter_map(|key| {
            let chord = key.text("a key in quotes")?.parse::<Chord>();
            let chord = key.checked(chord.map_err(|e| e.to_string()))?;
            if context == Context::Input && chord.types() {
                key.fault(format!("`{chord}` types itself in a line of text"));
                return None;
            }
            Some((chord, key))
        });
    sound.unzip()
}

/// Reads the action of an entry. `Some(None)` for "none", `None` for a fault.
#[expect(clippy::option_option, reason = "no action is not the same as a faulty one")]
fn action(context: Context, item: &Item<'_>, shipped: Option<&Keymap>) -> Option<Option<Action>> {
    let fits = |a: &Action| shipped.is_none_or(|k| k.keys(context, *a).next().is_some());
    let name = item.text("an action's name in quotes")?;
    if name == "none" {
        return Some(None);
    }
    let action = Action::from_id(name).filter(fits).ok_or_else(|| {
        let known = Action::ALL.iter().filter(|a| fits(a)).map(|a| a.id());
        unknown(&format!("action in {}", context.id()), name, known.chain(["none"]))
    });
    item.checked(action).map(Some)
}
