//! Families of groups and of the machine.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zmtop::group::GroupBy;
use zmtop::model::{Container, Missing, ProcessSample, RowChanges, Snapshot};
use zmtop::serve::Family;

use super::exported::{Exported, sized};
use crate::support::rows::{MIB, snapshot, subordinate, with_facts};

/// The value of a series with this group or other label; `None` where there is none.
fn value(families: &[Family], name: &str, label: &str) -> Option<f64> {
    let family = families.iter().find(|family| family.name == name)?;
    let is_it = |labels: &[(&str, Box<str>)]| match labels {
        [] => label.is_empty(),
        labels => labels.iter().any(|(_, value)| &**value == label),
    };
    family
        .series
        .iter()
        .find(|series| is_it(&series.labels))
        .map(|series| series.value)
}

#[test]
fn the_largest_groups_have_series_and_the_others_are_summed() {
    let mut exported = Exported::new(3);
    let rows = (1..=20)
        .map(|n| sized(n, &format!("/bin/p{n}"), u64::from(n)))
        .collect();
    let families = exported.after(0, rows);
    let mib = |group| value(&families, "zmtop_pss", group).map(|bytes| bytes / MIB as f64);
    assert_eq!(mib("p20"), Some(20.0));
    assert_eq!(mib("p18"), Some(18.0));
    assert_eq!(mib("p17"), None);
    assert_eq!(mib("(others)"), Some((1..=17).sum::<u64>() as f64));
    assert_eq!(value(&families, "zmtop_processes", "(others)"), Some(17.0));
    assert_eq!(value(&families, "zmtop_groups", ""), Some(20.0));
    assert_eq!(value(&families, "zmtop_groups_shown", ""), Some(3.0));
    let series: usize = families.iter().map(|family| family.series.len()).sum();
    assert_eq!(value(&families, "zmtop_series", ""), Some(series as f64));
}

#[test]
fn groups_of_containers_have_their_pod_and_namespace() {
    let mut exported = Exported::by(GroupBy::Container, 3);
    let contained = |pid, container: Arc<Container>| {
        with_facts(sized(pid, "/bin/app", 10), |facts| {
            facts.container = Some(container);
            facts.cgroup = Ok(Arc::from(&b"/a"[..]));
        })
    };
    let rows = vec![
        contained(1, Container::of_pod(b"shop/checkout-7d9f")),
        contained(2, Container::named(*b"web")),
    ];
    let families = exported.after(0, rows);
    let family = families.iter().find(|family| family.name == "zmtop_pss").unwrap();
    let mut labels: Vec<_> = family
        .series
        .iter()
        .map(|series| {
            series
                .labels
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
                .join(",")
        })
        .collect();
    labels.sort();
    assert_eq!(
        labels,
        [
            "by=container,group=shop/checkout-7d9f,namespace=shop,pod=checkout-7d9f",
            "by=container,group=web",
        ]
    );
}

#[test]
fn a_group_at_the_edge_does_not_come_and_go() {
    let mut exported = Exported::new(1);
    let pair = |a, b| vec![sized(1, "/bin/a", a), sized(2, "/bin/b", b)];
    let mut shown = |a, b| {
        let families = exported.after(1, pair(a, b));
        ["a", "b"].map(|group| value(&families, "zmtop_pss", group).is_some())
    };
    assert_eq!(shown(100, 90), [true, false]);
    // A little larger is not enough to take its place; a quarter is.
    assert_eq!(shown(100, 110), [true, false]);
    assert_eq!(shown(100, 130), [false, true]);
    assert_eq!(shown(110, 100), [false, true]);
}

/// The groups with series of their own.
fn shown(families: &[Family]) -> HashSet<String> {
    let family = families.iter().find(|family| family.name == "zmtop_processes").unwrap();
    let labels = family.series.iter().flat_map(|series| series.labels.iter());
    let groups = labels.filter(|(name, value)| *name == "group" && &**value != "(others)");
    groups.map(|(_, value)| value.to_string()).collect()
}

