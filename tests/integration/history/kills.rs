//! OOM kills: what was known of the victim, what had grown most, and what is shown for how long.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use zmtop::group::RowKey;
use zmtop::history::History;
use zmtop::history::kept::Kept;
use zmtop::history::kills::Kill;
use zmtop::model::cgroup::Count;
use zmtop::model::kill::{Constraint, KillCause, OomKill};
use zmtop::model::{CgroupFigures, Missing, Owner, ProcessSample, Snapshot};
use zmtop::units::Units;

use crate::support::kills::{killed, killed_by_daemon};
use crate::support::rows::{MIB, in_cgroup, process, snapshot, with_facts, with_file, with_pss};

const HERE: &str = "here";

/// A process in a cgroup, with so many MiB.
fn holding(pid: u32, command: &str, path: &str, mib: u64) -> ProcessSample {
    in_cgroup(with_pss(pid, command, mib * MIB), path)
}

fn machine(second: u64, rows: Vec<ProcessSample>, kills: &[OomKill]) -> Snapshot {
    let mut snap = snapshot(Duration::from_secs(second), rows);
    snap.system.mem_total = Ok(1000 * MIB);
    snap.oom_kills = kills.into();
    snap
}

/// Pushes a minute of these processes, then a snapshot without process 7, which was killed. Returns the history.
fn after_kill(rows: impl Fn(u64) -> Vec<ProcessSample>, kill: &OomKill) -> History {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..60 {
        history.push(&machine(second, rows(second), &[]));
    }
    let mut rest = rows(60);
    rest.retain(|row| row.id.pid != 7);
    history.push(&machine(60, rest, std::slice::from_ref(kill)));
    history
}

fn newest(history: &History) -> &Kill {
    history.kills().next().expect("there is a kill")
}

fn why(history: &History) -> String {
    newest(history).text(40, Units::Auto).why()
}

/// The name of a case, the other processes by the second, the limit, and the end of the text.
type Case = (
    &'static str,
    fn(u64) -> Vec<ProcessSample>,
    Option<&'static str>,
    &'static str,
);

#[test]
fn a_kill_tells_the_victim_as_it_was_and_what_had_grown() {
    let victim = |mib| holding(7, "/srv/importer --all", "/shop/web", mib);
    let limit = Some("/shop");
    let of_it = ", and it had 148M of it";
    let cases: [Case; 6] = [
        (
            "nothing grew but the victim",
            |_| vec![holding(8, "calm", "/shop", 50)],
            limit,
            "",
        ),
        (
            "another grew below the limit",
            |s| {
                vec![
                    holding(8, "calm", "/shop", 50 + s),
                    holding(9, "far", "/shopping", 50 + 3 * s),
                ]
            },
            limit,
            "; 8 calm had grown most, +10.0M in 10s",
        ),
        (
            "only one outside of the limit grew",
            |s| vec![holding(9, "far", "/shopping", 50 + 3 * s)],
            limit,
            "",
        ),
        (
            "the machine has no limit",
            |s| vec![holding(9, "far", "/shopping", 50 + 3 * s)],
            None,
            "; 9 far had grown most, +30.0M in 10s",
        ),
        (
            "many of a program grew",
            |s| (20..30).map(|pid| holding(pid, "worker", "/", 10 + s)).collect(),
            None,
            "; worker (all its processes) had grown most, +100M in 10s",
        ),
        (
            "it grew by noise",
            |s| vec![holding(8, "calm", "/", 50 + s / 6)],
            None,
            "",
        ),
    ];
    for (what, others, limit, expected) in cases {
        let kill = killed(60, 1, 7, "importer", 148, limit);
        let rows = |second| others(second).into_iter().chain([victim(140 + second / 60)]).collect();
        let history = after_kill(rows, &kill);
        let reason = limit.map_or("memory was full", |_| "/shop reached its limit of 150M");
        assert_eq!(why(&history), format!("{reason}{of_it}{expected}"), "{what}");
        let known = newest(&history).known.as_ref().expect(what);
        assert_eq!((known.id.pid, known.footprint), (7, 140 * MIB), "{what}");
        assert_eq!(
            newest(&history).text(40, Units::Auto).victim,
            "7 importer --all",
            "{what}"
        );
    }
}

#[test]
fn a_victim_that_grew_most_is_named_alone_and_one_that_is_not_seen_has_no_past() {
    let kill = killed(60, 1, 7, "importer", 148, Some("/shop"));
    let rows = |second| {
        vec![
            holding(7, "importer", "/shop", 20 + 2 * second),
            holding(8, "b", "/shop", 20 + second),
        ]
    };
    let history = after_kill(rows, &kill);
    assert_eq!(newest(&history).grower, None);
    // A pid of another namespace is another process.
    let other = killed(60, 1, 8, "importer", 148, Some("/shop"));
    let history = after_kill(rows, &other);
    assert_eq!(newest(&history).known, None);
    assert_eq!(newest(&history).text(40, Units::Auto).victim, "8 importer");
    // All of its memory may be new.
    assert_eq!(newest(&history).grower, None);
    let small = killed(60, 1, 8, "importer", 10, Some("/shop"));
    let beside = |second| {
        let mut rows = rows(second);
        rows.push(holding(9, "c", "/shop", 20 + 2 * second));
        rows
    };
    let history = after_kill(beside, &small);
    let grower = newest(&history).grower.as_ref().expect("both grew");
    assert!(matches!(&grower.key, RowKey::Process(id) if id.pid == 9), "{grower:?}");
    // So may that of a victim which has changed its name.
    let renamed = killed(60, 1, 7, "worker", 148, Some("/shop"));
    let history = after_kill(rows, &renamed);
    assert_eq!((&newest(&history).known, &newest(&history).grower), (&None, &None));
}

/// Returns the kill from second 60 on.
fn if_killed(second: u64, kill: &OomKill) -> &[OomKill] {
    if second < 60 { &[] } else { std::slice::from_ref(kill) }
}

/// Returns the history after a restart of the monitor.
fn restarted(history: &History) -> History {
    let bytes = history.keep(&machine(61, Vec::new(), &[]), HERE).unwrap();
    let mut next = History::new(Duration::from_secs(10));
    next.resume(Kept::read(&bytes, HERE).unwrap().unwrap());
    next.push(&machine(70, Vec::new(), &[]));
    next
}

/// MiB by the second, and if figures are known in it.
type Mib = fn(u64) -> u64;
type Known = fn(u64) -> bool;
/// A command by its number.
type Name = fn(u32) -> String;

/// A cgroup with a limit of 150 MiB: its shared memory, what processes map of it, and kernel memory.
fn charged([shmem, mapped, kernel]: [u64; 3]) -> CgroupFigures {
    CgroupFigures {
        limit: Ok(Some(150 * MIB)),
        shmem: Ok(shmem * MIB),
        file_mapped: Ok(mapped * MIB),
        kernel: Ok(kernel * MIB),
        ..CgroupFigures::missing(Missing::Unsupported)
    }
}

/// Of which so many MiB are shared memory.
fn mapping(mut sample: ProcessSample, mib: u64) -> ProcessSample {
    let memory = &mut sample.walk.as_mut().unwrap().memory;
    (memory.pss_anon, memory.pss_shmem) = (Ok(memory.pss - mib * MIB), Ok(mib * MIB));
    sample
}

#[test]
fn memory_in_no_process_is_named_if_it_filled_the_cgroup() {
    const ALONE: &str = "and it had 40.0M of it";
    const MAPPER: &str = "; 8 mapper had grown most, +10.0M in 10s";
    let slow: Mib = |second| 10 + second / 2;
    let until: Mib = |second| if second < 60 { second } else { 0 };
    // The cgroup's figures, the victim's memory, and the end of the text. What is mapped is in process 8, unless it is the victim's.
    let cases: [(&str, [Mib; 3], Mib, &str); 10] = [
        (
            "shared",
            [|s| s, |_| 0, |_| 5],
            slow,
            "; shared memory and tmpfs had grown most, +10.0M in 10s",
        ),
        (
            "kernel",
            [|_| 5, |_| 0, |s| s],
            slow,
            "; kernel memory had grown most, +10.0M in 10s",
        ),
        (
            "it went with the victim",
            [until, |_| 0, |_| 5],
            slow,
            "; shared memory and tmpfs had grown most, +9.0M in 10s",
        ),
        (
            "it stopped",
            [|s| s.min(40), |_| 0, |_| 5],
            |_| 20,
            "; shared memory and tmpfs had grown most, +40.0M in 60s",
        ),
        ("mapped", [|s| s, |s| s, |_| 5], slow, MAPPER),
        ("some is mapped and grows", [|s| 60 + s, |s| s, |_| 5], slow, MAPPER),
        ("the victim maps it", [until, until, |_| 5], until, ALONE),
        (
            "mapped elsewhere",
            [|s| s, |s| s, |_| 5],
            slow,
            "; shared memory and tmpfs had grown most, +10.0M in 10s",
        ),
        ("it rests", [|_| 60, |_| 0, |_| 5], slow, ALONE),
        ("it grows less than the victim", [|s| s / 8, |_| 0, |_| 5], slow, ALONE),
    ];
    for (name, figures, victim, expected) in cases {
        let kill = killed(60, 1, 7, "database", 40, Some("/shop"));
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..=60 {
            let figures = figures.map(|mib| mib(second));
            let maps = victim(50) == 50;
            let of_victim = [victim(second), if maps { victim(second) } else { 0 }];
            let of_mapper = [if maps { 0 } else { figures[1] }; 2];
            let mapper = if name == "mapped elsewhere" { "/" } else { "/shop" };
            let mut rows = vec![
                mapping(holding(7, "database", "/shop/db", of_victim[0]), of_victim[1]),
                mapping(holding(8, "mapper", mapper, of_mapper[0]), of_mapper[1]),
            ];
            rows.retain(|row| row.id.pid != 7 || second < 60);
            let kills = if_killed(second, &kill);
            let mut snap = machine(second, rows, kills);
            snap.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), charged(figures))].into());
            history.push(&snap);
        }
        let found = why(&history);
        assert!(found.ends_with(expected), "{name}: {found}");
    }
}

