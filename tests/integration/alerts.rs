//! Alerts: the rules, when they fire and are resolved, and the notifications.

mod bounds;
mod engine;
mod flapping;
mod groups;
mod leaks;
mod parts;
pub(crate) mod program;
mod queue;
mod rules;
mod screen;
mod slow;
mod started;

use std::time::Duration;

use zmtop::alert::{AlertEvent, Alerts, Rule, TargetKind, Transition};
use zmtop::history::History;
use zmtop::model::{ProcessSample, Snapshot};

use crate::support::rows::{MIB, snapshot, with_pss};

/// Returns a rule by its parts, with times in seconds.
fn rule(on: &str, when: &str, hold: u64, cooldown: u64) -> Rule {
    let mut rule = Rule::new("rule", TargetKind::from_id(on).unwrap(), when).unwrap();
    rule.hold = Duration::from_secs(hold);
    rule.cooldown = Duration::from_secs(cooldown);
    rule
}

/// Evaluates made snapshots one after the other.
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

    /// Advances the clock, to these processes; returns the events.
    fn advance(&mut self, seconds: f64, rows: Vec<ProcessSample>) -> Vec<AlertEvent> {
        self.evaluate(seconds, snapshot(Duration::ZERO, rows))
    }

    /// Advances the clock, and gives a snapshot that time; returns the events.
    fn evaluate(&mut self, seconds: f64, mut snapshot: Snapshot) -> Vec<AlertEvent> {
        self.at += seconds;
        snapshot.monotonic = Duration::from_secs_f64(self.at);
        self.history.push(&snapshot);
        self.alerts.evaluate(&snapshot, &self.history)
    }
}

/// Returns a process with that much PSS.
fn process_with(pid: u32, mib: u64) -> ProcessSample {
    with_pss(pid, "/usr/bin/eater --much", mib * MIB)
}

/// Returns the transitions in short: `fired cleared`.
fn outline(events: &[AlertEvent]) -> String {
    let words = events.iter().map(|n| match n.transition {
        Transition::Fired => "fired",
        Transition::Resolved(why) => why.id(),
    });
    words.collect::<Vec<_>>().join(" ")
}
