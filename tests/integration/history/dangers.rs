//! Limits that are reached soon, and who takes the memory.

use std::sync::Arc;
use std::time::Duration;

use zmtop::columns::Value;
use zmtop::columns::system::{COLUMNS, SystemRow};
use zmtop::group::{GroupBy, RowKey};
use zmtop::history::History;
use zmtop::history::dangers::{Danger, Limit};
use zmtop::model::process::Counted;
use zmtop::model::snapshot::JvmHeap;
use zmtop::model::system::{AccountingInputs, MemoryMount};
use zmtop::model::{CgroupFigures, Missing, ProcessSample, Snapshot, SystemSample};
use zmtop::units::Units;

use crate::support::rows::{MIB, in_cgroup, process, snapshot, walk, with_facts, with_file};

/// A process of that program, in a cgroup, with so many MiB of anonymous memory.
fn holding(pid: u32, command: &str, path: &str, mib: u64) -> ProcessSample {
    let mut sample = in_cgroup(process(pid, 1, command), path);
    let mut seen = walk(mib * MIB, 0);
    seen.memory.pss_anon = Ok(mib * MIB);
    seen.memory.pss_shmem = Ok(0);
    sample.walk = Ok(seen);
    sample
}

/// Takes in a snapshot a second of such processes, of a machine of which so many MiB are left, with a cgroup `/box`
/// that is limited to 2 GiB; returns the dangers at the end.
fn after(seconds: u64, left: impl Fn(u64) -> u64, rows: impl Fn(u64) -> Vec<ProcessSample>) -> Vec<Danger> {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..seconds {
        history.push(&machine(second, left(second), rows(second)));
    }
    history.dangers().to_vec()
}

fn machine(second: u64, left: u64, rows: Vec<ProcessSample>) -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(second), rows);
    snap.system.mem_available = Ok(left * MIB);
    snap.system.swap_free = Ok(0);
    let figures = |limit| CgroupFigures {
        current: Ok(1900 * MIB),
        swap: Ok(0),
        limit: Ok(limit),
        swap_limit: Ok(None),
        ..CgroupFigures::missing(Missing::Unsupported)
    };
    let limited = [
        ("/box", Some(2048 * MIB)),
        ("/box/inner", Some(2048 * MIB)),
        ("/free", None),
    ];
    snap.cgroups = Arc::new(
        limited
            .into_iter()
            .map(|(path, limit)| (Arc::from(path.as_bytes()), figures(limit)))
            .collect(),
    );
    snap
}

fn pid(danger: &Danger) -> Option<u32> {
    danger.taker.as_ref()?.0.process().map(|id| id.pid)
}

#[test]
fn the_machine_is_full_soon_and_who_takes_it_is_named() {
    let rows = |second| {
        vec![
            holding(10, "still", "/", 900),
            holding(11, "greedy", "/", 100 + 10 * second),
        ]
    };
    let found = after(270, |second| 9000 - 10 * second, rows);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].limit, Limit::Machine);
    assert_eq!(pid(&found[0]), Some(11));
    let forecast = found[0].forecast;
    assert!((580.0..=680.0).contains(&forecast.seconds()), "{forecast:?}");
    let (_, pace) = found[0].taker.clone().unwrap();
    assert!((pace / (10.0 * MIB as f64) - 1.0).abs() < 0.1, "{pace}");
}

#[test]
fn a_program_whose_processes_take_it_together_is_named_as_a_whole() {
    let rows = |second| {
        let workers = (10..20).map(|pid| holding(pid, "worker", "/", 100 + second));
        workers.chain([holding(30, "still", "/", 900)]).collect()
    };
    let found = after(270, |second| 9000 - 10 * second, rows);
    let (key, _) = found[0].taker.as_ref().unwrap();
    let RowKey::Group(key) = key else { panic!("{key:?}") };
    assert_eq!((key.by, key.label()), (GroupBy::Command, &b"worker"[..]));
}

#[test]
fn what_no_process_takes_is_reported_without_one() {
    let found = after(
        270,
        |second| 9000 - 10 * second,
        |_| vec![holding(10, "still", "/", 900)],
    );
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].taker, None);
}

#[test]
fn a_cgroup_is_full_soon_while_the_machine_is_not() {
    let rows = |second| {
        vec![
            holding(10, "outside", "/free", 100 + 3 * second),
            holding(11, "inside", "/box/inner", 1000 + second),
        ]
    };
    let found = after(270, |_| 9000, rows);
    // It has the same limit as the one above it, whose limit it is.
    let limits: Vec<_> = found.iter().map(|danger| &danger.limit).collect();
    assert_eq!(limits, [&Limit::Cgroup(Arc::from(&b"/box"[..]))]);
    assert_eq!(pid(&found[0]), Some(11));
}

