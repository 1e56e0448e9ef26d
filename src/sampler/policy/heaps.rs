//! When the heap of a process is read, for the memory that `malloc` keeps free in it.

use std::collections::BTreeMap;
use std::time::Duration;

/// Minimum time between two reads of a heap.
pub const INTERVAL: Duration = Duration::from_secs(30);
/// The share of a core that all reads together may use.
const SHARE: f64 = 1.0 / 500.0;
/// Processor time that is saved for many reads at once, as at the start: 250 usual ones of 2 ms.
const BURST: f64 = 0.5;
/// Expected time of the first read of a program. Most take less, but few of those that take longer begin at once.
const FIRST: Duration = Duration::from_millis(10);
/// Maximum number of first reads at once. Each may take much longer than expected, which is a debt of all others.
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

/// The processor time of all reads: a token bucket. A process may call itself new as often as it likes, so a first read is expected to
/// take as long as the slowest one of the same user.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Seconds that are taken out of the full bucket.
    taken: f64,
    at: Duration,
    /// First reads under way.
    first: u32,
    users: BTreeMap<u32, User>,
}

#[derive(Clone, Copy, Debug, Default)]
struct User {
    /// Seconds that its reads took, less its share since then.
    spent: f64,
    slowest: Duration,
    at: Duration,
}

impl Budget {
    /// Reserves the time of a read of a user's process, which took `known` the last time; returns `None` if the read must wait. Calls must
    /// come in order of time.
    pub fn reserve(&mut self, now: Duration, user: u32, known: Option<Duration>) -> Option<Read> {
        let saved = now.saturating_sub(self.at).as_secs_f64() * SHARE;
        self.at = now;
        self.taken = (self.taken - saved).max(0.0);
        for user in self.users.values_mut() {
            user.spent = (user.spent - saved).max(0.0);
        }
        self.users.retain(|_, user| now.saturating_sub(user.at) < MEMORY);
        let is_first = known.is_none();
        if self.taken >= BURST || is_first && self.first >= FIRST_AT_ONCE {
            return None;
        }
        let slowest = || self.users.get(&user).map_or(FIRST, |user| user.slowest.max(FIRST));
        let expected = known.unwrap_or_else(slowest);
        self.taken += expected.as_secs_f64();
        self.first += u32::from(is_first);
        Some(Read {
            user,
            is_first,
            expected,
        })
    }

    /// Charges the actual time of a read in place of the expected one.
    pub fn settle(&mut self, read: Read, took: Duration) {
        self.taken += took.as_secs_f64() - read.expected.as_secs_f64();
        self.first -= u32::from(read.is_first);
        let user = self.users.entry(read.user).or_default();
        user.spent += took.as_secs_f64();
        if took >= user.slowest {
            (user.slowest, user.at) = (took, self.at);
        }
    }

    /// Returns the seconds that recent reads of a user's processes took. Of the processes that wait, those of the user with the least
    /// come first.
    pub fn spent(&self, user: u32) -> f64 {
        self.users.get(&user).map_or(0.0, |user| user.spent)
    }
}
