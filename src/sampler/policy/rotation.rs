//! Chooses when to reread the facts of a process: user, command line, cgroup.
//!
//! The kernel does not report that a process called `setuid`, overwrote its arguments or was moved to another cgroup. So all
//! facts are reread within a fixed time, evenly spread:
//!
//! | rows | read | shown, at an interval of 1 s |
//! | --- | --- | --- |
//! | in focus | every 1.5 s | within 3 s |
//! | others | every 8 s | within 10 s |
//! | the cgroup of others, of more than 2500 processes | every 16 s; 32 s from 5000, 64 s from 10 000 | within 66 s |
//! | new, or after an exec | also after 1 s and 3 s | |
//!
//! If the interval is longer than these times, everything is read in every tick. The reads take a tick at most;
//! [`Options::deadline`](crate::sampler::Options::deadline) covers one that returns later.
//!
//! # Cost
//! Measured on a machine with ten cgroup hierarchies, in µs of CPU time: `status` 15, `cgroup` 9, `cmdline` 8, a
//! glance 4, the owner of `/proc/<pid>` 0.6, the CPU clock of a process 0.35, its line in the list of its cgroup 0.2
//! to 0.4. Reading the first three of 10 000 processes would take 40 ms of every second, more than their glances. So
//! cheap signs are read first:
//!
//! - A process cannot change its user or its command line without running. Its CPU clock counts the nanoseconds of
//!   all its threads, so if the clock stands still there is nothing to read. (In `stat`, the same figure has a
//!   resolution of 10 ms, in which a title can be written a thousand times.)
//! - A process is moved to another cgroup from outside. It is then missing from the list of its former cgroup. One
//!   read of that list covers all members at once, and all lists are read in the same tick.
//!
//! For 10 000 idle processes, the lists take some 0.15 ms of every second in total, and for 1000 a tenth of a
//! millisecond. Each row in focus takes 6 µs. A tree whose pids are not zmtop's own, such as another machine's, has
//! neither sign: there, everything is read.

use std::time::Duration;

pub const PERIOD: Duration = Duration::from_secs(8);
/// Lines of cgroup lists read per second, at some 0.6 µs each including their processing. Processes are rarely moved,
/// and mostly while they are new. The time between two reads doubles while there are more lines, up to the longest.
const LINES_PER_SECOND: usize = 312;
const LONGEST_LIST_PERIOD: Duration = Duration::from_secs(64);
pub const FOCUS_PERIOD: Duration = Duration::from_millis(1500);
/// Ages at which new processes are also read, because they change most: a fork writes its title, a service drops its
/// privileges. A little less than 1 s and 3 s, which are whole ticks.
const YOUNG: [Duration; 2] = [Duration::from_millis(900), Duration::from_millis(2900)];

/// The time between the last tick and this one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// In nanoseconds on the monotonic clock.
    from: u64,
    to: u64,
}

impl Rotation {
    pub fn advance(&mut self, now: Duration) {
        let now = nanos(now);
        self.from = if self.to == 0 { now } else { self.to };
        self.to = now;
    }

    /// Returns true if the turn of `seed`, which comes once in every `period`, came since the last tick.
    pub const fn is_due(&self, seed: u64, period: Duration) -> bool {
        comes(seed, nanos(period), self.from, self.to)
    }

    /// Returns true if a process that is new since `born` must be read now because of its age.
    pub fn is_young(&self, born: Duration) -> bool {
        let passed = |age: Duration| (self.from..self.to).contains(&nanos(born + age).saturating_sub(1));
        YOUNG.into_iter().any(passed)
    }
}

/// Returns the time between two reads of all cgroup lists, with this number of processes in them. Each value is a
/// multiple of the one before, so that no read is missed when it changes.
pub fn list_period(processes: usize) -> Duration {
    let mut period = PERIOD;
    while period < LONGEST_LIST_PERIOD && processes as f64 > period.as_secs_f64() * LINES_PER_SECOND as f64 {
        period *= 2;
    }
    period
}

/// Returns true if the turn of `seed`, which comes once in every `period`, came after `from` and not after `to`.
pub const fn is_between(seed: u64, period: Duration, from: Duration, to: Duration) -> bool {
    comes(seed, nanos(period), nanos(from), nanos(to))
}

/// Returns a number from 0 to 1. The numbers of neighbouring seeds are far apart.
pub fn part(seed: u64) -> f64 {
    hash(seed) as f64 / u64::MAX as f64
}

const fn comes(seed: u64, period: u64, from: u64, to: u64) -> bool {
    let phase = hash(seed) % period;
    from.saturating_add(phase) / period != to.saturating_add(phase) / period
}

/// Knuth's multiplicative hash.
const fn hash(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

const fn nanos(time: Duration) -> u64 {
    // It wraps around after 584 years.
    time.as_nanos() as u64
}
