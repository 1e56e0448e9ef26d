//! The dialog that sets a tunable, and steps of niceness.

use zmtop::act::{ActError, Command, ProcessAction, Reply, Tunable};
use zmtop::tui::Event;

use super::{commands, id, message, ready, reply, selection, tunable_dialog, values};
use crate::support::session::Session;

fn input(session: &Session) -> &str {
    tunable_dialog(session).input.text()
}

fn error(session: &Session) -> Option<&str> {
    tunable_dialog(session).error.as_deref()
}

#[test]
fn a_number_is_prefilled_checked_and_set() {
    let mut session = ready();
    session.keys("o");
    reply(&mut session, Reply::Pinned(1, vec![Ok(values(-250, 3))]));
    assert_eq!(input(&session), "-250");
    session.keys("C-u").types("1001");
    session.keys("Enter");
    assert_eq!(error(&session), Some("1001 is out of range: -1000 to 1000"));
    session.keys("C-u").types("lots");
    session.keys("Enter");
    assert_eq!(error(&session), Some("a whole number from -1000 to 1000"));
    assert_eq!(commands(&session).len(), 1);
    session.keys("C-u");
    session.feed(Event::Paste("300\n".into()));
    assert_eq!(error(&session), None, "typing takes it away");
    session.keys("Enter Enter").types("9");
    assert_eq!(
        commands(&session)[1..],
        [Command::Perform(1, ProcessAction::Set(Tunable::OomScoreAdj, 300))],
        "once"
    );
    let denied = vec![Err(ActError::Denied)];
    reply(
        &mut session,
        Reply::Performed(1, ProcessAction::Set(Tunable::OomScoreAdj, 300), denied),
    );
    let stays = "oom_score_adj of 900 python3 is unchanged: permission denied";
    assert_eq!(error(&session), Some(stays), "it stays open");
    session.keys("Enter");
    reply(
        &mut session,
        Reply::Performed(1, ProcessAction::Set(Tunable::OomScoreAdj, 300), vec![Ok(300)]),
    );
    assert_eq!(message(&session), "oom_score_adj of 900 python3 is 300");
    assert!(session.app.modal.is_none());
    assert_eq!(commands(&session).last(), Some(&Command::Release(1)));
}

#[test]
fn what_was_typed_before_the_value_is_known_stays() {
    let mut session = ready();
    session.keys("i").types("7");
    reply(&mut session, Reply::Pinned(1, vec![Ok(values(0, 3))]));
    assert_eq!(input(&session), "7");
    session.keys("Enter");
    assert_eq!(
        commands(&session)[1..],
        [Command::Perform(1, ProcessAction::Set(Tunable::Nice, 7))]
    );
    session.keys("Esc");
    reply(
        &mut session,
        Reply::Performed(1, ProcessAction::Set(Tunable::Nice, 7), vec![Ok(7)]),
    );
    assert_eq!(
        message(&session),
        "nice of 900 python3 is 7",
        "told although it was left"
    );
}

#[test]
fn values_that_differ_are_reported_as_a_span() {
    let mut session = ready();
    session.keys("Space Space i");
    reply(
        &mut session,
        Reply::Pinned(1, vec![Ok(values(0, -2)), Ok(values(0, 3))]),
    );
    assert_eq!(input(&session), "");
    assert_eq!(selection(&session).value_range(Tunable::Nice), Some((-2, 3)));
    assert_eq!(selection(&session).value_range(Tunable::OomScoreAdj), Some((0, 0)));
    assert!(session.line("now -2 to 3").contains("-20"));
}

#[test]
fn steps_of_niceness_are_confirmed() {
    let mut session = ready();
    session.keys("F8");
    assert_eq!(commands(&session), [Command::Pin(1, vec![id(900)])], "it asks first");
    reply(&mut session, Reply::Pinned(1, vec![Ok(values(0, 3))]));
    assert_eq!(input(&session), "4");
    // More steps, by the keys of the table and by the keys of the dialog. They end at the edge of the range.
    session.keys("F8 ] ] F7 [");
    assert_eq!(input(&session), "5");
    session.keys(&"F8 ".repeat(30));
    assert_eq!(input(&session), "19");
    session.keys("[ Enter Enter F8");
    let set = ProcessAction::Set(Tunable::Nice, 18);
    assert_eq!(commands(&session)[1..], [Command::Perform(1, set)], "once");
    reply(&mut session, Reply::Performed(1, set, vec![Ok(18)]));
    assert_eq!(message(&session), "nice of 900 python3 is 18");
    assert!(session.app.modal.is_none());

    session.keys("[ Esc");
    assert_eq!(
        commands(&session)[3..],
        [Command::Pin(2, vec![id(900)]), Command::Release(2)]
    );
    // Steps add to a number that was typed.
    session.keys("F7");
    reply(&mut session, Reply::Pinned(3, vec![Ok(values(0, 0))]));
    assert_eq!(input(&session), "-1");
    session.keys("C-u").types("7").keys("F8");
    assert_eq!(input(&session), "8");
    // They are for the niceness.
    session.keys("Esc o");
    reply(&mut session, Reply::Pinned(4, vec![Ok(values(5, 0))]));
    session.keys("F8");
    assert_eq!(input(&session), "5");
}

#[test]
fn a_step_is_for_each_of_several() {
    let mut session = ready();
    session.keys("Space Space ]");
    assert_eq!(input(&session), "+1 to each");
    reply(
        &mut session,
        Reply::Pinned(1, vec![Ok(values(0, -2)), Ok(values(0, 3))]),
    );
    session.keys("[ [ F7");
    assert_eq!(input(&session), "-2 to each");
    session.keys("Enter");
    let step = ProcessAction::Step(Tunable::Nice, -2);
    assert_eq!(commands(&session)[1..], [Command::Perform(1, step)]);
    reply(
        &mut session,
        Reply::Performed(1, step, vec![Ok(-4), Err(ActError::Denied)]),
    );
    assert!(
        error(&session).is_some_and(|error| error.contains("denied")),
        "{:?}",
        error(&session)
    );
    // A number typed takes its place.
    session.keys("Esc ]");
    reply(
        &mut session,
        Reply::Pinned(2, vec![Ok(values(0, -2)), Ok(values(0, 3))]),
    );
    session.types("9").keys("Enter");
    assert_eq!(
        commands(&session).last(),
        Some(&Command::Perform(2, ProcessAction::Set(Tunable::Nice, 9)))
    );
    // What is confirmed before the values are known is a step, too.
    session.keys("Esc F8 Enter");
    assert_eq!(
        commands(&session).last(),
        Some(&Command::Perform(3, ProcessAction::Step(Tunable::Nice, 1)))
    );
}
