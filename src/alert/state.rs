//! The state of one rule: its active targets.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::alert::event::{AlertEvent, Details, ResolveReason, Target, Transition};
use crate::alert::flapping::Flaps;
use crate::alert::rule::Rule;
use crate::filter::Filterable;
use crate::group::RowKey;
use crate::model::snapshot::Snapshot;
use crate::order;

/// The state that the rules share: the snapshot that is evaluated, and the events so far.
#[derive(Debug, Default)]
pub(super) struct Evaluation {
    /// Number of the snapshot, counted from 1.
    tick: u64,
    /// The time of the snapshot; `None` before the first.
    time: Option<SystemTime>,
    /// The time of the snapshot by its monotonic clock.
    now: Duration,
    /// The time since the snapshot before that counts towards a hold.
    step: Duration,
    boot_id: Option<Arc<str>>,
    /// The events so far.
    pub(super) events: Vec<AlertEvent>,
    /// Number of targets that the rules track.
    pub(super) tracked: usize,
    /// Number of times that a target was passed over because too many were tracked.
    pub(super) skipped: u64,
}

impl Evaluation {
    /// Advances to the next snapshot; returns true if it continues the one before.
    pub(super) fn advance(&mut self, snapshot: &Snapshot) -> bool {
        let boot_id = snapshot.boot_id.as_ref().ok();
        let same_boot = boot_id.is_none() || self.boot_id.is_none() || self.boot_id.as_ref() == boot_id;
        let continues = self.time.is_none() || snapshot.monotonic >= self.now && same_boot;
        // Nothing was observed while the machine or zmtop was suspended: such a gap counts for two intervals at
        // the most. One would be too few for a machine that is slower than the interval.
        let gap = snapshot.monotonic.saturating_sub(self.now);
        self.step = gap.min(snapshot.interval.saturating_mul(2));
        self.tick += 1;
        self.now = snapshot.monotonic;
        self.time = Some(snapshot.time);
        self.boot_id = boot_id.cloned().or_else(|| self.boot_id.take());
        continues
    }

    fn push(&mut self, rule: &Rule, target: Target, transition: Transition, lasted: Duration, details: Arc<Details>) {
        self.events.push(AlertEvent {
            rule: rule.index,
            name: Arc::clone(&rule.name),
            target_kind: rule.target_kind,
            target,
            transition,
            flapping: false,
            time: self.time.unwrap_or(SystemTime::UNIX_EPOCH),
            monotonic: self.now,
            lasted,
            details,
        });
    }

    fn push_resolved(&mut self, rule: &Rule, target: Target, firing: Firing, reason: ResolveReason) {
        // The clock of another boot does not tell how long it was firing.
        let lasted = if reason == ResolveReason::Restart {
            Duration::ZERO
        } else {
            self.now.saturating_sub(firing.since)
        };
        self.push(rule, target, Transition::Resolved(reason), lasted, firing.details);
    }

    /// Sorts the events from that index on by target, since the order of a hash map is random.
    fn sort_from(&mut self, index: usize) {
        order::sort_by(&mut self.events[index..], |a, b| a.target.cmp(&b.target));
    }
}

/// A firing alert.
#[derive(Debug)]
struct Firing {
    since: Duration,
    details: Arc<Details>,
}

/// A target for which the condition is true or unknown, or that is in its cooldown.
#[derive(Debug, Default)]
struct Tracked {
    /// The exec count of a process; 0 of other targets.
    exec: u32,
    /// The tick at which the condition was last true or unknown.
    last_tick: u64,
    /// The sum of the steps at both ends of which the condition was seen true.
    held: Duration,
    /// The condition was true, not unknown, at the last evaluation.
    was_true: bool,
    firing: Option<Firing>,
    /// The rule does not fire again before this time.
    cooldown_until: Option<Duration>,
    flaps: Flaps,
}

/// A rule and the targets it tracks.
#[derive(Debug)]
pub(super) struct RuleState {
    pub(super) rule: Rule,
    tracked: HashMap<Target, Tracked>,
    /// Number of times that the rule fired in this evaluation.
    fired: usize,
}

impl RuleState {
    /// See [`Alerts::MAX_TRACKED`](crate::alert::Alerts::MAX_TRACKED).
    pub(super) const MAX_TRACKED: usize = 10_000;
    /// Maximum number of tracked targets up to which past fires are kept in mind to know flapping: those that fire
    /// now come before.
    const MAX_REMEMBERED: usize = Self::MAX_TRACKED / 2;
    /// Maximum number of times that one rule fires in one snapshot: a rule that matches everything must not fill
    /// the log with one snapshot.
    const MAX_FIRED: usize = 100;

    pub(super) fn new(rule: Rule) -> Self {
        Self {
            rule,
            tracked: HashMap::new(),
            fired: 0,
        }
    }

    /// Returns the number of targets that it tracks.
    pub(super) fn tracked(&self) -> usize {
        self.tracked.len()
    }

    /// Returns the number of targets that it fires for.
    pub(super) fn firing(&self) -> usize {
        self.tracked.values().filter(|tracked| tracked.firing.is_some()).count()
    }

    /// Returns true if it fires for a target.
    pub(super) fn is_firing(&self, target: &Target) -> bool {
        let tracked = self.tracked.get(target);
        tracked.is_some_and(|tracked| tracked.firing.is_some())
    }

    /// Begins an evaluation.
    pub(super) const fn begin(&mut self) {
        self.fired = 0;
    }

