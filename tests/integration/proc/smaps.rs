//! `smaps_rollup` and `smaps`.

use zmtop::model::{Memory, Missing};
use zmtop::proc::smaps::{SmapsSum, anonymous, rollup, smaps};

const KB: u64 = 1024;

macro_rules! kernel {
    ($version:literal) => {
        (
            $version,
            include_bytes!(concat!("../../fixtures/smaps/", $version, ".rollup")),
            include_bytes!(concat!("../../fixtures/smaps/", $version, ".smaps")),
        )
    };
}
/// One process as kernels of five generations write it: its rollup and its smaps.
const KERNELS: [(&str, &[u8], &[u8]); 5] = [
    kernel!("4.14"),
    kernel!("4.19"),
    kernel!("5.10"),
    kernel!("6.1"),
    kernel!("6.18"),
];

/// Returns the figures of the process in every generation. The paths of two mappings look like figures, but do not count.
fn expected() -> Memory {
    Memory {
        rss: 4692 * KB,
        pss: 2277 * KB,
        pss_dirty: Ok(2182 * KB),
        pss_anon: Ok(1432 * KB),
        pss_file: Ok(87 * KB),
        pss_shmem: Ok(758 * KB),
        shared_clean: 252 * KB,
        shared_dirty: 3000 * KB,
        private_clean: 8 * KB,
        private_dirty: 1432 * KB,
        shared_hugetlb: Ok(2048 * KB),
        private_hugetlb: Ok(2048 * KB),
        anon_huge: Ok(0),
        lazy_free: Ok(0),
        swap: 608 * KB,
        swap_pss: Ok(512 * KB),
    }
}

#[test]
fn each_kernels_rollup_tells_the_anonymous_pages() {
    for (version, bytes, _) in KERNELS {
        let mut before = None;
        for line in bytes.split(|b| *b == b'\n') {
            let number = str::from_utf8(line).unwrap().strip_prefix("Anonymous:");
            before = before.or(number.map(|n| n.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * KB));
        }
        assert!(before.is_some(), "{version}");
        assert_eq!(anonymous(bytes), before, "{version}");
    }
    assert_eq!(anonymous(b"Rss: 1 kB\nAnonymous: 1\n"), None);
}

#[test]
fn each_kernels_rollup_is_read() {
    for (version, bytes, _) in KERNELS {
        let mut expected = expected();
        if matches!(version, "4.14" | "4.19" | "5.10") {
            expected.pss_dirty = Err(Missing::Unsupported);
        }
        if matches!(version, "4.14" | "4.19") {
            expected.pss_anon = Err(Missing::Unsupported);
            expected.pss_file = Err(Missing::Unsupported);
            expected.pss_shmem = Err(Missing::Unsupported);
        }
        assert_eq!(rollup(bytes), Ok(expected), "{version}");
    }
}

#[test]
fn each_kernels_smaps_sums_to_its_rollup() {
    for (version, of_all, of_each) in KERNELS {
        let all = rollup(of_all).unwrap();
        let sum = smaps(of_each).unwrap();
        let mappings = 6;
        assert!(all.pss >= sum.pss && all.pss - sum.pss < mappings * KB, "{version}");
        let expected = Memory {
            pss: sum.pss,
            pss_anon: Err(Missing::Unsupported),
            pss_file: Err(Missing::Unsupported),
            pss_shmem: Err(Missing::Unsupported),
            ..all
        };
        assert_eq!(sum, expected, "{version}");
    }
}

#[test]
fn smaps_may_come_in_any_pieces() {
    let (_, _, bytes) = KERNELS[4];
    for size in [1, 2, 7, 95, 96, 97, 1000, 4096] {
        let mut sums = SmapsSum::default();
        bytes.chunks(size).for_each(|piece| sums.feed(piece));
        assert_eq!(sums.finish(), smaps(bytes), "{size}");
    }
}

#[test]
fn a_long_path_is_no_trouble() {
    let (_, _, bytes) = KERNELS[4];
    let mut long = b"7f0000000000-7f0000001000 r--p 00000000 fd:01 9    /".to_vec();
    long.extend(std::iter::repeat_n(b"Rss: 5 kB ".as_slice(), 500).flatten());
    long.push(b'\n');
    // The path of a mapping whose figures follow: those of the mapping before are there already.
    let with = [bytes, &long].concat();
    assert_eq!(smaps(&with), smaps(bytes));
    let mut sums = SmapsSum::default();
    with.chunks(64).for_each(|piece| sums.feed(piece));
    assert_eq!(sums.finish(), smaps(bytes));
}

#[test]
fn a_rollup_that_is_not_one_is_refused() {
    let (_, _, of_each) = KERNELS[4];
    let good = String::from_utf8(KERNELS[4].1.to_vec()).unwrap();
    let change = |from: &str, to: &str| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from}");
        changed.into_bytes()
    };
    let bad = [
        ("empty", Vec::new()),
        ("no figures", b"55d0-7ffc ---p 00000000 00:00 0 [rollup]\n".to_vec()),
        ("no Rss", change("Rss:", "Xss:")),
        ("no Pss", change("\nPss:", "\nXss:")),
        ("no Private_Dirty", change("Private_Dirty:", "Private:")),
        ("no Swap", change("\nSwap:", "\nSwop:")),
        ("no unit", change("4692 kB", "4692")),
        ("another unit", change("4692 kB", "4692 MB")),
        ("no number", change("4692 kB", "kB")),
        ("negative", change("4692 kB", "-4692 kB")),
        ("a letter in it", change("4692 kB", "46o2 kB")),
        ("overflows", change("4692 kB", "18446744073709551616 kB")),
        ("overflows as bytes", change("4692 kB", "18014398509481984 kB")),
        ("a field twice", change("Pss_Dirty:", "Rss:")),
        ("two mappings", of_each.to_vec()),
    ];
    for (what, bytes) in bad {
        assert_eq!(rollup(&bytes), Err(Missing::Malformed), "{what}");
    }
    let largest = change("4692 kB", "18014398509481983 kB");
    assert_eq!(rollup(&largest).unwrap().rss, u64::MAX - 1023);
    assert_eq!(rollup(&change("KSM:", "New_Field:")), rollup(good.as_bytes()));
}

#[test]
fn a_cut_rollup_is_refused_or_lacks_only_what_was_cut() {
    let (_, whole, _) = KERNELS[4];
    for len in 0..whole.len() {
        match rollup(&whole[..len]) {
            Err(e) => assert_eq!(e, Missing::Malformed, "{len}"),
            Ok(m) => {
                let all = expected();
                let lacks = Memory {
                    swap_pss: m.swap_pss,
                    ..all
                };
                assert_eq!(m, lacks, "{len}");
                assert!(
                    m.swap_pss == all.swap_pss || m.swap_pss == Err(Missing::Unsupported),
                    "{len}"
                );
            }
        }
    }
}

#[test]
fn sums_that_overflow_or_do_not_match_are_refused() {
    let (_, _, bytes) = KERNELS[4];
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let huge = text.replace("  1400 kB", "  18014398509481983 kB");
    assert_eq!(smaps(huge.as_bytes()), Err(Missing::Malformed));
    let odd = text.replacen("SwapPss:", "SwapXss:", 1);
    assert_eq!(smaps(odd.as_bytes()).unwrap().swap_pss, Err(Missing::Malformed));
    let gone = text.replacen("Private_Clean:", "Private_Klean:", 1);
    assert_eq!(smaps(gone.as_bytes()), Err(Missing::Malformed));
    assert_eq!(smaps(b""), Err(Missing::Malformed));
}
