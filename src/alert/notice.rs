//! What is told when a rule fires or clears.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::alert::{On, Rule};
use crate::columns::Unit;
use crate::filter::{Subject, Word};
use crate::group::GroupKey;
use crate::model::process::Identity;
use crate::text;
use crate::trend::Verdict;
use crate::units::{self, Units};

/// Whom a rule fires for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Target {
    /// A process.
    Process(Identity),
    /// A group of processes.
    Group(GroupKey),
    /// The system.
    System,
}

/// Why an alert is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The condition is no longer true.
    Over,
    /// The process ended, or the group has no process left.
    Gone,
    /// The process runs another program.
    Exec,
    /// The snapshots are of another boot now, or of an earlier time.
    Restart,
}

impl Why {
    /// Its name in JSON.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Over => "over",
            Self::Gone => "gone",
            Self::Exec => "exec",
            Self::Restart => "restart",
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The condition has held for long enough.
    Fired,
    /// What had fired is over.
    Cleared(Why),
}

/// One figure of whom a rule fires for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The column, or the figure of the system.
    pub id: &'static str,
    /// The unit of the value.
    pub unit: Unit,
    /// The value in that unit, a verdict by its rank; `None` where it is unknown.
    pub value: Option<f64>,
}

impl Figure {
    /// The id and the value as people read it: `pss 4.2G`, `swap_in +12.0M/s`; `?` where it is unknown.
    pub fn shown(&self) -> String {
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
        format!("{} {value}", self.id)
    }
}

/// What was known of whom a rule fired for, at that moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Figures: first what the condition asks for, then others.
    pub figures: Vec<Figure>,
    /// How many of `figures` the condition asks for.
    pub asked: usize,
    /// Words by the filter's keys, raw; long ones are cut.
    pub words: Vec<(&'static str, Box<[u8]>)>,
}

/// The most terminal columns of a name in a summary.
const MAX_SHOWN: usize = 80;
/// The longest word that is kept, in bytes.
const MAX_WORD: usize = 1024;

const WORDS: [(&str, Word); 7] = [
    ("user", Word::User),
    ("comm", Word::Name),
    ("command", Word::Command),
    ("group", Word::Group),
    ("unit", Word::Unit),
    ("container", Word::Container),
    ("cgroup", Word::Cgroup),
];

impl Evidence {
    /// What this subject says for this rule.
    pub(super) fn of(rule: &Rule, subject: &dyn Subject) -> Arc<Self> {
        let figures = rule.figures.iter().map(|(id, column, unit)| Figure {
            id,
            unit: *unit,
            value: subject.number(*column).filter(|x| x.is_finite()),
        });
        let words = WORDS.iter().filter_map(|(id, word)| {
            let bytes = subject.word(*word)?;
            Some((*id, Box::from(&bytes[..bytes.len().min(MAX_WORD)])))
        });
        Arc::new(Self {
            figures: figures.collect(),
            asked: rule.when.columns().len(),
            words: words.collect(),
        })
    }

    /// The word of that name.
    pub fn word(&self, id: &str) -> Option<&[u8]> {
        self.words
            .iter()
            .find(|(other, _)| *other == id)
            .map(|(_, word)| &**word)
    }

    /// The figure of that name, where it is known.
    pub fn figure(&self, id: &str) -> Option<f64> {
        self.figures.iter().find(|f| f.id == id)?.value
    }
}

/// Something happened with a rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// Which rule, by its place.
    pub rule: usize,
    /// The rule's name.
    pub name: Arc<str>,
    /// What it judges.
    pub on: On,
    /// For whom.
    pub target: Target,
    /// What.
    pub kind: Kind,
    /// When, by the wall clock; for showing.
    pub time: SystemTime,
    /// When, by the snapshots' clock.
    pub at: Duration,
    /// How long the condition was seen true before it fired, or how long the alert lasted.
    pub lasted: Duration,
    /// What was known when it fired.
    pub evidence: Arc<Evidence>,
}

impl Notice {
    /// Whom to call it, raw: the command of a process, the name of a group, `system`.
    pub fn label(&self) -> &[u8] {
        match &self.target {
            Target::System => b"system",
            Target::Group(key) => key.label(),
            Target::Process(_) => self
                .evidence
                .word("command")
                .or_else(|| self.evidence.word("comm"))
                .unwrap_or(b"?"),
        }
    }

    /// For whom and by which figures, in a line that is safe to print:
    /// `27213 python3 train.py: pss 4.2G`.
    pub fn summary(&self) -> String {
        let label = text::safe_prefix(self.label(), MAX_SHOWN);
        let asked = &self.evidence.figures[..self.evidence.asked.min(self.evidence.figures.len())];
        let figures: Vec<_> = asked.iter().map(Figure::shown).collect();
        let figures = if figures.is_empty() {
            String::new()
        } else {
            format!(": {}", figures.join(", "))
        };
        match &self.target {
            Target::Process(id) => format!("{} {label}{figures}", id.pid),
            Target::Group(key) => format!("{} {label}{figures}", key.by.id()),
            Target::System => format!("{label}{figures}"),
        }
    }
}
