//! The counters of a Java virtual machine.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::heaps::java;
use zmtop::proc::hsperfdata;

fuzz_target!(|bytes: &[u8]| {
    black_box(hsperfdata::parse(bytes).ok());
    black_box(hsperfdata::text(bytes, b"java.property.java.vm.version").ok());
    black_box(java::safety(Some(bytes), b"", &[]).is_ok());
});
