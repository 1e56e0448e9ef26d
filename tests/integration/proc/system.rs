//! The system's files.

use zmtop::model::system::{Pressure, SwapArea};
use zmtop::model::{Missing, SystemSample};
use zmtop::proc::accounts;
use zmtop::proc::system::{Machine, SystemFile};
use zmtop::proc::system::{MmStat, mm_stat};

fn sample(part: SystemFile, bytes: &[u8]) -> SystemSample {
    let mut machine = Machine::default();
    part.parse(Ok(bytes))(&mut machine);
    machine.sample
}

/// A whole meminfo, and one that lacks what the crate wants and zmtop does not.
const WHOLE: &str = include_str!("../../fixtures/meminfo/6.18");
const OLD: &str = include_str!("../../fixtures/meminfo/3.10");

#[test]
fn meminfo_is_read() {
    let s = sample(SystemFile::Meminfo, WHOLE.as_bytes());
    assert_eq!(s.mem_total, Ok(25_276_514_304));
    assert_eq!(s.mem_available, Ok(24_680_165_376));
    assert_eq!(s.swap_used(), Ok(131_072 * 1024));
    assert_eq!(s.zswap, Ok(2048 * 1024));
    assert_eq!(s.zswapped, Ok(6144 * 1024));
}

#[test]
fn an_older_meminfo_lacks_only_what_it_lacks() {
    let s = sample(SystemFile::Meminfo, OLD.as_bytes());
    assert_eq!(s.mem_total, Ok(2_097_152 * 1024));
    assert_eq!(s.mem_available, Err(Missing::Unsupported));
    assert_eq!(s.zswap, Err(Missing::Unsupported));
    assert_eq!(s.sreclaimable, Ok(20_000 * 1024));
}

#[test]
fn an_odd_byte_costs_its_own_field_only() {
    for (from, to) in [
        ("MemFree: ", "MemFree:é "),
        ("MemFree: ", "MemFree: -"),
        ("kB\nMemAvailable", "MB\nMemAvailable"),
        ("kB\nMemAvailable", "\nMemAvailable"),
    ] {
        let odd = WHOLE.replacen(from, to, 1);
        assert_ne!(odd, WHOLE);
        let s = sample(SystemFile::Meminfo, odd.as_bytes());
        assert_eq!(s.mem_total, Ok(25_276_514_304), "{to}");
        assert_eq!(s.mem_available, Ok(24_680_165_376), "{to}");
    }
    let overflow = WHOLE.replacen("MemTotal:       24684096 kB", "MemTotal: 18014398509481984 kB", 1);
    assert_ne!(overflow, WHOLE);
    let s = sample(SystemFile::Meminfo, overflow.as_bytes());
    assert_eq!(s.mem_total, Err(Missing::Malformed));
    assert_eq!(s.mem_free, sample(SystemFile::Meminfo, WHOLE.as_bytes()).mem_free);
    let raw = [WHOLE.as_bytes(), b"\xff\xfe\x00\n"].concat();
    assert_eq!(sample(SystemFile::Meminfo, &raw).mem_total, Ok(25_276_514_304));
    let none = sample(SystemFile::Meminfo, b"");
    assert_eq!(none.mem_total, Err(Missing::Unsupported));
}

#[test]
fn swap_counters_are_bytes() {
    let page = rustix::param::page_size() as u64;
    let good = b"nr_free_pages 7\npswpin 10\npswpout 20\npgmajfault 30\n";
    let s = sample(SystemFile::Vmstat, good);
    assert_eq!(
        (s.pswpin, s.pswpout, s.pgmajfault),
        (Ok(10 * page), Ok(20 * page), Ok(30))
    );
    // The crate refuses these whole.
    let odd = b"odd\npswpin 10\npswpout x\n\xff 5\n";
    let s = sample(SystemFile::Vmstat, odd);
    assert_eq!(s.pswpin, Ok(10 * page));
    assert_eq!(s.pswpout, Err(Missing::Malformed));
    assert_eq!(s.pgmajfault, Err(Missing::Unsupported));
    let s = sample(SystemFile::Vmstat, b"pswpin 9223372036854775807\npswpout -1\n");
    assert_eq!(
        (s.pswpin, s.pswpout),
        (Err(Missing::Malformed), Err(Missing::Malformed))
    );
}

