//! Named values, as data: the documents and tables that JSON and CSV are written from.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use crate::columns::{Column, DataValue, TableKind, Unit, Value};
use crate::model::{Missing, Reading};
use crate::order;
use crate::record::Record;
use crate::schema::{self, Field};

#[derive(Debug)]
pub enum Document<'a> {
    /// Named values; a schema's fields are only ever added to.
    Object(Object<'a>),
    /// A snapshot that can be read back, schema `zmtop/1`.
    Snapshot(Record<'a>),
}

/// A table of values, for CSV.
pub struct DataTable<'a> {
    /// The names of the columns; `None` for a table that continues one with the same names.
    pub names: Option<Vec<&'static str>>,
    pub rows: Box<dyn Iterator<Item = Vec<DataValue<'a>>> + 'a>,
}

impl<'a> DataTable<'a> {
    /// Returns the rows as objects; none if the columns have no names.
    pub fn into_objects(self) -> Vec<Object<'a>> {
        let names = self.names.unwrap_or_default();
        let object = |row: Vec<DataValue<'a>>| {
            let fields = names.iter().zip(row);
            fields.fold(Object::default(), |object, (name, value)| object.put(*name, value))
        };
        self.rows.map(object).collect()
    }
}

/// A value, or a tree of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Node<'a> {
    Known(DataValue<'a>),
    Unknown(Missing),
    Bool(bool),
    Object(Object<'a>),
    List(Vec<Node<'a>>),
}

/// Values by name, in the order they were put in.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object<'a>(Vec<(Cow<'static, str>, Node<'a>)>);

/// The field with the reasons of unknown values.
pub(super) const UNREAD: &str = "unread";

impl<'a> Object<'a> {
    #[must_use]
    pub fn put(mut self, name: impl Into<Cow<'static, str>>, node: impl Into<Node<'a>>) -> Self {
        self.0.push((name.into(), node.into()));
        self
    }

    #[must_use]
    pub fn extend(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    /// Adds `unread`: an object of the reasons of unknown values by path; null where all are known.
    #[must_use]
    pub fn with_unread(self) -> Self {
        let reasons = self.reasons();
        self.put(UNREAD, by_path(reasons))
    }

    /// Adds `unread` in its short form: the one reason that all unknown values have, or an object of them.
    #[must_use]
    pub fn with_short_unread(self) -> Self {
        let mut reasons = self.reasons();
        match reasons.as_slice() {
            [(_, first), rest @ ..] if rest.iter().all(|(_, why)| why == first) => {
                let first = first.to_string();
                self.put(UNREAD, first)
            }
            _ => {
                order::sort_by(&mut reasons, Ord::cmp);
                self.put(UNREAD, by_path(reasons))
            }
        }
    }

    /// Returns why values are unknown, by their paths.
    fn reasons(&self) -> Vec<(String, Missing)> {
        let unknown = |(path, node): (String, &Node<'a>)| match node {
            Node::Unknown(why) => Some((path, *why)),
            _ => None,
        };
        let leaves = self.leaves(|node| matches!(node, Node::Unknown(_)));
        leaves.into_iter().filter_map(unknown).collect()
    }

    /// Returns the object as a table of its leaves: path, value, and why it has none.
    pub fn into_table(self) -> DataTable<'a> {
        let text = |text: String| DataValue::Text(text.into_bytes().into());
        let row = move |(path, node): (String, &Node<'a>)| {
            let why = match node {
                Node::Unknown(why) => text(why.to_string()),
                _ => DataValue::Null,
            };
            vec![text(path), node.clone().into_plain(), why]
        };
        let rows: Vec<_> = self.leaves(|_| true).into_iter().map(row).collect();
        DataTable {
            names: Some(vec!["figure", "value", UNREAD]),
            rows: Box::new(rows.into_iter()),
        }
    }

    /// Returns the values as a row of a table. Texts of a list are joined.
    pub(super) fn into_row(self) -> Vec<DataValue<'a>> {
        self.0.into_iter().map(|(_, node)| node.into_plain()).collect()
    }

    /// Returns the leaves to keep, by their paths.
    fn leaves(&self, keep: fn(&Node<'a>) -> bool) -> Vec<(String, &Node<'a>)> {
        let mut leaves = Vec::new();
        for (name, node) in &self.0 {
            node.collect_leaves(&|| name.to_string(), keep, &mut leaves);
        }
        leaves
    }
}

impl<'a> Node<'a> {
    /// Returns foreign bytes as text.
    pub const fn bytes(bytes: &'a [u8]) -> Self {
        Self::Known(DataValue::Text(Cow::Borrowed(bytes)))
    }

    fn into_plain(self) -> DataValue<'a> {
        match self {
            Self::Known(plain) => plain,
            Self::Unknown(_) | Self::Object(_) => DataValue::Null,
            Self::Bool(on) => DataValue::Text(on.to_string().into_bytes().into()),
            Self::List(list) => {
                let texts = list.into_iter().filter_map(|node| match node {
                    Self::Known(DataValue::Text(text)) => Some(text.into_owned()),
                    _ => None,
                });
                DataValue::Text(texts.collect::<Vec<_>>().join(&b", "[..]).into())
            }
        }
    }

    /// Calls `path` only for leaves to keep, which are usually none.
    fn collect_leaves<'n>(
        &'n self,
        path: &dyn Fn() -> String,
        keep: fn(&Self) -> bool,
        leaves: &mut Vec<(String, &'n Self)>,
    ) {
        match self {
            Self::Object(object) => {
                for (name, node) in &object.0 {
                    node.collect_leaves(&|| format!("{}.{name}", path()), keep, leaves);
                }
            }
            Self::List(list) => {
                for (at, node) in list.iter().enumerate() {
                    node.collect_leaves(&|| format!("{}.{at}", path()), keep, leaves);
                }
            }
            leaf if keep(leaf) => leaves.push((path(), leaf)),
            _ => {}
        }
    }
}

/// Returns the names of fields, for use as a table's columns.
pub(super) fn names(fields: Vec<Field>) -> Vec<&'static str> {
    let names = fields.into_iter().filter_map(|field| match field.name {
        Cow::Borrowed(name) => Some(name),
        Cow::Owned(_) => None,
    });
    names.collect()
}

