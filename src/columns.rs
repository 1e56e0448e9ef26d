//! The tables of columns: of processes and groups, of mappings, of leak suspects, and of the system.
//!
//! A column is one entry. The entry drives the screen, the sort menu, the column chooser, the filter's keys,
//! `--columns`, the names in JSON and CSV, the in-app help, and what is read from the kernel. Alerts and every
//! face use this module; it derives values from rows and never reads a file.

pub mod callers;
pub mod cell;
pub mod held;
pub mod kernel_table;
pub mod layout;
pub mod mapping;
pub mod part;
mod process;
mod row;
pub mod sites;
pub mod slab;
pub mod suspect;
pub mod system;
mod value;

use std::borrow::Cow;
use std::time::Duration;

pub use cell::{Cell, CellStyle, cell, newest, sparklines, sparklines_of, style_of_change};
pub use process::{COLUMNS, ColumnId, Processes, find, needs_of_filter};
pub use row::Row;
use unicode_width::UnicodeWidthStr;
pub use value::{DataValue, OrderKey, SortKey, Value, order};

use crate::filter::Schema;
use crate::text::Align;
pub use crate::units::Unit;
use crate::units::{Units, span_exact};

/// A kind of rows with columns of its own.
pub trait TableKind: Sized + 'static {
    /// The row that a column takes its value from.
    type Row<'a>;

    /// Every column, in the order in which they are listed.
    const COLUMNS: &'static [Column<Self>];

    fn find(id: &str) -> Option<&'static Column<Self>> {
        Self::COLUMNS.iter().find(|column| column.id == id)
    }

    /// Returns the key by which rows that are equal in the column sorted by are ordered, the greatest first.
    fn tie<'a>(_row: &'a Self::Row<'a>) -> SortKey {
        SortKey::Missing
    }
}

/// The way a column takes its value from a row.
pub type Get<T> = for<'a> fn(&'a <T as TableKind>::Row<'a>) -> Value<'a>;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column<T: TableKind = Processes> {
    /// The name in the config, on the command line, in filters, in JSON and in CSV.
    pub id: &'static str,
    /// The heading.
    pub title: &'static str,
    /// The meaning, with its formula and where the kernel gives it.
    pub help: &'static str,
    /// The unit, which decides how a value is written, compared and typed in a filter.
    pub unit: Unit,
    /// Terminal columns; the minimum if the column grows.
    pub width: u16,
    /// True if it takes the width that is left over.
    pub grows: bool,
    /// The Prometheus metric name, if it is exported.
    pub metric: Option<&'static str>,
    /// True if sums over rows mean something: shown in the totals row and for folded subtrees.
    pub additive: bool,
    /// True if it is a change over the time that the user chose, which its heading says.
    pub timed: bool,
    /// True if the lowest value comes first unless the reverse is asked for: words, ids and addresses.
    pub ascending: bool,
    /// The rows that it names.
    pub label: Label,
    /// The rows that have a value in it.
    pub applies_to: AppliesTo,
    /// The importance when the screen is too narrow for every column.
    pub priority: Priority,
    /// Data that must be read for it.
    pub needs: Needs,
    /// Takes the value from a row.
    pub value: Get<T>,
}

/// The rows that a column names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// None: it says something else of them.
    None,
    /// Processes; a tree's guides stand in it.
    Process,
    /// Groups and mappings; it is titled by their kind, and grows.
    Group,
}

/// The rows that have a value in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliesTo {
    /// All of them.
    AnyRow,
    /// Processes alone: a sum has no such value, and a filter asks a group's members for it.
    Processes,
    /// Processes, and groups that are cgroups: units, containers and cgroup paths.
    CgroupRows,
    /// Single areas of the address space, not mappings merged by name.
    Areas,
}

/// The importance of a column when the screen is too narrow for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// The first to be left out.
    Low,
    /// That of most.
    Normal,
    /// Among the last to be left out.
    High,
    /// The last to be left out.
    Highest,
}

