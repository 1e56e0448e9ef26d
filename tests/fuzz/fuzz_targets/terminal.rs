//! Bytes from the terminal, in pieces with pauses. Each piece is its length, the pause before it, and the bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use std::time::Duration;
use support::Numbers;
use zmtop::run::monitor::decoder::Decoder;

fuzz_target!(|bytes: &[u8]| {
    for is_awaiting in [false, true] {
        let mut numbers = Numbers(bytes);
        let mut decoder = Decoder::new(is_awaiting);
        let mut now = Duration::from_secs(1);
        while !numbers.0.is_empty() {
            let [len, pause] = numbers.bytes();
            now += Duration::from_millis(u64::from(pause) * 20);
            if decoder.deadline().is_some_and(|deadline| deadline <= now) {
                black_box(decoder.expire(now));
            }
            let (piece, rest) = numbers.0.split_at(usize::from(len).min(numbers.0.len()));
            numbers.0 = rest;
            black_box(decoder.feed(piece, now));
        }
        black_box(decoder.expire(now + Duration::from_secs(10)));
    }
});
