//! `zmtop why`: explains what happened to memory in a recording.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::tz::TimeZone;

use super::snapshot::{self, local_time, parse_at};
use super::{Failure, complain, output_style, print, settings};
use crate::cli::{ColorArgs, Exit, Format, PathArgs, UnitsArgs};
use crate::config::{Env, state};
use crate::output::why::WhyReport;
use crate::source::Source;
use crate::text;
use crate::why::Why;

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(
    after_help = "An event is a kill because memory was short, a reboot, a stall, or a limit less than a minute ahead. \
                        Without --at, the last kill or reboot is explained, or else the last of the others."
)]
pub struct WhyArgs {
    /// The recording, as ps --format ndjson writes it, plain or zstd; - is standard input. Without it: the black box of the monitor
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Explain the event nearest to this time, or the memory at it: 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m (10 minutes before the end)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub at: Option<String>,
    /// The format of the output
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub format: Format,
    #[command(flatten)]
    pub units: UnitsArgs,
    #[command(flatten)]
    pub color: ColorArgs,
    /// Read the settings from FILE. keymap.toml and themes/ are read from its directory. May also stand before the command
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

/// Reads the recording once, and writes the explanation.
pub(super) fn run(args: &WhyArgs, env: &Env) -> Result<Exit, Failure> {
    let at = parse_at(args.at.as_deref())?;
    let paths = PathArgs {
        config: args.config.clone(),
        proc_root: None,
    };
    let settings = settings(&paths, &args.units, env)?;
    let path = match &args.file {
        Some(path) => path.clone(),
        None => black_box(env)?,
    };
    let at = at.map(|at| snapshot::resolve(&path, &at)).transpose()?;
    let source = Source::open(&path).map_err(|error| error.to_string())?;
    let name = source.name().to_owned();
    let mut why = Why::new(settings.history_config(settings.ui.delta), at);
    let mut first = None;
    for found in source {
        match found {
            Ok(snapshot) => {
                first.get_or_insert(snapshot.time);
                why.push(&snapshot);
            }
            // Use what can be read.
            Err(error) if !error.ends() || first.is_some() => complain(&error.to_string()),
            Err(error) => return Err(error.to_string().into()),
        }
    }
    let explanation = why.finish().ok_or_else(|| match first {
        Some(first) => format!("{name} begins later, at {}", local_time(first)),
        None => format!("{name} holds no snapshot"),
    })?;
    let report = WhyReport {
        explanation: &explanation,
        zone: TimeZone::system(),
        style: output_style(settings.ui.units, args.color.no_color, env),
    };
    Ok(print(&report, args.format))
}

/// Returns the path of the black box.
///
/// # Errors
/// There is none.
fn black_box(env: &Env) -> Result<PathBuf, String> {
    let path = state::blackbox_path(env)?;
    if Path::is_dir(&path) {
        return Ok(path);
    }
    let shown = text::safe(path.as_os_str().as_encoded_bytes());
    Err(format!(
        "there is no black box at {shown}: zmtop has kept no recording yet; name one: zmtop why FILE"
    ))
}