/// A column as a menu lists it, whatever its rows are.
#[derive(Clone, Debug)]
pub struct MenuColumn {
    /// Its index among the columns of its table.
    pub at: usize,
    /// Its name, its title and the beginning of its help.
    pub label: String,
    pub help: &'static str,
    /// The lowest value comes first unless the reverse is asked for.
    pub ascending: bool,
}

impl MenuColumn {
    pub fn all<T: TableKind>(columns: &[Column<T>]) -> Vec<Self> {
        let entry = |(at, column): (usize, &Column<T>)| Self {
            at,
            label: column.menu_label(),
            help: column.help,
            ascending: column.ascending,
        };
        columns.iter().enumerate().map(entry).collect()
    }
}

/// Returns the titles of columns with their ids, and what they mean, for a help.
pub fn columns_help<T: TableKind>(columns: &[Column<T>]) -> Vec<(String, String)> {
    let entry = |column: &Column<T>| (format!("{} ({})", column.title, column.id), column.help.to_owned());
    columns.iter().map(entry).collect()
}

/// The constructors of entries, and the methods by which an entry differs from the usual. Each takes the id, the
/// title and how to get the value; the help text has a method of its own, but no entry is without one.
impl<T: TableKind> Column<T> {
    /// Returns a byte figure that can be summed and needs the memory.
    pub const fn bytes(id: &'static str, title: &'static str, value: Get<T>) -> Self {
        Self {
            id,
            title,
            help: "",
            unit: Unit::Bytes,
            width: 5,
            grows: false,
            metric: None,
            additive: true,
            timed: false,
            ascending: false,
            label: Label::None,
            applies_to: AppliesTo::AnyRow,
            priority: Priority::Normal,
            needs: Needs::MEMORY,
            value,
        }
    }

    /// Returns a figure of another unit, which needs nothing but the list of processes.
    pub const fn figure(id: &'static str, title: &'static str, unit: Unit, width: u16, value: Get<T>) -> Self {
        Self {
            unit,
            width,
            additive: false,
            needs: Needs::NOTHING,
            ..Self::bytes(id, title, value)
        }
    }

    /// Returns a text.
    pub const fn text(id: &'static str, title: &'static str, width: u16, value: Get<T>) -> Self {
        Self::figure(id, title, Unit::Text, width, value).ascending()
    }

    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn metric(mut self, name: &'static str) -> Self {
        self.metric = Some(name);
        self
    }

    const fn additive(self, additive: bool) -> Self {
        Self { additive, ..self }
    }

    const fn timed(mut self) -> Self {
        self.timed = true;
        self
    }

    const fn ascending(mut self) -> Self {
        self.ascending = true;
        self
    }

    const fn grows(self) -> Self {
        Self { grows: true, ..self }
    }

    const fn label(self, label: Label) -> Self {
        Self { label, ..self }
    }

    const fn applies_to(self, applies_to: AppliesTo) -> Self {
        Self { applies_to, ..self }
    }

    const fn priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    const fn needs(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }
}

impl<T: TableKind> Column<T> {
    /// Returns the side that values stand on: figures to the right, so that their digits align.
    pub const fn align(&self) -> Align {
        match self.unit {
            Unit::Text | Unit::Chart | Unit::Trend | Unit::Verdict => Align::Left,
            Unit::Bytes | Unit::Delta | Unit::Growth | Unit::PerSecond | Unit::Share | Unit::Count | Unit::Seconds => {
                Align::Right
            }
        }
    }

    /// Returns its name, its title and the beginning of its help, as a menu lists it.
    pub fn menu_label(&self) -> String {
        let sentence = self.help.split(". ").next().unwrap_or_default();
        let first = sentence.split(": ").next().unwrap_or_default();
        format!("{:<10} {:<9} {first}", self.id, self.title)
    }

