//! Foreign bytes as safe text.
//!
//! comm, command lines, paths, cgroup and user names are bytes that anyone can choose. [`safe`] is the one
//! way they reach a terminal cell, a table or a log: what could move the cursor, reorder the line, hide
//! itself or pile up on one cell is written out as an escape, so that it is seen and does nothing.

use std::borrow::Cow;
use std::cmp::Ordering;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The most zero-width marks kept on one base character; real scripts need three.
const MAX_MARKS: usize = 4;

/// `bytes` as text that is safe to print: invalid UTF-8 becomes `\xNN`, control characters `\n`, `\t` or
/// `\xNN`, bidirectional, invisible, formatting and joining characters `\u{…}`; marks beyond the fourth on
/// one character become a single `…`. Plain text is borrowed unchanged. For eyes only: a backslash that was
/// there before looks the same.
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
    let read = enough(bytes, columns);
    let mut out = Writer {
        text: String::with_capacity(plain + 16),
        width: 0,
        marks: 0,
    };
    for chunk in read.utf8_chunks() {
        for grapheme in chunk.valid().graphemes(true) {
            if out.width > columns {
                return Cow::Owned(out.text);
            }
            out.grapheme(grapheme);
        }
        for b in chunk.invalid() {
            if out.width > columns {
                return Cow::Owned(out.text);
            }
            out.plain(&format!("\\x{b:02x}"));
        }
    }
    if read.len() < bytes.len() {
        out.plain("…");
    }
    Cow::Owned(out.text)
}

/// As much of `bytes` as can be needed to fill `columns`: a character of one column takes four bytes, and
/// so does each of its marks. Only text that hides what it says needs more.
fn enough(bytes: &[u8], columns: usize) -> &[u8] {
    let mut end = columns.saturating_add(4).saturating_mul(4 + 4 * MAX_MARKS);
    if end >= bytes.len() {
        return bytes;
    }
    // Not in the middle of a character.
    while end > 0 && bytes[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &bytes[..end]
}

/// How a character is written that must not be shown: `\n`, `\t`, `\r`, `\xNN` for other control
/// characters, `\u{…}` for all else.
pub fn escaped(c: char) -> Cow<'static, str> {
    match c {
        '\n' => "\\n".into(),
        '\t' => "\\t".into(),
        '\r' => "\\r".into(),
        c if c.is_control() => format!("\\x{:02x}", u32::from(c)).into(),
        c => format!("\\u{{{:x}}}", u32::from(c)).into(),
    }
}

struct Writer {
    text: String,
    width: usize,
    /// Zero-width characters since the last base.
    marks: usize,
}

impl Writer {
    /// Text of our own, one column a character.
    fn plain(&mut self, text: &str) {
        self.text.push_str(text);
        self.width += text.chars().count();
        self.marks = 0;
    }

    fn escape(&mut self, c: char) {
        self.plain(&escaped(c));
    }

    /// Where a cluster takes other than the sum of its characters' columns, one terminal joins it and
    /// another does not: all but its first character are escaped.
    fn grapheme(&mut self, grapheme: &str) {
        for part in grapheme.split_inclusive(is_invisible) {
            let shown = part.trim_end_matches(is_invisible);
            let joined = shown.width() != shown.chars().filter_map(char::width).sum::<usize>();
            for (i, c) in part.chars().enumerate() {
                if joined && i > 0 {
                    self.escape(c);
                } else {
                    self.character(c);
                }
            }
        }
    }

    fn character(&mut self, c: char) {
        // No terminal gives a character three columns, as the tables do to some.
        let Some(width) = c.width().filter(|w| *w <= 2 && !is_invisible(c)) else {
            return self.escape(c);
        };
        if width > 0 {
            self.text.push(c);
            self.width += width;
            self.marks = 0;
            return;
        }
        if self.text.is_empty() {
            return self.escape(c);
        }
        match self.marks.cmp(&MAX_MARKS) {
            Ordering::Less => self.text.push(c),
            Ordering::Equal => {
                self.plain("…");
                self.marks = MAX_MARKS;
            }
            Ordering::Greater => return,
        }
        self.marks += 1;
    }
}

/// Characters that draw nothing of their own and change how others are drawn, ordered or joined; and those
/// that terminals do not agree on (flags are two letters to one and a picture to another).
pub fn is_invisible(c: char) -> bool {
    let code = u32::from(c);
    code & 0xfffe == 0xfffe
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
            | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffd}' | '\u{110bd}' | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e0fff}')
}

/// The terminal columns that safe text takes: those of its clusters, as ratatui draws them. (Counting the
/// whole text at once would take letters that a font joins, such as lam and alef, for one column.)
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.graphemes(true).map(UnicodeWidthStr::width).sum()
    }
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
    let have = self::width(text);
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

/// Cuts a text to at most `width` terminal columns, with a closing `…` where something is missing; does not pad.
pub fn truncate(text: &str, width: usize) -> String {
    if self::width(text) <= width {
        return text.to_owned();
    }
    fit(text, width, Align::Left)
}

/// Cuts the beginning of a text so that at most `width` terminal columns are left, with a leading `…`.
pub fn truncate_start(text: &str, width: usize) -> String {
    let have = self::width(text);
    match width {
        _ if have <= width => text.to_owned(),
        0 => String::new(),
        _ => format!("…{}", skip(text, have - width + 1)),
    }
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
    Cow::Owned(" ".repeat(used.saturating_sub(columns)))
}

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
/// `None` after all of it. Tables escape more, to keep their columns in line ([`safe`]); this is for
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

/// Returns the known name nearest to `typed`, if it is near enough to be meant: one typing error in three letters.
pub fn nearest<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    // The distance takes as long as the lengths multiplied, and a file may hold a name of any length.
    const LONGEST: usize = 64;
    if typed.len() > LONGEST {
        return None;
    }
    let typed = typed.to_lowercase();
    known
        .into_iter()
        // Counts two swapped neighbours as one error, which is the most common one.
        .map(|name| (strsim::osa_distance(&typed, &name.to_lowercase()), name))
        .filter(|(errors, name)| *errors <= name.chars().count().max(3) / 3)
        .min_by_key(|(errors, _)| *errors)
        .map(|(_, name)| name)
}
