//! The settings, typed.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::alerts::AlertSettings;
use super::document::{self, found};
use super::fault::{ConfigError, Faults, shown};
use super::{alerts, file, schema};
use crate::columns::ColumnId;
use crate::group::GroupBy;
use crate::history::HistoryConfig;
use crate::sampler::Options;
use crate::trend::Params;
use crate::units::Units;

/// Every setting; the fields' docs say what `config/default.toml` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `[sampler]`
    pub sampler: SamplerSettings,
    /// `[ui]`
    pub ui: UiSettings,
    /// `[history]`
    pub history: HistorySettings,
    /// `[trend]`
    pub trend: TrendSettings,
    /// `[log]`
    pub log: LogSettings,
    /// `[[alert]]`, in the order of the file.
    pub alerts: Vec<AlertSettings>,
}

/// How the machine is sampled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SamplerSettings {
    /// Time between snapshots, 100 ms to 1 h.
    pub interval: Duration,
    /// How long one read may take before its row says "timed out", 50 ms to 1 min.
    pub deadline: Duration,
    /// Reader threads, 1 to 64; 0 for one a core.
    pub threads: u16,
    /// How many reads may be stuck at once before no further thread is started, 1 to 512.
    pub max_stuck: u16,
    /// The share of one core, in thousandths, that walks may take; `None` walks everything every tick.
    pub budget: Option<u16>,
    /// How old figures may become of which nothing says that they changed, 1 s to 1 h.
    pub max_age: Duration,
    /// How nice the reader threads are, 0 to 19.
    pub nice: u16,
}

/// What the monitor shows at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UiSettings {
    /// The columns, from left to right; at least one.
    pub columns: Vec<ColumnId>,
    /// Those of groups; at least one.
    pub group_columns: Vec<ColumnId>,
    /// What processes are grouped by; `None` lists each.
    pub by: Option<GroupBy>,
    /// The column sorted by.
    pub sort: ColumnId,
    /// Greatest first.
    pub descending: bool,
    /// The filter.
    pub filter: String,
    /// How bytes are written.
    pub units: Units,
    /// A shipped theme's name, or that of a file in `themes/` beside the config.
    pub theme: String,
    /// Wheel and clicks.
    pub mouse: bool,
    /// Tree view.
    pub tree: bool,
    /// Two tables side by side.
    pub two_tables: bool,
    /// A row of totals.
    pub totals: bool,
    /// Kernel threads are listed.
    pub kernel_threads: bool,
    /// Nothing is done to processes, and no program of an alert is run.
    pub readonly: bool,
    /// What charts and sparklines are over: the id of one of the spans there are.
    pub span: String,
    /// The time over which a Δ is taken, 1 s to 1 h.
    pub delta: Duration,
}

/// How much of what was is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistorySettings {
    /// The most that histories may take, 1 MiB to 4 GiB.
    pub max_memory: u64,
}

/// What it takes to be called a leak: [`Params`], numbers in thousandths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrendSettings {
    /// [`Params::confidence`], 0.5 to 0.999.
    pub confidence: u16,
    /// [`Params::least_bytes`], 64 KiB to 1 GiB.
    pub least_bytes: u64,
    /// [`Params::least_share`], 0.001 to 1.
    pub least_share: u16,
    /// [`Params::significance`], 1 to 50.
    pub significance: u16,
    /// [`Params::level_off`], 0.1 to 1.
    pub level_off: u16,
    /// [`Params::warmup`], up to a day.
    pub warmup: Duration,
    /// [`Params::day_rate`], 0 to 10.
    pub day_rate: u16,
}

impl TrendSettings {
    /// As the judge takes them.
    pub fn params(&self) -> Params {
        let whole = |thousandths: u16| f64::from(thousandths) / 1000.0;
        Params {
            confidence: whole(self.confidence),
            least_bytes: self.least_bytes,
            least_share: whole(self.least_share),
            significance: whole(self.significance),
            level_off: whole(self.level_off),
            warmup: self.warmup,
            day_rate: whole(self.day_rate),
        }
    }
}

/// The log of zmtop itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// The file; empty for none.
    pub file: Option<PathBuf>,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
}

/// The shipped `config/default.toml`.
pub const SHIPPED: &str = include_str!("../../config/default.toml");

/// The shortest interval between snapshots.
pub const MIN_INTERVAL: Duration = Options::SHORTEST;
/// The longest.
pub const MAX_INTERVAL: Duration = Options::LONGEST;

