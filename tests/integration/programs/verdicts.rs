//! What is said of the programs while they run.

use std::collections::HashMap;
use std::time::Duration;

use zmtop::model::history::Figures;
use zmtop::model::history::levels::Levels;
use zmtop::model::trend::{Judgement, Params, Verdict, judge};
use zmtop::model::{Snapshot, Totals};

use super::stage::Program;

/// How often a series is judged.
const EVERY: Duration = Duration::from_secs(10);

/// What was said of one series, by its program's own time.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// When it was first called leaking, in seconds of its life.
    pub(super) first: Option<f64>,
    /// What was said last.
    pub(super) last: Judgement,
    /// What was said when it was last called leaking.
    pub(super) leak: Judgement,
    /// What was said, and since when, where it changed.
    pub(super) verdicts: Vec<(f64, Verdict)>,
    /// The seconds of its life and its footprint, in bytes.
    pub(super) seen: Vec<(f64, u64)>,
}

/// A series and what was said of it.
#[derive(Debug, Default)]
struct Track {
    levels: Levels,
    born: Option<Duration>,
    due: Duration,
    said: Said,
}

/// All that was said.
#[derive(Debug, Default)]
pub(super) struct Verdicts {
    /// Of the process that was started, and of all that are its program together.
    tracks: HashMap<(&'static str, bool), Track>,
}

impl Verdicts {
    /// Takes in a snapshot.
    pub(super) fn push(&mut self, snapshot: &Snapshot, programs: &[Program]) {
        let now = snapshot.monotonic;
        let uptime = snapshot.system.uptime.unwrap();
        for program in programs {
            let Some(first) = snapshot.rows().iter().find(|row| program.is(row)) else {
                continue;
            };
            let all = Totals::of(snapshot.rows().iter().filter(|row| program.has(row)), |_| None);
            let age = uptime - first.id.starttime as f64 / 100.0;
            let born = now.saturating_sub(Duration::from_secs_f64(age.max(0.0)));
            let memories = [(false, first.memory().ok().copied()), (true, all.memory.ok())];
            for (together, memory) in memories {
                let track = self.tracks.entry((program.role.name, together)).or_default();
                track.born = track.born.or(Some(born));
                let footprint = memory.map(|memory| Figures::of(&memory).footprint);
                track.push(now, footprint);
            }
        }
    }

    /// What was said of the process that was started, or of all of the program together.
    pub(super) fn of(&self, program: &Program, together: bool) -> Option<&Said> {
        self.tracks.get(&(program.role.name, together)).map(|track| &track.said)
    }
}

impl Track {
    fn push(&mut self, now: Duration, footprint: Option<u64>) {
        self.levels.push(now, footprint);
        let age = now.saturating_sub(self.born.unwrap_or(now)).as_secs_f64();
        let said = &mut self.said;
        said.seen.extend(footprint.map(|bytes| (age, bytes)));
        if now < self.due {
            return;
        }
        self.due = now + EVERY;
        let mut points = Vec::new();
        self.levels.to_judge(&mut points);
        said.last = judge(&points, self.born, &Params::default()).after(&said.last);
        if said.last.verdict == Verdict::Leaking {
            said.first = said.first.or(Some(age));
            said.leak = said.last;
        }
        let verdict = said.last.verdict;
        if said.verdicts.last().is_none_or(|(_, before)| *before != verdict) {
            said.verdicts.push((age, verdict));
        }
    }
}
