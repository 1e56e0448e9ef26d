//! Foreign bytes made safe to print, cut and wrapped to a width.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::hint::black_box;
use zmtop::text::{self, Align};

fuzz_target!(|bytes: &[u8]| {
    let Some((width, bytes)) = bytes.split_first() else {
        return;
    };
    let width = usize::from(*width);
    let safe = text::safe(bytes);
    assert!(!safe.chars().any(char::is_control), "{safe:?}");
    // Documents keep every byte.
    assert_eq!(text::from_lossless(&text::lossless(bytes)), bytes);
    for cut in [
        text::fit(&safe, width, Align::Left),
        text::fit(&safe, width, Align::Right),
        text::truncate(&safe, width),
        text::truncate_start(&safe, width),
        text::truncate_path(&safe, width),
        text::cut(bytes, width),
        text::cut_command(bytes, width),
    ] {
        assert!(text::width(&cut) <= width, "{cut:?} is wider than {width}");
    }
    black_box((
        text::safe_prefix(bytes, width),
        text::wrap(&safe, width).len(),
        text::skip(&safe, width),
    ));
    black_box((
        text::shell_word(bytes),
        text::without_directories(&safe, width),
        text::harmless(&safe),
        text::nearest(&safe, ["sort", "columns"]),
    ));
});
