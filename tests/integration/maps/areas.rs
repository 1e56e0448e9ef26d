//! `smaps`, area by area.

use zmtop::model::Missing;
use zmtop::model::mapping::{Area, Extent, MappingKind, MappingName};
use zmtop::proc::smaps::smaps;
use zmtop::proc::smaps::{Areas, MAX_AREA_LINE};

use super::{KB, area, at, read, sum};

macro_rules! kernel {
    ($version:literal) => {
        (
            $version,
            include_bytes!(concat!("../../fixtures/smaps/", $version, ".smaps")),
        )
    };
}
const KERNELS: [(&str, &[u8]); 5] = [
    kernel!("4.14"),
    kernel!("4.19"),
    kernel!("5.10"),
    kernel!("6.1"),
    kernel!("6.18"),
];

#[test]
fn each_kernels_areas_are_read_and_sum_to_the_whole() {
    for (version, bytes) in KERNELS {
        let (areas, count) = read(bytes);
        assert_eq!((areas.len(), count), (6, Ok(6)), "{version}");
        let names: Vec<_> = areas
            .iter()
            .map(|a| {
                (
                    String::from_utf8(a.name.bytes.to_vec()).unwrap(),
                    a.name.kind,
                    a.name.deleted,
                )
            })
            .collect();
        let expected = [
            ("/usr/bin/worker", MappingKind::File, false),
            ("/tmp/odd\\012Rss:                 999 kB", MappingKind::File, false),
            ("[heap]", MappingKind::Heap, false),
            ("/dev/shm/Pss: 7 kB", MappingKind::Shared, false),
            ("/anon_hugepage", MappingKind::Hugetlb, false),
            ("[stack]", MappingKind::Stack, false),
        ];
        assert_eq!(names, expected.map(|(n, k, d)| (n.to_owned(), k, d)), "{version}");
        assert_eq!(sum(&areas), smaps(bytes).unwrap(), "{version}");
    }
}

#[test]
fn everything_an_area_says_is_kept() {
    let (areas, _) = read(KERNELS[4].1);
    let second = &areas[1];
    assert_eq!((second.start, second.end), (0x55d0_c8a2_e000, 0x55d0_c8a4_0000));
    assert_eq!((&second.perms, second.offset), (b"r-xp", 0x2e000));
    assert_eq!((second.device, second.inode), ((0xfd, 1), 1312));
    assert_eq!(&*second.flags, b"rd wr mr mw me ac sd");
    assert_eq!(second.memory.unwrap().rss, 72 * KB);
    let extent = Extent {
        size: 72 * KB,
        locked: Ok(0),
        huge: Ok(0),
        referenced: Ok(72 * KB),
    };
    assert_eq!(second.extent, Ok(extent));
    // In pieces of any size it is the same.
    for size in [1, 2, 7, 95, 4096] {
        let mut all: Vec<Area> = Vec::new();
        let mut parser = Areas::new(|area| all.push(area));
        KERNELS[4].1.chunks(size).for_each(|piece| parser.feed(piece));
        assert_eq!(parser.finish(), Ok(6), "{size}");
        assert_eq!(all, areas, "{size}");
    }
}

#[test]
fn names_tell_the_kind() {
    for (written, bytes, kind, deleted) in [
        (&b""[..], &b"[anon]"[..], MappingKind::Anon, false),
        (b"[heap]", b"[heap]", MappingKind::Heap, false),
        (b"[stack]", b"[stack]", MappingKind::Stack, false),
        (b"[stack:77]", b"[stack:77]", MappingKind::Stack, false),
        (b"[anon:arena]", b"[anon:arena]", MappingKind::Named, false),
        (b"[anon:x] (deleted)", b"[anon:x]", MappingKind::Named, false),
        (b"[anon_shmem:x]", b"[anon_shmem:x]", MappingKind::Shared, false),
        (b"[vdso]", b"[vdso]", MappingKind::Kernel, false),
        (b"[vvar_vclock]", b"[vvar_vclock]", MappingKind::Kernel, false),
        (b"/memfd:ring (deleted)", b"/memfd:ring", MappingKind::Shared, false),
        (
            b"/dev/zero (deleted)",
            b"[shared anonymous memory]",
            MappingKind::Shared,
            false,
        ),
        (b"/SYSV0052e2c1 (deleted)", b"/SYSV0052e2c1", MappingKind::Shared, false),
        (b"/SYSV", b"/SYSV", MappingKind::File, false),
        (b"/dev/shm/pg (deleted)", b"/dev/shm/pg", MappingKind::Shared, false),
        (b"/dev/dri/card0", b"/dev/dri/card0", MappingKind::Device, false),
        (
            b"anon_inode:[perf_event]",
            b"anon_inode:[perf_event]",
            MappingKind::Device,
            false,
        ),
        (b"socket:[5]", b"socket:[5]", MappingKind::Device, false),
        (
            b"/usr/lib/libc.so.6 (deleted)",
            b"/usr/lib/libc.so.6",
            MappingKind::File,
            true,
        ),
        (b"/a b (deleted) (deleted)", b"/a b (deleted)", MappingKind::File, true),
        (b"/\xff\x1b[2J", b"/\xff\x1b[2J", MappingKind::File, false),
    ] {
        let name = MappingName::parse(written, false);
        let what = String::from_utf8_lossy(written);
        assert_eq!(
            (&*name.bytes, name.kind, name.deleted),
            (bytes, kind, deleted),
            "{what}"
        );
    }
    let huge = area(
        "7f0000000000-7f0000200000 rw-p 00000000 00:0f 81",
        b"/mnt/huge/a",
        0,
        0,
        "rd wr ht",
    );
    assert_eq!(read(&huge).0[0].name.kind, MappingKind::Hugetlb);
}

