//! The evaluation of all rules, snapshot by snapshot.

use std::collections::VecDeque;

use crate::alert::event::{AlertEvent, Target};
use crate::alert::rule::{Rule, TargetKind};
use crate::alert::state::{Evaluation, RuleState};
use crate::columns::Row;
use crate::columns::part::PartRow;
use crate::columns::system::SystemRow;
use crate::group::{Group, GroupBy, GroupNames, RowKey, groups};
use crate::history::parts::SLAB;
use crate::history::{History, RowHistory, SeriesView};
use crate::model::{ProcessSample, Snapshot};

/// The rules, the alerts that are firing, and the latest events.
#[derive(Debug, Default)]
pub struct Alerts {
    rules: Vec<RuleState>,
    events: VecDeque<AlertEvent>,
    evaluation: Evaluation,
}

impl Alerts {
    /// Maximum number of targets that all rules track at once, which bounds the memory in a storm of processes: at
    /// 4 KiB or so for the names and figures of one that fires, to some 40 MiB.
    pub const MAX_TRACKED: usize = RuleState::MAX_TRACKED;
    /// Maximum number of events that are kept for the list.
    pub const MAX_EVENTS: usize = 200;

    /// Creates the state before the first snapshot.
    pub fn new(rules: Vec<Rule>) -> Self {
        let rules = rules.into_iter().enumerate();
        Self {
            rules: rules
                .map(|(index, rule)| RuleState::new(Rule { index, ..rule }))
                .collect(),
            ..Self::default()
        }
    }

    /// Returns the rules.
    pub fn rules(&self) -> impl ExactSizeIterator<Item = &Rule> {
        self.rules.iter().map(|state| &state.rule)
    }

    /// Returns the latest events, newest first.
    pub const fn events(&self) -> &VecDeque<AlertEvent> {
        &self.events
    }

    /// Returns the number of alerts that are firing.
    pub fn firing(&self) -> usize {
        self.rules.iter().map(RuleState::firing).sum()
    }

    /// Returns true if a rule is firing for the target.
    pub fn is_firing(&self, target: &Target) -> bool {
        self.rules.iter().any(|state| state.is_firing(target))
    }

    /// Returns true if the rule of this index is firing for the target.
    pub fn rule_is_firing(&self, rule: usize, target: &Target) -> bool {
        self.rules.get(rule).is_some_and(|state| state.is_firing(target))
    }

    /// Returns the number of times that a target was passed over because too many were tracked.
    pub const fn skipped(&self) -> u64 {
        self.evaluation.skipped
    }

    /// Evaluates one snapshot, which `history` already includes; returns its events in order.
    pub fn evaluate(&mut self, snapshot: &Snapshot, history: &History) -> Vec<AlertEvent> {
        if self.rules.is_empty() {
            return Vec::new();
        }
        let continues = self.evaluation.advance(snapshot);
        for state in &mut self.rules {
            state.begin();
            if !continues {
                // Time and identities cannot be compared with those before.
                state.restart(&mut self.evaluation);
            }
        }
        self.evaluation.tracked = self.rules.iter().map(RuleState::tracked).sum();
        if let Ok(rows) = &snapshot.processes {
            self.evaluate_processes(rows, snapshot, history);
            for by in GroupBy::OF_PROCESSES {
                self.evaluate_groups(by, rows, snapshot, history);
            }
        } else {
            // /proc could not be listed: nothing is known of any process.
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
        // Rules whose conditions choose no processes share the sums.
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
        let mut rows = PartRow::of_account(account, parts, snapshot, SeriesView::SLOPE_SPAN);
        let cache = history.slab().grower().map(|(name, _)| name);
        for row in rows.iter_mut().filter(|row| row.id == SLAB) {
            row.cache = cache;
        }
        for state in rules {
            for row in &rows {
                let answer = state.rule.condition.evaluate(row);
                let target = || Target::Row(RowKey::Part(row.key()));
                state.observe(answer, target, 0, row, &mut self.evaluation);
            }
            state.end(&mut self.evaluation, |_| true);
        }
    }

    fn evaluate_system(&mut self, snapshot: &Snapshot, history: &History) {
        let row = SystemRow { snapshot, history };
        for state in of_kind(&mut self.rules, TargetKind::System) {
            let answer = state.rule.condition.evaluate(&row);
            state.observe(answer, || Target::System, 0, &row, &mut self.evaluation);
            state.end(&mut self.evaluation, |_| true);
        }
    }
}

fn of_kind(rules: &mut [RuleState], kind: TargetKind) -> impl Iterator<Item = &mut RuleState> {
    rules.iter_mut().filter(move |state| state.rule.target_kind == kind)
}

/// Returns true for processes that groups are made of: all but kernel threads.
const fn has_memory(sample: &ProcessSample) -> bool {
    !sample.stat.is_kernel_thread()
}
