//! Where the RAM and the swap went.

use std::fmt::Write;

use proptest::prelude::*;
use zmtop::account;
use zmtop::account::{Account, ProcessTotals, overview, swap};
use zmtop::model::system::accounting::{HugePool, Zones, ZramDevice};
use zmtop::model::system::{AccountingInputs, SwapArea};
use zmtop::model::{Missing, Reading};

use super::{KB, meminfo, userland};

/// A made machine: every figure has a place of its own in the sum.
const MEMINFO: &str = "\
MemTotal:       1000000 kB
MemFree:         400000 kB
MemAvailable:    600000 kB
Buffers:          10000 kB
Cached:          150000 kB
SwapCached:        5000 kB
Active(anon):    100000 kB
Inactive(anon):   83000 kB
Active(file):    100000 kB
Inactive(file):   50000 kB
Unevictable:      10000 kB
SwapTotal:       500000 kB
SwapFree:        400000 kB
Zswap:             2000 kB
Zswapped:          6000 kB
AnonPages:       180000 kB
Mapped:           40000 kB
Shmem:            30000 kB
KReclaimable:     22000 kB
Slab:             50000 kB
SReclaimable:     20000 kB
SUnreclaim:       30000 kB
KernelStack:       4000 kB
PageTables:        6000 kB
SecPageTables:     1000 kB
Bounce:               0 kB
WritebackTmp:         0 kB
VmallocUsed:       9000 kB
VmallocChunk:         0 kB
Percpu:            3000 kB
AnonHugePages:    50000 kB
HugePages_Total:      20
HugePages_Free:        5
Hugepagesize:      2048 kB
Hugetlb:          40960 kB
";

fn inputs() -> AccountingInputs {
    AccountingInputs {
        zones: Ok(Zones {
            present: 1_030_000 * KB,
            managed: 1_000_000 * KB,
            free_lists: 7000 * KB,
        }),
        zram: Ok(vec![ZramDevice {
            name: "zram0".into(),
            size: Ok(100_000 * KB),
            stored: 30_000 * KB,
            used: 10_000 * KB,
            on_disk: Ok(0),
        }]),
        huge: Ok(vec![HugePool {
            page: 2048 * KB,
            total: 40960 * KB,
            free: 10240 * KB,
        }]),
        ..AccountingInputs::missing(Missing::Unsupported)
    }
}

fn part(account: &Account, id: &str) -> Reading<u64> {
    let inner = account.parts.iter().flat_map(|p| &p.within);
    account
        .parts
        .iter()
        .chain(inner)
        .find(|p| p.id == id)
        .unwrap()
        .bytes
        .map(|n| n / KB)
}

#[test]
fn every_page_is_in_one_part() {
    let account = account::account(&meminfo(MEMINFO.as_bytes()), &inputs(), &userland(15_000 * KB, 0));
    let expected = [
        ("anon", 180_000),
        // On the lists of reclaim 343,000: less anonymous 180,000, cached 150,000 and buffers 10,000.
        ("swap_cache", 3000),
        ("files", 120_000),
        ("shmem", 30_000),
        ("buffers", 10_000),
        ("slab_reclaimable", 20_000),
        ("slab_unreclaimable", 30_000),
        ("kernel_reclaimable", 2000),
        ("kernel_stacks", 4000),
        ("page_tables", 6000),
        ("sec_page_tables", 1000),
        ("percpu", 3000),
        ("vmalloc", 5000),
        ("bounce", 0),
        ("writeback_tmp", 0),
        ("hugetlb", 40_960),
        ("zram", 10_000),
        ("zswap", 2000),
        ("free", 400_000),
        ("free_lists", 7000),
    ];
    for (id, kib) in expected {
        assert_eq!(part(&account, id), Ok(kib), "{id}");
    }
    let sum: u64 = expected.iter().map(|(_, n)| n).sum();
    assert_eq!(account.rest, Ok(i64::try_from((1_000_000 - sum) * KB).unwrap()));
    for (id, kib) in [
        ("anon_huge", 50_000),
        ("files_mapped", 25_000),
        ("files_unmapped", 95_000),
        ("hugetlb_free", 10_240),
    ] {
        assert_eq!(part(&account, id), Ok(kib), "{id}");
    }
    for id in ["gpu", "corrupted"] {
        assert_eq!(part(&account, id), Err(Missing::Unsupported), "{id}");
    }
    assert_eq!(account.reserved, Ok(30_000 * KB));
}

#[test]
fn what_is_mapped_of_files_takes_everybody_to_tell() {
    let partial = ProcessTotals {
        total: 11,
        hidden: Some(Missing::TimedOut),
        ..userland(15_000 * KB, 0)
    };
    let account = account::account(&meminfo(MEMINFO.as_bytes()), &inputs(), &partial);
    assert_eq!(part(&account, "files_mapped"), Err(Missing::TimedOut));
    assert_eq!(part(&account, "files"), Ok(120_000));
}

#[test]
fn what_vmalloc_used_to_say_is_not_believed() {
    let old = MEMINFO.replace("VmallocChunk:         0 kB", "VmallocChunk:    123456 kB");
    assert_eq!(meminfo(old.as_bytes()).vmalloc, Err(Missing::Unsupported));
    let zero = MEMINFO.replace("VmallocUsed:       9000 kB", "VmallocUsed:          0 kB");
    assert_eq!(meminfo(zero.as_bytes()).vmalloc, Err(Missing::Unsupported));
    assert_eq!(meminfo(MEMINFO.as_bytes()).vmalloc, Ok(9000 * KB));
}

