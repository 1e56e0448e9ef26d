//! The settings of `config.toml`. A setting is one entry here and one line in `config/default.toml`. Tests check that
//! the line exists.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use toml::Spanned;
use toml::de::DeTable;

use super::alerts::AlertSettings;
use super::document::{self, Table, unknown};
use super::fault::{ConfigError, Faults, shown};
use super::setting::{
    COLUMN, Choice, Columns, Decimal, FILE, FILTER, GROUPING, Number, OomScoreAdj, SettingRef, SettingsTable, Share,
    Size, Span, Switch, THEME_NAME, UNIT, read_table, settings,
};
use super::{alerts, file};
use crate::columns::ColumnId;
use crate::group::GroupBy;
use crate::history::HistoryConfig;
use crate::sampler::Options;
use crate::trend::Params;
use crate::units::Units;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const YEARS: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The shortest interval between snapshots.
pub const MIN_INTERVAL: Duration = Options::SHORTEST;
/// The longest interval between snapshots.
pub const MAX_INTERVAL: Duration = Options::LONGEST;

settings! {
    /// The settings of the sampler.
    pub struct SamplerSettings {
        /// Time between snapshots.
        pub interval: Duration = Span(MIN_INTERVAL..=MAX_INTERVAL),
        /// Deadline of one read. After it the row shows "timed out".
        pub deadline: Duration = Span(Duration::from_millis(50)..=MINUTE),
        /// Number of reader threads. 0 means one per core.
        pub threads: u16 = Number(0..=64),
        /// Maximum number of stuck reads. Beyond it no further thread is started.
        pub max_stuck: u16 = Number(1..=512),
        /// CPU budget for walks, in thousandths of one core. `None` walks every process in every tick.
        pub budget: Option<u16> = Share(1..=1000),
        /// Maximum age of figures that show no sign of change.
        pub max_age: Duration = Span(SECOND..=HOUR),
        /// Interval between checks of which pages a process touched since its referenced bits were cleared.
        pub cold_interval: Duration = Span(SECOND..=HOUR),
        /// Read how much memory `malloc` keeps free in large processes.
        pub heaps: bool = Switch,
        /// Niceness of the reader threads.
        pub nice: u16 = Number(0..=19),
    }
}

settings! {
    /// The initial state of the monitor.
    pub struct UiSettings {
        /// The columns of processes, from left to right.
        pub columns: Vec<ColumnId> = Columns,
        /// The columns of groups.
        pub group_columns: Vec<ColumnId> = Columns,
        /// The attribute processes are grouped by; `None` lists individual processes.
        pub by: Option<GroupBy> = GROUPING,
        /// The column sorted by.
        pub sort: ColumnId = COLUMN,
        /// Largest first.
        pub descending: bool = Switch,
        /// The filter.
        pub filter: String = FILTER,
        /// The unit of byte figures.
        pub units: Units = UNIT,
        /// The name of a shipped theme, or of a file in `themes/` beside the config.
        pub theme: String = THEME_NAME,
        /// The characters that the screen is drawn with.
        pub charset: String = Choice(&["auto", "utf-8", "ascii"]),
        /// zmtop handles the mouse wheel and clicks.
        pub mouse: bool = Switch,
        /// Tree view.
        pub tree: bool = Switch,
        /// Equal siblings are one row.
        pub fold: bool = Switch,
        /// Two tables side by side.
        pub two_tables: bool = Switch,
        /// Shows a row of totals.
        pub totals: bool = Switch,
        /// The height of the graph of the machine's memory.
        pub graph: String = Choice(&["auto", "low", "high", "off"]),
        /// Lists kernel threads.
        pub kernel_threads: bool = Switch,
        /// Processes cannot be changed, and alerts do not run programs.
        pub readonly: bool = Switch,
        /// The time span of charts and sparklines.
        pub span: String = Choice(&["5m", "15m", "30m", "1h", "2h", "3h", "6h", "12h", "1d", "1w", "30d"]),
        /// The time span over which changes (Δ) are computed.
        pub delta: Duration = Span(SECOND..=HOUR),
    }
}

settings! {
    /// The settings of histories.
    pub struct HistorySettings {
        /// Maximum memory of all histories, in bytes.
        pub max_memory: u64 = Size(128 * KIB..=4 * GIB),
        /// Keeps the history between runs.
        pub keep: bool = Switch,
    }
}

