//! Evaluates all rules for each snapshot: which targets each rule tracks, which alerts fire, and which flap.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::account::SLAB;
use crate::account::headroom::machine_headroom;
use crate::alert::event::{AlertEvent, Details, Figure, ResolveReason, Rule, Target, TargetKind, Transition};
use crate::columns::Row;
use crate::columns::part::PartRow;
use crate::columns::system::SystemRow;
use crate::filter::Filterable;
use crate::group::{Group, GroupBy, GroupNames, PartKey, RowKey, groups};
use crate::history::dangers::MACHINE;
use crate::history::{History, RowHistory, SeriesView};
use crate::model::ProcessSample;
use crate::model::snapshot::Snapshot;
use crate::order;

/// The rules, the alerts that are firing, and the latest events.
#[derive(Debug, Default)]
pub struct Alerts {
    rules: Vec<RuleState>,
    /// Number of rules so far. A number is never used again, as events of an earlier rule may still wait for its program.
    numbered: usize,
    events: VecDeque<AlertEvent>,
    evaluation: Evaluation,
}

impl Alerts {
    /// Maximum number of targets that all rules track at once; rules with few targets may track some more. It limits memory to about
    /// 50 MiB if very many processes start: a firing target takes about 4 KiB for its names and figures.
    pub const MAX_TRACKED: usize = RuleState::MAX_TRACKED;
    /// Maximum number of events kept for the list.
    pub const MAX_EVENTS: usize = 200;

    /// Creates the state before the first snapshot.
    pub fn new(rules: Vec<Rule>) -> Self {
        let mut alerts = Self::default();
        alerts.replace(rules, |_| None);
        alerts
    }

