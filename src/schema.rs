//! What the documents that zmtop writes consist of: fields with their meaning, their unit and what null means.
//!
//! A field is described where it is declared: `described!` makes a struct that serde writes, `object!` a function that
//! makes an object of a report, and each of them also returns the fields. Tables take them from their columns. Nothing here
//! knows any document.

use std::borrow::Cow;

/// A kind of document.
#[derive(Clone, Debug)]
pub struct Schema {
    /// The name in its field `schema`.
    pub name: &'static str,
    /// What it is, and which command writes it.
    pub help: &'static str,
    /// The fields, in the order in which they are written.
    pub fields: Vec<Field>,
}

/// A field of an object.
#[derive(Clone, Debug)]
pub struct Field {
    /// The name.
    pub name: Cow<'static, str>,
    /// The meaning.
    pub help: Cow<'static, str>,
    /// The values that it has.
    pub shape: Shape,
}

/// The values that a field has.
#[derive(Clone, Debug)]
pub struct Shape {
    /// The type.
    pub kind: Kind,
    /// The unit of a number.
    pub unit: Option<&'static str>,
    /// What null means; `None` where it is never null.
    pub null: Option<&'static str>,
    /// Where the field is absent; `None` where it never is.
    pub absent: Option<&'static str>,
}

/// A type of value.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A text.
    Text,
    /// One of these texts.
    OneOf(Vec<&'static str>),
    /// True or false.
    Switch,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// An object of these fields.
    Object(Vec<Field>),
    /// A list.
    List(Box<Shape>),
    /// An object whose names are foreign, and whose values are of one shape.
    Map(Box<Shape>),
    /// A value of any of these.
    AnyOf(Vec<Shape>),
}

impl Field {
    /// Creates a field. The help may have the blanks and line ends of a doc comment, and its links.
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

    /// Returns the same, which may be null; says what that means.
    #[must_use]
    pub fn null(self, meaning: &'static str) -> Self {
        Self {
            null: Some(meaning),
            ..self
        }
    }

    /// Returns the same, which is null where it is unknown.
    #[must_use]
    pub fn unread(self) -> Self {
        self.null("unknown; `unread` has the reason")
    }

    /// Returns the same, which may be absent; says where.
    #[must_use]
    pub fn absent(self, r#where: &'static str) -> Self {
        Self {
            absent: Some(r#where),
            ..self
        }
    }
}

/// Makes functions that return a shape.
macro_rules! shapes {
    ($($(#[$doc:meta])* $name:ident: $kind:expr, $unit:expr;)*) => {$(
        $(#[$doc])*
        pub const fn $name() -> Shape {
            Shape::new($kind, $unit)
        }
    )*};
}

shapes! {
    /// A text.
    text: Kind::Text, None;
    /// A text whose bytes may be foreign.
    foreign: Kind::Text, Some("UTF-8; a byte 0xNN that is none is the character U+EFNN");
    /// A moment.
    time: Kind::Text, Some("RFC 3339");
    /// True or false.
    switch: Kind::Switch, None;
    /// A number that names something.
    id: Kind::Integer, None;
    /// How many there are.
    count: Kind::Integer, Some("count");
    /// Whole bytes.
    bytes: Kind::Integer, Some("bytes");
    /// Bytes, which may be negative.
    delta: Kind::Integer, Some("bytes");
    /// Bytes a second.
    pace: Kind::Number, Some("bytes/s");
    /// Events a second.
    per_second: Kind::Number, Some("1/s");
    /// A length of time.
    seconds: Kind::Number, Some("s");
    /// A share, 1.0 being the whole.
    share: Kind::Number, Some("1");
    /// A share in percent.
    percent: Kind::Number, Some("%");
    /// A number without unit.
    number: Kind::Number, None;
}

/// Returns the shape of an object.
pub const fn object(fields: Vec<Field>) -> Shape {
    Shape::new(Kind::Object(fields), None)
}

/// Returns the shape of a list.
pub fn list(of: Shape) -> Shape {
    Shape::new(Kind::List(Box::new(of)), None)
}

/// Returns the shape of an object whose names are foreign.
pub fn map(of: Shape) -> Shape {
    Shape::new(Kind::Map(Box::new(of)), None)
}

/// Returns the shape of one of some texts.
pub fn one_of(words: impl IntoIterator<Item = &'static str>) -> Shape {
    Shape::new(Kind::OneOf(words.into_iter().collect()), None)
}

/// Returns the shape of what has any of these.
pub const fn any_of(shapes: Vec<Shape>) -> Shape {
    Shape::new(Kind::AnyOf(shapes), None)
}

/// Returns the shape of `unread`: a reason, or reasons by field.
pub fn unread() -> Shape {
    any_of(vec![text(), map(text())]).null("nothing is unknown")
}

/// Defines a struct that serde writes, and `fields`, which returns what is described of it: after each field's type stands its
/// [`Shape`]. `as` names a field as it is written.
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
            /// Returns the fields.
            $vis fn fields() -> Vec<crate::schema::Field> {
                #[allow(unused_imports, reason = "shapes are named as they are needed")]
                use crate::schema::{any_of, bytes, count, foreign, id, list, map, number, object, one_of, percent, seconds, share, switch, text, time, unread};
                vec![$(crate::schema::Field::new(
                    crate::schema::first([$($as,)? stringify!($field)]),
                    concat!($($help, " "),+),
                    $shape,
                )),*]
            }
        }
    };
}

pub(crate) use described;

/// Returns the first of some names.
pub(crate) fn first<const N: usize>(names: [&'static str; N]) -> &'static str {
    names.into_iter().next().unwrap_or_default()
}
