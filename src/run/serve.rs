//! `zmtop serve`: answers scrapes, or writes a file for another exporter, until it is told to stop.
//!
//! ```text
//! sampler ─► engine (history, verdicts) ─► page: the last snapshot as text ─┬─► http      scrapes
//!                                                                           ├─► textfile  node_exporter
//!                                                                           └─► push      a collector of OpenTelemetry
//!
//! access     the web config in use: TLS, users, limits
//! passwords  basic authentication
//! ```
//!
//! A scrape is answered from the last snapshot. It never causes a read of `/proc`, so that neither many scrapes nor a
//! stuck process change what zmtop costs.

mod access;
mod http;
mod page;
mod passwords;
mod push;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use self::access::Access;
use self::http::Server;
use self::page::Page;
use self::passwords::Passwords;
use self::push::Push;
use super::{Failure, complain, sampler_options};
use crate::alert::Alerts;
use crate::cli::serve::ServeArgs;
use crate::cli::{Exit, UsageError};
use crate::config::{Config, Env, Settings, atomic};
use crate::engine::{Engine, State};
use crate::export::text::TextFormat;
use crate::export::{ExportOptions, Exporter};
use crate::group::GroupBy;
use crate::history::{History, HistoryConfig};
use crate::sampler;

/// Time between two writes of the file.
const TEXTFILE_INTERVAL: Duration = Duration::from_secs(15);

/// Serves until a signal ends it.
pub(super) fn run(args: &ServeArgs, env: &Env) -> Result<Exit, Failure> {
    let settings = settings(args, env)?;
    let address = args.address();
    let access = args.web_config.as_deref().map(Access::load).transpose();
    let access = access.map_err(UsageError::from)?.unwrap_or_default();
    let push = args.otlp.as_deref().map(Push::new).transpose()?;
    if let Some(address) = address {
        access.check(address)?;
        access.doubt(address).into_iter().for_each(complain);
    }
    // Before anything is read: an address that is taken should be said at once.
    let listener = match address.map(|address| listen(address, access.scheme())).transpose() {
        Ok(listener) => listener,
        Err(error) => {
            let error = format!(
                "cannot listen at {}: {error}",
                address.map_or_else(String::new, |a| a.to_string())
            );
            return Err(Failure::Usage(UsageError::option("--listen", error)));
        }
    };
    sampler::make_room();
    let failed = |error: io::Error| format!("cannot start: {error}");
    // Two runtimes: in one, connections would wait for a tick of the sampler even beside a worker that has nothing to do, as
    // it would be the tick's worker that is told of them.
    let sampling = super::runtime().build().map_err(failed)?;
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let options = sampler_options(&settings.sampler, args.paths.proc_root.as_deref());
    let own_pid = options.roots().is_own().then(std::process::id);
    let exporter = Arc::new(Mutex::new(Exporter::new(ExportOptions {
        by: args.by.unwrap_or(GroupBy::Command),
        top: args.top as usize,
    })));
    let handle = sampler::spawn(options, sampling.handle());
    handle.wanted.send_modify(|wanted| wanted.needs = Exporter::needs());
    let config = settings.history_config(settings.ui.delta);
    let history = History::with_config(HistoryConfig { own_pid, ..config });
    let state = State::new(history, Alerts::default());
    let interval = settings.sampler.interval;
    let (_engine, page) = start(state, &handle, sampling.handle(), exporter, interval).map_err(failed)?;
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
        let writing = args.textfile.as_deref().map(|file| keep_writing(&page, file));
        let writing = async {
            match writing {
                Some(writing) => writing.await,
                None => std::future::pending().await,
            }
        };
        let pushing = async {
            match &push {
                Some(push) => push.keep_pushing(&page).await,
                None => std::future::pending().await,
            }
        };
        let refreshing = async {
            match args.web_config.as_deref().zip(address) {
                Some((file, address)) => access::keep_fresh(file, address, fresh).await,
                None => std::future::pending().await,
            }
        };
        let serving = async {
            if let Some(listener) = listener {
                http::serve(TcpListener::from_std(listener)?, server, stopped).await
            } else {
                stopped.await;
                Ok(())
            }
        };
        tokio::select! {
            ended = serving => ended,
            never = writing => match never {},
            never = refreshing => match never {},
            never = pushing => match never {},
        }
    });
    // Reads of /proc may be stuck for ever: nobody waits for them.
    runtime.shutdown_background();
    sampling.shutdown_background();
    ended.map_err(failed)?;
    Ok(Exit::Done)
}

/// Starts the engine, and the page that is made of what it has.
fn start(
    state: State,
    handle: &sampler::Handle,
    runtime: &runtime::Handle,
    exporter: Arc<Mutex<Exporter>>,
    interval: Duration,
) -> io::Result<(Engine, Arc<Page>)> {
    let counted = Arc::clone(&exporter);
    // The page is of what the engine has, which tells it of every snapshot.
    let told = Arc::new(OnceLock::<Arc<Page>>::new());
    let page = Arc::clone(&told);
    let engine = Engine::spawn(state, handle.snapshots.clone(), runtime.clone(), move |snapshot, _| {
        page::lock(&counted).push(snapshot);
        if let Some(page) = page.get() {
            page.renew();
        }
    })?;
    let page = Arc::new(Page::new(engine.shared(), exporter, interval));
    let _ = told.set(Arc::clone(&page));
    Ok((engine, page))
}

fn settings(args: &ServeArgs, env: &Env) -> Result<Settings, UsageError> {
    let mut settings = Config::load(args.paths.config.as_deref(), env)?.settings;
    args.apply(&mut settings)?;
    Ok(settings)
}

fn listen(address: std::net::SocketAddr, scheme: &str) -> io::Result<std::net::TcpListener> {
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    complain(&format!("listening at {scheme}://{}/metrics", listener.local_addr()?));
    Ok(listener)
}

/// Writes the file again and again. What fails is said once, until it succeeds.
async fn keep_writing(page: &Arc<Page>, file: &Path) -> std::convert::Infallible {
    let mut interval = tokio::time::interval(TEXTFILE_INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_failing = false;
    // The first text is there after the first snapshot.
    let mut wait = Duration::from_millis(100);
    loop {
        let (source, path) = (Arc::clone(page), file.to_owned());
        let written = tokio::task::spawn_blocking(move || {
            let Some(text) = source.text(TextFormat::Prometheus, false) else {
                return Ok(false);
            };
            write(&path, &text).map(|()| true)
        });
        match written.await.unwrap_or_else(|error| Err(io::Error::other(error))) {
            Ok(is_written) => {
                is_failing = false;
                if is_written {
                    wait = Duration::ZERO;
                    interval.reset();
                }
            }
            Err(error) => {
                if !std::mem::replace(&mut is_failing, true) {
                    complain(&format!(
                        "cannot write {}: {error}",
                        crate::text::safe(file.as_os_str().as_encoded_bytes())
                    ));
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

/// Replaces the file as a whole; the exporter that reads it runs as another user.
fn write(path: &Path, text: &[u8]) -> io::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    atomic::replace(path, |file| {
        file.set_permissions(std::fs::Permissions::from_mode(0o644))?;
        file.write_all(text)
    })
}