#[test]
fn memory_of_processes_that_moved_away_and_pages_that_nobody_maps_are_named() {
    const ALONE: &str = "and it had 20.0M of it";
    // The second reading of two is not yet confirmed.
    const OUTSIDE: &str = "; memory of processes outside of it had grown most, +9.0M in 10s";
    const INSIDE: &str = "; 8 cache had grown most, +9.0M in 10s";
    // The anonymous memory of the cgroup, the pages that nobody maps, and the end of the text. The victim has 20 MiB. Process 8 has the
    // rest of the anonymous memory, in the cgroup of that path.
    let cases: [(&str, [Mib; 2], &str, &str); 6] = [
        ("it moved", [|s| 20 + s, |_| 0], "/", OUTSIDE),
        ("it is in the cgroup", [|s| 20 + s, |_| 0], "/shop/cache", INSIDE),
        ("it rests elsewhere", [|_| 50, |_| 0], "/", ALONE),
        ("it moves at the end", [|_| 50, |_| 0], "", ALONE),
        (
            "the last figure is newer than the walks",
            [|s| if s < 59 { 20 } else { 40 }, |_| 0],
            "/",
            ALONE,
        ),
        (
            "pages in pipes",
            [|_| 20, |s| s],
            "/",
            "; memory that no process maps had grown most, +9.0M in 10s",
        ),
    ];
    for (name, figures, path, expected) in cases {
        let mut kill = killed(60, 1, 7, "database", 20, Some("/shop"));
        let limit = kill.victim.as_mut().unwrap().limit.as_mut().unwrap();
        limit.usage = Some((figures[0](59) + figures[1](59) + 5) * MIB);
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..=60 {
            let [anon, unmapped] = figures.map(|mib| mib(second));
            let path = match path {
                "" if second < 58 => "/shop",
                "" => "/",
                path => path,
            };
            // Many forks share the same 8 MiB.
            let decoy = |n: u32| {
                let mut sample = holding(30 + n, "decoy", "/shop", 0);
                sample.walk.as_mut().unwrap().memory.shared_dirty = 8 * MIB;
                sample
            };
            let mut rows = vec![
                holding(7, "database", "/shop/db", 20),
                holding(8, "cache", path, anon - 20),
            ];
            rows.extend((0..20).map(decoy));
            rows.retain(|row| row.id.pid != 7 || second < 60);
            let mut snap = machine(second, rows, if_killed(second, &kill));
            let figures = CgroupFigures {
                anon: Ok((if second < 60 { anon } else { anon - 20 }) * MIB),
                unmapped: Ok(unmapped * MIB),
                ..charged([0, 0, 5])
            };
            snap.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
            history.push(&snap);
        }
        let found = why(&history);
        assert!(found.ends_with(expected), "{name}: {found}");
        assert_eq!(why(&restarted(&history)), found, "{name}");
    }
}

#[test]
fn a_victim_that_grew_after_its_last_figures_is_named_alone() {
    // The log has 120 MiB more than the snapshot before.
    let kill = killed(60, 1, 7, "node", 140, Some("/shop"));
    let rows = |second| {
        vec![
            holding(7, "node", "/shop", 20),
            holding(8, "logger", "/shop", 10 + second / 10),
        ]
    };
    assert_eq!(newest(&after_kill(rows, &kill)).grower, None);
    // Nor is another named if the snapshot before shows the victim while it ends, without memory.
    let rows = |second| {
        vec![
            holding(7, "node", "/shop", if second < 59 { 20 + 2 * second } else { 0 }),
            holding(8, "logger", "/shop", 10 + second),
        ]
    };
    assert_eq!(newest(&after_kill(rows, &kill)).grower, None);
    // Memory that it shares was there before, if another explains what the cgroup grew by.
    let rows = |second| {
        let mut backend = holding(7, "importer", "/shop", 20);
        backend.walk.as_mut().unwrap().memory.rss = 60 * MIB;
        vec![backend, holding(9, "logger", "/shop", 10 + second)]
    };
    let slowly = |second| rows(second / 2);
    let kill = killed(60, 1, 7, "importer", 60, Some("/shop"));
    assert_eq!(newest(&after_kill(slowly, &kill)).grower, None);
    let told = why(&after_kill_in_shop(rows, |second| 77 + second));
    assert!(told.ends_with("; 9 logger had grown most, +10.0M in 10s"), "{told}");
}

#[test]
fn many_small_processes_in_the_cgroup_are_named_together() {
    // The command of the nth of ten small processes, and the end of the text. One more of the first name is elsewhere.
    let cases: [(Name, &str); 2] = [
        (
            |_| "logger".into(),
            "; logger (all its processes) had grown most, +50.0M in 10s",
        ),
        (
            |n| format!("w{n}"),
            "; user news (all its processes) had grown most, +50.0M in 10s",
        ),
    ];
    for (command, expected) in cases {
        let kill = killed(60, 1, 7, "database", 40, Some("/shop"));
        let rows = |second: u64| {
            let small = |n: u32| {
                let path = if n == 0 { "/" } else { "/shop" };
                let sample = holding(20 + n, &command(n), path, second.saturating_sub(50) / 2 + 1);
                with_facts(sample, |facts| facts.user = Ok(b"news"[..].into()))
            };
            (0..=10)
                .map(small)
                .chain([holding(7, "database", "/shop", 10 + second / 2)])
                .collect()
        };
        let history = after_kill(rows, &kill);
        assert!(why(&history).ends_with(expected), "{}", why(&history));
        assert_eq!(why(&restarted(&history)), why(&history));
    }
}

#[test]
fn memory_in_no_process_that_was_not_known_before_has_not_grown() {
    // If the figures are known in that second.
    let cases: [(&str, Known); 3] = [
        ("a start", |second| second > 57),
        ("a late read", |second| !(40..58).contains(&second)),
        ("always", |_| true),
    ];
    for (name, is_known) in cases {
        let kill = killed(60, 1, 7, "database", 40, Some("/shop"));
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..=60 {
            let rows = if second < 60 {
                vec![holding(7, "database", "/shop", 10)]
            } else {
                Vec::new()
            };
            let kills = if_killed(second, &kill);
            let mut snap = machine(second, rows, kills);
            let mut figures = charged([100, 0, 5]);
            if !is_known(second) {
                figures.shmem = Err(Missing::TimedOut);
            }
            snap.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
            history.push(&snap);
        }
        assert_eq!(newest(&history).grower, None, "{name}");
    }
}

#[test]
fn a_kill_without_a_report_names_the_victims_cgroup() {
    let mut kill = killed(60, 1, 7, "importer", 148, Some("/shop"));
    let victim = kill.victim.as_mut().unwrap();
    (victim.limit, victim.cgroup, victim.constraint) = (None, None, None);
    let rows = |_| vec![holding(7, "importer", "/shop/web", 140)];
    assert_eq!(
        why(&after_kill(rows, &kill)),
        "/shop/web reached a limit, and it had 148M of it"
    );
    let unseen = why(&after_kill(|_| Vec::new(), &kill));
    assert_eq!(unseen, "its cgroup reached a limit, and it had 148M of it");
}

#[test]
fn a_kill_right_after_that_of_a_group_is_blamed_on_the_group_only_if_it_was_in_it() {
    let mut kill = killed(60, 1, 7, "importer", 148, Some("/shop"));
    let victim = kill.victim.as_mut().unwrap();
    // As the log has it, without a report.
    (victim.cgroup, victim.group) = (None, Some((*b"/shop").into()));
    let in_cgroup = |path: &'static str| why(&after_kill(move |_| vec![holding(7, "importer", path, 140)], &kill));
    for path in ["/shop", "/shop/web"] {
        let told = "/shop reached its limit of 150M, and it had 148M of it, killed with all of /shop";
        assert_eq!(in_cgroup(path), told, "{path}");
    }
    for path in ["/db", "/shopping"] {
        assert_eq!(
            in_cgroup(path),
            format!("{path} reached a limit, and it had 148M of it")
        );
    }
    // Also if the list comes again.
    let mut history = after_kill(|_| vec![holding(7, "importer", "/db", 140)], &kill);
    history.push(&machine(
        61,
        Vec::new(),
        &[kill.clone(), killed(61, 2, 8, "b", 1, None)],
    ));
    let first = history.kills().nth(1).unwrap().text(40, Units::Auto).why();
    assert_eq!(first, "/db reached a limit, and it had 148M of it");
}