    /// Replaces the rules. `same_as` returns the place of the same rule among the present ones, whose number and state stay; others
    /// begin again. The next evaluation returns the ends of the alerts whose rule is gone.
    pub fn replace(&mut self, rules: Vec<Rule>, same_as: impl Fn(usize) -> Option<usize>) {
        let mut states: Vec<_> = std::mem::take(&mut self.rules).into_iter().map(Some).collect();
        for (at, mut rule) in rules.into_iter().enumerate() {
            let state = same_as(at).and_then(|at| states.get_mut(at)?.take());
            self.rules.push(state.unwrap_or_else(|| {
                rule.number = self.numbered;
                self.numbered += 1;
                RuleState::new(rule)
            }));
        }
        for mut state in states.into_iter().flatten() {
            state.restart(&mut self.evaluation);
        }
        self.evaluation.tracked = self.rules.iter().map(RuleState::tracked).sum();
    }

    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|state| &state.rule)
    }

    /// Returns the latest events, newest first.
    pub const fn events(&self) -> &VecDeque<AlertEvent> {
        &self.events
    }

    /// Returns the number of firing alerts.
    pub fn firing(&self) -> usize {
        self.rules.iter().map(RuleState::firing).sum()
    }

    /// Returns true if any rule is firing for the target.
    pub fn is_firing(&self, target: &Target) -> bool {
        self.rules.iter().any(|state| state.is_firing(target))
    }

    /// Returns true if the rule with this number is firing for the target.
    pub fn rule_is_firing(&self, rule: usize, target: &Target) -> bool {
        let mut rules = self.rules.iter();
        rules.any(|state| state.rule.number == rule && state.is_firing(target))
    }

    /// Returns how often a target was skipped because too many were tracked.
    pub const fn skipped(&self) -> u64 {
        self.evaluation.skipped
    }

    /// Evaluates one snapshot, which `history` already includes. Returns its events in order.
    pub fn evaluate(&mut self, snapshot: &Snapshot, history: &History) -> Vec<AlertEvent> {
        if self.rules.is_empty() && self.evaluation.events.is_empty() {
            return Vec::new();
        }
        let continues = self.evaluation.advance(snapshot, history);
        for state in &mut self.rules {
            state.begin();
            if !continues {
                // Times and identities cannot be compared with the previous ones.
                state.restart(&mut self.evaluation);
            }
        }
        self.evaluation.tracked = self.rules.iter().map(RuleState::tracked).sum();
        self.evaluation.share = RuleState::MAX_SHARES / self.rules.len().max(1);
        if let Ok(rows) = &snapshot.processes {
            self.evaluate_processes(rows, snapshot, history);
            for by in GroupBy::OF_PROCESSES {
                self.evaluate_groups(by, rows, snapshot, history);
            }
        } else {
            // /proc could not be listed, so the state of all processes is unknown.
            let rules = self.rules.iter_mut();
            rules
                .filter(|state| !matches!(state.rule.target_kind, TargetKind::Part | TargetKind::System))
                .for_each(RuleState::set_unknown);
        }
        self.evaluate_parts(snapshot, history);
        self.evaluate_system(snapshot, history);
        let events = std::mem::take(&mut self.evaluation.events);
        for event in &events {
            self.events.push_front(event.clone());
        }
        self.events.truncate(Self::MAX_EVENTS);
        events
    }

    fn evaluate_processes(&mut self, rows: &[ProcessSample], snapshot: &Snapshot, history: &History) {
        let mut rules: Vec<_> = of_kind(&mut self.rules, TargetKind::Process).collect();
        if rules.is_empty() {
            return;
        }
        for sample in rows {
            let subject = Row::of_process(sample, history.get(sample.id), snapshot);
            let subject = subject.with_held(history.held().get(sample.id));
            for state in &mut rules {
                let answer = state.rule.condition.evaluate(&subject);
                let target = || Target::Row(RowKey::Process(sample.id));
                state.observe(answer, target, sample.exec, &subject, &mut self.evaluation);
            }
        }
        let names = GroupNames::new(rows);
        for state in rules {
            state.end(&mut self.evaluation, |target| match target {
                Target::Row(RowKey::Process(id)) => names.find(id.pid).is_some_and(|sample| sample.id == *id),
                Target::Row(RowKey::Group(_) | RowKey::Part(_)) | Target::System => true,
            });
        }
    }

    fn evaluate_groups(&mut self, by: GroupBy, rows: &[ProcessSample], snapshot: &Snapshot, history: &History) {
        let subject = |sample| Row::of_process(sample, history.get(sample.id), snapshot);
        let change = |sample: &ProcessSample| history.get(sample.id).map(RowHistory::change).copied();
        // Rules whose conditions select no processes share the sums.
        let mut all: Option<Vec<Group>> = None;
        for state in of_kind(&mut self.rules, TargetKind::Group(by)) {
            let condition = &state.rule.condition;
            let chosen;
            let list = if condition.uses_text() {
                let keep = |s| has_memory(s) && condition.matches_but_for_figures(&subject(s));
                chosen = groups(snapshot, by, keep, change);
                &chosen
            } else {
                all.get_or_insert_with(|| groups(snapshot, by, has_memory, change))
            };
            for group in list.iter().filter(|group| group.key.name.is_some()) {
                let sums = Row::of_group(group, history.of_group(group, snapshot), snapshot);
                let sums = sums.with_held(history.held_of_group(group, snapshot));
                let sums = sums.with_population(history.population(&group.key));
                let members = group.members.iter().map(|at| subject(&rows[*at]));
                let answer = state.rule.condition.evaluate_group(&sums, members);
                let target = || Target::Row(RowKey::Group(group.key.clone()));
                state.observe(answer, target, 0, &sums, &mut self.evaluation);
            }
            state.end(&mut self.evaluation, |target| match target {
                Target::Row(RowKey::Group(key)) => list.iter().any(|group| group.key == *key),
                Target::Row(RowKey::Process(_) | RowKey::Part(_)) | Target::System => true,
            });
        }
    }

    fn evaluate_parts(&mut self, snapshot: &Snapshot, history: &History) {
        let mut rules = of_kind(&mut self.rules, TargetKind::Part).peekable();
        let parts = history.parts();
        let (Some(_), Some(account)) = (rules.peek(), parts.account()) else {
            return;
        };
        let mut rows = PartRow::of_account(account, parts, machine_headroom(snapshot), SeriesView::SLOPE_SPAN);
        let cache = history.slab().grower().map(|(name, _)| name);
        for row in rows.iter_mut().filter(|row| row.id == SLAB) {
            row.cache = cache;
        }
        rows.extend(PartRow::of_mounts(&rows, history.mounts()));
        for state in rules {
            for row in &rows {
                let answer = state.rule.condition.evaluate(row);
                let target = || Target::Row(RowKey::Part(row.key()));
                state.observe(answer, target, 0, row, &mut self.evaluation);
            }
            state.end(&mut self.evaluation, |target| match target {
                Target::Row(RowKey::Part(PartKey { mount: Some(path), .. })) => history.mounts().get(path).is_some(),
                _ => true,
            });
        }
    }

    fn evaluate_system(&mut self, snapshot: &Snapshot, history: &History) {
        let row = SystemRow { snapshot, history };
        for state in of_kind(&mut self.rules, TargetKind::System) {
            state.find_owners(&row, self.evaluation.now);
            let answer = state.rule.condition.evaluate(&row);
            state.observe(answer, || Target::System, 0, &row, &mut self.evaluation);
            state.end(&mut self.evaluation, |_| true);
        }
    }
}

