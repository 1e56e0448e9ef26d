//! What grew: mappings at two moments, beside each other.

use zmtop::history::mapping_diff::{Census, Fate, grew, total};
use zmtop::model::mapping::{Kind, Mapping, Name};
use zmtop::model::{Memory, Missing};

use crate::support::rows::{MIB, walk};

fn mapping(name: &[u8], mib: u64, swap: u64) -> Mapping {
    Mapping {
        areas: 1,
        memory: Ok(walk(mib * MIB, swap * MIB).memory),
        ..Mapping::new(Name::parse(name, false))
    }
}

fn names(before: &[Mapping], now: &[Mapping]) -> Vec<(String, Option<i64>, Fate)> {
    grew(&Census::of(before), &Census::of(now))
        .iter()
        .map(|g| {
            let growth = g.growth().map(|n| n / MIB.cast_signed());
            (String::from_utf8_lossy(&g.name).into_owned(), growth, g.fate)
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
        ("[anon]", Some(40), Fate::Stayed),
        ("[heap]", Some(20), Fate::Stayed),
        ("/new", Some(7), Fate::New),
        ("/lib/a.so", Some(0), Fate::Stayed),
        ("/old", Some(-3), Fate::Gone),
        ("/shrinks", Some(-11), Fate::Stayed),
    ];
    let expected: Vec<_> = expected.map(|(n, g, f)| (n.to_owned(), g, f)).into();
    assert_eq!(names(&before, &now), expected);
    let rows = grew(&Census::of(&before), &Census::of(&now));
    assert_eq!(total(&rows), 53 * MIB.cast_signed());
}

#[test]
fn areas_of_one_name_count_together() {
    // A library that was replaced while it is mapped is that library still.
    let before = [mapping(b"/lib/a.so", 4, 0)];
    let now = [mapping(b"/lib/a.so (deleted)", 4, 0), mapping(b"/lib/a.so", 2, 0)];
    let rows = grew(&Census::of(&before), &Census::of(&now));
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].growth(), rows[0].areas), (Some(2 * MIB.cast_signed()), 2));
    // A file that is called as the heap is, is not the heap.
    let heap = mapping(b"[heap]", 1, 0);
    let mut file = mapping(b"[heap]", 9, 0);
    file.name.kind = Kind::File;
    let rows = grew(
        &Census::of(std::slice::from_ref(&heap)),
        &Census::of(&[heap.clone(), file]),
    );
    assert_eq!(rows.len(), 2);
    assert_eq!((rows[0].kind, rows[0].fate), (Kind::File, Fate::New));
}

#[test]
fn what_could_not_be_read_did_not_grow() {
    let mut hidden = mapping(b"/hidden", 1, 0);
    hidden.memory = Err(Missing::Malformed);
    let rows = grew(
        &Census::of(&[mapping(b"/hidden", 1, 0), mapping(b"/a", 9, 0)]),
        &Census::of(&[hidden, mapping(b"/a", 1, 0)]),
    );
    assert_eq!(rows[0].growth(), Some(-8 * MIB.cast_signed()));
    assert_eq!(rows[1].growth(), None, "and comes last");
    assert_eq!(total(&rows), -8 * MIB.cast_signed());
    // Without SwapPss, Swap stands for it.
    let mut old = mapping(b"/a", 1, 2);
    old.memory = Ok(Memory {
        swap_pss: Err(Missing::Unsupported),
        ..old.memory.unwrap()
    });
    assert_eq!(Census::of(&[old]).all()[0].footprint, Ok(3 * MIB));
}
