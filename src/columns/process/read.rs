//! Reads the values of a row that several columns have in common.

use crate::columns::{Row, Value};
use crate::group::{Change, GroupBy};
use crate::history::coldness::Coldness;
use crate::history::marks::MarkDelta;
use crate::model::{CgroupFigures, Memory, Missing, ProcessSample, Reading};
use crate::trend::{Judgement, Verdict};

/// Reads a figure of the memory.
pub(super) fn memory<'a>(row: &Row<'a>, get: fn(&Memory) -> Reading<u64>) -> Value<'a> {
    Value::bytes(row.memory.and_then(get))
}

/// Reads a figure of the memory that comes after PSS where a fleet is large.
pub(super) fn after_pss<'a>(row: &Row<'a>, get: fn(&Memory) -> Reading<u64>) -> Value<'a> {
    if row.snapshot.is_partial() {
        return Value::Missing(Missing::Pending);
    }
    memory(row, get)
}

/// Reads a figure of the whole subtree; outside tree view that of the process itself.
pub(super) fn subtree<'a>(row: &Row<'a>, get: fn(&Memory) -> Reading<u64>) -> Value<'a> {
    match row.totals {
        Some(tree) => Value::bytes(tree.memory.as_ref().map_err(|e| *e).and_then(get)),
        None => memory(row, get),
    }
}

/// Reads a change of memory, or of RSS where that stands for it; where neither can be read it is missing for the same reason.
pub(super) fn change<'a, T>(row: &Row<'a>, get: fn(&Change) -> Option<T>, wrap: fn(T) -> Value<'a>) -> Value<'a> {
    match row.memory {
        Err(e) if !row.is_counted => Value::Missing(e),
        _ => rate(row, get, wrap),
    }
}

/// Reads a rate taken from `stat`, which every process has.
pub(super) fn rate<'a, T>(row: &Row<'a>, get: fn(&Change) -> Option<T>, wrap: fn(T) -> Value<'a>) -> Value<'a> {
    row.change.and_then(get).map_or(Value::Missing(Missing::Pending), wrap)
}

/// Reads a value of the process itself; blank in a sum.
pub(super) fn process<'a>(row: &Row<'a>, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    row.sample.map_or(Value::Blank, get)
}

/// Wraps a text that need not apply to a process at all.
pub(super) fn optional_text(text: Option<&[u8]>) -> Value<'_> {
    text.map_or(Value::Blank, |bytes| Value::text(Ok(bytes)))
}

/// Reads the name of a group of that kind; else a value of the process itself.
pub(super) fn group_name<'a>(row: &Row<'a>, by: GroupBy, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    match row.group {
        Some(group) if group.key.by == by => Value::text(Ok(group.key.label())),
        _ => process(row, get),
    }
}

/// Reads the name of a group of any kind, marked if its program was replaced; else a value of the process.
pub(super) fn row_name<'a>(row: &Row<'a>, get: fn(&'a ProcessSample) -> Value<'a>) -> Value<'a> {
    match row.group {
        Some(group) => Value::Text(group.name_with_replaced()),
        None => process(row, get),
    }
}

/// Reads a figure of the cgroup that the row is, or that the process is in. `None` means no limit, and is
/// written as the kernel writes it.
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
        Some(Ok(None)) => Value::text(Ok(b"max")),
        Some(Err(e)) => Value::Missing(e),
        // Cgroup figures are read on demand: without any they were not asked for yet.
        None if row.snapshot.cgroups.is_empty() => Value::Missing(Missing::Pending),
        None => Value::Missing(Missing::Unsupported),
    }
}

/// Reads a part of the judgement on the footprint; blank in a sum.
pub(super) fn trend<'a>(row: &Row<'a>, get: impl FnOnce(&Judgement) -> Value<'a>) -> Value<'a> {
    match (row.memory, row.trend) {
        (Err(e), Some(_)) if !row.is_counted => Value::Missing(e),
        (_, Some(t)) if t.verdict == Verdict::Unknown => Value::Missing(Missing::Pending),
        (_, Some(t)) => get(t),
        (_, None) => Value::Blank,
    }
}

/// Reads a time in seconds that only a growing footprint has.
pub(super) fn growth_time<'a>(row: &Row<'a>, get: fn(&Row<'a>, &Judgement) -> Option<f64>) -> Value<'a> {
    match row.trend {
        Some(t) if t.verdict >= Verdict::Warming => get(row, t).map_or(Value::Blank, Value::Seconds),
        _ => Value::Blank,
    }
}

/// Reads a change since the mark, of the process itself even if its row shows the sum of its subtree; blank
/// without a mark.
pub(super) fn since_mark<'a>(row: &Row<'a>, get: fn(&MarkDelta) -> i64) -> Value<'a> {
    let Some(mark) = row.mark else { return Value::Blank };
    let since = match (row.group, row.sample) {
        (Some(group), _) => mark.group(group, row.snapshot),
        (None, Some(sample)) => mark.process(sample),
        (None, None) => return Value::Blank,
    };
    since.map_or_else(Value::Missing, |s| Value::Delta(get(&s)))
}

/// Reads what the process touched of its memory; where that cannot be read at all, for the same reason. Blank in a sum.
pub(super) fn coldness<'a>(row: &Row<'a>, get: fn(&Coldness) -> Reading<Value<'a>>) -> Value<'a> {
    match (row.sample, row.memory) {
        (None, _) => Value::Blank,
        (Some(_), Err(why)) => Value::Missing(why),
        (Some(_), Ok(_)) => row.coldness.and_then(get).unwrap_or_else(Value::Missing),
    }
}
