//! Alerts: rules on processes, on groups and on the system, and when they fire.
//!
//! Pure: the same snapshots give the same notices, whether they come live or from a recording. What a notice
//! rings or runs is not decided here.
//!
//! ```text
//!            true for `hold`                    not true
//! nothing ───────────────────► fires, firing ─────────────► cleared
//!            and not within `cooldown` of the last time
//! ```

mod judge;
mod notice;
mod state;

use std::sync::Arc;
use std::time::Duration;

pub use judge::Alerts;
pub use notice::{Evidence, Figure, Kind, Notice, Target, Why};

use crate::columns::system::{SYSTEM, SystemCatalogue};
use crate::columns::{Catalogue, ColumnId, Needs, Unit, needs_of_filter};
use crate::filter::{Catalog, Filter, FilterError};
use crate::group::GroupBy;

/// What a rule judges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum On {
    /// Each process.
    Process,
    /// Each group of that kind. Kernel threads are in none, and what is in no unit or container is no group.
    Group(GroupBy),
    /// The system as a whole.
    System,
}

impl On {
    /// The names, as in the config.
    pub const NAMES: &[&str] = &["process", "command", "user", "unit", "container", "cgroup", "system"];

    /// The one of that name.
    pub fn from_id(id: &str) -> Option<Self> {
        match id {
            "process" => Some(Self::Process),
            "system" => Some(Self::System),
            other => GroupBy::OF_PROCESSES
                .into_iter()
                .find(|by| by.id() == other)
                .map(Self::Group),
        }
    }

    /// Its name.
    pub const fn id(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Group(by) => by.id(),
            Self::System => "system",
        }
    }
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it is called.
    pub name: Arc<str>,
    /// What it judges.
    pub on: On,
    /// The condition as written.
    pub text: Arc<str>,
    /// How long the condition must have been seen true before it fires.
    pub hold: Duration,
    /// How long after it fired for something it does not fire for that again.
    pub cooldown: Duration,
    when: Filter,
    /// What is told of whom it fires for: first what the condition asks for, then what is always told.
    figures: Vec<(&'static str, usize, Unit)>,
}

/// What is told of every process and group.
const TOLD: [&str; 6] = ["pss", "swap", "footprint", "growth", "rss", "count"];

impl Rule {
    /// A rule with this condition, without hold or cool-down.
    ///
    /// # Errors
    /// The condition is no filter, asks for nothing, or asks the system for what it has not.
    pub fn new(name: &str, on: On, text: &str) -> Result<Self, FilterError> {
        let when = match on {
            On::System => Filter::parse(text, &SystemCatalogue)?,
            On::Process | On::Group(_) => Filter::parse(text, &Catalogue)?,
        };
        if when.is_empty() {
            return Err(FilterError::new(0, "a condition is missing"));
        }
        if on == On::System && when.asks_words() {
            let known: Vec<_> = SYSTEM.iter().map(|f| f.id).collect();
            let what = format!("the system has only figures: {}", known.join(", "));
            return Err(FilterError::new(0, what));
        }
        let mut figures: Vec<(&'static str, usize, Unit)> = Vec::new();
        let mut tell = |id: &'static str, catalog: &dyn Catalog| {
            let known = figures.iter().any(|(other, ..)| *other == id);
            if let Some((column, unit)) = catalog.column(id).filter(|_| !known) {
                figures.push((id, column, unit));
            }
        };
        match on {
            On::System => {
                let asked = when.columns().into_iter().map(|at| SYSTEM[at].id);
                asked
                    .chain(SYSTEM.iter().map(|f| f.id))
                    .for_each(|id| tell(id, &SystemCatalogue));
            }
            On::Process | On::Group(_) => {
                let asked = when.columns().into_iter().map(|at| ColumnId(at).get().id);
                asked.chain(TOLD).for_each(|id| tell(id, &Catalogue));
            }
        }
        Ok(Self {
            name: name.into(),
            on,
            text: text.into(),
            hold: Duration::ZERO,
            cooldown: Duration::ZERO,
            when,
            figures,
        })
    }

    /// Returns the data that must be read for each process to judge the rule.
    pub fn needs(&self) -> Needs {
        match self.on {
            On::System => Needs::NOTHING,
            On::Process | On::Group(_) => needs_of_filter(&self.when),
        }
    }
}
