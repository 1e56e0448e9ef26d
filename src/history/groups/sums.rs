//! The sums of one group in one snapshot.

use std::time::Duration;

use crate::history::figures::{MemorySample, Rates};

/// The sums of one group in one snapshot.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupSums {
    pub(super) members: u32,
    /// Members whose memory is known.
    pub(super) known: u32,
    /// Members that the group began with and that wait for their first walk.
    pub(super) waiting: u32,
    /// The start of the oldest member.
    pub(super) started_at: Option<Duration>,
    /// The number of members with that start that left.
    pub(super) starts_lost: u32,
    /// The sums of [`MemorySample::figures`]: wide enough that what was added can be subtracted.
    pub(super) memory: [u128; MemorySample::COUNT],
    /// The rates of the members that were pushed in this snapshot; those of the others are 0.
    pub(super) rates: Rates,
    pub(super) pushed: u32,
    /// A member was added or subtracted in this snapshot.
    pub(super) is_touched: bool,
}

impl GroupSums {
    /// Takes the start of a member into account.
    pub(super) fn add_start(&mut self, started_at: Option<Duration>) {
        self.started_at = match (self.started_at, started_at) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }

    /// Returns the rates of all members.
    pub(super) fn all_rates(&self) -> Rates {
        let mut rates = self.rates;
        if self.pushed < self.members {
            rates.add(&Rates::RESTING);
        }
        rates
    }
}
