//! Equal siblings: one row for the workers of a server.

use std::collections::BTreeSet;

use zmtop::act::Command;
use zmtop::group::{GroupBy, RowKey};
use zmtop::model::{Missing, ProcessSample, Stat};
use zmtop::tui::Effect;
use zmtop::tui::act::ProcessDialog;

use crate::support::rows::{MIB, process, walk, with_facts};
use crate::support::session::Session;

const WORKER: &str = "/usr/bin/gunicorn shop:app --worker";

/// A server with so many workers of 100 MiB to 100 + n MiB, and some others.
fn server(workers: u32) -> Vec<ProcessSample> {
    let mut rows = vec![
        process(2, 1, "/usr/sbin/cron"),
        process(50, 1, "/usr/bin/gunicorn shop:app"),
    ];
    rows[1].walk = Ok(walk(300 * MIB, 0));
    for n in 0..workers {
        let mut worker = process(101 + n, 50, &format!("{WORKER} {n}"));
        worker.walk = Ok(walk((100 + u64::from(n)) * MIB, u64::from(n % 2) * MIB));
        rows.push(worker);
    }
    rows.push(process(900, 1, "/usr/bin/single"));
    rows
}

fn opened(workers: u32) -> Session {
    let mut session = Session::new(120, 40);
    session.tick(1, server(workers));
    session
}

/// The pids of the rows, in order; 0 for equal siblings.
fn pids(session: &Session) -> Vec<u32> {
    let rows = session.app.tables.current().rows.iter();
    rows.map(|row| row.key.process().map_or(0, |id| id.pid)).collect()
}

/// The members of each row of equal siblings.
fn members(session: &Session) -> Vec<Vec<u32>> {
    let rows = session.app.tables.current().rows.iter();
    let snapshot = session.app.engine.snapshot.as_ref().unwrap();
    let folds = rows.filter_map(|row| session.app.fold(row));
    folds
        .map(|fold| fold.ids(snapshot).map(|id| id.pid).collect())
        .collect()
}

fn tagged(session: &Session) -> BTreeSet<u32> {
    session
        .app
        .tables
        .tags
        .iter()
        .filter_map(|key| Some(key.process()?.pid))
        .collect()
}

fn message(session: &Session) -> &str {
    session.app.screen.message.as_ref().map_or("", |m| &m.text)
}

/// Grows one of the workers by 8 MiB a step of five seconds, for two minutes.
fn grow(session: &mut Session, workers: u32, growing: impl Fn(u32) -> bool) {
    for step in 0..40 {
        let mut rows = server(workers);
        for row in rows
            .iter_mut()
            .filter(|row| row.id.pid > 100 && row.id.pid < 900 && growing(row.id.pid))
        {
            row.walk = Ok(walk((100 + 8 * step) * MIB, 0));
        }
        session.tick(5, rows);
    }
}

#[test]
fn workers_are_one_row_with_their_number_and_sum_at_its_place() {
    let mut session = opened(10);
    assert_eq!(pids(&session), [0, 50, 2, 900]);
    let line = session.line("gunicorn shop:app --worker");
    assert!(line.contains("×10 gunicorn shop:app --worker #"), "{line}");
    // 100 + … + 109.
    assert!(line.contains("1.0G"), "the sum of PSS: {line}");
    assert!(line.contains("5.0M"), "the sum of swap: {line}");
    assert!(line.contains("root"), "the user that they have in common: {line}");
    session.keys("S");
    assert_eq!(pids(&session), [0, 50, 2, 900], "by swap");
    session.keys("I");
    assert_eq!(pids(&session).last(), Some(&0), "the least first");
    assert!(
        session.picture().contains("Σ 13 processes"),
        "the number of processes is what it was"
    );
}

