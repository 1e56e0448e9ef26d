//! A history that knows the changed rows: rows that rest give the same as if they were pushed at every snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use zmtop::group::GroupBy;
use zmtop::history::History;
use zmtop::history::suspects::{SuspectQuery, suspects};
use zmtop::model::{Held, HeldKind, HeldObject, Missing, ProcessSample, RowChanges, Snapshot, Stat};
use zmtop::trend::Verdict;

use crate::support::long;
use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

/// Numbers that are as good as random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % n
    }
}

fn memfd(bytes: u64) -> HeldObject {
    HeldObject {
        kind: HeldKind::Memfd,
        name: (*b"/memfd:a").into(),
        bytes: Ok(bytes),
        vram: 0,
        holders: 1,
        fds: 1,
    }
}

/// A machine on which nearly anything happens to a few processes now and then.
struct World {
    random: Random,
    rows: BTreeMap<u32, ProcessSample>,
    /// The bytes that some grow by at every tick.
    growing: Vec<(u32, u64)>,
    last: Option<Snapshot>,
    tick: u64,
    now: Duration,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut world = Self {
            random: Random(seed),
            rows: BTreeMap::new(),
            growing: vec![(5, MIB), (6, 200 << 10)],
            last: None,
            tick: 0,
            now: Duration::from_secs(1000),
        };
        (2..40).for_each(|pid| world.start(pid));
        world
    }

    fn start(&mut self, pid: u32) {
        let parent = 1 + self.random.below(40) as u32;
        let command =
            ["/usr/bin/python3 a.py", "postgres", "/bin/sh -c x", "nginx: worker"][self.random.below(4) as usize];
        let mut row = process(pid, parent, command);
        row.id.starttime = 100 + self.tick;
        if pid < 5 {
            row.stat.flags = Stat::PF_KTHREAD;
            row.walk = Err(Missing::KernelThread);
        } else if self.random.below(3) == 0 {
            row.walk = Err(Missing::Pending);
        }
        self.rows.insert(pid, row);
    }

    fn happen(&mut self) {
        let pid = 2 + self.random.below(40) as u32;
        let (what, n) = (self.random.below(19), self.random.below(8));
        let Some(row) = self.rows.get_mut(&pid) else {
            return self.start(pid);
        };
        let is_process = !row.stat.is_kernel_thread();
        match what {
            0..=3 if is_process => row.walk = Ok(walk((10 + n) * MIB, (n % 2) * MIB)),
            4 if is_process => row.walk = Ok(walk(10 * MIB + n * 1024, 0)),
            5 => row.stat.minflt += n,
            6 => row.stat.cpu_ticks += n,
            7 => row.stat.ppid = 1 + n as u32 * 5,
            8 => *row = with_facts(row.clone(), |facts| facts.user = Ok(Arc::from(&b"other"[..]))),
            9 => *row = with_facts(row.clone(), |facts| facts.cmdline = Ok((*b"/bin/bash").into())),
            10 => row.exec += 1,
            11 if is_process => row.walk = Err([Missing::TimedOut, Missing::Zombie][n as usize % 2]),
            12 => drop(self.rows.remove(&pid)),
            13 => row.shares_mm = Some(row.id).filter(|_| n == 0),
            14 if is_process => {
                let first = self.rows.range(5..pid).next().map(|(_, first)| first.id);
                if let Some(row) = self.rows.get_mut(&pid) {
                    row.shares_mm = first;
                }
            }
            15 if is_process => row.held = Some(Arc::new(Ok(Held::new(vec![memfd(n * MIB)])))),
            16 => row.held = (n % 2 == 0).then(|| Arc::new(Err(Missing::Denied))),
            17 if is_process => row.held = Some(Arc::new(Ok(Held::default()))),
            _ => self.start(pid),
        }
    }

    /// Returns the next snapshot, and what differs from the one before.
    fn next(&mut self) -> Snapshot {
        let step = match self.random.below(60) {
            0 => 20_000,
            1 => 0,
            2..6 => 300,
            _ => 1000,
        };
        self.now += Duration::from_millis(step);
        self.tick += 1;
        let events = if self.random.below(3) == 0 {
            self.random.below(4)
        } else {
            0
        };
        (0..events).for_each(|_| self.happen());
        if let Some(row) = self.rows.get_mut(&7).filter(|_| self.tick > 50) {
            row.held = Some(Arc::new(Ok(Held::new(vec![memfd(self.tick << 19)]))));
        }
        for (pid, step) in self.growing.clone() {
            if let Some(Ok(walk)) = self.rows.get_mut(&pid).map(|row| &mut row.walk) {
                walk.memory.pss += step;
                walk.memory.pss_anon = Ok(walk.memory.pss);
            }
        }
        let mut next = snapshot(self.now, self.rows.values().cloned().collect());
        next.tick = self.tick;
        next.system.uptime = Ok(self.now.as_secs_f64());
        if self.random.below(40) == 0 {
            next.processes = Err(Missing::Denied);
            self.last = None;
            return next;
        }
        if let Some(last) = &self.last {
            let before = |row: &ProcessSample| last.rows().iter().any(|old| old.is_same(row));
            let gone = |id| !next.rows().iter().any(|row| row.id == id);
            next.changes = Some(RowChanges {
                rows: (0..)
                    .zip(next.rows())
                    .filter(|(_, row)| !before(row))
                    .map(|(at, _)| at)
                    .collect(),
                removed: last.rows().iter().map(|row| row.id).filter(|id| gone(*id)).collect(),
            });
        }
        self.last = Some(next.clone());
        next
    }
}

