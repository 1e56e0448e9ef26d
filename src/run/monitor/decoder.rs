//! Decodes bytes from the terminal into keys, mouse events, pastes and the answer about its background.
//!
//! A terminal writes an escape sequence at once, but a slow line or a loaded multiplexer may deliver it in pieces. The
//! answer to a query may arrive seconds later. crossterm's reader reports an ESC at the end of a read as the key Esc,
//! types the rest of the sequence, and types the payload of every answer. So this module decodes the bytes itself, and
//! uses their arrival times.
//!
//! | state | until |
//! | --- | --- |
//! | a lone ESC is the key Esc | nothing follows for [`ESC_WAIT`] |
//! | the rest of its sequence is discarded, never typed | it arrives within [`LATE`]: 2 or more bytes at once, or its first byte and more within [`HOLD`] |
//! | `ESC [`, `ESC O`: the pieces of the key are joined | each piece arrives within [`LATE`] of the one before |
//! | `ESC ]`, `ESC P`, `ESC _`, `ESC ^`, `ESC X`: discarded up to BEL or ST | a piece after a pause must fit a known answer, and arrive within [`LATE`] of the beginning |
//! | an answer that reports a colour, and the whole expected answer to OSC 11 | each piece fits its grammar, however late |
//! | a bracketed paste is text | its end comes, or after a pause of [`LATE`] a single key |
//!
//! Anything that does not fit ends the sequence and is decoded as typed by a person. A control character ends every
//! sequence.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::sequence;
pub use super::sequence::Typed;

/// Maximum wait after a lone ESC for the rest of a sequence.
pub const ESC_WAIT: Duration = Duration::from_millis(50);
/// Maximum time to hold a character that may continue a sequence whose ESC was already reported as a key.
pub const HOLD: Duration = Duration::from_millis(300);
/// Maximum pause within a sequence.
pub const LATE: Duration = Duration::from_secs(2);

/// Maximum length of a sequence whose content matters. For a longer one, only the end is detected.
const MAX_SEQUENCE: usize = 64;
/// Maximum length of a paste. The rest is dropped.
const MAX_PASTE: usize = 64 << 10;
const PASTE_END: &[u8] = b"\x1b[201~";

/// The characters after ESC that begin a string sequence whose content matters.
const OSC: u8 = b']';
const DCS: u8 = b'P';
const APC: u8 = b'_';

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    Escape,
    /// After an ESC that was reported as a key, and one character that may begin the rest of its sequence.
    Held(u8),
    Csi,
    Ss3,
    /// After `ESC [ M`. 3 bytes follow.
    MouseX10,
    /// In a string sequence, which ends with BEL or ST: after ESC and this character.
    Text(u8),
    /// After the ESC that ends a string sequence. `\` follows.
    TextEnd,
    /// In a bracketed paste. This many bytes of its end have arrived.
    Paste(usize),
}

#[derive(Debug)]
pub struct Decoder {
    state: State,
    /// The bytes so far of a sequence, a paste or a multi-byte character.
    buffer: Vec<u8>,
    /// The next character has Alt.
    alt: bool,
    /// The beginning of the sequence was reported as a key, so the rest is discarded.
    is_reported: bool,
    /// The arrival times of its first byte and of its last byte.
    begun: Duration,
    last: Duration,
    is_awaiting: bool,
    typed: Vec<Typed>,
}

impl Decoder {
    /// Creates a decoder. `is_awaiting` is true if the background was queried.
    pub const fn new(is_awaiting: bool) -> Self {
        Self {
            state: State::Ground,
            buffer: Vec::new(),
            alt: false,
            is_reported: false,
            begun: Duration::ZERO,
            last: Duration::ZERO,
            is_awaiting,
            typed: Vec::new(),
        }
    }

    /// Returns the time at which [`expire`](Self::expire) is due if no bytes arrive before.
    pub fn deadline(&self) -> Option<Duration> {
        let wait = match self.state {
            State::Escape if !self.is_reported => ESC_WAIT,
            // The expected answer may continue however late.
            State::Held(b']') if self.is_awaiting => return None,
            State::Held(_) => HOLD,
            State::Text(_) if self.is_alt_key() => HOLD,
            State::Paste(_) if !self.buffer.is_empty() => LATE,
            _ => return None,
        };
        Some(self.last + wait)
    }

