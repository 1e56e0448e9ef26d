//! Asking a subject.

use std::borrow::Cow;
use std::cell::OnceCell;

use regex::Regex;

use crate::filter::answers::Answers;
use crate::filter::lexer::Compare;
use crate::filter::{Subject, Word};

/// A tree of tests. An answer is yes, no, or unknown, as in Kleene's logic.
#[derive(Clone, Debug)]
pub(super) enum Expr {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Test(Test),
}

/// One question.
#[derive(Clone, Debug)]
pub(super) enum Test {
    /// A folded part of command line, comm or user.
    Anywhere(String),
    /// A pattern on command line or comm.
    Pattern(Regex),
    Text(Word, TextTest),
    User(UserTest),
    Pid(Vec<u32>),
    State(Vec<u8>),
    Figure {
        column: usize,
        compare: Compare,
        bound: f64,
    },
}

#[derive(Clone, Debug)]
pub(super) enum TextTest {
    /// A folded part.
    Part(String),
    Pattern(Regex),
}

/// Whole names, folded, or uids.
#[derive(Clone, Debug)]
pub(super) struct UserTest {
    pub(super) names: Vec<String>,
    pub(super) uids: Vec<u32>,
    pub(super) uid_column: Option<usize>,
}

/// Text in the form that comparisons are made in: lower case, character by character, so that a part of a
/// text folds to a part of the folded text.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let sigma = |c| if c == 'ς' { 'σ' } else { c };
    text.chars().flat_map(char::to_lowercase).map(sigma).collect()
}

/// One subject under several tests: no word is fetched or folded twice.
pub(super) struct Look<'a> {
    /// Who is asked for words; `None` where they may be anything.
    words: Option<&'a dyn Subject>,
    /// Who is asked for figures that are no process's name; `None` where they may be anything.
    figures: Option<&'a dyn Subject>,
    raw: [OnceCell<Option<Cow<'a, [u8]>>>; WORDS],
    folded: [OnceCell<Option<String>>; WORDS],
}

const WORDS: usize = Word::State as usize + 1;

impl<'a> Look<'a> {
    pub(super) fn new(words: Option<&'a dyn Subject>, figures: Option<&'a dyn Subject>) -> Self {
        Self {
            words,
            figures,
            raw: Default::default(),
            folded: Default::default(),
        }
    }

    fn raw(&self, word: Word) -> Option<&[u8]> {
        self.raw[word as usize]
            .get_or_init(|| self.words.and_then(|subject| subject.word(word)))
            .as_deref()
    }

    /// Who is asked for a figure: one that names a process is asked of the process.
    fn figure(&self, column: usize) -> Option<&'a dyn Subject> {
        match self.words {
            Some(words) if words.names(column) => Some(words),
            _ => self.figures,
        }
    }

    /// Bytes that are no UTF-8 count as one unknown character each.
    fn lossy(&self, word: Word) -> Option<Cow<'_, str>> {
        self.raw(word).map(String::from_utf8_lossy)
    }

    fn folded(&self, word: Word) -> Option<&str> {
        self.folded[word as usize]
            .get_or_init(|| self.lossy(word).map(|text| fold(&text)))
            .as_deref()
    }

    /// What it means that there is no such word: not known, or that the process has none.
    fn absent(&self, word: Word) -> Option<bool> {
        match word {
            // These are taken from the cgroup path; most processes are in no container.
            Word::Unit | Word::Container => self.raw(Word::Cgroup).map(|_| false),
            Word::Replaced => self.raw(Word::Exe).map(|_| false),
            // What has a state is a process, and one that could be read has no reason.
            Word::Unread => self.raw(Word::State).map(|_| false),
            Word::Command | Word::Name | Word::User | Word::Cgroup | Word::Group | Word::Exe | Word::State => None,
        }
    }
}

impl Expr {
    pub(super) fn all(mut list: Vec<Self>) -> Self {
        if list.len() == 1 {
            list.remove(0)
        } else {
            // A figure is compared sooner than a word is fetched and folded; the answer is the same.
            list.sort_by_key(Self::asks_words);
            Self::All(list)
        }
    }

    pub(super) fn any(mut list: Vec<Self>) -> Self {
        if list.len() == 1 {
            list.remove(0)
        } else {
            list.sort_by_key(Self::asks_words);
            Self::Any(list)
        }
    }

    /// Every answer that is possible.
    pub(super) fn ask(&self, look: &Look<'_>) -> Answers {
        self.weigh(&|test| match test.kind() {
            Kind::Word if look.words.is_none() => Answers::ANY,
            Kind::Figure(column) if look.figure(column).is_none() => Answers::ANY,
            Kind::Word | Kind::Figure(_) => test.ask(look).into(),
        })
    }

