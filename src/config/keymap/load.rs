//! Reads the shipped keymap, and the user's over it.

use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Binding, Chord, Context, Keymap, SHIPPED};
use crate::config::document::{self, found, unknown};
use crate::config::fault::{ConfigError, Faults};
use crate::config::{Action, file};
use crate::order;
use crate::text;

static DEFAULT: LazyLock<Keymap> = LazyLock::new(|| {
    let mut faults = Faults::new(Path::new("config/keymap.toml"), SHIPPED);
    let bindings = read_entries(SHIPPED, &mut faults, None)
        .into_iter()
        .filter_map(|l| {
            let desc = l.desc.unwrap_or_default();
            let (context, run) = (l.context, l.run?);
            let on = l.on.into_iter().map(|(chord, _)| chord).collect();
            Some(Binding { context, on, run, desc })
        })
        .collect();
    debug_assert_eq!(faults.finish(), Ok(()), "the shipped keymap is sound");
    Keymap { bindings }
});

/// Returns the shipped keymap.
impl Default for Keymap {
    fn default() -> Self {
        DEFAULT.clone()
    }
}

/// An entry of a file.
struct Entry {
    context: Context,
    on: Vec<(Chord, Range<usize>)>,
    /// `None` frees the keys.
    run: Option<Action>,
    desc: Option<String>,
}

impl Keymap {
    /// Reads a user's file over the shipped keymap.
    ///
    /// # Errors
    /// Every fault in the bytes, with its place; `file` is the name they go by.
    pub fn parse(file: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        let text = file::utf8(file, bytes)?;
        let mut faults = Faults::new(file, &text);
        let mut keymap = Self::default();
        for entry in read_entries(&text, &mut faults, Some(&keymap.clone())) {
            keymap.rebind(entry);
        }
        for context in Context::ALL {
            let exit = context.exit();
            if keymap.keys(context, exit).next().is_none() {
                let what = format!("no key is left for `{}` in {}", exit.name(), context.name());
                faults.add_whole(what);
            }
        }
        keymap.bindings.retain(|b| !b.on.is_empty());
        faults.finish().map(|()| keymap)
    }

    /// Unbinds the keys of the entry, and binds them to its action.
    fn rebind(&mut self, entry: Entry) {
        let taken: Vec<Chord> = entry.on.into_iter().map(|(chord, _)| chord).collect();
        let here = |b: &Binding| b.context == entry.context;
        for binding in self.bindings.iter_mut().filter(|b| here(b)) {
            binding.on.retain(|chord| !taken.contains(chord));
        }
        // Only actions that the shipped file binds in a context can be bound there, so there is a binding to add
        // to; those left without keys are removed when all entries have been read.
        let known = self.bindings.iter_mut().find(|b| here(b) && Some(b.run) == entry.run);
        if let Some(binding) = known {
            binding.on.extend(taken);
            binding.desc = entry.desc.unwrap_or_else(|| binding.desc.clone());
        }
    }
}

/// Reads the entries of a file in order. Only actions that `shipped` has in a context are allowed there; the
/// shipped file itself is read without it.
fn read_entries(text: &str, faults: &mut Faults<'_>, shipped: Option<&Keymap>) -> Vec<Entry> {
    let mut out: Vec<(usize, Entry)> = Vec::new();
    for (name, value) in document::parse(text, faults) {
        if faults.full() {
            break;
        }
        let Some(context) = Context::from_name(name.get_ref()) else {
            let what = unknown("context", name.get_ref(), Context::ALL.map(Context::name));
            faults.add(&name.span(), name.get_ref(), what);
            continue;
        };
        let DeValue::Array(entries) = value.get_ref() else {
            let what = format!("expected [[{}]], found {}", context.name(), found(value.get_ref()));
            faults.add(&value.span(), context.name(), what);
            continue;
        };
        let mut bound: Vec<(Chord, Range<usize>)> = Vec::new();
        for value in entries {
            if faults.full() {
                break;
            }
            let Some(entry) = read_entry(context, value, faults, shipped) else {
                continue;
            };
            for (chord, span) in &entry.on {
                match bound.iter().find(|(c, _)| c == chord) {
                    Some((_, first)) => {
                        let line = text[..first.start].matches('\n').count() + 1;
                        let what = format!(
                            "key `{chord}` is bound twice in {}: first in line {line}",
                            context.name()
                        );
                        faults.add(span, &format!("{}.on", context.name()), what);
                    }
                    None => bound.push((*chord, span.clone())),
                }
            }
            out.push((value.span().start, entry));
        }
    }
    order::sort_by_key(&mut out, |(at, _)| *at);
    out.into_iter().map(|(_, entry)| entry).collect()
}

