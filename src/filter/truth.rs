//! Three-valued logic over sets of possible answers.

/// A set of the truth values of Kleene's logic, yes, no and unknown: those that an expression may have while some
/// of its inputs are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TruthSet(u8);

impl TruthSet {
    pub(super) const YES: Self = Self(1);
    pub(super) const NO: Self = Self(2);
    const UNKNOWN: Self = Self(4);
    /// Any of the three.
    pub(super) const ANY: Self = Self(7);

    const fn has(self, value: Self) -> bool {
        self.0 & value.0 != 0
    }

    /// Returns true if yes is possible.
    pub(super) const fn may_be_yes(self) -> bool {
        self.has(Self::YES)
    }

    /// Returns the answer if only one is possible; `None` if that is unknown or there are more.
    pub(super) fn known(self) -> Option<bool> {
        match self {
            Self::YES => Some(true),
            Self::NO => Some(false),
            _ => None,
        }
    }

    /// Negates each value; unknown stays unknown.
    pub(super) const fn not(self) -> Self {
        let (yes, no) = (self.0 & Self::YES.0, self.0 & Self::NO.0);
        Self((self.0 & Self::UNKNOWN.0) | (yes << 1) | (no >> 1))
    }

    /// Returns Kleene's "and" of every pair of values.
    pub(super) const fn and(self, other: Self) -> Self {
        let mut all = ((self.0 | other.0) & Self::NO.0) | (self.0 & other.0);
        // Unknown with yes is unknown, on either side.
        if (self.has(Self::UNKNOWN) && other.has(Self::YES)) || (self.has(Self::YES) && other.has(Self::UNKNOWN)) {
            all |= Self::UNKNOWN.0;
        }
        Self(all)
    }

    /// Returns Kleene's "or" of every pair of values.
    pub(super) const fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }

    /// Returns `None` for the value that ends an evaluation early.
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
