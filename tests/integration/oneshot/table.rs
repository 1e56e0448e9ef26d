//! The one-shot table of processes.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use zmtop::columns::{COLUMNS, ColumnId, find};
use zmtop::filter::Filter;
use zmtop::history::History;
use zmtop::model::{Held, HeldKind, HeldObject, Missing};
use zmtop::output::table::{TableOptions, columns_of_one_snapshot, write};
use zmtop::query::{Query, Rows};
use zmtop::text::width;
use zmtop::units::Units;

use super::{ids, machine, table, user};
use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

#[test]
fn the_default_table() {
    assert_eq!(
        table(machine(), "", |_, _| {}),
        "\
\x20 PID USER      SWAP   USS   PSS   RSS COMMAND
27213 alice    12.0M  2.0G  2.0G  2.0G python3 train.py --epochs 10
    1 root         0 10.0M 10.0M 10.0M init
  812 postgres     -     -     -     - postgres: checkpointer
  900 root         -     -     -     - sshd
               12.0M  2.0G  2.0G  2.0G 4 processes, partial: 1 permission denied, 1 timed out
"
    );
}

#[test]
fn filtered_sorted_cut_and_without_totals() {
    let by_pid = |q: &mut Query<'_>, o: &mut TableOptions| {
        q.sort = find("pid").unwrap();
        q.descending = false;
        o.columns = ids(&["pid", "pss", "comm"]);
    };
    assert_eq!(
        table(machine(), "!user:root | init", |q, o| {
            by_pid(q, o);
            o.style.units = Units::M;
        }),
        "\
\x20 PID   PSS NAME
    1   10M init
  812     - postgres:
27213 2048M python3
      2058M  3 processes, partial: 1 permission denied
"
    );
    let cut = table(machine(), "", |q, _| {
        q.top = Some(1);
        q.kernel_threads = true;
    });
    assert!(
        cut.ends_with(" 5 processes, 1 shown, partial: 1 permission denied, 1 timed out\n"),
        "{cut}"
    );
    assert_eq!(cut.lines().count(), 3);
    let rows_only = table(machine(), "pid:1", |q, o| {
        by_pid(q, o);
        o.totals = false;
    });
    assert_eq!(rows_only, "PID   PSS NAME\n  1 10.0M init\n");
    assert!(table(machine(), "pid:1", |_, _| {}).ends_with(" 1 process\n"));
    assert!(table(machine(), "nothing-like-it", |_, _| {}).ends_with(" 0 processes\n"));
}

#[test]
fn missing_figures_come_last_in_both_directions() {
    for descending in [true, false] {
        let text = table(machine(), "", |q, _| q.descending = descending);
        let pids: Vec<_> = text
            .lines()
            .skip(1)
            .filter_map(|l| l.split_whitespace().next())
            .collect();
        assert_eq!(pids[2..4], ["812", "900"], "{text}");
    }
}

#[test]
fn a_terminal_is_never_overrun_and_a_pipe_gets_the_whole_command() {
    let mut rows = machine();
    let argv = "x".repeat(5000);
    rows.push(process(5000, 1, &format!("java {argv}")));
    for columns in [0, 1, 2, 3, 10, 20, 40, 80, 200] {
        let text = table(rows.clone(), "", |_, o| o.style.width = Some(columns));
        for line in text.lines() {
            assert!(width(line) <= columns, "{columns}: {line}");
        }
    }
    let text = table(rows.clone(), "", |_, o| o.style.width = Some(80));
    assert!(text.lines().any(|l| l.ends_with("xx…") && width(l) == 80), "{text}");
    let whole = format!(" java {argv}");
    assert!(table(rows.clone(), "", |_, _| {}).lines().any(|l| l.ends_with(&whole)));
    let first = table(rows, "", |_, o| o.columns = ids(&["command", "pss"]));
    assert!(first.lines().any(|l| l == format!("java {argv} 10.0M")));
    assert!(first.lines().all(|l| l.ends_with(|c: char| !c.is_whitespace())));
}

#[test]
fn a_command_between_others_leaves_them_their_room() {
    let text = table(machine(), "", |_, o| {
        o.columns = ids(&["pid", "command", "pss"]);
        o.style.width = Some(30);
    });
    assert_eq!(
        text,
        "\
\x20 PID COMMAND              PSS
27213 python3 train.py …  2.0G
    1 init               10.0M
  812 postgres: checkpo…     -
  900 sshd                   -
      4 processes, part…  2.0G
"
    );
}

