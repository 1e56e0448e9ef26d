//! What cgroups say of themselves, in `zmtop/1`.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::model::{CgroupFigures, Missing, Reading};
use crate::record::unread::{Gaps, Unread, why};

/// A cgroup as the schema has it; a limit is a number or `"max"`.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Cgroup<'a> {
    current: Option<u64>,
    swap: Option<u64>,
    #[serde(borrow)]
    limit: Option<Limit<'a>>,
    #[serde(borrow)]
    swap_limit: Option<Limit<'a>>,
    unread: Option<Unread>,
}

#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged)]
enum Limit<'a> {
    Bytes(u64),
    Word(Cow<'a, str>),
}

const NONE: &str = "max";

impl Cgroup<'_> {
    pub(super) fn of(figures: &CgroupFigures) -> Self {
        let mut gaps = Gaps::default();
        let write = |limit: Option<u64>| limit.map_or(Limit::Word(NONE.into()), Limit::Bytes);
        Self {
            current: gaps.take("current", figures.current),
            swap: gaps.take("swap", figures.swap),
            limit: gaps.take("limit", figures.limit).map(write),
            swap_limit: gaps.take("swap_limit", figures.swap_limit).map(write),
            unread: gaps.unread("current"),
        }
    }

    pub(super) fn figures(self) -> CgroupFigures {
        let unread = self.unread.as_ref();
        let limit = |name, limit: Option<Limit<'_>>| -> Reading<Option<u64>> {
            match limit {
                None => Err(why(unread, name)),
                Some(Limit::Bytes(n)) => Ok(Some(n)),
                Some(Limit::Word(word)) if word == NONE => Ok(None),
                Some(Limit::Word(_)) => Err(Missing::Malformed),
            }
        };
        CgroupFigures {
            current: self.current.ok_or_else(|| why(unread, "current")),
            swap: self.swap.ok_or_else(|| why(unread, "swap")),
            limit: limit("limit", self.limit),
            swap_limit: limit("swap_limit", self.swap_limit),
        }
    }
}
