//! Queries that need a past are answered from one or refused: a script never reads an all-clear without a judgement.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use zmtop::columns::{COLUMNS, Needs, Unit};
use zmtop::config::Env;
use zmtop::config::state::history_path;
use zmtop::history::History;
use zmtop::history::kept::Kept;
use zmtop::model::{Held, HeldKind, HeldObject, Missing, ProcessSample, Snapshot};
use zmtop::output::json;
use zmtop::record::{Record, pack_history};
use zmtop::run::past::{MAX_GAP, Past};
use zmtop::sampler::{Options, Scanner};
use zmtop::trend::Verdict;

use super::program::{said, tree};
use crate::support::block_on;
use crate::support::pty::ZMTOP;
use crate::support::rows::{MIB, process, snapshot, walk, with_pss};

/// A condition on the figure of a column.
fn condition(id: &str, unit: Unit) -> String {
    match unit {
        Unit::Verdict => format!("{id}:leaking"),
        Unit::Growth | Unit::Chart | Unit::Trend => format!("{id}>1M/min"),
        Unit::Seconds => format!("{id}<1h"),
        _ => format!("{id}>0"),
    }
}

#[test]
fn every_key_that_needs_a_past_is_refused_without_one() {
    let tree = tree();
    let needs_it = |needs: Needs| needs.contains(Needs::HISTORY) || needs.contains(Needs::REFERENCED);
    let mut seen = 0;
    for column in COLUMNS.iter().filter(|column| needs_it(column.needs)) {
        seen += 1;
        for line in [
            condition(column.id, column.unit),
            format!("!{}", condition(column.id, column.unit)),
            format!("--by command {}", condition(column.id, column.unit)),
            format!("--sort {}", column.id),
            format!("--columns pid,{}", column.id),
            format!("--format json {}", condition(column.id, column.unit)),
        ] {
            let (code, out, err) = said(&tree, &line);
            assert_eq!((code, out.as_str()), (Some(2), ""), "{line}: {err}");
            assert!(err.contains(column.id), "{line}: {err}");
            let is_only_seen = column.needs.contains(Needs::MARK) || column.needs.contains(Needs::REFERENCED);
            let way = if is_only_seen { "monitor" } else { "--every" };
            assert!(err.contains(way), "{line}: {err}");
        }
    }
    assert!(seen > 20, "{seen}");
}

#[test]
fn what_only_the_monitor_has_is_refused_with_a_past_too() {
    let tree = tree();
    for line in ["hot>0 --every 1", "mark_pss>0 --every 1", "--sort cold --every 1"] {
        let (code, out, err) = said(&tree, line);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{line}: {err}");
        assert!(err.contains("only the monitor has"), "{line}: {err}");
    }
}

#[test]
fn what_is_not_judged_yet_is_no_all_clear() {
    let tree = tree();
    // One table has nothing before it.
    let (code, out, err) = said(&tree, "verdict:leaking --every 100ms --count 1");
    assert_eq!(code, Some(5), "{err}");
    assert!(out.contains("0 processes"), "{out}");
    assert!(err.contains("not yet judged") && err.contains("16m"), "{err}");
    let (code, _, err) = said(&tree, "cpu>1% --every 100ms --count 1");
    assert_eq!(code, Some(5), "{err}");
    assert!(err.contains("cpu is known for none of the 2 processes"), "{err}");
    // Two have a difference; nobody's words fit, so that there is nothing to judge.
    assert_eq!(said(&tree, "cpu>1% --every 100ms --count 2").0, Some(0));
    assert_eq!(
        said(&tree, "nothing-like-it verdict:leaking --every 100ms --count 1").0,
        Some(0)
    );
    // What passes is true, however early.
    assert_eq!(
        said(&tree, "pss>0 | verdict:leaking --every 100ms --count 1").0,
        Some(0)
    );
}

