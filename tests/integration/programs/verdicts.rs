//! What is said of the programs while they run.

use std::collections::HashMap;
use std::time::Duration;

use zmtop::model::history::Figures;
use zmtop::model::history::levels::Levels;
use zmtop::model::trend::{Judgement, Params, Verdict, judge};
use zmtop::model::{Memory, Snapshot, Totals};

use super::stage::Program;

/// How often a series is judged.
const EVERY: Duration = Duration::from_secs(10);

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
    pub(super) const ALL: [Self; 4] = [
        Self::new(false, true),
        Self::new(false, false),
        Self::new(true, true),
        Self::new(true, false),
    ];

    const fn new(together: bool, birth: bool) -> Self {
        Self { together, birth }
    }
}

/// How old a program is when those look at it that were not there from the beginning, in seconds.
pub(super) const LOADED: f64 = 60.0;

/// What was said of one series, by its program's own time.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// When it was first called leaking, in seconds of its life.
    pub(super) first: Option<f64>,
    /// What was said last.
    pub(super) last: Judgement,
    /// What was said when it was last called leaking.
    pub(super) leak: Judgement,
    /// How often it was judged since the first call, and how often it was called leaking.
    pub(super) since: (usize, usize),
    /// The seconds of its life and its footprint, in bytes.
    pub(super) seen: Vec<(f64, u64)>,
}

impl Said {
    /// Takes in what is said at that age.
    fn hear(&mut self, age: f64, judgement: Judgement) {
        self.last = judgement;
        let leaks = judgement.verdict == Verdict::Leaking;
        if leaks {
            self.first = self.first.or(Some(age));
            self.leak = judgement;
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

/// A series and what was said of it.
#[derive(Debug, Default)]
pub(super) struct Track {
    levels: Levels,
    due: Duration,
    pub(super) said: Said,
}

/// All that was said.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    tracks: HashMap<(&'static str, View), Track>,
}

impl Verdicts {
    /// Takes in a snapshot.
    pub(super) fn push(&mut self, snapshot: &Snapshot, programs: &[Program]) {
        let uptime = snapshot.system.uptime.unwrap();
        for program in programs {
            let Some(first) = snapshot.rows().iter().find(|row| program.is(row)) else {
                continue;
            };
            let all = Totals::of(snapshot.rows().iter().filter(|row| program.has(row)), |_| None);
            let age = (uptime - first.id.starttime as f64 / 100.0).max(0.0);
            let footprint = |memory: Memory| Figures::of(&memory).footprint;
            for view in View::ALL.into_iter().filter(|view| view.birth || age >= LOADED) {
                let memory = if view.together {
                    all.memory
                } else {
                    first.memory().copied()
                };
                let track = self.tracks.entry((program.role.name, view)).or_default();
                track.push(snapshot.monotonic, age, memory.ok().map(footprint));
            }
        }
    }

    /// What was said of a program.
    pub(super) fn of(&self, program: &Program, view: View) -> &Said {
        &self.tracks[&(program.role.name, view)].said
    }
}

impl Track {
    /// Takes in the footprint at that age.
    pub(super) fn push(&mut self, now: Duration, age: f64, footprint: Option<u64>) {
        self.levels.push(now, footprint);
        self.said.seen.extend(footprint.map(|bytes| (age, bytes)));
        if now < self.due {
            return;
        }
        self.due = now + EVERY;
        let mut points = Vec::new();
        self.levels.to_judge(&mut points);
        let born = now.checked_sub(Duration::from_secs_f64(age));
        let judgement = judge(&points, born, &Params::default()).after(&self.said.last);
        self.said.hear(age, judgement);
    }
}
