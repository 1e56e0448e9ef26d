//! Decodes one complete control sequence into a key or a mouse event, in the formats of xterm, VTE, the Linux console,
//! rxvt and kitty.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    /// The answer about the background: true if it is light.
    IsLight(bool),
}

/// Returns the key of a byte below 0x80 outside any sequence.
pub(super) fn key_of_byte(byte: u8) -> KeyEvent {
    let control = |c: u8| KeyEvent::new(KeyCode::Char(c.into()), KeyModifiers::CONTROL);
    match byte {
        b'\r' | b'\n' => KeyCode::Enter.into(),
        b'\t' => KeyCode::Tab.into(),
        0x7f => KeyCode::Backspace.into(),
        0 => control(b' '),
        0x1b => KeyCode::Esc.into(),
        0x01..=0x1a => control(byte - 1 + b'a'),
        0x1c..=0x1f => control(byte - 0x1c + b'4'),
        _ => key_of_char(byte.into()),
    }
}

pub(super) fn key_of_char(c: char) -> KeyEvent {
    let shift = if c.is_uppercase() {
        KeyModifiers::SHIFT
    } else {
        KeyModifiers::NONE
    };
    KeyEvent::new(KeyCode::Char(c), shift)
}

/// Decodes `ESC [ params last`. Returns `None` for anything except keys and mouse events, such as focus changes,
/// reports and answers.
pub(super) fn csi(params: &[u8], last: u8) -> Option<Typed> {
    if let [b'[', rest @ ..] = params {
        // The Linux console sends ESC [ [ A to E for F1 to F5.
        return (rest.is_empty() && (b'A'..=b'E').contains(&last)).then(|| key(KeyCode::F(last - b'A' + 1)));
    }
    if let [b'<', rest @ ..] = params {
        let mut numbers = numbers(rest)?.into_iter();
        let (button, x, y) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let is_release = match last {
            b'M' => false,
            b'm' => true,
            _ => return None,
        };
        return mouse(button.try_into().ok()?, x, y, is_release);
    }
    let numbers = numbers(params)?;
    let first = numbers.first().copied().unwrap_or(1);
    let code = match last {
        // A report of the cursor's position looks the same as F3 with modifiers.
        b'R' => return None,
        b'A'..=b'D' | b'F' | b'H' | b'P'..=b'S' => letter(last)?,
        b'Z' => return Some(Typed::Key(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT))),
        b'~' if first == 27 => {
            // Other keys with modifiers in xterm's format: 27 ; modifiers ; character ~.
            let code = of_unicode(*numbers.get(2)?)?;
            return Some(with_modifiers(code, params));
        }
        b'~' => numbered(first)?,
        b'u' => of_unicode(first)?,
        _ => return None,
    };
    Some(with_modifiers(code, params))
}

pub(super) fn ss3(params: &[u8], last: u8) -> Option<Typed> {
    let code = match last {
        b'M' => KeyCode::Enter,
        _ => letter(last)?,
    };
    Some(with_modifiers(code, params))
}

/// Decodes a mouse event in the oldest format: 3 bytes after `ESC [ M`.
pub(super) fn mouse_x10(bytes: &[u8]) -> Option<Typed> {
    let [button, x, y] = bytes else { return None };
    let place = |byte: u8| u16::from(byte).saturating_sub(32);
    mouse(button.checked_sub(32)?, place(*x), place(*y), false)
}

fn key(code: KeyCode) -> Typed {
    Typed::Key(code.into())
}

const fn letter(last: u8) -> Option<KeyCode> {
    Some(match last {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::F(last - b'P' + 1),
        _ => return None,
    })
}

const fn numbered(number: u16) -> Option<KeyCode> {
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => KeyCode::F(number as u8 - 10),
        17..=21 => KeyCode::F(number as u8 - 11),
        23 | 24 => KeyCode::F(number as u8 - 12),
        _ => return None,
    })
}

