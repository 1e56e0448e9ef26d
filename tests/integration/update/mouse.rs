//! The wheel and clicks.

use crossterm::event::MouseEventKind;
use zmtop::tui::Effect;
use zmtop::tui::popup::menus::ColumnChooser;

use crate::support::rows::{MIB, with_pss};
use crate::support::session::{Session, busy};

/// The line of the heading at 120×40, below the graph.
const HEADING: u16 = 10;

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
    session.minute().keys("v").click(150, HEADING + 1);
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

/// The columns of the last line from which to where a text stands there.
fn in_footer(session: &mut Session, text: &str) -> Option<(u16, u16)> {
    let picture = session.picture();
    let last = picture.lines().last()?;
    let at = last.find(text)?;
    let x = last[..at].chars().count() as u16;
    Some((x, x + text.chars().count() as u16 - 1))
}

#[test]
fn each_hint_of_the_last_line_does_what_its_key_does() {
    // Keys before, the hint as it is written, and its key.
    let table: &[(&str, &str, &str)] = &[
        ("", " Enter details ", "Enter"),
        ("", " / filter ", "/"),
        ("", " Tab group ", "Tab"),
        ("", " s sort ", "s"),
        ("", " M by PSS ", "M"),
        ("", " S by swap ", "S"),
        ("", " L leaks ", "L"),
        ("", " T by trend ", "T"),
        ("", " u user ", "u"),
        ("", " t tree ", "t"),
        ("", " v two tables ", "v"),
        ("", " C columns ", "C"),
        ("", " Space tag ", "Space"),
        ("", " F9 signal ", "F9"),
        ("", " ? help ", "?"),
        ("t", " - fold ", "-"),
        ("Enter", " Enter close ", "Enter"),
        ("Tab Down Enter", " Backspace back ", "Backspace"),
        ("s Down Down", " Enter choose ", "Enter"),
        ("s", " Esc close", "Esc"),
        ("?", " / search ", "/"),
        ("?", " PageDown page ", "PageDown"),
        ("? / p s s Enter", " n next match ", "n"),
        ("C", " Space show or hide ", "Space"),
        ("F9 Enter", " n no ", "n"),
        ("F9 Enter", " y yes, send it ", "y"),
        ("o", " Enter set ", "Enter"),
    ];
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let mut seen = 0;
        for (before, hint, key) in table {
            let session = || {
                let mut session = Session::new(width, height);
                session.minute().keys(before);
                session
            };
            let mut first = session();
            let Some((from, to)) = in_footer(&mut first, hint) else {
                continue;
            };
            let mut by_key = session();
            by_key.keys(key);
            let wanted = by_key.picture();
            let check = |mut clicked: Session, x| {
                clicked.click(x, height - 1);
                assert_eq!(clicked.picture(), wanted, "{before} {hint} at {x} of {width}");
                assert_eq!(clicked.effects, by_key.effects, "{before} {hint} at {x} of {width}");
            };
            check(first, from);
            check(session(), to);
            seen += 1;
        }
        assert!(seen > table.len() / 2, "{seen} at {width}");
    }
    let mut session = Session::new(80, 24);
    let (x, _) = in_footer(session.minute(), "quit").unwrap();
    assert_eq!(session.click(x, 23).effects, [Effect::Quit]);
}

#[test]
fn beside_the_hints_a_click_does_nothing_and_a_message_is_gone_with_it() {
    let mut session = Session::new(200, 50);
    let (_, end) = in_footer(session.minute(), "quit").unwrap();
    let before = session.picture();
    assert_eq!(session.click(end + 2, 49).picture(), before);
    session.keys("Q");
    assert!(session.picture().contains("does nothing here"));
    assert_eq!(session.click(1, 49).picture(), before, "not what was hidden there");
    // While a line is typed there is nothing to click.
    session.keys("/ a").click(3, 49);
    assert!(session.picture().contains(" Filter  a"), "{}", session.picture());
}

#[test]
fn a_second_click_on_a_row_opens_it_if_it_comes_soon() {
    let row = |session: &mut Session, pid: &str| {
        let picture = session.picture();
        let found = picture.lines().position(|l| l.contains(&format!(" {pid} ")));
        found.expect("a row") as u16
    };
    for (millis, opens) in [(100, true), (400, true), (401, false)] {
        let mut session = Session::new(120, 40);
        session.minute();
        let y = row(&mut session, "400");
        session.click(30, y).click_after(millis, 50, y);
        assert_eq!(session.selected(), Some(400));
        assert_eq!(session.app.shows_panel(), opens, "after {millis} ms");
    }
    let mut session = Session::new(120, 40);
    session.minute();
    let y = row(&mut session, "400");
    session.click(30, y).click_after(100, 30, y + 1);
    assert!(!session.app.shows_panel(), "another row");
    session.click_after(100, 30, y + 1);
    assert!(session.app.shows_panel());
    session.click(30, y).click_after(100, 30, y);
    assert!(session.app.shows_panel(), "it stays open");
    // Another row is at that place by then.
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("I");
    let y = row(&mut session, "900");
    session.click(30, y);
    session.keys("I").click_after(100, 30, y);
    assert!(!session.app.shows_panel());
    // A group is opened as by Enter.
    let mut session = Session::new(120, 40);
    session.minute().keys("Tab Tab");
    let picture = session.picture();
    let y = picture.lines().position(|l| l.contains(" postgres")).unwrap() as u16;
    session.click(30, y).click_after(100, 30, y);
    assert_eq!(session.pids(), [400, 401, 402]);
}

#[test]
fn a_click_on_the_selected_column_switches_it() {
    let mut session = Session::new(120, 40);
    session.minute().keys("C");
    let picture = session.picture();
    let y = picture.lines().position(|l| l.contains("✓ uss")).unwrap() as u16;
    let has = |session: &Session| session.app.tables.single.columns.iter().any(|c| c.get().id == "uss");
    session.click(60, y);
    assert!(has(&session), "the first click goes there");
    session.click(60, y);
    assert!(!has(&session) && session.app.popup::<ColumnChooser>().is_some());
}

#[test]
fn the_wheel_scrolls_what_is_read() {
    let mut session = Session::new(80, 24);
    session.minute().keys("?").mouse(MouseEventKind::ScrollDown, 40, 10);
    assert!(session.picture().contains("lines 4 to "), "{}", session.picture());
    session.mouse(MouseEventKind::ScrollUp, 40, 10);
    assert!(session.picture().contains("lines 1 to "));
}

#[test]
fn the_line_about_a_leak_is_a_button() {
    let mut session = Session::new(120, 40);
    for second in 0..300_u64 {
        let grows = |pid: u32| with_pss(pid, "/usr/bin/grows", (100 + second * u64::from(pid)) * MIB);
        session.tick(1, vec![grows(1), grows(2)]);
    }
    let picture = session.picture();
    let row = picture.lines().position(|line| line.contains("press L")).unwrap();
    session.click(50, row as u16);
    assert!(
        session.picture().contains(" Leaks and growth "),
        "{}",
        session.picture()
    );
}
