//! The tables of columns: of processes and groups, of mappings, of leak suspects, and of the system.
//!
//! A column is one entry. The screen, the sort menu, the column chooser, filter keys, `--columns`, the names in JSON and
//! CSV, the help and the data that is read from the kernel all follow from it. Values are derived from rows; nothing here
//! reads a file.

pub mod cached_file;
pub mod callers;
pub mod cell;
pub mod held;
pub mod kernel_table;
pub mod layout;
pub mod limit;
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
pub use row::{PopulationFigures, Row};
use unicode_width::UnicodeWidthStr;
pub use value::{DataValue, OrderKey, SortKey, Value, order};

use crate::filter::Schema;
use crate::text::Align;
pub use crate::units::Unit;
use crate::units::{Units, span_exact};

/// A kind of rows with columns of its own.
pub trait TableKind: Sized + 'static {
    type Row<'a>;

    const COLUMNS: &'static [Column<Self>];

    fn find(id: &str) -> Option<&'static Column<Self>> {
        Self::COLUMNS.iter().find(|column| column.id == id)
    }

    /// Returns the key that orders rows which are equal in the sort column, greatest first.
    fn tie<'a>(_row: &'a Self::Row<'a>) -> SortKey {
        SortKey::Missing
    }
}

pub type Get<T> = for<'a> fn(&'a <T as TableKind>::Row<'a>) -> Value<'a>;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column<T: TableKind = Processes> {
    /// The name in the config, on the command line, in filters, in JSON and in CSV.
    pub id: &'static str,
    pub title: &'static str,
    /// The meaning, with its formula and its source in the kernel.
    pub help: &'static str,
    pub unit: Unit,
    /// Terminal columns; the minimum if the column grows.
    pub width: u16,
    /// True if it gets the remaining width.
    pub grows: bool,
    /// The Prometheus metric name, if it is exported.
    pub metric: Option<&'static str>,
    /// The help of that metric, if the help of the column refers to the screen.
    pub metric_help: Option<&'static str>,
    /// True if the sum over rows is meaningful: shown in the totals row and for folded subtrees.
    pub additive: bool,
    /// True for a change over a time that the user chose. The heading shows that time.
    pub timed: bool,
    /// True if the lowest value comes first by default: words, ids and addresses.
    pub ascending: bool,
    pub label: Label,
    pub applies_to: AppliesTo,
    pub priority: Priority,
    pub needs: Needs,
    pub value: Get<T>,
}

/// The rows that a column names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    None,
    /// Processes. It contains the guides of a tree.
    Process,
    /// Groups and mappings. Its title is their kind, and it grows.
    Group,
}

/// The rows that have a value in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppliesTo {
    AnyRow,
    /// Processes only: a sum has no such value, and a filter checks a group's members instead.
    Processes,
    /// Processes, and groups that are cgroups: units, containers and cgroup paths.
    CgroupRows,
    /// Single areas of the address space, not mappings merged by name.
    Areas,
}

/// The importance of a column when the screen is too narrow for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Left out first.
    Low,
    Normal,
    High,
    /// Left out last.
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

/// Returns the titles of columns with their ids, and their help.
pub fn columns_help<T: TableKind>(columns: &[Column<T>]) -> Vec<(String, String)> {
    let entry = |column: &Column<T>| (format!("{} ({})", column.title, column.id), column.help.to_owned());
    columns.iter().map(entry).collect()
}

