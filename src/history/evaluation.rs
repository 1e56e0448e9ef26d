//! The evaluation scheduler: judges each series in turn, so that no snapshot pays for all.
//!
//! Rows that are due queue up, and those are judged first that have waited longest; groups, and what grows, count as
//! waiting for some seconds longer. What never changed is judged on the spot, as it costs next to nothing. A snapshot
//! judges [`POINTS_PER_SECOND`] and leaves the rest to the next one. Where rows wait for long, up to four times as many:
//! 40 000 rows that all change are then judged within a minute, at some ten milliseconds of CPU time a second.

use std::time::Duration;

use crate::history::time_series::{Retention, TimeSeries};
use crate::model::process::Identity;
use crate::order;
use crate::trend::{Judgement, MIN_OBSERVED, Mark, Metric, Params, Point, Verdict, judge};

/// Seconds between evaluations of a series that changes.
const INTERVAL: u32 = 10;
/// Seconds between evaluations of one that does not, or that has been known for [`LONG_KNOWN`]: each evaluation is a
/// chance of a false alarm.
const LONG_INTERVAL: u32 = 30;
/// Stands for no second.
const NEVER: u32 = u32::MAX;
/// Seconds after which a series counts as long known.
const LONG_KNOWN: u32 = 3600;

/// Seconds that groups, and what grows, count as waiting for longer: more hangs on them. A few, so that the others
/// are hardly later for it.
const HEAD_START: u32 = 5;
/// Seconds of waiting for which the budget grows by as much again: no row is to wait for a minute.
const PATIENCE: u32 = 15;
/// Multiple of the budget at most, so that judging stays a small share of a core.
pub const MAX_URGENCY: u32 = 4;

/// The cost of an evaluation beside that of its points, in points; a benchmark measures it.
pub const EVALUATION_OVERHEAD: usize = 50;

/// Points evaluated per second, so that a snapshot of many changing processes takes some milliseconds at most. Rows
/// that are left out come first at the next snapshot.
pub const POINTS_PER_SECOND: usize = 150_000;

/// The row that an evaluation is of, by which ties are settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowNumber {
    /// The number of a part of the RAM.
    Part(u32),
    /// The number of a slab cache.
    Slab(u32),
    /// The number of an allocation site.
    Site(u32),
    /// The number of a group.
    Group(u32),
    /// The number of a group that holds something through descriptors.
    HeldGroup(u32),
    Process(Identity),
    /// A process that holds something through descriptors.
    Held(Identity),
}

/// A row that is to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// The second from which on it is due, less its head start.
    order: u32,
    pub(super) row: RowNumber,
    due: u32,
}

/// The judgement of a series that never changed, and was hardly seen so far.
static UNKNOWN: Judgement = constant(Verdict::Unknown);
/// The judgement of one that was seen for long.
static STEADY: Judgement = constant(Verdict::Steady);

const fn constant(verdict: Verdict) -> Judgement {
    Judgement {
        verdict,
        ..Judgement::NONE
    }
}

/// The last judgement of a series that changed.
#[derive(Clone, Debug)]
pub(super) struct Latest {
    pub(super) judgement: Judgement,
    /// The load since it was first said to grow, and what it asked for; empty where it does not.
    pub(super) log: GrowthLog,
}

/// The last judgement of a series, and when the next is due.
#[derive(Clone, Debug, Default)]
pub(super) struct Evaluation {
    /// `None` for the judgement of a series that never changed, as most are.
    pub(super) latest: Option<Box<Latest>>,
    /// A series that never changed was seen for long enough to be steady.
    pub(super) is_steady: bool,
    /// The second from which on it is due; 0 before it was first scheduled, [`NEVER`] where nothing but a change asks for it.
    due: u32,
    /// The series changed since the last evaluation.
    changed: bool,
}

impl Evaluation {
    /// Returns the last judgement.
    pub(super) fn latest(&self) -> &Judgement {
        let constant = if self.is_steady { &STEADY } else { &UNKNOWN };
        self.latest.as_ref().map_or(constant, |latest| &latest.judgement)
    }

    /// Returns one with a judgement that was made elsewhere.
    pub(super) fn told(judgement: Judgement) -> Self {
        let log = GrowthLog::default();
        let is_steady = judgement.verdict == Verdict::Steady;
        Self {
            latest: (!is_steady).then(|| Box::new(Latest { judgement, log })),
            is_steady,
            ..Self::default()
        }
    }

    /// Adds the processor time that the row took, in seconds.
    pub(super) fn add_load(&mut self, seconds: f64) {
        if let Some(latest) = self.latest.as_mut().filter(|latest| !latest.log.is_empty()) {
            latest.log.add_work(seconds as f32);
        }
    }

