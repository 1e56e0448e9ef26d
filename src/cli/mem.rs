//! The options of `zmtop mem`.

use std::path::PathBuf;

use clap::Args;

use super::{Format, PlaceArgs};

/// The options of `zmtop mem`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MemArgs {
    /// Write bytes as auto, k, m, g or bytes
    #[arg(long, value_name = "UNIT")]
    pub units: Option<String>,
    /// Write it as
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Account for what was written to FILE as json or ndjson, plain or zstd; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "proc_root")]
    pub from: Option<PathBuf>,
    /// With --from: as it was at 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m before its end
    #[arg(long, value_name = "TIME", requires = "from", allow_hyphen_values = true)]
    pub at: Option<String>,
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
