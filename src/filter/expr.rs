//! The tree of conditions of a filter, and its evaluation in three-valued logic.

use std::borrow::Cow;
use std::cell::OnceCell;

use regex::Regex;

use crate::filter::{Filterable, TextField};
use crate::order;

/// A tree of conditions. It evaluates to yes, no or unknown, as in Kleene's logic.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Condition(Condition),
}

/// A leaf of the tree. Texts are [folded](fold).
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// A part of the command line, the short name or the user, or a whole pid.
    Anywhere(String),
    /// A regular expression on the command line or the short name.
    Pattern(Regex),
    Text(TextField, TextCondition),
    User(UserCondition),
    Pid(Vec<u32>),
    State(Vec<u8>),
    Figure {
        column: usize,
        comparison: Comparison,
        bound: f64,
    },
}

#[derive(Clone, Debug)]
pub(super) enum TextCondition {
    Contains(String),
    Pattern(Regex),
}

/// Whole user names, or uids.
#[derive(Clone, Debug)]
pub(super) struct UserCondition {
    /// The names and uids as they are typed.
    pub(super) typed: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) uids: Vec<u32>,
    pub(super) uid_column: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Greater,
    AtLeast,
    Less,
    AtMost,
    Equal,
    Unequal,
}

/// Converts a text to lower case for comparison, character by character: a part of a text folds to a part of the folded text.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    // Lower-casing a whole word would make its last sigma another letter.
    let sigma = |c| if c == 'ς' { 'σ' } else { c };
    text.chars().flat_map(char::to_lowercase).map(sigma).collect()
}

/// The inputs of one evaluation. Each text is read and folded at most once.
pub(super) struct Inputs<'a> {
    /// The row with the texts; `None` if they may be anything.
    texts: Option<&'a dyn Filterable>,
    /// The row with the figures, except per-process ones; `None` if they may be anything.
    figures: Option<&'a dyn Filterable>,
    raw: [OnceCell<Option<Cow<'a, [u8]>>>; TextField::COUNT],
    folded: [OnceCell<Option<String>>; TextField::COUNT],
}

impl<'a> Inputs<'a> {
    pub(super) fn new(texts: Option<&'a dyn Filterable>, figures: Option<&'a dyn Filterable>) -> Self {
        Self {
            texts,
            figures,
            raw: Default::default(),
            folded: Default::default(),
        }
    }

    fn raw(&self, field: TextField) -> Option<&[u8]> {
        self.raw[field as usize]
            .get_or_init(|| self.texts.and_then(|row| row.text(field)))
            .as_deref()
    }

    /// Returns the text; bytes that are not UTF-8 count as one unknown character each.
    fn lossy(&self, field: TextField) -> Option<Cow<'_, str>> {
        self.raw(field).map(String::from_utf8_lossy)
    }

    fn folded(&self, field: TextField) -> Option<&str> {
        self.folded[field as usize]
            .get_or_init(|| self.lossy(field).map(|text| fold(&text)))
            .as_deref()
    }

    /// Returns the row that has a figure. A per-process figure is in the process, not in its group.
    fn figures(&self, column: usize) -> Option<&'a dyn Filterable> {
        match self.texts {
            Some(process) if process.is_per_process(column) => Some(process),
            _ => self.figures,
        }
    }

    /// Returns the answer for a missing text: no if the process has none, unknown if it could not be read.
    fn answer_for_missing(&self, field: TextField) -> Option<bool> {
        let no_if_known = |field| self.raw(field).map(|_| false);
        match field {
            // Both are parts of the cgroup path. Most processes are in no container.
            TextField::Unit | TextField::Container | TextField::ContainerId => no_if_known(TextField::Cgroup),
            TextField::Replaced => no_if_known(TextField::Exe),
            // Only a process has a state, and a readable process has no such reason.
            TextField::Unread => no_if_known(TextField::State),
            TextField::CommandLine
            | TextField::Comm
            | TextField::User
            | TextField::Owner
            | TextField::Pod
            | TextField::Namespace
            | TextField::Image
            | TextField::Cgroup
            | TextField::Group
            | TextField::Family
            | TextField::Exe
            | TextField::Mapped
            | TextField::Host
            | TextField::State => None,
        }
    }
}

impl Expr {
    pub(super) fn all_of(list: Vec<Self>) -> Self {
        Self::joined(list, Self::All)
    }

