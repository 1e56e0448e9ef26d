//! Makes safe text from untrusted bytes.
//!
//! Anyone can choose the bytes of a comm, command line, path, cgroup or user name. They reach a terminal cell, a table
//! or a log only through [`safe`]. It escapes characters that could move the cursor, reorder the line, be invisible or
//! pile up on one cell, so that they are visible and harmless. For JSON, CSV and recordings, [`lossless`] makes text
//! that can be converted back to the same bytes.

use std::borrow::Cow;
use std::cmp::Ordering;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Defines an enum whose variants have names: in the config, on the command line, in tables, filters and documents.
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$doc:meta])* $variant:ident = $id:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            pub const ALL: [Self; [$($id),*].len()] = [$(Self::$variant),*];

            /// Returns the name.
            pub const fn id(self) -> &'static str {
                match self {
                    $(Self::$variant => $id,)*
                }
            }

            pub fn from_id(id: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.id() == id)
            }
        }
    };
}

pub(crate) use named;

/// Maximum number of zero-width marks kept on one base character. Real scripts need 3.
const MAX_MARKS: usize = 4;

/// Returns `bytes` as text that is safe to print. Invalid UTF-8 becomes `\xNN`; control characters become `\n`, `\t` or
/// `\xNN`; bidirectional, invisible, formatting and joining characters become `\u{…}`; marks after the fourth on one
/// character become a single `…`. Plain text is borrowed unchanged. The conversion cannot be reversed: a backslash in
/// `bytes` looks the same as an escape.
pub fn safe(bytes: &[u8]) -> Cow<'_, str> {
    safe_prefix(bytes, usize::MAX)
}

/// Returns the beginning of [`safe`], about `columns` terminal columns, so that a megabyte of argv costs no more than
/// the part that is shown. The result may be a few columns too long; [`fit`] cuts it.
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

/// Returns true if [`safe`] of the bytes takes more than `columns` terminal columns. Its cost does not depend on the length of
/// the bytes. Text that consists mostly of marks may count as wider than it is.
pub fn is_wider(bytes: &[u8], columns: usize) -> bool {
    width(&safe_prefix(bytes, columns)) > columns
}

