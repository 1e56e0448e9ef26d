//! Alerts: the rules, when they fire and clear, and what comes of it.

mod bounds;
mod engine;
mod groups;
mod leaks;
mod program;
mod rules;
mod screen;

use std::time::Duration;

use zmtop::alert::{AlertEvent, Alerts, Rule, TargetKind, Transition};
use zmtop::history::History;
use zmtop::model::{ProcessSample, Snapshot};

use crate::support::rows::{MIB, process, snapshot, walk};

/// A rule by its parts, with times in seconds.
fn rule(on: &str, when: &str, hold: u64, cooldown: u64) -> Rule {
    let mut rule = Rule::new("rule", TargetKind::from_id(on).unwrap(), when).unwrap();
    rule.hold = Duration::from_secs(hold);
    rule.cooldown = Duration::from_secs(cooldown);
    rule
}

/// Judges made snapshots one after the other.
struct Evaluator {
    alerts: Alerts,
    history: History,
    at: f64,
}

impl Evaluator {
    fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self {
            alerts: Alerts::new(rules.into_iter().collect()),
            history: History::new(Duration::from_secs(10)),
            at: 1000.0,
        }
    }

    /// Goes on by so many seconds, to these processes.
    fn go(&mut self, seconds: f64, rows: Vec<ProcessSample>) -> Vec<AlertEvent> {
        self.see(seconds, snapshot(Duration::ZERO, rows))
    }

    /// Goes on by so many seconds, to a snapshot that gets that time.
    fn see(&mut self, seconds: f64, mut snapshot: Snapshot) -> Vec<AlertEvent> {
        self.at += seconds;
        snapshot.monotonic = Duration::from_secs_f64(self.at);
        self.history.push(&snapshot);
        self.alerts.evaluate(&snapshot, &self.history)
    }
}

/// A process with that much PSS.
fn with(pid: u32, mib: u64) -> ProcessSample {
    ProcessSample {
        walk: Ok(walk(mib * MIB, 0)),
        ..process(pid, 1, "/usr/bin/eater --much")
    }
}

/// What happened, in short.
fn short(events: &[AlertEvent]) -> String {
    let words = events.iter().map(|n| match n.transition {
        Transition::Fired => "fired",
        Transition::Resolved(why) => why.id(),
    });
    words.collect::<Vec<_>>().join(" ")
}
