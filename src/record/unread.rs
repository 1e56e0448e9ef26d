//! Why fields are null.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::model::{Missing, Reading};

/// The reasons of an object's nulls: one for them all, or by field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    All(Missing),
    Fields(Vec<(Cow<'static, str>, Missing)>),
}

/// The reasons met while an object is written.
#[derive(Debug, Default)]
pub(super) struct Gaps(Vec<(&'static str, Missing)>);

impl Gaps {
    /// The value, if there is one; its reason is kept if not.
    pub(super) fn take<T>(&mut self, field: &'static str, reading: Reading<T>) -> Option<T> {
        reading.map_err(|why| self.0.push((field, why))).ok()
    }

    /// `None` where nothing is missing; one reason where the `principal` field is missing and all else that
    /// is missing is so for that same reason.
    pub(super) fn unread(self, principal: &str) -> Option<Unread> {
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

/// Why a field is missing: what `unread` says of it, or that it is not offered.
pub(super) fn why(unread: Option<&Unread>, field: &str) -> Missing {
    match unread {
        None => Missing::Unsupported,
        Some(Unread::All(why)) => *why,
        Some(Unread::Fields(fields)) => fields
            .iter()
            .find(|(name, _)| name == field)
            .map_or(Missing::Unsupported, |(_, why)| *why),
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
        from.deserialize_any(Reasons)
    }
}

struct Reasons;

/// More fields than any object has.
const MOST: usize = 64;

/// A later version may know more reasons.
fn parse(text: &str) -> Missing {
    Missing::parse(text).unwrap_or(Missing::Unsupported)
}

impl<'de> Visitor<'de> for Reasons {
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
            if fields.len() < MOST {
                fields.push((field.into(), parse(&why)));
            }
        }
        Ok(Unread::Fields(fields))
    }
}
