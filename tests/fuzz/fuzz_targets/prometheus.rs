//! Answers of a Prometheus server, as far as the snapshots of a fleet, now and in the past.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use std::hint::black_box;
use std::time::Duration;
use zmtop::fleet::{Answer, Field, FleetSource, Past};
use zmtop::history::History;
use zmtop::model::Missing;

/// Fields whose answers are read in different ways; a line of the input answers each.
const FIELDS: [Field; 18] = [
    Field::Pss,
    Field::Seen,
    Field::Name,
    Field::Uss,
    Field::Rss,
    Field::Swap,
    Field::SwapPss,
    Field::Verdict,
    Field::Slope,
    Field::Confidence,
    Field::GrowingFor,
    Field::System,
    Field::Pressure,
    Field::Processes,
    Field::Anon,
    Field::File,
    Field::Shmem,
    Field::Steady,
];

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(Answer::read);
    let Some(Ok(first)) = lines.next() else {
        return Corpus::Reject;
    };
    let answers: Vec<_> = std::iter::once(first).chain(lines.take(40).flatten()).collect();
    let mut fleet = FleetSource::new("server", "instance");
    let mut history = History::new(Duration::from_secs(10));
    for round in 0..2 {
        fleet.begin();
        // An answer without others is that to every query.
        for (at, field) in FIELDS.into_iter().enumerate() {
            fleet.take(
                field,
                &answers[(at + round) % answers.len()],
                Duration::from_secs(100 + round as u64),
            );
        }
        if let Some(snapshot) = fleet.finish(Duration::from_secs(10), Err(Missing::NotExported)) {
            history.push(&snapshot);
        }
        if let Some(snapshot) = fleet.complete() {
            history.push(&snapshot);
        }
        black_box(fleet.remarks());
    }
    if let Some(clock) = fleet.clock() {
        let mut past = Past::new(clock);
        for (answer, field) in answers.iter().zip(
            [Field::Pss, Field::Seen, Field::Swap, Field::SwapPss]
                .into_iter()
                .cycle(),
        ) {
            past.take(&fleet, field, answer);
        }
        black_box(past.snapshots(&fleet).len());
    }
    Corpus::Keep
});
