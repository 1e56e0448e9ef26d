//! The live monitor: its options, and its setup before the screen.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};

use super::black_box::{self, Outlets};
use super::monitor::replay::Opened;
use super::monitor::{self, End, Reload, Setup, StartFleet};
use super::process::{self, Heaps};
use super::takers::Looks;
use super::{complain, privileges, protect, sampler_options, terminal, usage, written};
use crate::cli::{CgroupArgs, ChosenArgs, Exit, PathArgs, TableArgs, UsageError, set, wrong};
use crate::config::settings::LogSettings;
use crate::config::{Config, Env, Files, NoTheme, Settings, load_light, load_theme, state, views};
use crate::tui::Opening;

#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
pub struct MonitorArgs {
    /// Sampling interval, in seconds or as 250ms, 2s, 1m (100ms to 1h)
    #[arg(long, value_name = "TIME")]
    pub interval: Option<String>,
    /// Show only rows that match the filter
    #[arg(short, long, allow_hyphen_values = true)]
    pub filter: Option<String>,
    #[command(flatten)]
    pub chosen: ChosenArgs,
    /// Start with the view that W saved under this name: its columns, order, grouping and filter
    #[arg(long, value_name = "NAME")]
    pub view: Option<String>,
    /// Group by command, user, unit, container, pod, cgroup or family; `process` disables grouping
    #[arg(long, value_name = "WHAT")]
    pub by: Option<String>,
    #[command(flatten)]
    pub table: TableArgs,
    /// Use this theme: auto, default, light, mono, colorblind, dracula, nord, gruvbox, solarized, catppuccin, monokai,
    /// ansi, ansi-light, or one of your own
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
    /// Pick mode: Enter prints the pid of the selected process, or of all tagged ones, and quits, as in
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
        if let (Some(name), Some(file)) = (&self.view, &config.file) {
            config.settings.ui = views::read(file, name, &config.settings)?;
        }
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
        set(settings, "filter", "ui.filter", self.filter.as_deref())?;
        if self.chosen != ChosenArgs::default() {
            let filter = self.chosen.added_to(self.filter.as_deref().unwrap_or_default());
            set(settings, "-u, -p", "ui.filter", Some(&filter))?;
        }
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

/// The snapshots to show in place of this machine's.
#[derive(Default)]
pub(super) struct Instead {
    pub(super) fleet: Option<StartFleet>,
    pub(super) replay: Option<Opened>,
}

impl Instead {
    fn heaps(&self) -> Heaps {
        if self.fleet.is_some() { Heaps::Fleet } else { Heaps::One }
    }
}

/// Runs the monitor with this configuration, for this machine or for other snapshots. `reload` reads it again.
pub(super) fn run(args: &MonitorArgs, mut config: Config, instead: Instead, reload: Reload, env: &Env) -> ExitCode {
    if args.pick && process::was_closed() {
        return written(Ok(())).into();
    }
    let picked = match args.pick.then(terminal::redirect_stdout).transpose() {
        Ok(stdout) => stdout,
        Err(error) => {
            complain(&format!("--pick needs a terminal for the screen: {error}"));
            return Exit::Usage.into();
        }
    };
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        complain("the monitor needs a terminal; `zmtop ps` prints one table anywhere");
        return Exit::Usage.into();
    }
    if env.term.as_ref().is_none_or(|term| term.is_empty() || term == "dumb") {
        complain("this terminal (TERM unset or dumb) cannot show the monitor; `zmtop ps` prints one table anywhere");
        return Exit::Usage.into();
    }
    let mut options = sampler_options(&config.settings.sampler, args.paths.proc_root.as_deref());
    if let Err(error) = args.scope.apply(&mut options) {
        return usage(&error).into();
    }
    let is_live = instead.fleet.is_none() && instead.replay.is_none();
    let own = config.settings.own.clone();
    // Before threads start: capabilities belong to a thread.
    let give_up = || privileges::keep_for_monitor(is_live, config.settings.ui.readonly);
    if is_live {
        config.warnings.extend(protect(&own, give_up).1);
    } else {
        give_up();
    }
    // Before the threads of the recorder and of the log start.
    process::share_heaps(instead.heaps());
    // Before any other file is created in the state folder.
    let opening = match args.pick {
        true => Opening::Pick,
        false if state::is_first_start(env) => Opening::First,
        false => Opening::Usual,
    };
    let is_own = is_live && options.roots().is_own();
    if let Some(what) = is_own.then(|| args.chosen.missing()).flatten() {
        complain(&what);
        return Exit::Usage.into();
    }
    // The history of one cgroup is not the machine's.
    let keeps = config.settings.history.keep && options.cgroup.is_none();
    let mut history_file = None;
    if keeps && is_own {
        match state::history_file(env) {
            Ok(file) => history_file = Some(file),
            Err(why) => config.warnings.push(format!("nothing is kept: {why}")),
        }
    }
    let mut outlets = Outlets::default();
    if is_own && options.cgroup.is_none() {
        outlets = start_outlets(&mut config, keeps && history_file.is_none(), env);
    }
    config.warnings.splice(0..0, config.unread.take());
    let log = match start_log(&config.settings.log) {
        // Do without the monitor only if the log was named on the command line.
        Err(what) if args.log.is_none() => {
            config.warnings.push(what);
            Ok(None)
        }
        other => other,
    };
    // Report before the screen is set up. The screen shows it too.
    for warning in &config.warnings {
        complain(warning);
    }
    let _log = match log {
        Ok(guard) => guard,
        Err(what) => {
            complain(&what);
            return Exit::Usage.into();
        }
    };
    match monitor::run(
        config,
        Setup {
            options,
            env: env.clone(),
            history_file,
            fleet: instead.fleet,
            replay: instead.replay,
            outlets,
            opening,
            reload,
            view: args.view.clone(),
        },
    ) {
        Ok(End::Quit) if args.pick => Exit::Found.into(),
        Ok(End::Quit) => Exit::Done.into(),
        Ok(End::Picked(pids)) => {
            let lines = pids.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n") + "\n";
            written(picked.map_or(Ok(()), |mut stdout| stdout.write_all(lines.as_bytes()))).into()
        }
        Ok(End::Signal(number)) => ExitCode::from(128 + u8::try_from(number).unwrap_or(0)),
        Ok(End::Hangup) => ExitCode::from(129),
        Err(error) => {
            complain(&format!("{error:#}"));
            Exit::Unwritten.into()
        }
    }
}

