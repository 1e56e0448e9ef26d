//! The planner beside an exhaustive scan, over the real `/proc`, while children of the test change.
//!
//! Every tick of the planner is followed at once by a scan that walks everything, and the two are compared
//! for the test's own children. A row that its own process changed must be right within two ticks, any other
//! within the greatest age. Time is counted in ticks, and those in which the machine was too busy to let the
//! planner finish, or its budget was the limit, do not count.

pub(crate) mod child;
mod judge;

use std::time::Duration;

use child::Child;
use judge::Judge;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::kernel::swap::swap_file;
use crate::support::cannot;

const NAME: &str = "truth::the_planner_beside_an_exhaustive_scan";

#[test]
fn the_planner_beside_an_exhaustive_scan() {
    child::be(NAME);
    let mut judge = Judge::new();
    let mut a = Child::start(NAME);
    judge.changed("a", a.pid());
    judge.ticks(2);

    grow_and_shrink(&mut judge, &mut a);
    fork_write_exec(&mut judge, &mut a);
    share_and_drop(&mut judge, &mut a);
    swap_out_and_in(&mut judge, &mut a);
    judge.step("nothing at all");
    judge.idle();
    judge.report();
}

/// Each step is what one process does to itself, and must be seen within two ticks.
fn own_steps(judge: &mut Judge, child: &mut Child, steps: &[(&str, &[&str])]) {
    for (what, orders) in steps {
        judge.step(what);
        for order in *orders {
            child.tell(order);
        }
        judge.changed("a", child.pid());
        judge.ticks(2);
    }
}

fn grow_and_shrink(judge: &mut Judge, a: &mut Child) {
    let steps: [(&str, &[&str]); 4] = [
        ("growing", &["map 0 16", "touch 0 0 8"]),
        ("growing on", &["touch 0 8 8"]),
        ("given back, still mapped", &["free 0 0 2"]),
        ("unmapped", &["unmap 0 4 4"]),
    ];
    own_steps(judge, a, &steps);
}

fn fork_write_exec(judge: &mut Judge, a: &mut Child) {
    judge.step("fork");
    // From here on it is the fork that answers, until it ends; the parent does nothing, and has half of each
    // page.
    let kid: u32 = a.tell("fork").parse().unwrap();
    judge.changed("a", a.pid());
    judge.changed("fork of a", kid);
    judge.settle();
    judge.step("copy on write by the fork");
    a.tell("touch 0 8 6");
    judge.changed("fork of a", kid);
    judge.settle();
    judge.step("exec of the fork");
    a.tell("exec");
    judge.changed("fork of a", kid);
    judge.settle();
    judge.step("another fork, and its end");
    a.tell("exit");
    judge.left(kid);
    let kid: u32 = a.tell("fork").parse().unwrap();
    judge.changed("a", a.pid());
    judge.changed("fork of a", kid);
    judge.settle();
    a.tell("exit");
    judge.left(kid);
    judge.settle();
}

fn share_and_drop(judge: &mut Judge, a: &mut Child) {
    let memory = memfd_create("zmtop-test", MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&memory, 8 << 20).unwrap();
    let path = {
        use std::os::fd::AsRawFd;
        format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd())
    };
    let mut others = [("b", Child::start(NAME)), ("c", Child::start(NAME))];
    judge.step("a shared mapping");
    a.tell(&format!("share 1 8 {path}"));
    judge.changed("a", a.pid());
    for (name, child) in &mut others {
        child.tell(&format!("share 1 8 {path}"));
        judge.changed(name, child.pid());
    }
    judge.settle();
    let [(_, b), (_, c)] = &mut others;
    judge.step("dropped by one of three");
    c.tell("unmap 1 0 8");
    judge.changed("c", c.pid());
    judge.settle();
    judge.step("one of two ends");
    b.end();
    judge.left(b.pid());
    judge.settle();
    judge.left(c.pid());
}

fn swap_out_and_in(judge: &mut Judge, a: &mut Child) {
    let Some(_swap) = swap_file() else { return };
    let steps: [(&str, &[&str]); 2] = [
        ("before swap", &["map 2 12", "touch 2 0 12"]),
        ("swapped out", &["pageout 2 0 12"]),
    ];
    own_steps(judge, a, &steps);
    if judge.swap_of(a.pid()) < 6 << 20 {
        cannot("this kernel swaps out next to nothing when asked to");
    }
    let steps: [(&str, &[&str]); 5] = [
        ("swapped in", &["touch 2 0 3"]),
        ("swapped-out memory given back", &["free 2 3 3"]),
        ("swapped-out memory unmapped", &["unmap 2 6 3"]),
        ("swapped in and given back", &["touch 2 9 1", "free 2 9 1"]),
        // Before the swap file goes, which else would have to be read back.
        ("the rest of it unmapped", &["unmap 2 0 6", "unmap 2 9 3"]),
    ];
    own_steps(judge, a, &steps);
}

/// A tick of the planner.
const INTERVAL: Duration = Duration::from_millis(200);
/// The greatest age of a row: a tenth of the usual, so the budget is ten times the usual.
const MAX_AGE: Duration = Duration::from_secs(3);
