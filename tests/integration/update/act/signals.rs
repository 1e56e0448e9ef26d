//! The dialog that sends a signal.

use std::sync::Arc;

use rustix::process::Signal;
use zmtop::act::{Command, ProcessAction, Reply, signals};
use zmtop::model::{Facts, Missing};
use zmtop::tui::Event;

use super::{commands, id, message, ready, reply, selection, signal_dialog, values};
use crate::support::rows::process;
use crate::support::session::{Session, busy};

/// Returns the name of the signal at the cursor.
fn chosen(session: &Session) -> &'static str {
    signals::ALL[signal_dialog(session).list.cursor].name
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
    assert_eq!(message(&session), "SIGKILL sent to 900 python3: it ended");
    // It is told once.
    session.keys("Down");
    reply(&mut session, outcome(1, 0));
    assert_eq!(message(&session), "");
}

#[test]
fn the_result_stays_when_the_panel_of_the_process_closes() {
    let mut session = ready();
    session.keys("Enter F9");
    reply(&mut session, Reply::Pinned(1, vec![Ok(values(0, 0))]));
    session.keys("Enter").types("y");
    let action = ProcessAction::Signal(Signal::TERM);
    reply(&mut session, Reply::Performed(1, action, vec![Ok(15)]));
    let outcome = Reply::Outcome {
        request: 1,
        signal: Signal::TERM,
        exited: 1,
        running: 0,
    };
    reply(&mut session, outcome);
    let mut left = busy(1);
    left.retain(|row| row.id.pid != 900);
    session.tick(1, left);
    assert!(!session.app.shows_panel());
    session.line("SIGTERM sent to 900 python3: it ended; 900 has ended: its details are closed");
}

#[test]
fn a_process_that_runs_another_program_meanwhile_is_asked_about_again() {
    let mut session = ready();
    let run = |second, session: &mut Session, exec, change: fn(&mut Facts)| {
        let mut rows = busy(second);
        let row = rows.iter_mut().find(|row| row.id.pid == 900).unwrap();
        row.exec = exec;
        change(Arc::make_mut(&mut row.facts));
        session.tick(second, rows);
    };
    run(1, &mut session, 0, |facts| facts.uid = Ok(1000));
    session.keys("F9 Enter");
    // A name that a process gives itself is followed.
    run(2, &mut session, 0, |facts| {
        (facts.comm, facts.uid) = (b"idle"[..].into(), Ok(1000));
    });
    assert!(signal_dialog(&session).confirming);
    assert_eq!(selection(&session).name(), "900 idle");
    assert_eq!(selection(&session).obstacles(), None);
    // For a moment, the user cannot be read.
    run(3, &mut session, 0, |facts| facts.uid = Err(Missing::TimedOut));
    run(4, &mut session, 0, |facts| {
        (facts.comm, facts.uid) = (b"sshd"[..].into(), Ok(0));
    });
    assert_eq!(selection(&session).name(), "900 sshd");
    session.line("has become another program or user since this dialog opened");
    session.types("y");
    assert_eq!(commands(&session), [Command::Pin(1, vec![id(900)])]);
    session.line("it is another program or user now: press y again to send it to 900 sshd");
    // Another exec, whose user is not known yet.
    run(5, &mut session, 1, |facts| facts.uid = Err(Missing::Pending));
    session.types("y");
    assert_eq!(commands(&session), [Command::Pin(1, vec![id(900)])]);
    run(6, &mut session, 1, |facts| facts.uid = Ok(0));
    session.types("y");
    let sent = Command::Perform(1, ProcessAction::Signal(Signal::TERM));
    assert_eq!(commands(&session)[1..], [sent, Command::Release(1)]);
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
    session.keys("Home").types("zzz");
    session.line("typed: zzz  no match");
    session.keys("Enter");
    assert!(!signal_dialog(&session).confirming, "what names none is not sent");
    session.keys("Backspace Backspace Backspace").types("us");
    session.line("SIGUSR1  typed: us");
    session.keys("F3");
    session.line("SIGUSR2  typed: us");
    session.keys("End");
    assert_eq!(chosen(&session), signals::ALL.last().unwrap().name);
    session.keys("Down");
    assert_eq!(chosen(&session), signals::ALL.last().unwrap().name);
}

#[test]
fn every_signal_is_found_by_name_and_number() {
    let mut session = ready();
    session.keys("F9");
    for (at, known) in signals::ALL.iter().enumerate() {
        for typed in [
            known.name.to_lowercase(),
            known.signal.as_raw().to_string(),
            format!("SIG{}", known.name),
        ] {
            session.keys("Home").types(&typed);
            assert_eq!(signal_dialog(&session).list.cursor, at, "{typed}");
        }
        assert_eq!(signals::name(known.signal), format!("SIG{}", known.name));
    }
}

#[test]
fn a_process_that_stays_after_a_signal_is_reported() {
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
        session.keys("Right Left");
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
    for (signal, exited, running, said) in [
        (
            Signal::TERM,
            0,
            1,
            "SIGTERM sent to 900 python3: it still exists (SIGKILL ends it)",
        ),
        (
            Signal::KILL,
            0,
            1,
            "SIGKILL sent to 900 python3: it still exists (the kernel has not ended it yet)",
        ),
        (
            Signal::TERM,
            3,
            1,
            "SIGTERM sent to 4 processes: 1 still exists (SIGKILL ends it)",
        ),
        (
            Signal::TERM,
            2,
            2,
            "SIGTERM sent to 4 processes: 2 still exist (SIGKILL ends them)",
        ),
        (Signal::TERM, 4, 0, "SIGTERM sent to 4 processes: they ended"),
        // One was not reached.
        (Signal::TERM, 3, 0, "SIGTERM sent to 3 of 4: they ended"),
        (
            Signal::INT,
            0,
            4,
            "SIGINT sent to 4 processes: 4 still exist (SIGKILL ends them)",
        ),
        (Signal::HUP, 1, 0, "SIGHUP sent to 900 python3: it ended"),
        // Many read their settings anew at that.
        (Signal::HUP, 0, 1, ""),
        (Signal::STOP, 0, 1, ""),
    ] {
        assert_eq!(told(signal, exited, running), said);
    }
}

#[test]
fn every_process_of_the_dialog_is_named() {
    let tagged = |height| {
        let mut session = Session::new(80, height);
        session.tick(
            1,
            (1..=12)
                .map(|pid| process(pid, 1, &format!("/usr/bin/server{pid}x")))
                .collect(),
        );
        session.keys("A F9");
        session
    };
    let shown = |session: &mut Session| -> Vec<u32> {
        let picture = session.picture();
        let dialog = picture.split("Send a signal").nth(1).unwrap().to_owned();
        (1..=12)
            .filter(|pid| dialog.contains(&format!("{pid} root  server{pid}x")))
            .collect()
    };
    assert_eq!(shown(&mut tagged(50)).len(), 12, "there is room");
    let mut session = tagged(24);
    let mut all = shown(&mut session);
    assert!(
        session.picture().contains("Tab shows the next"),
        "{}",
        session.picture()
    );
    assert!((4..12).contains(&all.len()), "{}", session.picture());
    session.keys("Tab Tab");
    for _ in 0..4 {
        all.extend(shown(&mut session));
        session.keys("Tab");
    }
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 12);
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
