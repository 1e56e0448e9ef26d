//! Changes from one table to the next.

use std::time::Duration;

use zmtop::columns::{COLUMNS, find};
use zmtop::filter::Filter;
use zmtop::model::{Missing, ProcessSample};
use zmtop::output::changes::ChangeTracker;
use zmtop::output::table::TableOptions;
use zmtop::query::{Query, Rows};

use super::ids;
use crate::support::rows::{MIB, snapshot, with_pss};

fn sized(pid: u32, command: &str, mib: u64) -> ProcessSample {
    with_pss(pid, command, mib * MIB)
}

/// Returns the text of the second of two tables that are so many seconds apart.
fn changes(
    before: Vec<ProcessSample>,
    after: Vec<ProcessSample>,
    seconds: u64,
    filter: &str,
    all: bool,
    change: impl FnOnce(&mut Query<'_>, &mut TableOptions),
) -> String {
    let filter = Filter::parse(filter, &COLUMNS).unwrap();
    let mut query = Query::new(&filter);
    let mut options = TableOptions {
        columns: ids(&["pid", "uss", "pss", "command"]),
        ..TableOptions::default()
    };
    change(&mut query, &mut options);
    let first = snapshot(Duration::from_secs(100), before);
    let second = snapshot(Duration::from_secs(100 + seconds), after);
    let rows = Rows::select(&first, None, &query);
    let mut changes = ChangeTracker::new(&rows, &query, &options, all);
    let mut out = Vec::new();
    let rows = Rows::select(&second, None, &query);
    changes.write(&mut out, &rows, &query, &options).unwrap();
    String::from_utf8(out).unwrap()
}

fn before() -> Vec<ProcessSample> {
    vec![
        sized(1, "init", 5),
        sized(2, "grows", 10),
        sized(3, "ends", 64),
        sized(4, "shrinks", 20),
    ]
}

fn after() -> Vec<ProcessSample> {
    vec![
        sized(1, "init", 5),
        sized(2, "grows", 18),
        sized(4, "shrinks", 16),
        sized(5, "comes", 2),
    ]
}

#[test]
fn what_moved_most_comes_first_and_what_ended_is_negative() {
    assert_eq!(
        changes(before(), after(), 2, "", false, |_, _| {}),
        "\
\x20 PID ΔUSS/s ΔPSS/s COMMAND
-   3 -32.0M -32.0M ends
    2  +4.0M  +4.0M grows
    4  -2.0M  -2.0M shrinks
+   5  +1.0M  +1.0M comes
      -29.0M -29.0M 2 changed, 1 new, 1 ended of 4 processes
"
    );
}

#[test]
fn with_all_what_stayed_as_it_was_comes_last() {
    let text = changes(before(), after(), 2, "", true, |_, _| {});
    assert!(text.contains("comes\n    1      0      0 init\n"), "{text}");
    let text = changes(before(), after(), 2, "", true, |q, o| {
        q.top = Some(1);
        o.totals = false;
        o.heading = false;
    });
    assert_eq!(text, "- 3 -32.0M -32.0M ends\n");
}

#[test]
fn nothing_changed() {
    assert_eq!(
        changes(before(), before(), 1, "", false, |_, _| {}),
        "  PID ΔUSS/s ΔPSS/s COMMAND\n           0      0 0 changed, 0 new, 0 ended of 4 processes\n"
    );
}

#[test]
fn the_filter_judges_what_is_and_for_what_ended_what_was() {
    // 2 grew over the bound: it is no newcomer. 4 fell below it: it has not ended.
    let text = changes(before(), after(), 1, "pss>17M", false, |_, _| {});
    assert_eq!(
        text,
        "\
\x20 PID ΔUSS/s ΔPSS/s COMMAND
-   3 -64.0M -64.0M ends
    2  +8.0M  +8.0M grows
      -56.0M -56.0M 1 changed, 0 new, 1 ended of 1 process
"
    );
}

#[test]
fn what_is_unknown_at_either_end_is_no_change() {
    let mut after = before();
    after[1].walk = Err(Missing::TimedOut);
    let text = changes(before(), after.clone(), 1, "", true, |_, _| {});
    assert!(text.contains("\n    2      -      - grows\n"), "{text}");
    assert!(text.ends_with(" of 4 processes, partial: 1 timed out\n"), "{text}");
    let text = changes(after, before(), 1, "", true, |_, _| {});
    assert!(text.contains("\n    2      -      - grows\n"), "{text}");
}

#[test]
fn another_with_the_same_pid_is_another() {
    let mut again = before();
    again[2].id.starttime += 1;
    let text = changes(before(), again, 1, "ends", false, |q, _| q.descending = false);
    assert!(
        text.contains("\n+   3 +64.0M +64.0M ends\n-   3 -64.0M -64.0M ends\n"),
        "{text}"
    );
    assert!(text.ends_with(" 0 changed, 1 new, 1 ended of 1 process\n"), "{text}");
}

#[test]
fn sorted_by_what_is_no_size() {
    let text = changes(before(), after(), 1, "", false, |q, _| {
        q.sort = find("pid").unwrap();
        q.descending = false;
    });
    let pids: Vec<_> = text
        .lines()
        .skip(1)
        .filter_map(|l| l[2..].split_whitespace().next())
        .collect();
    assert_eq!(pids[..4], ["2", "4", "5", "3"], "{text}");
}

#[test]
fn a_share_of_the_ram() {
    let text = changes(before(), after(), 2, "", false, |_, o| o.percent_of = Some(100 * MIB));
    assert!(text.contains("-   3 -32.00% -32.00% ends\n"), "{text}");
}