/// Checks that the answer is an all-clear only if at least half of the rows are judged.
#[test]
fn what_is_not_judged_of_most_rows_is_no_all_clear() {
    let note = |open: usize| format!("{open} of 4 processes are not judged yet");
    let cases = [
        (0, 0, "0 of 5 processes match".to_owned()),
        (1, 0, note(1)),
        (2, 0, note(2)),
        (3, 5, "not yet judged: 3 of 4 processes".to_owned()),
        (
            4,
            5,
            "not yet judged: verdict is known for none of the 4 processes".to_owned(),
        ),
    ];
    for (newcomers, code, said) in cases {
        let mut lines = Vec::new();
        for second in (0..=1200).step_by(10) {
            // One that is left out by the words of the filter is not asked about.
            let old = (0..4 - newcomers).map(|n| (10 + n, "/usr/bin/server"));
            let new = (0..newcomers).map(|n| (20 + n, "/usr/bin/server"));
            let rows = old
                .chain([(30, "/usr/bin/other")])
                .chain(new.filter(|_| second == 1200));
            let mut rows: Vec<_> = rows.map(|(pid, command)| with_pss(pid, command, 50 * MIB)).collect();
            rows.sort_by_key(|row| row.id);
            let mut snap = snapshot(Duration::from_secs(second), rows);
            snap.interval = Duration::from_secs(10);
            json::line(&mut lines, &Record::new(&snap)).unwrap();
        }
        let file = tempfile::Builder::new().suffix(".ndjson").tempfile().unwrap();
        std::fs::write(file.path(), lines).unwrap();
        let done = Command::new(ZMTOP)
            .args(["ps", "server", "verdict:leaking", "--from"])
            .arg(file.path())
            .env_clear()
            .env("HOME", "/nonexistent")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let err = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(code), "{newcomers}: {err}");
        assert!(err.contains(&said), "{newcomers}: {err}");
    }
}

const HERE: &str = "pid:[1] time:[2]";
const START: u64 = 100_000;

fn at(second: u64) -> Snapshot {
    let grown = |pid: u32, mib: u64| {
        let mut sample: ProcessSample = process(pid, 1, "/usr/bin/server");
        sample.id.starttime = u64::from(pid);
        sample.stat.image = 7 + u64::from(pid);
        sample.walk = Ok(walk(mib * MIB, 0));
        sample
    };
    let mut snap = snapshot(
        Duration::from_secs(START + second),
        vec![grown(7, 100 + second), grown(8, 50)],
    );
    snap.interval = Duration::from_secs(2);
    // A machine's memory never stands still.
    snap.system.mem_total = Ok(1 << 30);
    snap.system.mem_available = Ok((1 << 30) - second * 4096);
    snap
}

/// Returns the history that a monitor keeps after so many seconds.
fn kept(seconds: u64) -> Kept {
    let mut history = History::new(Duration::from_secs(10));
    for second in (0..=seconds).step_by(2) {
        history.push(&at(second));
    }
    let bytes = history.keep(&at(seconds), HERE).unwrap();
    Kept::read(&bytes, HERE).unwrap().unwrap()
}

/// The history of a command that looks once after that, and its note.
fn resumed(seconds: u64, now: &Snapshot) -> Result<(History, String), String> {
    let mut history = History::new(Duration::from_secs(10));
    let note = Past::of(kept(seconds)).resume(&mut history, now)?;
    history.push(now);
    history.judge_all();
    Ok((history, note))
}

#[test]
fn what_the_monitor_kept_answers_at_once() {
    let now = at(1500 + 120);
    let (history, note) = resumed(1500, &now).unwrap();
    let verdicts: Vec<_> = now
        .rows()
        .iter()
        .map(|row| history.get(row.id).unwrap().trend().verdict)
        .collect();
    assert_eq!(verdicts, [Verdict::Leaking, Verdict::Steady]);
    assert!(note.contains("2m00 ago"), "{note}");
}

/// A gap between two monitors is not watched time, however long the history is.
#[test]
fn only_the_time_that_was_watched_counts() {
    let watched = |gap: u64| {
        let mut history = History::new(Duration::from_secs(10));
        let now = at(600 + gap);
        Past::of(kept(600)).resume(&mut history, &now).unwrap();
        for second in (0..=300).step_by(2) {
            history.push(&at(600 + gap + second));
        }
        history.observed().as_secs()
    };
    for (gap, seen) in [(2, 902), (30, 930)] {
        assert_eq!(watched(gap), seen, "a gap of {gap} s");
    }
    for gap in [300, 840] {
        // The ends of a gap are found to a few parts of 1/256 of the known time.
        let (seen, part) = (watched(gap), (900 + gap).div_ceil(256));
        assert!(seen.abs_diff(900) <= 3 * part, "a gap of {gap} s: {seen} s");
    }
}

#[test]
fn what_was_kept_is_used_only_while_it_is_fresh_and_of_this_boot() {
    let gap = MAX_GAP.as_secs();
    assert!(resumed(100, &at(100 + gap)).is_ok());
    let why = resumed(100, &at(102 + gap)).unwrap_err();
    assert!(why.contains("ended 15m02 ago"), "{why}");
    let mut other = at(200);
    other.boot_id = Ok("other".into());
    let why = resumed(100, &other).unwrap_err();
    assert!(why.contains("boot"), "{why}");
}

