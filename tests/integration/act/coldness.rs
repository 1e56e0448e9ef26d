//! Clearing referenced bits of a real process, which touches half of its memory.

use std::time::Duration;

use super::worker::{LONG, next, worker};
use super::{Own, identity, pin, until};
use crate::accuracy::child::{self, Child};

use zmtop::act::{ActError, Command, Pinned, ProcessAction, Reply};
use zmtop::history::mappings::{Coldness, Resident};
use zmtop::model::mapping::MappingKind;
use zmtop::sampler::{Options, mappings};

const MIB: u64 = 1 << 20;
const NAME: &str = "act::coldness::what_it_touches_again_is_hot_and_the_rest_is_cold";

/// Returns the resident memory of a process in mappings of one kind, with its hot part.
fn areas(pid: u32, kind: MappingKind) -> Resident {
    let found = mappings::merged(&Options::new(None), &[pid]).remove(0).unwrap();
    let coldness = Coldness::new(&found.what, Duration::ZERO);
    let mut of_kind = coldness.mappings.iter().filter(|m| m.kind == kind);
    of_kind.next().unwrap().resident.unwrap()
}

#[test]
fn what_it_touches_again_is_hot_and_the_rest_is_cold() {
    child::be(NAME);
    let mut target = Child::start(NAME);
    target.tell("map 0 32");
    target.tell("touch 0 0 32");
    let target_pid = target.pid();
    let touched = || {
        let found = areas(target_pid, MappingKind::Anon);
        // Beside the area that the test maps, the program itself uses some.
        assert!(
            (32 * MIB..36 * MIB).contains(&found.rss),
            "nothing is given back: {found:?}"
        );
        found.hot
    };
    let before = touched();
    assert!(before >= 32 * MIB, "all of it is touched at first");
    let pinned = pin(identity(target_pid)).unwrap();
    pinned.clear_referenced().unwrap();
    let at_once = touched();
    assert!(at_once < MIB, "{at_once}");
    target.tell("touch 0 0 16");
    let after = touched();
    // The kernel itself may clear some bits meanwhile, as DAMON does.
    assert!((15 * MIB..17 * MIB).contains(&after), "{after}");
    // What it touches later is hot too: the bits are not cleared again by looking.
    target.tell("touch 0 16 8");
    let later = touched();
    assert!((23 * MIB..25 * MIB).contains(&later), "{later}");
    target.end();
    assert_eq!(pinned.clear_referenced(), Err(ActError::Gone));
}

#[test]
fn the_worker_clears_and_says_who_was_not() {
    let (worker, replies) = worker(LONG);
    let (child, mut ended) = (Own::sleep(), Own::sleep());
    let ids = vec![child.id(), ended.id()];
    worker.send(Command::Pin(1, ids)).unwrap();
    assert!(matches!(next(&replies), Reply::Pinned(1, _)));
    ended.0.kill().unwrap();
    until("its end is told", || matches!(next(&replies), Reply::Exited(1, _)));
    let action = ProcessAction::ClearReferenced;
    worker.send(Command::Perform(1, action)).unwrap();
    // For a zombie the kernel would report success.
    let results = vec![Ok(0), Err(ActError::Zombie)];
    assert_eq!(next(&replies), Reply::Performed(1, action, results));
    let pinned: Result<Pinned, _> = pin(ended.id());
    assert_eq!(pinned.unwrap().clear_referenced(), Err(ActError::Zombie));
}
