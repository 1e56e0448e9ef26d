//! Texts about a runtime.

use std::time::Duration;

use zmtop::heap::kinds::Kind;
use zmtop::heap::runtimes::{Kept, Objects, Part, Runtime, Site, TypeUse};
use zmtop::units::Units;

const MIB: u64 = 1 << 20;

fn of(name: &str, count: u64, bytes: u64, is_own: bool) -> TypeUse {
    TypeUse {
        name: name.to_owned(),
        count,
        bytes,
        is_own,
    }
}

fn objects(types: &[(&str, u64, u64, bool)]) -> Objects {
    Objects {
        types: types
            .iter()
            .map(|(name, count, bytes, own)| of(name, *count, *bytes, *own))
            .collect(),
        is_whole: true,
    }
}

/// A Java machine that was looked at twice.
pub(crate) fn java() -> Runtime {
    let now = objects(&[
        ("byte[]", 900, 90 * MIB, false),
        ("Session", 300, 30 * MIB, true),
        ("\u{1b}[31m", 1, 8, true),
    ]);
    let before = objects(&[
        ("byte[]", 600, 60 * MIB, false),
        ("Session", 200, 20 * MIB, true),
        ("Gone", 2, MIB, true),
    ]);
    let part = |name: &str, used, committed, resident, is_heap| Part {
        name: name.to_owned(),
        used,
        committed: Some(committed),
        resident,
        is_heap,
    };
    Runtime {
        parts: vec![
            part("eden", 10 * MIB, 100 * MIB, Some(40 * MIB), true),
            part("old", 110 * MIB, 200 * MIB, Some(200 * MIB), true),
            part("Metaspace", MIB, 2 * MIB, None, false),
        ],
        native: vec![("GC".to_owned(), 5 * MIB)],
        changes: Some((Duration::from_secs(30), now.changes(&before))),
        objects: Some(now),
        sites: vec![Site {
            frames: vec!["keep".to_owned(), "main".to_owned()],
            count: Some(1),
            bytes: 8,
        }],
        kept: vec![Kept {
            class: "byte[]".to_owned(),
            frames: vec!["Session.<init>".to_owned()],
            samples: 7,
        }],
        ..Runtime::new(Kind::Java, "OpenJDK 17\u{1b}".to_owned())
    }
}

#[test]
fn changes_are_sorted_by_growth_and_name_what_went_away() {
    let changes = java().changes.unwrap().1;
    let found: Vec<_> = changes
        .iter()
        .map(|change| (change.name.as_str(), change.count, change.bytes))
        .collect();
    let mib = i64::try_from(MIB).unwrap();
    let expected = [
        ("byte[]", 300, 30 * mib),
        ("Session", 100, 10 * mib),
        ("\u{1b}[31m", 1, 8),
        ("Gone", -2, -mib),
    ];
    assert_eq!(found, expected);
}

#[test]
fn free_memory_counts_only_as_far_as_it_is_in_ram() {
    let hoard = java();
    // 240 MiB are in RAM, and 120 MiB in use.
    assert_eq!(hoard.heap(), Some((240 * MIB, 120 * MIB)));
    assert!(hoard.is_hoard());
    let cases = [
        (Some(0), false),
        (Some(30 * MIB), false),
        (Some(150 * MIB), true),
        (None, true),
    ];
    for (resident, expected) in cases {
        let mut runtime = java();
        runtime.parts[0].resident = Some(10 * MIB);
        runtime.parts[1].resident = resident.map(|more| 110 * MIB + more);
        assert_eq!(runtime.is_hoard(), expected, "{resident:?}");
    }
}

#[test]
fn the_verdict_names_the_programs_own_type() {
    let mut runtime = java();
    let first = |runtime: &Runtime| runtime.verdict(Units::Auto)[..2].join("\n");
    assert_eq!(
        first(&runtime),
        "Its heap has 240M in RAM, and 120M of it are free. The JVM keeps it for new objects: -XX:MaxHeapFreeRatio, \
         -XX:G1PeriodicGCInterval or a smaller -Xmx return it.\nOf the program's own types, Session grew most in 30s: 100 more, +10.0M."
    );
    runtime.changes = None;
    runtime.parts[1].used = 195 * MIB;
    assert_eq!(
        first(&runtime),
        "Its heap has 240M in RAM: 205M are in use, and 35.0M are free.\nSession is the largest of the program's own \
         types: 300 objects, 30.0M."
    );
    if let Some(objects) = &mut runtime.objects {
        objects.is_whole = false;
    }
    assert!(runtime.verdict(Units::Auto).concat().contains("counts are uncertain"));
}
