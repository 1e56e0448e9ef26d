//! The per-process settings that zmtop can change.

use std::ops::RangeInclusive;

use crate::act::ActError;

/// A setting of a process. [`Pinned`](super::Pinned) reads and writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tunable {
    /// `oom_score_adj`: an offset, in thousandths of the memory, to the score by which the kernel chooses its victim
    /// when memory runs out. At −1000 the process is never chosen. Lowering it below the value it was last raised to
    /// requires `CAP_SYS_RESOURCE`.
    OomScoreAdj,
    /// The niceness of all threads.
    Nice,
}

/// The entry of a tunable: all its texts and limits in one place.
#[derive(Debug)]
pub struct TunableSpec {
    /// The name in messages and in front of the input line.
    pub name: &'static str,
    /// The values that the kernel accepts.
    pub range: RangeInclusive<i32>,
    /// The title of the dialog.
    pub title: &'static str,
    /// The meaning of the lowest and the highest value.
    pub hint: &'static str,
}

impl Tunable {
    /// Every tunable, in the order of declaration.
    pub const ALL: [Self; 2] = [Self::OomScoreAdj, Self::Nice];

    pub const fn spec(self) -> TunableSpec {
        match self {
            Self::OomScoreAdj => TunableSpec {
                name: "oom_score_adj",
                range: -1000..=1000,
                title: " Set oom_score_adj ",
                hint: "-1000 (never ended when memory runs out) to 1000 (first)",
            },
            Self::Nice => TunableSpec {
                name: "nice",
                range: -20..=19,
                title: " Set the niceness ",
                hint: "-20 (before all others) to 19 (after them)",
            },
        }
    }

    /// Checks that the kernel accepts a value.
    ///
    /// # Errors
    /// The value is out of range.
    pub fn check(self, value: i32) -> Result<(), ActError> {
        let range = self.spec().range;
        if range.contains(&value) {
            Ok(())
        } else {
            Err(ActError::OutOfRange(value, *range.start(), *range.end()))
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunableValues([Result<i32, ActError>; Tunable::ALL.len()]);

impl TunableValues {
    /// Reads every tunable with `read`.
    pub fn new(read: impl FnMut(Tunable) -> Result<i32, ActError>) -> Self {
        Self(Tunable::ALL.map(read))
    }

    /// Returns the value of one tunable.
    pub const fn get(&self, tunable: Tunable) -> Result<i32, ActError> {
        self.0[tunable as usize]
    }
}