/// Returns reasons as an object; `None` if there are none.
fn by_path(reasons: Vec<(String, Missing)>) -> Option<Object<'static>> {
    let named = |(path, why): (String, Missing)| (path.into(), why.to_string().into());
    let object = Object(reasons.into_iter().map(named).collect());
    (!object.0.is_empty()).then_some(object)
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(object) => object.serialize(to),
            Self::Snapshot(record) => record.serialize(to),
        }
    }
}

impl Serialize for Node<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(plain) => plain.serialize(to),
            Self::Unknown(_) => to.serialize_none(),
            Self::Bool(on) => to.serialize_bool(*on),
            Self::Object(object) => object.serialize(to),
            Self::List(list) => to.collect_seq(list),
        }
    }
}

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, node)| (name, node)))
    }
}

/// Defines a function that creates an object, and one that returns the description of its fields: each has its meaning, its name,
/// its [`Shape`](crate::schema::Shape) and its value.
macro_rules! described_object {
    ($(
        $(#[doc = $doc:literal])*
        fn $make:ident, $fields:ident $(<$life:lifetime>)? ($($arg:ident: $type:ty),*) -> $object:ty {
            $($(#[doc = $help:literal])+ $name:literal: $shape:expr => $value:expr,)*
        }
    )*) => {$(
        $(#[doc = $doc])*
        pub(super) fn $make $(<$life>)? ($($arg: $type),*) -> $object {
            crate::output::data::Object::default()$(.put($name, $value))*
        }

        /// Returns the fields of the same object.
        fn $fields() -> Vec<crate::schema::Field> {
            #[allow(unused_imports, reason = "shapes are named as they are needed")]
            use crate::schema::{any_of, bytes, count, delta, foreign, id, list, map, number, object, one_of, pace, percent, seconds, share, switch, text, time, unread};
            vec![$(crate::schema::Field::new($name, concat!($($help, " "),+), $shape)),*]
        }
    )*};
}

pub(super) use described_object;

/// Returns the fields that columns have in a row or in its sums.
pub(super) fn of_columns<'c, T: TableKind>(columns: impl IntoIterator<Item = &'c Column<T>>) -> Vec<Field> {
    let fields = columns.into_iter().map(|column| {
        let shape = match column.unit {
            // A limit, of which there may be none.
            _ if matches!(column.id, "cg_limit" | "limit" | "soft") => {
                schema::any_of(vec![schema::bytes(), schema::one_of(["max"])])
            }
            Unit::Bytes => schema::bytes(),
            Unit::Delta => schema::delta(),
            Unit::Growth => schema::pace(),
            Unit::PerSecond => schema::per_second(),
            Unit::Share => schema::share(),
            Unit::Count => schema::count(),
            Unit::Seconds => schema::seconds(),
            Unit::Chart => schema::list(schema::bytes().null("unknown at that time")),
            Unit::Text | Unit::Trend | Unit::Verdict => schema::foreign(),
        };
        let shape = shape.null("unknown, or the row has no such value");
        // On the screen, it is in percent.
        let help = match column.unit {
            Unit::Share => format!("{} Here it is a ratio: 0.5 is 50 %.", column.help),
            _ => column.help.into(),
        };
        Field::new(column.id, &help, shape.absent("if it was not asked for"))
    });
    fields.collect()
}

/// Conversions of plain values, so that a document is written as a list of `put`s.
macro_rules! from {
    ($($type:ty: $value:ident => $node:expr;)*) => {$(
        impl<'a> From<$type> for Node<'a> {
            fn from($value: $type) -> Self {
                $node
            }
        }
    )*};
}

from! {
    Object<'a>: object => Self::Object(object);
    DataValue<'a>: plain => Self::Known(plain);
    u64: n => Self::Known(DataValue::Integer(n));
    usize: n => Self::Known(DataValue::Integer(n as u64));
    u32: n => Self::Known(DataValue::Integer(n.into()));
    i64: n => Self::Known(DataValue::Signed(n));
    i32: n => Self::Known(DataValue::Signed(n.into()));
    f64: x => Self::Known(DataValue::float(x));
    bool: on => Self::Bool(on);
    &'a str: text => Self::bytes(text.as_bytes());
    String: text => Self::Known(DataValue::Text(text.into_bytes().into()));
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
