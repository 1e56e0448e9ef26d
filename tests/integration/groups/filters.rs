//! Filters of groups: words choose the processes that are summed, figures judge the sums.

use std::time::Duration;

use proptest::prelude::*;
use zmtop::columns::{COLUMNS, Row, Unit};
use zmtop::filter::{Filter, Filterable};
use zmtop::group;
use zmtop::group::{Change, Group, GroupBy};
use zmtop::model::{Identity, Missing, Snapshot};

use super::{bytes, placed, program};
use crate::support::rows::{MIB, snapshot, walk};

/// Alice's firefox of three processes with 100 MiB each, her hidden vim, and bob's postgres of 400 MiB.
fn machine() -> Snapshot {
    let of = |pid, user: &str, name: &str, pss| {
        let mut sample = program(pid, 0, name, &format!("/bin/{name}"));
        sample = placed(sample, user, "/x", |f| {
            f.uid = Ok(if user == "alice" { 1000 } else { 1001 });
        });
        sample.walk = pss;
        sample
    };
    let mib = |n: u64| Ok(walk(n * MIB, 0));
    let rows = vec![
        of(1, "alice", "firefox", mib(100)),
        of(2, "alice", "firefox", mib(100)),
        of(3, "alice", "firefox", mib(100)),
        of(4, "alice", "vim", Err(Missing::Denied)),
        of(5, "bob", "postgres", mib(400)),
        of(6, "bob", "vim", mib(5)),
    ];
    snapshot(Duration::from_secs(100), rows)
}

/// The name of a group and the pids that were summed in it.
type Passed<'a> = (&'a str, &'a [u32]);

/// The groups that pass, each with the pids that were summed.
fn passing(snap: &Snapshot, by: GroupBy, filter: &Filter) -> Vec<(String, Vec<u32>)> {
    let rows = snap.rows();
    let row = |p| Row::of_process(p, None, snap);
    group::groups(snap, by, |p| filter.matches_but_for_figures(&row(p)), |_| None)
        .iter()
        .filter(|g| {
            let members = g.members.iter().map(|at| row(&rows[*at]));
            filter.matches_group(&Row::of_group(g, None, snap), members)
        })
        .map(|g| {
            let pids = g.members.iter().map(|at| rows[*at].id.pid).collect();
            (String::from_utf8_lossy(g.key.label()).into_owned(), pids)
        })
        .collect()
}

