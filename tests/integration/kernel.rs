//! Against the kernel itself: processes with known mappings, stopped, whose every figure is compared with
//! the sums over their `smaps`.

mod activity;
mod births;
pub(crate) mod cgroup;
pub(crate) mod child;
mod denied;
mod estimate;
mod exits;
mod facts;
mod first_thread;
mod held;
mod killers;
mod mapped;
mod page_tables;
mod perfmon;
mod program;
mod recorded;
pub(crate) mod shared_mm;
pub(crate) mod swap;

use std::fs;

use child::{Child, SHAPE};
use zmtop::model::{Memory, Missing, ProcessSample, Snapshot};
use zmtop::sampler::Scanner;

use crate::support::block_on;
use crate::support::tree::ProcTree;

const KB: u64 = 1024;

/// The sums over `smaps`, read the plain way: bytes, and the number of mappings.
#[derive(Debug, PartialEq)]
struct Sums {
    mappings: u64,
    rss: u64,
    pss: u64,
    uss: u64,
    shared: u64,
    swap: u64,
    swap_pss: u64,
}

fn sums(pid: u32) -> Sums {
    let text = String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/smaps")).unwrap()).into_owned();
    let sum = |name: &str| -> u64 {
        let values = text
            .lines()
            .filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        values
            .map(|v| v.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * KB)
            .sum()
    };
    Sums {
        mappings: text.lines().filter(|line| line.starts_with("Rss:")).count() as u64,
        rss: sum("Rss"),
        pss: sum("Pss"),
        uss: sum("Private_Clean") + sum("Private_Dirty"),
        shared: sum("Shared_Clean") + sum("Shared_Dirty"),
        swap: sum("Swap"),
        swap_pss: sum("SwapPss"),
    }
}

fn row(snapshot: &Snapshot, pid: u32) -> &ProcessSample {
    snapshot.rows().iter().find(|p| p.id.pid == pid).unwrap()
}

/// Asserts that a scan of `pid` agrees with the sums over its `smaps`. Pages of shared libraries come and go with whoever else
/// maps them, between one read and the next: so the process is scanned alone, in a tree of its own, which takes little
/// time; the sums must be the same before and after; and the comparison has a few attempts.
#[track_caller]
fn agree(pid: u32) {
    let tree = ProcTree::new();
    std::os::unix::fs::symlink(format!("/proc/{pid}"), tree.root().join(pid.to_string())).unwrap();
    let mut scanner = Scanner::new(&tree.options());
    let mut last = None;
    for _ in 0..500 {
        let before = sums(pid);
        let snapshot = block_on(scanner.full());
        if sums(pid) == before {
            let memory = *row(&snapshot, pid).memory().unwrap();
            if agrees(&memory, &before) {
                return;
            }
            last = Some((memory, before));
        }
    }
    panic!("never the same: {last:?}");
}

/// PSS of a rollup is exact to the byte before it is cut to KiB; that of each mapping is cut for itself.
fn agrees(memory: &Memory, sums: &Sums) -> bool {
    let within = |more: u64, less: u64| more >= less && more - less < sums.mappings * KB;
    memory.rss == sums.rss
        && memory.uss() == sums.uss
        && memory.shared() == sums.shared
        && memory.swap == sums.swap
        && within(memory.pss, sums.pss)
        && within(memory.swap_pss.unwrap(), sums.swap_pss)
}