/// All that can be seen of a history.
fn picture(history: &History, snapshot: &Snapshot) -> Vec<String> {
    let mut rows: Vec<_> = history.processes().map(|(id, row)| format!("{id:?} {row:?}")).collect();
    for by in GroupBy::OF_PROCESSES {
        let held = history.held().groups_by(by);
        rows.extend(held.map(|(key, held)| format!("held by {key:?} {held:?}")));
        rows.extend(
            history
                .groups_by(by)
                .map(|(name, row)| format!("{by:?} {name:?} {row:?}")),
        );
    }
    let held = history.held().processes();
    rows.extend(held.map(|(id, held)| format!("held by {id:?} {held:?}")));
    rows.sort();
    rows.extend(history.all_ended().map(|ended| format!("ended {ended:?}")));
    rows.push(format!(
        "{:?} {} {}",
        history.shortfall(),
        history.len(),
        history.groups()
    ));
    let mut found = suspects(history, snapshot, SuspectQuery::GROWING);
    found.sort_by(|a, b| a.key.cmp(&b.key));
    rows.push(format!("{found:?}"));
    rows
}

#[test]
fn what_rests_is_as_if_it_were_pushed() {
    let seeds = if long() { 8 } else { 1 };
    for seed in 0..seeds {
        let mut world = World::new(seed);
        let window = Duration::from_secs(10);
        let (mut told, mut untold) = (History::new(window), History::new(window));
        for tick in 0..700 {
            let next = world.next();
            told.push(&next);
            let whole = Snapshot { changes: None, ..next };
            untold.push(&whole);
            // Looking lets time pass, so that it must also be right where nobody has looked for long.
            if tick % 7 > 1 && tick % 50 != 0 {
                continue;
            }
            let (one, other) = (picture(&told, &whole), picture(&untold, &whole));
            if one != other {
                let differs = one.iter().zip(&other).find(|(one, other)| one != other);
                panic!("seed {seed}, tick {}: {differs:#?}", world.tick);
            }
        }
    }
}

/// Returns the snapshot of a second, in which those rows changed.
fn second(at: u64, rows: &[ProcessSample], changed: &[u32]) -> Snapshot {
    let mut next = snapshot(Duration::from_secs(1000 + at), rows.to_vec());
    next.tick = at;
    next.changes = (at > 0).then(|| RowChanges {
        rows: changed.to_vec(),
        removed: Vec::new(),
    });
    next
}

#[test]
fn what_is_steady_is_left_alone_until_it_changes() {
    let mut rows = vec![process(5, 1, "postgres"), process(6, 1, "postgres")];
    let mut history = History::new(Duration::from_secs(10));
    let mut pushed = BTreeMap::new();
    for at in 0..300 {
        history.push(&second(at, &rows, &[]));
        pushed.insert(at, history.pushed().map(<[u32]>::to_vec));
    }
    // Each is judged for the first time when there may be a verdict, in its turn; and not again.
    let awake: Vec<_> = pushed.split_off(&60).into_values().flatten().flatten().collect();
    assert_eq!(awake, [0, 1]);
    let verdicts = |history: &History| -> BTreeMap<u32, Verdict> {
        let processes = history.processes();
        processes.map(|(id, row)| (id.pid, row.trend().verdict)).collect()
    };
    assert_eq!(
        verdicts(&history),
        BTreeMap::from([(5, Verdict::Steady), (6, Verdict::Steady)])
    );
    // Ever since it is judged again.
    for at in 300..1500 {
        rows[0].walk = Ok(walk((10 + at) * MIB, 0));
        history.push(&second(at, &rows, &[0]));
    }
    let verdicts = verdicts(&history);
    assert!(verdicts[&5] > Verdict::Steady, "{verdicts:?}");
    assert_eq!(verdicts[&6], Verdict::Steady);
}
