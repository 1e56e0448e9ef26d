//! The contents of a row, and the reasons where there are none.

use std::fs;
use std::sync::Arc;

use zmtop::group::Coverage;
use zmtop::model::{Identity, Missing, Reading, Snapshot};
use zmtop::sampler::{Needs, Scanner};

use super::{pids, row};
use crate::support::block_on;
use crate::support::tree::ProcTree;

const KB: u64 = 1024;
const OOM_SCORE: Needs = Needs::OOM_SCORE;

fn text<T: AsRef<[u8]>>(fact: &Reading<T>) -> &[u8] {
    fact.as_ref().unwrap().as_ref()
}

#[test]
fn a_row_holds_what_the_files_say() {
    let tree = ProcTree::new();
    tree.process(70)
        .comm("postgres")
        .cmdline("postgres: writer\0\0\0")
        .cgroup("0::/system.slice/docker-0123456789abcdef.scope\n")
        .uid(1000)
        .ppid(7)
        .threads(3)
        .faults(11, 22)
        .starttime(555)
        .pss_kb(2000)
        .rss_kb(6000)
        .uss_kb(500)
        .swap_kb(64)
        .oom_score(800)
        .write();
    tree.process(7).comm("init").uid(4_294_967_294).write();
    let mut scanner = Scanner::new(&tree.options());
    scanner.set_needs(OOM_SCORE);
    let snapshot = block_on(scanner.full());
    assert_eq!(pids(&snapshot), [7, 70]);

    let r = row(&snapshot, 70);
    assert_eq!(
        r.id,
        Identity {
            pid: 70,
            starttime: 555
        }
    );
    assert_eq!(
        (r.exec, r.stat.ppid, r.stat.threads, r.stat.minflt, r.stat.majflt),
        (0, 7, 3, 11, 22)
    );
    assert_eq!((r.stat.state, r.stat.cpu_ticks, r.stat.rss), (b'S', 150, 6000 * KB));
    let m = r.memory().unwrap();
    assert_eq!(
        (m.pss, m.rss, m.uss(), m.shared(), m.swap),
        (2000 * KB, 6000 * KB, 500 * KB, 5500 * KB, 64 * KB)
    );
    assert_eq!(
        (m.pss_anon, m.pss_file, m.pss_shmem, m.swap_pss),
        (Ok(500 * KB), Ok(1500 * KB), Ok(0), Ok(64 * KB))
    );
    let walk = r.walk.unwrap();
    assert!(walk.at <= snapshot.monotonic);
    assert_eq!(&*r.facts.comm, b"postgres");
    assert_eq!(text(&r.facts.cmdline), b"postgres: writer\0\0\0");
    assert_eq!(&*r.facts.command(), b"postgres: writer");
    assert_eq!((r.facts.uid, text(&r.facts.user)), (Ok(1000), &b"alice"[..]));
    assert_eq!(text(&r.facts.cgroup), b"/system.slice/docker-0123456789abcdef.scope");
    assert_eq!(r.facts.unit.as_deref(), Some(&b"docker-0123456789abcdef.scope"[..]));
    assert_eq!(r.facts.container_id(), Some(&b"0123456789abcdef"[..]));
    // No engine has files in this tree.
    assert_eq!(
        r.facts.container.as_deref().map(zmtop::model::Container::name),
        Some(&b"0123456789ab"[..])
    );
    assert_eq!(r.oom_score, Ok(800));
    // A user without a name is shown by number.
    assert_eq!(text(&row(&snapshot, 7).facts.user), b"4294967294");
    assert_eq!((snapshot.sampling.walks, snapshot.sampling.stuck), (2, 0));
    let coverage = Coverage::of(&snapshot);
    assert_eq!((coverage.readable, coverage.total()), (2, 2));
}

