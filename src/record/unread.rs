//! The reasons of null fields.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{Missing, Reading};
use crate::text::from_lossless;

/// The reasons of an object's nulls: one for all of them, or one for each field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    All(Missing),
    Fields(Vec<(Cow<'static, str>, Missing)>),
}

/// Collects the missing fields of an object that is being written.
#[derive(Debug, Default)]
pub(super) struct MissingFields(Vec<(&'static str, Missing)>);

impl MissingFields {
    /// Returns the value of a field, or records the reason why it is missing.
    pub(super) fn value<T>(&mut self, field: &'static str, reading: Reading<T>) -> Option<T> {
        reading.map_err(|why| self.0.push((field, why))).ok()
    }

    /// Returns `None` if nothing is missing, and one reason if the `principal` field is missing and all other missing fields
    /// have the same reason.
    pub(super) fn into_unread(self, principal: &str) -> Option<Unread> {
        let main = self.0.iter().find(|(field, _)| *field == principal);
        match main {
            Some((_, why)) if self.0.iter().all(|(_, other)| other == why) => Some(Unread::All(*why)),
            _ if self.0.is_empty() => None,
            _ => Some(Unread::Fields(
                self.0.into_iter().map(|(field, why)| (field.into(), why)).collect(),
            )),
        }
    }
}

/// Converts the nulls of an object into readings with reasons.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reasons<'a>(pub(super) Option<&'a Unread>);

impl Reasons<'_> {
    pub(super) fn reading<T>(self, field: &str, value: Option<T>) -> Reading<T> {
        value.ok_or_else(|| self.reason(field))
    }

    /// Returns the foreign bytes of a field that was written by [`lossless`](crate::text::lossless).
    pub(super) fn bytes<T: From<Vec<u8>>>(self, field: &str, text: Option<Cow<'_, str>>) -> Reading<T> {
        self.reading(field, text.map(|text| from_lossless(&text).into()))
    }

    /// Returns the reason in `unread`, by default "not offered".
    pub(super) fn reason(self, field: &str) -> Missing {
        match self.0 {
            None => Missing::Unsupported,
            Some(Unread::All(why)) => *why,
            Some(Unread::Fields(fields)) => fields
                .iter()
                .find(|(name, _)| name == field)
                .map_or(Missing::Unsupported, |(_, why)| *why),
        }
    }
}

impl Serialize for Unread {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All(why) => to.collect_str(why),
            Self::Fields(fields) => to.collect_map(fields.iter().map(|(field, why)| (field, why.to_string()))),
        }
    }
}

impl<'de> Deserialize<'de> for Unread {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UnreadVisitor)
    }
}

struct UnreadVisitor;

/// Maximum number of reasons: more than any object has fields.
const MAX_FIELDS: usize = 128;

/// Parses a reason. A later version may have others.
fn parse(text: &str) -> Missing {
    Missing::parse(text).unwrap_or(Missing::Unsupported)
}

impl<'de> Visitor<'de> for UnreadVisitor {
    type Value = Unread;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a reason, or reasons by field")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Unread, E> {
        Ok(Unread::All(parse(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Unread, A::Error> {
        let mut fields = Vec::new();
        while let Some((field, why)) = map.next_entry::<String, Cow<'de, str>>()? {
            if fields.len() < MAX_FIELDS {
                fields.push((field.into(), parse(&why)));
            }
        }
        Ok(Unread::Fields(fields))
    }
}
