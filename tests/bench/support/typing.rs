//! Keys typed at the real program, and how long each takes to be answered.

use std::time::{Duration, Instant};

use super::screen::Screen;

/// Prints the quantiles, of all keys and of each kind.
pub(crate) fn report(name: &str, times: &[(f64, char)]) {
    let line = |name: &str, mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        let at = |part: f64| times[((times.len() - 1) as f64 * part).ceil() as usize];
        println!(
            "  {name:<24} {:>5} {:>8.2} {:>8.2} {:>8.2} {:>8.2}",
            times.len(),
            at(0.5),
            at(0.9),
            at(0.99),
            at(1.0)
        );
    };
    line(name, times.iter().map(|(ms, _)| *ms).collect());
    for (kind, what) in [('j', "j, k"), ('I', "I"), ('x', "a filter's letter")] {
        let own: Vec<f64> = times.iter().filter(|(_, k)| *k == kind).map(|(ms, _)| *ms).collect();
        if !own.is_empty() {
            line(&format!("    {what}"), own);
        }
    }
}

/// Types keys, at moments when a scan is seen to run, or not to, or at any: milliseconds to the answer.
pub(crate) fn run(interval: &str, moment: Option<bool>, keys: usize) -> Vec<(f64, char)> {
    let mut screen = Screen::start(&["--interval", interval]);
    screen.until("the table", |s| {
        s.text().contains("Σ") && !s.line(0).contains("(reading ")
    });
    let mut jitter = 12345_u64;
    let mut times = Vec::new();
    for nth in 0..keys {
        jitter = jitter.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_millis(10 + (jitter >> 33) % 40));
        if nth % 20 == 0 {
            // Off the first row, where the selection would stay while the processes change.
            screen.send("\x1b[Hjj");
            std::thread::sleep(Duration::from_millis(300));
        }
        let (key, kind) = match nth % 20 {
            9 | 13 | 19 => ("I", 'I'),
            14 => ("/", '/'),
            15 => ("1", 'x'),
            16 => ("5", 'x'),
            17 => ("\x15", 'x'), // Ctrl-U: all of it gone again
            18 => ("\r", '/'),
            n if n % 2 == 0 => ("j", 'j'),
            _ => ("k", 'j'),
        };
        if let Some(running) = moment {
            await_scan(&screen, running);
        }
        screen.catch_up();
        let before = Seen::of(&screen);
        let sent = screen.send(key);
        let came = screen.until(key, |s| {
            let now = Seen::of(s);
            match kind {
                'j' => now.selected != before.selected,
                'I' => now.order != before.order,
                _ => now.input != before.input,
            }
        });
        times.push((came.saturating_duration_since(sent).as_secs_f64() * 1e3, kind));
    }
    times
}

/// The part of the screen that keys change and snapshots do not.
#[derive(PartialEq)]
struct Seen {
    selected: String,
    order: Option<char>,
    input: Option<String>,
}

impl Seen {
    fn of(screen: &Screen) -> Self {
        let text = screen.text();
        let heading = text.lines().find(|l| l.contains("COMMAND")).unwrap_or_default();
        let footer = screen.line(49);
        let typed = footer.trim_start().strip_prefix("Filter").map(|rest| {
            // Without the count of matches, which a snapshot may change.
            rest.trim_end()
                .trim_end_matches("match")
                .trim_end()
                .trim_end_matches(|c: char| c.is_ascii_digit())
                .trim()
                .to_owned()
        });
        Self {
            selected: selected(screen),
            order: heading.chars().find(|c| "▼▲".contains(*c)),
            input: typed,
        }
    }
}

/// The pid in the line about the selected process.
fn selected(screen: &Screen) -> String {
    screen.line(48).split_whitespace().next().unwrap_or_default().to_owned()
}

/// Returns true if a thread that reads `/proc` is on a processor, or ready for one.
fn scanning(pid: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut states = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("stat")).ok());
    states.any(|stat| stat.contains("(zmtop-read") && stat.contains(") R "))
}

/// Waits until a scan is seen to run twice within a millisecond, or not to.
fn await_scan(screen: &Screen, running: bool) {
    let start = Instant::now();
    let mut seen = 0;
    while seen < 2 {
        seen = if scanning(screen.pid()) == running { seen + 1 } else { 0 };
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "no moment when a scan runs: {running}"
        );
        std::thread::sleep(Duration::from_micros(300));
    }
}
