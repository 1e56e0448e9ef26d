//! The settings of `config.toml`. A setting is one entry here and one line in `config/default.toml`; tests demand the second.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::alerts::AlertSettings;
use super::document::{self, found, unknown};
use super::fault::{ConfigError, Faults, shown};
use super::setting::{SettingRef, SettingsTable, read_table, settings};
use super::value_kind::{
    Choice, Column, Columns, Decimal, File, FilterText, Grouping, Number, Share, Size, Span, Switch, ThemeName,
    UnitName,
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
        /// Deadline of one read, after which its row says "timed out".
        pub deadline: Duration = Span(Duration::from_millis(50)..=MINUTE),
        /// Number of reader threads; 0 for one a core.
        pub threads: u16 = Number(0..=64),
        /// Number of reads that may be stuck at once before no further thread is started.
        pub max_stuck: u16 = Number(1..=512),
        /// Share of one core, in thousandths, that page-table walks may use; `None` walks every process in
        /// every tick.
        pub budget: Option<u16> = Share(1..=1000),
        /// Maximum age of figures while nothing says that they changed.
        pub max_age: Duration = Span(SECOND..=HOUR),
        /// Time between two looks at what a process touched since its referenced bits were cleared.
        pub cold_interval: Duration = Span(SECOND..=HOUR),
        /// Niceness of the reader threads.
        pub nice: u16 = Number(0..=19),
    }
}

settings! {
    /// The state of the monitor when it starts.
    pub struct UiSettings {
        /// The columns of processes, from left to right.
        pub columns: Vec<ColumnId> = Columns,
        /// The columns of groups.
        pub group_columns: Vec<ColumnId> = Columns,
        /// The attribute processes are grouped by; `None` lists each.
        pub by: Option<GroupBy> = Grouping,
        /// The column sorted by.
        pub sort: ColumnId = Column,
        /// Greatest first.
        pub descending: bool = Switch,
        /// The filter.
        pub filter: String = FilterText,
        /// The unit of byte figures.
        pub units: Units = UnitName,
        /// The name of a shipped theme, or of a file in `themes/` beside the config.
        pub theme: String = ThemeName,
        /// The characters that the screen is drawn with.
        pub charset: String = Choice(&["auto", "utf-8", "ascii"]),
        /// Wheel and clicks are for zmtop.
        pub mouse: bool = Switch,
        /// Tree view.
        pub tree: bool = Switch,
        /// Two tables side by side.
        pub two_tables: bool = Switch,
        /// A row of totals is shown.
        pub totals: bool = Switch,
        /// The height of the graph of the machine's memory.
        pub graph: String = Choice(&["auto", "low", "high", "off"]),
        /// Kernel threads are listed.
        pub kernel_threads: bool = Switch,
        /// Processes cannot be changed, and alerts run no programs.
        pub readonly: bool = Switch,
        /// The time span of charts and sparklines.
        pub span: String = Choice(&["5m", "15m", "30m", "1h", "2h", "3h", "6h", "12h", "1d", "1w", "30d"]),
        /// The time over which a Δ is taken.
        pub delta: Duration = Span(SECOND..=HOUR),
    }
}

settings! {
    /// The settings of histories.
    pub struct HistorySettings {
        /// Maximum memory of all histories, in bytes.
        pub max_memory: u64 = Size(MIB..=4 * GIB),
        /// The past is kept from one start to the next.
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
    /// The settings of what is done about a leak beside telling it; they stand in `[trend]`, too.
    pub struct SuspectSettings {
        /// The referenced bits of a process are cleared once it is called a leak, to see what of it is never touched.
        pub prove: bool = Switch,
    }
}

settings! {
    /// The settings of zmtop's own log.
    pub struct LogSettings {
        /// The file; `None` for no log.
        pub file: Option<PathBuf> = File,
        /// The least severe level that is logged.
        pub level: String = Choice(&["error", "warn", "info", "debug", "trace"]),
    }
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
    /// `[trend]`, as well.
    pub suspects: SuspectSettings,
    /// `[log]`
    pub log: LogSettings,
    /// `[[alert]]`, in the order of the file.
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
        log: LogSettings::blank(),
        alerts: Vec::new(),
    };
    let mut faults = Faults::new(Path::new("config/default.toml"), SHIPPED);
    settings.read(SHIPPED, &mut faults);
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
    pub fn tables(&mut self) -> [(&'static str, Vec<SettingRef<'_>>); 5] {
        let mut trend = self.trend.settings();
        trend.extend(self.suspects.settings());
        [
            ("sampler", self.sampler.settings()),
            ("ui", self.ui.settings()),
            ("history", self.history.settings()),
            ("trend", trend),
            ("log", self.log.settings()),
        ]
    }

    /// Returns the setting of a dotted key.
    pub fn setting(&mut self, key: &str) -> Option<SettingRef<'_>> {
        let (table, name) = key.split_once('.')?;
        let (_, settings) = self.tables().into_iter().find(|(known, _)| *known == table)?;
        settings.into_iter().find(|setting| setting.name == name)
    }

    /// Returns the configuration of histories whose changes are taken over `window`.
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
    /// Every fault in the bytes, with its place; `file` is the name they go by.
    pub fn parse(file: &Path, bytes: Vec<u8>) -> Result<Self, ConfigError> {
        let text = file::utf8(file, bytes)?;
        let mut faults = Faults::new(file, &text);
        let mut settings = Self::default();
        settings.read(&text, &mut faults);
        faults.finish().map(|()| settings)
    }

    /// Reads the text of a config file over these settings, setting by setting, and names everything that
    /// cannot be read.
    pub(super) fn read(&mut self, text: &str, faults: &mut Faults<'_>) {
        for (entry, value) in document::parse(text, faults) {
            if faults.full() {
                return;
            }
            let name = &**entry.get_ref();
            if name == alerts::TABLE {
                self.alerts = alerts::read(&value, faults);
                continue;
            }
            let mut tables = self.tables();
            match (tables.iter_mut().find(|(table, _)| *table == name), value.get_ref()) {
                (Some((table, settings)), DeValue::Table(entries)) => read_table(table, settings, entries, faults),
                (Some(_), other) => {
                    let what = format!("expected a table, found {}", found(other));
                    faults.add(&value.span(), name, what);
                }
                (None, _) => faults.add(&entry.span(), name, unknown_table(name, &tables)),
            }
        }
    }
}

/// Describes an unknown name outside all tables, which may be a key that belongs into one.
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

/// Returns the bytes that a key's value takes in the text of a config file.
pub(super) fn span_of(text: &str, table: &str, name: &str) -> Option<std::ops::Range<usize>> {
    let document = DeTable::parse(text).ok()?.into_inner();
    let value = document.get(table)?.get_ref().get(name)?;
    Some(Spanned::span(value))
}