    /// Returns the memory of the judgement in bytes.
    pub(super) const fn bytes(&self) -> usize {
        match &self.latest {
            Some(latest) => size_of::<Latest>() + latest.log.bytes(),
            None => 0,
        }
    }

    /// Returns the second from which on it is due; `None` where it was not scheduled.
    pub(super) const fn due(&self) -> Option<u32> {
        match self.due {
            0 | NEVER => None,
            due => Some(due),
        }
    }

    /// Notes that the series changed.
    pub(super) const fn mark_changed(&mut self) {
        self.changed = true;
    }
}

/// The series that a judgement is on.
#[derive(Clone, Copy, Debug)]
pub(super) struct JudgedSeries<'a> {
    pub(super) footprint: &'a TimeSeries,
    pub(super) held: &'a TimeSeries,
    /// The memory that it asked for by now.
    pub(super) asked: u64,
    /// The figure that is held, and the one that may grow beside it.
    pub(super) metrics: [Metric; 2],
    /// The number of members, if it is a group: its series are judged as if it had had as many all along.
    pub(super) members: Option<&'a MemberCounts>,
}

/// The scheduler of all evaluations.
#[derive(Debug, Default)]
pub(super) struct EvaluationScheduler {
    params: Params,
    /// The second of this snapshot.
    now: u32,
    /// Points that may still be evaluated in this snapshot.
    budget: usize,
    /// The rows that are due, and were not judged yet.
    queue: Vec<Turn>,
    /// Number of rows left out of the last snapshot, and the seconds that the first of them has been due for.
    waiting: usize,
    longest_wait: u32,
    /// A buffer that all evaluations share.
    points: Vec<Point>,
}

impl EvaluationScheduler {
    /// Creates a scheduler that judges by these parameters.
    pub(super) fn new(params: Params) -> Self {
        Self {
            params,
            ..Self::default()
        }
    }

    /// Starts a snapshot; the next follows after `interval`.
    pub(super) fn start_snapshot(&mut self, now: Duration, interval: Duration) {
        self.now = u32::try_from(now.as_secs()).unwrap_or(u32::MAX);
        let seconds = interval.as_secs().clamp(1, 3600) as usize;
        let urgency = (1 + self.longest_wait / PATIENCE).min(MAX_URGENCY) as usize;
        self.budget = POINTS_PER_SECOND.saturating_mul(seconds * urgency);
    }

    /// Returns the second of this snapshot.
    pub(super) const fn now(&self) -> u32 {
        self.now
    }

    /// Puts a row in the queue if it is due; one that never changed is judged at once.
    pub(super) fn queue(
        &mut self,
        evaluation: &mut Evaluation,
        footprint: &TimeSeries,
        held: &TimeSeries,
        row: RowNumber,
    ) {
        if evaluation.changed && evaluation.due > self.now.saturating_add(LONG_INTERVAL) {
            evaluation.due = self.now.saturating_add(INTERVAL);
        }
        if evaluation.due > self.now || footprint.newest().is_none() {
            return;
        }
        if evaluation.due == 0 {
            let stagger = match row {
                RowNumber::Part(number)
                | RowNumber::Slab(number)
                | RowNumber::Site(number)
                | RowNumber::Group(number)
                | RowNumber::HeldGroup(number) => number,
                RowNumber::Process(id) | RowNumber::Held(id) => id.pid,
            };
            // Else all series of the first snapshot would be due at once.
            evaluation.due = self.now.saturating_add(1 + stagger % INTERVAL);
            return;
        }
        // What is steady stays so while nothing changes.
        if !evaluation.changed && evaluation.latest().verdict == Verdict::Steady {
            evaluation.due = NEVER;
            return;
        }
        if footprint.is_constant() && held.is_constant() {
            // A single point.
            evaluation.is_steady =
                self.judge(footprint, None, &[], None, &Judgement::default()).verdict == Verdict::Steady;
            evaluation.latest = None;
            evaluation.due = if evaluation.is_steady {
                NEVER
            } else {
                self.now.saturating_add(self.until_observed(footprint))
            };
            evaluation.changed = false;
            return;
        }
        let is_urgent = matches!(row, RowNumber::Part(_) | RowNumber::Group(_) | RowNumber::HeldGroup(_))
            || evaluation.latest().verdict >= Verdict::Warming;
        self.queue.push(Turn {
            order: evaluation.due.saturating_sub(if is_urgent { HEAD_START } else { 0 }),
            row,
            due: evaluation.due,
        });
    }

    /// Returns the seconds until a series that never changed may have a verdict, as a multiple of [`INTERVAL`], so that
    /// turns stay spread.
    fn until_observed(&self, series: &TimeSeries) -> u32 {
        let observed_at = series.start().unwrap_or_default().saturating_add(MIN_OBSERVED);
        let left = observed_at.saturating_sub(Duration::from_secs(self.now.into()));
        let turns = left.as_secs().div_ceil(INTERVAL.into()).max(1);
        turns as u32 * INTERVAL
    }

