//! The histories of groups, while their members come and go.

use std::time::Duration;

use zmtop::group::{Change, GroupBy};
use zmtop::history::{History, RowHistory};
use zmtop::model::{Identity, Missing, ProcessSample, Stat};

use super::{bytes, groups, key, placed, program};
use crate::support::rows::{MIB, snapshot, walk, with_facts};

pub(super) const WINDOW: Duration = Duration::from_secs(10);

/// An nginx process with so much PSS, in MiB.
pub(super) fn nginx(pid: u32, pss: u64) -> ProcessSample {
    let mut sample = program(pid, 1, "nginx", "/usr/sbin/nginx");
    sample.walk = Ok(walk(pss * MIB, 0));
    sample
}

/// Takes in these processes at that second.
pub(super) fn push(history: &mut History, second: u64, rows: Vec<ProcessSample>) {
    history.push(&snapshot(Duration::from_secs(second), rows));
}

pub(super) fn series(history: &History) -> &RowHistory {
    history.group(&key(GroupBy::Command, "nginx")).unwrap()
}

pub(super) fn delta(history: &History) -> Option<i64> {
    series(history).change().pss.map(|bytes| bytes / MIB.cast_signed())
}

/// The known values of a sparkline.
fn shown(series: &RowHistory) -> Vec<u64> {
    let bands = series.footprint().recent(60);
    bands.into_iter().flatten().map(|band| band.last).collect()
}

/// The known values of the line, in MiB.
pub(super) fn line(history: &History) -> Vec<u64> {
    shown(series(history)).into_iter().map(|bytes| bytes / MIB).collect()
}

#[test]
fn every_group_of_every_kind_has_a_history() {
    let mut history = History::new(WINDOW);
    let rows = |pss| {
        let one = placed(nginx(7, pss), "alice", "/a.slice/x.service", |f| {
            f.unit = Some(bytes("x.service"));
            f.container = Some(zmtop::model::Container::of_pod(b"shop/web"));
        });
        vec![one, placed(nginx(8, 1), "bob", "/b", |_| {})]
    };
    push(&mut history, 0, rows(10));
    push(&mut history, 1, rows(14));
    for by in GroupBy::OF_ONE_HOST {
        let snap = snapshot(WINDOW, rows(14));
        for group in groups(&snap, by) {
            let change = history.of_group(&group, &snap).unwrap().change();
            let want = if group.totals.memory.unwrap().pss > 10 * MIB {
                4
            } else {
                0
            };
            assert_eq!(change.pss, Some(want * MIB.cast_signed()), "{:?}", group.key);
        }
    }
    // Each is a family of one, which has no history of its own.
    assert_eq!(history.groups(), 1 + 2 + 2 + 2 + 2 + 2);
    assert!(history.group(&key(GroupBy::User, "carol")).is_none());
    assert!(history.group(&key(GroupBy::Mapping, "nginx")).is_none());
}

#[test]
fn with_one_member_it_is_that_members() {
    let mut history = History::new(WINDOW);
    for second in 0..60 {
        let mut sample = nginx(7, 10 + second);
        sample.walk.as_mut().unwrap().memory.swap = second * MIB;
        sample.stat = Stat {
            minflt: second * 100,
            majflt: second * 10,
            cpu_ticks: second * 50,
            ..sample.stat
        };
        push(&mut history, second, vec![sample]);
        let own = history.get(Identity { pid: 7, starttime: 70 }).unwrap();
        let (group, own): (&Change, &Change) = (series(&history).change(), own.change());
        assert_eq!(group, own, "second {second}");
    }
    let own = history.get(Identity { pid: 7, starttime: 70 }).unwrap();
    assert_eq!(shown(own), shown(series(&history)));
}

#[test]
fn members_that_come_and_leave_are_a_change() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![nginx(7, 10), nginx(8, 20)]);
    push(&mut history, 1, vec![nginx(7, 10), nginx(8, 20), nginx(9, 5)]);
    assert_eq!(delta(&history), Some(5));
    push(&mut history, 2, vec![nginx(7, 10), nginx(9, 5)]);
    assert_eq!(delta(&history), Some(-15));
    // After the window nothing is new any more.
    for second in 3..20 {
        push(&mut history, second, vec![nginx(7, 10), nginx(9, 5)]);
    }
    assert_eq!(delta(&history), Some(0));
}

#[test]
fn a_leak_is_seen_through_the_churn_of_processes() {
    let mut history = History::new(WINDOW);
    for second in 0..120_u32 {
        // Five workers, each living ten seconds; every new one is as large as the leak has made the last.
        let worker = |n: u32| nginx(100 + (second + 2 * n) / 10 * 10 + n, 50 + u64::from(second));
        push(&mut history, second.into(), (0..5).map(worker).collect());
    }
    let growth = series(&history).change().growth.unwrap() / MIB as f64;
    assert!((growth - 5.0).abs() < 0.05, "{growth}");
    assert_eq!(delta(&history), Some(50));
}

