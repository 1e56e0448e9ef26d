//! The number of living processes of a program or a family over time, and whether it grows.
//!
//! Memory by group does not show a program that leaves small copies behind: each is harmless, and joining members are no
//! growth of memory. So the number of processes is judged like memory ([`trend`](crate::trend)), one process counting as
//! one MiB. A number that never changed needs no memory, and groups of few are not judged.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::history::evaluation::{
    EvaluationScheduler, INTERVAL, LONG_INTERVAL, MEMBER, MemberCounts, NEVER, Resumed, RowNumber, Turn,
};
use crate::history::time_series::{Retention, TimeSeries};
use crate::trend::{Judgement, Metric, Verdict};

/// Minimum number of processes by which a group must have grown.
const MIN_GAINED: u64 = 10;
/// Minimum number of processes, or of those whose parent is gone, to report a group.
const MIN_LIVING: u32 = 50;
const MIN_ORPHANS: u32 = 10;
/// Inverse of the minimum share of orphans for a growing number to be a leak: no parent is left to use or end them.
const ORPHAN_SHARE: u32 = 4;
/// Minimum time of growth. Builds and test runs start and end processes within it.
const MIN_TIME: Duration = Duration::from_secs(300);
/// The same while their parents live. Servers start processes in the rhythm of their load.
const MIN_TIME_OF_CHILDREN: Duration = Duration::from_secs(3600);
/// Number of gained processes that counts as growth although their parents live and the growth may still be a fill or a load.
const FLOOD: u64 = 500;
/// Minimum growth, in processes, that the pace predicts for a pause to count as one: single processes start at uneven times.
const PAUSE: f64 = 4.0;

/// The number of processes of a group, and whether it grows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Population {
    /// The number of processes, without zombies.
    pub living: u32,
    /// The number of those whose parent is gone.
    pub orphans: u32,
    /// The judgement of the series. Its slope is in processes a second.
    judgement: Judgement,
    /// The number of processes gained since the growth began.
    gained: u64,
    /// The parents of many of them are gone.
    has_orphans: bool,
}

impl Population {
    /// Returns the judgement to report at the time `now`: growth or a leak, or steady.
    ///
    /// Growth is reported once 10 processes were gained, if there are 50, or 10 whose parent is gone:
    /// - after 5 minutes, if the parent of each fourth is gone, or if 500 were gained;
    /// - after an hour, if the parents of most live and the number outlasted what a pool, a build or a load explains, as a leak
    ///   of memory must.
    ///
    /// It is a leak if it outlasted that, and the parent of each fourth is gone.
    pub fn judgement(&self, now: Duration) -> Judgement {
        let mut judgement = self.judgement;
        let lasted = judgement
            .since
            .map_or(Duration::ZERO, |since| now.saturating_sub(since));
        let matters = self.gained >= MIN_GAINED && (self.living >= MIN_LIVING || self.orphans >= MIN_ORPHANS);
        let is_reported = match judgement.verdict {
            Verdict::Leaking if self.has_orphans || lasted >= MIN_TIME_OF_CHILDREN => true,
            Verdict::Leaking => self.gained >= FLOOD,
            // Growth since the first snapshot may be a fill, so it is warming. Orphans fill nothing.
            Verdict::Warming | Verdict::Growing => lasted >= MIN_TIME && (self.has_orphans || self.gained >= FLOOD),
            _ => false,
        };
        if !(matters && is_reported) {
            let verdict = judgement.verdict.min(Verdict::Steady);
            return Judgement {
                verdict,
                metric: Metric::Processes,
                ..Judgement::NONE
            };
        }
        if !self.has_orphans {
            judgement.call_growing();
        }
        judgement.verdict = judgement.verdict.max(Verdict::Growing);
        judgement
    }
}

/// A number of processes that is not known yet. An `Option` would take more memory per group.
const UNKNOWN: u32 = u32::MAX;

