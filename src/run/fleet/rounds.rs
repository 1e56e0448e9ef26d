//! The questions of a snapshot, and those about the past.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use rustix::process::setpriority_process;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::Link;
use super::http::Server;
use crate::history::{History, HistoryConfig};
use crate::model::Snapshot;
use crate::proc::clock;
use crate::source::prometheus::{
    Answer, Field, FleetSource, HostLabel, Matchers, Past, Question, is_large, more_questions, questions,
    range_questions,
};

/// Questions asked at once.
const AT_ONCE: usize = 3;
/// The niceness of the threads that read the answers.
const NICE: i32 = 10;

/// The rounds of questions to one server.
pub(super) struct Rounds {
    server: Arc<Server>,
    matchers: Matchers,
    label: HostLabel,
    /// Locked only by threads that may take their time.
    source: Arc<Mutex<FleetSource>>,
    round: u64,
    rows: usize,
    /// The questions of the round that are not asked yet, and remarks on those that were asked after the last snapshot.
    later: Vec<Question>,
    remarks: Vec<String>,
    room: Semaphore,
}

/// The outcome of a round.
pub(super) struct Round {
    /// The snapshot; `None` where there is no new one.
    pub(super) snapshot: Option<Arc<Snapshot>>,
    /// Why there is none, as it goes on after the server's name.
    pub(super) fault: Option<String>,
    /// Remarks on what is missing or doubtful.
    pub(super) remarks: Vec<String>,
}

impl Rounds {
    pub(super) fn new(link: Link) -> Self {
        let source = FleetSource::new(link.server.name(), link.label.clone());
        Self {
            server: Arc::new(link.server),
            matchers: link.matchers,
            label: link.label,
            source: Arc::new(Mutex::new(source)),
            round: 0,
            rows: 0,
            later: Vec::new(),
            remarks: Vec::new(),
            room: Semaphore::new(AT_ONCE),
        }
    }

    /// Asks the questions of a snapshot; of a large fleet, or one that is not known yet, the first ones.
    pub(super) async fn ask(&mut self, interval: Duration) -> Round {
        let began = Instant::now();
        let mut first = questions(&self.matchers, &self.label);
        let more = more_questions(&self.matchers, self.round, self.rows);
        let is_large = self.rows == 0 || is_large(self.rows);
        self.round += 1;
        self.later = if is_large {
            more
        } else {
            first.extend(more);
            Vec::new()
        };
        lock(&self.source).begin();
        let (fault, mut remarks) = self.all(first).await;
        remarks.append(&mut self.remarks);
        let source = Arc::clone(&self.source);
        let made = aside(move || {
            let mut source = lock(&source);
            let snapshot = source.finish(interval, clock::self_cost());
            (snapshot, source.remarks(), source.rows())
        });
        let Ok((snapshot, more, rows)) = made.await else {
            return Round {
                snapshot: None,
                fault: Some("answers what cannot be understood".into()),
                remarks,
            };
        };
        self.rows = rows;
        tracing::info!(rows, took_ms = began.elapsed().as_millis() as u64, "asked");
        remarks.extend(more);
        if fault.is_none() && snapshot.as_ref().is_some_and(|snapshot| snapshot.rows().is_empty()) {
            remarks.insert(0, "it has no series of zmtop serve: is it scraped?".into());
        }
        Round {
            snapshot,
            fault,
            remarks,
        }
    }

    /// Asks the questions of the round that are left: the next snapshot tells the answers. The `is_first` one is made anew.
    pub(super) async fn ask_later(&mut self, is_first: bool) -> Option<Round> {
        let began = Instant::now();
        let later = std::mem::take(&mut self.later);
        if later.is_empty() {
            return None;
        }
        let (_, remarks) = self.all(later).await;
        tracing::info!(took_ms = began.elapsed().as_millis() as u64, "told the rest");
        self.remarks = remarks;
        if !is_first {
            return None;
        }
        let source = Arc::clone(&self.source);
        let made = aside(move || {
            let mut source = lock(&source);
            (source.complete(), source.remarks())
        });
        let (snapshot, more) = made.await.ok()?;
        Some(Round {
            snapshot,
            fault: None,
            remarks: self.remarks.iter().cloned().chain(more).collect(),
        })
    }

