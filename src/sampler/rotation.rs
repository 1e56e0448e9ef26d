//! Chooses when the facts of a process are compared with those known: user, command line, cgroup.
//!
//! Nothing tells that a process called `setuid`, wrote over its arguments or was moved to another cgroup. So
//! everything is looked at again before a time is up, evenly spread:
//!
//! | rows | looked at | on a snapshot, at an interval of 1 s |
//! | --- | --- | --- |
//! | in focus | every 1.5 s | within 3 s |
//! | others | every 8 s | within 10 s |
//! | the cgroup of others, of more than 2500 processes | every 16 s; 32 s from 5000, 64 s from 10 000 | within 66 s |
//! | new, or another program | 1 s and 3 s later as well | |
//!
//! An interval longer than these times looks at everything in every tick. The reads of one look take a tick at most; one
//! that returns later is [`super::Options::deadline`]'s matter.
//!
//! # Cost
//! Measured on a machine with ten cgroup hierarchies, in µs of CPU time: `status` 15, `cgroup` 9, `cmdline` 8, a
//! glance 4, the owner of `/proc/<pid>` 0.6, the CPU clock of a process 0.35, its line in the list of its cgroup
//! 0.2 to 0.4. To read the first three of 10 000 processes would take 40 ms of every second, more than their
//! glances. So the cheap ones are asked first:
//!
//! - No process changes its user or its command line without running. Its CPU clock counts the nanoseconds of all its
//!   threads, so where that stands still there is nothing to read. (In `stat` the same figure has a
//!   resolution of 10 ms, in which a title is written a thousand times.)
//! - To another cgroup it is moved from outside. It is then missing in the list of its former one. One read of
//!   that list tells of all members at once, and all lists are read in the same tick.
//!
//! Of 10 000 idle processes the lists take some 0.15 ms of every second with all that is around them, of 1 000 a tenth of
//! a millisecond; of each row in focus 6 µs. A tree whose pids are not zmtop's own, such as another machine's, has neither sign:
//! there everything is read.

use std::time::Duration;

/// Time between two looks at a process.
pub const PERIOD: Duration = Duration::from_secs(8);
/// Lines of the lists of cgroups read in a second, at some 0.6 µs each with what is done about them: to move a process is
/// rare, and mostly done when it is new. The time between two reads is doubled while they are more, up to the longest.
const LINES_PER_SECOND: usize = 312;
const LONGEST_LIST_PERIOD: Duration = Duration::from_secs(64);
/// Time between two looks at a process whose row somebody looks at.
pub const FOCUS_PERIOD: Duration = Duration::from_millis(1500);
/// Times after which new processes are looked at, for they change most: a fork writes its title, a service drops
/// its rights. A little less than 1 s and 3 s, which are whole ticks.
const YOUNG: [Duration; 2] = [Duration::from_millis(900), Duration::from_millis(2900)];

/// The time between the last tick and this one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// In nanoseconds on the monotonic clock.
    from: u64,
    to: u64,
}

impl Rotation {
    /// Goes on to the tick at `now`.
    pub fn advance(&mut self, now: Duration) {
        let now = nanos(now);
        self.from = if self.to == 0 { now } else { self.to };
        self.to = now;
    }

    /// Returns true if the turn of `seed`, which comes once in every `period`, came since the last tick.
    pub const fn is_due(&self, seed: u64, period: Duration) -> bool {
        comes(seed, nanos(period), self.from, self.to)
    }

    /// Returns true if a process that is new since `born` is to be looked at for that reason.
    pub fn is_young(&self, born: Duration) -> bool {
        let passed = |age: Duration| (self.from..self.to).contains(&nanos(born + age).saturating_sub(1));
        YOUNG.into_iter().any(passed)
    }
}

/// Returns the time between two reads of the lists of all cgroups, with so many processes in them. Each is a multiple of the
/// one before, so that no read is missed when it changes.
pub fn list_period(processes: usize) -> Duration {
    let mut period = PERIOD;
    while period < LONGEST_LIST_PERIOD && processes as f64 > period.as_secs_f64() * LINES_PER_SECOND as f64 {
        period *= 2;
    }
    period
}

/// Returns true if the turn of `seed`, which comes once in every `period`, came after `from`, and not after `to`.
pub const fn is_between(seed: u64, period: Duration, from: Duration, to: Duration) -> bool {
    comes(seed, nanos(period), nanos(from), nanos(to))
}

/// Returns a number from 0 to 1 that is far from those of the neighbours of `seed`.
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
    // In 584 years it wraps around.
    time.as_nanos() as u64
}