/// The number of processes of a group over time.
#[derive(Debug)]
pub(super) struct Number {
    /// The newest number; [`UNKNOWN`] before it is known.
    living: u32,
    /// The second since when it is known, as long as it never changed.
    since: u32,
    /// Allocated with the first change.
    past: Option<Box<NumberPast>>,
}

/// The past of a number that changed, which may be saved.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::history) struct NumberPast {
    numbers: MemberCounts,
    /// Its slope and floor describe the series.
    judged: Judgement,
    /// The number of processes when the growth began.
    base: u64,
    /// The parent of each fourth was gone at some time of the growth, and the parents of some still are. Others of the same name that
    /// come for a while change nothing.
    has_orphans: bool,
    /// The second of the next judgement, or [`NEVER`] until the number changes.
    #[serde(skip)]
    due: u32,
    /// Present if the judgement was saved, and may still stand.
    #[serde(skip)]
    resumed: Option<Resumed>,
}

impl NumberPast {
    fn new(numbers: MemberCounts) -> Box<Self> {
        Box::new(Self {
            numbers,
            judged: Judgement::NONE,
            base: 0,
            has_orphans: false,
            due: NEVER,
            resumed: None,
        })
    }

    /// Continues a past that was saved at `at`; `None` if a time in it is later.
    pub(in crate::history) fn resumed(mut self, at: Duration) -> Option<Self> {
        let newest = self.numbers.0.newest().map_or(0, |(_, number)| number / MEMBER);
        self.resumed = Some(Resumed::at(at, newest));
        self.due = if self.judged.verdict.is_growth() { 0 } else { NEVER };
        let are_past = self.judged.times().all(|time| time <= at + TimeSeries::LONGEST_STEP);
        (are_past && self.numbers.0.ends_by(at)).then_some(self)
    }
}

impl Default for Number {
    fn default() -> Self {
        Self {
            living: UNKNOWN,
            since: 0,
            past: None,
        }
    }
}

impl Number {
    pub(super) fn resumed(past: NumberPast) -> Self {
        Self {
            past: Some(Box::new(past)),
            ..Self::default()
        }
    }

    /// Adds the number at `now`. Until `before`, the snapshot before, it did not change.
    pub(super) fn push(&mut self, now: Duration, before: Duration, living: u32, retention: Retention) {
        let was = std::mem::replace(&mut self.living, living);
        if was == UNKNOWN {
            self.since = now.as_secs() as u32;
            if let Some(past) = &mut self.past {
                past.numbers.push(now, living, retention);
            }
            return;
        }
        let is_changed = was != living;
        if self.past.is_none() && !is_changed {
            return;
        }
        let since = Duration::from_secs(self.since.into());
        let past = self.past.get_or_insert_with(|| {
            let mut numbers = MemberCounts::default();
            numbers.push(since, was, retention);
            NumberPast::new(numbers)
        });
        past.numbers.0.rest_until(before);
        past.numbers.push(now, living, retention);
        if is_changed && past.due == NEVER {
            past.due = now.as_secs() as u32 + INTERVAL;
        }
    }

    /// Returns true if it is due to be judged.
    pub(super) fn is_due(&self, now: u32) -> bool {
        self.past.as_ref().is_some_and(|past| past.due <= now)
    }

    /// Queues it if it is due. The number of a small group is not judged.
    pub(super) fn queue(&self, scheduler: &mut EvaluationScheduler, number: u32) {
        let Some(past) = self.past.as_ref().filter(|past| past.due <= scheduler.now) else {
            return;
        };
        scheduler.queue.push(Turn {
            order: past.due,
            row: RowNumber::Population(number),
            due: past.due,
        });
    }

