//! Decides when a process is glanced at, so that the cost follows what is active, not what exists.
//!
//! Pure: clocks and counters go in, turns come out. A process that did not run did nothing to itself, and its CPU
//! clock counts the nanoseconds of all its threads: that is asked first, a glance is made where it moved. The rest
//! is told by signs of the whole machine, or met in rotation. Within these times what happens is seen, at an interval
//! of 1 s; at longer ones in the next tick, where that is later:
//!
//! | | in focus, or changed or new within 10 s | others |
//! | --- | --- | --- |
//! | what a process does itself | next tick | 2 s; 4 s from 5000 processes, 8 s from 10 000 |
//! | its faults in more than 1 MiB, where no others were sought for within 8 s | next tick | 3 ticks |
//! | another parent, as its own has ended | next tick | next tick after that is seen |
//! | what others do to it, unseen by itself: pages taken back or collapsed | 3 s, or 480 s | 30 s; 240 s from 1200 processes, 480 s from 2400 |
//! | the same, while the machine takes anonymous pages back | 3 s, or 15 s | 15 s; 60 s at 10 000 processes |
//! | its end | next tick | the tick after next; where others come and go, as what it does itself |
//! | who has its pid then | next tick | next tick |
//!
//! # Faults
//! `pgfault` of `/proc/vmstat` counts every fault of the machine, in step with the faults of the task that makes it. What is
//! left of it without the faults of all processes as last glanced at, and of the children they waited for, is a bound on
//! what all those not glanced at since have done: [`Unexplained`]. Once that is much, all are asked at once. What they do
//! not explain was done by processes that came and went between two glances and nobody waited for.
//!
//! # Ends
//! Who is glanced at and is gone has ended. The number of tasks of the machine tells of the others: the threads of all
//! processes as last glanced at become more than it is, and are so in the tick after too. All are asked then, if they
//! were not within 4 s.
//!
//! # Cost
//! Measured with 10 000 idle processes on a virtual machine, in µs of CPU time, with what the caches miss: a CPU clock
//! 1.0, a glance with the file held open 6, by path 12. So at most 1250 clocks a second up to
//! 10 000 processes, and 21 glances at what did nothing.

use std::collections::VecDeque;
use std::time::Duration;

use super::rotation::is_between;
use crate::model::Stat;

/// Time after a change in which a process is asked in every tick.
pub const RECENT: Duration = Duration::from_secs(10);
/// Time between two glances at a process in focus that did not run.
pub const FOCUS_GLANCE: Duration = Duration::from_millis(2500);

/// The shortest and the longest round in which all are asked; the facts of a process that ran must be read within 10 s.
const ROUND: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(8)];
/// Clocks asked in a second, between the two: they take a thousandth of a core.
const ASKED_PER_SECOND: usize = 1250;
/// The shortest times within which all are glanced at, calm and while the machine takes pages back. They are doubled while
/// that makes more glances a second than the second figure, up to the longest. As each is a multiple of the one
/// before, nobody misses a turn when it changes.
const GLANCES: [(Duration, usize); 2] = [(Duration::from_secs(30), 10), (Duration::from_secs(15), 250)];
const LONGEST: Duration = Duration::from_secs(480);
/// Pages that matter: 1 MiB of the least size, below which any figure is shown as right.
const MANY_PAGES: u64 = 256;
/// Time between two searches for who faulted, so that they take no more than the rounds where programs come and go that
/// nobody waits for.
const SEEK_PAUSE: Duration = Duration::from_secs(8);
/// Time between two searches for who ended, in which the shortest rounds find them too.
const ENDED_PAUSE: Duration = Duration::from_secs(4);
/// Links to programs' files checked in a second, where that takes longer than it was asked for: some 7 µs each.
const LINKS_PER_SECOND: usize = 25;

/// A process in the round.
#[derive(Clone, Copy, Debug)]
struct Turn {
    pid: u32,
    serial: u64,
    clock: Option<Duration>,
    asked_at: Duration,
}

/// A process whose turn has come, with something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Its pid, and the number it was added with.
    pub pid: u32,
    /// See `pid`.
    pub serial: u64,
    /// It ran since it was asked last, or has gone.
    pub has_run: bool,
    /// It is to be glanced at.
    pub glances: bool,
    /// The link to its program's file is to be checked.
    pub checks_link: bool,
}

