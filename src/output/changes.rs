//! What changed from one table to the next, a second: what grew, what shrank, what came and what ended.
//!
//! ```text
//!      PID USER    ΔSWAP/s  ΔUSS/s  ΔPSS/s  ΔRSS/s COMMAND
//! -   2113 alice         0   -1.9G   -2.0G   -2.2G python3 train.py
//!      812 postgres      0  +12.0M  +12.0M  +12.0M postgres: checkpointer
//! +   2190 alice         0   +2.0M   +2.1M   +4.2M sh -c true
//!                        0   -1.9G   -2.0G   -2.2G 1 changed, 1 new, 1 ended of 412 processes
//! ```

use std::collections::HashMap;
use std::io::{self, Write};
use std::time::Duration;

use super::cells::{self, Written, plain};
use super::layout::{Layout, Line};
use super::rows::{Item, Query, Rows};
use super::table::{TableOptions, caption};
use crate::columns::{Cell, CellStyle, Column, Row, SortKey, Unit, Value, order};
use crate::group::RowKey;

/// Compares each table with the one before.
#[derive(Debug)]
pub struct Changes {
    /// Rows that did not change are listed too.
    all: bool,
    before: HashMap<RowKey, Kept>,
    at: Duration,
}

/// A row as it was.
#[derive(Debug)]
struct Kept {
    /// Of each column that counts bytes, and of the one sorted by.
    figures: Vec<Option<i64>>,
    cells: Vec<Cell>,
    matched: bool,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stayed,
    Came,
    Ended,
}

impl Fate {
    const fn mark(self) -> &'static str {
        match self {
            Self::Stayed => " ",
            Self::Came => "+",
            Self::Ended => "-",
        }
    }
}

/// One row of the table of changes.
struct Moved {
    fate: Fate,
    /// A second; `None` where either end is unknown.
    rates: Vec<Option<f64>>,
    cells: Vec<Cell>,
    key: SortKey,
}

/// The column of the marks.
static MARK: Column = Column::text("mark", "", "", 1, |_| Value::Blank);

/// Whether a column is shown as what it changed by.
fn is_summed(column: &Column) -> bool {
    column.additive && column.unit == Unit::Bytes
}

fn figure(column: &Column, row: &Row<'_>) -> Option<i64> {
    match (column.value)(row) {
        Value::Bytes(n) => Some(i64::try_from(n).unwrap_or(i64::MAX)),
        _ => None,
    }
}

impl Changes {
    /// Starts from these rows.
    pub fn since(rows: &Rows<'_>, query: &Query<'_>, options: &TableOptions, all: bool) -> Self {
        let mut changes = Self {
            all,
            before: HashMap::new(),
            at: Duration::ZERO,
        };
        changes.keep(rows, &shown(query, options), &Written::new(options));
        changes
    }

