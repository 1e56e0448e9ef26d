//! A key with its modifiers, as typed and as written in `keymap.toml`.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::config::fault::shown;
use crate::text::nearest;

/// A key with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Chord {
    /// The key.
    pub code: KeyCode,
    /// Ctrl and Alt. Shift is implied by the character.
    pub modifiers: KeyModifiers,
}

const NAMES: &[(&str, KeyCode)] = &[
    ("Enter", KeyCode::Enter),
    ("Esc", KeyCode::Esc),
    ("Tab", KeyCode::Tab),
    ("BackTab", KeyCode::BackTab),
    ("Space", KeyCode::Char(' ')),
    ("Backspace", KeyCode::Backspace),
    ("Delete", KeyCode::Delete),
    ("Insert", KeyCode::Insert),
    ("Up", KeyCode::Up),
    ("Down", KeyCode::Down),
    ("Left", KeyCode::Left),
    ("Right", KeyCode::Right),
    ("Home", KeyCode::Home),
    ("End", KeyCode::End),
    ("PageUp", KeyCode::PageUp),
    ("PageDown", KeyCode::PageDown),
    ("F1", KeyCode::F(1)),
    ("F2", KeyCode::F(2)),
    ("F3", KeyCode::F(3)),
    ("F4", KeyCode::F(4)),
    ("F5", KeyCode::F(5)),
    ("F6", KeyCode::F(6)),
    ("F7", KeyCode::F(7)),
    ("F8", KeyCode::F(8)),
    ("F9", KeyCode::F(9)),
    ("F10", KeyCode::F(10)),
    ("F11", KeyCode::F(11)),
    ("F12", KeyCode::F(12)),
];

/// Letters that can never be received with Ctrl, because a terminal sends another key instead.
const NEVER: &[(char, &str)] = &[('i', "Tab"), ('m', "Enter"), ('[', "Esc")];

impl Chord {
    /// Normalises a key event to the form used in bindings. `None` for a key release, and for modifiers that no binding
    /// can have.
    pub fn of(key: KeyEvent) -> Option<Self> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        let modifiers = key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT);
        let (code, shift) = match key.code {
            KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => (KeyCode::Char(lower(c)), true),
            KeyCode::Char(c) => (KeyCode::Char(c), true),
            KeyCode::BackTab => (KeyCode::BackTab, true),
            KeyCode::Tab if key.modifiers.contains(KeyModifiers::SHIFT) => (KeyCode::BackTab, true),
            other => (other, false),
        };
        let allowed = if shift {
            modifiers | KeyModifiers::SHIFT
        } else {
            modifiers
        };
        allowed.contains(key.modifiers).then_some(Self { code, modifiers })
    }

    /// Names a key with all its modifiers, safe to print: also one that no binding can have.
    pub fn name(key: KeyEvent) -> String {
        let shift = match Self::of(key) {
            Some(chord) => return chord.to_string(),
            None if key.modifiers.contains(KeyModifiers::SHIFT) => "S-",
            None => "",
        };
        let (code, modifiers) = (key.code, key.modifiers & (KeyModifiers::CONTROL | KeyModifiers::ALT));
        format!("{shift}{}", Self { code, modifiers })
    }

    /// Returns true if the key types a character in a text input.
    pub fn types(self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && self.modifiers.is_empty()
    }
}

/// Converts the character to lower case, because terminals send Ctrl-A and Ctrl-a alike.
fn lower(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => c,
    }
}

/// The text does not name a key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChordError(String);

impl FromStr for Chord {
    type Err = ChordError;

    fn from_str(text: &str) -> Result<Self, ChordError> {
        let mut rest = text;
        let mut modifiers = KeyModifiers::NONE;
        loop {
            let (modifier, after) = match rest.split_at_checked(2) {
                Some(("C-", after)) => (KeyModifiers::CONTROL, after),
                Some(("A-", after)) => (KeyModifiers::ALT, after),
                _ => break,
            };
            if after.is_empty() || modifiers.contains(modifier) {
                break;
            }
            modifiers |= modifier;
            rest = after;
        }
        let code = code(rest).ok_or_else(|| {
            let hint = nearest(rest, NAMES.iter().map(|(name, _)| *name))
                .map_or(".".into(), |n| format!("; did you mean `{n}`?"));
            ChordError(format!(
                "unknown key `{}`{hint} A key is a character, or one of Enter Esc Tab BackTab Space Backspace Delete \
                 Insert Up Down Left Right Home End PageUp PageDown F1 … F12, with C- or A- before it",
                shown(text)
            ))
        })?;
        let code = match code {
            KeyCode::Char(c) if modifiers.contains(KeyModifiers::CONTROL) => KeyCode::Char(lower(c)),
            other => other,
        };
        let never = NEVER.iter().find(|(c, _)| code == KeyCode::Char(*c));
        match never {
            Some((_, sent)) if modifiers.contains(KeyModifiers::CONTROL) => {
                Err(ChordError(format!("a terminal sends {sent} for {}", shown(text))))
            }
            _ => Ok(Self { code, modifiers }),
        }
    }
}

fn code(name: &str) -> Option<KeyCode> {
    let mut chars = name.chars();
    match (chars.next(), chars.next()) {
        (Some(' '), None) => None,
        // Reject a character that cannot be displayed on its own, such as a combining mark: it would be unrecognisable
        // in the help.
        (Some(c), None) if shown(name) == name => Some(KeyCode::Char(c)),
        _ => NAMES.iter().find(|(n, _)| *n == name).map(|(_, code)| *code),
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.modifiers.contains(KeyModifiers::CONTROL) {
            f.write_str("C-")?;
        }
        if self.modifiers.contains(KeyModifiers::ALT) {
            f.write_str("A-")?;
        }
        match (NAMES.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(c)) => f.write_str(&shown(c.encode_utf8(&mut [0; 4]))),
            // Bindings contain no other keys.
            (None, other) => write!(f, "{other}"),
        }
    }
}