settings! {
    impl Params {
        confidence = Decimal(0.5..=0.999),
        least_bytes = Size(64 * KIB..=GIB),
        least_share = Decimal(0.001..=1.0),
        significance = Decimal(1.0..=50.0),
        level_off = Decimal(0.1..=1.0),
        day_rate = Decimal(0.0..=10.0),
        danger = Span(MINUTE..=24 * HOUR),
    }
}

settings! {
    /// Actions on a leak other than reporting it. These settings are part of `[trend]`.
    pub struct SuspectSettings {
        /// Clears the referenced bits of a process once it is judged leaking, to see which of its memory is never
        /// touched.
        pub prove: bool = Switch,
    }
}

settings! {
    /// The settings of call paths.
    pub struct CallersSettings {
        /// Maximum number of growing processes whose page faults are sampled at once.
        pub armed: u16 = Number(0..=16),
    }
}

settings! {
    /// The settings of zmtop's own process.
    pub struct OwnSettings {
        /// `oom_score_adj`; `None` for the inherited one.
        pub oom_score_adj: Option<i16> = OomScoreAdj(-1000..=1000),
        /// Locks used pages in RAM.
        pub lock_memory: bool = Switch,
    }
}

settings! {
    /// The settings of zmtop's own log.
    pub struct LogSettings {
        /// The file; `None` for no log.
        pub file: Option<PathBuf> = FILE,
        /// The least severe level that is logged.
        pub level: String = Choice(&["error", "warn", "info", "debug", "trace"]),
    }
}

settings! {
    /// The settings of recordings and of the black box.
    pub struct RecordSettings {
        /// The monitor and the exporter record into the black box.
        pub black_box: bool = Switch,
        /// Maximum age of files without incidents.
        pub keep: Duration = Span(MINUTE..=YEARS),
        /// Maximum size of files without incidents, in bytes.
        pub size: u64 = Size(4 * MIB..=1024 * GIB),
        /// Maximum age of pinned files.
        pub pinned_keep: Duration = Span(HOUR..=YEARS),
        /// Maximum size of pinned files, in bytes.
        pub pinned_size: u64 = Size(4 * MIB..=1024 * GIB),
        /// When written bytes are forced to the disk.
        pub flush: String = Choice(&["snapshot", "minute", "never"]),
        /// The part of command lines that is recorded.
        pub cmdline: String = Choice(&["full", "name", "none"]),
        /// Write a line to the kernel's log at a danger of less than a minute, a stall and a kill.
        pub last_words: bool = Switch,
    }
}

impl RecordSettings {
    pub fn retention(&self) -> Retention {
        Retention {
            age: self.keep,
            bytes: self.size,
            pinned_age: self.pinned_keep,
            pinned_bytes: self.pinned_size,
        }
    }
}

/// When the files of a folder of recordings are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Maximum age of files without incidents.
    pub age: Duration,
    /// Maximum size of all of them in bytes.
    pub bytes: u64,
    /// Maximum age of pinned files.
    pub pinned_age: Duration,
    /// Maximum size of all pinned files in bytes.
    pub pinned_bytes: u64,
}

/// All settings.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `[sampler]`
    pub sampler: SamplerSettings,
    /// `[ui]`
    pub ui: UiSettings,
    /// `[history]`
    pub history: HistorySettings,
    /// `[trend]`
    pub trend: Params,
    /// Also part of `[trend]`.
    pub suspects: SuspectSettings,
    /// `[record]`
    pub record: RecordSettings,
    /// `[callers]`
    pub callers: CallersSettings,
    /// `[zmtop]`
    pub own: OwnSettings,
    /// `[log]`
    pub log: LogSettings,
    /// `[[alert]]`, in file order.
    pub alerts: Vec<AlertSettings>,
}

/// The shipped `config/default.toml`.
pub const SHIPPED: &str = include_str!("../../config/default.toml");

static DEFAULT: LazyLock<Settings> = LazyLock::new(|| {
    let mut settings = Settings {
        sampler: SamplerSettings::blank(),
        ui: UiSettings::blank(),
        history: HistorySettings::blank(),
        trend: Params::default(),
        suspects: SuspectSettings::blank(),
        record: RecordSettings::blank(),
        callers: CallersSettings::blank(),
        own: OwnSettings::blank(),
        log: LogSettings::blank(),
        alerts: Vec::new(),
    };
    let faults = Faults::new(Path::new("config/default.toml"), SHIPPED);
    settings.read(SHIPPED, &faults);
    debug_assert_eq!(faults.finish(), Ok(()), "the shipped settings are sound");
    settings
});

