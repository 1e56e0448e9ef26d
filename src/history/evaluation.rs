//! The evaluation scheduler: judges rows in turn, so that the work is spread over snapshots.
//!
//! Rows that are due are queued, and the longest-waiting ones are judged first. Groups and growing rows are judged
//! some seconds sooner. A row that never changed is judged at once, as that costs next to nothing. A snapshot judges
//! [`POINTS_PER_SECOND`]; unprocessed rows are queued again at the next snapshot. If rows wait for long, the budget grows
//! up to fourfold: 40 000 rows that all change are then judged within a minute, at about 10 ms of CPU time a second.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::history::growth::{GrowthStart, LastGrowth};
use crate::history::time_series::{Retention, TimeSeries};
use crate::model::process::Identity;
use crate::trend::parameters::SHORTEST_GAP;
use crate::trend::{Judgement, MIN_OBSERVED, Mark, Params, Point, Unwatched, Verdict, judge};

/// Seconds between evaluations of a series that changes.
pub(super) const INTERVAL: u32 = 10;
/// Seconds between evaluations of a series that does not change, or that has been known for [`LONG_KNOWN`]: each evaluation
/// risks a false alarm.
pub(super) const LONG_INTERVAL: u32 = 30;
/// The value of [`Evaluation::due`] if only a change makes the row due.
pub(super) const NEVER: u32 = u32::MAX;
/// Seconds after which a series counts as long known.
pub(super) const LONG_KNOWN: u32 = 3600;

/// Seconds by which groups and growing rows are judged sooner, as they matter more. Short, so that the others are hardly
/// delayed.
pub(super) const HEAD_START: u32 = 5;
/// Seconds of waiting after which the budget grows by its base value, so that no row waits for a minute.
const PATIENCE: u32 = 15;
/// Maximum multiple of the base budget, so that judging stays a small share of a core.
pub const MAX_URGENCY: u32 = 4;

/// The cost of an evaluation besides its points, in points, as measured by a benchmark.
pub const EVALUATION_OVERHEAD: usize = 50;

/// Points evaluated per second: a snapshot of many changing processes then takes a few milliseconds.
pub const POINTS_PER_SECOND: usize = 150_000;

/// The key of a row of any kind. It breaks ties in the order of evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowNumber {
    /// A part of the RAM.
    Part(u32),
    /// A part of the inspected cgroup.
    Inspected(u32),
    /// A file system in memory.
    Mount(u32),
    /// A slab cache.
    Slab(u32),
    /// An allocation site.
    Site(u32),
    Group(u32),
    /// The number of processes of a group.
    Population(u32),
    /// The memory that a group holds through descriptors.
    HeldGroup(u32),
    Process(Identity),
    /// The memory that a process holds through descriptors.
    Held(Identity),
}

/// A row that is to be judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// The second at which it is due, minus its head start.
    pub(super) order: u32,
    pub(super) row: RowNumber,
    pub(super) due: u32,
}

/// The judgement of a series that never changed and was observed too briefly.
static UNKNOWN: Judgement = Judgement::NONE;
/// The judgement of a series that never changed and was observed for long enough.
static STEADY: Judgement = Judgement {
    verdict: Verdict::Steady,
    ..Judgement::NONE
};

/// The last judgement of a series that changed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Latest {
    pub(super) judgement: Judgement,
    /// Empty unless it grows.
    pub(super) log: GrowthLog,
    /// The figures at the last judgement before it grew, or at this one.
    pub(super) start: Option<GrowthStart>,
    /// Its last growth; `None` if it has none, or none that is recent.
    pub(super) last_growth: Option<Box<LastGrowth>>,
    /// Present if the judgement was saved, and may still stand.
    #[serde(skip)]
    pub(super) resumed: Option<Resumed>,
}

/// Maximum gap after which a saved judgement stands: growth of hours ago is not reported again.
const LONGEST_STAND: Duration = Duration::from_secs(900);

