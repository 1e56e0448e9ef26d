//! Files of the machine.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::proc::{accounting, kallsyms, kernel, page_cache, system};

fuzz_target!(|bytes: &[u8]| {
    for file in system::SystemFile::ALL {
        drop(black_box(file.parse(Ok(bytes))));
    }
    black_box((system::mm_stat(bytes), accounting::zoneinfo(bytes).ok()));
    black_box((accounting::sockets(bytes).ok(), accounting::sysv(bytes).ok()));
    black_box(accounting::memory_mounts(bytes).len());
    black_box(page_cache::file_systems(bytes).count());
    black_box(kernel::slabinfo(bytes, 4096).ok());
    black_box(kernel::allocinfo(bytes).ok());
    let mut lookup = kallsyms::Lookup::new(vec![u64::MAX, 0x1000, 0xffff_ffff_8100_0010, 0]);
    bytes.chunks(13).for_each(|piece| lookup.feed(piece));
    black_box(lookup.finish().ok());
});
