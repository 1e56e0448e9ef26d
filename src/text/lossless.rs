//! Foreign bytes as text that loses nothing, for JSON, CSV and recordings; and what of a text must not
//! reach a terminal as it is.

use std::borrow::Cow;

use unicode_width::UnicodeWidthChar;

use super::{MAX_MARKS, is_invisible};

/// Where the bytes that are no UTF-8 go: byte `0xNN` is `U+EF00 + NN`, in the private use area.
const BASE: u32 = 0xef00;

/// `bytes` as valid Unicode that [`from_lossless`] turns back into the very same bytes.
///
/// Valid UTF-8 is borrowed as it is. A byte `0xNN` that is no part of any becomes the private character
/// `U+EFNN` (`U+EF80..=U+EFFF`, as all such bytes are above 0x7f); and so that nothing is ambiguous, the
/// three bytes of such a character that was there before are written that way too. Control characters stay:
/// what writes the text for a reader escapes them.
pub fn lossless(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if !text.contains(stands_for_byte) => return Cow::Borrowed(text),
        _ => {}
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if stands_for_byte(c) {
                out.extend(c.encode_utf8(&mut [0; 4]).bytes().filter_map(stand_in));
            } else {
                out.push(c);
            }
        }
        out.extend(chunk.invalid().iter().copied().filter_map(stand_in));
    }
    Cow::Owned(out)
}

/// The bytes that [`lossless`] made `text` of.
pub fn from_lossless(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for c in text.chars() {
        if stands_for_byte(c) {
            out.push((u32::from(c) - BASE) as u8);
        } else {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    out
}

const fn stands_for_byte(c: char) -> bool {
    matches!(c, '\u{ef80}'..='\u{efff}')
}

/// The character for a byte above 0x7f; never `None`.
const fn stand_in(byte: u8) -> Option<char> {
    char::from_u32(BASE + byte as u32)
}

/// The longest piece at the beginning of `text` that is harmless to a terminal, and the character after it
/// that is not: a control, an invisible or a reordering character, or a mark beyond the fourth on one base.
/// `None` after all of it. Tables escape more, to keep their columns in line ([`super::safe`]); this is for
/// formats that only must not be dangerous to look at.
pub fn harmless(text: &str) -> (&str, Option<char>) {
    let mut marks = 0;
    for (at, c) in text.char_indices() {
        if (' '..='~').contains(&c) {
            marks = 0;
            continue;
        }
        marks = if c.width() == Some(0) { marks + 1 } else { 0 };
        if c.is_control() || is_invisible(c) || marks > MAX_MARKS {
            return (&text[..at], Some(c));
        }
    }
    (text, None)
}
