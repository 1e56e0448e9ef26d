//! Times the first table on the screen, beside the least it could take.
//!
//! `cargo bench --bench first -- [PROCESSES AREAS PAGES [ROUNDS]]` makes a load as the bench `scan` does
//! (1000, 100 and 5 unless told otherwise), and takes turns between the floor (two threads open, read and
//! close every `smaps_rollup`, and nothing else) and a start of the real program in a terminal of 200×50:
//! from before it is started until the last byte of the first frame that shows processes with figures.
#![expect(clippy::print_stdout, reason = "a bench reports")]
#![expect(clippy::unwrap_used, reason = "a bench that cannot unwrap has failed")]

#[path = "support/floor.rs"]
mod floor;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/load.rs"]
mod load;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "support/screen.rs"]
mod screen;
#[expect(dead_code, reason = "each bench uses a part")]
#[path = "../integration/support/terminal.rs"]
mod terminal;

use std::time::{Duration, Instant};

use load::Load;
use screen::Screen;

fn main() {
    Load::be_one_if_told();
    let mut numbers = std::env::args().skip(1).filter_map(|arg| arg.parse().ok());
    let mut next = |default| numbers.next().unwrap_or(default);
    let (processes, areas, pages, rounds) = (next(1000), next(100), next(5), next(15));
    let _load = Load::start(processes, areas, pages);
    println!("load: {processes} processes of {areas} areas of {pages} pages");

    floor::floor(2);
    first_table();
    let (mut floors, mut firsts, mut differences) = (Vec::new(), Vec::new(), Vec::new());
    let mut whole = 0;
    for _ in 0..rounds {
        let start = Instant::now();
        floor::floor(2);
        let floor = start.elapsed();
        let (first, all) = first_table();
        whole += usize::from(all);
        floors.push(ms(floor));
        firsts.push(ms(first));
        differences.push(ms(first) - ms(floor));
    }
    println!("{rounds} rounds                   median      best     worst   ms");
    for (name, values) in [
        ("floor", &mut floors),
        ("first table", &mut firsts),
        ("first table - floor", &mut differences),
    ] {
        values.sort_by(f64::total_cmp);
        println!(
            "  {name:<22} {:>9.1} {:>9.1} {:>9.1}",
            values[values.len() / 2],
            values[0],
            values[values.len() - 1]
        );
    }
    println!("in {whole} of {rounds} the first table held every process's figures");
}

/// The time until the first table, and whether nothing was left to be read.
fn first_table() -> (Duration, bool) {
    let mut screen = Screen::start(&[]);
    let at = screen.until("the first table", |s| s.text().contains("COMMAND") && has_figures(s));
    (at - screen.started, !screen.line(0).contains("(reading "))
}

/// Returns true if the first row below the heading begins with a figure.
fn has_figures(screen: &Screen) -> bool {
    let text = screen.text();
    let mut lines = text.lines().skip_while(|l| !l.contains("COMMAND"));
    lines
        .nth(1)
        .is_some_and(|row| row.trim_start().starts_with(|c: char| c.is_ascii_digit()))
}

fn ms(d: Duration) -> f64 {
    d.as_secs_f64() * 1e3
}