/// The constructors of entries, and the methods that change a default. Every entry must have a help text.
impl<T: TableKind> Column<T> {
    /// Creates a byte figure that is additive and needs the memory.
    pub const fn bytes(id: &'static str, title: &'static str, value: Get<T>) -> Self {
        Self {
            id,
            title,
            help: "",
            unit: Unit::Bytes,
            width: 5,
            grows: false,
            metric: None,
            metric_help: None,
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

    /// Creates a figure of another unit, which needs only the list of processes.
    pub const fn figure(id: &'static str, title: &'static str, unit: Unit, width: u16, value: Get<T>) -> Self {
        Self {
            unit,
            width,
            additive: false,
            needs: Needs::NOTHING,
            ..Self::bytes(id, title, value)
        }
    }

    pub const fn text(id: &'static str, title: &'static str, width: u16, value: Get<T>) -> Self {
        Self::figure(id, title, Unit::Text, width, value).ascending()
    }

    const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    const fn metric(self, name: &'static str) -> Self {
        Self {
            metric: Some(name),
            ..self
        }
    }

    const fn metric_help(self, help: &'static str) -> Self {
        Self {
            metric_help: Some(help),
            ..self
        }
    }

    const fn additive(self, additive: bool) -> Self {
        Self { additive, ..self }
    }

    const fn timed(self) -> Self {
        Self { timed: true, ..self }
    }

    const fn ascending(self) -> Self {
        Self {
            ascending: true,
            ..self
        }
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
    /// Returns the alignment of values: figures to the right, so that their digits align.
    pub const fn align(&self) -> Align {
        match self.unit {
            Unit::Text | Unit::Chart | Unit::Trend | Unit::Verdict => Align::Left,
            Unit::Bytes | Unit::Delta | Unit::Growth | Unit::PerSecond | Unit::Share | Unit::Count | Unit::Seconds => {
                Align::Right
            }
        }
    }

    /// Returns the text that explains its metric.
    pub const fn help_of_metric(&self) -> &'static str {
        match self.metric_help {
            Some(help) => help,
            None => self.help,
        }
    }

    pub fn menu_label(&self) -> String {
        format!("{:<10} {:<9} {}", self.id, self.title, self.summary())
    }

    /// Returns the beginning of the help: a sentence, or the words before its first colon.
    fn summary(&self) -> &'static str {
        let sentence = self.help.split(". ").next().unwrap_or_default();
        sentence.split(": ").next().unwrap_or_default()
    }

    /// Returns the heading for changes over `delta`: `ΔPSS/10s`, or `Δ10s` if there is little room.
    pub fn heading(&self, delta: Duration, is_narrow: bool) -> Cow<'static, str> {
        match (self.title.strip_prefix('Δ'), self.timed) {
            (Some(what), true) if is_narrow || what.is_empty() => format!("Δ{}", span_exact(delta)).into(),
            (Some(_), true) => format!("{}/{}", self.title, span_exact(delta)).into(),
            _ => self.title.into(),
        }
    }

    pub fn width_in(&self, units: Units) -> u16 {
        let least = match self.unit {
            Unit::Bytes => units.width(),
            Unit::Delta => units.width() + 1,
            _ => 0,
        };
        self.width.max(least).max(self.title.width() as u16)
    }

    pub fn sort_key<'a>(&self, row: &'a T::Row<'a>) -> SortKey {
        (self.value)(row).sort_key()
    }

    pub fn order_key<'a>(&self, row: &'a T::Row<'a>) -> OrderKey {
        OrderKey {
            key: self.sort_key(row),
            tie: T::tie(row),
        }
    }
}

/// A set of kinds of data that must be read for a column. Each kind has its own cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs(u32);

impl Needs {
    /// Only the list of processes.
    pub const NOTHING: Self = Self(0);
    /// `smaps_rollup`: the expensive read.
    pub const MEMORY: Self = Self(1 << 0);
    /// `stat`: parent, state, threads, start time and the kernel's short name.
    pub const STAT: Self = Self(1 << 1);
    pub const USER: Self = Self(1 << 2);
    pub const COMMAND_LINE: Self = Self(1 << 3);
    /// The link `exe`: the program's file and its state.
    pub const PROGRAM: Self = Self(1 << 4);
    /// The name of the program, as in groups by command.
    pub const PROGRAM_NAME: Self = Self::STAT.and(Self::COMMAND_LINE).and(Self::PROGRAM);
    /// `cgroup`: the cgroup path, and from it unit and container.
    pub const CGROUP_PATH: Self = Self(1 << 5);
    /// The family, which depends on programs and containers.
    pub const FAMILY: Self = Self::PROGRAM_NAME.and(Self::CGROUP_PATH);
    /// The memory figures and limits of cgroups.
    pub const CGROUP_FIGURES: Self = Self(1 << 6);
    /// `oom_score`, which the kernel computes from page tables: read only on demand.
    pub const OOM_SCORE: Self = Self(1 << 7);
    /// Figures of the whole machine.
    pub const SYSTEM: Self = Self(1 << 8);
    /// More than one snapshot: changes, rates, trends.
    pub const HISTORY: Self = Self(1 << 9);
    pub const MARK: Self = Self(1 << 10);
    /// The figures of the account of the system, otherwise read rarely.
    pub const ACCOUNT: Self = Self(1 << 11);
    /// The slab caches, otherwise read rarely.
    pub const SLAB: Self = Self(1 << 12);
    pub const SITES: Self = Self(1 << 13);
    pub const HELD: Self = Self(1 << 14);
    /// Reclaimable memory, events and peak of each cgroup: `memory.stat` and other files. With
    /// [`Self::CGROUP_FIGURES`].
    pub const CGROUP_DETAILS: Self = Self(1 << 15);
    /// The referenced bits of processes that the user chose in the monitor.
    pub const REFERENCED: Self = Self(1 << 16);
    /// The files and shared memory that each process maps: `maps`.
    pub const MAPPED: Self = Self(1 << 17);
    /// The processes that ended between two snapshots: records of the kernel on each exit.
    pub const EXITS: Self = Self(1 << 18);
    /// The highest RSS of each process: `status`.
    pub const PEAK: Self = Self(1 << 19);
    /// The memory that `malloc` keeps free.
    pub const HEAPS: Self = Self(1 << 20);
    /// The page tables of each process: `status`.
    pub const PAGE_TABLES: Self = Self(1 << 21);
    /// The page tables of the processes whose address space has room for many, now and then. They are always read while the
    /// machine has many.
    pub const MANY_PAGE_TABLES: Self = Self(1 << 22);

