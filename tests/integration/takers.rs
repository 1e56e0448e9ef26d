//! Takers of the memory below a limit that is near: the process that is read, the time, and the figures that a recording keeps.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use zmtop::alert::Alerts;
use zmtop::call_tree::{Frame, KeptBy, Kind};
use zmtop::engine::{State, Suspicion, Takers};
use zmtop::heaps::taken;
use zmtop::history::History;
use zmtop::model::taker::Taker;
use zmtop::model::{CgroupFigures, Identity, Missing, ProcessSample, Snapshot};
use zmtop::recorder::{Options, Place, Writer};
use zmtop::source::Source;

use crate::formats::made::small;
use crate::support::rows::{MIB, in_cgroup, snapshot, with_pss};

/// The machine has 1000 MiB and no swap. `/shop` may have `limit` MiB.
fn machine(second: u64, limit: u64, rows: Vec<ProcessSample>) -> Arc<Snapshot> {
    let used = |path: &str| {
        let within = rows.iter().filter(|row| {
            let cgroup = row.facts.cgroup.as_deref();
            path == "/" || cgroup.is_ok_and(|own| own.starts_with(path.as_bytes()))
        });
        within.map(|row| row.memory().unwrap().pss).sum::<u64>()
    };
    let figures = CgroupFigures {
        current: Ok(used("/shop")),
        limit: Ok(Some(limit * MIB)),
        reclaimable: Ok(0),
        swap: Ok(0),
        ..CgroupFigures::missing(Missing::Unsupported)
    };
    let available = (1000 * MIB).saturating_sub(used("/"));
    let mut snap = snapshot(Duration::from_secs(1000 + second), rows);
    snap.cgroups = Arc::new(BTreeMap::from([(Arc::from(&b"/shop"[..]), figures)]));
    let system = &mut snap.system;
    (system.mem_total, system.mem_available) = (Ok(1000 * MIB), Ok(available));
    (system.swap_total, system.swap_free) = (Ok(0), Ok(0));
    Arc::new(snap)
}

fn new_state() -> State {
    State::new(History::new(Duration::from_secs(10)), Alerts::default())
}

/// Returns the processes that are looked at, with the second and the time to the nearest limit.
fn looks(state: &mut State, snapshots: impl Iterator<Item = Arc<Snapshot>>) -> Vec<(u64, u64, Suspicion)> {
    let mut takers = Takers::default();
    let mut all = Vec::new();
    for snapshot in snapshots {
        let second = snapshot.monotonic.as_secs() - 1000;
        state.push(snapshot);
        let left = state.history.dangers().first().map(|danger| danger.forecast.time());
        let found = takers.of(state, 1);
        all.extend(found.into_iter().map(|one| (second, left.unwrap().as_secs(), one)));
    }
    all
}

/// The pids of these looks.
fn pids(looks: &[(u64, u64, Suspicion)]) -> Vec<u32> {
    looks.iter().map(|(_, _, one)| one.id.pid).collect()
}

fn holding(pid: u32, command: &str, path: &str, mib: u64) -> ProcessSample {
    in_cgroup(with_pss(pid, command, mib * MIB), path)
}

#[test]
fn the_process_that_fills_a_limit_is_looked_at() {
    // 1 MiB a second, up to the limit of /shop or of the machine.
    for (path, limit) in [("/shop/web", 300), ("/other", 5000)] {
        let rows = |second| {
            vec![
                holding(7, "importer", path, 50 + second),
                holding(8, "large", "/shop", 100),
            ]
        };
        let end = if limit == 300 { 150 } else { 800 };
        let found = looks(
            &mut new_state(),
            (0..end).map(|second| machine(second, limit, rows(second))),
        );
        // It doubles once before the limit of the cgroup.
        let wanted: &[u32] = if limit == 300 { &[7, 7] } else { &[7] };
        assert_eq!(pids(&found), wanted, "{path}: {found:?}");
        let (_, left, one) = &found[0];
        assert!((60..120).contains(left), "{path}: {left} s before");
        assert_eq!((&*one.comm, &one.kept_by), (&b"importer"[..], &None));
    }
}

#[test]
fn a_process_that_doubles_is_looked_at_again() {
    let rows = |second| vec![holding(7, "importer", "/other", 20 + 10 * second)];
    let found = looks(
        &mut new_state(),
        (0..97).map(|second| machine(second, 5000, rows(second))),
    );
    let held: Vec<u64> = found.iter().map(|(second, ..)| 20 + 10 * second).collect();
    assert!((2..=4).contains(&found.len()), "{held:?}");
    assert_eq!(pids(&found), vec![7; found.len()]);
    for pair in held.windows(2) {
        assert!((2 * pair[0]..2 * pair[0] + 20).contains(&pair[1]), "{held:?}");
    }
    assert!(held.last().unwrap() * 2 >= 900, "{held:?}");
}

#[test]
fn no_process_is_looked_at_if_no_limit_is_near() {
    let rows = |second| vec![holding(7, "importer", "/shop", 50 + second / 10)];
    let found = looks(
        &mut new_state(),
        (0..600).map(|second| machine(second, 300, rows(second))),
    );
    assert_eq!(found, []);
    // What zmtop itself takes is not looked at.
    let rows = |second| vec![holding(1, "zmtop", "/shop", 50 + second)];
    let found = looks(
        &mut new_state(),
        (0..240).map(|second| machine(second, 300, rows(second))),
    );
    assert_eq!(found, []);
}

