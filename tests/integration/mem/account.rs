//! Accounts of the RAM and of the swap.

use std::fmt::Write;

use super::{KB, meminfo, userland};
use proptest::prelude::*;

use zmtop::account::{self, Account, ProcessTotals, overview, swap};
use zmtop::model::system::{AccountingInputs, HugePool, MemoryMount, SwapArea, SysvShm, Zones, ZramDevice};
use zmtop::model::{Memory, Missing, Reading, SystemSample};

/// A made machine: every figure has a place of its own in the sum.
pub(super) const MEMINFO: &str = "\
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

pub(super) fn inputs() -> AccountingInputs {
    AccountingInputs {
        zones: Ok(Zones {
            present: 1_030_000 * KB,
            managed: 1_000_000 * KB,
            free_lists: 7000 * KB,
        }),
        zram: Ok(vec![ZramDevice {
            name: "zram0".into(),
            size: Ok(100_000 * KB),
            same_filled: Ok(0),
            limit: Ok(0),
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

pub(super) fn part(account: &Account, id: &str) -> Reading<u64> {
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
fn files_on_no_list_of_files_are_locked() {
    let locked = |unevictable: &str| {
        let text = MEMINFO.replace("Cached:          150000", "Cached:          190000");
        let machine = meminfo(text.replace("Unevictable:      10000", unevictable).as_bytes());
        let account = account::account(&machine, &inputs(), &userland(0, 0));
        ["files", "files_locked"].map(|id| part(&account, id))
    };
    // 190,000 − 30,000 + 10,000 of buffers − 150,000 on the lists.
    assert_eq!(locked("Unevictable:      30000"), [Ok(140_000), Ok(20_000)]);
    assert_eq!(locked("Unevictable:      10000"), [Ok(150_000), Ok(10_000)]);
    // Lazily freed memory is on the lists, too.
    let text = MEMINFO.replace("Unevictable:      10000", "Unevictable:      30000");
    let mut processes = userland(0, 0);
    let lazy = |kib| Memory {
        lazy_free: Ok(kib * KB),
        ..Memory::missing(Missing::Unsupported)
    };
    processes.memory = Ok(lazy(35_000));
    let account = account::account(&meminfo(text.as_bytes()), &inputs(), &processes);
    assert_eq!(part(&account, "files_locked"), Ok(15_000));
    // Memory written after it was lazily freed stays there, but is no longer counted so. What nothing locked is unevictable as well.
    for (mlocked, want) in [(4_000, 26_000), (29_000, 15_000), (40_000, 15_000)] {
        let machine = meminfo(format!("{text}Mlocked:          {mlocked} kB\n").as_bytes());
        let account = account::account(&machine, &inputs(), &processes);
        assert_eq!(part(&account, "files_locked"), Ok(want));
    }
    // SHM_LOCK counts in none of the two.
    let machine = meminfo(format!("{text}Mlocked:          4000 kB\n").as_bytes());
    let segments = AccountingInputs {
        sysv: Ok(SysvShm {
            locked: Ok(6_000 * KB),
            ..SysvShm::default()
        }),
        ..inputs()
    };
    let account = account::account(&machine, &segments, &processes);
    assert_eq!(part(&account, "files_locked"), Ok(20_000));
    let old = locked("Other:            10000");
    assert_eq!(old, [Ok(160_000), Err(Missing::Unsupported)]);
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
        ("free_kept_back", 0),
    ] {
        assert_eq!(part(&account, id), Ok(kib), "{id}");
    }
    for id in ["gpu", "arc", "corrupted"] {
        assert_eq!(part(&account, id), Err(Missing::Unsupported), "{id}");
    }
    assert_eq!(account.reserved, Ok(30_000 * KB));
    // Free 400,000, files 120,000, buffers 10,000, reclaimable slab 20,000.
    let kept_back = MEMINFO.replace("MemAvailable:    600000", "MemAvailable:    500000");
    let account = account::account(&meminfo(kept_back.as_bytes()), &inputs(), &userland(15_000 * KB, 0));
    assert_eq!(part(&account, "free_kept_back"), Ok(50_000));
}

#[test]
fn what_is_mapped_of_files_is_partial_without_everybody() {
    let partial = ProcessTotals {
        total: 11,
        hidden: Some(Missing::TimedOut),
        ..userland(15_000 * KB, 0)
    };
    let account = account::account(&meminfo(MEMINFO.as_bytes()), &inputs(), &partial);
    // Σ Pss_Shmem lacks one, so that no more is mapped than this, and no less is not.
    let within: Vec<_> = account.parts.iter().flat_map(|part| &part.within).collect();
    let bound = |id: &str| within.iter().find(|part| part.id == id).unwrap().bound;
    assert_eq!(part(&account, "files_mapped"), Ok(25_000));
    assert_eq!(bound("files_mapped"), Some(account::Bound::AtMost));
    assert_eq!(bound("files_unmapped"), Some(account::Bound::AtLeast));
    assert_eq!(bound("anon_huge"), None);
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

/// Used swap in parts, where the account of shared memory has only these.
fn swap_account(s: &SystemSample, totals: &ProcessTotals, inputs: &AccountingInputs) -> swap::SwapAccount {
    swap::account(s, totals, &swap::shmem(s, inputs))
}

#[test]
fn swap_is_accounted_for() {
    let s = meminfo(MEMINFO.as_bytes());
    let nothing = AccountingInputs::missing(Missing::Unsupported);
    let kib = |totals: &ProcessTotals| {
        let a = swap_account(&s, totals, &nothing);
        (
            a.used.map(|n| n / KB),
            a.cache.map(|n| n / KB),
            a.rest.map(|n| n / 1024),
        )
    };
    assert_eq!(kib(&userland(0, 80_000 * KB)), (Ok(100_000), Ok(5000), Ok(15_000)));
    // Processes have all but a little of it: the cache can be no more than that.
    assert_eq!(kib(&userland(0, 98_000 * KB)), (Ok(100_000), Ok(2000), Ok(0)));
    assert_eq!(kib(&userland(0, 101_000 * KB)), (Ok(100_000), Ok(0), Ok(-1000)));
    let unread = ProcessTotals {
        memory: Err(Missing::Denied),
        swap_unreadable: Err(Missing::Denied),
        ..userland(0, 0)
    };
    assert_eq!(swap_account(&s, &unread, &nothing).rest, Err(Missing::Denied));
    let none = MEMINFO.replace("SwapFree:        400000 kB", "SwapFree:        500000 kB");
    let account = swap_account(&meminfo(none.as_bytes()), &unread, &nothing);
    assert_eq!(
        (account.used, account.cache, account.unreadable, account.rest),
        (Ok(0), Ok(0), Ok(0), Ok(0))
    );
}

/// A file system in memory that holds so many KiB.
fn tmpfs(path: &[u8], used: Reading<u64>) -> MemoryMount {
    MemoryMount {
        device: path.len() as u64,
        path: path.into(),
        kind: "tmpfs".into(),
        used: used.map(|n| n * KB),
        size: used.and(Ok(1 << 30)),
    }
}

#[test]
fn shared_memory_is_accounted_for_by_mount_and_what_it_has_in_swap_at_the_least() {
    // `Shmem` is 30,000 KiB.
    let s = meminfo(MEMINFO.as_bytes());
    let inputs = |run: u64, swapped: u64| AccountingInputs {
        mounts: Ok(vec![
            tmpfs(b"/hidden", Err(Missing::Unsupported)),
            tmpfs(b"/dev/shm", Ok(4000)),
            tmpfs(b"/run", Ok(run)),
        ]),
        sysv: Ok(SysvShm {
            segments: 3,
            resident: 1000 * KB,
            swapped: swapped * KB,
            ..SysvShm::default()
        }),
        ..AccountingInputs::missing(Missing::Unsupported)
    };
    let in_ram = inputs(20_000, 0);
    let account = swap::shmem(&s, &in_ram);
    let paths = account.mounts.as_ref().unwrap().iter().map(|mount| &*mount.path);
    assert_eq!(paths.collect::<Vec<_>>(), [&b"/run"[..], b"/dev/shm", b"/hidden"]);
    assert_eq!((account.elsewhere, account.swapped), (Ok(5000 * KB), Ok(0)));
    // It holds more than is in RAM: 12,000 KiB of it must be in swap.
    let swapped = inputs(37_000, 700);
    let account = swap::shmem(&s, &swapped);
    assert_eq!((account.elsewhere, account.swapped), (Ok(0), Ok(12_000 * KB)));
    let totals = ProcessTotals {
        swap_unreadable: Ok(3000 * KB),
        ..userland(0, 60_000 * KB)
    };
    let swap = swap_account(&s, &totals, &swapped);
    let parts = [swap.processes, swap.unreadable, swap.sysv, swap.tmpfs, swap.cache].map(|part| part.unwrap() / KB);
    assert_eq!(parts, [60_000, 3000, 700, 12_000, 5000]);
    assert_eq!((swap.rest, swap.mapped), (Ok(19_300 * 1024), Ok(9000 * KB)));
    // Figures of different moments: none takes more than is left.
    let crowded = ProcessTotals {
        swap_unreadable: Ok(3000 * KB),
        ..userland(0, 98_000 * KB)
    };
    let swap = swap_account(&s, &crowded, &swapped);
    let parts = [swap.processes, swap.unreadable, swap.sysv, swap.tmpfs, swap.cache].map(|part| part.unwrap() / KB);
    assert_eq!((parts, swap.rest, swap.mapped), ([98_000, 2000, 0, 0, 0], Ok(0), Ok(0)));
    // Where mounts cannot be seen nothing is said of the remainder.
    let blind = AccountingInputs::missing(Missing::Denied);
    let account = swap::shmem(&s, &blind);
    assert_eq!(
        (account.elsewhere, account.swapped),
        (Err(Missing::Denied), Err(Missing::Denied))
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
        let account = swap_account(&s, &userland(0, shmem), &inputs);
        if let (Ok(used), Ok(mine), Ok(rest)) = (account.used, account.processes, account.rest) {
            let others = [account.unreadable, account.sysv, account.tmpfs, account.cache];
            let others: i128 = others.into_iter().filter_map(Result::ok).map(i128::from).sum();
            prop_assert_eq!(i128::from(used), i128::from(mine) + others + i128::from(rest));
        }
    }
}
