//! Decimal numbers and words in bytes.

/// A whole decimal number; `None` where it is empty, has another character, or does not fit.
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

/// A value as the kernel writes it in kibibytes, `    1764 kB`, in bytes.
pub(crate) fn kib(value: &[u8]) -> Option<u64> {
    let digits = value.trim_ascii().strip_suffix(b"kB")?.trim_ascii_end();
    number(digits)?.checked_mul(1024)
}

/// The words of a line, parted by blanks.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty())
}