    /// Asks questions, as many at once as there is room for; returns why the rows are not known, and remarks.
    async fn all(&self, questions: Vec<Question>) -> (Option<String>, Vec<String>) {
        let all = questions.len();
        let answers = join_all(questions.into_iter().map(|question| self.one(question))).await;
        let mut remarks = Vec::new();
        let (mut failed, mut fault) = (Vec::new(), None);
        for (field, answer) in answers {
            match answer {
                Ok(warnings) => remarks.extend(warnings),
                Err(why) => {
                    if field == Field::Pss {
                        fault = Some(why.clone());
                    }
                    failed.push(why);
                }
            }
        }
        if let Some(why) = failed.first().filter(|_| fault.is_none()) {
            remarks.insert(0, format!("{} of {all} questions failed: it {why}", failed.len()));
        }
        remarks.dedup();
        (fault, remarks)
    }

    /// Asks one question, and has its answer taken in; returns its warnings.
    async fn one(&self, question: Question) -> (Field, Result<Vec<String>, String>) {
        let field = question.field;
        // Held until the answer is taken in, so that no more than these are in memory.
        let _room = self.room.acquire().await;
        let body = match self.server.ask("query", &[("query", &question.promql)]).await {
            Ok(body) => body,
            Err(why) => return (field, Err(why)),
        };
        let source = Arc::clone(&self.source);
        let taken = aside(move || {
            let answer = Answer::read(&body).map_err(|error| error.to_string())?;
            lock(&source).take(field, &answer);
            Ok(answer.warnings)
        });
        let taken = taken.await;
        (
            field,
            taken.unwrap_or_else(|_| Err("answers what cannot be understood".into())),
        )
    }

    /// Asks for the past of the rows of the last snapshot, and makes a history of it.
    ///
    /// # Errors
    /// The first question that was not answered, and why.
    pub(super) async fn past(&self, config: HistoryConfig) -> Result<Box<History>, String> {
        let Some(end) = lock(&self.source).last().map(|last| last.monotonic) else {
            return Err("there is no snapshot".into());
        };
        let (questions, spans) = range_questions(&self.matchers, self.rows);
        let past = Arc::new(Mutex::new(Past::default()));
        let all = spans
            .into_iter()
            .flat_map(|span| questions.iter().map(move |question| (span, question)));
        let answers = join_all(all.map(|(span, question)| self.range(question, span, end, &past))).await;
        answers.into_iter().collect::<Result<Vec<()>, _>>()?;
        let source = Arc::clone(&self.source);
        let made = aside(move || {
            let past = std::mem::take(&mut *past.lock().unwrap_or_else(PoisonError::into_inner));
            let snapshots = past.snapshots(&lock(&source));
            let mut history = History::with_config(config);
            for snapshot in &snapshots {
                history.push(snapshot);
            }
            Box::new(history)
        });
        made.await.map_err(|_| "the answers cannot be understood".into())
    }

    async fn range(
        &self,
        question: &Question,
        (span, step): (Duration, Duration),
        end: Duration,
        past: &Arc<Mutex<Past>>,
    ) -> Result<(), String> {
        let _room = self.room.acquire().await;
        let seconds = |time: Duration| time.as_secs().to_string();
        // The last step is before the snapshot that is there.
        let last = end.saturating_sub(Duration::from_secs(1));
        let form = [
            ("query", question.promql.as_str()),
            ("start", &seconds(last.saturating_sub(span))),
            ("end", &seconds(last)),
            ("step", &seconds(step)),
        ];
        let body = self.server.ask("query_range", &form).await?;
        let (source, past, field) = (Arc::clone(&self.source), Arc::clone(past), question.field);
        let taken = aside(move || {
            let answer = Answer::read(&body).map_err(|error| error.to_string())?;
            let mut past = past.lock().unwrap_or_else(PoisonError::into_inner);
            past.take(&lock(&source), field, &answer);
            Ok(())
        });
        taken
            .await
            .unwrap_or_else(|_| Err("answers what cannot be understood".into()))
    }
}

fn lock(source: &Mutex<FleetSource>) -> MutexGuard<'_, FleetSource> {
    source.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs what takes its time on a thread of its own, which lets those go first that answer keys.
fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    tokio::task::spawn_blocking(|| {
        // On Linux that of the thread alone. Where it is refused, keys wait a little.
        let _ = setpriority_process(None, NICE);
        work()
    })
}
