//! Named views: saved after a question, chosen from a menu, deleted.

use zmtop::tui::Effect;

use crate::support::session::Session;

fn message(session: &Session) -> &str {
    session.app.screen.message.as_ref().map_or("", |message| &message.text)
}

fn saved(session: &Session) -> Vec<&str> {
    session.world.views.iter().map(|(name, _)| name.as_str()).collect()
}

#[test]
fn a_view_is_saved_under_a_name_and_chosen_again() {
    let mut session = Session::new(120, 40);
    session.minute().keys("W").answers();
    session.line("Save view as");
    session.keys("Enter").answers();
    assert_eq!(message(&session), "saved to /config.toml");
    session
        .keys("Tab S / ")
        .types("user:postgres")
        .keys("Enter W")
        .answers()
        .types("web")
        .keys("Enter")
        .answers();
    assert_eq!(message(&session), "saved to /web.toml");
    assert_eq!(saved(&session), ["default", "web"]);
    session.keys("Esc BackTab M V").answers();
    let line = session.line("web");
    assert!(line.contains("command by swap, filter user:postgres"), "{line}");
    session.types("web").keys("Enter");
    assert_eq!(message(&session), "view web");
    session.line("filter user:postgres");
    session.line("▼SWAP");
    assert_eq!(session.group_names().len(), 2);
    session.keys("V").answers().types("def").keys("Enter");
    assert_eq!(session.pids().len(), 7);
}

#[test]
fn nothing_is_overwritten_unasked() {
    let mut session = Session::new(120, 40);
    session
        .minute()
        .keys("W")
        .answers()
        .types("web")
        .keys("Enter")
        .answers();
    // The name of the view that is shown is offered.
    session.keys("S W").answers();
    session.line("Save view as  web");
    session.keys("Enter");
    session.line("overwrite the view web?  y/n");
    session.keys("Enter x");
    session.line("overwrite the view web?");
    session.keys("n").answers();
    assert_eq!(session.world.views[0].1.sort.get().id, "pss");
    session.keys("W").answers().keys("Enter y").answers();
    assert_eq!(session.world.views[0].1.sort.get().id, "swap");
    assert_eq!(message(&session), "saved to /web.toml");
    // Another name overwrites nothing, so it is not asked for.
    session.keys("W").answers().types("db").keys("Enter").answers();
    assert_eq!(saved(&session), ["web", "db"]);
}

#[test]
fn a_name_that_is_no_file_is_refused() {
    for name in ["", "a/b", "../x", ".x", "-x", "a b", &"x".repeat(33)] {
        let mut session = Session::new(120, 40);
        session
            .minute()
            .keys("W")
            .answers()
            .keys("C-u")
            .types(name)
            .keys("Enter");
        assert!(session.picture().contains("at most 32 letters, digits"), "{name}");
        assert!(
            !session.effects.iter().any(|effect| matches!(effect, Effect::Save(..))),
            "{name}"
        );
    }
}

#[test]
fn a_view_is_deleted_after_a_question_and_the_default_one_stays() {
    let mut session = Session::new(120, 40);
    session
        .minute()
        .keys("W")
        .answers()
        .keys("Enter W")
        .answers()
        .types("web")
        .keys("Enter V")
        .answers();
    session.keys("Delete");
    assert_eq!(
        message(&session),
        "the default view is the config itself and cannot be deleted"
    );
    session.keys("Down Delete");
    session.line("delete the view web?  y/n");
    session.keys("n V").answers().keys("Down Delete y").answers();
    assert_eq!(message(&session), "view web deleted");
    assert_eq!(saved(&session), ["default"]);
}
