//! The options of `zmtop leaks`.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::Args;

use super::Format;
use super::shared::{ColorArgs, PathArgs, ProcessArg, SourceArgs, UnitsArgs, UsageError, set, watching_time};
use crate::config::Settings;
use crate::group::GroupBy;

/// The options of `zmtop leaks`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_arg("from", |from| from.help("Judge what was written to FILE as json or ndjson, plain or zstd; - is standard input")))]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct LeaksArgs {
    /// Tell only of what passes: words, user:NAME, pid:N, footprint>100M, /re/, ! not, | or
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Watch for so long before telling: 2m to 24h. Ctrl-C tells at once
    #[arg(
        long = "for",
        value_name = "TIME",
        conflicts_with = "from",
        help = "Watch for so long before telling: 2m to 24h (20m); growth shows after two minutes, a leak after 16 at the soonest. With --prove 1s to 24h (1m). Ctrl-C tells at once"
    )]
    pub time: Option<String>,
    /// Show which memory this process, by pid or name, does not touch meanwhile, as leaked memory is never touched:
    /// clears the kernel's marks on its pages, waits, and looks
    #[arg(long, value_name = "PROCESS",
        conflicts_with_all = ["filter", "interval", "by", "all", "check", "from"])]
    pub prove: Option<ProcessArg>,
    /// Time between two looks, in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME", conflicts_with = "from")]
    pub interval: Option<String>,
    /// Tell of groups by command, user, unit, container, cgroup or family instead
    #[arg(long, value_name = "WHAT", value_parser = super::by)]
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
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub units: UnitsArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub color: ColorArgs,
    #[command(flatten)]
    pub paths: PathArgs,
}

impl LeaksArgs {
    /// Applies the options to the settings. The filter is the words typed, never the monitor's.
    ///
    /// # Errors
    /// The first option whose value is wrong; the settings are then of no use.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        set(settings, "FILTER", "ui.filter", Some(&self.filter.join(" ")))?;
        set(settings, "--interval", "sampler.interval", self.interval.as_deref())?;
        self.units.apply(settings)
    }

    /// Returns how long to watch; `default` where that was not asked for.
    ///
    /// # Errors
    /// It is no length of time, or too short or too long.
    pub fn watching_time(&self, range: RangeInclusive<Duration>, default: Duration) -> Result<Duration, UsageError> {
        watching_time(self.time.as_deref(), range, default)
    }
}
