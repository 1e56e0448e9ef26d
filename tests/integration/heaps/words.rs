//! Texts about a heap.

use std::time::Duration;

use zmtop::heap::glibc::Heap;
use zmtop::heap::kinds::{Kind, is_c_library};
use zmtop::heap::{Arena, Chunks, Placed, State, Unknown};
use zmtop::output::Format;
use zmtop::units::Units;

use super::text;

const MIB: u64 = 1 << 20;

/// Of each arena, in MiB: in use, free in chunks, top, what of it a trim gives back, what of the top stays, absent.
pub(super) type Made<'a> = &'a [[u64; 6]];

pub(super) const HOARD: Made<'_> = &[[100, 900, 0, 880, 0, 0]];

/// Makes the state of a process of 1000 MiB.
pub(super) fn state(arenas: Made<'_>) -> State {
    let arena = |[in_use, free, top, trim, top_kept, absent]: &[u64; 6]| Arena {
        system: (in_use + free + top) * MIB,
        system_most: (in_use + free + top) * MIB,
        in_use: in_use * MIB,
        large: Chunks {
            count: 1,
            bytes: free * MIB,
        },
        top: top * MIB,
        trim: Placed {
            resident: trim * MIB,
            swapped: 0,
        },
        top_kept: Placed {
            resident: top_kept * MIB,
            swapped: 0,
        },
        absent: absent * MIB,
        ..Arena::default()
    };
    State {
        pid: 4711,
        comm: (*b"ser\x1bver").into(),
        memory: Ok(Placed {
            resident: 900 * MIB,
            swapped: 100 * MIB,
        }),
        others: Vec::new(),
        runtimes: Vec::new(),
        change: None,
        heap: Ok(Heap {
            arenas: arenas.iter().map(arena).collect(),
            mapped: Some(Chunks {
                count: 2,
                bytes: 10 * MIB,
            }),
            caches: Some(1),
            is_partial: false,
        }),
    }
}