#[test]
fn processes_that_tell_the_same_share_their_facts() {
    let tree = ProcTree::new();
    for (pid, line) in [(1, "worker\0"), (2, "worker\0"), (3, "master\0"), (4, "worker\0")] {
        tree.process(pid).comm("worker").cmdline(line).write();
    }
    let facts = |snapshot: &Snapshot, pid| Arc::clone(&row(snapshot, pid).facts);
    let are_shared = |snapshot: &Snapshot| {
        let worker = facts(snapshot, 1);
        [2, 4].iter().all(|pid| Arc::ptr_eq(&worker, &facts(snapshot, *pid)))
    };
    // By chance those of the master take the one place that the workers' have, one time in 64: not five times.
    let mut scans = (0..5).map(|_| {
        let mut scanner = Scanner::new(&tree.options());
        let first = block_on(scanner.full());
        (scanner, first)
    });
    let (mut scanner, first) = scans.find(|(_, first)| are_shared(first)).unwrap();
    assert_eq!(facts(&first, 3).cmdline.as_deref(), Ok(&b"master\0"[..]));
    // What changes at one changes at that one alone.
    tree.process(2).comm("renamed").cmdline("worker\0").write();
    let second = block_on(scanner.full());
    let names = [1, 2, 4].map(|pid| facts(&second, pid).comm.to_vec());
    assert_eq!(names, [&b"worker"[..], b"renamed", b"worker"]);
}

#[test]
fn oom_score_is_read_only_when_asked_for() {
    let tree = ProcTree::new();
    tree.process(7).write();
    let mut scanner = Scanner::new(&tree.options());
    assert_eq!(row(&block_on(scanner.full()), 7).oom_score, Err(Missing::Pending));
    scanner.set_needs(OOM_SCORE);
    assert_eq!(row(&block_on(scanner.full()), 7).oom_score, Ok(667));
    fs::remove_file(tree.file(7, "oom_score")).unwrap();
    assert_eq!(row(&block_on(scanner.full()), 7).oom_score, Err(Missing::Unsupported));
}

#[test]
fn the_peak_is_read_only_when_asked_for() {
    let tree = ProcTree::new();
    tree.process(7).write();
    tree.process(8).kernel_thread().write();
    let status = fs::read_to_string(tree.file(7, "status")).unwrap();
    fs::write(tree.file(7, "status"), format!("VmHWM:\t    5000 kB\n{status}")).unwrap();
    let mut scanner = Scanner::new(&tree.options());
    assert_eq!(row(&block_on(scanner.full()), 7).peak, Err(Missing::Pending));
    scanner.set_needs(Needs::PEAK);
    let snapshot = block_on(scanner.full());
    assert_eq!(row(&snapshot, 7).peak, Ok(5000 * KB));
    assert_eq!(row(&snapshot, 8).peak, Err(Missing::KernelThread));
    // It is read again once its counters change.
    for (faults, starttime, kb) in [(1, 100, 6000), (1, 100, 6000), (2, 100, 7000), (2, 101, 8000)] {
        let process = tree.process(7).faults(faults, 0).starttime(starttime);
        fs::write(tree.file(7, "stat"), process.stat()).unwrap();
        fs::write(tree.file(7, "status"), format!("VmHWM:\t    {kb} kB\n{status}")).unwrap();
        assert_eq!(
            row(&block_on(scanner.full()), 7).peak,
            Ok(kb * KB),
            "{faults} {starttime}"
        );
    }
    fs::write(tree.file(7, "status"), format!("VmHWM:\t    9000 kB\n{status}")).unwrap();
    assert_eq!(row(&block_on(scanner.full()), 7).peak, Ok(8000 * KB));
}