/// Returns the settings in `config/default.toml`.
impl Default for Settings {
    fn default() -> Self {
        DEFAULT.clone()
    }
}

impl Settings {
    /// Returns every table except `[[alert]]` with its settings, in the order of `config/default.toml`.
    pub fn tables(&mut self) -> [(&'static str, Vec<SettingRef<'_>>); 8] {
        let mut trend = self.trend.settings();
        trend.extend(self.suspects.settings());
        [
            ("sampler", self.sampler.settings()),
            ("ui", self.ui.settings()),
            ("history", self.history.settings()),
            ("trend", trend),
            ("record", self.record.settings()),
            ("callers", self.callers.settings()),
            ("zmtop", self.own.settings()),
            ("log", self.log.settings()),
        ]
    }

    /// Returns the shipped alerts that are not in effect because the config has alerts of its own.
    pub fn replaced_alerts(&self) -> Vec<AlertSettings> {
        let is_same = |own: &AlertSettings, shipped: &AlertSettings| {
            own.name == shipped.name || (&own.on, &own.when) == (&shipped.on, &shipped.when)
        };
        let own = &self.alerts;
        let shipped = Self::default().alerts.into_iter();
        // Without any alert, none is wanted.
        shipped
            .filter(|shipped| !own.is_empty() && !own.iter().any(|own| is_same(own, shipped)))
            .collect()
    }

    /// Returns the setting with a dotted key.
    pub fn setting(&mut self, key: &str) -> Option<SettingRef<'_>> {
        let (table, name) = key.split_once('.')?;
        let (_, settings) = self.tables().into_iter().find(|(known, _)| *known == table)?;
        settings.into_iter().find(|setting| setting.name == name)
    }

    /// Returns the configuration of histories whose changes are computed over `window`.
    pub fn history_config(&self, window: Duration) -> HistoryConfig {
        HistoryConfig {
            window,
            trend: self.trend,
            max_memory: self.history.max_memory,
            own_pid: None,
        }
    }

    /// Reads the bytes of a config file over the defaults.
    ///
    /// # Errors
    /// Every fault in the bytes, with its place. `file` is the name used in messages.
    pub fn parse(file: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        let text = file::utf8(file, bytes)?;
        let faults = Faults::new(file, &text);
        let mut settings = Self::default();
        settings.read(&text, &faults);
        faults.finish().map(|()| settings)
    }

    /// Reads the text of a config file over these settings, one setting at a time. Adds a fault for everything that
    /// cannot be read.
    pub(super) fn read(&mut self, text: &str, faults: &Faults<'_>) {
        let document = document::parse(text, faults);
        let root = Table::root(&document, faults);
        let named = self.tables().into_iter();
        let keys: Vec<_> = named
            .flat_map(|(table, settings)| {
                settings
                    .into_iter()
                    .map(move |setting| (table, setting.name.to_owned()))
            })
            .collect();
        for (name, item) in root.entries() {
            if name == alerts::TABLE {
                self.alerts = alerts::read(&item);
                continue;
            }
            let mut tables = self.tables();
            let table_of = |key: &str| keys.iter().find(|(_, known)| known == key).map(|(table, _)| *table);
            if let Some((_, settings)) = tables.iter_mut().find(|(table, _)| *table == name) {
                let table = item.table("a table");
                if let Some(table) = table.as_ref() {
                    read_table(settings, table, table_of);
                }
            } else {
                root.fault_of_name(name, unknown_table(name, &tables));
            }
        }
    }
}

/// Describes an unknown name outside all tables. It may be a key that belongs in one.
fn unknown_table(name: &str, tables: &[(&'static str, Vec<SettingRef<'_>>)]) -> String {
    let has_key = |settings: &[SettingRef<'_>]| settings.iter().any(|setting| setting.name == name);
    if let Some((table, _)) = tables.iter().find(|(_, settings)| has_key(settings)) {
        return format!("unknown key `{}`: it belongs in [{table}]", shown(name));
    }
    unknown(
        "table or key",
        name,
        tables.iter().map(|(table, _)| *table).chain([alerts::TABLE]),
    )
}

/// Returns the byte range of a key's value in the text of a config file.
pub(super) fn span_of(text: &str, table: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let document = DeTable::parse(text).ok()?.into_inner();
    let value = document.get(table)?.get_ref().get(name)?;
    Some(Spanned::span(value))
}
