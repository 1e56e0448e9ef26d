//! Asks a Prometheus for the rows of a fleet, again and again, on a task of its own: the screen never waits for it.
//!
//! ```text
//! http      one question over HTTP, within bounds of time and size
//! options   the command line: whom to ask, and as whom
//! rounds    the questions of a snapshot, and those about the past
//! ```

mod http;
mod options;
mod rounds;

use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use http::Server;
pub(crate) use options::link;
use rounds::{Round, Rounds};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::engine::SharedState;
use crate::history::{History, HistoryConfig};
use crate::model::Snapshot;
use crate::sampler::{Options, Wanted};
use crate::source::prometheus::{HostLabel, Matchers};
use crate::tui::FleetStatus;
use crate::units;

/// Time between two words on how old the figures are.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Time after which an answer that has not come is told of.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time after which a question that failed is asked once more, unless the next round comes sooner; each time twice as long.
const FIRST_RETRY: Duration = Duration::from_secs(1);
/// Difference of the clocks from which on it is told.
const CLOCKS_DIFFER: Duration = Duration::from_secs(60);

/// Whom to ask, and for which series.
#[derive(Debug)]
pub struct Link {
    /// The Prometheus.
    pub(crate) server: Server,
    /// Matchers of all series.
    pub(crate) matchers: Matchers,
    /// The label that tells hosts apart.
    pub(crate) label: HostLabel,
}

/// The ends of the channels to the rest of the monitor.
pub(crate) struct Ends {
    /// Where snapshots go.
    pub(crate) publish: watch::Sender<Option<Arc<Snapshot>>>,
    /// The wishes of the screen.
    pub(crate) wanted: watch::Receiver<Wanted>,
    /// The engine's state, which gets the past.
    pub(crate) state: SharedState,
    /// The configuration of its history.
    pub(crate) history: HistoryConfig,
}

/// Asks until nobody wants the snapshots any more, and tells how that goes.
pub(crate) async fn run(link: Link, mut ends: Ends, tell: impl Fn(FleetStatus) + Send + 'static) {
    let mut teller = Teller::new(tell);
    let mut rounds = Rounds::new(link);
    let mut wanted = ends.wanted.borrow_and_update().clone();
    let mut ticker = ticker(wanted.interval);
    let mut has_past = false;
    let mut retry = Retry::default();
    loop {
        let is_due = tokio::select! {
            biased;
            () = ends.publish.closed() => return,
            change = ends.wanted.changed() => {
                if change.is_err() {
                    return;
                }
                let new = ends.wanted.borrow_and_update().clone();
                if new.interval != wanted.interval {
                    ticker = self::ticker(new.interval);
                }
                let asked = new.refresh != wanted.refresh;
                wanted = new;
                asked
            }
            _ = ticker.tick(), if !wanted.paused => true,
            () = retry.due(), if !wanted.paused => true,
            () = teller.beat() => {
                teller.repeat();
                false
            }
        };
        if !is_due {
            continue;
        }
        let every = bounded(wanted.interval);
        let Some(round) = teller.wait_for(&ends.publish, PATIENCE, rounds.ask(every)).await else {
            return;
        };
        teller.take(&round);
        retry.note(round.fault.is_some());
        let Some(snapshot) = round.snapshot else { continue };
        ends.publish.send_replace(Some(snapshot));
        let is_first = !std::mem::replace(&mut has_past, true);
        // The figures on the screen are no older for these.
        let later = teller.wait_for(&ends.publish, Duration::MAX, rounds.ask_later(is_first));
        let Some(later) = later.await else { return };
        if let Some(round) = later {
            teller.take(&round);
            if let Some(whole) = round.snapshot {
                put_past(&ends, Box::new(History::with_config(ends.history)), Some(whole));
            }
        }
        if is_first {
            let past = teller.wait_for(&ends.publish, Duration::MAX, rounds.past(ends.history));
            match past.await {
                None => return,
                Some(Ok(history)) => put_past(&ends, history, None),
                Some(Err(why)) => teller.remark(format!("the time before is not known: {why}")),
            }
        }
    }
}

