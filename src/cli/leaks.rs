//! The options of `zmtop leaks`.

use std::path::PathBuf;

use clap::Args;

use super::{Format, PlaceArgs};
use crate::group::GroupBy;

/// The options of `zmtop leaks`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaksArgs {
    /// Tell only of what passes: words, user:NAME, pid:N, footprint>100M, /re/, ! not, | or
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Watch for so long before telling: 2m to 24h. Ctrl-C tells at once
    #[arg(long = "for", value_name = "TIME", default_value = "10m", conflicts_with = "from")]
    pub time: String,
    /// Time between two looks, in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME", conflicts_with = "from")]
    pub interval: Option<String>,
    /// Tell of groups by command, user, unit, container or cgroup instead
    #[arg(long, value_name = "WHAT", value_parser = by)]
    pub by: Option<GroupBy>,
    /// Tell of all that could be judged, not only of what grows
    #[arg(long)]
    pub all: bool,
    /// End with exit code 1 if anything leaks
    #[arg(long)]
    pub check: bool,
    /// Tell of no more than the first N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Write it as
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Write bytes as auto, k, m, g or bytes
    #[arg(long, value_name = "UNIT")]
    pub units: Option<String>,
    /// Judge what was written to FILE as json or ndjson, plain or zstd; - is standard input
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

fn by(typed: &str) -> Result<GroupBy, String> {
    super::ps::one_of(&GroupBy::OF_PROCESSES, typed)
}