#[test]
fn the_limit_of_an_address_space_is_counted_down_to() {
    let limited = |second: u64, limit: Option<u64>| {
        let mut sample = holding(11, "greedy", "/", 100 + second);
        // More of it is reserved than is used.
        sample.stat.vsize = (500 + 2 * second) * MIB;
        let id = sample.id;
        let mut snap = machine(second, 90_000, vec![holding(10, "still", "/", 900), sample]);
        snap.address_limits = Arc::new(limit.map(|limit| (id, limit)).into_iter().collect());
        snap
    };
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..150 {
        history.push(&limited(second, Some(1500 * MIB)));
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    assert!(
        matches!(danger.limit, Limit::AddressSpace(id) if id.pid == 11),
        "{danger:?}"
    );
    assert_eq!(pid(danger), Some(11));
    // At 2 MiB a second, of the 702 that are left.
    assert!((danger.forecast.seconds() - 351.0).abs() < 5.0, "{danger:?}");
    // It is no danger to the machine or to a cgroup.
    let system = SystemRow {
        snapshot: &limited(149, None),
        history: &history,
    };
    let full_in = COLUMNS.iter().find(|column| column.id == "full_in").unwrap();
    assert!(matches!((full_in.value)(&system), Value::Never));
    assert_eq!(system.owners("full_in"), Some(Vec::new()));
    history.push(&limited(150, None));
    assert_eq!(history.dangers(), []);
}

#[test]
fn a_limit_that_is_gone_is_forgotten() {
    let mut history = History::new(Duration::from_secs(10));
    let rows = |second| vec![holding(11, "inside", "/box", 1000 + second)];
    for second in 0..270 {
        history.push(&machine(second, 9000, rows(second)));
    }
    assert_eq!(history.dangers().len(), 1);
    for second in 270..274 {
        let mut snap = machine(second, 9000, rows(second));
        snap.cgroups = Arc::default();
        history.push(&snap);
    }
    assert_eq!(history.dangers(), []);
}

#[test]
fn who_fills_the_memory_in_seconds_is_named_at_once() {
    let mut history = History::new(Duration::from_secs(10));
    // A process begins at second 60, and takes 2000 MiB in 20 s; what it has is read every other second.
    let rows = |second: u64| {
        let mut rows = vec![holding(10, "still", "/", 900)];
        if second >= 61 {
            let mut hog = holding(11, "hog", "/", 100 * ((second - 61) / 2 * 2));
            hog.id.starttime = 6000;
            rows.push(hog);
        }
        rows
    };
    for second in 0..=63 {
        let mut snap = machine(second, 2000 - 100 * second.saturating_sub(60), rows(second));
        snap.system.uptime = Ok(second as f64);
        history.push(&snap);
        assert_eq!(history.dangers().is_empty(), second < 62, "{second}");
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    assert_eq!(pid(danger), Some(11));
    assert!(danger.forecast.seconds() < 25.0, "{danger:?}");
}

#[test]
fn a_fork_that_shares_its_memory_does_not_take_it() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..=130_u64 {
        // The importer takes 20 MiB/s. From second 120 on, the database shares its memory with a fork.
        let of_each = if second < 120 { 8000 } else { 4000 };
        let importer = holding(11, "importer", "/", 100 + 20 * second);
        let mut rows = vec![holding(10, "database", "/", of_each), importer];
        if second >= 120 {
            let mut fork = holding(12, "database", "/", of_each);
            fork.id.starttime = 12_000;
            let memory = &mut fork.walk.as_mut().unwrap().memory;
            (memory.private_dirty, memory.shared_dirty) = (MIB, 8000 * MIB);
            rows.push(fork);
        }
        let mut snap = machine(second, 12_000 - 20 * second, rows);
        snap.system.uptime = Ok(second as f64);
        history.push(&snap);
        assert!(
            second < 125 || history.dangers().iter().all(|danger| pid(danger) == Some(11)),
            "{second}"
        );
    }
    assert!(!history.dangers().is_empty());
}

#[test]
fn a_process_that_has_stopped_growing_is_not_named() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0_u64..=71 {
        // The database starts with 70 MiB, and takes no more; the crawler takes 3 MiB/s.
        let crawler = 1 + 3 * second.saturating_sub(60);
        let database = if second >= 57 { 70 } else { 0 };
        let rows = vec![
            holding(10, "crawler", "/site", crawler),
            holding(11, "database", "/site", database),
        ];
        let mut snap = machine(second, 4000, rows);
        limited(&mut snap, &[("/site", 120, crawler + database)]);
        history.push(&snap);
        if second >= 63 {
            let named: Vec<_> = history.dangers().iter().map(pid).collect();
            assert_eq!(named, [Some(10)], "{second}");
        }
    }
}

/// Cgroups with a limit in MiB and what is used of it, as they themselves say.
fn limited(snap: &mut Snapshot, cgroups: &[(&str, u64, u64)]) {
    let figures = |limit, used| CgroupFigures {
        current: Ok((used + 20) * MIB),
        reclaimable: Ok(20 * MIB),
        limit: Ok(Some(limit * MIB)),
        swap: Ok(0),
        high: Ok(None),
        swap_limit: Ok(None),
        ..CgroupFigures::missing(Missing::Unsupported)
    };
    let cgroups = cgroups.iter();
    let cgroups = cgroups.map(|(path, limit, used)| (Arc::from(path.as_bytes()), figures(*limit, *used)));
    snap.cgroups = Arc::new(cgroups.collect());
}

