//! The files that only the account reads.

use std::time::{Duration, Instant};

use zmtop::model::Missing;
use zmtop::model::system::accounting::{HugePool, Ksm, Pressure, Zones, ZramDevice};
use zmtop::proc::system::accounting::zoneinfo;
use zmtop::sampler::{Options, accounting};

use super::KB;
use crate::support::tree::ProcTree;

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
    let found = accounting::read(&tree.options());
    let page = rustix::param::page_size() as u64;
    assert_eq!(found.zones.unwrap().managed, 4740 * page);
    let zram = ZramDevice {
        name: "zram0".into(),
        size: Ok(1 << 30),
        stored: 4_096_000,
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
    let found = accounting::read(&tree.options());
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
    let found = accounting::read(&tree.options());
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
        deadline: Duration::from_millis(300),
        ..tree.options()
    };
    let began = Instant::now();
    let found = accounting::read(&options);
    assert!(began.elapsed() < Duration::from_secs(10));
    assert_eq!(found.zones, Err(Missing::TimedOut));
    assert!(found.pressure.is_ok());
}
