//! When the heap of a process is read, for the memory that `malloc` keeps free in it.

use std::collections::BTreeMap;
use std::time::Duration;

/// Minimum time between two reads of a heap.
pub const INTERVAL: Duration = Duration::from_secs(30);
/// The share of a core that all reads together may use.
const SHARE: f64 = 1.0 / 500.0;
/// CPU time in seconds that a burst of reads may use, as at the start: 250 typical reads of 2 ms each.
const BURST: f64 = 0.5;
/// The debt in seconds that the reads of one user can leave to all others, who then wait for four minutes. The rest delays the user alone.
const MAX_DEBT: f64 = 0.5;
/// Expected time of the first read of a program. Most take less. [`FIRST_AT_ONCE`] limits the effect of those that take longer.
const FIRST: Duration = Duration::from_millis(10);
/// Maximum number of concurrent first reads. If one takes longer than expected, all reads are delayed.
const FIRST_AT_ONCE: u32 = 4;
/// Time for which the cost of a user's slowest read is remembered.
const MEMORY: Duration = Duration::from_secs(3600);

/// Returns true if a heap that was last read that long ago is wanted again. `is_active` is true if its process has run or faulted
/// since then.
pub fn is_due(age: Duration, is_active: bool) -> bool {
    is_active && age >= INTERVAL
}

/// A read that may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    user: u32,
    is_first: bool,
    pub expected: Duration,
}

/// The processor time of all reads: a token bucket. A process can always appear as a new one. So a first read is expected to take
/// as long as the slowest recent read of the same user, and at least `FIRST`.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Seconds by which the bucket is below full.
    taken: f64,
    at: Duration,
    /// First reads under way.
    first: u32,
    users: BTreeMap<u32, User>,
}

#[derive(Clone, Copy, Debug, Default)]
struct User {
    /// Seconds that its reads took, minus the full allowance ([`SHARE`]) since then; at least 0.
    spent: f64,
    slowest: Duration,
    at: Duration,
}

impl Budget {
    /// Reserves the time of a read of a user's process, which took `known` the last time; returns `None` if the read must wait. Calls must
    /// come in order of time.
    pub fn reserve(&mut self, now: Duration, user: u32, known: Option<Duration>) -> Option<Read> {
        self.refill(now);
        let is_first = known.is_none();
        if self.taken.max(self.spent(user)) >= BURST || is_first && self.first >= FIRST_AT_ONCE {
            return None;
        }
        let slowest = || self.users.get(&user).map_or(FIRST, |user| user.slowest.max(FIRST));
        let expected = known.unwrap_or_else(slowest);
        self.taken += expected.as_secs_f64();
        self.users.entry(user).or_default().spent += expected.as_secs_f64();
        self.first += u32::from(is_first);
        Some(Read {
            user,
            is_first,
            expected,
        })
    }

    fn refill(&mut self, now: Duration) {
        if now == self.at {
            return;
        }
        let saved = now.saturating_sub(self.at).as_secs_f64() * SHARE;
        self.at = now;
        self.taken = (self.taken - saved).max(0.0);
        for user in self.users.values_mut() {
            user.spent = (user.spent - saved).max(0.0);
            if now.saturating_sub(user.at) >= MEMORY {
                user.slowest = Duration::ZERO;
            }
        }
        self.users.retain(|_, user| user.spent > 0.0 || !user.slowest.is_zero());
    }

    /// Charges the actual time of a read in place of the expected one.
    pub fn settle(&mut self, read: Read, took: Duration) {
        let taken = self.taken + took.as_secs_f64() - read.expected.as_secs_f64();
        self.taken = taken.min(BURST + MAX_DEBT);
        self.first -= u32::from(read.is_first);
        let user = self.users.entry(read.user).or_default();
        user.spent = (user.spent + took.as_secs_f64() - read.expected.as_secs_f64()).max(0.0);
        if took >= user.slowest {
            (user.slowest, user.at) = (took, self.at);
        }
    }

    /// Returns the seconds that recent reads of a user's processes took. The caller must start the waiting reads of the user with the
    /// lowest value first.
    pub fn spent(&self, user: u32) -> f64 {
        self.users.get(&user).map_or(0.0, |user| user.spent)
    }
}
