//! A cgroup's figures in `zmtop/1`.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::model::cgroup::{Count, cgroup_figures};
use crate::model::{CgroupFigures, Missing, Reading};
use crate::record::unread::{MissingFields, Reasons, Unread};
use crate::schema::{self, Shape, described};

macro_rules! define_cgroup {
    ($($(#[doc = $help:literal])* $figure:ident: $type:ty,)*) => {
        described! {
            #[derive(Debug, Deserialize, Serialize)]
            pub(super) struct Cgroup {
                $($(#[doc = $help])* $figure: Option<<$type as Value>::Json> = <$type as Value>::shape().unread(),)*
                /// The reasons of nulls.
                unread: Option<Unread> = unread(),
            }
        }

        impl From<&CgroupFigures> for Cgroup {
            fn from(figures: &CgroupFigures) -> Self {
                let mut missing = MissingFields::default();
                Self {
                    $($figure: missing.value(stringify!($figure), figures.$figure).map(Value::to_json),)*
                    unread: missing.into_unread("current"),
                }
            }
        }

        impl From<Cgroup> for CgroupFigures {
            fn from(record: Cgroup) -> Self {
                let reasons = Reasons(record.unread.as_ref());
                Self {
                    $($figure: reasons.reading(stringify!($figure), record.$figure).and_then(Value::from_json),)*
                }
            }
        }
    };
}

cgroup_figures!(define_cgroup);

/// A value of a cgroup's figure.
pub(super) trait Value: Sized {
    type Json;

    fn shape() -> Shape;
    fn to_json(self) -> Self::Json;
    fn from_json(json: Self::Json) -> Reading<Self>;
}

impl Value for u64 {
    type Json = Self;

    fn shape() -> Shape {
        schema::bytes()
    }

    fn to_json(self) -> Self {
        self
    }

    fn from_json(json: Self) -> Reading<Self> {
        Ok(json)
    }
}

impl Value for Count {
    type Json = u64;

    fn shape() -> Shape {
        schema::count()
    }

    fn to_json(self) -> u64 {
        self.0
    }

    fn from_json(json: u64) -> Reading<Self> {
        Ok(Self(json))
    }
}

impl Value for Duration {
    type Json = f64;

    fn shape() -> Shape {
        schema::seconds()
    }

    fn to_json(self) -> f64 {
        self.as_secs_f64()
    }

    fn from_json(json: f64) -> Reading<Self> {
        Self::try_from_secs_f64(json).map_err(|_| Missing::Malformed)
    }
}

/// A limit in the schema: a number, or `"max"` for none.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum Limit {
    Bytes(u64),
    Word(Cow<'static, str>),
}

const NO_LIMIT: &str = "max";

impl Value for Option<u64> {
    type Json = Limit;

    fn shape() -> Shape {
        schema::any_of(vec![schema::bytes(), schema::one_of([NO_LIMIT])])
    }

    fn to_json(self) -> Limit {
        self.map_or(Limit::Word(NO_LIMIT.into()), Limit::Bytes)
    }

    fn from_json(json: Limit) -> Reading<Self> {
        match json {
            Limit::Bytes(n) => Ok(Some(n)),
            Limit::Word(word) if word == NO_LIMIT => Ok(None),
            Limit::Word(_) => Err(Missing::Malformed),
        }
    }
}
