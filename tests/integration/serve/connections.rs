//! Which connection is closed for another, and whose password is checked next, by address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::sync::oneshot::Receiver;
use tokio::sync::oneshot::error::TryRecvError;
use zmtop::serve::connections::{ClientAddress, Connections, Place, Stage};
use zmtop::serve::passwords::Passwords;

const MAX: usize = 16;

/// An open connection, and how it is noticed that it was closed.
type Open = (Place, Receiver<()>);

fn address(text: &str) -> ClientAddress {
    text.parse::<IpAddr>().unwrap().into()
}

fn is_open((_, closed): &mut Open) -> bool {
    closed.try_recv() == Err(TryRecvError::Empty)
}

/// Connections of a table with little room. A connection whose client waits stays in it.
struct Crowd(Arc<Connections>);

impl Crowd {
    fn new() -> Self {
        Self(Arc::new(Connections::new(MAX)))
    }

    fn connect(&self, from: &str, stage: Stage) -> Open {
        let open = self.0.admit(address(from)).unwrap();
        if stage != Stage::Idle {
            open.0.reach(stage);
        }
        open
    }

    /// So many connections of each address.
    fn connect_all(&self, from: &[&str], count: usize, stage: Stage) -> Vec<Open> {
        let all = from.iter().flat_map(|from| std::iter::repeat_n(from, count));
        all.map(|from| self.connect(from, stage)).collect()
    }
}

/// Addresses of as many machines.
fn many(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("10.1.{}.{}", n / 256, n % 256)).collect()
}

#[test]
fn one_client_may_have_many_addresses() {
    for (one, other, is_same) in [
        ("127.0.0.1", "127.9.8.7", true),
        ("127.0.0.1", "::1", true),
        ("127.0.0.1", "::ffff:127.0.0.2", true),
        ("127.0.0.1", "10.0.0.1", false),
        ("10.0.0.1", "::ffff:10.0.0.1", true),
        ("10.0.0.1", "10.0.0.2", false),
        ("2001:db8::1", "2001:db8::ffff:2", true),
        ("2001:db8::1", "2001:db8:0:1::1", false),
    ] {
        assert_eq!(address(one) == address(other), is_same, "{one} {other}");
    }
}

#[test]
fn a_crowd_closes_its_own_connections_and_idle_ones_first() {
    let crowd = Crowd::new();
    let mut slow = crowd.connect("10.0.0.2", Stage::Idle);
    let mut waiting = crowd.connect("10.0.0.3", Stage::Unproven);
    let crowds = ["10.0.0.3", "10.0.0.4"].map(|from| crowd.connect_all(&[from], 2 * MAX, Stage::Idle));
    assert!(is_open(&mut slow) && is_open(&mut waiting));
    drop(crowds);
}

#[test]
fn who_comes_has_time_to_say_who_it_is_whatever_fills_the_table() {
    let addresses = many(4 * MAX);
    let addresses: Vec<_> = addresses.iter().map(String::as_str).collect();
    for (from, count) in [(&addresses[..], 1), (&["127.0.0.9"], 4 * MAX)] {
        for stage in [Stage::Unproven, Stage::Public] {
            let crowd = Crowd::new();
            let before = crowd.connect_all(from, count, stage);
            let mut new = crowd.connect("127.0.0.1", Stage::Idle);
            // Others come before its request does.
            let after = crowd.connect_all(
                &from[..from.len().min(MAX / 4)],
                MAX / from.len().min(MAX / 4) / 4,
                stage,
            );
            assert!(is_open(&mut new), "{count} of each, {stage:?}");
            new.0.reach(Stage::Known);
            let more = crowd.connect_all(from, count, stage);
            assert!(is_open(&mut new), "{count} of each, {stage:?}");
            drop([before, after, more]);
        }
    }
}

#[test]
fn a_table_of_known_users_has_no_room() {
    let crowd = Crowd::new();
    let mut known = crowd.connect_all(&["10.0.0.1"], MAX, Stage::Known);
    assert!(crowd.0.admit(address("10.0.0.2")).is_none());
    assert!(known.iter_mut().all(is_open));
    known.pop();
    assert!(crowd.0.admit(address("10.0.0.2")).is_some());
}

/// Checks of passwords of alice.
struct Asked {
    passwords: Arc<Passwords>,
    users: Arc<HashMap<String, String>>,
}

impl Asked {
    fn new(cost: u32) -> Self {
        let users = HashMap::from([("alice".to_owned(), bcrypt::hash("right", cost).unwrap())]);
        Self {
            passwords: Arc::new(Passwords::new().unwrap()),
            users: Arc::new(users),
        }
    }

    /// Guesses from each address, and then sends the right password; returns how many guesses are checked before it.
    async fn guesses_before(&self, guessers: &[String], from: &str) -> usize {
        let guesses: Vec<_> = guessers.iter().map(|from| self.ask("wrong", from)).collect();
        assert!(self.ask("right", from).await.unwrap());
        guesses.iter().filter(|guess| guess.is_finished()).count()
    }

    fn ask(&self, password: &str, from: &str) -> tokio::task::JoinHandle<bool> {
        use base64::Engine as _;
        let header = base64::engine::general_purpose::STANDARD.encode(format!("alice:{password}"));
        let (passwords, users, from) = (Arc::clone(&self.passwords), Arc::clone(&self.users), address(from));
        tokio::spawn(async move {
            passwords
                .are_right(&users, format!("Basic {header}").as_bytes(), from)
                .await
        })
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn a_right_password_does_not_wait_behind_the_guesses_of_another_address() {
    // A check and its pause take so long that sixty of them would take longer than a connection may.
    let asked = Asked::new(8);
    let before = runtime().block_on(asked.guesses_before(&vec!["10.0.0.2".into(); 60], "10.0.0.3"));
    assert!(before < 10, "{before} guesses were checked before it");
}

#[test]
fn addresses_that_never_guessed_wrong_come_first() {
    let asked = Asked::new(4);
    let guessers = many(40);
    let before = runtime().block_on(async {
        for from in &guessers {
            assert!(!asked.ask("wrong", from).await.unwrap());
        }
        asked.guesses_before(&guessers, "10.0.0.3").await
    });
    assert!(before < 10, "{before} guesses were checked before it");
    // Others with new addresses keep nobody from a turn who guessed wrong before.
    let before = runtime().block_on(async {
        let asked = Asked::new(4);
        assert!(!asked.ask("wrong", "10.0.0.3").await.unwrap());
        asked.guesses_before(&guessers, "10.0.0.3").await
    });
    assert!(before < 10, "{before} guesses were checked before it");
}