/// Starts the consumers of this machine's snapshots. With `is_reported`, a warning has already reported why nothing can be written.
fn start_outlets(config: &mut Config, is_reported: bool, env: &Env) -> Outlets {
    let mut outlets = Outlets {
        looks: config.settings.sampler.heaps.then(Looks::default),
        ..Outlets::default()
    };
    match black_box::start(&config.settings.record, env) {
        Ok(recorder) => outlets.recorder = recorder.map(Arc::new),
        Err(_) if is_reported => {}
        Err(why) => config.warnings.push(format!("no black box: {why}")),
    }
    match black_box::kernel_log(&config.settings.record) {
        Ok(log) => outlets.kernel_log = log,
        Err(why) => config.warnings.push(why),
    }
    outlets
}

/// Maximum number of log lines that wait for a slow disk, about 1 MB. Further lines are lost.
const MAX_LOG_LINES: usize = 4096;

/// Opens the log if one is configured. The guard flushes it when dropped.
fn start_log(settings: &LogSettings) -> Result<Option<WorkerGuard>, String> {
    let Some(path) = &settings.file else { return Ok(None) };
    let file = state::Log::open(path).map_err(|error| {
        format!(
            "cannot open the log {}: {error}",
            crate::text::safe(path.as_os_str().as_encoded_bytes())
        )
    })?;
    let level = settings.level.parse().unwrap_or(tracing::Level::INFO);
    let (writer, guard) = NonBlockingBuilder::default()
        .buffered_lines_limit(MAX_LOG_LINES)
        .finish(file);
    let subscriber = tracing_subscriber::fmt()
        .with_writer(writer)
        .with_ansi(false)
        .with_max_level(level)
        .finish();
    tracing::subscriber::set_global_default(subscriber).map_err(|error| error.to_string())?;
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "zmtop starts");
    Ok(Some(guard))
}
