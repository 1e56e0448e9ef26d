//! Compares what the sampler shows with walks made just then, and keeps account of who is wrong for how long.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use zmtop::model::{Memory, ProcessSample, Snapshot};
use zmtop::proc::smaps;
use zmtop::sampler::{Options, Scanner};

use crate::support::{block_on, long};

/// Errors up to this are none: a few pages of stack, and of tables that a walk itself makes.
const SLACK: u64 = 64 << 10;
/// The longest that a row in sight may be wrong.
const SIGHT: Duration = Duration::from_secs(6);
/// In a scene that only faults reveal, the age at which a row in sight is walked, as a multiple of its walk's cost, and the
/// time that its sharers take after that. See the turns of `sampler::policy::plan`.
const BY_FAULTS: (u32, Duration) = (4000, Duration::from_secs(3));
/// The longest that any other may be wrong without saying so: what it does is seen within 8 s on the largest machine.
const ELSEWHERE: Duration = Duration::from_secs(10);
/// Time that a scene is given to be right in: more than any row may take, to say how long it took.
const PATIENCE: Duration = Duration::from_secs(20);
/// Ticks more that may be taken for each scene while the machine is too busy.
const BUSY: usize = 100;

/// The place of a child of the test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the screen.
    InSight,
    /// In the table, but not on the screen.
    Elsewhere,
}

/// A child of the test.
struct Watched {
    name: &'static str,
    place: Place,
    /// The time for which its figure has been beyond its bound, and beyond the tolerance.
    beyond: [Duration; 2],
}

/// The worst that was seen in a scene of rows in one place.
#[derive(Default)]
struct Worst {
    /// The longest time that a figure was beyond its bound, and beyond the tolerance.
    beyond: [Duration; 2],
    error: u64,
    /// The greatest bound.
    bound: u64,
    of: &'static str,
}

pub(crate) struct Judge {
    /// The name of the test, in what it prints.
    name: &'static str,
    sampler: Scanner,
    watched: BTreeMap<u32, Watched>,
    interval: Duration,
    scene: &'static str,
    /// The highest cost of a walk in this scene, if only faults reveal what happens in it.
    cost: Option<Duration>,
    worst: [Worst; 2],
    next: Instant,
    last: Instant,
    /// Ticks that did not count, in this scene and in all.
    busy: (usize, usize),
    counted: usize,
    shown: Option<Arc<Snapshot>>,
    /// The first thing to say of each figure that was wrong for too long, by scene and name.
    wrong: BTreeMap<(&'static str, &'static str), String>,
}

impl Judge {
    /// Watches this machine with the defaults as they are shipped; in the short form five times as often, which tells
    /// sooner when a figure is right, and changes no time that is allowed.
    pub(crate) fn new(name: &'static str) -> Self {
        let usual = Options::new(None);
        let interval = usual.interval / if long() { 1 } else { 5 };
        let judge = Self {
            name,
            sampler: Scanner::new(&Options { interval, ..usual }),
            watched: BTreeMap::new(),
            interval,
            scene: "the start",
            cost: None,
            worst: Default::default(),
            next: Instant::now(),
            last: Instant::now(),
            busy: (0, 0),
            counted: 0,
            shown: None,
            wrong: BTreeMap::new(),
        };
        judge.say(&format!(
            "{:<42} {:<31} {}",
            "", "in sight: longest beyond bound,", "elsewhere: the same"
        ));
        let heads = "tolerance; worst error, bound";
        judge.say(&format!("{:<42} {heads:<31}", "scene"));
        judge
    }

    /// Names what is done from here on, and says how the scene before went.
    pub(crate) fn scene(&mut self, name: &'static str) {
        self.report();
        self.scene = name;
        self.cost = None;
        self.busy.0 = 0;
    }

    /// Names what is done from here on, if it changes no counter but those of faults: then a row in sight may be wrong for
    /// longer where walks are slow.
    pub(crate) fn scene_by_faults(&mut self, name: &'static str) {
        self.scene(name);
        self.cost = Some(Duration::ZERO);
    }