#[test]
fn swap_areas_keep_their_raw_paths() {
    let bytes = b"Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
        /dev/zram0                              partition\t1048576\t\t4096\t\t100\n\
        /mnt/\\040a\\134\\012\xff\\999\\777               file\t\t8\t\t0\t\t-2\n";
    let swaps = sample(SystemFile::Swaps, bytes).swaps.unwrap();
    let expected = [
        SwapArea {
            path: (*b"/dev/zram0").into(),
            kind: "partition".into(),
            size: 1 << 30,
            used: 4 << 20,
            priority: Ok(100),
        },
        SwapArea {
            path: (*b"/mnt/ a\\\n\xff\\999\\777").into(),
            kind: "file".into(),
            size: 8192,
            used: 0,
            priority: Ok(-2),
        },
    ];
    assert_eq!(*swaps, expected);
    assert!(swaps[0].on_zram() && !swaps[1].on_zram());
    assert_eq!(
        sample(SystemFile::Swaps, b"Filename Type Size Used Priority\n").swaps,
        Ok(Vec::new())
    );
    for bad in [
        &b""[..],
        b"/a file 1 2 3\n",
        b"Filename\n/a file 1\n",
        b"Filename\n/a file 18446744073709551615 0 0\n",
    ] {
        assert_eq!(sample(SystemFile::Swaps, bad).swaps, Err(Missing::Malformed));
    }
}

#[test]
fn pressure_load_and_uptime() {
    let bytes = b"some avg10=1.50 avg60=0.10 avg300=0.00 total=123\nfull avg10=0.25 avg60=0.00 avg300=0.00 total=4\n";
    let expected = Pressure {
        some: [1.5],
        full: [0.25],
    };
    assert_eq!(sample(SystemFile::Pressure, bytes).psi, Ok(expected));
    for bad in [
        &b""[..],
        b"some",
        b"some\nfull\n",
        b"some avg10=x\nfull avg10=1\n",
        b"s\xc3\xa9\xc3\xa9\xc3\xa9 avg10=1\nfull ",
    ] {
        assert_eq!(sample(SystemFile::Pressure, bad).psi, Err(Missing::Malformed));
    }
    assert_eq!(sample(SystemFile::Uptime, b"12.50 20.00\n").uptime, Ok(12.5));
    assert_eq!(
        sample(SystemFile::Loadavg, b"0.50 0.25 0.10 1/412 27213\n").loadavg,
        Ok([0.5, 0.25, 0.1])
    );
    for bad in [&b""[..], b"NaN 1\n", b"-1 1\n", b"inf inf\n", b"\xff\n"] {
        assert_eq!(sample(SystemFile::Uptime, bad).uptime, Err(Missing::Malformed));
        assert_eq!(sample(SystemFile::Loadavg, bad).loadavg, Err(Missing::Malformed));
    }
}

#[test]
fn zram_figures_are_reported_by_their_places() {
    let stat = |limit, same_pages| MmStat {
        stored: 4_096_000,
        used: 1_228_800,
        limit,
        same_pages,
    };
    assert_eq!(
        mm_stat(b" 4096000  1024000 1228800 7 1228800 5 0 0 0\n"),
        Some(stat(Ok(7), Ok(5)))
    );
    // Older kernels wrote fewer.
    let short = mm_stat(b"4096000 1024000 1228800\n");
    assert_eq!(short, Some(stat(Err(Missing::Unsupported), Err(Missing::Unsupported))));
    let odd = mm_stat(b"4096000 1024000 1228800 -1 0 x\n");
    assert_eq!(odd, Some(stat(Err(Missing::Malformed), Err(Missing::Malformed))));
    for bad in [&b""[..], b"1 2\n", b"1 2 x\n", b"-1 2 3\n"] {
        assert_eq!(mm_stat(bad), None);
    }
}

#[test]
fn users_are_found_by_number() {
    let passwd = b"root:x:0:0::/:\n\nbad\n:x:5:5::/:\nev\x1bil\xff:x:1000:1::/:\nlate:x:1000:1::/:\nno:x:zz:1\n";
    assert_eq!(accounts::find(passwd, 0), Some(&b"root"[..]));
    assert_eq!(accounts::find(passwd, 1000), Some(&b"ev\x1bil\xff"[..]));
    assert_eq!(accounts::find(passwd, 5), None);
    assert_eq!(accounts::find(passwd, 7), None);
}
