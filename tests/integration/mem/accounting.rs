//! The files that only the account reads.

use std::time::Duration;

use super::KB;
use crate::support::block_on;
use crate::support::tree::ProcTree;

use zmtop::model::Missing;
use zmtop::model::system::{
    AccountingInputs, HugePool, Ksm, Pressure, Sockets, SysvCreator, SysvShm, Zones, ZramDevice,
};
use zmtop::proc::accounting::{MemoryFs, memory_mounts as parse, sockets, sysv, zoneinfo};
use zmtop::sampler::{Needs, Options, Scanner};

/// Returns the inputs that a scan reads for the account.
fn inputs(options: &Options) -> AccountingInputs {
    let mut scanner = Scanner::new(options);
    scanner.set_needs(Needs::ACCOUNT);
    (*block_on(scanner.full()).accounting).clone()
}

const ZONEINFO: &str = "\
Node 0, zone      DMA
  per-node stats
      nr_inactive_anon 119194
  pages free     3840
        boost    0
        min      10
        spanned  4095
        present  3998
        managed  3840
        cma      0
  pagesets
    cpu: 0
              count:    5
              high:     0
    cpu: 1
              count:    6
Node 0, zone   Normal
        present  1000
        managed  900
  pagesets
    cpu: 0
              count:    100
";

#[test]
fn zones_are_summed() {
    let page = rustix::param::page_size() as u64;
    let expected = Zones {
        present: 4998 * page,
        managed: 4740 * page,
        free_lists: 111 * page,
    };
    assert_eq!(zoneinfo(ZONEINFO.as_bytes()), Ok(expected));
    for bad in [
        "",
        "present\n",
        "present x\n",
        "present 18446744073709551615\n",
        "managed 1\nmanaged -1\n",
    ] {
        assert_eq!(zoneinfo(bad.as_bytes()), Err(Missing::Malformed), "{bad}");
    }
}

#[test]
fn each_file_is_read() {
    let tree = ProcTree::new();
    tree.system("zoneinfo", ZONEINFO);
    tree.write("sys/block/zram0/disksize", "1073741824\n");
    tree.write("sys/block/zram0/bd_stat", "      10       20       30\n");
    for (size, total, free) in [("2048", 8, 3), ("1048576", 1, 0)] {
        tree.write(
            &format!("sys/kernel/mm/hugepages/hugepages-{size}kB/nr_hugepages"),
            format!("{total}\n"),
        );
        tree.write(
            &format!("sys/kernel/mm/hugepages/hugepages-{size}kB/free_hugepages"),
            format!("{free}\n"),
        );
    }
    tree.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    for (name, value) in [("run", 1), ("pages_shared", 3), ("pages_sharing", 40)] {
        tree.write(&format!("sys/kernel/mm/ksm/{name}"), format!("{value}\n"));
    }
    tree.write("sys/module/zswap/parameters/enabled", "Y\n");
    let found = inputs(&tree.options());
    let page = rustix::param::page_size() as u64;
    assert_eq!(found.zones.unwrap().managed, 4740 * page);
    let zram = ZramDevice {
        name: "zram0".into(),
        size: Ok(1 << 30),
        stored: 4_096_000,
        same_filled: Ok(0),
        limit: Ok(0),
        used: 1_228_800,
        on_disk: Ok(40 * KB),
    };
    assert_eq!(found.zram, Ok(vec![zram]));
    let pool = |page, total, free| HugePool { page, total, free };
    assert_eq!(
        found.huge,
        Ok(vec![pool(2 << 20, 16 << 20, 6 << 20), pool(1 << 30, 1 << 30, 0)])
    );
    assert_eq!(found.thp.as_deref(), Ok("madvise"));
    let ksm = Ksm {
        on: true,
        shared: 3 * page,
        saved: 40 * page,
    };
    assert_eq!((found.ksm, found.zswap_on), (Ok(ksm), Ok(true)));
    let pressure = Pressure {
        some: [1.5, 0.1, 0.0],
        full: [0.25, 0.0, 0.0],
    };
    assert_eq!(found.pressure, Ok(pressure));
}

#[test]
fn what_is_not_there_or_makes_no_sense_has_its_reason() {
    let tree = ProcTree::empty();
    let found = inputs(&tree.options());
    assert_eq!(found.zones, Err(Missing::Unsupported));
    assert_eq!(found.ksm, Err(Missing::Unsupported));
    assert_eq!(found.zram, Ok(vec![]));
    tree.write("sys/kernel/mm/transparent_hugepage/enabled", "always [] never\x1b\n");
    tree.write("sys/module/zswap/parameters/enabled", "maybe\n");
    tree.system(
        "pressure/memory",
        "some avg10=NaN avg60=0 avg300=0\nfull avg10=0 avg60=0 avg300=0\n",
    );
    tree.write(
        "sys/kernel/mm/hugepages/hugepages-4kB/nr_hugepages",
        "18446744073709551615\n",
    );
    let found = inputs(&tree.options());
    assert_eq!(found.thp, Err(Missing::Malformed));
    assert_eq!(found.zswap_on, Err(Missing::Malformed));
    assert_eq!(found.pressure, Err(Missing::Malformed));
    assert_eq!(found.huge, Err(Missing::Malformed));
}

