//! Figures that are read of few processes only: the counters of Java virtual machines, and limits of address spaces that grow.

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::time::Duration;

use zmtop::model::{Identity, Missing, Reading, Snapshot};
use zmtop::sampler::{Needs, Scanner};

use super::row;
use crate::proc::hsperfdata::{HEAP, PARALLEL, file};
use crate::support::tree::ProcTree;
use crate::support::{block_on, long};

/// Ticks until something is true of a snapshot, or five seconds have passed.
fn tick_until(scanner: &mut Scanner, is_it: impl Fn(&Snapshot) -> bool) -> Snapshot {
    block_on(async {
        let mut last = scanner.tick().await;
        for _ in 0..50 {
            if is_it(&last) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            last = scanner.tick().await;
        }
        (*last).clone()
    })
}

fn heap(snapshot: &Snapshot, pid: u32) -> Option<Reading<u64>> {
    let found = snapshot.jvms.get(&row(snapshot, pid).id)?;
    Some(found.as_ref().map(|heap| heap.used).map_err(|why| *why))
}

#[test]
fn virtual_machines_are_asked_for_their_heaps_and_others_are_not() {
    let tree = ProcTree::new();
    for pid in 2..=8 {
        let space = if pid == 7 { HEAP.capacity - 1 } else { 1 << 30 };
        let process = tree.process(pid).space(space);
        process.comm(if pid == 5 { "worker" } else { "java" }).write();
        let directory = tree.file(pid, "root/tmp/hsperfdata_a");
        std::fs::create_dir_all(&directory).unwrap();
        // The pid that it has in its container.
        std::fs::write(directory.join("1"), file(true, PARALLEL)).unwrap();
        let library = "7e00-7e08 r-xp 00000000 fd:00 122                  /opt/a/lib/server/libjvm.so\n";
        let counters = "7f00-7f08 rw-s 00000000 fd:00 123                  /tmp/hsperfdata_a/1\n";
        let library = if pid == 6 || pid == 8 { "" } else { library };
        std::fs::write(tree.file(pid, "maps"), [library, counters].concat()).unwrap();
    }
    // One that maps none, one whose file is broken.
    std::fs::write(tree.file(3, "maps"), "7f00-7f08 rw-p 00000000 00:00 0 [heap]\n").unwrap();
    std::fs::write(tree.file(4, "root/tmp/hsperfdata_a/1"), "x").unwrap();
    for pid in [5, 6] {
        symlink("/usr/bin/worker", tree.file(pid, "exe")).unwrap();
    }
    // One that is linked statically.
    symlink("/opt/static-jdk/bin/java", tree.file(8, "exe")).unwrap();
    let mut scanner = Scanner::new(&tree.options());
    let snapshot = tick_until(&mut scanner, |snapshot| snapshot.jvms.len() == 4);
    assert_eq!(heap(&snapshot, 2), Some(Ok(HEAP.used)));
    assert_eq!(heap(&snapshot, 4), Some(Err(Missing::Malformed)));
    assert_eq!((heap(&snapshot, 3), heap(&snapshot, 5)), (None, None));
    assert_eq!(heap(&snapshot, 6), None, "a name alone makes no virtual machine");
    assert_eq!(
        heap(&snapshot, 7),
        Some(Err(Missing::Malformed)),
        "larger than the address space"
    );
    assert_eq!(heap(&snapshot, 8), Some(Ok(HEAP.used)));
    assert!(snapshot.address_limits.is_empty());
}

#[test]
fn the_limit_of_an_address_space_is_read_while_it_grows() {
    if !long() {
        return;
    }
    let mut program = std::process::Command::new("bash")
        .args(["-c", "ulimit -v 2000000; exec python3 -c 'import time\nkept=[]\nwhile True: kept.append(bytearray(1<<20)); time.sleep(.1)'"])
        .spawn()
        .unwrap();
    let mut scanner = Scanner::new(&zmtop::sampler::Options::new(None));
    let pid = program.id();
    let limit = |snapshot: &Snapshot| {
        let mut all = snapshot.address_limits.iter();
        all.find(|(id, _)| id.pid == pid)
            .map(|(id, limit): (&Identity, &u64)| (*id, *limit))
    };
    let mut found = None;
    for _ in 0..4 {
        found = limit(&tick_until(&mut scanner, |snapshot| limit(snapshot).is_some()));
        if found.is_some() {
            break;
        }
    }
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(found.map(|(_, limit)| limit), Some(2_000_000 << 10));
}

#[test]
fn virtual_machines_of_a_user_that_never_answer_do_not_stop_the_reads_of_others() {
    if !long() {
        return;
    }
    let tree = ProcTree::new();
    for pid in 2..=4 {
        tree.process(pid).uid(1001).comm("java").write();
        symlink("/opt/jdk/bin/java", tree.file(pid, "exe")).unwrap();
        tree.fifo(pid, "maps");
    }
    let mut scanner = Scanner::new(&tree.options());
    // Reads count as stuck after ten seconds.
    for _ in 0..3 {
        tick_until(&mut scanner, |_| false);
    }
    tree.process(9).space(1 << 30).uid(70).comm("java").write();
    symlink("/opt/jdk/bin/java", tree.file(9, "exe")).unwrap();
    let directory = tree.file(9, "root/tmp/hsperfdata_a");
    std::fs::create_dir_all(&directory).unwrap();
    std::fs::write(directory.join("1"), file(true, PARALLEL)).unwrap();
    let counters = "7f00-7f08 rw-s 00000000 fd:00 123                  /tmp/hsperfdata_a/1\n";
    std::fs::write(tree.file(9, "maps"), counters).unwrap();
    let snapshot = tick_until(&mut scanner, |snapshot| !snapshot.jvms.is_empty());
    assert_eq!(heap(&snapshot, 9), Some(Ok(HEAP.used)));
}

#[test]
fn names_of_mapped_files_are_kept_only_while_a_process_maps_them() {
    let tree = ProcTree::new();
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(Needs::MAPPED);
    let mut name_of = |pid: u32| {
        tree.process(pid).write();
        let line = |n: u32| format!("7f0000{n:03x}000-7f0000{n:03x}fff r--p 00000000 08:01 {n} /lib/{pid}-{n}\n");
        std::fs::write(tree.file(pid, "maps"), (1..=500).map(line).collect::<String>()).unwrap();
        let id = |snapshot: &Snapshot| row(snapshot, pid).id;
        let snapshot = tick_until(&mut scanner, |snapshot| {
            snapshot.rows().iter().any(|row| row.id.pid == pid) && snapshot.mapped.contains_key(&id(snapshot))
        });
        let found = snapshot.mapped[&id(&snapshot)].as_ref().unwrap();
        assert_eq!(found.len(), 500);
        tree.remove(pid);
        Arc::downgrade(&found[0].name)
    };
    let first = name_of(2);
    (3..=6).for_each(|pid| drop(name_of(pid)));
    assert!(first.upgrade().is_none());
}
