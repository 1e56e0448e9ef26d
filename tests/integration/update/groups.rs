//! Groups on the screen: from processes to groups, into one, and back.

use zmtop::columns::Needs;
use zmtop::config::Env;
use zmtop::group::GroupBy;
use zmtop::tui::Effect;
use zmtop::tui::app::Scope;

use crate::support::rows::{MIB, process, walk};
use crate::support::session::{Session, busy, env, grouped};

pub(super) fn session() -> Session {
    let mut session = Session::new(120, 40);
    session.tick(1, grouped(0));
    session
}

#[test]
fn tab_goes_round_and_shift_tab_back() {
    let mut session = session();
    let ring = [
        Scope::Groups(GroupBy::Command),
        Scope::Groups(GroupBy::User),
        Scope::Groups(GroupBy::Unit),
        Scope::Groups(GroupBy::Container),
        Scope::Groups(GroupBy::Pod),
        Scope::Groups(GroupBy::Cgroup),
        Scope::Groups(GroupBy::Family),
        Scope::Processes,
    ];
    for scope in &ring {
        session.keys("Tab");
        assert_eq!(session.app.query.scope, *scope);
    }
    for scope in ring.iter().rev().skip(1) {
        session.keys("BackTab");
        assert_eq!(session.app.query.scope, *scope);
    }
}

#[test]
fn groups_are_sorted_and_summed() {
    let mut session = session();
    session.keys("Tab");
    assert_eq!(
        session.group_names(),
        [
            "python3 train.py",
            "postgres",
            "python3 worker.py",
            "nginx",
            "init",
            "secretd"
        ]
    );
    assert!(
        session.line("postgres").contains("526M"),
        "{}",
        session.line("postgres")
    );
    let totals = session.app.rows.totals.memory.unwrap().pss;
    session.keys("K");
    assert_eq!(session.group_names().len(), 6, "kernel threads are in no group");
    session.keys("BackTab");
    assert_eq!(
        session.app.rows.totals.memory.unwrap().pss,
        totals,
        "the sums are of the same processes"
    );
    session.keys("Tab I");
    assert_eq!(session.group_names()[0], "init");
    session.keys("S");
    assert_eq!(session.group_names()[0], "postgres", "by swap");
}

#[test]
fn the_selection_stays_with_its_group() {
    let mut session = session();
    session.keys("Tab Down");
    assert_eq!(session.selected_group().as_deref(), Some("postgres"));
    let mut other = grouped(0);
    other[2].walk = Ok(walk(9000 * MIB, 0));
    session.tick(1, other);
    assert_eq!(session.group_names()[0], "postgres");
    assert_eq!(session.selected_group().as_deref(), Some("postgres"));
    // At the first row it stays at the top.
    session.keys("Home").tick(1, grouped(0));
    assert_eq!(session.selected_group().as_deref(), Some("python3 train.py"));
    session.keys("F");
    let mut other = grouped(0);
    other[2].walk = Ok(walk(9000 * MIB, 0));
    session.tick(1, other);
    assert_eq!(
        session.selected_group().as_deref(),
        Some("python3 train.py"),
        "unless it is followed"
    );
}

#[test]
fn the_selection_goes_along_from_one_kind_to_the_next() {
    let mut session = session();
    session.keys("Down Down");
    assert_eq!(session.selected(), Some(400));
    session.keys("Tab");
    assert_eq!(session.selected_group().as_deref(), Some("postgres"));
    session.keys("Tab Tab");
    assert_eq!(session.selected_group().as_deref(), Some("postgresql.service"));
    session.keys("BackTab BackTab BackTab");
    assert_eq!(session.selected(), Some(400));
    session.keys("Home Tab");
    assert_eq!(session.app.tables.current().list.cursor, 0, "the top stays the top");
}

#[test]
fn enter_opens_a_group_and_esc_goes_back_to_it() {
    for back in ["Esc", "Backspace"] {
        let mut session = session();
        session.keys("Tab Down Enter");
        assert_eq!(session.pids(), [400, 401, 402]);
        assert!(session.picture().contains("command postgres"));
        assert_eq!(session.app.rows.totals.count, 3);
        session.keys("Down").tick(1, grouped(1));
        assert_eq!(session.selected(), Some(401));
        session.keys(back);
        assert_eq!(session.app.query.scope, Scope::Groups(GroupBy::Command));
        assert_eq!(session.selected_group().as_deref(), Some("postgres"));
    }
}

