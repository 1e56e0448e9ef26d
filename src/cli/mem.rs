//! The options of `zmtop mem`.

use clap::Args;

use super::Format;
use super::shared::{ColorArgs, PathArgs, SourceArgs, UnitsArgs};

/// The options of `zmtop mem`.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(mut_arg("from", |from| from.help("Account for what was written to FILE as json or ndjson, plain or zstd; - is standard input")))]
#[expect(
    missing_docs,
    reason = "a doc comment on a flattened field replaces the command's own description"
)]
pub struct MemArgs {
    #[command(flatten)]
    pub units: UnitsArgs,
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub color: ColorArgs,
    #[command(flatten)]
    pub paths: PathArgs,
}
