//! Foreign bytes as safe text.
//!
//! comm, command lines, paths, cgroup and user names are bytes that anyone can choose. [`safe`] is the one
//! way they reach a terminal cell, a table or a log: what could move the cursor, reorder the line, hide
//! itself or pile up on one cell is written out as an escape, so that it is seen and does nothing.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The most zero-width marks kept on one base character; real scripts need three.
const MAX_MARKS: usize = 4;

/// `bytes` as text that is safe to print: invalid UTF-8 becomes `\xNN`, control characters `\n`, `\t` or
/// `\xNN`, bidirectional, invisible and formatting characters `\u{…}`; marks beyond the fourth on one
/// character become a single `…`. Plain text is borrowed unchanged.
pub fn safe(bytes: &[u8]) -> Cow<'_, str> {
    safe_prefix(bytes, usize::MAX)
}

/// Like [`safe`], but stops once about `columns` terminal columns are filled, so that a megabyte of argv
/// costs no more than what is shown of it. The result can be a few columns longer; [`fit`] cuts it.
pub fn safe_prefix(bytes: &[u8], columns: usize) -> Cow<'_, str> {
    let plain = bytes
        .iter()
        .take_while(|b| (0x20..0x7f).contains(*b))
        .take(columns.saturating_add(1))
        .count();
    if plain == bytes.len() || plain > columns {
        return String::from_utf8_lossy(&bytes[..plain]);
    }
    let mut out = String::with_capacity(plain + 16);
    let mut width = 0;
    let mut marks = 0;
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if width > columns {
                return Cow::Owned(out);
            }
            width += push(&mut out, c, &mut marks);
        }
        for b in chunk.invalid() {
            push_str(&mut out, &format!("\\x{b:02x}"), &mut width);
            marks = 0;
        }
    }
    Cow::Owned(out)
}

fn push_str(out: &mut String, s: &str, width: &mut usize) {
    out.push_str(s);
    *width += s.len();
}

/// Appends one character, escaped where need be; returns the columns it takes.
fn push(out: &mut String, c: char, marks: &mut usize) -> usize {
    let mut width = 0;
    match c {
        '\n' => push_str(out, "\\n", &mut width),
        '\t' => push_str(out, "\\t", &mut width),
        '\r' => push_str(out, "\\r", &mut width),
        c if c.is_control() => push_str(out, &format!("\\x{:02x}", u32::from(c)), &mut width),
        c if is_invisible(c) => push_str(out, &format!("\\u{{{:x}}}", u32::from(c)), &mut width),
        c => match c.width() {
            Some(0) | None => {
                *marks += 1;
                match *marks {
                    _ if out.is_empty() => push_str(out, &format!("\\u{{{:x}}}", u32::from(c)), &mut width),
                    n if n <= MAX_MARKS => out.push(c),
                    n if n == MAX_MARKS + 1 => {
                        out.push('…');
                        width += 1;
                    }
                    _ => {}
                }
                return width;
            }
            Some(w) => {
                out.push(c);
                width = w;
            }
        },
    }
    *marks = 0;
    width
}

/// Characters that draw nothing of their own and change how others are drawn, ordered or joined.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        | '\u{a8e6}'..='\u{a8e7}') // marks some terminals draw wide
}

/// Which side padding goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text: padded on the right.
    Left,
    /// Numbers: padded on the left.
    Right,
}

/// `text` in exactly `width` terminal columns: padded, or cut at a character with a closing `…`.
pub fn fit(text: &str, width: usize, align: Align) -> String {
    let have = text.width();
    let mut out = String::with_capacity(width + 3);
    if have <= width {
        let pad = width - have;
        if align == Align::Right {
            out.extend(std::iter::repeat_n(' ', pad));
        }
        out.push_str(text);
        if align == Align::Left {
            out.extend(std::iter::repeat_n(' ', pad));
        }
        return out;
    }
    if width == 0 {
        return out;
    }
    let mut used = 0;
    for g in text.graphemes(true) {
        let w = g.width();
        if used + w > width - 1 {
            break;
        }
        out.push_str(g);
        used += w;
    }
    out.push('…');
    out.extend(std::iter::repeat_n(' ', width - 1 - used));
    out
}

/// `text` without its first `columns` terminal columns, for scrolling sideways; a wide character cut in
/// half leaves a space.
pub fn skip(text: &str, columns: usize) -> Cow<'_, str> {
    let mut used = 0;
    for (at, g) in text.grapheme_indices(true) {
        if used >= columns {
            let pad = used - columns;
            return if pad == 0 {
                Cow::Borrowed(&text[at..])
            } else {
                Cow::Owned(" ".repeat(pad) + &text[at..])
            };
        }
        used += g.width();
    }
    Cow::Borrowed("")
}
