//! A rule with its condition, and the event of a rule that fires or is resolved for a target.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::account::SLAB;
use crate::columns::{COLUMNS, ColumnId, Needs, Unit, layout, needs_of_filter, part, system};
use crate::filter::{Filter, FilterError, Filterable, Schema, TextField};
use crate::group::{GroupBy, GroupKey, PartKey, RowKey};
use crate::model::Identity;
use crate::text::{self, named};
use crate::trend::Verdict;
use crate::units::{self, Units};

/// The kind of targets that a rule is evaluated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// Each process.
    Process,
    /// Each group of that kind. Kernel threads are in no group. Processes without a unit or container do not form a
    /// group.
    Group(GroupBy),
    /// Each part of the RAM in the account of the system.
    Part,
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
        "pod",
        "cgroup",
        "family",
        "part",
        "system",
    ];

    /// Returns the kind with that id.
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

    pub const fn id(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Group(by) => by.id(),
            Self::Part => "part",
            Self::System => "system",
        }
    }
}

/// A figure in the details of a rule's events.
#[derive(Clone, Copy, Debug)]
pub(super) struct FigureColumn {
    pub(super) id: &'static str,
    pub(super) unit: Unit,
    /// The index in the column catalogue of the rule's targets.
    pub(super) column: usize,
}

/// The name of the target of a test's made-up event. Nothing that a program can act on has this name.
const MADE_UP: &str = "zmtop-test";
/// The pid of that target: above every pid that a kernel assigns, but within the range that every program can parse.
const MADE_UP_PID: u32 = i32::MAX as u32;

/// A rule: a condition on each target of a kind, and how long it must hold.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its number among all rules so far, set by [`Alerts`](super::Alerts).
    pub number: usize,
    /// The name, unique among the rules.
    pub name: Arc<str>,
    /// The kind of its targets.
    pub target_kind: TargetKind,
    /// Minimum time for which the condition must be observed before the rule fires.
    pub hold: Duration,
    /// Minimum time between two fires for the same target.
    pub cooldown: Duration,
    pub(super) condition: Filter,
    /// The condition as it was written.
    pub when: Arc<str>,
    /// The figures of its events: the ones that the condition uses, then the ones that are always reported.
    pub(super) figures: Vec<FigureColumn>,
    /// Number of leading `figures` that the condition uses.
    pub(super) condition_figures: usize,
}

impl Rule {
    /// Creates a rule without hold or cooldown from a condition in the filter language.
    ///
    /// # Errors
    /// The condition does not parse, is empty, or uses a text field for the system.
    pub fn new(name: &str, target_kind: TargetKind, condition: &str) -> Result<Self, FilterError> {
        let (schema, id_of): (&dyn Schema, fn(usize) -> &'static str) = match target_kind {
            TargetKind::Part => (&part::COLUMNS, |column| part::COLUMNS[column].id),
            TargetKind::System => (&system::COLUMNS, |column| system::COLUMNS[column].id),
            TargetKind::Process | TargetKind::Group(_) => (&COLUMNS, |column| ColumnId(column).get().id),
        };
        let when = condition.into();
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
                let what = format!("the system has no texts, only these figures: {}", always.join(", "));
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
            number: 0,
            name: name.into(),
            target_kind,
            hold: Duration::ZERO,
            cooldown: Duration::ZERO,
            condition_figures: condition.columns().len(),
            condition,
            when,
            figures,
        })
    }

    /// Returns a made-up event, to test what the rule notifies: it fires for a target that cannot exist. The figures of the
    /// condition have the values that it names, the others examples.
    pub fn made_up(&self, time: SystemTime) -> AlertEvent {
        let bounds = self.condition.bounds();
        let figures = self.figures.iter().map(|figure| {
            let bound = bounds.iter().find(|(column, _)| *column == figure.column);
            Figure {
                id: figure.id,
                unit: figure.unit,
                value: Some(bound.map_or_else(|| example_of(figure.unit), |(_, bound)| *bound)),
            }
        });
        let pid = MADE_UP_PID;
        let target = match self.target_kind {
            TargetKind::Process => Target::Row(RowKey::Process(Identity { pid, starttime: 0 })),
            TargetKind::Group(by) => Target::Row(RowKey::Group(GroupKey {
                by,
                name: Some(MADE_UP.as_bytes().into()),
            })),
            TargetKind::Part => Target::Row(RowKey::Part(PartKey::whole(SLAB, MADE_UP))),
            TargetKind::System => Target::System,
        };
        let has_labels = matches!(self.target_kind, TargetKind::Process | TargetKind::Group(_));
        let labels = LABELS.iter().filter(|_| has_labels);
        let details = Details {
            figures: figures.collect(),
            condition_figures: self.condition_figures,
            when: Arc::clone(&self.when),
            labels: labels.map(|(id, ..)| (*id, MADE_UP.as_bytes().into())).collect(),
        };
        AlertEvent {
            rule: self.number,
            name: Arc::clone(&self.name),
            target_kind: self.target_kind,
            target,
            transition: Transition::Fired,
            flapping: false,
            is_test: true,
            time,
            monotonic: Duration::ZERO,
            lasted: self.hold,
            details: Arc::new(details),
            present: None,
        }
    }

    /// Reads the figures of its events.
    pub(super) fn figures_of(&self, row: &dyn Filterable) -> Box<[Figure]> {
        let figures = self.figures.iter().map(|figure| Figure {
            id: figure.id,
            unit: figure.unit,
            value: row.number(figure.column).filter(|x| x.is_finite()),
        });
        figures.collect()
    }

    /// Returns true if its condition is about names too.
    pub const fn uses_text(&self) -> bool {
        self.condition.uses_text()
    }

    /// Returns the data that must be read of each process to evaluate the rule.
    pub fn needs(&self) -> Needs {
        match self.target_kind {
            TargetKind::Part | TargetKind::System => Needs::NOTHING,
            TargetKind::Process | TargetKind::Group(_) => needs_of_filter(&self.condition),
        }
    }
}

