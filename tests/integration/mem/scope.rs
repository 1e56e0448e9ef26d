//! A cgroup in place of the machine: that of a container with a limit, or one that was chosen.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::Duration;

use zmtop::account::{Account, ProcessTotals, account};
use zmtop::history::History;
use zmtop::history::dangers::Limit;
use zmtop::model::{Missing, Snapshot};
use zmtop::sampler::{Needs, Scanner};

use crate::support::block_on;
use crate::support::rows::{MIB, process, snapshot};
use crate::support::session::{Session, busy};
use crate::support::tree::ProcTree;

pub(crate) const V2: &str = "29 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
pub(super) const V1: &str = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";

/// A container's `memory.stat`: 40 MiB anonymous, 4 MiB of it read back from swap and mapped again, 30 MiB of files of which
/// 2 MiB are locked, 6 MiB of shared memory, 9 MiB of the kernel's.
fn stat() -> String {
    let figures = [
        ("anon", 40),
        ("file", 30 + 6 + 5),
        ("kernel", 9),
        ("kernel_stack", 1),
        ("pagetables", 1),
        ("sec_pagetables", 0),
        ("percpu", 0),
        ("sock", 1),
        ("vmalloc", 0),
        ("shmem", 6),
        ("file_mapped", 10),
        ("file_dirty", 0),
        ("file_writeback", 0),
        ("swapcached", 5),
        ("anon_thp", 8),
        ("inactive_anon", 20),
        ("active_anon", 27),
        ("inactive_file", 18),
        ("active_file", 10),
        ("unevictable", 2),
        ("slab_reclaimable", 3),
        ("slab_unreclaimable", 2),
        ("slab", 5),
    ];
    figures
        .iter()
        .map(|(name, mib)| format!("{name} {}\n", mib * MIB))
        .collect::<Vec<_>>()
        .concat()
}

/// Processes 1 and 7 of a pid namespace in `/pod/app`, 9 beside it in `/pod/side`. The pod may have 200 MiB and has 160, the
/// app 120 MiB, from 110 on slowly, and has 88, of which 57 cannot be reclaimed.
pub(crate) fn container(mountinfo: &str) -> ProcTree {
    let tree = ProcTree::new();
    tree.process(1)
        .comm("init")
        .cgroup("0::/pod/app/init.scope\n")
        .pss_kb(1000)
        .write();
    tree.process(7)
        .comm("app")
        .cgroup("0::/pod/app\n")
        .pss_kb(30_000)
        .write();
    tree.process(9)
        .comm("side")
        .cgroup("0::/pod/side\n")
        .pss_kb(5000)
        .write();
    tree.system("self/mountinfo", mountinfo);
    tree.system("self/cgroup", "0::/pod/app/zmtop.scope\n");
    namespaced(&tree, "pid:[4026532999]");
    let mib = |mib: u64| format!("{}\n", mib * MIB);
    for (file, content) in [
        ("cgroup.controllers", "cpu memory pids\n".into()),
        ("pod/cgroup.controllers", "cpu memory pids\n".into()),
        ("pod/memory.current", mib(160)),
        ("pod/memory.max", mib(200)),
        ("pod/memory.high", "max\n".into()),
        ("pod/memory.swap.current", mib(0)),
        ("pod/memory.swap.max", "max\n".into()),
        (
            "pod/memory.stat",
            format!("active_file 0\ninactive_file {}slab_reclaimable 0\n", mib(45)),
        ),
        ("pod/app/cgroup.controllers", "cpu memory pids\n".into()),
        ("pod/app/memory.current", mib(88)),
        ("pod/app/memory.max", mib(120)),
        ("pod/app/memory.high", mib(110)),
        ("pod/app/memory.swap.current", mib(3)),
        ("pod/app/memory.swap.max", mib(10)),
        ("pod/app/memory.stat", stat()),
        ("pod/app/memory.events", "low 0\noom 2\noom_kill 1\n".into()),
        (
            "pod/app/memory.pressure",
            "some avg10=7.50 avg60=1.00 avg300=0.00 total=1\nfull avg10=3.00 avg60=0.00 avg300=0.00 total=1\n".into(),
        ),
    ] {
        tree.write(&format!("sys/fs/cgroup/{file}"), content);
    }
    tree
}