#[test]
fn their_group_is_that_of_each_of_them() {
    let mut session = Session::new(120, 30);
    let rows = || {
        (1..5)
            .map(|n| process(n + 10, 1, &format!("/usr/bin/unicorn {n}")))
            .collect()
    };
    session.tick(1, rows());
    session.app.tables.columns = ["group", "command"].map(|id| zmtop::columns::find(id).unwrap()).into();
    session.app.apply_columns();
    session.tick(5, rows());
    let line = session.line("×4 unicorn #");
    let group = line.split("×4").next().unwrap();
    assert!(group.contains("unicorn") && !group.contains('#'), "{line}");
}

#[test]
fn the_same_command_line_is_reported_as_it_is() {
    let mut session = Session::new(120, 30);
    let rows = (1..5)
        .map(|pid| process(pid + 10, 1, "/usr/bin/unicorn -p 80"))
        .collect();
    session.tick(1, rows);
    assert!(
        session.line("unicorn").contains("×4 unicorn -p 80"),
        "{}",
        session.line("unicorn")
    );
}

#[test]
fn numbers_are_reported_where_all_have_the_same() {
    let mut session = Session::new(160, 30);
    let backend = |pid: u32| process(pid, 1, &format!("postgres: app shop 10.0.0.7({}) idle", 4000 + pid));
    session.tick(1, (11..15).map(backend).collect());
    let line = session.line("postgres");
    assert!(line.contains("×4 postgres: app shop 10.0.0.7(#) idle"), "{line}");
}

#[test]
fn two_are_no_crowd() {
    assert_eq!(pids(&opened(2)), [50, 102, 101, 2, 900]);
    assert_eq!(pids(&opened(3)).iter().filter(|pid| **pid == 0).count(), 1);
}

#[test]
fn what_differs_in_parent_user_cgroup_name_or_words_is_not_equal() {
    let worker = |pid: u32| process(pid, 50, WORKER);
    let others: [(&str, ProcessSample); 6] = [
        ("parent", process(20, 51, WORKER)),
        ("user", with_facts(worker(20), |facts| facts.uid = Ok(33))),
        (
            "cgroup",
            with_facts(worker(20), |facts| facts.cgroup = Ok((*b"/other").into())),
        ),
        ("name", with_facts(worker(20), |facts| facts.comm = (*b"other").into())),
        ("words", process(20, 50, &format!("{WORKER} idle"))),
        (
            "no command line",
            with_facts(worker(20), |facts| facts.cmdline = Err(Missing::Denied)),
        ),
    ];
    for (what, other) in others {
        let mut session = Session::new(120, 30);
        session.tick(1, vec![worker(10), worker(11), other]);
        assert!(members(&session).is_empty(), "{what}");
    }
    let mut session = Session::new(120, 30);
    session.tick(1, vec![worker(10), worker(11), worker(20)]);
    assert_eq!(members(&session), [[10, 11, 20]]);
}

#[test]
fn kernel_threads_and_zombies_are_listed_each() {
    let of = |change: fn(&mut ProcessSample)| {
        let mut rows: Vec<_> = (10..15).map(|pid| process(pid, 2, WORKER)).collect();
        rows.iter_mut().for_each(change);
        let mut session = Session::new(120, 30);
        session.tick(1, rows).keys("K");
        (pids(&session).len(), members(&session).len())
    };
    let kernel = |row: &mut ProcessSample| {
        row.stat.flags = Stat::PF_KTHREAD;
        row.walk = Err(Missing::KernelThread);
    };
    assert_eq!(of(kernel), (5, 0));
    let zombie = |row: &mut ProcessSample| {
        row.stat.state = b'Z';
        row.walk = Err(Missing::Zombie);
    };
    assert_eq!(of(zombie), (5, 0));
}

#[test]
fn one_that_grows_has_a_row_of_its_own() {
    let mut session = opened(10);
    grow(&mut session, 10, |pid| pid == 104);
    assert_eq!(members(&session), [[101, 102, 103, 105, 106, 107, 108, 109, 110]]);
    assert!(pids(&session).contains(&104));
    assert!(
        session.line(" 104 root").contains("△ grow 96.0M/min"),
        "{}",
        session.picture()
    );
    assert!(
        session.line("×9 gunicorn").contains("· steady"),
        "the others are: {}",
        session.picture()
    );
}

