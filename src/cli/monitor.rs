//! The options of the monitor.

use std::path::PathBuf;

use clap::Args;

use super::shared::{CgroupArgs, PathArgs, TableArgs, UsageError, set, wrong};
use crate::config::{Config, Env, Files, NoTheme, Settings, load_light, load_theme};

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorArgs {
    /// Sampling interval, in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME")]
    pub interval: Option<String>,
    /// Show only rows that match the filter
    #[arg(short, long, allow_hyphen_values = true)]
    pub filter: Option<String>,
    /// Group by command, user, unit, container, cgroup or family; process lists processes individually
    #[arg(long, value_name = "WHAT")]
    pub by: Option<String>,
    #[command(flatten)]
    pub table: TableArgs,
    /// Use this theme: auto, default, light, mono, colorblind, dracula, nord, gruvbox, solarized, catppuccin, monokai, or one
    /// of your own
    #[arg(long, value_name = "NAME")]
    pub theme: Option<String>,
    /// Draw the screen in ASCII: no lines, blocks, arrows or Greek letters
    #[arg(long)]
    pub ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// Start in tree view
    #[arg(long, conflicts_with = "by")]
    pub tree: bool,
    /// Change nothing: send no signals, set no niceness, run no alert programs
    #[arg(long)]
    pub readonly: bool,
    /// Let Enter pick: print the pids of the selected process or of all tagged ones on standard output and quit, as in
    /// kill $(zmtop --pick); exit code 1 if none was picked
    #[arg(long)]
    pub pick: bool,
    /// Append zmtop's own log to FILE
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    #[command(flatten)]
    pub scope: CgroupArgs,
    #[command(flatten)]
    pub paths: PathArgs,
}

impl MonitorArgs {
    /// Reads the configuration that the options name, applies the options to it and fits the theme.
    pub fn configure(&self, env: &Env) -> Result<Config, UsageError> {
        let env = self.table.color.apply(env);
        let mut config = Config::load(self.paths.config.as_deref(), &env)?;
        self.apply(&mut config.settings)?;
        config.ascii |= self.ascii;
        if self.theme.is_some() {
            let files = Files::new(self.paths.config.as_deref(), &env);
            config.if_light = load_light(&config.settings.ui.theme, &files, &env);
            let theme = load_theme(&config.settings.ui.theme, &files, &env);
            config.theme = theme.map_err(|e| match e {
                NoTheme::Faulty(e) => e.into(),
                NoTheme::Unknown(what) => wrong("--theme")(what),
            })?;
        }
        Ok(config)
    }

    pub fn apply(&self, settings: &mut Settings) -> Result<(), UsageError> {
        set(settings, "--interval", "sampler.interval", self.interval.as_deref())?;
        set(settings, "--filter", "ui.filter", self.filter.as_deref())?;
        set(settings, "--theme", "ui.theme", self.theme.as_deref())?;
        if self.tree {
            // A tree consists of processes, so ignore a saved grouping.
            (settings.ui.tree, settings.ui.by) = (true, None);
        }
        set(settings, "--by", "ui.by", self.by.as_deref())?;
        // --columns applies to the table that is shown.
        let columns = match settings.ui.by {
            None => "ui.columns",
            Some(_) => "ui.group_columns",
        };
        self.table.apply(settings, columns)?;
        settings.ui.mouse &= !self.no_mouse;
        settings.ui.readonly |= self.readonly;
        if let Some(file) = &self.log {
            settings.log.file = Some(file.clone());
        }
        Ok(())
    }
}
