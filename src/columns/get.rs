//! How each column takes its value from a row.

use std::borrow::Cow;

use super::Value;
use crate::columns::Row;
use crate::group::{Change, GroupBy};
use crate::history::marks::MarkDelta;
use crate::model::{CgroupFigures, Memory, Missing, ProcessSample, Reading};
use crate::trend::{Judgement, Verdict};

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
pub(super) fn fact(fact: Option<&[u8]>) -> Value<'_> {
    fact.map_or(Value::Blank, |bytes| Value::text(Ok(bytes)))
}

/// The name of a group of that kind; else something of the process itself.
pub(super) fn named<'a>(row: &Row<'a>, by: GroupBy, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    match row.group {
        Some(group) if group.key.by == by => Value::Text(Cow::Borrowed(group.key.label())),
        _ => own(row, get),
    }
}

/// The name of a group of whatever kind, marked where its program was replaced; else something of the
/// process itself.
pub(super) fn title<'a>(row: &Row<'a>, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    match row.group {
        Some(group) => Value::Text(group.name_with_replaced()),
        None => own(row, get),
    }
}

/// A figure of the one cgroup that the row is, or that the process is in. `None` is no limit, and written
/// as the kernel writes it.
pub(super) fn cgroup<'a>(row: &Row<'a>, get: fn(&CgroupFigures) -> Reading<Option<u64>>) -> Value<'a> {
    let figures = match (row.group, row.sample) {
        (Some(group), _) if matches!(group.key.by, GroupBy::Unit | GroupBy::Container | GroupBy::Cgroup) => {
            if group.key.name.is_none() {
                return Value::Blank;
            }
            group.cgroup.as_ref()
        }
        (None, Some(sample)) => match &sample.facts.cgroup {
            Ok(path) => row.snapshot.cgroups.get(path),
            Err(e) => return Value::Missing(*e),
        },
        _ => return Value::Blank,
    };
    match figures.map(get) {
        Some(Ok(Some(bytes))) => Value::Bytes(bytes),
        Some(Ok(None)) => Value::Text(Cow::Borrowed(b"max")),
        Some(Err(e)) => Value::Missing(e),
        None if row.snapshot.cgroups.is_empty() => Value::Missing(Missing::Pending),
        None => Value::Missing(Missing::Unsupported),
    }
}

/// What is judged of its footprint; blank in a total.
pub(super) fn trend<'a>(row: &Row<'a>, get: fn(&Judgement) -> Value<'a>) -> Value<'a> {
    match (row.memory, row.trend) {
        (Err(e), Some(_)) => Value::Missing(e),
        (Ok(_), Some(t)) if t.verdict == Verdict::Unknown => Value::Missing(Missing::Pending),
        (_, Some(t)) => get(t),
        (_, None) => Value::Blank,
    }
}

/// A time that only what grows has.
pub(super) fn growing<'a>(row: &Row<'a>, get: fn(&Row<'a>, &Judgement) -> Option<f64>) -> Value<'a> {
    match row.trend {
        Some(t) if t.verdict >= Verdict::Warming => get(row, t).map_or(Value::Blank, Value::Seconds),
        _ => Value::Blank,
    }
}

/// A change since the mark: of the process itself even where its row shows the sum of its subtree. Nothing
/// where there is no mark.
pub(super) fn since<'a>(row: &Row<'a>, get: fn(&MarkDelta) -> i64) -> Value<'a> {
    let Some(mark) = row.mark else { return Value::Blank };
    let since = match (row.group, row.sample) {
        (Some(group), _) => mark.group(group, row.snapshot),
        (None, Some(sample)) => mark.process(sample),
        (None, None) => return Value::Blank,
    };
    since.map_or_else(Value::Missing, |s| Value::Delta(get(&s)))
}
