//! `zmtop record`: writes snapshots to a recording until a signal ends it.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, IsTerminal};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use parking_lot::Mutex;
use tokio::signal::unix::SignalKind;

use super::black_box::{self, Outlets, RecordFeed};
use super::messages::Messages;
use super::privileges::{self, Account, Programs};
use super::runtime::{on_runtime, signals};
use super::takers::Looks;
use super::{Failure, complain, load_settings, protect_aloud, sampler_options};
use crate::alert::Alerts;
use crate::cli::{CgroupArgs, Exit, PathArgs, UsageError, set};
use crate::columns::Needs;
use crate::config::{Env, Settings};
use crate::engine::{Engine, State};
use crate::history::{History, HistoryConfig};
use crate::model::Snapshot;
use crate::record::anonymize::Anonymizer;
use crate::record::{GroupWriter, MAX_SNAPSHOTS, PRECISION};
use crate::recorder::{FaultNews, Folder, Options, Place, Recorder, Status};
use crate::sampler;
use crate::source::{At, Recording, Source, span};
use crate::text;
use crate::units::{self, Units};

/// Snapshots after which the size of a day is estimated.
const ESTIMATED: u32 = 6;
/// Time between checks of the state of the recording.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Args, Clone, Debug, PartialEq, Eq)]
#[command(args_conflicts_with_subcommands = true)]
pub struct RecordArgs {
    /// A new file, a folder (an existing one, or a name that ends with /), or - for standard output
    #[arg(value_name = "FILE|FOLDER", required_unless_present = "dry_run")]
    pub to: Option<PathBuf>,
    /// Sampling interval, in seconds or as 250ms, 2s, 1m (100ms to 1h; default: sampler.interval)
    #[arg(long, value_name = "TIME")]
    pub every: Option<String>,
    /// In a folder: delete files older than TIME, such as 30d (default: record.keep)
    #[arg(long, value_name = "TIME")]
    pub keep: Option<String>,
    /// In a folder: delete the oldest files when all files together exceed SIZE, such as 2G (default: record.size)
    #[arg(long, value_name = "SIZE")]
    pub size: Option<String>,
    /// In a folder: run PROGRAM with the path of each finished file; it may upload and delete this file
    #[arg(long, value_name = "PROGRAM")]
    pub on_rotate: Option<PathBuf>,
    /// Record full command lines, the name of the program without arguments, or none (default: record.cmdline)
    #[arg(long, value_name = "full|name|none")]
    pub cmdline: Option<String>,
    /// Write nothing: take six snapshots and estimate the disk space for a day
    #[arg(long)]
    pub dry_run: bool,
    /// As root: switch to this user, and keep the capabilities to read all processes; the recording must be in a folder of this
    /// user
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    #[command(flatten)]
    pub scope: CgroupArgs,
    #[command(flatten)]
    pub paths: PathArgs,
    #[command(subcommand)]
    pub action: Option<RecordAction>,
}

#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum RecordAction {
    /// Copy a part of a recording, for a colleague or a bug report
    Cut(CutArgs),
}

#[derive(Args, Clone, Debug, PartialEq, Eq)]
pub struct CutArgs {
    /// A recording, or a folder of them
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The new recording, which must not exist yet
    #[arg(value_name = "TO")]
    pub to: PathBuf,
    /// The time of the first snapshot: 2026-11-20T23:51:00Z, "2026-11-20 23:51", 23:51, or -10m (10 minutes before the end)
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub from: Option<String>,
    /// The time of the last snapshot
    #[arg(
        long = "until",
        visible_alias = "to",
        value_name = "TIME",
        allow_hyphen_values = true
    )]
    pub until: Option<String>,
    /// Replace command lines and the names of hosts, users, programs, files, cgroups and containers. The same name always gets
    /// the same replacement
    #[arg(long)]
    pub anonymize: bool,
}