fn of_kind(rules: &mut [RuleState], kind: TargetKind) -> impl Iterator<Item = &mut RuleState> {
    rules.iter_mut().filter(move |state| state.rule.target_kind == kind)
}

/// Returns true for processes that are in groups: all except kernel threads.
const fn has_memory(sample: &ProcessSample) -> bool {
    !sample.stat.is_kernel_thread()
}

/// The state that the rules share: the snapshot being evaluated, and the events so far.
#[derive(Debug, Default)]
struct Evaluation {
    /// Number of the snapshot, counted from 1.
    tick: u64,
    /// The time of the snapshot; `None` before the first.
    time: Option<SystemTime>,
    /// The time of the snapshot on its monotonic clock.
    now: Duration,
    /// The same with the length of every suspend.
    now_with_suspends: Duration,
    /// The time since the previous snapshot that counts towards a hold.
    step: Duration,
    boot_id: Option<Arc<str>>,
    events: Vec<AlertEvent>,
    /// Number of targets that all rules track.
    tracked: usize,
    /// Number of targets that each rule may track however many others do.
    share: usize,
    /// Number of times that a target was skipped because too many were tracked.
    skipped: u64,
}

impl Evaluation {
    /// Advances to the next snapshot. Returns true if it continues the previous one.
    fn advance(&mut self, snapshot: &Snapshot, history: &History) -> bool {
        let boot_id = snapshot.boot_id.as_ref().ok();
        let same_boot = boot_id.is_none() || self.boot_id.is_none() || self.boot_id.as_ref() == boot_id;
        let continues = self.time.is_none() || snapshot.monotonic >= self.now && same_boot;
        // Nothing was observed while the machine or zmtop was suspended, so a gap counts for at most two intervals. One
        // would be too few for a machine that is slower than the interval.
        let gap = snapshot.monotonic.saturating_sub(self.now);
        self.step = gap.min(snapshot.interval.saturating_mul(2));
        self.tick += 1;
        self.now = snapshot.monotonic;
        let suspended: Duration = history.suspends().all().map(|(_, length)| length).sum();
        self.now_with_suspends = self.now.saturating_add(suspended);
        self.time = Some(snapshot.time);
        self.boot_id = boot_id.cloned().or_else(|| self.boot_id.take());
        continues
    }

    fn push(&mut self, rule: &Rule, target: Target, transition: Transition, lasted: Duration, details: Arc<Details>) {
        self.events.push(AlertEvent {
            rule: rule.number,
            name: Arc::clone(&rule.name),
            target_kind: rule.target_kind,
            target,
            transition,
            flapping: false,
            is_test: false,
            time: self.time.unwrap_or(SystemTime::UNIX_EPOCH),
            monotonic: self.now,
            lasted,
            details,
            present: None,
        });
    }

