//! The time before the first snapshot, from ranges, so that series and sparklines begin in the past. It is queried part by
//! part, beside the rounds. A part that fails is queried again, later each time; known parts stay.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;

use super::answer::{Answer, time, whole};
use super::clock::Clock;
use super::query::Field;
use super::source::FleetSource;
use super::{Asker, FIRST_RETRY, NOT_UNDERSTOOD, Start, aside, lock, parse};
use crate::history::{History, HistoryConfig};
use crate::model::{Memory, Missing, ProcessSample, Snapshot, SystemSample, Walk};
use crate::units;

/// Maximum time until a failed part is queried again.
const LONGEST_RETRY: Duration = Duration::from_secs(300);
/// Maximum number of values of all ranges of a fleet, so that answers stay within their bound.
const MAX_POINTS: usize = 600_000;
/// The begin of each part of the past, in seconds before the first snapshot: the last minutes in fine steps, the rest of the
/// hour in coarse ones.
const PARTS: [u64; 4] = [300, 1200, 2400, 3600];

/// A part of the past.
#[derive(Clone, Copy)]
struct Part {
    /// Its begin and end, before the first snapshot.
    from: Duration,
    to: Duration,
    /// Time between two values.
    step: Duration,
}

/// Returns the number of values of a range for so many rows.
fn points_of(rows: usize) -> usize {
    (MAX_POINTS / rows.max(1)).clamp(6, 60)
}

/// Returns the parts of the past of so many rows, the newest first.
fn parts(rows: usize) -> Vec<Part> {
    let points = points_of(rows) as u32;
    let mut to = Duration::ZERO;
    let hour = Duration::from_secs(PARTS[PARTS.len() - 1]);
    let part = |from| {
        let from = Duration::from_secs(from);
        // The coarse parts together get as many values as one fine part.
        let span = if to.is_zero() { from } else { hour };
        let to = std::mem::replace(&mut to, from);
        let step = (span / points).max(Duration::from_secs(15));
        Part { from, to, step }
    };
    PARTS.map(part).to_vec()
}

/// Progress of the queries about the past.
pub(super) enum Filled {
    /// A part, which ends where the known past begins.
    Part(Box<History>),
    /// The next part failed, and why.
    Failed(String),
    /// All parts are known.
    All,
}

/// Queries the past until all of it is known or the receiver is dropped.
pub(super) async fn fill(asker: Asker, start: Start, config: HistoryConfig, filled: mpsc::Sender<Filled>) {
    let parts = parts(start.rows);
    let hour = parts.last().map_or(Duration::ZERO, |part| part.from);
    let failed = |part: Part, why: &str| {
        let missing = units::span(hour.saturating_sub(part.to));
        Filled::Failed(format!(
            "{missing} of the last {} are not known{why}",
            units::span(hour)
        ))
    };
    for part in parts {
        let past = Arc::new(Mutex::new(Past::new(start.clock).of_rows(start.rows)));
        let mut fields = Field::OF_PAST.to_vec();
        let mut wait = FIRST_RETRY;
        while let Err(why) = ask(&asker, start, part, &mut fields, &past).await {
            if filled.send(failed(part, &format!(" yet: it {why}"))).await.is_err() {
                return;
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_RETRY);
        }
        let source = Arc::clone(&asker.source);
        let made = aside(move || {
            let mut past = past.lock().unwrap_or_else(PoisonError::into_inner);
            let snapshots = past.snapshots(&lock(&source));
            let mut history = History::with_config(config);
            for snapshot in &snapshots {
                history.push(snapshot);
            }
            Box::new(history)
        });
        let Ok(history) = made.await else {
            let _ = filled.send(failed(part, &format!(": it {NOT_UNDERSTOOD}"))).await;
            return;
        };
        if filled.send(Filled::Part(history)).await.is_err() {
            return;
        }
    }
    // Nobody may receive it any more.
    let _ = filled.send(Filled::All).await;
}

/// Queries the remaining figures of a part, one by one, so that the rounds have room. Removes those that are answered.
///
/// # Errors
/// The reason of the first failure.
async fn ask(
    asker: &Asker,
    start: Start,
    part: Part,
    fields: &mut Vec<Field>,
    past: &Arc<Mutex<Past>>,
) -> Result<(), String> {
    while let Some(field) = fields.last().copied() {
        let theirs = |ago: Duration| start.clock.theirs(start.at.saturating_sub(ago)).as_secs();
        // The last step is before the known past.
        let (from, to) = (theirs(part.from), theirs(part.to).saturating_sub(1));
        let form = [
            ("query", &*asker.link.promql(field)),
            ("start", &from.to_string()),
            ("end", &to.to_string()),
            ("step", &part.step.as_secs().to_string()),
        ];
        let body = asker.link.server.ask("query_range", &form).await?;
        let (source, past) = (Arc::clone(&asker.source), Arc::clone(past));
        let taken = parse(move || {
            let answer = Answer::read(&body).map_err(|error| error.to_string())?;
            let mut past = past.lock().unwrap_or_else(PoisonError::into_inner);
            past.take(&lock(&source), field, &answer);
            Ok::<_, String>(())
        });
        taken.await.map_err(|_| NOT_UNDERSTOOD)??;
        fields.pop();
    }
    Ok(())
}

