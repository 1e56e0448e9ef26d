//! The cost of zmtop itself.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use zmtop::proc::clock::{children_cost, process_time, self_cost};

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
