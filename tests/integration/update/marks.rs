//! Keys that set marks and go between them.

use std::time::Duration;

use zmtop::units;

use crate::support::rows::{MIB, process};
use crate::support::session::{Session, busy};

fn columns(session: &Session) -> Vec<&'static str> {
    session
        .app
        .tables
        .current()
        .columns
        .iter()
        .map(|c| c.get().id)
        .collect()
}

#[test]
fn the_column_comes_with_the_first_mark_and_goes_with_the_last() {
    let mut session = Session::new(160, 40);
    session.keys("b");
    assert!(session.app.data.marks.is_empty(), "nothing is seen yet");
    session.tick(1, busy(0));
    let before = columns(&session);
    session.keys("b");
    let with = columns(&session);
    assert_eq!(with.len(), before.len() + 1);
    let at = with.iter().position(|id| *id == "mark_pss").unwrap();
    assert_eq!(with[at - 1], "dpss");
    session.tick(60, busy(2));
    assert!(session.line("train.py").contains("+60.0M"), "{}", session.picture());
    assert!(session.picture().contains("mark 60s ago"));
    session.keys("b").tick(5, busy(3));
    assert!(session.picture().contains("mark 2/2 5s ago"));
    session.keys("{");
    assert!(session.picture().contains("mark 1/2 65s ago"));
    assert!(session.line("train.py").contains("+90.0M"));
    session.keys("} B B");
    assert_eq!(columns(&session), before);
    assert!(!session.picture().contains("mark "));
    session.keys("B");
    assert!(session.picture().contains("no mark is set"));
}

#[test]
fn rows_are_sorted_and_filtered_by_it() {
    let mut session = Session::new(160, 40);
    session.tick(1, busy(0)).keys("b").tick(30, busy(4));
    session.keys("/").types("mark_pss>100M").keys("Enter");
    assert_eq!(session.pids(), [900]);
    session.keys("\\");
    let column = zmtop::columns::find("mark_pss").unwrap();
    session.app.tables.single.sort = column;
    session.app.tables.single.descending = true;
    session.tick(1, busy(5));
    assert_eq!(session.pids()[0], 900);
    // By group as well.
    session.keys("Tab /").types("mark_pss>100M").keys("Enter");
    assert_eq!(session.app.tables.current().rows.len(), 1);
    let held = session.app.data.marks.current().unwrap();
    let snapshot = session.app.engine.snapshot.clone().unwrap();
    let since = held.group(
        &session.app.rows.groups[session.app.tables.current().rows[0].index],
        &snapshot,
    );
    assert_eq!(since.unwrap().pss, 150 * MIB.cast_signed());
}

#[test]
fn one_that_started_since_is_reported() {
    let mut session = Session::new(160, 40);
    session.tick(1, busy(0)).keys("b");
    let mut more = busy(1);
    more.push(process(950, 900, "newcomer"));
    session.tick(30, more).keys("/").types("newcomer").keys("Enter Enter");
    assert!(
        session
            .picture()
            .contains("950 newcomer  started after the mark (30s ago): counted from 0")
    );
    session.keys("\\ g");
    assert!(
        !session.picture().contains("started after the mark"),
        "of the others it is not said"
    );
}

#[test]
fn a_column_that_was_chosen_stays_where_it_is() {
    let mut session = Session::new(160, 40);
    let chosen = ["pid", "mark_swap", "pss", "command"];
    session
        .app
        .choose_columns(chosen.map(|id| zmtop::columns::find(id).unwrap()).to_vec());
    session.tick(1, busy(0)).keys("b");
    assert_eq!(columns(&session), chosen);
    session.tick(5, busy(5));
    assert!(session.line("orders idle").contains("-100M"));
}

#[test]
fn a_suspend_counts_in_what_is_said_of_the_past() {
    let mut session = Session::new(200, 50);
    // The machine has been up for longer than it has run.
    let tick = |session: &mut Session, step: u64, asleep: u64| {
        session.tick_with(5, busy(step), |made| {
            made.system.uptime = Ok(made.monotonic.as_secs_f64() + (9000 + asleep) as f64);
        });
    };
    for step in 0..=24 {
        tick(&mut session, step, 0);
    }
    session.keys("b");
    tick(&mut session, 25, 3600);
    let hour = units::span(Duration::from_secs(3605));
    assert!(
        session.picture().contains(&format!("mark {hour} ago")),
        "{}",
        session.picture()
    );
    let since = session
        .app
        .engine
        .history
        .dangers()
        .first()
        .map(|danger| danger.forecast.since);
    if let Some(since) = since {
        let long = units::span(session.app.engine.history.elapsed_since(since));
        assert!(
            session.picture().contains(&format!("for at least {long}")),
            "{}",
            session.picture()
        );
    }
}
