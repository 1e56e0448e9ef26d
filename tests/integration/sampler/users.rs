//! The names of users: who is asked for, and who is forgotten.

use std::collections::HashSet;
use std::time::Duration;

use zmtop::model::Missing;
use zmtop::sampler::users::{NAME_HOLDS, Users};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn those_without_a_process_are_forgotten_and_never_asked_for_again() {
    let mut users = Users::default();
    let mut now = Duration::from_secs(50);
    // For an hour, in each second another one comes and goes; two stay.
    let stay = HashSet::from([0, 1000]);
    for uid in stay.iter().copied() {
        assert_eq!(users.name(uid), (Err(Missing::Pending), true));
        assert_eq!(users.name(uid), (Err(Missing::Pending), false));
        assert!(users.set_name(uid, Ok(b"one"[..].into()), now));
    }
    let (mut asked, mut most) = (0, 0);
    for uid in 2000..2000 + 3600 {
        now += SECOND;
        assert!(users.name(uid).1);
        users.set_name(uid, Ok(b"guest"[..].into()), now);
        for old in users.renew(now, || stay.clone()) {
            assert!(stay.contains(&old), "{old} has no process");
            asked += 1;
            assert!(!users.set_name(old, Ok(b"one"[..].into()), now), "it is the same");
        }
        most = most.max(users.len());
    }
    // Once in five minutes for each that stays; those of the last five minutes are kept.
    assert!((20..=24).contains(&asked), "{asked}");
    assert!(most as u64 <= NAME_HOLDS.as_secs() + 4, "{most}");
}

#[test]
fn one_who_is_being_asked_for_is_kept() {
    let mut users = Users::default();
    assert!(users.name(7).1);
    assert!(users.name(8).1);
    assert!(users.set_name(8, Ok(b"eight"[..].into()), SECOND));
    // The name service has not answered for the first; nobody is asked for twice at once.
    let later = SECOND * 2 + NAME_HOLDS;
    assert!(users.renew(later, HashSet::new).is_empty());
    assert_eq!((users.len(), users.is_empty()), (1, false));
    assert_eq!(users.name(7), (Err(Missing::Pending), false));
    assert_eq!(users.time_out(|_| true), [7]);
    assert_eq!(users.name(7), (Err(Missing::TimedOut), false));
    assert!(users.set_name(7, Ok(b"seven"[..].into()), later));
}
