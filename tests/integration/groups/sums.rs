//! The sums of groups.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use zmtop::columns::{Row, SortKey, Value, find};
use zmtop::group;
use zmtop::group::{Change, GroupBy, Totals};
use zmtop::model::{Counted, Identity, Missing, ProcessSample, Replaced, Stat};

use super::{bytes, groups, placed, program};
use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

/// A process of a small machine: its parent, what it runs, whose and where it is, and what it holds.
fn any_process(pid: u32) -> impl Strategy<Value = ProcessSample> {
    let memory = prop_oneof![
        4 => (0..100_u64, 0..50_u64).prop_map(|(pss, swap)| Ok(walk(pss * MIB, swap * MIB))),
        1 => prop::sample::select(vec![
            Err(Missing::Denied), Err(Missing::Pending), Err(Missing::Zombie), Err(Missing::KernelThread),
        ]),
    ];
    (0..pid, 0..4_u32, 0..3_u32, 0..3_u32, 0..4_u32, memory, 0..9_u64).prop_map(
        move |(parent, comm, exe, user, unit, walk, replaced)| {
            let sample = program(pid, parent, &format!("program{comm}"), &format!("/bin/program{exe}"));
            let cgroup = format!("/system.slice/{unit}.service");
            let mut sample = placed(sample, &format!("user{user}"), &cgroup, |f| {
                f.unit = (unit > 0).then(|| bytes(format!("{unit}.service")));
                f.container = (unit > 2).then(|| zmtop::model::Container::of_pod(b"shop/0123456789ab"));
                f.replaced = match replaced {
                    7 => Some(Replaced::Updated),
                    8 => Some(Replaced::Deleted),
                    _ => None,
                };
            });
            sample.stat = Stat {
                threads: u64::from(parent) + 1,
                ..sample.stat
            };
            sample.walk = walk;
            sample
        },
    )
}

fn machine() -> impl Strategy<Value = Vec<ProcessSample>> {
    (1..40_u32).prop_flat_map(|count| (1..=count).map(any_process).collect::<Vec<_>>())
}

/// The group of a process, said again in the plainest way.
fn plainly(rows: &[ProcessSample], row: &ProcessSample, by: GroupBy) -> Option<Vec<u8>> {
    let facts = &row.facts;
    let base = |row: &ProcessSample| {
        let exe = String::from_utf8(row.facts.exe.as_ref().unwrap().to_vec()).unwrap();
        exe.trim_start_matches("/bin/").to_owned()
    };
    match by {
        GroupBy::Command => {
            let comm = String::from_utf8(facts.comm.to_vec()).unwrap();
            let parent = rows.iter().find(|p| p.id.pid == row.stat.ppid);
            let same = base(row).starts_with(&comm) || parent.is_some_and(|p| base(p) == base(row));
            Some(if same { base(row) } else { comm }.into_bytes())
        }
        GroupBy::User => Some(facts.user.as_ref().unwrap().to_vec()),
        GroupBy::Host => facts.host.as_ref().map(|host| host.to_vec()),
        GroupBy::Unit => facts.unit.as_ref().map(|u| u.to_vec()),
        GroupBy::Container => facts.container.as_ref().map(|c| c.name().to_vec()),
        GroupBy::Pod => facts.container.as_ref().map(|_| b"shop/0123456789ab".to_vec()),
        GroupBy::Cgroup => Some(facts.cgroup.as_ref().unwrap().to_vec()),
        GroupBy::Family => {
            // Nothing here starts other programs but pid 1.
            let command = |row| plainly(rows, row, GroupBy::Command).unwrap();
            let parent = rows.iter().find(|p| p.id.pid == row.stat.ppid);
            let is_contained = |p: &ProcessSample| facts.container.is_some() && facts.container != p.facts.container;
            match parent {
                Some(p) if !is_contained(p) && (p.id.pid != 1 || command(p) == command(row)) => plainly(rows, p, by),
                _ => Some([command(row), format!(" {}", row.id.pid).into_bytes()].concat()),
            }
        }
        GroupBy::Siblings | GroupBy::Mapping => None,
    }
}

/// PSS, swap, count, threads, readable, partial, and how many were replaced.
type Plain = (u64, u64, usize, u64, usize, bool, usize);

