//! The columns of groups.

use std::sync::Arc;
use std::time::Duration;

use zmtop::columns::{COLUMNS, Cell, Row, SortKey, Value, cell, find};
use zmtop::group;
use zmtop::group::{Change, Group, GroupBy};
use zmtop::history::History;
use zmtop::model::{CgroupFigures, Container, ContainerNames, Missing, ProcessSample, Replaced, Snapshot};
use zmtop::units::Units;

use super::{bytes, groups, placed, program};
use crate::support::rows::{MIB, snapshot, walk};

/// Two of bob's postgres, one of them updated on disk, in a unit and a container with a limit.
fn machine() -> Snapshot {
    let of = |pid, pss: u64, swap| {
        let sample = program(pid, 1, "postgres", "/usr/lib/postgres");
        let mut sample = placed(sample, "bob", "/system.slice/db.service", |f| {
            f.unit = Some(bytes("db.service"));
            let names = ContainerNames {
                name: (*b"system.slice").into(),
                pod: Some((*b"web").into()),
                namespace: Some((*b"shop").into()),
                image: None,
            };
            f.container = Some(Arc::new(Container {
                id: (*b"system.slice").into(),
                names: Ok(names),
            }));
            f.replaced = (pid == 9).then_some(Replaced::Updated);
        });
        sample.walk = Ok(walk(pss * MIB, swap * MIB));
        let memory = &mut sample.walk.as_mut().unwrap().memory;
        memory.private_dirty = pss * MIB / 4;
        memory.rss = 2 * pss * MIB;
        sample.stat.threads = 3;
        sample
    };
    let mut snap = snapshot(Duration::from_secs(100), vec![of(8, 100, 7), of(9, 40, 0)]);
    snap.system.uptime = Ok(100.0);
    let figures = CgroupFigures {
        current: Ok(500 * MIB),
        swap: Ok(9 * MIB),
        limit: Ok(None),
        swap_limit: Ok(None),
        ..CgroupFigures::missing(Missing::Unlimited)
    };
    snap.cgroups = Arc::new([(bytes("/system.slice/db.service"), figures)].into());
    snap
}

fn said(column: &str, row: &Row<'_>) -> String {
    let Cell { text, .. } = cell(&(find(column).unwrap().get().value)(row), Units::M, 40);
    text
}

fn one(snap: &Snapshot, by: GroupBy) -> Group {
    let change = |_: &ProcessSample| {
        Some(Change {
            pss: Some(MIB.cast_signed()),
            cpu: Some(0.25),
            minflt: Some(2.0),
            ..Change::default()
        })
    };
    let mut made = group::groups(snap, by, |_| true, change);
    assert_eq!(made.len(), 1);
    made.remove(0)
}

#[test]
fn figures_are_the_sums() {
    let snap = machine();
    let group = one(&snap, GroupBy::Command);
    let row = Row::of_group(&group, None, &snap);
    let table = [
        ("count", "2"),
        ("pss", "140M"),
        ("uss", "35M"),
        ("rss", "280M"),
        ("swap", "7.0M"),
        ("footprint", "147M"),
        ("shared_pss", "105M"),
        ("avg_pss", "70M"),
        ("tree_pss", "140M"),
        ("threads", "6"),
        ("dpss", "+2.0M"),
        ("cpu", "50.0"),
        ("minflt", "4.0"),
        ("age", "1m40"),
        ("elapsed", "99s"),
        ("group", "postgres"),
        ("comm", "postgres"),
        ("command", "postgres [1 updated]"),
        ("cmdline", "postgres [1 updated]"),
    ];
    for (column, want) in table {
        assert_eq!(said(column, &row), want, "{column}");
    }
    for blank in [
        "pid",
        "ppid",
        "uid",
        "state",
        "oom_score",
        "user",
        "unit",
        "container",
        "cgroup",
        "history",
    ] {
        let value = (find(blank).unwrap().get().value)(&row);
        assert!(matches!(value, Value::Blank), "{blank}: {value:?}");
    }
}

#[test]
fn a_word_is_said_where_the_grouping_is_by_it() {
    let snap = machine();
    let words = ["comm", "user", "unit", "container", "pod", "cgroup"];
    let names = [
        "postgres",
        "bob",
        "db.service",
        "system.slice",
        "shop/web",
        "/system.slice/db.service",
    ];
    for (by, (column, name)) in GroupBy::OF_PROCESSES.into_iter().zip(words.into_iter().zip(names)) {
        let group = one(&snap, by);
        let row = Row::of_group(&group, None, &snap);
        for other in words {
            assert_eq!(
                said(other, &row),
                if other == column { name } else { "" },
                "{other} by {by:?}"
            );
        }
        assert_eq!(said("group", &row), name);
    }
}

