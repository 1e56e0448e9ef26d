//! Sorts lists with a single compiled copy of the sort.
//!
//! The standard library's sort is compiled again for each type and order, which takes 6 kB. For lists that are short or
//! rarely sorted, the time that would save is not noticeable.

use std::cmp::Ordering;

/// Sorts a list. Equal items keep their order.
pub fn sort_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let mut order = indices(list.len(), &|a, b| compare(&list[a], &list[b]));
    for to in 0..list.len() {
        // The item from a lower place was already swapped away; `order` holds where it went.
        let mut from = order[to];
        while from < to {
            from = order[from];
        }
        order[to] = from;
        list.swap(to, from);
    }
}

/// Sorts a list by a key. Items with equal keys keep their order.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    sort_by(list, |a, b| key(a).cmp(&key(b)));
}

/// Returns the indices `0..len` sorted by the items they refer to. Among equal items, the lower index comes first.
fn indices(len: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    order.sort_by(|a, b| compare(*a, *b));
    order
}
