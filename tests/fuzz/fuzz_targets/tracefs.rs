//! Formats of tracepoints, and pages of the trace buffer that they describe. The input is the format, a line END, and the page.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::proc::perf::records;
use zmtop::proc::sent_signals::SignalFormat;
use zmtop::proc::tracefs::{self, Decoder, PageLayout};

const END: &[u8] = b"\nEND\n";

fuzz_target!(|bytes: &[u8]| {
    let cut = bytes.windows(END.len()).position(|window| window == END);
    let (text, page) = cut.map_or((bytes, &b""[..]), |at| (&bytes[..at], &bytes[at + END.len()..]));
    black_box((tracefs::lost(text), tracefs::mounts(text).len()));
    let mut decoder = Decoder::default();
    let _ = decoder.add(true, text);
    let _ = decoder.add(false, text);
    black_box(decoder.decode(page));
    if let Ok(format) = SignalFormat::parse(text) {
        records(page).for_each(|record| {
            black_box(format.signal(record));
        });
    }
    let Ok(layout) = PageLayout::parse(text) else { return };
    black_box(layout.size());
    let Some(page) = layout.open(page) else { return };
    for record in page.records.flatten() {
        black_box(decoder.decode(record.payload));
    }
});