static DEFAULT: LazyLock<Settings> = LazyLock::new(|| {
    let file = Path::new("config/default.toml");
    let mut settings = Settings::blank();
    let mut faults = Faults::new(file, SHIPPED);
    settings.read(SHIPPED, &mut faults);
    debug_assert_eq!(faults.finish(), Ok(()), "the shipped settings are sound");
    settings
});

/// What `config/default.toml` says.
impl Default for Settings {
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl Settings {
    /// Before anything is read: only a place to read into.
    fn blank() -> Self {
        Self {
            sampler: SamplerSettings {
                interval: Duration::ZERO,
                deadline: Duration::ZERO,
                threads: 0,
                max_stuck: 0,
                budget: None,
                max_age: Duration::ZERO,
                nice: 0,
            },
            ui: UiSettings {
                columns: Vec::new(),
                group_columns: Vec::new(),
                by: None,
                sort: ColumnId(0),
                descending: false,
                filter: String::new(),
                units: Units::Auto,
                theme: String::new(),
                mouse: false,
                tree: false,
                two_tables: false,
                totals: false,
                kernel_threads: false,
                readonly: false,
                span: String::new(),
                delta: Duration::ZERO,
            },
            history: HistorySettings::default(),
            trend: TrendSettings::default(),
            log: LogSettings {
                file: None,
                level: String::new(),
            },
            alerts: Vec::new(),
        }
    }

    /// How histories are kept, whose changes are taken over `window`.
    pub fn history_config(&self, window: Duration) -> HistoryConfig {
        HistoryConfig {
            window,
            trend: self.trend.params(),
            max_memory: self.history.max_memory,
        }
    }

    /// The default with what a config file says over it.
    ///
    /// # Errors
    /// Every fault in the bytes, with its place; `file` is the name they go by.
    pub fn parse(file: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        let text = file::utf8(file, bytes)?;
        let mut faults = Faults::new(file, &text);
        let mut settings = Self::default();
        settings.read(&text, &mut faults);
        faults.finish().map(|()| settings)
    }

    /// Takes over what a file says, setting by setting, and names everything that it could not take.
    pub(super) fn read(&mut self, text: &str, faults: &mut Faults<'_>) {
        for (table, value) in document::parse(text, faults) {
            if faults.full() {
                return;
            }
            match value.get_ref() {
                _ if *table.get_ref() == alerts::TABLE => self.alerts = alerts::read(&value, faults),
                DeValue::Table(entries) if schema::tables().any(|t| t == *table.get_ref()) => {
                    self.read_table(table.get_ref(), entries, faults);
                }
                _ if schema::tables().any(|t| t == *table.get_ref()) => {
                    let what = format!("expected a table, found {}", found(value.get_ref()));
                    faults.add(&value.span(), table.get_ref(), what);
                }
                _ => {
                    let what = document::unknown("table or key", table.get_ref(), known_tables());
                    faults.add(&table.span(), table.get_ref(), with_table(&what, table.get_ref()));
                }
            }
        }
    }

    fn read_table(&mut self, table: &str, entries: &DeTable<'_>, faults: &mut Faults<'_>) {
        for (name, value) in entries {
            if faults.full() {
                return;
            }
            let key = format!("{table}.{}", name.get_ref());
            let Some(setting) = schema::find(&key) else {
                let what = document::unknown("key", name.get_ref(), schema::names(table));
                faults.add(&name.span(), &key, what);
                continue;
            };
            for (span, what) in (setting.slot)(self).read(value).err().into_iter().flatten() {
                faults.add(&span, &key, what);
            }
        }
    }
}

fn known_tables() -> impl Iterator<Item = &'static str> {
    schema::tables().chain([alerts::TABLE])
}

/// For a key that stands outside its table: says which table has it.
fn with_table(what: &str, name: &str) -> String {
    match schema::SETTINGS.iter().find(|s| s.name == name) {
        Some(s) => format!("unknown key `{}`: it belongs in [{}]", shown(name), s.table),
        None => what.into(),
    }
}

/// Where a key's value stands in a config file.
pub(super) fn span_of(text: &str, table: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let document = DeTable::parse(text).ok()?.into_inner();
    let value = document.get(table)?.get_ref().get(name)?;
    Some(Spanned::span(value))
}