    /// Reports that no bytes arrived until `now`. Decodes what waited until the deadline, if that has passed.
    pub fn expire(&mut self, now: Duration) -> Vec<Typed> {
        if self.deadline().is_some_and(|deadline| deadline <= now) {
            match self.state {
                State::Escape => {
                    self.key(KeyCode::Esc.into());
                    self.is_reported = true;
                }
                State::Held(byte) => {
                    self.key(sequence::key_of_byte(byte));
                    // If an answer follows after all, discard at least that.
                    self.state = match byte {
                        b']' => State::Text(byte),
                        _ => State::Ground,
                    };
                }
                State::Text(text) => {
                    self.alt_key(text);
                    self.is_reported = true;
                }
                State::Paste(_) => self.paste(),
                _ => {}
            }
        }
        std::mem::take(&mut self.typed)
    }

    pub fn feed(&mut self, bytes: &[u8], now: Duration) -> Vec<Typed> {
        if !self.goes_on(bytes, now) {
            match self.state {
                State::Held(byte) => self.key(sequence::key_of_byte(byte)),
                State::Text(text) if self.is_alt_key() => self.alt_key(text),
                State::Paste(_) => self.paste(),
                _ => {}
            }
            self.state = State::Ground;
        }
        for (at, byte) in bytes.iter().enumerate() {
            self.step(*byte, at + 1 == bytes.len(), now);
            self.last = now;
        }
        std::mem::take(&mut self.typed)
    }

    /// Returns true if these bytes may continue the current sequence.
    fn goes_on(&self, bytes: &[u8], now: Duration) -> bool {
        let pause = now.saturating_sub(self.last);
        let Some(first) = bytes.first() else { return true };
        match self.state {
            State::Ground | State::TextEnd => true,
            State::Escape if !self.is_reported => true,
            State::Escape => {
                let is_rest = is_rest_of_escape(bytes);
                let is_awaited = *first == b']' && self.is_awaiting;
                is_rest && (pause <= LATE || is_awaited)
            }
            State::Held(byte) => match byte {
                b'[' => (0x20..=0x7e).contains(first),
                b'O' => sequence::ss3(b"", *first).is_some(),
                _ => !text_of(bytes).is_empty() && is_plausible(byte, text_of(bytes)),
            },
            State::Csi | State::Ss3 | State::MouseX10 => pause <= LATE,
            State::Text(_) if pause <= ESC_WAIT => true,
            State::Text(text) => {
                let whole = [&self.buffer[..], text_of(bytes)].concat();
                let is_awaited = self.is_awaiting && begins_answer(&whole);
                let is_answer = text == OSC && (is_awaited || has_colour(&whole));
                // A person may type digits after `]` or Alt-].
                let is_begun = self.is_reported && self.buffer.is_empty() && text == OSC;
                let is_typed = is_begun && !whole.contains(&b';');
                let in_time = now.saturating_sub(self.begun) <= LATE && is_plausible(text, &whole);
                !whole.is_empty() && (is_answer || (in_time && !is_typed))
            }
            State::Paste(ended) => {
                let end = &PASTE_END[ended..];
                let is_end = end.starts_with(bytes) || bytes.starts_with(end);
                pause <= LATE || !is_single_key(bytes) || (is_end && *first != 0x1b)
            }
        }
    }

    /// Decodes one byte. `is_last` if it is the last byte of the read.
    fn step(&mut self, byte: u8, is_last: bool, now: Duration) {
        match self.state {
            State::Ground => self.ground(byte, now),
            State::Escape => self.escape(byte, is_last, now),
            State::Held(begun) => {
                self.begin(begun);
                self.step(byte, is_last, now);
            }
            State::Csi => match byte {
                b'M' if self.buffer.is_empty() => self.state = State::MouseX10,
                b'[' if self.buffer.is_empty() => self.push(byte),
                0x20..=0x3f => self.push(byte),
                0x40..=0x7e => self.end_csi(byte),
                _ => self.restart(byte, now),
            },
            State::Ss3 => match byte {
                b'0'..=b'9' | b';' => self.push(byte),
                0x40..=0x7e => {
                    let typed = sequence::ss3(&self.buffer, byte);
                    self.end(typed);
                }
                _ => self.restart(byte, now),
            },
            State::MouseX10 => {
                self.push(byte);
                if self.buffer.len() == 3 {
                    let typed = sequence::mouse_x10(&self.buffer);
                    self.end(typed);
                }
            }
            State::Text(text) => match byte {
                0x07 => {
                    self.end_text(text);
                    self.state = State::Ground;
                }
                0x1b => {
                    self.end_text(text);
                    self.state = State::TextEnd;
                }
                0x00..=0x1f | 0x7f => self.restart(byte, now),
                _ => self.push(byte),
            },
            State::TextEnd if byte == b'\\' => self.state = State::Ground,
            // Another sequence began before the string ended. After a pause, the ESC was typed.
            State::TextEnd if now.saturating_sub(self.last) <= ESC_WAIT => {
                self.restart(0x1b, now);
                self.step(byte, is_last, now);
            }
            State::TextEnd => self.restart(byte, now),
            State::Paste(ended) if byte == PASTE_END[ended] => {
                self.state = State::Paste(ended + 1);
                if ended + 1 == PASTE_END.len() {
                    self.paste();
                    self.state = State::Ground;
                }
            }
            State::Paste(ended) => {
                self.state = State::Paste(0);
                let room = MAX_PASTE.saturating_sub(self.buffer.len());
                self.buffer.extend(PASTE_END[..ended].iter().take(room));
                match byte {
                    0x1b => self.state = State::Paste(1),
                    _ if room > ended => self.buffer.push(byte),
                    _ => {}
                }
            }
        }
    }

