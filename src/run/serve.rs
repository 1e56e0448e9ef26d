//! `zmtop serve`: answers scrapes, writes a file for another exporter, or pushes to a collector, until a signal ends it.
//!
//! ```text
//! sampler ─► engine (history, verdicts) ─► page: the last snapshot as text ─┬─► http      scrapes
//!                                                                           ├─► textfile  node_exporter
//!                                                                           └─► push      a collector of OpenTelemetry
//! ```

use std::convert::Infallible;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use tokio::net::TcpListener;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::black_box::{self, Outlets, RecordFeed};
use super::messages::Messages;
use super::privileges::{self, Account, Programs};
use super::runtime::prepare;
use super::takers::Looks;
use super::{Failure, complain, load_settings, protect_aloud, sampler_options};
use crate::alert::Alerts;
use crate::cli::serve::ServeArgs;
use crate::cli::{Exit, UsageError};
use crate::columns::Needs;
use crate::config::Settings;
use crate::config::state::blackbox_path;
use crate::config::{Env, atomic};
use crate::engine::{Engine, State};
use crate::group::GroupBy;
use crate::history::{History, HistoryConfig};
use crate::recorder::KernelLog;
use crate::sampler;
use crate::serve::access::{self, Access};
use crate::serve::http::{self, Server};
use crate::serve::page::Page;
use crate::serve::passwords::Passwords;
use crate::serve::push::Push;
use crate::serve::text::TextFormat;
use crate::serve::{Exporter, Watchdog, lock};

/// Interval of writes of the file.
const TEXTFILE_INTERVAL: Duration = Duration::from_secs(15);
/// Time for a write under way when zmtop stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Serves until a signal ends it.
pub(super) fn run(args: &ServeArgs, env: &Env) -> Result<Exit, Failure> {
    let mut settings = load_settings(args.paths.config.as_deref(), env)?;
    args.apply(&mut settings)?;
    let account = Account::of(args.user.as_deref())?;
    let mut options = sampler_options(&settings.sampler, args.paths.proc_root.as_deref());
    args.scope.apply(&mut options)?;
    let own_pid = options.roots().is_own().then(std::process::id);
    let is_machine = own_pid.is_some() && args.scope.cgroup.is_none();
    let address = args.address();
    let access = args.web_config.as_deref().map(Access::load).transpose();
    let access = access.map_err(UsageError::from)?.unwrap_or_default();
    let push = args.otlp.as_deref().map(Push::new).transpose();
    let push = push.map_err(|what| UsageError::option("--otlp", what))?;
    if let Some(warning) = push.as_ref().and_then(Push::warning) {
        complain(&warning);
    }
    // Before anything else is started, so that an address in use is reported at once.
    let listener = address.map(|address| open_port(address, &access)).transpose()?;
    let own_env = account.as_ref().map(|account| account.env(env));
    let env = own_env.as_ref().unwrap_or(env);
    let black_box = settings.record.black_box.then(|| blackbox_path(env).ok()).flatten();
    let written = args.textfile.iter().chain(&black_box).map(PathBuf::as_path);
    let kernel_log = protect_aloud(&settings.own, || {
        privileges::settle(account, written, Programs::None, || {
            is_machine.then(|| black_box::open_log(&settings.record)).flatten()
        })
    })?;
    sampler::make_room();
    let failed = |error: io::Error| format!("cannot start: {error}");
    // Two runtimes: in one, connections would wait for a tick of the sampler even beside an idle worker, since the worker of
    // the tick would poll for them.
    let sampling = super::runtime::runtime().build().map_err(failed)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let _messages = Messages::start().map_err(failed)?;
    let _handled = prepare(&runtime).map_err(failed)?;
    let by = args.by.unwrap_or(GroupBy::Command);
    let exporter = Exporter::new(by, args.top as usize, SystemTime::now());
    let exporter = Arc::new(Mutex::new(exporter));
    let handle = sampler::spawn(options, sampling.handle());
    let config = settings.history_config(settings.ui.delta);
    let history = History::with_config(HistoryConfig { own_pid, ..config });
    let state = State::new(history, Alerts::default());
    let interval = settings.sampler.interval;
    let outlets = if is_machine {
        outlets(&settings, env, kernel_log)
    } else {
        Outlets::default()
    };
    let needs = Exporter::needs(by).and(outlets.recorder.as_ref().map_or(Needs::NOTHING, |_| Needs::EXITS));
    handle.wanted.send_modify(|wanted| wanted.needs = needs);
    let (_engine, page) = start(state, &handle, sampling.handle(), exporter, interval, outlets).map_err(failed)?;
    let (fresh, access) = watch::channel(Arc::new(access));
    let server = Arc::new(Server {
        page: Arc::clone(&page),
        passwords: Passwords::new().map_err(failed)?,
        access,
    });
    let ended = runtime.block_on(async {
        let mut stop = [
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ];
        let [interrupt, terminate, hangup] = &mut stop;
        let stopped = async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = hangup.recv() => {}
            }
        };
        let textfile = args.textfile.as_deref().map(|path| TextFile::new(&page, path));
        let writing = textfile.as_ref().map(TextFile::keep_writing);
        let pushing = push.as_ref().map(|push| push.keep_pushing(&page, complain));
        let reloading = args.web_config.as_deref().zip(address);
        let reloading = reloading.map(|(file, address)| access::keep_fresh(file, address, fresh, complain));
        let serving = async {
            if let Some(listener) = listener {
                http::serve(TcpListener::from_std(listener)?, server, stopped).await
            } else {
                stopped.await;
                Ok(())
            }
        };
        let ended = tokio::select! {
            ended = serving => ended,
            never = if_any(writing) => match never {},
            never = if_any(reloading) => match never {},
            never = if_any(pushing) => match never {},
        };
        if let Some(textfile) = &textfile {
            textfile.end().await;
        }
        ended
    });
    // Do not wait for reads of /proc, which may be stuck for ever.
    runtime.shutdown_background();
    sampling.shutdown_background();
    ended.map_err(failed)?;
    Ok(Exit::Done)
}