#[test]
fn rates_are_those_of_the_members_there_are() {
    let mut history = History::new(WINDOW);
    let with = |pid, faults, ticks| {
        let mut sample = nginx(pid, 1);
        sample.stat.minflt = faults;
        sample.stat.cpu_ticks = ticks;
        sample
    };
    push(&mut history, 0, vec![with(7, 100, 0), with(8, 1000, 0)]);
    assert_eq!(series(&history).change().minflt, None);
    push(&mut history, 2, vec![with(7, 200, 50), with(8, 1400, 100)]);
    let change = series(&history).change();
    assert_eq!((change.minflt, change.cpu), (Some(250.0), Some(0.75)));
    // One left: its counters are not taken away; one came: its counters are no rate yet.
    push(&mut history, 3, vec![with(7, 210, 50), with(9, 99_999, 9999)]);
    assert_eq!(series(&history).change().minflt, Some(10.0));
}

#[test]
fn an_exec_or_a_new_name_moves_a_process_to_another_group() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![nginx(7, 10), nginx(8, 20)]);
    push(&mut history, 1, vec![nginx(7, 10), nginx(8, 20)]);
    let mut other = program(8, 1, "curl", "/usr/bin/curl");
    other.exec = 1;
    other.walk = Ok(walk(3 * MIB, 0));
    push(&mut history, 2, vec![nginx(7, 10), other]);
    assert_eq!(delta(&history), Some(-20));
    let curl = history.group(&key(GroupBy::Command, "curl")).unwrap();
    assert_eq!(curl.change().pss, None);
    // Of its user's group it stays a member.
    let root = history.group(&key(GroupBy::User, "root")).unwrap();
    assert_eq!(root.change().pss, Some(-17 * MIB.cast_signed()));
}

#[test]
fn new_facts_move_a_process_to_its_other_groups_at_once() {
    // It runs on, of the same exec: moved, given to another user, or with another title.
    let one = |pid: u32, place: &str| {
        let title = format!("postgres: {place}");
        let sample = placed(program(pid, 1, place, "/bin/x"), place, &format!("/{place}"), |facts| {
            facts.unit = Some(bytes(format!("{place}.service")));
            facts.container = Some(zmtop::model::Container::of_pod(place.as_bytes()));
            facts.cmdline = Ok(title.into_bytes().into());
            facts.exe = Ok(bytes(format!("/usr/bin/{place}")));
        });
        assert_eq!(sample.exec, 0);
        sample
    };
    let name = |by: GroupBy, place: &str| match by {
        GroupBy::Cgroup => format!("/{place}"),
        GroupBy::Unit => format!("{place}.service"),
        _ => place.to_owned(),
    };
    let mut history = History::new(WINDOW);
    for second in 0..3 {
        push(&mut history, second, vec![one(7, "a"), one(8, "a"), one(9, "b")]);
    }
    let moved = vec![one(7, "a"), one(8, "b"), one(9, "b")];
    push(&mut history, 3, moved.clone());
    let ten = 10 * MIB.cast_signed();
    // A family is named by its first process, which stays.
    for by in GroupBy::OF_ONE_HOST.into_iter().filter(|by| *by != GroupBy::Family) {
        for (place, change, count) in [("a", -ten, 1), ("b", ten, 2)] {
            let key = key(by, &name(by, place));
            let row = history.group(&key).unwrap();
            assert_eq!(row.change().pss, Some(change), "{key:?}");
            assert_eq!(row.footprint().last(), Some(count * 10 * MIB), "{key:?}");
            let summed = groups(&snapshot(WINDOW, moved.clone()), by);
            let sum = summed.iter().find(|group| group.key == key).unwrap();
            assert_eq!(sum.totals.memory.unwrap().pss, count * 10 * MIB, "{key:?}");
        }
    }
    // What it was before goes on: it is the same process.
    let own = history.get(Identity { pid: 8, starttime: 80 }).unwrap();
    assert_eq!(own.change().pss, Some(0));
    assert_eq!(
        history.command(Identity { pid: 8, starttime: 80 }).as_deref(),
        Some(&b"b"[..])
    );
}

#[test]
fn a_parent_that_changes_takes_its_children_with_it() {
    let mut history = History::new(WINDOW);
    let rows = |parent: &str| {
        vec![
            program(5, 1, "sh", parent),
            program(6, 5, "Web Content", "/usr/lib/firefox"),
        ]
    };
    push(&mut history, 0, rows("/bin/sh"));
    let key = key(GroupBy::Command, "firefox");
    assert!(history.group(&key).is_none());
    push(&mut history, 1, rows("/usr/lib/firefox"));
    assert_eq!(history.group(&key).unwrap().footprint().last(), Some(10 * MIB));
}