/// A judgement that was saved and resumed. Right after the gap, a judgement of the series would depend on the gap; so the saved one
/// stands until there are enough values since.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resumed {
    /// The time of saving.
    at: Duration,
    /// The value at that time.
    value: u64,
    /// The time of the first judgement since.
    since: Option<Duration>,
}

impl Resumed {
    pub(super) const fn at(at: Duration, value: u64) -> Self {
        Self { at, value, since: None }
    }

    /// Returns the saved judgement if it still stands, given `judged`, the judgement of the series with the gap. `start` is the
    /// value before the growth, `value` the present one.
    ///
    /// A leak has its own rule for its end, which also holds over a gap. Growth that was given back since has ended.
    pub(super) fn standing(
        &mut self,
        saved: &Judgement,
        judged: &Judgement,
        now: Duration,
        [start, value]: [u64; 2],
    ) -> Option<Judgement> {
        let is_first = self.since.is_none();
        let since = *self.since.get_or_insert(now);
        let gap = since.saturating_sub(self.at);
        let is_open = now.saturating_sub(since) < MIN_OBSERVED && gap <= LONGEST_STAND;
        let is_leak = |judgement: &Judgement| judgement.verdict == Verdict::Leaking;
        let is_given_back =
            saved.verdict.is_growth() && value < start.saturating_add(self.value.saturating_sub(start) / 2);
        if !is_open || is_given_back || is_leak(saved) || is_leak(judged) || saved.verdict == Verdict::Unknown {
            return None;
        }
        let mut standing = *saved;
        if is_first && gap > SHORTEST_GAP && standing.since.is_some() {
            let before = standing.unwatched.map_or(Duration::ZERO, |gaps| gaps.total);
            standing.unwatched = Some(Unwatched {
                from: self.at,
                to: since,
                total: before + gap,
            });
        }
        Some(standing)
    }
}

/// The last judgement of a series, and when the next is due.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Evaluation {
    /// `None` for a series that never changed, as most did not.
    pub(super) latest: Option<Box<Latest>>,
    /// A series that never changed was observed for long enough to be steady.
    pub(super) is_steady: bool,
    /// The second at which it is due; 0 before it was first scheduled, or [`NEVER`].
    #[serde(skip)]
    pub(super) due: u32,
    /// The series changed since the last evaluation.
    #[serde(skip)]
    pub(super) changed: bool,
    /// The row is not pushed until it changes or is due. Stored here because it fits into the padding.
    #[serde(skip)]
    pub(super) is_resting: bool,
}

impl Evaluation {
    pub(super) fn latest(&self) -> &Judgement {
        let constant = if self.is_steady { &STEADY } else { &UNKNOWN };
        self.latest.as_ref().map_or(constant, |latest| &latest.judgement)
    }

    /// Adds processor time that the row used, in seconds, if it grows.
    pub(super) fn add_work(&mut self, seconds: f64) {
        if let Some(latest) = self.latest.as_mut().filter(|latest| !latest.log.marks.is_empty()) {
            latest.log.work += seconds as f32;
        }
    }

    /// Adds minor faults.
    pub(super) fn add_faults(&mut self, count: f64) {
        if let Some(start) = self.latest.as_mut().and_then(|latest| latest.start.as_mut()) {
            start.faults += count as f32;
        }
    }

    /// Returns the memory on the heap, in bytes.
    pub(super) const fn bytes(&self) -> usize {
        match &self.latest {
            Some(latest) => {
                let last_growth = match latest.last_growth {
                    Some(_) => size_of::<LastGrowth>(),
                    None => 0,
                };
                size_of::<Latest>() + latest.log.marks.capacity() * size_of::<Mark>() + last_growth
            }
            None => 0,
        }
    }

    /// Returns the second at which it is due; `None` if it is not scheduled.
    pub(super) const fn due(&self) -> Option<u32> {
        match self.due {
            0 | NEVER => None,
            due => Some(due),
        }
    }
}

