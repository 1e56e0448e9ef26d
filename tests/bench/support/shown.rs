//! Compares the figures that the sampler shows at its shipped settings with walks of the same moment.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use zmtop::model::{Identity, Memory, ProcessSample, Snapshot};
use zmtop::proc::smaps;
use zmtop::sampler::{Options, Scanner};

use super::interrupt::pause;

/// Rows on a terminal of 50 lines.
const SIGHT: usize = 45;
/// Ticks from one comparison of all rows to the next: walking all costs so much that it would slow what is measured.
const ALL_EVERY: u64 = 5;
/// Errors up to this are none: a few pages of stack, and of tables that a walk itself makes.
const SLACK: u64 = 64 << 10;
/// Processes that are named.
const MOST: usize = 12;
const MIB: f64 = (1 << 20) as f64;

/// A sampler on a thread of its own, which ticks when told to.
struct Sampler {
    focus: Sender<Vec<Identity>>,
    snapshots: Receiver<Arc<Snapshot>>,
}

impl Sampler {
    fn start() -> Self {
        let (focus, foci) = channel();
        let (send, snapshots) = channel();
        let tick = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            let mut scanner = Scanner::new(&Options::new(None));
            while let Ok(focus) = foci.recv() {
                scanner.set_focus(focus);
                if send.send(runtime.block_on(scanner.tick())).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("zmtop-tick".to_owned());
        thread.spawn(tick).unwrap();
        Self { focus, snapshots }
    }

    fn tick(&self, focus: Vec<Identity>) -> Arc<Snapshot> {
        self.focus.send(focus).unwrap();
        self.snapshots.recv().unwrap()
    }
}

/// Processor time of the threads of the sampler, some of which may have ended since it was last looked at.
#[derive(Default)]
struct Cpu {
    threads: HashMap<OsString, u64>,
    total: Duration,
}

impl Cpu {
    fn look(&mut self) -> Duration {
        for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
            let read = |name| fs::read_to_string(task.path().join(name)).unwrap_or_default();
            if let Some(Ok(spent)) = read("schedstat").split(' ').next().map(str::parse)
                && read("comm").starts_with("zmtop-")
            {
                let before = self.threads.insert(task.file_name(), spent).unwrap_or(0);
                self.total += Duration::from_nanos(spent.saturating_sub(before));
            }
        }
        self.total
    }
}

/// PSS + `SwapPss`.
fn footprint(m: &Memory) -> u64 {
    m.pss + m.swap_pss.unwrap_or(0)
}

/// Walks a process; `None` where it cannot be walked.
fn walk(pid: u32) -> Option<u64> {
    let text = fs::read(format!("/proc/{pid}/smaps_rollup")).ok()?;
    smaps::rollup(&text).ok().as_ref().map(footprint)
}

/// The errors of some rows.
#[derive(Default)]
struct Account {
    errors: Vec<u64>,
    /// Errors beyond the tolerance, rows said to be uncertain, and rows without a figure.
    beyond_tolerance: usize,
    uncertain: usize,
    unknown: usize,
    /// Figures beyond their bound, for how long each is, and the longest.
    beyond: usize,
    runs: HashMap<Identity, [Duration; 3]>,
    longest: [(Duration, String); 3],
    worst: (u64, String),
    /// The processes whose figures were beyond their bound or the tolerance.
    wrong: HashMap<Identity, Wrong>,
    /// By program, the number of uncertain figures and the greatest bound.
    doubts: BTreeMap<String, (usize, u64)>,
}

/// The wrong figures of a process.
#[derive(Default)]
struct Wrong {
    /// Figures beyond their bound, and beyond the tolerance.
    figures: [usize; 2],
    /// The greatest excess over its bound, and the text about it.
    most: u64,
    said: String,
}

