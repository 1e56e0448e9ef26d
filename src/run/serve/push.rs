//! Pushes metrics to a collector of OpenTelemetry.
//!
//! ```text
//! settings   addresses, headers and times, from the environment
//! collector  one request
//! ```
//!
//! The sampler knows nothing of it, and a push that fails is not kept: the next one has newer figures, and counters go on.

mod collector;
mod settings;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hyper::body::Bytes;
use tokio::time::MissedTickBehavior;

use self::collector::{Collector, Failed};
use self::settings::Settings;
use super::page::Page;
use crate::cli::UsageError;
use crate::export::otlp;
use crate::run::complain;

/// Times to wait before a push is tried again.
const WAITS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// The longest time to wait where the collector names one.
const MAX_WAIT: Duration = Duration::from_secs(30);
/// Time between two looks for the first snapshot.
const FIRST_LOOK: Duration = Duration::from_millis(100);

/// A collector to push to.
pub(super) struct Push(Collector);

impl Push {
    /// Reads the settings of the environment.
    ///
    /// # Errors
    /// They or the address cannot be used.
    pub(super) fn new(url: &str) -> Result<Self, UsageError> {
        let settings = Settings::new(url, |name| std::env::var(name).ok());
        let collector = settings.and_then(Collector::new);
        collector.map(Self).map_err(|what| UsageError::option("--otlp", what))
    }

    /// Pushes again and again. What fails is said once, until it succeeds or fails otherwise.
    pub(super) async fn keep_pushing(&self, page: &Arc<Page>) -> Infallible {
        let mut turns = tokio::time::interval(self.0.settings().interval);
        turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut said = None;
        loop {
            turns.tick().await;
            let Some(body) = self.body(page).await else {
                tokio::time::sleep(FIRST_LOOK).await;
                turns.reset_immediately();
                continue;
            };
            let sent = self.send(body).await;
            page.count_push(sent.is_ok());
            let failed = sent.err().map(|failed| failed.what);
            if let Some(what) = failed.as_ref().filter(|_| failed != said) {
                complain(&format!("cannot push to {}: {what}", self.0.settings().url));
            }
            said = failed;
        }
    }

    /// Writes the last snapshot, off the worker that takes connections; `None` before the first.
    async fn body(&self, page: &Arc<Page>) -> Option<Bytes> {
        let (page, mut resource) = (Arc::clone(page), self.0.settings().resource.clone());
        let written = tokio::task::spawn_blocking(move || {
            let (host, families) = page.families()?;
            let own = [
                ("service.name", env!("CARGO_PKG_NAME").to_owned()),
                ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
                ("host.name", host),
                ("os.type", "linux".to_owned()),
            ];
            for (key, value) in own {
                if !resource.iter().any(|(named, _)| named == key) {
                    resource.push((key.to_owned(), value));
                }
            }
            Some(Bytes::from(otlp::write(&families, &resource, SystemTime::now())))
        });
        written.await.ok().flatten()
    }

    /// Sends, and some more times where that may help.
    async fn send(&self, body: Bytes) -> Result<(), Failed> {
        for wait in WAITS {
            match self.0.send(body.clone()).await {
                Err(Failed { retry: Some(after), .. }) => tokio::time::sleep(wait.max(after).min(MAX_WAIT)).await,
                other => return other,
            }
        }
        self.0.send(body).await
    }
}
