//! A history of many processes, with default settings: every row is judged in turn, within the memory bound.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use zmtop::config::Env;
use zmtop::group::{GroupBy, GroupKey};
use zmtop::history::{History, HistoryConfig, RowHistory};
use zmtop::model::{Missing, ProcessSample, Snapshot, Stat};
use zmtop::trend::Verdict;

use crate::support::long;
use crate::support::rows::{MIB, later, process, walk, with_facts, with_pss};
use crate::support::session::{Session, env};

const WINDOW: Duration = Duration::from_secs(10);
/// Processes of one program, of one unit and of one cgroup.
const PER_GROUP: u32 = 20;
/// The kinds of groups of which every process is in another.
const KINDS: [GroupBy; 4] = [GroupBy::Command, GroupBy::Unit, GroupBy::Cgroup, GroupBy::User];
/// Seconds after which what changes is judged again, and the minute it may wait for its turn.
const JUDGED_WITHIN: u64 = 10 + 60;
/// Seconds after which everything was judged once.
const BEGUN: u64 = 80;

/// The processes of a large machine, the number of those that move, and the seconds it is watched: each row is judged twice.
const LARGE: (u32, usize, u64) = (40_000, 5000, 170);

/// The same of a small machine, of which all processes but a thousand move.
const fn small(processes: u32) -> (u32, usize, u64) {
    (processes, processes as usize - 1000, 120)
}

/// A machine of kernel threads and processes, the last of which move: they were judged last.
struct Machine {
    all: Vec<ProcessSample>,
    moving: usize,
}

/// The bytes of a process that moves. It slows down, so that nothing is proven, and both of its series are judged.
fn bytes(second: u64) -> u64 {
    20 * MIB + ((second as f64).sqrt() * (4 * MIB) as f64) as u64
}

impl Machine {
    fn new(processes: u32, moving: usize) -> Self {
        let one = |n: u32| {
            with_facts(process(n + 1000, 1, &format!("program{}", n / PER_GROUP)), |facts| {
                let unit = format!("service{}.service", n / PER_GROUP);
                facts.user = Ok(Arc::from(format!("user{}", n / 400).into_bytes()));
                facts.cgroup = Ok(Arc::from(format!("/system.slice/{unit}").into_bytes()));
                facts.unit = Some(Arc::from(unit.into_bytes()));
            })
        };
        let thread = |n: u32| {
            let mut sample = process(n + 2, 0, "kworker");
            sample.stat.flags = Stat::PF_KTHREAD;
            sample.walk = Err(Missing::KernelThread);
            sample
        };
        let all = (0..500).map(thread).chain((0..processes).map(one)).collect();
        Self { all, moving }
    }

    fn movers(&self) -> &[ProcessSample] {
        &self.all[self.all.len() - self.moving..]
    }

    fn at(&mut self, second: u64) -> Snapshot {
        let from = self.all.len() - self.moving;
        for sample in &mut self.all[from..] {
            sample.walk = Ok(walk(bytes(second), 0));
        }
        later(second, self.all.clone())
    }

    /// The groups that have moving members, with the number of those and of the others.
    fn groups(&self) -> HashMap<GroupKey, (u64, u64)> {
        let mut groups: HashMap<GroupKey, (u64, u64)> = HashMap::new();
        for (moves, sample) in self.all.iter().rev().enumerate() {
            if sample.stat.is_kernel_thread() {
                continue;
            }
            for by in KINDS {
                let (moving, still) = groups.entry(group(sample, by)).or_default();
                *if moves < self.moving { moving } else { still } += 1;
            }
        }
        groups.retain(|_, (moving, _)| *moving > 0);
        groups
    }
}

fn group(sample: &ProcessSample, by: GroupBy) -> GroupKey {
    let name = match by {
        GroupBy::Command => Some(Arc::from(&*sample.facts.comm)),
        GroupBy::Unit => sample.facts.unit.clone(),
        GroupBy::User => sample.facts.user.clone().ok(),
        _ => sample.facts.cgroup.clone().ok(),
    };
    GroupKey { by, name }
}