#[test]
fn a_victim_may_have_more_than_the_limit() {
    // File pages that are charged to another cgroup.
    let kill = killed(60, 1, 7, "dd", 151, Some("/shop"));
    let told = why(&after_kill(|_| Vec::new(), &kill));
    assert_eq!(told, "/shop reached its limit of 150M, and it had 151M");
}

/// The kernel leaves out the report of most kills of a flood, and says that a process is in the root when it is ending.
#[test]
fn nothing_outside_is_blamed_for_a_kill_at_an_unknown_limit() {
    let growing = |second: u64| {
        let victim = holding(7, "flood", "/", 5);
        vec![holding(9, "innocent", "/other", 50 + 10 * second), victim]
    };
    let mut kill = killed(60, 1, 7, "flood", 5, Some("/small"));
    let victim = kill.victim.as_mut().unwrap();
    (victim.limit, victim.cgroup, victim.constraint) = (None, None, None);
    assert_eq!(
        why(&after_kill(growing, &kill)),
        "its cgroup reached a limit, and it had 5.0M of it"
    );
    kill.victim.as_mut().unwrap().by_cgroup = false;
    let of_machine = why(&after_kill(growing, &kill));
    assert!(
        of_machine.ends_with("; 9 innocent had grown most, +100M in 10s"),
        "{of_machine}"
    );
}

#[test]
fn a_flood_of_kills_in_one_cgroup_displaces_no_kill_in_another() {
    use zmtop::model::kill::forget_kills;

    // The cgroups of the kills, the oldest first, `None` for the machine and "" if unknown; and the one that must be kept.
    let some = |paths: Vec<String>| paths.into_iter().map(Some).collect::<Vec<_>>();
    let same = |path: &str| some(vec![path.to_owned(); 40]);
    let each = |prefix: &str, suffix: &str| some((0..40).map(|n| format!("{prefix}{n}{suffix}")).collect());
    let first = |path: &str, rest: Vec<Option<String>>| [vec![Some(path.to_owned())], rest].concat();
    for (kills, kept) in [
        (first("/shop", same("/small")), Some("/shop")),
        (first("/shop", same("")), Some("/shop")),
        (first("/shop", each("/mine/s", "")), Some("/shop")),
        (first("/users/5/shop", each("/users/6/a", "/b")), Some("/users/5/shop")),
        (first("/", each("/mine/s", "")), Some("/")),
        ([same("/small"), vec![None], same("")].concat(), None),
    ] {
        let mut left = kills.clone();
        let removed = forget_kills(&mut left, 8, |kill| Some((None, kill.as_deref()?.as_bytes())));
        assert_eq!((left.len(), removed), (8, kills.len() - 8));
        assert!(left.iter().any(|kill| kill.as_deref() == kept), "{kept:?}: {left:?}");
        assert_eq!(left.last(), kills.last());
    }
    // Without a flood, the oldest goes.
    let mut left = each("/s", "");
    forget_kills(&mut left, 39, |kill| Some((None, kill.as_deref()?.as_bytes())));
    assert_eq!(left, each("/s", "")[1..]);
}

#[test]
fn a_flood_of_kills_of_one_user_displaces_no_kill_of_another() {
    use zmtop::model::kill::forget_kills;

    type Flood = fn(u32) -> (Option<u32>, String);
    // The uids and cgroups of a flood, and those of the kill that must be kept.
    let cases: [(Flood, (Option<u32>, &str)); 8] = [
        (|_| (Some(5), String::new()), (Some(6), "")),
        (|_| (Some(5), String::new()), (None, "")),
        (|_| (None, String::new()), (Some(6), "")),
        (|n| (Some(5), format!("/mine/s{n}")), (Some(6), "")),
        (|n| (Some(5), format!("/mine/s{n}")), (Some(6), "/mine")),
        // Subordinate uids of a user, in a cgroup that is not known.
        (|n| (Some(200_000 + n), String::new()), (Some(6), "")),
        (|n| (Some(200_000 + n % 4), String::new()), (Some(6), "")),
        // Uids that have nothing in common.
        (|n| (Some(n << 16), format!("/mine/s{n}")), (Some(6), "/shop")),
    ];
    for (flood, (uid, path)) in cases {
        let kept = (uid, path.to_owned());
        let mut kills = Vec::new();
        for n in 0..200 {
            kills.push(if n == 10 { kept.clone() } else { flood(n) });
            forget_kills(&mut kills, 32, |(uid, path)| Some((*uid, path.as_bytes())));
        }
        assert_eq!(kills.len(), 32);
        assert!(kills.contains(&kept), "{kept:?}: {kills:?}");
        assert_eq!(kills.last(), Some(&flood(199)));
    }
}

