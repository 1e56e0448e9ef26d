//! Unwind information that would not let an unwinder end is refused.

use zmtop::stacks::unwind_info::{of_debug_frame, of_eh_frame};

/// Returns an entry: its length, its id or the distance to its common entry, and its data, padded with `DW_CFA_nop`.
fn entry(id: u32, data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    data.resize(data.len().next_multiple_of(4), 0);
    let len = data.len() as u32 + 4;
    [&len.to_le_bytes()[..], &id.to_le_bytes(), &data].concat()
}

/// Returns `.eh_frame` of two functions, with these instructions in the common entry and in the second function.
fn eh_frame(common: &[u8], own: &[u8]) -> (Vec<u8>, Vec<usize>) {
    // Version 1, augmentation "", alignments 1 and -8, the return address in register 16.
    let mut all = entry(0, &[&[1, 0, 1, 0x78, 16], common].concat());
    let mut offsets = Vec::new();
    for instructions in [&[][..], own] {
        offsets.push(all.len());
        let address = (0x1000_u64 * offsets.len() as u64).to_le_bytes();
        let range = 0x100_u64.to_le_bytes();
        let to_common = all.len() as u32 + 4;
        all.extend(entry(to_common, &[&address[..], &range, instructions].concat()));
    }
    all.extend([0; 4]);
    (all, offsets)
}

/// `DW_CFA_def_cfa_expression`, `DW_CFA_expression` of register 3 and `DW_CFA_val_expression` of register 3.
fn forms(expression: &[u8]) -> [Vec<u8>; 3] {
    let len = [expression.len() as u8];
    [
        [&[0x0f][..], &len, expression].concat(),
        [&[0x10, 3][..], &len, expression].concat(),
        [&[0x16, 3][..], &len, expression].concat(),
    ]
}

#[test]
fn expressions_with_branches_are_refused_wherever_they_are() {
    // DW_OP_breg7 8, and DW_OP_const2u 0x282f, whose operand has the bytes of both branches.
    for harmless in [&[0x77, 8][..], &[0x0a, 0x2f, 0x28]] {
        for form in forms(harmless) {
            for (data, offsets) in [eh_frame(&form, &[]), eh_frame(&[], &form)] {
                assert_eq!(of_eh_frame(&data), Some(offsets), "{form:x?}");
            }
        }
    }
    // DW_OP_skip -3, DW_OP_lit1 DW_OP_bra -4, and a branch forward, into the operand of a constant.
    for endless in [
        &[0x2f, 0xfd, 0xff][..],
        &[0x31, 0x28, 0xfc, 0xff],
        &[0x2f, 1, 0, 0x0a, 0x2f, 0x28],
    ] {
        for form in forms(endless) {
            for (data, _) in [eh_frame(&form, &[]), eh_frame(&[], &form)] {
                assert_eq!(of_eh_frame(&data), None, "{form:x?}");
            }
        }
    }
}

#[test]
fn an_entry_hidden_in_another_one_is_not_found_and_none_may_use_it() {
    let (mut data, offsets) = eh_frame(&[], &[0; 64]);
    assert_eq!(of_eh_frame(&data), Some(offsets.clone()));
    // A common entry inside the padding of the second function, which a third one names.
    let hidden = offsets[1] + 32;
    let inside = entry(0, &[1, 0, 1, 0x78, 16, 0]);
    data[hidden..hidden + inside.len()].copy_from_slice(&inside);
    data.truncate(data.len() - 4);
    let third = entry((data.len() + 4 - hidden) as u32, &[0; 16]);
    data.extend(third);
    assert_eq!(of_eh_frame(&data), None);
}

#[test]
fn damaged_and_too_large_entries_are_refused() {
    let (data, offsets) = eh_frame(&[], &vec![0; 60_000]);
    assert_eq!(of_eh_frame(&data), Some(offsets));
    assert_eq!(of_eh_frame(&eh_frame(&[], &vec![0; 70_000]).0), None);
    assert_eq!(of_eh_frame(&eh_frame(&vec![0; 70_000], &[]).0), None);
    assert_eq!(of_eh_frame(&data[..data.len() / 2]), None);
    assert_eq!(of_eh_frame(&[]), Some(Vec::new()));
    assert_eq!(of_debug_frame(&[]), Some(Vec::new()));
    let common = entry(0, &[1, 0, 1, 0x78, 16]);
    assert_eq!(of_eh_frame(&common.repeat(1000)), Some(Vec::new()));
    assert_eq!(of_eh_frame(&common.repeat(70_000)), None);
    // DW_CFA_lo_user with an unknown number.
    assert_eq!(of_eh_frame(&eh_frame(&[], &[0x3b]).0), None);
}

#[test]
fn libraries_of_this_machine_are_sound() {
    use std::process::Command;

    // Where tests run, the C library has unwind information.
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let path = maps.split_whitespace().find(|word| word.contains("libc.so")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let section = dir.path().join("eh_frame");
    let dump = format!(".eh_frame={}", section.display());
    let made = Command::new("objcopy")
        .args(["-O", "binary", "--dump-section", &dump, path, "/dev/null"])
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return crate::support::cannot("objcopy is missing");
    }
    let entries = of_eh_frame(&std::fs::read(section).unwrap()).unwrap();
    assert!(entries.len() > 1000, "{}", entries.len());
}
