//! Programs of alerts that are slow, hang, or are many: the last state of every alert arrives.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;
use zmtop::alert::AlertEvent;
use zmtop::config::AlertSettings;
use zmtop::run::alert::Notifier;

use super::program::until;
use super::{Evaluator, process_with, rule};

/// A notifier whose program notes each alert in a file, once another file says that it may.
struct Receiver {
    dir: TempDir,
    notifier: Notifier,
    errors: Arc<Mutex<Vec<String>>>,
    evaluator: Evaluator,
}

const SCRIPT: &str = "while ! [ -e \"$1/go\" ]; do sleep 0.05; done
echo \"$ZMTOP_PID $ZMTOP_EVENT\" >> \"$1/told\"";

impl Receiver {
    fn new(script: &str, timeout: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().display().to_string();
        let settings = AlertSettings {
            name: "big".into(),
            when: "pss>100M".into(),
            run: ["/bin/sh", "-c", script, "sh", &path].map(str::to_owned).into(),
            run_on_clear: true,
            timeout: Duration::from_secs(timeout),
            ..AlertSettings::default()
        };
        let errors: Arc<Mutex<Vec<String>>> = Arc::default();
        let own = Arc::clone(&errors);
        Self {
            dir,
            notifier: Notifier::new(vec![settings], move |what| own.lock().unwrap().push(what)),
            errors,
            evaluator: Evaluator::new([rule("process", "pss>100M", 0, 0)]),
        }
    }

    /// A second with these pids above the bound, and all others of `0..count` below it; notifies of what happens.
    fn advance(&mut self, count: u32, above: impl Fn(u32) -> bool) -> Vec<AlertEvent> {
        let rows = (2..count + 2).map(|pid| process_with(pid, if above(pid - 2) { 200 } else { 50 }));
        let events = self.evaluator.advance(1.0, rows.collect());
        for event in &events {
            self.notifier.notify(event, b"h");
        }
        events
    }

    fn go(&self) {
        std::fs::write(self.dir.path().join("go"), "").unwrap();
    }

    fn wait_until_idle(&self) {
        until("the programs end", || self.notifier.running() == 0);
    }

    /// The events that the receiver was told, by pid, in order.
    fn told(&self) -> BTreeMap<u32, Vec<String>> {
        told(&self.dir.path().join("told"))
    }
}

fn told(file: &Path) -> BTreeMap<u32, Vec<String>> {
    let mut told = BTreeMap::<u32, Vec<String>>::new();
    for line in std::fs::read_to_string(file).unwrap_or_default().lines() {
        let (pid, event) = line.split_once(' ').unwrap();
        told.entry(pid.parse::<u32>().unwrap() - 2)
            .or_default()
            .push(event.to_owned());
    }
    told
}

#[test]
fn the_last_state_of_every_alert_arrives_although_four_are_slow() {
    let mut receiver = Receiver::new(SCRIPT, 20);
    // Twelve fire, eight of them clear while the first four are still being reported, and one fires again.
    assert_eq!(receiver.advance(12, |_| true).len(), 12);
    assert_eq!(receiver.advance(12, |n| n >= 8).len(), 8);
    assert_eq!(receiver.advance(12, |n| n == 0 || n >= 8).len(), 1);
    assert_eq!(receiver.notifier.running(), 4);
    receiver.go();
    receiver.wait_until_idle();
    let told = receiver.told();
    for n in 0..12 {
        let firing = n == 0 || n >= 8;
        let last = told.get(&n).and_then(|events| events.last());
        let is_told_firing = last.is_some_and(|event| event == "fired");
        assert_eq!(is_told_firing, firing, "{n}: {told:?}");
    }
    // No event was lost: alerts that cleared before their turn are reported in order.
    assert_eq!(told[&5], ["fired", "cleared"]);
    assert_eq!(receiver.notifier.dropped(), 0);
    assert_eq!(receiver.errors.lock().unwrap().len(), 0);
}

#[test]
fn one_that_hangs_is_killed_and_the_others_have_their_turn() {
    // The first four hang until their time is over.
    let script = "[ \"$ZMTOP_PID\" -lt 6 ] && [ \"$ZMTOP_EVENT\" = fired ] && sleep 60
echo \"$ZMTOP_PID $ZMTOP_EVENT\" >> \"$1/told\"";
    // Time enough for the others on a busy machine.
    let mut receiver = Receiver::new(script, 6);
    receiver.advance(8, |_| true);
    receiver.advance(8, |n| n >= 4);
    receiver.wait_until_idle();
    let told = receiver.told();
    for n in 0..8 {
        let expected = if n < 4 { "cleared" } else { "fired" };
        assert_eq!(told[&n], [expected], "{told:?}");
    }
    let errors = receiver.errors.lock().unwrap().clone();
    assert_eq!(errors, ["alert big: /bin/sh was killed after 6s"; 4]);
}

#[test]
fn what_waits_at_the_end_is_not_run() {
    let mut receiver = Receiver::new(&format!("echo $$ >> \"$1/started\"; {SCRIPT}"), 20);
    receiver.advance(12, |_| true);
    let Receiver { dir, notifier, .. } = receiver;
    let started = dir.path().join("started");
    let pids = || std::fs::read_to_string(&started).unwrap_or_default();
    until("four run", || pids().matches('\n').count() == 4);
    drop(notifier);
    // One that has just started is killed a moment later.
    let has_ended = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.map_or(true, |stat| stat.contains(") Z"))
    };
    until("they have ended", || pids().lines().all(has_ended));
    std::fs::write(dir.path().join("go"), "").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(told(&dir.path().join("told")).is_empty());
    assert_eq!(pids().lines().count(), 4);
}
