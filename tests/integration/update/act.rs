//! Acting on processes: from keys over dialogs and commands to the messages shown.

mod numbers;

use rustix::process::Signal;
use zmtop::act::{ActError, Command, ProcessAction, Reply, Tunable, TunableValues, signals};
use zmtop::config::Env;
use zmtop::model::Identity;
use zmtop::tui::act::{Selection, SignalDialog, TunableDialog};
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

fn signal_dialog(session: &Session) -> &SignalDialog {
    let dialog = session.app.modal();
    dialog.unwrap_or_else(|| panic!("no signal is asked for: {:?}", session.app.modal))
}

fn tunable_dialog(session: &Session) -> &TunableDialog {
    let dialog = session.app.modal();
    dialog.unwrap_or_else(|| panic!("no number is asked for: {:?}", session.app.modal))
}

fn selection(session: &Session) -> &Selection {
    let signal = session.app.modal().map(|dialog: &SignalDialog| &dialog.selection);
    signal.unwrap_or_else(|| &tunable_dialog(session).selection)
}

/// Returns the name of the signal at the cursor.
fn chosen(session: &Session) -> &'static str {
    signals::ALL[signal_dialog(session).list.cursor].name
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
fn a_signal_is_chosen_asked_for_and_sent() {
    let mut session = ready();
    session.keys("F9");
    assert_eq!(commands(&session), [Command::Pin(1, vec![id(900)])]);
    assert_eq!(selection(&session).name(), "900 python3");
    assert_eq!(chosen(&session), "TERM", "the gentle one first");
    reply(&mut session, Reply::Pinned(1, vec![Ok(values(0, 0))]));
    session.keys("Down Enter");
    assert!(signal_dialog(&session).confirming);
    assert_eq!(chosen(&session), "KILL");
    session.types("y");
    assert!(session.app.modal.is_none());
    let sent = Command::Perform(1, ProcessAction::Signal(Signal::KILL));
    assert_eq!(commands(&session)[1..], [sent, Command::Release(1)]);
    reply(
        &mut session,
        Reply::Performed(1, ProcessAction::Signal(Signal::KILL), vec![Ok(9)]),
    );
    assert_eq!(message(&session), "SIGKILL sent to 900 python3");
    let outcome = |exited, running| Reply::Outcome {
        request: 1,
        signal: Signal::KILL,
        exited,
        running,
    };
    reply(&mut session, outcome(1, 0));
    assert_eq!(message(&session), "900 python3 has ended");
    // It is told once.
    session.keys("Down");
    reply(&mut session, outcome(1, 0));
    assert_eq!(message(&session), "");
}

#[test]
fn nothing_but_y_sends() {
    let mut session = ready();
    session.keys("F9 Enter Enter Enter Space F9 Up Down Home x Y".trim_end_matches('Y'));
    assert!(signal_dialog(&session).confirming, "Enter again and again only asks");
    assert_eq!(chosen(&session), "TERM", "what is asked about stays");
    session.feed(Event::Paste("y".into()));
    session.types("n");
    assert!(!signal_dialog(&session).confirming);
    session.keys("Enter Esc");
    assert!(!signal_dialog(&session).confirming, "back to the list");
    session.keys("Esc");
    assert!(session.app.modal.is_none());
    assert_eq!(
        commands(&session),
        [Command::Pin(1, vec![id(900)]), Command::Release(1)]
    );
    session.types("y");
    assert_eq!(commands(&session).len(), 2);
}

#[test]
fn typing_goes_to_a_signal() {
    let mut session = ready();
    session.keys("F9");
    for (typed, name) in [
        ("9", "KILL"),
        ("1", "HUP"),
        ("15", "TERM"),
        ("usr2", "USR2"),
        ("sigq", "QUIT"),
        ("s", "STOP"),
        ("cont", "CONT"),
    ] {
        session.keys("Home").types(typed);
        assert_eq!(chosen(&session), name, "{typed}");
    }
    session.types("zzz");
    assert_eq!(chosen(&session), "CONT", "what names none goes nowhere");
    assert_eq!(signal_dialog(&session).query, "");
    session.types("us");
    session.keys("Backspace");
    assert_eq!(signal_dialog(&session).query, "u");
    session.keys("End");
    assert_eq!(chosen(&session), signals::ALL.last().unwrap().name);
    session.keys("Down");
    assert_eq!(chosen(&session), signals::ALL.last().unwrap().name);
}

