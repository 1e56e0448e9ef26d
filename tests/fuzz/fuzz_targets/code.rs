//! A program whose stack is unwound and named: ELF, the tables of frames, and DWARF. The input is registers, and the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use support::Numbers;
use zmtop::proc::page_faults::Registers;
use zmtop::stacks::functions_by;

const START: u64 = 0x5555_0000_0000;
const STACK: u64 = 0x7fff_0000_0000;

fuzz_target!(|bytes: &[u8]| {
    let mut numbers = Numbers(bytes);
    let offset = u64::from(numbers.u16());
    let caller = START + u64::from(numbers.u16());
    let registers = Registers {
        ip: START + offset,
        sp: STACK,
        fp: STACK + u64::from(numbers.u8()) * 8,
        lr: caller,
    };
    // Frames of different sizes all lead to the caller.
    let stack = caller.to_le_bytes().repeat(64);
    let file = support::file(numbers.0);
    let path = support::path_of(&file);
    black_box(functions_by(&path, START, registers, &stack).len());
});
