//! A finding: what one look at a series says, before the looks are weighed against each other.

use crate::trend::verdict::Reasons;
use crate::trend::{Params, Verdict};

/// The verdict of one horizon, or of the comparison of days.
#[derive(Clone, Copy, Debug)]
pub(super) struct Finding {
    pub(super) verdict: Verdict,
    /// Bytes a second.
    pub(super) slope: f64,
    pub(super) confidence: f64,
    /// The time it looked back over, in seconds.
    pub(super) length: f64,
    /// The growth over that time, in bytes.
    pub(super) growth: f64,
    /// The reasons of a leak.
    pub(super) reasons: Option<Reasons>,
}

/// Returns the minimum growth that matters on a floor of that height, in bytes.
pub(super) fn min_growth(floor: f64, params: &Params) -> f64 {
    (params.least_share * floor).max(params.least_bytes as f64)
}

/// Maps evidence to a confidence: 1 is just enough and gives 0.9; each further 1 takes off nine tenths of the doubt.
pub(super) fn confidence(evidence: f64) -> f64 {
    1.0 - 10f64.powf(-evidence.clamp(0.0, 3.0))
}
