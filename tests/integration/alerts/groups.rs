//! Rules on groups of processes.

use std::sync::Arc;

use zmtop::alert::Target;
use zmtop::group::{GroupBy, GroupKey, RowKey};
use zmtop::model::ProcessSample;

use super::{Evaluator, outline, process_with, rule};
use crate::support::rows::with_facts;

fn key(by: GroupBy, name: &str) -> Target {
    Target::Row(RowKey::Group(GroupKey {
        by,
        name: Some(Arc::from(name.as_bytes())),
    }))
}

fn of_user(pid: u32, user: &str, mib: u64) -> ProcessSample {
    with_facts(process_with(pid, mib), |facts| {
        facts.user = Ok(Arc::from(user.as_bytes()));
    })
}

#[test]
fn a_group_fires_by_its_sum_while_its_members_come_and_go() {
    let mut evaluator = Evaluator::new([rule("user", "pss>100M", 2, 0), rule("process", "pss>100M", 0, 0)]);
    // Others at every look, and none of them above the bound.
    for at in 0..2 {
        assert_eq!(
            outline(&evaluator.advance(1.0, vec![of_user(10 + at, "ann", 60), of_user(20 + at, "ann", 60)])),
            ""
        );
    }
    let fired = evaluator.advance(
        1.0,
        vec![of_user(30, "ann", 60), of_user(31, "ann", 60), of_user(32, "bob", 60)],
    );
    assert_eq!(
        (outline(&fired).as_str(), &fired[0].target),
        ("fired", &key(GroupBy::User, "ann"))
    );
    assert_eq!(fired[0].details.figure("count"), Some(2.0));
    assert_eq!(*fired[0].target_name(), *b"ann");
    assert_eq!(
        outline(&evaluator.advance(1.0, vec![of_user(30, "ann", 60), of_user(32, "bob", 60)])),
        "cleared"
    );
}

#[test]
fn words_choose_whom_a_group_sums() {
    let mut evaluator = Evaluator::new([rule("user", "pss>100M user:ann cmd:eater", 0, 0)]);
    let other = |pid| ProcessSample {
        facts: with_facts(of_user(pid, "ann", 0), |f| f.cmdline = Ok(b"other"[..].into())).facts,
        ..process_with(pid, 60)
    };
    assert_eq!(
        outline(&evaluator.advance(1.0, vec![of_user(1, "ann", 60), other(2), of_user(3, "bob", 300)])),
        ""
    );
    assert_eq!(
        outline(&evaluator.advance(1.0, vec![of_user(1, "ann", 120), other(2)])),
        "fired"
    );
}

#[test]
fn a_group_that_comes_back_is_still_cooling() {
    let mut evaluator = Evaluator::new([rule("user", "pss>100M", 0, 5)]);
    assert_eq!(outline(&evaluator.advance(1.0, vec![of_user(1, "ann", 200)])), "fired");
    assert_eq!(outline(&evaluator.advance(1.0, vec![of_user(2, "bob", 1)])), "gone");
    assert_eq!(outline(&evaluator.advance(1.0, vec![of_user(3, "ann", 200)])), "");
    assert_eq!(outline(&evaluator.advance(3.0, vec![of_user(3, "ann", 200)])), "fired");
}

#[test]
fn what_is_in_no_unit_or_container_is_no_group() {
    let mut evaluator = Evaluator::new(["unit", "container"].map(|on| rule(on, "pss>100M", 0, 0)));
    assert_eq!(outline(&evaluator.advance(1.0, vec![process_with(1, 200)])), "");
    let placed = with_facts(process_with(2, 200), |f| f.unit = Some(Arc::from(&b"db.service"[..])));
    let fired = evaluator.advance(1.0, vec![process_with(1, 200), placed]);
    assert_eq!(
        (outline(&fired).as_str(), &fired[0].target),
        ("fired", &key(GroupBy::Unit, "db.service"))
    );
}

#[test]
fn kernel_threads_are_in_no_group() {
    let mut evaluator = Evaluator::new([rule("command", "count>1", 0, 0)]);
    let mut threads = vec![process_with(1, 0), process_with(2, 0)];
    for thread in &mut threads {
        thread.stat.flags = zmtop::model::Stat::PF_KTHREAD;
    }
    assert_eq!(outline(&evaluator.advance(1.0, threads)), "");
    assert_eq!(
        outline(&evaluator.advance(1.0, vec![process_with(1, 0), process_with(2, 0)])),
        "fired"
    );
}