    /// Returns the heading of a table whose changes are over `delta`: `ΔPSS/10s`, and where there is little room `Δ10s`.
    pub fn heading(&self, delta: Duration, is_narrow: bool) -> Cow<'static, str> {
        match (self.title.strip_prefix('Δ'), self.timed) {
            (Some(what), true) if is_narrow || what.is_empty() => format!("Δ{}", span_exact(delta)).into(),
            (Some(_), true) => format!("{}/{}", self.title, span_exact(delta)).into(),
            _ => self.title.into(),
        }
    }

    /// Returns the width in terminal columns with these units.
    pub fn width_in(&self, units: Units) -> u16 {
        let least = match self.unit {
            Unit::Bytes => units.width(),
            Unit::Delta => units.width() + 1,
            _ => 0,
        };
        self.width.max(least).max(self.title.width() as u16)
    }

    /// Returns the key that a row is sorted by in this column.
    pub fn sort_key<'a>(&self, row: &'a T::Row<'a>) -> SortKey {
        (self.value)(row).sort_key()
    }

    /// Returns the key of a row among others.
    pub fn order_key<'a>(&self, row: &'a T::Row<'a>) -> OrderKey {
        OrderKey {
            key: self.sort_key(row),
            tie: T::tie(row),
        }
    }
}

/// A set of kinds of data, each with a cost of its own, that must be read for a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u16);

impl Needs {
    /// The list of processes alone.
    pub const NOTHING: Self = Self(0);
    /// `smaps_rollup`: the expensive read.
    pub const MEMORY: Self = Self(1 << 0);
    /// `stat`: parent, state, threads, start time and the kernel's short name.
    pub const STAT: Self = Self(1 << 1);
    /// The effective user.
    pub const USER: Self = Self(1 << 2);
    /// `cmdline`.
    pub const COMMAND_LINE: Self = Self(1 << 3);
    /// The link `exe`: the program's file and what became of it.
    pub const PROGRAM: Self = Self(1 << 4);
    /// The name of the program, as in groups by command.
    pub const PROGRAM_NAME: Self = Self::STAT.and(Self::COMMAND_LINE).and(Self::PROGRAM);
    /// `cgroup`: the cgroup path, and by it unit and container.
    pub const CGROUP_PATH: Self = Self(1 << 5);
    /// The family, which depends on programs and containers.
    pub const FAMILY: Self = Self::PROGRAM_NAME.and(Self::CGROUP_PATH);
    /// The memory figures and limits of cgroups.
    pub const CGROUP_FIGURES: Self = Self(1 << 6);
    /// `oom_score`: the kernel sums up page tables for it, so it is read only on demand.
    pub const OOM_SCORE: Self = Self(1 << 7);
    /// Figures of the whole machine.
    pub const SYSTEM: Self = Self(1 << 8);
    /// More than one snapshot: changes, rates, trends.
    pub const HISTORY: Self = Self(1 << 9);
    /// A mark to compare with.
    pub const MARK: Self = Self(1 << 10);
    /// The figures of the account of the system, which are read seldom otherwise.
    pub const ACCOUNT: Self = Self(1 << 11);
    /// The slab caches, which are read rarely otherwise.
    pub const SLAB: Self = Self(1 << 12);
    /// The kernel's allocation sites.
    pub const SITES: Self = Self(1 << 13);
    /// Memory held through descriptors.
    pub const HELD: Self = Self(1 << 14);

    /// The data that a scanner reads only, or sooner, while somebody needs it.
    pub const ON_DEMAND: Self = Self::OOM_SCORE
        .and(Self::CGROUP_FIGURES)
        .and(Self::ACCOUNT)
        .and(Self::SLAB)
        .and(Self::SITES)
        .and(Self::HELD);

    /// Returns the data that either needs.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the part of the set that is in `other` too.
    #[must_use]
    pub const fn within(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the set without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if all of `other` is in the set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl FromIterator<Self> for Needs {
    fn from_iter<I: IntoIterator<Item = Self>>(all: I) -> Self {
        all.into_iter().fold(Self::NOTHING, Self::and)
    }
}

/// The columns of a table that have figures.
impl<T: TableKind> Schema for &'static [Column<T>] {
    fn figure(&self, name: &str) -> Option<(usize, Unit)> {
        let at = self.iter().position(|column| column.id == name)?;
        Some((at, self[at].unit)).filter(|(_, unit)| *unit != Unit::Text)
    }

    fn figures(&self) -> Vec<&'static str> {
        let figures = self.iter().filter(|column| column.unit != Unit::Text);
        figures.map(|column| column.id).collect()
    }
}
