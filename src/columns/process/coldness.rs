//! Hot and cold memory, of processes that the user asked for.

use super::Entry;
use super::read::coldness;
use crate::columns::{AppliesTo, Unit, Value};

pub(super) const COLUMNS: &[Entry] = &[
    Entry::bytes("hot", "HOT", |r| coldness(r, |c| Ok(Value::Bytes(c.total?.hot))))
        .help(
            "The working set: resident pages, whole, that the process touched since c was pressed on it; COLDFOR says \
             how long ago. A huge page counts whole. Kernel: Referenced in smaps, after clear_refs.",
        )
        .additive(false)
        .applies_to(AppliesTo::Processes),
    Entry::bytes("cold", "COLD", |r| coldness(r, |c| Ok(Value::Bytes(c.total?.cold()))))
        .help(
            "Resident pages, whole, that the process did not touch since c was pressed on it; other processes may have. \
             Leaked memory is cold for ever. Formula: Rss − Referenced of smaps.",
        )
        .additive(false)
        .applies_to(AppliesTo::Processes),
    Entry::figure("cold_for", "COLDFOR", Unit::Seconds, 7, |r| {
        coldness(r, |c| Ok(Value::Seconds(c.since.as_secs_f64())))
    })
    .help("How long COLD was not touched: from c to the last look. Formula: time since clear_refs was written.")
    .applies_to(AppliesTo::Processes),
];