/// Returns the key of a code point in the numbering of kitty and xterm. Code points in the private use area are keys
/// that no binding can have.
fn of_unicode(code: u16) -> Option<KeyCode> {
    Some(match code {
        9 => KeyCode::Tab,
        13 => KeyCode::Enter,
        27 => KeyCode::Esc,
        8 | 127 => KeyCode::Backspace,
        0xe000..=0xf8ff => return None,
        _ => KeyCode::Char(char::from_u32(code.into()).filter(|c| !c.is_control())?),
    })
}

/// Parses numbers separated by `;`. Ignores the part of a number after `:`. A missing number is 1.
fn numbers(params: &[u8]) -> Option<Vec<u16>> {
    let fields = str::from_utf8(params).ok()?.split(';');
    let number = |field: &str| match field.split(':').next() {
        None | Some("") => Some(1),
        Some(digits) => digits.parse().ok(),
    };
    fields.map(number).collect()
}

/// Adds the modifiers from the second number, and the release from the part after its `:`.
fn with_modifiers(code: KeyCode, params: &[u8]) -> Typed {
    let text = str::from_utf8(params).unwrap_or_default();
    let mut field = text.split(';').nth(1).unwrap_or_default().split(':');
    let mut number = || field.next().and_then(|digits| digits.parse::<u16>().ok());
    let bits = number().unwrap_or(1).saturating_sub(1);
    let kind = match number() {
        Some(2) => KeyEventKind::Repeat,
        Some(3) => KeyEventKind::Release,
        _ => KeyEventKind::Press,
    };
    let all = [
        KeyModifiers::SHIFT,
        KeyModifiers::ALT,
        KeyModifiers::CONTROL,
        KeyModifiers::SUPER,
        KeyModifiers::HYPER,
        KeyModifiers::META,
    ];
    let set = all.into_iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
    let modifiers = set.fold(KeyModifiers::NONE, |sum, (_, modifier)| sum | modifier);
    let code = match code {
        KeyCode::Char(c) if modifiers.contains(KeyModifiers::SHIFT) => {
            let mut upper = c.to_uppercase();
            KeyCode::Char(upper.next().filter(|_| upper.next().is_none()).unwrap_or(c))
        }
        other => other,
    };
    Typed::Key(KeyEvent::new_with_kind(code, modifiers, kind))
}

/// Decodes the button code of a mouse event. Columns and rows start at 1 there.
fn mouse(number: u8, x: u16, y: u16, is_release: bool) -> Option<Typed> {
    let button = match number & 0b11 {
        0 => Some(MouseButton::Left),
        1 => Some(MouseButton::Middle),
        2 => Some(MouseButton::Right),
        _ => None,
    };
    let is_drag = number & 0x20 != 0;
    let kind = match (number >> 6, button, is_drag) {
        (0, Some(button), false) if is_release => MouseEventKind::Up(button),
        (0, Some(button), false) => MouseEventKind::Down(button),
        (0, Some(button), true) => MouseEventKind::Drag(button),
        (0, None, false) => MouseEventKind::Up(MouseButton::Left),
        (0, None, true) => MouseEventKind::Moved,
        (1, ..) => match number & 0b11 {
            0 => MouseEventKind::ScrollUp,
            1 => MouseEventKind::ScrollDown,
            2 => MouseEventKind::ScrollLeft,
            _ => MouseEventKind::ScrollRight,
        },
        _ => return None,
    };
    let all = [
        (4, KeyModifiers::SHIFT),
        (8, KeyModifiers::ALT),
        (16, KeyModifiers::CONTROL),
    ];
    let set = all.into_iter().filter(|(bit, _)| number & bit != 0);
    Some(Typed::Mouse(MouseEvent {
        kind,
        column: x.saturating_sub(1),
        row: y.saturating_sub(1),
        modifiers: set.fold(KeyModifiers::NONE, |sum, (_, modifier)| sum | modifier),
    }))
}