#[test]
fn what_the_cgroup_says_stands_beside_the_sums() {
    let snap = machine();
    let columns = |by| {
        let group = one(&snap, by);
        let row = Row::of_group(&group, None, &snap);
        ["cg_current", "cg_limit", "cg_swap"].map(|id| said(id, &row))
    };
    assert_eq!(columns(GroupBy::Unit), ["500M", "max", "9.0M"]);
    assert_eq!(columns(GroupBy::Cgroup), ["500M", "max", "9.0M"]);
    assert_eq!(columns(GroupBy::User), ["", "", ""]);
    // `system.slice` has no figures here.
    assert_eq!(columns(GroupBy::Container), ["-", "-", "-"]);
    // A process says what its cgroup does.
    let row = Row::of_process(&snap.rows()[0], None, &snap);
    assert_eq!(said("cg_current", &row), "500M");
    // No limit stands above every limit.
    let limit = find("cg_limit").unwrap().get().sort_key(&row);
    assert!(limit.compare(&SortKey::Number(1e18), false).is_gt());
    // Nobody asked.
    let unasked = Snapshot {
        cgroups: Arc::default(),
        ..snap.clone()
    };
    let group = one(&unasked, GroupBy::Unit);
    let row = Row::of_group(&group, None, &unasked);
    let value = (find("cg_current").unwrap().get().value)(&row);
    assert!(matches!(value, Value::Missing(Missing::Pending)), "{value:?}");
}

#[test]
fn a_group_that_is_hidden_has_no_figure_and_never_a_zero() {
    let mut snap = machine();
    for row in snap.processes.as_mut().unwrap() {
        row.walk = Err(Missing::Denied);
    }
    let group = one(&snap, GroupBy::Command);
    let row = Row::of_group(&group, None, &snap);
    let memory = [
        "pss",
        "uss",
        "swap",
        "shared_pss",
        "avg_pss",
        "footprint",
        "tree_pss",
        "dpss",
        "growth",
        "age",
    ];
    for id in memory {
        let value = (find(id).unwrap().get().value)(&row);
        assert!(matches!(value, Value::Missing(Missing::Denied)), "{id}: {value:?}");
    }
    assert_eq!(said("count", &row), "2");
    assert_eq!(said("cpu", &row), "50.0");
}

#[test]
fn the_mean_is_of_those_that_can_be_read() {
    let mut snap = machine();
    snap.processes.as_mut().unwrap()[1].walk = Err(Missing::Denied);
    let group = one(&snap, GroupBy::Command);
    let row = Row::of_group(&group, None, &snap);
    assert_eq!(
        (said("avg_pss", &row), said("count", &row)),
        ("100M".into(), "2".into())
    );
}

#[test]
fn a_mapping_is_a_row() {
    let snap = machine();
    let mut mapping = Group::new(super::key(GroupBy::Mapping, "[heap]"));
    mapping.totals.count = 4;
    mapping.totals.memory = Ok(walk(100 * MIB, 0).memory);
    mapping.readable = 4;
    let row = Row::of_group(&mapping, None, &snap);
    for (column, want) in [
        ("group", "[heap]"),
        ("command", "[heap]"),
        ("count", "4"),
        ("avg_pss", "25M"),
        ("pss", "100M"),
    ] {
        assert_eq!(said(column, &row), want, "{column}");
    }
    for blank in ["comm", "elapsed", "cg_current"] {
        assert_eq!(said(blank, &row), "", "{blank}");
    }
}

#[test]
fn the_line_is_that_of_the_whole_group_only() {
    let mut history = History::new(Duration::from_secs(10));
    let mut snap = machine();
    history.push(&snap);
    snap.monotonic += Duration::from_secs(1);
    snap.processes.as_mut().unwrap()[0].walk = Ok(walk(150 * MIB, 0));
    history.push(&snap);
    let part = group::groups(
        &snap,
        GroupBy::User,
        |p| p.id.pid == 9,
        |p| history.get(p.id).map(|s| *s.change()),
    );
    let whole = &groups(&snap, GroupBy::User)[0];
    let series = history.group(&whole.key);
    assert_eq!(said("dpss", &Row::of_group(whole, series, &snap)), "+50M");
    assert!(Row::of_group(whole, series, &snap).footprint.is_some());
    // Of the one that a filter lets through, nothing changed.
    let row = Row::of_group(&part[0], series, &snap);
    assert_eq!(said("dpss", &row), "0");
    assert!(row.footprint.is_none() && row.trend.is_none());
}

#[test]
fn no_column_is_at_a_loss_before_any_group() {
    let snap = snapshot(Duration::ZERO, Vec::new());
    for by in GroupBy::ALL {
        let group = Group::new(group::GroupKey { by, name: None });
        let row = Row::of_group(&group, None, &snap);
        for column in COLUMNS {
            let value = (column.value)(&row);
            assert!(
                !matches!(value, Value::Bytes(_)),
                "{} of nothing is {value:?}",
                column.id
            );
        }
    }
}