impl Account {
    /// Takes in what is shown of a process, and the least and the most that it was meanwhile.
    fn take_in(&mut self, row: &ProcessSample, least: u64, most: u64, now: Duration, step: Duration) {
        let tolerance = (most / 100).max(1 << 20);
        let runs = self.runs.entry(row.id).or_default();
        let program = String::from_utf8_lossy(&row.facts.comm).into_owned();
        let mut is_so = [false, false, true];
        let mut said = format!("{program} {}: no figure", row.id.pid);
        if let Ok(walk) = &row.walk {
            let figure = footprint(&walk.memory);
            let error = least.saturating_sub(figure).max(figure.saturating_sub(most));
            said = format!(
                "{program} {}: shown {:.1} ± {:.1} MiB, is {:.1} to {:.1}, walked {:.0} s ago",
                row.id.pid,
                figure as f64 / MIB,
                walk.error as f64 / MIB,
                least as f64 / MIB,
                most as f64 / MIB,
                now.saturating_sub(walk.at).as_secs_f64(),
            );
            self.errors.push(error);
            is_so = [error > walk.error + SLACK, error > tolerance, false];
            if walk.error > tolerance {
                self.uncertain += 1;
                count(&mut self.doubts, &program, walk.error);
            }
            if error > self.worst.0 {
                self.worst = (error, said.clone());
            }
            if is_so[0] || is_so[1] {
                let wrong = self.wrong.entry(row.id).or_default();
                wrong.figures[0] += usize::from(is_so[0]);
                wrong.figures[1] += usize::from(is_so[1]);
                if error.saturating_sub(walk.error) >= wrong.most {
                    wrong.most = error.saturating_sub(walk.error);
                    wrong.said.clone_from(&said);
                }
            }
        }
        self.beyond += usize::from(is_so[0]);
        self.beyond_tolerance += usize::from(is_so[1]);
        self.unknown += usize::from(is_so[2]);
        for at in 0..3 {
            runs[at] = if is_so[at] { runs[at] + step } else { Duration::ZERO };
            if runs[at] > self.longest[at].0 {
                self.longest[at] = (runs[at], said.clone());
            }
        }
    }

    fn print(&mut self, name: &str) {
        self.errors.sort_unstable();
        let count = self.errors.len().max(1);
        let at = |part: f64| {
            let error = self.errors.get(((count - 1) as f64 * part) as usize);
            *error.unwrap_or(&0) as f64 / MIB
        };
        let share = |n: usize| n as f64 / count as f64 * 100.0;
        println!(
            "  {name:<9} {:>7} {:>7.3} {:>7.3} {:>7.3} {:>8.1}  {:>8.2} %  {:>8.2} %  {:>7} {:>7.1} s {:>7.1} s  {:>7} {:>5.1} s",
            self.errors.len(),
            at(0.5),
            at(0.99),
            at(0.999),
            at(1.0),
            100.0 - share(self.beyond_tolerance),
            share(self.uncertain),
            self.beyond,
            self.longest[0].0.as_secs_f64(),
            self.longest[1].0.as_secs_f64(),
            self.unknown,
            self.longest[2].0.as_secs_f64(),
        );
    }

    fn explain(&self) {
        println!("    worst error: {}", self.worst.1);
        let kinds = ["beyond its bound", "beyond the tolerance", "without a figure"];
        for ((_, said), kind) in self.longest.iter().zip(kinds).filter(|((time, _), _)| !time.is_zero()) {
            println!("    longest {kind}: {said}");
        }
        let mut wrong: Vec<&Wrong> = self.wrong.values().collect();
        wrong.sort_by_key(|w| std::cmp::Reverse((w.figures, w.most)));
        for Wrong { figures, said, .. } in wrong.iter().take(MOST) {
            let [bound, tolerance] = figures;
            println!("    {bound} × beyond the bound, {tolerance} × beyond the tolerance: {said}");
        }
        if wrong.len() > MOST {
            println!("    and {} processes more", wrong.len() - MOST);
        }
        let mut doubts: Vec<_> = self.doubts.iter().collect();
        doubts.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        let most = doubts.iter().take(MOST);
        let said = most.map(|(program, (count, bytes))| format!("{program} {count} × (≤ {:.1})", *bytes as f64 / MIB));
        println!("    uncertain: {}", said.collect::<Vec<_>>().join(", "));
    }
}

