//! A made tree: the end of a process makes the sampler walk those that map the same by `maps`, and no others.

use std::time::Duration;

use zmtop::model::{ProcessSample, Snapshot};
use zmtop::sampler::{Options, Policy, Scanner};

use crate::support::block_on;
use crate::support::tree::ProcTree;

const MB: u64 = 1 << 10;

/// A process with 80 MB of the shmem segment `inode`, which it shares with one other.
fn write(tree: &ProcTree, pid: u32, inode: u32, faults: u64) {
    let process = tree.process(pid).image(0x5555_0000_0000 + u64::from(pid) * 0x10_0000);
    process
        .rss_kb(84 * MB)
        .uss_kb(4 * MB)
        .pss_kb(44 * MB)
        .faults(faults, 0)
        .write();
    let maps = format!(
        "555500000000-555500002000 r-xp 00000000 08:01 1234                       /usr/bin/worker\n\
         7f0000000000-7f0005000000 rw-s 00000000 00:01 {inode}                       /memfd:x (deleted)\n"
    );
    std::fs::write(tree.file(pid, "maps"), maps).unwrap();
}

fn walked_at(snapshot: &Snapshot, pid: u32) -> Duration {
    let is_it = |row: &&ProcessSample| row.id.pid == pid;
    snapshot.rows().iter().find(is_it).unwrap().walk.unwrap().at
}

#[test]
fn the_end_of_one_has_those_walked_that_map_the_same() {
    let tree = ProcTree::new();
    let inodes = [(1, 7), (2, 7), (3, 8), (4, 8)];
    for (pid, inode) in inodes {
        write(&tree, pid, inode, 200);
    }
    let mut scanner = Scanner::new(&Options {
        policy: Policy {
            budget: Some(1.0),
            ..Policy::default()
        },
        ..tree.options()
    });
    let mut tick = || {
        std::thread::sleep(Duration::from_millis(50));
        block_on(scanner.tick())
    };
    let first = tick();
    // What each maps is read with its second walk.
    for (pid, inode) in inodes {
        write(&tree, pid, inode, 20_000);
    }
    let second = tick();
    for (pid, _) in inodes {
        assert!(walked_at(&second, pid) > walked_at(&first, pid), "{pid}");
    }
    let third = tick();
    assert_eq!(walked_at(&third, 1), walked_at(&second, 1), "nothing happened");
    tree.remove(2);
    let after = tick();
    assert!(walked_at(&after, 1) > walked_at(&third, 1), "its sharer is gone");
    for pid in [3, 4] {
        assert_eq!(
            walked_at(&after, pid),
            walked_at(&third, pid),
            "{pid} has nothing to do with it"
        );
    }
}