    fn ground(&mut self, byte: u8, now: Duration) {
        match byte {
            0x1b => {
                self.buffer.clear();
                (self.state, self.alt, self.is_reported, self.begun) = (State::Escape, false, false, now);
            }
            0x00..=0x7f => {
                // Drop an unfinished multi-byte character, and its Alt.
                self.alt &= self.buffer.is_empty();
                self.buffer.clear();
                self.key(sequence::key_of_byte(byte));
            }
            _ => {
                if byte & 0xc0 != 0x80 {
                    self.buffer.clear();
                }
                self.buffer.push(byte);
                match str::from_utf8(&self.buffer) {
                    Ok(text) => {
                        let c = text.chars().next();
                        self.buffer.clear();
                        if let Some(c) = c.filter(|c| !c.is_control()) {
                            self.key(sequence::key_of_char(c));
                        }
                    }
                    // More bytes of the character follow.
                    Err(error) if error.error_len().is_none() => {}
                    Err(_) => {
                        self.buffer.clear();
                        self.alt = false;
                    }
                }
            }
        }
    }

    fn escape(&mut self, byte: u8, is_last: bool, now: Duration) {
        match byte {
            b'[' | b'O' | b']' | b'P' | b'_' if self.is_reported && is_last => self.state = State::Held(byte),
            b'[' | b'O' | b']' | b'P' | b'_' | b'^' | b'X' => self.begin(byte),
            0x1b => {
                if !self.is_reported {
                    self.key(KeyCode::Esc.into());
                }
                self.restart(byte, now);
            }
            _ => {
                (self.state, self.alt) = (State::Ground, !self.is_reported);
                self.ground(byte, now);
            }
        }
    }

    /// Begins a sequence with the character after its ESC.
    fn begin(&mut self, byte: u8) {
        self.buffer.clear();
        self.state = match byte {
            b'[' => State::Csi,
            b'O' => State::Ss3,
            _ => State::Text(byte),
        };
    }

    /// Drops the current sequence and decodes the byte outside any sequence.
    fn restart(&mut self, byte: u8, now: Duration) {
        self.buffer.clear();
        self.state = State::Ground;
        self.ground(byte, now);
    }

    fn push(&mut self, byte: u8) {
        // One byte beyond the maximum marks the sequence as too long.
        if self.buffer.len() <= MAX_SEQUENCE {
            self.buffer.push(byte);
        }
    }

    fn end_csi(&mut self, last: u8) {
        if self.buffer == b"200" && last == b'~' {
            self.buffer.clear();
            self.state = State::Paste(0);
        } else {
            let typed = sequence::csi(&self.buffer, last);
            self.end(typed);
        }
    }

    fn end(&mut self, typed: Option<Typed>) {
        let is_whole = self.buffer.len() <= MAX_SEQUENCE;
        self.typed.extend(typed.filter(|_| is_whole && !self.is_reported));
        self.buffer.clear();
        self.state = State::Ground;
    }

    fn end_text(&mut self, text: u8) {
        if let (OSC, Some(is_light)) = (text, is_light(&self.buffer)) {
            self.typed.push(Typed::IsLight(is_light));
            self.is_awaiting = false;
        }
        self.buffer.clear();
    }

    fn paste(&mut self) {
        let text = String::from_utf8_lossy(&self.buffer).into_owned();
        self.buffer.clear();
        if !self.is_reported && !text.is_empty() {
            self.typed.push(Typed::Paste(text));
        }
    }

    fn key(&mut self, mut key: KeyEvent) {
        if std::mem::take(&mut self.alt) {
            key.modifiers |= KeyModifiers::ALT;
        }
        self.typed.push(Typed::Key(key));
    }

