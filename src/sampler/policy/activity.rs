//! Decides when to glance at a process, so that the cost depends on how many processes are active, not on how many
//! exist.
//!
//! Pure: the input is clocks and counters, the output is the processes that are due. A process that did not run cannot have
//! changed itself. Its CPU clock counts the nanoseconds of all its threads, so the clock is read first, and a glance follows only
//! if it advanced. Other changes show in counters of the whole machine, or are found in rotation. At an interval of 1 s, events
//! are seen within the times below. At longer intervals, they are seen in the next tick if that is later:
//!
//! | | in focus, or changed or new within 10 s | others |
//! | --- | --- | --- |
//! | changes by the process itself | next tick | 2 s; 4 s from 5000 processes, 8 s from 10 000 |
//! | its faults in more than 1 MiB, if no search was made within 8 s | next tick | 3 ticks |
//! | a new parent, because its own has ended | next tick | next tick after that is seen |
//! | changes by others, unseen by itself: pages reclaimed or collapsed | 3 s, or 480 s | 30 s; 240 s from 1200 processes, 480 s from 2400 |
//! | the same, while the machine reclaims anonymous pages | 3 s, or 15 s | 15 s; 60 s at 10 000 processes |
//! | its end | next tick | the tick after next; while others come and go, like changes by the process itself |
//! | reuse of its pid | next tick | next tick |
//!
//! # Faults
//! `pgfault` of `/proc/vmstat` counts every fault of the machine, in step with the counter of the faulting task.
//! Subtract the faults of all processes as last glanced at, including the children they waited for. The rest
//! bounds the faults since then of all processes that were not glanced at: [`Unexplained`]. Once the rest is large,
//! the clocks of all processes are read at once. Faults that these do not explain were made by processes that came
//! and went between two glances and that no parent waited for.
//!
//! # Ends
//! A glance at a process that is gone shows that it has ended. The machine's task count shows whether others have
//! ended: the sum of the threads of all processes as last glanced at then exceeds it, in this tick and in the next.
//! All clocks are read then, unless they were within 4 s.
//!
//! # Cost
//! Measured with 10 000 idle processes on a virtual machine, in µs of CPU time, cache misses included: a CPU clock
//! takes 1.0, a glance 6 if the file is held open, and 12 by path. So up to 10 000 processes cost at most 1250 clock
//! reads per second, and 21 glances at idle processes.

use std::collections::VecDeque;
use std::time::Duration;

use super::rotation::is_between;
use crate::model::Stat;

/// Time after a change for which a process is checked in every tick.
pub const RECENT: Duration = Duration::from_secs(10);
/// Time between two glances at a process in focus that did not run.
pub const FOCUS_GLANCE: Duration = Duration::from_millis(2500);

/// The shortest and the longest round in which all clocks are read. The facts of a process that ran must be read
/// within 10 s.
const ROUND: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(8)];
/// Clocks read per second between these two limits. They use a thousandth of a core.
const ASKED_PER_SECOND: usize = 1250;
/// The shortest periods in which all processes are glanced at, normally and while the machine reclaims pages. A
/// period doubles, up to the longest, while it makes more glances per second than the second figure. Each period is a
/// multiple of the one before, so no process misses a turn when the period changes.
const GLANCES: [(Duration, usize); 2] = [(Duration::from_secs(30), 10), (Duration::from_secs(15), 250)];
const LONGEST: Duration = Duration::from_secs(480);
/// Number of pages that matters: 1 MiB in pages of the smallest size. A smaller error is tolerated in any figure.
const MANY_PAGES: u64 = 256;
/// Time between two searches for the processes that faulted. It keeps the cost of searches below the cost of rounds if
/// programs come and go that no parent waits for.
const SEEK_PAUSE: Duration = Duration::from_secs(8);
/// Time between two searches for processes that ended. The shortest rounds find them in this time too.
const ENDED_PAUSE: Duration = Duration::from_secs(4);
/// Links to executables checked per second, if that takes longer than the requested interval. A check takes some 7
/// µs.
const LINKS_PER_SECOND: usize = 25;

#[derive(Clone, Copy, Debug)]
struct Turn {
    pid: u32,
    serial: u64,
    clock: Option<Duration>,
    asked_at: Duration,
}

/// A process whose turn has come and that needs a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    pub pid: u32,
    pub serial: u64,
    /// It ran since its last turn, or is gone.
    pub has_run: bool,
    pub glances: bool,
    pub checks_link: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    pub all: bool,
    /// The machine has reclaimed pages since the last tick that reported it.
    pub has_taken: bool,
    /// Time between two checks of a link.
    pub link_interval: Duration,
}

/// The round in which the clocks of all processes are read. An idle process costs only the read of its clock: it is
/// not even looked up in the table.
#[derive(Debug, Default)]
pub struct Round {
    /// The processes; the one with the oldest check comes first.
    turns: VecDeque<Turn>,
    last: Option<Duration>,
    /// The fraction of a turn that is left over.
    rest: f64,
    /// The time until which all processes are glanced at more often, because pages were reclaimed.
    pressed_until: Duration,
}

impl Round {
    pub fn reserve(&mut self, count: usize) {
        self.turns.reserve(count);
    }

    /// Adds a process that is being glanced at now, with the value that its clock had before.
    pub fn add(&mut self, pid: u32, serial: u64, clock: Option<Duration>, now: Duration) {
        self.turns.push_back(Turn {
            pid,
            serial,
            clock,
            asked_at: now,
        });
    }

