//! The options of `zmtop held`.

use clap::Args;

use super::shared::{ProcessArg, ReportArgs, of_each_process};

/// The options of `zmtop held`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_args(of_each_process))]
#[command(after_help = "Exit code 3 if the descriptors of any process named could not be read.")]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct HeldArgs {
    /// The processes.
    #[arg(
        help = "By which processes: each by its pid, its program's name, or a part of its command line",
        value_name = "PROCESS",
        required = true
    )]
    pub processes: Vec<ProcessArg>,
    #[command(flatten)]
    pub report: ReportArgs,
}