#[test]
fn figures_are_the_sums_over_smaps() {
    const NAME: &str = "kernel::figures_are_the_sums_over_smaps";
    child::be(NAME);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("shared");
    // Two that map the same file, so that each has half of it.
    let (first, _second) = (Child::start(NAME, &file), Child::start(NAME, &file));
    agree(first.pid());
    let snapshot = block_on(Scanner::new(&crate::support::machine_options()).full());
    let r = row(&snapshot, first.pid());
    assert_eq!(r.stat.state, b'T');
    let m = r.memory().unwrap();
    // And they are what the child did.
    let kinds = SHAPE;
    // The rest is the program itself.
    let near = |figure: u64, made: usize| (made as u64..made as u64 + (16 << 20)).contains(&figure);
    assert!(near(m.uss(), kinds.private + kinds.shared), "{m:?}");
    assert!(near(m.shared(), kinds.file), "{m:?}");
    assert!(near(m.pss, kinds.private + kinds.shared + kinds.file / 2), "{m:?}");
    if let (Ok(anon), Ok(files), Ok(shmem)) = (m.pss_anon, m.pss_file, m.pss_shmem) {
        // A temporary file may lie on tmpfs, and is shmem then.
        assert!(near(anon, kinds.private), "{m:?}");
        assert!(near(files + shmem, kinds.shared + kinds.file / 2), "{m:?}");
        assert!(shmem >= kinds.shared as u64, "{m:?}");
        assert!((anon + files + shmem).abs_diff(m.pss) < 4 * KB, "{m:?}");
    }
}

#[test]
fn a_tree_without_rollups_gives_the_same_totals() {
    const NAME: &str = "kernel::a_tree_without_rollups_gives_the_same_totals";
    child::be(NAME);
    let dir = tempfile::tempdir().unwrap();
    let child = Child::start(NAME, &dir.path().join("shared"));
    let tree = ProcTree::new();
    fs::create_dir(tree.file(7, "")).unwrap();
    for name in ["stat", "status", "cgroup", "cmdline", "smaps"] {
        std::os::unix::fs::symlink(format!("/proc/{}/{name}", child.pid()), tree.file(7, name)).unwrap();
    }
    let mut scanner = Scanner::new(&tree.options());
    let (mut expected, mut got) = (sums(child.pid()), None);
    for _ in 0..100 {
        let snapshot = block_on(scanner.full());
        let m = *row(&snapshot, 7).memory().unwrap();
        assert_eq!(m.pss_anon, Err(Missing::Unsupported));
        got = Some(Sums {
            mappings: expected.mappings,
            rss: m.rss,
            pss: m.pss,
            uss: m.uss(),
            shared: m.shared(),
            swap: m.swap,
            swap_pss: m.swap_pss.unwrap(),
        });
        if got.as_ref() == Some(&expected) {
            return;
        }
        expected = sums(child.pid());
    }
    panic!("never the same: {expected:?} {got:?}");
}

#[test]
fn a_zombie_is_listed_as_one() {
    let mut child = std::process::Command::new("/bin/true").spawn().unwrap();
    let mut scanner = Scanner::new(&crate::support::machine_options());
    let walk = |scanner: &mut Scanner| row(&block_on(scanner.full()), child.id()).walk;
    let mut last = walk(&mut scanner);
    for _ in 0..500 {
        if last == Err(Missing::Zombie) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        last = walk(&mut scanner);
    }
    assert_eq!(last, Err(Missing::Zombie));
    child.wait().unwrap();
    let after = block_on(scanner.full());
    assert!(after.rows().iter().all(|p| p.id.pid != child.id()));
}

#[test]
fn an_exec_is_seen() {
    // The shell becomes another program when it has read a line.
    let child = std::process::Command::new("/bin/sh")
        .args(["-c", "read line; exec sleep 60"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut child = Child::from(child);
    let pid = child.pid();
    let mut scanner = Scanner::new(&crate::support::machine_options());
    let seen = |scanner: &mut Scanner, comm: &[u8]| {
        for _ in 0..500 {
            let snapshot = block_on(scanner.full());
            let r = row(&snapshot, pid);
            if &*r.facts.comm == comm && r.facts.cmdline.as_ref().is_ok_and(|c| !c.is_empty()) {
                return r.clone();
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("never saw it");
    };
    let shell = seen(&mut scanner, b"sh");
    child.close_stdin();
    let sleep = seen(&mut scanner, b"sleep");
    assert_eq!(shell.id, sleep.id);
    assert_eq!(sleep.exec, shell.exec + 1);
    assert_eq!(sleep.facts.cmdline.as_deref(), Ok(&b"sleep\x0060\0"[..]));
}