/// Pushes a snapshot a second in which what grows is in cgroups; returns the limits in danger in the last one.
fn limits_after(
    seconds: u64,
    left: impl Fn(u64) -> u64,
    cgroups: impl Fn(u64) -> Vec<(&'static str, u64, u64)>,
) -> Vec<Limit> {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..seconds {
        let cgroups = cgroups(second);
        let rows = cgroups.iter().enumerate();
        let rows = rows.map(|(at, (path, _, used))| holding(10 + at as u32, "taker", path, *used));
        let mut snap = machine(second, left(second), rows.collect());
        limited(&mut snap, &cgroups);
        history.push(&snap);
    }
    history.dangers().iter().map(|danger| danger.limit.clone()).collect()
}

fn cgroup(path: &str) -> Limit {
    Limit::Cgroup(Arc::from(path.as_bytes()))
}

#[test]
fn the_nearest_limit_that_binds_is_in_danger_and_no_other() {
    let growing = |second: u64| second.saturating_sub(60) * 4;
    // MiB left of the machine at first; limit and use of the pod, of its slice; what is in danger.
    for (left, pod, slice, expected) in [
        (400, 120, 0, vec![cgroup("/slice/pod")]),
        // The slice's limit is nearer, and then the machine's.
        (400, 300, 100, vec![cgroup("/slice")]),
        (250, 900, 700, vec![Limit::Machine]),
        (250, 900, 0, vec![Limit::Machine]),
    ] {
        let cgroups = |second| {
            let used = 20 + growing(second);
            let slice = (slice > 0).then_some(("/slice", slice, used));
            slice.into_iter().chain([("/slice/pod", pod, used)]).collect()
        };
        let found = limits_after(72, |second| left - growing(second), cgroups);
        assert_eq!(found, expected, "{pod} in {slice}");
    }
}

#[test]
fn growth_outside_is_reported_of_the_machine_beside_growth_below_a_limit() {
    let growing = |second: u64, pace: u64| second.saturating_sub(60) * pace;
    // Of 1000 MiB left, one takes 10 MiB a second and the other 20; the latter ends at its limit.
    let left = |second| 1000 - growing(second, 10) - growing(second, 20).min(80);
    let cgroups = |second| vec![("/shop", 100, 20 + growing(second, 20).min(80))];
    assert_eq!(limits_after(64, left, cgroups), [cgroup("/shop")]);
    let found = limits_after(90, left, cgroups);
    assert_eq!(found, [Limit::Machine]);
}

#[test]
fn a_soft_limit_is_counted_down_to() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..70 {
        let used = 10 + second;
        let mut snap = machine(second, 4000, vec![holding(10, "taker", "/batch", used)]);
        limited(&mut snap, &[("/batch", 500, used)]);
        let cgroups = Arc::make_mut(&mut snap.cgroups);
        cgroups.get_mut(&b"/batch"[..]).unwrap().high = Ok(Some(100 * MIB));
        history.push(&snap);
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    assert_eq!(danger.limit, Limit::CgroupHigh(Arc::from(&b"/batch"[..])));
    assert_eq!(danger.forecast.left, 21 * MIB);
}

#[test]
fn a_part_of_the_kernel_is_named_with_the_file_system_that_grows() {
    // It was mounted before the first read, or a read or more after that, right before it grows.
    for mounted in [0, 58, 78] {
        let danger = danger_beside_a_file_system(mounted, 10, |danger, second| {
            // A new mount is named as soon as it is read.
            if second >= mounted.max(70) {
                assert_eq!(danger.place.as_deref(), Some(&b"/mnt"[..]), "{mounted}: {second}");
            }
        });
        let Some((RowKey::Part(part), _)) = &danger.taker else {
            panic!("{danger:?}")
        };
        assert_eq!((part.id, danger.place.as_deref()), ("shmem", Some(&b"/mnt"[..])));
    }
}

#[test]
fn a_file_system_with_little_of_the_growth_is_not_named() {
    for tenths in [1, 4] {
        danger_beside_a_file_system(0, tenths, |danger, second| {
            assert_eq!(danger.place, None, "{tenths} {second}");
        });
    }
}

/// Shared memory grows from second 60 on, so many tenths of it in `/mnt`, which is mounted in that second. Calls `check` with each danger,
/// and returns the last.
fn danger_beside_a_file_system(mounted: u64, tenths: u64, check: impl Fn(&Danger, u64)) -> Danger {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..80_u64 {
        let written = 5 * second.saturating_sub(60);
        let mut snap = machine(second, 400 - written, vec![holding(10, "still", "/", 50)]);
        snap.cgroups = Arc::default();
        snap.system.shmem = Ok((10 + written) * MIB);
        let mount = |device, path: &str, used| MemoryMount {
            device,
            path: path.as_bytes().into(),
            kind: "tmpfs".into(),
            used: Ok(used * MIB),
            size: Ok(400 * MIB),
        };
        // They are read every other second.
        let mut inputs = AccountingInputs::missing(Missing::Pending);
        let mut mounts = vec![mount(1, "/run", 90), mount(2, "/mnt", written / 10 * tenths)];
        mounts.truncate(if second < mounted { 1 } else { 2 });
        inputs.mounts = Ok(mounts);
        snap.accounting = Arc::new(inputs);
        history.push(&snap);
        if let Some(danger) = history.dangers().first() {
            check(danger, second);
        }
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    danger.clone()
}

#[test]
fn a_limit_more_than_a_minute_away_is_reported_within_15_seconds() {
    let growing = |second: u64| second.saturating_sub(60);
    let cgroups = |second| vec![("/night", 100, 4 + growing(second))];
    assert_eq!(
        limits_after(75, |second| 4000 - growing(second), cgroups),
        [cgroup("/night")]
    );
}

#[test]
fn a_kill_below_a_limit_is_no_danger_of_the_machine() {
    // Its memory is uncharged in the second in which it is killed, and free a second later.
    let used = |second: u64| if second < 90 { 3 * second.saturating_sub(60) } else { 0 };
    let cgroups = |second| vec![("/shop", 100, 4 + used(second))];
    let left = |second: u64| 300 - used(second.saturating_sub(1));
    for seconds in 90..100 {
        let found = limits_after(seconds, left, cgroups);
        assert!(!found.contains(&Limit::Machine), "{seconds}");
        assert_eq!(found.is_empty(), seconds > 90, "{seconds}");
    }
    // The cgroup is gone with its process.
    let gone = |second| if second < 90 { cgroups(second) } else { Vec::new() };
    for seconds in 91..100 {
        assert_eq!(limits_after(seconds, left, gone), []);
    }
}

#[test]
fn one_that_takes_more_than_ever_is_reported_even_if_the_machine_had_less_before() {
    // Others had taken 250 of 400 MiB a while ago.
    let mut history = History::new(Duration::from_secs(10));
    let grows = |second: u64| 20 * second.saturating_sub(100);
    for second in 0..=104_u64 {
        let before = if second < 60 { 4 * second.min(50) } else { 0 };
        let rows = vec![
            holding(10, "before", "/", 50 + before),
            holding(11, "hog", "/", 10 + grows(second)),
        ];
        let mut snap = machine(second, 400 - before - grows(second), rows);
        snap.cgroups = Arc::default();
        history.push(&snap);
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    assert_eq!((&danger.limit, pid(danger)), (&Limit::Machine, Some(11)));
    // A collector that takes no more than before.
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..=220_u64 {
        let used = 15 * (second % 20);
        let mut snap = machine(second, 600 - used, vec![holding(10, "java", "/", 10 + used)]);
        snap.cgroups = Arc::default();
        history.push(&snap);
        assert!(second < 40 || history.dangers().is_empty(), "{second}");
    }
}

#[test]
fn a_part_that_no_process_has_is_named() {
    type Set = fn(&mut SystemSample, u64);
    let parts: [(&str, Set); 4] = [
        ("files_locked", |system, bytes| {
            let files = 1000 * MIB;
            (system.cached, system.shmem, system.buffers) = (Ok(files + bytes), Ok(0), Ok(0));
            (system.lru_file, system.unevictable, system.mlocked) = (Ok(files), Ok(bytes), Ok(0));
        }),
        ("slab_unreclaimable", |system, bytes| system.sunreclaim = Ok(bytes)),
        ("page_tables", |system, bytes| system.page_tables = Ok(bytes)),
        ("hugetlb", |system, bytes| system.hugetlb = Ok(bytes)),
    ];
    for (id, set) in parts {
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..80_u64 {
            let taken = 6 * second.saturating_sub(60);
            let mut still = holding(10, "still", "/", 50);
            still.page_tables = Ok((1 + taken) * MIB);
            let mut snap = machine(second, 400 - taken, vec![still]);
            snap.cgroups = Arc::default();
            set(&mut snap.system, (20 + taken) * MIB);
            history.push(&snap);
        }
        let [danger] = history.dangers() else {
            panic!("{id}: {:?}", history.dangers())
        };
        let Some((RowKey::Part(part), _)) = &danger.taker else {
            panic!("{id}: {danger:?}")
        };
        assert_eq!(part.id, id);
        let place = danger.place.as_deref().map(String::from_utf8_lossy);
        let expected = (id == "page_tables").then_some("still (pid 10)");
        assert_eq!(place.as_deref(), expected);
    }
}

#[test]
fn many_dangers_of_several_users_hide_no_other() {
    let mut history = History::new(Duration::from_secs(10));
    let owners = (0..4).flat_map(|owner| (0..20).map(move |cgroup| format!("/games{owner}/c{cgroup:02}")));
    let paths: Vec<String> = owners.collect();
    for second in 0_u64..=90 {
        let used = 20 + second.saturating_sub(40);
        let mut snap = machine(second, 90_000, vec![]);
        let mut cgroups: Vec<_> = paths.iter().map(|path| (path.as_str(), 90, used)).collect();
        cgroups.push(("/system.slice/db", 110, used));
        limited(&mut snap, &cgroups);
        history.push(&snap);
    }
    let limits: Vec<_> = history.dangers().iter().map(|danger| &danger.limit).collect();
    assert_eq!(limits.len(), 32);
    assert_eq!(limits[4], &cgroup("/system.slice/db"), "{limits:?}");
}

#[test]
fn many_dangers_of_one_user_and_of_address_spaces_hide_no_other() {
    for owner in ["/user.slice/user@1000.service", "/games"] {
        let mut history = History::new(Duration::from_secs(10));
        let own = |number: u32| format!("{owner}/{}/c{number:02}", number / 10);
        for second in 0_u64..=90 {
            let used = 20 + second.saturating_sub(40);
            let mut greedy = holding(11, "greedy", "/", 10);
            greedy.stat.vsize = (500 + 8 * second) * MIB;
            let id = greedy.id;
            let mut snap = machine(second, 90_000, vec![greedy]);
            let paths: Vec<String> = (0..40).map(own).collect();
            // The service is further from its limit.
            let mut cgroups: Vec<_> = paths.iter().map(|path| (path.as_str(), 90, used)).collect();
            cgroups.push(("/system.slice/db", 110, used));
            limited(&mut snap, &cgroups);
            snap.address_limits = Arc::new([(id, 1240 * MIB)].into());
            history.push(&snap);
        }
        let limits: Vec<_> = history.dangers().iter().map(|danger| &danger.limit).collect();
        let of_user = |limit: &&&Limit| matches!(limit, Limit::Cgroup(path) if path.starts_with(owner.as_bytes()));
        assert_eq!(limits.iter().filter(of_user).count(), 16);
        assert!(of_user(&&limits[0]), "{limits:?}");
        // The screen has room for two lines.
        assert_eq!(limits[1], &cgroup("/system.slice/db"));
        assert!(matches!(limits[17..], [Limit::AddressSpace(_)]), "{limits:?}");
        // The address space is full first, but concerns no one else.
        let [shared, address_space] = [
            history.shared_dangers().next().unwrap(),
            history.dangers().last().unwrap(),
        ];
        assert!(
            address_space.forecast.time() < shared.forecast.time(),
            "{address_space:?}"
        );
        assert!(matches!(shared.limit, Limit::Cgroup(_)), "{shared:?}");
    }
}

/// Returns the number of snapshots with a danger to the machine while its memory falls by 500 MiB each second, from second 60 on for
/// 12 s. `set` changes each snapshot, and the memory left in MiB beside that fall.
fn dangers_of_a_surge(total: u64, set: impl Fn(u64, &mut Snapshot) -> u64) -> usize {
    dangers_of_a_fall(total, 500, 72, set)
}

/// The same, with another pace and end.
fn dangers_of_a_fall(total: u64, pace: u64, end: u64, set: impl Fn(u64, &mut Snapshot) -> u64) -> usize {
    let mut history = History::new(Duration::from_secs(10));
    let mut found = 0;
    for second in 0..end {
        let rows = vec![holding(10, "still", "/", 50), holding(11, "own", "/own", 50)];
        let mut snap = machine(second, 0, rows);
        snap.cgroups = Arc::default();
        snap.system.mem_total = Ok(24_000 * MIB);
        let used = set(second, &mut snap) + pace * second.saturating_sub(60);
        snap.system.mem_available = Ok((total - used) * MIB);
        history.push(&snap);
        let of_machine = |danger: &Danger| danger.limit == Limit::Machine;
        found += usize::from(history.dangers().iter().any(of_machine));
    }
    found
}

#[test]
fn a_program_that_swaps_itself_does_not_end_the_danger_of_the_machine() {
    let swaps = |second: u64, snap: &mut Snapshot| {
        let swapped = second * 40 * MIB;
        (snap.system.pswpin, snap.system.pswpout) = (Ok(swapped), Ok(swapped));
        0
    };
    let calm = dangers_of_a_surge(20_000, |_, _| 0);
    assert!(calm >= 8, "{calm}");
    assert_eq!(dangers_of_a_surge(20_000, swaps), calm);
    // Little memory is available, but it falls much faster than the machine swaps, or falls to a new low.
    assert!(dangers_of_a_surge(7_000, swaps) >= 6);
    let slow = dangers_of_a_fall(4000, 10, 300, |_, _| 0);
    assert!(slow >= 100, "{slow}");
    assert_eq!(dangers_of_a_fall(4000, 10, 300, swaps), slow);
}

#[test]
fn a_cgroup_that_frees_much_now_and_then_does_not_end_a_danger_minutes_ahead() {
    let calm = dangers_of_a_fall(8000, 12, 400, |_, _| 0);
    assert!(calm >= 100, "{calm}");
    for period in [31, 60] {
        let wave = |second: u64, snap: &mut Snapshot| {
            let used = if second % period < period - 3 { 600 } else { 0 };
            snap.cgroups = Arc::new([(Arc::from(&b"/own"[..]), limited_to(1400, used))].into());
            used
        };
        let found = dangers_of_a_fall(8000, 12, 400, wave);
        assert!(found >= calm / 2, "{period}: {found} of {calm}");
    }
}

/// The figures of a cgroup with that limit, of which so many MiB are used.
fn limited_to(limit: u64, used: u64) -> CgroupFigures {
    CgroupFigures {
        current: Ok(used * MIB),
        reclaimable: Ok(0),
        swap: Ok(0),
        limit: Ok(Some(limit * MIB)),
        swap_limit: Ok(None),
        ..CgroupFigures::missing(Missing::Unsupported)
    }
}

#[test]
fn a_cgroup_that_fills_and_empties_does_not_end_the_danger_of_the_machine() {
    let wave = |second: u64, snap: &mut Snapshot| {
        let used = if second.is_multiple_of(2) { 1100 } else { 0 };
        snap.cgroups = Arc::new([(Arc::from(&b"/own"[..]), limited_to(1400, used))].into());
        used
    };
    let found = dangers_of_a_surge(20_000, wave);
    // The memory that it frees is counted once in half a minute, so the danger may begin some seconds later.
    assert!(found >= 4, "{found}");
}

#[test]
fn cgroups_that_come_and_go_neither_make_nor_hide_a_danger_of_the_machine() {
    type Cgroups = fn(u64) -> Vec<(String, u64, u64)>;
    // Their paths, limits and use in each second.
    let cases: [(&str, Cgroups); 3] = [
        ("a limit that is set and removed", |second| {
            let limited = ("/own".into(), 1000, 200);
            second.is_multiple_of(2).then_some(limited).into_iter().collect()
        }),
        ("containers that live for 4 s", |second| {
            let newest = second / 2;
            [newest, newest + 1].map(|n| (format!("/ci/{n}"), 2000, 100)).into()
        }),
        ("limits that allow more than the machine has", |_| {
            (0..50).map(|n| (format!("/pod{n}"), 5000, 20)).collect()
        }),
    ];
    let calm = dangers_of_a_fall(10_000, 50, 250, |_, _| 0);
    assert!(calm >= 100, "{calm}");
    for (name, cgroups) in cases {
        let set = |second: u64, snap: &mut Snapshot| {
            let all = cgroups(second).into_iter();
            let all = all.map(|(path, limit, used)| (Arc::from(path.into_bytes()), limited_to(limit, used)));
            snap.cgroups = Arc::new(all.collect());
            0
        };
        assert_eq!(dangers_of_a_fall(10_000, 0, 400, set), 0, "{name}");
        let found = dangers_of_a_fall(10_000, 50, 250, set);
        // What goes may have been freed: earlier falls of that owner count no longer once.
        assert!(found * 4 >= calm * 3, "{name}: {found} of {calm}");
    }
}

#[test]
fn a_cgroup_whose_limit_is_raised_ahead_of_its_growth_does_not_hide_the_danger_of_the_machine() {
    let calm = dangers_of_a_fall(20_000, 100, 250, |_, _| 0);
    let raised = |second: u64, snap: &mut Snapshot| {
        let used = 100 + 100 * second.saturating_sub(60);
        snap.cgroups = Arc::new([(Arc::from(&b"/own"[..]), limited_to(used + 500, used))].into());
        0
    };
    let found = dangers_of_a_fall(20_000, 100, 250, raised);
    assert!(found * 10 >= calm * 9, "{found} of {calm}");
    // The limit is read every other second.
    let calm = dangers_of_a_surge(20_000, |_, _| 0);
    for is_removed in [false, true] {
        let seldom = |second: u64, snap: &mut Snapshot| {
            let used = |second: u64| 100 + 500 * second.saturating_sub(60);
            let limit = used(second / 2 * 2) + 1600;
            let mut figures = limited_to(limit, used(second));
            if is_removed {
                figures.limit = Ok((second % 4 < 2).then_some(limit * MIB));
            }
            snap.cgroups = Arc::new([(Arc::from(&b"/own"[..]), figures)].into());
            0
        };
        let found = dangers_of_a_surge(20_000, seldom);
        assert!(found + 4 >= calm, "{is_removed}: {found} of {calm}");
    }
}

#[test]
fn cgroups_whose_limits_allow_more_than_the_machine_has_do_not_hide_its_danger() {
    let grown = |second: u64| 1000 + 10 * second.saturating_sub(60);
    let pods = |second: u64, snap: &mut Snapshot| {
        let pod = |path: &str| (Arc::from(path.as_bytes()), limited_to(6000, grown(second)));
        snap.cgroups = Arc::new(["/a", "/b", "/c"].map(pod).into());
        0
    };
    // The memory is full in second 360.
    let found = dangers_of_a_fall(9000, 30, 350, pods);
    assert!(found >= 130, "{found}");
    // Limits of cgroups that hardly grow take nothing away: one that grows is stopped by its limit.
    let beside = |second: u64, snap: &mut Snapshot| {
        let idle = (0..80).map(|n| {
            (
                format!("/user.slice/user-1001.slice/{n}"),
                limited_to(1000, 890 + second / 60),
            )
        });
        let grows = (
            "/shop".to_owned(),
            limited_to(2000, (100 * second.saturating_sub(60)).min(1900)),
        );
        let all = idle.chain([grows]);
        snap.cgroups = Arc::new(
            all.map(|(path, figures)| (Arc::from(path.into_bytes()), figures))
                .collect(),
        );
        (100 * second.saturating_sub(60)).min(1900)
    };
    assert_eq!(dangers_of_a_fall(8000, 0, 100, beside), 0);
}

#[test]
fn a_user_whose_programs_take_the_memory_together_is_named() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..100_u64 {
        let small = |n: u32| {
            let sample = holding(20 + n, &format!("w{n}"), "/", 10 + second);
            with_facts(sample, |facts| facts.user = Ok(b"news"[..].into()))
        };
        // One more of them sleeps below a limit.
        let db = holding(10, "db", "/", 50 + 2 * second);
        let sleeper = holding(11, "w", "/own", 1);
        let sleeper = with_facts(sleeper, |facts| facts.user = Ok(b"news"[..].into()));
        let rows = [db, sleeper].into_iter().chain((0..12).map(small)).collect();
        let mut snap = machine(second, 2000 - 14 * second, rows);
        snap.cgroups = Arc::new([(Arc::from(&b"/own"[..]), limited_to(100, 1))].into());
        history.push(&snap);
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    let text = danger.text(&snapshot(Duration::ZERO, Vec::new()), Units::Auto);
    assert!(text.contains(": user news +"), "{text}");
}

#[test]
fn thousands_of_limits_of_one_user_take_little_memory_and_hide_no_danger() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..90_u64 {
        let own = (0..3000).map(|n| (format!("/user.slice/user-1001.slice/c{n}"), limited_to(100, 90)));
        let all = own.chain([("/shop".to_owned(), limited_to(1000, 100 + 8 * second))]);
        let mut snap = machine(second, 20_000, Vec::new());
        snap.cgroups = Arc::new(
            all.map(|(path, figures)| (Arc::from(path.into_bytes()), figures))
                .collect(),
        );
        history.push(&snap);
    }
    let found: Vec<_> = history.dangers().iter().map(|danger| &danger.limit).collect();
    assert_eq!(found, [&cgroup("/shop")]);
    assert!(history.bytes() < 4 << 20, "{}", history.bytes());
}

#[test]
fn cgroups_that_are_emptied_and_filled_neither_make_nor_hide_a_danger_of_the_machine() {
    // One after the other is full and then empty, with a low limit.
    let emptied = |second: u64, snap: &mut Snapshot| {
        let own = |n: u64| {
            let is_full = second == 10 + 2 * n;
            let figures = if is_full {
                limited_to(1508, 1500)
            } else {
                limited_to(8, 0)
            };
            (Arc::from(format!("/own/{n}").into_bytes()), figures)
        };
        let known = (0..16).filter(|n| second >= 10 + 2 * n);
        snap.cgroups = Arc::new(known.map(own).collect());
        if (10..=40).contains(&second) && second.is_multiple_of(2) {
            1500
        } else {
            0
        }
    };
    assert_eq!(dangers_of_a_fall(20_000, 0, 200, emptied), 0);
    let calm = dangers_of_a_surge(20_000, |_, _| 0);
    let found = dangers_of_a_surge(20_000, emptied);
    assert!(found + 3 >= calm, "{found} of {calm}");
}

#[test]
fn the_user_is_named_whose_processes_of_a_program_take_the_memory() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..100_u64 {
        let postgres = |pid, user: &'static [u8], mib| {
            with_facts(holding(pid, "postgres", "/", mib), |facts| facts.user = Ok(user.into()))
        };
        let of_service = (0..5).map(|n| postgres(20 + n, b"postgres", 400));
        let of_other = (0..8).map(|n| postgres(40 + n, b"games", 10 + 2 * second));
        let mut snap = machine(second, 2000 - 16 * second, of_service.chain(of_other).collect());
        snap.cgroups = Arc::default();
        history.push(&snap);
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    let text = danger.text(&snapshot(Duration::ZERO, Vec::new()), Units::Auto);
    assert!(text.contains(": user games +"), "{text}");
}

#[test]
fn cgroups_that_fill_one_after_the_other_do_not_hide_the_danger_of_the_machine() {
    let grown = |second: u64| 200 * second.saturating_sub(60);
    let in_turn = |second: u64, snap: &mut Snapshot| {
        let used = |n: u64| grown(second).saturating_sub(1000 * n).min(1000);
        let pod = |n: u64| (Arc::from(format!("/pod{n}").into_bytes()), limited_to(1000, used(n)));
        snap.cgroups = Arc::new((0..30).map(pod).collect());
        0
    };
    // The memory is full in second 160.
    let calm = dangers_of_a_fall(20_000, 200, 158, |_, _| 0);
    let found = dangers_of_a_fall(20_000, 200, 158, in_turn);
    assert!(found >= 35 && found <= calm, "{found} of {calm}");
    // The same if each is created just before.
    let created = |second: u64, snap: &mut Snapshot| {
        in_turn(second, snap);
        let known = |path: &[u8]| {
            let number: u64 = std::str::from_utf8(&path[4..]).unwrap().parse().unwrap();
            1000 * number <= grown(second)
        };
        Arc::make_mut(&mut snap.cgroups).retain(|path, _| known(path));
        0
    };
    let found = dangers_of_a_fall(20_000, 200, 158, created);
    assert!(found >= 35 && found <= calm, "{found} of {calm}");
    // A single one that is full, beside many that are idle, is no sign of that.
    let alone = |second: u64, snap: &mut Snapshot| {
        let used = grown(second).min(11_000);
        let idle = (0..20).map(|n| (format!("/pod{n}"), limited_to(1000, 0)));
        let all = idle.chain([("/jvm".to_owned(), limited_to(11_000, used))]);
        snap.cgroups = Arc::new(
            all.map(|(path, figures)| (Arc::from(path.into_bytes()), figures))
                .collect(),
        );
        used
    };
    assert_eq!(dangers_of_a_fall(20_000, 0, 200, alone), 0);
}

#[test]
fn a_cgroup_is_still_stopped_by_its_limit_after_the_machine_had_less_left_for_a_moment() {
    let warms_up = |second: u64, snap: &mut Snapshot| {
        let used = 2000 + (30 * second.saturating_sub(130)).min(6000);
        snap.cgroups = Arc::new([(Arc::from(&b"/jvm"[..]), limited_to(8000, used))].into());
        used + if (100..120).contains(&second) { 4000 } else { 0 }
    };
    assert_eq!(dangers_of_a_fall(11_000, 0, 400, warms_up), 0);
}

#[test]
fn growth_above_a_soft_limit_does_not_hide_the_danger_of_the_machine() {
    let slowed = |second: u64, snap: &mut Snapshot| {
        let figures = CgroupFigures {
            high: Ok(Some(100 * MIB)),
            swap_limit: Ok(Some(0)),
            ..limited_to(1 << 30, 100 + 200 * second.saturating_sub(60))
        };
        let figures = CgroupFigures {
            limit: Ok(None),
            ..figures
        };
        snap.cgroups = Arc::new([(Arc::from(&b"/own"[..]), figures)].into());
        0
    };
    let calm = dangers_of_a_fall(20_000, 200, 158, |_, _| 0);
    assert!(calm >= 60, "{calm}");
    let found = dangers_of_a_fall(20_000, 200, 158, slowed);
    assert!(found + 4 >= calm, "{found} of {calm}");
}

#[test]
fn containers_that_end_do_not_hide_the_danger_of_the_machine() {
    // Every 10 s, one grows to 400 MiB and ends. Each is an owner.
    let jobs = |second: u64, snap: &mut Snapshot| {
        let (number, age) = (second / 10, second % 10);
        let used = if age < 9 { 400 * age / 8 } else { 0 };
        let path = format!("/system.slice/docker-{number:064x}.scope");
        let known = (age < 9).then(|| (Arc::from(path.into_bytes()), limited_to(2000, used)));
        snap.cgroups = Arc::new(known.into_iter().collect());
        used
    };
    let calm = dangers_of_a_fall(10_000, 50, 250, |_, _| 0);
    let found = dangers_of_a_fall(10_000, 50, 250, jobs);
    assert!(found * 4 >= calm * 3, "{found} of {calm}");
}

#[test]
fn cgroups_that_are_removed_while_their_memory_is_kept_do_not_hide_the_danger_of_the_machine() {
    // One after the other is filled to 90 % of its limit and removed. The machine does not get its memory back.
    let removed = |second: u64, snap: &mut Snapshot| {
        let grown = 200 * second.saturating_sub(60);
        let path = format!("/own/c{}", grown / 1000);
        snap.cgroups = Arc::new([(Arc::from(path.into_bytes()), limited_to(1100, grown % 1000))].into());
        0
    };
    let calm = dangers_of_a_fall(20_000, 200, 158, |_, _| 0);
    let found = dangers_of_a_fall(20_000, 200, 158, removed);
    assert!(found + 12 >= calm && found <= calm, "{found} of {calm}");
    // A limit that is raised takes away only what its owner's cgroups hide.
    let raised = |second: u64, snap: &mut Snapshot| {
        let own = limited_to(
            if second < 72 { 1000 } else { 1100 },
            (70 * second.saturating_sub(60)).min(700),
        );
        let other = limited_to(8000, 100 + (400 * second.saturating_sub(80)).min(7800));
        let paths = [("/own/a", own), ("/shop/jvm", other)];
        snap.cgroups = Arc::new(
            paths
                .map(|(path, figures)| (Arc::from(path.as_bytes()), figures))
                .into(),
        );
        (70 * second.saturating_sub(60)).min(700) + (400 * second.saturating_sub(80)).min(7800)
    };
    assert_eq!(dangers_of_a_fall(20_000, 0, 140, raised), 0);
    // If the memory is free then, nothing is wrong, also if the next one fills at once.
    let freed = |second: u64, snap: &mut Snapshot| {
        removed(second, snap);
        200 * second.saturating_sub(60) % 1000
    };
    assert_eq!(dangers_of_a_fall(20_000, 0, 300, freed), 0);
}

#[test]
fn memory_of_a_cgroup_that_no_process_has_is_named_and_no_process_beside_it() {
    let figures = |second: u64| CgroupFigures {
        shmem: Ok(3 * second * MIB),
        file_mapped: Ok(0),
        anon: Ok((20 + second) * MIB),
        unmapped: Ok(0),
        kernel: Ok(0),
        ..limited_to(300, 20 + 4 * second)
    };
    let text = in_shop(|second| vec![holding(10, "backup", "/shop/m", 20 + second)], figures);
    assert!(text.contains(": shared memory and tmpfs +180M/min"), "{text}");
}

#[test]
fn a_program_whose_processes_fill_a_cgroup_together_is_named_and_no_process_beside_it() {
    let rows = |second: u64| {
        let swarm = (0..10).map(|n| holding(20 + n, "swarm", "/shop/g", 10 + second));
        // The processes of that name elsewhere do not fill it.
        let elsewhere = (0..10).map(|n| holding(40 + n, "swarm", "/other", 10 + 3 * second));
        let beside = [holding(10, "backup", "/shop/m", 20 + 4 * second)];
        beside.into_iter().chain(swarm).chain(elsewhere).collect()
    };
    let text = in_shop(rows, |second| limited_to(1100, 120 + 14 * second));
    assert!(text.contains(": swarm +600M/min"), "{text}");
}

/// Returns the text of the only danger after a minute with these rows and figures of `/shop`.
fn in_shop(rows: impl Fn(u64) -> Vec<ProcessSample>, figures: impl Fn(u64) -> CgroupFigures) -> String {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..60_u64 {
        let mut snap = machine(second, 20_000, rows(second));
        snap.system.uptime = Ok(second as f64);
        snap.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures(second))].into());
        history.push(&snap);
    }
    let [danger] = history.dangers() else {
        panic!("{:?}", history.dangers())
    };
    danger.text(&snapshot(Duration::ZERO, Vec::new()), Units::Auto)
}

