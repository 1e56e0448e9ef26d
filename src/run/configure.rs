//! `zmtop config`: shows the settings, and checks them.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::cli::{ConfigAction, ConfigArgs, Exit};
use crate::config::fault::shown_path;
use crate::config::{Config, Env, Settings, settings};

/// Runs `zmtop config`; faults go to `err`.
///
/// # Errors
/// Errors of `out` and `err`.
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
            // Raw bytes, for a script to open: the path is the user's own.
            out.write_all(path.as_os_str().as_bytes())?;
            out.write_all(b"\n")?;
        }
        ConfigAction::Check | ConfigAction::Show => match Config::load(explicit, env) {
            Ok(config) if args.action == ConfigAction::Show => {
                warn(&config, err)?;
                show(config, out)?;
            }
            // What does not apply is a fault of the file's place, if not of its text.
            Ok(config) if !config.warnings.is_empty() => {
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
    let source = source_text(config);
    let mut warnings = config.warnings.iter();
    warnings.try_for_each(|warning| writeln!(err, "{source}: {warning}"))
}

/// Returns the file that the settings come from, in words.
fn source_text(config: &Config) -> String {
    match &config.file {
        Some(file) if file.exists() => shown_path(file),
        Some(file) => format!("{} (not there: the shipped settings)", shown_path(file)),
        None => "the shipped settings".into(),
    }
}

/// Writes the settings as TOML that can be read again, each that differs with the default beside it.
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