    /// The data that a scanner reads only, or more often, while it is needed.
    pub const ON_DEMAND: Self = Self::OOM_SCORE
        .and(Self::CGROUP_FIGURES)
        .and(Self::CGROUP_DETAILS)
        .and(Self::ACCOUNT)
        .and(Self::SLAB)
        .and(Self::SITES)
        .and(Self::HELD)
        .and(Self::MAPPED)
        .and(Self::EXITS)
        .and(Self::PEAK)
        .and(Self::PAGE_TABLES)
        .and(Self::MANY_PAGE_TABLES);

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the intersection with `other`.
    #[must_use]
    pub const fn within(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns true if a single snapshot does not have it.
    pub const fn is_beyond_one_snapshot(self) -> bool {
        self.contains(Self::HISTORY) || self.is_only_of_the_monitor()
    }

    /// Returns true if it begins with a key that is pressed in the monitor.
    pub const fn is_only_of_the_monitor(self) -> bool {
        self.contains(Self::MARK) || self.contains(Self::REFERENCED)
    }

    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl FromIterator<Self> for Needs {
    fn from_iter<I: IntoIterator<Item = Self>>(all: I) -> Self {
        all.into_iter().fold(Self::NOTHING, Self::and)
    }
}

/// Returns the index of the column of that name: its id, or its heading as the screen shows it, in any case. A `_` stands for a
/// space of a heading: `full_in`.
pub fn named<T: TableKind>(columns: &[Column<T>], typed: &str) -> Option<usize> {
    let by_id = columns.iter().position(|column| column.id == typed);
    let heading = |text: &str| text.trim_start_matches('≤').to_lowercase().replace([' ', '-'], "_");
    by_id.or_else(|| {
        let typed = heading(typed);
        let has_title = |title: &str| columns.iter().position(|column| heading(column.title) == title);
        let over_time = typed.split_once('/').map(|(title, _)| title);
        // `Δ10s` is the heading of a change on a narrow screen.
        let is_change = typed
            .strip_prefix('δ')
            .is_some_and(|time| time.starts_with(|c: char| c.is_ascii_digit()));
        let timed = || columns.iter().position(|column| column.timed).filter(|_| is_change);
        has_title(&typed)
            .or_else(|| over_time.and_then(has_title))
            .or_else(timed)
    })
}

/// Returns the columns of processes whose summary has a word that begins with `typed`, or with which `typed` begins.
pub fn described_by(typed: &str) -> Vec<&'static str> {
    /// Shorter words are in most summaries.
    const MIN_LENGTH: usize = 4;
    let typed = typed.to_lowercase();
    let is_alike =
        |word: &str| word.len().min(typed.len()) >= MIN_LENGTH && (word.starts_with(&typed) || typed.starts_with(word));
    let has_word = |column: &&Column<Processes>| {
        let summary = column.summary().to_lowercase();
        summary.split(|c: char| !c.is_alphanumeric()).any(is_alike)
    };
    COLUMNS.iter().filter(has_word).map(|column| column.id).collect()
}

/// The columns of a table that have figures.
impl<T: TableKind> Schema for &'static [Column<T>] {
    fn figure(&self, name: &str) -> Option<(usize, Unit)> {
        let at = named(self, name)?;
        Some((at, self[at].unit)).filter(|(_, unit)| *unit != Unit::Text)
    }

    fn id(&self, name: &str) -> Option<&'static str> {
        named(self, name).map(|at| self[at].id)
    }

    fn figures(&self) -> Vec<&'static str> {
        let figures = self.iter().filter(|column| column.unit != Unit::Text);
        figures.map(|column| column.id).collect()
    }
}