#[test]
fn esc_ends_a_search_before_it_goes_back() {
    let mut session = session();
    session.keys("Tab Down Enter F3").types("checkp").keys("Enter");
    assert_eq!(session.selected(), Some(401));
    session.keys("Esc");
    assert_eq!(session.app.query.search, None);
    assert!(matches!(session.app.query.scope, Scope::Members(_)));
    session.keys("Esc");
    assert!(matches!(session.app.query.scope, Scope::Groups(_)));
    session.keys("Esc");
    assert_eq!(session.app.query.scope, Scope::Processes);
}

#[test]
fn a_group_that_ends_while_it_is_open() {
    let mut session = session();
    session.keys("Tab Down Enter");
    session.tick(1, busy(0).into_iter().filter(|p| p.id.pid < 400).collect());
    assert!(session.picture().contains("or all have ended"));
    session.keys("Esc");
    assert!(matches!(session.app.query.scope, Scope::Groups(_)));
    assert!(session.app.tables.current().selected.is_some());
}

#[test]
fn new_members_are_listed_as_they_come() {
    let mut session = session();
    session.keys("Tab Down Enter");
    let mut more = grouped(0);
    let mut newcomer = process(403, 400, "postgres: bob orders idle");
    newcomer.facts = more[2].facts.clone();
    more.push(newcomer);
    session.tick(1, more);
    assert_eq!(session.pids().len(), 4);
}

#[test]
fn words_choose_processes_and_figures_judge_sums() {
    let mut session = session();
    session.keys("Tab /").types("checkpointer").keys("Enter");
    assert_eq!(session.group_names(), ["postgres"]);
    assert_eq!(
        session.app.rows.totals.memory.unwrap().pss,
        120 * MIB,
        "of that process alone"
    );
    session.keys("/ C-u").types("pss>500M").keys("Enter");
    assert_eq!(
        session.group_names(),
        ["python3 train.py", "postgres"],
        "no process of postgres has as much"
    );
    assert_eq!(session.app.rows.matching, 2);
    session.keys("/ C-u").types("worker pss>100M").keys("Enter");
    assert_eq!(session.group_names(), ["python3 worker.py"]);
    session.keys("/ C-u").types("no-such-thing").keys("Enter");
    assert!(session.picture().contains("no group matches"));
}

#[test]
fn the_user_picker_restricts_the_members() {
    let mut session = session();
    session.keys("u Down Enter Tab");
    assert_eq!(session.group_names(), ["python3 train.py", "python3 worker.py"]);
    session.keys("Enter");
    assert_eq!(session.pids(), [900]);
    session.keys("Esc \\");
    assert_eq!(session.group_names().len(), 6);
}

#[test]
fn tagged_groups_are_summed() {
    let mut session = session();
    session.keys("Space Tab Space Space");
    assert!(session.picture().contains("Σ 2 tagged"));
    assert_eq!(session.app.rows.tagged.memory.unwrap().pss, (450 + 10 + 10) * MIB);
    // Tags of each kind are their own.
    session.keys("Tab");
    assert!(!session.picture().contains("tagged"));
    session.keys("BackTab BackTab");
    assert!(session.picture().contains("Σ 1 tagged"));
    session.keys("U Tab");
    assert!(!session.picture().contains("tagged"));
}

#[test]
fn a_frozen_order_holds_groups() {
    let mut session = session();
    session.keys("Tab z");
    let before = session.group_names();
    let mut other = grouped(0);
    other[2].walk = Ok(walk(9000 * MIB, 0));
    session.tick(1, other);
    assert_eq!(session.group_names(), before);
    session.keys("z");
    assert_eq!(session.group_names()[0], "postgres");
}

#[test]
fn a_group_has_history_while_its_members_change() {
    let mut session = Session::new(120, 40);
    session.grouped_minute().keys("Tab");
    let line = session.line("python3 train.py");
    assert!(line.contains("+60"), "{line}");
    let shown = session.line("nginx");
    assert!(shown.contains("nginx [1 updated]"), "{shown}");
}

