//! Families: which processes belong together by descent.

use std::time::Duration;

use zmtop::group::{GroupBy, GroupNames, RowKey};
use zmtop::history::History;
use zmtop::history::suspects::{SuspectQuery, suspects};
use zmtop::model::{Missing, ProcessSample, Snapshot, Stat};

use super::history::{WINDOW, push};
use super::{bytes, groups, key};
use crate::support::rows::{MIB, process, snapshot, walk, with_facts};

/// A process of the program that these arguments run, as far as names tell.
fn of(pid: u32, ppid: u32, arguments: &str) -> ProcessSample {
    let first = arguments.split(' ').next().unwrap().trim_start_matches('-').to_owned();
    with_facts(process(pid, ppid, arguments), |facts| {
        facts.exe = Ok(bytes(format!("/usr/bin/{first}")));
        facts.comm = bytes(&first[..first.len().min(15)]).as_ref().into();
    })
}

fn in_container(sample: ProcessSample, id: &str) -> ProcessSample {
    with_facts(sample, |facts| {
        facts.container = Some(zmtop::model::Container::named(id.as_bytes()));
    })
}

/// Checks the family of each process, rows in any order.
#[track_caller]
fn check(mut rows: Vec<ProcessSample>, want: &[(u32, &str)]) {
    rows.sort_by_key(|row| row.id.pid);
    let names = GroupNames::new(&rows);
    for (pid, want) in want {
        let row = names.find(*pid).unwrap();
        let name = names.name_of(row, GroupBy::Family).unwrap_or_default();
        assert_eq!(String::from_utf8_lossy(&name), *want, "of {pid}");
    }
}

#[test]
fn a_daemon_and_what_it_started_are_one() {
    let rows = vec![
        of(1, 0, "systemd"),
        of(100, 1, "postgres"),
        of(101, 100, "postgres"),
        of(102, 101, "archive.sh"),
        // Another server of the same program.
        of(200, 1, "postgres"),
        of(201, 200, "postgres"),
        // A command of a daemon goes through a shell.
        of(300, 1, "python3 app.py"),
        of(301, 300, "sh -c convert"),
        of(302, 301, "convert"),
        // Orphans.
        of(400, 1, "worker"),
        of(401, 1, "worker"),
    ];
    let want = [
        (1, "systemd 1"),
        (100, "postgres 100"),
        (101, "postgres 100"),
        (102, "postgres 100"),
        (200, "postgres 200"),
        (201, "postgres 200"),
        (300, "python3 app.py 300"),
        (301, "python3 app.py 300"),
        (302, "python3 app.py 300"),
        (400, "worker 400"),
        (401, "worker 401"),
    ];
    check(rows, &want);
}

#[test]
fn what_somebody_starts_is_a_family_of_its_own() {
    let rows = vec![
        of(1, 0, "systemd"),
        of(10, 1, "sshd"),
        of(11, 10, "sshd"),
        of(12, 11, "-bash"),
        // A subshell.
        of(13, 12, "-bash"),
        of(14, 12, "bash deploy.sh"),
        of(15, 14, "rsync"),
        of(16, 14, "bash deploy.sh"),
        of(17, 12, "vim"),
        of(20, 1, "systemd"),
        of(21, 20, "firefox"),
        of(22, 21, "firefox"),
        of(30, 20, "tmux"),
        of(31, 30, "zsh"),
        of(32, 31, "node server.js"),
        of(40, 1, "cron"),
        of(41, 40, "sh -c backup"),
        of(42, 41, "backup"),
        of(50, 12, "sudo"),
        of(51, 50, "make"),
        of(52, 51, "cc1"),
    ];
    let want = [
        (11, "sshd 10"),
        (12, "bash 12"),
        (13, "bash 12"),
        (14, "bash deploy.sh 14"),
        (15, "bash deploy.sh 14"),
        (16, "bash deploy.sh 14"),
        (17, "vim 17"),
        (20, "systemd 1"),
        (22, "firefox 21"),
        (30, "tmux 30"),
        (31, "zsh 31"),
        (32, "node server.js 32"),
        (42, "sh -c 41"),
        (50, "sudo 50"),
        (52, "make 51"),
    ];
    check(rows, &want);
}