fn namespaced(tree: &ProcTree, namespace: &str) {
    for process in ["self", "1"] {
        let link = tree.root().join(process).join("ns/pid");
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&link);
        symlink(namespace, link).unwrap();
    }
}

fn taken(tree: &ProcTree) -> Arc<Snapshot> {
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(Needs::ACCOUNT);
    block_on(scanner.full())
}

fn account_of(snapshot: &Snapshot) -> Account {
    let account = account(&snapshot.system, &snapshot.accounting, &ProcessTotals::of(snapshot));
    assert!(account.parts.iter().all(|part| !part.help.is_empty()));
    account
}

/// Returns the sum of the parts that are charged to the cgroup, with the rest, in bytes.
fn charged(account: &Account) -> i64 {
    let parts = account
        .parts
        .iter()
        .filter(|part| !matches!(part.id, "free" | "limit_others"));
    let sum: u64 = parts.filter_map(|part| part.bytes.ok()).sum();
    i64::try_from(sum).unwrap() + account.rest.unwrap()
}

fn all(account: &Account) -> i64 {
    let sum: u64 = account.parts.iter().filter_map(|part| part.bytes.ok()).sum();
    i64::try_from(sum).unwrap() + account.rest.unwrap()
}

#[test]
fn in_a_container_its_limit_is_the_machine() {
    let snapshot = taken(&container(V2));
    let system = &snapshot.system;
    assert_eq!(system.mem_total, Ok(120 * MIB));
    // Neither the file pages on the lists, 28, nor the slab's 3 count as used.
    assert_eq!(system.used(), Ok(57 * MIB));
    // Of the app's soft limit 110 − 57 are left, of the pod's 200 − (160 − 45) more.
    assert_eq!(system.available(), Ok(53 * MIB));
    assert_eq!((system.swap_total, system.swap_used()), (Ok(10 * MIB), Ok(3 * MIB)));
    assert_eq!(system.oom_kill, Ok(1));
    assert!((system.psi.unwrap().some[0] - 7.5).abs() < 0.01);
    let scope = system.scope.as_deref().unwrap();
    assert_eq!(
        (&*scope.path, scope.limit, scope.soft_limit()),
        (&b"/pod/app"[..], Ok(Some(120 * MIB)), Some(110 * MIB))
    );
    // With swap: 53 and 10 − 3.
    assert_eq!(scope.left, Ok(60 * MIB));
    assert_eq!(
        (scope.host_total, scope.host_available),
        (Ok(24_649_920 << 10), Ok(14_000_000 << 10))
    );

    let account = account_of(&snapshot);
    assert_eq!((account.total, account.total_title), (Ok(120 * MIB), "the limit"));
    assert_eq!(charged(&account), (88 * MIB).cast_signed(), "{account:#?}");
    assert_eq!(all(&account), (120 * MIB).cast_signed(), "{account:#?}");
    let part = |id| account.parts.iter().find(|part| part.id == id).unwrap().bytes;
    assert_eq!(
        (part("anon"), part("files"), part("shmem")),
        (Ok(40 * MIB), Ok(30 * MIB), Ok(6 * MIB))
    );
    // Anonymous pages on the lists that are neither mapped nor shared memory.
    assert_eq!(part("swap_cache"), Ok(MIB));
    assert_eq!(
        (part("kernel"), part("free"), part("limit_others")),
        (Ok(2 * MIB), Ok(32 * MIB), Ok(0))
    );
}

#[test]
fn the_tightest_of_nested_limits_holds() {
    let tree = container(V2);
    tree.write("sys/fs/cgroup/pod/memory.max", format!("{}\n", 100 * MIB));
    tree.write("sys/fs/cgroup/pod/memory.current", format!("{}\n", 96 * MIB));
    tree.write(
        "sys/fs/cgroup/pod/memory.stat",
        "active_file 0\ninactive_file 0\nslab_reclaimable 0\n",
    );
    let snapshot = taken(&tree);
    let system = &snapshot.system;
    assert_eq!(
        (system.mem_total, system.used(), system.available()),
        (Ok(100 * MIB), Ok(57 * MIB), Ok(4 * MIB))
    );
    let account = account_of(&snapshot);
    let part = |id| account.parts.iter().find(|part| part.id == id).unwrap().bytes;
    assert_eq!((part("free"), part("limit_others")), (Ok(4 * MIB), Ok(8 * MIB)));
    assert_eq!(
        (charged(&account), all(&account)),
        ((88 * MIB).cast_signed(), (100 * MIB).cast_signed())
    );
    // A limit from which on memory is only slow to be had limits, too.
    tree.write("sys/fs/cgroup/pod/memory.max", "max\n");
    tree.write("sys/fs/cgroup/pod/app/memory.max", "max\n");
    let snapshot = taken(&tree);
    assert_eq!(
        (snapshot.system.mem_total, snapshot.system.available()),
        (Ok(110 * MIB), Ok(53 * MIB))
    );
    assert_eq!(account_of(&snapshot).total_title, "the soft limit");
}