#[test]
fn a_hoard_is_named_with_its_remedy() {
    let cases: [(Made<'_>, &[&str]); 9] = [
        (
            HOARD,
            &["900M of its 1000M are free inside glibc: malloc_trim(0) would return 880M."],
        ),
        // Free, but given back already.
        (
            &[[100, 900, 0, 0, 0, 890]],
            &["110M of its 1000M are in use inside glibc and 10.0M are free: most of its memory is elsewhere."],
        ),
        (
            &[[600, 400, 0, 4, 0, 0]],
            &[
                "400M of its 1000M are free inside glibc: they lie in pieces between memory in use; malloc_trim(0) would return only 4.0M.",
            ],
        ),
        (
            &[[600, 300, 0, 0, 0, 0]],
            &[
                "300M of its 1000M are free inside glibc: they lie in pieces between memory in use; malloc_trim(0) would return nothing.",
            ],
        ),
        (
            &[
                [100, 0, 0, 0, 0, 0],
                [100, 10, 200, 8, 200, 0],
                [100, 10, 200, 8, 200, 0],
            ],
            &[
                "420M of its 1000M are free inside glibc: 400M are at the ends of the arenas of threads, which malloc_trim does not return; malloc_trim(0) would return only 16.0M.",
                "Most of it is in the 2 arenas of threads: MALLOC_ARENA_MAX=2 limits their number.",
            ],
        ),
        // Too little to matter.
        (
            &[[700, 200, 0, 200, 0, 0]],
            &["710M of its 1000M are in use inside glibc, and only 200M are free."],
        ),
        (
            &[[20, 31, 0, 31, 0, 0]],
            &["30.0M of its 1000M are in use inside glibc and 31.0M are free: most of its memory is elsewhere."],
        ),
        // Allocated and never touched.
        (
            &[[1400, 0, 0, 0, 0, 0]],
            &["1.4G are in use inside glibc, at most 1000M of that in RAM or swap, and only 0 are free."],
        ),
        (
            &[],
            &["10.0M of its 1000M are in use inside glibc and 0 are free: most of its memory is elsewhere."],
        ),
    ];
    for (arenas, expected) in cases {
        let state = state(arenas);
        assert_eq!(state.verdict(Units::Auto), expected);
        assert_eq!(state.is_hoard(), expected[0].contains("free inside"), "{expected:?}");
    }
}

#[test]
fn what_was_not_followed_is_a_minimum_and_others_are_named() {
    let mut state = state(HOARD);
    if let Ok(heap) = &mut state.heap {
        heap.is_partial = true;
    }
    state.others = vec![Kind::Musl];
    let lines = state.verdict(Units::Auto);
    let expected = [
        "At least 900M of its 1000M are free inside glibc: malloc_trim(0) would return 880M.",
        "It has more free chunks than can be followed in time, so its free memory is a minimum.",
        "The memory of musl's malloc was not read: it keeps no statistics.",
    ];
    assert_eq!(lines, expected);
    if let Ok(heap) = &mut state.heap {
        heap.arenas[0].large.bytes = 10 * MIB;
    }
    let first = "At most 110M of its 1000M are in use inside glibc, and at least 10.0M are free.";
    assert_eq!(state.verdict(Units::Auto)[0], first);
    state.heap = Err(Unknown::Moving);
    assert_eq!(state.verdict(Units::Auto), expected[2..]);
    let lines = state.lines(Units::Auto);
    assert_eq!((&*lines[0].0, lines.len()), ("glibc", 2));
    // What is known of a runtime comes first.
    state.runtimes = vec![crate::runtimes::words::java()];
    let lines = state.lines(Units::Auto);
    assert_eq!(
        (lines.first().unwrap().0.as_str(), lines.last().unwrap().0.as_str()),
        ("", "glibc")
    );
    assert!(lines.iter().any(|(_, text)| text.contains("committed")), "{lines:?}");
    assert!(lines.iter().any(|(_, text)| text.contains("objects of")), "{lines:?}");
}

#[test]
fn each_arena_has_a_line() {
    let lines = state(&[[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 9, 0]]).lines(Units::Auto);
    let labels: Vec<_> = lines.iter().map(|(label, _)| &**label).collect();
    assert_eq!(labels, ["", "all arenas", "mapped", "arena 1", "arena 2"]);
    let expected = "18.0M from the kernel: 5.0M in use (0 of it in caches of threads), 13.0M free (7.0M of it at the end); a trim would return 8.0M";
    assert_eq!(lines[4].1, expected);
}

#[test]
fn the_report_is_a_table_and_a_sentence() {
    let report = text(state(&[[1, 2, 3, 4, 0, 0], [5, 6, 7, 8, 9, 0]]), Format::Table);
    let expected = "\
4711 ser\\x1bver: 1000M in RAM and swap
ARENA  SYSTEM  IN USE  CACHED  FREE  FAST  UNSORTED  SMALL  LARGE    TOP   TRIM
    1    6.0M    1.0M       0  5.0M     0         0      0   2.0M   3.0M   4.0M
    2   18.0M    5.0M       0 13.0M     0         0      0   6.0M   7.0M   8.0M
        24.0M    6.0M       0 18.0M     0         0      0   8.0M  10.0M  12.0M
Mapped one by one: 2 chunks, 10.0M
16.0M of its 1000M are in use inside glibc and 18.0M are free: most of its memory is elsewhere.
";
    let squeezed = |text: &str| {
        text.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect::<Vec<_>>()
    };
    assert_eq!(squeezed(&report), squeezed(expected));
    // The rows are the arenas.
    let rows = text(state(&[[1, 2, 3, 4, 0, 0]]), Format::Csv);
    assert_eq!(rows.lines().count(), 2, "{rows}");
    assert!(rows.starts_with("system,system_max,in_use,free,kept,"), "{rows}");
}

#[test]
fn allocators_and_runtimes_are_known_by_their_files() {
    let cases: [(&[u8], Option<Kind>); 9] = [
        (b"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", Some(Kind::Jemalloc)),
        (b"/usr/lib/libtcmalloc_minimal.so.4.5.9 (deleted)", Some(Kind::Tcmalloc)),
        (b"/lib/ld-musl-x86_64.so.1", Some(Kind::Musl)),
        (b"/usr/lib/jvm/java-17/lib/server/libjvm.so", Some(Kind::Java)),
        (b"[anon: Go: heap]", Some(Kind::Go)),
        (b"/memfd:doublemapper (deleted)", Some(Kind::Dotnet)),
        (b"/home/libjemalloc.so.2/other", None),
        (b"libjemalloc.so", None),
        (b"", None),
    ];
    for (name, kind) in cases {
        assert_eq!(Kind::of_mapping(name), kind, "{}", String::from_utf8_lossy(name));
    }
    let programs: [(&[u8], Option<Kind>); 6] = [
        (b"python3.13", Some(Kind::Python)),
        (b"python3.13t", Some(Kind::Python)),
        (b"python-daemon", None),
        (b"node", Some(Kind::Node)),
        (b"node_exporter", None),
        (b"beam.smp", Some(Kind::Erlang)),
    ];
    for (name, kind) in programs {
        assert_eq!(Kind::of_program(name), kind, "{}", String::from_utf8_lossy(name));
    }
    let libraries: [(&[u8], bool); 6] = [
        (b"/usr/lib/x86_64-linux-gnu/libc.so.6 (deleted)", true),
        (b"/lib/x86_64-linux-gnu/libc-2.31.so", true),
        (b"/lib64/ld-linux-x86-64.so.2", true),
        (b"/lib/ld-linux-aarch64.so.1", true),
        (b"/usr/lib/libcrypto.so.3", false),
        (b"/usr/lib/libc++.so.1", false),
    ];
    for (name, expected) in libraries {
        assert_eq!(is_c_library(name), expected, "{}", String::from_utf8_lossy(name));
    }
}

#[test]
fn two_reads_show_what_changed() {
    let mut state = state(&[[100, 800, 100, 880, 0, 0]]);
    let mut later = state.clone();
    if let Ok(heap) = &mut later.heap {
        heap.arenas[0].in_use += 5 << 20;
        heap.arenas[0].top -= 1 << 20;
    }
    assert!(state.can_change());
    later.compare(&state, Duration::from_secs(30));
    let said = later.verdict(Units::Auto).join(" ");
    assert!(said.contains("In 30s: +5.0M in use, -1.0M free."), "{said}");
    // The figures of a heap that was not followed to its end are a minimum, and one that is unknown has none.
    if let Ok(heap) = &mut state.heap {
        heap.is_partial = true;
    }
    later.compare(&state, Duration::from_secs(30));
    assert_eq!(later.change, None);
    state.heap = Err(Unknown::Moving);
    assert!(!state.can_change());
}