    /// The answer of one who is asked for figures only, without the cost of keeping words; a word is unknown.
    pub(super) fn ask_figures(&self, subject: &dyn Subject) -> Answers {
        self.weigh(&|test| match test {
            Test::Figure { column, compare, bound } => {
                let value = subject.number(*column).filter(|x| !x.is_nan());
                value.map(|value| compare.holds(value, *bound)).into()
            }
            _ => None.into(),
        })
    }

    /// Puts the tests' answers together.
    fn weigh(&self, test: &impl Fn(&Test) -> Answers) -> Answers {
        match self {
            Self::All(list) => list
                .iter()
                .try_fold(Answers::YES, |all, expr| all.and(expr.weigh(test)).unless(Answers::NO))
                .unwrap_or(Answers::NO),
            Self::Any(list) => list
                .iter()
                .try_fold(Answers::NO, |any, expr| any.or(expr.weigh(test)).unless(Answers::YES))
                .unwrap_or(Answers::YES),
            Self::Not(inner) => inner.weigh(test).not(),
            Self::Test(one) => test(one),
        }
    }

    /// Whether any of it is asked of words.
    pub(super) fn asks_words(&self) -> bool {
        let mut words = false;
        self.each(&mut |test| words |= !matches!(test, Test::Figure { .. }));
        words
    }

    /// Calls `each` with every test.
    pub(super) fn each(&self, each: &mut impl FnMut(&Test)) {
        match self {
            Self::All(list) | Self::Any(list) => list.iter().for_each(|expr| expr.each(each)),
            Self::Not(inner) => inner.each(each),
            Self::Test(test) => each(test),
        }
    }

    /// Whether any of it is asked of a group's processes rather than of its sums.
    pub(super) fn asks_processes(&self, process: &dyn Subject) -> bool {
        match self {
            Self::All(list) | Self::Any(list) => list.iter().any(|expr| expr.asks_processes(process)),
            Self::Not(inner) => inner.asks_processes(process),
            Self::Test(test) => match test.kind() {
                Kind::Word => true,
                Kind::Figure(column) => process.names(column),
            },
        }
    }
}

/// Who a test is put to.
enum Kind {
    Word,
    Figure(usize),
}

impl Test {
    const fn kind(&self) -> Kind {
        match self {
            Self::Figure { column, .. } => Kind::Figure(*column),
            Self::Anywhere(_) | Self::Pattern(_) | Self::Text(..) | Self::User(_) | Self::Pid(_) | Self::State(_) => {
                Kind::Word
            }
        }
    }

    fn ask(&self, look: &Look<'_>) -> Option<bool> {
        match self {
            Self::Anywhere(part) => Some(
                [Word::Command, Word::Name, Word::User]
                    .into_iter()
                    .any(|word| look.folded(word).is_some_and(|text| text.contains(part))),
            ),
            Self::Pattern(pattern) => Some(
                [Word::Command, Word::Name]
                    .into_iter()
                    .any(|word| look.lossy(word).is_some_and(|text| pattern.is_match(&text))),
            ),
            Self::Text(word, TextTest::Part(part)) => match look.folded(*word) {
                Some(text) => Some(text.contains(part)),
                None => look.absent(*word),
            },
            Self::Text(word, TextTest::Pattern(pattern)) => match look.lossy(*word) {
                Some(text) => Some(pattern.is_match(&text)),
                None => look.absent(*word),
            },
            Self::User(user) => user.ask(look),
            Self::Pid(pids) => look.words?.pid().map(|pid| pids.contains(&pid)),
            Self::State(states) => {
                let state = *look.raw(Word::State)?.first()?;
                Some(states.contains(&state))
            }
            Self::Figure { column, compare, bound } => {
                let value = look.figure(*column)?.number(*column).filter(|x| !x.is_nan())?;
                Some(compare.holds(value, *bound))
            }
        }
    }
}

impl UserTest {
    fn ask(&self, look: &Look<'_>) -> Option<bool> {
        let name = look.folded(Word::User);
        if name.is_some_and(|name| self.names.iter().any(|wanted| wanted == name)) {
            return Some(true);
        }
        let uid = self.uid_column.and_then(|column| look.words?.number(column));
        let is = |wanted: &u32| uid.is_some_and(|uid| (f64::from(*wanted) - uid).abs() < 0.5);
        if self.uids.iter().any(is) {
            return Some(true);
        }
        // Where the name is hidden, a uid that is known still answers for uids.
        let only_uids = self.uids.len() == self.names.len();
        (name.is_some() || only_uids && uid.is_some()).then_some(false)
    }
}

impl Compare {
    fn holds(self, value: f64, bound: f64) -> bool {
        // A figure typed in tenths of a percent is not the same float as the one measured.
        let equal = (value - bound).abs() <= 1e-9 * value.abs().max(bound.abs());
        match self {
            Self::Greater => value > bound,
            Self::AtLeast => value >= bound,
            Self::Less => value < bound,
            Self::AtMost => value <= bound,
            Self::Equal => equal,
            Self::Unequal => !equal,
        }
    }
}