/// Schedules all evaluations.
#[derive(Debug, Default)]
pub(super) struct EvaluationScheduler {
    params: Params,
    /// The second of the current snapshot.
    pub(super) now: u32,
    /// The number of points that may still be evaluated in this snapshot.
    pub(super) budget: usize,
    /// The rows that are due and not yet judged.
    pub(super) queue: Vec<Turn>,
    /// The number of rows that the last snapshot left over, and the seconds since the first of them was due.
    pub(super) waiting: usize,
    pub(super) longest_wait: u32,
    /// A buffer that all evaluations share.
    points: Vec<Point>,
}

impl EvaluationScheduler {
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

    /// Removes and returns the queue, sorted. [`Self::give_back`] stores it again.
    pub(super) fn take_queue(&mut self) -> Vec<Turn> {
        self.queue.sort_unstable();
        std::mem::take(&mut self.queue)
    }

    /// Stores the queue, of which the first `judged` rows were judged. The others are queued again at the next snapshot.
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

    /// Judges a series and charges the budget. The points of a group are scaled by its `members`.
    pub(super) fn judge(
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

    /// Judges a number of processes. Also returns the number at the start of its growth. With `has_orphans`, a daily load cannot
    /// explain the growth.
    pub(super) fn judge_number(
        &mut self,
        numbers: &MemberCounts,
        started_at: Option<Duration>,
        has_orphans: bool,
        previous: &Judgement,
    ) -> (Judgement, u64) {
        numbers.0.collect_points(&mut self.points);
        self.budget = self.budget.saturating_sub(self.points.len() + EVALUATION_OVERHEAD);
        let params = Params {
            least_bytes: MEMBER,
            day_rate: if has_orphans { 0.0 } else { self.params.day_rate },
            ..self.params
        };
        let judgement = judge(&self.points, &[], started_at, &params, previous);
        let at = judgement
            .since
            .map_or(0, |since| self.points.partition_point(|point| point.from <= since));
        let base = self
            .points
            .get(at.saturating_sub(1))
            .map_or(0, |point| point.min / MEMBER);
        (judgement, base)
    }

    pub(super) const fn bytes(&self) -> usize {
        self.queue.capacity() * size_of::<Turn>() + self.points.capacity() * size_of::<Point>()
    }
}

/// Maximum number of marks: over a week the distance of two is a quarter of their age.
const MARKS: usize = 48;

/// The work and the requested memory of a row since it was first found to grow.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct GrowthLog {
    /// Seconds of processor time.
    pub(super) work: f32,
    /// The time since when all work is counted.
    #[serde(skip)]
    pub(super) known_since: Duration,
    /// Oldest first.
    pub(super) marks: Vec<Mark>,
}

impl GrowthLog {
    /// Records the work done so far and the bytes requested.
    pub fn mark(&mut self, now: Duration, requested: u64) {
        if self.marks.len() == MARKS {
            self.thin_out(now);
        }
        self.marks.push(Mark {
            at: now,
            requested,
            work: self.work,
        });
    }

    /// Drops the mark whose gap would be smallest relative to its age. The first and the last stay.
    fn thin_out(&mut self, now: Duration) {
        let age = |at: usize| now.saturating_sub(self.marks[at].at).as_secs_f64();
        let gap = |at: &usize| age(at - 1) / age(at + 1).max(1.0);
        let least = (1..MARKS - 1).min_by(|a, b| gap(a).total_cmp(&gap(b)));
        if let Some(at) = least {
            self.marks.remove(at);
        }
    }

    /// Clears the log once the row has not grown for as long as it did grow.
    pub fn rest(&mut self, now: Duration) {
        let ends = self.marks.first().zip(self.marks.last());
        if ends.is_some_and(|(first, last)| now.saturating_sub(last.at) > last.at.saturating_sub(first.at)) {
            *self = Self::default();
        }
    }

