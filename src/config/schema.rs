//! The one table of settings: the key of each, where it lives in [`Settings`], and what it allows.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use super::Settings;
use super::settings::{MAX_INTERVAL, MIN_INTERVAL};
use crate::columns::ColumnId;
use crate::group::GroupBy;
use crate::units::Units;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Its table in `config.toml`.
    pub table: &'static str,
    /// Its key there.
    pub name: &'static str,
    /// The field, with what it allows.
    pub slot: for<'a> fn(&'a mut Settings) -> Slot<'a>,
}

impl Setting {
    /// The dotted key.
    pub fn key(&self) -> String {
        format!("{}.{}", self.table, self.name)
    }
}

/// A field of [`Settings`] by what it holds, with its limits.
#[derive(Debug)]
pub enum Slot<'a> {
    /// A length of time.
    Span(&'a mut Duration, RangeInclusive<Duration>),
    /// A whole number.
    Number(&'a mut u16, RangeInclusive<u16>),
    /// A number in thousandths.
    Decimal(&'a mut u16, RangeInclusive<u16>),
    /// Bytes.
    Size(&'a mut u64, RangeInclusive<u64>),
    /// A share of one core in thousandths, or "off".
    Share(&'a mut Option<u16>, RangeInclusive<u16>),
    /// true or false.
    Switch(&'a mut bool),
    /// Columns, at least one, each once.
    Columns(&'a mut Vec<ColumnId>),
    /// What processes are grouped by.
    By(&'a mut Option<GroupBy>),
    /// A column.
    Column(&'a mut ColumnId),
    /// A filter.
    Filter(&'a mut String),
    /// How bytes are written.
    Units(&'a mut Units),
    /// A theme; that there is one of the name is seen when it is loaded.
    Theme(&'a mut String),
    /// One of a few words.
    Choice(&'a mut String, &'static [&'static str]),
    /// A file; empty for none.
    File(&'a mut Option<PathBuf>),
    /// A line of text, not empty.
    Text(&'a mut String),
    /// A program and its arguments; empty for none.
    Program(&'a mut Vec<String>),
}

const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];
const SPANS: &[&str] = &["5m", "15m", "1h", "6h", "1d", "1w", "30d"];
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

const MIB: u64 = 1 << 20;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

const fn setting(table: &'static str, name: &'static str, slot: for<'a> fn(&'a mut Settings) -> Slot<'a>) -> Setting {
    Setting { table, name, slot }
}

/// Every setting, in the order of `config/default.toml`.
pub static SETTINGS: &[Setting] = &[
    setting("sampler", "interval", |s| {
        Slot::Span(&mut s.sampler.interval, MIN_INTERVAL..=MAX_INTERVAL)
    }),
    setting("sampler", "deadline", |s| {
        Slot::Span(&mut s.sampler.deadline, ms(50)..=MINUTE)
    }),
    setting("sampler", "threads", |s| Slot::Number(&mut s.sampler.threads, 0..=64)),
    setting("sampler", "max_stuck", |s| {
        Slot::Number(&mut s.sampler.max_stuck, 1..=512)
    }),
    setting("sampler", "budget", |s| Slot::Share(&mut s.sampler.budget, 1..=1000)),
    setting("sampler", "max_age", |s| {
        Slot::Span(&mut s.sampler.max_age, ms(1000)..=HOUR)
    }),
    setting("sampler", "nice", |s| Slot::Number(&mut s.sampler.nice, 0..=19)),
    setting("ui", "columns", |s| Slot::Columns(&mut s.ui.columns)),
    setting("ui", "group_columns", |s| Slot::Columns(&mut s.ui.group_columns)),
    setting("ui", "by", |s| Slot::By(&mut s.ui.by)),
    setting("ui", "sort", |s| Slot::Column(&mut s.ui.sort)),
    setting("ui", "descending", |s| Slot::Switch(&mut s.ui.descending)),
    setting("ui", "filter", |s| Slot::Filter(&mut s.ui.filter)),
    setting("ui", "units", |s| Slot::Units(&mut s.ui.units)),
    setting("ui", "theme", |s| Slot::Theme(&mut s.ui.theme)),
    setting("ui", "mouse", |s| Slot::Switch(&mut s.ui.mouse)),
    setting("ui", "tree", |s| Slot::Switch(&mut s.ui.tree)),
    setting("ui", "two_tables", |s| Slot::Switch(&mut s.ui.two_tables)),
    setting("ui", "totals", |s| Slot::Switch(&mut s.ui.totals)),
    setting("ui", "kernel_threads", |s| Slot::Switch(&mut s.ui.kernel_threads)),
    setting("ui", "readonly", |s| Slot::Switch(&mut s.ui.readonly)),
    setting("ui", "span", |s| Slot::Choice(&mut s.ui.span, SPANS)),
    setting("ui", "delta", |s| Slot::Span(&mut s.ui.delta, ms(1000)..=HOUR)),
    setting("history", "max_memory", |s| {
        Slot::Size(&mut s.history.max_memory, MIB..=4096 * MIB)
    }),
    setting("trend", "confidence", |s| {
        Slot::Decimal(&mut s.trend.confidence, 500..=999)
    }),
    setting("trend", "least_bytes", |s| {
        Slot::Size(&mut s.trend.least_bytes, 64 << 10..=1024 * MIB)
    }),
    setting("trend", "least_share", |s| {
        Slot::Decimal(&mut s.trend.least_share, 1..=1000)
    }),
    setting("trend", "significance", |s| {
        Slot::Decimal(&mut s.trend.significance, 1000..=50_000)
    }),
    setting("trend", "level_off", |s| {
        Slot::Decimal(&mut s.trend.level_off, 100..=1000)
    }),
    setting("trend", "warmup", |s| {
        Slot::Span(&mut s.trend.warmup, Duration::ZERO..=24 * HOUR)
    }),
    setting("trend", "day_rate", |s| {
        Slot::Decimal(&mut s.trend.day_rate, 0..=10_000)
    }),
    setting("log", "file", |s| Slot::File(&mut s.log.file)),
    setting("log", "level", |s| Slot::Choice(&mut s.log.level, LEVELS)),
];

/// The setting of that dotted key.
pub fn find(key: &str) -> Option<&'static Setting> {
    let (table, name) = key.split_once('.')?;
    SETTINGS.iter().find(|s| s.table == table && s.name == name)
}

/// The tables, in order.
pub fn tables() -> impl Iterator<Item = &'static str> {
    let starts = SETTINGS.iter().enumerate();
    starts
        .filter(|(i, s)| *i == 0 || SETTINGS[i - 1].table != s.table)
        .map(|(_, s)| s.table)
}

/// The names in a table.
pub fn names(table: &str) -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().filter(move |s| s.table == table).map(|s| s.name)
}