#[test]
fn more_than_there_is_is_said_so() {
    let over = MEMINFO.replace("AnonPages:       180000 kB", "AnonPages:       980000 kB");
    let account = account::account(&meminfo(over.as_bytes()), &inputs(), &userland(0, 0));
    assert!(account.rest.unwrap() < 0, "{:?}", account.rest);
    let nothing = account::account(
        &meminfo(b""),
        &AccountingInputs::missing(Missing::Denied),
        &userland(0, 0),
    );
    assert_eq!(nothing.rest, Err(Missing::Unsupported));
}

#[test]
fn swap_is_accounted_for() {
    let s = meminfo(MEMINFO.as_bytes());
    let kib = |a: swap::SwapAccount| {
        (
            a.used.map(|n| n / KB),
            a.cache.map(|n| n / KB),
            a.rest.map(|n| n / 1024),
        )
    };
    let account = swap::account(&s, &userland(0, 80_000 * KB));
    assert_eq!(kib(account), (Ok(100_000), Ok(5000), Ok(15_000)));
    // Processes have all but a little of it: the cache can be no more than that.
    assert_eq!(
        kib(swap::account(&s, &userland(0, 98_000 * KB))),
        (Ok(100_000), Ok(2000), Ok(0))
    );
    assert_eq!(
        kib(swap::account(&s, &userland(0, 101_000 * KB))),
        (Ok(100_000), Ok(0), Ok(-1000))
    );
    let unread = ProcessTotals {
        swap_pss: Err(Missing::Denied),
        ..userland(0, 0)
    };
    assert_eq!(swap::account(&s, &unread).rest, Err(Missing::Denied));
    let none = MEMINFO.replace("SwapFree:        400000 kB", "SwapFree:        500000 kB");
    assert_eq!(
        kib(swap::account(&meminfo(none.as_bytes()), &unread)),
        (Ok(0), Ok(0), Ok(0))
    );
}

#[test]
fn at_a_glance() {
    let mut s = meminfo(MEMINFO.as_bytes());
    let ram = overview::ram(&s);
    assert_eq!((ram.used, ram.cache), (Ok(400_000 * KB), Ok(180_000 * KB)));
    let both = overview::both(&ram, &overview::swap(&s));
    assert_eq!((both.total, both.used), (Ok(1_500_000 * KB), Ok(500_000 * KB)));
    let area = |path: &[u8], used| SwapArea {
        path: path.into(),
        kind: "partition".into(),
        size: 250_000 * KB,
        used,
        priority: Ok(0),
    };
    s.swaps = Ok(vec![area(b"/dev/zram0", 60_000 * KB), area(b"/dev/sda2", 40_000 * KB)]);
    assert_eq!(overview::swapped_to_zram(&s), Ok(60_000 * KB));
    assert_eq!(overview::swapped_to_disk(&s), Ok(34_000 * KB));
    let all = overview::compressed(&s, &inputs());
    assert_eq!((&*all[0].name, all[0].ratio()), ("zswap", Ok(Some(3.0))));
    assert_eq!((&*all[1].name, all[1].ratio()), ("zram0", Ok(Some(3.0))));
}

proptest! {
    /// Whatever a meminfo says, and however much of it is missing, the parts and the rest are the whole, and
    /// no part is negative.
    #[test]
    fn parts_always_sum_to_the_whole(
        values in proptest::collection::vec(proptest::option::weighted(0.9, 0u64..1 << 34), 40),
        pools in proptest::collection::vec(0u64..1 << 44, 0..3),
        shmem in 0u64..1 << 44,
    ) {
        let mut text = String::new();
        for (line, value) in MEMINFO.lines().skip(1).zip(&values) {
            let name = line.split(':').next().unwrap();
            let unit = if name.starts_with("HugePages_") { "" } else { " kB" };
            if let Some(value) = value {
                writeln!(text, "{name}: {value}{unit}").unwrap();
            }
        }
        text += "MemTotal: 1000000 kB\n";
        let inputs = AccountingInputs {
            huge: Ok(pools.iter().map(|n| HugePool { page: 2 << 20, total: *n, free: *n / 2 }).collect()),
            ..inputs()
        };
        let s = meminfo(text.as_bytes());
        let account = account::account(&s, &inputs, &userland(shmem, 0));
        let parts: i128 = account.parts.iter().filter_map(|p| p.bytes.ok()).map(i128::from).sum();
        prop_assert_eq!(parts + i128::from(account.rest.unwrap()), i128::from(1_000_000 * KB));
        for part in &account.parts {
            let files = part.id == "files";
            let inner = part.within.iter().filter_map(|p| p.bytes.ok()).map(i128::from).sum::<i128>();
            // Mapped and not mapped are all of it.
            if files && let Ok(n) = part.bytes && part.within.iter().all(|p| p.bytes.is_ok()) {
                prop_assert_eq!(inner, i128::from(n));
            }
        }
        let account = swap::account(&s, &userland(0, shmem));
        if let (Ok(used), Ok(mine), Ok(rest)) = (account.used, account.processes, account.rest) {
            prop_assert_eq!(i128::from(used), i128::from(mine) + i128::from(account.cache.unwrap_or(0)) + i128::from(rest));
        }
    }
}
