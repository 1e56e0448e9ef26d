//! The figures of cgroups, in a made tree.

use std::time::{Duration, Instant};

use zmtop::model::cgroup::Count;
use zmtop::model::{CgroupFigures, Missing, Snapshot};
use zmtop::sampler::{Needs, Options, Scanner};

use crate::support::tree::ProcTree;
use crate::support::{PATIENCE, block_on};

const CGROUPS: Needs = Needs::CGROUP_FIGURES;
const V2: &str = "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const V1: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

/// Process 7 in `/a.slice/b.service`, 8 in `/`, and where cgroups are mounted.
fn tree(mountinfo: &str, controllers: &str) -> ProcTree {
    let tree = ProcTree::new();
    tree.process(7)
        .cgroup(format!("{controllers}:/a.slice/b.service\n"))
        .write();
    tree.process(8).cgroup(format!("{controllers}:/\n")).write();
    tree.system("self/mountinfo", mountinfo);
    tree.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
    tree.write("sys/fs/cgroup/a.slice/cgroup.controllers", "memory\n");
    tree.write("sys/fs/cgroup/a.slice/b.service/cgroup.controllers", "memory\n");
    tree
}

fn figures(snapshot: &Snapshot, path: &str) -> CgroupFigures {
    snapshot.cgroups[path.as_bytes()]
}

#[test]
fn figures_of_v2_and_the_limits_that_hold() {
    let tree = tree(V2, "0:");
    for (file, content) in [
        ("a.slice/memory.current", "5000\n"),
        ("a.slice/memory.max", "9000\n"),
        ("a.slice/memory.swap.current", "0\n"),
        ("a.slice/memory.swap.max", "max\n"),
        ("a.slice/b.service/memory.current", "4000\n"),
        ("a.slice/b.service/memory.max", "max\n"),
        ("a.slice/b.service/memory.swap.current", "12\n"),
        ("a.slice/b.service/memory.swap.max", "300\n"),
    ] {
        tree.write(&format!("sys/fs/cgroup/{file}"), content);
    }
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(CGROUPS);
    let snapshot = block_on(scanner.full());
    assert_eq!(snapshot.cgroups.len(), 3);
    assert_eq!(
        figures(&snapshot, "/a.slice/b.service"),
        CgroupFigures {
            current: Ok(4000),
            swap: Ok(12),
            limit: Ok(Some(9000)),
            swap_limit: Ok(Some(300)),
            high: Ok(None),
            ..CgroupFigures::missing(Missing::Unlimited)
        }
    );
    assert_eq!(figures(&snapshot, "/a.slice").swap_limit, Ok(None));
    // The root has no such files: no figures, and no limit.
    assert_eq!(
        figures(&snapshot, "/"),
        CgroupFigures {
            limit: Ok(None),
            swap_limit: Ok(None),
            high: Ok(None),
            current: Err(Missing::Unsupported),
            swap: Err(Missing::Unsupported),
            ..CgroupFigures::missing(Missing::Unlimited)
        }
    );
}

#[test]
fn figures_of_v1() {
    let tree = tree(V1, "4:memory");
    for (file, content) in [
        ("memory.usage_in_bytes", "9999\n"),
        ("memory.limit_in_bytes", "9223372036854771712\n"),
        ("a.slice/memory.usage_in_bytes", "5000\n"),
        ("a.slice/memory.limit_in_bytes", "7000\n"),
        ("a.slice/memory.memsw.usage_in_bytes", "5600\n"),
        ("a.slice/memory.memsw.limit_in_bytes", "10000\n"),
        ("a.slice/b.service/memory.usage_in_bytes", "garbage\n"),
        ("a.slice/b.service/memory.limit_in_bytes", "6000\n"),
    ] {
        tree.write(&format!("sys/fs/cgroup/memory/{file}"), content);
    }
    tree.system("self/cgroup", "4:memory:/a.slice/b.service\n");
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(CGROUPS);
    let snapshot = block_on(scanner.full());
    assert_eq!(
        figures(&snapshot, "/a.slice"),
        CgroupFigures {
            current: Ok(5000),
            swap: Ok(600),
            limit: Ok(Some(7000)),
            swap_limit: Ok(Some(3000)),
            high: Ok(None),
            peak: Err(Missing::Pending),
            dying: Err(Missing::Pending),
            ..CgroupFigures::missing(Missing::Unsupported)
        }
    );
    let leaf = figures(&snapshot, "/a.slice/b.service");
    assert_eq!((leaf.current, leaf.limit), (Err(Missing::Malformed), Ok(Some(6000))));
    assert_eq!(figures(&snapshot, "/").limit, Ok(None));
    // What zmtop itself may take: the least on the way up, and less than the machine has.
    let (limit, holder) = snapshot.system.own_limit().unwrap();
    assert_eq!((limit, holder.current), (6000, Err(Missing::Malformed)));
}