/// Puts a past before the snapshot that the engine has, or before one that takes its place.
fn put_past(ends: &Ends, history: Box<History>, snapshot: Option<Arc<Snapshot>>) {
    ends.state.lock().past = Some(history);
    // Has the engine take it in once more.
    ends.publish.send_modify(|last| {
        if snapshot.is_some() {
            *last = snapshot;
        }
    });
}

/// Asks again soon where a question failed: a server that has just started, or is busy, answers in a moment, and an interval
/// may be minutes.
#[derive(Debug, Default)]
struct Retry {
    at: Option<Instant>,
    /// The time waited for last; none since an answer.
    waited: Option<Duration>,
}

impl Retry {
    /// Takes in if a round failed.
    fn note(&mut self, failed: bool) {
        self.waited = failed.then(|| self.waited.map_or(FIRST_RETRY, |last| (last * 2).min(Options::LONGEST)));
        self.at = self.waited.map(|wait| Instant::now() + wait);
    }

    /// Waits until it is time; for ever where nothing failed.
    async fn due(&self) {
        match self.at {
            Some(at) => tokio::time::sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}

fn bounded(interval: Duration) -> Duration {
    interval.clamp(Duration::from_secs(1), Options::LONGEST)
}

fn ticker(every: Duration) -> tokio::time::Interval {
    let mut ticker = interval(bounded(every));
    ticker.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticker
}

/// Tells the screen how the asking goes.
struct Teller<F> {
    tell: F,
    status: FleetStatus,
    answered_at: Option<Instant>,
    heart: tokio::time::Interval,
}

impl<F: Fn(FleetStatus)> Teller<F> {
    fn new(tell: F) -> Self {
        Self {
            tell,
            status: FleetStatus::default(),
            answered_at: None,
            heart: interval(HEARTBEAT),
        }
    }

    async fn beat(&mut self) {
        self.heart.tick().await;
    }

    /// Tells of a fault again, as its age has changed.
    fn repeat(&mut self) {
        if self.status.fault.is_some() {
            self.status.age = self.answered_at.map(|at| at.elapsed());
            (self.tell)(self.status.clone());
        }
    }

    fn remark(&mut self, what: String) {
        self.status.remarks.push(what);
        (self.tell)(self.status.clone());
    }

    fn take(&mut self, round: &Round) {
        self.status.fault.clone_from(&round.fault);
        if round.fault.is_none() {
            self.answered_at = Some(Instant::now());
        }
        if let Some(snapshot) = &round.snapshot {
            let clocks = clocks(snapshot.time);
            self.status.remarks = round.remarks.iter().cloned().chain(clocks).collect();
        }
        self.status.age = self.answered_at.map(|at| at.elapsed());
        (self.tell)(self.status.clone());
    }

    /// Waits for what is asked, and says so where that takes longer than `patience`; `None` where nobody wants it any more.
    async fn wait_for<T>(
        &mut self,
        publish: &watch::Sender<Option<Arc<Snapshot>>>,
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
                        (self.tell)(self.status.clone());
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

/// Says by how much this machine's clock differs from that of the answers.
fn clocks(theirs: SystemTime) -> Option<String> {
    let ours = SystemTime::now();
    let (by, how) = match ours.duration_since(theirs) {
        Ok(by) => (by, "behind"),
        Err(before) => (before.duration(), "ahead of"),
    };
    // To the minute, as the answer took a while.
    let shown = Duration::from_secs((by.as_secs() + 30) / 60 * 60);
    let text = || {
        format!(
            "its clock is {} {how} this machine's: times are its own",
            units::span(shown)
        )
    };
    (by >= CLOCKS_DIFFER).then(text)
}