    fn push_resolved(&mut self, rule: &Rule, target: Target, firing: Firing, reason: ResolveReason) {
        // Clocks of different boots do not show how long the alert was firing.
        let lasted = if reason == ResolveReason::Restart {
            Duration::ZERO
        } else {
            self.now_with_suspends.saturating_sub(firing.since)
        };
        self.push(rule, target, Transition::Resolved(reason), lasted, firing.details);
        if let Some(event) = self.events.last_mut() {
            event.present = firing.present;
        }
    }

    /// Sorts the events from that index on by target, since the order of a hash map is random.
    fn sort_from(&mut self, index: usize) {
        order::sort_by(&mut self.events[index..], |a, b| a.target.cmp(&b.target));
    }
}

/// A firing alert.
#[derive(Debug)]
struct Firing {
    /// On the clock that counts suspends.
    since: Duration,
    details: Arc<Details>,
    /// The figures when the condition was last false.
    present: Option<Box<[Figure]>>,
    /// The condition is false because the process executed another program.
    is_ended_by_exec: bool,
}

/// A target for which the condition is true or unknown, or that is in its cooldown.
#[derive(Debug, Default)]
struct Tracked {
    /// The exec count of a process when the condition was last true; 0 for other targets.
    exec: u32,
    /// The tick at which the condition was last true or unknown.
    last_tick: u64,
    /// Total of the steps at both ends of which the condition was observed to hold.
    held: Duration,
    /// True if the condition held at the last evaluation and was not unknown.
    was_true: bool,
    firing: Option<Firing>,
    /// The rule does not fire again before this time.
    cooldown_until: Option<Duration>,
    /// The rule fires once the condition holds again, also if it is firing, flapping or in its cooldown.
    fires_again: bool,
    flaps: Flaps,
}

/// An owner of kills, stalls or dangers that a rule of the system is about.
#[derive(Debug, Default)]
struct Owner {
    /// The beginning of its newest one, and the time when there was one last.
    begun: Duration,
    last: Duration,
    /// The last times at which the rule was to fire for it.
    fires: [Option<Duration>; FIRES - 1],
    /// The rule does not fire for its newest one before this time, since it is a third one within the window.
    silent_until: Option<Duration>,
}

impl Owner {
    /// Records one that began at that time. Returns true if the rule is to fire for it. That of the machine never flaps.
    fn begins(&mut self, begun: Duration, now: Duration, cooldown: Duration, is_machine: bool) -> bool {
        self.last = now;
        let is_known = begun <= self.begun && self.fires != [None; FIRES - 1];
        self.begun = self.begun.max(begun);
        if is_known {
            return false;
        }
        // Further ones are as a flapping alert.
        let until = self.fires[0].map(|at| at.saturating_add(WINDOW));
        self.silent_until = until.filter(|until| !is_machine && now < *until);
        let fires = !self.is_cooling(now, cooldown) && self.silent_until.is_none();
        if fires {
            self.fire(now);
        }
        fires
    }

    fn fire(&mut self, now: Duration) {
        self.fires.rotate_left(1);
        self.fires[FIRES - 2] = Some(now);
    }

    /// Returns true if the rule fired for it within the cooldown.
    fn is_cooling(&self, now: Duration, cooldown: Duration) -> bool {
        self.fires[FIRES - 2].is_some_and(|at| now.saturating_sub(at) < cooldown)
    }
}

/// A rule and the targets it tracks.
#[derive(Debug)]
struct RuleState {
    rule: Rule,
    tracked: HashMap<Target, Tracked>,
    /// Of a rule of the system: the figures of its condition with the owners of what they report.
    owners: HashMap<(&'static str, Box<[u8]>), Owner>,
    /// All that the condition is about is of owners for which the rule does not fire now.
    is_silent: bool,
    /// Number of times that the rule fired in this evaluation.
    fired: usize,
}

impl RuleState {
    /// See [`Alerts::MAX_TRACKED`](crate::alert::Alerts::MAX_TRACKED).
    const MAX_TRACKED: usize = 10_000;
    /// Number of targets beyond these that rules with few targets may track together.
    const MAX_SHARES: usize = Self::MAX_TRACKED / 4;
    /// Past fires, which are needed to detect flapping, are kept only up to this number of tracked targets. Targets
    /// that fire now have priority.
    const MAX_REMEMBERED: usize = Self::MAX_TRACKED / 2;
    /// Maximum number of remembered owners.
    const MAX_OWNERS: usize = 64;
    /// Maximum number of times that one rule fires in one snapshot. A rule that matches everything must not fill the
    /// log.
    const MAX_FIRED: usize = 100;