/// Returns the details of `/a.slice`, which has no limit, before and while they are needed: the memory that stays, the memory
/// that goes first, the working set, the peak, kills and removed cgroups.
fn details(mountinfo: &str, controllers: &str, root: &str, files: &[(&str, &str)]) -> [[Result<u64, Missing>; 6]; 2] {
    let tree = tree(mountinfo, controllers);
    for (file, content) in files {
        tree.write(&format!("sys/fs/cgroup/{root}a.slice/{file}"), content);
    }
    let mut scanner = Scanner::new(&tree.options());
    [CGROUPS, CGROUPS.and(Needs::CGROUP_DETAILS)].map(|needs| {
        // Figures of the last second are fresh.
        std::thread::sleep(Duration::from_secs(1));
        scanner.set_needs(needs);
        let found = figures(&block_on(scanner.full()), "/a.slice");
        let [kills, dying] = [found.oom_kills, found.dying].map(|count| count.map(|count| count.0));
        [
            found.stays(),
            found.reclaimable,
            found.working_set(),
            found.peak,
            kills,
            dying,
        ]
    })
}

#[test]
fn details_are_read_of_all_cgroups_while_they_are_needed() {
    let v2 = [
        ("memory.current", "5000\n"),
        ("memory.max", "max\n"),
        ("memory.peak", "7000\n"),
        (
            "memory.stat",
            "anon 2500\nactive_file 1000\ninactive_file 700\nslab_reclaimable 50\npgmajfault 3\n",
        ),
        ("memory.events", "low 0\noom 3\noom_kill 2\noom_group_kill 0\n"),
        ("cgroup.stat", "nr_descendants 4\nnr_dying_descendants 9\n"),
    ];
    let v1 = [
        ("memory.usage_in_bytes", "5000\n"),
        ("memory.max_usage_in_bytes", "7000\n"),
        (
            "memory.stat",
            "inactive_file 1\ntotal_inactive_file 700\ntotal_active_file 1000\n",
        ),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
    ];
    let old = &v2[..2];
    let none = Err(Missing::Unsupported);
    let unread = [Err(Missing::Unlimited); 6];
    let cases = [
        (
            "v2",
            details(V2, "0:", "", &v2),
            [Ok(3250), Ok(1750), Ok(4300), Ok(7000), Ok(2), Ok(9)],
        ),
        (
            "v1",
            details(V1, "4:memory", "memory/", &v1),
            [Ok(3300), Ok(1700), Ok(4300), Ok(7000), Ok(2), none],
        ),
        ("without the files", details(V2, "0:", "", old), [none; 6]),
    ];
    for (name, [before, while_needed], expected) in cases {
        assert_eq!(before, unread, "{name}");
        assert_eq!(while_needed, expected, "{name}");
    }
}

#[test]
fn nothing_is_known_where_nothing_is_mounted() {
    let tree = tree("22 27 0:21 / /sys rw - sysfs sysfs rw\n", "0:");
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(CGROUPS);
    let snapshot = block_on(scanner.full());
    assert_eq!(
        figures(&snapshot, "/a.slice/b.service"),
        CgroupFigures::missing(Missing::Unsupported)
    );
    assert_eq!(snapshot.system.limit, CgroupFigures::missing(Missing::Unsupported));
    assert_eq!(snapshot.system.own_limit(), None);
}

#[test]
fn a_path_that_climbs_is_not_followed() {
    let tree = ProcTree::new();
    tree.process(7).cgroup("0::/../../../proc\n").write();
    tree.process(8).cgroup(format!("0::{}\n", "/a".repeat(5000))).write();
    tree.system("self/mountinfo", V2);
    tree.system("memory.current", "4096\n");
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(CGROUPS);
    let snapshot = block_on(scanner.full());
    assert_eq!(figures(&snapshot, "/../../../proc").current, Err(Missing::OutOfView));
    // One deeper than any machine's is left out, with all above it.
    assert!(snapshot.cgroups.keys().all(|path| path.len() < 100));
}

#[test]
fn a_read_that_never_returns_says_so() {
    let tree = tree(V2, "0:");
    tree.write("sys/fs/cgroup/a.slice/memory.max", "9000\n");
    let path = tree.path("sys/fs/cgroup/a.slice/memory.current");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(CGROUPS);
    let began = Instant::now();
    loop {
        let snapshot = block_on(scanner.tick());
        assert!(snapshot.rows().iter().all(|p| p.walk.is_ok()), "{:?}", snapshot.rows());
        // On a busy machine, the first ticks may come before the cgroups are known.
        let figures = snapshot.cgroups.get("/a.slice".as_bytes());
        if figures.is_some_and(|figures| figures.current == Err(Missing::TimedOut)) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{:?}", snapshot.cgroups);
    }
}

