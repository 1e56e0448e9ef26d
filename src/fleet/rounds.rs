//! The queries of one snapshot.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::setpriority_process;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};

use super::Link;
use super::answer::Answer;
use super::clock::Clock;
use super::queries::Field;
use super::source::FleetSource;
use crate::model::{Asked, Snapshot};
use crate::proc::clock;

/// Maximum number of queries at once.
const AT_ONCE: usize = 3;
/// Niceness of the threads that parse the answers.
const NICE: i32 = 10;
/// The fault if an answer made the parser panic.
pub(super) const NOT_UNDERSTOOD: &str = "answers what cannot be understood";

/// The server to query, and the rows that the answers go to.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) link: Arc<Link>,
    /// Locked only by threads that may take their time.
    pub(super) source: Arc<Mutex<FleetSource>>,
    room: Arc<Semaphore>,
}

/// The rounds of queries to one server.
pub(super) struct Rounds {
    pub(super) asker: Asker,
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
pub(super) struct Start {
    pub(super) at: Duration,
    pub(super) clock: Clock,
    pub(super) rows: usize,
}

#[derive(Default)]
pub(super) struct Round {
    /// `None` if there is no new one.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    /// Why there is none. Completes a sentence that begins with the server's name.
    pub(super) fault: Option<String>,
    /// Remarks on missing or doubtful data.
    pub(super) remarks: Vec<String>,
    /// The cost of its queries.
    pub(super) asked: Asked,
}

impl Rounds {
    pub(super) fn new(link: Link) -> Self {
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
    pub(super) fn start(&self) -> Option<Start> {
        let source = lock(&self.asker.source);
        Some(Start {
            at: source.last.as_ref()?.monotonic,
            clock: source.clock()?,
            rows: self.rows,
        })
    }

    /// Sends the queries of a snapshot; for a large or unknown fleet only the first ones.
    pub(super) async fn ask(&mut self, interval: Duration) -> Round {
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
            let snapshot = source.finish(interval, clock::self_cost());
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
    pub(super) async fn ask_later(&mut self, is_first: bool) -> Option<Round> {
        let began = Instant::now();
        let later = std::mem::take(&mut self.later);
        if later.is_empty() {
            return None;
        }
        let mut round = self.asker.all(later).await;
        tracing::info!(took_ms = began.elapsed().as_millis() as u64, "told the rest");
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
                Ok(warnings) => round.remarks.extend(warnings),
                Err(why) => {
                    if field == Field::Pss {
                        round.fault = Some(why.clone());
                    }
                    failed.push(why);
                }
            }
        }
        if let Some(why) = failed.first().filter(|_| round.fault.is_none()) {
            let remark = format!("{} of {all} questions failed: it {why}", failed.len());
            round.remarks.insert(0, remark);
        }
        round.remarks.dedup();
        round
    }

    /// Sends one query and adds its answer to the source. Returns the warnings in it, or why there is no answer, and the cost.
    async fn one(&self, field: Field) -> (Result<Vec<String>, String>, Asked) {
        // Held until the answer is in the source, so that no more answers than these are in memory.
        let _room = self.room.acquire().await;
        let promql = self.link.promql(field);
        let (began, at) = (Instant::now(), clock::since_boot());
        let body = self.link.server.ask("query", &[("query", &promql)]).await;
        let took = began.elapsed();
        let bytes = body.as_ref().map_or(0, |body| body.len() as u64);
        let source = Arc::clone(&self.source);
        let taken = aside(move || {
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

pub(super) fn lock(source: &Mutex<FleetSource>) -> MutexGuard<'_, FleetSource> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs slow work on a thread of its own, which gives way to threads that answer keys.
pub(super) fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(|| {
        // On Linux the niceness is the thread's. If it is refused, keys wait a little.
        let _ = setpriority_process(None, NICE);
        work()
    })
}