#[test]
fn words_choose_and_figures_judge() {
    let snap = machine();
    let (firefox, vim, postgres) = (
        ("firefox", &[1, 2, 3][..]),
        ("vim", &[4, 6][..]),
        ("postgres", &[5][..]),
    );
    // The filter, and which groups of programs pass with which processes.
    let table: &[(&str, &[Passed<'_>])] = &[
        ("", &[firefox, vim, postgres]),
        ("firefox", &[firefox]),
        ("!firefox", &[vim, postgres]),
        ("user:bob", &[postgres, ("vim", &[6])]),
        ("!user:bob", &[firefox, ("vim", &[4])]),
        ("user:1001", &[postgres, ("vim", &[6])]),
        // No firefox alone has 200 MiB; together they do.
        ("pss>200M", &[firefox, postgres]),
        ("!pss>200M", &[vim]),
        ("!pss>300M", &[firefox, vim]),
        ("count>1", &[firefox, vim]),
        ("count=2", &[vim]),
        ("avg_pss=100M", &[firefox]),
        ("avg_pss=5M", &[vim]),
        // The words first, then the sums of what they left.
        ("user:bob pss>200M", &[postgres]),
        ("user:bob pss<200M", &[("vim", &[6])]),
        ("user:alice count=1", &[("vim", &[4])]),
        // Alice's vim alone cannot be read: neither more nor less.
        ("user:alice pss<200M", &[]),
        ("user:alice !pss<200M", &[firefox]),
        ("firefox | pss>350M", &[firefox, postgres]),
        ("firefox | pss<10M", &[firefox, vim]),
        ("!firefox | pss>200M", &[firefox, vim, postgres]),
        ("!firefox | pss>350M", &[vim, postgres]),
        ("!(firefox | pss>350M)", &[vim]),
        ("!(firefox pss>350M)", &[firefox, vim, postgres]),
        ("(user:alice | pss>350M) !vim", &[firefox, postgres]),
        // What names a process is asked of processes, as a word is.
        ("pid:2,5", &[("firefox", &[2]), postgres]),
        ("pid>2", &[("firefox", &[3]), vim, postgres]),
        ("pid>2 pss>50M", &[("firefox", &[3]), postgres]),
        ("uid=1000", &[firefox, ("vim", &[4])]),
        ("state:S", &[firefox, vim, postgres]),
        ("state:R", &[]),
        ("group:fire", &[firefox]),
    ];
    for (text, want) in table {
        let filter = Filter::parse(text, &COLUMNS).unwrap();
        let want: Vec<_> = want
            .iter()
            .map(|(name, pids)| ((*name).to_owned(), pids.to_vec()))
            .collect();
        assert_eq!(passing(&snap, GroupBy::Command, &filter), want, "{text}");
    }
}

#[test]
fn a_word_under_a_not_is_asked_of_each_process() {
    let snap = machine();
    let users = |text: &str| passing(&snap, GroupBy::User, &Filter::parse(text, &COLUMNS).unwrap());
    let pids = |list: &[(&str, &[u32])]| -> Vec<(String, Vec<u32>)> {
        list.iter()
            .map(|(name, pids)| ((*name).to_owned(), pids.to_vec()))
            .collect()
    };
    // Bob has a vim and another program.
    assert_eq!(users("!vim"), pids(&[("alice", &[1, 2, 3]), ("bob", &[5])]));
    assert_eq!(users("!vim pss>350M"), pids(&[("bob", &[5])]));
    assert_eq!(users("vim pss>0"), pids(&[("bob", &[6])]));
    assert_eq!(
        users("vim | pss>1G"),
        pids(&[("alice", &[1, 2, 3, 4]), ("bob", &[5, 6])])
    );
}

#[test]
fn a_mapping_has_no_processes_and_is_judged_by_its_sums() {
    let snap = machine();
    let mut mapping = Group::new(super::key(GroupBy::Mapping, "/usr/lib/libc.so.6"));
    mapping.totals.count = 7;
    mapping.totals.memory = Ok(walk(50 * MIB, 0).memory);
    mapping.readable = 7;
    let passes = |text: &str| {
        let filter = Filter::parse(text, &COLUMNS).unwrap();
        let row = Row::of_group(&mapping, None, &snap);
        filter.matches_group(&row, std::iter::empty::<Row<'_>>())
    };
    for yes in [
        "",
        "pss>10M",
        "count=7",
        "firefox",
        "!firefox",
        "firefox pss>10M",
        "user:bob",
        "pid:3",
    ] {
        assert!(passes(yes), "{yes}");
    }
    for no in ["pss>100M", "firefox pss>100M", "!pss>10M", "dpss>0", "!dpss>0"] {
        assert!(!passes(no), "{no}");
    }
}

#[test]
fn a_figure_that_groups_have_none_of_is_asked_of_processes() {
    let mut snap = machine();
    for row in snap.processes.as_mut().unwrap() {
        row.held = crate::support::holding(4096);
    }
    snap.system.uptime = Ok(1000.0);
    snap.system.mem_total = Ok(1 << 33);
    let made = group::groups(&snap, GroupBy::Command, |_| true, |_| Some(known()));
    let mark = zmtop::history::Mark::new(&snap);
    let row = Row::of_group(&made[0], None, &snap).with_mark(Some(&mark));
    for (at, column) in COLUMNS.iter().enumerate() {
        // Of the cgroup, only groups that are one have figures; lines and verdicts need a history.
        let other = column.id.starts_with("cg_")
            || matches!(column.unit, Unit::Text | Unit::Chart | Unit::Trend | Unit::Verdict)
            || [
                "slope",
                "confidence",
                "since",
                "eta",
                "held_change",
                "orphans",
                "count_pace",
            ]
            .contains(&column.id);
        if !other {
            assert_eq!(row.is_per_process(at), row.number(at).is_none(), "{}", column.id);
        }
    }
}

fn known() -> Change {
    Change {
        pss: Some(1),
        swap: Some(1),
        growth: Some(1.0),
        minflt: Some(1.0),
        majflt: Some(1.0),
        cpu: Some(1.0),
    }
}

/// Filters of the leaves given, joined and negated at will.
fn filters(leaves: &'static [&'static str]) -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(leaves).prop_map(str::to_owned);
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(|list| format!("({})", list.join(" "))),
            prop::collection::vec(inner.clone(), 2..4).prop_map(|list| format!("({})", list.join(" | "))),
            inner.prop_map(|one| format!("!{one}")),
        ]
    })
}

