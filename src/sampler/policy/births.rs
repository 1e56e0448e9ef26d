//! Decides which part of the process list to read, so that the cost depends on the number of births, not of
//! processes.
//!
//! Pure. Each tick reads the last allocated pid and the number of tasks. The kernel allocates pids in ascending
//! order, so a new process has a pid between the last one then and now. Only these pids are
//! [listed](crate::proc::pids::within), and again in the next tick, because a pid is allocated a moment before its
//! process becomes visible. The whole list is read
//!
//! - twice at the start, and twice after the pids have wrapped around;
//! - if the signs or the list could not be read, or the directory has no
//!   [positions](crate::proc::pids::PidList::base);
//! - if there are more tasks although no pid was allocated in order: one was chosen (`clone3` with `set_tid`);
//! - in any case after [30 to 120 s](list_holds), because both may coincide.
//!
//! [Glances](super::activity) find the processes that ended, and so does a list that should contain them but does
//! not. A known pid may have been reused only if allocation has passed it since: [`may_be_reused`] returns which pids
//! to check for this reason. If a pid was reused out of order, the new process has another CPU time, and is glanced
//! at when its clock is read. A row is always made from a `stat` whose start time is compared.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The shortest and the longest time for which a whole list is valid, and the processes listed per second between
/// these limits: a ten-thousandth of a core.
const LIST_HOLDS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(120)];
const LISTED_PER_SECOND: usize = 80;
/// Minimum time between two whole lists because of tasks without a pid in order. In a pid namespace, these tasks may
/// be outside of it.
const CHOSEN_PAUSE: Duration = Duration::from_secs(8);

/// The signs of births and ends: the last two fields of `loadavg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    /// The last pid allocated in this pid namespace.
    pub last_pid: u64,
    /// The number of tasks of the machine.
    pub tasks: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    Nothing,
    /// The pids that may have been allocated, in a directory with this [base](crate::proc::pids::PidList::base).
    Born(RangeInclusive<u32>, u64),
    All,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Births {
    /// The last signs, and those before.
    pub last: Option<Signs>,
    earlier: Option<Signs>,
    /// When the whole list was last read, or `None` if a list has failed since; and its base.
    listed_at: Option<Duration>,
    base: Option<u64>,
}

impl Births {
    /// Returns what to list at `now`, with these signs and `known` processes in the table.
    pub fn listing(&self, now: Duration, known: usize, signs: Option<Signs>) -> Listing {
        let (Some(earlier), Some(before), Some(signs)) = (self.earlier, self.last, signs) else {
            return Listing::All;
        };
        let age = self.listed_at.map_or(Duration::MAX, |at| now.saturating_sub(at));
        let has_begun_anew = signs.last_pid < before.last_pid || before.last_pid < earlier.last_pid;
        if age >= list_holds(known) || has_begun_anew {
            return Listing::All;
        }
        if signs.last_pid > earlier.last_pid {
            let pid = |pid: u64| u32::try_from(pid).ok();
            let range = pid(earlier.last_pid + 1).zip(pid(signs.last_pid)).zip(self.base);
            return range.map_or(Listing::All, |((from, to), base)| Listing::Born(from..=to, base));
        }
        if signs.tasks > before.tasks && age >= CHOSEN_PAUSE {
            return Listing::All;
        }
        Listing::Nothing
    }

    /// Records that a list could not be read.
    pub const fn failed(&mut self) {
        self.listed_at = None;
    }

    /// Records the signs of `now`; `whole` is the base of the list if it was read whole. Returns the last pids before
    /// and now.
    pub fn listed(&mut self, now: Duration, signs: Option<Signs>, whole: Option<Option<u64>>) -> Option<(u64, u64)> {
        self.earlier = std::mem::replace(&mut self.last, signs);
        if let Some(base) = whole {
            (self.listed_at, self.base) = (Some(now), base);
        }
        let passed = self.earlier.zip(signs);
        passed.map(|(before, now)| (before.last_pid, now.last_pid))
    }
}

/// Returns the time for which a whole list of `count` processes is valid.
pub fn list_holds(count: usize) -> Duration {
    let time = Duration::from_secs_f64(count as f64 / LISTED_PER_SECOND as f64);
    time.clamp(LIST_HOLDS[0], LIST_HOLDS[1])
}

/// Returns true if `pid` may have been allocated again while the last pid went from `before` to `after`. The kernel
/// allocates pids in ascending order, and wraps around at the end.
pub const fn may_be_reused(pid: u64, before: u64, after: u64) -> bool {
    if before <= after {
        before < pid && pid <= after
    } else {
        before < pid || pid <= after
    }
}
