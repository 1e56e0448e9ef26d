//! A tree of named figures that is JSON, and CSV too: there a line for each leaf, named by its path.

use std::borrow::Cow;
use std::io;

use serde::{Serialize, Serializer};

use super::csv::Sheet;
use crate::columns::{DataValue, Value};
use crate::model::{Missing, Reading};

/// A value, or values by name or in a row.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node<'a> {
    Known(DataValue<'a>),
    Unknown(Missing),
    Bool(bool),
    Map(Map<'a>),
    List(Vec<Node<'a>>),
}

/// Values by name, in the order they were put in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Map<'a>(Vec<(Cow<'static, str>, Node<'a>)>);

impl<'a> Map<'a> {
    pub(super) fn put(mut self, name: impl Into<Cow<'static, str>>, node: impl Into<Node<'a>>) -> Self {
        self.0.push((name.into(), node.into()));
        self
    }

    /// With `unread` at its end: why each unknown leaf is so, by its path; null where all is known.
    pub(super) fn with_unread(self) -> Self {
        let mut reasons = Self::default();
        self.leaves("", &mut |path, node| {
            if let Node::Unknown(why) = node {
                let text = why.to_string().into_bytes();
                let reason = Node::Known(DataValue::Text(text.into()));
                reasons.0.push((path.to_owned().into(), reason));
            }
        });
        let unread = if reasons.0.is_empty() {
            Node::Known(DataValue::Null)
        } else {
            Node::Map(reasons)
        };
        self.put("unread", unread)
    }

    fn leaves(&self, path: &str, each: &mut impl FnMut(&str, &Node<'a>)) {
        for (name, node) in &self.0 {
            let below = if path.is_empty() {
                name.to_string()
            } else {
                format!("{path}.{name}")
            };
            node.leaves(&below, each);
        }
    }

    /// Every leaf as a line of CSV: its path, its value, and why it has none.
    pub(super) fn csv(&self, out: &mut dyn io::Write) -> io::Result<()> {
        let mut sheet = Sheet::new(out);
        sheet.heading(["figure", "value", "unread"])?;
        let mut result = Ok(());
        self.leaves("", &mut |path, node| {
            let (value, why) = match node {
                Node::Known(plain) => (plain.clone(), DataValue::Null),
                Node::Unknown(why) => (DataValue::Null, DataValue::Text(why.to_string().into_bytes().into())),
                Node::Bool(on) => (DataValue::Text(on.to_string().into_bytes().into()), DataValue::Null),
                Node::Map(_) | Node::List(_) => return,
            };
            if result.is_ok() {
                result = sheet.row([DataValue::Text(path.as_bytes().into()), value, why]);
            }
        });
        result?;
        sheet.finish()
    }
}

impl<'a> Node<'a> {
    fn leaves(&self, path: &str, each: &mut impl FnMut(&str, &Node<'a>)) {
        match self {
            Self::Map(map) => map.leaves(path, each),
            Self::List(list) => {
                for (at, node) in list.iter().enumerate() {
                    node.leaves(&format!("{path}.{at}"), each);
                }
            }
            Self::Known(_) | Self::Unknown(_) | Self::Bool(_) => each(path, self),
        }
    }

    pub(super) const fn bytes(bytes: &'a [u8]) -> Self {
        Self::Known(DataValue::Text(Cow::Borrowed(bytes)))
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(plain) => plain.serialize(to),
            Self::Unknown(_) => to.serialize_none(),
            Self::Bool(on) => to.serialize_bool(*on),
            Self::Map(map) => map.serialize(to),
            Self::List(list) => to.collect_seq(list),
        }
    }
}

impl Serialize for Map<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, node)| (name, node)))
    }
}

impl<'a> From<Map<'a>> for Node<'a> {
    fn from(map: Map<'a>) -> Self {
        Self::Map(map)
    }
}

impl From<u64> for Node<'_> {
    fn from(n: u64) -> Self {
        Self::Known(DataValue::Integer(n))
    }
}

impl From<i64> for Node<'_> {
    fn from(n: i64) -> Self {
        Self::Known(DataValue::Signed(n))
    }
}

impl From<i32> for Node<'_> {
    fn from(n: i32) -> Self {
        i64::from(n).into()
    }
}

impl From<f64> for Node<'_> {
    fn from(x: f64) -> Self {
        Self::Known(DataValue::float(x))
    }
}

impl From<bool> for Node<'_> {
    fn from(on: bool) -> Self {
        Self::Bool(on)
    }
}

impl<'a> From<&'a str> for Node<'a> {
    fn from(text: &'a str) -> Self {
        Self::bytes(text.as_bytes())
    }
}

impl From<String> for Node<'_> {
    fn from(text: String) -> Self {
        Self::Known(DataValue::Text(text.into_bytes().into()))
    }
}

impl<'a> From<Value<'a>> for Node<'a> {
    fn from(value: Value<'a>) -> Self {
        match value {
            Value::Missing(why) => Self::Unknown(why),
            known => Self::Known(known.into_data()),
        }
    }
}

impl<T: Into<Self>> From<Reading<T>> for Node<'_> {
    fn from(reading: Reading<T>) -> Self {
        reading.map_or_else(Self::Unknown, Into::into)
    }
}

impl<T: Into<Self>> From<Option<T>> for Node<'_> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Known(DataValue::Null), Into::into)
    }
}

impl<T: Into<Self>> From<Vec<T>> for Node<'_> {
    fn from(list: Vec<T>) -> Self {
        Self::List(list.into_iter().map(Into::into).collect())
    }
}
