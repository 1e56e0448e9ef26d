//! The difference between mappings at two moments.

use crate::support::rows::{MIB, walk};

use zmtop::history::mappings::{MappingTotals, Presence, diff, total_growth};
use zmtop::model::mapping::{Mapping, MappingKind, MappingName};
use zmtop::model::{Memory, Missing};

fn mapping(name: &[u8], mib: u64, swap: u64) -> Mapping {
    Mapping {
        areas: 1,
        memory: Ok(walk(mib * MIB, swap * MIB).memory),
        ..Mapping::new(MappingName::parse(name, false))
    }
}

fn names(before: &[Mapping], now: &[Mapping]) -> Vec<(String, Option<i64>, Presence)> {
    diff(&MappingTotals::of(before), &MappingTotals::of(now))
        .iter()
        .map(|g| {
            let growth = g.growth().map(|n| n / MIB.cast_signed());
            (String::from_utf8_lossy(&g.name).into_owned(), growth, g.presence)
        })
        .collect()
}

#[test]
fn the_one_that_grew_most_is_first_and_swapping_hides_nothing() {
    let before = [
        mapping(b"[heap]", 100, 0),
        mapping(b"/lib/a.so", 5, 0),
        mapping(b"", 50, 0),
        mapping(b"/old", 3, 0),
        mapping(b"/shrinks", 20, 0),
    ];
    let now = [
        mapping(b"/new", 7, 0),
        // Half of it was swapped out: it grew all the same.
        mapping(b"[heap]", 60, 60),
        mapping(b"/lib/a.so", 5, 0),
        mapping(b"", 90, 0),
        mapping(b"/shrinks", 9, 0),
    ];
    let expected = [
        ("[anon]", Some(40), Presence::Both),
        ("[heap]", Some(20), Presence::Both),
        ("/new", Some(7), Presence::New),
        ("/lib/a.so", Some(0), Presence::Both),
        ("/old", Some(-3), Presence::Gone),
        ("/shrinks", Some(-11), Presence::Both),
    ];
    let expected: Vec<_> = expected.map(|(n, g, f)| (n.to_owned(), g, f)).into();
    assert_eq!(names(&before, &now), expected);
    let rows = diff(&MappingTotals::of(&before), &MappingTotals::of(&now));
    assert_eq!(total_growth(&rows), 53 * MIB.cast_signed());
}

#[test]
fn areas_of_one_name_count_together() {
    // A library that was replaced while it is mapped is that library still.
    let before = [mapping(b"/lib/a.so", 4, 0)];
    let now = [mapping(b"/lib/a.so (deleted)", 4, 0), mapping(b"/lib/a.so", 2, 0)];
    let rows = diff(&MappingTotals::of(&before), &MappingTotals::of(&now));
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].growth(), rows[0].areas), (Some(2 * MIB.cast_signed()), 2));
    // A file that is called as the heap is, is not the heap.
    let heap = mapping(b"[heap]", 1, 0);
    let mut file = mapping(b"[heap]", 9, 0);
    file.name.kind = MappingKind::File;
    let rows = diff(
        &MappingTotals::of(std::slice::from_ref(&heap)),
        &MappingTotals::of(&[heap.clone(), file]),
    );
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].kind, rows[0].presence), (MappingKind::File, Presence::New));
}

#[test]
fn what_could_not_be_read_did_not_grow() {
    let mut hidden = mapping(b"/hidden", 1, 0);
    hidden.memory = Err(Missing::Malformed);
    let rows = diff(
        &MappingTotals::of(&[mapping(b"/hidden", 1, 0), mapping(b"/a", 9, 0)]),
        &MappingTotals::of(&[hidden, mapping(b"/a", 1, 0)]),
    );
    assert_eq!(rows[0].growth(), Some(-8 * MIB.cast_signed()));
    assert_eq!(rows[1].growth(), None, "and comes last");
    assert_eq!(total_growth(&rows), -8 * MIB.cast_signed());
    // Without SwapPss, Swap stands for it.
    let mut old = mapping(b"/a", 1, 2);
    old.memory = Ok(Memory {
        swap_pss: Err(Missing::Unsupported),
        ..old.memory.unwrap()
    });
    assert_eq!(MappingTotals::of(&[old]).all()[0].footprint, Ok(3 * MIB));
}
