//! Judges snapshot after snapshot.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::alert::notice::{Evidence, Kind, Notice, Target, Why};
use crate::alert::state::State;
use crate::alert::{On, Rule};
use crate::columns::system::SystemRow;
use crate::columns::{Row, RowSubject};
use crate::filter::Subject;
use crate::group::{Group, GroupBy, GroupNames, groups};
use crate::history::{History, RowHistory};
use crate::model::process::ProcessSample;
use crate::model::snapshot::Snapshot;

/// The rules, what they fire for now, and what they did of late.
#[derive(Debug, Default)]
pub struct Alerts {
    rules: Vec<Rule>,
    /// One map a rule.
    states: Vec<HashMap<Target, State>>,
    log: VecDeque<Notice>,
    clock: Clock,
    skipped: u64,
}

/// Which snapshot is judged.
#[derive(Debug, Default)]
struct Clock {
    tick: u64,
    time: Option<SystemTime>,
    now: Duration,
    /// How much of a hold passed since the snapshot before.
    step: Duration,
    boot: Option<Arc<str>>,
}

impl Clock {
    fn time(&self) -> SystemTime {
        self.time.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// Goes on to the next snapshot; whether it goes on from the one before. Where the machine or zmtop stood
    /// still nobody looked: such a gap counts for two intervals at the most.
    fn go_on(&mut self, snapshot: &Snapshot) -> bool {
        let boot = snapshot.boot_id.as_ref().ok();
        let same = self.time.is_none()
            || snapshot.monotonic >= self.now && (boot.is_none() || self.boot.is_none() || self.boot.as_ref() == boot);
        self.step = snapshot
            .monotonic
            .saturating_sub(self.now)
            .min(snapshot.interval.saturating_mul(2));
        self.tick += 1;
        self.now = snapshot.monotonic;
        self.time = Some(snapshot.time);
        self.boot = boot.cloned().or_else(|| self.boot.take());
        same
    }
}

impl Alerts {
    /// How many notices are remembered.
    pub const REMEMBERED: usize = 200;
    /// How many processes and groups the conditions of all rules may be true of at once; those beyond are
    /// passed over until others are done, and counted.
    pub const TRACKED: usize = 10_000;
    /// How many times one rule fires in one snapshot; the rest fire in the next ones.
    pub const AT_ONCE: usize = 100;

