//! Facts that change without a sign, in a made tree at the default settings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use zmtop::model::{Facts, Missing, Snapshot};
use zmtop::sampler::{Options, Scanner};

use super::row;
use crate::support::tree::ProcTree;
use crate::support::{block_on, cannot, long};

/// Time that a snapshot of a few files takes at most, unless something kept it waiting: less than the silence after which
/// it no longer waits.
const UNHINDERED: Duration = Duration::from_millis(80);

/// Takes a snapshot a second.
struct Ticker {
    scanner: Scanner,
    next: Instant,
}

impl Ticker {
    /// Of the tree at its default settings.
    fn new(tree: &ProcTree) -> Self {
        let options = Options::new(Some(&tree.root()));
        assert_eq!(options.interval, Duration::from_secs(1));
        Self {
            scanner: Scanner::new(&options),
            next: Instant::now(),
        }
    }

    fn tick(&mut self) -> Arc<Snapshot> {
        std::thread::sleep(self.next.saturating_duration_since(Instant::now()));
        self.next = Instant::now() + Duration::from_secs(1);
        block_on(self.scanner.tick())
    }

    /// Goes on by so many snapshots that nothing kept waiting, and returns the last. A machine that stops for a moment
    /// makes a read late, which may then be in a later snapshot.
    fn unhindered(&mut self, ticks: u32) -> Arc<Snapshot> {
        let mut counted = 0;
        for _ in 0..ticks * 5 {
            let due = self.next;
            let snapshot = self.tick();
            counted += u32::from(snapshot.sampling.took < UNHINDERED && due.elapsed() < UNHINDERED * 2);
            if counted == ticks {
                return snapshot;
            }
        }
        panic!("{counted} of {ticks} snapshots were in time");
    }
}

fn is_new(facts: &Facts) -> bool {
    facts.cmdline.as_deref() == Ok(b"postgres: idle\0")
        && (facts.uid, facts.user.as_deref()) == (Ok(1000), Ok(b"alice"))
        && facts.cgroup.as_deref() == Ok(b"/b.service")
        && facts.unit.as_deref() == Some(b"b.service")
}

#[test]
fn all_are_seen_within_their_bounds() {
    let tree = ProcTree::new();
    let (in_focus, others) = (1..=10, 11..=40);
    let old = |pid| tree.process(pid).cmdline("startup\0").cgroup("0::/a.service\n");
    (1..=40).for_each(|pid| old(pid).write());
    let mut ticker = Ticker::new(&tree);
    let first = ticker.tick();
    ticker
        .scanner
        .set_focus(in_focus.clone().map(|pid| row(&first, pid).id).collect());
    ticker.tick();
    for pid in 1..=40 {
        old(pid)
            .cmdline("postgres: idle\0")
            .cgroup("0::/b.service\n")
            .uid(1000)
            .write();
    }
    let late = |snapshot: &Snapshot, mut pids: std::ops::RangeInclusive<u32>| {
        pids.find(|pid| !is_new(&row(snapshot, *pid).facts))
    };
    assert_eq!(late(&ticker.unhindered(3), in_focus), None);
    if !long() {
        return cannot("ten seconds more for the other rows: set ZMTOP_TEST_LONG=1");
    }
    let before = ticker.unhindered(7);
    assert_eq!(late(&before, others), None);
    // Nothing changed: the facts are not another copy in each snapshot.
    let mut snapshot = Arc::clone(&before);
    for _ in 0..9 {
        snapshot = ticker.tick();
    }
    for pid in 1..=40 {
        let (then, now) = (row(&before, pid), row(&snapshot, pid));
        assert!(Arc::ptr_eq(&then.facts, &now.facts), "{pid}");
        assert_eq!((then.exec, now.exec), (0, 0));
    }
}

#[test]
fn a_fork_that_writes_its_title_is_seen_at_once() {
    let tree = ProcTree::new();
    tree.process(1).write();
    let mut ticker = Ticker::new(&tree);
    ticker.tick();
    tree.process(7).cmdline("postgres: startup\0").write();
    let line = |snapshot: &Snapshot| row(snapshot, 7).facts.cmdline.clone().map(Vec::from);
    assert_eq!(line(&ticker.tick()), Ok(b"postgres: startup\0".to_vec()));
    for (title, ticks) in [("postgres: authentication\0", 2), ("postgres: idle\0", 2)] {
        tree.process(7).cmdline(title).write();
        let seen = (0..ticks).any(|_| line(&ticker.tick()) == Ok(title.into()));
        assert!(seen, "{title}");
    }
}

#[test]
fn what_can_no_longer_be_read_says_why() {
    if !long() {
        return cannot("what can no longer be read says so after half a minute: set ZMTOP_TEST_LONG=1");
    }
    let tree = ProcTree::new();
    (1..=5).for_each(|pid| tree.process(pid).write());
    let mut ticker = Ticker::new(&tree);
    ticker.tick();
    // The command line of one never comes again, though its other facts do; of others, files are no longer what they were.
    tree.fifo(1, "cmdline");
    tree.write("proc/2/cgroup", "?");
    tree.write("proc/3/status", "?");
    let mut known = 0;
    for second in 1..=25 {
        if second == 14 {
            tree.write("proc/1/cgroup", "0::/b.service\n");
        }
        let snapshot = ticker.tick();
        // A reader that waits is given some time: no row blinks.
        known += u32::from(row(&snapshot, 1).facts.cmdline.is_ok());
        if second == 25 {
            let facts = |pid| Facts::clone(&row(&snapshot, pid).facts);
            assert_eq!(facts(1).cmdline, Err(Missing::TimedOut));
            assert_eq!(facts(1).unit.as_deref(), Some(&b"b.service"[..]));
            assert_eq!((facts(2).cgroup, facts(2).unit), (Err(Missing::Malformed), None));
            assert_eq!(facts(3).uid, Err(Missing::Malformed));
            // The others go on.
            assert_eq!(facts(4), facts(5));
            assert!(facts(4).cmdline.is_ok());
        }
    }
    assert!((10..23).contains(&known), "{known}");
    // It comes after all.
    assert!(tree.feed(1, "cmdline", "late\0"));
    let back = (0..3).any(|_| row(&ticker.tick(), 1).facts.cmdline.as_deref() == Ok(b"late\0"));
    assert!(back);
}

#[test]
fn one_that_ends_keeps_its_command_line() {
    let tree = ProcTree::new();
    tree.process(7).cmdline("job\0").write();
    let mut ticker = Ticker::new(&tree);
    let first = ticker.tick();
    ticker.scanner.set_focus(vec![row(&first, 7).id]);
    // Its memory is gone already, and it is not yet seen as ended.
    tree.process(7).cmdline("").write();
    let mut last = Vec::new();
    for second in 0..4 {
        if second == 1 {
            tree.process(7).state('Z').image(0).argv(0).cmdline("").write();
        }
        last.push(row(&ticker.tick(), 7).facts.cmdline.clone());
    }
    assert!(last.iter().all(|line| line.as_deref() == Ok(b"job\0")), "{last:?}");
}