    /// Takes the queue, in order: [`Self::give_back`] wants what was not judged.
    pub(super) fn take_queue(&mut self) -> Vec<Turn> {
        self.queue.sort_unstable();
        std::mem::take(&mut self.queue)
    }

    /// Returns true if another row may be judged in this snapshot.
    pub(super) const fn has_budget(&self) -> bool {
        self.budget > 0
    }

    /// Takes back the queue, of which the first `judged` were judged. Who is left queues up again at the next snapshot.
    pub(super) fn give_back(&mut self, mut queue: Vec<Turn>, judged: usize) {
        let left = &queue[judged..];
        self.waiting = left.len();
        let longest_due = left.iter().map(|turn| turn.due).min();
        self.longest_wait = longest_due.map_or(0, |due| self.now.saturating_sub(due));
        queue.clear();
        if queue.capacity() > 4 * self.waiting + 4096 {
            queue.shrink_to(self.waiting);
        }
        self.queue = queue;
    }

    /// Returns how many rows are due and were not judged yet, and for how long the first of them has been due.
    pub(super) const fn waiting(&self) -> (usize, Duration) {
        (self.waiting, Duration::from_secs(self.longest_wait as u64))
    }

    /// Judges a row now, and says when it is due again.
    pub(super) fn evaluate(
        &mut self,
        evaluation: &mut Evaluation,
        series: &JudgedSeries<'_>,
        started_at: Option<Duration>,
    ) {
        let JudgedSeries {
            footprint,
            held,
            members,
            ..
        } = *series;
        let previous = *evaluation.latest();
        let is_told = held.newest().is_some_and(|(_, bytes)| bytes > 0);
        let mut log = evaluation
            .latest
            .take()
            .map_or_else(GrowthLog::default, |latest| latest.log);
        let judged = if is_told { held } else { footprint };
        let mut judgement = self.judge(judged, members, log.marks(), started_at, &previous);
        if is_told {
            let [metric, beside] = series.metrics;
            judgement.metric = metric;
            if !judgement.verdict.is_growth() && !footprint.is_constant() {
                let whole = self.judge(footprint, members, &[], started_at, &Judgement::default());
                judgement = judgement.or_growth_beside(&whole, beside);
            }
        }
        let moves = evaluation.changed || judgement.verdict >= Verdict::Warming;
        let now = Duration::from_secs(self.now.into());
        if judgement.verdict.is_growth() {
            log.mark(now, series.asked);
        } else {
            log.rest(now);
        }
        judgement.reasons = judgement.reasons.map(|reasons| reasons.at_load(log.rise()));
        evaluation.latest = Some(Box::new(Latest { judgement, log }));
        let start = footprint.start().map_or(0, |start| start.as_secs() as u32);
        let is_recent = self.now.saturating_sub(start) < LONG_KNOWN;
        let wait = if moves && is_recent { INTERVAL } else { LONG_INTERVAL };
        evaluation.due = self.now.saturating_add(wait);
        evaluation.changed = false;
    }

    fn judge(
        &mut self,
        series: &TimeSeries,
        members: Option<&MemberCounts>,
        marks: &[Mark],
        started_at: Option<Duration>,
        previous: &Judgement,
    ) -> Judgement {
        series.collect_points(&mut self.points);
        if let Some(members) = members {
            members.level(&mut self.points);
        }
        let overhead = if self.points.len() > 1 { EVALUATION_OVERHEAD } else { 0 };
        self.budget = self.budget.saturating_sub(self.points.len() + overhead);
        judge(&self.points, marks, started_at, &self.params, previous)
    }

    /// Returns the memory of its queue in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Turn>() + self.points.capacity() * size_of::<Point>()
    }
}

/// Marks kept at most: over a week the distance of two is a quarter of their age.
const MARKS: usize = 48;

/// The load of a row, and what it asked for, since it was first said to grow.
#[derive(Clone, Debug, Default)]
pub struct GrowthLog {
    /// Seconds of processor time.
    pub(super) work: f32,
    /// Since when all of the work is known.
    pub(super) known_since: Duration,
    /// Oldest first.
    pub(super) marks: Vec<Mark>,
}

impl GrowthLog {
    /// Adds the processor time of a tick, in seconds.
    pub(super) const fn add_work(&mut self, seconds: f32) {
        self.work += seconds;
    }

    /// Notes how much it is by now, and how much was asked for.
    pub fn mark(&mut self, now: Duration, asked: u64) {
        if self.marks.len() == MARKS {
            self.thin_out(now);
        }
        self.marks.push(Mark {
            at: now,
            asked,
            work: self.work,
        });
    }

