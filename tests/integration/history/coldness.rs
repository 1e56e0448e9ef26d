//! Memory that a process touched: sums, the coldest mapping, and the processes whose figures are kept.

use std::time::Duration;

use crate::support::rows::{MIB, process, snapshot, walk};

use zmtop::history::mappings::{Coldness, ColdnessTable, Look, MAX_ASKED, Resident};
use zmtop::model::mapping::{Extent, Mapping, MappingKind, MappingName};
use zmtop::model::{Missing, Reading};

const MINUTE: Duration = Duration::from_secs(60);

/// A mapping with so much resident, and so much of that touched, in MiB.
fn mapping(name: &str, rss: u64, referenced: Reading<u64>) -> Mapping {
    Mapping {
        areas: 1,
        memory: Ok(walk(rss * MIB, 0).memory),
        extent: Ok(Extent {
            size: 2 * rss * MIB,
            referenced: referenced.map(|mib| mib * MIB),
            ..Extent::NONE
        }),
        ..Mapping::new(MappingName::parse(name.as_bytes(), false))
    }
}

fn mib(rss: u64, hot: u64) -> Resident {
    Resident {
        rss: rss * MIB,
        hot: hot * MIB,
    }
}

#[test]
fn what_was_not_touched_is_cold_by_mapping_and_in_all() {
    let found = Coldness::new(
        &[
            mapping("[stack]", 1, Ok(1)),
            mapping("/usr/lib/libc.so", 500, Ok(0)),
            mapping("[heap]", 430, Ok(18)),
            mapping("", 40, Ok(40)),
        ],
        MINUTE,
    );
    assert_eq!(found.total, Ok(mib(971, 59)));
    assert_eq!(found.total.unwrap().cold(), 912 * MIB);
    let names: Vec<_> = found.mappings.iter().map(|m| (m.kind, m.resident)).collect();
    let expected = [
        (MappingKind::File, Ok(mib(500, 0))),
        (MappingKind::Heap, Ok(mib(430, 18))),
        (MappingKind::Stack, Ok(mib(1, 1))),
        (MappingKind::Anon, Ok(mib(40, 40))),
    ];
    assert_eq!(names, expected, "the coldest first");
    // Pages of a file can be dropped and read again: a leak is not looked for there.
    let (coldest, resident) = found.coldest().unwrap();
    assert_eq!((&*coldest.name, resident), (&b"[heap]"[..], mib(430, 18)));
    assert!((resident.cold_share() - 412.0 / 430.0).abs() < 1e-9);
    assert!(mib(0, 0).cold_share().abs() < 1e-9);
    assert_eq!(found.mapping(MappingKind::Heap, b"[heap]"), Some(coldest));
    assert_eq!(found.mapping(MappingKind::Heap, b"[anon]"), None);
}

#[test]
fn more_cannot_be_touched_than_is_resident() {
    let found = Coldness::new(&[mapping("[heap]", 10, Ok(1 << 40))], MINUTE);
    assert_eq!(found.total, Ok(mib(10, 10)));
    let full = Resident {
        rss: u64::MAX,
        hot: u64::MAX,
    };
    assert_eq!(full.cold(), 0);
}

#[test]
fn a_replaced_file_counts_with_the_one_there_now() {
    let found = Coldness::new(
        &[
            mapping("/opt/data", 10, Ok(4)),
            mapping("/opt/data (deleted)", 20, Ok(5)),
        ],
        MINUTE,
    );
    assert_eq!(found.mappings.len(), 1);
    assert_eq!(found.mappings[0].resident, Ok(mib(30, 9)));
    assert_eq!(found.mappings[0].size, Ok(60 * MIB));
}

#[test]
fn what_is_unknown_is_never_zero() {
    for why in [Missing::Unsupported, Missing::Malformed] {
        let all = [mapping("[heap]", 10, Err(why)), mapping("", 20, Ok(5))];
        let found = Coldness::new(&all, MINUTE);
        assert_eq!(found.total, Err(why));
        let heap = found.mapping(MappingKind::Heap, b"[heap]").unwrap();
        assert_eq!(heap.resident, Err(why));
        assert_eq!(found.coldest().unwrap().1, mib(20, 5), "what is known is told");
    }
    assert!(Coldness::new(&[], MINUTE).total.is_err(), "no mapping is no figure");
    assert_eq!(Coldness::new(&[mapping("/a", 1, Ok(0))], MINUTE).coldest(), None);
}

#[test]
fn only_who_was_asked_for_has_figures_and_only_by_the_last_clearing() {
    let mut table = ColdnessTable::default();
    let (asked, other) = (process(7, 1, "a"), process(8, 1, "b"));
    assert_eq!(table.get(&asked).unwrap_err(), Missing::NotAsked);
    table.ask(&asked);
    assert_eq!(table.get(&asked).unwrap_err(), Missing::Pending);
    assert_eq!(table.get(&other).unwrap_err(), Missing::NotAsked);
    let look = table.looks().next().unwrap();
    assert_eq!(look.id, asked.id);
    let found = Coldness::new(&[mapping("[heap]", 10, Ok(4))], MINUTE);
    table.record(look, Ok(found.clone()));
    assert_eq!(table.get(&asked), Ok(&found));
    // A read that fails takes the figure away: it is no longer known to be cold.
    table.record(look, Err(Missing::TimedOut));
    assert_eq!(table.get(&asked).unwrap_err(), Missing::TimedOut);
    // Cleared again, all begins anew; what was still being read is of the time before.
    table.ask(&asked);
    table.record(look, Ok(found));
    assert_eq!(table.get(&asked).unwrap_err(), Missing::Pending);
    assert_eq!(table.looks().count(), 1);
    // Of another process, or of one that was never asked for, nothing is taken.
    let stranger = Look { id: other.id, ..look };
    table.record(stranger, Err(Missing::Gone));
    assert_eq!(table.get(&other).unwrap_err(), Missing::NotAsked);
}

#[test]
fn another_program_and_another_process_begin_anew() {
    let mut table = ColdnessTable::default();
    let before = process(7, 1, "a");
    table.ask(&before);
    table.retain_living(&snapshot(MINUTE, vec![process(1, 0, "init"), before.clone()]));
    assert_eq!(table.looks().count(), 1);
    let mut execed = before.clone();
    execed.exec += 1;
    assert_eq!(table.get(&execed).unwrap_err(), Missing::NotAsked);
    let mut reused = before.clone();
    reused.id.starttime += 1;
    assert_eq!(table.get(&reused).unwrap_err(), Missing::NotAsked);
    for next in [vec![], vec![execed], vec![reused]] {
        let mut table = ColdnessTable::default();
        table.ask(&before);
        table.retain_living(&snapshot(MINUTE, next));
        assert_eq!(table.looks().count(), 0);
    }
}

#[test]
fn no_more_are_looked_at_than_is_cheap() {
    let mut table = ColdnessTable::default();
    for pid in 1..=40 {
        table.ask(&process(pid, 0, "x"));
    }
    let pids: Vec<_> = table.looks().map(|look| look.id.pid).collect();
    assert_eq!(pids.len(), MAX_ASKED);
    assert_eq!(*pids.last().unwrap(), 40, "the one asked for first is forgotten");
    assert_eq!(table.get(&process(1, 0, "x")).unwrap_err(), Missing::NotAsked);
}