/// Returns a value to try a program with.
fn example_of(unit: Unit) -> f64 {
    const MIB: f64 = 1_048_576.0;
    match unit {
        Unit::Bytes => 1024.0 * MIB,
        Unit::Delta | Unit::Growth | Unit::Chart | Unit::Trend => MIB,
        Unit::Share => 0.5,
        Unit::Verdict => Verdict::Leaking.rank().unwrap_or(0.0),
        Unit::PerSecond | Unit::Count | Unit::Seconds | Unit::Text => 1.0,
    }
}

/// A target of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A process, a group of processes, or a part of the RAM.
    Row(RowKey),
    /// The system.
    System,
}

named! {
    /// The reason why an alert is resolved, with its name on screen and in JSON.
    pub enum ResolveReason {
        /// The condition is no longer true.
        ConditionFalse = "cleared",
        /// The process exited, or the group has no process left.
        TargetGone = "gone",
        /// The process executed another program, and the condition is not true for it.
        Exec = "exec",
        /// The snapshots are of another boot now, or of an earlier time; or the rule was changed or removed.
        Restart = "restart",
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

impl Figure {
    /// Writes the value; a pace in the time unit of the condition.
    fn text(&self, when: &str) -> String {
        let is_pace = matches!(self.unit, Unit::Growth | Unit::Chart | Unit::Trend);
        match self.value.filter(|_| is_pace).zip(units::per(when)) {
            Some((value, (seconds, unit))) => {
                let by = units::delta((value * seconds) as i64, Units::Auto);
                format!("{by}/{unit}")
            }
            None => self.value_text(),
        }
    }

    fn value_text(&self) -> String {
        let Some(x) = self.value else { return "?".into() };
        match self.unit {
            Unit::Bytes | Unit::Delta if x < 0.0 => units::delta(x as i64, Units::Auto),
            Unit::Bytes | Unit::Delta => units::bytes(x as u64, Units::Auto),
            Unit::Growth | Unit::Chart | Unit::Trend => units::growth(x),
            Unit::PerSecond | Unit::Count | Unit::Text => format!("{}", (x * 10.0).round() / 10.0),
            Unit::Share => format!("{:.1}%", x * 100.0),
            Unit::Verdict => Verdict::from_rank(x).unwrap_or_default().id().into(),
            Unit::Seconds => units::span(Duration::try_from_secs_f64(x).unwrap_or_default()),
        }
    }
}

impl std::fmt::Display for Figure {
    /// Writes the id and the value: `pss 4.2G`, `swap_in +12.0M/s`; `?` where it is unknown.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.id, self.value_text())
    }
}

/// The state of a target at the moment when a rule fired for it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Figures: first those that the condition uses, then others.
    pub figures: Vec<Figure>,
    /// Number of `figures` that the condition uses.
    pub condition_figures: usize,
    /// The condition as it was written.
    pub when: Arc<str>,
    /// Names by their ids, as raw bytes; long ones are cut.
    pub labels: Vec<(&'static str, Box<[u8]>)>,
}

/// The longest label that is kept, in bytes. A command line may have megabytes, and the log keeps many events.
const MAX_LABEL: usize = 1024;

/// The labels of an event, what they mean, and the filter's texts that they come from.
const LABELS: [(&str, &str, TextField); 10] = [
    ("user", "The name of its user.", TextField::User),
    ("comm", "Its short name.", TextField::Comm),
    ("command", "Its command line.", TextField::CommandLine),
    ("group", "The program, or the name of the group.", TextField::Group),
    ("unit", "Its systemd unit.", TextField::Unit),
    ("container", "Its container.", TextField::Container),
    ("pod", "The pod of its container.", TextField::Pod),
    (
        "namespace",
        "The namespace of that pod, or the project of Docker Compose.",
        TextField::Namespace,
    ),
    ("image", "The image of its container.", TextField::Image),
    ("cgroup", "The path of its cgroup.", TextField::Cgroup),
];

/// The label of what grows, and what it means.
const CAUSE: (&str, &str) = (
    "cause",
    "What grows, if it is not the whole row: held: memfd, slab kmalloc-64.",
);

impl Details {
    /// Reads the details of a target for a rule.
    pub(super) fn new(rule: &Rule, row: &dyn Filterable) -> Self {
        let labels = LABELS.iter().filter_map(|(id, _, field)| {
            let bytes = row.text(*field).filter(|bytes| !bytes.is_empty())?;
            Some((*id, Box::from(&bytes[..bytes.len().min(MAX_LABEL)])))
        });
        let cause = row.cause().map(|cause| (CAUSE.0, cause.into()));
        Self {
            figures: rule.figures_of(row).into_vec(),
            condition_figures: rule.condition_figures,
            when: Arc::clone(&rule.when),
            labels: labels.chain(cause).collect(),
        }
    }

    /// Returns the ids of all labels that there may be, and what they mean.
    pub fn label_ids() -> impl Iterator<Item = (&'static str, &'static str)> {
        LABELS.iter().map(|(id, help, _)| (*id, *help)).chain([CAUSE])
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
    /// The number of the rule.
    pub rule: usize,
    /// The rule's name.
    pub name: Arc<str>,
    /// The rule's kind of targets.
    pub target_kind: TargetKind,
    /// The target.
    pub target: Target,
    /// Fired or resolved.
    pub transition: Transition,
    /// It fired once too often: further events are not reported until it is steady.
    pub flapping: bool,
    /// It is made up, to test the notifications: see [`Rule::made_up`].
    pub is_test: bool,
    /// The time by the wall clock; for showing.
    pub time: SystemTime,
    /// The time by the snapshots' monotonic clock.
    pub monotonic: Duration,
    /// The time for which the condition was seen true before it fired, or for which the alert was firing.
    pub lasted: Duration,
    /// The target when the rule fired.
    pub details: Arc<Details>,
    /// The same figures when it was resolved; `None` if it fired, or if the target is gone.
    pub present: Option<Box<[Figure]>>,
}

/// The longest name in a summary, in terminal columns.
const MAX_NAME_WIDTH: usize = 80;
/// Columns that a name keeps in the narrowest summary.
const MIN_NAME_WIDTH: usize = 16;

impl AlertEvent {
    /// Returns the target's name as raw bytes: the command of a process, the name of a group, `system`.
    pub fn target_name(&self) -> Cow<'_, [u8]> {
        match &self.target {
            Target::System => b"system".into(),
            Target::Row(RowKey::Group(key)) => key.label().into(),
            Target::Row(RowKey::Part(key)) => key.name(),
            Target::Row(RowKey::Process(_)) => {
                let label = |id| self.details.label(id);
                label("command").or_else(|| label("comm")).unwrap_or(b"?").into()
            }
        }
    }

    /// Returns the target and the figures of the condition in a line that is safe to print:
    /// `27213 python3 train.py: pss 4.2G`; of an alert that is resolved, `pss 7.4M, was 4.2G`. A pace has the time unit of the
    /// condition.
    pub fn summary(&self) -> String {
        self.summary_within(usize::MAX)
    }

    /// Returns the summary in at most `width` columns, if shortening the name is enough: of a command first the directories.
    pub fn summary_within(&self, width: usize) -> String {
        let target = self.target_name();
        let name = text::safe(&target);
        let begin = match &self.target {
            Target::Row(RowKey::Process(id)) => format!("{} ", id.pid),
            Target::Row(RowKey::Group(key)) => format!("{} ", key.by.id()),
            Target::Row(RowKey::Part(_)) | Target::System => String::new(),
        };
        let rest = self.figures_and_cause();
        let room = width.saturating_sub(text::width(&begin) + text::width(&rest));
        let room = room.min(MAX_NAME_WIDTH);
        let short = text::without_directories(&name, room);
        // As in the table, the program comes first.
        let program = short.strip_prefix("…/").filter(|_| short != name);
        let name = text::truncate(program.unwrap_or(&short), room.max(MIN_NAME_WIDTH));
        format!("{begin}{name}{rest}")
    }

    fn figures_and_cause(&self) -> String {
        let mut summary = String::new();
        let figures = self.details.figures.iter().take(self.details.condition_figures);
        for (at, figure) in figures.enumerate() {
            let when = &self.details.when;
            let then = figure.text(when);
            let now = self.present.as_ref().and_then(|figures| figures.get(at));
            let now = now.filter(|now| now.value.is_some()).map(|now| now.text(when));
            let value = match (self.transition, now) {
                (Transition::Fired, _) => then,
                (Transition::Resolved(_), None) => format!("was {then}"),
                (Transition::Resolved(_), Some(now)) if now == then => now,
                (Transition::Resolved(_), Some(now)) => format!("{now}, was {then}"),
            };
            summary.push_str(if at == 0 { ": " } else { ", " });
            summary.extend([figure.id, " ", &value]);
        }
        if let Some(cause) = self.details.label(CAUSE.0) {
            summary.push_str(", ");
            summary.push_str(&text::safe_prefix(cause, MAX_NAME_WIDTH));
        }
        summary
    }
}