/// Figures of a part of the past.
pub struct Past {
    /// The clock of their times.
    clock: Clock,
    /// The seconds on the server's clock that have values, and their maximum number. An answer may have any number.
    moments: HashSet<u32>,
    most: usize,
    points: Vec<Point>,
    /// The time of the newest sample of each host at each moment.
    sampled: HashMap<(u32, u32), Duration>,
}

struct Point {
    /// The second of the server's clock.
    at: u32,
    host: u32,
    /// The number of the row.
    row: u32,
    field: Field,
    value: f64,
}

impl Past {
    /// Creates an empty part. The times of its answers are of that clock.
    pub fn new(clock: Clock) -> Self {
        let (moments, points, sampled) = Default::default();
        Self {
            clock,
            moments,
            most: 2 * points_of(0),
            points,
            sampled,
        }
    }

    /// Limits the moments to what is requested for so many rows. Servers may return some more.
    #[must_use]
    fn of_rows(mut self, rows: usize) -> Self {
        self.most = 2 * points_of(rows);
        self
    }

    /// Adds an answer about the hosts and rows that the fleet has now. Ignores others, which have ended.
    pub fn take(&mut self, fleet: &FleetSource, field: Field, answer: &Answer<'_>) {
        let most = self.most;
        for series in &answer.series {
            let moments = &mut self.moments;
            let mut is_used = |at: u32| moments.contains(&at) || moments.len() < most && moments.insert(at);
            let points = series.points().take(most);
            let points = points.map(|(at, value)| (at.as_secs() as u32, value));
            let points = points.filter(|(at, _)| is_used(*at));
            let Some((host, row)) = fleet.numbers_of(&series.labels) else {
                continue;
            };
            if field == Field::Seen {
                let sampled = points.filter_map(|(at, value)| Some(((at, host), time(value)?)));
                self.sampled.extend(sampled);
            } else if let Some(row) = row
                && self.points.len() < 4 * MAX_POINTS
            {
                self.points.extend(points.map(|(at, value)| Point {
                    at,
                    host,
                    row,
                    field,
                    value,
                }));
            }
        }
    }

    /// Returns the snapshots, oldest first, all before the fleet's last one. A row that has no figures for a while stays
    /// in them without figures, so that its history continues after the gap.
    pub fn snapshots(&mut self, fleet: &FleetSource) -> Vec<Snapshot> {
        let Some(last) = &fleet.last else { return Vec::new() };
        self.points
            .sort_unstable_by_key(|point| (point.at, point.row, point.field as u8));
        let mut before: Option<Duration> = None;
        let mut known = HashSet::new();
        let mut snapshots = Vec::new();
        for moment in self.points.chunk_by(|a, b| a.at == b.at) {
            let at = self.clock.place(Duration::from_secs(moment[0].at.into()));
            if at >= last.monotonic || before.is_some_and(|before| at <= before) {
                continue;
            }
            let figures = moment.chunk_by(|a, b| a.row == b.row);
            let mut rows: Vec<_> = figures.filter_map(|figures| self.row(figures, last)).collect();
            let here: HashSet<_> = rows.iter().map(|row| row.id.pid).collect();
            let absent = known.difference(&here).filter_map(|number| {
                let mut sample = sample_of(*number, last)?;
                sample.walk = Err(Missing::NotExported);
                Some(sample)
            });
            rows.extend(absent);
            rows.sort_unstable_by_key(|row| row.id.pid);
            known.extend(here);
            let interval = before.map_or(last.interval, |before| at.saturating_sub(before));
            let mut snapshot = fleet.snapshot_at(at, rows, interval);
            // The sums of the hosts are current ones.
            snapshot.system = SystemSample::missing(Missing::NotExported);
            snapshots.push(snapshot);
            before = Some(at);
        }
        snapshots
    }

    /// Makes the row of one moment; `None` if its PSS is unknown.
    fn row(&self, figures: &[Point], last: &Snapshot) -> Option<ProcessSample> {
        let [pss, swap, swap_pss] = [Field::Pss, Field::Swap, Field::SwapPss].map(|field| {
            let found = figures.iter().find(|figure| figure.field == field);
            found.and_then(|figure| whole(figure.value))
        });
        let Point { at, host, row, .. } = *figures.first()?;
        let mut sample = sample_of(row, last)?;
        let pss = pss?;
        let swap = swap.unwrap_or(0);
        let memory = Memory {
            rss: pss,
            pss,
            swap,
            swap_pss: match swap_pss {
                Some(part) => Ok(part),
                None if swap == 0 => Ok(0),
                None => Err(Missing::NotExported),
            },
            ..Memory::missing(Missing::NotExported)
        };
        // A figure whose time is unknown makes no change.
        let sampled = self.sampled.get(&(at, host));
        let at = sampled.map_or(Duration::ZERO, |sampled| self.clock.place(*sampled));
        let walk = sample.walk.ok()?;
        sample.walk = Ok(Walk { memory, at, ..walk });
        Some(sample)
    }
}

/// Returns the current row with that number.
fn sample_of(number: u32, last: &Snapshot) -> Option<ProcessSample> {
    let place = last.rows().binary_search_by_key(&number, |row| row.id.pid).ok()?;
    Some(last.rows()[place].clone())
}
