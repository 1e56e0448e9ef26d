//! Snapshots of many hosts, made from what `zmtop serve` exports and a Prometheus keeps.
//!
//! ```text
//! queries   the figures, their metrics and their queries
//! server    one query over HTTP
//! rounds    the queries of one snapshot
//! answer    parses an answer
//! clock     the clocks of the servers, and the clock of the snapshots
//! source    the rows and hosts, from one round of answers to the next; makes snapshots
//! past      the time before the first snapshot
//! ```
//!
//! `run` is a task of its own: the screen never waits for it. `answer`, `clock`, `queries` and `source` are pure. Only
//! `/api/v1/query` and `/api/v1/query_range` of the HTTP API are used, with plain `PromQL`, so that Thanos, Mimir and
//! `VictoriaMetrics` work, too. Times of day are the server's: this machine's clock may differ.

mod answer;
mod clock;
mod past;
mod queries;
mod rounds;
mod server;
mod source;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use answer::{Answer, AnswerError};
use past::Filled;
pub use past::Past;
pub use queries::Field;
use rounds::{Round, Rounds};
pub(crate) use server::Server;
pub use source::{FleetSource, KEPT};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use crate::engine::SharedState;
use crate::history::{History, HistoryConfig};
use crate::model::{FleetStatus, Snapshot};
use crate::proc::clock as system_clock;
use crate::sampler::{Options, Wanted};
use crate::units;

/// Interval at which a status with a fault is repeated, since the age of the figures changes.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Time after which a missing answer is reported.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time after which a failed query is sent again, unless the next round comes sooner. Doubles with each failure.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Minimum difference of the clocks that is reported.
const CLOCKS_DIFFER: Duration = Duration::from_secs(60);

/// The label that identifies hosts by default: the scraped address, which every target has.
pub const DEFAULT_LABEL: &str = "instance";

/// The server to query, and the series to use.
pub(crate) struct Link {
    pub(crate) server: Server,
    /// Label matchers of all series, as in `PromQL`: `cluster="eu"`.
    pub(crate) matchers: String,
    /// The label that identifies hosts.
    pub(crate) label: String,
}

impl Link {
    fn promql(&self, field: Field) -> String {
        field.promql(&self.matchers, &self.label)
    }
}

type Publish = watch::Sender<Option<Arc<Snapshot>>>;

/// Queries the server until nobody receives the snapshots. Puts the past into the engine's state, which has a history of this
/// configuration. `tell` shows how the queries go.
pub(crate) async fn run(
    link: Link,
    publish: Publish,
    mut changes: watch::Receiver<Wanted>,
    state: SharedState,
    history: HistoryConfig,
    tell: impl Fn(FleetStatus) + Send + 'static,
) {
    let mut reporter = Reporter {
        tell,
        status: FleetStatus::default(),
        answered: None,
        heart: interval(HEARTBEAT),
    };
    let mut rounds = Rounds::new(link);
    let mut wanted = changes.borrow_and_update().clone();
    let mut ticker = ticker(wanted.interval);
    let mut has_past = false;
    // A server that has just started, or is busy, answers in a moment, and an interval may be minutes: the time of a retry,
    // and the wait before it.
    let mut retry: Option<(Instant, Duration)> = None;
    let (sender, mut filled) = mpsc::channel(1);
    // Its task ends with this one.
    let mut filling = JoinSet::new();
    loop {
        let is_due = tokio::select! {
            biased;
            () = publish.closed() => return,
            change = changes.changed() => {
                if change.is_err() {
                    return;
                }
                let new = changes.borrow_and_update().clone();
                if new.interval != wanted.interval {
                    ticker = self::ticker(new.interval);
                }
                let is_asked = new.refresh != wanted.refresh;
                wanted = new;
                is_asked
            }
            _ = ticker.tick(), if !wanted.paused => true,
            () = async { sleep_until(retry.map_or_else(Instant::now, |(at, _)| at)).await },
                if retry.is_some() && !wanted.paused => true,
            Some(filled) = filled.recv() => {
                match filled {
                    Filled::Part(part) => {
                        state.lock().earlier.push(part);
                        // The engine pushes the last snapshot once more, and adds the part then.
                        publish.send_modify(|_| {});
                    }
                    Filled::Failed(why) => reporter.report_past(Some(why)),
                    Filled::All => reporter.report_past(None),
                }
                false
            }
            _ = reporter.heart.tick() => {
                reporter.repeat();
                false
            }
        };
        if !is_due {
            continue;
        }
        let every = bounded(wanted.interval);
        let Some(round) = reporter.wait_for(&publish, PATIENCE, rounds.ask(every)).await else {
            return;
        };
        reporter.report(&round);
        retry = round.fault.is_some().then(|| {
            let wait = retry.map_or(FIRST_RETRY, |(_, last)| (last * 2).min(Options::LONGEST));
            (Instant::now() + wait, wait)
        });
        let Some(snapshot) = round.snapshot else { continue };
        publish.send_replace(Some(snapshot));
        let is_first = !std::mem::replace(&mut has_past, true);
        // No patience: the figures on the screen do not depend on these.
        let later = reporter.wait_for(&publish, Duration::MAX, rounds.ask_later(is_first));
        let Some(later) = later.await else { return };
        if let Some(round) = later {
            reporter.report(&round);
            if let Some(whole) = round.snapshot {
                // The engine replaces its history and its last snapshot.
                state.lock().past = Some(Box::new(History::with_config(history)));
                publish.send_replace(Some(whole));
            }
        }
        if let Some(start) = rounds.start().filter(|_| is_first) {
            filling.spawn(past::fill(rounds.asker.clone(), start, history, sender.clone()));
        }
    }
}

