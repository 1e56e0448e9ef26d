//! Acting on processes: from keys over dialogs and commands to the messages shown.

mod coldness;
mod signals;
mod tunables;

use rustix::process::Signal;
use zmtop::act::{ActError, Command, ProcessAction, Reply, Tunable, TunableValues};
use zmtop::config::Env;
use zmtop::model::Identity;
use zmtop::tui::act::{ProcessDialog, Selection, SignalQuestion, TunableQuestion};
use zmtop::tui::{Effect, Event};

use crate::support::rows::process;
use crate::support::session::{Session, busy, env};

/// Returns the commands given so far.
fn commands(session: &Session) -> Vec<Command> {
    let command = |effect: &Effect| match effect {
        Effect::Act(command) => Some(command.clone()),
        _ => None,
    };
    session.effects.iter().filter_map(command).collect()
}

fn id(pid: u32) -> Identity {
    process(pid, 1, "").id
}

fn values(oom_score_adj: i32, nice: i32) -> TunableValues {
    TunableValues::new(|tunable| {
        Ok(match tunable {
            Tunable::OomScoreAdj => oom_score_adj,
            Tunable::Nice => nice,
        })
    })
}

fn dialog(session: &Session) -> &ProcessDialog {
    session.app.modal().expect("a dialog is open")
}

fn signal_dialog(session: &Session) -> &SignalQuestion {
    dialog(session).question().expect("a signal is asked for")
}

fn tunable_dialog(session: &Session) -> &TunableQuestion {
    dialog(session).question().expect("a number is asked for")
}

fn selection(session: &Session) -> &Selection {
    &dialog(session).selection
}

fn message(session: &Session) -> &str {
    session.app.screen.message.as_ref().map_or("", |m| &m.text)
}

fn reply(session: &mut Session, reply: Reply) {
    session.feed(Event::Act(reply));
}

/// A minute of the made machine, the python with the most memory selected.
fn ready() -> Session {
    let mut session = Session::new(100, 30);
    session.minute();
    assert_eq!(session.selected(), Some(900));
    session
}

#[test]
fn tagged_processes_are_meant_together() {
    let mut session = ready();
    session.keys("Space Space Space F9");
    let Command::Pin(1, pinned) = &commands(&session)[0] else {
        panic!("{:?}", session.effects)
    };
    assert_eq!(pinned.len(), 3);
    assert!(pinned.contains(&id(900)) && pinned.is_sorted());
    assert_eq!(selection(&session).name(), "3 processes");
    let pins = vec![Ok(values(0, 0)), Err(ActError::Gone), Ok(values(0, 0))];
    reply(&mut session, Reply::Pinned(1, pins));
    assert_eq!(selection(&session).obstacles().as_deref(), Some("refused: 1 ended"));
    session.keys("Enter").types("y");
    let results = vec![Ok(15), Err(ActError::Gone), Err(ActError::Denied)];
    reply(
        &mut session,
        Reply::Performed(1, ProcessAction::Signal(Signal::TERM), results),
    );
    assert_eq!(message(&session), "SIGTERM sent to 1 of 3: 1 ended, 1 denied");
    assert!(session.app.screen.message.as_ref().unwrap().bad);
}

#[test]
fn a_group_means_its_members() {
    let mut session = Session::new(120, 30);
    session.grouped_minute().keys("Tab");
    session.keys("Down");
    assert_eq!(session.selected_group().as_deref(), Some("postgres"));
    session.keys("F9");
    assert_eq!(commands(&session), [Command::Pin(1, vec![id(400), id(401), id(402)])]);
    assert_eq!(selection(&session).name(), "3 processes of command postgres");
    session.keys("Enter");
    assert!(
        session
            .line("send SIG")
            .contains("send SIGTERM to 3 processes of command postgres?")
    );
    session.keys("Esc Esc");
    for key in ["F8", "i"] {
        session.keys(key);
        assert_eq!(selection(&session).processes.len(), 3);
        session.keys("Esc");
    }
    session.keys("i");
    session.keys("Esc Space Space F9");
    assert!(
        selection(&session).name().ends_with("of 2 groups"),
        "{}",
        selection(&session).name()
    );
}

