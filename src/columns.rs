//! The one table of columns.
//!
//! One entry drives the screen, the sort menu, the column chooser, the filter's keys, `--columns` and the
//! in-app help.

pub mod cell;
mod entries;
mod get;
pub mod lookup;
pub mod mapping;
pub mod plain;
pub mod row;
pub mod sort;
pub mod suspect;
pub mod value;

pub use cell::{Cell, Tone, cell};
pub use entries::COLUMNS;
pub use lookup::{Catalogue, RowSubject};
pub use plain::Plain;
pub use row::Row;
use unicode_width::UnicodeWidthStr;
pub use value::Value;

use crate::columns::sort::SortKey;
use crate::text::Align;
use crate::units::Units;

/// One column of the process table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The name in the config, on the command line, in filters and in JSON.
    pub id: &'static str,
    /// The heading.
    pub title: &'static str,
    /// What the figure means, with its formula and where the kernel gives it.
    pub help: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// Terminal columns of a fixed-width one; the least of one that grows.
    pub width: u16,
    /// Takes what width is left over.
    pub grows: bool,
    /// Padding.
    pub align: Align,
    /// Prometheus metric name, where it is exported.
    pub metric: Option<&'static str>,
    /// Sums over rows mean something: shown in the totals row and for folded subtrees.
    pub additive: bool,
    /// Takes the value from a row.
    pub value: for<'a> fn(&Row<'a>) -> Value<'a>,
}

/// What a column counts; decides how it is written and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// A change in bytes.
    Delta,
    /// Bytes a second.
    Growth,
    /// Events a second.
    PerSecond,
    /// A share of one core.
    Share,
    /// A plain number.
    Count,
    /// Seconds.
    Seconds,
    /// Words.
    Text,
    /// A picture of values over time; sorted by their slope.
    Chart,
    /// A verdict with its slope, bytes a second; sorted by the verdict, then by the slope.
    Trend,
    /// A verdict alone.
    Verdict,
}

/// A column by its place in [`COLUMNS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnId(pub usize);

impl ColumnId {
    /// The entry.
    pub fn get(self) -> &'static Column {
        &COLUMNS[self.0]
    }

    /// Every column, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..COLUMNS.len()).map(Self)
    }
}

/// The column of that id.
pub fn find(id: &str) -> Option<ColumnId> {
    COLUMNS.iter().position(|c| c.id == id).map(ColumnId)
}

impl Column {
    /// The width with these units.
    pub fn width_in(&self, units: Units) -> u16 {
        let least = match self.unit {
            Unit::Bytes => units.width(),
            Unit::Delta => units.width() + 1,
            _ => 0,
        };
        self.width.max(least).max(self.title.width() as u16)
    }

    /// What a row is ordered by in this column.
    pub fn sort_key(&self, row: &Row<'_>) -> SortKey {
        (self.value)(row).sort_key()
    }

    /// Whether the first press of its sort key puts the greatest first: figures yes, words and ids no.
    pub fn descends_first(&self) -> bool {
        !matches!(self.unit, Unit::Text) && self.id != "pid" && self.id != "ppid"
    }
}
