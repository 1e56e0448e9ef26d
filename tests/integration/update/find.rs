//! Searching in the help, and finding entries of menus by typing.

use ratatui::style::Style;
use zmtop::columns::find;
use zmtop::tui::popup::help::Help;
use zmtop::tui::popup::menus::ColumnChooser;
use zmtop::tui::popup::menus::SortMenu;

use crate::support::session::{Session, busy};

/// The last line of the screen.
fn footer(session: &mut Session) -> String {
    session.picture().lines().last().unwrap_or_default().trim().to_owned()
}

/// The words on screen in a style, line by line.
fn in_style(session: &mut Session, style: Style) -> Vec<String> {
    let frame = session.frame();
    let area = frame.area;
    let has = |x, y| {
        let cell = &frame[(x, y)];
        style.fg.is_none_or(|fg| cell.fg == fg)
            && style.bg.is_none_or(|bg| cell.bg == bg)
            && cell.modifier.contains(style.add_modifier)
    };
    let lines = (0..area.height).map(|y| {
        let cells = (0..area.width).filter(|x| has(*x, y));
        cells.map(|x| frame[(x, y)].symbol()).collect::<String>()
    });
    lines.filter(|line| !line.is_empty()).collect()
}

fn top(session: &Session) -> usize {
    session.app.popup::<Help>().expect("the help is open").list.cursor
}

#[test]
fn the_help_is_searched_as_it_is_typed_and_step_by_step() {
    let mut session = Session::new(80, 24);
    session.minute().keys("? /").types("OOM_");
    let line = session.line("oom_score_adj");
    assert!(line.contains("preference"), "{line}");
    assert!(
        footer(&mut session).starts_with("Search  OOM_  1 of "),
        "{}",
        footer(&mut session)
    );
    let (found, others) = (session.app.config.theme.selected, session.app.config.theme.found);
    assert_eq!(in_style(&mut session, found), ["oom_"]);
    session.keys("Enter");
    let first = top(&session);
    assert!(footer(&mut session).contains("next match"), "{}", footer(&mut session));
    session.keys("n");
    assert!(
        top(&session) > first,
        "the next one is far below, in the filters or columns"
    );
    assert_eq!(in_style(&mut session, found), ["oom_"]);
    assert!(!in_style(&mut session, others).is_empty(), "{}", session.picture());
    session.keys("N");
    assert_eq!(top(&session).min(first), top(&session), "back to the first");
    let lines = session.line(" Help: lines ");
    assert!(lines.contains(" of "), "{lines}");
    // From the last match round to the first.
    session.keys("N");
    assert!(top(&session) > first, "round and round");
    session.keys("Esc");
    assert!(session.app.modal.is_some(), "Esc ends the search first");
    assert_eq!(in_style(&mut session, found), [""; 0]);
    assert!(footer(&mut session).contains("search"));
    session.keys("Esc");
    assert!(session.app.modal.is_none());
}

#[test]
fn what_is_scrolled_away_is_searched_from_where_one_is() {
    let mut session = Session::new(80, 24);
    session
        .minute()
        .keys("? /")
        .types("pss")
        .keys("Enter PageDown PageDown PageDown PageDown");
    let before = top(&session);
    session.keys("n");
    assert!(top(&session) >= before, "not back to what was found long before");
}

#[test]
fn a_filter_that_matches_nothing_may_be_meant_otherwise() {
    let mut session = Session::new(100, 24);
    session.minute().keys("/").types("leak");
    assert_eq!(
        footer(&mut session),
        "Filter  leak  0 match; a verdict is written verdict:leaking"
    );
    session.keys("Enter");
    session.line(r"no process matches; \ clears the filter; a verdict is written verdict:leaking");
    // Not cut: it is there as a whole or not at all.
    let mut narrow = Session::new(60, 24);
    narrow.minute().keys("/").types("leak").keys("Enter");
    assert!(!narrow.picture().contains("a verdict is"), "{}", narrow.picture());
    narrow.line(r"no process matches; \ clears the filter");
}

