//! `zmtop config`: shows and checks the settings.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{Args, Subcommand};
use rustix::fs::Access;
use rustix::io::Errno;

use super::alert;
use crate::cli::Exit;
use crate::columns::COLUMNS;
use crate::config::fault::{shown, shown_path};
use crate::config::{Config, Env, Settings, keymap, settings, theme, unknown};

#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub action: ConfigAction,
    /// Read the settings from FILE. keymap.toml and themes/ are read from its directory. Also accepted before the command
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum ConfigAction {
    /// Print the settings in force, and mark those that differ from the defaults
    Show,
    /// Report all errors in the settings, the keymap and the theme
    Check,
    /// Print the path of the settings file
    Path,
    /// Print the default settings with explanations
    Default,
    /// Print the default keymap, with every action, as a starting point for keymap.toml
    Keymap,
    /// Print every column of processes and groups, with its meaning
    Columns,
    /// Print a theme as a starting point for themes/NAME.toml; without NAME, list the themes
    Theme {
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
    /// Fire an alert once, whatever its condition: run its program with made-up values (no process has the pid), and ring the
    /// bell. Exit with 1 if the program fails
    TestAlert {
        /// The name of an [[alert]] in the config
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Runs `zmtop config`. Faults are written to `err`.
pub fn run(args: &ConfigArgs, env: &Env, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Exit> {
    let explicit = args.config.as_deref();
    match &args.action {
        ConfigAction::Default => out.write_all(settings::SHIPPED.as_bytes())?,
        ConfigAction::Keymap => out.write_all(keymap::SHIPPED.as_bytes())?,
        ConfigAction::Columns => {
            let width = COLUMNS.iter().map(|column| column.id.len()).max().unwrap_or(0);
            for column in COLUMNS {
                writeln!(out, "{:width$}  {}", column.id, column.help)?;
            }
        }
        ConfigAction::Theme { name: None } => {
            for (name, _) in theme::SHIPPED {
                writeln!(out, "{name}")?;
            }
        }
        ConfigAction::Theme { name: Some(name) } => {
            let Some((_, text)) = theme::SHIPPED.iter().find(|(known, _)| known == name) else {
                let known = theme::SHIPPED.map(|(name, _)| name);
                writeln!(err, "zmtop: {}", unknown("theme", name, known))?;
                return Ok(Exit::Usage);
            };
            out.write_all(text.as_bytes())?;
        }
        ConfigAction::TestAlert { name } => return test_alert(name, explicit, env, out, err),
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
            Ok(config) => {
                writeln!(out, "{}: ok", source_text(&config))?;
                let replaced = config.settings.replaced_alerts();
                let names: Vec<String> = replaced.iter().map(|alert| format!("\"{}\"", alert.name)).collect();
                if !names.is_empty() {
                    writeln!(
                        out,
                        "note: your alerts replace the shipped ones. Not in effect: {}. To keep them, copy them from `zmtop \
                         config default`",
                        names.join(", ")
                    )?;
                }
            }
            Err(e) => {
                writeln!(err, "{e}")?;
                return Ok(Exit::Usage);
            }
        },
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// Fires an alert of the config once. Exit code 1 if its program failed.
fn test_alert(
    name: &str,
    explicit: Option<&Path>,
    env: &Env,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<Exit> {
    let config = match Config::load(explicit, env) {
        Ok(config) => config,
        Err(e) => {
            writeln!(err, "{e}")?;
            return Ok(Exit::Usage);
        }
    };
    warn(&config, err)?;
    let alerts = &config.settings.alerts;
    let Some(settings) = alerts.iter().find(|alert| alert.name == name) else {
        let known = alerts.iter().map(|alert| &*alert.name);
        writeln!(err, "zmtop: {}", unknown("alert", name, known))?;
        return Ok(Exit::Usage);
    };
    let name = shown(name);
    let event = match settings.rule() {
        Ok(rule) => rule.made_up(SystemTime::now()),
        Err(why) => {
            writeln!(err, "zmtop: alert {name}: {why}")?;
            return Ok(Exit::Usage);
        }
    };
    let fired = alert::fire_once(settings, &event);
    writeln!(out, "alert {name}: made-up values: {}", event.summary())?;
    if fired.bell {
        writeln!(out, "alert {name}: the bell rings\x07")?;
    }
    if settings.log {
        writeln!(out, "alert {name}: the monitor would write a line to its log")?;
    }
    match (settings.run.first(), fired.errors.as_slice()) {
        (None, _) => writeln!(out, "alert {name}: it runs no program")?,
        (Some(program), []) => writeln!(out, "alert {name}: {} ran and exited with code 0", shown(program))?,
        (Some(_), errors) => {
            for error in errors {
                writeln!(err, "zmtop: {error}")?;
            }
            out.flush()?;
            return Ok(Exit::Found);
        }
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
            Err(_) => format!("{} (does not exist: the shipped settings)", shown_path(file)),
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
