//! Compares the two scans and keeps account of who is how wrong for how long.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zmtop::model::{Identity, Memory, ProcessSample, Snapshot};
use zmtop::sampler::{Options, Policy, Scanner};

use super::{INTERVAL, MAX_AGE};
use crate::support::block_on;

/// Errors up to this are none: a few pages of stack, and of tables that a scan itself makes.
const SLACK: u64 = 64 << 10;
/// Slack for figures with clean file pages in them: the tests beside this one are the same program, whose code they
/// share with the children, and come and go without notice.
const FILE_SLACK: u64 = 4 << 20;
/// Ticks that may pass until a row is right that its own process changed.
const OWN: usize = 2;
/// Ticks more that may be taken for each step while the machine is too busy.
const BUSY: usize = 50;

/// A child of the test.
struct Watched {
    name: &'static str,
    id: Option<Identity>,
    /// Ticks since its own process changed it, until it is right.
    own: Option<usize>,
    /// It is wrong, and the ticks for which it has been by what others did.
    off: bool,
    wrong: usize,
    /// When it was last walked, and how many ticks ago that was first seen.
    walked: (Duration, usize),
}

/// The worst that was seen.
#[derive(Default)]
struct Worst {
    error: u64,
    age: Duration,
    of: String,
    /// The greatest number of ticks until a row was right.
    ticks: usize,
}

pub(crate) struct Judge {
    planner: Scanner,
    exact: Scanner,
    watched: BTreeMap<u32, Watched>,
    step: String,
    next: Instant,
    /// Ticks that did not count, in this step and in all.
    busy: (usize, usize),
    counted: usize,
    planned: Option<Arc<Snapshot>>,
    truth: Option<Arc<Snapshot>>,
    /// Ticks until a row was right that its own process changed, and the rest.
    worst: [Worst; 2],
}

impl Judge {
    /// Two scanners of this machine.
    pub(crate) fn new() -> Self {
        let scanner = |policy| {
            Scanner::new(&Options {
                interval: INTERVAL,
                policy,
                ..Options::new(None)
            })
        };
        let usual = Policy::default();
        let hurry = usual.max_age.as_secs_f64() / MAX_AGE.as_secs_f64();
        Self {
            planner: scanner(Policy {
                budget: usual.budget.map(|b| b * hurry),
                max_age: MAX_AGE,
            }),
            exact: scanner(Policy { budget: None, ..usual }),
            watched: BTreeMap::new(),
            step: "the start".to_owned(),
            next: Instant::now(),
            busy: (0, 0),
            counted: 0,
            planned: None,
            truth: None,
            worst: [Worst::default(), Worst::default()],
        }
    }

    /// Returns the ticks that may pass until a row is right that others changed: those of the greatest age, or of
    /// the age that the budget implies where walking all that is idle takes more than the part for that.
    pub(crate) fn patience(snapshot: &Snapshot) -> usize {
        let all: Duration = snapshot.rows().iter().filter_map(|r| Some(r.walk.ok()?.cost)).sum();
        let idle = snapshot.sampling.budget.unwrap() / 20.0 * MAX_AGE.as_secs_f64();
        let age = MAX_AGE.mul_f64((all.as_secs_f64() / idle).max(1.0));
        age.div_duration_f64(INTERVAL).ceil() as usize + 2
    }

    /// Ticks in which nothing changes until every row must have been walked.
    pub(crate) fn idle(&mut self) {
        let most = self.planned.as_deref().map_or(0, Self::patience);
        self.ticks(most + 1);
    }

    /// Names what is done from here on.
    pub(crate) fn step(&mut self, what: &str) {
        what.clone_into(&mut self.step);
        self.busy.0 = 0;
    }

    /// The process has just done something to itself.
    pub(crate) fn changed(&mut self, name: &'static str, pid: u32) {
        let watched = self.watched.entry(pid).or_insert(Watched {
            name,
            id: None,
            own: None,
            off: false,
            wrong: 0,
            walked: (Duration::ZERO, 0),
        });
        watched.own = Some(0);
    }

    /// The process has ended.
    pub(crate) fn left(&mut self, pid: u32) {
        self.watched.remove(&pid);
    }

    /// The swap of a process, from the last exhaustive scan.
    pub(crate) fn swap_of(&self, pid: u32) -> u64 {
        let row = row(self.truth.as_ref().unwrap(), pid).unwrap();
        row.memory().unwrap().swap
    }

    /// That many ticks that count.
    pub(crate) fn ticks(&mut self, count: usize) {
        let end = self.counted + count;
        while self.counted < end {
            self.tick();
        }
    }

    /// Ticks until every row is right.
    pub(crate) fn settle(&mut self) {
        self.ticks(OWN);
        while self.watched.values().any(|w| w.off || w.own.is_some()) {
            self.tick();
        }
    }

