//! The mappings of hostile processes: look-ups among tens of thousands, and the bound of what a path costs.

use std::ops::Range;

use zmtop::proc::page_faults::Registers;
use zmtop::stacks::functions_by;
use zmtop::stacks::ranges::Ranges;

/// Adds ranges with their places in the list as values. Returns also the starts of the replaced ones.
fn made(list: &[Range<u64>]) -> (Ranges<usize>, Vec<u64>) {
    let (mut ranges, mut removed) = (Ranges::default(), Vec::new());
    for (n, range) in list.iter().enumerate() {
        ranges.insert(range, n, |start| removed.push(start));
    }
    (ranges, removed)
}

#[test]
fn an_address_is_found_in_its_range_and_a_new_range_replaces_what_it_overlaps() {
    // The ranges in order, the starts of the replaced ones, and addresses with the range in which each is found.
    type Case<'a> = (&'a [Range<u64>], &'a [u64], &'a [(u64, Option<usize>)]);
    let at_edges = [
        (9, None),
        (10, Some(1)),
        (19, Some(1)),
        (20, Some(0)),
        (29, Some(0)),
        (30, None),
        (u64::MAX, None),
    ];
    let cases: [Case<'_>; 7] = [
        (&[], &[], &[(0, None), (u64::MAX, None)]),
        (&[20..30, 10..20], &[], &at_edges),
        // The same again, one in the middle, one over all, and one that touches two.
        (&[10..20, 10..20], &[10], &[(10, Some(1))]),
        (
            &[10..40, 20..30],
            &[10],
            &[(19, None), (20, Some(1)), (29, Some(1)), (30, None)],
        ),
        (
            &[10..20, 30..40, 0..u64::MAX],
            &[30, 10],
            &[(0, Some(2)), (35, Some(2)), (u64::MAX, None)],
        ),
        (
            &[10..20, 20..30, 19..21, 30..31],
            &[20, 10],
            &[(18, None), (19, Some(2)), (21, None), (30, Some(3))],
        ),
        // An empty one, and one that ends before it begins.
        (
            &[10..20, 15..15, Range { start: 18, end: 12 }],
            &[],
            &[(15, Some(0)), (18, Some(0))],
        ),
    ];
    for (list, replaced, found) in cases {
        let (ranges, removed) = made(list);
        assert_eq!(removed, replaced, "{list:?}");
        for (address, value) in found {
            assert_eq!(ranges.at(*address).copied(), *value, "{address} in {list:?}");
        }
    }
}

#[test]
fn more_mappings_than_there_is_room_for_are_unknown_and_known_ones_can_be_replaced() {
    let max = Ranges::<usize>::MAX;
    let list: Vec<_> = (0..max as u64 + 2).rev().map(|n| n * 16..n * 16 + 8).collect();
    let (mut ranges, removed) = made(&list);
    assert!(removed.is_empty(), "{removed:?}");
    for (n, range) in list.iter().enumerate() {
        let known = (n < max).then_some(n);
        let found = [range.start, range.end - 1, range.end].map(|address| ranges.at(address).copied());
        assert_eq!(found, [known, known, None], "{n}");
        assert_eq!(
            (ranges.contains(range), ranges.has_room_for(range)),
            (n < max, n < max),
            "{n}"
        );
    }
    let last = &list[max - 1];
    ranges.insert(&(last.start..last.end - 1), max, drop);
    assert_eq!(ranges.at(last.start), Some(&max));
    assert_eq!(ranges.at(last.end - 1), None);
    assert!(!ranges.contains(last));
}

/// The searches for return addresses in code without unwind information read as many words as 2,048, however many functions a
/// stack may have.
#[test]
fn the_words_of_a_stack_that_are_searched_are_bounded() {
    if cfg!(not(target_arch = "x86_64")) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let source = ".globl _start\n.text\n_start: .ascii \"its place\"\ncall _start\n.fill 64, 1, 0x90\n.section .note.GNU-stack\n";
    let file = super::compile(dir.path(), "cc", source, "s", &["-nostdlib", "-static"]);
    let bytes = std::fs::read(&file).unwrap();
    let mark = b"its place";
    let at = bytes.windows(mark.len()).position(|window| window == mark).unwrap();
    let start = 0x5555_0000_0000;
    let after_call = start + (at + mark.len() + 5) as u64;
    let found = |apart: usize| {
        let mut words = vec![7_u64; 64 * apart];
        words
            .iter_mut()
            .skip(apart - 1)
            .step_by(apart)
            .for_each(|word| *word = after_call);
        let stack: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        let sp = 0x7fff_0000_0000;
        let registers = Registers {
            ip: after_call,
            sp,
            fp: 8,
            lr: 0,
        };
        functions_by(&file, start, registers, &stack).len()
    };
    // The words from one to the next return address, and the functions that are found with the innermost one.
    let table = [(1, 65), (32, 65), (64, 33), (200, 11), (256, 9), (257, 1)];
    for (apart, functions) in table {
        assert_eq!(found(apart), functions, "{apart}");
    }
}