#[test]
fn a_container_begins_a_family_and_a_supervisor_many() {
    let in_web = |sample| in_container(sample, "0123456789ab");
    let rows = vec![
        of(1, 0, "systemd"),
        of(50, 1, "containerd-shim-runc-v2"),
        in_web(of(51, 50, "nginx")),
        in_web(of(52, 51, "nginx")),
        // Somebody's command in it.
        in_web(of(53, 50, "psql")),
        // A container below an engine that is not known.
        of(60, 1, "engine"),
        in_web(of(61, 60, "tini")),
        in_web(of(62, 61, "app")),
        in_web(of(63, 62, "app")),
        in_container(of(64, 63, "nested"), "ba9876543210"),
        // A script's short name tells what it is.
        with_facts(of(70, 1, "python3 /usr/bin/supervisord"), |f| {
            f.comm = (*b"supervisord").into();
        }),
        of(71, 70, "celery"),
        of(72, 71, "celery"),
    ];
    let want = [
        (51, "nginx 51"),
        (52, "nginx 51"),
        (53, "psql 53"),
        (61, "tini 61"),
        (63, "app 62"),
        (64, "nested 64"),
        (70, "python3 supervisord 70"),
        (72, "celery 71"),
    ];
    check(rows, &want);
    // Inside, where the first process is the server itself.
    let rows = vec![
        of(1, 0, "gunicorn"),
        of(7, 1, "gunicorn"),
        of(8, 1, "cat"),
        of(9, 0, "sh"),
        of(10, 9, "top"),
    ];
    check(rows, &[(7, "gunicorn 1"), (8, "cat 8"), (9, "sh 9"), (10, "top 10")]);
}

#[test]
fn odd_trees_have_families_too() {
    let kernel = ProcessSample {
        stat: Stat {
            flags: Stat::PF_KTHREAD,
            ..Stat::default()
        },
        ..of(2, 0, "kthreadd")
    };
    let rows = vec![
        kernel,
        // A parent that is not listed, one that is the process itself, a circle.
        of(5, 99, "lost"),
        of(6, 6, "own"),
        of(8, 9, "circle"),
        of(9, 8, "circle"),
        // A helper that the kernel started.
        of(10, 2, "helper"),
        // A parent with a higher pid.
        of(20, 30, "child"),
        of(30, 1, "parent"),
        of(1, 0, "init"),
        // Nothing is known of it but its short name.
        with_facts(of(40, 1, "x"), |f| {
            f.exe = Err(Missing::Denied);
            f.cmdline = Err(Missing::Denied);
        }),
    ];
    check(
        rows.clone(),
        &[
            (2, ""),
            (5, "lost 5"),
            (6, "own 6"),
            (8, ""),
            (9, ""),
            (10, "helper 10"),
            (20, "parent 30"),
            (40, "x 40"),
        ],
    );
    // A long chain of forks: what is far below is in none.
    let chain: Vec<_> = (1..=3000)
        .map(|pid| of(pid, pid - 1, if pid == 1 { "init" } else { "bomb" }))
        .collect();
    check(chain.clone(), &[(2, "bomb 2"), (60, "bomb 2"), (3000, "")]);
    let mut history = History::new(WINDOW);
    history.push(&snapshot(Duration::ZERO, chain));
    assert!(history.group(&key(GroupBy::Family, "bomb 2")).is_some());
}

