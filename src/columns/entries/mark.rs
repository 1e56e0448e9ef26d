//! What changed since the mark.

use super::{Column, Unit, figure};
use crate::columns::get::since;

pub(super) const COLUMNS: &[Column] = &[
    figure(
        "mark_pss",
        "ΔMARK",
        "Change of PSS since the mark that was set (b in the monitor). A process that started since counts from 0; \
         of a group, what ended since is taken off. Formula: PSS now − PSS at the mark.",
        Unit::Delta,
        6,
        |r| since(r, |s| s.pss),
    ),
    figure(
        "mark_swap",
        "ΔMSWAP",
        "Change of swap since the mark that was set (b in the monitor). A process that started since counts from 0; \
         of a group, what ended since is taken off. Formula: SWAP now − SWAP at the mark.",
        Unit::Delta,
        6,
        |r| since(r, |s| s.swap),
    ),
];