fn bounded(interval: Duration) -> Duration {
    interval.clamp(Duration::from_secs(1), Options::LONGEST)
}

fn ticker(every: Duration) -> Interval {
    let mut ticker = interval(bounded(every));
    ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticker
}

/// Reports the state of the queries to the screen.
struct Reporter<F> {
    tell: F,
    status: FleetStatus,
    /// The time of the last answer (`CLOCK_BOOTTIME`), and the age of its oldest figures then.
    answered: Option<(Duration, Duration)>,
    heart: Interval,
}

impl<F: Fn(FleetStatus)> Reporter<F> {
    fn send(&mut self) {
        let now = system_clock::since_boot();
        self.status.age = self
            .answered
            .map(|(at, age)| now.saturating_sub(at).saturating_add(age));
        (self.tell)(self.status.clone());
    }

    /// Reports a fault again with the new age.
    fn repeat(&mut self) {
        if self.status.fault.is_some() {
            self.send();
        }
    }

    /// Reports why a part of the past is missing; `None` if nothing is.
    fn report_past(&mut self, missing: Option<String>) {
        self.status.past = Some(missing);
        self.send();
    }

    fn report(&mut self, round: &Round) {
        self.status.fault.clone_from(&round.fault);
        self.status.asked = Some(round.asked.clone());
        if let Some(snapshot) = &round.snapshot {
            let age = snapshot.fleet.as_ref().and_then(|fleet| fleet.age(snapshot.monotonic));
            self.answered = Some((system_clock::since_boot(), age.unwrap_or_default()));
            let clocks = clocks(snapshot.time);
            self.status.remarks = round.remarks.iter().cloned().chain(clocks).collect();
        }
        self.send();
    }

    /// Waits for an answer, and reports if it takes longer than `patience`. `None` if nobody receives it any more.
    async fn wait_for<T>(
        &mut self,
        publish: &Publish,
        patience: Duration,
        asked: impl Future<Output = T>,
    ) -> Option<T> {
        let began = Instant::now();
        let mut is_late = false;
        tokio::pin!(asked);
        loop {
            tokio::select! {
                answer = &mut asked => {
                    if is_late {
                        self.status.fault = None;
                        self.send();
                    }
                    return Some(answer);
                }
                () = publish.closed() => return None,
                _ = self.heart.tick() => {
                    if began.elapsed() >= patience && self.status.fault.is_none() {
                        is_late = true;
                        self.status.fault = Some("has not answered yet".into());
                    }
                    self.repeat();
                }
            }
        }
    }
}

/// Returns a remark if the server's clock differs from this machine's.
fn clocks(theirs: SystemTime) -> Option<String> {
    let ours = SystemTime::now();
    let (by, how) = match ours.duration_since(theirs) {
        Ok(by) => (by, "behind"),
        Err(before) => (before.duration(), "ahead of"),
    };
    // To the minute, as the answer took a while.
    let shown = Duration::from_secs((by.as_secs() + 30) / 60 * 60);
    (by >= CLOCKS_DIFFER).then(|| {
        format!(
            "its clock is {} {how} this machine's: times are its own",
            units::span(shown)
        )
    })
}