#[test]
fn a_search_that_finds_nothing_says_so_and_changes_nothing() {
    let mut session = Session::new(80, 24);
    session.minute().keys("? PageDown");
    let before = top(&session);
    session.keys("/").types("nowhere");
    assert_eq!(footer(&mut session), "Search  nowhere  no match; Esc clears it");
    session.keys("Enter");
    assert_eq!(
        footer(&mut session),
        "Search  nowhere  no match; Esc clears it",
        "to be mended"
    );
    assert_eq!(top(&session), before);
    session.keys("Esc");
    assert!(session.app.modal.is_some());
    assert_eq!(top(&session), before);
    // An empty text that is deleted once more is no search.
    session.keys("/ x Backspace Backspace Esc");
    assert!(session.app.modal.is_none());
}

#[test]
fn a_key_that_does_nothing_in_the_help_is_reported() {
    let mut session = Session::new(80, 24);
    session.minute().keys("? x");
    assert_eq!(footer(&mut session), "x does nothing here");
    session.keys("j");
    assert!(footer(&mut session).contains("search"));
}

#[test]
fn the_position_stays_beside_the_search() {
    let mut session = Session::new(80, 24);
    session.minute().keys("? / k e y Enter");
    let title = session.line(" Help: lines ");
    let number = |after: &str| {
        let rest = title.split(after).nth(1)?;
        rest.split(' ').next()?.parse::<usize>().ok()
    };
    assert_eq!(number("lines "), Some(top(&session) + 1), "{title}");
    assert!(number(" of ") > number(" to "), "{title}");
}

/// Keys in the sort menu, and the column that the table is sorted by then.
#[test]
fn an_entry_of_the_sort_menu_is_found_by_its_name() {
    for (keys, column) in [
        ("s w a p Enter", "swap"),
        ("r s s Enter", "rss"),
        // Letters that are keys here: after another letter, or after `/`.
        ("a g e Enter", "age"),
        ("/ g r o u p Enter", "group"),
        ("/ d p s s Enter", "dpss"),
        // Case does not matter; Backspace takes a letter back.
        ("U S S x Backspace Enter", "uss"),
        // The words that explain it are found, too, but after names.
        ("o o m _ s c Enter", "oom_score"),
        // What was not found is not chosen.
        ("x x x Enter Esc Enter", "pss"),
        ("s w a p Esc Enter", "pss"),
        // All letters are text, also those that are keys in a text.
        ("g r o w t h Enter", "growth"),
        ("g p u Enter", "gpu"),
        ("j n Enter Esc Enter", "pss"),
        // Arrows go on from there.
        ("/ p s s Down Enter", "dpss"),
    ] {
        let mut session = Session::new(120, 40);
        session.minute().keys("s").keys(keys);
        assert!(session.app.modal.is_none(), "{keys}:\n{}", session.picture());
        assert_eq!(session.app.tables.current().sort, find(column).unwrap(), "{keys}");
    }
}

#[test]
fn a_name_that_nothing_has_is_reported() {
    for open in ["s", "C", "u", "L /"] {
        let mut session = Session::new(120, 40);
        session.minute().keys(open).types("xyz");
        assert_eq!(footer(&mut session), "Search  xyz  no match; Esc clears it", "{open}");
    }
    let mut session = Session::new(120, 40);
    session.minute().keys("F9").types("xyz");
    session.line("typed: xyz  no match");
}

#[test]
fn f3_goes_to_the_next_entry_of_that_name() {
    let mut session = Session::new(120, 40);
    session.minute().keys("s").types("swap");
    let cursor = |session: &Session| session.app.popup::<SortMenu>().unwrap().list.cursor;
    let first = cursor(&session);
    session.keys("F3");
    assert!(cursor(&session) != first);
    let line = session.line("F3 next");
    assert!(line.contains("of "), "{line}");
}

#[test]
fn the_column_that_is_sorted_by_is_not_reversed_by_the_menu() {
    let mut session = Session::new(120, 40);
    session
        .minute()
        .keys("s")
        .types("rss")
        .keys("Enter s")
        .types("rss")
        .keys("Enter");
    assert!(session.app.tables.single.descending);
    session.line("already sorted by it: I reverses the order");
}

