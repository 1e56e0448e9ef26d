//! The changes of rows that do nothing, which need not be stored with each.

use crate::group::Change;

/// The changes of rows that do nothing: before there are two values, before there is a slope, and from then on.
pub(super) static COMMON: [Change; 3] = [
    Change {
        pss: None,
        swap: None,
        growth: None,
        minflt: None,
        majflt: None,
        cpu: None,
    },
    Change {
        growth: None,
        ..RESTING
    },
    RESTING,
];

/// The change of a row that did nothing for long enough to have a slope.
pub(super) const RESTING: Change = Change {
    pss: Some(0),
    swap: Some(0),
    growth: Some(0.0),
    minflt: Some(0.0),
    majflt: Some(0.0),
    cpu: Some(0.0),
};

/// The change of a row whose memory was never known, and that does nothing.
pub(super) const UNKNOWN: Change = RESTING.without_memory();
