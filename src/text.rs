//! Makes foreign bytes safe text.
//!
//! comm, command lines, paths, cgroup and user names are foreign bytes: anyone can choose them. [`safe`] is the
//! only way they reach a terminal cell, a table or a log. Characters that could move the cursor, reorder the line,
//! be invisible or pile up on one cell are written as escapes, so that they are seen and do nothing. For JSON, CSV
//! and recordings, [`lossless`] makes text that can be turned back into the same bytes.

use std::borrow::Cow;
use std::cmp::Ordering;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The maximum number of zero-width marks kept on one base character; real scripts need three.
const MAX_MARKS: usize = 4;

/// Returns `bytes` as text that is safe to print: invalid UTF-8 becomes `\xNN`, control characters `\n`, `\t` or
/// `\xNN`, bidirectional, invisible, formatting and joining characters `\u{…}`; marks beyond the fourth on
/// one character become a single `…`. Plain text is borrowed unchanged. The result cannot be turned back: a
/// backslash in `bytes` looks the same as an escape.
pub fn safe(bytes: &[u8]) -> Cow<'_, str> {
    safe_prefix(bytes, usize::MAX)
}

/// Returns the beginning of [`safe`], about `columns` terminal columns of it, so that a megabyte of argv costs no
/// more than the part that is shown. The result can be a few columns longer; [`fit`] cuts it.
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

/// Returns as much of `bytes` as is needed to fill `columns`: a character of one column takes up to four bytes,
/// and so does each of its marks. Only text made to deceive needs more.
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

/// Returns the escape of a character that must not be shown: `\n`, `\t`, `\r`, `\xNN` for other control
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
    /// Writes text that is safe, with one column for each character.
    fn plain(&mut self, text: &str) {
        self.text.push_str(text);
        self.width += text.chars().count();
        self.marks = 0;
    }

    fn escape(&mut self, c: char) {
        self.plain(&escaped(c));
    }

    /// Writes a grapheme cluster. If its width is not the sum of its characters' widths, some terminals join it
    /// and others do not: all but its first character are escaped.
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

/// Returns true for characters that draw nothing and change how others are drawn, ordered or joined, and for
/// those that terminals draw differently (a flag is two letters in one and a picture in another).
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

/// Returns the width of safe text in terminal columns: that of its clusters, as ratatui draws them. (Measured as
/// a whole, letters that a font joins, such as lam and alef, would count as one column.)
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.graphemes(true).map(UnicodeWidthStr::width).sum()
    }
}

/// The alignment of a text in its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text: padded on the right.
    Left,
    /// Numbers: padded on the left.
    Right,
}

/// Fits `text` into exactly `width` terminal columns: padded, or cut at a character with a closing `…`.
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

/// Breaks text at spaces into lines of at most `width` columns; a longer word has a line of its own.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if self::width(line).saturating_add(1 + self::width(word)) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
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

/// Shortens a command line that is wider than `width`: the directories of its words become `…`, from the left on until it fits:
/// `python3 …/train.py` for `python3 /srv/jobs/train.py`. What is left may still be too wide.
pub fn without_directories(command: &str, width: usize) -> String {
    let mut excess = self::width(command).saturating_sub(width);
    if excess == 0 {
        return command.into();
    }
    let shorter = |word: &str| {
        let at = word
            .rfind('/')
            .filter(|at| word.starts_with('/') && *at > 1 && at + 1 < word.len());
        match at.filter(|_| excess > 0) {
            Some(at) => {
                excess = excess.saturating_sub(self::width(&word[..at]) - 1);
                format!("…{}", &word[at..])
            }
            None => word.into(),
        }
    };
    let words: Vec<String> = command.split(' ').map(shorter).collect();
    words.join(" ")
}

/// Returns `text` without its first `columns` terminal columns, for scrolling sideways; a wide character cut in
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

/// The first of the characters that stand for bytes that are not UTF-8: `0xNN` is `U+EF00 + NN`, in the private
/// use area.
const BASE: u32 = 0xef00;

/// Returns `bytes` as valid Unicode that [`from_lossless`] turns back into the very same bytes.
///
/// Valid UTF-8 is borrowed as it is. A byte `0xNN` that is not part of any becomes the private character
/// `U+EFNN` (`U+EF80..=U+EFFF`, since all such bytes are above 0x7f). So that nothing is ambiguous, the three bytes
/// of such a character in `bytes` are encoded in the same way. Control characters stay: the writer of the format
/// escapes them.
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

/// Returns the bytes that [`lossless`] made `text` from.
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

/// Returns the character that stands for a byte above 0x7f; never `None`.
const fn stand_in(byte: u8) -> Option<char> {
    char::from_u32(BASE + byte as u32)
}

/// Returns the longest prefix of `text` that is harmless to a terminal, and the next character, which is not: a
/// control, an invisible or a reordering character, or a mark beyond the fourth on one base; `None` at the end.
/// Tables escape more, to keep their columns aligned ([`safe`]); this is for formats that only must not be
/// dangerous to look at.
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
