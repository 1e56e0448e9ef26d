//! The explanation: plain data, from which the reports are written.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::group::{GroupBy, RowKey};
use crate::history::dangers::Limit;
use crate::history::kills::Kill;
use crate::model::Missing;
use crate::model::exit::Exit;
use crate::model::process::{Facts, Identity};
use crate::model::reading::Reading;
use crate::model::taker::Taker;
use crate::text::named;
use crate::trend::Verdict;

named! {
    /// The kind of an event.
    pub enum EventKind {
        /// Nothing happened.
        Nothing = "nothing",
        /// The moment that the user chose, at which nothing happened.
        Chosen = "chosen",
        /// The machine rebooted.
        Reboot = "reboot",
        /// A limit was about to be reached, and was not.
        Danger = "danger",
        /// Tasks waited for memory.
        Stall = "stall",
        /// The recording ends while memory runs out.
        End = "end",
        /// Processes were killed because memory was short.
        Kill = "kill",
    }
}

/// Minimum growth to be unexplained, as a share of the limit.
const LARGE: f64 = 0.1;

/// Something that happened in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    /// When it happened. A danger or a stall: when it was worst. A reboot: the last snapshot before it.
    pub time: SystemTime,
    /// Memory was short: always, except at a reboot for another reason.
    pub is_short: bool,
    /// For a reboot: true if the recorder was not asked to end before. `None` if that is unknown, and for other events.
    pub is_sudden: Option<bool>,
    /// The victim's name, or the path of the cgroup, raw. Empty for the machine.
    pub who: Box<[u8]>,
}

/// Growth of a row up to the moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rise {
    /// In bytes; without pages of files if the rest is known.
    pub from: u64,
    pub to: u64,
    /// The duration; a lower bound if `is_cut`.
    pub over: Duration,
    /// The part of it after the moment, in which only the kernel's log shows growth: of a victim, its program or its user.
    pub after: Duration,
    /// The time since, in which it hardly grew.
    pub rest: Duration,
    /// The growth began before the recording.
    pub is_cut: bool,
    /// It started with the growth, so that it had nothing before.
    pub is_new: bool,
}

impl Rise {
    pub const fn bytes(&self) -> u64 {
        self.to.saturating_sub(self.from)
    }

    /// Returns the share of its duration that is `time`.
    fn share(&self, time: Duration) -> f64 {
        time.as_secs_f64() / self.over.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns the pace in bytes per second.
    pub fn pace(&self) -> Option<f64> {
        (!self.over.is_zero()).then(|| self.bytes() as f64 / self.over.as_secs_f64())
    }
}

/// A process, a program, a user, a part of the RAM, or memory in no process that grew.
#[derive(Clone, Debug, PartialEq)]
pub struct Grower {
    pub key: RowKey,
    /// The name of the process, the program, the user or the part, raw.
    pub name: Box<[u8]>,
    /// The facts of a process.
    pub facts: Option<Arc<Facts>>,
    /// The number of processes of a program or a user; 1 for a process, 0 for a part.
    pub count: usize,
    pub rise: Rise,
    /// For the kernel's slab: the raw name of the cache that grew most, and its growth in bytes.
    pub cache: Option<(Box<[u8]>, u64)>,
    /// The kind of memory that nearly all of a process's memory is.
    pub made_of: Option<MadeOf>,
    pub verdict: Verdict,
    /// The time from its end to the moment, if it had ended.
    pub ended: Option<Duration>,
    /// The container, the unit or the cgroup of a process, and its growth in the same time.
    pub place: Option<Place>,
}

named! {
    /// A kind of memory.
    pub enum MadeOf {
        Anonymous = "anonymous memory",
        Shared = "shared memory",
        Files = "mapped files",
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub by: GroupBy,
    /// Raw.
    pub name: Box<[u8]>,
    pub rise: Option<Rise>,
}

/// A process that was killed.
#[derive(Clone, Debug, PartialEq)]
pub struct Victim {
    pub kill: Kill,
    /// `None` if it is not known. Of a victim that no snapshot has, all that it had at the end.
    pub rise: Option<Rise>,
    pub role: Role,
}

named! {
    /// The role of a victim in the event.
    pub enum Role {
        /// It grew most.
        Grower = "grower",
        /// It is one of the processes that grew most together.
        Member = "member",
        /// Another grew.
        Bystander = "bystander",
        /// Nothing that was recorded grew, shared memory did that the victim may hold, or the victim is not known.
        Unknown = "unknown",
    }
}

/// A process at the moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Holder {
    pub id: Identity,
    pub facts: Arc<Facts>,
    /// Its PSS and swap, in bytes, or an upper bound.
    pub bytes: u64,
    /// Its memory could not be read: `bytes` is an upper bound, by its RSS.
    pub is_bound: bool,
    /// Its growth in the time before, in bytes. `None` if it is not known.
    pub grown: Option<i64>,
    pub is_victim: bool,
}

/// The memory of the machine at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    pub time: SystemTime,
    pub monotonic: Duration,
    pub total: Reading<u64>,
    pub available: Reading<u64>,
    pub swap_used: Reading<u64>,
    pub swap_total: Reading<u64>,
    /// Share of the last ten seconds in which all tasks waited for memory (PSI).
    pub stalled: Reading<f64>,
    /// The memory in use and the limit of each cgroup that has a limit of its own.
    pub limited: Vec<(Arc<[u8]>, u64, u64)>,
}

/// A limit that was about to be reached at the moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Ahead {
    pub limit: Limit,
    /// In bytes.
    pub left: u64,
    pub time: Duration,
}