/// Returns the part of `bytes` that is enough to fill `columns`. A character of one column takes up to 4 bytes, and so
/// does each of its marks. Only text made to deceive needs more.
fn enough(bytes: &[u8], columns: usize) -> &[u8] {
    let mut end = columns.saturating_add(4).saturating_mul(4 + 4 * MAX_MARKS);
    if end >= bytes.len() {
        return bytes;
    }
    // Do not cut within a character.
    while end > 0 && bytes[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    &bytes[..end]
}

/// Returns as many whole characters of a text as `most` bytes hold.
pub fn prefix(text: &str, most: usize) -> &str {
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns the escape of a character that must not be shown: `\n`, `\t`, `\r`, `\xNN` for other control characters,
/// `\u{…}` for all others.
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
    /// The number of zero-width characters since the last base character.
    marks: usize,
}

impl Writer {
    /// Writes safe text that has one column per character.
    fn plain(&mut self, text: &str) {
        self.text.push_str(text);
        self.width += text.chars().count();
        self.marks = 0;
    }

    fn escape(&mut self, c: char) {
        self.plain(&escaped(c));
    }

    /// Writes a grapheme cluster. If its width is not the sum of its characters' widths, only some terminals join it,
    /// so all its characters except the first are escaped.
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
        // The tables give some characters 3 columns, but no terminal does.
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

/// Returns true for characters that draw nothing but change how others are drawn, ordered or joined, and for those that
/// terminals draw differently (a flag is two letters in one terminal and a picture in another).
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

/// Returns the width of safe text in terminal columns: the sum over its clusters, as ratatui draws them. (Measured as a
/// whole, letters that a font joins, such as lam and alef, would count as one column.)
pub fn width(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.graphemes(true).map(UnicodeWidthStr::width).sum()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Text: padded on the right.
    Left,
    /// Numbers: padded on the left.
    Right,
}

/// Fits `text` into exactly `width` terminal columns. Shorter text is padded; longer text is cut between characters and
/// ends in `…`.
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

/// Cuts a text to at most `width` terminal columns. Cut text ends in `…`. Does not pad.
pub fn truncate(text: &str, width: usize) -> String {
    if self::width(text) <= width {
        return text.to_owned();
    }
    fit(text, width, Align::Left)
}

/// Wraps text at spaces into lines of at most `width` columns. A longer word gets its own line.
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

/// Cuts the beginning of a text to leave at most `width` terminal columns. Cut text begins with `…`.
pub fn truncate_start(text: &str, width: usize) -> String {
    let have = self::width(text);
    match width {
        _ if have <= width => text.to_owned(),
        0 => String::new(),
        _ => format!("…{}", skip(text, have - width + 1)),
    }
}

/// Cuts a path to at most `width` terminal columns: first its directories, then the middle of the file's name, whose beginning
/// says more than its suffixes: `…/_ssl.cpython…gnu.so`. A text without `/` loses its middle.
pub fn truncate_path(path: &str, width: usize) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    if self::width(name) < width || self::width(path) <= width {
        return truncate_start(path, width);
    }
    let name = match name.len() {
        len if len < path.len() => format!("…/{name}"),
        _ => name.to_owned(),
    };
    let excess = (self::width(&name) + 1).saturating_sub(width);
    let tail = width / 3;
    let head = width.saturating_sub(tail + 1);
    if excess <= 1 || head < 3 {
        return truncate(&name, width);
    }
    let head = fit(&name, head + 1, Align::Left);
    let tail = skip(&name, self::width(&name) - tail);
    format!("{head}{tail}")
}

/// Shortens a command line that is wider than `width`: replaces the directories of its words by `…`, from left to right
/// until it fits: `python3 …/train.py` for `python3 /srv/jobs/train.py`. The result may still be too wide.
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

/// Returns foreign bytes, safe to print, in at most `width` columns.
pub fn cut(bytes: &[u8], width: usize) -> String {
    truncate(&safe_prefix(bytes, width), width)
}

/// Returns a command line, safe to print, in at most `width` columns; rather without directories than without its end. Its words
/// are [one blank apart](single_blanks).
pub fn cut_command(command: &[u8], width: usize) -> String {
    let command = single_blanks(&safe_prefix(command, 4 * width));
    truncate(&without_directories(&command, width), width)
}

/// Returns a name with one blank between its words. A sentence or a line of figures separates its parts by more, which a name
/// could imitate.
pub fn single_blanks(name: &str) -> String {
    name.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns `text` without its first `columns` terminal columns, for horizontal scrolling. Half of a wide character
/// becomes a blank.
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

/// Writes bytes as one shell word, in printable characters only, single-quoted if necessary. Bytes with control,
/// invisible or reordering characters, or with invalid UTF-8, are written as `$'a\012b'`, which bash, zsh, ksh and
/// POSIX 2024 understand. An older shell reads that as one harmless word, since it contains no quote.
pub fn shell_word(word: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@:,./+-".contains(byte);
    let is_option = word.starts_with(b"-");
    if !word.is_empty() && word.iter().all(|byte| is_plain(byte) || (is_option && *byte == b'=')) {
        return String::from_utf8_lossy(word).into_owned();
    }
    let is_printable = |c: char| !c.is_control() && !is_invisible(c);
    match str::from_utf8(word) {
        Ok(text) if text.chars().all(is_printable) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => {
            let mut quoted = String::from("$'");
            let octal = |quoted: &mut String, bytes: &[u8]| {
                quoted.extend(bytes.iter().map(|byte| format!(r"\{byte:03o}")));
            };
            for chunk in word.utf8_chunks() {
                for c in chunk.valid().chars() {
                    match c {
                        '\n' => quoted.push_str(r"\n"),
                        '\\' => quoted.push_str(r"\\"),
                        '\'' => octal(&mut quoted, b"'"),
                        c if is_printable(c) => quoted.push(c),
                        c => octal(&mut quoted, c.encode_utf8(&mut [0; 4]).as_bytes()),
                    }
                }
                octal(&mut quoted, chunk.invalid());
            }
            quoted + "'"
        }
    }
}

/// The first of the characters that represent invalid UTF-8: byte `0xNN` is `U+EF00 + NN`, in the private use area.
const BASE: u32 = 0xef00;

/// Returns `bytes` as valid Unicode that [`from_lossless`] converts back to exactly the same bytes.
///
/// Valid UTF-8 is borrowed unchanged. An invalid byte `0xNN` becomes the private-use character `U+EFNN`
/// (`U+EF80..=U+EFFF`, since all such bytes are above 0x7f). To avoid ambiguity, the 3 bytes of such a character in
/// `bytes` are encoded in the same way. Control characters stay: the writer of the format escapes them.
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

/// Returns the bytes that [`lossless`] converted to `text`.
pub fn from_lossless(text: &str) -> Vec<u8> {
    // Such a character begins with this byte.
    if !text.as_bytes().contains(&0xee) {
        return text.into();
    }
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

/// Returns the character that represents a byte above 0x7f; never `None`.
const fn stand_in(byte: u8) -> Option<char> {
    char::from_u32(BASE + byte as u32)
}

/// Returns the longest prefix of `text` that is harmless to a terminal, and the next character, which is not: a
/// control, invisible or reordering character, or a mark after the fourth on one base. At the end the latter is `None`.
/// Tables escape more, to keep their columns aligned ([`safe`]). This function is for formats that only need to be safe
/// to view.
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

/// Compares two strings in a constant, in which `==` cannot be used.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Returns the known name most similar to `typed`, with at most one typing error in three letters.
pub fn nearest<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    similar(typed, known).into_iter().next()
}

/// Returns the known names similar to `typed`, with at most one typing error in three letters, the most similar first.
pub fn similar<'n>(typed: &str, known: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    // The distance takes time proportional to the product of the lengths, and a file may contain a name of any length.
    const LONGEST: usize = 64;
    if typed.len() > LONGEST {
        return Vec::new();
    }
    let typed = typed.to_lowercase();
    // A key that is held down repeats a letter.
    let squeezed = |name: &str| {
        let mut chars: Vec<char> = name.chars().collect();
        chars.dedup();
        chars
    };
    let errors = |name: &str| {
        let name = name.to_lowercase();
        let is_repeated = typed.len() > name.len() && squeezed(&typed) == squeezed(&name);
        // This distance counts two swapped letters, the most common mistake, as one error.
        let errors = if is_repeated {
            1
        } else {
            strsim::osa_distance(&typed, &name)
        };
        (errors <= name.chars().count().max(3) / 3).then_some(errors)
    };
    let known = known.into_iter();
    let mut found: Vec<_> = known.filter_map(|name| Some((errors(name)?, name))).collect();
    crate::order::sort_by_key(&mut found, |(errors, _)| *errors);
    found.into_iter().map(|(_, name)| name).collect()
}