#[test]
fn many_growing_programs_take_neither_the_places_of_the_largest_nor_those_of_other_users() {
    let mut exported = Exported::new(20);
    let mut families = Vec::new();
    for second in (0..600_u64).step_by(5) {
        // Fifty of one user grow faster than root's one.
        let of_user = (100..150).map(|pid| {
            // Also under subordinate uids.
            subordinate(
                sized(pid, &format!("/bin/x{pid}"), 10 + second / 2),
                100_000 + pid,
                1000,
            )
        });
        let large = (1..=30).map(|pid| sized(pid, &format!("/bin/large{pid}"), 1000 + u64::from(pid)));
        let rows = of_user.chain(large).chain([sized(50, "/bin/daemon", 5 + second / 10)]);
        families = exported.after(5, rows.collect());
    }
    let shown = shown(&families);
    assert_eq!(shown.len(), 20);
    assert!(shown.contains("daemon"), "{shown:?}");
    let count = |prefix: &str| shown.iter().filter(|name| name.starts_with(prefix)).count();
    assert_eq!((count("x"), count("large")), (5, 14), "{shown:?}");
    assert_eq!(value(&families, "zmtop_growing", "daemon"), Some(1.0));
}

#[test]
fn programs_that_rename_themselves_start_no_series() {
    let mut exported = Exported::new(50);
    let mut ever = HashSet::new();
    let mut after = |seconds: u64, rows: Vec<ProcessSample>| {
        let families = exported.after_with(seconds, rows, |system| system.mem_total = Ok(16 << 30));
        let shown = shown(&families);
        ever.extend(shown.clone());
        (shown, ever.len())
    };
    let rests = || sized(1, "/bin/rests", 10);
    // What runs when zmtop starts has series at once.
    assert_eq!(after(0, vec![rests()]).0.len(), 1);
    for tick in 0..300 {
        let renaming = (0..40).map(|n| sized(100 + n, &format!("/bin/x{tick}-{n}"), 2));
        assert_eq!(after(2, renaming.chain([rests()]).collect()).1, 1);
    }
    let starts = |mib| vec![rests(), sized(7, "/bin/starts", mib)];
    assert_eq!(after(2, starts(100)).0.len(), 1);
    assert_eq!(after(57, starts(100)).0.len(), 1);
    assert_eq!(after(3, starts(100)).0.len(), 2);
    // It keeps them.
    assert_eq!(after(3, starts(1)).0.len(), 2);
    // What takes much memory has them at once.
    let large = vec![rests(), sized(8, "/bin/large", 170)];
    assert_eq!(after(2, large).0.len(), 2);
}

#[test]
fn groups_that_ended_have_no_series() {
    let mut exported = Exported::new(10);
    exported.after(0, vec![sized(1, "/bin/a", 1), sized(2, "/bin/b", 1)]);
    let families = exported.after(1, vec![sized(1, "/bin/a", 1)]);
    let groups = families.iter().flat_map(|family| &family.series);
    let has_b = groups
        .flat_map(|series| series.labels.iter())
        .any(|(_, value)| &**value == "b");
    assert!(!has_b);
}

#[test]
fn names_of_programs_that_rename_themselves_are_soon_forgotten() {
    let faulting = |pid, major| {
        let mut sample = sized(pid, "/bin/a", 1);
        sample.stat.majflt = major;
        sample
    };
    let of_a = |families: &[Family]| value(families, "zmtop_major_faults", "a");
    // Each of so many processes has another name in each snapshot.
    for (renaming, kept) in [(2, Some(7.0)), (200, Some(0.0))] {
        let mut exported = Exported::new(10);
        exported.after(0, vec![faulting(1, 10)]);
        assert_eq!(of_a(&exported.after(1, vec![faulting(1, 17)])), Some(7.0));
        for tick in 0..20 {
            let rows = (0..renaming).map(|n| sized(100 + n, &format!("/bin/x{tick}-{n}"), 1));
            exported.after(1, rows.collect());
        }
        // A name that is known goes on with its counters. Another one has no series yet.
        exported.after(1, vec![faulting(2, 3)]);
        assert_eq!(of_a(&exported.after(60, vec![faulting(2, 3)])), kept, "{renaming}");
    }
}

