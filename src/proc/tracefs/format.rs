//! The `format` file of an event, and `events/header_page`: which field stands where.

use crate::proc::parse::number;

/// A field of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Where it begins, in bytes.
    pub offset: usize,
    /// Its size in bytes.
    pub size: usize,
    /// It may be negative.
    pub signed: bool,
}

impl Field {
    /// Returns the field as a number without a sign; `None` where the record ends before it.
    pub fn get(self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut eight = [0; 8];
        eight.get_mut(..self.size)?.copy_from_slice(bytes);
        Some(u64::from_le_bytes(eight))
    }
}

/// A layout that cannot be used; the text says why, and holds nothing that others chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// There is no such field.
    #[error("has no field `{0}`")]
    Absent(&'static str),
    /// It has a size that no number has, or that is not understood.
    #[error("has a field `{0}` of {1} bytes, which is not understood")]
    Size(&'static str, usize),
    /// There is no number of the event.
    #[error("has no ID")]
    Id,
}

/// The fields of a `format` file, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    id: Option<u16>,
    fields: Vec<(Box<[u8]>, Field)>,
}

impl Format {
    /// Parses a `format` file or a `header_page`. Lines that are not understood are passed over: what they would have
    /// told is then absent.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut format = Self::default();
        for line in bytes.split(|b| *b == b'\n').map(<[u8]>::trim_ascii) {
            if let Some(id) = line.strip_prefix(b"ID:") {
                format.id = number(id.trim_ascii()).and_then(|id| u16::try_from(id).ok());
            }
            format.fields.extend(field(line));
        }
        format
    }

    /// Returns the number by which records name the event.
    pub fn id(&self) -> Result<u16, FormatError> {
        self.id.ok_or(FormatError::Id)
    }

    /// Returns a field that is a number.
    pub fn number(&self, name: &'static str) -> Result<Field, FormatError> {
        let field = self.any(name)?;
        match field.size {
            1 | 2 | 4 | 8 => Ok(field),
            other => Err(FormatError::Size(name, other)),
        }
    }

    /// Returns a field of any size.
    pub fn any(&self, name: &'static str) -> Result<Field, FormatError> {
        let found = self.fields.iter().find(|(known, _)| **known == *name.as_bytes());
        found.map(|(_, field)| *field).ok_or(FormatError::Absent(name))
    }
}

/// Parses `field:TYPE NAME; offset:N; size:N; signed:N;`, with tabs. An array has its length behind its name.
fn field(line: &[u8]) -> Option<(Box<[u8]>, Field)> {
    let mut parts = line
        .strip_prefix(b"field:")?
        .split(|b| *b == b';')
        .map(<[u8]>::trim_ascii);
    let declaration = parts.next()?;
    let name = declaration.rsplit(|b| b" *".contains(b)).next()?;
    let name = name.split(|b| *b == b'[').next().filter(|name| !name.is_empty())?;
    let mut figure = |key: &[u8]| number(parts.next()?.strip_prefix(key)?);
    let (offset, size, signed) = (figure(b"offset:")?, figure(b"size:")?, figure(b"signed:")?);
    let field = Field {
        offset: usize::try_from(offset).ok()?,
        size: usize::try_from(size).ok()?,
        signed: signed != 0,
    };
    Some((name.into(), field))
}
