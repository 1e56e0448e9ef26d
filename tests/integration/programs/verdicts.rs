//! The verdicts on the programs while they run.

use std::collections::HashMap;
use std::time::Duration;

use zmtop::group::GroupKey;
use zmtop::history::{History, RowHistory};
use zmtop::model::{Identity, Snapshot};
use zmtop::trend::{Judgement, Verdict};

/// Seconds between reading verdicts: as often as a series that changes is judged.
const EVERY: f64 = 10.0;

/// Age of programs when the history begins that did not see their start, in seconds.
const LOADED: f64 = 90.0;

/// A series of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct View {
    /// The series of the group, not of the single process that was started.
    pub(super) as_group: bool,
    /// Observed from the start, not only once it has loaded.
    pub(super) from_start: bool,
}

impl View {
    /// Every one.
    const ALL: [Self; 4] = [
        Self::new(false, true),
        Self::new(false, false),
        Self::new(true, true),
        Self::new(true, false),
    ];

    pub(super) const fn new(as_group: bool, from_start: bool) -> Self {
        Self { as_group, from_start }
    }
}

/// The verdicts on one series, by its program's own time.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// When it was first called leaking, in seconds of its life.
    pub(super) first: Option<f64>,
    /// The last judgement.
    pub(super) last: Judgement,
    /// The last judgement that called it leaking and had a pace: between two stairs it is flat.
    pub(super) leak: Judgement,
    /// The number of judgements since the first call, and of those that called it leaking.
    pub(super) since: (usize, usize),
    /// The seconds of its life and its footprint, in bytes.
    pub(super) seen: Vec<(f64, u64)>,
    /// The bytes that it has kept by its own count, at times on the monotonic clock.
    kept: Vec<(Duration, u64)>,
    /// The bytes a second that it kept from the beginning of the growth to [`Self::leak`], by its own count.
    pub(super) kept_pace: Option<f64>,
    due: f64,
}

impl Said {
    fn observe(&mut self, age: f64, series: &RowHistory, kept: Option<(Duration, u64)>) {
        self.kept.extend(kept);
        self.seen
            .extend(series.footprint_series().newest().map(|(_, bytes)| (age, bytes)));
        if age < self.due {
            return;
        }
        self.due = age + EVERY;
        self.last = *series.trend();
        let leaks = self.last.verdict == Verdict::Leaking;
        if leaks {
            self.first = self.first.or(Some(age));
            if self.last.flat_since.is_none() {
                self.leak = self.last;
                self.kept_pace = self.pace_since(self.last.since);
            }
        }
        if self.first.is_some() {
            self.since.0 += 1;
            self.since.1 += usize::from(leaks);
        }
    }

    /// Returns the pace of [`Self::kept`] since a time, at the earliest since it began to leak.
    fn pace_since(&self, since: Option<Duration>) -> Option<f64> {
        let since = since?;
        let (from, before) = self.kept.iter().find(|(at, kept)| *at >= since && *kept > 0)?;
        let (to, after) = self.kept.last()?;
        Some((after - before) as f64 / to.saturating_sub(*from).as_secs_f64())
    }

    /// Returns the percentage of judgements since the first call that called it leaking.
    pub(super) fn held(&self) -> f64 {
        100.0 * self.since.1 as f64 / self.since.0.max(1) as f64
    }
}

/// Two histories, of which one does not see how the programs begin, and all that they say.
#[derive(Debug)]
pub(super) struct Verdicts {
    from_start: History,
    later: History,
    said: HashMap<(&'static str, View), Said>,
}

/// A program that is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judged<'a> {
    pub(super) name: &'static str,
    /// The process that was started.
    pub(super) id: Identity,
    pub(super) group: &'a GroupKey,
    /// The bytes that it has kept by its own count.
    pub(super) kept: Option<u64>,
}

impl Verdicts {
    pub(super) fn new() -> Self {
        let history = || History::new(Duration::from_secs(10));
        Self {
            from_start: history(),
            later: history(),
            said: HashMap::new(),
        }
    }

    /// Takes in a snapshot of nothing but these programs.
    pub(super) fn push(&mut self, snapshot: &Snapshot, programs: &[Judged<'_>]) {
        let uptime = snapshot.system.uptime.unwrap();
        let age = |id: Identity| uptime - id.starttime as f64 / 100.0;
        let loaded = programs.iter().all(|program| age(program.id) >= LOADED);
        self.from_start.push(snapshot);
        if loaded {
            self.later.push(snapshot);
        }
        for program in programs {
            for view in View::ALL.into_iter().filter(|view| view.from_start || loaded) {
                let history = if view.from_start { &self.from_start } else { &self.later };
                let series = if view.as_group {
                    history.group(program.group)
                } else {
                    history.get(program.id)
                };
                let said = self.said.entry((program.name, view)).or_default();
                if let Some(series) = series {
                    let kept = program.kept.map(|kept| (snapshot.monotonic, kept));
                    said.observe(age(program.id), series, kept);
                }
            }
        }
    }

    /// Returns the verdicts on a program.
    pub(super) fn of(&self, name: &'static str, view: View) -> &Said {
        &self.said[&(name, view)]
    }
}
