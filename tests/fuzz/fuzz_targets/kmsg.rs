//! Records of the kernel log: kills for lack of memory.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::proc::kmsg::LogParser;

fuzz_target!(|bytes: &[u8]| {
    let mut parser = LogParser::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        parser.feed(line);
    }
    black_box(parser.take());
});
