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

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

pub use http::Server;
pub(crate) use options::link;
use rounds::Rounds;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::engine::State;
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
    pub(crate) state: Arc<Mutex<State>>,
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
            () = teller.beat() => {
                teller.repeat();
                false
            }
        };
        if !is_due {
            continue;
        }
        let every = bounded(wanted.interval);
        let Some(round) = teller.wait_for(&ends.publish, rounds.ask(every)).await else {
            return;
        };
        teller.take(round.fault.as_ref(), &round.remarks, round.snapshot.as_deref());
        if let Some(snapshot) = round.snapshot {
            ends.publish.send_replace(Some(snapshot));
            if !std::mem::replace(&mut has_past, true) {
                let Some(past) = teller.wait_for(&ends.publish, rounds.past(ends.history)).await else {
                    return;
                };
                match past {
                    Ok(history) => put_past(&ends, history),
                    Err(why) => teller.remark(format!("the time before is not known: {why}")),
                }
            }
        }
    }
}

/// Puts a past before the snapshot that the engine has.
fn put_past(ends: &Ends, history: Box<History>) {
    {
        let mut state = ends.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.history = *history;
    }
    // Has the engine take it in once more.
    ends.publish.send_modify(|_| {});
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

    fn take(&mut self, fault: Option<&String>, remarks: &[String], snapshot: Option<&Snapshot>) {
        self.status.fault = fault.cloned();
        if fault.is_none() {
            self.answered_at = Some(Instant::now());
        }
        if let Some(snapshot) = snapshot {
            self.status.remarks = remarks.iter().cloned().chain(clocks(snapshot.time)).collect();
        }
        self.status.age = self.answered_at.map(|at| at.elapsed());
        (self.tell)(self.status.clone());
    }

    /// Waits for what is asked, and says so where that takes long; `None` where nobody wants it any more.
    async fn wait_for<T>(
        &mut self,
        publish: &watch::Sender<Option<Arc<Snapshot>>>,
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
                    if began.elapsed() >= PATIENCE && self.status.fault.is_none() {
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
