//! Parses the objects of a file, and skips damaged ones.

use super::error::Fault;
use super::frames::{self, Frame, Frames};
use crate::record::RecordError;

type ReadObject<T> = Box<dyn FnMut(&[u8]) -> Result<T, RecordError> + Send>;

/// The objects of a file, each parsed by `read`. Consecutive damaged frames are one fault, which precedes the next object.
pub(super) struct Objects<T> {
    pub(super) frames: Frames,
    read: ReadObject<T>,
    /// Damage that may continue in the next frame.
    damage: Option<Fault>,
    /// The object after the damage.
    next: Option<T>,
    is_at_end: bool,
    /// The fault that ended the file, which comes last.
    end: Option<Fault>,
}

enum Parsed<T> {
    Whole(T),
    Damaged(Fault),
    /// An incomplete object, and another that begins in the same line.
    Resumed(Fault, T),
    End(Option<Fault>),
}

impl<T> Objects<T> {
    pub(super) fn new(frames: Frames, read: impl FnMut(&[u8]) -> Result<T, RecordError> + Send + 'static) -> Self {
        Self {
            frames,
            read: Box::new(read),
            damage: None,
            next: None,
            is_at_end: false,
            end: None,
        }
    }

    fn add_damage(&mut self, damage: Fault) {
        match (&mut self.damage, damage) {
            (Some(Fault::Damaged { last, .. }), Fault::Damaged { last: later, .. }) => *last = later,
            (slot, damage) => *slot = Some(damage),
        }
    }
}

impl<T> Iterator for Objects<T> {
    type Item = Result<T, Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(object) = self.next.take() {
            return Some(Ok(object));
        }
        while !self.is_at_end {
            let longest = self.frames.longest;
            let parsed = match self.frames.next() {
                Ok(Some(frame)) => parse(&frame, longest, &mut self.read),
                Ok(None) => Parsed::End(None),
                Err(fault) => Parsed::End(Some(fault)),
            };
            let object = match parsed {
                Parsed::Whole(object) => {
                    self.frames.confirm();
                    object
                }
                Parsed::Resumed(damage, object) => {
                    self.add_damage(damage);
                    object
                }
                Parsed::Damaged(damage) => {
                    self.add_damage(damage);
                    continue;
                }
                Parsed::End(fault) => {
                    self.is_at_end = true;
                    self.end = fault.or_else(|| self.frames.is_empty.then_some(Fault::Empty));
                    break;
                }
            };
            if self.damage.is_none() {
                return Some(Ok(object));
            }
            self.next = Some(object);
            break;
        }
        self.damage.take().or_else(|| self.end.take()).map(Err)
    }
}

fn parse<T>(frame: &Frame<'_>, longest: usize, read: &mut dyn FnMut(&[u8]) -> Result<T, RecordError>) -> Parsed<T> {
    let damaged = |first, what| Fault::Damaged {
        first,
        last: frame.end,
        what,
    };
    if frame.too_long {
        return Parsed::Damaged(damaged(frame.line, format!("longer than {longest} bytes")));
    }
    let error = match read(frame.text) {
        Ok(object) => return Parsed::Whole(object),
        Err(error) => error,
    };
    let what = error.to_string();
    match error {
        RecordError::Newer(_) => Parsed::End(Some(Fault::Refused { line: frame.line, what })),
        RecordError::Schema(_) => Parsed::Damaged(damaged(frame.line, what)),
        RecordError::Malformed { line, cut, .. } => match last_object(frame.text).map(&mut *read) {
            Some(Ok(object)) => Parsed::Resumed(damaged(frame.line, what), object),
            _ if cut && frame.last => Parsed::End(Some(Fault::Cut(frame.line))),
            _ => Parsed::Damaged(damaged(frame.line + line as u64 - 1, what)),
        },
    }
}

/// Returns the object that follows an incomplete one whose writer was killed. No JSON string can contain its beginning.
fn last_object(text: &[u8]) -> Option<&[u8]> {
    let at = text
        .windows(frames::BEGINNING.len())
        .rposition(|bytes| bytes == frames::BEGINNING)?;
    (at > 0).then(|| &text[at..])
}