    fn new(rule: Rule) -> Self {
        Self {
            rule,
            tracked: HashMap::new(),
            owners: HashMap::new(),
            is_silent: false,
            fired: 0,
        }
    }

    fn tracked(&self) -> usize {
        self.tracked.len()
    }

    /// Returns the number of targets that the rule is firing for.
    fn firing(&self) -> usize {
        self.tracked.values().filter(|tracked| tracked.firing.is_some()).count()
    }

    /// Returns true if the rule is firing for a target.
    fn is_firing(&self, target: &Target) -> bool {
        let tracked = self.tracked.get(target);
        tracked.is_some_and(|tracked| tracked.firing.is_some())
    }

    /// Finds the owners of what the condition of a rule of the system is about. If something of one begins, and the rule did not fire for
    /// that owner within its cooldown, it fires again once its condition holds: what fired before was about others, whose kills and
    /// stalls must not silence those of this owner.
    fn find_owners(&mut self, row: &SystemRow<'_>, now: Duration) {
        let cooldown = self.rule.cooldown;
        self.owners
            .retain(|_, owner| now.saturating_sub(owner.last) <= WINDOW.max(cooldown));
        let mut is_new = false;
        let (mut present, mut silent) = (0, 0);
        for figure in &self.rule.figures[..self.rule.condition_figures] {
            let Some(owners) = row.owners(figure.id) else {
                present += 1;
                continue;
            };
            present += owners.len();
            for (key, begun) in owners {
                let is_machine = *key == *MACHINE;
                let key = (figure.id, key);
                if self.owners.len() >= Self::MAX_OWNERS && !self.owners.contains_key(&key) {
                    let past = self.owners.iter().filter(|(_, owner)| owner.last < now);
                    let Some(oldest) = past.min_by_key(|(_, owner)| owner.last).map(|(key, _)| key.clone()) else {
                        continue;
                    };
                    self.owners.remove(&oldest);
                }
                let owner = self.owners.entry(key).or_default();
                is_new |= owner.begins(begun, now, cooldown, is_machine);
                silent += usize::from(owner.silent_until.is_some_and(|until| now < until));
            }
        }
        self.is_silent = present > 0 && silent == present;
        // A hold that runs goes on, also that of a fire that is pending: others must not delay it for ever.
        if is_new
            && let Some(tracked) = self.tracked.get_mut(&Target::System)
            && !std::mem::replace(&mut tracked.fires_again, true)
            && tracked.firing.is_some()
        {
            tracked.held = Duration::ZERO;
        }
    }

    /// Begins an evaluation.
    const fn begin(&mut self) {
        self.fired = 0;
    }

