//! What was typed, laid over the settings.

use std::path::Path;

use super::leaks::LeaksArgs;
use super::{MonitorArgs, PsArgs, TableArgs};
use crate::config::{Config, ConfigError, Env, NoTheme, Settings, column, load_theme};

/// An option's value that makes no sense, or cannot be had. Exit code 2.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// An option is wrong.
    #[error("{option}: {what}")]
    Option {
        /// As it is typed, `--sort`.
        option: &'static str,
        /// What is wrong with its value, and what would be right; safe to print.
        what: String,
    },
    /// A file of the configuration is.
    #[error("{0}")]
    Config(#[from] ConfigError),
}

fn wrong(option: &'static str) -> impl FnOnce(String) -> UsageError {
    move |what| UsageError::Option { option, what }
}

/// Reads the configuration that the options name, lays the options over it and fits the theme.
///
/// # Errors
/// Every fault of the configuration, or the first wrong option.
pub fn configure(args: &MonitorArgs, env: &Env) -> Result<Config, UsageError> {
    let env = without_color(env, args.table.no_color);
    let mut config = Config::load(args.place.config.as_deref(), &env)?;
    apply(&mut config.settings, args)?;
    if args.theme.is_some() {
        config.theme = theme(&config.settings.ui.theme, config.file.as_deref(), &env)?;
    }
    Ok(config)
}

/// The environment with `--no-color` in it, which is the same as `NO_COLOR=1`.
fn without_color(env: &Env, no_color: bool) -> Env {
    let mut env = env.clone();
    if no_color {
        env.no_color = Some("1".into());
    }
    env
}

fn theme(name: &str, file: Option<&Path>, env: &Env) -> Result<crate::config::Theme, UsageError> {
    load_theme(name, file, env).map_err(|e| match e {
        NoTheme::Faulty(e) => e.into(),
        NoTheme::Unknown(what) => wrong("--theme")(what),
    })
}

/// Lays the monitor's options over the settings.
///
/// # Errors
/// The first option whose value is wrong; the settings are then of no use.
pub fn apply(settings: &mut Settings, args: &MonitorArgs) -> Result<(), UsageError> {
    set(settings, "--interval", "sampler.interval", args.interval.as_deref())?;
    set(settings, "--filter", "ui.filter", args.filter.as_deref())?;
    set(settings, "--theme", "ui.theme", args.theme.as_deref())?;
    if args.tree {
        // A tree is of processes, whatever was saved.
        (settings.ui.tree, settings.ui.by) = (true, None);
    }
    set(settings, "--by", "ui.by", args.by.as_deref())?;
    // The columns asked for are those of the table that is shown.
    let columns = match settings.ui.by {
        None => "ui.columns",
        Some(_) => "ui.group_columns",
    };
    table(settings, &args.table, columns)?;
    settings.ui.mouse &= !args.no_mouse;
    settings.ui.readonly |= args.readonly;
    if let Some(file) = &args.log {
        settings.log.file = Some(file.clone());
    }
    Ok(())
}

/// Lays the options of `ps` over the settings; its filter is the words typed, joined by "and", and none from
/// the settings, which are the monitor's.
///
/// # Errors
/// The first option whose value is wrong; the settings are then of no use.
pub fn apply_ps(settings: &mut Settings, args: &PsArgs) -> Result<(), UsageError> {
    set(settings, "FILTER", "ui.filter", Some(&args.filter.join(" ")))?;
    set(settings, "--every", "sampler.interval", args.every.as_deref())?;
    table(settings, &args.table, "ui.columns")
}

/// Lays the options of `leaks` over the settings; its filter is the words typed.
///
/// # Errors
/// The first option whose value is wrong; the settings are then of no use.
pub fn apply_leaks(settings: &mut Settings, args: &LeaksArgs) -> Result<(), UsageError> {
    set(settings, "FILTER", "ui.filter", Some(&args.filter.join(" ")))?;
    set(settings, "--interval", "sampler.interval", args.interval.as_deref())?;
    apply_units(settings, args.units.as_deref())
}

/// Lays `--units` over the settings.
///
/// # Errors
/// It names no unit.
pub fn apply_units(settings: &mut Settings, units: Option<&str>) -> Result<(), UsageError> {
    set(settings, "--units", "ui.units", units)
}

fn table(settings: &mut Settings, args: &TableArgs, columns: &str) -> Result<(), UsageError> {
    set(settings, "--columns", columns, args.columns.as_deref())?;
    set(settings, "--units", "ui.units", args.units.as_deref())?;
    let ui = &mut settings.ui;
    if let Some(key) = &args.sort {
        let name = key.strip_prefix('-').unwrap_or(key);
        ui.sort = column(name).map_err(wrong("--sort"))?;
        ui.descending = ui.sort.get().ascending == key.starts_with('-');
    }
    ui.descending ^= args.reverse;
    Ok(())
}

/// Gives a setting the value of an option, by the same rules as in the config.
fn set(settings: &mut Settings, option: &'static str, key: &str, value: Option<&str>) -> Result<(), UsageError> {
    match (settings.setting(key), value) {
        (Some(mut setting), Some(value)) => setting.parse(value).map_err(wrong(option)),
        _ => Ok(()),
    }
}
