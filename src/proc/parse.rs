//! Decimal numbers, words and lines in bytes.

/// Parses a whole decimal number; `None` if it is empty, has another character, or does not fit.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, b| {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        n.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

/// Parses a value that the kernel writes in kibibytes, `    1764 kB`, into bytes.
pub(crate) fn kib(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii().strip_suffix(b"kB")?.trim_ascii_end();
    number(digits)?.checked_mul(1024)
}

/// Splits a line into its words at blanks.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty())
}

/// Decodes a path in which the kernel writes blanks, newlines and backslashes as `\` and three octal digits.
pub(crate) fn unescape_octal(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let [first, after @ ..] = rest {
        rest = after;
        match after.first_chunk::<3>() {
            Some([a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7']) if *first == b'\\' => {
                out.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = &after[3..];
            }
            _ => out.push(*first),
        }
    }
    out
}

/// Splits bytes that come in pieces into lines, of which at most `MAX` bytes are kept.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer<const MAX: usize> {
    /// The beginning of a line that continues in the next piece.
    line: Vec<u8>,
}

impl<const MAX: usize> LineBuffer<MAX> {
    /// Gives `each` every line that ends in the piece, without its newline.
    pub(crate) fn feed(&mut self, mut piece: &[u8], mut each: impl FnMut(&[u8])) {
        while let Some(end) = piece.iter().position(|b| *b == b'\n') {
            let (line, rest) = piece.split_at(end);
            if self.line.is_empty() {
                each(&line[..line.len().min(MAX)]);
            } else {
                self.push(line);
                each(&self.line);
                self.line.clear();
            }
            piece = &rest[1..];
        }
        self.push(piece);
    }

    /// Gives `each` the line that no newline ended, which may be empty.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        each(&self.line);
        self.line.clear();
    }

    fn push(&mut self, part: &[u8]) {
        let room = MAX - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }
}