/// Tasks that waited for memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The path of the cgroup; `None` for the machine.
    pub cgroup: Option<Arc<[u8]>>,
    /// They were held back at `memory.high`.
    pub is_throttled: bool,
    pub share: f64,
    pub lasted: Duration,
    /// The process that read back most, its raw name, and its bytes per second.
    pub waiter: Option<(Identity, Box<[u8]>, f64)>,
}

/// The worst figures in a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Worst {
    /// The time of the least available memory, that memory, and the total.
    pub available: Option<(SystemTime, u64, u64)>,
    /// The time at which all tasks waited most, and the share of time that they waited.
    pub stalled: Option<(SystemTime, f64)>,
}

/// An event, with the data of the snapshots before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Raw.
    pub host: Arc<[u8]>,
    /// The first and the last snapshot of the recording, and their number.
    pub recorded: [SystemTime; 2],
    pub snapshots: u64,
    pub event: Event,
    /// See [`Self::is_of_machine`].
    pub(super) of_machine: bool,
    /// The other events, oldest first, and the number of those before that are not listed.
    pub others: Vec<Event>,
    pub more: usize,
    /// The killed processes, largest first.
    pub victims: Vec<Victim>,
    /// The processes, programs, users and parts that grew most below the limit, the largest growth first.
    pub growers: Vec<Grower>,
    pub ahead: Option<Ahead>,
    pub waiting: Option<Waiting>,
    /// The limit of the cgroup that matters: its path; `None` for the machine.
    pub cgroup: Option<Arc<[u8]>>,
    /// The machine at the moment, and a minute, ten minutes and an hour before. If less was recorded, the last is the first of
    /// this boot.
    pub machine: Vec<Point>,
    /// The first snapshot of this boot.
    pub booted: SystemTime,
    /// The largest processes at the moment, and a killed one in any case.
    pub holders: Vec<Holder>,
    /// The processes that used up the memory below the limit, as read in the ten minutes before: the newest reading of each.
    pub takers: Vec<Taker>,
    /// Processes with a high peak that came and went between snapshots, in the minutes before, or at any time if nothing
    /// happened. The highest peak first.
    pub brief: Vec<Exit>,
    /// The reason why such processes could not be seen, if there are none.
    pub unseen: Option<Missing>,
    /// The time in which they grew.
    pub span: Duration,
    /// The number of processes at the moment, and of those whose memory could not be read.
    pub processes: usize,
    pub unreadable: usize,
    /// The first snapshot after a reboot.
    pub resumed: Option<SystemTime>,
    pub worst: Worst,
}

impl Explanation {
    /// Returns the bytes by which available memory and free swap of the machine fell, and the time of that; `None` if a cgroup's
    /// limit matters.
    pub fn fall(&self) -> Option<(u64, Duration)> {
        let (now, earlier) = self.machine.split_first().filter(|_| self.cgroup.is_none())?;
        let free = |point: &Point| {
            let swap = point.swap_total.ok()?.saturating_sub(point.swap_used.ok()?);
            Some(point.available.ok()?.saturating_add(swap))
        };
        let (last, falls) = (
            free(now)?,
            earlier.iter().filter_map(|point| Some((free(point)?, point))),
        );
        let (most, point) = falls.max_by_key(|(free, _)| *free)?;
        Some((most.saturating_sub(last), now.monotonic.saturating_sub(point.monotonic)))
    }

    /// Returns true unless it is an event that the owner of a cgroup can cause.
    pub const fn is_of_machine(&self) -> bool {
        self.of_machine
    }

    /// Returns the growth of the memory below the limit that matters, the time that it took, and how much of it the growth of the
    /// [`growers`](Self::growers) explains, if that is less than half.
    pub fn unexplained(&self) -> Option<(u64, Duration, u64)> {
        let (grown, span, whole) = match self.cgroup.as_deref() {
            None => {
                let (fall, span) = self.fall()?;
                (fall, span, self.machine.first()?.total.ok()?)
            }
            Some(path) => {
                let (now, earlier) = self.machine.split_first()?;
                let (used, limit) = now.limited(path)?;
                let before = earlier.iter().find(|point| point.limited(path).is_some())?;
                let (was, _) = before.limited(path)?;
                (
                    used.saturating_sub(was),
                    now.monotonic.saturating_sub(before.monotonic),
                    limit,
                )
            }
        };
        let rises = self.growers.iter().filter(|grower| grower.ended.is_none());
        let rises = rises.map(|grower| &grower.rise);
        let named: f64 = rises.clone().map(|rise| self.grown_within(rise, span)).sum();
        // What came after the moment is explained.
        let late: f64 = rises.map(|rise| rise.bytes() as f64 * rise.share(rise.after)).sum();
        let is_unexplained = grown as f64 >= whole as f64 * LARGE && named + late < f64::midpoint(grown as f64, late);
        is_unexplained.then_some((grown, span, named as u64))
    }

    /// Returns the bytes of a rise that fall into the time `span` before the moment, as if it was even. For the machine, all of it before
    /// the moment.
    fn grown_within(&self, rise: &Rise, span: Duration) -> f64 {
        let before = rise.over.saturating_sub(rise.after);
        let share = match self.cgroup {
            Some(_) => rise.share(span.saturating_sub(rise.rest).min(before)),
            None => 1.0 - rise.share(rise.after),
        };
        rise.bytes() as f64 * share
    }

    /// Returns true for an event that did harm: a kill, a reboot or an end while memory was short, or a reboot without warning.
    pub fn is_of_harm(&self) -> bool {
        match self.event.kind {
            EventKind::Kill | EventKind::End => !self.is_before_recording(),
            EventKind::Reboot => self.event.is_short || self.event.is_sudden == Some(true),
            _ => false,
        }
    }

    /// Returns true if the kill was before the first snapshot, so that nothing was recorded before it.
    pub fn is_before_recording(&self) -> bool {
        self.event.time < self.recorded[0]
    }
}