/// Opens the targets of snapshots. Reports those that cannot be opened.
fn outlets(settings: &Settings, env: &Env, kernel_log: Option<KernelLog>) -> Outlets {
    let looks = settings.sampler.heaps.then(Looks::default);
    let settings = &settings.record;
    let recorder = black_box::start(settings, env).unwrap_or_else(|why| {
        complain(&format!("no black box: {why}"));
        None
    });
    Outlets {
        recorder: recorder.map(Arc::new),
        kernel_log,
        looks,
        ..Outlets::default()
    }
}

/// Runs a task if there is one; else waits for ever.
async fn if_any(task: Option<impl Future<Output = Infallible>>) -> Infallible {
    match task {
        Some(task) => task.await,
        None => std::future::pending().await,
    }
}

/// Starts the engine, and the page that is made from its state.
fn start(
    state: State,
    handle: &sampler::Handle,
    runtime: &runtime::Handle,
    exporter: Arc<Mutex<Exporter>>,
    interval: Duration,
    outlets: Outlets,
) -> io::Result<(Engine, Arc<Page>)> {
    let mut feed = RecordFeed::new(outlets);
    let recorded = feed.state();
    let counted = Arc::clone(&exporter);
    // The page needs the engine, and the engine reports each snapshot to the page.
    let reported = Arc::new(OnceLock::<Arc<Page>>::new());
    let page = Arc::clone(&reported);
    let engine = Engine::spawn(
        state,
        handle.snapshots.clone(),
        runtime.clone(),
        move |snapshot, alerts| {
            lock(&counted).push(snapshot);
            feed.push(snapshot, alerts);
            if let Some(what) = feed.news() {
                complain(&what);
            }
            if let Some(page) = page.get() {
                page.renew();
            }
        },
    )?;
    let _ = recorded.set(engine.shared());
    let page = Arc::new(Page::new(engine.shared(), exporter, interval));
    let _ = reported.set(Arc::clone(&page));
    Ok((engine, page))
}

/// Listens at the address, if the access allows it. Reports the address, and what others may read.
fn open_port(address: std::net::SocketAddr, access: &Access) -> Result<std::net::TcpListener, UsageError> {
    let wrong = |what| UsageError::option("--listen", what);
    access.check(address).map_err(wrong)?;
    access.warning(address).into_iter().for_each(complain);
    let listening = listen(address, access.scheme());
    listening.map_err(|error| wrong(format!("cannot listen at {address}: {error}")))
}

fn listen(address: std::net::SocketAddr, scheme: &str) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    complain(&format!("listening at {scheme}://{}/metrics", listener.local_addr()?));
    Ok(listener)
}

/// The file that the metrics are written to.
struct TextFile {
    page: Arc<Page>,
    path: PathBuf,
    /// The path, safe to print.
    shown: String,
    /// Locked during a write.
    writing: Arc<tokio::sync::Mutex<()>>,
}

impl TextFile {
    fn new(page: &Arc<Page>, path: &Path) -> Self {
        Self {
            page: Arc::clone(page),
            path: path.to_owned(),
            shown: crate::text::safe(path.as_os_str().as_encoded_bytes()).into_owned(),
            writing: Arc::default(),
        }
    }

    /// Writes the file at intervals. Reports a failure, or a write that hangs, once until a write succeeds.
    async fn keep_writing(&self) -> Infallible {
        let mut interval = tokio::time::interval(TEXTFILE_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut is_failing, mut watchdog) = (false, Watchdog::default());
        // Wait for the first snapshot.
        let mut wait = Duration::from_millis(100);
        loop {
            let (page, path) = (Arc::clone(&self.page), self.path.clone());
            let writing = Arc::clone(&self.writing).lock_owned().await;
            let written = tokio::task::spawn_blocking(move || {
                let _writing = writing;
                let Some(text) = page.text(TextFormat::Prometheus, false) else {
                    return Ok(false);
                };
                write(&path, &text).map(|()| true)
            });
            let hangs = format!("{} has not been written after 5s: zmtop waits for its disk", self.shown);
            let hangs = || complain(&hangs);
            let written = watchdog.wait(written, hangs).await;
            match written.unwrap_or_else(|error| Err(io::Error::other(error))) {
                Ok(is_written) => {
                    is_failing = false;
                    if is_written {
                        wait = Duration::ZERO;
                        interval.reset();
                    }
                }
                Err(error) => {
                    if !std::mem::replace(&mut is_failing, true) {
                        complain(&format!("cannot write {}: {error}", self.shown));
                    }
                    wait = Duration::ZERO;
                }
            }
            if wait.is_zero() {
                interval.tick().await;
            } else {
                tokio::time::sleep(wait).await;
            }
        }
    }

    /// Waits briefly for a write in progress, and reports if it does not end.
    async fn end(&self) {
        if tokio::time::timeout(STOP_TIMEOUT, self.writing.lock()).await.is_err() {
            complain(&format!(
                "{} was still being written: it keeps its old content, and the next start removes the incomplete file",
                self.shown
            ));
        }
    }
}

/// Replaces the file atomically. The exporter that reads it runs as another user.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    atomic::replace(path, |file| {
        file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
        file.write_all(text)
    })
}