    /// Returns the longest that a row in sight may be wrong in this scene.
    fn sight(&self) -> Duration {
        let (factor, more) = BY_FAULTS;
        self.cost.map_or(SIGHT, |cost| SIGHT.max(cost * factor + more))
    }

    /// Watches a process from now on.
    pub(crate) fn watch(&mut self, name: &'static str, pid: u32, place: Place) {
        self.watched.insert(
            pid,
            Watched {
                name,
                place,
                beyond: [Duration::ZERO; 2],
            },
        );
    }

    /// The process has ended.
    pub(crate) fn left(&mut self, pid: u32) {
        self.watched.remove(&pid);
    }

    /// The swap of a process, by a walk now.
    pub(crate) fn swap_of(pid: u32) -> u64 {
        walk(pid).unwrap().swap
    }

    /// Returns the row of a process in the snapshot shown.
    pub(crate) fn shown(&self, pid: u32) -> Option<&ProcessSample> {
        row(self.shown.as_ref()?, pid)
    }

    /// Ticks that count for that long.
    pub(crate) fn run(&mut self, time: Duration) {
        let end = self.counted + time.div_duration_f64(self.interval).ceil() as usize;
        while self.counted < end {
            self.tick();
        }
    }

    /// Ticks until every row is right: at least two, so that what was done is seen.
    pub(crate) fn settle(&mut self) {
        self.run(self.interval * 2);
        let is_wrong = |w: &Watched| !w.beyond[1].is_zero() && w.beyond[1] < PATIENCE;
        while self.watched.values().any(is_wrong) {
            self.tick();
        }
    }

    fn tick(&mut self) {
        std::thread::sleep(self.next.saturating_duration_since(Instant::now()));
        self.next = Instant::now() + self.interval;
        let before: Vec<_> = self.watched.keys().map(|pid| walk(*pid)).collect();
        let snapshot = block_on(self.sampler.tick());
        let after: Vec<_> = self.watched.keys().map(|pid| walk(*pid)).collect();
        let since = std::mem::replace(&mut self.last, Instant::now()).elapsed();
        let step = if self.counts(&snapshot) { since } else { Duration::ZERO };
        let costs = snapshot
            .rows()
            .iter()
            .filter(|row| self.watched.contains_key(&row.id.pid));
        let cost = costs.filter_map(|row| row.walk.ok()).map(|walk| walk.cost).max();
        self.cost = self.cost.map(|before| before.max(cost.unwrap_or_default()));
        let sight = self.sight();
        let mut wrong = Vec::new();
        let mut focus = Vec::new();
        for ((pid, watched), truth) in self.watched.iter_mut().zip(before.iter().zip(&after)) {
            let shown = row(&snapshot, *pid);
            focus.extend(shown.filter(|_| watched.place == Place::InSight).map(|r| r.id));
            let walk = shown.and_then(|row| row.walk.ok());
            let (figure, bound) = walk.map_or((0, 0), |w| (footprint(Some(&w.memory)), w.error));
            let truth = [footprint(truth.0.as_ref()), footprint(truth.1.as_ref())];
            // What it has moved meanwhile is no error.
            let (least, most) = (truth[0].min(truth[1]), truth[0].max(truth[1]));
            let error = least.saturating_sub(figure).max(figure.saturating_sub(most));
            let tolerance = (most / 100).max(1 << 20);
            let worst = &mut self.worst[watched.place as usize];
            if error > worst.error {
                (worst.error, worst.of) = (error, watched.name);
            }
            worst.bound = worst.bound.max(bound);
            let is_beyond = [error > bound + SLACK, error > tolerance];
            let times = watched.beyond.iter_mut().zip(&mut worst.beyond);
            for ((beyond, longest), is_beyond) in times.zip(is_beyond) {
                *beyond = if is_beyond { *beyond + step } else { Duration::ZERO };
                *longest = (*longest).max(*beyond);
            }
            let most = match watched.place {
                Place::InSight => sight,
                Place::Elsewhere => ELSEWHERE,
            };
            // Where nobody looks, a figure that says that it is uncertain may be.
            let [by_bound, by_tolerance] = watched.beyond;
            let longest = match watched.place {
                Place::InSight => by_bound.max(by_tolerance),
                Place::Elsewhere => by_bound.min(by_tolerance),
            };
            if longest > most {
                let said = format!(
                    "{:.1?} beyond its bound, {:.1?} beyond the tolerance: shown {} KiB ± {}, is {} KiB, {}; {:?}",
                    watched.beyond[0],
                    watched.beyond[1],
                    figure >> 10,
                    bound >> 10,
                    truth[1] >> 10,
                    walk.map_or("never walked".to_owned(), |w| format!(
                        "{:.1?} old",
                        snapshot.monotonic.saturating_sub(w.at)
                    ) + &format!(
                        " at a cost of {:.1?}",
                        w.cost
                    )),
                    snapshot.sampling,
                );
                wrong.push((watched.name, said));
            }
        }
        for said in wrong {
            self.wrong.entry((self.scene, said.0)).or_insert(said.1);
        }
        self.sampler.set_focus(focus);
        self.shown = Some(snapshot);
    }