#[test]
fn limits_and_parts_of_v1() {
    let tree = container(V1);
    tree.process(1).comm("init").cgroup("4:memory:/docker/ab\n").write();
    tree.system("self/cgroup", "4:memory:/docker/ab\n0::/\n");
    namespaced(&tree, "pid:[4026532999]");
    let stat = |names: &[(&str, u64)]| {
        names
            .iter()
            .map(|(n, mib)| format!("{n} {}\n", mib * MIB))
            .collect::<Vec<_>>()
            .concat()
    };
    let none = "9223372036854771712\n";
    for (file, content) in [
        ("docker/ab/memory.usage_in_bytes", format!("{}\n", 82 * MIB)),
        ("docker/ab/memory.limit_in_bytes", none.into()),
        ("docker/ab/memory.kmem.usage_in_bytes", format!("{}\n", 9 * MIB)),
        ("docker/memory.usage_in_bytes", format!("{}\n", 90 * MIB)),
        ("docker/memory.limit_in_bytes", format!("{}\n", 150 * MIB)),
        (
            "docker/memory.stat",
            stat(&[("total_active_file", 1), ("total_inactive_file", 1)]),
        ),
        ("memory.usage_in_bytes", format!("{}\n", 900 * MIB)),
        ("memory.limit_in_bytes", none.into()),
        (
            "docker/ab/memory.stat",
            // One above that is not visible here has the lowest.
            stat(&[
                ("rss", 1),
                ("hierarchical_memory_limit", 140),
                ("total_cache", 36),
                ("total_rss", 36),
                ("total_shmem", 6),
                ("total_mapped_file", 10),
                ("total_swapcached", 0),
                ("total_inactive_anon", 20),
                ("total_active_anon", 22),
                ("total_inactive_file", 18),
                ("total_active_file", 12),
                ("total_unevictable", 0),
            ]),
        ),
    ] {
        tree.write(&format!("sys/fs/cgroup/memory/{file}"), content);
    }
    let snapshot = taken(&tree);
    let system = &snapshot.system;
    assert_eq!((system.mem_total, system.used()), (Ok(140 * MIB), Ok(52 * MIB)));
    // The limit above that is visible leaves 150 − 88, the one that is not 140 − 52.
    assert_eq!(system.available(), Ok(62 * MIB));
    let account = account_of(&snapshot);
    assert_eq!(
        (charged(&account), all(&account)),
        ((82 * MIB).cast_signed(), (140 * MIB).cast_signed()),
        "{account:#?}"
    );
}