#[test]
fn nothing_is_named_that_takes_less_than_half() {
    let rows = |second: u64| vec![holding(10, "backup", "/shop/m", 20 + 3 * second)];
    let figures = |second: u64| CgroupFigures {
        shmem: Ok(4 * second * MIB),
        file_mapped: Ok(0),
        anon: Ok((20 + 3 * second) * MIB),
        unmapped: Ok(3 * second * MIB),
        kernel: Ok(0),
        ..limited_to(1100, 20 + 10 * second)
    };
    let text = in_shop(rows, figures);
    assert!(text.contains(": no single process takes it"), "{text}");
}

#[test]
fn a_process_whose_share_of_a_file_rises_takes_no_memory() {
    // Other processes that mapped the file have ended.
    let rows = |second: u64| {
        let file = 20 * second.saturating_sub(50) * MIB;
        let mapper = with_file(holding(10, "mapper", "/shop/m", 8), file);
        vec![mapper, holding(11, "taker", "/shop/g", 20 + 10 * second)]
    };
    let text = in_shop(rows, |second| limited_to(1100, 30 + 10 * second));
    assert!(text.contains(": 11 +600M/min"), "{text}");
}

#[test]
fn a_process_that_unmaps_files_as_fast_as_it_grows_takes_memory() {
    let rows = |second: u64| {
        let mapped = 600 - 10 * second;
        let taker = with_file(holding(11, "taker", "/shop/g", 620 - mapped), mapped * MIB);
        vec![holding(10, "backup", "/shop/m", 8 + 4 * second), taker]
    };
    let text = in_shop(rows, |second| limited_to(1100, 30 + 14 * second));
    assert!(text.contains(": 11 +600M/min"), "{text}");
}

