//! A rule and its condition.

use std::sync::Arc;
use std::time::Duration;

use crate::columns::{COLUMNS, ColumnId, Needs, Unit, layout, needs_of_filter, part, system};
use crate::filter::{Filter, FilterError, Schema};
use crate::group::GroupBy;

/// The kind of targets that a rule is evaluated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// Each process.
    Process,
    /// Each group of that kind. Kernel threads are in no group, and processes without a unit or container are
    /// not a group of their own.
    Group(GroupBy),
    /// Each part of the RAM, as the account of the system divides it.
    Part,
    /// The system as a whole.
    System,
}

impl TargetKind {
    /// The ids, as in the config.
    pub const IDS: &[&str] = &[
        "process",
        "command",
        "user",
        "unit",
        "container",
        "cgroup",
        "family",
        "part",
        "system",
    ];

    /// Returns the kind of that id.
    pub fn from_id(id: &str) -> Option<Self> {
        match id {
            "process" => Some(Self::Process),
            "part" => Some(Self::Part),
            "system" => Some(Self::System),
            other => GroupBy::OF_ONE_HOST
                .into_iter()
                .find(|by| by.id() == other)
                .map(Self::Group),
        }
    }

    /// Returns its id.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Group(by) => by.id(),
            Self::Part => "part",
            Self::System => "system",
        }
    }
}

/// A figure that the details of a rule's events hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct FigureColumn {
    pub(super) id: &'static str,
    pub(super) unit: Unit,
    /// The index in the catalogue of the rule's targets.
    pub(super) column: usize,
}

/// A rule: a condition on each target of a kind, and for how long it must hold.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The index among the rules, set by [`Alerts::new`](super::Alerts::new).
    pub(super) index: usize,
    /// The name, unique among the rules.
    pub name: Arc<str>,
    /// The kind of its targets.
    pub target_kind: TargetKind,
    /// The time for which the condition must have been seen true before the rule fires.
    pub hold: Duration,
    /// The minimum time between two firings for the same target.
    pub cooldown: Duration,
    pub(super) condition: Filter,
    /// The figures of its events: first those that the condition uses, then those that are always reported.
    pub(super) figures: Vec<FigureColumn>,
    /// Number of `figures` that the condition uses.
    pub(super) condition_figures: usize,
}

impl Rule {
    /// Creates a rule without hold or cooldown from a condition in the filter language.
    ///
    /// # Errors
    /// The condition does not parse, is empty, or asks the system for a text.
    pub fn new(name: &str, target_kind: TargetKind, condition: &str) -> Result<Self, FilterError> {
        let (schema, id_of): (&dyn Schema, fn(usize) -> &'static str) = match target_kind {
            TargetKind::Part => (&part::COLUMNS, |column| part::COLUMNS[column].id),
            TargetKind::System => (&system::COLUMNS, |column| system::COLUMNS[column].id),
            TargetKind::Process | TargetKind::Group(_) => (&COLUMNS, |column| ColumnId(column).get().id),
        };
        let condition = Filter::parse(condition, schema)?;
        if condition.is_empty() {
            return Err(FilterError::new(0, "a condition is missing"));
        }
        let mut always: Vec<_> = layout::ALERT.iter().map(|column| column.get().id).collect();
        if target_kind == TargetKind::Part {
            always = part::COLUMNS.iter().map(|figure| figure.id).collect();
        } else if target_kind == TargetKind::System {
            always = system::COLUMNS.iter().map(|figure| figure.id).collect();
            if condition.uses_text() {
                let what = format!("the system has only figures: {}", always.join(", "));
                return Err(FilterError::new(0, what));
            }
        }
        let mut figures: Vec<FigureColumn> = Vec::new();
        for id in condition.columns().into_iter().map(id_of).chain(always) {
            let listed = figures.iter().any(|figure| figure.id == id);
            if let Some((column, unit)) = schema.figure(id).filter(|_| !listed) {
                figures.push(FigureColumn { id, unit, column });
            }
        }
        Ok(Self {
            index: 0,
            name: name.into(),
            target_kind,
            hold: Duration::ZERO,
            cooldown: Duration::ZERO,
            condition_figures: condition.columns().len(),
            condition,
            figures,
        })
    }

    /// Returns the data that must be read for each process to evaluate the rule.
    pub fn needs(&self) -> Needs {
        match self.target_kind {
            TargetKind::Part | TargetKind::System => Needs::NOTHING,
            TargetKind::Process | TargetKind::Group(_) => needs_of_filter(&self.condition),
        }
    }
}