    /// Returns true if a string sequence that has only begun may be a character typed with Alt.
    const fn is_alt_key(&self) -> bool {
        let is_awaited = matches!(self.state, State::Text(OSC)) && self.is_awaiting;
        self.buffer.is_empty() && !self.is_reported && !is_awaited
    }

    fn alt_key(&mut self, text: u8) {
        self.alt = true;
        self.key(sequence::key_of_byte(text));
    }
}

/// Returns the bytes before the end of a string sequence.
fn text_of(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|byte| *byte < 0x20 || *byte == 0x7f);
    &bytes[..end.unwrap_or(bytes.len())]
}

/// Returns true if the bytes may be the rest of a sequence whose ESC was reported as a key.
fn is_rest_of_escape(bytes: &[u8]) -> bool {
    match bytes {
        [b'[' | b'O' | b']' | b'P' | b'_'] => true,
        [b'[', next, ..] => (0x20..=0x7e).contains(next),
        [b'O', last, ..] => sequence::ss3(b"", *last).is_some(),
        [begun @ (b']' | b'P' | b'_'), rest @ ..] => is_plausible(*begun, text_of(rest)),
        _ => false,
    }
}

/// Returns true for a prefix or beginning of a known answer. Nobody who types ESC, or Alt and a character, is likely to
/// continue like this.
fn is_plausible(kind: u8, text: &[u8]) -> bool {
    match kind {
        OSC => {
            let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            text.is_empty() || ((1..=4).contains(&digits) && text.get(digits).is_none_or(|byte| *byte == b';'))
        }
        DCS => {
            let starts: [&[u8]; 6] = [b">|", b"!|", b"0$r", b"1$r", b"0+r", b"1+r"];
            starts
                .iter()
                .any(|start| start.starts_with(text) || text.starts_with(start))
        }
        APC => text.first().is_none_or(|byte| *byte == b'G'),
        // No answer is a privacy message or a start of string.
        _ => false,
    }
}

fn is_single_key(bytes: &[u8]) -> bool {
    let is_char = str::from_utf8(bytes).is_ok_and(|text| text.chars().count() == 1);
    is_char || (bytes.first() == Some(&0x1b) && bytes.len() <= 8 && !bytes.starts_with(PASTE_END))
}

/// Queries the terminal's background colour, by OSC 11.
pub(super) const BACKGROUND_QUERY: &[u8] = b"\x1b]11;?\x1b\\";

/// Maximum length of an answer: `11;rgba:` and 4 parts of 4 digits.
const MAX_ANSWER: usize = 27;

/// Returns true for an answer or a prefix of one.
fn begins_answer(text: &[u8]) -> bool {
    [b"11;rgb:".as_slice(), b"11;rgba:"].into_iter().any(|start| {
        start.starts_with(text)
            || text.strip_prefix(start).is_some_and(|rest| {
                text.len() <= MAX_ANSWER && rest.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'/')
            })
    })
}

/// Maximum length of what follows `;rgb` in an answer: `a:` and 4 parts of 4 digits.
const MAX_COLOUR: usize = 21;

/// Returns true for the beginning of an answer that reports a colour, up to the colour or further: `4;255;rgb:dcdc/…`.
fn has_colour(text: &[u8]) -> bool {
    let Some(at) = text.windows(4).position(|four| four == b";rgb") else {
        return false;
    };
    let (which, colour) = (&text[..at], &text[at + 4..]);
    let is_colour = |byte: &u8| byte.is_ascii_hexdigit() || b":/".contains(byte);
    at > 0
        && which.iter().all(|byte| byte.is_ascii_digit() || *byte == b';')
        && colour.len() <= MAX_COLOUR
        && colour.iter().all(is_colour)
}

/// Parses `11;rgb:RRRR/GGGG/BBBB`. Returns true for a light colour; `None` for any other text.
fn is_light(text: &[u8]) -> Option<bool> {
    let (_, parts) = str::from_utf8(text).ok()?.strip_prefix("11;rgb")?.split_once(':')?;
    let mut parts = parts.split('/').map(|digits| {
        let most = 16_u32.checked_pow(u32::try_from(digits.len()).ok()?)?.checked_sub(1)?;
        Some(f64::from(u32::from_str_radix(digits, 16).ok()?) / f64::from(most.max(1)))
    });
    let rgb = [parts.next()??, parts.next()??, parts.next()??];
    // Relative luminance (WCAG 2). At 0.179, black and white text have equal contrast.
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