#[test]
fn cgroups_with_a_limit_are_watched_without_a_request() {
    let tree = tree(V2, "0:");
    for (file, content) in [
        ("a.slice/memory.max", "max\n"),
        ("a.slice/memory.current", "9000\n"),
        ("a.slice/b.service/memory.max", "8192\n"),
        ("a.slice/b.service/memory.high", "8000\n"),
        ("a.slice/b.service/memory.current", "5000\n"),
        (
            "a.slice/b.service/memory.stat",
            "anon 900\nfile 3300\nkernel 700\npagetables 50\nsock 10\nfile_mapped 200\nzswap 120\nshmem 600\nactive_file 1000\n\
             inactive_file 2000\nslab_reclaimable 30\npgmajfault 77\nworkingset_refault_anon 5\n\
             workingset_refault_file 6\n",
        ),
        (
            "a.slice/b.service/memory.events",
            "low 0\nhigh 5\nmax 3\noom 2\noom_kill 1\n",
        ),
        (
            "a.slice/b.service/memory.pressure",
            "some avg10=1.00 avg60=0.50 avg300=0.10 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=700000\n",
        ),
    ] {
        tree.write(&format!("sys/fs/cgroup/{file}"), content);
    }
    let mut scanner = Scanner::new(&tree.options());
    // A single table needs none.
    assert!(block_on(scanner.tick()).cgroups.is_empty());
    let snapshot = block_on(scanner.tick());
    let paths: Vec<_> = snapshot.cgroups.keys().map(|path| &**path).collect();
    assert_eq!(paths, [&b"/a.slice/b.service"[..]]);
    let found = figures(&snapshot, "/a.slice/b.service");
    assert_eq!(found.ceiling(), Some((8000, true)));
    assert_eq!((found.reclaimable, found.major_faults), (Ok(2730), Ok(Count(77))));
    assert_eq!(found.refaults, Ok(Count(11)));
    assert_eq!(
        (found.shmem, found.file_mapped, found.kernel),
        (Ok(600), Ok(200), Ok(510))
    );
    assert_eq!(
        (found.anon, found.unmapped),
        (Ok(900), Ok(5000 - 900 - 3300 - 700 - 10))
    );
    assert_eq!(found.oom_kills, Ok(Count(1)));
    assert_eq!((found.throttled, found.limit_hits), (Ok(Count(5)), Ok(Count(3))));
    assert_eq!(found.stalled_some, Ok(Duration::from_millis(1500)));
    assert_eq!(found.stalled_full, Ok(Duration::from_millis(700)));
}

#[test]
fn v1_says_what_can_be_reclaimed_and_has_no_soft_limit() {
    let tree = tree(V1, "4:memory");
    for (file, content) in [
        ("memory.limit_in_bytes", "9223372036854771712\n"),
        ("a.slice/memory.limit_in_bytes", "9223372036854771712\n"),
        ("a.slice/b.service/memory.usage_in_bytes", "5000\n"),
        ("a.slice/b.service/memory.limit_in_bytes", "8192\n"),
        (
            "a.slice/b.service/memory.stat",
            "active_file 1\ntotal_rss 1200\ntotal_cache 3400\ntotal_shmem 400\ntotal_mapped_file 100\ntotal_active_file 1000\n\
             total_inactive_file 2000\ntotal_pgmajfault 7\ntotal_workingset_refault 3\n",
        ),
        ("a.slice/b.service/memory.failcnt", "12\n"),
        (
            "a.slice/b.service/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
        ),
    ] {
        tree.write(&format!("sys/fs/cgroup/memory/{file}"), content);
    }
    let mut scanner = Scanner::new(&tree.options());
    block_on(scanner.tick());
    let found = figures(&block_on(scanner.tick()), "/a.slice/b.service");
    assert_eq!((found.ceiling(), found.reclaimable), (Some((8192, false)), Ok(3000)));
    assert_eq!(found.refaults, Ok(Count(3)));
    let figures = (found.shmem, found.file_mapped, found.kernel);
    assert_eq!(figures, (Ok(400), Ok(100), Err(Missing::Unsupported)));
    assert_eq!((found.anon, found.unmapped), (Ok(1200), Ok(400)));
    assert_eq!((found.major_faults, found.oom_kills), (Ok(Count(7)), Ok(Count(4))));
    assert_eq!(
        (found.throttled, found.limit_hits),
        (Err(Missing::Unsupported), Ok(Count(12)))
    );
    assert_eq!(found.stalled_full, Err(Missing::Unsupported));
}

#[test]
fn a_limit_is_not_forgotten_while_a_read_is_late() {
    let tree = tree(V2, "0:");
    tree.write("sys/fs/cgroup/a.slice/memory.max", "9000\n");
    tree.write("sys/fs/cgroup/a.slice/memory.current", "4096\n");
    let options = Options {
        deadline: Duration::from_millis(100),
        ..tree.options()
    };
    let mut scanner = Scanner::new(&options);
    scanner.set_needs(CGROUPS);
    let began = Instant::now();
    let ceiling = |snapshot: &Snapshot| snapshot.cgroups.get("/a.slice".as_bytes())?.ceiling();
    while ceiling(&block_on(scanner.tick())).is_none() {
        assert!(began.elapsed() < PATIENCE);
    }
    let path = tree.path("sys/fs/cgroup/a.slice/memory.current");
    std::fs::remove_file(&path).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR).unwrap();
    let began = Instant::now();
    loop {
        let snapshot = block_on(scanner.tick());
        if began.elapsed() >= Duration::from_secs(3) {
            break;
        }
        assert_eq!(ceiling(&snapshot), Some((9000, false)));
    }
}
