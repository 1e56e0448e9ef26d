//! Parses decimal numbers, words and lines.

/// Parses a decimal number. Returns `None` if `digits` is empty, has another character, or does not fit.
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

/// Parses a value in kibibytes, `    1764 kB`, and returns bytes.
pub(crate) fn kib(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii().strip_suffix(b"kB")?.trim_ascii_end();
    number(digits)?.checked_mul(1024)
}

pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty())
}

/// Returns the words after `name` in the first line whose first word is `name`.
pub(crate) fn words_after<'a>(text: &'a [u8], name: &[u8]) -> Option<impl Iterator<Item = &'a [u8]>> {
    let mut lines = text.split(|b| *b == b'\n').map(words);
    lines.find_map(|mut line| (line.next()? == name).then_some(line))
}

/// Decodes a path in which the kernel wrote blanks, newlines and backslashes as `\` and three octal digits.
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

/// A line of a `mountinfo`: `id parent major:minor root point options [optional…] - type source super-options`
/// (`Documentation/filesystems/proc.rst`, 3.5). Paths are escaped, see [`unescape_octal`].
pub(crate) struct MountLine<'a> {
    pub(crate) id: &'a [u8],
    /// The id of the mount that has the mount point.
    pub(crate) parent: &'a [u8],
    pub(crate) device: &'a [u8],
    pub(crate) root: &'a [u8],
    pub(crate) point: &'a [u8],
    pub(crate) kind: &'a [u8],
    pub(crate) options: &'a [u8],
}

impl MountLine<'_> {
    /// Returns the major and the minor number of the device.
    pub(crate) fn device(&self) -> Option<(u32, u32)> {
        let colon = self.device.iter().position(|b| *b == b':')?;
        let part = |digits| u32::try_from(number(digits)?).ok();
        Some((part(&self.device[..colon])?, part(&self.device[colon + 1..])?))
    }
}

/// Parses a `mountinfo`. Malformed lines are skipped.
pub(crate) fn mount_lines(mountinfo: &[u8]) -> impl Iterator<Item = MountLine<'_>> {
    mountinfo.split(|b| *b == b'\n').filter_map(|line| {
        let mut fields = line.split(|b| *b == b' ');
        let (id, parent) = (fields.next()?, fields.next()?);
        let (device, root, point) = (fields.next()?, fields.next()?, fields.next()?);
        let mut rest = fields.skip_while(|f| *f != b"-").skip(1);
        Some(MountLine {
            id,
            parent,
            device,
            root,
            point,
            kind: rest.next()?,
            options: rest.nth(1).unwrap_or_default(),
        })
    })
}

/// Splits bytes that come in pieces into lines. Keeps at most `MAX` bytes of a line.
#[derive(Debug, Default)]
pub(crate) struct LineBuffer<const MAX: usize> {
    /// The beginning of a line that continues in the next piece.
    line: Vec<u8>,
}

impl<const MAX: usize> LineBuffer<MAX> {
    /// Passes to `each` every line that ends in the piece, without its newline.
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

    /// Passes to `each` the last line, which had no newline and may be empty.
    pub(crate) fn finish(&mut self, mut each: impl FnMut(&[u8])) {
        each(&self.line);
        self.line.clear();
    }

    fn push(&mut self, part: &[u8]) {
        let room = MAX - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }
}