    /// Drops the mark, but for the first and the last, without which the gap is smallest beside its age.
    fn thin_out(&mut self, now: Duration) {
        let age = |at: usize| now.saturating_sub(self.marks[at].at).as_secs_f64();
        let gap = |at: &usize| age(at - 1) / age(at + 1).max(1.0);
        let least = (1..MARKS - 1).min_by(|a, b| gap(a).total_cmp(&gap(b)));
        if let Some(at) = least {
            self.marks.remove(at);
        }
    }

    /// Forgets all if it has not grown for as long as it did.
    pub fn rest(&mut self, now: Duration) {
        let ends = self.marks.first().zip(self.marks.last());
        if ends.is_some_and(|(first, last)| now.saturating_sub(last.at) > last.at.saturating_sub(first.at)) {
            *self = Self::default();
        }
    }

    /// Returns true if it grew.
    pub(super) const fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Returns the marks, oldest first.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Returns by how much more work was done in the second half of that time than in the first, as a share of that; `None`
    /// where too little of it is known. A second of processor time is too little to matter.
    pub(super) fn rise(&self) -> Option<f64> {
        let known = &self.marks[self.marks.partition_point(|mark| mark.at < self.known_since)..];
        let (first, last) = known.first().zip(known.last())?;
        let middle = known.iter().find(|mark| mark.at >= (first.at + last.at) / 2)?;
        if middle.at == first.at || middle.at == last.at {
            return None;
        }
        let rate = |work: f32, time: Duration| f64::from(work) / time.as_secs_f64();
        let (half, rest) = (middle.at.saturating_sub(first.at), last.at.saturating_sub(middle.at));
        let (early, late) = (
            rate(middle.work - first.work, half),
            rate(last.work - middle.work, rest),
        );
        Some((late - early) / (early + rate(1.0, rest)))
    }

    /// Returns its memory on the heap, in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.marks.capacity() * size_of::<Mark>()
    }
}

/// The value that stands for one member: far more than what a series takes for the same.
const MEMBER: u64 = 1 << 20;
/// Time around a moment of which the usual number counts: a worker that is replaced is missing for a moment, and what lives
/// for moments is one more. A floor of the shortest window that is judged is as long.
const AROUND: Duration = Duration::from_secs(60);

/// The number of members of a group that have memory, since it began.
#[derive(Debug, Default)]
pub(super) struct MemberCounts(pub(super) TimeSeries);

impl MemberCounts {
    /// Takes in their number.
    pub(super) fn push(&mut self, now: Duration, count: u32, retention: Retention) {
        self.0.push(now, Some(u64::from(count) * MEMBER), retention);
    }

    /// Forgets all but the newest.
    pub(super) fn clear_past(&mut self) {
        self.0.clear_past();
    }

    /// Scales points of the group's sum, which come in order, to as many members as it has now.
    ///
    /// What it had with fewer members counts as if each of those that joined since had taken as much as the others had:
    /// then what joined is no growth, and growth is only what all of them have more than as many would have had. What it
    /// had with more members stays as it was, so that those that left make no growth of the rest either.
    pub(super) fn level(&self, points: &mut [Point]) {
        let Some(last) = points.last().filter(|_| !self.0.is_constant()) else {
            return;
        };
        let mut counts = Vec::new();
        self.0.collect_points(&mut counts);
        let mut held = Vec::new();
        let now = usual(&counts, last.to.saturating_sub(AROUND), last.to, &mut held);
        for point in points {
            let (from, to) = (point.from.saturating_sub(AROUND), point.to + AROUND);
            let then = usual(&counts, from, to, &mut held);
            if then < now {
                let scaled = |bytes: u64| (u128::from(bytes) * u128::from(now) / u128::from(then)) as u64;
                (point.min, point.last, point.max) = (scaled(point.min), scaled(point.last), scaled(point.max));
            }
        }
    }

    /// Returns its memory in bytes.
    pub(super) const fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// Returns the number that there was for most of that time, at least one: the median by time. `held` is a buffer.
fn usual(counts: &[Point], from: Duration, to: Duration, held: &mut Vec<(u64, Duration)>) -> u64 {
    // The one that held when the time began.
    let first = counts.partition_point(|count| count.from <= from).saturating_sub(1);
    held.clear();
    for (at, count) in counts.iter().enumerate().skip(first) {
        if count.from > to {
            break;
        }
        // A number holds until the next one.
        let end = counts.get(at + 1).map_or(to, |next| next.from.min(to));
        held.push((count.last, end.saturating_sub(count.from.max(from))));
    }
    order::sort_by(held, Ord::cmp);
    let half = held.iter().map(|(_, time)| *time).sum::<Duration>() / 2;
    let mut passed = Duration::ZERO;
    let median = held.iter().find(|(_, time)| {
        passed += *time;
        passed >= half
    });
    median.map_or(MEMBER, |(count, _)| *count).max(MEMBER)
}