#[test]
fn a_container_whose_own_cgroup_is_hidden_shows_the_machine() {
    // Its cgroup is mounted at the place of one above it, whose path then leads to the limit of another.
    let tree = container("35 31 0:32 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    tree.process(1).cgroup("0::/elsewhere/in\n").write();
    namespaced(&tree, "pid:[4026532999]");
    tree.system("self/cgroup", "0::/elsewhere/in\n");
    tree.write("sys/fs/cgroup/memory.max", format!("{}\n", 300 * MIB));
    tree.write("sys/fs/cgroup/memory.current", format!("{}\n", 20 * MIB));
    let snapshot = taken(&tree);
    assert!(snapshot.system.scope.is_none());
    assert_eq!(snapshot.system.mem_total, Ok(24_649_920 << 10));
}

#[test]
fn hidden_limits_are_no_freedom() {
    let (none, mib) = ("9223372036854771712\n", |mib: u64| format!("{}\n", mib * MIB));
    let stat = |limit: u64| format!("rss 1\nhierarchical_memory_limit {limit}\nhierarchical_memsw_limit {limit}\n");
    let v1 = |limit: String, lowest: u64| {
        vec![
            ("memory/memory.usage_in_bytes", mib(9)),
            ("memory/memory.limit_in_bytes", limit),
            ("memory/memory.stat", stat(lowest)),
            ("memory/in/memory.usage_in_bytes", mib(5)),
            ("memory/in/memory.limit_in_bytes", none.into()),
            ("memory/in/memory.stat", stat(lowest)),
        ]
    };
    let v2 = |limit: Option<&str>, inner: &str| {
        let mut files = vec![
            ("cgroup.controllers", "memory\n".into()),
            ("in/cgroup.controllers", "memory\n".into()),
            ("in/memory.max", inner.into()),
            ("in/memory.swap.max", "max\n".into()),
        ];
        files.extend(limit.map(|limit| ("memory.max", limit.into())));
        files
    };
    let namespace = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
    let unlimited: u64 = 0x7fff_ffff_ffff_f000;
    let hidden = Err(Missing::OutOfView);
    for (mountinfo, path, files, expected) in [
        // The root of the namespace, or of what is mounted, has no limit, and one above it has.
        (
            namespace,
            "4:memory:/\n",
            v1(none.into(), 300 * MIB),
            Ok(Some(300 * MIB)),
        ),
        (
            namespace,
            "4:memory:/in\n",
            v1(none.into(), 300 * MIB),
            Ok(Some(300 * MIB)),
        ),
        (namespace, "4:memory:/\n", v1(mib(500), 300 * MIB), Ok(Some(300 * MIB))),
        (namespace, "4:memory:/\n", v1(none.into(), unlimited), Ok(None)),
        // v2 does not say whether there is one above, unless it is the root itself.
        (V2, "0::/\n", v2(Some("max\n"), "max\n"), hidden),
        (V2, "0::/in\n", v2(Some("max\n"), "max\n"), hidden),
        (V2, "0::/in\n", v2(Some("max\n"), "7340032\n"), Ok(Some(7 * MIB))),
        (V2, "0::/\n", v2(Some("9437184\n"), "max\n"), Ok(Some(9 * MIB))),
        (V2, "0::/\n", v2(None, "max\n"), Ok(None)),
        (V2, "0::/in\n", v2(None, "max\n"), Ok(None)),
    ] {
        let tree = ProcTree::new();
        tree.process(7).cgroup(path).write();
        tree.system("self/mountinfo", mountinfo);
        tree.system("self/cgroup", path);
        for (file, content) in &files {
            tree.write(&format!("sys/fs/cgroup/{file}"), content);
        }
        let mut scanner = Scanner::new(&tree.options());
        scanner.set_needs(Needs::CGROUP_FIGURES);
        let snapshot = block_on(scanner.full());
        let of = snapshot.rows()[0].facts.cgroup.as_deref().unwrap();
        assert_eq!(snapshot.cgroups[of].limit, expected, "{path} {files:?}");
        assert_eq!(snapshot.system.limit.limit, expected, "{path} {files:?}");
        let (_, out, _) = tree.zmtop("ps --by cgroup --columns cg_limit,cgroup --no-header --no-totals");
        let shown = match expected {
            Ok(Some(limit)) => format!("{}", limit / MIB),
            Ok(None) => "max".into(),
            Err(_) => "-".into(),
        };
        assert!(out.trim_start().starts_with(&shown), "{path} {files:?}: {out}");
    }
}

#[test]
fn swap_of_the_host_on_zram_adds_what_it_saves() {
    let tree = container(V2);
    // Limits beyond what the host has left.
    for file in [
        "pod/memory.max",
        "pod/memory.high",
        "pod/app/memory.high",
        "pod/app/memory.swap.max",
    ] {
        tree.write(&format!("sys/fs/cgroup/{file}"), "max\n");
    }
    tree.write("sys/fs/cgroup/pod/app/memory.max", format!("{}\n", 7000 * MIB));
    let meminfo = |available: u64, swap: u64| {
        format!(
            "MemTotal: {} kB\nMemFree: 1000 kB\nMemAvailable: {} kB\nAnonPages: {} kB\nSwapTotal: {swap} kB\nSwapFree: {swap} kB\n",
            8000 << 10,
            available << 10,
            3000 << 10,
            swap = swap << 10,
        )
    };
    tree.system("meminfo", meminfo(1000, 4000));
    tree.system(
        "swaps",
        format!(
            "Filename Type Size Used Priority\n/dev/zram0 partition {} 0 100\n",
            4000 << 10
        ),
    );
    tree.write("sys/block/zram0/mm_stat", "0 0 0 0 0 0 0 0 0\n");
    let scope = taken(&tree).system.scope.clone().unwrap();
    // Half of it, at two to one.
    assert_eq!(scope.left, Ok(3000 * MIB));
    // What the areas are is not known, but there is a zram device.
    std::fs::remove_file(tree.root().join("swaps")).unwrap();
    assert_eq!(taken(&tree).system.scope.clone().unwrap().left, Ok(3000 * MIB));
    // Without a zram device, the swap is on a disk.
    std::fs::remove_dir_all(tree.path("sys/block/zram0")).unwrap();
    assert_eq!(taken(&tree).system.scope.clone().unwrap().left, Ok(5000 * MIB));
}

#[test]
fn outside_of_a_pid_namespace_the_machine_is_shown() {
    let machine = |tree: &ProcTree| {
        let snapshot = taken(tree);
        assert_eq!(
            (snapshot.system.mem_total, snapshot.system.scope.is_none()),
            (Ok(24_649_920 << 10), true)
        );
        // What zmtop itself may have is still known.
        assert_eq!(snapshot.system.own_limit().map(|(limit, _)| limit), Some(120 * MIB));
    };
    let tree = container(V2);
    tree.write("sys/fs/cgroup/pod/app/zmtop.scope/cgroup.controllers", "\n");
    // That of the machine itself: a service with a limit, which sees all processes.
    namespaced(&tree, "pid:[4026531836]");
    machine(&tree);
    // A tree of another namespace, as the host's /proc mounted in a container.
    namespaced(&tree, "pid:[4026532999]");
    std::fs::remove_file(tree.root().join("1/ns/pid")).unwrap();
    symlink("pid:[4026531836]", tree.root().join("1/ns/pid")).unwrap();
    machine(&tree);
    // A container without a limit.
    let tree = container(V2);
    for (cgroup, file) in [("pod", "max"), ("pod/app", "max"), ("pod/app", "high")] {
        tree.write(&format!("sys/fs/cgroup/{cgroup}/memory.{file}"), "max\n");
    }
    assert!(taken(&tree).system.scope.is_none());
}

#[test]
fn a_chosen_cgroup_shows_its_processes_and_its_memory() {
    let tree = container(V2);
    namespaced(&tree, "pid:[4026531836]");
    let (code, out, err) = tree.zmtop("ps --cgroup /pod/app --columns pid,command --no-header --no-totals");
    assert_eq!((code, err.as_str()), (Some(0), ""));
    let pids: Vec<_> = out
        .lines()
        .map(|line| line.split_whitespace().next().unwrap())
        .collect();
    assert_eq!(pids, ["7", "1"]);
    let by_directory = format!(
        "ps --cgroup {} --columns pid,command --no-header --no-totals",
        tree.root().join("../sys/fs/cgroup/pod/app").display()
    );
    assert_eq!(tree.zmtop(&by_directory).1, out);
    let (code, out, _) = tree.zmtop("mem --cgroup pod/app --units k");
    assert_eq!(code, Some(0));
    insta::assert_snapshot!("mem-of-a-cgroup", out);
    let (_, json, _) = tree.zmtop("mem --cgroup pod/app --format json");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["ram"]["total"], 120 * MIB);
    assert_eq!(
        (&value["scope"]["kind"], &value["scope"]["high"]),
        (&"cgroup".into(), &(110 * MIB).into())
    );
    // Without a limit it is what is charged to it.
    for (cgroup, file) in [("pod", "max"), ("pod/app", "max"), ("pod/app", "high")] {
        tree.write(&format!("sys/fs/cgroup/{cgroup}/memory.{file}"), "max\n");
    }
    let (_, json, _) = tree.zmtop("mem --cgroup /pod/app --format json");
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&value["ram"]["used"], &value["account"]["total"]),
        (&(57 * MIB).into(), &(88 * MIB).into())
    );
    assert_eq!(value["ram"]["total"], 24_649_920 * 1024_u64);
    for (path, reason) in [
        ("/nope", "there is no cgroup /nope"),
        ("/../x", "there is no cgroup /../x"),
    ] {
        let (code, _, err) = tree.zmtop(&format!("mem --cgroup {path}"));
        assert_eq!(code, Some(2), "{err}");
        assert!(err.contains(reason), "{err}");
    }
}

