//! The options of `zmtop maps`.

use clap::Args;

use super::shared::{ProcessArg, ReportArgs, of_each_process};

/// The options of `zmtop maps`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_args(of_each_process))]
#[command(after_help = "Exit code 3 if the mappings of any process named could not be read.")]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct MapsArgs {
    /// The processes.
    #[arg(
        help = "Of which processes: each by its pid, its program's name, or a part of its command line",
        value_name = "PROCESS",
        required = true
    )]
    pub processes: Vec<ProcessArg>,
    /// List each area, with its address and permissions, not those of one name together
    #[arg(long)]
    pub areas: bool,
    #[command(flatten)]
    pub report: ReportArgs,
}
