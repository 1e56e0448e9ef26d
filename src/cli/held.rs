//! The options of `zmtop held`.

use clap::Args;

use super::Format;
use super::shared::{PathArgs, ProcessArg, TableArgs};

/// The options of `zmtop held`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
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
    pub table: TableArgs,
    /// List no more than the first N of each process
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub paths: PathArgs,
}
