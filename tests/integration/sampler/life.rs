//! Processes come, change and go.

use std::fs;

use zmtop::model::{Identity, Missing};
use zmtop::sampler::Scanner;

use super::{pids, row};
use crate::support::block_on;
use crate::support::tree::ProcTree;

const KB: u64 = 1024;

#[test]
fn figures_follow_the_process() {
    let tree = ProcTree::new();
    tree.process(7).pss_kb(100).write();
    let mut scanner = Scanner::new(&tree.options());
    let first = block_on(scanner.full());
    tree.process(7).pss_kb(200).faults(300, 4).write();
    let second = block_on(scanner.full());
    let (a, b) = (row(&first, 7), row(&second, 7));
    assert_eq!((a.id, a.exec), (b.id, b.exec));
    assert_eq!((a.memory().unwrap().pss, b.memory().unwrap().pss), (100 * KB, 200 * KB));
    assert_eq!((b.stat.minflt, b.stat.majflt), (300, 4));
    assert!(b.walk.unwrap().at > a.walk.unwrap().at);
    assert_eq!((first.tick, second.tick), (1, 2));
    assert!(second.monotonic > first.monotonic);
}

#[test]
fn what_is_gone_is_not_listed() {
    let tree = ProcTree::new();
    tree.process(7).write();
    tree.process(8).write();
    let mut scanner = Scanner::new(&tree.options());
    assert_eq!(pids(&block_on(scanner.full())), [7, 8]);
    tree.remove(7);
    assert_eq!(pids(&block_on(scanner.full())), [8]);
    // Listed, but already without its files, as a process is that ends between the two.
    fs::create_dir(tree.file(9, "")).unwrap();
    assert_eq!(pids(&block_on(scanner.full())), [8]);
    tree.process(7).write();
    assert_eq!(pids(&block_on(scanner.full())), [7, 8]);
}

#[test]
fn threads_that_end_while_they_are_read_hide_no_figure() {
    let tree = ProcTree::new();
    let ended = || tree.process(7).uid(1000).pss_kb(300).state('Z').threads(3).space(0);
    ended().write();
    for name in ["smaps_rollup", "cmdline"] {
        fs::remove_file(tree.file(7, name)).unwrap();
    }
    let living = tree.process(7).uid(1000).pss_kb(300).threads(3).cmdline("chain\0");
    tree.system("7/task/7/stat", ended().stat());
    // This one ends after its `stat` was read.
    tree.system("7/task/101/stat", living.stat());
    living.write_at("7/task/102");
    let found = block_on(Scanner::new(&tree.options()).full());
    let row = row(&found, 7);
    assert_eq!(row.memory().unwrap().pss, 300 * KB);
    assert_eq!(
        (row.facts.uid, row.facts.cmdline.as_deref()),
        (Ok(1000), Ok(&b"chain\0"[..]))
    );
}

#[test]
fn a_reused_pid_is_another_row() {
    let tree = ProcTree::new();
    tree.process(7).starttime(100).comm("old").uid(1000).pss_kb(100).write();
    let mut scanner = Scanner::new(&tree.options());
    let first = block_on(scanner.full());
    // The same name: nothing but the start time tells.
    tree.process(7)
        .starttime(200)
        .comm("old")
        .uid(0)
        .cmdline("new\0")
        .pss_kb(900)
        .write();
    let second = block_on(scanner.full());
    assert_eq!(row(&first, 7).id, Identity { pid: 7, starttime: 100 });
    let new = row(&second, 7);
    assert_eq!(new.id, Identity { pid: 7, starttime: 200 });
    assert_eq!((new.exec, new.memory().unwrap().pss), (0, 900 * KB));
    assert_eq!((&*new.facts.comm, new.facts.uid), (&b"old"[..], Ok(0)));
    assert_eq!(new.facts.cmdline.as_deref(), Ok(&b"new\0"[..]));
}

#[test]
fn an_exec_is_counted_and_its_facts_read_again() {
    let tree = ProcTree::new();
    tree.process(7).comm("sh").cmdline("sh\0").image(0x1000).write();
    let mut scanner = Scanner::new(&tree.options());
    block_on(scanner.full());
    tree.process(7)
        .comm("cat")
        .cmdline("cat\0x\0")
        .cgroup("0::/a.service\n")
        .image(0x2000)
        .write();
    let snapshot = block_on(scanner.full());
    let r = row(&snapshot, 7);
    assert_eq!((r.exec, &*r.facts.comm), (1, &b"cat"[..]));
    assert_eq!(r.facts.cmdline.as_deref(), Ok(&b"cat\0x\0"[..]));
    assert_eq!(r.facts.unit.as_deref(), Some(&b"a.service"[..]));
    // Hidden and seen again is no exec; hidden and then another is.
    for (image, exec) in [(0, 1), (0x2000, 1), (0, 1), (0x3000, 2)] {
        tree.process(7).image(image).write();
        assert_eq!(row(&block_on(scanner.full()), 7).exec, exec, "{image}");
    }
}

#[test]
fn an_exec_is_counted_though_the_addresses_in_stat_are_hidden() {
    let tree = ProcTree::new();
    let process = tree.process(7).image(0).argv(0).comm("sh").pss_kb(100);
    process.clone().write();
    let mut scanner = Scanner::new(&tree.options());
    let shell = block_on(scanner.full());
    process.clone().pss_kb(300).write();
    let grown = block_on(scanner.full());
    assert_eq!(row(&grown, 7).exec, row(&shell, 7).exec);
    let other = process.comm("sh").cmdline("java\0").pss_kb(900);
    other.space_end(0x7ffe_1234_5000).write();
    block_on(scanner.full());
    let snapshot = block_on(scanner.full());
    let r = row(&snapshot, 7);
    assert_eq!((r.id, r.exec), (row(&shell, 7).id, row(&shell, 7).exec + 1));
    assert_eq!(r.memory().unwrap().pss, 900 * KB);
    assert_eq!(r.facts.cmdline.as_deref(), Ok(&b"java\0"[..]));
}

#[test]
fn a_new_title_is_no_exec() {
    let tree = ProcTree::new();
    tree.process(7).comm("w").cmdline("w: idle\0").write();
    let mut scanner = Scanner::new(&tree.options());
    block_on(scanner.full());
    // By its name, and by where its arguments lie.
    tree.process(7).comm("v").cmdline("w: busy\0").write();
    let snapshot = block_on(scanner.full());
    assert_eq!(row(&snapshot, 7).facts.cmdline.as_deref(), Ok(&b"w: busy\0"[..]));
    tree.process(7).comm("v").argv(0x1234).cmdline("w: done\0").write();
    let snapshot = block_on(scanner.full());
    let r = row(&snapshot, 7);
    assert_eq!((r.exec, &*r.facts.comm), (0, &b"v"[..]));
    assert_eq!(r.facts.cmdline.as_deref(), Ok(&b"w: done\0"[..]));
}

#[test]
fn a_process_that_dies_keeps_what_it_was_called() {
    let tree = ProcTree::new();
    tree.process(7).cmdline("job\0").write();
    let mut scanner = Scanner::new(&tree.options());
    block_on(scanner.full());
    tree.process(7).state('Z').image(0).argv(0).cmdline("").write();
    let snapshot = block_on(scanner.full());
    let r = row(&snapshot, 7);
    assert_eq!((r.walk, r.exec), (Err(Missing::Zombie), 0));
    assert_eq!(r.facts.cmdline.as_deref(), Ok(&b"job\0"[..]));
}