    /// Returns true if the machine let the sampler do in this tick what it wanted to do.
    fn counts(&mut self, snapshot: &Snapshot) -> bool {
        let is_free = snapshot.sampling.took < self.interval && self.next.elapsed() < self.interval;
        if is_free {
            self.counted += 1;
        } else {
            self.busy = (self.busy.0 + 1, self.busy.1 + 1);
            assert!(self.busy.0 < BUSY, "too busy a machine: {:?}", snapshot.sampling);
        }
        is_free
    }

    /// Prints how wrong the screen was in this scene.
    fn report(&mut self) {
        let worst = std::mem::take(&mut self.worst);
        let line = worst.map(|w| {
            let [bound, tolerance] = w.beyond.map(|d| d.as_secs_f64());
            let (error, most) = (w.error >> 10, w.bound >> 10);
            let of = if w.error > 0 {
                format!(" ({})", w.of)
            } else {
                String::new()
            };
            format!("{bound:>4.1} s {tolerance:>4.1} s {error:>7} {most:>7} KiB{of}")
        });
        self.say(&format!("{:<42} {:<48} {}", self.scene, line[0], line[1]));
    }

    /// Prints past the test harness, which shows nothing of a test that passes.
    fn say(&self, line: &str) {
        let _ = writeln!(std::io::stderr(), "accuracy: {}: {line}", self.name);
    }

    /// Prints the rest, and fails if any figure was wrong for too long.
    pub(crate) fn end(&mut self) {
        self.report();
        let (counted, busy) = (self.counted, self.busy.1);
        self.say(&format!(
            "{counted} ticks of {:?}, {busy} beside that were too busy",
            self.interval
        ));
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
    }
}

fn row(snapshot: &Snapshot, pid: u32) -> Option<&ProcessSample> {
    snapshot.rows().iter().find(|r| r.id.pid == pid)
}

/// Returns PSS + `SwapPss`; 0 of a process that has no memory.
fn footprint(memory: Option<&Memory>) -> u64 {
    memory.map_or(0, |m| m.pss + m.swap_pss.unwrap_or(0))
}

/// Walks a process, by any of its threads; `None` where it has no memory.
fn walk(pid: u32) -> Option<Memory> {
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let of = |task: std::fs::DirEntry| Path::new("/proc").join(task.file_name()).join("smaps_rollup");
    // A thread that has ended has none.
    let text = tasks.find_map(|task| std::fs::read(of(task.ok()?)).ok())?;
    Some(smaps::rollup(&text).unwrap())
}
