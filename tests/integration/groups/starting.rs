//! Members that are not known yet look neither like growth nor like a loss.

use zmtop::history::History;
use zmtop::model::{Facts, Missing, ProcessSample};

use super::history::{WINDOW, delta, line, nginx, push};
use crate::support::rows::with_facts;

fn pending(pid: u32) -> ProcessSample {
    let mut sample = nginx(pid, 0);
    sample.walk = Err(Missing::Pending);
    sample
}

/// A process of which only the short name is known yet.
fn bare(pid: u32) -> ProcessSample {
    with_facts(pending(pid), |f| *f = Facts::pending(b"nginx"))
}

#[test]
fn a_start_is_no_growth() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![pending(7), pending(8), pending(9)]);
    push(&mut history, 1, vec![nginx(7, 100), pending(8), pending(9)]);
    push(&mut history, 2, vec![nginx(7, 100), nginx(8, 100), pending(9)]);
    assert_eq!((delta(&history), line(&history)), (None, vec![]));
    push(&mut history, 3, vec![nginx(7, 100), nginx(8, 100), nginx(9, 100)]);
    assert_eq!((delta(&history), line(&history)), (None, vec![300]));
    push(&mut history, 4, vec![nginx(7, 100), nginx(8, 100), nginx(9, 101)]);
    assert_eq!(delta(&history), Some(1));
}

#[test]
fn one_that_ends_unread_is_not_waited_for() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![nginx(7, 100), pending(8)]);
    push(&mut history, 1, vec![nginx(7, 100)]);
    assert_eq!(line(&history), [100]);
}

#[test]
fn one_that_cannot_be_read_is_not_waited_for() {
    let mut history = History::new(WINDOW);
    let mut denied = pending(8);
    denied.walk = Err(Missing::Denied);
    push(&mut history, 0, vec![nginx(7, 100), denied.clone()]);
    push(&mut history, 1, vec![nginx(7, 102), denied.clone()]);
    assert_eq!((delta(&history), line(&history)), (Some(2), vec![102]));
    // With nothing readable nothing is known.
    push(&mut history, 2, vec![denied]);
    assert_eq!(delta(&history), None);
}

#[test]
fn one_that_comes_later_is_left_out_until_it_is_read() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![nginx(7, 100)]);
    push(&mut history, 1, vec![nginx(7, 100), pending(8)]);
    assert_eq!(delta(&history), Some(0));
    push(&mut history, 2, vec![nginx(7, 100), nginx(8, 30)]);
    assert_eq!(delta(&history), Some(30));
}

#[test]
fn a_storm_of_newcomers_does_not_hold_a_group_up() {
    let mut history = History::new(WINDOW);
    for second in 0..20_u32 {
        let fresh = (0..10).map(|n| pending(1000 + second * 10 + n));
        let rows = std::iter::once(nginx(7, 100 + u64::from(second)))
            .chain(fresh)
            .collect();
        push(&mut history, second.into(), rows);
    }
    assert_eq!(delta(&history), Some(10));
}

#[test]
fn facts_that_come_late_at_the_start_are_no_growth() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![bare(7), bare(8)]);
    assert_eq!(history.groups(), 0);
    // The one is already known and walked, the other not even named.
    push(&mut history, 1, vec![nginx(7, 100), bare(8)]);
    assert!(line(&history).is_empty());
    push(&mut history, 2, vec![nginx(7, 100), pending(8)]);
    push(&mut history, 3, vec![nginx(7, 100), nginx(8, 200)]);
    assert_eq!((delta(&history), line(&history)), (None, vec![300]));
    // A newcomer is in no group before it is known where it belongs.
    push(&mut history, 4, vec![nginx(7, 100), nginx(8, 200), bare(9)]);
    push(&mut history, 5, vec![nginx(7, 100), nginx(8, 200), nginx(9, 50)]);
    assert_eq!(delta(&history), Some(50));
}

#[test]
fn facts_that_never_come_are_not_waited_for_for_ever() {
    let mut history = History::new(WINDOW);
    for second in 0..60 {
        push(&mut history, second, vec![nginx(7, 100 + second), bare(8)]);
    }
    assert_eq!(delta(&history), Some(10));
}

#[test]
fn a_read_that_is_late_is_no_loss() {
    let mut history = History::new(WINDOW);
    push(&mut history, 0, vec![nginx(7, 100), nginx(8, 50)]);
    for (second, why) in (1..).zip([Missing::TimedOut, Missing::Errno(5), Missing::Denied]) {
        let mut late = nginx(8, 0);
        late.walk = Err(why);
        push(&mut history, second, vec![nginx(7, 100), late]);
        assert_eq!(delta(&history), Some(0), "{why}");
    }
    // A zombie has given its memory back.
    let mut zombie = nginx(8, 0);
    zombie.walk = Err(Missing::Zombie);
    push(&mut history, 5, vec![nginx(7, 100), zombie]);
    assert_eq!(delta(&history), Some(-50));
    // After an exec, what the old program held is gone.
    let mut exec = pending(7);
    exec.exec = 1;
    push(&mut history, 6, vec![exec, nginx(9, 1)]);
    assert_eq!(delta(&history), Some(-149));
}
