//! Tables as sentences.

use std::time::{Duration, SystemTime};

use zmtop::columns::COLUMNS;
use zmtop::filter::Filter;
use zmtop::group::GroupBy;
use zmtop::model::kill::OomKill;
use zmtop::model::{Missing, ProcessSample};
use zmtop::output::sentences::Sentences;
use zmtop::query::{Query, Rows};
use zmtop::units::in_words;

use crate::support::rows::{MIB, snapshot, with_pss};

fn sized(pid: u32, command: &str, mib: u64) -> ProcessSample {
    with_pss(pid, command, mib * MIB)
}

/// Returns the report on these snapshots, each with its kills, ten seconds apart.
fn said_with_kills(
    snapshots: Vec<(Vec<ProcessSample>, Vec<OomKill>)>,
    filter: &str,
    change: impl FnOnce(&mut Query<'_>),
) -> String {
    let filter = Filter::parse(filter, &COLUMNS).unwrap();
    let mut query = Query::new(&filter);
    change(&mut query);
    let mut sentences = Sentences::default();
    let mut out = Vec::new();
    for (at, (rows, kills)) in snapshots.into_iter().enumerate() {
        let seconds = 10 * at as u64;
        let mut snapshot = snapshot(Duration::from_secs(100 + seconds), rows);
        snapshot.oom_kills = kills.into();
        let rows = Rows::select(&snapshot, None, &query);
        let time = format!("12:00:{seconds:02}");
        sentences.write(&mut out, &rows, &query, &time).unwrap();
    }
    String::from_utf8(out).unwrap()
}

fn said(snapshots: Vec<Vec<ProcessSample>>, filter: &str, change: impl FnOnce(&mut Query<'_>)) -> String {
    let snapshots = snapshots.into_iter().map(|rows| (rows, Vec::new())).collect();
    said_with_kills(snapshots, filter, change)
}

#[test]
fn the_first_rows_are_listed_and_later_the_largest_changes() {
    let first = vec![
        sized(1, "init", 5),
        sized(2, "grows", 1536),
        sized(3, "ends", 64),
        sized(4, "shrinks", 20),
    ];
    let second = vec![
        sized(1, "init", 5),
        sized(2, "grows", 1636),
        sized(4, "shrinks", 16),
        sized(5, "comes", 2),
    ];
    let mut third = second.clone();
    third.pop();
    assert_eq!(
        said(vec![first, second.clone(), second, third], "", |query| query.top =
            Some(3)),
        "\
12:00:00. PSS of 4 processes: 1.6 gibibytes.
grows: 1.5 gibibytes, process 2.
ends: 64 mebibytes, process 3.
shrinks: 20 mebibytes, process 4.
12:00:10. grows grew by 100 mebibytes to 1.6 gibibytes, process 2.
ends, process 3, ended. It had 64 mebibytes.
shrinks shrank by 4 mebibytes to 16 mebibytes, process 4.
1 smaller change.
12:00:20. comes: 2 mebibytes, process 5.
12:00:30. comes, process 5, ended. It had 2 mebibytes.
"
    );
}

#[test]
fn slow_growth_is_reported_once_it_is_noticeable() {
    let at = |kib: u64| vec![with_pss(7, "slow", 20 * MIB + kib * 1024)];
    // 5 % of 20 MiB are 1 MiB.
    assert_eq!(
        said(vec![at(0), at(500), at(1000), at(1023), at(1024), at(1500)], "", |_| ()),
        "\
12:00:00. PSS of 1 process: 20 mebibytes.
slow: 20 mebibytes, process 7.
12:00:40. PSS of 1 process grew by 1 mebibyte to 21 mebibytes.
slow grew by 1 mebibyte to 21 mebibytes, process 7.
"
    );
}

#[test]
fn a_row_that_begins_to_match_did_not_start() {
    let at = |mib| vec![sized(7, "old", mib)];
    assert_eq!(
        said(vec![at(90), at(110), at(90), at(90)], "pss>100M", |_| ()),
        "\
12:00:00. PSS of 0 processes: 0 bytes.
12:00:10. PSS of 1 process grew by 110 mebibytes to 110 mebibytes.
old: 110 mebibytes, process 7.
12:00:20. PSS of 0 processes shrank by 110 mebibytes to 0 bytes.
old no longer matches: 90 mebibytes, process 7.
"
    );
}

#[test]
fn an_unknown_figure_has_its_reason_and_is_no_end() {
    let mut hidden = sized(9, "hidden", 30);
    let known = vec![sized(1, "init", 5), hidden.clone()];
    hidden.walk = Err(Missing::Denied);
    let rows = vec![sized(1, "init", 5), hidden];
    assert_eq!(
        said(vec![rows.clone(), known.clone(), rows, known], "", |_| ()),
        "\
12:00:00. PSS of 2 processes: 5 mebibytes. 1 process could not be read: permission denied.
init: 5 mebibytes, process 1.
hidden: unknown, permission denied, process 9.
12:00:10. hidden: 30 mebibytes, process 9.
"
    );
}

#[test]
fn a_figure_of_another_users_process_is_an_upper_bound() {
    let at = |mib: u64| {
        let mut row = sized(9, "hidden", 1);
        row.walk = Err(Missing::Denied);
        row.stat.rss = mib * MIB;
        vec![sized(1, "init", 5), row]
    };
    assert_eq!(
        said(vec![at(30), at(31), at(40)], "", |_| ()),
        "\
12:00:00. PSS of 2 processes: 5 mebibytes. 1 process could not be read: permission denied.
hidden: at most 30 mebibytes, process 9.
init: 5 mebibytes, process 1.
12:00:20. hidden grew by 10 mebibytes to at most 40 mebibytes, process 9.
"
    );
}

#[test]
fn groups_have_the_number_of_their_processes() {
    let rows = vec![sized(1, "worker", 5), sized(2, "worker", 6), sized(3, "other", 4)];
    assert_eq!(
        said(vec![rows], "", |query| query.by = Some(GroupBy::Command)),
        "\
12:00:00. PSS of 2 groups of 3 processes: 15 mebibytes.
worker: 11 mebibytes, 2 processes.
other: 4 mebibytes, 1 process.
"
    );
}

#[test]
fn each_kill_is_reported_once_however_late_it_is_known() {
    let kill = OomKill {
        time: SystemTime::UNIX_EPOCH,
        monotonic_ms: Ok(119_000),
        record: Some(4),
        daemon: None,
        victim: Err(Missing::Gone),
    };
    let old = OomKill {
        monotonic_ms: Ok(99_000),
        record: Some(3),
        ..kill.clone()
    };
    let rows = || vec![sized(1, "init", 5)];
    // The kill before the first snapshot is read late, too.
    let kills = [
        vec![],
        vec![old.clone()],
        vec![old.clone()],
        vec![old.clone(), kill.clone()],
        vec![old, kill],
    ];
    let snapshots = kills.map(|kills| (rows(), kills)).into();
    assert_eq!(
        said_with_kills(snapshots, "", |_| ()),
        "\
12:00:00. PSS of 1 process: 5 mebibytes.
init: 5 mebibytes, process 1.
12:00:30. The kernel killed a process: the kernel's log does not name it.
"
    );
}

#[test]
fn hostile_names_are_escaped_and_cut() {
    let long = "x".repeat(500);
    let rows = vec![sized(1, "a\u{1b}[2Jb", 5), sized(2, &long, 4)];
    let text = said(vec![rows], "", |_| ());
    assert!(!text.contains('\u{1b}'), "{text}");
    assert!(text.lines().all(|line| line.len() < 80), "{text}");
}

#[test]
fn figures_are_in_words() {
    let cases = [
        (0, "0 bytes"),
        (1, "1 byte"),
        (1024, "1 kibibyte"),
        (1536 * 1024, "1.5 mebibytes"),
        (23 * MIB + MIB / 2, "24 mebibytes"),
        (10 * MIB - 1, "10 mebibytes"),
        (MIB - 1, "1 mebibyte"),
        (u64::MAX, "16 exbibytes"),
    ];
    for (bytes, words) in cases {
        assert_eq!(in_words(bytes), words);
    }
}