#[test]
fn lines_of_later_kernels_and_none_of_earlier_ones_are_no_trouble() {
    let plain = at(1, b"[heap]", 8);
    let text = String::from_utf8(plain.clone()).unwrap();
    let newer = text.replace(
        "THPeligible:    0\n",
        "THPeligible:    0\nNext_Field:   x y z\nBare\nKSM:  0 kB\n",
    );
    assert_eq!(read(newer.as_bytes()), read(&plain));
    let older: String = text
        .lines()
        .filter(|l| {
            !["VmFlags", "Locked", "AnonHuge", "Pss_Dirty", "THP"]
                .iter()
                .any(|n| l.starts_with(n))
        })
        .map(|l| l.to_owned() + "\n")
        .collect();
    let (areas, _) = read(older.as_bytes());
    assert!(areas[0].flags.is_empty());
    let extent = areas[0].extent.unwrap();
    let unknown = Err(Missing::Unsupported);
    assert_eq!((extent.size, extent.locked, extent.huge), (16 * KB, unknown, unknown));
    assert_eq!(areas[0].memory.unwrap().pss_dirty, unknown);
}

#[test]
fn what_is_malformed_costs_its_own_area_only() {
    let good = at(100, b"[heap]", 8);
    for (from, to) in [
        ("Pss:", "Xss:"),
        ("       8 kB\nPss:", " 18446744073709551616 kB\nPss:"),
        ("       8 kB\nPss:", "       8 MB\nPss:"),
        ("       8 kB\nPss:", "      -8 kB\nPss:"),
        ("Pss_Dirty:", "Rss:"),
    ] {
        let bad = String::from_utf8(at(1, b"/a", 8)).unwrap().replacen(from, to, 1);
        let (areas, count) = read(&[bad.as_bytes(), &good].concat());
        assert_eq!((areas[0].memory, count), (Err(Missing::Malformed), Ok(2)), "{to}");
        assert_eq!(areas[1].memory, read(&good).0[0].memory, "{to}");
    }
    // Of what was touched nothing is known then, and all else is.
    for (from, to, why) in [
        ("Referenced:", "Xeferenced:", Missing::Unsupported),
        (
            "Referenced:            8 kB",
            "Referenced:            8 MB",
            Missing::Malformed,
        ),
        ("Locked:", "Referenced:", Missing::Malformed),
    ] {
        let bad = String::from_utf8(at(1, b"/a", 8)).unwrap().replacen(from, to, 1);
        let (areas, _) = read(bad.as_bytes());
        let extent = areas[0].extent.unwrap();
        assert_eq!((extent.referenced, extent.huge), (Err(why), Ok(0)), "{to}");
        assert!(areas[0].memory.is_ok());
    }
    let sizeless = String::from_utf8(at(1, b"/a", 8))
        .unwrap()
        .replacen("Size:", "Sise:", 1);
    assert_eq!(read(sizeless.as_bytes()).0[0].extent, Err(Missing::Malformed));
    for head in [
        "xyz",
        "1000-2000",
        "2000-1000 rw-p 00000000 00:00 0",
        "1000-2000 rw- 00000000 00:00 0",
        "1000-2000 rw-p 0000000g 00:00 0",
        "1000-2000 rw-p 00000000 0000 0",
        "1000-2000 rw-p 00000000 100000000:00 0",
        "1000-2000 rw-p 00000000 00:00 18446744073709551616",
        "10000000000000000-2 rw-p 00000000 00:00 0",
        "+1-2000 rw-p 00000000 00:00 0",
    ] {
        let (areas, count) = read(&[area(head, b"/a", 8, 0, "rd"), good.clone()].concat());
        assert_eq!((areas.len(), count), (1, Err(Missing::Malformed)), "{head}");
    }
    assert_eq!(read(b"").1, Ok(0));
}

#[test]
fn cut_anywhere_it_never_panics_and_gives_no_area_it_did_not_see() {
    let bytes = KERNELS[3].1;
    let (whole, _) = read(bytes);
    for len in 0..bytes.len() {
        let (areas, _) = read(&bytes[..len]);
        assert!(areas.len() <= whole.len());
        for (area, seen) in areas.iter().rev().skip(1).rev().zip(&whole) {
            assert_eq!(area, seen, "{len}");
        }
    }
}

#[test]
fn a_line_without_an_end_is_cut() {
    let mut long = b"7f0000000000-7f0000001000 r--p 00000000 fd:01 9    /".to_vec();
    long.extend(std::iter::repeat_n(b'x', 4 << 20));
    let good = at(1, b"[heap]", 8);
    let body = &good[good.iter().position(|b| *b == b'\n').unwrap()..];
    let mut all: Vec<Area> = Vec::new();
    let mut parser = Areas::new(|area| all.push(area));
    for piece in [&long, body].concat().chunks(1000) {
        parser.feed(piece);
    }
    assert_eq!(parser.finish(), Ok(1));
    assert!(all[0].name.bytes.len() < MAX_AREA_LINE);
    assert_eq!(all[0].memory.unwrap().pss, 8 * KB);
}
