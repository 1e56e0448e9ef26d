//! Recordings: the index of their groups, and the snapshots of the groups.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use std::time::Duration;
use zmtop::record;
use zmtop::source::{Recording, Source};

fuzz_target!(|bytes: &[u8]| {
    black_box((record::Header::parse(bytes).is_ok(), record::parse_incidents(bytes)));
    let file = support::file(bytes);
    let path = support::path_of(&file);
    let Ok(mut recording) = Recording::open(&path) else {
        return;
    };
    let (first, last) = recording.span();
    black_box((
        recording.incidents().len(),
        recording.has_incidents(),
        recording.last_before(first),
    ));
    black_box(
        recording
            .read_from(first)
            .with_longest(1 << 20)
            .take(4)
            .filter(Result::is_ok)
            .count(),
    );
    black_box(
        recording
            .read_from(last)
            .with_longest(1 << 20)
            .take(4)
            .filter(Result::is_ok)
            .count(),
    );
    for at in 0..recording.groups().len().min(2) {
        black_box(
            recording
                .read_group(at)
                .with_longest(1 << 20)
                .take(4)
                .filter(Result::is_ok)
                .count(),
        );
    }
    black_box(recording.refresh().is_ok());
    if let Ok(source) = Source::open_before(&path, Some(last), Duration::from_secs(60)) {
        black_box(source.with_longest(1 << 20).take(8).filter(Result::is_ok).count());
    }
});
