//! Stopped for a while: what went on meanwhile is a gap, not a spike.

use std::time::Duration;

use rustix::process::Signal;

use super::quit;
use crate::support::pty::{Pty, signal};
use crate::support::tree::ProcTree;

/// The rate of swapping out on the screen, in MiB a second.
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
    let swapped = |pages: u64| {
        tree.system(
            "vmstat",
            format!("pswpin 10\npswpout {pages}\npgfault 1\npgmajfault 30\n"),
        );
    };
    swapped(20);
    // It samples at the start, and when a key asks for it: the counter is never read while it changes.
    let mut pty = Pty::zmtop((120, 30), &["--interval", "1h", "--proc-root", root.to_str().unwrap()]);
    pty.wait_for_table();
    signal(pty.pid(), Signal::STOP);
    swapped(20 + 30_720);
    tree.process(1002).comm("late").cmdline("late-comer\0").write();
    std::thread::sleep(Duration::from_secs(3));
    signal(pty.pid(), Signal::CONT);
    pty.send("\x12");
    pty.wait("a rate", |s| rate(s).is_some_and(|rate| rate > 0.0));
    let seen = rate(&pty.text()).unwrap();
    // 120 MiB in three seconds or more.
    assert!(seen <= 40.0, "{seen} MiB/s after the gap");
    pty.wait_for("late-comer");
    quit(&mut pty);
}
