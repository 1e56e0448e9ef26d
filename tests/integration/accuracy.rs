//! Compares what the sampler shows over the real `/proc` with walks made at the same moment, while children of the
//! test change.
//!
//! The sampler has the shipped defaults. Just before and just after each of its ticks, the test walks its own children
//! and compares what is shown, PSS and `SwapPss` together. For each scene the test prints how long a figure was beyond
//! its stated bound, and how long beyond the tolerance, the larger of 1 % and 1 MiB. No visible row may be either for
//! more than six seconds, or a little longer where only faults reveal a change and walks are slow. Ticks in which the machine was too busy to let the sampler finish do not count.
//!
//! These tests run in real time, for longer than any other. Their names sort first, so that they start first.

pub(crate) mod child;
mod churn;
mod judge;
mod scenes;
mod sharers;

use judge::{Judge, Place};

/// The test that a child of these tests runs as.
const CHILD: &str = "accuracy::child_of_a_scene";

#[test]
#[ignore = "run by the other tests as their child"]
fn child_of_a_scene() {
    child::be(CHILD);
}

#[test]
fn changes_of_its_own() {
    let mut judge = Judge::new("own");
    let mut a = scenes::watched(&mut judge, "a", Place::InSight);
    judge.settle();
    scenes::grow_and_shrink(&mut judge, &mut a);
    scenes::fork_write_exec(&mut judge, &mut a);
    scenes::share_and_drop(&mut judge, &mut a);
    judge.end();
}

#[test]
fn files_and_swap() {
    let mut judge = Judge::new("files and swap");
    let mut a = scenes::watched(&mut judge, "a", Place::InSight);
    judge.settle();
    scenes::change_files(&mut judge, &mut a);
    scenes::swap_out_and_in(&mut judge, &mut a);
    judge.end();
}

#[test]
fn in_the_background_and_without_memory() {
    let mut judge = Judge::new("background");
    scenes::elsewhere(&mut judge);
    scenes::end(&mut judge);
    judge.end();
}

#[test]
fn beside_short_programs() {
    let mut judge = Judge::new("short programs");
    scenes::beside_short_programs(&mut judge);
    judge.end();
}

#[test]
fn beside_forks() {
    let mut judge = Judge::new("forks");
    scenes::grow_beside_forks(&mut judge);
    judge.end();
}