    /// Takes in the answer of the condition for one target: true, false, or unknown. `exec` is the exec count of
    /// a process, 0 of other targets.
    pub(super) fn observe(
        &mut self,
        answer: Option<bool>,
        target: impl FnOnce() -> Target,
        exec: u32,
        subject: &dyn Filterable,
        evaluation: &mut Evaluation,
    ) {
        // Most answers are false, and most unknown ones are about targets that are not tracked: these cost
        // nothing more.
        if answer == Some(false) || answer.is_none() && self.tracked.is_empty() {
            return;
        }
        let target = target();
        let is_true = answer.is_some();
        if !self.tracked.contains_key(&target) {
            if !is_true {
                return;
            }
            if evaluation.tracked >= Self::MAX_TRACKED {
                evaluation.skipped += 1;
                return;
            }
            evaluation.tracked += 1;
        }
        let new = || Tracked {
            exec,
            ..Tracked::default()
        };
        let tracked = self.tracked.entry(target.clone()).or_insert_with(new);
        if tracked.exec != exec {
            // Another program: neither the hold nor the cooldown of the one before is its own.
            if let Some(firing) = std::mem::replace(tracked, new()).firing {
                evaluation.push_resolved(&self.rule, target.clone(), firing, ResolveReason::Exec);
            }
        }
        // Unknown neither breaks a hold nor advances it: a step counts if the condition was true at both ends.
        if is_true && tracked.was_true {
            tracked.held = tracked.held.saturating_add(evaluation.step);
        }
        tracked.was_true = is_true;
        tracked.last_tick = evaluation.tick;
        let now = evaluation.now;
        let holds = is_true && tracked.held >= self.rule.hold;
        if tracked.flaps.is_flapping() {
            if is_true && tracked.flaps.settle(holds, evaluation.step) {
                Self::end_flapping(&self.rule, target, tracked, holds.then_some(subject), evaluation);
            }
            return;
        }
        let due = holds && tracked.firing.is_none() && tracked.cooldown_until.is_none_or(|until| now >= until);
        // Those beyond the maximum fire in the next snapshots.
        if !due || self.fired >= Self::MAX_FIRED {
            return;
        }
        self.fired += 1;
        let details = Arc::new(Details::new(&self.rule, subject));
        tracked.firing = Some(Firing {
            since: now,
            details: Arc::clone(&details),
        });
        tracked.cooldown_until = Some(now.saturating_add(self.rule.cooldown));
        let flapping = tracked.flaps.fire(now);
        evaluation.push(&self.rule, target, Transition::Fired, tracked.held, details);
        if let Some(event) = evaluation.events.last_mut() {
            event.flapping = flapping;
        }
    }

    /// Tells the state in which an alert that flapped is steady: firing for that `subject`, or resolved.
    fn end_flapping(
        rule: &Rule,
        target: Target,
        tracked: &mut Tracked,
        subject: Option<&dyn Filterable>,
        evaluation: &mut Evaluation,
    ) {
        match (subject, &mut tracked.firing) {
            (Some(subject), Some(firing)) => {
                firing.details = Arc::new(Details::new(rule, subject));
                let details = Arc::clone(&firing.details);
                evaluation.push(rule, target, Transition::Fired, tracked.held, details);
            }
            (_, firing) => {
                if let Some(firing) = firing.take() {
                    evaluation.push_resolved(rule, target, firing, ResolveReason::ConditionFalse);
                }
            }
        }
    }

    /// Ends an evaluation: the condition is not true of the targets that were not observed. `exists` tells
    /// whether such a target still exists.
    pub(super) fn end(&mut self, evaluation: &mut Evaluation, exists: impl Fn(&Target) -> bool) {
        let before = self.tracked.len();
        let first_event = evaluation.events.len();
        self.tracked.retain(|target, tracked| {
            if tracked.last_tick == evaluation.tick {
                return true;
            }
            let exists = exists(target);
            // A process that is gone does not come back, but a group may, within its cooldown.
            let may_return = exists || matches!(target, Target::Row(RowKey::Group(_)));
            tracked.held = Duration::ZERO;
            tracked.was_true = false;
            if may_return && tracked.flaps.is_flapping() && !tracked.flaps.settle(false, evaluation.step) {
                return true;
            }
            if let Some(firing) = tracked.firing.take() {
                let reason = if exists {
                    ResolveReason::ConditionFalse
                } else {
                    ResolveReason::TargetGone
                };
                evaluation.push_resolved(&self.rule, target.clone(), firing, reason);
            }
            let cools = tracked.cooldown_until.is_some_and(|until| evaluation.now < until);
            let counts = evaluation.tracked <= Self::MAX_REMEMBERED && tracked.flaps.counts(evaluation.now);
            may_return && (cools || counts)
        });
        evaluation.tracked -= before - self.tracked.len();
        evaluation.sort_from(first_event);
    }

    /// Marks the condition as unknown for all targets.
    pub(super) fn set_unknown(&mut self) {
        self.tracked.values_mut().for_each(|tracked| tracked.was_true = false);
    }

    /// Forgets every target and resolves those that fire.
    pub(super) fn restart(&mut self, evaluation: &mut Evaluation) {
        let first_event = evaluation.events.len();
        for (target, tracked) in self.tracked.drain() {
            if let Some(firing) = tracked.firing {
                evaluation.push_resolved(&self.rule, target, firing, ResolveReason::Restart);
            }
        }
        evaluation.sort_from(first_event);
    }
}
