//! What Java virtual machines and Node.js answer: recordings of the Flight Recorder, texts of diagnostic commands, and profiles of V8.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::heap::{java, node};
use zmtop::heaps::java::unpack;

fuzz_target!(|bytes: &[u8]| {
    black_box(java::jfr::kept(bytes).map(|kept| kept.len()));
    black_box(java::histogram(bytes).map(|types| types.len()));
    black_box((java::heap_info(bytes).len(), java::native_memory(bytes).len()));
    black_box(node::sites(bytes).map(|sites| sites.len()));
    black_box(unpack(bytes.to_vec()).is_ok());
});