    /// Returns the marks, oldest first.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Returns the work in the second half of the growth minus the work in the first half, as a share of the first half.
    /// Returns `None` if too little is known. One second of processor time is too little to count.
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
}

/// The value of one member in the series: far more than the series' tolerance for equal values.
pub(super) const MEMBER: u64 = 1 << 20;
/// Time before and after a moment over which the median number of members is computed, because workers are replaced and
/// short-lived members come and go. It is as long as a floor of the shortest horizon that is judged for leaks.
const AROUND: Duration = Duration::from_secs(60);

/// The number of members of a group with known memory, over time.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct MemberCounts(pub(super) TimeSeries);

impl MemberCounts {
    pub(super) fn push(&mut self, now: Duration, count: u32, retention: Retention) {
        self.0.push(now, Some(u64::from(count) * MEMBER), retention);
    }

    /// Scales the points of the group's sum, in order of time, to the present number of members.
    ///
    /// Values from times with fewer members are scaled up, as if each later member had had the average of the others: then
    /// joining members are not growth. Values from times with more members stay, so that leaving members do not make
    /// the rest look like growth either.
    pub(super) fn level(&self, points: &mut [Point]) {
        let Some(last) = points.last().filter(|_| !self.0.is_constant()) else {
            return;
        };
        let mut counts = Vec::new();
        self.0.collect_points(&mut counts);
        let now = Window::new(&counts).usual([last.to.saturating_sub(AROUND), last.to]);
        let mut window = Window::new(&counts);
        for point in points {
            let then = window.usual([point.from.saturating_sub(AROUND), point.to + AROUND]);
            if then < now {
                let scaled = |bytes: u64| (u128::from(bytes) * u128::from(now) / u128::from(then)) as u64;
                (point.min, point.last, point.max) = (scaled(point.min), scaled(point.last), scaled(point.max));
            }
        }
    }
}

/// A window of time that moves on over numbers. A number holds until the next one.
struct Window<'a> {
    counts: &'a [Point],
    /// The time for which each number held in the window, the smallest number first.
    held: Vec<(u64, Duration)>,
    /// Its beginning and its end: the index of the number that held, and the time.
    edges: [(usize, Duration); 2],
}

impl<'a> Window<'a> {
    const fn new(counts: &'a [Point]) -> Self {
        Self {
            counts,
            held: Vec::new(),
            edges: [(0, Duration::ZERO); 2],
        }
    }

    /// Moves the window on; returns the median number by time, at least one.
    fn usual(&mut self, [from, to]: [Duration; 2]) -> u64 {
        self.pass(1, to, Duration::saturating_add);
        self.pass(0, from, Duration::saturating_sub);
        let half = self.held.iter().map(|(_, time)| *time).sum::<Duration>() / 2;
        let mut passed = Duration::ZERO;
        let median = self.held.iter().find(|(_, time)| {
            passed += *time;
            passed >= half
        });
        median.map_or(MEMBER, |(count, _)| *count).max(MEMBER)
    }

    /// Moves an edge on to `until`, and changes the times of the numbers that it passes.
    fn pass(&mut self, edge: usize, until: Duration, change: fn(Duration, Duration) -> Duration) {
        let (index, at) = &mut self.edges[edge];
        while let Some(count) = self.counts.get(*index).filter(|count| count.from <= until) {
            let next = self.counts.get(*index + 1).map_or(Duration::MAX, |next| next.from);
            let (begin, end) = (count.from.max(*at), next.min(until));
            let known = self.held.binary_search_by_key(&count.last, |(number, _)| *number);
            let place = known.unwrap_or_else(|place| {
                self.held.insert(place, (count.last, Duration::ZERO));
                place
            });
            let held = &mut self.held[place].1;
            *held = change(*held, end.saturating_sub(begin));
            if held.is_zero() {
                self.held.remove(place);
            }
            *at = begin.max(end);
            if next > until {
                break;
            }
            *index += 1;
        }
    }
}
