//! Sums and differences of readings. The result is unknown if a term is.

use crate::model::Reading;

/// Subtracts two figures. The difference is at least 0: since figures are read one after another, it could fall below.
pub(super) fn less(a: Reading<u64>, b: Reading<u64>) -> Reading<u64> {
    Ok(a?.saturating_sub(b?))
}

/// Sums a figure over a list. The sum is unknown if the list is.
pub(super) fn sum_of<T>(all: &Reading<Vec<T>>, figure: impl Fn(&T) -> u64) -> Reading<u64> {
    let all = all.as_deref().map_err(|e| *e)?;
    Ok(all.iter().map(figure).fold(0, u64::saturating_add))
}

/// Converts to 64 bits, saturating.
pub(super) fn saturated(n: i128) -> i64 {
    i64::try_from(n.clamp(i64::MIN.into(), i64::MAX.into())).unwrap_or_default()
}

/// Adds two figures. The sum is unknown if either is.
pub fn sum(a: Reading<u64>, b: Reading<u64>) -> Reading<u64> {
    Ok(a?.saturating_add(b?))
}