#[test]
fn a_process_with_the_pid_and_the_name_of_a_victim_is_not_taken_for_it() {
    type Logged = (Option<u32>, Option<&'static str>);
    type Case = (Logged, (u32, Option<u32>, &'static str), bool);

    // The uid and the cgroup in the log; the uid, the owner and the cgroup of the process; and whether it is the victim.
    let same = (Some(6), Some("/shop"));
    let cases: [Case; 19] = [
        (same, (6, None, "/shop"), true),
        (same, (7, None, "/shop"), false),
        (same, (6, None, "/other"), false),
        (same, (6, None, "/shopping"), false),
        ((None, Some("/shop")), (7, None, "/shop"), true),
        ((None, Some("/shop")), (7, None, "/other"), false),
        ((Some(6), None), (6, None, "/other"), true),
        ((Some(6), None), (7, None, "/other"), false),
        ((None, None), (7, None, "/other"), true),
        // A program with the set-user-ID bit, and one of a subordinate uid.
        (same, (0, Some(6), "/shop"), true),
        (same, (0, Some(7), "/shop"), false),
        ((Some(100_006), Some("/shop")), (100_006, Some(6), "/shop"), true),
        // The controller of memory is not enabled below.
        (same, (6, None, "/shop/web"), true),
        // An ending process of version 1.
        ((Some(6), Some("/")), (6, None, "/shop"), true),
        (same, (6, None, "/"), true),
        // In a cgroup namespace.
        ((Some(6), Some("/pods/a/shop")), (6, None, "/shop"), true),
        ((Some(6), Some("/pods/a/shop")), (6, None, "/../../a/shop"), true),
        ((Some(6), Some("/pods/a/shop")), (6, None, "/../../b/shop"), false),
        ((Some(6), Some("/pods/a/shop")), (6, None, "/../..shop"), false),
    ];
    for (logged, (uid, owner, path), is_it) in cases {
        let mut kill = killed(60, 1, 7, "work", 20, Some("/shop"));
        let victim = kill.victim.as_mut().unwrap();
        (victim.uid, victim.cgroup) = (logged.0, logged.1.map(|path| path.as_bytes().into()));
        let process = || {
            with_facts(holding(7, "work", path, 20), |facts| {
                facts.uid = Ok(uid);
                facts.owner = owner.map(|uid| {
                    Arc::new(Owner {
                        uid,
                        name: (*b"man").into(),
                    })
                });
            })
        };
        let ended = after_kill(|_| vec![process()], &kill);
        let mut living = History::new(Duration::from_secs(10));
        living.push(&machine(59, vec![process()], &[]));
        living.push(&machine(60, vec![process()], std::slice::from_ref(&kill)));
        for history in [&ended, &living] {
            let found = newest(history).known.is_some();
            assert_eq!(found, is_it, "{logged:?} {uid} {owner:?} {path}");
        }
    }
}

#[test]
fn page_tables_of_a_victim_are_reported_if_they_matter() {
    for (mib, expected) in [
        (None, ""),
        (Some(14), ""),
        (Some(15), " and 15.0M of page tables"),
        (Some(600), " and 600M of page tables"),
    ] {
        let mut kill = killed(60, 1, 7, "sparse", 150, Some("/shop"));
        kill.victim.as_mut().unwrap().page_tables = mib.map(|mib: u64| mib << 20);
        let told = why(&after_kill(|_| Vec::new(), &kill));
        assert_eq!(
            told,
            format!("/shop reached its limit of 150M, and it had 150M of it{expected}")
        );
    }
}

#[test]
fn a_kill_is_reported_once_and_for_ten_minutes_unless_it_is_acknowledged() {
    let mut history = History::new(Duration::from_secs(10));
    let kills = [killed(10, 1, 7, "a", 1, None), killed(20, 2, 8, "b", 1, None)];
    let shown = |history: &History| -> Vec<u32> {
        let pids = history
            .shown_kills()
            .map(|kill| kill.event.victim.as_ref().unwrap().pid);
        pids.collect()
    };
    let mut push = |second, kills: &[OomKill]| {
        history.push(&machine(second, vec![process(1, 0, "init")], kills));
        shown(&history)
    };
    assert_eq!(push(10, &kills[..1]), [7]);
    assert_eq!(push(11, &kills[..1]), [7]);
    assert_eq!(push(20, &kills), [8, 7]);
    assert_eq!(push(609, &kills), [8, 7]);
    assert_eq!(push(610, &kills), [8]);
    assert_eq!(push(621, &kills), [0; 0]);
    assert_eq!(history.kills().len(), 2);
    // Until they are acknowledged, they are mentioned.
    assert_eq!(history.unseen_kills().count(), 2);
    assert_eq!(history.acknowledge_kills(), 2);
    assert_eq!(history.unseen_kills().count(), 0);
    // Those of long ago are no news.
    let mut history = History::new(Duration::from_secs(10));
    history.push(&machine(700, Vec::new(), &kills));
    assert_eq!((history.kills().len(), history.unseen_kills().count()), (2, 0));
    // Acknowledged; a new one is shown.
    let mut history = History::new(Duration::from_secs(10));
    history.push(&machine(10, Vec::new(), &kills[..1]));
    assert_eq!(history.acknowledge_kills(), 1);
    assert_eq!((history.acknowledge_kills(), shown(&history)), (0, vec![]));
    history.push(&machine(20, Vec::new(), &kills));
    assert_eq!(shown(&history), [8]);
    // The list has only the last ones.
    let all: Vec<_> = (0..100).map(|n| killed(21, 3 + n, 100, "c", 1, None)).collect();
    history.push(&machine(21, Vec::new(), &all));
    assert_eq!(history.kills().len(), 32);
}

#[test]
fn kills_at_the_limits_of_cgroups_do_not_hide_those_of_the_machine() {
    let mut history = History::new(Duration::from_secs(10));
    let machines = killed(10, 1, 5, "database", 500, None);
    let mut kills = vec![machines.clone()];
    history.push(&machine(10, Vec::new(), &kills));
    // A user can cause any number of these.
    kills.extend((2..102).map(|record| killed(10 + record, record, 7, "own", 1, Some("/user/own"))));
    for (second, end) in (12..).zip(2..=kills.len()) {
        // The snapshot has the last ones.
        history.push(&machine(second, Vec::new(), &kills[end.saturating_sub(20)..end]));
    }
    let (kill, others, more) = history.shown_kill().unwrap();
    assert_eq!((kill.event.record, others, more), (Some(1), 0, 31));
    // Kills of the machine may be more than half.
    let all: Vec<_> = (200..240)
        .map(|record| killed(120, record, 6, "web", 1, None))
        .collect();
    history.push(&machine(120, Vec::new(), &all));
    let of_machine = history
        .kills()
        .filter(|kill| kill.event.cause() == KillCause::Machine)
        .count();
    assert!(of_machine >= 16 && history.kills().len() == 32, "{of_machine}");
    assert_eq!(history.shown_kill().unwrap().0.event.record, Some(239));
}

#[test]
fn kills_of_all_owners_are_shown_in_turn_at_any_interval() {
    let all = [
        killed(9, 1, 5, "a", 1, Some("/user.slice/user-1000.slice/user@1000.service/a")),
        killed(9, 2, 6, "b", 1, Some("/user.slice/user-1000.slice/session-3.scope")),
        killed(9, 3, 7, "c", 1, Some("/docker/aa/inner")),
        killed(9, 4, 8, "d", 1, Some("/docker/bb")),
    ];
    for interval in [1, 5, 7, 10, 15, 30] {
        let mut history = History::new(Duration::from_secs(10));
        let mut shown = Vec::new();
        for step in 0..24 {
            let mut snap = machine(10 + step * interval, Vec::new(), &all);
            snap.interval = Duration::from_secs(interval);
            history.push(&snap);
            shown.extend(history.shown_kill().and_then(|(kill, ..)| kill.event.record));
        }
        shown.sort_unstable();
        shown.dedup();
        // The newest of each: the log has the last one last.
        assert_eq!(shown, [2, 3, 4], "{interval}");
    }
}

#[test]
fn a_new_kill_is_shown_at_once_unless_its_owner_had_others() {
    let old = [
        killed(9, 1, 5, "a", 1, Some("/docker/aa")),
        killed(9, 2, 6, "b", 1, Some("/docker/bb")),
        killed(9, 3, 7, "c", 1, Some("/docker/cc")),
    ];
    let shown = |new: OomKill, before: &[OomKill]| {
        let all: Vec<_> = old.iter().chain(before).chain([&new]).cloned().collect();
        let mut history = History::new(Duration::from_secs(10));
        let records = (290..305_u64).filter_map(|second| {
            let until = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            let known: Vec<_> = all.iter().filter(|kill| kill.time <= until).cloned().collect();
            history.push(&machine(second, Vec::new(), &known));
            let found = history.shown_kill().and_then(|(kill, ..)| kill.event.record);
            found.filter(|_| second >= 300)
        });
        records.collect::<Vec<_>>()
    };
    let new = || killed(300, 9, 8, "d", 1, Some("/docker/dd"));
    assert_eq!(shown(new(), &[]), [9; 5]);
    let again = [killed(270, 4, 8, "d", 1, Some("/docker/dd"))];
    assert_ne!(shown(new(), &again), [9; 5]);
}

#[test]
fn of_a_group_the_largest_is_shown() {
    let group = |record, pid, mib| {
        let mut kill = killed(10, record, pid, "web", mib, Some("/shop"));
        kill.victim.as_mut().unwrap().group = Some((*b"/shop").into());
        kill
    };
    let all = [
        killed(9, 1, 5, "old", 1, Some("/old")),
        group(2, 7, 90),
        group(3, 8, 100),
        group(4, 9, 1),
    ];
    let mut history = History::new(Duration::from_secs(10));
    assert_eq!(history.shown_kill(), None);
    // They alternate with that of another cgroup, after some seconds in which they are new.
    for (second, expected) in [(10, (Some(3), 2, 1)), (15, (Some(3), 2, 1)), (20, (Some(1), 0, 3))] {
        history.push(&machine(second, Vec::new(), &all));
        let (kill, others, more) = history.shown_kill().unwrap();
        assert_eq!((kill.event.record, others, more), expected);
    }
    assert_eq!(
        why(&history),
        "/shop reached its limit of 150M, and it had 1.0M of it, killed with all of /shop"
    );
    // Whether a group was killed may become known later.
    let mut history = History::new(Duration::from_secs(10));
    history.push(&machine(10, Vec::new(), &[killed(10, 2, 7, "web", 90, Some("/shop"))]));
    history.push(&machine(11, Vec::new(), &[group(2, 7, 90), group(3, 8, 100)]));
    let (kill, others, more) = history.shown_kill().unwrap();
    assert_eq!((kill.event.record, others, more), (Some(3), 1, 0));
}

#[test]
fn kills_are_kept_over_a_restart() {
    let mut unknown = killed(12, 0, 0, "", 0, None);
    (unknown.record, unknown.victim) = (None, Err(Missing::Denied));
    let all = [killed(10, 1, 7, "a", 1, None), killed(11, 2, 8, "b", 1, None), unknown];
    let mut history = History::new(Duration::from_secs(10));
    history.push(&machine(10, Vec::new(), &all[..1]));
    history.acknowledge_kills();
    let last = machine(12, Vec::new(), &all);
    history.push(&last);
    let bytes = history.keep(&last, HERE).unwrap();
    let mut next = History::new(Duration::from_secs(10));
    next.resume(Kept::read(&bytes, HERE).unwrap().unwrap());
    // The log has the victims again, by a clock that differs a little.
    let again = [killed(9, 1, 7, "a", 1, None), killed(10, 2, 8, "b", 1, None)];
    next.push(&machine(40, Vec::new(), &[]));
    next.push(&machine(41, Vec::new(), &again));
    let told: Vec<_> = next
        .kills()
        .map(|kill| (kill.event.record, kill.at.as_secs(), kill.is_seen))
        .collect();
    assert_eq!(told, [(None, 12, false), (Some(2), 11, false), (Some(1), 10, true)]);
}

#[test]
fn a_daemon_that_kills_is_named_with_all_that_it_killed() {
    let rows = |_| vec![holding(7, "/srv/importer --all", "/shop/web", 140)];
    let mut history = after_kill(rows, &killed_by_daemon(60, 7, "importer", 148, 0));
    let told = newest(&history).text(40, Units::Auto);
    assert_eq!((&*told.by, &*told.victim), ("systemd-oomd", "7 importer --all"));
    // What it cost, and not its RSS.
    assert_eq!(told.why(), "memory was short, and it had 140M of it, in /shop/web");
    // The others of its cgroup die within the second.
    history.push(&machine(61, Vec::new(), &[killed_by_daemon(60, 7, "importer", 148, 3)]));
    assert_eq!(
        why(&history),
        "memory was short, and it had 140M of it, with 3 more of /shop"
    );
    assert_eq!(history.kills().len(), 1);
    // A process that was never seen.
    let unseen = after_kill(|_| Vec::new(), &killed_by_daemon(60, 7, "importer", 0, 1));
    assert_eq!(why(&unseen), "memory was short, with 1 more of /shop");
    // It is kept over a restart, as no log has it.
    let last = machine(62, Vec::new(), &[]);
    history.push(&last);
    let mut next = History::new(Duration::from_secs(10));
    next.resume(Kept::read(&history.keep(&last, HERE).unwrap(), HERE).unwrap().unwrap());
    next.push(&machine(70, Vec::new(), &[]));
    let again = newest(&next).text(40, Units::Auto);
    // Its command line is not.
    assert_eq!((&*again.by, &*again.victim), ("systemd-oomd", "7 importer"));
    assert_eq!(again.why(), why(&history));
}

/// Pushes ten seconds of these processes, then five without those of them that are `gone`. In second 10 the kernel killed
/// `kills` processes, which its log does not tell, and the cgroups counted so many.
fn unlogged(rows: &[ProcessSample], gone: &[u32], kills: usize, counts: &[(&str, u64)]) -> History {
    let mut history = History::new(Duration::from_secs(10));
    let mut kill = killed(10, 0, 0, "", 0, None);
    (kill.record, kill.victim) = (None, Err(Missing::Denied));
    let kills = vec![kill; kills];
    for second in 0..15 {
        let is_over = second >= 10;
        let rows = rows.iter().filter(|row| !(is_over && gone.contains(&row.id.pid)));
        let mut snap = machine(second, rows.cloned().collect(), if is_over { &kills } else { &[] });
        let figures = counts.iter().map(|(path, count)| {
            let mut figures = CgroupFigures::missing(Missing::Unsupported);
            // The counter is read a moment later.
            figures.oom_kills = Ok(Count(if second >= 11 { 2 + count } else { 2 }));
            (Arc::from(path.as_bytes()), figures)
        });
        snap.cgroups = Arc::new(figures.collect());
        history.push(&snap);
    }
    history
}

#[test]
fn without_the_log_the_counters_of_cgroups_tell_the_victim() {
    let shop = || {
        vec![
            holding(7, "importer", "/shop/web", 140),
            holding(8, "helper", "/shop/web", 1),
            holding(9, "other", "/far", 1),
        ]
    };
    let told = |history: &History| -> Vec<String> {
        let kills = history.kills().map(|kill| {
            let told = kill.text(40, Units::Auto);
            format!("{}: {}", told.victim, told.why())
        });
        kills.collect()
    };
    let log = "the kernel's log cannot be read: permission denied";
    let all = [("/far", 0), ("/shop", 1), ("/shop/web", 1)];
    // One process of that cgroup ended, and one elsewhere.
    assert_eq!(
        told(&unlogged(&shop(), &[7, 9], 1, &all)),
        [format!(
            "7 importer of /shop/web: it ended when a kill was counted, and it had 140M; {log}"
        )]
    );
    // Two ended: which was killed is not known.
    let of_web = [format!("a process of /shop/web: {log}")];
    assert_eq!(told(&unlogged(&shop(), &[7, 8], 1, &all)), of_web);
    assert_eq!(told(&unlogged(&shop(), &[], 1, &all)), of_web);
    // All of a group.
    let both = told(&unlogged(&shop(), &[7, 8], 2, &[("/shop", 2), ("/shop/web", 2)]));
    assert!(
        both[0].starts_with("8 helper of /shop/web: it ended when a kill was counted, and it had 1.0M"),
        "{both:?}"
    );
    assert!(
        both[1].starts_with("7 importer of /shop/web: it ended when a kill was counted, and it had 140M"),
        "{both:?}"
    );
    // No cgroup counted it: one that had a good part of the memory is the victim.
    let machine = told(&unlogged(&shop(), &[7, 9], 1, &[("/shop", 0)]));
    assert_eq!(
        machine,
        [format!(
            "7 importer: it ended when a kill was counted, and it had 140M; {log}"
        )]
    );
    assert_eq!(told(&unlogged(&shop(), &[9], 1, &[])), [format!("a process: {log}")]);
}

#[test]
fn what_filled_the_machine_is_named_also_if_it_is_no_process_or_program() {
    // The growth of shared memory in no process and of each of 15 programs of a user, in MiB a second, and the end of the text.
    let cases: [(&str, [u64; 2], &str); 3] = [
        ("a database", [0, 0], "; 8 db had grown most, +30.0M in 10s"),
        (
            "shared memory",
            [9, 0],
            "; shared memory and tmpfs had grown most, +90.0M in 10s",
        ),
        (
            "a user",
            [0, 2],
            "; user news (all its processes) had grown most, +300M in 10s",
        ),
    ];
    for (name, [shared, each], expected) in cases {
        let kill = killed(60, 1, 7, "importer", 300, None);
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..=60 {
            let small = |n: u32| {
                let sample = holding(20 + n, &format!("w{n}"), "/", 10 + each * second);
                with_facts(sample, |facts| facts.user = Ok(b"news"[..].into()))
            };
            let large = [holding(7, "importer", "/", 300), holding(8, "db", "/", 50 + 3 * second)];
            let mut rows: Vec<_> = large.into_iter().chain((0..15).map(small)).collect();
            rows.retain(|row| row.id.pid != 7 || second < 60);
            let kills = if_killed(second, &kill);
            let mut snap = machine(second, rows, kills);
            snap.system.shmem = Ok((50 + shared * second) * MIB);
            history.push(&snap);
        }
        let found = why(&history);
        assert!(found.ends_with(expected), "{name}: {found}");
        assert_eq!(why(&restarted(&history)), found, "{name}");
    }
}

#[test]
fn a_user_who_runs_a_program_of_that_name_elsewhere_has_not_grown_below_the_limit() {
    let of = |user: &'static [u8], sample| with_facts(sample, |facts| facts.user = Ok(user.into()));
    let rows = |second: u64| {
        let own = (21..26).map(|pid| of(b"shop", holding(pid, "worker", "/shop", 2 + second / 2)));
        let others = [
            of(b"alice", holding(40, "worker", "/", 100 + 20 * second)),
            holding(7, "importer", "/shop", 140),
        ];
        own.chain(others).collect()
    };
    let history = after_kill(rows, &killed(60, 1, 7, "importer", 140, Some("/shop")));
    let told = why(&history);
    assert!(
        told.ends_with("; worker (all its processes) had grown most, +25.0M in 10s"),
        "{told}"
    );
}

#[test]
fn a_kill_of_a_memory_policy_is_one_that_a_user_can_cause() {
    let mut kill = killed(60, 1, 7, "own", 100, None);
    assert_eq!((kill.cause(), kill.is_of_machine()), (KillCause::Machine, true));
    for constraint in [Constraint::MemoryPolicy, Constraint::Cpuset] {
        if let Ok(victim) = &mut kill.victim {
            victim.constraint = Some(constraint);
        }
        assert_eq!((kill.cause(), kill.is_of_machine()), (KillCause::Cgroup, false));
        assert!(kill.origin().is_some());
    }
}

#[test]
fn a_process_that_ended_before_the_kill_has_not_grown_most() {
    for end in [52, 58] {
        let mut history = History::new(Duration::from_secs(10));
        for second in 0..60_u64 {
            let mut rows = vec![
                holding(7, "importer", "/shop", 130),
                holding(8, "nightly", "/shop", 10 + 3 * second),
                holding(9, "calm", "/shop", 10 + second),
            ];
            rows.retain(|row| row.id.pid != 8 || second < end);
            history.push(&machine(second, rows, &[]));
        }
        let kill = killed(60, 1, 7, "importer", 130, Some("/shop"));
        let rows = vec![holding(9, "calm", "/shop", 70)];
        history.push(&machine(60, rows, std::slice::from_ref(&kill)));
        let told = why(&history);
        assert!(told.ends_with("; 9 calm had grown most, +10.0M in 10s"), "{told}");
    }
}

/// Pushes a minute of `rows` with the figures of `/shop` by the second, then a snapshot without the processes 7 and 8.
fn after_kill_in_shop(rows: impl Fn(u64) -> Vec<ProcessSample>, anon: impl Fn(u64) -> u64) -> History {
    let kill = killed(60, 1, 7, "importer", 60, Some("/shop"));
    let rows = |second| {
        let mut rows = rows(second);
        rows.retain(|row| second < 60 || ![7, 8].contains(&row.id.pid));
        rows
    };
    in_shop(&every(1), rows, anon, &kill)
}

/// A minute with a snapshot after each `step` of seconds.
fn every(step: usize) -> Vec<u64> {
    (0..=60).step_by(step).collect()
}

/// Pushes `rows` and the MiB of anonymous memory of `/shop` by the second; the kill is found in second 60.
fn in_shop(
    seconds: &[u64],
    rows: impl Fn(u64) -> Vec<ProcessSample>,
    anon: impl Fn(u64) -> u64,
    kill: &OomKill,
) -> History {
    in_shop_with(seconds, rows, anon, 0, kill)
}

/// As [`in_shop`], with so many MiB of page cache.
fn in_shop_with(
    seconds: &[u64],
    rows: impl Fn(u64) -> Vec<ProcessSample>,
    anon: impl Fn(u64) -> u64,
    cache: u64,
    kill: &OomKill,
) -> History {
    let mut history = History::new(Duration::from_secs(10));
    for second in seconds {
        let mut snap = machine(*second, rows(*second), if_killed(*second, kill));
        snap.interval = Duration::from_secs(seconds[1] - seconds[0]);
        snap.system.uptime = Ok((BOOTED + second) as f64);
        let figures = CgroupFigures {
            current: Ok((anon(*second) + 5 + cache) * MIB),
            anon: Ok(anon(*second) * MIB),
            unmapped: Ok(0),
            swap: Ok(0),
            ..charged([0, 0, 5])
        };
        snap.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
        history.push(&snap);
    }
    history
}

/// These rows, from second 60 on without process 7.
fn until_killed(second: u64, mut rows: Vec<ProcessSample>) -> Vec<ProcessSample> {
    rows.retain(|row| second < 60 || row.id.pid != 7);
    rows
}

/// A kill of process 7 of that name and so many MiB at the limit of `/shop`, which has used so many MiB.
fn killed_in_shop(comm: &str, mib: u64, used: u64) -> OomKill {
    let mut kill = killed(60, 1, 7, comm, mib, Some("/shop"));
    let limit = kill.victim.as_mut().unwrap().limit.as_mut().unwrap();
    limit.usage = Some(used * MIB);
    kill
}

/// The age of the machine at second 0, in seconds.
const BOOTED: u64 = 1000;

/// A process that started in that second.
fn started(mut sample: ProcessSample, second: u64) -> ProcessSample {
    sample.id.starttime = (BOOTED + second) * 100;
    sample
}

#[test]
fn a_program_whose_processes_come_and_go_has_not_grown() {
    // Each of six compilers lives for six seconds, and grows to 25 MiB.
    let rows = |second: u64| {
        let compilers = (0..6).map(|age| {
            let born = second.saturating_sub(age);
            let sample = holding(100 + born as u32, "cc", "/shop/g", 5 * age);
            started(sample, born)
        });
        let mut rows: Vec<_> = compilers.filter(|_| second >= 6).collect();
        rows.reverse();
        let beside = [
            holding(7, "database", "/shop", 20),
            holding(9, "server", "/shop/m", 4 * second),
        ];
        let all: Vec<_> = beside.into_iter().chain(rows).collect();
        until_killed(second, all)
    };
    let anon = |second: u64| 95 + 4 * second - if second < 60 { 0 } else { 20 };
    let kill = killed_in_shop("database", 20, 340);
    let told = why(&in_shop(&every(1), rows, anon, &kill));
    assert!(told.ends_with("; 9 server had grown most, +36.0M in 10s"), "{told}");
    // Also if another process of that name is elsewhere.
    let beside = |second: u64| {
        let mut rows = rows(second);
        rows.push(holding(1000, "cc", "/", 20));
        rows
    };
    let told = why(&in_shop(&every(1), beside, anon, &kill));
    assert!(told.ends_with("; 9 server had grown most, +36.0M in 10s"), "{told}");
}

#[test]
fn what_takes_the_place_of_memory_that_was_given_back_has_not_grown() {
    // Each of ten workers lives for a minute.
    let rows = |names: [&str; 2], second: u64| {
        let workers = (0..20_u32).filter(|nth| (6 * nth..6 * nth + 60).contains(&(second as u32 + 54)));
        let workers = workers.map(|nth| {
            let worker = holding(100 + nth, "php-fpm", "/shop", 40);
            started(worker, (6 * u64::from(nth)).saturating_sub(54))
        });
        let [flat, leak] = if names[0] == "db" { [7, 9] } else { [9, 7] };
        let mut beside = vec![
            holding(flat, "db", "/shop", 300),
            holding(leak, "importer", "/shop", 120 + 3 * second),
        ];
        beside.sort_by_key(|row| row.id.pid);
        until_killed(second, beside.into_iter().chain(workers).collect())
    };
    for (names, expected) in [
        (["db", "importer"], "; 9 importer had grown most, +27.0M in 10s"),
        (["importer", "db"], "and it had 300M"),
    ] {
        let anon = |second: u64| 820 + 3 * second - if second < 60 { 0 } else { 300 };
        let kill = killed_in_shop(names[0], 300, 1005);
        let told = why(&in_shop(&every(1), |second| rows(names, second), anon, &kill));
        assert!(told.ends_with(expected), "{names:?}: {told}");
    }
}

#[test]
fn what_follows_an_older_one_of_its_name_and_takes_more_is_named() {
    // Process 9 has 60 MiB until second 20; 10 begins in second 30, and takes 90 MiB.
    let rows = |second: u64| {
        let old = holding(9, "python3", "/shop", 60);
        let new = started(holding(10, "python3", "/shop", 3 * second.saturating_sub(30)), 30);
        let mut rows = vec![holding(7, "db", "/shop", 20)];
        rows.extend((second < 20).then_some(old));
        rows.extend((second >= 30).then_some(new));
        until_killed(second, rows)
    };
    let anon = |second: u64| rows(second).iter().map(|row| row.walk.unwrap().memory.pss / MIB).sum();
    let told = why(&in_shop(&every(1), rows, anon, &killed_in_shop("db", 20, 115)));
    assert!(told.contains("; 10 python3 had grown most, +"), "{told}");
}

#[test]
fn a_pool_whose_workers_are_all_new_has_not_grown() {
    // Each of ten workers lives for 20 seconds. A program of that name also runs elsewhere.
    let rows = |second: u64| {
        let workers = (0..50_u32).filter(|nth| (2 * nth..2 * nth + 20).contains(&(second as u32 + 18)));
        let workers = workers.map(|nth| {
            let worker = holding(100 + nth, "php-fpm", "/shop", 4);
            started(worker, (2 * u64::from(nth)).saturating_sub(18))
        });
        let beside = [
            holding(7, "node", "/shop", 20 + second / 4),
            holding(9, "log", "/shop", 10 + second / 10),
            holding(10, "php-fpm", "/", 5),
        ];
        until_killed(second, beside.into_iter().chain(workers).collect())
    };
    let anon = |second: u64| 70 + second / 4 + second / 10 - if second < 60 { 0 } else { 35 };
    let told = why(&in_shop(&every(1), rows, anon, &killed_in_shop("node", 35, 96)));
    assert!(told.ends_with("and it had 35.0M of it"), "{told}");
}

#[test]
fn what_was_started_again_with_the_victim_has_not_grown() {
    // All of the unit is started again.
    let rows = |second: u64| match second {
        60 => vec![
            started(holding(47, "app", "/shop", 6), 58),
            started(holding(48, "helper", "/shop", 40), 58),
        ],
        _ => vec![
            holding(7, "app", "/shop", 70 + second / 2),
            holding(8, "helper", "/shop", 40),
        ],
    };
    let anon = |second: u64| if second < 60 { 110 + second / 2 } else { 46 };
    let told = why(&in_shop(&every(5), rows, anon, &killed_in_shop("app", 99, 145)));
    assert!(told.ends_with("and it had 99.0M of it"), "{told}");
}

#[test]
fn after_a_stall_the_successor_of_the_victim_has_not_grown_most() {
    let rows = |second: u64| match second {
        60 => vec![started(holding(47, "node", "/shop", 45), 53)],
        _ => vec![holding(7, "node", "/shop", 100 + second / 2)],
    };
    let anon = |second: u64| if second < 60 { 100 + second / 2 } else { 45 };
    let seconds: Vec<_> = (0..=52).chain([60]).collect();
    let mut kill = killed_in_shop("node", 129, 134);
    kill.monotonic_ms = Ok(53_000);
    let told = why(&in_shop(&seconds, rows, anon, &kill));
    assert!(told.ends_with("and it had 129M of it"), "{told}");
}

#[test]
fn nothing_is_named_at_a_kill_for_lack_of_memory_of_some_nodes() {
    for constraint in [Constraint::MemoryPolicy, Constraint::Cpuset] {
        let mut kill = killed(60, 1, 7, "helper", 50, None);
        kill.victim.as_mut().unwrap().constraint = Some(constraint);
        let rows = |second| {
            vec![
                holding(7, "helper", "/", 50),
                holding(9, "postgres", "/", 100 + 5 * second),
            ]
        };
        let told = why(&after_kill(rows, &kill));
        assert!(told.ends_with("and it had 50.0M of it"), "{told}");
    }
}

#[test]
fn a_burst_in_the_place_of_page_cache_that_comes_back_is_no_growth_of_others() {
    // It took 60 MiB within the last second, and the kernel dropped as much page cache meanwhile.
    let rows = |second: u64| {
        let rows = vec![
            holding(7, "victim", "/shop", 40),
            holding(8, "burst", "/shop", 5),
            holding(9, "backup", "/shop", 10 + second / 3),
        ];
        until_killed(second, rows)
    };
    let anon = |second: u64| 55 + second / 3 - if second < 60 { 0 } else { 40 };
    let mut kill = killed_in_shop("victim", 40, 150);
    let told = why(&in_shop_with(&every(1), rows, anon, 70, &kill));
    assert!(told.ends_with("; 9 backup had grown most, +4.0M in 10s"), "{told}");
    kill.victim.as_mut().unwrap().limit.as_mut().unwrap().files = Some(5 * MIB);
    let told = why(&in_shop_with(&every(1), rows, anon, 70, &kill));
    assert!(told.ends_with("and it had 40.0M of it"), "{told}");
}

#[test]
fn what_took_the_last_of_the_memory_has_not_grown_most() {
    // It took 4 MiB in the last seconds, after 60 MiB of another.
    let rows = |[steady, leak]: [u32; 2], second: u64| {
        let mut rows = vec![
            holding(steady, "steady", "/shop", 50),
            holding(leak, "leak", "/shop", 10 + 2 * second.min(30)),
            holding(10, "cron", "/shop", second.max(56) - 51),
        ];
        rows.sort_by_key(|row| row.id.pid);
        until_killed(second, rows)
    };
    for (pids, name, mib, expected) in [
        ([7, 9], "steady", 50, "; 9 leak had grown most, +60.0M in 60s"),
        ([9, 7], "leak", 70, "and it had 70.0M of it"),
    ] {
        let anon = |second: u64| 60 + 2 * second.min(30) + second.max(56) - 51 - if second < 60 { 0 } else { mib };
        let kill = killed_in_shop(name, mib, 134);
        let told = why(&in_shop(&every(1), |second| rows(pids, second), anon, &kill));
        assert!(told.ends_with(expected), "{name}: {told}");
    }
}

#[test]
fn a_victim_that_changed_its_name_is_known() {
    let rows = |second: u64| {
        let rows = vec![
            holding(7, "worker", "/shop", 80),
            holding(9, "leak", "/shop", 10 + second),
        ];
        let rows = rows.into_iter().map(|row| with_facts(row, |facts| facts.uid = Ok(6)));
        until_killed(second, rows.collect())
    };
    let mut kill = killed_in_shop("worker/78", 81, 150);
    for (uid, cgroup, expected) in [
        (Some(6), "/shop", "; 9 leak had grown most, +9.0M in 10s"),
        // It may be another process of that pid, which took all of its memory.
        (None, "/shop", "and it had 81.0M of it"),
        (Some(7), "/shop", "and it had 81.0M of it"),
        (Some(6), "/", "and it had 81.0M of it"),
    ] {
        let victim = kill.victim.as_mut().unwrap();
        (victim.uid, victim.cgroup) = (uid, Some(cgroup.as_bytes().into()));
        let anon = |second: u64| 90 + second - if second < 60 { 0 } else { 80 };
        let told = why(&in_shop_with(&every(1), rows, anon, 5, &kill));
        assert!(told.ends_with(expected), "{uid:?} {cgroup}: {told}");
    }
}

#[test]
fn free_swap_that_did_not_help_was_not_taken() {
    let kill = killed(60, 1, 7, "sshd", 20, None);
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..=60 {
        let rows = until_killed(second, vec![holding(7, "sshd", "/", 20)]);
        let mut snap = machine(second, rows, if_killed(second, &kill));
        snap.system.shmem = Ok((50 + 9 * second) * MIB);
        snap.system.mem_available = Ok((600 - 9 * second) * MIB);
        snap.system.swap_free = Ok(900 * MIB);
        history.push(&snap);
    }
    let told = why(&history);
    let expected = "; shared memory and tmpfs had grown most, +90.0M in 10s";
    assert!(told.ends_with(expected), "{told}");
}

#[test]
fn new_processes_of_the_name_of_the_victim_are_not_all_in_place_of_it() {
    let rows = |second: u64| {
        let compilers = (7..27).map(|pid| started(holding(pid, "cc", "/shop", 2 * (second - 57)), 57));
        let rows: Vec<_> = compilers.filter(|_| second > 57).collect();
        until_killed(second, rows)
    };
    let anon = |second: u64| 20 + 40 * second.saturating_sub(57) - if second < 60 { 0 } else { 6 };
    let rows = |second: u64| if second < 57 { Vec::new() } else { rows(second) };
    let told = why(&in_shop(&every(2), rows, anon, &killed_in_shop("cc", 6, 145)));
    assert!(told.contains("; cc (all its processes) had grown most, +1"), "{told}");
}

#[test]
fn a_span_without_a_value_at_its_begin_is_not_asked() {
    let rows = |second: u64| {
        until_killed(
            second,
            vec![
                holding(7, "database", "/shop", 60),
                holding(9, "importer", "/shop", second),
            ],
        )
    };
    let anon = |second: u64| 60 + second - if second < 60 { 0 } else { 60 };
    let told = why(&in_shop(&every(20), rows, anon, &killed_in_shop("database", 60, 125)));
    assert!(told.ends_with("; 9 importer had grown most, +60.0M in 60s"), "{told}");
}

#[test]
fn page_cache_that_stays_is_no_growth() {
    let rows = |second: u64| {
        until_killed(
            second,
            vec![
                holding(7, "database", "/shop", 20),
                holding(9, "importer", "/shop", second),
            ],
        )
    };
    let anon = |second: u64| 20 + second - if second < 60 { 0 } else { 20 };
    // The figures have 60 MiB of page cache.
    let kill = killed_in_shop("database", 20, 145);
    let told = why(&in_shop_with(&every(1), rows, anon, 60, &kill));
    assert!(told.ends_with("; 9 importer had grown most, +10.0M in 10s"), "{told}");
}

#[test]
fn new_processes_that_share_memory_have_taken_it_together() {
    let rows = |second: u64| {
        let recent = second.saturating_sub(52);
        let backend = |pid| {
            let mut sample = started(mapping(holding(pid, "postgres", "/shop/db", recent), recent), 52);
            let memory = &mut sample.walk.as_mut().unwrap().memory;
            (memory.private_dirty, memory.shared_dirty) = (0, 10 * recent * MIB);
            sample
        };
        let mut rows = vec![holding(7, "java", "/shop", 40)];
        rows.retain(|row| second < 60 || row.id.pid != 7);
        rows.extend((20..30).map(backend).filter(|_| second > 52));
        rows
    };
    let mut history = History::new(Duration::from_secs(10));
    let kill = killed_in_shop("java", 40, 125);
    for second in 0..=60 {
        let mut snap = machine(second, rows(second), if_killed(second, &kill));
        snap.system.uptime = Ok((BOOTED + second) as f64);
        let shmem = 10 * second.saturating_sub(52);
        let figures = CgroupFigures {
            anon: Ok(if second < 60 { 40 * MIB } else { 0 }),
            ..charged([shmem, shmem, 5])
        };
        snap.cgroups = Arc::new([(Arc::from(&b"/shop"[..]), figures)].into());
        history.push(&snap);
    }
    let told = why(&history);
    assert!(
        told.contains("; postgres (all its processes) had grown most, +"),
        "{told}"
    );
}

#[test]
fn the_program_of_a_cgroup_that_was_killed_as_a_whole_is_named() {
    let rows = |second: u64| match second {
        60 => Vec::new(),
        _ => (7..15).map(|pid| holding(pid, "gunicorn", "/shop", second)).collect(),
    };
    let kills: Vec<_> = (7..15)
        .map(|pid| {
            let mut kill = killed(60, pid.into(), pid, "gunicorn", 60, Some("/shop"));
            kill.victim.as_mut().unwrap().group = Some((*b"/shop").into());
            kill
        })
        .collect();
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..=60 {
        let kills = if second < 60 { &[] } else { &kills[..] };
        history.push(&machine(second, rows(second), kills));
    }
    let (kill, others, _) = history.shown_kill().unwrap();
    assert_eq!(others, 7);
    let told = kill.text(40, Units::Auto).why();
    assert!(
        told.ends_with("; gunicorn (all its processes) had grown most, +70.0M in 10s"),
        "{told}"
    );
}

#[test]
fn what_was_started_in_place_of_the_victim_has_not_grown_most() {
    let rows = |second: u64| match second {
        60 => vec![started(holding(47, "node", "/shop", 45), 59)],
        _ => vec![holding(7, "node", "/shop", 100 + second / 2)],
    };
    let anon = |second: u64| if second < 60 { 100 + second / 2 } else { 45 };
    let kill = killed_in_shop("node", 129, 134);
    for step in [1, 2] {
        let told = why(&in_shop(&every(step), rows, anon, &kill));
        assert!(told.ends_with("and it had 129M of it"), "{told}");
    }
}

#[test]
fn a_victim_that_is_still_listed_may_have_grown_by_what_the_log_has() {
    for why_unread in [Missing::Gone, Missing::Zombie] {
        let rows = |second: u64| {
            let mut victim = holding(7, "node", "/shop", 20);
            if second == 60 {
                victim.walk = Err(why_unread);
            }
            vec![victim, holding(9, "logger", "/shop", 10 + second)]
        };
        let told = why(&after_kill_in_shop(rows, |second| 30 + second));
        assert!(told.ends_with("and it had 60.0M of it"), "{told}");
        // Nor is another named if the memory of the cgroup is not known.
        let mut history = History::new(Duration::from_secs(10));
        let kill = killed(60, 1, 7, "node", 140, Some("/shop"));
        for second in 0..=60 {
            history.push(&machine(second, rows(second), if_killed(second, &kill)));
        }
        assert_eq!(newest(&history).grower, None);
    }
}

#[test]
fn a_victim_that_unmapped_a_file_before_its_growth_has_grown() {
    let rows = |second: u64| {
        let mut victim = with_file(holding(7, "node", "/shop", 5), 140 * MIB);
        victim.walk.as_mut().unwrap().memory.rss = 285 * MIB;
        until_killed(second, vec![victim, holding(9, "logger", "/shop", 10 + second / 10)])
    };
    let anon = |second: u64| 15 + second / 10 - if second < 60 { 0 } else { 5 };
    let told = why(&in_shop(&every(1), rows, anon, &killed_in_shop("node", 110, 140)));
    assert!(told.ends_with("and it had 110M of it"), "{told}");
}

#[test]
fn victims_count_for_their_program() {
    let rows = |second: u64| {
        let worker = |pid| holding(pid, "worker", "/", 30 + second);
        let backup = holding(30, "backup", "/", 7 * second);
        (6..22).map(worker).chain([backup]).collect()
    };
    let told = why(&after_kill(rows, &killed(60, 1, 7, "worker", 90, None)));
    assert!(
        told.ends_with("; worker (all its processes) had grown most, +150M in 10s"),
        "{told}"
    );
}

#[test]
fn a_fork_that_shares_its_memory_has_not_grown() {
    let rows = |second: u64| {
        let of_each = if second < 55 { 80 } else { 40 };
        let mut rows = vec![
            holding(7, "database", "/shop", 20),
            holding(8, "redis", "/shop", of_each),
            holding(9, "importer", "/shop", 3 * second),
        ];
        rows.retain(|row| second < 60 || row.id.pid != 7);
        if second >= 55 {
            let mut fork = started(holding(12, "redis", "/shop", of_each), 55);
            let memory = &mut fork.walk.as_mut().unwrap().memory;
            (memory.private_dirty, memory.shared_dirty) = (MIB, 80 * MIB);
            rows.push(fork);
        }
        rows
    };
    let anon = |second: u64| 100 + 3 * second - if second < 60 { 0 } else { 20 };
    let kill = killed_in_shop("database", 20, 285);
    let told = why(&in_shop(&every(1), rows, anon, &kill));
    assert!(told.ends_with("; 9 importer had grown most, +27.0M in 10s"), "{told}");
}

#[test]
fn growth_of_many_is_not_of_no_known_process() {
    let rows = |second: u64| {
        let owned = |n: u32| {
            let sample = holding(20 + n, &format!("service{n}"), "/shop", second);
            with_facts(sample, |facts| facts.user = Ok(format!("user{n}").into_bytes().into()))
        };
        let rows: Vec<_> = [holding(7, "database", "/shop", 20)]
            .into_iter()
            .chain((0..5).map(owned))
            .collect();
        until_killed(second, rows)
    };
    let anon = |second: u64| 20 + 5 * second - if second < 60 { 0 } else { 20 };
    let kill = killed_in_shop("database", 20, 325);
    let told = why(&in_shop(&every(1), rows, anon, &kill));
    assert!(told.ends_with("and it had 20.0M of it"), "{told}");
}

#[test]
fn memory_from_before_the_first_snapshot_has_not_grown() {
    let rows = |second: u64| {
        let database = started(holding(9, "database", "/shop", 90), 20);
        until_killed(second, vec![holding(7, "importer", "/shop", 50), database])
    };
    let kill = killed_in_shop("importer", 50, 145);
    let told = why(&in_shop(
        &[58, 59, 60],
        rows,
        |second| if second < 60 { 140 } else { 90 },
        &kill,
    ));
    assert!(told.ends_with("and it had 50.0M of it"), "{told}");
}

#[test]
fn a_process_that_ended_with_the_victim_is_not_named_if_living_ones_explain_the_growth() {
    let grown = |second: u64| 20 * second.saturating_sub(56);
    let rows = |second: u64| {
        let swarm = (0..4).map(|n| holding(20 + n, "swarm", "/shop/g", 1 + grown(second) / 4));
        let beside = [
            holding(7, "importer", "/shop", 60),
            holding(8, "nightly", "/shop", 1 + second),
        ];
        beside.into_iter().chain(swarm).collect()
    };
    let history = after_kill_in_shop(rows, |second| if second < 60 { 70 + grown(second) } else { 80 });
    let told = why(&history);
    assert!(
        told.ends_with("; swarm (all its processes) had grown most, +75.0M in 10s"),
        "{told}"
    );
}

#[test]
fn no_process_is_named_for_growth_of_which_it_explains_little() {
    // Pages that were charged to another cgroup hide that nobody here has the new ones.
    let rows = |second: u64| {
        vec![
            holding(7, "importer", "/shop", 60),
            holding(9, "backup", "/shop/m", 1 + second / 6),
            holding(10, "decoy", "/shop/g", 100),
        ]
    };
    let anon = |second: u64| 61 + second / 6 + 15 * second.clamp(54, 59) - 15 * 54;
    let history = after_kill_in_shop(rows, |second| anon(second) - if second < 60 { 0 } else { 60 });
    let told = why(&history);
    assert!(
        told.ends_with("; memory of no known process had grown most, +76.0M in 10s"),
        "{told}"
    );
    assert_eq!(why(&restarted(&history)), told);
    // Also at longer intervals.
    let rows = |second: u64| {
        let rows = rows(second);
        until_killed(second, rows)
    };
    let anon_left = |second: u64| anon(second) - if second < 60 { 0 } else { 60 };
    let kill = killed_in_shop("importer", 60, 150);
    let told = why(&in_shop(&every(2), rows, anon_left, &kill));
    assert!(
        told.ends_with("; memory of no known process had grown most, +61.0M in 10s"),
        "{told}"
    );
    // It may be of one that ended when the victim did.
    let rows = |second: u64| {
        let taken = 15 * second.clamp(54, 59) - 15 * 54;
        vec![
            holding(7, "importer", "/shop", 60),
            holding(8, "nightly", "/shop/m", taken),
            holding(9, "backup", "/shop/m", 1 + second / 6),
        ]
    };
    let told = why(&after_kill_in_shop(
        rows,
        |second| if second < 60 { anon(second) } else { 11 },
    ));
    assert!(told.ends_with("and it had 60.0M of it"), "{told}");
}

#[test]
fn a_program_whose_share_of_a_file_rises_has_not_filled_the_machine() {
    let rows = |second: u64| {
        let recent = second.saturating_sub(50);
        let swarm = (0..4).map(|n| holding(20 + n, "swarm", "/", 5 + 4 * recent));
        let mapper = with_file(holding(8, "mapper", "/", 8), 30 * recent * MIB);
        [holding(7, "importer", "/", 60), mapper]
            .into_iter()
            .chain(swarm)
            .collect()
    };
    let told = why(&after_kill(rows, &killed(60, 1, 7, "importer", 60, None)));
    assert!(
        told.ends_with("; swarm (all its processes) had grown most, +160M in 10s"),
        "{told}"
    );
}

#[test]
fn a_new_victim_that_was_not_read_yet_may_have_taken_all_of_its_memory() {
    let rows = |second: u64| {
        let mut rows = vec![holding(8, "logger", "/shop", 10 + second)];
        if second == 59 {
            let mut new = holding(7, "node", "/shop", 0);
            (new.walk, new.id.starttime) = (Err(Missing::Pending), 5900);
            rows.insert(0, new);
        }
        rows
    };
    let kill = killed(60, 1, 7, "node", 140, Some("/shop"));
    assert_eq!(newest(&after_kill(rows, &kill)).grower, None);
}

#[test]
fn pages_of_files_of_a_daemons_victim_are_no_growth() {
    let rows = |second: u64| {
        let recent = second.saturating_sub(50);
        let reader = with_file(holding(7, "importer", "/shop/web", 50), 30 * recent * MIB);
        vec![reader, holding(8, "leaker", "/shop/web", 20 + 10 * recent)]
    };
    let told = why(&after_kill(rows, &killed_by_daemon(60, 7, "importer", 350, 0)));
    assert!(told.contains("; 8 leaker had grown most, +100M in 10s"), "{told}");
}
