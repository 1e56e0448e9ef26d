//! The web config in use. It is reloaded when one of its files changes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;

use super::tls::TlsSettings;
use super::web::WebConfig;
use super::{Watchdog, lock};
use crate::config::ConfigError;

/// Interval of checks for changed files.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(crate) struct Access {
    pub(super) config: WebConfig,
    /// `None` without TLS.
    pub(super) acceptor: Option<TlsAcceptor>,
    limit: Option<Mutex<RateLimit>>,
    /// The files that it was made from.
    seen: Vec<(PathBuf, Option<Stamp>)>,
}

/// The state of a file: inode, size, times of its last change.
type Stamp = (u64, u64, [i64; 4]);

impl Access {
    /// Reads the web config and the files that it names.
    ///
    /// # Errors
    /// Every fault of the web config, or the first of another file.
    pub(crate) fn load(file: &Path) -> Result<Self, ConfigError> {
        // Before they are read, so that a change meanwhile is noticed later.
        let of_file = [stamped(file)];
        let config = WebConfig::load(file)?;
        let others = config.tls.iter().flat_map(TlsSettings::files).map(stamped);
        let seen = of_file.into_iter().chain(others).collect();
        let server = config.tls.as_ref().map(|tls| tls.server(file)).transpose()?;
        Ok(Self {
            acceptor: server.map(TlsAcceptor::from),
            limit: config.rate_limit.map(RateLimit::new).map(Mutex::new),
            config,
            seen,
        })
    }

    pub(crate) const fn scheme(&self) -> &'static str {
        if self.acceptor.is_some() { "https" } else { "http" }
    }

    /// Checks that an address is a loopback address, or protected by TLS or passwords.
    ///
    /// # Errors
    /// Everyone who reaches the address could read.
    pub(crate) fn check(&self, address: SocketAddr) -> Result<(), String> {
        if address.ip().is_loopback() || self.acceptor.is_some() || self.config.is_guarded() {
            return Ok(());
        }
        let why = "anyone on the network could read it: use a loopback address such as 127.0.0.1:9464, or require TLS and a \
                   password with --web-config";
        Err(why.into())
    }

    /// Returns a warning about an allowed address.
    pub(crate) fn warning(&self, address: SocketAddr) -> Option<&'static str> {
        if address.ip().is_loopback() {
            None
        } else if !self.config.is_guarded() {
            Some(
                "the web config names no users and needs no client certificate: anyone on the network can read the metrics",
            )
        } else if self.acceptor.is_none() {
            Some("the web config has no TLS: passwords and metrics cross the network in plain text")
        } else {
            None
        }
    }

    /// Counts a response. Returns true if the rate limit does not allow it.
    pub(super) fn is_over_limit(&self) -> bool {
        let limit = self.limit.as_ref();
        limit.is_some_and(|limit| !lock(limit).take(Instant::now()))
    }

    fn has_changed(&self) -> bool {
        self.seen.iter().any(|(path, stamp)| stamped(path).1 != *stamp)
    }
}

fn stamped(path: &Path) -> (PathBuf, Option<Stamp>) {
    let stamp = std::fs::metadata(path).ok().map(|m| {
        let times = [m.mtime(), m.mtime_nsec(), m.ctime(), m.ctime_nsec()];
        (m.ino(), m.size(), times)
    });
    (path.into(), stamp)
}

/// Reloads the web config whenever it or a file that it names has changed. If it has faults, or fewer guards than the one in
/// use, the old one stays in use and the reason is passed to `complain` once.
pub(crate) async fn keep_fresh(
    file: &Path,
    address: SocketAddr,
    access: watch::Sender<Arc<Access>>,
    complain: fn(&str),
) -> Infallible {
    let mut checks = tokio::time::interval(CHECK_INTERVAL);
    checks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let (mut reported, mut watchdog) = (None, Watchdog::default());
    loop {
        checks.tick().await;
        let (file, now) = (file.to_owned(), Arc::clone(&access.borrow()));
        let read = tokio::task::spawn_blocking(move || now.has_changed().then(|| again(&file, &now, address)));
        let hangs = || complain("the web config has not been read after 5s: the old one stays in use");
        match watchdog.wait(read, hangs).await {
            Ok(Some(Ok(new))) => {
                complain("the web config was read again");
                access.send_replace(Arc::new(new));
                reported = None;
            }
            Ok(Some(Err(what))) => {
                if reported.as_ref() != Some(&what) {
                    complain("the web config has changed, but the previous one stays in use:");
                    what.lines().for_each(complain);
                }
                reported = Some(what);
            }
            // Nothing has changed.
            Ok(None) => reported = None,
            Err(error) => tracing::warn!(%error, "cannot check the web config"),
        }
    }
}

fn again(file: &Path, old: &Access, address: SocketAddr) -> Result<Access, String> {
    let new = Access::load(file).map_err(|error| error.to_string())?;
    if new.scheme() != old.scheme() {
        let file = file.display();
        return Err(format!("{file}: to switch TLS on or off, restart zmtop"));
    }
    // A tool that writes in place empties the file first. Such a file must not remove a guard.
    if let Some(guard) = old.config.guard_lost_in(&new.config) {
        return Err(format!(
            "{}: {guard} was removed, which would let more clients read: to apply this, restart zmtop",
            file.display()
        ));
    }
    new.check(address).map_err(|why| format!("--listen: {why}"))?;
    Ok(new)
}

/// A token bucket: `burst` responses at once, and one more each interval.
struct RateLimit {
    interval: Duration,
    burst: f64,
    left: f64,
    since: Instant,
}

impl RateLimit {
    fn new((interval, burst): (Duration, u32)) -> Self {
        Self {
            interval,
            burst: f64::from(burst),
            left: f64::from(burst),
            since: Instant::now(),
        }
    }

    /// Consumes a token. Returns false if there is none.
    fn take(&mut self, now: Instant) -> bool {
        let gained = now.duration_since(self.since).div_duration_f64(self.interval);
        self.since = now;
        self.left = (self.left + gained).min(self.burst);
        let is_there = self.left >= 1.0;
        self.left -= f64::from(u8::from(is_there));
        is_there
    }
}
