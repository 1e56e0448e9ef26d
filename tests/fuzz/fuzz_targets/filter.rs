//! The filter language, the conditions of alerts, and other values that a user writes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use std::sync::LazyLock;
use zmtop::alert::{Rule, TargetKind};
use zmtop::columns::{self, COLUMNS, Row};
use zmtop::filter::{self, Filter};
use zmtop::group::GroupBy;
use zmtop::model::{Missing, Snapshot};
use zmtop::source::At;
use zmtop::units;

static SNAPSHOT: LazyLock<Vec<std::sync::Arc<Snapshot>>> = LazyLock::new(|| {
    let bytes = include_bytes!("../../fixtures/recordings/v1/every-field.ndjson.zst");
    let source = zmtop::source::Source::of_stream(support::file(bytes)).expect("the fixture is whole");
    source.filter_map(Result::ok).take(2).collect()
});

fuzz_target!(|text: &str| {
    match Filter::parse(text, &COLUMNS) {
        Ok(filter) => {
            black_box((
                filter.remark(),
                filter.bounds(),
                filter.users(),
                filter.columns(),
                filter.text_fields().len(),
            ));
            black_box(columns::needs_of_filter(&filter));
            for snapshot in SNAPSHOT.iter() {
                for sample in snapshot.rows() {
                    let row = Row::of_process(sample, None, snapshot);
                    black_box((
                        filter.matches(&row),
                        filter.matches_but_for_figures(&row),
                        filter.evaluate(&row),
                    ));
                }
            }
        }
        Err(error) => {
            black_box(error.in_lines(text));
        }
    }
    for kind in [
        TargetKind::Process,
        TargetKind::System,
        TargetKind::Part,
        TargetKind::Group(GroupBy::Command),
    ] {
        if let Ok(rule) = Rule::new("name", kind, text) {
            black_box((rule.needs(), rule.made_up(std::time::SystemTime::UNIX_EPOCH).summary()));
        }
    }
    // What quotes write, the parser reads as one text.
    let quoted = filter::quoted(text);
    black_box(Filter::parse(&format!("name={quoted}"), &COLUMNS).is_ok());
    black_box((
        units::parse_span(text),
        units::parse_size(text),
        units::parse_rate(text),
        units::per(text),
    ));
    if let Some(span) = units::parse_span(text) {
        black_box((units::span(span), units::about(span), units::span_exact(span)));
    }
    if let Ok(at) = At::parse(text) {
        black_box(at.resolve(std::time::SystemTime::UNIX_EPOCH));
    }
    black_box((GroupBy::from_id(text), Missing::parse(text)));
});