/// The pace of a tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// All are asked.
    pub all: bool,
    /// The machine has taken pages back since the last tick that said so.
    pub has_taken: bool,
    /// Time between two checks of a link.
    pub link_interval: Duration,
}

/// The round in which all processes are asked if they ran. One that is idle costs its clock and nothing else: it is not
/// looked up in the table.
#[derive(Debug, Default)]
pub struct Round {
    /// The processes, the one asked longest ago first.
    turns: VecDeque<Turn>,
    last: Option<Duration>,
    /// The part of a turn that is left over.
    rest: f64,
    /// The time until which everybody is glanced at sooner: pages were taken back.
    pressed_until: Duration,
}

impl Round {
    /// Makes room for so many more processes.
    pub fn reserve(&mut self, count: usize) {
        self.turns.reserve(count);
    }

    /// Adds a process, which is glanced at now, with what its clock said before.
    pub fn add(&mut self, pid: u32, serial: u64, clock: Option<Duration>, now: Duration) {
        self.turns.push_back(Turn {
            pid,
            serial,
            clock,
            asked_at: now,
        });
    }

    /// Goes on to the tick at `now`: asks those whose turn has come for their clock, and calls `due` with those of which
    /// more is to be done; where it returns false, the process is forgotten.
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

/// Returns the time in which `count` processes are asked.
fn round_time(count: usize) -> Duration {
    seconds(count, ASKED_PER_SECOND).clamp(ROUND[0], ROUND[1])
}

/// Returns the time in which `count` processes are glanced at, whatever they do.
fn glance_period(count: usize, is_pressed: bool) -> Duration {
    let (mut period, most) = GLANCES[usize::from(is_pressed)];
    while period < LONGEST && seconds(count, most) > period {
        period *= 2;
    }
    period
}

/// Returns the time that `count` take at `rate` a second.
fn seconds(count: usize, rate: usize) -> Duration {
    Duration::from_secs_f64(count as f64 / rate as f64)
}

/// The events of the machine that no glance has explained.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unexplained {
    /// The faults that nobody made, as far as could be found.
    faults: Level,
    /// The threads that the machine does not count, as far as could be found: of none, mostly.
    ended: Level,
    /// The pages taken back when that was last told.
    taken: Option<u64>,
}

/// A count that others explain but for a rest.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// The least rest seen since all were asked.
    base: Option<u64>,
    /// The rest seen last.
    last: u64,
    sought_at: Option<Duration>,
}

impl Level {
    /// Takes in a rest that counts where it was the same or beyond it the time before too: where programs come and go, some
    /// end between the one look and the other.
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

    /// Takes in the rest; returns true if it has become larger by more than `few`, and nobody was sought for within
    /// `pause`.
    fn seeks(&mut self, now: Duration, rest: u64, few: u64, pause: Duration) -> bool {
        let base = *self.base.get_or_insert(rest);
        // The one count may have been read a moment before the other: the difference may fall below zero.
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
    /// Takes in how many faults the machine has counted, and how many of them the glances show; returns true if all are to
    /// be asked who made the rest.
    pub fn seeks(&mut self, now: Duration, counted: u64, shown: u64) -> bool {
        self.faults
            .seeks(now, counted.wrapping_sub(shown), MANY_PAGES, SEEK_PAUSE)
    }

    /// Takes in how many threads the processes had when last glanced at, and how many tasks the machine counts; returns true
    /// if all are to be asked who has ended.
    pub fn seeks_ended(&mut self, now: Duration, threads: u64, tasks: u64) -> bool {
        self.ended.seeks_steady(now, threads.wrapping_sub(tasks), ENDED_PAUSE)
    }

    /// Takes in how many pages the machine has taken back; returns true if they have become many since that was last told.
    pub fn has_taken(&mut self, pages: u64) -> bool {
        let before = *self.taken.get_or_insert(pages);
        let are_many = pages.wrapping_sub(before) > MANY_PAGES;
        if are_many {
            self.taken = Some(pages);
        }
        are_many
    }
}

/// Returns true if a process did more than run between two glances: one that only ran is met in the round.
pub fn is_news(before: &Stat, after: &Stat) -> bool {
    let ran = Stat {
        state: after.state,
        cpu_ticks: after.cpu_ticks,
        ..*before
    };
    ran != *after
}
