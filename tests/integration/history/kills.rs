//! OOM kills: what was known of the victim, what had grown most, and what is shown for how long.

use std::sync::Arc;
use std::time::Duration;

use zmtop::group::RowKey;
use zmtop::history::History;
use zmtop::history::kept::{Kept, pack};
use zmtop::history::kills::Kill;
use zmtop::model::kill::OomKill;
use zmtop::model::{Missing, ProcessSample, Snapshot};
use zmtop::units::Units;

use crate::support::kills::killed;
use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

const HERE: &str = "here";

/// A process in a cgroup, with so many MiB.
fn holding(pid: u32, command: &str, path: &str, mib: u64) -> ProcessSample {
    let mut sample = with_facts(process(pid, 1, command), |facts| {
        facts.cgroup = Ok(Arc::from(path.as_bytes()));
    });
    sample.walk = Ok(walk(mib * MIB, 0));
    sample
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

/// What it is, the other processes by the second, the limit, and the end of the text.
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
    let grower = newest(&history).grower.as_ref().expect("both grew");
    assert!(matches!(&grower.key, RowKey::Process(id) if id.pid == 7), "{grower:?}");
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
fn a_kill_is_told_once_and_for_ten_minutes_unless_it_is_acknowledged() {
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
fn of_a_group_the_largest_is_shown() {
    let group = |record, pid, mib| {
        let mut kill = killed(10, record, pid, "web", mib, Some("/shop"));
        kill.victim.as_mut().unwrap().group = Some((*b"/shop").into());
        kill
    };
    let all = [
        killed(9, 1, 5, "old", 1, None),
        group(2, 7, 90),
        group(3, 8, 100),
        group(4, 9, 1),
    ];
    let mut history = History::new(Duration::from_secs(10));
    assert_eq!(history.shown_kill(), None);
    history.push(&machine(10, Vec::new(), &all));
    let (kill, others, more) = history.shown_kill().unwrap();
    assert_eq!((kill.event.record, others, more), (Some(3), 2, 1));
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
    let bytes = pack(&history.keep(&last, HERE).unwrap());
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
    assert_eq!(told, [(Some(2), 11, false), (Some(1), 10, true), (None, 12, false)]);
}