#[test]
fn a_file_that_never_answers_costs_its_own_figures_only() {
    use rustix::fs::{CWD, Mode, mkfifoat};
    let tree = ProcTree::new();
    mkfifoat(CWD, tree.root().join("zoneinfo"), Mode::RUSR | Mode::WUSR).unwrap();
    let options = Options {
        deadline: Duration::from_secs(1),
        ..tree.options()
    };
    let found = inputs(&options);
    assert_eq!(found.zones, Err(Missing::TimedOut));
    assert!(found.pressure.is_ok());
}

#[test]
fn file_systems_in_memory_are_listed_once_with_their_places() {
    let mountinfo = b"24 27 0:6 / /dev rw - devtmpfs devtmpfs rw,size=8k\n\
        25 24 0:23 / /dev/shm rw shared:4 - tmpfs shm rw\n\
        26 24 0:23 /below /else\\040where\x1b[31m rw master:1 propagate_from:2 - tmpfs shm rw\n\
        30 25 0:27 / /dev/shm rw - tmpfs tmpfs rw\n\
        31 25 8:1 / / rw - ext4 /dev/sda1 rw\n\
        32 25 0:30 / /r rw - ramfs none rw\n\
        33 25 0 / /x rw - tmpfs none rw\n\
        34 25 0:99999999999 / /x rw - tmpfs none rw\n\
        cut 25 0:31 /";
    let fs = |minor: u32, kind: &str, points: &[&[u8]]| MemoryFs {
        device: rustix::fs::makedev(0, minor),
        kind: kind.into(),
        points: points.iter().map(|point| (*point).into()).collect(),
    };
    let expected = [
        fs(6, "devtmpfs", &[b"/dev"]),
        fs(23, "tmpfs", &[b"/dev/shm", b"/else where\x1b[31m"]),
        fs(27, "tmpfs", &[b"/dev/shm"]),
    ];
    assert_eq!(parse(mountinfo), expected);
    // As many as a hostile namespace likes.
    let line = |n: usize| format!("{n} 1 {}:{} / /m{n} rw - tmpfs t rw\n", n % 3000, n % 7);
    let many = (0..9000).map(line).collect::<String>();
    let found = parse(many.as_bytes());
    assert_eq!(found.len(), 1000);
    assert!(found.iter().all(|fs| (1..=32).contains(&fs.points.len())));
}

#[test]
fn the_creator_of_most_system_v_segments() {
    let titles = "key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap\n";
    let line = |cpid, cuid, rss: u64| format!("0 1 600 9 {cpid} 0 0 7 7 {cuid} 7 0 0 0 {rss} 0\n");
    let creator = |text: &str| sysv(text.as_bytes()).and_then(|sysv| sysv.creator);
    let text = [titles.to_owned(), line(10, 5, 900), line(20, 6, 500), line(30, 6, 600)].concat();
    let expected = SysvCreator {
        uid: 6,
        pid: 30,
        resident: 1100,
    };
    assert_eq!(creator(&text), Ok(expected));
    assert_eq!(creator(titles), Err(Missing::NotAsked));
    assert_eq!(creator(&(titles.to_owned() + &line(1, 2, 0))), Err(Missing::NotAsked));
    assert_eq!(creator("key rss swap\n"), Err(Missing::Unsupported));
    assert_eq!(creator(&(titles.to_owned() + "1 2\n")), Err(Missing::Malformed));
}

#[test]
fn sockets_and_system_v_segments() {
    let page = rustix::param::page_size() as u64;
    let text = b"sockets: used 52\nTCP: inuse 37 orphan 0 tw 0 alloc 38 mem 3\nUDP: inuse 0 mem 2\nUDPLITE: inuse 0\n\
        FRAG: inuse 1 memory 700\n";
    let expected = Sockets {
        tcp: 3 * page,
        udp: 2 * page,
        fragments: 700,
    };
    assert_eq!(sockets(text), Ok(expected));
    let text = String::from_utf8(text.to_vec()).unwrap();
    for (from, to) in [
        ("mem 3", "mem"),
        ("mem 3", "mem -3"),
        ("mem 2", "mem 18446744073709551615"),
        ("FRAG", "FROG"),
    ] {
        let bad = text.replace(from, to);
        assert_ne!(bad, text);
        assert_eq!(sockets(bad.as_bytes()), Err(Missing::Malformed), "{to}");
    }
    let titles = "       key      shmid perms                  size                   rss                  swap\n";
    let shm = format!("{titles}  1  2  600  4096  4096  0\n -3  4  3600  9000  8192  4096\n");
    let expected = SysvShm {
        segments: 2,
        resident: 12288,
        swapped: 4096,
        creator: Err(Missing::Unsupported),
        locked: Ok(8192),
    };
    assert_eq!(sysv(shm.as_bytes()), Ok(expected));
    let none = SysvShm {
        creator: Err(Missing::Unsupported),
        ..SysvShm::default()
    };
    assert_eq!(sysv(titles.as_bytes()), Ok(none));
    assert_eq!(sysv(b"key shmid\n1 2\n"), Err(Missing::Unsupported));
    for bad in ["", &format!("{titles} 1 2 600\n"), &format!("{titles}1 2 600 1 x 0\n")] {
        assert_eq!(sysv(bad.as_bytes()), Err(Missing::Malformed), "{bad}");
    }
}
