//! The system as a whole, from a made tree.

use std::fs;

use zmtop::model::Missing;
use zmtop::model::system::{Pressure, Zram};
use zmtop::sampler::{Options, Scanner};

use crate::support::block_on;
use crate::support::tree::ProcTree;

#[test]
fn the_system_is_read() {
    let tree = ProcTree::new();
    let snapshot = block_on(Scanner::new(&tree.options()).full());
    let s = &snapshot.system;
    let page = rustix::param::page_size() as u64;
    assert_eq!(s.mem_total, Ok(24_649_920 * 1024));
    assert_eq!(s.swap_used(), Ok((3_145_728 - 2_097_152) * 1024));
    assert_eq!((s.zswap, s.zswapped), (Ok(1200 * 1024), Ok(4800 * 1024)));
    assert_eq!(
        (s.pswpin, s.pswpout, s.pgmajfault),
        (Ok(10 * page), Ok(20 * page), Ok(30))
    );
    let swaps = s.swaps.as_ref().unwrap();
    assert_eq!(
        (&*swaps[0].path, &*swaps[1].path),
        (&b"/dev/zram0"[..], &b"/swap file"[..])
    );
    let zram = Zram {
        name: "zram0".into(),
        stored: 4_096_000,
        compressed: 1_228_800,
        limit: None,
        is_swap: true,
    };
    assert_eq!(s.zram, [zram]);
    let psi = Pressure {
        some: [1.5],
        full: [0.25],
    };
    assert_eq!(s.psi, Ok(psi));
    assert_eq!((s.uptime, s.loadavg), (Ok(1_036_800.25), Ok([0.5, 0.25, 0.1])));
    assert_eq!(&*snapshot.host, b"db1");
    assert_eq!(snapshot.boot_id.as_deref(), Ok("0f1e2d3c-0000-4000-8000-000000000000"));
    assert_eq!(snapshot.processes.as_ref().map(Vec::len), Ok(0));
}

#[test]
fn a_missing_file_is_the_reason_of_its_own_fields() {
    let tree = ProcTree::new();
    for name in ["meminfo", "pressure/memory", "sys/kernel/random/boot_id"] {
        fs::remove_file(tree.root().join(name)).unwrap();
    }
    fs::remove_dir_all(tree.path("sys")).unwrap();
    tree.system("swaps", "nonsense\n");
    tree.process(7).write();
    let snapshot = block_on(Scanner::new(&tree.options()).full());
    let s = &snapshot.system;
    assert_eq!(
        (s.mem_total, s.swap_used()),
        (Err(Missing::Unsupported), Err(Missing::Unsupported))
    );
    assert_eq!(s.psi, Err(Missing::Unsupported));
    assert_eq!(s.swaps, Err(Missing::Malformed));
    assert_eq!(snapshot.boot_id, Err(Missing::Unsupported));
    assert!(s.zram.is_empty());
    assert!(s.pswpin.is_ok() && s.uptime.is_ok() && s.loadavg.is_ok());
    assert!(snapshot.rows()[0].walk.is_ok());
}

#[test]
fn a_machine_that_recovers_is_read_again() {
    let tree = ProcTree::new();
    fs::remove_file(tree.root().join("meminfo")).unwrap();
    let mut scanner = Scanner::new(&tree.options());
    assert_eq!(block_on(scanner.full()).system.mem_total, Err(Missing::Unsupported));
    tree.system("meminfo", "MemTotal: 5 kB\n");
    assert_eq!(block_on(scanner.full()).system.mem_total, Ok(5 * 1024));
}

#[test]
fn a_tree_that_is_not_there_is_a_reason() {
    let tree = ProcTree::empty();
    for root in ["nowhere", "proc/a-file"] {
        tree.write("proc/a-file", "");
        let options = Options {
            sys_root: None,
            ..Options::new(Some(&tree.path(root)))
        };
        let snapshot = block_on(Scanner::new(&options).full());
        assert_eq!(
            snapshot.processes.as_ref().map(Vec::len),
            Err(&Missing::Unsupported),
            "{root}"
        );
        assert_eq!(snapshot.system.mem_total, Err(Missing::Unsupported), "{root}");
    }
}

#[test]
fn names_that_are_no_pids_are_passed_over() {
    let tree = ProcTree::new();
    tree.process(7).write();
    for name in ["self", "12x", "99999999999", "-1", "007", "0"] {
        fs::create_dir_all(tree.root().join(name)).unwrap();
    }
    let snapshot = block_on(Scanner::new(&tree.options()).full());
    assert_eq!(super::pids(&snapshot), [7]);
}