#[test]
fn hostile_names_stay_in_their_cells() {
    let evil = "\u{1b}]52;c;eA==\u{7}\u{202e}日本\n\r\t\u{9b}2J\u{200b}".as_bytes();
    let mut rows = machine();
    rows.push(with_facts(process(666, 1, "x"), |f| {
        f.comm = evil.into();
        f.cmdline = Ok([
            evil,
            b"\xff\0",
            "a\u{301}".repeat(3).as_bytes(),
            "\u{301}".repeat(10_000).as_bytes(),
        ]
        .concat()
        .into());
        f.user = Ok(evil.into());
        f.unit = Some(evil.into());
        f.container = Some(zmtop::model::Container::named(b"\xf0\x9f\x1b".as_slice()));
        f.cgroup = Ok([evil; 100].concat().into());
    }));
    let plain = rows.len() + 1;
    let everything: Vec<_> = ColumnId::all().collect();
    for width_of in [None, Some(400), Some(80), Some(9)] {
        for color in [false, true] {
            let text = table(rows.clone(), "", |_, o| {
                o.columns.clone_from(&everything);
                o.style.width = width_of;
                o.style.color = color;
            });
            assert_eq!(text.lines().count(), plain);
            let bare = ["\x1b[0m", "\x1b[1m", "\x1b[2m"]
                .iter()
                .fold(text.clone(), |t, code| t.replace(code, ""));
            assert!(!bare.chars().any(|c| c.is_control() && c != '\n'), "{bare:?}");
            assert!(!bare.contains(['\u{202e}', '\u{200b}']), "{bare:?}");
            assert_eq!(color, text.contains("\x1b[2m"), "{text:?}");
            if let Some(most) = width_of {
                assert!(bare.lines().all(|l| width(l) <= most), "{bare}");
            }
        }
    }
}

#[test]
fn figures_stand_below_each_other_beside_wide_names() {
    let mut rows = vec![
        user(process(1, 0, "a"), "日本語"),
        user(process(2, 0, "b"), "e\u{301}ve"),
        process(3, 0, "c"),
    ];
    rows[2].walk = Err(Missing::Denied);
    let text = table(rows, "", |_, o| {
        o.columns = ids(&["user", "pss", "pid"]);
        o.totals = false;
    });
    let ends: Vec<_> = text.lines().map(width).collect();
    assert_eq!(ends, [16; 4], "{text}");
}

#[test]
fn one_snapshot_offers_no_changes() {
    let offered: Vec<_> = columns_of_one_snapshot().map(|id| id.get().id).collect();
    for absent in [
        "dpss",
        "dswap",
        "growth",
        "history",
        "cpu",
        "majflt",
        "minflt",
        "mark_pss",
        "mark_swap",
        "mark_held",
        "held_change",
        "held_trend",
        "held_verdict",
        "trend",
        "verdict",
        "slope",
        "confidence",
        "since",
        "orphans",
        "count_pace",
        "eta",
        "hot",
        "cold",
        "cold_for",
    ] {
        assert!(!offered.contains(&absent), "{absent}");
    }
    assert_eq!(offered.len() + 24, COLUMNS.len());
    // Asked for all the same, they say that they are not known.
    let text = table(machine(), "pid:1", |_, o| o.columns = ids(&["pid", "dpss", "cpu"]));
    assert_eq!(text, "PID ΔPSS CPU%\n  1    -    -\n       -    - 1 process\n");
}

#[test]
fn with_a_history_there_are_changes() {
    let mut history = History::new(Duration::from_secs(10));
    for second in 0..10 {
        let mut rows = machine();
        rows[0].walk = Ok(walk((10 + second) * MIB, 0));
        history.push(&snapshot(Duration::from_secs(second), rows));
    }
    let filter = Filter::parse("pid:1", &COLUMNS).unwrap();
    let options = TableOptions {
        columns: ids(&["pid", "dpss"]),
        totals: false,
        ..TableOptions::default()
    };
    let last = snapshot(Duration::from_secs(9), machine());
    let rows = Rows::select(&last, Some(&history), &Query::new(&filter));
    let mut out = Vec::new();
    write(&mut out, &rows, &options).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "PID  ΔPSS\n  1 +9.0M\n");
}

#[test]
fn a_closed_pipe_is_reported() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let filter = Filter::default();
    let last = snapshot(Duration::ZERO, machine());
    let rows = Rows::select(&last, None, &Query::new(&filter));
    let error = write(&mut Closed, &rows, &TableOptions::default()).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn a_bound_that_is_a_share_of_the_ram_is_still_a_bound() {
    let mut rows = machine();
    rows[2].stat.rss = 512 * MIB;
    let cache = HeldObject {
        kind: HeldKind::Memfd,
        name: b"/memfd:cache"[..].into(),
        bytes: Ok(1024 * MIB),
        vram: 0,
        holders: 1,
        fds: 1,
    };
    let unknown = HeldObject {
        kind: HeldKind::Bpf,
        bytes: Err(Missing::Malformed),
        ..cache.clone()
    };
    rows[3].held = Some(Arc::new(Ok(Held::new(vec![cache, unknown]))));
    let text = table(rows, "pid:812,27213", |_, o| {
        o.percent_of = Some(4096 * MIB);
        o.totals = false;
        o.columns = ids(&["pid", "pss", "held"]);
    });
    let cells: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(cells[1..], [["27213", "50.00%", "≥25.00%"], ["812", "≤12.50%", "-"]]);
}