const WORDS: &[&str] = &[
    "firefox", "user:bob", "name:vim", "/^p/", "pid:2,4", "unit:x", "state:S", "uid=1000",
];
const FIGURES: &[&str] = &[
    "pss>150M",
    "swap>0",
    "count>1",
    "dpss>0",
    "uss<1G",
    "avg_pss=100M",
    "cpu>50%",
];

/// The machine with one process of which next to nothing is known.
fn hidden() -> Snapshot {
    let mut snap = machine();
    let mut sample = program(7, 0, "x", "/bin/x");
    sample = placed(sample, "", "", |f| {
        f.user = Err(Missing::Denied);
        f.uid = Err(Missing::Denied);
        f.cgroup = Err(Missing::Denied);
        f.exe = Err(Missing::Denied);
    });
    sample.id = Identity { pid: 7, starttime: 1 };
    sample.walk = Err(Missing::Denied);
    snap.processes.as_mut().unwrap().push(sample);
    snap
}

proptest! {
    #[test]
    fn a_filter_of_words_keeps_just_the_processes_that_match(text in filters(WORDS)) {
        let snap = hidden();
        let filter = Filter::parse(&text, &COLUMNS).unwrap();
        for by in GroupBy::OF_PROCESSES {
            let mut kept: Vec<u32> = passing(&snap, by, &filter).into_iter().flat_map(|(_, pids)| pids).collect();
            kept.sort_unstable();
            let matching: Vec<u32> = snap
                .rows()
                .iter()
                .filter(|p| filter.matches(&Row::of_process(p, None, &snap)))
                .map(|p| p.id.pid)
                .collect();
            prop_assert_eq!(kept, matching, "{} by {:?}", text, by);
        }
    }

    #[test]
    fn a_filter_of_figures_drops_no_process_and_judges_each_group_as_a_row(text in filters(FIGURES)) {
        let snap = hidden();
        let filter = Filter::parse(&text, &COLUMNS).unwrap();
        for by in GroupBy::OF_PROCESSES {
            let whole = group::groups(&snap, by, |_| true, |_| None);
            let want: Vec<(String, Vec<u32>)> = whole
                .iter()
                .filter(|g| filter.matches(&Row::of_group(g, None, &snap)))
                .map(|g| {
                    let pids = g.members.iter().map(|at| snap.rows()[*at].id.pid).collect();
                    (String::from_utf8_lossy(g.key.label()).into_owned(), pids)
                })
                .collect();
            prop_assert_eq!(passing(&snap, by, &filter), want, "{} by {:?}", text, by);
        }
    }

    /// A process alone in its group is judged as a process is.
    #[test]
    fn alone_in_its_group_a_process_passes_as_it_does_by_itself(
        text in filters(&["firefox", "user:bob", "!vim", "pss>150M", "pss<50M", "swap>0", "pid>3", "dpss>0"])
    ) {
        let mut snap = hidden();
        for (at, row) in snap.processes.as_mut().unwrap().iter_mut().enumerate() {
            *row = placed(row.clone(), "", "", |f| f.cgroup = Ok(bytes(format!("/{at}"))));
            let name: &[u8] = if at < 4 { b"alice" } else { b"bob" };
            *row = crate::support::rows::with_facts(row.clone(), |f| f.user = Ok(bytes(name)));
        }
        let filter = Filter::parse(&text, &COLUMNS).unwrap();
        let passed: Vec<u32> = passing(&snap, GroupBy::Cgroup, &filter).into_iter().flat_map(|(_, pids)| pids).collect();
        let alone: Vec<u32> = snap
            .rows()
            .iter()
            .filter(|p| filter.matches(&Row::of_process(p, None, &snap)))
            .map(|p| p.id.pid)
            .collect();
        prop_assert_eq!(passed, alone, "{}", text);
    }
}
