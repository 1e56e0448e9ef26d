//! `zmtop leaks` with a filter: its words choose who is summed, as in `ps`.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use zmtop::columns::COLUMNS;
use zmtop::filter::Filter;
use zmtop::group::{GroupBy, GroupKey};
use zmtop::history::History;
use zmtop::history::suspects::{SuspectQuery, suspects};
use zmtop::model::{Missing, ProcessSample, Snapshot};
use zmtop::output::json;
use zmtop::query::choose;
use zmtop::record::Record;
use zmtop::trend::Verdict;

use crate::support::pty::ZMTOP;
use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

/// Servers, of which those of one kind grow: seven of them prefork, fourteen do not.
fn servers(second: u64, grows: &str) -> Vec<ProcessSample> {
    let one = |pid: u32, mode: &str| {
        let mut sample = process(pid, 1, &format!("/usr/bin/server --mode {mode}"));
        let growth = if mode == grows { second } else { 0 };
        sample.walk = Ok(walk((40 + growth) * MIB, 0));
        sample
    };
    let prefork = (10..17).map(|pid| one(pid, "prefork"));
    prefork.chain((20..34).map(|pid| one(pid, "threads"))).collect()
}

/// The length of a recording in seconds: enough for a leak to be called.
const LENGTH: u64 = 1500;

/// A recording of them.
fn recording(grows: &str) -> tempfile::NamedTempFile {
    let mut lines = Vec::new();
    for second in (0..LENGTH).step_by(5) {
        let mut snap = snapshot(Duration::from_secs(second), servers(second, grows));
        snap.interval = Duration::from_secs(5);
        snap.tick = second / 5;
        json::line(&mut lines, &Record::new(&snap)).unwrap();
    }
    let file = tempfile::Builder::new().suffix(".ndjson").tempfile().unwrap();
    std::fs::write(file.path(), lines).unwrap();
    file
}

/// Runs it on a recording; what it prints.
fn zmtop(file: &tempfile::NamedTempFile, args: &[&str]) -> Value {
    let home = tempfile::TempDir::new().unwrap();
    let done = Command::new(ZMTOP)
        .args(
            [
                &args[..1],
                &["--from", file.path().to_str().unwrap(), "--format", "json"],
                &args[1..],
            ]
            .concat(),
        )
        .env_clear()
        .env("HOME", home.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&done.stderr);
    serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {err}"))
}

#[test]
fn the_filter_chooses_who_is_summed_in_leaks_as_in_ps() {
    let file = recording("prefork");
    for by in ["command", "user", "cgroup"] {
        let leaks = zmtop(&file, &["leaks", "--by", by, "--all", "cmd:prefork"]);
        let leaks = leaks["leaks"].as_array().unwrap();
        assert_eq!(leaks.len(), 1, "{by}: {leaks:?}");
        assert_eq!(leaks[0]["count"], 7, "{by}");
        assert_eq!(leaks[0]["footprint"], 7 * (40 + LENGTH - 5) * MIB, "{by}");
        assert_eq!(leaks[0]["verdict"], "leaking", "{by}");
        let slope = leaks[0]["slope_bytes_per_s"].as_f64().unwrap() / (7 * MIB) as f64;
        assert!((0.9..1.1).contains(&slope), "{by}: {slope}");
        let ps = zmtop(&file, &["ps", "--by", by, "cmd:prefork"]);
        assert_eq!(ps["rows"][0]["count"], 7, "{by}: {ps}");
    }
    // Nor does the growth of others make a leak of the chosen.
    let file = recording("threads");
    let found = zmtop(&file, &["leaks", "--by", "command", "--all", "cmd:prefork"]);
    assert_eq!(found["leaks"][0]["verdict"], "steady");
    assert_eq!(found["leaks"][0]["footprint"], 7 * 40 * MIB);
    // Figures judge the sums: no process alone has as much.
    let some = |filter: &str| {
        let found = zmtop(&file, &["leaks", "--by", "command", "--all", filter]);
        found["leaks"].as_array().unwrap().len()
    };
    assert_eq!(
        (some("prefork pss>200M"), some("prefork pss>300M"), some("pss>300M")),
        (1, 0, 1)
    );
    assert_eq!(
        (
            some("prefork verdict:steady"),
            some("prefork verdict:leaking"),
            some("verdict:leaking")
        ),
        (1, 0, 1)
    );
    assert_eq!(some("nobody"), 0);
}

/// Takes in snapshots, chosen by a filter; the sum of the group by user, and its verdict.
fn watched(filter: &str, rows: impl Fn(u64) -> Vec<ProcessSample>) -> (u64, Verdict, usize) {
    let filter = Filter::parse(filter, &COLUMNS).unwrap();
    let mut history = History::new(Duration::from_secs(10));
    let mut last: Option<Snapshot> = None;
    for second in 0..400 {
        let snap = snapshot(Duration::from_secs(second), rows(second));
        history.push_chosen(&snap, |sample| choose(&filter, sample, &snap));
        last = Some(snap);
    }
    history.judge_all();
    let query = SuspectQuery {
        least: Verdict::Shrinking,
        by: Some(GroupBy::User),
    };
    let found = suspects(&history, &last.unwrap(), query);
    assert_eq!(found.len(), 1, "{found:?}");
    let root = GroupKey {
        by: GroupBy::User,
        name: Some((*b"root").into()),
    };
    assert!(history.group(&root).is_some());
    (found[0].footprint / MIB, found[0].judgement.verdict, found[0].count)
}

#[test]
fn a_process_that_drops_in_and_out_of_the_filter_is_no_growth() {
    let blinks = |second: u64| {
        let mut sample = process(5, 1, "blinks");
        // It runs every other second, more and more often.
        sample.stat.state = if second.is_multiple_of(2 + second / 100) {
            b'R'
        } else {
            b'S'
        };
        vec![process(4, 1, "always R"), sample]
    };
    assert_eq!(watched("state:R", blinks), (10, Verdict::Steady, 1));
    let titled = |second: u64| {
        let title = if second.is_multiple_of(3) {
            "worker: busy"
        } else {
            "worker: idle"
        };
        vec![process(5, 1, title), process(6, 1, "other")]
    };
    assert_eq!(watched("cmd:busy", titled), (10, Verdict::Steady, 1));
}

#[test]
fn one_whose_names_are_read_late_was_there_all_along() {
    let late = |second: u64| {
        let unread = |pid: u32, after: u64| {
            with_facts(process(pid, 1, "server prefork"), |facts| {
                if second < after {
                    facts.cmdline = Err(Missing::Pending);
                }
            })
        };
        (5..25).map(|pid| unread(pid, u64::from(pid))).collect()
    };
    assert_eq!(watched("cmd:prefork", late), (200, Verdict::Steady, 20));
    assert_eq!(watched("!cmd:other", late), (200, Verdict::Steady, 20));
}

#[test]
fn another_program_is_chosen_anew() {
    let execs = |second: u64| {
        let mut sample = process(5, 1, if second < 100 { "server prefork" } else { "other" });
        sample.exec = u32::from(second >= 100);
        vec![sample, process(6, 1, "server prefork")]
    };
    assert_eq!(watched("cmd:prefork", execs).2, 1);
}

#[test]
fn one_that_shares_memory_with_one_that_is_not_chosen_counts() {
    let shares = |_| {
        let first = process(5, 1, "other");
        let mut second = process(6, 1, "server prefork");
        second.shares_mm = Some(first.id);
        vec![first, second]
    };
    assert_eq!(watched("cmd:prefork", shares), (10, Verdict::Steady, 1));
}
