//! The order of rows.

use std::cmp::Ordering;

/// What a row is ordered by.
#[derive(Clone, Debug, PartialEq)]
pub enum SortKey {
    /// A figure.
    Number(f64),
    /// A word, compared without regard to case.
    Text(String),
    /// Unknown: last in either direction, so that a dash never stands above a figure.
    Missing,
}

impl SortKey {
    /// Compares two keys in the direction asked for.
    pub fn compare(&self, other: &Self, descending: bool) -> Ordering {
        let turn = |o: Ordering| if descending { o.reverse() } else { o };
        match (self, other) {
            (Self::Missing, Self::Missing) => Ordering::Equal,
            (Self::Missing, _) => Ordering::Greater,
            (_, Self::Missing) => Ordering::Less,
            (Self::Number(a), Self::Number(b)) => turn((a + 0.0).total_cmp(&(b + 0.0))), // −0 is 0
            (Self::Text(a), Self::Text(b)) => turn(a.cmp(b)),
            (Self::Number(_), Self::Text(_)) => turn(Ordering::Less),
            (Self::Text(_), Self::Number(_)) => turn(Ordering::Greater),
        }
    }
}

/// The indices `0..keys.len()` in order of their keys. Equal keys keep the order they came in, so rows
/// (which come by pid) do not dance.
pub fn order(keys: &[SortKey], descending: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|a, b| keys[*a].compare(&keys[*b], descending));
    order
}