#[test]
fn page_tables_are_read_when_asked_for_or_while_the_machine_has_many() {
    let (none, many, all) = (Needs::NOTHING, Needs::MANY_PAGE_TABLES, Needs::PAGE_TABLES);
    let pending = Err(Missing::Pending);
    let read = [Ok(61_000 * KB), Ok(40 * KB)];
    let large = [read[0], pending];
    // Of 1000 MB: what is needed, the machine's page tables in kB, and what is known of a large and a small process.
    let steps = [
        (none, 9_990, [pending; 2]),
        (all, 9_990, read),
        (none, 9_990, [pending; 2]),
        (many, 0, large),
        (none, 0, [pending; 2]),
        (none, 10_000, large),
        (all, 10_000, read),
        (none, 10_000, large),
        // Not off and on by each small change.
        (none, 6_000, large),
        (none, 4_000, [pending; 2]),
        (none, 6_000, [pending; 2]),
        (all, 6_000, read),
        (none, 6_000, [pending; 2]),
    ];
    let tree = ProcTree::new();
    for (pid, kb, space) in [(7, 61_000, 1 << 40), (8, 40, 511 << 20)] {
        tree.process(pid).space(space).write();
        let status = fs::read_to_string(tree.file(pid, "status")).unwrap();
        fs::write(tree.file(pid, "status"), format!("VmPTE:\t{kb:>8} kB\n{status}")).unwrap();
    }
    tree.process(9).kernel_thread().space(1 << 40).write();
    let mut scanner = Scanner::new(&tree.options());
    for (step, (needs, kb, expected)) in steps.into_iter().enumerate() {
        tree.system("meminfo", format!("MemTotal: 1000000 kB\nPageTables: {kb} kB\n"));
        scanner.set_needs(needs);
        // The figures of the machine may come after those of its processes.
        block_on(scanner.full());
        let snapshot = block_on(scanner.full());
        let found = [7, 8].map(|pid| row(&snapshot, pid).page_tables);
        assert_eq!(found, expected, "step {step}");
        let of_kernel = row(&snapshot, 9).page_tables;
        let expected = if needs == all {
            Err(Missing::KernelThread)
        } else {
            pending
        };
        assert_eq!(of_kernel, expected, "step {step}");
    }
    // While there are many, faults that may have added many are followed, and few are not.
    tree.system("meminfo", "MemTotal: 1000000 kB\nPageTables: 60000 kB\n");
    for (faults, kb, expected) in [(1, 61_000, 61_000), (2000, 69_000, 61_000), (4000, 77_000, 77_000)] {
        fs::write(
            tree.file(7, "stat"),
            tree.process(7).space(1 << 40).faults(faults, 0).stat(),
        )
        .unwrap();
        fs::write(tree.file(7, "status"), format!("VmPTE: {kb} kB\n")).unwrap();
        block_on(scanner.full());
        let found = row(&block_on(scanner.full()), 7).page_tables;
        assert_eq!(found, Ok(expected * KB), "{faults}");
    }
}

#[test]
fn without_a_rollup_smaps_is_summed() {
    let tree = ProcTree::new();
    let process = tree.process(7).pss_kb(300).swap_kb(8);
    process.write();
    let mut scanner = Scanner::new(&tree.options());
    let rolled = *row(&block_on(scanner.full()), 7).memory().unwrap();
    fs::remove_file(tree.file(7, "smaps_rollup")).unwrap();
    // Neither: this tree does not offer it.
    assert_eq!(
        row(&block_on(scanner.full()), 7).walk.unwrap_err(),
        Missing::Unsupported
    );
    fs::write(tree.file(7, "smaps"), process.smaps()).unwrap();
    let summed = *row(&block_on(scanner.full()), 7).memory().unwrap();
    assert_eq!(
        (summed.rss, summed.pss, summed.uss(), summed.swap),
        (rolled.rss, rolled.pss, rolled.uss(), rolled.swap)
    );
    assert_eq!(summed.pss_anon, Err(Missing::Unsupported));
}

#[test]
fn what_has_no_memory_says_why() {
    let tree = ProcTree::new();
    tree.process(2).kernel_thread().comm("kthreadd").write();
    tree.process(3).state('Z').cmdline("").write();
    tree.process(4).write();
    fs::write(tree.file(4, "smaps_rollup"), "").unwrap();
    let snapshot = block_on(Scanner::new(&tree.options()).full());
    assert_eq!(row(&snapshot, 2).walk, Err(Missing::KernelThread));
    assert_eq!(row(&snapshot, 3).walk, Err(Missing::Zombie));
    assert_eq!(row(&snapshot, 4).walk, Err(Missing::Gone));
    assert_eq!(&*row(&snapshot, 2).facts.command(), b"[kthreadd]");
    let coverage = Coverage::of(&snapshot);
    assert_eq!((coverage.readable, coverage.total()), (0, 0));
}

