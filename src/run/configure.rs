//! `zmtop config`: shows and checks the settings.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use rustix::fs::Access;
use rustix::io::Errno;

use crate::cli::Exit;
use crate::config::fault::shown_path;
use crate::config::{Config, Env, Settings, settings};

#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub action: ConfigAction,
    /// Read the settings from FILE. keymap.toml and themes/ are read from its directory. May also stand before the command
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum ConfigAction {
    /// Print the settings in force, and which differ from the defaults
    Show,
    /// Report all errors in the settings, the keymap and the theme
    Check,
    /// Print the path of the settings file
    Path,
    /// Print the default settings with explanations
    Default,
}

/// Runs `zmtop config`. Faults are written to `err`.
pub fn run(args: &ConfigArgs, env: &Env, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let explicit = args.config.as_deref();
    match args.action {
        ConfigAction::Default => out.write_all(settings::SHIPPED.as_bytes())?,
        ConfigAction::Path => {
            let Some(path) = explicit.map(Path::to_path_buf).or_else(|| env.config_file()) else {
                writeln!(
                    err,
                    "zmtop: neither XDG_CONFIG_HOME nor HOME names a directory for the settings"
                )?;
                return Ok(Exit::Usage);
            };
            // Write raw bytes, so that a script can open the path. The path comes from the user.
            out.write_all(path.as_os_str().as_bytes())?;
            out.write_all(b"\n")?;
        }
        ConfigAction::Check | ConfigAction::Show => match Config::load(explicit, env) {
            Ok(config) if args.action == ConfigAction::Show => {
                warn(&config, err)?;
                show(config, out)?;
            }
            // A setting that is ignored is a fault of the file's location, if not of its text.
            Ok(config) if config.unread.is_some() || !config.warnings.is_empty() => {
                warn(&config, err)?;
                return Ok(Exit::Usage);
            }
            Ok(config) => writeln!(out, "{}: ok", source_text(&config))?,
            Err(e) => {
                writeln!(err, "{e}")?;
                return Ok(Exit::Usage);
            }
        },
    }
    out.flush()?;
    Ok(Exit::Done)
}

fn warn(config: &Config, err: &mut dyn Write) -> io::Result<()> {
    if let Some(unread) = &config.unread {
        writeln!(err, "{unread}")?;
    }
    let source = source_text(config);
    let mut warnings = config.warnings.iter();
    warnings.try_for_each(|warning| writeln!(err, "{source}: {warning}"))
}

fn source_text(config: &Config) -> String {
    match &config.file {
        Some(file) => match rustix::fs::access(file, Access::READ_OK) {
            Ok(()) => shown_path(file),
            Err(Errno::ACCESS) => format!("{} (not readable: the shipped settings)", shown_path(file)),
            Err(_) => format!("{} (not there: the shipped settings)", shown_path(file)),
        },
        None => "the shipped settings".into(),
    }
}

/// Writes the settings as valid TOML. Each value that differs from the default is followed by the default in a comment.
fn show(config: Config, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "# {}", source_text(&config))?;
    let (mut settings, mut default) = (config.settings, Settings::default());
    for ((table, settings), (_, defaults)) in settings.tables().into_iter().zip(default.tables()) {
        writeln!(out, "\n[{table}]")?;
        for (setting, default) in settings.into_iter().zip(defaults) {
            let (value, default) = (setting.to_toml(), default.to_toml());
            write!(out, "{} = {value}", setting.name)?;
            if value != default {
                write!(out, "  # default: {default}")?;
            }
            writeln!(out)?;
        }
    }
    for alert in &settings.alerts {
        write!(out, "\n{}", alert.to_toml())?;
    }
    Ok(())
}