/// Records until a signal ends it.
pub(super) fn run(args: &RecordArgs, env: &Env) -> Result<Exit, Failure> {
    if let Some(RecordAction::Cut(args)) = &args.action {
        return cut(args);
    }
    let settings = configure(args, env)?;
    let mut options = sampler_options(&settings.sampler, args.paths.proc_root.as_deref());
    args.scope.apply(&mut options)?;
    let to = args.to.clone().unwrap_or_default();
    let own_pid = options.roots().is_own().then(std::process::id);
    let has_log = own_pid.is_some() && !args.dry_run;
    let account = Account::of(args.user.as_deref())?;
    let written = args.to.as_deref().filter(|to| to.as_os_str() != "-");
    let programs = args.on_rotate.as_ref().map_or(Programs::None, |_| Programs::Some);
    let kernel_log = protect_aloud(&settings.own, || {
        privileges::settle(account, written, programs, || {
            has_log.then(|| black_box::open_log(&settings.record)).flatten()
        })
    })?;
    let recorder = if args.dry_run {
        None
    } else {
        Some(start(&to, args, &settings)?)
    };
    sampler::make_room();
    let interval = settings.sampler.interval;
    on_runtime(async move {
        let mut stop = [
            signals(SignalKind::interrupt())?,
            signals(SignalKind::terminate())?,
            signals(SignalKind::hangup())?,
        ];
        let _messages = Messages::start().map_err(|error| format!("cannot start: {error}"))?;
        let handle = sampler::spawn(options, &tokio::runtime::Handle::current());
        handle.wanted.send_modify(|wanted| wanted.needs = needs());
        let config = settings.history_config(settings.ui.delta);
        let history = History::with_config(HistoryConfig { own_pid, ..config });
        let estimate = Arc::new(Mutex::new(Estimate::default()));
        let state = State::new(history, Alerts::default());
        let estimated = Arc::clone(&estimate);
        let recorder = recorder.map(Arc::new);
        let mut feed = RecordFeed::new(Outlets {
            recorder: recorder.clone(),
            kernel_log,
            looks: (own_pid.is_some() && settings.sampler.heaps).then(Looks::default),
            ..Outlets::default()
        });
        let shared = feed.state();
        let runtime = tokio::runtime::Handle::current();
        let engine = Engine::spawn(state, handle.snapshots.clone(), runtime, move |snapshot, alerts| {
            estimated.lock().push(snapshot);
            feed.push(snapshot, alerts);
        });
        let engine = engine.map_err(|error| format!("cannot start: {error}"))?;
        let _ = shared.set(engine.shared());
        let [interrupt, terminate, hangup] = &mut stop;
        let mut watch = Watch::new(recorder.clone(), interval, estimate);
        let exit = loop {
            tokio::select! {
                _ = interrupt.recv() => break Exit::Done,
                _ = terminate.recv() => break Exit::Done,
                _ = hangup.recv() => break Exit::Done,
                () = tokio::time::sleep(LOOK) => {
                    if let Some(exit) = watch.look() {
                        break exit;
                    }
                }
            }
        };
        drop(engine);
        drop(watch);
        if let Some(recorder) = recorder.and_then(Arc::into_inner) {
            let status = recorder.end();
            complain(&summary(&status));
            if status.fault.is_some() && !status.is_closed {
                return Ok(Exit::Unwritten);
            }
        }
        Ok(exit)
    })
}

fn configure(args: &RecordArgs, env: &Env) -> Result<Settings, UsageError> {
    let mut settings = load_settings(args.paths.config.as_deref(), env)?;
    set(&mut settings, "--every", "sampler.interval", args.every.as_deref())?;
    set(&mut settings, "--keep", "record.keep", args.keep.as_deref())?;
    set(&mut settings, "--size", "record.size", args.size.as_deref())?;
    set(&mut settings, "--cmdline", "record.cmdline", args.cmdline.as_deref())?;
    Ok(settings)
}

/// Returns the data that a recording holds in addition to what every snapshot has.
pub(super) fn needs() -> Needs {
    Needs::CGROUP_FIGURES
        .and(Needs::CGROUP_DETAILS)
        .and(Needs::EXITS)
        .and(Needs::PEAK)
}

fn start(to: &Path, args: &RecordArgs, settings: &Settings) -> Result<Recorder, Failure> {
    let shown = text::safe(to.as_os_str().as_encoded_bytes()).into_owned();
    let is_folder = to.is_dir() || to.as_os_str().as_bytes().ends_with(b"/");
    let of_folder = args
        .keep
        .as_ref()
        .map(|_| "--keep")
        .or(args.size.as_ref().map(|_| "--size"));
    let of_folder = of_folder.or(args.on_rotate.as_ref().map(|_| "--on-rotate"));
    if let Some(option) = of_folder.filter(|_| !is_folder) {
        let what = format!("applies to a folder, and {shown} is not one: write {shown}/ to create it");
        return Err(UsageError::option(option, what).into());
    }
    let not_written = |error: io::Error| Failure::Unwritten(format!("{shown}: {error}"));
    let place = if to.as_os_str() == "-" {
        if io::stdout().is_terminal() {
            return Err(UsageError::option("FILE", "a recording is not text for a terminal: redirect it").into());
        }
        Place::Stream
    } else if is_folder {
        Place::Folder(Folder::open(to).map_err(not_written)?, settings.record.retention())
    } else {
        Place::File(to.to_owned())
    };
    let mut options = Options::new(place, &settings.record);
    options.on_rotate.clone_from(&args.on_rotate);
    Recorder::start(options).map_err(not_written)
}

/// Estimates the size of a day.
#[derive(Default)]
struct Estimate {
    groups: GroupWriter,
    /// Bytes of each snapshot.
    bytes: Vec<u64>,
}