/// Returns true if a row was judged when it had at least so many bytes.
fn is_judged_at(row: &RowHistory, bytes: u64) -> bool {
    // What changes by less counts as unchanged.
    row.trend().floor + (bytes / 4096).max(4096) >= bytes
}

/// Counts the rows without a past: processes, and groups with members.
fn without_past(history: &History) -> (usize, usize) {
    let processes = history.processes().filter(|(_, row)| row.is_without_past());
    let groups = GroupBy::OF_PROCESSES.into_iter().flat_map(|by| history.groups_by(by));
    (
        processes.count(),
        groups.filter(|(_, row)| row.is_without_past()).count(),
    )
}

#[test]
fn every_row_is_judged_in_turn_within_the_memory_bound() {
    let machine = if long() { LARGE } else { small(2000) };
    let (_, without, _) = watch_many(HistoryConfig::with_window(WINDOW), machine);
    assert_eq!(without, (0, 0), "all of them have a past");
}

#[test]
fn where_memory_is_short_it_keeps_the_bound_and_says_what_it_leaves_out() {
    let (rows, without, _) = watch_many(
        HistoryConfig {
            max_memory: if long() { 27 << 20 } else { 13 << 20 },
            ..HistoryConfig::with_window(WINDOW)
        },
        if long() { LARGE } else { small(4000) },
    );
    // 40 000 processes leave room for the past of some hundreds.
    let most = if long() { rows } else { (rows.0 / 2, rows.1 / 4) };
    assert!(without.0 < most.0 && without.1 < most.1, "{without:?} of {rows:?}");
}

#[test]
fn where_all_that_moves_has_a_past_it_waits_for_its_turn() {
    let (_, without, longest) = watch_many(
        HistoryConfig {
            max_memory: 256 << 20,
            ..HistoryConfig::with_window(WINDOW)
        },
        small(8_000),
    );
    assert_eq!(without, (0, 0));
    assert!(longest > Duration::ZERO, "there was time for all: this shows nothing");
}

/// Pushes two or three minutes of a machine to a history. Returns the numbers of processes and groups that move, the numbers of
/// those without a past, and the longest wait for a judgement.
fn watch_many(
    config: HistoryConfig,
    (processes, moving, seconds): (u32, usize, u64),
) -> ((usize, usize), (usize, usize), Duration) {
    let mut machine = Machine::new(processes, moving);
    let groups = machine.groups();
    let mut history = History::with_config(config);
    let bound = config.max_memory as usize;
    let (mut longest, mut without) = (Duration::ZERO, (0, 0));
    for second in 0..seconds {
        history.push(&machine.at(second));
        let shortfall = *history.shortfall();
        assert!(history.bytes() <= bound, "{second} s: {} bytes", history.bytes());
        assert_eq!(shortfall.excess, 0);
        longest = longest.max(shortfall.longest_wait);
        assert!(longest < Duration::from_secs(60), "{second} s: {shortfall:?}");
        // What is not kept is said.
        without = without_past(&history);
        assert_eq!(without, (shortfall.processes, shortfall.groups), "{second} s");
        // In the short form every fifth second: a judgement that is missed is late for longer than that.
        if second < BEGUN || !long() && second % 5 > 0 {
            continue;
        }
        let then = second - JUDGED_WITHIN;
        for sample in machine.movers() {
            let row = history.get(sample.id).unwrap();
            assert!(
                row.is_without_past() || is_judged_at(row, bytes(then)),
                "{second} s: {:?} {:?}",
                sample.id,
                row.trend()
            );
        }
        for (key, (moving, still)) in &groups {
            let row = history.group(key).unwrap();
            let bytes = moving * bytes(then) + still * 10 * MIB;
            assert!(
                row.is_without_past() || is_judged_at(row, bytes),
                "{second} s: {key:?} {:?}",
                row.trend()
            );
        }
        // What never changed is known to be steady, and its past costs nothing.
        let still = history.get(machine.all[600].id).unwrap();
        assert!(
            second < 110 || still.trend().verdict == Verdict::Steady,
            "{second} s: {:?}",
            still.trend()
        );
    }
    let (kib, rows) = (history.bytes() / 1024, (moving, groups.len()));
    let _ = writeln!(
        std::io::stdout(),
        "{processes} processes; processes and groups that move: {rows:?}; {kib} KiB of {}; without a past {without:?}; \
         waited {longest:?} at most",
        bound / 1024
    );
    (rows, without, longest)
}

