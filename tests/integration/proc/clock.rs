//! The cost of zmtop itself.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zmtop::proc::clock::{children_cost, moment, monotonic, process_time, self_cost, since_boot, uptime_offset};

use crate::support::{Owned, PATIENCE};

/// Children count while they run and after their end. The other tests of this process have children too, which only add.
#[test]
fn the_cost_of_zmtop_includes_its_children() {
    const SPENT: Duration = Duration::from_millis(200);
    let own = || process_time(std::process::id()).unwrap();
    let (ended, mut before) = (children_cost().cpu, own());
    let busy = Command::new("sh")
        .args(["-c", "while :; do :; done"])
        .stdin(Stdio::null())
        .spawn();
    let mut busy = Owned(busy.unwrap());
    let start = Instant::now();
    while process_time(busy.id()).unwrap() < SPENT {
        assert!(start.elapsed() < PATIENCE, "it does not run");
        std::thread::sleep(Duration::from_millis(5));
    }
    let statm = std::fs::read_to_string(format!("/proc/{}/statm", busy.id())).unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    assert!(
        children_cost().rss >= pages * rustix::param::page_size() as u64,
        "{:?}: {pages} pages",
        children_cost()
    );
    for is_over in [false, true] {
        if is_over {
            busy.kill().unwrap();
            busy.wait().unwrap();
        }
        let cost = self_cost().unwrap().cpu;
        assert!(cost >= before + SPENT, "{is_over}: {cost:?} of {before:?}");
        before = own();
    }
    assert!(children_cost().cpu >= ended + SPENT);
}

#[test]
fn the_clocks_of_a_moment_lie_between_reads_before_and_after() {
    let before = (monotonic(), since_boot());
    let moment = moment();
    let after = (monotonic(), since_boot());
    assert!((before.0..=after.0).contains(&moment.monotonic));
    assert!((before.1..=after.1).contains(&moment.since_boot));
}

#[test]
fn an_uptime_that_was_read_late_is_the_clocks() {
    for (uptime, since_boot, offset) in [
        (1000.0, 1000.01, 0.0),
        // Parsed seven seconds after it was read.
        (1000.0, 1007.0, 0.0),
        // A container that started an hour after the machine.
        (1000.0, 4600.0, -3600.0),
    ] {
        let found = uptime_offset(uptime, Duration::from_secs_f64(since_boot));
        assert!((found - offset).abs() < 0.001, "{found} is not {offset}");
    }
}
