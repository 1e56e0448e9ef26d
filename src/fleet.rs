//! Snapshots of many hosts, made from what `zmtop serve` exports and a Prometheus keeps.
//!
//! ```text
//! query     the figures, their metrics and their queries; sends a query over HTTP
//! answer    parses an answer
//! clock     the clocks of the servers, and the clock of the snapshots
//! source    the rows and hosts, from one round of answers to the next; makes snapshots
//! past      the time before the first snapshot
//! ```
//!
//! `run` is a task of its own: the screen never waits for it. `answer`, `clock` and `source` are pure. Only
//! `/api/v1/query` and `/api/v1/query_range` of the HTTP API are used, with plain `PromQL`, so that Thanos, Mimir and
//! `VictoriaMetrics` work, too. Times of day are the server's: this machine's clock may differ.

mod answer;
mod clock;
mod past;
mod query;
mod source;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

pub use answer::{Answer, AnswerError};
use clock::Clock;
use past::Filled;
pub use past::Past;
pub use query::Field;
pub(crate) use query::Server;
use rustix::process::setpriority_process;
pub use source::{FleetSource, KEPT};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::{JoinError, JoinHandle, JoinSet};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use crate::engine::SharedState;
use crate::history::{History, HistoryConfig};
use crate::model::{Asked, FleetStatus, Snapshot};
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

/// Maximum number of queries at once.
const AT_ONCE: usize = 3;
/// Maximum number of a server's warnings on the queries of a round. Further ones are left out.
const MAX_WARNINGS: usize = 32;
/// Niceness of the threads that parse the answers.
const NICE: i32 = 10;
/// The fault if an answer made the parser panic.
const NOT_UNDERSTOOD: &str = "sends an answer that cannot be parsed";

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