#[test]
fn a_fault_is_the_reason_of_its_own_figures() {
    let tree = ProcTree::new();
    for pid in 1..=7 {
        tree.process(pid).write();
    }
    fs::write(tree.file(1, "smaps_rollup"), "Rss: 5 kB\n").unwrap();
    // A directory cannot be read, even by root.
    let directory = |pid, name| {
        fs::remove_file(tree.file(pid, name)).unwrap();
        fs::create_dir(tree.file(pid, name)).unwrap();
    };
    directory(2, "smaps_rollup");
    directory(3, "cmdline");
    fs::write(tree.file(4, "status"), "Name:\tx\n").unwrap();
    fs::remove_file(tree.file(5, "cgroup")).unwrap();
    fs::write(tree.file(6, "stat"), "6 (x S 1").unwrap();
    directory(7, "stat");
    let snapshot = block_on(Scanner::new(&tree.options()).full());
    let eisdir = Missing::Errno(rustix::io::Errno::ISDIR.raw_os_error());

    assert_eq!(row(&snapshot, 1).walk, Err(Missing::Malformed));
    assert_eq!(row(&snapshot, 2).walk, Err(eisdir));
    assert!(row(&snapshot, 3).walk.is_ok());
    assert_eq!(row(&snapshot, 3).facts.cmdline, Err(eisdir));
    assert_eq!(row(&snapshot, 3).facts.uid, Ok(0));
    assert_eq!(row(&snapshot, 4).facts.uid, Err(Missing::Malformed));
    assert_eq!(row(&snapshot, 4).facts.user, Err(Missing::Malformed));
    assert!(row(&snapshot, 4).facts.cgroup.is_ok());
    assert_eq!(row(&snapshot, 5).facts.cgroup, Err(Missing::Unsupported));
    // Listed, but not to be glanced at: nothing is known of them but why.
    for (pid, why) in [(6, Missing::Malformed), (7, eisdir)] {
        let r = row(&snapshot, pid);
        assert_eq!((r.id.starttime, r.walk), (0, Err(why)));
        assert_eq!((r.facts.uid, r.oom_score), (Err(why), Err(why)));
    }
    let coverage = Coverage::of(&snapshot);
    assert_eq!((coverage.readable, coverage.total()), (3, 7));
}

#[test]
fn hostile_names_pass_raw() {
    let names: [&[u8]; 4] = [
        b"a\nb) R 1 (x",
        b"\x1b]52;c;aGk=\x07",
        b"\xff\xfe\x80",
        b"\xe2\x80\xaeevil",
    ];
    let tree = ProcTree::new();
    for (pid, name) in (1..).zip(names) {
        let cgroup = [b"0::/", name, b"/x.service\n"].concat();
        let one_line = cgroup
            .iter()
            .map(|b| if *b == b'\n' { b'_' } else { *b })
            .collect::<Vec<_>>();
        tree.process(pid)
            .comm(name)
            .cmdline(name)
            .cgroup([&one_line[..one_line.len() - 1], b"\n"].concat())
            .write();
    }
    tree.write("etc/passwd", b"\x1b[2Jroot\xff:x:0:0:::\n");
    let snapshot = block_on(Scanner::new(&tree.options()).full());
    for (pid, name) in (1..).zip(names) {
        let r = row(&snapshot, pid);
        assert_eq!((&*r.facts.comm, text(&r.facts.cmdline)), (name, name));
        assert_eq!(text(&r.facts.user), b"\x1b[2Jroot\xff");
        let owner = name.iter().map(|b| if *b == b'\n' { b'_' } else { *b });
        let unit: Vec<u8> = owner.chain(*b"/x.service").collect();
        assert_eq!(r.facts.unit.as_deref(), Some(&unit[..]));
        assert_eq!((r.stat.state, r.stat.ppid), (b'S', 1));
        assert!(r.walk.is_ok());
    }
}

#[test]
fn a_huge_command_line_is_cut() {
    let tree = ProcTree::new();
    tree.process(7).cmdline(vec![b'x'; 1 << 20]).write();
    let snapshot = block_on(Scanner::new(&tree.options()).full());
    assert_eq!(text(&row(&snapshot, 7).facts.cmdline).len(), 4 << 10);
}
