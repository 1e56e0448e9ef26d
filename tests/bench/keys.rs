//! Times the frame that answers a key.
//!
//! `cargo bench --bench keys -- [PROCESSES AREAS PAGES [KEYS]]` makes a load as the bench `scan` does
//! (1000, 100 and 5 unless told otherwise), and types that many keys (600) at the real program in a
//! terminal of 200×50: at an interval of 1 s between scans, at random moments, and at 100 ms, each while
//! a scan is seen to run. A key counts as answered once a frame has come whole that shows what the key
//! does, and a snapshot does not: another process is selected, the order is turned, the filter has the
//! letter.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/load.rs"]
mod load;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/screen.rs"]
mod screen;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "../integration/support/terminal.rs"]
mod terminal;
#[path = "support/typing.rs"]
mod typing;

use load::Load;
use typing::{report, run};

fn main() {
    Load::be_one_if_told();
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let mut next = |default| numbers.next().unwrap_or(default);
    let (processes, areas, pages, keys) = (next(1000), next(100), next(5), next(600));
    let _load = Load::start(processes, areas, pages);
    println!("load: {processes} processes of {areas} areas of {pages} pages; {keys} keys each");
    println!("                            keys      p50      p90      p99      max   ms");
    for (name, interval, moment) in [
        ("1 s, between scans", "1s", Some(false)),
        ("1 s, at any moment", "1s", None),
        ("100 ms, during a scan", "100ms", Some(true)),
    ] {
        report(name, &run(interval, moment, keys));
    }
}