#[test]
fn columns_are_switched_while_a_name_is_typed() {
    let mut session = Session::new(120, 40);
    session.minute().keys("C").types("cg_limit");
    assert_eq!(
        footer(&mut session),
        "Search  cg_limit  1 of 1; Space shows or hides it, F3 next, Esc clears it"
    );
    session.keys("Space");
    let shown = |session: &Session, id| session.app.tables.single.columns.contains(&find(id).unwrap());
    assert!(shown(&session, "cg_limit"), "{}", session.picture());
    assert!(session.app.popup::<ColumnChooser>().is_some());
    session.keys("C-u").types("uss").keys("Space Enter");
    assert!(!shown(&session, "uss") && session.app.modal.is_none());
}

#[test]
fn a_user_is_found_by_name_and_all_letters_are_text() {
    let mut session = Session::new(120, 40);
    session.tick(1, busy(0)).keys("u").types("post").keys("Enter");
    assert_eq!(session.pids(), [400, 401, 402]);
    for letter in ["g", "k", "j", "G", "n", "N", "q", "h"] {
        for menu in ["s", "C", "u"] {
            session.keys(menu).keys(letter);
            let footer = footer(&mut session);
            assert!(
                footer.starts_with(&format!("Search  {letter}")),
                "{menu} {letter}: {footer}"
            );
            session.keys("Esc Esc");
            assert!(session.app.modal.is_none(), "{menu} {letter}");
        }
    }
}

/// Every menu, the one of signals too, closes at once if nothing was typed.
#[test]
fn esc_clears_what_was_typed_and_else_closes() {
    for open in ["s", "C", "u", "V", "F9"] {
        let mut session = Session::new(120, 40);
        session.minute().answers();
        let typed = |session: &mut Session| session.picture().contains("zz");
        session.keys(open).types("zz");
        assert!(typed(&mut session), "{open}:\n{}", session.picture());
        assert!(
            footer(&mut session).contains("clear"),
            "{open}: {}",
            footer(&mut session)
        );
        session.keys("Esc");
        assert!(session.app.modal.is_some() && !typed(&mut session), "{open}");
        session.keys("Esc");
        assert!(session.app.modal.is_none(), "{open}");
        // What was deleted again is nothing.
        session.keys(open).keys("z Backspace Esc");
        assert!(session.app.modal.is_none(), "{open}");
    }
}

#[test]
fn a_menu_is_moved_in_by_keys_that_are_no_letters() {
    let mut session = Session::new(120, 40);
    let cursor = |session: &Session| session.app.popup::<SortMenu>().unwrap().list.cursor;
    session.minute().keys("s Home C-n C-n C-p");
    assert_eq!(cursor(&session), 1);
    session.keys("End");
    let last = cursor(&session);
    session.keys("PageUp PageDown");
    assert_eq!(cursor(&session), last);
    // Also after a text was typed.
    session.types("pss").keys("Home");
    assert_eq!(cursor(&session), 0);
    session.keys("Down C-n");
    assert_eq!(cursor(&session), 2);
    session.keys("End");
    assert_eq!(cursor(&session), last);
}

#[test]
fn a_column_that_was_typed_and_added_is_selected_and_left_of_the_command() {
    let mut session = Session::new(120, 40);
    session.minute().keys("C").types("ppid").keys("Space");
    assert!(!footer(&mut session).contains("no match"), "{}", footer(&mut session));
    assert!(footer(&mut session).contains("1 of "), "{}", footer(&mut session));
    let columns = |session: &Session| -> Vec<&str> {
        let shown = session.app.tables.columns.iter();
        shown.map(|column| column.get().id).collect()
    };
    let shown = columns(&session);
    assert_eq!(shown[shown.len() - 2..], ["ppid", "command"]);
    // The same key takes it away again.
    session.keys("Space");
    assert!(!columns(&session).contains(&"ppid"));
    session.keys("Space Enter");
    let line = session.line("COMMAND");
    assert!(line.contains("PPID"), "{line}");
}

#[test]
fn a_filter_typed_into_a_list_is_answered_with_what_is_typed_there() {
    let mut session = Session::new(80, 24);
    session.minute().keys("s").types("maps:libp");
    session.line("no match: type the name alone here");
}
