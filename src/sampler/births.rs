//! Decides what is to be listed of the processes, so that births cost what was born, not what exists.
//!
//! Pure. Each tick reads the pid that was given out last and the number of tasks. The kernel gives pids out in turn, so
//! that who came since has one of those between the last pid then and now: only these are
//! [listed](crate::proc::pids::within), and again in the tick after, as a pid is given out a moment before its process can
//! be seen. The whole list is read
//!
//! - twice at first, and twice when pids have come to their end and begin anew;
//! - where the signs or the list could not be read, or the directory has no [positions](crate::proc::pids::PidList::base);
//! - when there are more tasks though no pid was given out in turn: one was chosen (`clone3` with `set_tid`);
//! - in any case after [30 to 120 s](list_holds), as both of that may fall together.
//!
//! Who ended is found by the [glances](super::activity), and left out where it is on no list that would tell of it. A pid
//! that is known may have been given to another process only if those given out have passed it: [`may_be_reused`] tells
//! which are glanced at for that. One given out of turn has another CPU time than the one before, and is glanced at when it
//! is asked. A row is always made of a `stat` whose start time is compared.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The shortest and the longest time that a whole list holds, and processes listed in a second between the two: a
/// ten-thousandth of a core.
const LIST_HOLDS: [Duration; 2] = [Duration::from_secs(30), Duration::from_secs(120)];
const LISTED_PER_SECOND: usize = 80;
/// Time between two whole lists for tasks without a pid in turn: in a pid namespace these may be anybody's.
const CHOSEN_PAUSE: Duration = Duration::from_secs(8);

/// The signs of births and ends: the last two fields of `loadavg`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    /// The pid given out last in this pid namespace.
    pub last_pid: u64,
    /// The tasks of the machine.
    pub tasks: u64,
}

/// The part of the list of processes to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listing {
    /// None: nobody came.
    Nothing,
    /// The pids that may have been given out, in a directory with this [base](crate::proc::pids::PidList::base).
    Born(RangeInclusive<u32>, u64),
    /// All of it.
    All,
}

/// The signs read, and what is known of the list.
#[derive(Clone, Copy, Debug, Default)]
pub struct Births {
    /// The signs read last, and those read before.
    last: Option<Signs>,
    earlier: Option<Signs>,
    /// When the whole list was read last, unless a list has failed since, and its base.
    listed_at: Option<Duration>,
    base: Option<u64>,
}

impl Births {
    /// Returns the signs read last.
    pub const fn signs(&self) -> Option<Signs> {
        self.last
    }

    /// Returns what is to be listed at `now`, when the signs are these and `known` processes are known.
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

    /// Takes in that a list could not be read.
    pub const fn failed(&mut self) {
        self.listed_at = None;
    }

    /// Takes in the signs of `now`; `whole` is the base of the list, where that was read whole. Returns the last pids before
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

/// Returns the time that a whole list of `count` processes holds.
pub fn list_holds(count: usize) -> Duration {
    let time = Duration::from_secs_f64(count as f64 / LISTED_PER_SECOND as f64);
    time.clamp(LIST_HOLDS[0], LIST_HOLDS[1])
}

/// Returns true if `pid` may have been given to another process while the pid given out last went from `before` to
/// `after`. The kernel gives them out in turn, and begins anew when it has come to the end.
pub const fn may_be_reused(pid: u64, before: u64, after: u64) -> bool {
    if before <= after {
        before < pid && pid <= after
    } else {
        before < pid || pid <= after
    }
}
