//! What carries out orders, on children of the tests' own.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::Signal;
use zmtop::act::ActError;
use zmtop::model::Identity;
use zmtop::proc::files::Roots;
use zmtop::run::act::Actor;
use zmtop::tui::act::{Deed, Order, Report};

use super::Own;

/// An actor, and what it tells.
fn actor(patience: Duration) -> (Actor, Receiver<Report>) {
    let (send, receive) = channel();
    let tell = move |report| {
        let _ = send.send(report);
    };
    (Actor::new(Roots::new(None), patience, tell), receive)
}

const LONG: Duration = Duration::from_secs(60);

fn next(reports: &Receiver<Report>) -> Report {
    reports.recv_timeout(Duration::from_secs(20)).unwrap()
}

/// Pins those, and takes in that it did.
fn pin(actor: &Actor, reports: &Receiver<Report>, number: u64, ids: Vec<Identity>) -> Vec<Option<ActError>> {
    actor.order(Order::Pin(number, ids)).unwrap();
    match next(reports) {
        Report::Pinned(told, pins) if told == number => pins.into_iter().map(Result::err).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_signal_is_sent_and_its_end_is_told() {
    let (actor, reports) = actor(LONG);
    let mut child = Own::sleep();
    assert_eq!(pin(&actor, &reports, 1, vec![child.id()]), [None]);
    let term = Deed::Signal(Signal::TERM);
    actor.order(Order::Do(1, term)).unwrap();
    actor.order(Order::Drop(1)).unwrap();
    assert_eq!(next(&reports), Report::Done(1, term, vec![Ok(15)]));
    assert_eq!(child.0.wait().unwrap().signal(), Some(15));
    let fate = Report::Fate {
        number: 1,
        signal: Signal::TERM,
        ended: 1,
        there: 0,
    };
    assert_eq!(next(&reports), fate);
}

#[test]
fn who_does_not_heed_a_signal_is_told() {
    let (actor, reports) = actor(Duration::from_millis(300));
    let mut deaf = Command::new("sh")
        .args(["-c", "trap '' TERM; echo; exec sleep 60"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map(Own)
        .unwrap();
    let mut line = [0; 1];
    deaf.0.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    let heeds = Own::sleep();
    pin(&actor, &reports, 7, vec![deaf.id(), heeds.id()]);
    actor.order(Order::Do(7, Deed::Signal(Signal::TERM))).unwrap();
    let done = Report::Done(7, Deed::Signal(Signal::TERM), vec![Ok(15), Ok(15)]);
    assert_eq!(next(&reports), done);
    // One that is not reaped has ended all the same.
    let fate = Report::Fate {
        number: 7,
        signal: Signal::TERM,
        ended: 1,
        there: 1,
    };
    assert_eq!(next(&reports), fate);
    // What was pinned was for one signal.
    actor.order(Order::Do(7, Deed::Signal(Signal::KILL))).unwrap();
    assert!(reports.recv_timeout(Duration::from_millis(300)).is_err());
    assert_eq!(deaf.0.try_wait().unwrap(), None);
}

#[test]
fn an_end_is_told_while_it_is_pinned() {
    let (actor, reports) = actor(LONG);
    let (mut first, second) = (Own::sleep(), Own::sleep());
    pin(&actor, &reports, 1, vec![first.id(), second.id()]);
    let id = first.id();
    first.end();
    assert_eq!(next(&reports), Report::Ended(1, vec![id]));
    let deed = Deed::Nice(7);
    actor.order(Order::Do(1, deed)).unwrap();
    assert_eq!(next(&reports), Report::Done(1, deed, vec![Err(ActError::Gone), Ok(7)]));
}

#[test]
fn another_identity_is_never_acted_on() {
    let (actor, reports) = actor(LONG);
    let mut child = Own::sleep();
    let other = Identity {
        starttime: child.id().starttime + 1,
        ..child.id()
    };
    assert_eq!(pin(&actor, &reports, 1, vec![other]), [Some(ActError::Reused)]);
    let kill = Deed::Signal(Signal::KILL);
    actor.order(Order::Do(1, kill)).unwrap();
    assert_eq!(next(&reports), Report::Done(1, kill, vec![Err(ActError::Reused)]));
    // Nor one that was let go of.
    pin(&actor, &reports, 2, vec![child.id()]);
    actor.order(Order::Drop(2)).unwrap();
    actor.order(Order::Do(2, kill)).unwrap();
    assert!(reports.recv_timeout(Duration::from_millis(300)).is_err());
    assert_eq!(child.0.try_wait().unwrap(), None);
}

#[test]
fn numbers_are_set_and_stepped() {
    let (actor, reports) = actor(LONG);
    let child = Own::sleep();
    let before = child.pin().unwrap();
    let (oom, nice) = (before.oom_score_adj().unwrap(), before.nice().unwrap());
    actor.order(Order::Pin(1, vec![child.id()])).unwrap();
    let Report::Pinned(1, pins) = next(&reports) else {
        panic!()
    };
    let present = pins[0].unwrap();
    assert_eq!((present.oom, present.nice), (Ok(oom), Ok(nice)));
    let does = |deed| {
        actor.order(Order::Do(1, deed)).unwrap();
        match next(&reports) {
            Report::Done(1, told, results) if told == deed => results[0],
            other => panic!("{other:?}"),
        }
    };
    let raised = oom.max(500);
    assert_eq!(does(Deed::Oom(raised)), Ok(raised));
    assert_eq!(before.oom_score_adj(), Ok(raised));
    assert_eq!(does(Deed::Oom(1001)), Err(ActError::Range(1001, -1000, 1000)));
    let nicer = nice.max(10);
    assert_eq!(does(Deed::Nice(nicer)), Ok(nicer));
    assert_eq!(does(Deed::NiceBy(1)), Ok((nicer + 1).min(19)));
    assert_eq!(does(Deed::NiceBy(100)), Ok(19), "no further than it goes");
    assert_eq!(before.nice(), Ok(19));
    // To lower it takes a right that root may lack.
    match does(Deed::NiceBy(-1)) {
        Ok(18) => assert_eq!(before.nice(), Ok(18)),
        other => assert_eq!(other, Err(ActError::Denied)),
    }
}
