//! The options of `zmtop maps`.

use clap::Args;

use super::Format;
use super::shared::{PathArgs, ProcessArg, TableArgs};

/// The options of `zmtop maps`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
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