    /// Records the result of the condition for one target: true, false, or unknown. `exec` is the exec count of a
    /// process, and 0 for other targets.
    fn observe(
        &mut self,
        answer: Option<bool>,
        target: impl FnOnce() -> Target,
        exec: u32,
        subject: &dyn Filterable,
        evaluation: &mut Evaluation,
    ) {
        // Fast path: most results are false or unknown, and for targets that are not tracked.
        if answer != Some(true) && self.tracked.is_empty() {
            return;
        }
        let target = target();
        if answer == Some(false) {
            if let Some(tracked) = self.tracked.get_mut(&target)
                && let Some(firing) = &mut tracked.firing
            {
                firing.present = Some(self.rule.figures_of(subject));
                firing.is_ended_by_exec = tracked.exec != exec;
            }
            return;
        }
        let is_true = answer.is_some();
        if !self.tracked.contains_key(&target) {
            if !is_true {
                return;
            }
            if evaluation.tracked >= Self::MAX_TRACKED && self.tracked.len() >= evaluation.share {
                evaluation.skipped += 1;
                return;
            }
            evaluation.tracked += 1;
        }
        let tracked = self.tracked.entry(target.clone()).or_default();
        // A condition that is true before and after an exec holds for the process. A process can also fake an exec
        // (PR_SET_MM_MAP), which must not hide it.
        if is_true {
            tracked.exec = exec;
        }
        // Unknown neither ends a hold nor extends it: a step counts if the condition was true at both ends.
        if is_true && tracked.was_true {
            tracked.held = tracked.held.saturating_add(evaluation.step);
        }
        tracked.was_true = is_true;
        tracked.last_tick = evaluation.tick;
        let now = evaluation.now;
        let holds = is_true && tracked.held >= self.rule.hold;
        let is_for_new = holds && std::mem::take(&mut tracked.fires_again);
        if is_for_new {
            (tracked.cooldown_until, tracked.flaps) = (None, Flaps::default());
            if let Some(mut firing) = tracked.firing.take() {
                firing.present = Some(self.rule.figures_of(subject));
                evaluation.push_resolved(&self.rule, target.clone(), firing, ResolveReason::ConditionFalse);
            }
        }
        if tracked.flaps.is_flapping() {
            if is_true && tracked.flaps.settle(holds, evaluation.step) {
                Self::end_flapping(&self.rule, target, tracked, (holds, subject), evaluation);
            }
            return;
        }
        let may_fire = is_for_new || !self.is_silent;
        let due =
            may_fire && holds && tracked.firing.is_none() && tracked.cooldown_until.is_none_or(|until| now >= until);
        // Further targets fire in the next snapshots.
        if !due || self.fired >= Self::MAX_FIRED {
            return;
        }
        self.fired += 1;
        let details = Arc::new(Details::new(&self.rule, subject));
        tracked.firing = Some(Firing {
            since: evaluation.now_with_suspends,
            details: Arc::clone(&details),
            present: None,
            is_ended_by_exec: false,
        });
        let cooldown = self.rule.cooldown;
        tracked.cooldown_until = Some(now.saturating_add(cooldown));
        // If it fires because the cooldown of the rule is over, that of the owners begins, too.
        for owner in self.owners.values_mut().filter(|owner| owner.last == now) {
            if !is_for_new && !owner.is_cooling(now, cooldown) {
                owner.fire(now);
            }
        }
        let flapping = tracked.flaps.fire(now);
        evaluation.push(&self.rule, target, Transition::Fired, tracked.held, details);
        if let Some(event) = evaluation.events.last_mut() {
            event.flapping = flapping;
        }
    }

    /// Reports the state in which a flapping alert became steady: firing for that subject if the condition holds, or resolved.
    fn end_flapping(
        rule: &Rule,
        target: Target,
        tracked: &mut Tracked,
        (holds, subject): (bool, &dyn Filterable),
        evaluation: &mut Evaluation,
    ) {
        match (holds, &mut tracked.firing) {
            (true, Some(firing)) => {
                firing.details = Arc::new(Details::new(rule, subject));
                let details = Arc::clone(&firing.details);
                evaluation.push(rule, target, Transition::Fired, tracked.held, details);
            }
            (_, firing) => {
                if let Some(mut firing) = firing.take() {
                    firing.present = Some(rule.figures_of(subject));
                    evaluation.push_resolved(rule, target, firing, ResolveReason::ConditionFalse);
                }
            }
        }
    }