    fn tick(&mut self) {
        std::thread::sleep(self.next.saturating_duration_since(Instant::now()));
        self.next = Instant::now() + INTERVAL;
        let planned = block_on(self.planner.tick());
        let exact = block_on(self.exact.full());
        let counts = self.counts(&planned);
        let patience = Self::patience(&planned);
        let mut wrong = Vec::new();
        for (pid, watched) in &mut self.watched {
            let truth = row(&exact, *pid).unwrap();
            assert_eq!(*watched.id.get_or_insert(truth.id), truth.id, "another has that pid");
            let shown = row(&planned, *pid).filter(|r| r.id == truth.id);
            let (errors, age) = compare(shown, *truth.memory().unwrap(), &planned);
            let (error, what) = errors.into_iter().max().unwrap();
            let at = shown.and_then(|r| r.walk.ok()).map_or(Duration::ZERO, |w| w.at);
            if at == watched.walked.0 {
                watched.walked.1 += usize::from(counts);
            } else {
                watched.walked = (at, 0);
            }
            let said = format!(
                "{} of {}, {} KiB off {}, {}, {} old",
                what,
                watched.name,
                error >> 10,
                if watched.own.is_some() {
                    "by its own doing"
                } else {
                    "by others'"
                },
                self.step,
                age.map_or("never walked".to_owned(), |a| format!("{a:.1?}")),
            );
            let worst = &mut self.worst[usize::from(watched.own.is_none())];
            if error > worst.error {
                (worst.error, worst.age, worst.of) = (error, age.unwrap_or_default(), said.clone());
            }
            let (taken, most) = if let Some(ticks) = &mut watched.own {
                *ticks += usize::from(counts);
                (*ticks, OWN)
            } else {
                watched.wrong += usize::from(counts);
                (watched.wrong, patience)
            };
            watched.off = error > 0;
            if error == 0 {
                (watched.own, watched.wrong) = (None, 0);
                worst.ticks = worst.ticks.max(taken);
            } else if taken >= most {
                wrong.push(format!("{said}, after {taken} ticks: {errors:?}"));
            }
            if watched.walked.1 > patience {
                wrong.push(format!("{} not walked for {} ticks", watched.name, watched.walked.1));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        (self.planned, self.truth) = (Some(planned), Some(exact));
    }

    /// Returns true if the planner could do all that it wanted to do in this tick.
    fn counts(&mut self, snapshot: &Snapshot) -> bool {
        let sampling = &snapshot.sampling;
        let free = sampling.waiting == 0 && sampling.took < INTERVAL;
        if free {
            self.counted += 1;
        } else {
            self.busy = (self.busy.0 + 1, self.busy.1 + 1);
            assert!(self.busy.0 < BUSY, "too busy a machine: {sampling:?}");
        }
        free
    }

    /// Prints what the worst was.
    pub(crate) fn report(&self) {
        // Past the test harness, which shows nothing of a test that passes.
        let mut out = std::io::stderr();
        let (counted, busy) = (self.counted, self.busy.1);
        let _ = writeln!(
            out,
            "truth: {counted} ticks of {INTERVAL:?}, {busy} beside that were too busy"
        );
        for (whose, worst) in ["its own doing", "others'"].iter().zip(&self.worst) {
            let Worst { error, age, of, ticks } = worst;
            let _ = writeln!(
                out,
                "truth: worst error by {whose}: {} KiB, {age:.1?} old ({of}); right again within {} ticks",
                error >> 10,
                ticks
            );
        }
    }
}

fn row(snapshot: &Snapshot, pid: u32) -> Option<&ProcessSample> {
    snapshot.rows().iter().find(|r| r.id.pid == pid)
}

/// Returns how far each figure is off beyond what is allowed, and how old they are.
fn compare(
    shown: Option<&ProcessSample>,
    truth: Memory,
    snapshot: &Snapshot,
) -> ([(u64, &'static str); 7], Option<Duration>) {
    let walk = shown.and_then(|row| row.walk.ok());
    let none = Memory {
        pss_file: truth.pss_file,
        ..Memory::default()
    };
    let m = walk.map_or(none, |w| w.memory);
    let off = |get: fn(&Memory) -> u64, slack: u64| match get(&m).abs_diff(get(&truth)) {
        error if error > slack => error,
        _ => 0,
    };
    // Of PSS, all but what lies in files is compared strictly, and with them loosely; so for USS.
    let errors = [
        (off(|m| m.rss, SLACK), "RSS"),
        (
            off(|m| m.pss.saturating_sub(m.pss_file.unwrap_or(0)), SLACK),
            "PSS without files",
        ),
        (off(|m| m.pss, FILE_SLACK), "PSS"),
        (off(|m| m.private_dirty, SLACK), "dirty USS"),
        (off(Memory::uss, FILE_SLACK), "USS"),
        (off(|m| m.swap, SLACK), "swap"),
        (off(|m| m.swap_pss.unwrap_or(0), SLACK), "swap PSS"),
    ];
    (errors, walk.map(|w| snapshot.monotonic.saturating_sub(w.at)))
}