    /// Advances to the tick at `now`: reads the clocks of the processes whose turn has come, and calls `due` with
    /// those that need more. If `due` returns false, the process is removed.
    pub fn advance(
        &mut self,
        now: Duration,
        pace: &Pace,
        mut ask: impl FnMut(u32) -> Option<Duration>,
        mut due: impl FnMut(Due) -> bool,
    ) {
        let count = self.turns.len();
        let round = round_time(count);
        let step = now.saturating_sub(self.last.replace(now).unwrap_or(now));
        let turns = self.rest + count as f64 * step.as_secs_f64() / round.as_secs_f64();
        self.rest = turns.fract();
        let at_least = if pace.all { count } else { turns as usize };
        if pace.has_taken {
            self.pressed_until = now + glance_period(count, true) + round;
        }
        let glance_period = glance_period(count, now < self.pressed_until);
        let link_period = pace.link_interval.max(seconds(count, LINKS_PER_SECOND));
        for turn in 0..count {
            let Some(mut next) = self.turns.front().copied() else {
                return;
            };
            if turn >= at_least && now.saturating_sub(next.asked_at) < round {
                return;
            }
            self.turns.pop_front();
            let (before, clock) = (next.asked_at, ask(next.pid));
            let has_run = clock.is_none() || clock != next.clock;
            let comes = |period| is_between(next.pid.into(), period, before, now);
            let found = Due {
                pid: next.pid,
                serial: next.serial,
                has_run,
                glances: has_run || comes(glance_period),
                checks_link: comes(link_period),
            };
            (next.clock, next.asked_at) = (clock, now);
            let is_idle = !found.glances && !found.checks_link;
            if is_idle || due(found) {
                self.turns.push_back(next);
            }
        }
    }
}

/// Returns the time in which the clocks of `count` processes are read.
fn round_time(count: usize) -> Duration {
    seconds(count, ASKED_PER_SECOND).clamp(ROUND[0], ROUND[1])
}

/// Returns the time in which `count` processes are glanced at, whether they ran or not.
fn glance_period(count: usize, is_pressed: bool) -> Duration {
    let (mut period, most) = GLANCES[usize::from(is_pressed)];
    while period < LONGEST && seconds(count, most) > period {
        period *= 2;
    }
    period
}

fn seconds(count: usize, rate: usize) -> Duration {
    Duration::from_secs_f64(count as f64 / rate as f64)
}

/// Events of the machine that no glance has explained.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unexplained {
    /// Faults of the machine minus the faults of the known processes.
    faults: Level,
    /// Threads of the known processes minus the tasks of the machine: mostly left by ended processes.
    ended: Level,
    /// The pages reclaimed by the time of the last report.
    taken: Option<u64>,
}

/// The difference of two counts that should be equal.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// The smallest difference since the last search.
    base: Option<u64>,
    last: u64,
    sought_at: Option<Duration>,
}

impl Level {
    /// Like [`Self::seeks`], but ignores a difference unless the one before was on the same side of the base, and then
    /// uses the one closer to it. While programs come and go, some end between the reads of the two counts.
    fn seeks_steady(&mut self, now: Duration, rest: u64, pause: Duration) -> bool {
        let last = std::mem::replace(&mut self.last, rest);
        let base = *self.base.get_or_insert(rest);
        let [more, before] = [rest, last].map(|rest| rest.wrapping_sub(base).cast_signed());
        if more.signum() != before.signum() {
            return false;
        }
        let nearer = if more.unsigned_abs() < before.unsigned_abs() {
            rest
        } else {
            last
        };
        self.seeks(now, nearer, 0, pause)
    }

    /// Adds a difference. Returns true if it has grown by more than `few`, and no search was made within `pause`.
    fn seeks(&mut self, now: Duration, rest: u64, few: u64, pause: Duration) -> bool {
        let base = *self.base.get_or_insert(rest);
        // The two counts are not read at the same moment, so the difference may fall.
        let more = rest.wrapping_sub(base).cast_signed();
        if more < 0 {
            self.base = Some(rest);
        }
        let is_free = self.sought_at.is_none_or(|at| now.saturating_sub(at) >= pause);
        if more <= few.cast_signed() || !is_free {
            return false;
        }
        self.sought_at = Some(now);
        self.base = Some(rest);
        true
    }
}

impl Unexplained {
    /// Adds the number of faults that the machine has counted, and the number that the glances show. Returns true if
    /// a search for the processes that made the others is needed.
    pub fn seeks(&mut self, now: Duration, counted: u64, shown: u64) -> bool {
        self.faults
            .seeks(now, counted.wrapping_sub(shown), MANY_PAGES, SEEK_PAUSE)
    }

    /// Adds the number of threads of all processes as last glanced at, and the number of tasks of the machine.
    /// Returns true if a search for ended processes is needed.
    pub fn seeks_ended(&mut self, now: Duration, threads: u64, tasks: u64) -> bool {
        self.ended.seeks_steady(now, threads.wrapping_sub(tasks), ENDED_PAUSE)
    }

    /// Adds the number of pages that the machine has reclaimed. Returns true if it has grown by more than 1 MiB since
    /// the last time it did.
    pub fn has_taken(&mut self, pages: u64) -> bool {
        let before = *self.taken.get_or_insert(pages);
        let are_many = pages.wrapping_sub(before) > MANY_PAGES;
        if are_many {
            self.taken = Some(pages);
        }
        are_many
    }
}

/// Returns true if a process did more than run between two glances. The round finds a process that only ran.
pub fn is_news(before: &Stat, after: &Stat) -> bool {
    let ran = Stat {
        state: after.state,
        cpu_ticks: after.cpu_ticks,
        ..*before
    };
    ran != *after
}