#[test]
fn every_signal_is_found_by_name_and_number() {
    for (at, known) in signals::ALL.iter().enumerate() {
        assert_eq!(signals::find(known.name), Some(at));
        assert_eq!(signals::find(&known.signal.as_raw().to_string()), Some(at));
        assert_eq!(signals::name(known.signal), format!("SIG{}", known.name));
    }
    assert_eq!(signals::find(""), None);
    assert_eq!(signals::find("0"), None);
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
    assert_eq!(
        selection(&session).obstacles().as_deref(),
        Some("not to be acted on: 1 ended")
    );
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
    assert_eq!(session.selected_group().as_deref(), Some("python3"));
    session.keys("F9");
    assert_eq!(commands(&session), [Command::Pin(1, vec![id(900), id(901)])]);
    assert_eq!(selection(&session).name(), "2 processes of command python3");
    session.keys("Enter");
    assert!(
        session
            .line("send SIG")
            .contains("send SIGTERM to 2 processes of command python3?")
    );
    session.keys("Esc Esc");
    // A step of niceness, which is not asked for, is for processes.
    session.keys("F8");
    assert!(message(&session).contains("open the group"), "{}", message(&session));
    session.keys("i");
    assert_eq!(selection(&session).processes.len(), 2);
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
    assert_eq!(message(&session), "nothing sent: 900 python3 ended before");
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
fn who_stays_after_a_signal_is_told() {
    let told = |signal, exited, running| {
        let mut session = ready();
        session
            .keys(if exited + running > 1 {
                "Space Space Space Space F9"
            } else {
                "F9"
            })
            .types(&signals::name(signal))
            .keys("Enter")
            .types("y");
        reply(
            &mut session,
            Reply::Performed(1, ProcessAction::Signal(signal), vec![Ok(1)]),
        );
        session.keys("Left");
        reply(
            &mut session,
            Reply::Outcome {
                request: 1,
                signal,
                exited,
                running,
            },
        );
        message(&session).to_owned()
    };
    assert_eq!(told(Signal::TERM, 0, 1), "900 python3 is still there (SIGKILL ends it)");
    assert_eq!(
        told(Signal::KILL, 0, 1),
        "900 python3 is still there (the kernel has not let go)"
    );
    assert_eq!(told(Signal::TERM, 3, 1), "1 of 4 is still there (SIGKILL ends it)");
    assert_eq!(told(Signal::TERM, 2, 2), "2 of 4 are still there (SIGKILL ends them)");
    assert_eq!(told(Signal::TERM, 4, 0), "4 processes have ended");
    assert_eq!(told(Signal::TERM, 3, 0), "3 of 4 have ended", "one was not reached");
    assert_eq!(
        told(Signal::INT, 0, 4),
        "4 processes are still there (SIGKILL ends them)"
    );
    assert_eq!(told(Signal::HUP, 0, 1), "", "many read their settings anew at that");
    assert_eq!(told(Signal::STOP, 0, 1), "");
    assert_eq!(told(Signal::HUP, 1, 0), "900 python3 has ended");
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
    assert_eq!(message(&session), "that is 1001 processes: 1000 at once at the most");
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
    for key in ["F9", "o", "i", "F7", "F8", "[", "]"] {
        session.keys("Left").keys(key);
        assert_eq!(message(&session), "read only: nothing is changed", "{key}");
        assert!(session.app.modal.is_none());
    }
    assert!(commands(&session).is_empty());
    let mut help = session.keys("?").picture();
    for _ in 0..20 {
        help.push_str(&session.keys("PageDown").picture());
    }
    assert!(help.contains("Take all tags away"));
    for word in ["Send a signal", "nicer", "niceness", "oom_score_adj: whom"] {
        assert!(!help.contains(word), "{word}");
    }
}

#[test]
fn clicks_and_the_wheel_choose_and_never_send() {
    let mut session = ready();
    session.keys("F9");
    let row = |session: &mut Session, text: &str| {
        let picture = session.picture();
        let found = picture.lines().position(|l| l.contains(text)).unwrap();
        u16::try_from(found).unwrap()
    };
    let y = row(&mut session, " 9 KILL");
    session.click(40, y).click(40, y);
    assert_eq!(chosen(&session), "KILL");
    assert!(!signal_dialog(&session).confirming);
    session.mouse(crossterm::event::MouseEventKind::ScrollDown, 40, y);
    assert_eq!(chosen(&session), "INT");
    session.keys("Enter");
    session.mouse(crossterm::event::MouseEventKind::ScrollDown, 40, y);
    session.click(40, y);
    assert_eq!(chosen(&session), "INT");
    session.click(0, 0);
    assert!(session.app.modal.is_none());
    assert_eq!(commands(&session).len(), 2, "pinned and let go");
}