    pub(super) fn any_of(list: Vec<Self>) -> Self {
        Self::joined(list, Self::Any)
    }

    fn joined(mut list: Vec<Self>, join: fn(Vec<Self>) -> Self) -> Self {
        if list.len() == 1 {
            return list.remove(0);
        }
        // Comparing a figure is cheaper than fetching and folding a text; the answer is the same.
        order::sort_by_key(&mut list, Self::uses_text);
        join(list)
    }

    /// Returns all possible answers.
    pub(super) fn evaluate(&self, inputs: &Inputs<'_>) -> TruthSet {
        self.fold_conditions(&|condition| match condition {
            Condition::Figure { column, .. } if inputs.figures(*column).is_none() => TruthSet::ANY,
            Condition::Figure { .. } => condition.evaluate(inputs).into(),
            _ if inputs.texts.is_none() => TruthSet::ANY,
            _ => condition.evaluate(inputs).into(),
        })
    }

    /// Evaluates a tree without texts. Cheaper than [`evaluate`](Self::evaluate), which reserves space for texts: alerts do
    /// this for every process at every snapshot.
    pub(super) fn evaluate_figures(&self, row: &dyn Filterable) -> TruthSet {
        self.fold_conditions(&|condition| match condition {
            Condition::Figure {
                column,
                comparison,
                bound,
            } => comparison.holds_for(row.number(*column), *bound).into(),
            _ => None.into(),
        })
    }

    fn fold_conditions(&self, evaluate: &impl Fn(&Condition) -> TruthSet) -> TruthSet {
        match self {
            Self::All(list) => list
                .iter()
                .try_fold(TruthSet::YES, |all, expr| {
                    all.and(expr.fold_conditions(evaluate)).unless(TruthSet::NO)
                })
                .unwrap_or(TruthSet::NO),
            Self::Any(list) => list
                .iter()
                .try_fold(TruthSet::NO, |any, expr| {
                    any.or(expr.fold_conditions(evaluate)).unless(TruthSet::YES)
                })
                .unwrap_or(TruthSet::YES),
            Self::Not(inner) => inner.fold_conditions(evaluate).not(),
            Self::Condition(condition) => evaluate(condition),
        }
    }

    /// Returns true if some condition is about a text, the pid or the state.
    pub(super) fn uses_text(&self) -> bool {
        self.has(&mut |condition| !matches!(condition, Condition::Figure { .. }))
    }

    /// Returns true if some condition is evaluated on a group's processes rather than on its sums.
    pub(super) fn uses_processes(&self, process: &dyn Filterable) -> bool {
        self.has(&mut |condition| match condition {
            Condition::Figure { column, .. } => process.is_per_process(*column),
            _ => true,
        })
    }

    /// Returns true if the test holds for some condition. It stops at the first one.
    pub(super) fn has(&self, test: &mut impl FnMut(&Condition) -> bool) -> bool {
        match self {
            Self::All(list) | Self::Any(list) => list.iter().any(|expr| expr.has(test)),
            Self::Not(inner) => inner.has(test),
            Self::Condition(condition) => test(condition),
        }
    }
}

/// Minimum number of digits of a container's id. A shorter word is only searched for in its name.
const LEAST_OF_ID: usize = 4;

impl Condition {
    /// The texts that a bare word matches.
    const ANYWHERE: [TextField; 3] = [TextField::CommandLine, TextField::Comm, TextField::User];

    pub(super) fn text_fields(&self) -> &[TextField] {
        match self {
            Self::Anywhere(_) => &Self::ANYWHERE,
            Self::Pattern(_) => &Self::ANYWHERE[..2],
            Self::Text(field, _) => std::slice::from_ref(field),
            Self::User(_) => &[TextField::User],
            Self::State(_) => &[TextField::State],
            Self::Pid(_) | Self::Figure { .. } => &[],
        }
    }

