//! The command line of `zmtop ps`.

use std::path::PathBuf;

use clap::Args;

use super::{Format, PlaceArgs, TableArgs};
use crate::group::GroupBy;

/// The options of `zmtop ps`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct PsArgs {
    /// List only what passes: words, user:NAME, pid:N, pss>100M, /re/, ! not, | or
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Sum up by command, user, unit, container, cgroup or mapping
    #[arg(long, value_name = "WHAT", value_parser = by)]
    pub by: Option<GroupBy>,
    /// Show each process below its parent, with what it holds together with its descendants
    #[arg(long, conflicts_with = "by")]
    pub tree: bool,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the command's own description"
    )]
    pub table: TableArgs,
    /// List no more than the first N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Write it as
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    /// Write bytes as a percentage of the machine's RAM
    #[arg(long, conflicts_with = "units")]
    pub percent: bool,
    /// Draw the column sorted by as bars beside the rows
    #[arg(long)]
    pub bars: bool,
    /// Leave out the line of titles
    #[arg(short = 'H', long)]
    pub no_header: bool,
    /// Leave out the row of totals
    #[arg(long)]
    pub no_totals: bool,
    /// Print nothing but the sum of the column sorted by, in bytes unless --units says otherwise
    #[arg(long, conflicts_with_all = ["top", "bars", "columns", "no_totals"])]
    pub total_only: bool,
    /// Go on and print, this often, what changed: in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// End after N tables
    #[arg(long, value_name = "N", requires = "every", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// With --every: list what did not change too
    #[arg(long, requires = "every")]
    pub all: bool,
    /// Show what was written to FILE as json or ndjson, plain or zstd; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["every", "proc_root"])]
    pub from: Option<PathBuf>,
    /// With --from: as it was at 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m before its end
    #[arg(long, value_name = "TIME", requires = "from", allow_hyphen_values = true)]
    pub at: Option<String>,
    #[command(flatten)]
    #[expect(
        missing_docs,
        reason = "a doc comment here would replace the command's own description"
    )]
    pub place: PlaceArgs,
}

fn by(typed: &str) -> Result<GroupBy, String> {
    one_of(&GroupBy::ALL, typed)
}

/// The one of these that was typed.
pub(super) fn one_of(known: &[GroupBy], typed: &str) -> Result<GroupBy, String> {
    known.iter().copied().find(|by| by.id() == typed).ok_or_else(|| {
        let known: Vec<_> = known.iter().map(|by| by.id()).collect();
        format!("possible values: {}", known.join(", "))
    })
}