#[test]
fn faults_go_on_while_processes_come_and_go() {
    let mut exported = Exported::new(10);
    let faulting = |pid, major| {
        let mut sample = sized(pid, "/bin/a", 1);
        sample.stat.majflt = major;
        sample
    };
    let major = |families: &[Family]| value(families, "zmtop_major_faults", "a");
    // What was before zmtop saw it does not count.
    assert_eq!(
        major(&exported.after(0, vec![faulting(1, 500), faulting(2, 70)])),
        Some(0.0)
    );
    assert_eq!(
        major(&exported.after(1, vec![faulting(1, 510), faulting(2, 75)])),
        Some(15.0)
    );
    // One ends, another starts.
    assert_eq!(
        major(&exported.after(1, vec![faulting(2, 75), faulting(3, 40)])),
        Some(15.0)
    );
    assert_eq!(
        major(&exported.after(1, vec![faulting(2, 76), faulting(3, 42)])),
        Some(18.0)
    );
}

#[test]
fn a_counter_that_begins_anew_says_since_when() {
    let mut exported = Exported::new(10);
    let pair = || vec![sized(1, "/bin/a", 1), sized(2, "/bin/b", 1)];
    let since = |families: &[Family], group: &str| {
        let family = families.iter().find(|family| family.name == "zmtop_minor_faults")?;
        let mut series = family.series.iter();
        let found = series.find(|series| series.labels.iter().any(|(_, value)| &**value == group));
        found?.since?.duration_since(SystemTime::UNIX_EPOCH).ok()
    };
    let first = exported.after(1, pair());
    assert_eq!(since(&first, "a"), Some(Duration::from_secs(1)));
    // Until it is forgotten.
    for _ in 0..1200 {
        exported.after(1, vec![sized(2, "/bin/b", 1)]);
    }
    exported.after(1, pair());
    let last = exported.after(60, pair());
    assert_eq!(since(&last, "a"), Some(Duration::from_secs(1202)));
    assert_eq!(since(&last, "b"), Some(Duration::from_secs(1)));
}

#[test]
fn faults_are_the_same_by_the_changes_alone() {
    let (mut by_changes, mut whole) = (Exported::new(10), Exported::new(10));
    let faulting = |pid, counter: u64, command: &str| {
        let mut sample = sized(pid, command, 1);
        (sample.stat.minflt, sample.stat.majflt) = (counter, counter / 2);
        sample
    };
    // What ends, begins and does nothing; the fourth snapshot is missed.
    let ticks = [
        vec![(1, 500), (2, 70), (3, 9)],
        vec![(1, 510), (2, 70), (3, 9)],
        vec![(2, 74), (3, 9), (4, 1000)],
        vec![],
        vec![(2, 90), (3, 9), (4, 1300), (5, 1)],
        vec![(3, 19), (4, 1300), (5, 101)],
    ];
    let mut before: Vec<ProcessSample> = Vec::new();
    for (tick, counters) in (1..).zip(ticks) {
        let rows: Vec<_> = counters
            .into_iter()
            .map(|(pid, counter)| faulting(pid, counter, if pid % 2 == 0 { "/bin/even" } else { "/bin/odd" }))
            .collect();
        let known = |row: &ProcessSample| before.iter().find(|old| old.id == row.id);
        let changed = |row: &ProcessSample| known(row).is_none_or(|old| old.stat != row.stat);
        let changes = RowChanges {
            rows: (0..)
                .zip(&rows)
                .filter(|(_, row)| changed(row))
                .map(|(at, _)| at)
                .collect(),
            removed: before
                .iter()
                .map(|old| old.id)
                .filter(|id| rows.iter().all(|row| row.id != *id))
                .collect(),
        };
        let mut snapshot = snapshot(Duration::from_secs(tick), rows.clone());
        snapshot.tick = tick;
        before = rows;
        if before.is_empty() {
            continue;
        }
        let expected = whole.take_in(snapshot.clone());
        let found = by_changes.take_in(Snapshot {
            changes: Some(changes),
            ..snapshot
        });
        for name in ["zmtop_minor_faults", "zmtop_major_faults"] {
            for group in ["odd", "even"] {
                let [found, expected] = [&found, &expected].map(|families| value(families, name, group));
                assert_eq!(found, expected, "{name} of {group} at {tick}");
            }
        }
        if tick == 6 {
            assert_eq!(value(&found, "zmtop_minor_faults", "even"), Some(320.0));
            assert_eq!(value(&found, "zmtop_minor_faults", "odd"), Some(120.0));
        }
    }
}