/// Without options, a report does not wait if growth would show in the past that the monitor kept.
#[test]
fn leaks_answers_at_once_by_minutes_that_the_monitor_kept() {
    let now = block_on(Scanner::new(&Options::new(None)).full());
    let known = Duration::from_secs(300);
    // A machine that has just started has no such past.
    let Some(began) = now.monotonic.checked_sub(known + Duration::from_secs(4)) else {
        return;
    };
    let mut history = History::new(Duration::from_secs(10));
    let mut last = (*now).clone();
    for second in (0..=known.as_secs()).step_by(2) {
        last.monotonic = began + Duration::from_secs(second);
        history.push(&last);
    }
    let name = |kind: &str| std::fs::read_link(format!("/proc/self/ns/{kind}")).unwrap_or_default();
    let namespaces = format!("{} {}", name("pid").display(), name("time").display());
    let home = tempfile::tempdir().unwrap();
    let env = Env {
        xdg_state_home: Some(home.path().into()),
        ..Env::default()
    };
    let file = history_path(&env).unwrap();
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let kept = history.keep(&last, &namespaces).unwrap();
    std::fs::write(&file, pack_history(&kept).unwrap()).unwrap();
    let mut child = Command::new(ZMTOP)
        .arg("leaks")
        .env_clear()
        .env("XDG_STATE_HOME", home.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let read = BufReader::new(child.stderr.take().unwrap()).read_line(&mut line);
    let is_at_once = line.contains("judged with the history that the monitor saved");
    if !is_at_once {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    read.unwrap();
    assert!(
        is_at_once && line.contains("a leak is reported only after 16m"),
        "{line}"
    );
    assert!(status.success(), "{status}");
}

#[test]
fn a_filter_that_nothing_matches_says_so_and_an_option_makes_an_exit_code_of_it() {
    let tree = tree();
    let (code, out, err) = said(&tree, "no-such-program");
    assert_eq!(code, Some(0), "{err}");
    assert!(
        err.contains("0 of 2 processes match (with --check, the exit code is 1 if one does)"),
        "{err}"
    );
    assert!(out.contains("0 processes"), "{out}");
    let (code, _, err) = said(&tree, "no-such-program --check");
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("0 of 2 processes match\n"), "{err}");
    let (code, _, err) = said(&tree, "pss>0 --check");
    assert_eq!((code, err.as_str()), (Some(1), ""));
    let (code, _, err) = said(&tree, "--check");
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("--check: needs a FILTER"), "{err}");
}

#[test]
fn a_long_command_is_whole_in_data() {
    let tree = tree();
    let words = "0123456789/".repeat(900);
    tree.process(8)
        .comm("long")
        .cmdline(format!("long\0{words}\0"))
        .pss_kb(9000)
        .write();
    for format in ["json", "rows"] {
        let (_, out, err) = said(&tree, &format!("pid:8 --format {format}"));
        assert!(out.contains(&format!("long {words}")), "{err}");
        assert!(!out.contains('…'));
    }
}

#[test]
fn a_sum_that_is_a_lower_bound_is_printed_and_said_to_be_one() {
    let held = |pid, held| ProcessSample {
        held: Some(Arc::new(held)),
        ..process(pid, 1, "/usr/bin/server")
    };
    let cache = HeldObject {
        kind: HeldKind::Memfd,
        name: b"/memfd:cache"[..].into(),
        bytes: Ok(500 * MIB),
        vram: 0,
        holders: 1,
        fds: 1,
    };
    let file = tempfile::Builder::new().suffix(".ndjson").tempfile().unwrap();
    for (other, err) in [
        (Ok(Held::default()), ""),
        (Err(Missing::Denied), "zmtop: partial: the sum is at least this\n"),
    ] {
        let rows = vec![held(7, Ok(Held::new(vec![cache.clone()]))), held(8, other)];
        let mut line = Vec::new();
        json::line(&mut line, &Record::new(&snapshot(Duration::from_secs(9), rows))).unwrap();
        std::fs::write(file.path(), line).unwrap();
        let mut command = Command::new(ZMTOP);
        command.args(["ps", "--total-only", "--sort", "held", "--from"]);
        let done = command
            .arg(file.path())
            .env_clear()
            .env("HOME", "/nonexistent")
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&done.stderr), err);
        assert_eq!(String::from_utf8_lossy(&done.stdout), "524288000\n");
    }
}
