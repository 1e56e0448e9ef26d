//! The background of the terminal: picks its answer to OSC 11 out of what is typed.
//!
//! crossterm takes the answer for keys: Alt-], each of its characters, then Ctrl-G or Alt-\. Keys that could be part of
//! one are held back until the next tells, so that none is lost, nor obeyed by mistake.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Asks for the colour of the background.
pub const QUERY: &[u8] = b"\x1b]11;?\x1b\\";

/// An answer is no longer than `11;rgba:` and four parts of four digits.
const MOST_CHARS: usize = 27;

/// Finds the answer among the keys.
#[derive(Debug, Default)]
pub struct AnswerPicker {
    held: Vec<KeyEvent>,
    text: String,
}

/// The keys that are typed, or the answer.
#[derive(Debug, PartialEq, Eq)]
pub enum Picked {
    /// Keys to pass on; none while they may be part of an answer.
    Keys(Vec<KeyEvent>),
    /// The background is light, or it is dark.
    IsLight(bool),
}

impl AnswerPicker {
    /// Takes in the next key.
    pub fn take(&mut self, key: KeyEvent) -> Picked {
        let is_start = key.code == KeyCode::Char(']') && key.modifiers == KeyModifiers::ALT;
        let is_end = match key.modifiers {
            KeyModifiers::ALT => key.code == KeyCode::Char('\\'),
            KeyModifiers::CONTROL => key.code == KeyCode::Char('g'),
            _ => false,
        };
        if self.held.is_empty() && !is_start {
            return Picked::Keys(vec![key]);
        }
        self.held.push(key);
        if self.held.len() == 1 {
            return Picked::Keys(Vec::new());
        }
        match key.code {
            _ if is_end => {
                let light = is_light(&self.text);
                let keys = self.release();
                light.map_or(Picked::Keys(keys), Picked::IsLight)
            }
            KeyCode::Char(c) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => {
                self.text.push(c);
                Picked::Keys(if could_be_answer(&self.text) {
                    Vec::new()
                } else {
                    self.release()
                })
            }
            _ => Picked::Keys(self.release()),
        }
    }

    /// Returns what is held back.
    pub fn release(&mut self) -> Vec<KeyEvent> {
        self.text.clear();
        std::mem::take(&mut self.held)
    }
}

/// Returns true for the beginning of an answer.
fn could_be_answer(text: &str) -> bool {
    ["11;rgb:", "11;rgba:"].iter().any(|start| {
        start.starts_with(text)
            || text
                .strip_prefix(start)
                .is_some_and(|rest| text.len() <= MOST_CHARS && rest.chars().all(|c| c.is_ascii_hexdigit() || c == '/'))
    })
}

/// Parses `11;rgb:RRRR/GGGG/BBBB`; `None` for other text.
fn is_light(text: &str) -> Option<bool> {
    let (_, parts) = text.strip_prefix("11;rgb")?.split_once(':')?;
    let mut parts = parts.split('/').map(|digits| {
        let most = 16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1)?;
        Some(f64::from(u32::from_str_radix(digits, 16).ok()?) / f64::from(most.max(1)))
    });
    let rgb = [parts.next()??, parts.next()??, parts.next()??];
    // Relative luminance of WCAG 2: where black text has as much contrast as white it is 0.179.
    let linear = |c: f64| {
        if c <= 0.04045 {
            c / 12.92
        } else {
            ((c + 0.055) / 1.055).powf(2.4)
        }
    };
    let [r, g, b] = rgb.map(linear);
    Some(0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179)
}