#[test]
fn a_record_keeps_whose_memory_it_is() {
    let tree = container(V2);
    let (code, out, _) = tree.zmtop("ps --format ndjson");
    assert_eq!(code, Some(0));
    let file = tree.path("recorded.ndjson");
    std::fs::write(&file, out).unwrap();
    let line = std::process::Command::new(crate::support::pty::ZMTOP)
        .args(["mem", "--units", "k", "--from"])
        .arg(&file)
        .env_clear()
        .output()
        .unwrap();
    let text = String::from_utf8(line.stdout).unwrap();
    assert!(text.contains("the container's cgroup /pod/app"), "{text}");
    assert!(text.contains("limit 122880K, soft limit 112640K"), "{text}");
}

#[test]
fn dangers_count_down_to_the_limit() {
    let system = taken(&container(V2)).system.clone();
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..150 {
        let mut made = snapshot(Duration::from_secs(second), vec![process(7, 1, "app")]);
        made.system = system.clone();
        made.system.scope.as_deref_mut().unwrap().left = Ok((60 << 20) - second * 200_000);
        history.push(&made);
    }
    let dangers = history.dangers();
    assert_eq!(dangers.len(), 1, "{dangers:?}");
    assert_eq!(dangers[0].limit, Limit::Machine);
    // Of the host there are gigabytes left.
    assert!(dangers[0].forecast.left < 60 << 20);
}

