//! The heaps of other processes: glibc, jemalloc, mallocng, mimalloc, tcmalloc, Go and Python, in the memory of a made process.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use support::{Numbers, Process};
use zmtop::heap::{Placed, State, glibc, go, jemalloc, mallocng, mimalloc, python, tcmalloc};
use zmtop::units::Units;

fuzz_target!(|bytes: &[u8]| {
    let mut numbers = Numbers(bytes);
    let kind = numbers.u8();
    let minor = numbers.u8() % 8 + 7;
    let place = numbers.u16();
    let mut memory = Process::new(&mut numbers);
    match kind % 8 {
        0 => {
            let state = State {
                pid: 1,
                comm: Box::default(),
                memory: Ok(Placed {
                    resident: 1 << 20,
                    swapped: 0,
                }),
                others: Vec::new(),
                runtimes: Vec::new(),
                heap: glibc::read(&mut memory),
                change: None,
            };
            black_box((state.is_hoard(), state.lines(Units::Auto)));
        }
        1 => {
            if let Ok(heap) = jemalloc::read(&mut memory) {
                black_box((heap.total().kept(), heap.runtime()));
            }
        }
        2 => {
            if let Ok(heap) = mallocng::read(&mut memory) {
                black_box((heap.in_use(), heap.runtime()));
            }
        }
        3 => {
            let program = go::Program {
                text: memory.range(0),
                functions: memory.range(1),
                data: vec![memory.range(2), memory.range(3)],
            };
            black_box(go::sites(&mut memory, &program).ok());
        }
        4 => {
            let address = memory.address(place as u8, place >> 8);
            let runtime = python::Runtime {
                version: (3, minor),
                address,
            };
            black_box(python::objects(&mut memory, &mut || {}, runtime).ok());
        }
        5 => {
            black_box(python::pools(&mut memory, (3, minor)));
        }
        6 => {
            if let Ok(heap) = mimalloc::read(&mut memory) {
                black_box((heap.in_use(), heap.kept(), heap.runtime()));
            }
        }
        _ => {
            if let Ok(heap) = tcmalloc::read(&mut memory) {
                black_box((heap.in_use(), heap.kept(), heap.runtime()));
            }
        }
    }
});