/// Queries the server until the receiver of the snapshots is dropped. Puts the past into the engine's state, which has a history
/// of this configuration. `show` reports the progress of the queries.
pub(crate) async fn run(
    link: Link,
    publish: Publish,
    mut changes: watch::Receiver<Wanted>,
    state: SharedState,
    history: HistoryConfig,
    show: impl Fn(FleetStatus) + Send + 'static,
) {
    let mut reporter = Reporter {
        show,
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

/// The server to query, and the rows that the answers go to.
#[derive(Clone)]
struct Asker {
    link: Arc<Link>,
    /// Locked only by threads that may be slow.
    source: Arc<Mutex<FleetSource>>,
    room: Arc<Semaphore>,
}

/// The rounds of queries to one server.
struct Rounds {
    asker: Asker,
    round: u64,
    rows: usize,
    /// The remaining queries of the round.
    later: Vec<Field>,
    /// Remarks on the queries after the last snapshot, and their cost.
    remarks: Vec<String>,
    asked: Asked,
}

/// A moment of the snapshots, from which the past is counted back.
#[derive(Clone, Copy, Debug)]
struct Start {
    at: Duration,
    clock: Clock,
    rows: usize,
}

#[derive(Default)]
struct Round {
    /// `None` if there is no new one.
    snapshot: Option<Arc<Snapshot>>,
    /// The reason why there is none. Completes a sentence that begins with the server's name.
    fault: Option<String>,
    /// Remarks on missing or doubtful data.
    remarks: Vec<String>,
    /// The cost of its queries.
    asked: Asked,
}

impl Rounds {
    fn new(link: Link) -> Self {
        let source = FleetSource::new(link.server.name(), &link.label);
        Self {
            asker: Asker {
                link: Arc::new(link),
                source: Arc::new(Mutex::new(source)),
                room: Arc::new(Semaphore::new(AT_ONCE)),
            },
            round: 0,
            rows: 0,
            later: Vec::new(),
            remarks: Vec::new(),
            asked: Asked::default(),
        }
    }

    /// Returns the time of the last snapshot as such a moment; `None` before the first.
    fn start(&self) -> Option<Start> {
        let source = lock(&self.asker.source);
        Some(Start {
            at: source.last.as_ref()?.monotonic,
            clock: source.clock()?,
            rows: self.rows,
        })
    }

    /// Sends the queries of a snapshot; for a large or unknown fleet only the first ones.
    async fn ask(&mut self, interval: Duration) -> Round {
        let began = Instant::now();
        let (first, later) = Field::of_round(self.round, self.rows);
        self.later = later;
        self.round += 1;
        lock(&self.asker.source).begin();
        let mut round = self.asker.all(first).await;
        round.remarks.append(&mut self.remarks);
        round.asked.add(std::mem::take(&mut self.asked));
        round.asked.took = began.elapsed();
        let source = Arc::clone(&self.asker.source);
        let made = aside(move || {
            let mut source = lock(&source);
            let snapshot = source.finish(interval, system_clock::self_cost());
            (snapshot, source.remarks(), source.rows)
        });
        let Ok((snapshot, remarks, rows)) = made.await else {
            round.fault = Some(NOT_UNDERSTOOD.into());
            return round;
        };
        self.rows = rows;
        tracing::info!(rows, took_ms = began.elapsed().as_millis() as u64, "asked");
        round.remarks.splice(0..0, remarks);
        if round.fault.is_none() && snapshot.as_ref().is_some_and(|snapshot| snapshot.rows().is_empty()) {
            let remark = "it has no series of zmtop serve: is it scraped?";
            round.remarks.insert(0, remark.into());
        } else if round.fault.is_none() && snapshot.is_none() {
            round.fault = Some("has no series of zmtop serve with a valid time: is it scraped?".into());
        }
        round.snapshot = snapshot;
        round
    }

    /// Sends the remaining queries of the round. The next snapshot contains the answers; the first snapshot is made again
    /// and returned.
    async fn ask_later(&mut self, is_first: bool) -> Option<Round> {
        let began = Instant::now();
        let later = std::mem::take(&mut self.later);
        if later.is_empty() {
            return None;
        }
        let mut round = self.asker.all(later).await;
        tracing::info!(took_ms = began.elapsed().as_millis() as u64, "queried the rest");
        self.remarks.clone_from(&round.remarks);
        if !is_first {
            self.asked = round.asked;
            return None;
        }
        let source = Arc::clone(&self.asker.source);
        let made = aside(move || {
            let mut source = lock(&source);
            (source.complete(), source.remarks())
        });
        let (snapshot, remarks) = made.await.ok()?;
        round.remarks.splice(0..0, remarks);
        (round.snapshot, round.fault) = (snapshot, None);
        Some(round)
    }
}

impl Asker {
    /// Sends queries, at most [`AT_ONCE`] at the same time. Returns a round without a snapshot; its fault is the one of PSS.
    async fn all(&self, fields: Vec<Field>) -> Round {
        let all = fields.len();
        let mut queries = JoinSet::new();
        for (at, field) in fields.into_iter().enumerate() {
            let asker = self.clone();
            queries.spawn(async move { (at, field, asker.one(field).await) });
        }
        let mut answers = queries.join_all().await;
        answers.sort_unstable_by_key(|(at, ..)| *at);
        let mut round = Round::default();
        let mut failed = Vec::new();
        for (_, field, (answer, cost)) in answers {
            round.asked.add(cost);
            match answer {
                Ok(warnings) => {
                    for warning in warnings {
                        if round.remarks.len() < MAX_WARNINGS && !round.remarks.contains(&warning) {
                            round.remarks.push(warning);
                        }
                    }
                }
                Err(why) => {
                    if field == Field::Pss {
                        round.fault = Some(why.clone());
                    }
                    failed.push(why);
                }
            }
        }
        if let Some(why) = failed.first().filter(|_| round.fault.is_none()) {
            let remark = format!("{} of {all} queries failed: it {why}", failed.len());
            round.remarks.insert(0, remark);
        }
        round
    }

    /// Sends one query and adds its answer to the source. Returns the warnings in it, or why there is no answer, and the cost.
    async fn one(&self, field: Field) -> (Result<Vec<String>, String>, Asked) {
        // Held until the answer is in the source, so that no more answers than these are in memory.
        let _room = self.room.acquire().await;
        let promql = self.link.promql(field);
        let (began, at) = (Instant::now(), system_clock::since_boot());
        let body = self.link.server.ask("query", &[("query", &promql)]).await;
        let took = began.elapsed();
        let bytes = body.as_ref().map_or(0, |body| body.len() as u64);
        let source = Arc::clone(&self.source);
        let taken = parse(move || {
            let body = body?;
            let answer = Answer::read(&body).map_err(|error| error.to_string())?;
            lock(&source).take(field, &answer, at);
            Ok(answer.warnings)
        });
        let taken = taken.await.unwrap_or_else(|_| Err(NOT_UNDERSTOOD.into()));
        let cost = Asked::one(promql, bytes, took, taken.is_err());
        (taken, cost)
    }
}

/// Parses an answer on its own thread once no other answer is parsed. An answer that is parsed needs more memory than its text, and
/// each thread keeps some freed memory.
async fn parse<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
    static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let turn = TURN.lock().await;
    let work = move || {
        // Held by the thread, which goes on if nobody waits for it any more.
        let _turn = turn;
        work()
    };
    aside(work).await
}

fn lock(source: &Mutex<FleetSource>) -> MutexGuard<'_, FleetSource> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs slow work on its own thread, at a lower priority than the threads that respond to keys.
fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(|| {
        // On Linux the niceness is the thread's. If it is refused, keys wait a little.
        let _ = setpriority_process(None, NICE);
        work()
    })
}

/// Reports the state of the queries to the screen.
struct Reporter<F> {
    show: F,
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
        (self.show)(self.status.clone());
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

    /// Waits for an answer, and reports if it takes longer than `patience`. `None` if the receiver was dropped.
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
            "its clock is {} {how} this machine's: times are by its clock",
            units::span(shown)
        )
    })
}
