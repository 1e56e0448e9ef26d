//! What a filter may answer while part of the question is open.

/// A set of the answers yes, no and unknown: those that are possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answers(u8);

impl Answers {
    pub(super) const YES: Self = Self(1);
    pub(super) const NO: Self = Self(2);
    const UNKNOWN: Self = Self(4);
    /// Any of the three.
    pub(super) const ANY: Self = Self(7);

    const fn has(self, answer: Self) -> bool {
        self.0 & answer.0 != 0
    }

    /// Whether yes is possible.
    pub(super) const fn may_be_yes(self) -> bool {
        self.has(Self::YES)
    }

    /// The one answer, where only one is possible; unknown where more are.
    pub(super) fn settled(self) -> Option<bool> {
        match self {
            Self::YES => Some(true),
            Self::NO => Some(false),
            _ => None,
        }
    }

    /// The other way round; unknown stays unknown.
    pub(super) const fn not(self) -> Self {
        let (yes, no) = (self.0 & Self::YES.0, self.0 & Self::NO.0);
        Self((self.0 & Self::UNKNOWN.0) | (yes << 1) | (no >> 1))
    }

    /// Kleene's "and" of every pair.
    pub(super) const fn and(self, other: Self) -> Self {
        let mut all = ((self.0 | other.0) & Self::NO.0) | (self.0 & other.0);
        // Unknown with yes is unknown, on either side.
        if (self.has(Self::UNKNOWN) && other.has(Self::YES)) || (self.has(Self::YES) && other.has(Self::UNKNOWN)) {
            all |= Self::UNKNOWN.0;
        }
        Self(all)
    }

    /// Kleene's "or" of every pair.
    pub(super) const fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    /// Itself, unless it is settled as that answer.
    pub(super) fn unless(self, settled: Self) -> Option<Self> {
        (self != settled).then_some(self)
    }
}

impl From<Option<bool>> for Answers {
    fn from(answer: Option<bool>) -> Self {
        match answer {
            Some(true) => Self::YES,
            Some(false) => Self::NO,
            None => Self::UNKNOWN,
        }
    }
}