#[test]
fn the_sum_of_groups_has_what_ended_processes_gave_back() {
    let mut session = Session::new(120, 40);
    session.grouped_minute().keys("Tab");
    let mut fewer = grouped(12);
    fewer.retain(|process| process.id.pid != 401);
    session.tick(1, fewer);
    let snapshot = session.app.engine.snapshot.clone().unwrap();
    let rows = session.app.tables.current().rows.clone();
    let change = |at: usize| session.app.row(&snapshot, &rows[at])?.change?.pss;
    let names = session.group_names();
    let postgres = names.iter().position(|name| name == "postgres").unwrap();
    assert!(change(postgres).is_some_and(|by| by < 0), "{:?}", change(postgres));
    let sum: i64 = (0..rows.len()).filter_map(change).sum();
    assert_eq!(session.app.rows.totals.change.pss, Some(sum));
}

#[test]
fn searching_finds_groups() {
    let mut session = session();
    session.keys("Tab F3").types("NGI").keys("Enter");
    assert_eq!(session.selected_group().as_deref(), Some("nginx"));
}

#[test]
fn a_tree_is_of_processes() {
    let mut session = session();
    session.keys("t Tab");
    assert_eq!(session.group_names().len(), 6);
    session.keys("* -");
    assert!(session.app.query.folded.is_empty());
    session.keys("t");
    assert_eq!(session.app.query.scope, Scope::Processes);
    assert!(session.picture().contains("ΣPSS"));
}

#[test]
fn a_tree_keeps_the_selection_at_its_process() {
    let mut session = session();
    let first = session.selected();
    session.keys("t");
    assert!(session.picture().contains("ΣPSS"));
    assert_eq!(session.selected(), first);
    assert!(session.app.tables.current().list.cursor > 0, "{}", session.picture());
    session.keys("t");
    assert_eq!(session.selected(), first);
}

#[test]
fn each_kind_of_view_keeps_its_own_columns() {
    let mut session = session();
    let (processes, groups) = (
        session.app.tables.columns.clone(),
        session.app.tables.group_columns.clone(),
    );
    session.keys("Tab C Space Enter");
    assert_eq!(session.app.tables.columns, processes);
    assert_eq!(session.app.tables.group_columns, groups[1..]);
    let heading = session.line("COMMAND").replace("by PSS▼", "");
    assert!(!heading.contains(" PSS"), "the first one is gone");
    session.keys("C Space Esc");
    assert_eq!(session.app.tables.group_columns, groups[1..], "taken back");
    session.keys("BackTab W").answers().keys("Enter");
    let saved = session.effects.iter().find_map(|e| match e {
        Effect::Save(_, saved) => Some(saved.clone()),
        _ => None,
    });
    let saved = saved.unwrap();
    assert_eq!((saved.columns, saved.group_columns), (processes, groups[1..].to_vec()));
    assert_eq!(saved.by, None);
}

#[test]
fn figures_of_cgroups_stand_only_where_groups_are_cgroups() {
    let mut session = Session::new(200, 50);
    session.grouped_minute().keys("Tab");
    assert!(!session.line("COMMAND").contains("CGLIMIT"));
    session.keys("Tab Tab");
    assert!(session.line("UNIT").contains("CGLIMIT"));
    assert!(session.line("postgresql.service").contains("2.0G"));
}

#[test]
fn the_sampler_is_reported_what_to_read() {
    let mut session = session();
    let mut told = |keys: &str| {
        let before = session.needs().len();
        session.keys(keys);
        let told = session.needs();
        told[before..]
            .iter()
            .map(|needs| needs.contains(Needs::CGROUP_FIGURES))
            .collect::<Vec<_>>()
    };
    assert!(told("Tab").is_empty());
    assert!(told("Tab").is_empty());
    assert_eq!(told("Tab"), [true]);
    assert!(told("Tab Tab Tab").is_empty());
    assert_eq!(told("Enter"), [false], "the processes show none of it");
    assert_eq!(told("Esc"), [true]);
    assert_eq!(told("Tab"), [false]);
}

#[test]
fn it_starts_as_the_settings_say() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("zmtop/config.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "[ui]\nby = \"unit\"\ngroup_columns = [\"pss\", \"group\"]\n").unwrap();
    let env = Env {
        xdg_config_home: Some(home.path().into()),
        ..env()
    };
    let mut session = Session::with_env(80, 24, &env);
    assert!(session.needs().last().unwrap().contains(Needs::CGROUP_FIGURES));
    session.tick(1, grouped(0));
    assert_eq!(session.app.query.scope, Scope::Groups(GroupBy::Unit));
    assert_eq!(
        session.line("UNIT").split_whitespace().collect::<Vec<_>>(),
        ["▼PSS", "UNIT"]
    );
}