#[test]
fn a_group_is_remembered_for_a_day_and_some() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![nginx(7, 10)]);
    push(&mut history, 1, vec![nginx(7, 10)]);
    let other = || program(1, 0, "init", "/sbin/init");
    push(&mut history, 5, vec![other()]);
    assert_eq!(delta(&history), Some(-10));
    // A process of which another one takes over the memory may not be listed yet.
    push(&mut history, 9, vec![other()]);
    assert_eq!(line(&history), [10]);
    push(&mut history, 10, vec![other()]);
    // A restart a while later goes on in the same line.
    push(&mut history, 60, vec![other(), nginx(70, 12)]);
    assert_eq!(line(&history), [10, 10, 0, 12]);
    assert_eq!(delta(&history), None);
    let hour = 3600;
    for at in 1..=26 {
        push(&mut history, at * hour, vec![other()]);
        assert!(history.group(&key(GroupBy::Command, "nginx")).is_some(), "hour {at}");
    }
    push(&mut history, 27 * hour + 1, vec![other()]);
    assert!(history.group(&key(GroupBy::Command, "nginx")).is_none());
    // The line begins anew.
    push(&mut history, 27 * hour + 2, vec![other(), nginx(71, 30)]);
    assert_eq!(line(&history), [30]);
}

#[test]
fn the_past_shows_a_fall_after_five_seconds_and_one_snapshot() {
    // A past has a resolution of a second.
    for (interval, least, most) in [(100, 4000, 6100), (1000, 5000, 7000), (30_000, 60_000, 60_000)] {
        for takes_over in [false, true] {
            let mut history = History::new(WINDOW);
            let at = |ms, rows| snapshot(Duration::from_millis(ms), rows);
            let mut now = 0;
            for _ in 0..5 {
                now += interval;
                history.push(&at(now, vec![nginx(7, 30), nginx(8, 10)]));
            }
            let ended = now;
            let last = |history: &History| series(history).footprint().last();
            while last(&history) == Some(40 * MIB) && now < ended + 120_000 {
                now += interval;
                let mut rows = vec![nginx(8, 10)];
                // Another process has the memory in the next snapshot but one.
                if takes_over && now > ended + interval {
                    rows.push(nginx(9, 31));
                }
                history.push(&at(now, rows));
            }
            if takes_over {
                assert_eq!(
                    (last(&history), now),
                    (Some(41 * MIB), ended + 2 * interval),
                    "{interval}"
                );
            } else {
                assert_eq!(last(&history), Some(10 * MIB), "{interval}");
                assert!((least..=most).contains(&(now - ended)), "{interval}: {}", now - ended);
            }
        }
    }
}

#[test]
fn half_of_what_a_process_shares_with_a_child_that_was_not_read_is_no_fall() {
    // Each second, a new process has all of the memory. Two before it wait to be reaped.
    let mut history = History::new(WINDOW);
    for second in 0..60_u64 {
        let pid = 100 + second as u32;
        let zombie = |pid| {
            let mut ended = nginx(pid, 0);
            ended.stat.state = b'Z';
            ended.walk = Err(Missing::Zombie);
            ended
        };
        let mut rows = vec![zombie(pid - 2), zombie(pid - 1)];
        // Right after the fork, both share it.
        if second % 7 == 6 {
            let mut child = nginx(pid + 1, 0);
            child.walk = Err(Missing::Pending);
            rows.extend([nginx(pid, 50), child]);
        } else {
            rows.push(nginx(pid, 100));
        }
        history.push(&snapshot(Duration::from_secs(second), rows));
        assert_eq!(series(&history).footprint().last(), Some(100 * MIB), "{second}");
    }
}

#[test]
fn where_proc_could_not_be_listed_nothing_left() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![nginx(7, 10)]);
    let mut unlisted = snapshot(Duration::from_secs(1), Vec::new());
    unlisted.processes = Err(Missing::Denied);
    history.push(&unlisted);
    push(&mut history, 2, vec![nginx(7, 11)]);
    assert_eq!(delta(&history), Some(1));
    assert_eq!(line(&history), [11]);
}