#[test]
fn where_all_grow_they_stay_together_and_the_row_says_so() {
    let mut session = opened(10);
    grow(&mut session, 10, |_| true);
    assert_eq!(members(&session).concat().len(), 10);
    let line = session.line("×10 gunicorn");
    // 8 MiB in five seconds are 96 MiB a minute.
    assert!(line.contains("△ grow 960M/min"), "the sum of their paces: {line}");
    assert!(line.contains('▇'), "and the chart of their sum: {line}");
}

#[test]
fn plus_unfolds_and_folds_again() {
    let mut session = opened(4);
    session.keys("Home +");
    assert_eq!(pids(&session), [50, 104, 103, 102, 101, 2, 900]);
    assert_eq!(session.selected(), Some(104), "the first of them");
    // What is new among them is listed, too.
    session.tick(1, server(5));
    assert_eq!(pids(&session), [50, 105, 104, 103, 102, 101, 2, 900]);
    session.keys("-");
    assert_eq!(pids(&session).iter().filter(|pid| **pid == 0).count(), 1);
    assert_eq!(
        session.app.selected_fold().map(|fold| fold.group.members.len()),
        Some(5)
    );
}

#[test]
fn f_folds_none_and_all_and_w_saves_it() {
    let mut session = opened(4);
    session.keys("f");
    assert_eq!(pids(&session).len(), 7);
    assert!(!session.app.saved().fold);
    session.keys("f");
    assert_eq!(pids(&session).len(), 4);
    assert!(session.app.saved().fold);
}

#[test]
fn enter_lists_each_and_goes_back_to_the_row() {
    let mut session = opened(4);
    session.keys("Home Down Up Enter");
    assert_eq!(pids(&session), [104, 103, 102, 101]);
    assert_eq!(session.app.saved().by, None);
    session.keys("Esc");
    assert_eq!(pids(&session), [0, 50, 2, 900]);
    assert!(session.app.selected_fold().is_some());
    session.keys("Enter Tab");
    assert_eq!(
        session.app.query.scope.grouped_by(),
        Some(GroupBy::Command),
        "Tab goes on from the processes"
    );
}

#[test]
fn the_panel_shows_the_sum_and_each() {
    let mut session = opened(4);
    session.keys("Home p").tick(1, server(4));
    let picture = session.picture();
    for part in [
        "4 processes",
        "similar processes of one parent",
        "its processes, by growth",
        " 104 ",
    ] {
        assert!(picture.contains(part), "{part}:\n{picture}");
    }
    assert!(
        picture.contains("footprint over 5 min: 408M"),
        "the chart of the sum:\n{picture}"
    );
}

#[test]
fn the_filter_chooses_processes_before_they_are_folded() {
    let mut session = opened(10);
    session.keys("/").types("pss>103M").keys("Enter");
    assert_eq!(members(&session), [(105..=110).collect::<Vec<_>>()]);
    assert_eq!(session.app.rows.matching, 7);
    session.keys("\\ /").types("pid:101").keys("Enter");
    assert_eq!(pids(&session), [101]);
}

#[test]
fn a_tag_is_of_all_that_are_shown_by_the_row() {
    let mut session = opened(4);
    session.keys("Home Space");
    assert_eq!(tagged(&session), (101..=104).collect());
    assert_eq!(session.app.rows.tagged.count, 4);
    // One that comes later is not tagged.
    session.tick(1, server(5));
    assert_eq!(tagged(&session).len(), 4);
    session.keys("Home Space");
    assert_eq!(tagged(&session).len(), 5, "those that were not are, too");
    session.keys("Home Space");
    assert!(tagged(&session).is_empty());
}

