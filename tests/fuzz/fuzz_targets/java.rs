//! Answers of Java virtual machines, .NET and Node.js: recordings of the Flight Recorder, texts of diagnostic commands, streams of
//! counters, and profiles of V8.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::heap::{dotnet, java, node};
use zmtop::heaps::java::unpack;
use zmtop::units::Units;

fuzz_target!(|bytes: &[u8]| {
    black_box(java::jfr::kept(bytes).map(|kept| kept.len()));
    black_box(java::histogram(bytes).map(|types| types.len()));
    black_box((java::heap_info(bytes).len(), java::native_memory(bytes).len()));
    black_box(node::sites(bytes).map(|sites| sites.len()));
    black_box(dotnet::answer(bytes));
    let mut stream = dotnet::Stream::default();
    for part in bytes.chunks(1000) {
        if stream.push(part).is_err() {
            break;
        }
    }
    black_box(stream.counters().map(|counters| counters.runtime(String::new(), None).verdict(Units::Auto)));
    black_box(unpack(bytes.to_vec()).is_ok());
});