#[test]
fn a_new_danger_gets_a_new_look_and_a_flickering_one_does_not() {
    // A tooth of 250 s; the calm between two is 60 s or more.
    let rows = |second: u64| vec![holding(7, "importer", "/shop", 50 + (second % 600).min(245))];
    let found = looks(
        &mut new_state(),
        (0..1200).map(|second| machine(second, 300, rows(second))),
    );
    assert_eq!(pids(&found), [7, 7], "{found:?}");
    assert!(found[1].0 - found[0].0 > 500, "{found:?}");
}

#[test]
fn many_limits_of_one_user_hide_no_danger_to_the_machine() {
    let path = |pid: u32| format!("/user.slice/user-1000.slice/{pid}.scope");
    let snapshots = (0..300_u64).map(|second| {
        // Four of them nearly reach their limits, and then one process takes the rest of the machine.
        let used = 20 + second.min(90);
        let mut rows: Vec<_> = (11..15).map(|pid| holding(pid, "small", &path(pid), used)).collect();
        rows.push(holding(20, "importer", "/other", 20 + 3 * second.saturating_sub(120)));
        let mut snap = Arc::unwrap_or_clone(machine(second, 5000, rows));
        let shop = *snap.cgroups.values().next().unwrap();
        let limited = (11..15).map(|pid| {
            let figures = CgroupFigures {
                current: Ok(used * MIB),
                limit: Ok(Some(120 * MIB)),
                ..shop
            };
            (Arc::from(path(pid).as_bytes()), figures)
        });
        snap.cgroups = Arc::new(limited.collect());
        Arc::new(snap)
    });
    let found = pids(&looks(&mut new_state(), snapshots));
    let of_user = found.iter().filter(|pid| **pid < 20).count();
    assert_eq!((of_user, found.contains(&20)), (2, true), "{found:?}");
}

#[test]
fn what_fills_only_its_own_address_space_is_not_looked_at() {
    // Any user may set `ulimit -v`, for any number of processes.
    let snapshots = (0..190_u64).map(|second| {
        let mut row = holding(7, "greedy", "/other", 50);
        row.stat.vsize = (500 + 2 * second) * MIB;
        let id = row.id;
        let mut snap = Arc::unwrap_or_clone(machine(second, 5000, vec![row]));
        snap.address_limits = Arc::new([(id, 900 * MIB)].into());
        Arc::new(snap)
    });
    let mut state = new_state();
    assert_eq!(looks(&mut state, snapshots), []);
    assert!(state.history.dangers()[0].forecast.time() < Duration::from_secs(60));
}

#[test]
fn of_a_program_the_process_with_most_memory_is_looked_at() {
    // Each of them takes too little to be the one.
    let rows = |second: u64| {
        let worker = |pid: u32| holding(pid, "worker", "/other", 100 + u64::from(pid) + second / 2);
        (20..26).map(worker).collect()
    };
    let found = looks(
        &mut new_state(),
        (0..80).map(|second| machine(second, 5000, rows(second))),
    );
    assert_eq!(pids(&found), [25], "{found:?}");
}

#[test]
fn the_code_that_keeps_its_memory_is_added_if_it_is_known() {
    let rows = |second| vec![holding(7, "importer", "/shop", 50 + second)];
    let mut state = new_state();
    let id = rows(0)[0].id;
    let frame = |function: &str| Frame {
        function: function.into(),
        module: "importer".into(),
        source: None,
        inlined: false,
        kind: Kind::Program,
    };
    let kept_by = KeptBy {
        frames: vec![frame("remember"), frame("handle")],
        runtime: None,
        bytes: 94,
        total: 100,
        time: Duration::from_secs(60),
    };
    state.history.set_kept_by(id, Arc::new(kept_by));
    let found = looks(&mut state, (0..240).map(|second| machine(second, 300, rows(second))));
    let path = found[0].2.kept_by.as_ref().unwrap();
    let functions: Vec<&str> = path.functions.iter().map(AsRef::as_ref).collect();
    assert_eq!(
        (functions, path.bytes, path.total),
        (vec!["remember", "handle"], 94, 100)
    );
}

#[test]
fn a_recording_keeps_what_was_found() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("rec.zmrec");
    let mut writer = Writer::new(Options::plain(Place::File(file.clone()))).unwrap();
    let snapshots: Vec<_> = (0..6_u64)
        .map(|second| {
            let mut snap = small();
            snap.time += Duration::from_secs(second);
            snap.monotonic += Duration::from_secs(second);
            // They come and go.
            if !(2..5).contains(&second) {
                snap.takers = Arc::default();
            }
            Arc::new(snap)
        })
        .collect();
    for snapshot in &snapshots {
        writer.record(snapshot, &[]);
    }
    writer.close();
    let read: Vec<_> = Source::open(&file).unwrap().map(Result::unwrap).collect();
    let takers = |all: &[Arc<Snapshot>]| {
        all.iter()
            .map(|snap| snap.takers.clone())
            .collect::<Vec<Arc<[Taker]>>>()
    };
    assert_eq!(takers(&read), takers(&snapshots));
    assert_eq!(takers(&read)[2].len(), 2);
}

#[test]
fn a_real_process_is_read_and_a_reused_pid_is_not() {
    let proc = Path::new("/proc");
    let limit = Duration::from_secs(20);
    let pid = std::process::id();
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let starttime = stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap();
    let starttime = starttime.parse().unwrap();
    let (memory, _) = taken(proc, Identity { pid, starttime }, limit);
    assert!(memory.unwrap() > MIB);
    let other = Identity {
        pid,
        starttime: starttime + 1,
    };
    assert_eq!(taken(proc, other, limit), (Err(Missing::Gone), Err(Missing::Gone)));
    let gone = Identity {
        pid: u32::MAX / 2,
        starttime,
    };
    assert_eq!(taken(proc, gone, limit), (Err(Missing::Gone), Err(Missing::Gone)));
}
