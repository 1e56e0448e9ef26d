//! The selection is bound to a process, not to a place.

use crate::support::session::{Session, busy};

#[test]
fn it_stays_with_its_process() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("S Down");
    assert_eq!(session.selected(), Some(901));
    // 901 overtakes 402 and becomes the first row.
    session.tick(5, busy(34));
    assert_eq!(session.selected(), Some(901));
    assert_eq!(session.app.tables.current().list.cursor, 0);
}

#[test]
fn at_the_first_row_it_stays_at_the_top() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("S");
    assert_eq!(session.selected(), Some(402));
    session.tick(5, busy(34));
    assert_eq!(session.selected(), Some(901), "the new first row");
}

#[test]
fn unless_it_is_followed() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("S F").tick(5, busy(34));
    assert_eq!(session.selected(), Some(402));
    assert_eq!(session.app.tables.current().list.cursor, 1);
}

#[test]
fn unless_its_panel_is_open() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("S p").tick(5, busy(34));
    assert_eq!(session.app.panel_process().map(|id| id.pid), Some(402));
}

#[test]
fn a_followed_process_that_ends_is_said() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("Down Down F");
    assert_eq!(session.selected(), Some(400));
    let mut fewer = busy(0);
    fewer.retain(|p| p.id.pid != 400);
    session.tick(1, fewer);
    assert!(!session.app.tables.follow);
    session.line("400 has ended: it is no longer followed");
}

#[test]
fn where_its_process_is_gone_it_keeps_its_place() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("Down Down");
    assert_eq!(session.selected(), Some(400));
    let mut fewer = busy(0);
    fewer.retain(|p| p.id.pid != 400);
    session.tick(1, fewer);
    assert_eq!(session.selected(), Some(401), "the row that moved up");
}

#[test]
fn a_reused_pid_is_another_process() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("Down Down Space");
    assert_eq!(session.app.tables.tags.len(), 1);
    let mut reused = busy(0);
    reused.iter_mut().find(|p| p.id.pid == 400).unwrap().id.starttime += 1;
    session.tick(1, reused);
    assert_eq!(session.app.tables.tags.len(), 0, "the tag went with the process");
    assert_eq!(
        session.line("postgres -D").matches("310M").count(),
        3,
        "the new one is shown"
    );
}

#[test]
fn it_is_always_on_screen() {
    let mut session = Session::new(80, 10);
    session.minute();
    for keys in ["End", "Home", "PageDown", "PageUp", "j j j j j j j j j", "k k"] {
        session.keys(keys);
        let table = session.app.tables.current();
        let shown = table.list.offset..table.list.offset + session.app.rows_shown();
        assert!(
            shown.contains(&table.list.cursor),
            "after {keys}: {} not in {shown:?}",
            table.list.cursor
        );
    }
}

#[test]
fn tags_sum_and_are_taken_away() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("Space Space");
    assert_eq!(session.app.rows.tagged.count, 2);
    assert_eq!(session.app.rows.tagged.memory.unwrap().pss, 1450 << 20);
    session.keys("Up Space");
    assert_eq!(session.app.rows.tagged.count, 1, "a second press takes the tag away");
    session.keys("U");
    assert_eq!(session.app.rows.tagged.count, 0);
}

#[test]
fn an_exec_starts_history_anew() {
    let mut session = Session::new(120, 40);
    session.minute();
    assert!(session.line("train.py").contains("+60"));
    let mut other = busy(12);
    let sample = other.iter_mut().find(|p| p.id.pid == 900).unwrap();
    sample.exec = 1;
    sample.walk = Ok(crate::support::rows::walk(5 << 20, 0));
    session.tick(5, other);
    let line = session.line("train.py");
    assert!(
        !line.contains('+') && !line.contains("-1."),
        "no change across an exec: {line}"
    );
}
