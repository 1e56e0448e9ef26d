//! The table of changes: the rows that grew, shrank, started or ended since the previous table, in bytes per second.
//!
//! ```text
//!      PID USER    ΔSWAP/s  ΔUSS/s  ΔPSS/s  ΔRSS/s COMMAND
//! -   2113 alice         0   -1.9G   -2.0G   -2.2G python3 train.py
//!      812 postgres      0  +12.0M  +12.0M  +12.0M postgres: checkpointer
//! +   2190 alice         0   +2.0M   +2.1M   +4.2M sh -c true
//!                        0   -1.9G   -2.0G   -2.2G 1 changed, 1 new, 1 ended of 412 processes
//! ```

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::iter::once;
use std::time::Duration;

use super::table::{TableOptions, count_label, partial_label};
use super::text_table::{TextColumn, word};
use crate::columns::{Cell, CellStyle, Column, OrderKey, Row, SortKey, Unit, Value, order};
use crate::group::RowKey;
use crate::order;
use crate::query::{Query, Rows};
use crate::text::Align;

/// Compares each table with the previous one.
#[derive(Debug)]
pub struct ChangeTracker {
    /// True to list unchanged rows too.
    all: bool,
    previous: HashMap<RowKey, PreviousRow>,
    /// The time of the previous table, on the monotonic clock.
    at: Duration,
}

#[derive(Debug)]
struct PreviousRow {
    /// The figures of the columns in bytes, and of the sort column.
    figures: Vec<Option<i64>>,
    cells: Vec<Cell>,
    passed: bool,
}

/// The marks of rows: in both tables, only in this one, only in the previous one.
const PRESENT: &str = " ";
const NEW: &str = "+";
const ENDED: &str = "-";

struct ChangedRow {
    mark: &'static str,
    /// Bytes per second; `None` if either value is unknown.
    rates: Vec<Option<f64>>,
    cells: Vec<Cell>,
    order_key: OrderKey,
}

/// Returns true if a column shows its change instead of its value.
fn is_compared(column: &Column) -> bool {
    column.additive && column.unit == Unit::Bytes
}

fn figure(column: &Column, row: &Row<'_>) -> Option<i64> {
    match (column.value)(row) {
        Value::Bytes(n) | Value::Within(n, _) => Some(i64::try_from(n).unwrap_or(i64::MAX)),
        _ => None,
    }
}

impl ChangeTracker {
    /// Starts with these rows as the previous table.
    pub fn new(rows: &Rows<'_>, query: &Query<'_>, options: &TableOptions, all: bool) -> Self {
        let mut tracker = Self {
            all,
            previous: HashMap::new(),
            at: Duration::ZERO,
        };
        tracker.remember(rows, &columns_and_sort(query, options), options);
        tracker
    }

