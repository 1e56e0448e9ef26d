//! Records of the kernel: page faults with registers and stacks, and the ends of tasks.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::proc::page_faults::Format;
use zmtop::proc::perf::records;
use zmtop::proc::taskstats;

fuzz_target!(|bytes: &[u8]| {
    for has_page_size in [false, true] {
        let format = Format { has_page_size };
        for record in records(bytes) {
            let mut copied = Vec::new();
            Format::append(record, &mut copied);
            let copy = records(&copied).next().and_then(|copy| format.parse(copy));
            assert_eq!(copy, format.parse(record));
        }
    }
    taskstats::ends(bytes).for_each(|end| {
        black_box((end.is_first(), end));
    });
});