    fn evaluate(&self, inputs: &Inputs<'_>) -> Option<bool> {
        match self {
            Self::Anywhere(part) => {
                let has_part = |field: &TextField| inputs.folded(*field).is_some_and(|text| text.contains(part));
                let is_pid = || {
                    part.parse()
                        .is_ok_and(|pid: u32| inputs.texts.and_then(Filterable::pid) == Some(pid))
                };
                Some(self.text_fields().iter().any(has_part) || is_pid())
            }
            Self::Pattern(pattern) => {
                let fits = |field: &TextField| inputs.lossy(*field).is_some_and(|text| pattern.is_match(&text));
                Some(self.text_fields().iter().any(fits))
            }
            Self::Text(field, condition) => {
                if let (TextField::Container, TextCondition::Contains(start)) = (field, condition)
                    && start.len() >= LEAST_OF_ID
                    && inputs
                        .raw(TextField::ContainerId)
                        .is_some_and(|id| id.starts_with(start.as_bytes()))
                {
                    return Some(true);
                }
                let answer = match condition {
                    TextCondition::Contains(part) => inputs.folded(*field).map(|text| text.contains(part)),
                    TextCondition::Pattern(pattern) => inputs.lossy(*field).map(|text| pattern.is_match(&text)),
                };
                answer.or_else(|| inputs.answer_for_missing(*field))
            }
            Self::User(user) => user.evaluate(inputs),
            Self::Pid(pids) => inputs.texts?.pid().map(|pid| pids.contains(&pid)),
            Self::State(states) => {
                let state = inputs.raw(TextField::State)?.first()?;
                Some(states.contains(state))
            }
            Self::Figure {
                column,
                comparison,
                bound,
            } => comparison.holds_for(inputs.figures(*column)?.number(*column), *bound),
        }
    }
}

impl UserCondition {
    fn evaluate(&self, inputs: &Inputs<'_>) -> Option<bool> {
        let name = inputs.folded(TextField::User);
        if name.is_some_and(|name| self.names.iter().any(|wanted| wanted == name)) {
            return Some(true);
        }
        let uid = self.uid_column.and_then(|column| inputs.texts?.number(column));
        let is = |wanted: &u32| uid.is_some_and(|uid| (f64::from(*wanted) - uid).abs() < 0.5);
        if self.uids.iter().any(is) {
            return Some(true);
        }
        // If the name is unknown, a known uid still answers a question about uids alone.
        let only_uids = self.uids.len() == self.names.len();
        (name.is_some() || only_uids && uid.is_some()).then_some(false)
    }
}

impl Comparison {
    fn holds_for(self, value: Option<f64>, bound: f64) -> Option<bool> {
        let value = value.filter(|x| !x.is_nan())?;
        // A value typed in tenths of a percent is not the same float as the measured one.
        let equal = (value - bound).abs() <= 1e-9 * value.abs().max(bound.abs());
        Some(match self {
            Self::Greater => value > bound,
            Self::AtLeast => value >= bound,
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::Equal => equal,
            Self::Unequal => !equal,
        })
    }
}

/// A set of truth values of Kleene's logic (yes, no, unknown): the possible answers while some inputs are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TruthSet(u8);

impl TruthSet {
    pub(super) const YES: Self = Self(1);
    const NO: Self = Self(2);
    const UNKNOWN: Self = Self(4);
    const ANY: Self = Self(7);

    const fn has(self, value: Self) -> bool {
        self.0 & value.0 != 0
    }

    pub(super) const fn may_be_yes(self) -> bool {
        self.has(Self::YES)
    }

    /// Returns the answer if it is certain; `None` if it is unknown or there are several.
    pub(super) fn known(self) -> Option<bool> {
        match self {
            Self::YES => Some(true),
            Self::NO => Some(false),
            _ => None,
        }
    }

    pub(super) const fn not(self) -> Self {
        let (yes, no) = (self.0 & Self::YES.0, self.0 & Self::NO.0);
        Self((self.0 & Self::UNKNOWN.0) | (yes << 1) | (no >> 1))
    }

    /// Combines every pair of values by Kleene's "and".
    pub(super) const fn and(self, other: Self) -> Self {
        let mut all = ((self.0 | other.0) & Self::NO.0) | (self.0 & other.0);
        // Unknown with yes is unknown, on either side.
        if (self.has(Self::UNKNOWN) && other.has(Self::YES)) || (self.has(Self::YES) && other.has(Self::UNKNOWN)) {
            all |= Self::UNKNOWN.0;
        }
        Self(all)
    }

    pub(super) const fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    /// Returns `None` if this is `end`, the value that ends an evaluation early.
    pub(super) fn unless(self, end: Self) -> Option<Self> {
        (self != end).then_some(self)
    }
}

impl From<Option<bool>> for TruthSet {
    fn from(answer: Option<bool>) -> Self {
        match answer {
            Some(true) => Self::YES,
            Some(false) => Self::NO,
            None => Self::UNKNOWN,
        }
    }
}