    /// Judges it as of `now`. The newest numbers count the processes, and the processes whose parent is gone.
    pub(super) fn judge(
        &mut self,
        scheduler: &mut EvaluationScheduler,
        now: Duration,
        started_at: Option<Duration>,
        [living, orphans]: [u32; 2],
    ) {
        let Some(past) = &mut self.past else { return };
        if u64::from(living) < MIN_GAINED {
            (past.judged, past.base, past.due) = (Judgement::NONE, 0, NEVER);
            return;
        }
        past.numbers.0.rest_until(now);
        let was_growing = past.has_orphans && past.judged.verdict.is_growth();
        past.has_orphans = orphans >= MIN_ORPHANS && (was_growing || orphans.saturating_mul(ORPHAN_SHARE) >= living);
        let (mut judged, mut base) = scheduler.judge_number(&past.numbers, started_at, past.has_orphans, &past.judged);
        let numbers = [past.base, living.into()];
        let stands = |resumed: &mut Resumed| resumed.standing(&past.judged, &judged, now, numbers);
        let standing = past.resumed.as_mut().and_then(stands);
        past.resumed = past.resumed.filter(|_| standing.is_some());
        if let Some(standing) = standing {
            (judged, base) = (standing, past.base);
        }
        (past.judged, past.base) = (judged, base);
        let is_recent = past.judged.verdict >= Verdict::Warming;
        past.due = scheduler.now + if is_recent { INTERVAL } else { LONG_INTERVAL };
        // A number at rest is not judged again: half of its past would have to leave it before that changed anything.
        let rests_since = past.numbers.0.unchanged_since().unwrap_or(now);
        let start = past.numbers.0.start().unwrap_or(now);
        if !past.judged.verdict.is_growth() && now.saturating_sub(rests_since) > rests_since.saturating_sub(start) {
            past.due = NEVER;
        }
    }

    pub(super) fn population(&self, living: u32, orphans: u32) -> Population {
        let (mut judgement, base, has_orphans) = match &self.past {
            Some(past) => (past.judged, past.base, past.has_orphans),
            None => (Judgement::NONE, 0, false),
        };
        let gained = u64::from(living).saturating_sub(base);
        judgement.slope /= MEMBER as f64;
        if let Some(since) = judgement.since {
            // The slope of a staircase of single processes is 0 on a step; the mean counts others that came for a while.
            let until = judgement.standing.at;
            let mean = gained as f64 / until.saturating_sub(since).as_secs_f64().max(1.0);
            let paused = judgement
                .flat_since
                .map(|flat| until.saturating_sub(flat).as_secs_f64());
            if paused.is_none_or(|paused| paused * mean < PAUSE) {
                let slope = if judgement.slope > 0.0 {
                    judgement.slope.min(mean)
                } else {
                    mean
                };
                (judgement.flat_since, judgement.slope) = (None, slope);
            }
        }
        judgement.metric = Metric::Processes;
        Population {
            living,
            orphans,
            judgement,
            gained,
            has_orphans,
        }
    }

    /// Returns true if it ever changed.
    pub(super) const fn is_changing(&self) -> bool {
        self.past.is_some()
    }

    /// Returns the past up to `now`, if the number ever changed.
    pub(super) fn rested(&self, now: Duration) -> Option<&NumberPast> {
        let past = self.past.as_ref()?;
        if !matches!(self.living, 0 | UNKNOWN) {
            past.numbers.0.rest_until(now);
        }
        Some(past)
    }

    pub(super) fn clear_past(&mut self) {
        self.past = None;
    }

    pub(super) fn put_before(&mut self, earlier: &Self, retention: Retention) {
        let Some(before) = &earlier.past else { return };
        let living = self.living;
        let past = self.past.get_or_insert_with(|| {
            let mut numbers = MemberCounts::default();
            if living != UNKNOWN {
                numbers.push(Duration::from_secs(self.since.into()), living, retention);
            }
            NumberPast::new(numbers)
        });
        past.numbers.0.put_before(&before.numbers.0, retention);
    }

    pub(super) fn bytes(&self) -> usize {
        self.past.as_ref().map_or(0, |past| {
            size_of::<NumberPast>() - size_of::<MemberCounts>() + past.numbers.0.bytes()
        })
    }
}
