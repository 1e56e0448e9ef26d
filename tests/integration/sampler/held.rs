//! Memory held through descriptors, on a made tree.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use zmtop::group::Totals;
use zmtop::model::{HeldKind, HeldObject, Missing, ProcessSample, Snapshot};
use zmtop::sampler::{Needs, Options, Scanner};

use super::row;
use crate::support::block_on;
use crate::support::tree::ProcTree;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// Gives a process a descriptor.
pub(crate) fn open(tree: &ProcTree, pid: u32, fd: u32, link: &str, fdinfo: &str) {
    for directory in ["fd", "fdinfo"] {
        std::fs::create_dir_all(tree.file(pid, directory)).unwrap();
    }
    symlink(link, tree.file(pid, &format!("fd/{fd}"))).unwrap();
    std::fs::write(tree.file(pid, &format!("fdinfo/{fd}")), fdinfo).unwrap();
}

fn drm(client: u32, ram: &str, vram: &str) -> String {
    format!(
        "drm-driver:\txe\ndrm-client-id:\t{client}\ndrm-pdev:\t0000:03:00.0\ndrm-resident-gtt:\t{ram}\n\
         drm-resident-vram0:\t{vram}\n"
    )
}

fn dma_buf(inode: u64, exporter: &str, bytes: u64) -> String {
    format!("ino:\t{inode}\nsize:\t{bytes}\ncount:\t2\nexp_name:\t{exporter}\nname:\ta\x1b[31m\n")
}

fn map(id: u32, bytes: u64) -> String {
    format!("map_type:\t1\nmemlock:\t{bytes}\nmap_id:\t{id}\n")
}

fn scanner(options: &Options) -> Scanner {
    let mut scanner = Scanner::new(options);
    scanner.set_needs(Needs::HELD);
    scanner
}

fn of(sample: &ProcessSample, kind: HeldKind) -> u64 {
    sample.held().unwrap().figures.of(kind)
}

fn objects(sample: &ProcessSample) -> Vec<&HeldObject> {
    sample.held().unwrap().objects.iter().collect()
}

/// Three processes that share what they hold, and one that holds nothing.
pub(crate) fn sharers() -> ProcTree {
    let tree = ProcTree::new();
    for pid in 2..=6 {
        tree.process(pid).write();
        open(&tree, pid, 1, "/dev/null", "pos:\t0\n");
    }
    // One client by two descriptors of the one, and by another; the number means another client on another device.
    open(&tree, 2, 3, "/dev/dri/renderD128", &drm(7, "8 MiB", "64 MiB"));
    open(&tree, 2, 4, "/dev/dri/renderD128", &drm(7, "8 MiB", "64 MiB"));
    open(&tree, 3, 9, "/dev/dri/card0", &drm(7, "8 MiB", "64 MiB"));
    open(
        &tree,
        4,
        9,
        "/dev/dri/card1",
        &drm(7, "1 MiB", "0").replace("03:00", "04:00"),
    );
    // The dma-bufs of a driver are among the buffers of its clients.
    open(&tree, 2, 5, "/dmabuf:", &dma_buf(70, "drm", 4 * MIB));
    open(&tree, 2, 6, "/dmabuf:", &dma_buf(71, "system", 2 * MIB));
    open(&tree, 5, 6, "/dmabuf:", &dma_buf(70, "drm", 4 * MIB));
    for (pid, fd) in [(2, 10), (3, 11), (4, 12), (4, 13)] {
        open(&tree, pid, fd, "anon_inode:bpf-map", &map(25, 3 * MIB));
    }
    open(&tree, 4, 0, "anon_inode:bpf-prog", "memlock:\t4096\nprog_id:\t25\n");
    tree.process(7).kernel_thread().write();
    tree
}

#[test]
fn what_several_hold_is_divided_and_counts_once_in_a_sum() {
    let tree = sharers();
    let snapshot = block_on(scanner(&tree.options()).full());
    let figures = |pid| HeldKind::ALL.map(|kind| of(row(&snapshot, pid), kind));
    assert_eq!(figures(2), [4 * MIB, 2 * MIB, MIB, 0, 0]);
    assert_eq!(figures(3), [4 * MIB, 0, MIB, 0, 0]);
    assert_eq!(figures(4), [MIB, 0, MIB + 4 * KIB, 0, 0]);
    assert_eq!(figures(5), [0, 4 * MIB, 0, 0, 0]);
    assert_eq!(figures(6), [0; 5]);
    assert_eq!(row(&snapshot, 2).held().unwrap().figures.vram, 32 * MIB);
    assert_eq!(row(&snapshot, 7).held(), Err(Missing::KernelThread));
    let client = objects(row(&snapshot, 2))[0];
    assert_eq!(
        (&*client.name, client.bytes),
        (&b"xe 0000:03:00.0 client 7"[..], Ok(8 * MIB))
    );
    assert_eq!((client.holders, client.fds), (2, 2));
    let sum = Totals::of(snapshot.rows(), |_| None).held.unwrap();
    assert_eq!(
        HeldKind::ALL.map(|kind| sum.of(kind)),
        [9 * MIB, 6 * MIB, 3 * MIB + 4 * KIB, 0, 0]
    );
    assert_eq!((sum.vram, sum.total()), (64 * MIB, 18 * MIB + 4 * KIB));
}

