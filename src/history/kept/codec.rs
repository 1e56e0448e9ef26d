//! Numbers as bytes: small ones need one byte (LEB128).

use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Writer {
    pub(super) bytes: Vec<u8>,
}

impl Writer {
    /// Writes seven bits per byte, the lowest first.
    pub(super) fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// Writes the sign as the lowest bit.
    pub(super) fn difference(&mut self, difference: i64) {
        self.number(((difference << 1) ^ (difference >> 63)).cast_unsigned());
    }

    pub(super) fn float(&mut self, float: f64) {
        self.bytes.extend(float.to_le_bytes());
    }

    pub(super) fn time(&mut self, time: Duration) {
        self.number(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    pub(super) fn text(&mut self, text: &str) {
        self.chunk(text.as_bytes());
    }

    /// Writes bytes with their number.
    pub(super) fn chunk(&mut self, chunk: &[u8]) {
        self.number(chunk.len() as u64);
        self.bytes.extend(chunk);
    }

    /// Writes whether there is a value, and the value.
    pub(super) fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.number(value.is_some().into());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

/// Reads bytes that may be anything: methods return `None` if a [`Writer`] did not write them.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) rest: &'a [u8],
}

impl Reader<'_> {
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.rest.split_off_first()?;
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    pub(super) fn small(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    pub(super) fn difference(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    pub(super) fn float(&mut self) -> Option<f64> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(f64::from_le_bytes(*bytes)).filter(|float| float.is_finite())
    }

    pub(super) fn time(&mut self) -> Option<Duration> {
        self.number().map(Duration::from_nanos)
    }

    pub(super) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.chunk()?.to_vec()).ok()
    }

    /// Reads bytes with their number.
    pub(super) fn chunk(&mut self) -> Option<&[u8]> {
        let length = self.number()?.try_into().ok()?;
        let (chunk, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(chunk)
    }

    pub(super) fn flag(&mut self) -> Option<bool> {
        match self.number()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Reads what [`Writer::option`] wrote.
    #[expect(clippy::option_option, reason = "the outer one says that it could be read")]
    pub(super) fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<Option<T>> {
        if self.flag()? { read(self).map(Some) } else { Some(None) }
    }
}