#[test]
fn a_signal_is_asked_for_all_and_reaches_only_those_that_were_shown() {
    let mut session = opened(4);
    session.keys("Home F9");
    session.tick(1, server(6));
    let dialog: &ProcessDialog = session.app.modal().expect("it asks");
    let ids: Vec<u32> = dialog.selection.processes.iter().map(|p| p.id.pid).collect();
    assert_eq!(ids, [101, 102, 103, 104]);
    assert_eq!(dialog.selection.name(), "4 processes of gunicorn shop:app --wor…");
}

#[test]
fn niceness_by_steps_is_confirmed_for_all_of_them() {
    let mut session = opened(4);
    session.keys("Home F8");
    assert!(session.app.modal.is_some(), "{}", message(&session));
    let performs = |effect: &Effect| matches!(effect, Effect::Act(Command::Perform(..)));
    assert!(!session.effects.iter().any(performs), "nothing is set before Enter");
}

#[test]
fn picking_asks_for_one_unless_they_are_tagged() {
    let mut session = opened(4);
    session.app.screen.picking = true;
    session.keys("Home Enter");
    assert!(!session.effects.iter().any(|effect| matches!(effect, Effect::Pick(_))));
    assert_eq!(pids(&session).len(), 7, "they are unfolded");
    session.keys("- Space Enter");
    let picked = session.effects.iter().find_map(|effect| match effect {
        Effect::Pick(pids) => Some(pids.clone()),
        _ => None,
    });
    assert_eq!(picked, Some(vec![101, 102, 103, 104]));
}

#[test]
fn the_selection_follows_a_process_into_the_row_and_out_of_it() {
    let server = |workers| {
        let mut rows = server(workers);
        rows[1].walk = Ok(walk(2000 * MIB, 0));
        rows
    };
    let mut session = opened(2);
    session.tick(1, server(2)).keys("Down Down");
    assert_eq!(session.selected(), Some(101));
    session.tick(1, server(3));
    assert!(session.app.selected_fold().is_some(), "it is in the row");
    session.tick(1, server(2));
    assert_eq!(session.selected(), Some(102), "the first of those that were in it");
    // At the first row it stays at the top, and goes along where it is followed.
    session.tick(1, self::server(8)).keys("Home F");
    session.tick(1, server(4));
    assert!(session.app.selected_fold().is_some());
    assert_eq!(session.app.tables.current().list.cursor, 1);
}

#[test]
fn a_search_finds_the_row_or_one_of_it() {
    let mut session = opened(4);
    session.keys("End F3").types("--worker").keys("Enter");
    assert!(session.app.selected_fold().is_some(), "all are found");
    session.keys("End F3").types("103").keys("Enter");
    assert_eq!(session.selected(), Some(103), "one is found: it has a row");
}

#[test]
fn a_frozen_order_holds_while_they_are_unfolded_and_folded() {
    let mut session = opened(3);
    session.keys("z");
    let mut rows = server(3);
    rows[0].walk = Ok(walk(5000 * MIB, 0));
    session.tick(1, rows.clone());
    assert_eq!(pids(&session), [0, 50, 2, 900]);
    session.keys("Home +");
    assert_eq!(pids(&session), [103, 102, 101, 50, 2, 900]);
    session.keys("Home -");
    assert_eq!(pids(&session), [0, 50, 2, 900]);
}

#[test]
fn a_tree_folds_those_that_have_no_children() {
    let mut session = opened(4);
    session.keys("t");
    let line = session.line("×4 gunicorn");
    assert!(line.contains("└─ ×4 gunicorn shop:app"), "{line}");
    let mut rows = server(4);
    rows.insert(6, process(200, 103, "/usr/bin/convert"));
    session.tick(1, rows);
    assert_eq!(members(&session), [[101, 102, 104]]);
    assert!(pids(&session).contains(&103) && pids(&session).contains(&200));
    session.keys("t");
    assert_eq!(members(&session), [[101, 102, 103, 104]]);
}