impl Estimate {
    fn push(&mut self, snapshot: &Arc<Snapshot>) {
        if self.bytes.len() < ESTIMATED as usize
            && let Ok(bytes) = self.groups.push(snapshot, &[])
        {
            self.bytes.push(bytes.len() as u64);
        }
    }

    /// Returns the bytes of a day at that interval, once they are known.
    fn day(&self, interval: Duration) -> Option<u64> {
        let (whole, rest) = self
            .bytes
            .split_first()
            .filter(|(_, rest)| rest.len() + 1 == ESTIMATED as usize)?;
        let change = rest.iter().sum::<u64>() / rest.len() as u64;
        let group = whole + u64::from(MAX_SNAPSHOTS - 1) * change;
        let groups = 86_400.0 / interval.as_secs_f64() / f64::from(MAX_SNAPSHOTS);
        Some((group as f64 * groups) as u64)
    }
}

/// Reports the state of the recording.
struct Watch {
    recorder: Option<Arc<Recorder>>,
    interval: Duration,
    estimate: Arc<Mutex<Estimate>>,
    is_estimated: bool,
    faults: FaultNews,
}

impl Watch {
    fn new(recorder: Option<Arc<Recorder>>, interval: Duration, estimate: Arc<Mutex<Estimate>>) -> Self {
        Self {
            recorder,
            interval,
            estimate,
            is_estimated: false,
            faults: FaultNews::default(),
        }
    }

    /// Reports a change on stderr. Returns the exit code if nothing is left to do.
    fn look(&mut self) -> Option<Exit> {
        if !self.is_estimated
            && let Some(day) = self.estimate.lock().day(self.interval)
        {
            self.is_estimated = true;
            let (day, interval) = (units::bytes(day, Units::Auto), units::span(self.interval));
            complain(&format!("a snapshot every {interval} needs about {day} a day"));
            if self.recorder.is_none() {
                return Some(Exit::Done);
            }
        }
        let status = self.recorder.as_ref()?.status();
        if status.is_closed {
            // The reader of the stream has ended.
            return Some(Exit::Done);
        }
        self.faults.of(&status).iter().for_each(|news| complain(news));
        None
    }
}

pub(super) fn summary(status: &Status) -> String {
    let bytes = units::bytes(status.bytes, Units::Auto);
    let lost = match status.lost {
        0 => String::new(),
        lost => format!(", {lost} lost"),
    };
    let left_out = match status.left_out {
        0 => String::new(),
        left_out => format!(", {left_out} left out to keep the past"),
    };
    format!("{} snapshots recorded{lost}{left_out}, {bytes}", status.snapshots)
}

/// Copies a part of a recording.
fn cut(args: &CutArgs) -> Result<Exit, Failure> {
    let (_, last) = span(&args.file).map_err(|error| error.to_string())?;
    let moment = |option, typed: &Option<String>, none| {
        let Some(typed) = typed else { return Ok(none) };
        let at = At::parse(typed).map_err(|error| UsageError::option(option, error.to_string()))?;
        Ok::<_, UsageError>(at.resolve(last))
    };
    let from = moment("--from", &args.from, SystemTime::UNIX_EPOCH)?;
    let until = moment("--until", &args.until, last)?;
    let place = Place::File(args.to.clone());
    let shown = text::safe(args.to.as_os_str().as_encoded_bytes()).into_owned();
    let not_written = |error: io::Error| Failure::Unwritten(format!("{shown}: {error}"));
    let source = Source::open_at(&args.file, from).map_err(|error| error.to_string())?;
    let mut writer = crate::recorder::Writer::new(Options::plain(place)).map_err(not_written)?;
    // A seed that nobody knows, so that nobody can try names.
    let mut anonymizer = args.anonymize.then(|| Anonymizer::new(RandomState::new().hash_one(0)));
    let incidents = Recording::open(&args.file).map_err(|error| error.to_string())?;
    let mut incidents = incidents
        .incidents()
        .iter()
        .skip_while(|incident| incident.at() < from)
        .peekable();
    for next in source {
        match next {
            Ok(snapshot) if snapshot.time < from => {}
            Ok(snapshot) if snapshot.time > until => break,
            Ok(snapshot) => {
                let of_it =
                    std::iter::from_fn(|| incidents.next_if(|incident| incident.at() < snapshot.time + PRECISION));
                let mut of_it: Vec<_> = of_it.cloned().collect();
                let mut snapshot = snapshot;
                if let Some(anonymizer) = &mut anonymizer {
                    anonymizer.apply(Arc::make_mut(&mut snapshot));
                    // Their texts have names.
                    for incident in &mut of_it {
                        incident.text.clear();
                    }
                }
                writer.record(&snapshot, &of_it);
            }
            Err(fault) => complain(&fault.to_string()),
        }
    }
    writer.close();
    let status = writer.status();
    if let Some(fault) = &status.fault {
        return Err(Failure::Unwritten(format!("{shown}: {fault}")));
    }
    complain(&summary(&status));
    Ok(Exit::Done)
}
