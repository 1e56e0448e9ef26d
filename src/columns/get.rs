//! How each column takes its value from a row.

use super::Value;
use crate::model::{Change, Facts, Memory, Missing, ProcessSample, Reading, Row};

/// A figure of the memory.
pub(super) fn memory<'a>(row: &Row<'a>, get: fn(&Memory) -> Reading<u64>) -> Value<'a> {
    match row.memory {
        Ok(m) => Value::bytes(get(m)),
        Err(e) => Value::Missing(e),
    }
}

/// A figure of the whole subtree; the process's own outside tree view.
pub(super) fn subtree<'a>(row: &Row<'a>, get: fn(&Memory) -> Reading<u64>) -> Value<'a> {
    match row.subtree {
        Some(tree) => Value::bytes(tree.memory.as_ref().map_err(|e| *e).and_then(get)),
        None => memory(row, get),
    }
}

/// A change; while a process has no memory to read there is none, for the same reason.
pub(super) fn change<'a, T>(row: &Row<'a>, get: fn(&Change) -> Option<T>, wrap: fn(T) -> Value<'a>) -> Value<'a> {
    match (row.memory, row.change.and_then(get)) {
        (Ok(_), Some(x)) => wrap(x),
        (Err(e), _) => Value::Missing(e),
        (Ok(_), None) => Value::Missing(Missing::Pending),
    }
}

/// A rate of the glance, which every process has.
pub(super) fn rate<'a>(row: &Row<'a>, get: fn(&Change) -> Option<f64>, wrap: fn(f64) -> Value<'a>) -> Value<'a> {
    row.change.and_then(get).map_or(Value::Missing(Missing::Pending), wrap)
}

/// Something of the process itself: blank in a total.
pub(super) fn own<'a>(row: &Row<'a>, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    row.sample.map_or(Value::Blank, get)
}

/// A fact that may not apply to a process at all.
pub(super) fn fact<'a>(row: &Row<'a>, get: fn(&'a Facts) -> Option<&'a [u8]>) -> Value<'a> {
    row.sample
        .and_then(|s| get(&s.facts))
        .map_or(Value::Blank, |bytes| Value::text(Ok(bytes)))
}
