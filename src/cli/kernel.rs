//! The options of `zmtop kernel`.

use clap::{Args, Subcommand};

use super::Format;
use super::shared::{PathArgs, TableArgs};

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
    pub table: TableArgs,
    /// List no more than the first N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Write it as
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub paths: PathArgs,
}
