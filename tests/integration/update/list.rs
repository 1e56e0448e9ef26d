//! Menus, the column chooser, the help.

use zmtop::columns::find;
use zmtop::sampler::Needs;
use zmtop::tui::popup::help::Help;

use crate::support::session::Session;

fn shown(session: &Session) -> Vec<&'static str> {
    session.app.tables.single.columns.iter().map(|c| c.get().id).collect()
}

#[test]
fn the_sort_menu_chooses() {
    let mut session = Session::new(120, 40);
    session.minute().keys("s");
    let down = find("uss").unwrap().0;
    session.keys("Home").keys(&"Down ".repeat(down)).keys("Enter");
    assert_eq!(session.app.tables.current().sort, find("uss").unwrap());
    assert!(session.app.modal.is_none());
}

#[test]
fn the_user_picker_filters_to_one_user_and_back() {
    let mut session = Session::new(120, 40);
    session.minute().keys("u Down Enter");
    assert_eq!(session.pids(), [900, 901], "alice holds most");
    session.keys("u Enter");
    assert_eq!(session.pids().len(), 7, "everyone");
}

#[test]
fn columns_are_switched_moved_and_taken_back() {
    let mut session = Session::new(120, 40);
    session.minute();
    let before = shown(&session);
    session.keys("C Space");
    assert_eq!(shown(&session), before[1..], "PSS is out, at once");
    session.keys("Esc");
    assert_eq!(shown(&session), before, "Esc takes it back");
    session.keys("C ] Enter");
    assert_eq!(shown(&session)[..2], ["dpss", "pss"]);
    session.keys("C End Space Enter");
    assert_eq!(shown(&session).len(), before.len() + 1, "one more");
}

#[test]
fn one_column_always_stays() {
    let mut session = Session::new(120, 40);
    session.minute().keys("C").keys(&"Space ".repeat(100));
    assert_eq!(shown(&session).len(), 1);
}

#[test]
fn the_oom_score_is_read_only_while_someone_looks() {
    let mut session = Session::new(120, 40);
    session.minute();
    session.app.tables.columns.push(find("oom_score").unwrap());
    session.keys("C").keys("Esc");
    let none = Needs::NOTHING;
    let score = Needs::OOM_SCORE;
    assert_eq!(session.needs(), [none, score]);
    let at = session.app.tables.columns.len() - 1;
    session.keys("C Home").keys(&"Down ".repeat(at)).keys("Space Enter");
    assert_eq!(session.needs(), [none, score, none]);
}

#[test]
fn a_filter_has_the_sampler_read_the_columns_it_asks_for_and_no_word_does() {
    for (filter, needs) in [
        ("cg_limit", Needs::NOTHING),
        ("oom_score", Needs::NOTHING),
        ("cmd:cg_limit pss>1M", Needs::NOTHING),
        ("\"oom_score>1\"", Needs::NOTHING),
        ("cg_limit>1M", Needs::CGROUP_FIGURES),
        ("!(pss>1M | oom_score>100)", Needs::OOM_SCORE),
        (
            "oom_score>100 cg_swap=0 held>0",
            Needs::OOM_SCORE.and(Needs::CGROUP_FIGURES).and(Needs::HELD),
        ),
    ] {
        let mut session = Session::new(120, 40);
        session.minute();
        let before = session.wanted.last().unwrap().needs;
        session.keys("/").types(filter);
        assert_eq!(session.app.query.filter.error, None, "{filter}");
        assert_eq!(session.wanted.last().unwrap().needs, before.and(needs), "{filter}");
        session.keys("Esc");
        assert_eq!(session.wanted.last().unwrap().needs, before, "{filter} taken back");
    }
}

#[test]
fn the_help_scrolls_within_its_lines() {
    let mut session = Session::new(80, 24);
    session.minute().keys("? k");
    assert_eq!(session.app.popup::<Help>().unwrap().list.cursor, 0);
    session.keys("End");
    let end = session.app.popup::<Help>().unwrap().list.cursor;
    session.keys("j PageDown");
    assert_eq!(session.app.popup::<Help>().unwrap().list.cursor, end);
    session.keys("q");
    assert!(session.app.modal.is_none(), "q closes the help, not the monitor");
    assert!(session.effects.is_empty());
}
