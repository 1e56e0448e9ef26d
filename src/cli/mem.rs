//! The options of `zmtop mem`.

use clap::{Args, ValueEnum};

use super::PlaceArgs;

/// The options of `zmtop mem`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MemArgs {
    /// Write bytes as auto, k, m, g or bytes
    #[arg(long, value_name = "UNIT")]
    pub units: Option<String>,
    /// Write it as
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: DataFormat,
    /// Use no colours
    #[arg(long)]
    pub no_color: bool,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the command's own description"
    )]
    pub place: PlaceArgs,
}

/// How something is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DataFormat {
    /// For people
    #[default]
    Table,
    /// One JSON document
    Json,
    /// JSON, one line for each
    Ndjson,
    /// Comma-separated values
    Csv,
}