/// Counts one more of a program, and keeps the greatest figure.
fn count(programs: &mut BTreeMap<String, (usize, u64)>, program: &str, bytes: u64) {
    let (count, most) = programs.entry(program.to_owned()).or_default();
    *count += 1;
    *most = (*most).max(bytes);
}

/// Compares for so many seconds, after a time in which nothing counts, and prints how right the figures were.
pub(crate) fn compare(seconds: u64, warmup: u64) {
    let sampler = Sampler::start();
    let mut last = sampler.tick(Vec::new());
    let [mut sight, mut all] = [Account::default(), Account::default()];
    let (mut walks, mut walked, mut busy) = (0, Duration::ZERO, 0);
    let mut cpu = Cpu::default();
    let (mut spent, mut began) = (cpu.look(), Instant::now());
    let mut next = Instant::now();
    for second in 0..warmup + seconds {
        next = (next + Duration::from_secs(1)).max(Instant::now());
        pause(next.saturating_duration_since(Instant::now()));
        if second == warmup {
            (spent, began) = (cpu.look(), Instant::now());
        }
        let visible = in_sight(&last);
        let is_all = second % ALL_EVERY == 0;
        let compared: Vec<Identity> = if is_all {
            last.rows().iter().map(|row| row.id).collect()
        } else {
            visible.clone()
        };
        let before: Vec<_> = compared.iter().map(|id| walk(id.pid)).collect();
        let snapshot = sampler.tick(visible.clone());
        let after: Vec<_> = compared.iter().map(|id| walk(id.pid)).collect();
        let now = snapshot.monotonic;
        let since = now.saturating_sub(last.monotonic);
        let rows: HashMap<Identity, &ProcessSample> = snapshot.rows().iter().map(|row| (row.id, row)).collect();
        if second >= warmup {
            walks += snapshot.sampling.walks;
            walked += snapshot.sampling.walked;
            // Too busy a machine to let the sampler finish.
            let is_busy = snapshot.sampling.took >= snapshot.interval || since > 2 * snapshot.interval;
            busy += usize::from(is_busy);
            let step = if is_busy { Duration::ZERO } else { since };
            for (id, (before, after)) in compared.iter().zip(before.into_iter().zip(after)) {
                let Some((row, (before, after))) = rows.get(id).zip(before.zip(after)) else {
                    continue;
                };
                let (least, most) = (before.min(after), before.max(after));
                if visible.contains(id) {
                    sight.take_in(row, least, most, now, step);
                }
                if is_all {
                    all.take_in(row, least, most, now, step * ALL_EVERY as u32);
                }
            }
        }
        sight.runs.retain(|id, _| rows.contains_key(id));
        all.runs.retain(|id, _| rows.contains_key(id));
        drop(rows);
        last = snapshot;
        cpu.look();
    }
    let time = began.elapsed().as_secs_f64();
    let total = cpu.look().saturating_sub(spent).as_secs_f64() * 1e3 / time;
    let walks_cost = walked.as_secs_f64() * 1e3 / time;
    println!(
        "            figures  median     p99   p99.9    worst  in tolerance  uncertain   beyond bound: longest  tolerance  no figure"
    );
    sight.print("in sight");
    all.print("all");
    sight.explain();
    println!("    of all:");
    all.explain();
    println!(
        "  {} processes; {:.1} walks a second, {walks_cost:.1} ms/s, the rest of the sampler {:.1} ms/s; {busy} of {seconds} \
         ticks too busy",
        last.rows().len(),
        walks as f64 / time,
        total - walks_cost,
    );
}

/// The rows at the top of the table, in its usual order.
fn in_sight(snapshot: &Snapshot) -> Vec<Identity> {
    let mut rows: Vec<(u64, Identity)> = snapshot
        .rows()
        .iter()
        .filter_map(|row| Some((row.memory().ok().map(footprint)?, row.id)))
        .collect();
    rows.sort_unstable_by(|a, b| b.cmp(a));
    rows.into_iter().take(SIGHT).map(|(_, id)| id).collect()
}
