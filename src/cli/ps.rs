//! The command line of `zmtop ps`.

use clap::Args;

use super::Format;
use super::shared::{PathArgs, SourceArgs, TableArgs, UsageError, set};
use crate::config::Settings;
use crate::group::GroupBy;

/// The options of `zmtop ps`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_arg("from", |from| from.help("Show what was written to FILE as json or ndjson, plain or zstd; - is standard input")))]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct PsArgs {
    /// List only what passes: words, user:NAME, pid:N, pss>100M, /re/, ! not, | or
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Sum up by command, user, unit, container, cgroup, family or mapping
    #[arg(long, value_name = "WHAT", value_parser = by)]
    pub by: Option<GroupBy>,
    /// Show each process below its parent, with what it holds together with its descendants
    #[arg(long, conflicts_with = "by")]
    pub tree: bool,
    #[command(flatten)]
    pub table: TableArgs,
    /// List no more than the first N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// The format of the output
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
    #[arg(long, value_name = "TIME", conflicts_with = "from")]
    pub every: Option<String>,
    /// End after N tables
    #[arg(long, value_name = "N", requires = "every", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// With --every: list what did not change too
    #[arg(long, requires = "every")]
    pub all: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub paths: PathArgs,
}

impl PsArgs {
    /// Applies the options to the settings. The filter is the words typed, never the monitor's.
    ///
    /// # Errors
    /// The first option whose value is wrong; the settings are then of no use.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        set(settings, "FILTER", "ui.filter", Some(&self.filter.join(" ")))?;
        set(settings, "--every", "sampler.interval", self.every.as_deref())?;
        self.table.apply(settings, "ui.columns")
    }
}

/// The ways to group: those of processes, and mappings.
pub(crate) const GROUPS: [GroupBy; 7] = {
    let [a, b, c, d, e, f] = GroupBy::OF_ONE_HOST;
    [a, b, c, d, e, f, GroupBy::Mapping]
};

fn by(typed: &str) -> Result<GroupBy, String> {
    one_of(&GROUPS, typed)
}

/// Parses the id of one of these attributes.
pub(super) fn one_of(known: &[GroupBy], typed: &str) -> Result<GroupBy, String> {
    known.iter().copied().find(|by| by.id() == typed).ok_or_else(|| {
        let known: Vec<_> = known.iter().map(|by| by.id()).collect();
        format!("possible values: {}", known.join(", "))
    })
}
