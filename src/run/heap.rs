//! `zmtop heap`: what the allocators of a process hold.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::report::resolve;
use super::{Failure, output_style, print_readable, sampler_options, settings};
use crate::cli::{ColorArgs, Exit, PathArgs, ProcessArg, UnitsArgs};
use crate::config::Env;
use crate::heaps;
use crate::model::Missing;
use crate::output::Format;
use crate::output::heap::HeapReport;
use crate::output::maps::reason;
use crate::proc::files;

#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(
    after_help = "Reads the heap of glibc from outside, with the program running: nothing is stopped, injected or written. Other allocators and runtimes are named, with what shows their state.\n\nNeeds the right to trace the process: the same user, as far as kernel.yama.ptrace_scope allows it, or CAP_SYS_PTRACE. Exit code 3 if the heap could not be read."
)]
pub struct HeapArgs {
    /// The process: its pid, its program's name, or a part of its command line
    #[arg(value_name = "PROCESS")]
    pub process: ProcessArg,
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: HeapFormat,
    #[command(flatten)]
    pub units: UnitsArgs,
    #[command(flatten)]
    pub color: ColorArgs,
    /// Read the settings from FILE. May also stand before the command
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HeapFormat {
    /// A table of arenas, and what they mean
    #[default]
    Table,
    /// One object
    Json,
}

/// Maximum time to follow free chunks.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) fn run(args: &HeapArgs, env: &Env) -> Result<Exit, Failure> {
    let paths = PathArgs {
        config: args.config.clone(),
        proc_root: None,
    };
    let settings = settings(&paths, &args.units, env)?;
    let options = sampler_options(&settings.sampler, None);
    let pid = resolve("PROCESS", std::slice::from_ref(&args.process), &options)?[0];
    let state = heaps::look(Path::new("/proc"), pid, LIMIT).map_err(|why| refusal(pid, why))?;
    let fault = state.heap.as_ref().err().map(|why| format!("{pid}: {why}"));
    let report = HeapReport {
        state,
        style: output_style(settings.ui.units, args.color.no_color, env),
    };
    let format = match args.format {
        HeapFormat::Table => Format::Table,
        HeapFormat::Json => Format::Json,
    };
    Ok(print_readable(&report, format, fault.into_iter()))
}

fn refusal(pid: u32, why: Missing) -> String {
    match why {
        Missing::Denied => {
            let advice = files::advice("CAP_SYS_PTRACE");
            match files::ptrace_scope() {
                Some(scope @ 1..) => format!("{pid}: {advice}; kernel.yama.ptrace_scope is {scope}"),
                _ => format!("{pid}: {advice}"),
            }
        }
        other => reason(pid, other),
    }
}