#[test]
fn a_leak_is_reported_and_what_is_not_known_yet_is_absent() {
    let mut exported = Exported::new(10);
    let mut last = exported.after(1, vec![sized(1, "/bin/leaks", 50), sized(2, "/bin/rests", 50)]);
    assert_eq!(value(&last, "zmtop_leaking", "leaks"), None);
    for second in (0..2700_u64).step_by(5) {
        last = exported.after(
            5,
            vec![sized(1, "/bin/leaks", 50 + second / 10), sized(2, "/bin/rests", 50)],
        );
    }
    assert_eq!(value(&last, "zmtop_leaking", "leaks"), Some(1.0));
    assert_eq!(value(&last, "zmtop_growing", "leaks"), Some(1.0));
    assert_eq!(value(&last, "zmtop_leaking", "rests"), Some(0.0));
    let slope = value(&last, "zmtop_slope", "leaks").unwrap() / MIB as f64;
    assert!((0.08..0.12).contains(&slope), "{slope}");
    assert!(value(&last, "zmtop_leak_confidence", "leaks").unwrap() >= 0.9);
}

#[test]
fn names_that_look_alike_are_one_series_at_most() {
    let mut exported = Exported::new(10);
    let hostile = |pid, name: &[u8]| {
        let mut sample = sized(pid, "x", 5);
        sample.facts = Arc::new(zmtop::model::Facts {
            comm: name.into(),
            cmdline: Ok([name, b"\0"].concat().into()),
            ..(*sample.facts).clone()
        });
        sample
    };
    let long = [b'y'; 5000];
    let families = exported.after(
        0,
        vec![
            hostile(1, b"\\x1b[2J"),
            hostile(2, b"\x1b[2J"),
            hostile(3, b"(others)"),
            hostile(4, b"a\"b\nc\xff"),
            hostile(5, &long),
            hostile(6, &[&long[..], b"z"].concat()),
        ],
    );
    let pss = families.iter().find(|family| family.name == "zmtop_pss").unwrap();
    let labels: Vec<_> = pss.series.iter().map(|series| &series.labels).collect();
    let unique: HashSet<_> = labels.iter().collect();
    assert_eq!(unique.len(), labels.len());
    for (_, value) in labels.iter().flat_map(|labels| labels.iter()) {
        assert!(value.len() < 300 && !value.chars().any(char::is_control), "{value:?}");
    }
    let sum: f64 = pss.series.iter().map(|series| series.value).sum();
    assert_eq!(sum as u64, 30 * MIB);
}

