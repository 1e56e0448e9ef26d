//! What is said of the programs while they run.

use std::collections::HashMap;
use std::time::Duration;

use zmtop::group::GroupKey;
use zmtop::history::{History, RowHistory};
use zmtop::model::{Identity, Snapshot};
use zmtop::trend::{Judgement, Verdict};

/// How often what is said is heard: as often as what moves is judged anew.
const EVERY: f64 = 10.0;

/// How old programs are when the history begins that did not see them from their start, in seconds.
const LOADED: f64 = 90.0;

/// Which of the series of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct View {
    /// Of all that is its program together, not of the process that was started alone.
    pub(super) together: bool,
    /// Seen from the beginning, not only once it has loaded.
    pub(super) birth: bool,
}

impl View {
    /// Every one.
    const ALL: [Self; 4] = [
        Self::new(false, true),
        Self::new(false, false),
        Self::new(true, true),
        Self::new(true, false),
    ];

    pub(super) const fn new(together: bool, birth: bool) -> Self {
        Self { together, birth }
    }
}

/// What was said of one series, by its program's own time.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// When it was first called leaking, in seconds of its life.
    pub(super) first: Option<f64>,
    /// What was said last.
    pub(super) last: Judgement,
    /// What was said when it was last called leaking.
    pub(super) leak: Judgement,
    /// How often it was heard since the first call, and how often it was called leaking.
    pub(super) since: (usize, usize),
    /// The seconds of its life and its footprint, in bytes.
    pub(super) seen: Vec<(f64, u64)>,
    due: f64,
}

impl Said {
    fn hear(&mut self, age: f64, series: &RowHistory) {
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
            self.leak = self.last;
        }
        if self.first.is_some() {
            self.since.0 += 1;
            self.since.1 += usize::from(leaks);
        }
    }

    /// How often it was called leaking once it had been, in percent.
    pub(super) fn held(&self) -> f64 {
        100.0 * self.since.1 as f64 / self.since.0.max(1) as f64
    }
}

/// Two histories, of which one does not see how the programs begin, and all that they say.
#[derive(Debug)]
pub(super) struct Verdicts {
    birth: History,
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
}

impl Verdicts {
    pub(super) fn new() -> Self {
        let history = || History::new(Duration::from_secs(10));
        Self {
            birth: history(),
            later: history(),
            said: HashMap::new(),
        }
    }

    /// Takes in a snapshot of nothing but these programs.
    pub(super) fn push(&mut self, snapshot: &Snapshot, programs: &[Judged<'_>]) {
        let uptime = snapshot.system.uptime.unwrap();
        let age = |id: Identity| uptime - id.starttime as f64 / 100.0;
        let loaded = programs.iter().all(|program| age(program.id) >= LOADED);
        self.birth.push(snapshot);
        if loaded {
            self.later.push(snapshot);
        }
        for program in programs {
            for view in View::ALL.into_iter().filter(|view| view.birth || loaded) {
                let history = if view.birth { &self.birth } else { &self.later };
                let series = if view.together {
                    history.group(program.group)
                } else {
                    history.get(program.id)
                };
                let said = self.said.entry((program.name, view)).or_default();
                if let Some(series) = series {
                    said.hear(age(program.id), series);
                }
            }
        }
    }

    /// What was said of a program.
    pub(super) fn of(&self, name: &'static str, view: View) -> &Said {
        &self.said[&(name, view)]
    }
}