#[test]
fn sums_are_of_each_family() {
    let rows = vec![of(1, 0, "init"), of(5, 1, "db"), of(6, 5, "db"), of(7, 1, "db")];
    let made = groups(&snapshot(Duration::ZERO, rows), GroupBy::Family);
    let shown: Vec<_> = made
        .iter()
        .map(|group| {
            (
                String::from_utf8_lossy(group.key.label()).into_owned(),
                group.totals.count,
            )
        })
        .collect();
    let want = [("init 1", 1), ("db 5", 2), ("db 7", 1)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(shown, want);
}

/// The number of processes in a family of a history, by its footprint; 0 for a family of one, which has none of its own.
fn count(history: &History, name: &str) -> u64 {
    let family = history.group(&key(GroupBy::Family, name));
    let newest = family.and_then(|row| row.footprint().recent(60).into_iter().flatten().last());
    newest.map_or(0, |band| band.last / (10 << 20))
}

#[test]
fn a_history_follows_its_processes_to_other_families() {
    let mut history = History::new(WINDOW);
    // The grandchild has the lowest pid, as after pids wrapped around.
    let rows = |server: &str, parent| {
        vec![
            of(1, 0, "init"),
            of(10, 20, "leaf"),
            of(20, 30, "child"),
            of(30, parent, server),
            of(40, 1, "other"),
        ]
    };
    for second in 0..3 {
        push(&mut history, second, rows("server", 1));
    }
    assert_eq!((count(&history, "server 30"), count(&history, "other 40")), (3, 0));
    // Its head gets another name.
    for second in 3..8 {
        push(&mut history, second, rows("renamed", 1));
    }
    assert_eq!((count(&history, "server 30"), count(&history, "renamed 30")), (0, 3));
    // Another parent adopts it.
    for second in 8..13 {
        push(&mut history, second, rows("renamed", 40));
    }
    assert_eq!((count(&history, "renamed 30"), count(&history, "other 40")), (0, 4));
    // The middle ends, and init adopts the leaf. For some seconds, another process may take over its memory.
    for second in 13..22 {
        let mut rows = rows("renamed", 40);
        rows.remove(2);
        rows[1].stat.ppid = 1;
        push(&mut history, second, rows);
    }
    assert_eq!((count(&history, "other 40"), count(&history, "leaf 10")), (2, 0));
}

#[test]
fn a_family_waits_for_the_name_of_its_head() {
    let mut history = History::new(WINDOW);
    let unread = with_facts(of(5, 1, "node server.js"), |f| {
        f.cmdline = Err(Missing::Pending);
        f.exe = Err(Missing::Pending);
    });
    push(&mut history, 0, vec![of(1, 0, "init"), unread, of(6, 5, "ffmpeg")]);
    for second in 1..4 {
        push(
            &mut history,
            second,
            vec![of(1, 0, "init"), of(5, 1, "node server.js"), of(6, 5, "ffmpeg")],
        );
    }
    assert_eq!((count(&history, "node 5"), count(&history, "node server.js 5")), (0, 2));
}

#[test]
fn a_family_of_one_has_the_history_of_its_process_and_a_new_one_begins_whole() {
    let mut history = History::new(WINDOW);
    let rows = |pss: u64, with_child: bool| {
        let mut head = of(5, 1, "db");
        head.walk = Ok(walk(pss * MIB, 0));
        let mut rows = vec![of(1, 0, "init"), head];
        rows.extend(with_child.then(|| of(6, 5, "db")));
        rows
    };
    for second in 0..20 {
        push(&mut history, second, rows(100 + second, false));
    }
    let snap = snapshot(Duration::from_secs(19), rows(119, false));
    let family = |snap: &Snapshot| groups(snap, GroupBy::Family).remove(1);
    let change = history.of_group(&family(&snap), &snap).unwrap().change();
    assert_eq!(change.pss, Some(10 * MIB.cast_signed()));
    assert!(history.group(&key(GroupBy::Family, "db 5")).is_none());
    assert!(history.has_group(&key(GroupBy::Family, "db 5"), &snap));
    assert!(!history.has_group(&key(GroupBy::Family, "db 6"), &snap));
    // With its first child it has one of its own, in which the first process is from the beginning.
    for second in 20..25 {
        push(&mut history, second, rows(119, true));
    }
    let snap = snapshot(Duration::from_secs(24), rows(119, true));
    let own = history.of_group(&family(&snap), &snap).unwrap();
    assert_eq!((own.change().pss, count(&history, "db 5")), (Some(0), 12));
}

#[test]
fn a_family_of_one_that_leaks_is_a_suspect_too() {
    let mut history = History::new(WINDOW);
    let mut last = None;
    for second in 0..400 {
        let mut head = of(5, 1, "db");
        head.walk = Ok(walk((100 + second) * MIB, 0));
        let snap = snapshot(
            Duration::from_secs(second),
            vec![of(1, 0, "init"), head, of(6, 1, "quiet")],
        );
        history.push(&snap);
        last = Some(snap);
    }
    history.judge_all();
    let query = SuspectQuery {
        by: Some(GroupBy::Family),
        ..SuspectQuery::GROWING
    };
    let found = suspects(&history, &last.unwrap(), query);
    let found: Vec<_> = found
        .iter()
        .map(|suspect| (suspect.key.clone(), suspect.count))
        .collect();
    assert_eq!(found, [(RowKey::Group(key(GroupBy::Family, "db 5")), 1)]);
}