proptest! {
    #[test]
    fn groups_hold_what_their_processes_hold(rows in machine(), dropped in 0..5_u32) {
        let snap = snapshot(Duration::from_secs(9), rows.clone());
        let keep = |p: &ProcessSample| dropped == 0 || p.id.pid % 5 != dropped;
        for by in GroupBy::OF_PROCESSES {
            let mut want: BTreeMap<Option<Vec<u8>>, Plain> = BTreeMap::new();
            let mut cut = BTreeSet::new();
            for row in &rows {
                let name = plainly(&rows, row, by);
                if !keep(row) {
                    cut.insert(name);
                    continue;
                }
                let sum = want.entry(name).or_default();
                if let Ok(walk) = &row.walk {
                    sum.0 += walk.memory.pss;
                    sum.1 += walk.memory.swap;
                    sum.4 += 1;
                }
                sum.2 += 1;
                sum.3 += row.stat.threads;
                sum.5 |= matches!(row.walk, Err(Missing::Denied | Missing::Pending));
                sum.6 += usize::from(row.facts.replaced.is_some());
            }
            let made = group::groups(&snap, by, keep, |_| None);
            let got: BTreeMap<Option<Vec<u8>>, Plain> = made
                .iter()
                .map(|g| {
                    let t = &g.totals;
                    let (pss, swap) = t.memory.map_or((0, 0), |m| (m.pss, m.swap));
                    let replaced = g.replaced.map_or(0, |(_, count)| count);
                    let plain = (pss, swap, t.count, t.threads, g.readable, t.partial, replaced);
                    (g.key.name.as_ref().map(|n| n.to_vec()), plain)
                })
                .collect();
            prop_assert_eq!(got.len(), made.len(), "a group twice");
            prop_assert_eq!(&got, &want);
            for g in &made {
                let name = g.key.name.as_ref().map(|n| n.to_vec());
                prop_assert_eq!(g.whole, !cut.contains(&name));
                prop_assert_eq!(g.members.len(), g.totals.count);
                prop_assert!(g.members.is_sorted());
                prop_assert_eq!(g.totals.memory.is_ok(), g.readable > 0);
            }
            // In the order of their first members.
            prop_assert!(made.is_sorted_by_key(|g| g.members[0]));
            // The sums of all groups are the sum of all processes.
            let all = Totals::of(rows.iter().filter(|p| keep(p)), |_| None);
            let mut sum = Totals::default();
            for g in &made {
                sum.add(&g.totals);
            }
            prop_assert_eq!(sum.memory.ok(), all.memory.ok());
            prop_assert_eq!((sum.count, sum.threads, sum.partial), (all.count, all.threads, all.partial));
        }
    }
}

#[test]
fn a_group_with_a_hidden_member_is_partial_and_one_of_hidden_members_is_unknown() {
    let mut rows = vec![
        program(1, 0, "a", "/bin/a"),
        program(2, 0, "a", "/bin/a"),
        program(3, 0, "b", "/bin/b"),
    ];
    rows[1].walk = Err(Missing::Denied);
    rows[2].walk = Err(Missing::TimedOut);
    let made = groups(&snapshot(Duration::ZERO, rows), GroupBy::Command);
    assert_eq!(made[0].totals.memory.map(|m| m.pss), Ok(10 * MIB));
    assert!(made[0].totals.partial && made[1].totals.partial);
    assert_eq!((made[0].readable, made[0].totals.count), (1, 2));
    assert_eq!(made[1].totals.memory, Err(Missing::TimedOut));
}

#[test]
fn kernel_threads_are_grouped_if_kept_and_not_missed_if_not() {
    let mut thread = process(2, 0, "kthreadd");
    thread.stat.flags = Stat::PF_KTHREAD;
    thread.walk = Err(Missing::KernelThread);
    let snap = snapshot(Duration::ZERO, vec![process(1, 0, "init"), thread]);
    let user = |keep: fn(&ProcessSample) -> bool| group::groups(&snap, GroupBy::User, keep, |_| None);
    let without = user(|p| !p.stat.is_kernel_thread());
    assert_eq!((without[0].totals.count, without[0].whole), (1, true));
    assert_eq!(user(|_| true)[0].totals.count, 2);
    assert!(!user(|p| p.stat.is_kernel_thread())[0].whole);
}

#[test]
fn what_was_replaced_is_marked() {
    let replaced = |pid, what| with_facts(program(pid, 0, "nginx", "/usr/sbin/nginx"), |f| f.replaced = what);
    let shown = |marks: &[Option<Replaced>]| {
        let rows = (1..).zip(marks).map(|(pid, what)| replaced(pid, *what)).collect();
        let made = groups(&snapshot(Duration::ZERO, rows), GroupBy::Command);
        assert_eq!((made.len(), made[0].key.label()), (1, &b"nginx"[..]));
        String::from_utf8(made[0].name_with_replaced().into_owned()).unwrap()
    };
    let (updated, deleted) = (Some(Replaced::Updated), Some(Replaced::Deleted));
    assert_eq!(shown(&[None, None]), "nginx");
    assert_eq!(shown(&[updated, updated]), "nginx [updated]");
    assert_eq!(shown(&[None, updated, updated]), "nginx [2 updated]");
    assert_eq!(shown(&[updated, deleted]), "nginx [deleted]");
    assert_eq!(shown(&[deleted, None, updated]), "nginx [2 deleted]");
}

