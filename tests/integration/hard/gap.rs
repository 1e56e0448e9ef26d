//! Stopped for a while: what went on meanwhile is a gap, not a spike.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::quit;
use crate::support::pty::{Pty, signal};
use crate::support::tree::ProcTree;

/// Pages of swap a second that the made machine writes: 40 MiB.
const PAGES: f64 = 10_240.0;

/// The highest rate of swapping out seen on the screen for so long, in MiB a second.
fn highest(pty: &Pty, lasts: Duration) -> f64 {
    let start = Instant::now();
    let mut highest = 0.0_f64;
    while start.elapsed() < lasts {
        let text = pty.text();
        assert!(!text.contains("inf") && !text.contains("NaN"), "{text}");
        if let Some(rate) = rate(&text) {
            highest = highest.max(rate);
        }
        std::thread::sleep(Duration::from_millis(15));
    }
    highest
}

/// The rate of swapping out on the screen.
fn rate(text: &str) -> Option<f64> {
    let (_, rest) = text.lines().find(|l| l.starts_with(" Swap"))?.split_once(" out ")?;
    let (rate, _) = rest.split_once("/s")?;
    let unit = match rate.chars().last()? {
        'K' => 1.0 / 1024.0,
        'M' => 1.0,
        'G' => 1024.0,
        'T' => 1024.0 * 1024.0,
        digit if digit.is_ascii_digit() => return rate.parse::<f64>().ok().map(|n| n / 1_048_576.0),
        other => panic!("what is {other:?} in {rate:?}?"),
    };
    rate[..rate.len() - 1].parse::<f64>().ok().map(|n| n * unit)
}

#[test]
fn stopped_for_three_seconds() {
    let tree = ProcTree::new();
    tree.process(1001).write();
    let root = tree.root();
    let stop = AtomicBool::new(false);
    let began = Instant::now();
    let swap = |tree: &ProcTree| {
        let pages = (began.elapsed().as_secs_f64() * PAGES) as u64;
        tree.system(
            "vmstat",
            format!("pswpin 10\npswpout {pages}\npgfault 1\npgmajfault 30\n"),
        );
    };
    swap(&tree);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                swap(&tree);
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        let _guard = Guard(&stop);
        let mut pty = Pty::zmtop(
            (120, 30),
            &["--interval", "200ms", "--proc-root", root.to_str().unwrap()],
        );
        pty.wait_for_table();
        pty.wait("a rate", |s| rate(s).is_some_and(|r| r > 10.0));
        signal(pty.pid(), Signal::STOP);
        std::thread::sleep(Duration::from_secs(3));
        signal(pty.pid(), Signal::CONT);
        // Three seconds of 40 MiB taken for one interval's would be 600 MiB a second. The thread that writes the counter may be late by
        // some intervals on a busy machine.
        let seen = highest(&pty, Duration::from_secs(2));
        assert!(seen > 1.0 && seen < 500.0, "{seen} MiB/s after the gap");
        tree.process(1002).comm("late").cmdline("late-comer\0").write();
        pty.wait_for("late-comer");
        quit(&mut pty);
    });
}

struct Guard<'a>(&'a AtomicBool);

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
