//! Processes whose facts change: their groups follow, and their own history goes on.

use zmtop::group::GroupBy;
use zmtop::history::History;
use zmtop::model::ProcessSample;

use super::history::{WINDOW, nginx, push};
use super::{bytes, key, placed};
use crate::support::rows::{MIB, with_facts};

/// The last footprint of a group, in MiB; `None` where it has no member.
fn last(history: &History, by: GroupBy, name: &str) -> Option<u64> {
    let bands = history.group(&key(by, name))?.footprint().recent(1);
    bands.last().copied().flatten().map(|band| band.last / MIB)
}

#[test]
fn a_changed_fact_moves_the_memory_at_once() {
    let unit = |row: ProcessSample, unit: &str| with_facts(row, |f| f.unit = Some(bytes(unit)));
    let one = |to: bool| {
        let (user, cgroup, name) = if to {
            ("alice", "/b.service", "b.service")
        } else {
            ("root", "/a.service", "a.service")
        };
        unit(placed(nginx(7, 30), user, cgroup, |_| {}), name)
    };
    let other = || unit(placed(nginx(8, 10), "root", "/a.service", |_| {}), "a.service");
    let mut history = History::new(WINDOW);
    for second in 0..10 {
        push(&mut history, second, vec![one(false), other()]);
    }
    let began = history.get(one(false).id).unwrap().footprint().start();
    push(&mut history, 10, vec![one(true), other()]);
    for (by, from, to) in [
        (GroupBy::User, "root", "alice"),
        (GroupBy::Cgroup, "/a.service", "/b.service"),
        (GroupBy::Unit, "a.service", "b.service"),
    ] {
        assert_eq!(last(&history, by, from), Some(10), "{from}");
        assert_eq!(last(&history, by, to), Some(30), "{to}");
    }
    assert_eq!(last(&history, GroupBy::Command, "nginx"), Some(40));
    // It is no exec.
    let series = history.get(one(true).id).unwrap().footprint();
    assert_eq!(series.start(), began);
    assert!(began.is_some());
}
