//! The names of users and the owners of subordinate uids: when each is looked up, and when it is forgotten.

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use zmtop::model::Missing;
use zmtop::proc::accounts::{Account, account};
use zmtop::proc::files::Roots;
use zmtop::sampler::users::{NAME_HOLDS, Users};

const SECOND: Duration = Duration::from_secs(1);

fn named(name: &str) -> Account {
    Account {
        name: name.as_bytes().into(),
        owner: None,
    }
}

#[test]
fn a_uid_without_a_name_belongs_to_the_owner_of_its_range() {
    let dir = tempfile::tempdir().unwrap();
    for folder in ["proc", "etc"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
    }
    fs::write(
        dir.path().join("etc/passwd"),
        "root:x:0:0::/:\nalice:x:1000:1000::/:\nmapped:x:100005:1::/:\n",
    )
    .unwrap();
    let subuid = "#x:1:900000\n:1:900000\nodd:1:2:3\nbad:x:5\nalice:100000:65536\n1000:300000:10 \nroot:400000:1000\n\
                  gone:500000:100\nfull:4294967290:65536\n";
    fs::write(dir.path().join("etc/subuid"), subuid).unwrap();
    let roots = Roots::new(Some(&dir.path().join("proc")));
    let alice = Some((1000, "alice"));
    for (uid, name, owner) in [
        (1000, "alice", None),
        (100_000, "100000", alice),
        (165_535, "165535", alice),
        (165_536, "165536", None),
        // A user with a name of its own is itself.
        (100_005, "mapped", None),
        (300_009, "300009", alice),
        (300_010, "300010", None),
        // The containers of root and of users without an account.
        (400_999, "400999", Some((400_000, "uids 400000-400999"))),
        (500_000, "500000", Some((500_000, "uids 500000-500099"))),
        // One that systemd chose for a container.
        (700_000, "700000", Some((655_360, "uids 655360-720895"))),
        (2_000_000_000, "2000000000", None),
        (
            u32::MAX,
            "4294967295",
            Some((4_294_967_290, "uids 4294967290-4294967295")),
        ),
        // Odd lines: this one has too many fields.
        (2, "2", Some((1, "uids 1-2"))),
    ] {
        let found = account(uid, &roots);
        let found_owner = found.owner.as_deref().map(|owner| (owner.uid, &*owner.name));
        assert_eq!(&*found.name, name.as_bytes());
        assert_eq!(found_owner, owner.map(|(uid, name)| (uid, name.as_bytes())), "{uid}");
    }
    fs::remove_file(dir.path().join("etc/subuid")).unwrap();
    assert_eq!(account(100_000, &roots).owner, None);
}

#[test]
fn those_without_a_process_are_forgotten_and_never_asked_for_again() {
    let mut users = Users::default();
    let mut now = Duration::from_secs(50);
    // For an hour, in each second another one comes and goes; two stay.
    let stay = HashSet::from([0, 1000]);
    for uid in stay.iter().copied() {
        assert_eq!(users.account(uid), (Err(Missing::Pending), true));
        assert_eq!(users.account(uid), (Err(Missing::Pending), false));
        assert!(users.set(uid, Ok(named("one")), now));
    }
    let (mut asked, mut most) = (0, 0);
    for uid in 2000..2000 + 3600 {
        now += SECOND;
        assert!(users.account(uid).1);
        users.set(uid, Ok(named("guest")), now);
        for old in users.renew(now, || stay.clone()) {
            assert!(stay.contains(&old), "{old} has no process");
            asked += 1;
            assert!(!users.set(old, Ok(named("one")), now), "it is the same");
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
    assert!(users.account(7).1);
    assert!(users.account(8).1);
    assert!(users.set(8, Ok(named("eight")), SECOND));
    // The name service has not answered for the first; nobody is asked for twice at once.
    let later = SECOND * 2 + NAME_HOLDS;
    assert!(users.renew(later, HashSet::new).is_empty());
    assert_eq!((users.len(), users.is_empty()), (1, false));
    assert_eq!(users.account(7), (Err(Missing::Pending), false));
    assert_eq!(users.time_out(|_| true), [7]);
    assert_eq!(users.account(7), (Err(Missing::TimedOut), false));
    assert!(users.set(7, Ok(named("seven")), later));
}
