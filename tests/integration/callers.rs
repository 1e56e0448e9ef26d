//! Callers of the kernel's allocator: layouts and pages of tracefs, sums, and `zmtop kernel callers`.

mod command;
pub(crate) mod live;
mod pages;
mod perf;
pub(crate) mod report;
mod sums;

use zmtop::proc::tracefs::Decoder;

/// A file of `tests/fixtures/tracefs`, captured from kernel 6.18.
fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/fixtures/tracefs/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The events of that kernel, which has none for nodes.
const KINDS: [(&str, bool); 4] = [
    ("kfree", false),
    ("kmem_cache_free", false),
    ("kmalloc", true),
    ("kmem_cache_alloc", true),
];

fn decoder() -> Decoder {
    let mut decoder = Decoder::default();
    for (name, taken) in KINDS {
        decoder.add(taken, &fixture(&format!("{name}.format"))).unwrap();
    }
    decoder
}