    /// Nothing judged yet.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self {
            states: rules.iter().map(|_| HashMap::new()).collect(),
            rules,
            ..Self::default()
        }
    }

    /// The rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What happened of late, newest first.
    pub fn log(&self) -> impl ExactSizeIterator<Item = &Notice> + DoubleEndedIterator {
        self.log.iter()
    }

    /// How many alerts there are now.
    pub fn firing(&self) -> usize {
        self.states
            .iter()
            .flat_map(HashMap::values)
            .filter(|state| state.firing.is_some())
            .count()
    }

    /// Whether some rule fires for it now.
    pub fn is_firing(&self, target: &Target) -> bool {
        self.states
            .iter()
            .filter(|states| !states.is_empty())
            .any(|states| states.get(target).is_some_and(|state| state.firing.is_some()))
    }

    /// Whether this rule fires for it now.
    pub fn fires(&self, rule: usize, target: &Target) -> bool {
        let state = self.states.get(rule).and_then(|states| states.get(target));
        state.is_some_and(|state| state.firing.is_some())
    }

    /// How often one was passed over because too many were true at once.
    pub const fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Judges one snapshot, which `history` has already taken in; what fires and what clears, in order.
    pub fn judge(&mut self, snapshot: &Snapshot, history: &History) -> Vec<Notice> {
        let mut notices = Vec::new();
        if self.rules.is_empty() {
            return notices;
        }
        if !self.clock.go_on(snapshot) {
            self.restart(&mut notices);
        }
        if let Ok(rows) = &snapshot.processes {
            self.processes(rows, snapshot, history, &mut notices);
            self.groups(rows, snapshot, history, &mut notices);
        } else {
            // Nothing is known of any of them.
            self.states
                .iter_mut()
                .flat_map(HashMap::values_mut)
                .for_each(|state| state.sure = false);
        }
        self.system(snapshot, history, &mut notices);
        for notice in &notices {
            self.log.push_front(notice.clone());
        }
        self.log.truncate(Self::REMEMBERED);
        notices
    }

    /// Clears everything: what comes cannot be compared with what was.
    fn restart(&mut self, notices: &mut Vec<Notice>) {
        for (at, states) in self.states.iter_mut().enumerate() {
            for (target, state) in states.drain() {
                let lasted = Duration::ZERO;
                if let Some((_, evidence)) = state.firing {
                    notices.push(notice(
                        at,
                        &self.rules[at],
                        target,
                        Kind::Cleared(Why::Restart),
                        &self.clock,
                        lasted,
                        evidence,
                    ));
                }
            }
        }
    }

    fn places(&self, which: impl Fn(On) -> bool) -> Vec<usize> {
        (0..self.rules.len()).filter(|at| which(self.rules[*at].on)).collect()
    }

    fn processes(&mut self, rows: &[ProcessSample], snapshot: &Snapshot, history: &History, notices: &mut Vec<Notice>) {
        let places = self.places(|on| on == On::Process);
        if places.is_empty() {
            return;
        }
        for sample in rows {
            let subject = RowSubject(Row::of(sample, history.get(sample.id), snapshot));
            for at in &places {
                let answer = self.rules[*at].when.answer(&subject);
                // Most answers are no, and most of the unknown ones concern nobody: these cost nothing more.
                if answer == Some(true) || answer.is_none() && !self.states[*at].is_empty() {
                    self.take(
                        *at,
                        Target::Process(sample.id),
                        sample.exec,
                        answer.is_some(),
                        &subject,
                        notices,
                    );
                }
            }
        }
        let names = GroupNames::new(rows);
        for at in places {
            self.sweep(at, notices, |target| match target {
                Target::Process(id) => names.find(id.pid).is_some_and(|sample| sample.id == *id),
                Target::Group(_) | Target::System => true,
            });
        }
    }

    fn groups(&mut self, rows: &[ProcessSample], snapshot: &Snapshot, history: &History, notices: &mut Vec<Notice>) {
        for by in GroupBy::OF_PROCESSES {
            // Rules that look at all processes share the sums.
            let mut whole: Option<Vec<Group>> = None;
            for at in self.places(|on| on == On::Group(by)) {
                let when = self.rules[at].when.clone();
                let subject = |sample| RowSubject(Row::of(sample, history.get(sample.id), snapshot));
                let change = |sample: &ProcessSample| history.get(sample.id).map(RowHistory::change).copied();
                let own;
                let list = if when.asks_words() {
                    let keep = |s| has_memory(s) && when.may_match(&subject(s));
                    own = groups(snapshot, by, keep, change);
                    &own
                } else {
                    whole.get_or_insert_with(|| groups(snapshot, by, has_memory, change))
                };
                for group in list.iter().filter(|group| group.key.name.is_some()) {
                    let sums = RowSubject(Row::of_group(group, history.group(&group.key), snapshot));
                    let members = group.members.iter().map(|at| subject(&rows[*at]));
                    let answer = when.answer_group(&sums, members);
                    if answer == Some(true) || answer.is_none() && !self.states[at].is_empty() {
                        self.take(
                            at,
                            Target::Group(group.key.clone()),
                            0,
                            answer.is_some(),
                            &sums,
                            notices,
                        );
                    }
                }
                self.sweep(at, notices, |target| match target {
                    Target::Group(key) => list.iter().any(|group| group.key == *key),
                    Target::Process(_) | Target::System => true,
                });
            }
        }
    }

    fn system(&mut self, snapshot: &Snapshot, history: &History, notices: &mut Vec<Notice>) {
        let whole = SystemRow { snapshot, history };
        for at in self.places(|on| on == On::System) {
            let answer = self.rules[at].when.answer(&whole);
            if answer == Some(true) || answer.is_none() && !self.states[at].is_empty() {
                self.take(at, Target::System, 0, answer.is_some(), &whole, notices);
            }
            self.sweep(at, notices, |_| true);
        }
    }

    /// Takes in that the condition of a rule is true of one, or unknown.
    fn take(
        &mut self,
        at: usize,
        target: Target,
        exec: u32,
        sure: bool,
        subject: &dyn Subject,
        notices: &mut Vec<Notice>,
    ) {
        let (rule, clock) = (&self.rules[at], &self.clock);
        let fresh = !self.states[at].contains_key(&target);
        if fresh && !sure {
            return;
        }
        if fresh && self.states.iter().map(HashMap::len).sum::<usize>() >= Self::TRACKED {
            self.skipped += 1;
            return;
        }
        let state = self.states[at]
            .entry(target.clone())
            .or_insert_with(|| State::new(exec));
        if state.exec != exec {
            let before = std::mem::replace(state, State::new(exec));
            if let Some((since, evidence)) = before.firing {
                let lasted = clock.now.saturating_sub(since);
                notices.push(notice(
                    at,
                    rule,
                    target.clone(),
                    Kind::Cleared(Why::Exec),
                    clock,
                    lasted,
                    evidence,
                ));
            }
        }
        state.touch(clock.tick, sure, clock.step);
        if !state.due(clock.now, rule.hold) {
            return;
        }
        let fired = notices
            .iter()
            .rev()
            .take_while(|n| n.rule == at && n.kind == Kind::Fired);
        if fired.count() >= Self::AT_ONCE {
            return;
        }
        let evidence = Evidence::of(rule, subject);
        state.firing = Some((clock.now, Arc::clone(&evidence)));
        state.quiet = Some(clock.now.saturating_add(rule.cooldown));
        notices.push(notice(at, rule, target, Kind::Fired, clock, state.held, evidence));
    }

    /// Takes in that the condition of a rule is not true of all the others; `there` says whether one of them
    /// still is there.
    fn sweep(&mut self, at: usize, notices: &mut Vec<Notice>, there: impl Fn(&Target) -> bool) {
        let (rule, clock) = (&self.rules[at], &self.clock);
        let begun = notices.len();
        self.states[at].retain(|target, state| {
            if state.seen == clock.tick {
                return true;
            }
            let there = there(target);
            if let Some((since, evidence)) = state.firing.take() {
                let why = if there { Why::Over } else { Why::Gone };
                let lasted = clock.now.saturating_sub(since);
                notices.push(notice(
                    at,
                    rule,
                    target.clone(),
                    Kind::Cleared(why),
                    clock,
                    lasted,
                    evidence,
                ));
            }
            // A process does not come back; a group does.
            state.rest(clock.now) && (there || matches!(target, Target::Group(_)))
        });
        // The order of a hash table is no order.
        notices[begun..].sort_by(|a, b| a.target.cmp(&b.target));
    }
}

/// Kernel threads are in no group.
const fn has_memory(sample: &ProcessSample) -> bool {
    !sample.stat.is_kernel_thread()
}

fn notice(
    at: usize,
    rule: &Rule,
    target: Target,
    kind: Kind,
    clock: &Clock,
    lasted: Duration,
    evidence: Arc<Evidence>,
) -> Notice {
    Notice {
        rule: at,
        name: Arc::clone(&rule.name),
        on: rule.on,
        target,
        kind,
        time: clock.time(),
        at: clock.now,
        lasted,
        evidence,
    }
}