#[test]
fn what_has_a_past_keeps_it_where_memory_is_short() {
    // Room for the past of some of them: 400 processes that all move by the second.
    let max_memory = 1 << 20;
    let mut history = History::with_config(HistoryConfig {
        max_memory,
        ..HistoryConfig::with_window(WINDOW)
    });
    let size = |pid: u32| u64::from(pid) * MIB;
    let mut kept: Option<Vec<u32>> = None;
    let step = if long() { 1 } else { 2 };
    for second in (0..1800_u64).step_by(step) {
        let one = |pid: u32| {
            let mut sample = process(pid, 1, "worker");
            let grown = if pid == 3 { second.saturating_sub(900) * MIB } else { 0 };
            sample.walk = Ok(walk(size(pid) + grown + (second + u64::from(pid)) % 7 * MIB, 0));
            sample
        };
        let snap = later(second, (1..=400).map(one).collect());
        history.push(&snap);
        assert!(
            history.bytes() <= max_memory as usize,
            "{second} s: {}",
            history.bytes()
        );
        let rows = history.processes().filter(|(_, row)| !row.is_without_past());
        let mut now: Vec<u32> = rows.map(|(id, _)| id.pid).collect();
        now.sort_unstable();
        if second == 880 {
            // The largest.
            assert!(now.len() > 20 && now[0] > 200, "{now:?}");
        }
        if second == 1500 {
            // Not one that is small and grows.
            assert!(now.contains(&3), "{now:?}");
        }
        if second > 1500 {
            // They keep it, and so the same ones have it a minute later.
            let before = kept.replace(now.clone()).unwrap_or_else(|| now.clone());
            let lost = before.iter().filter(|pid| !now.contains(pid)).count();
            assert!(lost <= before.len() / 10, "{second} s: {lost} of {before:?}");
        }
    }
    let leak = history
        .processes()
        .find(|(id, _)| id.pid == 3)
        .map(|(_, row)| *row.trend())
        .unwrap();
    assert!(leak.verdict.is_growth(), "{leak:?}");
    let (processes, groups) = without_past(&history);
    assert!(processes > 100 && groups == 0, "{processes} {groups}");
    assert_eq!(history.shortfall().rows_text(), Some(format!("{processes} processes")));
}

#[test]
fn the_title_says_what_has_no_history() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("zmtop/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[history]\nmax_memory = \"1M\"\n").unwrap();
    let env = Env {
        xdg_config_home: Some(home.path().into()),
        ..env()
    };
    let mut session = Session::with_env(200, 50, &env);
    for second in 0..120_u64 {
        let one = |pid: u32| {
            with_pss(
                pid,
                "worker",
                u64::from(pid) * MIB + (second + u64::from(pid)) % 7 * MIB,
            )
        };
        session.tick(1, (1..=600).map(one).collect());
    }
    let processes = session.app.engine.history.shortfall().processes;
    assert!(processes > 100, "{processes}");
    session.line(&format!("  {processes} processes without history"));
    // The chart of one of them does not claim that it is only too early to tell.
    session.keys("f G Enter");
    session.line("no history: history.max_memory");
}