#[test]
fn what_was_shown_when_it_opened_is_what_is_meant() {
    let mut session = ready();
    session.keys("F9");
    // Another process has the pid meanwhile, and the selection is another too.
    let mut later = busy(20);
    later.retain(|p| p.id.pid != 900);
    let mut other = process(900, 1, "/usr/bin/other");
    other.id.starttime = 99_999;
    later.push(other);
    session.tick(5, later);
    assert_eq!(selection(&session).processes[0].id, id(900));
    reply(&mut session, Reply::Exited(1, vec![id(900)]));
    assert!(session.line("has ended").contains("has ended"));
    session.keys("Enter").types("y");
    assert_eq!(commands(&session).last(), Some(&Command::Release(1)), "nothing is sent");
    assert_eq!(message(&session), "not sent: 900 python3 has already ended");
}

#[test]
fn what_cannot_be_pinned_closes_the_dialog_and_says_why() {
    for why in [
        ActError::ForeignProc,
        ActError::Init,
        ActError::OwnProcess,
        ActError::KernelThread,
        ActError::Gone,
        ActError::PidReused,
        ActError::Unsupported,
    ] {
        let mut session = ready();
        session.keys("F9");
        reply(&mut session, Reply::Pinned(1, vec![Err(why)]));
        assert!(session.app.modal.is_none());
        assert_eq!(message(&session), format!("900 python3: {why}"));
        assert_eq!(commands(&session).last(), Some(&Command::Release(1)));
    }
}

#[test]
fn a_report_is_for_its_own_dialog() {
    let mut session = ready();
    session.keys("F9 Esc F9");
    assert_eq!(selection(&session).request, 2);
    reply(&mut session, Reply::Pinned(1, vec![Err(ActError::Gone)]));
    reply(&mut session, Reply::Exited(1, vec![id(900)]));
    assert_eq!(
        (selection(&session).values.as_ref(), selection(&session).all_exited()),
        (None, false)
    );
    reply(
        &mut session,
        Reply::Performed(1, ProcessAction::Signal(Signal::TERM), vec![Ok(15)]),
    );
    assert_eq!(message(&session), "", "nobody ordered that");
}

#[test]
fn nothing_to_act_on_is_said() {
    let mut session = Session::new(100, 30);
    session.keys("F9");
    assert_eq!(message(&session), "no process is known yet");
    session.minute().keys("/").types("nobody-has-this").keys("Enter");
    session.keys("F9");
    assert_eq!(message(&session), "no process is selected");
    session.keys("F8 o i");
    assert!(session.app.modal.is_none());
    assert!(commands(&session).is_empty());
}

#[test]
fn so_many_at_once_and_no_more() {
    let mut session = Session::new(100, 30);
    let many: Vec<_> = (0..1001).map(|n| process(1000 + n, 1, "/usr/bin/bomb")).collect();
    session.tick(1, many.clone()).keys("Tab F9");
    assert_eq!(
        message(&session),
        "these are 1001 processes: at most 1000 are allowed at once"
    );
    session.tick(1, many[1..].to_vec()).keys("F9");
    assert_eq!(selection(&session).processes.len(), 1000);
}

#[test]
fn readonly_has_none_of_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("zmtop")).unwrap();
    std::fs::write(dir.path().join("zmtop/config.toml"), "ui.readonly = true\n").unwrap();
    let env = Env {
        xdg_config_home: Some(dir.path().into()),
        ..env()
    };
    let mut session = Session::with_env(160, 50, &env);
    session.minute();
    assert!(session.picture().lines().next().unwrap().contains("read only"));
    assert!(!session.picture().contains("F9"));
    for key in ["F9", "o", "i", "F7", "F8", "[", "]", "r"] {
        session.keys("Left").keys(key);
        assert_eq!(message(&session), "read only: nothing is changed", "{key}");
        assert!(session.app.modal.is_none());
    }
    assert!(commands(&session).is_empty());
    let mut help = session.keys("?").picture();
    for _ in 0..20 {
        help.push_str(&session.keys("PageDown").picture());
    }
    assert!(help.contains("Remove all tags"));
    for word in [
        "Send a signal",
        "nicer",
        "niceness",
        "Set oom_score_adj",
        "Hot and cold",
    ] {
        assert!(!help.contains(word), "{word}");
    }
}