#[test]
fn a_clock_that_is_set_back_moves_the_start_of_counters_once() {
    let hour = 3600;
    let mut exported = Exported::new(10);
    let system = |system: &mut zmtop::model::SystemSample| {
        system.uptime = Ok(60.0);
        system.pswpin = Ok(5);
    };
    let starts = |families: &[Family]| -> Vec<_> {
        let series = families.iter().flat_map(|family| &family.series);
        series.filter_map(|series| series.since).collect()
    };
    let names = |n: u32| vec![sized(1, "/bin/a", 1), sized(2 + n, "/bin/b", 1)];
    exported.after_with(10 * hour, names(0), system);
    let before = starts(&exported.after_with(1, names(1), system));
    assert!(before.len() >= 4, "{before:?}");
    // Of the clock, as pushes see it: it was set back by an hour, and goes on from there.
    let mut set_back = |after: u64| {
        let at = Duration::from_secs(10 * hour + after);
        let mut snapshot = snapshot(at, names(2));
        system(&mut snapshot.system);
        snapshot.time -= Duration::from_secs(hour);
        let time = snapshot.time;
        let found = starts(&exported.take_in(snapshot));
        assert!(found.iter().all(|since| *since <= time), "{found:?}");
        found
    };
    let first = set_back(5);
    for after in [6, 60, 2000] {
        assert_eq!(set_back(after), first, "after {after} s");
    }
    assert_eq!(first.len(), before.len());
}

#[test]
fn what_could_not_be_read_is_absent() {
    let mut exported = Exported::new(10);
    let mut hidden = sized(1, "/bin/hidden", 1);
    hidden.walk = Err(Missing::Denied);
    let families = exported.after(0, vec![hidden]);
    assert_eq!(value(&families, "zmtop_pss", "hidden"), None);
    assert_eq!(value(&families, "zmtop_processes_unreadable", ""), Some(1.0));
    assert_eq!(value(&families, "zmtop_system_memory_total", ""), None);
    assert_eq!(value(&families, "zmtop_snapshot_age", ""), Some(0.5));
}

#[test]
fn the_help_of_a_metric_speaks_of_metrics_and_not_of_the_screen() {
    use zmtop::columns::{COLUMNS, system};
    let of_groups = COLUMNS.iter().filter_map(|c| Some((c.metric?, c.help_of_metric())));
    let of_the_machine = system::COLUMNS
        .iter()
        .filter_map(|c| Some((c.metric?, c.help_of_metric())));
    // Words that are names in the kernel or of the field too.
    let known = ["PSS", "RSS", "USS", "VRAM", "GPU", "BPF"];
    let titles: Vec<_> = COLUMNS
        .iter()
        .map(|column| column.title)
        .filter(|title| title.len() > 2)
        .collect();
    for (metric, help) in of_groups.chain(of_the_machine) {
        for word in [
            "≤", "≥", "Filter:", "shown", "screen", "column", "pressed", " row ", "Sorted",
        ] {
            assert!(!help.contains(word), "{metric}: {word}: {help}");
        }
        let words = help.split(|c: char| !c.is_alphanumeric() && c != '%');
        for word in words.filter(|word| !known.contains(word) && word.chars().all(char::is_uppercase)) {
            assert!(!titles.contains(&word), "{metric}: {word}: {help}");
        }
    }
}

#[test]
fn a_program_called_like_the_rest_has_a_series_of_its_own() {
    let mut exported = Exported::new(10);
    let name = &b"(others) (name)"[..];
    let rows = || {
        vec![
            sized(1, "/bin/(others)", 9),
            sized(2, "/bin/a", 1),
            with_facts(sized(3, "x", 10), |facts| {
                (facts.comm, facts.cmdline) = (name.into(), Ok([name, b"\0"].concat().into()));
            }),
        ]
    };
    exported.after(0, rows());
    let families = exported.after(1, rows());
    let pss = families.iter().find(|family| family.name == "zmtop_pss").unwrap();
    let shown = pss.series.iter().flat_map(|series| series.labels.iter());
    let shown: HashSet<_> = shown
        .filter(|(label, _)| *label == "group")
        .map(|(_, name)| name)
        .collect();
    let starts = |begin: &str| shown.iter().filter(|name| name.starts_with(begin)).count();
    assert_eq!(
        [starts("(others) (name)"), starts("(others) (name) (")],
        [2, 1],
        "{shown:?}"
    );
    assert_eq!((shown.len(), pss.series.len()), (3, 3), "{shown:?}");
    assert_eq!(value(&families, "zmtop_major_faults", "(others) (name)"), Some(0.0));
}