    fn keep(&mut self, rows: &Rows<'_>, columns: &[&'static Column], written: &Written) {
        self.at = rows.snapshot().monotonic;
        self.before.clear();
        self.before.extend(rows.candidates().map(|(key, row, matched)| {
            let kept = Kept {
                figures: columns.iter().map(|c| figure(c, &row)).collect(),
                cells: cells::row(columns, &item(row), written),
                matched,
            };
            (key, kept)
        }));
    }

    /// Writes what changed since the table before, and starts from here. All of it is safe to print.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(
        &mut self,
        out: &mut dyn Write,
        rows: &Rows<'_>,
        query: &Query<'_>,
        options: &TableOptions,
    ) -> io::Result<()> {
        let written = Written::new(options);
        let with_sort = shown(query, options);
        let columns = &with_sort[..options.columns.len()];
        let seconds = rows.snapshot().monotonic.saturating_sub(self.at).as_secs_f64();
        let mut moved = self.moved(rows, query, &with_sort, &written, seconds.max(1e-3));
        let sums = sums(&moved, columns);
        let count = |fate| moved.iter().filter(|m| m.fate == fate).count();
        let (came, ended) = (count(Fate::Came), count(Fate::Ended));
        let changed = |m: &Moved| m.fate != Fate::Stayed || visible(m, columns, &written);
        let stayed = moved.iter().filter(|m| changed(m)).count() - came - ended;
        let label = format!("{stayed} changed, {came} new, {ended} ended of {}", rows.counted());
        let label = rows.partial().map_or(label.clone(), |why| format!("{label}, {why}"));
        if !self.all {
            moved.retain(changed);
        }
        let keys: Vec<SortKey> = moved.iter().map(|m| m.key.clone()).collect();
        let places = order(&keys, query.descending);

        let mut marked = vec![&MARK];
        marked.extend_from_slice(columns);
        let mut lines = Vec::new();
        if options.heading {
            let titles = options.columns.iter().map(|id| {
                let title = cells::title(*id, options);
                if is_summed(id.get()) {
                    plain(&format!("Δ{title}/s"))
                } else {
                    plain(title)
                }
            });
            lines.push(Line::heading(
                &std::iter::once(plain(" ")).chain(titles).collect::<Vec<_>>(),
            ));
        }
        lines.extend(places.into_iter().take(query.top.unwrap_or(usize::MAX)).map(|i| {
            let moved = &moved[i];
            let mut line = Line::row(&moved.line(columns, &written));
            line.bar = options.bars.and(moved.rates.last().copied().flatten()).map(f64::abs);
            line
        }));
        if options.totals {
            let totals = columns.iter().zip(sums).map(|(c, sum)| match (is_summed(c), sum) {
                (true, Some(sum)) => written.rate(sum),
                (true, None) => missing(),
                (false, _) => plain(""),
            });
            lines.push(Line::totals(
                &std::iter::once(plain(" ")).chain(totals).collect::<Vec<_>>(),
                label,
            ));
        }
        self.keep(rows, &with_sort, &written);
        caption(out, options)?;
        Layout::new(&marked, &lines, options).write_all(out, &lines)
    }

    fn moved(
        &self,
        rows: &Rows<'_>,
        query: &Query<'_>,
        columns: &[&'static Column],
        written: &Written,
        seconds: f64,
    ) -> Vec<Moved> {
        let sort = query.sort.get();
        let by_change = is_summed(sort);
        let key = |rates: &[Option<f64>], own: SortKey| match rates.last() {
            Some(rate) if by_change => rate.map_or(SortKey::Missing, |x| SortKey::Number(x.abs())),
            _ => own,
        };
        let rate = |then: Option<i64>, now: Option<i64>| Some((now? - then?) as f64 / seconds);
        let mut moved = Vec::new();
        let mut there = std::collections::HashSet::new();
        for (id, row, matches) in rows.candidates() {
            if matches {
                let before = self.before.get(&id);
                let now = columns.iter().enumerate().map(|(i, c)| {
                    let then = before.map_or(Some(0), |kept| kept.figures[i]);
                    rate(then, figure(c, &row))
                });
                let rates: Vec<_> = now.collect();
                moved.push(Moved {
                    fate: if before.is_some() { Fate::Stayed } else { Fate::Came },
                    key: key(&rates, sort.sort_key(&row)),
                    cells: cells::row(columns, &item(row), written),
                    rates,
                });
            }
            there.insert(id);
        }
        let mut ended: Vec<_> = self
            .before
            .iter()
            .filter(|(id, kept)| kept.matched && !there.contains(*id))
            .collect();
        ended.sort_by(|a, b| a.0.cmp(b.0));
        moved.extend(ended.into_iter().map(|(_, kept)| {
            let rates: Vec<_> = kept.figures.iter().map(|then| rate(*then, Some(0))).collect();
            Moved {
                fate: Fate::Ended,
                key: key(&rates, SortKey::Missing),
                cells: kept.cells.clone(),
                rates,
            }
        }));
        moved
    }
}

impl Moved {
    fn line(&self, columns: &[&Column], written: &Written) -> Vec<Cell> {
        let cells = columns
            .iter()
            .enumerate()
            .map(|(i, c)| match (is_summed(c), self.rates[i]) {
                (true, Some(rate)) => written.rate(rate),
                (true, None) => missing(),
                (false, _) => self.cells[i].clone(),
            });
        std::iter::once(plain(self.fate.mark())).chain(cells).collect()
    }
}

/// Whether anything of a row's change can be seen.
fn visible(moved: &Moved, columns: &[&Column], written: &Written) -> bool {
    let rates = columns.iter().zip(&moved.rates).filter(|(c, _)| is_summed(c));
    rates
        .filter_map(|(_, rate)| *rate)
        .any(|rate| written.rate(rate).style != CellStyle::Zero)
}

fn sums(moved: &[Moved], columns: &[&Column]) -> Vec<Option<f64>> {
    let sum = |i: usize| {
        let known = moved.iter().filter_map(|m| m.rates[i]);
        known.fold(None, |sum: Option<f64>, rate| Some(sum.unwrap_or(0.0) + rate))
    };
    (0..columns.len()).map(sum).collect()
}

/// The columns shown, and after them the one sorted by.
fn shown(query: &Query<'_>, options: &TableOptions) -> Vec<&'static Column> {
    options.columns.iter().chain([&query.sort]).map(|id| id.get()).collect()
}

const fn item(row: Row<'_>) -> Item<'_> {
    Item {
        row,
        guide: "",
        depth: 0,
        matches: true,
    }
}

fn missing() -> Cell {
    Cell {
        text: "-".to_owned(),
        style: CellStyle::Missing,
    }
}
