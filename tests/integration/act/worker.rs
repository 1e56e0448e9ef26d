//! The worker that performs commands, on children of the tests' own.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support::PATIENCE;

use rustix::process::Signal;
use zmtop::act::{ActError, Command, ProcessAction, Reply, RequestId, Tunable, Worker};
use zmtop::model::Identity;
use zmtop::proc::files::Roots;

use super::Own;

/// Returns a worker and its replies.
pub(super) fn worker(timeout: Duration) -> (Worker, Receiver<Reply>) {
    let (send, receive) = channel();
    let on_reply = move |reply| {
        let _ = send.send(reply);
    };
    (Worker::new(Roots::new(None), timeout, on_reply), receive)
}

pub(super) const LONG: Duration = Duration::from_secs(60);

pub(super) fn next(replies: &Receiver<Reply>) -> Reply {
    replies.recv_timeout(PATIENCE).unwrap()
}

/// Pins processes; returns each one's error.
fn pin(worker: &Worker, replies: &Receiver<Reply>, request: RequestId, ids: Vec<Identity>) -> Vec<Option<ActError>> {
    worker.send(Command::Pin(request, ids)).unwrap();
    match next(replies) {
        Reply::Pinned(replied, pins) if replied == request => pins.into_iter().map(Result::err).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_signal_is_sent_and_its_outcome_is_reported() {
    let (worker, replies) = worker(LONG);
    let mut child = Own::sleep();
    assert_eq!(pin(&worker, &replies, 1, vec![child.id()]), [None]);
    let term = ProcessAction::Signal(Signal::TERM);
    worker.send(Command::Perform(1, term)).unwrap();
    worker.send(Command::Release(1)).unwrap();
    assert_eq!(next(&replies), Reply::Performed(1, term, vec![Ok(15)]));
    assert_eq!(child.0.wait().unwrap().signal(), Some(15));
    let outcome = Reply::Outcome {
        request: 1,
        signal: Signal::TERM,
        exited: 1,
        running: 0,
    };
    assert_eq!(next(&replies), outcome);
}

#[test]
fn a_process_that_ignores_a_signal_is_reported() {
    // Long enough for the other to end, however loaded the machine is.
    let (worker, replies) = worker(Duration::from_secs(3));
    let mut deaf = process::Command::new("sh")
        .args(["-c", "trap '' TERM; echo; exec sleep 60"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map(Own)
        .unwrap();
    let mut line = [0; 1];
    deaf.0.stdout.as_mut().unwrap().read_exact(&mut line).unwrap();
    let heeds = Own::sleep();
    pin(&worker, &replies, 7, vec![deaf.id(), heeds.id()]);
    worker
        .send(Command::Perform(7, ProcessAction::Signal(Signal::TERM)))
        .unwrap();
    let done = Reply::Performed(7, ProcessAction::Signal(Signal::TERM), vec![Ok(15), Ok(15)]);
    assert_eq!(next(&replies), done);
    // One that is not reaped has ended all the same.
    let outcome = Reply::Outcome {
        request: 7,
        signal: Signal::TERM,
        exited: 1,
        running: 1,
    };
    assert_eq!(next(&replies), outcome);
    // What was pinned was for one signal.
    worker
        .send(Command::Perform(7, ProcessAction::Signal(Signal::KILL)))
        .unwrap();
    assert!(replies.recv_timeout(Duration::from_millis(300)).is_err());
    assert_eq!(deaf.0.try_wait().unwrap(), None);
}

#[test]
fn an_exit_is_reported_while_it_is_pinned() {
    let (worker, replies) = worker(LONG);
    let (mut first, second) = (Own::sleep(), Own::sleep());
    pin(&worker, &replies, 1, vec![first.id(), second.id()]);
    let id = first.id();
    first.end();
    assert_eq!(next(&replies), Reply::Exited(1, vec![id]));
    let action = ProcessAction::Set(Tunable::Nice, 7);
    worker.send(Command::Perform(1, action)).unwrap();
    assert_eq!(
        next(&replies),
        Reply::Performed(1, action, vec![Err(ActError::Gone), Ok(7)])
    );
}

#[test]
fn another_identity_is_never_acted_on() {
    let (worker, replies) = worker(LONG);
    let mut child = Own::sleep();
    let other = Identity {
        starttime: child.id().starttime + 1,
        ..child.id()
    };
    assert_eq!(pin(&worker, &replies, 1, vec![other]), [Some(ActError::PidReused)]);
    let kill = ProcessAction::Signal(Signal::KILL);
    worker.send(Command::Perform(1, kill)).unwrap();
    assert_eq!(
        next(&replies),
        Reply::Performed(1, kill, vec![Err(ActError::PidReused)])
    );
    // Nor one that was let go of.
    pin(&worker, &replies, 2, vec![child.id()]);
    worker.send(Command::Release(2)).unwrap();
    worker.send(Command::Perform(2, kill)).unwrap();
    assert!(replies.recv_timeout(Duration::from_millis(300)).is_err());
    assert_eq!(child.0.try_wait().unwrap(), None);
}

#[test]
fn numbers_are_set_and_stepped() {
    let (worker, replies) = worker(LONG);
    let child = Own::sleep();
    let before = child.pin().unwrap();
    let (oom, nice) = (
        before.get(Tunable::OomScoreAdj).unwrap(),
        before.get(Tunable::Nice).unwrap(),
    );
    worker.send(Command::Pin(1, vec![child.id()])).unwrap();
    let Reply::Pinned(1, pins) = next(&replies) else {
        panic!()
    };
    let values = pins[0].unwrap();
    assert_eq!(
        (values.get(Tunable::OomScoreAdj), values.get(Tunable::Nice)),
        (Ok(oom), Ok(nice))
    );
    let does = |action| {
        worker.send(Command::Perform(1, action)).unwrap();
        match next(&replies) {
            Reply::Performed(1, performed, results) if performed == action => results[0],
            other => panic!("{other:?}"),
        }
    };
    let raised = oom.max(500);
    assert_eq!(does(ProcessAction::Set(Tunable::OomScoreAdj, raised)), Ok(raised));
    assert_eq!(before.get(Tunable::OomScoreAdj), Ok(raised));
    assert_eq!(
        does(ProcessAction::Set(Tunable::OomScoreAdj, 1001)),
        Err(ActError::OutOfRange(1001, -1000, 1000))
    );
    let nicer = nice.max(10);
    assert_eq!(does(ProcessAction::Set(Tunable::Nice, nicer)), Ok(nicer));
    assert_eq!(does(ProcessAction::Step(Tunable::Nice, 1)), Ok((nicer + 1).min(19)));
    assert_eq!(
        does(ProcessAction::Step(Tunable::Nice, 100)),
        Ok(19),
        "no further than it goes"
    );
    assert_eq!(before.get(Tunable::Nice), Ok(19));
    // To lower it takes a right that root may lack.
    match does(ProcessAction::Step(Tunable::Nice, -1)) {
        Ok(18) => assert_eq!(before.get(Tunable::Nice), Ok(18)),
        other => assert_eq!(other, Err(ActError::Denied)),
    }
}

#[test]
fn commands_that_wait_are_bounded() {
    // The first reply keeps the thread waiting.
    let (go, wait) = channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let worker = Worker::new(Roots::new(None), LONG, move |_| {
        let _ = wait.lock().unwrap().recv();
    });
    let pin = |request| worker.send(Command::Pin(request, Vec::new()));
    let sent = (0..10_000).take_while(|request| pin(*request).is_ok()).count();
    assert!((200..400).contains(&sent), "{sent}");
    worker.send(Command::Release(1)).unwrap();
    drop(go);
    super::until("nothing more is taken", || pin(20_000).is_ok());
}
