//! Snapshots in lines of JSON, compressed or not, as far as verdicts and limits.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use std::hint::black_box;
use std::time::Duration;
use zmtop::alert::Alerts;
use zmtop::engine::State;
use zmtop::history::History;
use zmtop::limits::Limits;
use zmtop::record;
use zmtop::source::Source;

fuzz_target!(|bytes: &[u8]| -> Corpus {
    for line in bytes.split(|byte| *byte == b'\n').take(4) {
        black_box((
            record::read(line).is_ok(),
            record::time_of(line).is_ok(),
            record::Brief::of(line),
        ));
    }
    let Ok(source) = Source::of_stream(support::file(bytes)) else {
        return Corpus::Reject;
    };
    let mut state = State::new(History::new(Duration::from_secs(10)), Alerts::new(Vec::new()));
    let mut limits = Limits::default();
    let mut writer = record::ChangeWriter::default();
    for snapshot in source.with_longest(1 << 20).filter_map(Result::ok).take(8) {
        limits.push(&snapshot);
        black_box(writer.line(&snapshot));
        black_box(state.push(snapshot));
    }
    black_box(limits.findings().len());
    Corpus::Keep
});
