//! Describes the fields of the documents that zmtop writes: meaning, unit, and what null means.
//!
//! A field is described where it is declared: `described!` defines a struct that serde writes, `described_object!` of
//! `output` an object of a report, and both also return the fields. Fields of tables come from their columns. This module
//! knows no document.

use std::borrow::Cow;

/// A kind of document.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The value of its field `schema`.
    pub name: &'static str,
    /// Its content, and the command that writes it.
    pub help: &'static str,
    /// In the order in which they are written.
    pub fields: Vec<Field>,
}

#[derive(Clone, Debug)]
pub struct Field {
    pub name: Cow<'static, str>,
    pub help: Cow<'static, str>,
    pub shape: Shape,
}

/// The values of a field.
#[derive(Clone, Debug)]
pub struct Shape {
    pub kind: Kind,
    pub unit: Option<&'static str>,
    /// The meaning of null; `None` if it is never null.
    pub null: Option<&'static str>,
    /// The condition under which the field is absent; `None` if it never is.
    pub absent: Option<&'static str>,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Text,
    OneOf(Vec<&'static str>),
    /// True or false.
    Switch,
    Integer,
    Number,
    Object(Vec<Field>),
    List(Box<Shape>),
    /// An object with foreign names, and values of one shape.
    Map(Box<Shape>),
    AnyOf(Vec<Shape>),
}

impl Field {
    /// Creates a field. The help is the text of a doc comment.
    pub fn new(name: impl Into<Cow<'static, str>>, help: &str, shape: Shape) -> Self {
        let words: Vec<&str> = help.split_whitespace().collect();
        Self {
            name: name.into(),
            help: words.join(" ").replace('`', "").into(),
            shape,
        }
    }
}

impl Shape {
    const fn new(kind: Kind, unit: Option<&'static str>) -> Self {
        Self {
            kind,
            unit,
            null: None,
            absent: None,
        }
    }

    /// Sets the meaning of null.
    #[must_use]
    pub fn null(self, meaning: &'static str) -> Self {
        Self {
            null: Some(meaning),
            ..self
        }
    }

    #[must_use]
    pub fn unread(self) -> Self {
        self.null("unknown; `unread` has the reason")
    }

    /// Sets the condition under which the field is absent.
    #[must_use]
    pub fn absent(self, condition: &'static str) -> Self {
        Self {
            absent: Some(condition),
            ..self
        }
    }
}

macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident: $kind:expr, $unit:expr;)*) => {$(
        $(#[$doc])*
        pub const fn $name() -> Shape {
            Shape::new($kind, $unit)
        }
    )*};
}

shapes! {
    text: Kind::Text, None;
    /// Text that may have been foreign bytes.
    foreign: Kind::Text, Some("UTF-8; a byte 0xNN that is none is the character U+EFNN");
    time: Kind::Text, Some("RFC 3339");
    switch: Kind::Switch, None;
    /// A number that identifies something.
    id: Kind::Integer, None;
    count: Kind::Integer, Some("count");
    bytes: Kind::Integer, Some("bytes");
    /// A change in bytes, which may be negative.
    delta: Kind::Integer, Some("bytes");
    pace: Kind::Number, Some("bytes/s");
    per_second: Kind::Number, Some("1/s");
    seconds: Kind::Number, Some("s");
    /// A share; 1.0 is the whole.
    share: Kind::Number, Some("1");
    percent: Kind::Number, Some("%");
    number: Kind::Number, None;
}

pub const fn object(fields: Vec<Field>) -> Shape {
    Shape::new(Kind::Object(fields), None)
}

pub fn list(of: Shape) -> Shape {
    Shape::new(Kind::List(Box::new(of)), None)
}

pub fn map(of: Shape) -> Shape {
    Shape::new(Kind::Map(Box::new(of)), None)
}

pub fn one_of(words: impl IntoIterator<Item = &'static str>) -> Shape {
    Shape::new(Kind::OneOf(words.into_iter().collect()), None)
}

pub const fn any_of(shapes: Vec<Shape>) -> Shape {
    Shape::new(Kind::AnyOf(shapes), None)
}

/// Returns the shape of `unread`: one reason, or reasons by field.
pub fn unread() -> Shape {
    any_of(vec![text(), map(text())]).null("nothing is unknown")
}

/// Defines a struct that serde writes, and `fields()`, which describes it. The [`Shape`] of a field follows its type. `as`
/// sets its name in the document.
macro_rules! described {
    (
        $(#[$meta:meta])*
        $vis:vis struct $name:ident $(<$life:lifetime>)? {
            $(
                $(#[doc = $help:literal])+
                $(#[serde($($serde:tt)*)])?
                $field_vis:vis $field:ident $(as $as:literal)?: $type:ty = $shape:expr,
            )*
        }
    ) => {
        $(#[$meta])*
        $vis struct $name $(<$life>)? {
            $($(#[doc = $help])+ $(#[serde($($serde)*)])? $(#[serde(rename = $as)])? $field_vis $field: $type,)*
        }

        impl $(<$life>)? $name $(<$life>)? {
            $vis fn fields() -> Vec<crate::schema::Field> {
                #[allow(unused_imports, reason = "shapes are named as they are needed")]
                use crate::schema::{any_of, bytes, count, foreign, id, list, map, number, object, one_of, percent, seconds, share, switch, text, time, unread};
                vec![$(crate::schema::Field::new(
                    [$($as,)? stringify!($field)][0],
                    concat!($($help, " "),+),
                    $shape,
                )),*]
            }
        }
    };
}

pub(crate) use described;
