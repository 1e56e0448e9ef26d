//! What processes do to one another's PSS.
//!
//! A shared page is divided by its sharers, so a process's PSS changes when another maps or drops the same
//! page, without a sign of its own. Who shares with whom cannot be seen without a walk; but how much there is
//! to share can: the shared part of a PSS, `PSS − USS`, is what its owner's coming or going takes from or
//! leaves to all its sharers together. Those amounts are heard by every process; what of them has reached its
//! own PSS is learnt when it is walked.

use std::time::Duration;

use crate::model::{Memory, Walk};

/// Something that may change the PSS of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Event {
    bytes: u64,
    /// When it was seen; for an end, when its process was first walked.
    at: Duration,
    end: bool,
}

impl Event {
    /// Whether it is worth telling: a page or so is not.
    pub(super) const fn matters(&self) -> bool {
        self.bytes >= 16 << 10
    }
}

/// What a process heard since its last walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sharing {
    heard: i64,
    /// How much of what was heard has reached it of late, 0 to 1.
    reach: f32,
    first: Option<Duration>,
}

impl Default for Sharing {
    fn default() -> Self {
        Self {
            heard: 0,
            reach: FIRST_REACH,
            first: None,
        }
    }
}

/// What is taken to reach a process of which nothing is known: it has one sharer in ten.
const FIRST_REACH: f32 = 0.1;
/// That anything reaches it is never quite ruled out.
const LEAST_REACH: f32 = 0.001;
/// How much of what was known before stays, where less has come: churn that touches nothing but the pages
/// everyone shares is soon known for it.
const KEEP: f32 = 0.1;

fn part(memory: &Memory) -> u64 {
    memory.pss.saturating_sub(memory.uss())
}

fn signed(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

impl Sharing {
    /// Its own walk: learns how much of what was heard was true of it, if it did nothing itself; what the walk
    /// tells others. What was there at the `first` look at the machine came as no news to anyone.
    pub(super) fn walked(&mut self, before: Option<Walk>, now: &Walk, quiet: bool, first: bool) -> Event {
        let heard = std::mem::take(&mut self.heard).unsigned_abs();
        if let Some(before) = before.filter(|_| quiet && heard > 0) {
            let came = before.memory.pss.abs_diff(now.memory.pss) as f32 / heard as f32;
            self.reach = (2.0 * came).min(1.0).max(self.reach * KEEP).max(LEAST_REACH);
        }
        self.first.get_or_insert(if first { Duration::ZERO } else { now.at });
        let then = before.map_or(if first { part(&now.memory) } else { 0 }, |w| part(&w.memory));
        Event {
            bytes: part(&now.memory).abs_diff(then),
            at: now.at,
            end: false,
        }
    }

    /// What its end leaves to others; nothing if it was never walked, for then its coming was not heard either.
    pub(super) fn left(&self, memory: &Memory) -> Option<Event> {
        self.first.map(|at| Event {
            bytes: part(memory),
            at,
            end: true,
        })
    }

    /// Hears of another. One that came and went since the last walk has changed nothing.
    pub(super) fn hear(&mut self, event: &Event, walked: Duration) {
        let bytes = signed(event.bytes);
        if event.end && event.at > walked {
            self.heard = self.heard.saturating_sub(bytes).max(0);
        } else if event.end || event.at > walked {
            self.heard = self.heard.saturating_add(bytes);
        }
    }

    /// How many bytes of its PSS others may have changed, of the `shared` ones it has.
    pub(super) fn feared(&self, shared: u64) -> u64 {
        let heard = self.heard.unsigned_abs() as f64 * f64::from(self.reach);
        (heard as u64).min(shared)
    }
}
