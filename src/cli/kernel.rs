//! The options of `zmtop kernel`.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::shared::{ReportArgs, UsageError, watching_time};

/// The options of `zmtop kernel`.
#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct KernelArgs {
    /// The part of the kernel's memory.
    #[command(subcommand)]
    pub part: KernelPart,
}

/// A part of the kernel's memory.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum KernelPart {
    /// Print the slab caches: the memory of each, how much of it is used, and what is wasted
    Slab(SlabArgs),
    /// Print who takes memory from the kernel's allocator: what was asked for, taken, wasted and not freed, by call site
    Callers(CallersArgs),
    /// Print which lines of the kernel's source hold memory, by the kernel's own account
    Sites(SitesArgs),
}

/// The options of `zmtop kernel slab`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "Only root may read the caches. Without them their sums by meminfo are printed, with exit code 3."
)]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct SlabArgs {
    /// List and sum only what passes: words of the name, size>10M, 'use<50', /re/, ! not, | or
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// The options of `zmtop kernel callers`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "Only root may trace, and tracefs must be mounted. It traces in an instance of its own, and leaves other traces alone. Without either it says what is missing, with exit code 3."
)]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct CallersArgs {
    /// List and sum only what passes: words of the name, wasted>10M, 'frag>50', /re/, ! not, | or
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Trace for so long: 100ms to 24h (5s). Ctrl-C tells at once
    #[arg(long = "for", value_name = "TIME")]
    pub time: Option<String>,
    /// Sum by
    #[arg(long, value_name = "WHAT", default_value = "site")]
    pub by: CallersBy,
    #[command(flatten)]
    pub report: ReportArgs,
}

/// The rows of `zmtop kernel callers`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum CallersBy {
    /// Each place in a function by itself.
    #[default]
    Site,
    /// All places in a function together.
    Symbol,
}

impl CallersArgs {
    /// Returns how long to trace.
    ///
    /// # Errors
    /// It is no length of time, or too short or too long.
    pub fn time(&self) -> Result<Duration, UsageError> {
        let range = Duration::from_millis(100)..=Duration::from_secs(24 * 3600);
        watching_time(self.time.as_deref(), range, Duration::from_secs(5))
    }
}

/// The options of `zmtop kernel sites`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "Linux 6.10 and later keep this account where memory allocation profiling is built in and switched on. Without it the command says what does that, with exit code 3."
)]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct SitesArgs {
    /// List and sum only what passes: words of function, file or module, size>10M, /re/, ! not, | or
    #[arg(value_name = "FILTER")]
    pub filter: Vec<String>,
    #[command(flatten)]
    pub report: ReportArgs,
}