#[test]
fn a_program_whose_processes_come_and_go_takes_no_memory() {
    // Each of six compilers lives for six seconds, and grows to 120 MiB.
    let rows = |second: u64| {
        let compilers = (0..6).rev().filter(|age| *age <= second).map(|age| {
            let born = second - age;
            let mut sample = holding(100 + born as u32, "cc", "/shop/g", 24 * age);
            sample.id.starttime = born * 100;
            sample
        });
        [holding(10, "server", "/shop/m", 20 + 10 * second)]
            .into_iter()
            .chain(compilers)
            .collect()
    };
    let text = in_shop(rows, |second| limited_to(1340, 380 + 10 * second));
    assert!(text.contains(": 10 +600M/min"), "{text}");
}

#[test]
fn a_new_process_takes_only_memory_of_its_own() {
    type Case = (&'static str, fn(ProcessSample) -> ProcessSample);
    let hidden = |pid, anon: u64, rss: u64| {
        let mut sample = holding(pid, "postgres", "/", 0);
        sample.walk = Err(Missing::Denied);
        sample.stat.rss = rss * MIB;
        sample.counted = Counted::new(Some(anon * MIB), Some(0));
        sample
    };
    // What is new from second 56 on, beside its parent.
    let cases: [Case; 3] = [
        (
            "it maps the shared memory of a database that may not be read",
            |sample| sample,
        ),
        ("a fork of a process that may not be read", |mut fork| {
            fork.counted = Counted::new(Some(700 * MIB), Some(0));
            fork
        }),
        (
            "it runs with the memory of its parent until it executes a program",
            |mut child| {
                child.walk = Ok(walk(2000 * MIB, 0));
                child.shares_mm = Some(process(20, 1, "postgres").id);
                child
            },
        ),
    ];
    for (name, of) in cases {
        let rows = |second: u64| {
            let parent = hidden(20, 690, 1700);
            let mut new = of(hidden(30, 5, 1000));
            new.stat.ppid = 20;
            new.id.starttime = 5_600;
            let mut rows = vec![holding(10, "leaker", "/", 100 + 10 * second), parent, new];
            rows.truncate(if second < 56 { 2 } else { 3 });
            rows
        };
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..60 {
            let mut snap = machine(second, 1400 - 10 * second, rows(second));
            snap.system.uptime = Ok(second as f64);
            history.push(&snap);
        }
        let pids: Vec<_> = history.dangers().iter().map(pid).collect();
        assert_eq!(pids, [Some(10)], "{name}");
    }
}

#[test]
fn a_new_process_is_not_named_for_lack_of_values_at_long_intervals() {
    let mut history = History::new(Duration::from_secs(10));
    for second in (0..=100_u64).step_by(5) {
        let mut rows = vec![holding(10, "crawler", "/", 100 + 30 * second)];
        if second == 100 {
            let mut new = holding(11, "python3", "/", 100);
            new.id.starttime = 9_800;
            rows.push(new);
        }
        let mut snap = machine(second, 4200 - 30 * second, rows);
        snap.interval = Duration::from_secs(5);
        snap.system.uptime = Ok(second as f64);
        history.push(&snap);
    }
    let pids: Vec<_> = history.dangers().iter().map(pid).collect();
    assert_eq!(pids, [Some(10)]);
}

#[test]
fn a_process_is_named_rather_than_its_user_if_little_else_of_that_user_grows() {
    let rows = |second: u64| {
        let daemons = (0..10).map(|n| holding(20 + n, &format!("daemon{n}"), "/shop/d", 10 + second / 20));
        let leaker = holding(10, "leaker", "/shop/m", 20 + 12 * second);
        [leaker].into_iter().chain(daemons).collect()
    };
    let text = in_shop(rows, |second| limited_to(1500, 120 + 20 * second));
    assert!(text.contains(": 10 +720M/min"), "{text}");
}

#[test]
fn a_virtual_machine_whose_live_set_is_judged_takes_what_its_footprint_grows_by() {
    let rows = |second: u64| vec![holding(10, "java", "/shop/m", 100 + 10 * second)];
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..60_u64 {
        let mut snap = machine(second, 20_000, rows(second));
        // Before the first collection of the old generation, the live set is not known.
        let heap = JvmHeap {
            used: 100 << 30,
            capacity: 100 << 30,
            old: Ok(100 << 30),
            live: Err(Missing::Unsupported),
            old_max: Ok(100 << 30),
            collections: 1,
            old_collections: 0,
        };
        snap.jvms = Arc::new([(snap.rows()[0].id, Ok(heap))].into());
        snap.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), limited_to(1100, 110 + 10 * second))].into());
        history.push(&snap);
    }
    let pids: Vec<_> = history.dangers().iter().map(pid).collect();
    assert_eq!(pids, [Some(10)]);
}

#[test]
fn a_user_whose_programs_take_more_is_named_before_a_program_of_another() {
    let rows = |second: u64| {
        let owned = |pid, name: &str, user: &'static [u8]| {
            with_facts(holding(pid, name, "/shop/m", 10 + second), |facts| {
                facts.user = Ok(user.into());
            })
        };
        let of_alice = (0..5).map(|n| owned(20 + n, "worker", b"alice"));
        let of_bob = (0..7).map(|n| owned(40 + n, &format!("job{n}"), b"bob"));
        of_alice.chain(of_bob).collect()
    };
    let text = in_shop(rows, |second| limited_to(1300, 120 + 13 * second));
    assert!(text.contains(": user bob +420M/min"), "{text}");
}