#[test]
fn the_screen_shows_the_limit_and_the_host_in_small() {
    let taken = taken(&container(V2));
    for (width, height) in [(80, 24), (120, 40)] {
        let mut session = Session::new(width, height);
        for step in 0..=12 {
            session.tick_with(5, busy(step), |made| {
                made.system = taken.system.clone();
                made.accounting = Arc::clone(&taken.accounting);
            });
        }
        insta::assert_snapshot!(format!("scope-{width}x{height}"), session.picture());
        insta::assert_snapshot!(format!("scope-page2-{width}x{height}"), session.keys("2").picture());
    }
}

#[test]
fn an_unknown_limit_is_a_dash() {
    // The controller is in v1, of which only a cgroup above the namespace is mounted; v2 is without it.
    let hybrid = "35 31 0:32 /.. /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                  41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    // Something else lies over the place where it was mounted.
    let elsewhere = "29 22 0:26 / /sys/fs/moved rw - cgroup2 cgroup2 rw\n";
    let sibling = "29 22 0:26 /../other /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
    // The hierarchy has no memory controller.
    let without = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
    for (mountinfo, path, why) in [
        (hybrid, "4:memory:/\n0::/\n", Missing::OutOfView),
        (hybrid, "4:memory:/a\n0::/\n", Missing::OutOfView),
        (V2, "0::/../other\n", Missing::OutOfView),
        (V2, "0::/gone\n", Missing::OutOfView),
        (elsewhere, "0::/pod\n", Missing::OutOfView),
        (sibling, "0::/pod\n", Missing::OutOfView),
        (without, "0::/\n", Missing::Unsupported),
    ] {
        let tree = ProcTree::new();
        tree.process(7).cgroup(path).write();
        tree.system("self/mountinfo", mountinfo);
        tree.system("self/cgroup", path);
        tree.write("sys/fs/cgroup/cgroup.controllers", "cpu memory\n");
        tree.write("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
        let mut scanner = Scanner::new(&tree.options());
        scanner.set_needs(Needs::CGROUP_FIGURES);
        let snapshot = block_on(scanner.full());
        let of = snapshot.rows()[0].facts.cgroup.as_deref().unwrap();
        assert_eq!(snapshot.cgroups[of].limit, Err(why), "{mountinfo} {path}");
        assert_eq!(snapshot.system.limit.limit, Err(why), "{mountinfo} {path}");
        let (_, out, _) = tree.zmtop("ps --by cgroup --columns cg_limit,cgroup --no-header --no-totals");
        assert!(out.trim_start().starts_with('-'), "{path}: {out}");
    }
}