    fn remember(&mut self, rows: &Rows<'_>, columns: &[&'static Column], options: &TableOptions) {
        self.at = rows.source.snapshot.monotonic;
        self.previous.clear();
        self.previous.extend(rows.candidates().map(|(key, row, passed)| {
            let previous = PreviousRow {
                figures: columns.iter().map(|c| figure(c, &row)).collect(),
                cells: options.cells(columns, &row),
                passed,
            };
            (key, previous)
        }));
    }

    /// Writes what changed since the previous table, which these rows then replace. All of it is safe to print.
    pub fn write(
        &mut self,
        out: &mut dyn Write,
        rows: &Rows<'_>,
        query: &Query<'_>,
        options: &TableOptions,
    ) -> io::Result<()> {
        let with_sort = columns_and_sort(query, options);
        let columns = &with_sort[..options.columns.len()];
        let mut changed = self.compare(rows, query, &with_sort, options);
        let sums: Vec<Option<f64>> = (0..columns.len()).map(|i| sum_of_rates(&changed, i)).collect();
        let count = |mark| changed.iter().filter(|row| row.mark == mark).count();
        let (new, ended) = (count(NEW), count(ENDED));
        let is_changed = |row: &ChangedRow| row.mark != PRESENT || is_visible(row, columns, options);
        let moved = changed.iter().filter(|row| is_changed(row)).count() - new - ended;
        let label = format!("{moved} changed, {new} new, {ended} ended of {}", count_label(rows));
        let label = once(label).chain(partial_label(rows)).collect::<Vec<_>>().join(", ");
        if !self.all {
            changed.retain(is_changed);
        }
        let keys: Vec<OrderKey> = changed.iter().map(|row| row.order_key.clone()).collect();

        let mut table = options.text_table([TextColumn::new(Align::Left)]);
        if options.heading {
            let titles = options.columns.iter().map(|id| match options.title(*id) {
                title if is_compared(id.get()) => word(format!("Δ{title}/s")),
                title => word(title),
            });
            table.push_heading(&once(word(" ")).chain(titles).collect::<Vec<_>>());
        }
        for i in order(&keys, query.descending)
            .into_iter()
            .take(query.top.unwrap_or(usize::MAX))
        {
            let row = &changed[i];
            let bar = options.bars.and(row.rates.last().copied().flatten()).map(f64::abs);
            table.push_with_bar(&row.cells(columns, options), bar);
        }
        if options.totals {
            let totals = columns.iter().zip(sums).map(|(column, sum)| {
                if is_compared(column) {
                    rate_cell(sum, options)
                } else {
                    word("")
                }
            });
            table.push_totals(&once(word(" ")).chain(totals).collect::<Vec<_>>(), label);
        }
        self.remember(rows, &with_sort, options);
        options.write_caption(out)?;
        table.write(out, &options.style)
    }

    /// Compares the rows that pass with the previous table. Rows that ended come last.
    fn compare(
        &self,
        rows: &Rows<'_>,
        query: &Query<'_>,
        columns: &[&'static Column],
        options: &TableOptions,
    ) -> Vec<ChangedRow> {
        let seconds = rows
            .source
            .snapshot
            .monotonic
            .saturating_sub(self.at)
            .as_secs_f64()
            .max(1e-3);
        let sort = query.sort.get();
        let order_key = |rates: &[Option<f64>], own: OrderKey| OrderKey {
            key: match rates.last() {
                Some(rate) if is_compared(sort) => rate.map_or(SortKey::Missing, |x| SortKey::Number(x.abs())),
                _ => own.key,
            },
            tie: own.tie,
        };
        let rate = |then: Option<i64>, now: Option<i64>| Some((now? - then?) as f64 / seconds);
        let mut changed = Vec::new();
        let mut present = HashSet::new();
        for (key, row, passes) in rows.candidates() {
            if passes {
                let previous = self.previous.get(&key);
                // A new row's previous value is 0.
                let then = |i: usize| previous.map_or(Some(0), |previous| previous.figures[i]);
                let rates = columns.iter().enumerate().map(|(i, c)| rate(then(i), figure(c, &row)));
                let rates: Vec<_> = rates.collect();
                changed.push(ChangedRow {
                    mark: if previous.is_some() { PRESENT } else { NEW },
                    order_key: order_key(&rates, sort.order_key(&row)),
                    cells: options.cells(columns, &row),
                    rates,
                });
            }
            present.insert(key);
        }
        let ended = self
            .previous
            .iter()
            .filter(|(key, row)| row.passed && !present.contains(*key));
        let mut ended: Vec<_> = ended.collect();
        order::sort_by_key(&mut ended, |(key, _)| *key);
        changed.extend(ended.into_iter().map(|(_, previous)| {
            let rates: Vec<_> = previous.figures.iter().map(|then| rate(*then, Some(0))).collect();
            ChangedRow {
                mark: ENDED,
                order_key: order_key(&rates, OrderKey::MISSING),
                cells: previous.cells.clone(),
                rates,
            }
        }));
        changed
    }
}

impl ChangedRow {
    fn cells(&self, columns: &[&Column], options: &TableOptions) -> Vec<Cell> {
        let cells = columns.iter().enumerate().map(|(i, column)| {
            if is_compared(column) {
                rate_cell(self.rates[i], options)
            } else {
                self.cells[i].clone()
            }
        });
        once(word(self.mark)).chain(cells).collect()
    }
}

fn rate_cell(rate: Option<f64>, options: &TableOptions) -> Cell {
    rate.map_or_else(
        || Cell {
            text: "-".into(),
            style: CellStyle::Missing,
        },
        |rate| options.rate_cell(rate),
    )
}

/// Returns true if any change of a row is visible in these units.
fn is_visible(row: &ChangedRow, columns: &[&Column], options: &TableOptions) -> bool {
    let rates = columns.iter().zip(&row.rates).filter(|(c, _)| is_compared(c));
    rates
        .filter_map(|(_, rate)| *rate)
        .any(|rate| options.rate_cell(rate).style != CellStyle::Zero)
}

fn sum_of_rates(changed: &[ChangedRow], column: usize) -> Option<f64> {
    let known = changed.iter().filter_map(|row| row.rates[column]);
    known.fold(None, |sum: Option<f64>, rate| Some(sum.unwrap_or(0.0) + rate))
}

/// Returns the shown columns, followed by the sort column.
fn columns_and_sort(query: &Query<'_>, options: &TableOptions) -> Vec<&'static Column> {
    options.columns.iter().chain([&query.sort]).map(|id| id.get()).collect()
}