#[test]
fn changes_are_summed_and_the_oldest_is_remembered() {
    let mut rows = vec![process(1, 0, "a"), process(2, 0, "a"), process(3, 0, "a")];
    for (row, second) in rows.iter_mut().zip([7, 3, 5]) {
        row.walk.as_mut().unwrap().at = Duration::from_secs(second);
    }
    rows[2].id = Identity { pid: 3, starttime: 4 };
    let snap = snapshot(Duration::from_secs(9), rows);
    let change = |p: &ProcessSample| {
        (p.id.pid < 3).then_some(Change {
            pss: Some(i64::from(p.id.pid)),
            cpu: Some(0.5),
            ..Change::default()
        })
    };
    let made = group::groups(&snap, GroupBy::Command, |_| true, change);
    assert_eq!(
        (made[0].totals.change.pss, made[0].totals.change.cpu),
        (Some(3), Some(1.0))
    );
    assert_eq!(made[0].walked, Some(Duration::from_secs(3)));
    assert_eq!(made[0].started, Some(4));
}

#[test]
fn where_proc_could_not_be_listed_there_are_none() {
    let mut snap = snapshot(Duration::ZERO, Vec::new());
    snap.processes = Err(Missing::Denied);
    assert!(GroupBy::ALL.iter().all(|by| groups(&snap, *by).is_empty()));
}

#[test]
fn bounds_on_errors_add_up_and_what_counts_once_errs_once() {
    let uncertain = |pid, error| {
        let mut sample = process(pid, 1, "db");
        sample.walk.as_mut().unwrap().error = error;
        sample
    };
    let first = uncertain(3, 500);
    let mut twin = uncertain(4, 500);
    twin.shares_mm = Some(first.id);
    let samples = [uncertain(2, 20), first, twin];
    assert_eq!(Totals::of(&samples, |_| None).error, 520);
    assert_eq!(Totals::of(&samples[..1], |_| None).error, 20);
}

#[test]
fn the_pss_of_a_group_includes_the_hidden_members_as_a_bound() {
    let mut rows = vec![
        program(1, 0, "browser", "/bin/browser"),
        program(2, 0, "browser", "/bin/browser"),
        program(3, 0, "editor", "/bin/editor"),
    ];
    rows[1].walk = Err(Missing::Denied);
    rows[1].stat.rss = 5000 * MIB;
    rows[1].counted = Counted::new(Some(4000 * MIB), Some(700 * MIB));
    let mut snap = snapshot(Duration::ZERO, rows);
    snap.system.mem_total = Ok(10_000 * MIB);
    let made = groups(&snap, GroupBy::Command);
    let rows: Vec<Row<'_>> = made.iter().map(|group| Row::of_group(group, None, &snap)).collect();
    let value = |at: usize, column| (find(column).unwrap().get().value)(&rows[at]);
    for (column, most, known) in [
        ("pss", 5010, 10),
        ("pss_anon", 4010, 10),
        // The kernel counts these for every process.
        ("rss", 5010, 5010),
        ("swap", 700, 700),
    ] {
        let keys = [0, 1].map(|at| value(at, column).sort_key());
        let others = if column == "swap" { 0 } else { 10 };
        let expected = [most, others].map(|mib| SortKey::Number((mib * MIB) as f64));
        assert_eq!(keys, expected, "{column}");
        // Filters and data have what is known.
        assert_eq!(value(0, column).number(), Some((known * MIB) as f64), "{column}");
    }
    assert!(matches!(value(0, "mem"), Value::ShareWithin(known, most) if known < 0.002 && most > 0.5));
    assert!(matches!(value(1, "pss"), Value::Bytes(_)));
}

#[test]
fn one_of_the_processes_that_share_an_address_space_shows_its_memory_and_one_group_counts_it() {
    let mut rows: Vec<ProcessSample> = (1..5).map(|n| program(n, 0, &format!("p{n}"), "/bin/p")).collect();
    let first = rows[0].id;
    for row in &mut rows[1..3] {
        row.shares_mm = Some(first);
    }
    let snap = snapshot(Duration::ZERO, rows);
    let made = groups(&snap, GroupBy::Command);
    let pss = made
        .iter()
        .map(|group| group.totals.memory.map_or(0, |memory| memory.pss));
    assert_eq!(pss.collect::<Vec<_>>(), [10 * MIB, 0, 0, 10 * MIB]);
    assert!(
        made.iter()
            .all(|group| group.totals.count == 1 && !group.totals.partial)
    );
    let shown = snap
        .rows()
        .iter()
        .map(|row| Row::of_process(row, None, &snap).memory.is_ok());
    assert_eq!(shown.collect::<Vec<_>>(), [true, false, false, true]);
}
