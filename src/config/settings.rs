//! The settings, typed.

use std::path::PathBuf;
use std::time::Duration;

use crate::columns::ColumnId;
use crate::units::Units;

/// Every setting; the fields' docs say what `config/default.toml` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// `[sampler]`
    pub sampler: SamplerSettings,
    /// `[ui]`
    pub ui: UiSettings,
    /// `[log]`
    pub log: LogSettings,
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
}

/// What the monitor shows at its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UiSettings {
    /// The columns, from left to right; at least one.
    pub columns: Vec<ColumnId>,
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
    /// The time over which a Δ is taken, 1 s to 1 h.
    pub delta: Duration,
}

/// The log of zmtop itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// The file; empty for none.
    pub file: Option<PathBuf>,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
}