#[test]
fn nothing_is_read_unless_it_is_asked_for() {
    let tree = sharers();
    let mut scanner = Scanner::new(&tree.options());
    let snapshot = block_on(scanner.full());
    assert!(snapshot.rows().iter().all(|row| row.held.is_none()));
    assert_eq!(row(&snapshot, 2).held(), Err(Missing::Pending));
    scanner.set_needs(Needs::HELD);
    let snapshot = block_on(scanner.full());
    assert_eq!(of(row(&snapshot, 2), HeldKind::Bpf), MIB);
    scanner.set_needs(Needs::NOTHING);
    let snapshot = block_on(scanner.full());
    assert!(snapshot.rows().iter().all(|row| row.held.is_none()));
}

/// Ticks until something is true of a snapshot, or five seconds have passed.
fn tick_until(scanner: &mut Scanner, is_it: impl Fn(&Snapshot) -> bool) -> Snapshot {
    let began = Instant::now();
    block_on(async {
        loop {
            let last = scanner.tick().await;
            if is_it(&last) || began.elapsed() > Duration::from_secs(5) {
                return (*last).clone();
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
}

#[test]
fn what_grows_and_what_a_holder_leaves_is_seen() {
    let tree = sharers();
    let mut scanner = scanner(&tree.options());
    block_on(scanner.full());
    // No descriptor changed.
    std::fs::write(tree.file(5, "fdinfo/6"), dma_buf(70, "drm", 40 * MIB)).unwrap();
    let snapshot = tick_until(&mut scanner, |s| of(row(s, 5), HeldKind::DmaBuf) == 40 * MIB);
    assert_eq!(of(row(&snapshot, 5), HeldKind::DmaBuf), 40 * MIB);
    // One holder less: the others have more of it.
    tree.remove(3);
    let snapshot = tick_until(&mut scanner, |s| of(row(s, 2), HeldKind::Gpu) == 8 * MIB);
    assert_eq!(of(row(&snapshot, 2), HeldKind::Gpu), 8 * MIB);
    assert_eq!(of(row(&snapshot, 4), HeldKind::Bpf), 3 * MIB / 2 + 4 * KIB);
    // A zombie has closed all, and another program may have closed some.
    tree.process(4).state('Z').write();
    std::fs::remove_file(tree.file(2, "fd/10")).unwrap();
    tree.process(2).image(0x7777_0000_0000).write();
    let snapshot = tick_until(&mut scanner, |s| {
        row(s, 2).held().is_ok_and(|held| held.objects.len() == 2)
    });
    assert_eq!(row(&snapshot, 4).held(), Err(Missing::Zombie));
    assert_eq!(of(row(&snapshot, 2), HeldKind::Bpf), 0);
    let changed = snapshot.changes.as_ref().is_none_or(|changes| !changes.rows.is_empty());
    assert!(changed, "the rows that show it are among those that changed");
}

#[test]
fn a_read_that_hangs_is_reported_and_holds_up_nobody() {
    let tree = sharers();
    std::fs::remove_file(tree.file(3, "fdinfo/11")).unwrap();
    tree.fifo(3, "fdinfo/11");
    let mut scanner = scanner(&tree.options());
    let snapshot = tick_until(&mut scanner, |s| row(s, 3).held() == Err(Missing::TimedOut));
    assert_eq!(row(&snapshot, 3).held(), Err(Missing::TimedOut));
    // It is not known that it holds any of it.
    assert_eq!(of(row(&snapshot, 2), HeldKind::Gpu), 8 * MIB);
    assert!(row(&snapshot, 3).memory().is_ok());
    assert!(tree.feed(3, "fdinfo/11", map(25, 3 * MIB)));
    let snapshot = tick_until(&mut scanner, |s| row(s, 3).held().is_ok());
    assert_eq!(of(row(&snapshot, 3), HeldKind::Bpf), MIB);
}

#[test]
fn what_could_not_be_read_is_unknown() {
    let tree = ProcTree::new();
    for pid in 2..=4 {
        tree.process(pid).write();
    }
    // No descriptors at all; one with an invalid size; one of a ring whose buffers cannot be compared with the mappings.
    open(
        &tree,
        3,
        3,
        "anon_inode:bpf-map",
        "map_type:\t1\nmemlock:\t99999999999999999999\nmap_id:\t3\n",
    );
    open(&tree, 3, 4, "anon_inode:bpf-map", &map(4, 5 * KIB));
    open(
        &tree,
        4,
        5,
        "anon_inode:[io_uring]",
        "ino:\t9\nUserBufs:\t1\n    0: 0x1000/8192\n",
    );
    let snapshot = block_on(scanner(&tree.options()).full());
    assert_eq!(row(&snapshot, 2).held(), Err(Missing::Unsupported));
    assert_eq!(of(row(&snapshot, 3), HeldKind::Bpf), 5 * KIB);
    let [known, unknown] = objects(row(&snapshot, 3))[..] else {
        panic!()
    };
    assert_eq!((known.bytes, unknown.bytes), (Ok(5 * KIB), Err(Missing::Malformed)));
    assert_eq!(objects(row(&snapshot, 4))[0].bytes, Err(Missing::Gone));
    // Half of it is mapped, and so in its PSS.
    std::fs::write(tree.file(4, "maps"), "2000-9000 rw-p 00000000 00:00 0\n").unwrap();
    let snapshot = block_on(scanner(&tree.options()).full());
    assert_eq!(of(row(&snapshot, 4), HeldKind::Uring), 4 * KIB);
}

#[test]
fn thousands_of_descriptors_are_read_and_the_largest_objects_listed() {
    let tree = ProcTree::new();
    tree.process(2).write();
    for fd in 0..3000 {
        if fd % 3 == 0 {
            open(&tree, 2, fd, "anon_inode:bpf-map", &map(fd, u64::from(fd) * KIB));
        } else {
            open(&tree, 2, fd, "socket:[5]", "");
        }
    }
    let snapshot = block_on(scanner(&tree.options()).full());
    let held = row(&snapshot, 2).held().unwrap();
    assert_eq!(held.figures.total(), (0..3000).step_by(3).sum::<u64>() * KIB);
    // The object of 0 bytes does not count.
    assert_eq!((held.objects.len(), held.unlisted), (100, 899));
    assert_eq!(held.objects[0].bytes, Ok(2997 * KIB));
}

#[test]
fn the_command_lists_them_with_names_made_safe() {
    let tree = sharers();
    let (exit, out, err) = tree.zmtop("held 2 --units k");
    assert_eq!((exit, &*err), (Some(0), ""));
    insta::assert_snapshot!("held", out);
    assert!(!out.contains('\x1b'));
    let (exit, out, err) = tree.zmtop("held 2 7 99 --format json");
    assert_eq!(exit, Some(3));
    assert!(
        err.contains("7 is a kernel thread") && err.contains("99: no such process"),
        "{err}"
    );
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    let first = &json["processes"][0];
    assert_eq!(
        (&json["schema"], &first["totals"]["held"]),
        (&"zmtop-held/1".into(), &(7 * MIB).into())
    );
    assert_eq!(first["objects"][0]["holders"], 2);
    assert_eq!(json["processes"][2]["unread"], "process ended");
    let (_, out, _) = tree.zmtop("held 2 3 --format csv --columns kind,share,name --top 1");
    assert_eq!(
        out,
        "pid,kind,share,name\r\n2,gpu,4194304,xe 0000:03:00.0 client 7\r\n3,gpu,4194304,xe 0000:03:00.0 client 7\r\n"
    );
}

#[test]
fn the_columns_filter_sort_and_sum() {
    let tree = sharers();
    let (exit, out, err) = tree.zmtop("ps --columns pid,held,gpu,vram,bpf --units k held>1M");
    assert_eq!((exit, &*err), (Some(0), ""));
    insta::assert_snapshot!("ps", out);
    let (_, out, _) = tree.zmtop("ps --format csv --columns pid,dmabuf --sort dmabuf");
    assert!(out.starts_with("pid,dmabuf\r\n5,4194304\r\n2,2097152\r\n"), "{out}");
    let (_, out, _) = tree.zmtop("ps --by user --format csv --columns user,held");
    assert_eq!(out, format!("user,held\r\nroot,{}\r\n", 18 * MIB + 4 * KIB));
}