/// Reads an entry; `None` if it is too faulty to use.
fn read_entry(
    context: Context,
    entry: &Spanned<DeValue<'_>>,
    faults: &mut Faults<'_>,
    shipped: Option<&Keymap>,
) -> Option<Entry> {
    let key = |name: &str| format!("{}.{name}", context.name());
    let DeValue::Table(table) = entry.get_ref() else {
        let what = format!("expected a table, found {}", found(entry.get_ref()));
        faults.add(&entry.span(), context.name(), what);
        return None;
    };
    for name in table.keys() {
        if faults.full() {
            break;
        }
        if !["on", "run", "desc"].contains(&&**name.get_ref()) {
            let what = unknown("key", name.get_ref(), ["on", "run", "desc"]);
            faults.add(&name.span(), &key(name.get_ref()), what);
        }
    }
    let on = table.get("on").map(|value| chords(context, value, &key("on"), faults));
    let run = table
        .get("run")
        .map(|value| action(context, value, &key("run"), faults, shipped));
    for (name, absent) in [("on", on.is_none()), ("run", run.is_none())] {
        if absent {
            faults.add(&entry.span(), &key(name), "missing: each entry has `on` and `run`");
        }
    }
    let desc = desc(table, &key("desc"), faults);
    Some(Entry {
        context,
        on: on?,
        run: run??,
        desc,
    })
}

fn desc(table: &DeTable<'_>, key: &str, faults: &mut Faults<'_>) -> Option<String> {
    let value = table.get("desc")?;
    if let DeValue::String(s) = value.get_ref() {
        return Some(text::safe(s.as_bytes()).into_owned());
    }
    let what = format!("expected a text in quotes, found {}", found(value.get_ref()));
    faults.add(&value.span(), key, what);
    None
}

fn chords(
    context: Context,
    value: &Spanned<DeValue<'_>>,
    key: &str,
    faults: &mut Faults<'_>,
) -> Vec<(Chord, Range<usize>)> {
    let DeValue::Array(items) = value.get_ref() else {
        let what = format!(
            "expected an array of keys such as [\"F1\", \"C-c\"], found {}",
            found(value.get_ref())
        );
        faults.add(&value.span(), key, what);
        return Vec::new();
    };
    let mut out = Vec::new();
    for item in items {
        if faults.full() {
            break;
        }
        let chord = match item.get_ref() {
            DeValue::String(s) => s.parse::<Chord>().map_err(|e| e.to_string()),
            other => Err(format!("expected a key in quotes, found {}", found(other))),
        };
        match chord {
            Ok(chord) if context == Context::Input && chord.types() => {
                faults.add(&item.span(), key, format!("`{chord}` types itself in a line of text"));
            }
            Ok(chord) => out.push((chord, item.span())),
            Err(what) => faults.add(&item.span(), key, what),
        }
    }
    out
}

/// Reads the action of an entry; `Some(None)` for "none", `None` for a fault.
#[expect(clippy::option_option, reason = "no action is not the same as a faulty one")]
fn action(
    context: Context,
    value: &Spanned<DeValue<'_>>,
    key: &str,
    faults: &mut Faults<'_>,
    shipped: Option<&Keymap>,
) -> Option<Option<Action>> {
    let fits = |a: &Action| shipped.is_none_or(|k| k.keys(context, *a).next().is_some());
    let name = match value.get_ref() {
        DeValue::String(s) => s,
        other => {
            let what = format!("expected an action's name in quotes, found {}", found(other));
            faults.add(&value.span(), key, what);
            return None;
        }
    };
    if name == "none" {
        return Some(None);
    }
    match Action::from_name(name) {
        Some(a) if fits(&a) => return Some(Some(a)),
        _ => {}
    }
    let kind = format!("action in {}", context.name());
    let known = Action::ALL.iter().filter(|a| fits(a)).map(|a| a.name());
    faults.add(&value.span(), key, unknown(&kind, name, known.chain(["none"])));
    None
}
