//! Sorts lists by one sort that is in the program once.
//!
//! The standard library's is made anew for each type and each order, 6 kB of it. Where a list is short or sorted seldom,
//! the time that is saved by that is not felt.

use std::cmp::Ordering;

/// Sorts a list; items that are equal stay in their order.
pub fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut order = indices(list.len(), &|a, b| compare(&list[a], &list[b]));
    for to in 0..list.len() {
        // An item before this place was put elsewhere: where, is told at its place.
        let mut from = order[to];
        while from < to {
            from = order[from];
        }
        order[to] = from;
        list.swap(to, from);
    }
}

/// Sorts a list by a key; items with equal keys stay in their order.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// Returns the indices `0..len` in the order of what they stand for; of equals the lower one comes first.
fn indices(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}
