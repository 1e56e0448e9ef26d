//! Changes since the mark.

use super::Entry;
use super::read::since_mark;
use crate::columns::{Needs, Unit};

pub(super) const COLUMNS: &[Entry] = &[
    Entry::figure("mark_pss", "ΔMARK", Unit::Delta, 6, |r| since_mark(r, |s| s.pss))
        .help(
            "Change of PSS since the mark that was set (b in the monitor). A process that started since counts from \
             0; of a group, what ended since is taken off. Formula: PSS now − PSS at the mark.",
        )
        .needs(Needs::MEMORY.and(Needs::HISTORY).and(Needs::MARK)),
    Entry::figure("mark_swap", "ΔMSWAP", Unit::Delta, 6, |r| since_mark(r, |s| s.swap))
        .help(
            "Change of swap since the mark that was set (b in the monitor). A process that started since counts from \
             0; of a group, what ended since is taken off. Formula: SWAP now − SWAP at the mark.",
        )
        .needs(Needs::MEMORY.and(Needs::HISTORY).and(Needs::MARK)),
];
