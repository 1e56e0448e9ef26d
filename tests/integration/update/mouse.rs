//! The wheel and clicks.

use crossterm::event::MouseEventKind;

use crate::support::session::Session;

/// The line of the heading at 120×40, below the graph.
const HEADING: u16 = 9;

#[test]
fn a_click_selects_a_row() {
    let mut session = Session::new(120, 40);
    session.minute().click(30, HEADING + 3);
    assert_eq!(session.selected(), Some(400));
    session.click(30, HEADING + 20);
    assert_eq!(session.selected(), Some(400), "below the last row nothing happens");
}

#[test]
fn a_click_on_a_heading_sorts_and_a_second_one_reverses() {
    let mut session = Session::new(120, 40);
    session.minute();
    let heading = session.picture().lines().nth(usize::from(HEADING)).unwrap().to_owned();
    let before = heading.split("SWAP").next().unwrap();
    let swap = u16::try_from(before.chars().count()).unwrap();
    session.click(swap, HEADING);
    assert_eq!(session.app.tables.current().sort.get().id, "swap");
    assert!(session.app.tables.current().descending);
    session.click(swap, HEADING);
    assert!(!session.app.tables.current().descending);
}

#[test]
fn the_wheel_moves_the_selection_and_lists() {
    let mut session = Session::new(120, 40);
    session.minute().mouse(MouseEventKind::ScrollDown, 10, 10);
    assert_eq!(session.app.tables.current().list.cursor, 3);
    session.mouse(MouseEventKind::ScrollUp, 10, 10);
    assert_eq!(session.app.tables.current().list.cursor, 0);
    session
        .keys("s Home")
        .mouse(MouseEventKind::ScrollDown, 60, 20)
        .keys("Enter");
    assert_eq!(session.app.tables.current().sort.0, 1);
}

#[test]
fn a_click_in_the_other_table_goes_there() {
    let mut session = Session::new(200, 50);
    session.minute().keys("v").click(150, HEADING + 2);
    assert_eq!(session.app.tables.active, 1);
    assert_eq!(session.selected(), Some(402));
}

#[test]
fn a_click_beside_a_popup_closes_it_and_one_on_an_entry_chooses() {
    let mut session = Session::new(120, 40);
    session.minute().keys("u").click(0, 0);
    assert!(session.app.modal.is_none());
    session.keys("u");
    let picture = session.picture();
    let (y, line) = picture
        .lines()
        .enumerate()
        .find(|(_, l)| l.contains("alice ") && l.contains("procs"))
        .unwrap();
    let x = line.chars().position(|c| c == 'a').unwrap();
    session.click(u16::try_from(x).unwrap(), u16::try_from(y).unwrap());
    assert!(session.app.modal.is_none());
    assert_eq!(session.pids(), [900, 901]);
}
