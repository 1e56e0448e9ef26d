//! Rows of the kernel's own tables (slab caches and allocation sites) and the columns that both have.

use std::borrow::Cow;
use std::fmt::Debug;
use std::iter::Sum;
use std::time::Duration;

use super::{Column, Needs, Priority, TableKind, Unit, Value};
use crate::filter::{Filterable, TextField};
use crate::history::RowHistory;

pub trait KernelTable: TableKind + Copy + Debug {
    type Line: Debug + 'static;
    type Figures: Copy + Debug + Sum;

    fn figures(line: &Self::Line) -> Self::Figures;

    /// Returns the memory of a line in bytes.
    fn size(figures: &Self::Figures) -> u64;

    /// Returns the name that identifies a line from one read to the next, raw.
    fn key(line: &Self::Line) -> Cow<'_, [u8]>;

    /// Returns the names that a filter matches, raw.
    fn names(line: &Self::Line) -> Cow<'_, [u8]> {
        Self::key(line)
    }
}

/// A line of a table, or a sum of lines.
#[derive(Debug)]
pub struct KernelRow<'a, T: KernelTable> {
    /// The line; `None` for a sum.
    pub line: Option<&'a T::Line>,
    pub figures: T::Figures,
    pub history: Option<&'a RowHistory>,
    /// The time span of its sparkline.
    pub span: Duration,
    /// Its change in bytes since the mark, if there is one.
    pub since_mark: Option<i64>,
}

#[expect(
    clippy::expl_impl_clone_on_copy,
    reason = "a derived implementation would require `T::Line: Copy`"
)]
impl<T: KernelTable> Clone for KernelRow<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: KernelTable> Copy for KernelRow<'_, T> {}

impl<'a, T: KernelTable> KernelRow<'a, T> {
    pub fn new(line: &'a T::Line) -> Self {
        Self {
            line: Some(line),
            figures: T::figures(line),
            history: None,
            span: Duration::ZERO,
            since_mark: None,
        }
    }

    pub fn total(rows: &[Self]) -> Self {
        let changes = || rows.iter().filter_map(|row| row.since_mark);
        Self {
            line: None,
            figures: rows.iter().map(|row| row.figures).sum(),
            history: None,
            span: Duration::ZERO,
            since_mark: changes().next().map(|_| changes().fold(0, i64::saturating_add)),
        }
    }

    /// Returns a value of the line; blank for a sum.
    pub(super) fn of_line(&self, value: impl FnOnce(&'a T::Line) -> Value<'a>) -> Value<'a> {
        self.line.map_or(Value::Blank, value)
    }
}

/// Returns the columns that only the monitor has, since they need several snapshots. `chart` and `trend` are help texts.
pub(super) const fn over_time<T>(chart: &'static str, trend: &'static str) -> [Column<T>; 4]
where
    T: KernelTable + for<'a> TableKind<Row<'a> = KernelRow<'a, T>>,
{
    [
        Column::<T>::figure("change", "Δ", Unit::Delta, 6, |r| {
            change_of(r.history, T::size(&r.figures))
        })
        .timed()
        .help("The change of SIZE over the same period as ΔPSS (ui.delta).")
        .priority(Priority::High),
        Column::<T>::figure("since_mark", "ΔMARK", Unit::Delta, 6, |r| {
            let size = T::size(&r.figures);
            r.since_mark.map_or(Value::Blank, |by| Value::Delta(by, size))
        })
        .help("The change of SIZE since the mark that b sets.")
        .additive(true)
        .needs(Needs::MARK)
        .priority(Priority::High),
        Column::<T>::figure("history", "5 MIN", Unit::Chart, 10, |r| chart_of(r.history, r.span))
            .help(chart)
            .priority(Priority::Low),
        Column::<T>::figure("trend", "TREND", Unit::Trend, 16, |r| {
            r.history.map_or(Value::Blank, |history| {
                Value::trend(history.trend(), history.change().pss, None)
            })
        })
        .help(trend),
    ]
}

/// Returns the recent change of a size, beside the size now.
pub(super) fn change_of(history: Option<&RowHistory>, size: u64) -> Value<'_> {
    let change = history.and_then(|history| history.change().pss);
    change.map_or(Value::Blank, |by| Value::Delta(by, size))
}

pub(super) fn chart_of(history: Option<&RowHistory>, span: Duration) -> Value<'_> {
    history.map_or(Value::Blank, |history| {
        Value::Chart(history.footprint().over(span), history.change().growth)
    })
}

impl<T> Filterable for KernelRow<'_, T>
where
    T: KernelTable + for<'a> TableKind<Row<'a> = KernelRow<'a, T>>,
{
    fn text(&self, field: TextField) -> Option<Cow<'_, [u8]>> {
        let is_name = matches!(field, TextField::CommandLine | TextField::Comm | TextField::Group);
        Some(T::names(self.line.filter(|_| is_name)?))
    }

    fn number(&self, column: usize) -> Option<f64> {
        (T::COLUMNS.get(column)?.value)(self).number()
    }
}
