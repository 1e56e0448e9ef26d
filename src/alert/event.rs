//! The event of a rule that fires or is resolved for a target.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::alert::{Rule, TargetKind};
use crate::columns::Unit;
use crate::filter::{Filterable, TextField};
use crate::group::RowKey;
use crate::text;
use crate::trend::Verdict;
use crate::units::{self, Units};

/// A target of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A process, a group of processes, or a part of the RAM.
    Row(RowKey),
    /// The system.
    System,
}

/// The reason why an alert is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveReason {
    /// The condition is no longer true.
    ConditionFalse,
    /// The process exited, or the group has no process left.
    TargetGone,
    /// The process executed another program.
    Exec,
    /// The snapshots are of another boot now, or of an earlier time.
    Restart,
}

impl ResolveReason {
    /// Returns its name on screen and in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::ConditionFalse => "over",
            Self::TargetGone => "gone",
            Self::Exec => "exec",
            Self::Restart => "restart",
        }
    }
}

/// The change of an alert's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// The condition has held for long enough.
    Fired,
    /// The alert is over.
    Resolved(ResolveReason),
}

/// A figure of a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The id of its column.
    pub id: &'static str,
    /// The unit of the value.
    pub unit: Unit,
    /// The value in that unit, a verdict by its rank; `None` where it is unknown.
    pub value: Option<f64>,
}

impl std::fmt::Display for Figure {
    /// Writes the id and the value: `pss 4.2G`, `swap_in +12.0M/s`; `?` where it is unknown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = self.value.map_or_else(
            || "?".into(),
            |x| match self.unit {
                Unit::Bytes | Unit::Delta if x < 0.0 => units::delta(x as i64, Units::Auto),
                Unit::Bytes | Unit::Delta => units::bytes(x as u64, Units::Auto),
                Unit::Growth | Unit::Chart | Unit::Trend => units::growth(x),
                Unit::PerSecond | Unit::Count | Unit::Text => format!("{}", (x * 10.0).round() / 10.0),
                Unit::Share => format!("{:.1}%", x * 100.0),
                Unit::Verdict => Verdict::from_rank(x).unwrap_or_default().id().into(),
                Unit::Seconds => units::span(Duration::try_from_secs_f64(x).unwrap_or_default()),
            },
        );
        write!(f, "{} {value}", self.id)
    }
}

/// The state of a target at the moment when a rule fired for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Figures: first those that the condition uses, then others.
    pub figures: Vec<Figure>,
    /// Number of `figures` that the condition uses.
    pub condition_figures: usize,
    /// Names by their ids, as raw bytes; long ones are cut.
    pub labels: Vec<(&'static str, Box<[u8]>)>,
}

/// The longest label that is kept, in bytes. A command line may have megabytes, and the log keeps many events.
const MAX_LABEL: usize = 1024;

/// The labels of an event and the filter's texts that they come from.
const LABELS: [(&str, TextField); 7] = [
    ("user", TextField::User),
    ("comm", TextField::Comm),
    ("command", TextField::CommandLine),
    ("group", TextField::Group),
    ("unit", TextField::Unit),
    ("container", TextField::Container),
    ("cgroup", TextField::Cgroup),
];

/// The label of what grows.
const CAUSE: &str = "cause";

impl Details {
    /// Reads the details of a target for a rule.
    pub(super) fn new(rule: &Rule, row: &dyn Filterable) -> Self {
        let figures = rule.figures.iter().map(|figure| Figure {
            id: figure.id,
            unit: figure.unit,
            value: row.number(figure.column).filter(|x| x.is_finite()),
        });
        let labels = LABELS.iter().filter_map(|(id, field)| {
            let bytes = row.text(*field)?;
            Some((*id, Box::from(&bytes[..bytes.len().min(MAX_LABEL)])))
        });
        let cause = row.cause().map(|cause| (CAUSE, cause.into()));
        Self {
            figures: figures.collect(),
            condition_figures: rule.condition_figures,
            labels: labels.chain(cause).collect(),
        }
    }

    /// Returns a label.
    pub fn label(&self, id: &str) -> Option<&[u8]> {
        let found = self.labels.iter().find(|(other, _)| *other == id);
        found.map(|(_, label)| &**label)
    }

    /// Returns the value of a figure, where it is known.
    pub fn figure(&self, id: &str) -> Option<f64> {
        self.figures.iter().find(|f| f.id == id)?.value
    }
}

/// A rule fired, or was resolved, for a target.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertEvent {
    /// The index of the rule.
    pub rule: usize,
    /// The rule's name.
    pub name: Arc<str>,
    /// The rule's kind of targets.
    pub target_kind: TargetKind,
    /// The target.
    pub target: Target,
    /// Fired or resolved.
    pub transition: Transition,
    /// It fired once too often: what follows is not told until it is steady.
    pub flapping: bool,
    /// The time by the wall clock; for showing.
    pub time: SystemTime,
    /// The time by the snapshots' monotonic clock.
    pub monotonic: Duration,
    /// The time for which the condition was seen true before it fired, or for which the alert was firing.
    pub lasted: Duration,
    /// The target when the rule fired.
    pub details: Arc<Details>,
}

/// The longest name in a summary, in terminal columns.
const MAX_NAME_WIDTH: usize = 80;

impl AlertEvent {
    /// Returns the target's name as raw bytes: the command of a process, the name of a group, `system`.
    pub fn target_name(&self) -> &[u8] {
        match &self.target {
            Target::System => b"system",
            Target::Row(RowKey::Group(key)) => key.label(),
            Target::Row(RowKey::Part(key)) => key.label.as_bytes(),
            Target::Row(RowKey::Process(_)) => {
                let label = |id| self.details.label(id);
                label("command").or_else(|| label("comm")).unwrap_or(b"?")
            }
        }
    }

    /// Returns the target and the figures of the condition in a line that is safe to print:
    /// `27213 python3 train.py: pss 4.2G`.
    pub fn summary(&self) -> String {
        let name = text::safe_prefix(self.target_name(), MAX_NAME_WIDTH);
        let mut summary = match &self.target {
            Target::Row(RowKey::Process(id)) => format!("{} {name}", id.pid),
            Target::Row(RowKey::Group(key)) => format!("{} {name}", key.by.id()),
            Target::Row(RowKey::Part(_)) | Target::System => name.into_owned(),
        };
        let figures = self.details.figures.iter().take(self.details.condition_figures);
        for (at, figure) in figures.enumerate() {
            summary.push_str(if at == 0 { ": " } else { ", " });
            summary.push_str(&figure.to_string());
        }
        if let Some(cause) = self.details.label(CAUSE) {
            summary.push_str(", ");
            summary.push_str(&text::safe_prefix(cause, MAX_NAME_WIDTH));
        }
        summary
    }
}