#[test]
fn two_tables_fold_each_at_its_own_place() {
    let mut session = opened(4);
    session.keys("v");
    for table in session.app.tables.shown() {
        let folds = table.rows.iter().filter(|row| session.app.fold(row).is_some());
        assert_eq!((table.rows.len(), folds.count()), (4, 1));
    }
}

#[test]
fn a_user_is_picked_before_they_are_folded() {
    let mut session = Session::new(120, 30);
    let mut rows = server(4);
    rows[0] = with_facts(rows[0].clone(), |facts| facts.user = Ok((*b"alice").into()));
    session.tick(1, rows.clone());
    session.app.query.user = Some((*b"root").into());
    session.tick(1, rows);
    assert_eq!(pids(&session), [0, 50, 900]);
}

#[test]
fn a_mark_shows_the_change_of_the_sum() {
    let mut session = opened(4);
    session.keys("b");
    let mut rows = server(4);
    rows[2].walk = Ok(walk(150 * MIB, 0));
    rows[3].walk = Ok(walk(107 * MIB, 0));
    session.tick(1, rows);
    let line = session.line("×4 gunicorn");
    assert!(line.contains("+56.0M"), "{line}");
}

#[test]
fn the_pids_of_all_are_copied_and_a_command_line_that_all_have() {
    let mut session = opened(3);
    session.keys("Home y Y");
    let copied = |session: &Session| -> Vec<String> {
        let copies = session.effects.iter().filter_map(|effect| match effect {
            Effect::Copy(text) => Some(text.clone()),
            _ => None,
        });
        copies.collect()
    };
    assert_eq!(copied(&session), ["101 102 103"]);
    assert!(
        message(&session).contains("their command lines differ"),
        "{}",
        message(&session)
    );
    let rows = (1..4)
        .map(|pid| process(pid + 10, 1, "/usr/bin/unicorn -p 80"))
        .collect();
    session.tick(1, rows).keys("Home Y");
    assert!(copied(&session)[1].contains("unicorn -p 80") && !copied(&session)[1].contains('#'));
}

#[test]
fn a_double_click_lists_each() {
    let mut session = opened(4);
    let row = session.app.layout().tables[0].y + 1;
    session.click(5, row).click_after(100, 5, row);
    assert_eq!(pids(&session), [104, 103, 102, 101]);
}

#[test]
fn groups_and_their_members_are_not_folded() {
    let mut session = opened(4);
    session.keys("Tab");
    assert_eq!(session.group_names()[0], "gunicorn");
    session.keys("Home Enter");
    assert_eq!(pids(&session), [50, 104, 103, 102, 101]);
}

#[test]
fn by_pid_the_row_stands_where_the_first_of_them_would() {
    let mut session = opened(4);
    let column = zmtop::columns::find("pid").unwrap();
    session.app.tables.single.sort = column;
    session.app.tables.single.descending = false;
    session.keys("z z");
    assert_eq!(pids(&session), [2, 50, 0, 900]);
}

#[test]
fn memory_that_may_not_be_read_is_summed_by_rss() {
    let mut rows = server(3);
    for row in &mut rows {
        row.walk = Err(Missing::Denied);
        row.stat.rss = 20 * MIB;
    }
    let mut session = Session::new(120, 30);
    session.tick(1, rows);
    assert!(session.line("×3 gunicorn").contains("60.0M"), "{}", session.picture());
}

#[test]
fn members_on_the_screen_are_read_sooner() {
    let session = opened(4);
    assert!(session.focused().contains(&102));
}

#[test]
fn its_identity_outlasts_its_members() {
    let mut session = opened(5);
    let key = |session: &Session| {
        session
            .app
            .selected_fold()
            .map(|fold| RowKey::Group(fold.group.key.clone()))
    };
    session.keys("Home");
    let first = key(&session);
    session.tick(1, server(7));
    assert_eq!(key(&session), first, "its identity outlasts its members");
}
