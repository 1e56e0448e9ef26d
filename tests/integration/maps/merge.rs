//! Areas of one name together.

use zmtop::group::mapping::{MappingMerge, Summand, total};
use zmtop::model::Missing;
use zmtop::model::mapping::{Extent, Mapping};

use super::{KB, at, read, sum};

fn summand(m: &Mapping) -> Summand<'_> {
    (
        m.areas,
        m.memory.as_ref().map_err(|e| *e),
        m.extent.as_ref().map_err(|e| *e),
    )
}

#[test]
fn areas_of_one_name_are_one_mapping() {
    let bytes = [
        at(10, b"/lib/a", 1),
        at(20, b"/lib/a", 2),
        at(30, b"/lib/b", 4),
        at(40, b"", 8),
        at(50, b"/lib/a", 16),
        at(60, b"/lib/a (deleted)", 32),
        at(70, b"", 64),
    ]
    .concat();
    let (areas, _) = read(&bytes);
    let mut merge = MappingMerge::default();
    for area in &areas {
        merge.area(area);
    }
    let mappings = merge.mappings;
    let seen: Vec<_> = mappings
        .iter()
        .map(|m| (&*m.name.bytes, m.name.deleted, m.areas, m.memory.unwrap().pss / KB))
        .collect();
    let expected = [
        (&b"/lib/a"[..], false, 3, 19),
        (b"/lib/b", false, 1, 4),
        (b"[anon]", false, 2, 72),
        (b"/lib/a", true, 1, 32),
    ];
    assert_eq!(seen, expected);
    let (count, memory, extent) = total(mappings.iter().map(summand));
    assert_eq!((memory, count), (Ok(sum(&areas)), 7));
    assert_eq!(extent.size, 2 * 127 * KB);
}

#[test]
fn a_sum_that_lacks_one_is_no_sum() {
    let bad = String::from_utf8(at(10, b"/lib/a", 1))
        .unwrap()
        .replacen("Pss:", "Xss:", 1);
    let bytes = [bad.into_bytes(), at(20, b"/lib/a", 2), at(30, b"/lib/b", 4)].concat();
    let mut merge = MappingMerge::default();
    for area in read(&bytes).0 {
        merge.area(&area);
    }
    let mappings = merge.mappings;
    assert_eq!(mappings[0].memory, Err(Missing::Malformed));
    assert_eq!(mappings[1].memory.unwrap().pss, 4 * KB);
    assert_eq!(total(mappings.iter().map(summand)).1.unwrap().pss, 4 * KB);
    assert_eq!(total([]), (0, Err(Missing::Pending), Extent::NONE));
}