    /// Ends an evaluation. For targets that were not observed, the condition is false. `exists` returns whether such a
    /// target still exists.
    fn end(&mut self, evaluation: &mut Evaluation, exists: impl Fn(&Target) -> bool) {
        let before = self.tracked.len();
        let first_event = evaluation.events.len();
        self.tracked.retain(|target, tracked| {
            if tracked.last_tick == evaluation.tick {
                return true;
            }
            let exists = exists(target);
            // A process that is gone does not come back, but a group may return within its cooldown. A program may take another name
            // as often as it likes.
            let is_crowded = before > evaluation.share && evaluation.tracked > Self::MAX_REMEMBERED;
            let may_return = exists || (!is_crowded && matches!(target, Target::Row(RowKey::Group(_))));
            tracked.held = Duration::ZERO;
            tracked.was_true = false;
            if may_return && tracked.flaps.is_flapping() && !tracked.flaps.settle(false, evaluation.step) {
                return true;
            }
            if let Some(mut firing) = tracked.firing.take() {
                let reason = match exists {
                    true if firing.is_ended_by_exec => ResolveReason::Exec,
                    true => ResolveReason::ConditionFalse,
                    false => {
                        firing.present = None;
                        ResolveReason::TargetGone
                    }
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
    fn set_unknown(&mut self) {
        self.tracked.values_mut().for_each(|tracked| tracked.was_true = false);
    }

    /// Removes every target and resolves the firing ones.
    fn restart(&mut self, evaluation: &mut Evaluation) {
        self.owners.clear();
        let first_event = evaluation.events.len();
        for (target, tracked) in self.tracked.drain() {
            if let Some(mut firing) = tracked.firing {
                firing.present = None;
                evaluation.push_resolved(&self.rule, target, firing, ResolveReason::Restart);
            }
        }
        evaluation.sort_from(first_event);
    }
}

const MINUTE: Duration = Duration::from_secs(60);

/// Number of fires within [`WINDOW`] that count as flapping. Two may be two incidents. A third so soon means that the
/// threshold lies within the figure's normal swing.
const FIRES: usize = 3;

/// Time window in which fires are counted. Under the shipped cooldown, an alert that swings all the time fires every 10
/// minutes, so the third fire comes after 20.
const WINDOW: Duration = Duration::from_secs(30 * MINUTE.as_secs());

/// Time for which the condition must not change before a flapping alert is steady. It is the longest period of a
/// regular swing that counts as flapping, so such a swing never looks steady. Only observed time counts.
pub const CALM: Duration = Duration::from_secs(WINDOW.as_secs() / (FIRES as u64 - 1));

/// The latest fires of one target.
#[derive(Debug, Default)]
struct Flaps {
    /// The times of the latest fires, oldest first. One more within the window is flapping.
    fires: [Option<Duration>; FIRES - 1],
    /// While it flaps: the state that is not reported.
    unsettled: Option<Unsettled>,
}

#[derive(Debug)]
struct Unsettled {
    is_true: bool,
    /// The observed time since the state changed.
    steady: Duration,
}

impl Flaps {
    /// Records that the alert fires. Returns true if it is flapping now.
    fn fire(&mut self, now: Duration) -> bool {
        let oldest = self.fires[0];
        if oldest.is_some_and(|at| now.saturating_sub(at) <= WINDOW) {
            *self = Self {
                unsettled: Some(Unsettled {
                    is_true: true,
                    steady: Duration::ZERO,
                }),
                ..Self::default()
            };
            return true;
        }
        self.fires.rotate_left(1);
        self.fires[FIRES - 2] = Some(now);
        false
    }

    const fn is_flapping(&self) -> bool {
        self.unsettled.is_some()
    }

    /// Returns true if any of its fires is still within the window.
    fn counts(&self, now: Duration) -> bool {
        self.fires[FIRES - 2].is_some_and(|at| now.saturating_sub(at) <= WINDOW)
    }

    /// Records the state of a flapping alert, observed for another `step`. Returns true if it is steady, which ends the
    /// flapping.
    fn settle(&mut self, is_true: bool, step: Duration) -> bool {
        let Some(unsettled) = &mut self.unsettled else {
            return false;
        };
        if unsettled.is_true == is_true {
            unsettled.steady = unsettled.steady.saturating_add(step);
        } else {
            *unsettled = Unsettled {
                is_true,
                steady: Duration::ZERO,
            };
        }
        let calm = unsettled.steady >= CALM;
        if calm {
            self.unsettled = None;
        }
        calm
    }
}