#[test]
fn processes_of_one_address_space_count_once() {
    let mut history = History::new(WINDOW);
    let shares = |pid: u32, first: u32| {
        let mut sample = nginx(pid, 100);
        sample.shares_mm = Some(nginx(first, 0).id);
        sample
    };
    push(
        &mut history,
        0,
        vec![nginx(7, 100), shares(8, 7), shares(9, 7), nginx(10, 1)],
    );
    assert_eq!(line(&history), [101]);
    // In another group it counts there, once, though there are two of them.
    let sh = |pid| {
        with_facts(shares(pid, 7), |f| {
            (f.comm, f.exe) = ((*b"sh").into(), Ok(bytes("/bin/sh")));
        })
    };
    push(&mut history, 1, vec![nginx(7, 100), sh(8), sh(9), nginx(10, 1)]);
    let sh = history.group(&key(GroupBy::Command, "sh")).unwrap();
    assert_eq!(shown(sh), [100 * MIB]);
    assert_eq!(delta(&history), Some(0));
    let root = history.group(&key(GroupBy::User, "root")).unwrap();
    assert_eq!(root.change().pss, Some(0));
}

#[test]
fn an_address_space_counts_though_its_first_process_is_hidden_or_gone() {
    let mut history = History::new(WINDOW);
    let shares = |pid: u32| {
        let mut sample = nginx(pid, 100);
        sample.shares_mm = Some(nginx(7, 0).id);
        sample
    };
    let mut hidden = nginx(7, 0);
    hidden.walk = Err(Missing::Denied);
    push(&mut history, 0, vec![hidden, shares(8), shares(9)]);
    assert_eq!(line(&history), [100]);
    push(&mut history, 1, vec![nginx(7, 100), shares(8), shares(9)]);
    assert_eq!(delta(&history), Some(0));
    push(&mut history, 2, vec![shares(8), shares(9)]);
    assert_eq!(delta(&history), Some(0));
}

#[test]
fn kernel_threads_are_in_no_group() {
    let mut history = History::new(WINDOW);
    let mut thread = program(2, 0, "kworker/0:1", "");
    thread.stat.flags = Stat::PF_KTHREAD;
    thread.walk = Err(Missing::KernelThread);
    push(&mut history, 0, vec![thread, nginx(7, 1)]);
    assert!(history.group(&key(GroupBy::Command, "kworker/0:1")).is_none());
    assert_eq!(history.len(), 2);
}

#[test]
fn a_storm_of_names_is_bounded_and_what_lives_is_kept() {
    let mut history = History::new(WINDOW);
    for second in 0..60_u32 {
        let storm = (0..300_u32).map(|n| {
            let pid = 1000 + second * 300 + n;
            program(pid, 1, &format!("x{pid}"), "/bin/x")
        });
        let rows = std::iter::once(nginx(7, u64::from(second))).chain(storm).collect();
        push(&mut history, second.into(), rows);
        assert!(history.groups() < 300 + 1024 + 20, "{}", history.groups());
    }
    assert_eq!(delta(&history), Some(10));
    // And more names at once than are kept at all.
    let many = (0..12_000_u32).map(|n| program(100_000 + n, 1, &format!("y{n}"), "/bin/y"));
    push(&mut history, 60, std::iter::once(nginx(7, 60)).chain(many).collect());
    assert!((9000..=10_000).contains(&history.groups()), "{}", history.groups());
    assert_eq!(delta(&history), Some(10));
    for second in 61..63 {
        push(&mut history, second, vec![nginx(7, second)]);
        assert!(history.groups() < 1024 + 20, "{}", history.groups());
    }
}

#[test]
fn what_starts_during_a_storm_of_names_has_a_group_once_it_is_over() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![program(1, 0, "init", "/sbin/init")]);
    let storm = || (0..10_000_u32).map(|n| program(100_000 + n, 1, &format!("y{n}"), "/bin/y"));
    push(
        &mut history,
        20,
        std::iter::once(program(1, 0, "init", "/sbin/init"))
            .chain(storm())
            .collect(),
    );
    // The storm has all groups that there are.
    let late = nginx(200_000, 0);
    let both = |pss| {
        let mut late = late.clone();
        late.walk = Ok(walk(pss * MIB, 0));
        vec![program(1, 0, "init", "/sbin/init"), late]
    };
    push(&mut history, 21, {
        let mut all = both(10);
        all.splice(1..1, storm());
        all
    });
    assert!(history.group(&key(GroupBy::Command, "nginx")).is_none());
    for second in 22..26 {
        push(&mut history, second, both(second));
    }
    assert_eq!(delta(&history), Some(2));
}

#[test]
fn a_change_at_a_longer_interval_is_a_rate_over_the_window() {
    let mut history = History::new(WINDOW);
    for minute in 0..5 {
        let mut slow = snapshot(Duration::from_secs(minute * 60), vec![nginx(7, 10 + 6 * minute)]);
        slow.interval = Duration::from_secs(60);
        history.push(&slow);
        assert_eq!(delta(&history), (minute > 0).then_some(1), "minute {minute}");
    }
}
